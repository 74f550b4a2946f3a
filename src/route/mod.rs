//! Sniffed statement + session state + snapshot → [`Route`]. Pure: the clock and the seed are handed in. INTERFACE STUB
use crate::sniff::Sniffed;
use crate::topology::{Group, ServerId};

/// What of the session matters for routing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    /// The session holds a server connection (transaction, pin): everything goes there.
    pub held: bool,
    /// autocommit is off: a statement that touches data starts a transaction.
    pub autocommit_off: bool,
    /// CLOCK_MONOTONIC nanoseconds, now and the end of this user's last write.
    pub now: u64,
    pub last_write: u64,
    /// This statement's digest has written before although it looked like a read.
    pub known_write: bool,
    /// For choosing among equals; any well-mixed number.
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
pub struct Decision { pub route: Route, pub reason: Reason }

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason { HeldConnection, SplitOff, HintPrimary, HintReplica, Write, Unsure, Locking, AutocommitOff, ReadYourWrites, KnownWrite, ServerState, Transaction, ReadOnlyTransaction, Read, NoReplica }
impl Reason { pub fn words(self) -> &'static str { unimplemented!() } }

/// Runs of the same server a reader had now, for least-busy choice: `load(server)` = running leases.
pub fn route(_sniffed: &Sniffed, _context: &Context, _group: &Group, _load: &dyn Fn(ServerId) -> u32) -> Decision { unimplemented!() }
