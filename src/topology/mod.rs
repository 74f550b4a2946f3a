//! The immutable snapshot that the control thread publishes and every turn reads.
//!
//! A worker takes one [`Snapshot`] per turn. Objects that must outlive a reload (connection
//! budgets, a user's last write) are `Arc`s carried from one snapshot to the next.
//!
//! | file | job |
//! |---|---|
//! | `build.rs` | configuration + what was learnt of the servers → snapshot |
//! | `primary.rs` | which server of a group is its primary (pure) |
//! | `shards.rs` | databases and tables placed on groups, tables split over shards (pure) |
//! | `greeting.rs` | what a group's clients are greeted with |
//! | `defaults.rs` | changes of what new sessions start with |
//! | `accounts/` | accounts read from the servers: which one a client is (pure) |
pub mod accounts;
mod build;
mod defaults;
mod greeting;
mod primary;
mod rules;
pub mod shards;
#[cfg(test)]
mod tests;

pub use build::{Built, Learnt, ServerIds};
pub use defaults::{Defaults, DefaultsChanging};
pub use greeting::compare_versions;
pub use primary::{derive_primary, Decision, Memory};
pub use rules::Rules;
pub use shards::ShardMap;

use crate::config;
pub use crate::config::{Address, ReadYourWrites, Role};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Per process; immutable; `epoch` grows with every publication.
#[derive(Debug)]
pub struct Snapshot {
    pub epoch: u64,
    pub proxy: Arc<config::Proxy>,
    pub groups: Vec<Arc<Group>>,
    pub users: HashMap<Box<str>, Arc<User>, ahash::RandomState>,
    pub shared: Arc<ProcessUse>,
    /// Where databases and tables live; the same object as long as no rule changes.
    pub shards: Arc<ShardMap>,
    /// In the order of the configuration.
    pub libraries: Arc<[config::Library]>,
    /// What is written down about statements.
    pub watch: Arc<config::Watching>,
    /// Carried from one snapshot to the next.
    pub defaults: Arc<Defaults>,
}

impl Snapshot {
    /// Whether users of this group have to select a library before they use tables.
    pub fn is_of_library(&self, group: &str) -> bool {
        self.libraries.iter().any(|library| library.group == group)
    }

    /// Some server is told whose connections it has.
    pub fn tells_clients(&self) -> bool {
        let mut servers = self.groups.iter().flat_map(|group| &group.servers);
        servers.any(|server| server.proxy_protocol.is_some_and(|told| told.of_client))
    }
}

/// What all users have together; outlives every reload. Touched per turn only where `[limits]` says so.
#[derive(Debug)]
pub struct ProcessUse {
    /// Up to when the statements of all users are paid for; see `throttle::admit`.
    pub paid_until: AtomicU64,
    /// Statements that run now.
    pub running: Budget,
}

impl Default for ProcessUse {
    fn default() -> ProcessUse {
        ProcessUse {
            paid_until: AtomicU64::new(0),
            running: Budget::new(u32::MAX),
        }
    }
}

/// One primary and its replicas, as known now.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    /// Position in [`Snapshot::groups`].
    pub index: usize,
    pub read_write_split: bool,
    /// Which server is the primary.
    pub election: config::Primary,
    pub read_your_writes: config::ReadYourWrites,
    pub read_your_writes_window: Duration,
    pub servers: Vec<Arc<Server>>,
    /// Index in `servers` of the one writable server, if there is exactly one known.
    pub primary: Option<usize>,
    /// What clients are greeted with; learnt from the servers (lowest version of the group).
    pub greeting: Arc<Greeting>,
    /// Of `accounts = "server"`; None: the group's users are the configured ones.
    pub accounts: Option<Arc<accounts::Accounts>>,
}

/// `sql_select_limit` where there is none.
pub const NO_SELECT_LIMIT: &str = "18446744073709551615";

/// What a group's servers say of themselves, learnt by the control thread before the first client.
#[derive(Debug, Clone, PartialEq)]
pub struct Greeting {
    pub version: String,
    /// Intersection of the servers' capability flags (low 32 bits MySQL's, high 32 MariaDB's extended).
    pub capabilities: u64,
    /// Default collation id.
    pub collation: u8,
    /// Authentication plugin that the servers name in their greeting.
    pub auth_plugin: String,
    /// Collation id → (collation, character set), of information_schema.COLLATIONS.
    pub collations: Arc<HashMap<u16, (String, String)>>,
    /// @@global.sql_mode: what new sessions read text by. Empty where it was not asked for.
    pub sql_mode: String,
    /// @@global.autocommit: whether new sessions begin with it.
    pub autocommit: bool,
    /// @@global.sql_select_limit is set: the results of new sessions are cut.
    pub select_limit: bool,
    /// @@global.div_precision_increment: digits that a division adds to those of a DECIMAL.
    pub div_precision_increment: u32,
}

