//! Rules that came with CREATE TABLE: taken from the store into the snapshot, and known to every worker.
use super::Keeper;
use crate::coordination::{Ask, Clerk, Reply, Rule};
use crate::worker::mailbox::Message;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A worker that has not read its mailbox by then is stuck.
const WORKERS: Duration = Duration::from_secs(5);

/// The store's rules, and who waits until everyone has them.
pub(in crate::control) struct Rules {
    pub list: Vec<Rule>,
    pub done: Option<Reply<()>>,
}

/// What the store says of its rules from now on; the first message comes at once.
pub(in crate::control) fn follow(clerk: Option<&Clerk>) -> mpsc::Receiver<Rules> {
    let (sender, receiver) = mpsc::channel(1);
    if let Some(clerk) = clerk {
        let follower = move |list, done| {
            // it has ended only when the process does; who waits has a deadline
            let _ = sender.blocking_send(Rules { list, done });
        };
        clerk.ask(Ask::Follow(Box::new(follower)));
    }
    receiver
}

impl Keeper {
    pub(in crate::control) fn on_rules(&mut self, rules: Rules, now: Instant) {
        let sections = rules.list.iter().map(|rule| rule.text.as_str());
        let config = self.config.as_ref().clone().with_stored(sections);
        let config = match config {
            Ok(config) => config,
            Err(why) => {
                tracing::error!(%why, "the rules of the store are not in effect");
                return tell(rules.done, Err(why));
            }
        };
        self.rules = rules.list;
        if config.tables != self.config.tables {
            self.config = Arc::new(config);
            let config = self.config.clone();
            self.rebuild(&config, now);
        }
        if rules.done.is_some() {
            self.when_all_know(rules.done);
        }
    }

    /// Workers read their messages in order: one that answers has read the snapshot before.
    fn when_all_know(&mut self, done: Option<Reply<()>>) {
        if self.owed {
            let why = "a worker does not read its messages: try again";
            return tell(done, Err(why.into()));
        }
        let (sender, mut heard) = mpsc::channel(self.mailboxes.len().max(1));
        for mailbox in self.mailboxes.iter() {
            let sender = sender.clone();
            let reply = Box::new(move |()| {
                // it has room for all, and nobody waits any more when it is gone
                let _ = sender.try_send(());
            });
            mailbox.send(Message::Heard(reply));
        }
        drop(sender);
        let count = self.mailboxes.len();
        tokio::spawn(async move {
            let mut missing = count;
            let all = async {
                while missing > 0 && heard.recv().await.is_some() {
                    missing -= 1;
                }
                missing == 0
            };
            let heard = timeout(WORKERS, all).await.unwrap_or(false);
            let why = "not every worker has taken the table's rule in time: try again";
            tell(done, if heard { Ok(()) } else { Err(why.into()) });
        });
    }
}

fn tell(done: Option<Reply<()>>, outcome: Result<(), String>) {
    if let Some(done) = done {
        done(outcome);
    }
}
