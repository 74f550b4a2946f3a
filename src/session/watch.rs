//! What is noted of each command for the statistics, the slow log and the audit. Only sessions of a process that
//! has one of them on carry any of this.
mod masked;
mod shards;
mod write;

use super::lease::unless_killed;
use super::shared::Shared;
use super::statements::Statement;
use super::Session;
use crate::backend::Lease;
use crate::config::Audit;
use crate::net::{self, Buf};
use crate::observe::digests::{Turn, TEXT};
use crate::observe::record::{Event, Ran, Record, FIXED};
use crate::relay::{Command, TurnEnd};
use crate::sniff::{self, About, Dialect, KnownText, Verb};
use crate::topology::{Snapshot, User};
use crate::wire::query::text_offset;
use crate::wire::{command, error, reply};
pub(super) use masked::Masked;
use masked::Whose;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(super) use write::{login, now_micros, WallClock};

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
    /// How that one was read; None: as the session reads.
    dialect: Option<Dialect>,
    /// What is known of the text.
    about: Option<About>,
    whose: Option<Whose>,
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
            dialect: None,
            about: None,
            whose: None,
            verb: Verb::Other,
            end: Ended::default(),
            shards: String::new(),
            policy: None,
            room: None,
        }))
    }

    fn begin(&mut self, command: &Command) {
        self.command = Some(command.bytes.clone());
        (self.text, self.dialect) = (None, None);
        (self.about, self.whose) = (None, None);
        self.verb = Verb::Other;
        self.end = Ended::default();
        self.shards.clear();
        self.policy = None;
    }

    /// The command executes this statement.
    #[inline]
    pub fn executes(&mut self, statement: &mut Statement) {
        let of = || About::of(&statement.text, statement.dialect);
        self.about = Some(*statement.about.get_or_insert_with(of));
        self.verb = statement.sniffed.verb;
        self.text = Some(statement.text.clone());
        self.dialect = Some(statement.dialect);
        self.whose = Some(Whose::Statement(statement.key));
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

    /// The same of a text that the sniffer may know.
    #[inline]
    pub(super) fn watch_text(&mut self, verb: Verb, text: Option<KnownText>) {
        if let Some(watch) = self.watch.as_mut() {
            watch.verb = verb;
            watch.about = text.map(|text| text.about);
            watch.whose = text.map(|text| Whose::Text(text.id));
        }
    }

    /// The statement that a command executes.
    pub(super) fn watch_executes(&mut self, id: u32) {
        if let (Some(watch), Some(statement)) = (self.watch.as_mut(), self.statements.get(id)) {
            watch.executes(statement);
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
    pub(super) fn watch_ends(&mut self, started: Instant, now: Instant, client_gone: bool) {
        if self.watch.is_some() {
            self.note_end(started, now, client_gone);
        }
    }

    fn note_end(&mut self, started: Instant, now: Instant, client_gone: bool) {
        let Some(mut watch) = self.watch.take() else {
            return;
        };
        if client_gone && watch.end.error == 0 {
            watch.end.error = CLIENT_GONE;
        }
        if let Some(command) = watch.command.take() {
            let kind = command.get(4).copied().unwrap_or(0);
            if command::expects_reply(kind) {
                self.note(&watch, (kind, &command), started, now);
            }
        }
        watch.text = None;
        watch.policy = None;
        watch.room = None;
        self.watch = Some(watch);
    }

    fn note(&self, watch: &Watch, (kind, command): (u8, &Buf), started: Instant, now: Instant) {
        let snapshot = self.shared.snapshot();
        let settings = &snapshot.watch;
        let micros = now.saturating_duration_since(started).as_micros() as u64;
        let counted = settings.statistics.digests > 0;
        let slow = settings.statistics.slow_log.is_some()
            && micros >= settings.statistics.slow_log_ms.saturating_mul(1000);
        let audited = settings.audit.is_on()
            && (watch.policy.is_some() || wants(&settings.audit, &watch.user, watch));
        if !counted && !slow && !audited {
            return;
        }
        let text = match &watch.text {
            Some(text) => &text[..],
            None => text_of(
                kind,
                command.get(5..).unwrap_or_default(),
                self.capabilities,
            ),
        };
        let dialect = watch.dialect.unwrap_or(self.dialect);
        let about = watch.about.unwrap_or_else(|| About::of(text, dialect));
        if counted && about.digest != 0 {
            let turn = Turn {
                digest: about.digest,
                user_hash: watch.user_hash,
                micros,
                rows: watch.end.rows,
                bytes: watch.end.bytes,
                failed: watch.end.error != 0,
            };
            let mut digests = self.shared.digests.borrow_mut();
            digests.note(&turn, &watch.user, &watch.group, |out: &mut [u8; TEXT]| {
                sniff::normalised(text, dialect, out)
            });
        }
        if slow || audited {
            let record = Record {
                audited,
                slow,
                command: kind,
                connection: self.entry.id,
                at: self.shared.wall_clock.micros_at(now),
                duration: micros,
                digest: about.digest,
                client: write::address(&self.entry.peer.borrow()),
                schema: self.state.schema.as_deref().unwrap_or_default(),
                text,
                ..watch.record()
            };
            let source = write::Source {
                secret: about.secret,
                dialect,
                whose: watch.whose,
            };
            write::write(&self.shared, settings, record, source);
        }
    }
}

impl Watch {
    /// What is known of the command here.
    fn record(&self) -> Record<'_> {
        let (end, policy) = (&self.end, self.policy.as_ref());
        let rule = policy.and_then(|(user, at, _)| user.policies.get(*at));
        Record {
            event: Event::Statement,
            ran: match end.server {
                None if end.several => Ran::Shards,
                None => Ran::Local,
                Some((_, true)) => Ran::Primary,
                Some((_, false)) => Ran::Replica,
            },
            error: end.error,
            server: end.server.map_or(u32::MAX, |(server, _)| server),
            rows: end.rows,
            bytes: end.bytes,
            user: &self.user,
            shards: &self.shards,
            policy: rule.map_or("", |rule| &rule.name),
            denied: policy.is_some_and(|(_, _, denied)| *denied),
            ..Record::EMPTY
        }
    }
}

/// Whether the audit's filters let the statement through.
fn wants(audit: &Audit, user: &str, watch: &Watch) -> bool {
    let of_user = audit.users.is_empty() || audit.users.iter().any(|name| name == user);
    let kind = audit.kinds == 0 || audit.kinds >> (watch.verb as u64).min(63) & 1 == 1;
    of_user && kind && (!audit.only_errors || watch.end.error != 0)
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
