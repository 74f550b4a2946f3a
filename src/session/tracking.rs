//! session_track_*: Umpire tracks more for itself than a server does by default, and no client can see it.
//!
//! A statement that shows these variables runs while they have a new connection's values. One that sets them gets the
//! connection for the session's rest: then tracking is the client's, and Umpire does without.
use super::pins::Pins;
use super::sync::CLEAR_DIAGNOSTICS;
use super::{End, Session};
use crate::backend::{replay_policy, After, Lease, Replay};
use crate::net::{self, Buf};
use crate::relay::TurnEnd;
use crate::scatter::{self, Failure};
use crate::sniff::{self, Effects, Sniffed, Verb};
use crate::wire::reply::Change;
use crate::wire::row::walk_text;
use crate::wire::{command, error};

pub(super) const ABOUT_TRACKING: Effects = Effects::SHOWS_TRACKING.union(Effects::SETS_TRACKING);

/// What a connection has that nobody set up.
pub(super) const AS_IF_NOT_TRACKED: &str = "SET @@SESSION.session_track_schema=DEFAULT,\
     @@SESSION.session_track_state_change=DEFAULT,@@SESSION.session_track_system_variables=DEFAULT";

/// In hexadecimal, which looks alike in every character set that results may have. Without LIMIT it would have that of
/// sql_select_limit, as every question of the proxy's own.
const ASKS_SCHEMA: &str = "SELECT HEX(CONVERT(DATABASE() USING utf8mb4)) LIMIT 1";
/// Bytes of the answer, and more.
const LONGEST: usize = 4096;

impl Session {
    /// What a server would tell the client with the next report of something else.
    pub(super) fn owed_schema(&self) -> Option<Box<Change>> {
        let schema = self.state.schema.as_ref().filter(|_| self.owes_schema)?;
        Some(Box::new(Change::Schema(schema.to_vec())))
    }

    /// After a reply. `owed`: still, of what was owed before.
    pub(super) fn note_report(&mut self, lease: &mut Lease, end: &TurnEnd, owed: bool) {
        let reported = end.changes.iter().any(|c| matches!(c, Change::Schema(_)));
        lease.note_report(end.error.is_some() || end.changed_untold, reported);
        self.owes_schema = owed || end.kept_schema;
    }

    /// After a statement that may have selected another schema while nothing is reported.
    pub(super) fn note_unreported_schema(&mut self, lease: &Lease, sniffed: &Sniffed) {
        let calls = Effects::USE | Effects::CALL | Effects::MULTI_STATEMENT;
        let may = sniffed.effects.intersects(calls)
            || matches!(sniffed.verb, Verb::Use | Verb::Drop | Verb::Execute);
        if !lease.tracking && may {
            self.pins |= Pins::SCHEMA;
        }
    }

    /// Before a command that hangs on the session's schema: the connection is asked for it.
    pub(super) async fn learn_schema(&mut self) -> Result<(), End> {
        self.pins.remove(Pins::SCHEMA);
        let Some(lease) = self.held.as_mut() else {
            return Ok(());
        };
        let Ok(schema) = ask_schema(lease, self.shared.snapshot().proxy.login_timeout).await else {
            // what is left of the answer would be taken for the next one
            lease.after = After::Close;
            return Err(self.tell_and_end(&error::server_lost()));
        };
        let state = self.state.with_schema(&schema);
        self.state = self.shared.states.intern(state);
        lease.state = self.state.clone();
        self.state_changed();
        Ok(())
    }

    /// After a SET of `@@name` without a scope, of which MariaDB reports nothing: what is set already is set once more,
    /// with a scope, so that it does. Where that is not certain to say it all, the connection stays with the session.
    pub(super) async fn ask_unreported(
        &mut self,
        lease: &mut Lease,
        end: &mut TurnEnd,
        sniffed: &Sniffed,
        sql: &[u8],
    ) -> Result<(), End> {
        let more = Effects::MULTI_STATEMENT | Effects::UNREAD;
        let one = sniffed.verb == Verb::Set && !sniffed.effects.intersects(more);
        let names = sniff::unscoped_assignments(sql, self.dialect).unwrap_or_default();
        let replayed = |name: &Vec<u8>| replay_policy(name) == Replay::Yes;
        if !one || names.is_empty() || !names.iter().all(replayed) || !lease.tracking {
            return Ok(());
        }
        let set = |name: &Vec<u8>| {
            let name = String::from_utf8_lossy(name);
            format!("@@SESSION.{name}=@@SESSION.{name}")
        };
        let sets: Vec<String> = names.iter().map(set).collect();
        self.write_query(lease, &format!("SET {}", sets.join(",")));
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let told = self
            .own_reply(lease, command::QUERY)
            .await
            .map_err(|_| End::ClientGone)?;
        end.asked = told.error.is_none();
        let variable = |change: &Change| matches!(change, Change::Variable { .. });
        end.changes
            .extend(told.changes.into_iter().filter(variable));
        Ok(())
    }

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
            .is_some_and(super::finish::may_end_connection)
        {
            return Ok(());
        }
        let sql = lease.tracking_statement();
        self.write_query(lease, &sql);
        // MySQL warns of old names among those that are to be tracked
        self.write_query(lease, CLEAR_DIAGNOSTICS);
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let error = self.swallow(lease, 2).await.map_err(|_| End::ClientGone)?;
        if error.is_some() {
            // what it tracks now is not known: nobody else gets it
            lease.tracking = false;
            self.pins |= Pins::TRACKING;
        }
        Ok(())
    }
}

/// Statements that select no schema and call nothing that does.
pub(super) fn keeps_schema(sniffed: &Sniffed) -> bool {
    let other = Effects::MULTI_STATEMENT | Effects::UNREAD | Effects::USE | Effects::CALL;
    use Verb::*;
    let calls_nothing = matches!(
        sniffed.verb,
        Begin
            | Start
            | Commit
            | Rollback
            | Set
            | Savepoint
            | Release
            | Prepare
            | Deallocate
            | Lock
            | Unlock
            | Xa
            | Handler
            | Create
            | Drop
    );
    calls_nothing && !sniffed.effects.intersects(other)
}

/// Empty: none is selected.
async fn ask_schema(lease: &Lease, limit: std::time::Duration) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    super::sync::frame_query(lease, ASKS_SCHEMA, &mut bytes);
    lease.socket.set_deadline(Some(net::now() + limit));
    let bytes = Buf::from_vec(bytes);
    let answer = scatter::ask(&lease.socket, lease.capabilities, bytes, LONGEST).await?;
    lease.socket.set_deadline(None);
    let row = answer.rows.first().map(Vec::as_slice).unwrap_or_default();
    let mut spans = Vec::new();
    let what = "a row of no columns";
    walk_text(row, 1, &mut spans).map_err(|_| Failure::Protocol { part: 0, what })?;
    let value = spans.first().and_then(|span| span.of(row));
    Ok(unhex(value.unwrap_or_default()))
}

/// Two digits a byte; the zero bytes between the digits of wide character sets do not count.
fn unhex(text: &[u8]) -> Vec<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let digits: Vec<u32> = text.iter().filter_map(digit).collect();
    let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8);
    digits.chunks_exact(2).map(byte).collect()
}
