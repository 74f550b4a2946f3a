//! SHOW JOBS, RESUME JOB n, CANCEL JOB n: changes of sharded tables' definitions that some shards lack.
use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::control::Handle;
use crate::coordination::{Ask, Reply};
use crate::wire::error;
use crate::worker::mailbox::Message;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The store's disk.
const STORE: Duration = Duration::from_secs(10);
/// A resumption that takes longer goes on; SHOW JOBS tells how it ended.
const RESUMPTION: Duration = Duration::from_secs(30);

pub async fn show(handle: &Handle) -> Answer {
    let jobs = match ask(handle, Ask::Jobs).await {
        Ok(jobs) => jobs,
        Err(why) => return Answer::Refused(error::own(&why)),
    };
    let columns = [
        "job",
        "state",
        "user",
        "schema",
        "statement",
        "begun",
        "progress",
    ];
    let mut table = Table::new(&columns);
    for (job, running) in jobs {
        let state = if running { "running" } else { "stopped" };
        let progress = job.progress();
        table.push([
            job.id.to_string(),
            state.into(),
            job.user,
            job.schema.unwrap_or_default(),
            job.statement,
            job.begun.to_string(),
            progress,
        ]);
    }
    Answer::Rows(table)
}

pub async fn resume(handle: &Handle, rest: &str) -> Answer {
    let Ok(id) = rest.trim().parse::<u64>() else {
        return Answer::Refused(unknown(rest));
    };
    let (sender, answered) = oneshot::channel();
    // the asker may have gone: then nobody wants the answer
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    let Some(worker) = handle.mailboxes().first() else {
        return Answer::Refused(error::own("there is no worker"));
    };
    worker.send(Message::ResumeJob(id, reply));
    match timeout(RESUMPTION, answered).await {
        Ok(Ok(Ok(done))) => Answer::Done(done),
        Ok(Ok(Err(why))) => Answer::Refused(error::own(&why)),
        Ok(Err(_)) => Answer::Refused(error::own("the worker does not answer; try again")),
        Err(_) => Answer::Done(format!("job {id} is still running: SHOW JOBS")),
    }
}

/// What some shards have stays, what others lack is never done.
pub async fn cancel(handle: &Handle, rest: &str) -> Answer {
    let Ok(id) = rest.trim().parse::<u64>() else {
        return Answer::Refused(unknown(rest));
    };
    match ask(handle, |reply| Ask::Forget(id, reply)).await {
        Ok(true) => Answer::ok(),
        Ok(false) => Answer::Refused(error::own(&format!("there is no job {id}"))),
        Err(why) => Answer::Refused(error::own(&why)),
    }
}

async fn ask<T: Send + 'static>(
    handle: &Handle,
    question: impl FnOnce(Reply<T>) -> Ask,
) -> Result<T, String> {
    let Some(clerk) = handle.clerk() else {
        return Err(
            "there are no jobs without a section [coordination] in the configuration".into(),
        );
    };
    let (sender, answered) = oneshot::channel();
    clerk.ask(question(Box::new(move |answer| drop(sender.send(answer)))));
    match timeout(STORE, answered).await {
        Ok(Ok(answer)) => answer,
        _ => Err("the store does not answer: its disk may hang".into()),
    }
}
