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
}

/// One statement for one shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Index in `Snapshot::groups`.
    pub group: usize,
    /// The shard's place in its table's list, for messages.
    pub shard: usize,
    /// Text with the shard's own table names. Holds `?` where `parameters` are bound.
    pub sql: String,
    /// For EXECUTE: which of the client's parameters, in this text's order. Empty for text statements.
    pub parameters: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fanout {
    pub parts: Vec<Part>,
    /// The parts change data or lock rows: they run on primaries and belong to the client's transaction.
    pub writes: bool,
    pub answer: Answer,
}

/// What the client gets of the parts' answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// OK packets: affected rows and warnings are added up, the first insert id counts.
    Affected,
    /// Affected rows of one part (a broadcast table is written everywhere, and once for the client).
    AffectedOnce,
    Rows(Merge),
}

/// How the parts' rows become one result. The steps, in order: group, distinct, order, offset, limit, trim.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merge {
    /// The first so many columns are the client's; the rest are hidden keys and are trimmed.
    pub visible: usize,
    /// Rows come ordered by the grouping's keys.
    pub group: Option<Grouping>,
    /// Rows equal in these columns are one; they come ordered by `order`, which starts with these columns.
    pub distinct: Option<Vec<usize>>,
    /// Every part's rows come in this order, and so does the whole.
    pub order: Vec<SortKey>,
    pub offset: u64,
    pub limit: Option<u64>,
}

/// One key. Numbers, dates and times compare by value, everything else byte by byte: text is ordered through a
/// hidden WEIGHT_STRING column, so that no collation is reimplemented. NULL comes first when ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    pub column: usize,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grouping {
    /// Columns; empty: the whole result is one group.
    pub keys: Vec<SortKey>,
    /// What becomes of each column that is no key; a column not named keeps the group's first value.
    pub aggregates: Vec<(usize, Aggregate)>,
}

/// How the shards' values of one column become the whole's. NULLs are left out, as in MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Of integers and decimals exactly, of doubles as doubles. COUNT adds up too.
    Sum,
    /// By value, or by the hidden weight column for text.
    Min {
        weight: Option<usize>,
    },
    Max {
        weight: Option<usize>,
    },
    /// SUM in a hidden column divided by COUNT in another, with MySQL's scale.
    Average {
        sum: usize,
        count: usize,
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
    pub sql: String,
    /// See [`Part::parameters`].
    pub parameters: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GatheredTable {
    /// Name of the temporary table, quoted.
    pub name: String,
    /// Statement that creates it empty, with the exact types and collations of the rows to come.
    pub create: String,
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
