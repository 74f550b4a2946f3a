//! What is noted of each command for the statistics, the slow log and the audit. Only sessions of a process that
//! has one of them on carry any of this.
mod shards;

use super::lease::unless_killed;
use super::shared::Shared;
use super::Session;
use crate::backend::Lease;
use crate::config::{Audit, AuditText, Watching};
use crate::net::{self, Buf, Peer};
use crate::observe::digests::{Turn, TEXT};
use crate::observe::record::{Event, Ran, Record, FIXED};
use crate::relay::{Command, TurnEnd};
use crate::sniff::{self, Dialect, Verb};
use crate::topology::{Snapshot, User};
use crate::wire::query::text_offset;
use crate::wire::{command, error, reply};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// ER_NET_READ_ERROR: the client went while its statement ran.
const CLIENT_GONE: u16 = 1158;
/// How often a statement looks whether the audit's queue has room again.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes for the names of user, schema and policy: 128, 64 and 64 characters; and for those of shards.
const NAMES: usize = 1024 + SHARDS;
/// Of the shards' names; what is over it is left out.
const SHARDS: usize = 1024;

/// Room in the audit's queue for one record, so that it cannot be lost. Only taken where statements wait for it.
pub(super) struct Room {
    shared: Rc<Shared>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        let taken = self.shared.journal_reserved.get();
        self.shared
            .journal_reserved
            .set(taken.saturating_sub(self.bytes));
    }
}

impl Room {
    /// None: there is not enough now.
    fn take(shared: &Rc<Shared>) -> Option<Room> {
        let text = shared.snapshot().watch.audit.max_text_bytes as usize;
        // the record, its length and its last word
        let bytes = FIXED + NAMES + text + 16;
        let taken = shared.journal_reserved.get();
        if !shared.journal.has_room(taken + bytes) {
            return None;
        }
        shared.journal_reserved.set(taken + bytes);
        Some(Room {
            shared: shared.clone(),
            bytes,
        })
    }

    /// For a login's record, where statements wait for theirs. None: it could not be had.
    pub async fn for_login(shared: &Rc<Shared>) -> Option<Option<Room>> {
        if !shared.watch_waits.get() {
            return Some(None);
        }
        match Room::take(shared) {
            Some(room) => Some(Some(room)),
            None => Room::wait(shared).await.map(Some),
        }
    }

    /// None: there was not enough within `lease_timeout`.
    pub async fn wait(shared: &Rc<Shared>) -> Option<Room> {
        shared.stats.audit_waits.add(1);
        let until = net::now() + shared.snapshot().proxy.lease_timeout;
        loop {
            if let Some(room) = Room::take(shared) {
                return Some(room);
            }
            let now = net::now();
            if now >= until {
                return None;
            }
            net::sleep_until(until.min(now + LOOK)).await;
        }
    }
}

pub(super) fn not_written() -> reply::Err {
    error::own(
        "the audit cannot be written (its file or collector does not take any more), and audit.when_full is \"wait\": \
         nothing was run",
    )
}

/// Of one session; what the running command came to.
pub(super) struct Watch {
    user: Rc<str>,
    group: Rc<str>,
    user_hash: u64,
    /// The running command as it came, and the text of the statement that it executes.
    command: Option<Buf>,
    text: Option<Rc<[u8]>>,
    verb: Verb,
    end: Ended,
    /// Those that the statement ran on; empty: it was not sharded.
    shards: String,
    /// The user whose policies were asked, which of them, and whether it denied.
    policy: Option<(Arc<User>, usize, bool)>,
    /// In the audit's queue, kept for the record.
    room: Option<Room>,
}

#[derive(Clone, Copy, Default)]
struct Ended {
    rows: u64,
    bytes: u64,
    error: u16,
    /// Server and whether it was the primary.
    server: Option<(u32, bool)>,
    /// It ran on several shards.
    several: bool,
}

impl Watch {
    /// None: nothing is noted of this user.
    pub fn of(snapshot: &Snapshot, user: &User) -> Option<Box<Watch>> {
        let settings = &snapshot.watch;
        if !settings.is_on() {
            return None;
        }
        let group: Rc<str> = user.config.group.as_str().into();
        let user: Rc<str> = user.config.name.as_str().into();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in user.bytes().chain([0]).chain(group.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Some(Box::new(Watch {
            user,
            group,
            user_hash: hash,
            command: None,
            text: None,
            verb: Verb::Other,
            end: Ended::default(),
            shards: String::new(),
            policy: None,
            room: None,
        }))
    }

    fn begin(&mut self, command: &Command) {
        self.command = Some(command.bytes.clone());
        self.text = None;
        self.verb = Verb::Other;
        self.end = Ended::default();
        self.shards.clear();
        self.policy = None;
    }
}

impl Session {
    /// A command begins. With an audit that must not lose anything, its record's room is taken first.
    #[inline]
    pub(super) async fn watch_begins(&mut self, command: &Command) -> Result<(), reply::Err> {
        let Some(watch) = self.watch.as_mut() else {
            return Ok(());
        };
        watch.begin(command);
        if !self.shared.watch_waits.get() || !command::expects_reply(command.kind()) {
            return Ok(());
        }
        watch.room = Room::take(&self.shared);
        if watch.room.is_none() {
            return Box::pin(self.wait_for_room()).await;
        }
        Ok(())
    }

