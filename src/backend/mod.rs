//! Server connections, pools and leases of one worker. INTERFACE STUB
use crate::net::Socket;
use crate::observe::PoolInfo;
use crate::topology::{Server, ServerId, Snapshot};
use crate::wire::reply::Err as ServerError;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Session state that can be replayed on a connection by statements: schema and session variables that
/// differ from what a new connection has. Interned per worker: equal states are one `Rc`, so that
/// "this connection already fits" is one pointer comparison. (split: backend/state.rs)
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    pub schema: Option<Box<[u8]>>,
    /// Sorted by name (lower case). The four character set variables (character_set_client,
    /// character_set_results, character_set_connection, collation_connection) are always present; others only when SET.
    pub variables: Vec<(Box<[u8]>, Box<[u8]>)>,
}
impl State {
    pub fn with_schema(&self, schema: &[u8]) -> State { unimplemented!() }
    pub fn with_variable(&self, name: &[u8], value: &[u8]) -> State { unimplemented!() }
    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> { unimplemented!() }
}
/// Per worker. Bounded: states nobody uses are dropped.
pub struct StateTable(());
impl StateTable {
    pub fn new() -> Self { unimplemented!() }
    pub fn intern(&self, state: State) -> Rc<State> { unimplemented!() }
}
/// How far a connection's state is from the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit { Exact, /// number of commands
    Sync(usize), /// e.g. a schema cannot be unselected: needs COM_CHANGE_USER or another connection
    Impossible }
pub fn fit(have: &Rc<State>, want: &Rc<State>) -> Fit { unimplemented!() }
/// Appends the framed commands (COM_INIT_DB, COM_QUERY "SET …") that turn `have` into `want`; returns how many
/// replies will come. Values are quoted safely. `guarded` connections (replicas) keep their own transaction_read_only.
pub fn sync_commands(have: &State, want: &State, guarded: bool, out: &mut Vec<u8>) -> usize { unimplemented!() }

/// A server account: what is needed to log in at a server as this user. Per worker, one `Rc` a user.
#[derive(Debug)]
pub struct Account { pub user: Box<str>, pub password: Password }
#[derive(Clone, PartialEq, Eq)]
pub enum Password { Plain(Box<[u8]>), /// SHA1(password): mysql_native_password only
    Stage1([u8; 20]) }
impl std::fmt::Debug for Password { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("Password(…)") } }

/// Identity of a statement text in a state; interned by the session layer, unique in the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementKey(pub u64);
#[derive(Debug, Clone, Copy)]
pub struct Prepared { pub server_id: u32, pub parameters: u16, pub columns: u16,
    /// Which session's parameter types the server remembers from the last EXECUTE.
    pub types_of: u64 }
/// Statements prepared on one connection; LRU, bounded.
pub struct PreparedCache(());
impl PreparedCache {
    pub fn new(limit: usize) -> Self { unimplemented!() }
    /// Also marks it as used.
    pub fn get(&mut self, key: StatementKey) -> Option<&mut Prepared> { unimplemented!() }
    /// Returns the server's id of the statement that had to go (to be closed with COM_STMT_CLOSE).
    pub fn insert(&mut self, key: StatementKey, prepared: Prepared) -> Option<u32> { unimplemented!() }
    pub fn remove(&mut self, key: StatementKey) -> Option<Prepared> { unimplemented!() }
    pub fn clear(&mut self) { unimplemented!() }
    pub fn len(&self) -> usize { unimplemented!() }
}

/// One logged-in server connection.
pub struct ServerConnection {
    pub socket: Socket,
    pub server: Arc<Server>,
    pub capabilities: u64,
    /// The server's own thread id (KILL).
    pub thread_id: u32,
    /// What its session state is now; the session updates it as replies tell.
    pub state: Rc<State>,
    /// Replica connection with `transaction_read_only` switched on.
    pub guarded: bool,
    pub prepared: PreparedCache,
    /// Status flags of the last reply.
    pub status: u16,
    /// Unique in the worker; `uses` grows with every lease, so that a session can tell whether anyone had
    /// the connection since.
    pub id: u64,
    pub uses: u64,
    /// What must happen when the lease is dropped.
    pub after: After,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Clean: back to the pool.
    Return,
    /// State that cannot be undone by statements: COM_RESET_CONNECTION (or COM_CHANGE_USER where the server lacks it), then to the pool.
    Reset,
    /// In the middle of a reply, broken, or unknown: close.
    Close,
}

/// What a turn needs.
pub struct Want<'a> {
    pub server: &'a Arc<Server>,
    pub account: &'a Rc<Account>,
    /// Capability flags of the connection, exact match (the client's own that the server has, plus SESSION_TRACK,
    /// without SSL, COMPRESS, CONNECT_WITH_DB, CONNECT_ATTRS).
    pub capabilities: u64,
    pub collation: u16,
    pub state: &'a Rc<State>,
    /// For reads on a replica: `transaction_read_only` on.
    pub guarded: bool,
    /// MySQL or MariaDB, for the set-up statements.
    pub mariadb: bool,
}

/// A connection on loan; goes back, is reset or closed on drop, as `after` says.
pub struct Lease(());
impl Deref for Lease { type Target = ServerConnection; fn deref(&self) -> &ServerConnection { unimplemented!() } }
impl DerefMut for Lease { fn deref_mut(&mut self) -> &mut ServerConnection { unimplemented!() } }

#[derive(Debug)]
pub enum LeaseError {
    /// No connection within the deadline (budget spent, or connecting is backed off); text says which.
    Timeout(String),
    /// The server answered the login with an error (1045, 1049, 1040 after retries …).
    Refused(ServerError),
    /// No connection could be made: refused, unreachable, TLS …
    Unreachable(String),
}

/// All pools of one worker. Single-threaded; cheap to clone.
#[derive(Clone)]
pub struct Pools(());
impl Pools {
    pub fn new(worker: usize, settings: Arc<crate::config::Proxy>, stats: Arc<crate::observe::WorkerStats>, states: Rc<StateTable>, ask_others: Box<dyn Fn(ServerId)>) -> Pools { unimplemented!() }
    /// An idle connection that is alive and fits best (exact state first), without waiting.
    pub fn try_lease(&self, want: &Want<'_>) -> Option<Lease> { unimplemented!() }
    /// `try_lease`, else a new connection within the budget, else wait for one to come back.
    pub async fn lease(&self, want: &Want<'_>, deadline: Instant) -> Result<Lease, LeaseError> { unimplemented!() }
    /// A connection outside the pool, closed when dropped, for KILL and the like (counts in the budget, may exceed it by one a worker).
    pub async fn dedicated(&self, want: &Want<'_>, deadline: Instant) -> Result<Lease, LeaseError> { unimplemented!() }
    /// Running leases on a server.
    pub fn load(&self, server: ServerId) -> u32 { unimplemented!() }
    /// New settings, weights, servers: closes idle connections of servers that are gone, dead or have changed role.
    pub fn apply(&self, snapshot: &Snapshot) { unimplemented!() }
    /// Another worker waits: close one idle connection to this server.
    pub fn give_back(&self, server: ServerId) { unimplemented!() }
    /// Periodic work, called about once a second: maximum age, idle timeout, stale connections, pre-warming.
    pub fn tend(&self) { unimplemented!() }
    pub fn info(&self) -> Vec<PoolInfo> { unimplemented!() }
    pub fn close_all(&self) { unimplemented!() }
}
/// The state a new connection has after login with this collation (the four character set variables).
pub fn initial_state(collation: u16, greeting: &crate::topology::Greeting) -> State { unimplemented!() }
