//! The sessions of one worker, for SHOW SESSIONS, KILL and draining.
use super::pins::Pins;
use super::sharded::OwnNames;
use crate::backend::Account;
use crate::net::{Aborter, Peer, TlsInfo};
use crate::observe::SessionInfo;
use crate::topology::ServerId;
use ahash::AHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Login,
    Idle,
    /// Waits for a server connection.
    Waiting,
    /// Held to its user's rate.
    Throttled,
    /// Waits until fewer statements of its user run.
    Queued,
    /// Waits until the audit has room for its record.
    Audited,
    Running,
    Closing,
}

impl Activity {
    pub fn words(self) -> &'static str {
        match self {
            Activity::Login => "login",
            Activity::Idle => "idle",
            Activity::Waiting => "waiting for a server connection",
            Activity::Throttled => "held to its user's qps",
            Activity::Queued => "waiting for other statements of its user",
            Activity::Audited => "waiting for the audit",
            Activity::Running => "running",
            Activity::Closing => "closing",
        }
    }
}

/// Why a session has to give up what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// The worker's memory is used up.
    Worker,
    /// Its user's `max_memory_bytes` is.
    User,
}

impl Eviction {
    pub fn words(self) -> &'static str {
        match self {
            Eviction::Worker => "memory_limit_bytes",
            Eviction::User => "max_memory_bytes of its user",
        }
    }
}

/// The server connection that a session uses now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnServer {
    pub server: ServerId,
    pub thread_id: u32,
    /// Ends the connection when the server no longer answers.
    pub aborter: Aborter,
}

/// One session as others see it. Written by its session, a few cells a turn.
pub struct Entry {
    pub id: u32,
    /// Who the client is: the other end of the connection, or whom a PROXY header names.
    pub peer: RefCell<Peer>,
    /// Tells what the client's connection holds, and ends it.
    pub client: Aborter,
    pub user: RefCell<Rc<str>>,
    /// As which the session logs in at servers; None: its own login has not ended.
    pub account: RefCell<Option<Rc<Account>>>,
    pub group: Cell<usize>,
    pub schema: RefCell<Option<Rc<[u8]>>>,
    pub in_transaction: Cell<bool>,
    pub pins: Cell<Pins>,
    pub on_server: Cell<Option<OnServer>>,
    /// The server connection of the last turn: its server, id and uses then.
    pub last_used: Cell<Option<(ServerId, u64, u64)>>,
    /// Those of a statement that runs on several servers at once.
    spread: Cell<Option<Box<[OnServer]>>>,
    pub turns: Cell<u64>,
    /// What the client's connection is encrypted with.
    pub tls: Cell<Option<TlsInfo>>,
    activity: Cell<Activity>,
    since: Cell<Instant>,
    /// KILL, or the end of the process: the session ends at its next chance.
    stop: Cell<bool>,
    /// KILL QUERY of a statement that still waits for a server connection.
    interrupted: Cell<bool>,
    /// It was told to give up what it holds.
    evicted: Cell<Option<(Eviction, Instant)>>,
    waker: RefCell<Option<Waker>>,
    /// For the session itself, which has no room for what few sessions need.
    pub own_names: OnceCell<Box<OwnNames>>,
}

impl Entry {
    /// Since when it does what it does.
    pub fn since(&self) -> Instant {
        self.since.get()
    }

    #[inline]
    pub fn set(&self, activity: Activity, now: Instant) {
        self.activity.set(activity);
        self.since.set(now);
    }

    #[inline]
    pub fn activity(&self) -> Activity {
        self.activity.get()
    }

    /// Tells the session to end and wakes it.
    pub fn stop(&self) {
        self.stop.set(true);
        self.wake();
    }

    /// Ends the wait of the session's statement, or its run on several servers; nothing if there is neither.
    pub fn interrupt(&self) {
        let waits = matches!(
            self.activity.get(),
            Activity::Waiting | Activity::Throttled | Activity::Queued | Activity::Audited
        );
        if waits || self.is_spread() {
            self.interrupted.set(true);
            self.wake();
        }
    }

