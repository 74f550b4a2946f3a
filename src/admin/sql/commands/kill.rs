//! KILL [QUERY | CONNECTION] id: the id that the proxy gave to the client.

use super::unknown;
use crate::admin::sql::answer::Answer;
use crate::admin::sql::statement;
use crate::admin::workers::{ask, silent};
use crate::control::Handle;
use crate::wire::error;
use crate::worker::mailbox::{Act, KillOutcome, Message, Whom};

pub async fn run(handle: &Handle, rest: &str) -> Answer {
    let (act, id) = match statement::after(rest, "query") {
        Some(id) => (Act::KillQuery, id),
        None => (
            Act::Kill,
            statement::after(rest, "connection").unwrap_or(rest),
        ),
    };
    let Ok(id) = id.trim().parse::<u32>() else {
        return Answer::Refused(unknown(rest));
    };
    let question = |reply| Message::Kill {
        whom: Whom::Id(id),
        act,
        user: None,
        reply,
    };
    let answers = ask(handle.mailboxes(), question).await;
    if answers.contains(&Some(KillOutcome::Killed(1))) {
        return Answer::ok();
    }
    match silent(&answers).as_slice() {
        [] => Answer::Refused(error::no_such_thread(u64::from(id))),
        workers => Answer::Refused(error::own(&format!(
            "no worker that answered has connection {id}, and these did not answer: {workers:?}; \
             try again"
        ))),
    }
}