    async fn wait_for_room(&mut self) -> Result<(), reply::Err> {
        self.entry
            .set(super::registry::Activity::Audited, net::now());
        let room = unless_killed(&self.entry, Room::wait(&self.shared)).await;
        self.entry
            .set(super::registry::Activity::Running, net::now());
        let room = room.ok_or_else(error::query_interrupted)?;
        let room = room.ok_or_else(not_written)?;
        if let Some(watch) = self.watch.as_mut() {
            watch.room = Some(room);
        }
        Ok(())
    }

    /// What a command with a text is.
    #[inline]
    pub(super) fn watch_verb(&mut self, verb: Verb) {
        if let Some(watch) = self.watch.as_mut() {
            watch.verb = verb;
        }
    }

    /// The statement that a command executes.
    #[inline]
    pub(super) fn watch_statement(&mut self, verb: Verb, text: &Rc<[u8]>) {
        if let Some(watch) = self.watch.as_mut() {
            watch.verb = verb;
            watch.text = Some(text.clone());
        }
    }

    /// A server has answered.
    #[inline]
    pub(super) fn watch_reply(&mut self, end: &TurnEnd, lease: &Lease) {
        if let Some(watch) = self.watch.as_mut() {
            watch.end = Ended {
                rows: end.rows,
                bytes: end.bytes,
                error: end.error.as_ref().map_or(0, |e| e.code),
                server: Some((lease.server.id.0, !lease.guarded)),
                several: false,
            };
        }
    }

    /// The session's user, or what is noted, has changed: a running command is noted under its new user.
    pub(super) fn watch_anew(&mut self, snapshot: &Snapshot) {
        let old = self.watch.take();
        self.watch = Watch::of(snapshot, &self.user);
        if let (Some(watch), Some(old)) = (self.watch.as_mut(), old) {
            (watch.command, watch.room) = (old.command, old.room);
        }
    }

    /// Whether the notes are of the session's user (or there are none).
    pub(super) fn watch_is_of_user(&self) -> bool {
        let watch = self.watch.as_ref();
        watch.is_none_or(|watch| {
            *watch.user == *self.user.config.name && *watch.group == *self.user.config.group
        })
    }

    /// The proxy answers with an error of its own.
    #[inline]
    pub(super) fn watch_error(&mut self, code: u16) {
        if let Some(watch) = self.watch.as_mut() {
            watch.end.error = code;
        }
    }

    /// A policy denied the command, or took note of it.
    pub(super) fn watch_policy(&mut self, at: usize, denied: bool) {
        if let Some(watch) = self.watch.as_mut() {
            watch.policy = Some((self.user.clone(), at, denied));
        }
    }

    /// The command has ended: it is counted, and written down where that is wanted.
    #[inline]
    pub(super) fn watch_ends(&mut self, started: Instant, client_gone: bool) {
        let Some(mut watch) = self.watch.take() else {
            return;
        };
        if client_gone && watch.end.error == 0 {
            watch.end.error = CLIENT_GONE;
        }
        let now = net::now();
        if let Some(command) = watch.command.take() {
            self.note(&watch, &command, now.saturating_duration_since(started));
        }
        watch.text = None;
        watch.policy = None;
        watch.room = None;
        self.watch = Some(watch);
    }

