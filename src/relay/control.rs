//! Control packets: what they tell the session, and what of them the client may see.
use super::{Broken, Relay};
use crate::wire::capabilities::{DEPRECATE_EOF, SESSION_TRACK};
use crate::wire::packet::{frame, Header, HEADER};
use crate::wire::prepare::PrepareOk;
use crate::wire::reply::{self, Change};
use crate::wire::status::{MORE_RESULTS, SESSION_STATE_CHANGED};
use crate::wire::tracker::Control;

/// What of the server's session tracking a client gets. Umpire switches all of it on for itself; the
/// client gets what a server sends by default: the schema and five variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackFilter {
    /// The client switched tracking settings itself: it gets everything.
    pub all: bool,
    /// The statement selects no other schema. MariaDB keeps the report of one that a statement left and came back to, if that
    /// ended with EOF or an error, until something else is reported too: that may be what Umpire alone has switched on.
    pub keeps_schema: bool,
    /// The flag that says a report follows stands where none does: MySQL's, when a transaction ends and another begins.
    pub bare_flag: bool,
}

const DEFAULT_TRACKED: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

impl TrackFilter {
    fn shows(self, change: &Change) -> bool {
        self.all
            || match change {
                Change::Variable { name, .. } => DEFAULT_TRACKED.contains(&name.as_slice()),
                Change::State(_) => false,
                // not switched on by Umpire: what comes of them would have come to the client
                _ => true,
            }
    }
}

/// What happens to a control packet.
pub(super) enum Verdict {
    AsIs,
    Replace(Vec<u8>),
    Hold(reply::Err),
}

/// ER_QUERY_INTERRUPTED.
const INTERRUPTED: u16 = 1317;

/// An OK packet of this payload length has no info and no changes: the same bytes for every client.
const BARE_OK: usize = 7;

