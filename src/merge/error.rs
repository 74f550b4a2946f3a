//! Why rows cannot be merged.
use crate::wire::Malformed;

/// Nothing wrong has reached the client: the statement ends with this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A server's bytes do not follow the protocol.
    #[error("a server's reply does not follow the protocol: {0}")]
    Malformed(&'static str),
    /// The plan asks for what cannot be merged exactly.
    #[error("this statement's rows cannot be merged exactly: {0}")]
    Plan(&'static str),
    /// The shards' columns are not those of one table.
    #[error("column {column} is {one} on one shard and {other} on another: the shards' tables differ, compare SHOW CREATE TABLE on them")]
    Columns {
        column: String,
        one: String,
        other: String,
    },
    /// The reply's types are not those that the plan was made for.
    #[error("the type of column {0} changed while this statement was planned: repeat it")]
    Changed(String),
    #[error("a merged sum does not fit its type")]
    Range,
    /// Rows that have to be kept outgrew the limit, in bytes.
    #[error("more than {0} bytes of rows would have to be kept to answer this statement: narrow it, or raise merge_memory_bytes")]
    Memory(usize),
}

impl Error {
    pub const MALFORMED: Error = Error::Malformed("value of a column");
    pub const OTHER_NUMBER: Error =
        Error::Plan("the shards answer with different numbers of columns");

    pub fn plan(what: &'static str) -> Error {
        Error::Plan(what)
    }
}

impl From<Malformed> for Error {
    fn from(m: Malformed) -> Error {
        Error::Malformed(m.what)
    }
}
