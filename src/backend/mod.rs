//! Server connections of one worker: login, session state, pools and leases.
//!
//! A [`Pools`] lends connections ([`Lease`]) by server and account; of several idle ones the one whose
//! session [`State`] is nearest to the wanted one. What differs the session sends in front of its command
//! ([`ServerConnection::sync_to`]). A lease goes back when it is dropped, as its [`After`] says.
//!
//! ```text
//!  Want ─▶ Pool ── idle, fits ───────────────▶ Lease ── drop ──▶ clean: idle or the next in the queue
//!           │                                    ▲               dirty: reset, then the same
//!           ├── budget and gate allow ── login ──┤               broken: closed, budget given back
//!           └── else: queue of the server ───────┘
//! ```
//!
//! Two sizes bound it: the server's [`crate::topology::Budget`] over all workers, and this worker's gate (how
//! many connects at once, how fast, backoff after failures). All of it belongs to one thread; nothing is
//! borrowed over an await.
mod acquire;
mod authentication;
mod bell;
mod connection;
mod gate;
mod home;
mod lease;
mod login;
mod pool;
mod pools;
mod prepared;
mod queue;
mod setup;
mod state;
mod sync;
mod variables;

#[cfg(test)]
pub(crate) mod tests;

pub use connection::{After, ServerConnection};
pub use lease::{Lease, LeaseError};
pub use pools::{PoolRef, Pools};
pub use prepared::{Prepared, PreparedCache, StatementKey};
pub use state::{
    initial_state, not_for_clients, State, StateTable, Variable, CHARACTER_SETS, RESULTS_COLLATION,
};
pub use sync::{fit, sync_commands, sync_commands_with, Fit};
pub use variables::{replay_policy, Replay};

use crate::topology::Server;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// A server account: what is needed to log in at a server as this user. Per worker, one `Rc` a user.
#[derive(Debug, PartialEq, Eq)]
pub struct Account {
    pub user: Box<str>,
    pub password: Password,
    /// Tells accounts apart that are the same but for their privileges on the servers: a connection has those of
    /// its login. 0: not known.
    pub fingerprint: u64,
    /// Whose connections these are: servers are told so by PROXY headers. None: Umpire's own.
    pub client: Option<IpAddr>,
    /// Where users are accounts of the servers: which one.
    pub identity: Option<Identity>,
}

/// An account of the servers, as the primary has it. Replicas hear of changes a little later.
#[derive(Debug)]
pub struct Identity {
    /// `user@host`, as CURRENT_USER() tells it.
    pub current_user: Box<str>,
    /// Until then a replica may not have the account's last change: what is opened there does not last.
    pub in_doubt_until: Option<Instant>,
}

impl PartialEq for Identity {
    /// The same account, whenever it changed.
    fn eq(&self, other: &Identity) -> bool {
        self.current_user == other.current_user
    }
}

impl Eq for Identity {}

impl Account {
    /// An account that the configuration names, with everything else unknown.
    pub fn new(user: &str, password: Password) -> Account {
        Account {
            user: user.into(),
            password,
            fingerprint: 0,
            client: None,
            identity: None,
        }
    }
}

/// What is known of the password.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    Plain(Box<[u8]>),
    /// SHA1(password): mysql_native_password only.
    Stage1([u8; 20]),
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// What a turn needs.
pub struct Want<'a> {
    pub server: &'a Arc<Server>,
    pub account: &'a Rc<Account>,
    /// Capability flags of the connection, exact match (the client's own that the server has, plus SESSION_TRACK,
    /// without SSL, COMPRESS, CONNECT_WITH_DB, CONNECT_ATTRS).
    pub capabilities: u64,
    pub collation: u16,
    /// A new connection starts with this state's character sets.
    pub state: &'a Rc<State>,
    /// For reads on a replica: `transaction_read_only` on.
    pub guarded: bool,
    /// MySQL or MariaDB, for the set-up statements.
    pub mariadb: bool,
}
