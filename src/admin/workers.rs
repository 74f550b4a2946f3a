//! Questions to the workers, each with a deadline.

use crate::observe::WorkerStats;
use crate::worker::mailbox::{Mailbox, Message, Reply};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{timeout_at, Instant};

/// A worker that has not answered by then is shown as stuck.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(2);

/// Asks all workers at once; in their order, None for one that gave no answer in time or has ended.
pub async fn ask<T: Send + 'static>(
    mailboxes: &[Mailbox],
    question: impl Fn(Reply<T>) -> Message,
) -> Vec<Option<T>> {
    let deadline = Instant::now() + ANSWER_DEADLINE;
    let mut answers = Vec::with_capacity(mailboxes.len());
    for mailbox in mailboxes {
        let (sender, receiver) = oneshot::channel();
        // The asker may have gone: then nobody wants the answer.
        mailbox.send(question(Box::new(move |answer| drop(sender.send(answer)))));
        answers.push(receiver);
    }
    let mut received = Vec::with_capacity(answers.len());
    for answer in answers {
        received.push(timeout_at(deadline, answer).await.ok().and_then(Result::ok));
    }
    received
}

/// The numbers of the workers that gave no answer.
pub fn silent<T>(answers: &[Option<T>]) -> Vec<usize> {
    answers
        .iter()
        .enumerate()
        .filter(|(_, a)| a.is_none())
        .map(|(worker, _)| worker)
        .collect()
}

/// One counter of a worker: its name in SHOW STATUS and how to read it.
pub type Counter = (&'static str, fn(&WorkerStats) -> u64);

/// Sum over all workers.
pub fn sum(stats: &[Arc<WorkerStats>], counter: &Counter) -> u64 {
    stats
        .iter()
        .map(|s| (counter.1)(s))
        .fold(0, u64::wrapping_add)
}
