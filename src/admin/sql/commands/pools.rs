//! SHOW POOLS.

use super::NO_ANSWER;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::workers::{ask, silent};
use crate::control::Handle;
use crate::worker::mailbox::Message;

pub async fn run(handle: &Handle) -> Answer {
    let answers = ask(handle.mailboxes(), Message::Pools).await;
    let mut table = Table::new(&[
        "worker",
        "server",
        "user",
        "idle",
        "leased",
        "connecting",
        "waiting",
        "fitted",
        "synced",
    ]);
    for worker in silent(&answers) {
        let empty = String::new;
        let row = [
            worker.to_string(),
            NO_ANSWER.into(),
            empty(),
            empty(),
            empty(),
            empty(),
        ];
        let [a, b, c, d, e, f] = row;
        table.push([a, b, c, d, e, f, empty(), empty(), empty()]);
    }
    for pool in answers.into_iter().flatten().flatten() {
        table.push([
            pool.worker.to_string(),
            pool.server,
            pool.user,
            pool.idle.to_string(),
            pool.leased.to_string(),
            pool.connecting.to_string(),
            pool.waiting.to_string(),
            pool.fitted.to_string(),
            pool.synced.to_string(),
        ]);
    }
    Answer::Rows(table)
}
