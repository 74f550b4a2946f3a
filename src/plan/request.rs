//! What the planner is asked, and its answer.
use super::columns::Columns;
use super::types::Plan;
use crate::sniff::Dialect;
use crate::topology::ShardMap;
use std::rc::Rc;

/// One statement of a session.
pub struct Request<'a> {
    /// The statement's bytes, in the client's character set.
    pub sql: &'a [u8],
    /// The session's default schema.
    pub schema: Option<&'a str>,
    pub map: &'a ShardMap,
    /// The columns of a table, by logical schema and name, if the worker knows them.
    pub columns: &'a dyn Fn(&str, &str) -> Option<Rc<Columns>>,
    /// EXECUTE: the values, in order. None: a text statement, or PREPARE, where the values are not known yet.
    pub parameters: Option<&'a [Value]>,
    pub dialect: Dialect,
    /// The group of the session's user, where everything without a rule is.
    pub home: usize,
    /// The group whose connection the session holds, if any: where there is a choice, it is taken.
    pub held: Option<usize>,
    /// So many ids in a row for an AUTO_INCREMENT column, all above this value; the first. None: ask, see
    /// [`Planned::NeedsIds`]. By the table as [`crate::topology::shards::Table::shown`] names it.
    pub ids: &'a dyn Fn(&str, u64, u64) -> Option<u64>,
    /// 0 for an AUTO_INCREMENT column makes an id: sql_mode has no NO_AUTO_VALUE_ON_ZERO.
    pub zero_generates: bool,
    /// Another number whenever the map's rules or what `columns` tells have changed: plans of the same number are kept.
    /// None: none is kept.
    pub version: Option<u64>,
    /// For choosing among equals; any number that differs from turn to turn.
    pub seed: u64,
}

/// A parameter's value, of the binary protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Unsigned(u64),
    /// Float and double.
    Double(f64),
    /// Text, blobs, decimals: the bytes, in the client's character set.
    Bytes(Vec<u8>),
    /// DATE, DATETIME, TIMESTAMP.
    Date {
        year: u16,
        month: u8,
        day: u8,
        has_time: bool,
    },
    /// TIME, and whatever else cannot be a key.
    Other,
}

/// The planner's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// No sharded table: the statement passes through unparsed to this group.
    Whole {
        group: usize,
    },
    Plan(Plan),
    /// Ask this question on the group, read the answer with [`Columns::read`], keep it under this schema and table
    /// for as long as the map is the same, and plan again.
    Needs {
        schema: String,
        table: String,
        group: usize,
        question: String,
    },
    /// Get ids for this table's column, and plan again.
    NeedsIds {
        schema: String,
        table: String,
        column: String,
        count: u64,
        /// A row brings this id itself: none up to it may be given out any more.
        above: u64,
    },
}