    /// A statement begins on these servers at once, or has ended (none): an interruption was meant for it alone.
    pub fn set_spread(&self, on: Vec<OnServer>) {
        self.interrupted.set(false);
        self.spread.set((!on.is_empty()).then(|| on.into()));
    }

    /// A statement runs on several servers: its session interrupts it on all of them.
    pub fn is_spread(&self) -> bool {
        let spread = self.spread.take();
        let is = spread.is_some();
        self.spread.set(spread);
        is
    }

    /// All server connections that the session uses now.
    pub fn uses(&self) -> Vec<OnServer> {
        let spread = self.spread.take();
        let mut uses: Vec<OnServer> = spread.iter().flat_map(|on| on.iter().copied()).collect();
        self.spread.set(spread);
        uses.extend(self.on_server.get());
        uses
    }

    /// Tells the session to give up what it holds. One that waits for the rest of a command, or that keeps rows, can tell its
    /// client; any other is in the middle of something, and its connection ends. So does one that was told before.
    pub fn evict(&self, why: Eviction, now: Instant) {
        let told = self.evicted.replace(Some((why, now))).is_some();
        let rows = self.client.held().map_or(0, |held| held.rows);
        match self.activity.get() {
            _ if told => self.client.abort(),
            Activity::Idle => self.stop(),
            Activity::Running if rows > 0 => {
                self.interrupted.set(true);
                self.wake();
            }
            _ => self.client.abort(),
        }
    }

    pub fn evicted(&self) -> Option<Eviction> {
        self.evicted.get().map(|(why, _)| why)
    }

    pub fn evicted_at(&self) -> Option<Instant> {
        self.evicted.get().map(|(_, at)| at)
    }

    /// The rows that it kept are gone.
    pub fn end_eviction(&self) {
        if self.evicted.take().is_some() {
            self.interrupted.set(false);
        }
    }

    /// As [`Entry::poll_stopped`], also ready once after [`Entry::interrupt`].
    pub fn poll_interrupted(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.interrupted.replace(false) {
            return Poll::Ready(());
        }
        self.poll_stopped(cx)
    }

    pub fn stopped(&self) -> bool {
        self.stop.get()
    }

