//! Sniffed statement + session state + snapshot → [`Route`]. Pure: the clock and the seed are handed in.
//!
//! The order of the questions is the order of what would be worst to get wrong: a session that
//! holds a connection stays on it; then everything that must see or change the primary; only what is
//! left goes to a reader.

mod explain;
mod reader;

#[cfg(test)]
mod tests;

use crate::sniff::{Access, Effects, Hint, Sniffed};
use crate::topology::{Group, ReadYourWrites, Server, ServerId};

pub use explain::explain;

/// What of the session matters for routing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    /// The session holds a server connection (transaction, pin): everything goes there.
    pub held: bool,
    /// autocommit is off: a statement that touches data starts a transaction.
    pub autocommit_off: bool,
    /// CLOCK_MONOTONIC nanoseconds, now and the end of this user's last write; 0: no write yet.
    pub now: u64,
    pub last_write: u64,
    /// This statement's digest has written before although it looked like a read.
    pub known_write: bool,
    /// No reader: the statement was sent there just now and the connection was lost.
    pub avoid: Option<ServerId>,
    /// For choosing among equals; any number that differs from turn to turn.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// On the connection that the session holds.
    Held,
    /// On the group's primary (index in `group.servers`).
    Primary(usize),
    /// On this reader; `Target` index in `group.servers`. May be the primary by weight.
    Replica(usize),
    /// No primary is known now: wait for one until the lease deadline, then fail.
    NoPrimary,
}

/// The decision and, for EXPLAIN ROUTE, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub route: Route,
    pub reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    HeldConnection,
    SplitOff,
    HintPrimary,
    HintReplica,
    Write,
    Unsure,
    Locking,
    AutocommitOff,
    ReadYourWrites,
    KnownWrite,
    ServerState,
    Transaction,
    ReadOnlyTransaction,
    Read,
    NoReplica,
}

impl Reason {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::HeldConnection => "the session holds a server connection",
            Reason::SplitOff => "read/write splitting is off for this group",
            Reason::HintPrimary => "a hint in the statement asks for the primary",
            Reason::HintReplica => "a hint in the statement asks for a replica",
            Reason::Write => "the statement writes",
            Reason::Unsure => "the statement is not proven to read only",
            Reason::Locking => "the statement locks the rows that it reads",
            Reason::AutocommitOff => "autocommit is off, so the statement belongs to a transaction",
            Reason::ReadYourWrites => "the user wrote a moment ago and must see it",
            Reason::KnownWrite => "the statement looks like a read but has written before",
            Reason::ServerState => "the statement asks for the state of one server or session",
            Reason::Transaction => "a transaction starts that may write",
            Reason::ReadOnlyTransaction => "a read-only transaction starts",
            Reason::Read => "the statement only reads",
            Reason::NoReplica => "no server takes reads now, so the primary does",
        }
    }
}

/// Where this statement runs, and why. Runs of the same server a reader had now, for least-busy
/// choice: `load(server)` = running leases.
pub fn route(
    sniffed: &Sniffed,
    context: &Context,
    group: &Group,
    load: &dyn Fn(ServerId) -> u32,
) -> Decision {
    if context.held {
        return Decision {
            route: Route::Held,
            reason: Reason::HeldConnection,
        };
    }
    match needs_primary(sniffed, context, group) {
        Some(reason) => Decision {
            route: to_primary(group),
            reason,
        },
        None => to_reader(sniffed, context, group, load),
    }
}

/// Why only the primary will do; None: a reader may be used.
fn needs_primary(sniffed: &Sniffed, context: &Context, group: &Group) -> Option<Reason> {
    if !group.read_write_split {
        return Some(Reason::SplitOff);
    }
    if sniffed.hint == Some(Hint::Primary) {
        return Some(Reason::HintPrimary);
    }
    by_statement(sniffed).or_else(|| by_session(sniffed, context, group))
}

/// What the statement itself says. START TRANSACTION READ ONLY, alone, may go to a reader.
fn by_statement(sniffed: &Sniffed) -> Option<Reason> {
    let effects = sniffed.effects;
    if sniffed.access == Access::Read || is_read_only_start(sniffed) || is_hinted_look(sniffed) {
        return None;
    }
    Some(match sniffed.access {
        Access::Write => Reason::Write,
        _ if effects.contains(Effects::LOCKING_READ) => Reason::Locking,
        _ if effects.intersects(Effects::BEGIN | Effects::XA_START) => Reason::Transaction,
        _ if is_look_at_state(sniffed) => Reason::ServerState,
        _ => Reason::Unsure,
    })
}

fn is_read_only_start(sniffed: &Sniffed) -> bool {
    sniffed.effects == Effects::BEGIN | Effects::BEGIN_READ_ONLY
}

/// Reads, but the answer is another one on another server or connection.
fn is_look_at_state(sniffed: &Sniffed) -> bool {
    let session = Effects::DIAGNOSTICS
        | Effects::LAST_INSERT_ID
        | Effects::FOUND_ROWS
        | Effects::ROW_COUNT
        | Effects::CONNECTION_ID;
    looks_only_at(sniffed, session | Effects::SERVER_STATE)
}

fn looks_only_at(sniffed: &Sniffed, state: Effects) -> bool {
    let harmless = state | Effects::USES_USER_VARIABLE;
    sniffed.verb.is_query()
        && sniffed.effects.intersects(state)
        && harmless.contains(sniffed.effects)
}

/// A replica's own state is exactly what such a hint may want: SHOW REPLICA STATUS.
fn is_hinted_look(sniffed: &Sniffed) -> bool {
    sniffed.hint == Some(Hint::Replica) && looks_only_at(sniffed, Effects::SERVER_STATE)
}

/// What happened before in the session, or by the user. Who asks for a replica by hint has given up
/// reading his own writes, nothing else.
fn by_session(sniffed: &Sniffed, context: &Context, group: &Group) -> Option<Reason> {
    if context.autocommit_off {
        return Some(Reason::AutocommitOff);
    }
    if context.known_write {
        return Some(Reason::KnownWrite);
    }
    let must_see = sniffed.hint != Some(Hint::Replica) && wrote_just_now(context, group);
    must_see.then_some(Reason::ReadYourWrites)
}

fn wrote_just_now(context: &Context, group: &Group) -> bool {
    if group.read_your_writes == ReadYourWrites::Off || context.last_write == 0 {
        return false;
    }
    let window = u64::try_from(group.read_your_writes_window.as_nanos()).unwrap_or(u64::MAX);
    context.now < context.last_write.saturating_add(window)
}

fn to_reader(
    sniffed: &Sniffed,
    context: &Context,
    group: &Group,
    load: &dyn Fn(ServerId) -> u32,
) -> Decision {
    let Some(index) = reader::choose(group, context, load) else {
        return Decision {
            route: to_primary(group),
            reason: Reason::NoReplica,
        };
    };
    let reason = if sniffed.hint == Some(Hint::Replica) {
        Reason::HintReplica
    } else if is_read_only_start(sniffed) {
        Reason::ReadOnlyTransaction
    } else {
        Reason::Read
    };
    Decision {
        route: Route::Replica(index),
        reason,
    }
}

fn to_primary(group: &Group) -> Route {
    match group.primary {
        Some(index) if group.servers.get(index).is_some_and(|server| is_up(server)) => {
            Route::Primary(index)
        }
        _ => Route::NoPrimary,
    }
}

fn is_up(server: &Server) -> bool {
    server.health.alive && server.target.is_some()
}
