//! Whether this proxy should get traffic.

use crate::admin::{servers, workers};
use crate::control::Handle;
use crate::worker::mailbox::Message;

/// Empty: every group has a usable server, every worker answers, and no stop is under way.
pub async fn complaints(handle: &Handle) -> Vec<String> {
    let view = handle.view();
    let mut complaints = servers::unusable_groups(&view);
    if view.draining {
        complaints.push("draining".into());
    }
    let answers = workers::ask(handle.mailboxes(), Message::Pools).await;
    let silent = workers::silent(&answers).into_iter();
    complaints.extend(silent.map(|worker| format!("worker {worker} does not answer")));
    complaints
}