impl Relay<'_> {
    /// `packet` includes its header; `first`: nothing of the reply came before it.
    pub(super) fn control(
        &mut self,
        kind: Control,
        packet: &[u8],
        first: bool,
    ) -> Result<Verdict, Broken> {
        match kind {
            Control::Ok { .. } => self.ok(packet),
            Control::ResultEnd { status, .. } | Control::ColumnsEnd { status, .. } => {
                self.result_end(packet, status)
            }
            Control::Err => self.error(packet, first),
            Control::Prepared { .. } => self.prepared(packet),
            Control::LocalInfile | Control::Text | Control::Auth => Ok(Verdict::AsIs),
        }
    }

    fn result_end(&mut self, packet: &[u8], status: u16) -> Result<Verdict, Broken> {
        if self.server_capabilities & DEPRECATE_EOF != 0 {
            if packet.len() == HEADER + BARE_OK && status & SESSION_STATE_CHANGED == 0 {
                // 0xfe, affected rows, last insert id, status, warnings
                self.note_status(status);
                self.end.warnings = u16::from_le_bytes([packet[HEADER + 5], packet[HEADER + 6]]);
                return Ok(Verdict::AsIs);
            }
            return self.ok(packet);
        }
        self.note_status(status);
        self.end.changed_untold |= status & SESSION_STATE_CHANGED != 0;
        if let Some(&[low, high]) = packet.get(HEADER + 1..HEADER + 3) {
            self.end.warnings = u16::from_le_bytes([low, high]);
        }
        Ok(self.without_state_flag(packet, status))
    }

    #[inline]
    fn note_status(&mut self, status: u16) {
        self.end.status = Some(status);
        self.end.several |= status & MORE_RESULTS != 0;
    }

    /// EOF carries no changes, and the flag that says so is set for what Umpire alone tracks.
    fn without_state_flag(&self, packet: &[u8], status: u16) -> Verdict {
        if status & SESSION_STATE_CHANGED == 0 || self.filter.all {
            return Verdict::AsIs;
        }
        let mut bytes = packet.to_vec();
        if let Some(field) = bytes.get_mut(HEADER + 3..HEADER + 5) {
            field.copy_from_slice(&(status & !SESSION_STATE_CHANGED).to_le_bytes());
        }
        Verdict::Replace(bytes)
    }

    fn ok(&mut self, packet: &[u8]) -> Result<Verdict, Broken> {
        let mut ok = reply::Ok::decode(&packet[HEADER..], self.server_capabilities)
            .map_err(|m| self.malformed(m))?;
        self.note_status(ok.status);
        self.end.warnings = ok.warnings;
        if ok.last_insert_id != 0 {
            self.end.last_insert_id = Some(ok.last_insert_id);
        }
        let plain = ok.changes.is_empty() && ok.status & SESSION_STATE_CHANGED == 0;
        let same =
            self.client_capabilities & SESSION_TRACK == self.server_capabilities & SESSION_TRACK;
        if plain && (same || packet.len() == HEADER + BARE_OK) {
            return Ok(Verdict::AsIs);
        }
        let bare = self.filter.bare_flag && ok.changes.is_empty();
        if (self.filter.all || bare) && same && self.client_capabilities & SESSION_TRACK != 0 {
            // as it came: a server may set the flag and report nothing
            self.end.changes.append(&mut ok.changes);
            return Ok(Verdict::AsIs);
        }
        let changes = std::mem::take(&mut ok.changes);
        if self.client_capabilities & SESSION_TRACK != 0 {
            ok.changes = changes
                .iter()
                .filter(|c| self.filter.shows(c))
                .cloned()
                .collect();
            let selects = |c: &Change| matches!(c, Change::Schema(_));
            // that none is selected any more is told at once
            let selected = |c: &Change| matches!(c, Change::Schema(name) if !name.is_empty());
            let schema_only = !ok.changes.is_empty() && ok.changes.iter().all(selected);
            if self.filter.keeps_schema && schema_only && ok.changes.len() < changes.len() {
                ok.changes.clear();
                self.end.kept_schema = true;
            } else if changes.iter().any(selects) {
                self.owed_schema = None;
            } else if !ok.changes.is_empty() {
                ok.changes.extend(self.owed_schema.take().map(|owed| *owed));
            }
        }
        if ok.changes.is_empty() {
            ok.status &= !SESSION_STATE_CHANGED;
        }
        self.end.changes.extend(changes);
        Ok(Verdict::Replace(
            self.reframe(packet, &ok.encode(self.client_capabilities)),
        ))
    }

    fn error(&mut self, packet: &[u8], first: bool) -> Result<Verdict, Broken> {
        let error = reply::Err::decode(&packet[HEADER..]).map_err(|m| self.malformed(m))?;
        if first && self.hold_errors.contains(&error.code) {
            return Ok(Verdict::Hold(error));
        }
        if let Some(instead) = self.interrupted.take_if(|_| error.code == INTERRUPTED) {
            let bytes = self.reframe(packet, &instead.encode());
            self.end.error = Some(*instead);
            return Ok(Verdict::Replace(bytes));
        }
        self.end.error = Some(error);
        Ok(Verdict::AsIs)
    }

    fn prepared(&mut self, packet: &[u8]) -> Result<Verdict, Broken> {
        let prepared = PrepareOk::decode(&packet[HEADER..]).map_err(|m| self.malformed(m))?;
        self.end.prepared = Some(prepared);
        self.end.warnings = prepared.warnings;
        let Some(id) = self.statement_id else {
            return Ok(Verdict::AsIs);
        };
        let mut bytes = packet.to_vec();
        if let Some(field) = bytes.get_mut(HEADER + 1..HEADER + 5) {
            field.copy_from_slice(&id.to_le_bytes());
        }
        Ok(Verdict::Replace(bytes))
    }

    /// `payload` under the sequence number of `packet`.
    fn reframe(&self, packet: &[u8], payload: &[u8]) -> Vec<u8> {
        let sequence = Header::decode(packet).map_or(1, |h| h.sequence);
        let mut out = Vec::with_capacity(HEADER + payload.len());
        frame(payload, sequence, &mut out);
        out
    }
}