    pub fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Ready once the session has been told to end.
    pub fn poll_stopped(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.stop.get() {
            return Poll::Ready(());
        }
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Ids of clients begin here, far above the ids that servers give to their connections: what SHOW PROCESSLIST tells is never
/// taken for a client's id.
pub const FIRST_ID: u32 = 1_000_000_000;

/// Per worker.
pub struct Registry {
    entries: RefCell<AHashMap<u32, Rc<Entry>>>,
    /// Connection ids tell the worker: id = n × workers + worker + 1.
    worker: u32,
    workers: u32,
    next: Cell<u32>,
}

/// The first number whose ids are all above [`FIRST_ID`].
fn first(workers: usize) -> u32 {
    FIRST_ID.div_ceil(workers.max(1) as u32)
}

impl Registry {
    pub fn new(worker: usize, workers: usize) -> Registry {
        Registry {
            entries: RefCell::default(),
            worker: worker as u32,
            workers: workers.max(1) as u32,
            next: Cell::new(first(workers)),
        }
    }

    /// The worker that gave out this connection id.
    pub fn worker_of(&self, id: u32) -> usize {
        (id.wrapping_sub(1) % self.workers) as usize
    }

    pub fn workers(&self) -> usize {
        self.workers as usize
    }

    /// A new session with an id that no other one has.
    pub fn add(&self, peer: Peer, client: Aborter, now: Instant) -> Rc<Entry> {
        let mut entries = self.entries.borrow_mut();
        let id = loop {
            let n = self.next.get();
            let id = n
                .checked_mul(self.workers)
                .and_then(|n| n.checked_add(self.worker + 1));
            self.next.set(match id {
                Some(_) => n + 1,
                None => first(self.workers as usize),
            });
            if let Some(id) = id.filter(|id| !entries.contains_key(id)) {
                break id;
            }
        };
        let entry = Rc::new(Entry {
            id,
            peer: RefCell::new(peer),
            client,
            user: RefCell::new("".into()),
            account: RefCell::default(),
            group: Cell::new(0),
            schema: RefCell::new(None),
            in_transaction: Cell::new(false),
            pins: Cell::new(Pins::empty()),
            on_server: Cell::new(None),
            last_used: Cell::new(None),
            spread: Cell::new(None),
            turns: Cell::new(0),
            tls: Cell::new(None),
            activity: Cell::new(Activity::Login),
            since: Cell::new(now),
            stop: Cell::new(false),
            interrupted: Cell::new(false),
            evicted: Cell::new(None),
            waker: RefCell::new(None),
            own_names: OnceCell::new(),
        });
        entries.insert(id, entry.clone());
        entry
    }

    pub fn remove(&self, id: u32) {
        self.entries.borrow_mut().remove(&id);
    }

    pub fn get(&self, id: u32) -> Option<Rc<Entry>> {
        self.entries.borrow().get(&id).cloned()
    }

    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    pub fn all(&self) -> Vec<Rc<Entry>> {
        self.entries.borrow().values().cloned().collect()
    }

    pub fn each(&self, f: impl FnMut(&Rc<Entry>)) {
        self.entries.borrow().values().for_each(f);
    }

    /// Sessions that hold a server connection between commands.
    pub fn pinned(&self) -> usize {
        let entries = self.entries.borrow();
        entries
            .values()
            .filter(|e| !e.pins.get().is_empty())
            .count()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Wakes every session (it looks whether the worker drains).
    pub fn wake_all(&self) {
        let all: Vec<Rc<Entry>> = self.entries.borrow().values().cloned().collect();
        all.iter().for_each(|e| e.wake());
    }

    /// Ends the connections to servers that are found dead, so that what waits for them is decided now.
    pub fn abort_on(&self, dead: &dyn Fn(ServerId) -> bool) {
        let uses: Vec<OnServer> = self
            .entries
            .borrow()
            .values()
            .flat_map(|e| e.uses())
            .collect();
        uses.iter()
            .filter(|on| dead(on.server))
            .for_each(|on| on.aborter.abort());
    }

    /// Rows of SHOW SESSIONS; `server_name` finds a server's address.
    pub fn info(
        &self,
        now: Instant,
        server_name: &dyn Fn(ServerId) -> Option<String>,
    ) -> Vec<SessionInfo> {
        let entries = self.entries.borrow();
        let mut rows: Vec<SessionInfo> = entries
            .values()
            .map(|e| self.row(e, now, server_name))
            .collect();
        rows.sort_by_key(|r| r.id);
        rows
    }

    fn row(
        &self,
        e: &Entry,
        now: Instant,
        server_name: &dyn Fn(ServerId) -> Option<String>,
    ) -> SessionInfo {
        SessionInfo {
            id: e.id,
            worker: self.worker as usize,
            user: e.user.borrow().to_string(),
            client: match &*e.peer.borrow() {
                Peer::Tcp(address) => address.to_string(),
                Peer::Unix => "unix socket".to_string(),
            },
            schema: e
                .schema
                .borrow()
                .as_ref()
                .map(|s| String::from_utf8_lossy(s).into_owned()),
            state: e.activity.get().words().to_string(),
            seconds: now.saturating_duration_since(e.since.get()).as_secs(),
            in_transaction: e.in_transaction.get(),
            pinned: e.pins.get().words(),
            server: e.on_server.get().and_then(|s| server_name(s.server)),
            turns: e.turns.get(),
            tls: e
                .tls
                .get()
                .map(|tls| format!("{} {}", tls.version, tls.cipher)),
        }
    }
}
