//! Statement bytes → verb, read or write, hints, effects on session state.
//!
//! One pass over the bytes, no allocation. The answer is Read only when that is proven; what is not
//! understood is Unsure and belongs on the primary. The layers: `lexer` cuts bytes into tokens by
//! the server's own rules, `words` is the one table of SQL words and built-in functions, `scan`
//! applies the rules that hold in every statement, and one file per statement family reads what is
//! particular to it. `memo` remembers what was said of texts that come again and again.

mod about;
mod accounts;
mod admin;
mod connection_id;
mod control;
mod create;
mod digest;
mod explain_route;
mod facts;
mod kill;
/// Tokens, for those who need more of a statement than [`Sniffed`]: one lexer decides what is a name everywhere.
pub(crate) mod lexer;
pub(crate) mod library;
mod literal;
mod memo;
mod named;
mod normal;
mod placeholders;
mod query;
mod rule_comment;
mod scan;
mod set;
mod telltale;
mod thread_ids;
mod types;
mod user_variables;
mod variables;
mod words;

#[cfg(test)]
mod tests;

pub use about::About;
pub use accounts::may_change_accounts;
pub use connection_id::with_connection_id;
pub use digest::digest;
pub use explain_route::explained_route;
pub use facts::{facts, has_versions, Facts, Judge};
pub use kill::{kill_target, Kill, KillWhom};
pub use memo::{KnownText, Memo, TextId};
pub use named::{named, Named, TableName};
pub use normal::normalised;
pub use placeholders::placeholders;
pub use rule_comment::{prepares_rule, rule_comments};
pub use telltale::Telltale;
pub use thread_ids::{beside_connections, Mention, Mentioned};
pub use types::{Access, Dialect, Effects, Hint, Sniffed, Verb};
pub use user_variables::{literal_assignments, unscoped_assignments, Literal};

/// Reads a statement once; no allocation. `complete` false: `sql` is only the first part of a longer
/// statement, and what the rest could change is assumed (a SELECT becomes Unsure).
pub fn sniff(sql: &[u8], complete: bool, dialect: Dialect) -> Sniffed {
    scan::Scan::new(sql, dialect).run(complete)
}
