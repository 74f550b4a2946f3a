//! What a reply's end tells about the session: state, pins, the user's last write.
use super::pins::Pins;
use super::Session;
use crate::backend::{Lease, State};
use crate::net;
use crate::relay::TurnEnd;
use crate::sniff::{self, Access, Effects, Sniffed, Telltale, Verb};
use crate::wire::reply::Change;
use crate::wire::status;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl Session {
    /// After a command whose reply is with the client: learns from it and puts the connection where it
    /// belongs. `sql`: the statement's text, empty for commands without one.
    pub(super) fn finish(&mut self, mut lease: Lease, end: TurnEnd, sniffed: &Sniffed, sql: &[u8]) {
        // the common case: a read that changed nothing
        let silent = end.changes.is_empty() && !end.changed_untold;
        let plain = !self.counts && end.error.is_none() && end.warnings == 0 && silent;
        if plain
            && sniffed.access == Access::Read
            && self.pins.is_empty()
            && sniffed.effects.is_empty()
        {
            if let Some(flags) = end.status.filter(|s| s & status::IN_TRANS == 0) {
                self.note_status(&mut lease, flags);
                return self.settle(lease);
            }
        }
        let executed = self.executed_text(sniffed, sql);
        let sniffed = executed.as_ref().unwrap_or(sniffed);
        let was_in_transaction = self.pins.contains(Pins::TRANSACTION);
        if self.ends_read_only_otherwise(&end, sniffed) {
            self.pins |= Pins::UNKNOWN_STATE;
        }
        let assigns = sniffed.effects.contains(Effects::ASSIGNS_USER_VARIABLE);
        let before = assigns.then(|| self.state.clone());
        let explained = self.learn_changes(&mut lease, &end);
        if let Some(flags) = end.status {
            self.note_status(&mut lease, flags);
        }
        if let Some(id) = end.last_insert_id {
            self.last_insert_id = id;
        }
        if let Some(sharded) = self.sharded.as_mut() {
            sharded.error = end.error.as_ref().map_or(0, |e| e.code);
        }
        let warned = self.leaves_warnings(sniffed, sql);
        if let Some(before) = before {
            if !self.learn_user_variables(&mut lease, &end, sniffed, sql, &before) {
                self.pins |= Pins::USER_VARIABLE;
            }
        }
        self.update_pins(&end, sniffed, was_in_transaction);
        self.note_unread(&lease, &end, sniffed, sql);
        self.count_kept(&end, sniffed, sql);
        self.pins.set(
            Pins::DIAGNOSTICS,
            warned || self.pins.contains(Pins::DIAGNOSTICS),
        );
        if !lease.tracking
            && sniffed
                .effects
                .intersects(Effects::SET_SESSION | Effects::USE | Effects::CALL)
        {
            // a server that reports nothing: what was set is only known to the connection
            self.pins |= Pins::VARIABLE;
        }
        if self.sets_unreported(&lease, &end, sniffed) {
            self.pins |= Pins::VARIABLE;
        }
        self.note_unreported_schema(&lease, sniffed);
        let hidden = self.hides_state(&end, sniffed, explained);
        // a statement that failed may have written before it did
        if sniffed.may_change_data() && (was_in_transaction || !only_ends_transaction(sniffed)) {
            self.note_write();
        }
        // with state on it the connection stays the session's: if it was closed, the next command finds that out
        if end.error.as_ref().is_some_and(may_end_connection) && !self.pins.leaves_state() {
            lease.after = crate::backend::After::Close;
            return self.forget(lease);
        }
        if hidden {
            return self.keep_hidden_state(lease, sql);
        }
        self.settle(lease);
    }

    fn note_status(&mut self, lease: &mut Lease, flags: u16) {
        self.status = flags;
        lease.status = flags;
        self.dialect.no_backslash_escapes = flags & status::NO_BACKSLASH_ESCAPES != 0;
    }

    /// Takes over what the server's session tracking reported. True: a variable or the schema changed.
    fn learn_changes(&mut self, lease: &mut Lease, end: &TurnEnd) -> bool {
        if end.changes.is_empty() {
            return false;
        }
        if lease.note_changes(&end.changes, &self.shared.states) {
            self.pins |= Pins::VARIABLE;
        }
        let reported = end
            .changes
            .iter()
            .any(|c| matches!(c, Change::Variable { .. } | Change::Schema(_)));
        if !Rc::ptr_eq(&lease.state, &self.state) {
            self.state = lease.state.clone();
            self.state_changed();
        }
        reported
    }

    /// 0 for an AUTO_INCREMENT column makes an id.
    pub(super) fn zero_generates_in(&self, state: &State) -> bool {
        !has_mode(self.mode_of(state), b"NO_AUTO_VALUE_ON_ZERO")
    }

    /// The sql_mode of a state; the servers' own where it says nothing.
    fn mode_of<'s>(&'s self, state: &'s State) -> &'s [u8] {
        let of_servers = self.greeting.sql_mode.as_bytes();
        state.variable(b"sql_mode").unwrap_or(of_servers)
    }

    /// What hangs on the state's values.
    pub(super) fn state_changed(&mut self) {
        *self.entry.schema.borrow_mut() = self.state.schema.as_deref().map(Into::into);
        self.dialect.ansi_quotes = has_mode(self.mode_of(&self.state), b"ANSI_QUOTES");
        self.zero_generates = self.zero_generates_in(&self.state);
        self.auto_is_null = self.state.is_auto_is_null();
        let charset = self
            .state
            .variable(b"character_set_client")
            .unwrap_or_default();
        self.dialect.ambiguous_bytes = AMBIGUOUS.contains(&charset);
        let seconds = self
            .state
            .variable(b"wait_timeout")
            .and_then(|v| std::str::from_utf8(v).ok()?.parse().ok());
        self.idle_timeout = match seconds {
            Some(seconds) => Duration::from_secs(LONGEST_WAIT_TIMEOUT.min(seconds)),
            None => self.shared.snapshot().proxy.idle_timeout,
        };
    }

    fn update_pins(&mut self, end: &TurnEnd, sniffed: &Sniffed, was_in_transaction: bool) {
        let effects = sniffed.effects;
        let failed = end.error.is_some();
        let many = effects.contains(Effects::MULTI_STATEMENT);
        for (effect, pin, even_if_failed) in PINNING {
            if effects.contains(effect) && (!failed || many || even_if_failed) {
                self.pins |= pin;
            }
        }
        if !failed && !many && effects.contains(Effects::UNLOCKS_TABLES) {
            self.pins.remove(Pins::LOCK_TABLES | Pins::FLUSH_LOCK);
        }
        if !failed && !many && effects.contains(Effects::XA_END) {
            self.pins.remove(Pins::XA);
        }
        if !failed && !many && matches!(sniffed.verb, Verb::Begin | Verb::Start) {
            // a transaction releases the session's table locks
            let begins = effects.contains(Effects::BEGIN);
            self.pins.set(
                Pins::LOCK_TABLES,
                self.pins.contains(Pins::LOCK_TABLES) && !begins,
            );
        }
        if let Some(flags) = end.status {
            let in_transaction = flags & status::IN_TRANS != 0;
            self.pins.set(Pins::TRANSACTION, in_transaction);
            // MariaDB: what only looks like a transaction, a SELECT without tables, leaves it for the next one
            let used_up =
                was_in_transaction || matches!(sniffed.verb, Verb::Commit | Verb::Rollback);
            if !in_transaction && used_up {
                self.pins.remove(Pins::NEXT_TRANSACTION);
            }
            if was_in_transaction && !in_transaction || self.pins.contains(Pins::REPORT) {
                self.await_report(end, sniffed);
            }
        }
        if failed && self.status & status::AUTOCOMMIT == 0 {
            // an error carries no flags, and the statement may have begun a transaction: the next reply tells
            self.pins |= Pins::TRANSACTION;
        }
        let keep =
            self.counts || end.warnings > 0 || failed || effects.contains(Effects::CALC_FOUND_ROWS);
        let asked = self.pins.contains(Pins::DIAGNOSTICS) && effects.contains(Effects::DIAGNOSTICS);
        self.pins.set(Pins::DIAGNOSTICS, keep || asked);
    }

    /// MySQL tells that a transaction is over with the next OK, whatever is tracked: after an error, and a result that ended with
    /// EOF, the connection still has that to say. Also while it has something of the kind to say.
    fn await_report(&mut self, end: &TurnEnd, sniffed: &Sniffed) {
        let state = |c: &Change| matches!(c, Change::TransactionState(_));
        let told = !sniffed.verb.is_query() || end.changes.iter().any(state);
        self.pins.set(Pins::REPORT, !self.dialect.mariadb && !told);
    }

    /// Text that was not read to its end: further statements show in the reply's results, all session state but user
    /// locks in the server's tracking. Not on MySQL what `@a := 1` in a query assigns.
    fn note_unread(&mut self, lease: &Lease, end: &TurnEnd, sniffed: &Sniffed, sql: &[u8]) {
        if !sniffed.effects.contains(Effects::UNREAD) {
            return;
        }
        // an error has no report, and another one that is still to come may hide one
        if end.several || end.error.is_some() || lease.keeps_report {
            self.pins |= Pins::UNKNOWN_STATE;
        }
        let (query, words) = (sniffed.verb.is_query(), Telltale::of(sql));
        let assigns = end.mentions_assignment || words.may_assign(query);
        if assigns || !self.dialect.mariadb && query {
            self.pins |= Pins::USER_VARIABLE;
        }
        if end.mentions_lock || words.speaks_of_a_lock() {
            self.pins |= Pins::GET_LOCK;
            // counted as one without a name
            self.kept.get_or_insert_default().lock_unnamed();
        }
    }

    /// The server says that session state changed, and neither a reported value nor the statement's text
    /// explains it: a function or procedure did something. `reported`: variables or a schema, which may be all or may be
    /// one thing of several; MariaDB also reports late what a statement before did to the schema.
    fn hides_state(&self, end: &TurnEnd, sniffed: &Sniffed, reported: bool) -> bool {
        let explained = reported && !may_do_more(end, sniffed);
        let changed = end
            .changes
            .iter()
            .any(|c| matches!(c, Change::State(v) if v == b"1"));
        // DROP and DEALLOCATE run nothing that could hide something
        let ends = matches!(sniffed.verb, Verb::Drop | Verb::Deallocate)
            && !sniffed
                .effects
                .intersects(Effects::MULTI_STATEMENT | Effects::UNREAD);
        (changed || end.changed_untold)
            && !explained
            && !ends
            && !sniffed.effects.intersects(EXPLAINS)
    }

    /// A read-only transaction ended, and not by COMMIT or ROLLBACK but by SET autocommit, say: MariaDB refuses the
    /// connection's writes until one of them comes.
    fn ends_read_only_otherwise(&self, end: &TurnEnd, sniffed: &Sniffed) -> bool {
        let was = self.status & status::IN_TRANS_READONLY != 0;
        was && self.dialect.mariadb
            && end.status.is_some_and(|now| now & status::IN_TRANS == 0)
            && (sniffed.effects.contains(Effects::MULTI_STATEMENT)
                || !matches!(sniffed.verb, Verb::Commit | Verb::Rollback))
    }

    /// Something was set of which the server reports nothing, or autocommit is not what was reported.
    fn sets_unreported(&self, lease: &Lease, end: &TurnEnd, sniffed: &Sniffed) -> bool {
        let unscoped = self.dialect.mariadb && sniffed.effects.contains(Effects::UNREPORTED);
        // a single SET that failed has set nothing
        let failed = end.error.is_some() && !sniffed.effects.contains(Effects::MULTI_STATEMENT);
        let known = lease.state.variable(b"autocommit");
        let is_on = |flags: u16| flags & status::AUTOCOMMIT != 0;
        let other = |flags: u16| known.is_some_and(|known| (known == b"ON") != is_on(flags));
        unscoped && !end.asked && !failed || end.status.is_some_and(other)
    }

    /// State that only the connection knows: the session keeps it. On a replica it cannot stay, since the
    /// session's writes go elsewhere: the connection is reset, and the statement runs on the primary from now on.
    fn keep_hidden_state(&mut self, mut lease: Lease, sql: &[u8]) {
        if !lease.guarded || self.pins.contains(Pins::TRANSACTION) {
            self.pins |= Pins::UNKNOWN_STATE;
            return self.settle(lease);
        }
        let digest = sniff::digest(sql, self.dialect);
        self.shared.known_writes.borrow_mut().remember(digest);
        lease.after = crate::backend::After::Reset;
        self.forget(lease);
    }

    /// Read-your-writes: the window starts at the end of the write.
    pub(super) fn note_write(&self) {
        let now = net::monotonic_nanos();
        // a plain load and store: the turn's path has no locked instruction; times only grow
        if self.user.last_write.load(Relaxed) < now {
            self.user.last_write.store(now, Relaxed);
        }
    }
}

