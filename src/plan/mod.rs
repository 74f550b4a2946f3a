//! A statement on sharded tables → what every shard runs and how the answers become one. Pure.
//!
//! [`concerns`] is asked first, of every statement, if there are rules at all. [`plan`] then answers: through to one
//! group unparsed, a [`Plan`], or a [`Refusal`] with its reason. The order of its phases:
//!
//! | file | job |
//! |---|---|
//! | `mention.rs` | names that may be tables with a rule, token by token |
//! | `parse/`, `ast.rs` | text → structure; every part knows its place in the text |
//! | `catalogue.rs` | information_schema without shards' names |
//! | `bind.rs`, `columns.rs` | names → tables, columns, keys |
//! | `literal.rs`, `locate.rs` | conditions → shards; which tables meet in a shard |
//! | `select.rs`, `shape.rs` | what the simple merge answers exactly |
//! | `split.rs` | lists of keys, cut for each shard |
//! | `gather.rs` | everything else: rows are brought to one server |
//! | `write.rs`, `ids.rs` | INSERT, REPLACE, UPDATE, DELETE; AUTO_INCREMENT |
//! | `insert_query.rs` | INSERT … SELECT within a shard |
//! | `show.rs` | SHOW and DESCRIBE |
//! | `ddl.rs` | CREATE, ALTER, DROP, TRUNCATE TABLE, CREATE and DROP INDEX |
//! | `edit.rs` | the parts' text: the client's with a few spans replaced |
//! | `planner.rs` | the phases put together |
//! | `unread.rs` | statements that are not parsed |
//! | `cache.rs`, `template.rs`, `seen.rs` | plans of one shard, kept by the statement's words without its literals |
//! | `known.rs`, `key_at.rs`, `part_text.rs` | the same of statements that are known without being read |
//! | `remedy.rs` | statements that no server could run for all |
//! | `explained.rs` | EXPLAIN and ANALYZE of one shard's statement |
//! | `explain.rs`, `why.rs` | a plan and its reasons in words |
//! | `types.rs`, `request.rs` | [`Plan`], and what the planner is asked |
mod ast;
mod bind;
mod cache;
mod catalogue;
mod columns;
mod ddl;
mod edit;
mod explain;
mod explained;
mod gather;
mod ids;
mod insert_query;
mod key_at;
mod known;
mod literal;
mod locate;
mod mention;
mod parse;
mod part_text;
mod planner;
mod remedy;
mod request;
mod seen;
mod select;
mod shape;
mod show;
mod split;
mod template;
#[cfg(test)]
mod tests;
mod types;
mod unread;
mod why;
mod write;

pub use cache::Cache;
pub use columns::{Column as TableColumn, Columns, Kind as ColumnKind};
pub use ddl::created_table;
pub use explain::explain;
pub use known::{Asked, Context, Execution, Recalled, ShardText};
pub use mention::concerns;
pub use planner::plan;
pub use request::{Planned, Request, Value};
pub use types::{
    Aggregate, Answer, Column, Compare, Definition, Fanout, Gather, GatheredTable, Grouping, Merge,
    Part, Plan, Refusal, RuleEffect, Shown, SortKey, Step,
};
pub use why::reasons;
