//! Row streams of several shards → one. Pure.
//!
//! ```text
//!  shard 0 ─row─▶ ┌────────────┐   ┌───────┐   ┌──────┐   ┌──────────┐   ┌────────────────┐
//!  shard 1 ─row─▶ │ by the key │──▶│ group │──▶│ sort │──▶│ distinct │──▶│ offset, limit, │──▶ client
//!  shard 2 ─row─▶ └────────────┘   └───────┘   └──────┘   └──────────┘   │ trim           │
//!     one row each is here          one group   only what is             └────────────────┘
//!                                               grouped otherwise
//! ```
//!
//! A [`Merger`] holds one row of each shard and asks for the next one it needs: who feeds it decides how much
//! is read ahead. Only a result that is grouped by one thing and ordered by another is kept whole, up to a limit in bytes.
//!
//! | file | job |
//! |---|---|
//! | `merger.rs` | [`Merger`]: the steps above |
//! | `layout.rs` | columns of all shards as one; a row and its values |
//! | `unify.rs` | types that differ by the shards' plans |
//! | `compare.rs` | values by the server's order |
//! | `group.rs` | aggregates |
//! | `decimal.rs`, `double.rs` | numbers as the server computes and prints them |
//! | `literals.rs` | rows as INSERT statements, for a statement that one server runs |
//! | `error.rs` | what cannot be merged |
mod compare;
mod decimal;
mod double;
mod error;
mod group;
mod layout;
pub mod literals;
mod merger;
#[cfg(test)]
mod tests;
mod unify;

pub use error::Error;
pub use merger::{Merger, Needs, Step};
pub use unify::alike;