impl Greeting {
    /// `div_precision_increment` where nothing else is known: the servers' own default.
    pub const DIV_PRECISION_INCREMENT: u32 = 4;

    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }
}

/// One server of a group, as known now.
#[derive(Debug)]
pub struct Server {
    /// Stable for the life of the process as long as the address stays configured.
    pub id: ServerId,
    pub address: config::Address,
    /// Resolved by the control thread.
    pub target: Option<Target>,
    pub role: config::Role,
    pub weight: u32,
    pub compression: config::Compression,
    pub health: Health,
    pub budget: Arc<Budget>,
    /// None: connections are not encrypted.
    pub tls: Option<Arc<config::ServerTls>>,
    /// In front of every connection.
    pub proxy_protocol: Option<config::ProxyHeaders>,
}

/// Names a server in pools and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(pub u32);

/// Where to connect: no name left to resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// What the last checks said. `alive` false: no new connections or statements.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    pub alive: bool,
    /// `@@read_only` (or `@@super_read_only`) was off.
    pub writable: bool,
    /// Replication runs and lags less than the limit (replicas); always true for the primary.
    pub readable: bool,
    pub lag: Option<Duration>,
    /// One line for people: why it is not alive or not readable; empty when all is well.
    pub reason: String,
}

/// Connections of the whole process to one server. Touched when a connection opens or closes,
/// never on a turn's path.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicU32,
    used: AtomicU32,
}

impl Budget {
    /// `limit` tokens, none taken.
    pub fn new(limit: u32) -> Budget {
        Budget {
            limit: AtomicU32::new(limit),
            used: AtomicU32::new(0),
        }
    }
    /// Takes one token; false: the limit is reached.
    pub fn try_take(&self) -> bool {
        let limit = self.limit.load(Relaxed);
        self.used
            .fetch_update(Relaxed, Relaxed, |n| (n < limit).then_some(n + 1))
            .is_ok()
    }
    /// Takes one token even beyond the limit.
    pub fn take(&self) {
        self.used.fetch_add(1, Relaxed);
    }
    /// Returns a token to the budget it was taken from.
    pub fn give_back(&self) {
        let before = self.used.fetch_sub(1, Relaxed);
        debug_assert!(before > 0);
    }
    /// A limit below what is used takes nothing away: new tokens wait until enough came back.
    pub fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Relaxed);
    }
    pub fn limit(&self) -> u32 {
        self.limit.load(Relaxed)
    }
    pub fn used(&self) -> u32 {
        self.used.load(Relaxed)
    }
}

/// One user with what all workers share about it.
#[derive(Debug)]
pub struct User {
    pub config: config::User,
    /// What holds for the user: its own limits, else those of all.
    pub limits: config::Limits,
    /// Those of the process that a statement of this user has to keep, too.
    pub process: config::ProcessLimits,
    /// Those that are about this user.
    pub policies: Rules,
    /// Index in [`Snapshot::groups`].
    pub group: usize,
    /// Nanoseconds (CLOCK_MONOTONIC) of the end of the user's last write, over all workers.
    pub last_write: Arc<AtomicU64>,
    /// A session of this user has asked for ROW_COUNT() or FOUND_ROWS(): new ones, on any worker, keep each statement's
    /// connection for one more statement.
    pub asks_counts: Arc<AtomicBool>,
    /// Up to when the user's statements are paid for, if its rate is limited; see `throttle::admit`.
    pub paid_until: Arc<AtomicU64>,
    /// Client connections of this user over all workers; taken at login, not per turn.
    pub sessions: Arc<Budget>,
    /// Statements of this user that run now, over all workers; counted where `max_running` is set.
    pub running: Arc<Budget>,
    /// Bytes that its sessions hold, over all workers; kept where `max_memory_bytes` is set.
    pub memory: Arc<AtomicU64>,
    /// The password that matches the configured hash, once a client has shown it.
    pub proven: Arc<OnceLock<Box<[u8]>>>,
}

impl User {
    /// Whether a statement may have to wait before it runs.
    #[inline]
    pub fn is_held_back(&self) -> bool {
        self.config.qps.is_some()
            || self.limits.max_running.is_some()
            || self.process.qps.is_some()
            || self.process.max_running.is_some()
    }
}
