//! A session whose tables live on several groups.
//!
//! A session has one *seat* at each group it has used: the connection it holds there and why. The fields of
//! [`Session`] are the seat it sits on, at the user's own group between turns; a statement for another group takes that
//! group's seat and then runs like any other. A statement for several runs on connections of several seats at once
//! ([`crate::scatter`]).
//!
//! | file | job |
//! |---|---|
//! | `seats.rs` | changing seats |
//! | `dispatch.rs` | the planner's answer → how the statement runs |
//! | `visit.rs` | one group's statement, the way that all statements go |
//! | `fanout.rs` | several shards at once |
//! | `last.rs` | questions about the statement before |
//! | `used.rs` | the connections of a statement |
//! | `interrupt.rs` | a statement ends early on all its servers |
//! | `reply.rs` | what the client gets of it |
//! | `create.rs` | CREATE TABLE with its rule in a comment |
//! | `define.rs` | changes of a table's definition |
//! | `resume.rs` | what a job lacks, later |
//! | `rename.rs` | rules of tables that are dropped or renamed |
//! | `gather.rs` | rows of several shards brought to one server |
//! | `prepared.rs`, `parameters.rs`, `planned.rs` | PREPARE and EXECUTE |
//! | `transaction.rs` | BEGIN, COMMIT, SAVEPOINT over several groups |
//! | `names.rs` | tables' own names in results |
//! | `columns.rs` | what the planner asks of a table, and is told |
//! | `explain.rs` | EXPLAIN ROUTE |
//! | `show.rs` | SHOW CREATE TABLE and its kin |
//! | `ids.rs` | ids for AUTO_INCREMENT columns |
mod columns;
mod create;
mod define;
mod dispatch;
mod explain;
mod fanout;
mod gather;
mod ids;
mod interrupt;
mod last;
mod names;
mod parameters;
mod planned;
mod prepared;
mod rename;
mod reply;
mod resume;
mod seats;
mod show;
mod transaction;
mod used;
mod visit;

pub use columns::KnownColumns;
pub use explain::{explain_for, RouteAnswer, RouteQuestion};
pub use ids::KnownIds;
pub use names::OwnNames;
pub use resume::resume_job;
pub(super) use visit::{OnShard, Way};

pub(super) use explain::ask_directly;
pub(super) use used::query_payload;

use super::kept::Kept;
use super::lease::{GroupIndex, LastConnection};
use super::pins::Pins;
use super::Session;
use crate::backend::{Lease, PoolRef};
use crate::topology::ServerId;
use std::rc::Rc;
use std::time::Instant;

/// What a session needs once it has left its own group. Per session, made when it is needed.
#[derive(Default)]
pub(in crate::session) struct Sharded {
    /// The group whose seat the session sits on; None: the user's own.
    active: Option<Rc<str>>,
    /// All other seats.
    parked: Vec<Seat>,
    /// The statement that began the client's transaction: a group that joins later begins with it too.
    begin: Option<Box<[u8]>>,
    /// SAVEPOINT statements since then.
    savepoints: Vec<Box<[u8]>>,
    /// The transaction has used tables of the user's own group.
    home_used: bool,
    /// When the running statement must have ended.
    until: Option<Instant>,
    /// The error that the last statement on one server ended with.
    pub(in crate::session) error: u16,
    last: Last,
}

/// Where the last statement ran: questions about it go there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Home,
    Group(Rc<str>),
    /// On several; whether something was said of it (warnings, an error).
    Several {
        noted: bool,
    },
}

/// A seat that the session does not sit on.
struct Seat {
    /// None: at the user's own group.
    group: Option<Rc<str>>,
    held: Option<Lease>,
    pins: Pins,
    kept: Option<Box<Kept>>,
    last: Option<LastConnection>,
    lent_warnings: bool,
    index: GroupIndex,
    pools: Box<[(ServerId, PoolRef)]>,
}