    fn note(&self, watch: &Watch, command: &Buf, duration: Duration) {
        let kind = command.get(4).copied().unwrap_or(0);
        if !command::expects_reply(kind) {
            return;
        }
        let snapshot = self.shared.snapshot();
        let settings = &snapshot.watch;
        let text = match &watch.text {
            Some(text) => &text[..],
            None => text_of(
                kind,
                command.get(5..).unwrap_or_default(),
                self.capabilities,
            ),
        };
        let digest = match text.is_empty() {
            true => 0,
            false => sniff::digest(text, self.dialect),
        };
        let micros = duration.as_micros() as u64;
        if settings.statistics.digests > 0 && digest != 0 {
            let turn = Turn {
                digest,
                user_hash: watch.user_hash,
                micros,
                rows: watch.end.rows,
                bytes: watch.end.bytes,
                failed: watch.end.error != 0,
            };
            let mut digests = self.shared.digests.borrow_mut();
            digests.note(&turn, &watch.user, &watch.group, |out: &mut [u8; TEXT]| {
                sniff::normalised(text, self.dialect, out)
            });
        }
        let slow = settings.statistics.slow_log.is_some()
            && micros >= settings.statistics.slow_log_ms.saturating_mul(1000);
        let audited = watch.policy.is_some() || wants(&settings.audit, &watch.user, watch);
        let audited = audited && settings.audit.is_on();
        if slow || audited {
            let policy = watch.policy.as_ref();
            let rule = policy.and_then(|(user, at, _)| user.policies.get(*at));
            let record = Record {
                event: Event::Statement,
                audited,
                slow,
                truncated: false,
                ran: match watch.end.server {
                    None if watch.end.several => Ran::Shards,
                    None => Ran::Local,
                    Some((_, true)) => Ran::Primary,
                    Some((_, false)) => Ran::Replica,
                },
                command: kind,
                error: watch.end.error,
                connection: self.entry.id,
                server: watch.end.server.map_or(u32::MAX, |(server, _)| server),
                at: now_micros(),
                duration: micros,
                rows: watch.end.rows,
                bytes: watch.end.bytes,
                digest,
                client: address(&self.entry.peer.borrow()),
                user: &watch.user,
                schema: self.state.schema.as_deref().unwrap_or_default(),
                text,
                shards: &watch.shards,
                policy: rule.map_or("", |rule| &rule.name),
                denied: policy.is_some_and(|(_, _, denied)| *denied),
            };
            write(&self.shared, settings, record, self.dialect);
        }
    }
}

/// Whether the audit's filters let the statement through.
fn wants(audit: &Audit, user: &str, watch: &Watch) -> bool {
    let of_user = audit.users.is_empty() || audit.users.iter().any(|name| name == user);
    let kind = audit.kinds == 0 || audit.kinds >> (watch.verb as u64).min(63) & 1 == 1;
    of_user && kind && (!audit.only_errors || watch.end.error != 0)
}

/// A login, for the audit.
pub(super) fn login(shared: &Shared, entry: &super::registry::Entry, user: &str, error: u16) {
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
        slow: false,
        truncated: false,
        ran: Ran::Local,
        command: 0,
        error,
        connection: entry.id,
        server: u32::MAX,
        at: now_micros(),
        duration: 0,
        rows: 0,
        bytes: 0,
        digest: 0,
        client: address(&entry.peer.borrow()),
        user,
        schema: b"",
        text: b"",
        shards: "",
        policy: "",
        denied: false,
    };
    write(shared, &snapshot.watch, record, Dialect::default());
}

fn write(shared: &Shared, settings: &Watching, record: Record<'_>, dialect: Dialect) {
    let audit = &settings.audit;
    let most = match audit.text {
        // the slow log's file shows no more than the audit's
        AuditText::None => 0,
        _ => audit.max_text_bytes as usize,
    };
    let mut masked = shared.journal_text.borrow_mut();
    let mut record = record;
    if audit.text == AuditText::Masked || holds_secret(record.text) {
        masked.resize(most, 0);
        let length = sniff::normalised(record.text, dialect, &mut masked);
        masked.truncate(length);
        record.truncated = length == most;
        record.text = &masked;
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

/// Passwords in CREATE USER, ALTER USER, GRANT, SET PASSWORD, CHANGE MASTER are written down by nobody: such texts
/// lose their literals.
fn holds_secret(text: &[u8]) -> bool {
    let word = |word: &[u8]| {
        memchr::memchr2_iter(word[0], word[0].to_ascii_uppercase(), text).any(|at| {
            text.get(at..at + word.len())
                .is_some_and(|there| there.eq_ignore_ascii_case(word))
        })
    };
    word(b"password") || word(b"identified")
}

/// The text that a command carries.
fn text_of(kind: u8, body: &[u8], capabilities: u64) -> &[u8] {
    match kind {
        command::QUERY => {
            let at = text_offset(body, capabilities).unwrap_or(0);
            body.get(at..).unwrap_or_default()
        }
        command::STMT_PREPARE | command::INIT_DB => body,
        _ => &[],
    }
}

fn address(peer: &Peer) -> Option<std::net::SocketAddr> {
    match peer {
        Peer::Tcp(address) => Some(*address),
        Peer::Unix => None,
    }
}

pub(super) fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}
