//! SHOW WORKERS: what each thread does now, and whether it answers.

use crate::admin::sql::answer::{yes_no, Answer, Table};
use crate::admin::workers::ask;
use crate::control::Handle;
use crate::worker::mailbox::Message;

pub async fn run(handle: &Handle) -> Answer {
    // A question that every worker answers from what it has at hand.
    let answers = ask(handle.mailboxes(), Message::Pools).await;
    let mut table = Table::new(&[
        "worker",
        "answers",
        "clients",
        "pinned",
        "server_connections",
        "turns",
        "ring_enters",
        "ring_events",
    ]);
    for (worker, (stats, answer)) in handle.stats().iter().zip(&answers).enumerate() {
        table.push([
            worker.to_string(),
            yes_no(answer.is_some()),
            stats.clients.get().to_string(),
            stats.pinned.get().to_string(),
            stats.server_connections.get().to_string(),
            stats.turns.get().to_string(),
            stats.ring_enters.get().to_string(),
            stats.ring_events.get().to_string(),
        ]);
    }
    Answer::Rows(table)
}
