//! What must outlive the process: ids that were given out, changes of tables on several shards (jobs), and rules that came
//! with CREATE TABLE. One folder, one process; its own thread, so that a slow disk delays nothing but who waits for it.
//!
//! Everything is on the disk before anybody is told: an id before it is used, a job's part before it runs.
//!
//! | file | job |
//! |---|---|
//! | `job.rs` | a change of a table on all its shards, and how far it came |
//! | `rule.rs` | a rule that came with CREATE TABLE |
//! | `store.rs` | the files |
//! | `clerk.rs` | the thread, and what it is asked |
//! | `libraries.rs`, `libraries/` | which library an object belongs to; a thread of its own |
mod clerk;
mod job;
mod libraries;
mod rule;
mod store;
#[cfg(test)]
mod tests;

pub use clerk::{Ask, Clerk, Reply};
pub use job::{Job, Part, PartState};
pub use libraries::{
    shown, Candidate, Libraries, LibraryAsk, LibraryClerk, LibraryCount, MAX_OBJECT,
};
pub use rule::{Follower, Rule, RuleChange};
pub use store::{Store, StoreError};
