//! What all sessions of one worker share. Single-threaded; no other thread sees it.
use super::admission::Lines;
use super::known_writes::KnownWrites;
use super::library::KnownLibraries;
use super::promise::Promise;
use super::registry::Registry;
use super::sharded::{KnownColumns, KnownIds};
use super::store::StoreLink;
use super::watch::{Masked, WallClock};
use crate::backend::{Account, Pools, StateTable};
use crate::config::WhenFull;
use crate::observe::digests::Digests;
use crate::observe::ring::Writer;
use crate::observe::WorkerStats;
use crate::plan::{self, Asked, Context, Execution, Planned, Recalled, Refusal, Request};
use crate::policy;
use crate::sniff::{Dialect, Memo, TextId};
use crate::throttle::failures::Failures;
use crate::topology::{ServerId, Snapshot};
pub use crate::wire::auth::caching_sha2::KeyPair;
use ahash::AHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// From here on, accounts that nobody uses are looked for when their number has doubled.
const ACCOUNTS: usize = 1024;

#[cfg(test)]
type Planner = fn(&Request<'_>) -> Result<Planned, Refusal>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillOutcome {
    /// So many sessions.
    Killed(u64),
    NotOwner,
    NoSuchThread,
    /// Nothing was to be killed: the server connection that the session uses, or used last and nobody has had since.
    Uses(u32),
}

/// What is to happen to the sessions that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Kill,
    KillQuery,
    /// Nothing: it is asked which server connection they use.
    Look,
}

impl KillOutcome {
    /// Of two together: who may not kill one of them is told so.
    pub fn and(self, other: KillOutcome) -> KillOutcome {
        use KillOutcome::{Killed, NoSuchThread, NotOwner, Uses};
        match (self, other) {
            (Uses(thread), _) | (_, Uses(thread)) => Uses(thread),
            (NotOwner, _) | (_, NotOwner) => NotOwner,
            (Killed(a), Killed(b)) => Killed(a + b),
            (NoSuchThread, known) | (known, NoSuchThread) => known,
        }
    }
}

/// The sessions that a KILL means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    Id(u32),
    /// No session can have this id.
    Nobody(u64),
    /// The one whose statement runs on this thread of a server.
    Thread(ServerId, u32),
    User {
        name: String,
        host: Option<String>,
    },
}

impl Whom {
    pub fn of_id(id: u64) -> Whom {
        u32::try_from(id).map_or(Whom::Nobody(id), Whom::Id)
    }
}

/// A KILL for sessions of another worker. `done` must be fulfilled within a bounded time.
pub struct KillElsewhere {
    pub worker: usize,
    pub whom: Whom,
    pub act: Act,
    /// Only if it is this user's.
    pub user: Option<String>,
    pub done: Promise<KillOutcome>,
}

/// The process's snapshot under this worker's own reference count: taking it for a turn is no atomic operation.
pub struct Topology(Arc<Snapshot>);

