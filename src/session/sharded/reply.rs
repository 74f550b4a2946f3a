//! What the client gets of a statement on several shards.
use crate::net::Buf;
use crate::scatter::{Failure, Output, Totals};
use crate::session::{End, Session, OF_THE_SESSION};
use crate::wire::packet::frame;
use crate::wire::{error, reply, status};

/// Why a statement has no answer.
#[derive(Debug)]
pub(in crate::session) enum Told {
    /// The client gets this.
    Error(reply::Err),
    /// The session ends.
    End(End),
}

impl From<reply::Err> for Told {
    fn from(error: reply::Err) -> Told {
        Told::Error(error)
    }
}

impl From<End> for Told {
    fn from(end: End) -> Told {
        Told::End(end)
    }
}

impl Session {
    /// The client's words for it. `places`: each part's shard and group.
    pub(super) fn explain_failure(&self, failure: Failure, places: &[String]) -> Told {
        let error = match failure {
            Failure::Refused { error, .. } => error,
            Failure::Client => return Told::End(End::ClientGone),
            Failure::Stopped => self.stopped_error(),
            Failure::Overdue => error::execution_time_exceeded(self.dialect.mariadb),
            Failure::OverLimit { by_rows } => self.result_is_cut(by_rows),
            Failure::Merge(cause) => error::own(&cause.to_string()),
            Failure::Lost { part, cause } => {
                tracing::warn!(part, %cause, "a server was lost under a statement on several shards");
                lost(places.get(part).map(String::as_str))
            }
            Failure::Protocol { part, what } => {
                tracing::error!(part, what, "a shard's reply cannot be used");
                let place = in_words(places.get(part).map(String::as_str));
                error::own(&format!("a shard's reply cannot be used{place}: {what}"))
            }
        };
        Told::Error(error)
    }

    pub(super) fn tell_outcome(&mut self, outcome: Result<(), Told>) -> Result<(), End> {
        match outcome {
            Ok(()) => Ok(()),
            Err(Told::End(end)) => Err(end),
            Err(Told::Error(error)) => {
                self.tell(&error);
                Ok(())
            }
        }
    }

    /// Status flags for a reply of the proxy's own.
    pub(super) fn reply_status(&self) -> u16 {
        let in_transaction = if self.in_open_transaction() {
            status::IN_TRANS
        } else {
            0
        };
        self.status & OF_THE_SESSION & !status::IN_TRANS | in_transaction
    }

    /// The OK for added-up changes.
    pub(super) fn tell_totals(&mut self, totals: &Totals) {
        let ok = reply::Ok {
            affected_rows: totals.affected_rows,
            last_insert_id: totals.last_insert_id,
            status: self.reply_status(),
            warnings: totals.warnings,
            info: totals.info.clone(),
            ..reply::Ok::default()
        };
        let mut packet = Vec::new();
        frame(&ok.encode(self.capabilities), 1, &mut packet);
        self.send(Buf::from_vec(packet));
    }

    /// The end behind the last row.
    pub(super) fn tell_rows_end(&self, warnings: u16, out: &mut Output<'_>) {
        let ok = reply::Ok {
            header: reply::EOF,
            status: self.reply_status(),
            warnings,
            ..reply::Ok::default()
        };
        out.packet(&ok.encode(self.capabilities));
    }
}

/// A shard's server is gone. `place`: which shard.
pub(super) fn lost(place: Option<&str>) -> reply::Err {
    let mut error = error::server_lost();
    error.message.extend_from_slice(in_words(place).as_bytes());
    error
}

fn in_words(place: Option<&str>) -> String {
    place.map_or_else(String::new, |place| format!(" ({place})"))
}
