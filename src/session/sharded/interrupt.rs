//! A statement on several servers ends early: KILL, its time, a client that is gone, a shard that failed. What still runs of
//! it is interrupted on every server, while the connections are this session's: no other one can be hit.
use super::used::Used;
use super::Session;
use crate::net;
use crate::scatter::{Failure, Scatter};
use crate::session::kill_sent::kill_one;
use crate::session::registry::{Entry, OnServer};
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long the other shards' replies are read after one has failed, or after the last row that is needed.
const QUIET: Duration = Duration::from_secs(2);
/// A held connection would take its transaction with it: it gets more time.
const QUIET_HELD: Duration = Duration::from_secs(10);
/// What runs on the other shards may end by itself within this time of a failure: cheaper than a KILL.
const GRACE: Duration = Duration::from_millis(30);
/// What is read of a reply that nobody wants any more, before its connection is closed instead, bytes.
const LEFT_OVER: usize = 256 * 1024;

/// While it lives, KILL and the news that a server is dead find all connections of the statement.
pub(super) struct Spread(Rc<Entry>);

impl Drop for Spread {
    fn drop(&mut self) {
        self.0.set_spread(Vec::new());
    }
}

/// The connections of a statement.
pub(super) fn servers_of(used: &[Used]) -> Vec<OnServer> {
    let on = |used: &Used| OnServer {
        server: used.lease.server.id,
        thread_id: used.lease.thread_id,
        aborter: used.lease.socket.aborter(),
    };
    used.iter().map(on).collect()
}

impl Session {
    /// A statement begins that runs on several servers.
    pub(super) fn spread_over(&self, on: &[OnServer]) -> Spread {
        self.entry.set_spread(on.to_vec());
        Spread(self.entry.clone())
    }

    /// When the running statement must have ended, by max_execution_time_ms.
    pub(in crate::session) fn until(&self) -> Option<Instant> {
        self.sharded.as_ref()?.until
    }

    /// A statement on several servers begins: from now on its time runs.
    pub(super) fn start_time(&mut self) {
        let until = self
            .user
            .limits
            .max_execution_time
            .map(|limit| net::now() + limit);
        if until.is_some() || self.sharded.is_some() {
            self.sharded.get_or_insert_with(Box::default).until = until;
        }
    }

    /// Brings all replies to their ends. `on`: the connections, in the order of the scatter's branches.
    pub(super) async fn settle_scatter(
        &self,
        scatter: &mut Scatter<'_>,
        on: &[OnServer],
        outcome: Option<&Failure>,
    ) {
        let quiet = |scatter: &Scatter<'_>| match scatter.keeps() {
            true => QUIET_HELD,
            false => QUIET,
        };
        if let Some(failure) = outcome {
            let by_itself = !matches!(
                failure,
                Failure::Stopped | Failure::Client | Failure::Overdue
            );
            if by_itself {
                scatter.quiesce(LEFT_OVER, net::now() + GRACE).await;
            }
            self.kill_open(scatter, on, true).await;
        }
        let time = quiet(scatter);
        scatter.quiesce(LEFT_OVER, net::now() + time).await;
        if outcome.is_some() {
            // parts run one behind the other: the next one has begun, or the KILL came between two. A connection that is
            // closed now would leave it running, with its locks
            self.kill_open(scatter, on, false).await;
        }
    }
}

impl Session {
    /// KILL, or KILL QUERY, of all whose replies have not ended.
    async fn kill_open(&self, scatter: &Scatter<'_>, on: &[OnServer], query_only: bool) {
        let running = scatter.open();
        let kills = on.iter().zip(running).filter(|(_, open)| *open);
        let kills = kills.map(|(on, _)| kill_one(&self.shared, &self.entry, *on, query_only));
        all(kills).await;
    }
}

/// Runs futures side by side.
async fn all<F: Future<Output = ()>>(futures: impl Iterator<Item = F>) {
    let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    poll_fn(|cx| {
        running.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        match running.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
