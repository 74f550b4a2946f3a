//! The flat plan: nothing in it is looked up again, nobody rereads the SQL.

/// What becomes of one statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// One shard's answer is the client's: it passes through unparsed.
    Single(Part),
    /// Several shards run at once; their answers become one.
    Fanout(Fanout),
    /// Only a server can answer exactly: rows are brought to one, which then runs the statement.
    Gather(Gather),
    /// The table's definition changes on one shard after the other.
    Definition(Definition),
    /// One shard's answer, under the table's own name.
    Shown(Shown),
}

/// One statement for one shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Index in `Snapshot::groups`.
    pub group: usize,
    /// The shard's place in its table's list, for messages.
    pub shard: usize,
    /// Text with the shard's own table names, otherwise the client's own bytes (in its character set). Holds `?` where
    /// `parameters` are bound.
    pub sql: Vec<u8>,
    /// For EXECUTE: which of the client's parameters, in this text's order. Empty for text statements.
    pub parameters: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fanout {
    pub parts: Vec<Part>,
    /// The parts change data or lock rows: they run on primaries and belong to the client's transaction.
    pub writes: bool,
    pub answer: Answer,
    /// Ids that Umpire gives to the rows of an INSERT, in their order. LAST_INSERT_ID() is the first.
    pub ids: Vec<u64>,
}

/// What a table looks like, as one shard tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub part: Part,
    /// The shard's table, which stands in the answer's values, and the name that takes its place.
    pub was: String,
    pub is: String,
    /// Such names of all tables on the shard's server, which its definition may refer to.
    pub others: Vec<(String, String)>,
}

/// A change of tables' definitions. It is kept as a job, so that what some shards lack can be done later.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The first table, for messages.
    pub table: String,
    /// What becomes of rules when it is done.
    pub rules: Vec<RuleEffect>,
    /// DROP TABLE: a table that is missing where it should be dropped is no reason to stop.
    pub drops: bool,
    /// In this order; the first that fails ends it.
    pub parts: Vec<Step>,
}

/// One statement on one shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The logical table, for messages.
    pub table: String,
    pub part: Part,
}

/// What becomes of a rule that came with CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleEffect {
    /// Of this table, as [`crate::topology::shards::Table::shown`] names it.
    Drops(String),
    Renames {
        /// As above.
        from: String,
        schema: String,
        table: String,
        /// Schema and table of every shard from then on.
        shards: Vec<[String; 2]>,
    },
}

/// What the client gets of the parts' answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// OK packets: affected rows and warnings are added up, the first insert id counts.
    Affected,
    /// As [`Answer::Affected`], of several rows' INSERT. The servers count nothing in the info of a part that has one row.
    /// `ignore`: INSERT IGNORE.
    Inserted {
        ignore: bool,
    },
    /// Affected rows of one part (a broadcast table is written everywhere, and once for the client).
    AffectedOnce,
    Rows(Merge),
}

/// How the parts' rows become one result. The steps, in order: group, distinct, order, offset, limit, trim.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merge {
    /// The last so many columns are hidden keys and are trimmed. Counted from the end, so that `SELECT *` is right
    /// even when a column was added a moment ago.
    pub hidden: usize,
    /// Rows come ordered by the grouping's keys.
    pub group: Option<Grouping>,
    /// Rows equal in all keys of `order` are one.
    pub distinct: bool,
    /// The order of the whole. Without `group`, every part's rows come in this order. With `group` they come in the
    /// order of the grouping's keys; where `order` is not the beginning of those, groups are sorted here.
    pub order: Vec<SortKey>,
    pub offset: u64,
    pub limit: Option<u64>,
}

/// A column of the parts' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// From the first.
    Visible(usize),
    /// From the first of the [`Merge::hidden`] ones.
    Hidden(usize),
}

/// How two values of a column compare. The reply's column definition must agree (a number, a date or time, a
/// string): if not, the table has changed since its columns were learnt, and the statement fails with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Integers, decimals, doubles, by value.
    Number,
    /// DATE, DATETIME, TIMESTAMP, TIME, YEAR, by value.
    Time,
    /// Byte by byte: binary strings, and the WEIGHT_STRING of text, so that no collation is reimplemented.
    Bytes,
    /// Weights of two bytes each; the shorter one goes on with this weight, a space's, as PAD SPACE collations want it.
    Padded(u16),
}

/// One key. NULL comes first when ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    pub column: Column,
    pub compare: Compare,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grouping {
    /// Rows equal in these are one group; empty: the whole result is one.
    pub keys: Vec<SortKey>,
    /// What becomes of columns; a column not named keeps the group's first value.
    pub aggregates: Vec<(Column, Aggregate)>,
}

/// How the shards' values of one column become the whole's. NULLs are left out, as in MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Of integers and decimals exactly, of doubles as doubles. COUNT adds up too.
    Sum,
    /// The value whose `by` is least (greatest); `by` is the column itself or a hidden weight.
    Min {
        by: SortKey,
    },
    Max {
        by: SortKey,
    },
    /// SUM in a hidden column divided by COUNT in another, with MySQL's scale. Both are summed up themselves.
    Average {
        sum: Column,
        count: Column,
    },
    BitAnd,
    BitOr,
    BitXor,
}

/// Rows are copied into temporary tables of one server, which runs `sql` over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Gather {
    /// The group on whose primary the statement runs.
    pub group: usize,
    pub tables: Vec<GatheredTable>,
    pub sql: Vec<u8>,
    /// See [`Part::parameters`].
    pub parameters: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GatheredTable {
    /// Name of the temporary table with its schema, quoted.
    pub name: String,
    /// Statement that creates it empty, with the exact types and collations of the rows to come. Runs on the
    /// gathering group; means the same under every sql_mode but MariaDB's ORACLE and MAXDB.
    pub create: Vec<u8>,
    /// What the shards are asked for; the columns are the temporary table's, in order.
    pub parts: Vec<Part>,
}

/// Why a statement cannot be answered correctly, and what to do. The client gets it as an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// MySQL's code and SQLSTATE: 1235 (42000) unless another fits.
    pub code: u16,
    pub state: [u8; 5],
    pub message: String,
}

impl Refusal {
    /// 1235 (42000), "not supported": what it is, why it would be wrong, what to do instead.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal {
            code: 1235,
            state: *b"42000",
            message: message.into(),
        }
    }
}