impl std::ops::Deref for Topology {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

/// Per worker.
pub struct Shared {
    pub worker: usize,
    pub pools: Pools,
    pub states: Rc<StateTable>,
    pub stats: Arc<WorkerStats>,
    pub registry: Registry,
    pub known_writes: RefCell<KnownWrites>,
    pub lines: Lines,
    pub memo: RefCell<Memo>,
    /// Texts that policies let pass.
    pub verdicts: RefCell<policy::Known>,
    pub digests: RefCell<Digests>,
    /// Digests that were handed to the list of this policy.
    pub learnt: RefCell<AHashMap<u64, Box<str>>>,
    /// Records for the thread that writes them down.
    pub journal: Writer,
    /// Bytes of it that are kept for records to come.
    pub journal_reserved: Cell<usize>,
    /// Commands wait for room for their records.
    pub watch_waits: Cell<bool>,
    /// A record is made here.
    pub journal_bytes: RefCell<Vec<u8>>,
    /// Texts for records, without their literals.
    pub(super) masked: RefCell<Masked>,
    /// Of records.
    pub(super) wall_clock: WallClock,
    /// A command that gets a shard's text is made here.
    pub command: RefCell<Vec<u8>>,
    /// Turn latency in microseconds.
    pub latency: RefCell<hdrhistogram::Histogram<u64>>,
    pub keys: Arc<KeyPair>,
    pub kill_elsewhere: Box<dyn Fn(KillElsewhere)>,
    /// Sessions end when their turn and transaction have ended.
    pub draining: Cell<bool>,
    snapshot: RefCell<Rc<Topology>>,
    /// Accounts by name; replaced when the secret changes.
    accounts: RefCell<AHashMap<Box<str>, Rc<Account>>>,
    /// What the planner knows of sharded tables' columns.
    pub columns: KnownColumns,
    /// Ids for AUTO_INCREMENT columns.
    pub ids: KnownIds,
    /// Libraries that objects belong to.
    pub known_libraries: KnownLibraries,
    store: Option<StoreLink>,
    /// Some database or table has a rule.
    sharding: Cell<bool>,
    plans: RefCell<plan::Cache>,
    /// There are libraries.
    libraries: Cell<bool>,
    #[cfg(test)]
    by_hand: Cell<Option<Planner>>,
    seed: Cell<u64>,
    token: Cell<u64>,
    /// Addresses whose logins failed.
    pub failures: RefCell<Failures>,
    /// When a client that did not keep to the rules of its listener was last logged.
    pub complained: Cell<Option<Instant>>,
    /// Sessions that wait for a new topology.
    waiting: RefCell<Vec<Promise<()>>>,
}

impl Shared {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        worker: usize,
        workers: usize,
        pools: Pools,
        states: Rc<StateTable>,
        stats: Arc<WorkerStats>,
        keys: Arc<KeyPair>,
        snapshot: Arc<Snapshot>,
        kill_elsewhere: Box<dyn Fn(KillElsewhere)>,
        journal: Writer,
    ) -> Shared {
        Shared {
            worker,
            pools,
            states,
            stats,
            registry: Registry::new(worker, workers),
            known_writes: RefCell::default(),
            lines: Lines::default(),
            memo: RefCell::default(),
            verdicts: RefCell::default(),
            learnt: RefCell::default(),
            digests: RefCell::new(Digests::new(snapshot.watch.statistics.digests as usize)),
            journal,
            journal_reserved: Cell::new(0),
            watch_waits: Cell::new(waits(&snapshot)),
            journal_bytes: RefCell::default(),
            masked: RefCell::default(),
            wall_clock: WallClock::default(),
            command: RefCell::default(),
            latency: RefCell::new(crate::observe::latency_histogram()),
            keys,
            kill_elsewhere,
            draining: Cell::new(false),
            columns: KnownColumns::default(),
            ids: KnownIds::default(),
            known_libraries: KnownLibraries::default(),
            store: None,
            sharding: Cell::new(!snapshot.shards.is_empty()),
            plans: RefCell::default(),
            libraries: Cell::new(!snapshot.libraries.is_empty()),
            #[cfg(test)]
            by_hand: Cell::new(None),
            snapshot: RefCell::new(Rc::new(Topology(snapshot))),
            accounts: RefCell::default(),
            seed: Cell::new(rand::random()),
            token: Cell::new(0),
            failures: RefCell::default(),
            complained: Cell::new(None),
            waiting: RefCell::default(),
        }
    }

    /// What outlives the process is kept there.
    pub fn with_store(mut self, store: Option<StoreLink>) -> Shared {
        self.store = store;
        self
    }

    pub fn store(&self) -> Option<&StoreLink> {
        self.store.as_ref()
    }

    /// The topology for one turn: a plain reference count, no atomic one.
    #[inline]
    pub fn snapshot(&self) -> Rc<Topology> {
        self.snapshot.borrow().clone()
    }

