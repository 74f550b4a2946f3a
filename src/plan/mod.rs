//! A statement on sharded tables → what every shard runs and how the answers become one. Pure.
//!
//! | file | job |
//! |---|---|
//! | `types.rs` | [`Plan`] and its parts: what `scatter` runs and `merge` joins |
mod types;

pub use types::{
    Aggregate, Answer, Fanout, Gather, GatheredTable, Grouping, Merge, Part, Plan, Refusal, SortKey,
};
