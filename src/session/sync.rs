//! From the state a server connection has to the session's: statements of the proxy's own, and their replies.
use super::turn::Outgoing;
use super::Session;
use crate::backend::{Lease, State};
use crate::net::{self, Buf};
use crate::relay::{Broken, Relay, TurnEnd};
use crate::wire::capabilities::QUERY_ATTRIBUTES;
use crate::wire::packet::frame;
use crate::wire::query::NO_ATTRIBUTES;
use crate::wire::reply::Change;
use crate::wire::{command, reply};
use std::rc::Rc;

/// Why a connection could not be made ready for a command. Nothing of the command was sent.
pub(super) enum NotReady {
    /// The server says so; the error is for the client.
    Refused(reply::Err),
    Broken(Broken),
}

/// Both servers clear the list when a statement uses a table; MariaDB only then.
pub(super) const CLEAR_DIAGNOSTICS: &str = "SELECT 1 FROM (SELECT 1) AS t LIMIT 0";

impl Session {
    /// Writes into `scratch` what turns the connection's state into the session's; returns the number of replies.
    pub(super) fn write_sync(&mut self, lease: &Lease, out: &Outgoing, gives_id: bool) -> usize {
        let mut count = 0;
        // a held connection has the session's state, unless that changed on another group's
        if !Rc::ptr_eq(&lease.state, &self.state) {
            count += lease.sync_to(&self.state, &mut self.scratch);
        }
        if gives_id {
            let set = format!("SET last_insert_id={}", self.last_insert_id);
            self.write_query(lease, &set);
            count += 1;
        }
        if out.about_tracking && lease.tracking {
            self.write_query(lease, super::tracking::AS_IF_NOT_TRACKED);
            count += 1;
        }
        if out.clears_diagnostics {
            self.write_query(lease, CLEAR_DIAGNOSTICS);
            count += 1;
        }
        count
    }

    /// While MariaDB keeps a report for later, it notices no change of the same kind, and brings it with one of what Umpire
    /// alone has switched on. A statement that reports something calls for it. True: a reply follows, after those to
    /// [`Session::write_sync`].
    pub(super) fn write_late_report(&mut self, lease: &mut Lease, out: &Outgoing) -> bool {
        if !lease.keeps_report || !lease.tracking || !out.tells {
            return false;
        }
        lease.keeps_report = false;
        self.write_query(lease, super::collation::TELL);
        true
    }

    /// Reads the replies to `count` state statements, and to what called for a late report; the first error is returned.
    pub(super) async fn swallow_sync(
        &mut self,
        lease: &mut Lease,
        count: usize,
        late: bool,
    ) -> Result<Option<reply::Err>, Broken> {
        let error = self.swallow(lease, count).await?;
        if !late {
            return Ok(error);
        }
        let told = self.own_reply(lease, command::QUERY).await?;
        // on a held connection it is this session's: a server tells it with the next report of something else
        let selected = |c: &Change| matches!(c, Change::Schema(name) if !name.is_empty());
        self.owes_schema |= !self.pins.is_empty() && told.changes.iter().any(selected);
        Ok(error.or(told.error))
    }

    pub(super) fn write_query(&mut self, lease: &Lease, sql: &str) {
        frame_query(lease, sql, &mut self.scratch);
    }

    pub(super) fn send_scratch(&mut self, lease: &Lease) {
        lease.socket.send(Buf::copy_from_slice(&self.scratch));
        self.scratch.clear();
    }

    /// Brings the connection's state to the wanted one and waits until it is.
    pub(super) async fn change_state(
        &mut self,
        lease: &mut Lease,
        wanted: &Rc<State>,
    ) -> Result<(), NotReady> {
        // none cannot be selected again, and what was prepared without one names all of its tables' schemas
        let kept;
        let wanted = match (lease.state.schema.as_deref(), &wanted.schema) {
            (Some(schema), None) => {
                kept = self.shared.states.intern(wanted.with_schema(schema));
                &kept
            }
            _ => wanted,
        };
        if Rc::ptr_eq(&lease.state, wanted) {
            return Ok(());
        }
        let count = lease.sync_to(wanted, &mut self.scratch);
        if count > 0 {
            self.send_scratch(lease);
            let error = self.swallow(lease, count).await;
            if let Some(error) = error.map_err(NotReady::Broken)? {
                return Err(NotReady::Refused(error));
            }
        }
        lease.state = wanted.clone();
        Ok(())
    }

    /// Reads the replies to state statements; the first error is returned.
    pub(super) async fn swallow(
        &self,
        lease: &mut Lease,
        count: usize,
    ) -> Result<Option<reply::Err>, Broken> {
        let mut first = None;
        for _ in 0..count {
            let end = self.own_reply(lease, command::QUERY).await?;
            first = first.or(end.error);
        }
        Ok(first)
    }

    /// Reads the reply to a command of the proxy's own. A server that does not answer is lost: such commands take
    /// no time.
    pub(super) async fn own_reply(&self, lease: &Lease, command: u8) -> Result<TurnEnd, Broken> {
        let limit = self.shared.snapshot().proxy.login_timeout;
        lease.socket.set_deadline(Some(net::now() + limit));
        let mut relay = Relay::new(&lease.socket, None, command, lease.capabilities);
        relay.run().await?;
        lease.socket.set_deadline(None);
        Ok(relay.end)
    }

    /// Reads a reply that nobody may see.
    pub(super) async fn discard_reply(&self, lease: &Lease, command: u8) -> Result<(), Broken> {
        self.own_reply(lease, command).await.map(drop)
    }
}

/// Appends COM_QUERY as the connection has it.
pub(super) fn frame_query(lease: &Lease, sql: &str, out: &mut Vec<u8>) {
    let mut text = vec![command::QUERY];
    if lease.capabilities & QUERY_ATTRIBUTES != 0 {
        text.extend_from_slice(&NO_ATTRIBUTES);
    }
    text.extend_from_slice(sql.as_bytes());
    frame(&text, 0, out);
}
