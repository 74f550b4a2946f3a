//! One logged-in server connection.
use super::home::{Home, Token};
use super::prepared::PreparedCache;
use super::setup::{tracking_statement, Kind, Ready};
use super::state::{State, StateTable};
use super::sync::{is_guard, sync_commands_with};
use super::variables::{replay_policy, Replay, MYSQL_TRACKED};
use super::{Account, Want};
use crate::net::{self, Buf, Socket};
use crate::topology::Server;
use crate::wire::reply::Change;
use crate::wire::status;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// One logged-in server connection. Belongs to a pool's idle list or to a lease.
pub struct ServerConnection {
    pub socket: Socket,
    /// As it was when the connection was opened.
    pub server: Arc<Server>,
    /// In effect on the connection: wanted and offered by the server.
    pub capabilities: u64,
    /// What was wanted at login; the key for matching.
    pub wanted: u64,
    /// The server's own thread id (KILL).
    pub thread_id: u32,
    /// What its session state is now; the session updates it as replies tell.
    pub state: Rc<State>,
    /// Replica connection with `transaction_read_only` switched on.
    pub guarded: bool,
    /// The server reports schema, variables and other changes of its session in its OK packets.
    pub tracking: bool,
    pub prepared: PreparedCache,
    /// The server may keep a report of the schema: see [`ServerConnection::note_report`].
    pub keeps_report: bool,
    /// Status flags of the last reply.
    pub status: u16,
    /// Unique in the worker; `uses` grows with every lease, so that a session can tell whether anyone had
    /// the connection since.
    pub id: u64,
    pub uses: u64,
    /// What must happen when the lease is dropped.
    pub after: After,
    /// A statement of a client replaced the guard.
    pub(super) guard_lost: bool,
    pub(super) recipe: Rc<Recipe>,
    /// Of the last authentication, for COM_CHANGE_USER.
    pub(super) scramble: [u8; 20],
    pub(super) mariadb: bool,
    pub(super) expires: Instant,
    pub(super) idle_since: Instant,
    pub(super) token: Token,
}

/// What must happen when a lease is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Clean: back to the pool.
    Return,
    /// State that cannot be undone by statements: COM_RESET_CONNECTION (or COM_CHANGE_USER where the server
    /// lacks it), then to the pool.
    Reset,
    /// In the middle of a reply, broken, or unknown: close.
    Close,
}

/// A [`Want`] that outlives its turn: how to open or renew such a connection.
pub(super) struct Recipe {
    pub server: Arc<Server>,
    pub account: Rc<Account>,
    pub capabilities: u64,
    pub collation: u16,
    /// Character sets only.
    pub state: Rc<State>,
    pub guarded: bool,
    pub mariadb: bool,
}

impl Recipe {
    pub fn want(&self) -> Want<'_> {
        Want {
            server: &self.server,
            account: &self.account,
            capabilities: self.capabilities,
            collation: self.collation,
            state: &self.state,
            guarded: self.guarded,
            mariadb: self.mariadb,
        }
    }
}

impl ServerConnection {
    /// Appends the framed commands that bring this connection to `want`, to be sent in front of the session's
    /// own; returns how many replies to swallow. Not for [`super::Fit::Impossible`] states.
    pub fn sync_to(&self, want: &State, out: &mut Vec<u8>) -> usize {
        sync_commands_with(&self.state, want, self.guarded, self.capabilities, out)
    }

    /// Takes over what an OK packet reported of the session. True: a variable is among it that binds the
    /// session to this connection ([`Replay::Pins`]). Nothing else notices when a statement replaced the
    /// guard, so that every report on a guarded connection has to come here.
    pub fn note_changes(&mut self, changes: &[Change], states: &StateTable) -> bool {
        let mut pins = false;
        for change in changes {
            let Change::Variable { name, value } = change else {
                continue;
            };
            pins |= replay_policy(name) == Replay::Pins;
            self.guard_lost |= self.guarded && is_guard(name) && value != b"ON";
        }
        self.state = states.intern(self.state.with_changes(changes));
        pins
    }

    /// MariaDB's report of a schema that a statement left and came back to waits, when the reply ended with EOF or an
    /// error, for the next OK that reports something else. `no_room`: this reply did; `reported`: this one had it.
    pub fn note_report(&mut self, no_room: bool, reported: bool) {
        self.keeps_report = self.mariadb && (no_room || self.keeps_report && !reported);
    }

    /// Switches session tracking on as it was at set-up.
    pub fn tracking_statement(&self) -> String {
        tracking_statement(if self.mariadb { "*" } else { MYSQL_TRACKED })
    }

    pub(super) fn kind(&self) -> Kind {
        Kind {
            capabilities: self.capabilities,
            mariadb: self.mariadb,
            guarded: self.guarded,
        }
    }

    /// After a set-up.
    pub(super) fn adopt(&mut self, ready: Ready) {
        (self.tracking, self.status) = (ready.tracking, ready.status);
        self.guard_lost = false;
        self.keeps_report = false;
    }

    /// A session said it is clean; what it left behind says otherwise.
    pub(super) fn is_dirty(&self) -> bool {
        self.status & (status::IN_TRANS | status::CURSOR_EXISTS) != 0 || self.guard_lost
    }

    /// Says goodbye, so that the server does not count an aborted client; the budget is given back after it.
    pub(super) fn retire(self: Box<Self>, home: &Rc<Home>) {
        let ServerConnection { socket, token, .. } = *self;
        let leaving = home.leaving();
        socket.send(Buf::from_static(QUIT));
        net::spawn(async move {
            socket.close().await;
            drop(token);
            drop(leaving);
        });
    }
}

const QUIT: &[u8] = &[1, 0, 0, 0, crate::wire::command::QUIT];
