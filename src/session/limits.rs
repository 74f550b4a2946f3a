//! While a statement runs: its time, and the size of its result.
use super::kill_sent::kill_on_server;
use super::pins::Pins;
use super::turn::{Outgoing, Ran};
use super::{error_packet, End, Session};
use crate::backend::Lease;
use crate::net;
use crate::relay::{Broken, Relay};
use crate::sniff::Verb;
use crate::wire::{error, reply};
use std::io;
use std::time::Duration;

/// What is left of a cut result is read up to this many bytes, if the server sends no more than that: cheaper
/// than a new connection.
const DRAIN_FREE: usize = 256 << 10;
/// The same for a connection that the session needs: the statement was interrupted, so only what is under way.
const DRAIN_HELD: usize = 64 << 20;
/// How long that may take, and the answer to a KILL QUERY.
const DRAIN_TIME: Duration = Duration::from_secs(5);
const DRAIN_TIME_FREE: Duration = Duration::from_millis(200);

/// Statements that are not interrupted: whether they took effect would be in doubt.
pub(super) fn may_be_interrupted(verb: Verb) -> bool {
    !matches!(
        verb,
        Verb::Commit | Verb::Rollback | Verb::Xa | Verb::Begin | Verb::Start | Verb::Savepoint
    )
}

/// The read deadline of the server's socket is over.
pub(super) fn is_overdue(broken: &Broken) -> bool {
    matches!(broken, Broken::Server { cause, .. } if cause.kind() == io::ErrorKind::TimedOut)
}

impl Session {
    /// Sets the relay's limits and the connection's deadline.
    pub(super) fn limit(&self, relay: &mut Relay<'_>, lease: &Lease, out: &Outgoing) {
        let limits = &self.user.limits;
        if limits.max_result_rows.is_some() || limits.max_result_bytes.is_some() {
            relay.limit(
                limits.max_result_rows.unwrap_or(u64::MAX),
                limits.max_result_bytes.unwrap_or(u64::MAX),
            );
        }
        if let Some(limit) = limits.max_execution_time.filter(|_| out.may_be_interrupted) {
            // of a statement whose rows were gathered first, the time runs already
            let until = self.until().unwrap_or_else(|| net::now() + limit);
            lease.socket.set_deadline(Some(until));
        }
    }

    /// The statement ran too long: it is interrupted on its server, whose answer is still to be read. False: it
    /// was interrupted before and does not end.
    pub(super) async fn interrupt(&self, relay: &mut Relay<'_>, lease: &Lease) -> bool {
        if relay.interrupted.is_some() {
            return false;
        }
        relay.interrupted = Some(Box::new(error::execution_time_exceeded(
            self.dialect.mariadb,
        )));
        kill_on_server(&self.shared, &self.entry, true).await;
        lease.socket.set_deadline(Some(net::now() + DRAIN_TIME));
        true
    }

    /// The server does not answer to the interruption: the client is told, its connection there is given up.
    pub(super) fn gave_up(&mut self, relay_touched: bool) -> Result<Ran, End> {
        if relay_touched {
            return Err(End::ClientGone);
        }
        self.tell(&error::execution_time_exceeded(self.dialect.mariadb));
        if self.pins.leaves_state() {
            return Err(End::Told);
        }
        Ok(Ran::NotRun)
    }

    /// Ends a result that is over its limits: an error in the place of the next row, the rest read away from the
    /// connection if that can be had. False: the connection is of no more use.
    pub(super) async fn cut(&self, relay: &mut Relay<'_>, lease: &Lease, sequence: u8) -> bool {
        let by_rows = self
            .user
            .limits
            .max_result_rows
            .is_some_and(|most| relay.end.rows >= most);
        let error = self.result_is_cut(by_rows);
        self.send(error_packet(&error, sequence));
        self.shared.stats.turns_failed.add(1);
        let held = self.pins.intersects(Pins::all() - Pins::FOR_QUESTIONS);
        let (bound, time) = match held {
            true => (DRAIN_HELD, DRAIN_TIME),
            false => (DRAIN_FREE, DRAIN_TIME_FREE),
        };
        lease.socket.set_deadline(Some(net::now() + time));
        if held {
            kill_on_server(&self.shared, &self.entry, true).await;
            lease.socket.set_deadline(Some(net::now() + time));
        }
        let ended = matches!(relay.drain(bound).await, Ok(true));
        lease.socket.set_deadline(None);
        relay.end.error = Some(error);
        ended
    }

    /// What ends a result that is over max_result_rows, or else max_result_bytes.
    pub(super) fn result_is_cut(&self, by_rows: bool) -> reply::Err {
        let limits = &self.user.limits;
        let (key, limit) = match (by_rows, limits.max_result_rows, limits.max_result_bytes) {
            (true, Some(rows), _) => ("max_result_rows", rows),
            (_, _, bytes) => ("max_result_bytes", bytes.unwrap_or(0)),
        };
        error::own(&format!(
            "the result is cut: {key} of user '{}' is {limit}. Select less (WHERE, LIMIT), or raise the limit",
            self.user.config.name
        ))
    }
}
