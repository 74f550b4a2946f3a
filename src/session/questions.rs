//! A connection that is kept only because the client might ask about its last statement: warnings, row counts.
//!
//! It goes to others who wait for one while the client is idle. If nobody used it, the question is answered all the same;
//! else it is refused, since an answer would be another session's.
use super::pins::Pins;
use super::{End, Session};
use crate::net;
use crate::sniff::{Effects, Sniffed};
use crate::wire::{error, reply};
use std::time::Duration;

/// How often an idle session looks whether others need what it keeps.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Session {
    pub(super) fn keeps_for_questions(&self) -> bool {
        self.held.is_some() && !self.pins.leaves_state()
    }

    /// After [`LOOK_EVERY`] without a command. An error ends the session: it has been idle for as long as it may.
    pub(super) async fn lend_while_idle(&mut self) -> Result<(), End> {
        let now = net::now();
        let ends = self.entry.since() + self.idle_timeout;
        if now >= ends {
            return Err(End::Quit);
        }
        let wanted = self.held.as_ref().is_some_and(|lease| lease.is_wanted());
        if wanted {
            let warnings = self.pins.contains(Pins::DIAGNOSTICS);
            self.release_diagnostics(Effects::empty()).await?;
            self.lent_warnings = warnings;
        }
        let next = match self.keeps_for_questions() {
            true => ends.min(now + LOOK_EVERY),
            false => ends,
        };
        self.client.set_deadline(Some(next));
        Ok(())
    }

    /// The statement asks for warnings whose connection was lent: only that one has them.
    pub(super) fn asks_for_lent_warnings(&self, sniffed: &Sniffed) -> bool {
        self.lent_warnings && sniffed.effects.contains(Effects::DIAGNOSTICS)
    }
}

pub(super) fn warnings_are_gone() -> reply::Err {
    error::own(
        "the warnings of the last statement are gone: all server connections were in use and its own has served \
         another client since. Ask for warnings right after the statement, or raise max_connections",
    )
}