    /// Of the topology that the next turn takes.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.snapshot.borrow().epoch
    }

    pub fn set_snapshot(&self, snapshot: Arc<Snapshot>) {
        let digests = snapshot.watch.statistics.digests;
        if self.snapshot().watch.statistics.digests != digests {
            *self.digests.borrow_mut() = Digests::new(digests as usize);
        }
        self.watch_waits.set(waits(&snapshot));
        self.pools.apply(&snapshot);
        let servers = || snapshot.groups.iter().flat_map(|g| &g.servers);
        self.registry
            .abort_on(&|id| servers().any(|s| s.id == id && !s.health.alive));
        self.sharding.set(!snapshot.shards.is_empty());
        self.libraries.set(!snapshot.libraries.is_empty());
        *self.snapshot.borrow_mut() = Rc::new(Topology(snapshot));
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.iter().for_each(|w| w.fulfil(()));
    }

    /// Some database or table has a rule.
    #[inline]
    pub fn sharding(&self) -> bool {
        self.sharding.get()
    }

    /// There are libraries.
    #[inline]
    pub fn has_libraries(&self) -> bool {
        self.libraries.get()
    }

    /// Whether a statement may name something that has a rule.
    pub fn concerns(&self, sql: &[u8], schema: Option<&str>, dialect: Dialect) -> bool {
        #[cfg(test)]
        if self.by_hand.get().is_some() {
            return true;
        }
        plan::concerns(sql, schema, &self.snapshot.borrow().shards, dialect)
    }

    pub fn plan(&self, request: &Request<'_>, asked: Asked<'_>) -> Result<Planned, Refusal> {
        #[cfg(test)]
        if let Some(planner) = self.by_hand.get() {
            return planner(request);
        }
        let mut plans = self.plans.borrow_mut();
        let before = plans.hits();
        let planned = plans.plan_as(request, asked);
        if plans.hits() > before {
            self.stats.plans_cached.add(1);
        } else {
            self.stats.plans_made.add(1);
        }
        planned
    }

    /// See [`plan::Cache::recall`].
    pub fn recall(
        &self,
        text: TextId,
        sql: &[u8],
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Recalled> {
        let found = self.plans.borrow().recall(text, sql, context, out)?;
        if found != Recalled::Unconcerned {
            self.stats.plans_cached.add(1);
        }
        Some(found)
    }

    /// See [`plan::Cache::recall_execute`].
    pub fn recall_execute(
        &self,
        statement: u128,
        context: &Context<'_>,
        value: &mut dyn FnMut(u16) -> Option<plan::Value>,
    ) -> Option<Execution> {
        let plans = self.plans.borrow();
        let found = plans.recall_execute(statement, context, value)?;
        self.stats.plans_cached.add(1);
        Some(found)
    }

    /// See [`plan::Cache::keep_unconcerned`].
    pub fn keep_unconcerned(&self, text: TextId, context: &Context<'_>) {
        self.plans.borrow_mut().keep_unconcerned(text, context);
    }

    /// Plans made by hand.
    #[cfg(test)]
    pub fn plan_with(&self, planner: Planner) {
        self.by_hand.set(Some(planner));
        self.sharding.set(true);
    }

    /// Waits for the next topology; false: the deadline came first.
    pub async fn topology_changed(&self, deadline: Instant) -> bool {
        let changed = Promise::default();
        {
            let mut waiting = self.waiting.borrow_mut();
            // those that gave up are gone from the list by the time it would double
            if waiting.len() == waiting.capacity() {
                waiting.retain(|w: &Promise<()>| !w.is_abandoned());
            }
            waiting.push(changed.clone());
        }
        changed.wait_until(deadline).await.is_some()
    }

    /// A well-mixed number (splitmix64: Steele, Lea, Flood 2014), for choices among equals.
    #[inline]
    pub fn seed(&self) -> u64 {
        let next = self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.seed.set(next);
        let mut z = next;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number that this worker gives out once.
    pub fn next_token(&self) -> u64 {
        let token = self.token.get() + 1;
        self.token.set(token);
        token
    }

    /// The one `Account` that is like this, so that its pools are found again. `name` tells accounts of the same user
    /// apart.
    pub fn account(&self, name: &str, wanted: Account) -> Rc<Account> {
        let mut accounts = self.accounts.borrow_mut();
        let of_client = wanted.client.map(|ip| format!("{name} {ip}"));
        let name = of_client.as_deref().unwrap_or(name);
        if let Some(account) = accounts.get(name).filter(|a| ***a == wanted) {
            return account.clone();
        }
        // those of clients come and go
        if accounts.len() >= ACCOUNTS && accounts.len().is_power_of_two() {
            accounts.retain(|_, account| Rc::strong_count(account) > 1);
        }
        let account = Rc::new(wanted);
        accounts.insert(name.into(), account.clone());
        account
    }
}

fn waits(snapshot: &Snapshot) -> bool {
    let audit = &snapshot.watch.audit;
    audit.is_on() && audit.when_full == WhenFull::Wait
}
