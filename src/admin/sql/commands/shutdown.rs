//! SHUTDOWN: as SIGTERM.

use crate::admin::sql::answer::Answer;
use crate::control::Handle;
use crate::wire::error;

pub async fn run(handle: &Handle) -> Answer {
    if handle.shutdown().await {
        Answer::Done("draining; SHUTDOWN again to end at once".into())
    } else {
        Answer::Refused(error::own(
            "the control thread has ended; end the process by a signal",
        ))
    }
}