/// Whether an sql_mode has this flag, which is not the end of another one's name.
pub(super) fn has_mode(mode: &[u8], flag: &[u8]) -> bool {
    mode.windows(flag.len())
        .any(|w| w.eq_ignore_ascii_case(flag))
}

/// COMMIT, ROLLBACK, SET autocommit: without an open transaction they end nothing. Drivers send them around reads.
fn only_ends_transaction(sniffed: &Sniffed) -> bool {
    let ends = Effects::END_TRANSACTION | Effects::SET_AUTOCOMMIT;
    let harmless = ends | Effects::SET_SESSION;
    sniffed.effects.intersects(ends)
        && harmless.contains(sniffed.effects)
        && matches!(sniffed.verb, Verb::Commit | Verb::Rollback | Verb::Set)
}

/// Seconds: what servers allow.
const LONGEST_WAIT_TIMEOUT: u64 = 365 * 24 * 3600;

/// Character sets in which a backslash or quote may be the second byte of a character.
const AMBIGUOUS: [&[u8]; 5] = [b"big5", b"cp932", b"gb18030", b"gbk", b"sjis"];

/// Which effects hold the connection, by which reason, and whether also after an error.
const PINNING: [(Effects, Pins, bool); 10] = [
    (
        Effects::CREATES_TEMPORARY_TABLE,
        Pins::TEMPORARY_TABLE,
        false,
    ),
    (Effects::LOCKS_TABLES, Pins::LOCK_TABLES, false),
    (Effects::FLUSHES_WITH_LOCK, Pins::FLUSH_LOCK, true),
    (Effects::GET_LOCK, Pins::GET_LOCK, true),
    (Effects::PREPARES, Pins::SQL_PREPARE, false),
    (Effects::HANDLER_OPEN, Pins::HANDLER, false),
    (Effects::XA_START, Pins::XA, false),
    (Effects::CALL, Pins::CALL, true),
    (Effects::SET_NEXT_TRANSACTION, Pins::NEXT_TRANSACTION, false),
    (Effects::SET_OTHER, Pins::ROLE, false),
];

/// What the server reported need not be all that it did: nobody has read it to its end, or functions of a query set variables.
fn may_do_more(end: &TurnEnd, sniffed: &Sniffed) -> bool {
    let variable = |c: &Change| matches!(c, Change::Variable { .. });
    sniffed.effects.contains(Effects::UNREAD)
        || sniffed.verb.is_query() && end.changes.iter().any(variable)
}

/// Effects that account for a "state changed" flag by themselves (they pin, or end something).
const EXPLAINS: Effects = Effects::CREATES_TEMPORARY_TABLE
    .union(Effects::ASSIGNS_USER_VARIABLE)
    .union(Effects::PREPARES)
    .union(Effects::CALL)
    .union(Effects::SET_OTHER)
    .union(Effects::USE);

/// The server may have closed the connection behind this error: shutdown, killed, communication errors. Not for certain: a
/// SIGNAL can have any number, and some numbers mean other things on MariaDB than on MySQL (4031).
pub(super) fn may_end_connection(error: &crate::wire::reply::Err) -> bool {
    matches!(
        error.code,
        1053 | 1077 | 1079 | 1080 | 1152..=1161 | 1184 | 1927 | 3169 | 4031
    )
}
