//! A statement on sharded tables → what every shard runs and how the answers become one. Pure.
//!
//! | file | job |
//! |---|---|
//! | `types.rs` | [`Plan`] and its parts: what `scatter` runs and `merge` joins |
//! | `request.rs` | what the planner is asked, and its answer |
//! | `columns.rs` | a table's columns, learnt from a server |
mod columns;
mod request;
mod types;

pub use columns::{Column as TableColumn, Columns, Kind as ColumnKind};
pub use request::{Planned, Request, Value};
pub use types::{
    Aggregate, Answer, Column, Compare, Fanout, Gather, GatheredTable, Grouping, Merge, Part, Plan,
    Refusal, SortKey,
};
