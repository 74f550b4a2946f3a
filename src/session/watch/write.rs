//! Records on their way out of the worker.
use super::super::registry::Entry;
use super::super::shared::Shared;
use super::masked::Whose;
use crate::config::{AuditText, Watching};
use crate::net::{self, Peer};
use crate::observe::record::{Event, Record};
use crate::sniff::Dialect;
use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// After so long the time of day is asked for again.
const AGAIN: Duration = Duration::from_millis(100);

/// A login, for the audit.
pub(in crate::session) fn login(shared: &Shared, entry: &Entry, user: &str, error: u16) {
    let snapshot = shared.snapshot();
    let audit = &snapshot.watch.audit;
    let wanted = audit.users.is_empty() || audit.users.iter().any(|name| name == user);
    if !audit.is_on() || !wanted || (audit.only_errors && error == 0) {
        return;
    }
    let record = Record {
        event: match error {
            0 => Event::Login,
            _ => Event::LoginFailed,
        },
        audited: true,
        error,
        connection: entry.id,
        at: now_micros(),
        client: address(&entry.peer.borrow()),
        user,
        ..Record::EMPTY
    };
    write(shared, &snapshot.watch, record, Source::default());
}

/// What is known of a record's text.
#[derive(Default)]
pub(super) struct Source {
    /// It loses its literals, whatever is asked for.
    pub secret: bool,
    pub dialect: Dialect,
    pub whose: Option<Whose>,
}

/// Hands a record to the thread that writes it down.
pub(super) fn write(shared: &Shared, settings: &Watching, record: Record<'_>, source: Source) {
    let audit = &settings.audit;
    let most = match audit.text {
        // the slow log's file shows no more than the audit's
        AuditText::None => 0,
        _ => audit.max_text_bytes as usize,
    };
    let mut masked = shared.masked.borrow_mut();
    let mut record = record;
    if audit.text == AuditText::Masked || source.secret {
        record.text = masked.text(source.whose, record.text, source.dialect, most);
        record.truncated = record.text.len() == most;
    } else if record.text.len() > most {
        record.truncated = true;
        record.text = record.text.get(..most).unwrap_or_default();
    }
    let mut bytes = shared.journal_bytes.borrow_mut();
    record.encode(&mut bytes);
    if shared.journal.put(&bytes) {
        shared.stats.audit_records.add(1);
    } else {
        shared.stats.audit_dropped.add(1);
    }
}

pub(super) fn address(peer: &Peer) -> Option<std::net::SocketAddr> {
    match peer {
        Peer::Tcp(address) => Some(*address),
        Peer::Unix => None,
    }
}

/// Microseconds since 1970.
pub(in crate::session) fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// The time of day without a look at the clock: a turn has one already, that of the monotonic clock. Per worker.
pub(in crate::session) struct WallClock(Cell<(Instant, u64)>);

impl Default for WallClock {
    fn default() -> WallClock {
        WallClock(Cell::new((net::now(), now_micros())))
    }
}

impl WallClock {
    /// Microseconds since 1970 at `now`. A clock that is set is followed within a tenth of a second.
    #[inline]
    pub fn micros_at(&self, now: Instant) -> u64 {
        let (asked, micros) = self.0.get();
        match now.checked_duration_since(asked) {
            Some(since) if since < AGAIN => micros + u64::from(since.subsec_micros()),
            _ => self.ask(),
        }
    }

    #[cold]
    fn ask(&self) -> u64 {
        let micros = now_micros();
        self.0.set((net::now(), micros));
        micros
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_goes_on_with_the_other_clock_and_is_asked_for_again() {
        let clock = WallClock::default();
        let (asked, micros) = clock.0.get();
        assert_eq!(clock.micros_at(asked), micros);
        let later = asked + Duration::from_micros(99_999);
        assert_eq!(clock.micros_at(later), micros + 99_999);
        // set to a time that is long over
        clock.0.set((asked, 5));
        assert_eq!(clock.micros_at(asked + Duration::from_micros(7)), 12);
        assert!(clock.micros_at(asked + AGAIN) >= micros);
        assert!(clock.0.get().1 >= micros);
    }
}
