//! session_track_*: Umpire tracks more for itself than a server does by default, and no client can see it.
//!
//! A statement that shows these variables runs while they have a new connection's values. One that sets them gets the
//! connection for the session's rest: then tracking is the client's, and Umpire does without.
use super::pins::Pins;
use super::{End, Session};
use crate::backend::Lease;
use crate::relay::TurnEnd;
use crate::sniff::{Effects, Sniffed};
use crate::wire::command;

pub(super) const ABOUT_TRACKING: Effects = Effects::SHOWS_TRACKING.union(Effects::SETS_TRACKING);

/// What a connection has that nobody set up.
pub(super) const AS_IF_NOT_TRACKED: &str = "SET @@SESSION.session_track_schema=DEFAULT,\
     @@SESSION.session_track_state_change=DEFAULT,@@SESSION.session_track_system_variables=DEFAULT";

impl Session {
    /// After such a statement: tracking goes on, or is the client's from now on.
    pub(super) async fn resume_tracking(
        &mut self,
        lease: &mut Lease,
        end: &TurnEnd,
        sniffed: &Sniffed,
    ) -> Result<(), End> {
        if !lease.tracking {
            return Ok(());
        }
        // an error in the middle of several statements does not tell which of them ran
        let only_shows = !sniffed.effects.contains(Effects::SETS_TRACKING);
        if !only_shows {
            lease.tracking = false;
            self.pins |= Pins::TRACKING;
            return Ok(());
        }
        if end
            .error
            .as_ref()
            .is_some_and(super::finish::ends_connection)
        {
            return Ok(());
        }
        let sql = lease.tracking_statement();
        self.write_query(lease, &sql);
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let told = self
            .own_reply(lease, command::QUERY)
            .await
            .map_err(|_| End::ClientGone)?;
        if told.error.is_some() {
            // what it tracks now is not known: nobody else gets it
            lease.tracking = false;
            self.pins |= Pins::TRACKING;
        }
        Ok(())
    }
}
