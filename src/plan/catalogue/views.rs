//! The views that name tables.

/// One view; columns that a server's does not have are left out.
pub(super) struct View {
    pub name: &'static str,
    /// Columns that hold a schema and a table's name; the first pair's is the table that the row is about.
    pub pairs: &'static [[&'static str; 2]],
    /// What tells rows about one table apart.
    pub keys: &'static [&'static str],
    /// Columns that are another number on every shard.
    pub figures: &'static [(&'static str, Figure)],
}

/// What the shards' figures are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Sum,
    /// As [`Figure::Sum`], of a column with sign.
    SignedSum,
    Greatest,
    Least,
    /// Bytes a row.
    Average,
    /// Nothing that could be told of several.
    OfOne,
}

/// The column with the name of a constraint, which servers make from the table's name.
pub(super) const CONSTRAINT: &str = "CONSTRAINT_NAME";
/// What such names go on with.
pub(super) const MADE: [&str; 2] = ["_ibfk_", "_chk_"];

const TABLE: &[[&str; 2]] = &[["TABLE_SCHEMA", "TABLE_NAME"]];
const CONSTRAINED: &[[&str; 2]] = &[["CONSTRAINT_SCHEMA", "TABLE_NAME"]];

const SIZES: &[(&str, Figure)] = &[
    ("TABLE_ROWS", Figure::Sum),
    ("AVG_ROW_LENGTH", Figure::Average),
    ("DATA_LENGTH", Figure::Sum),
    ("MAX_DATA_LENGTH", Figure::Sum),
    ("INDEX_LENGTH", Figure::Sum),
    ("MAX_INDEX_LENGTH", Figure::Sum),
    ("DATA_FREE", Figure::Sum),
    ("AUTO_INCREMENT", Figure::Greatest),
    ("CREATE_TIME", Figure::Greatest),
    ("UPDATE_TIME", Figure::Greatest),
    ("CHECK_TIME", Figure::Least),
    ("CHECKSUM", Figure::OfOne),
];

const fn plain(name: &'static str, pairs: &'static [[&'static str; 2]]) -> View {
    View {
        name,
        pairs,
        keys: &[],
        figures: &[],
    }
}

static VIEWS: [View; 19] = [
    View {
        name: "TABLES",
        pairs: TABLE,
        keys: &[],
        figures: SIZES,
    },
    View {
        name: "PARTITIONS",
        pairs: TABLE,
        keys: &["PARTITION_NAME", "SUBPARTITION_NAME"],
        figures: SIZES,
    },
    View {
        name: "STATISTICS",
        pairs: TABLE,
        keys: &["INDEX_NAME", "SEQ_IN_INDEX"],
        figures: &[("CARDINALITY", Figure::SignedSum)],
    },
    plain("COLUMNS", TABLE),
    plain("COLUMN_PRIVILEGES", TABLE),
    plain("TABLE_PRIVILEGES", TABLE),
    plain("TABLES_EXTENSIONS", TABLE),
    plain("COLUMNS_EXTENSIONS", TABLE),
    plain("ST_GEOMETRY_COLUMNS", TABLE),
    plain("COLUMN_STATISTICS", &[["SCHEMA_NAME", "TABLE_NAME"]]),
    plain("GEOMETRY_COLUMNS", &[["F_TABLE_SCHEMA", "F_TABLE_NAME"]]),
    plain("VIEWS", TABLE),
    plain("VIEW_TABLE_USAGE", TABLE),
    plain("TABLE_CONSTRAINTS", TABLE),
    plain("TABLE_CONSTRAINTS_EXTENSIONS", CONSTRAINED),
    // on MySQL without a table's name: see `MADE`
    plain("CHECK_CONSTRAINTS", CONSTRAINED),
    plain("TRIGGERS", &[["EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE"]]),
    plain(
        "KEY_COLUMN_USAGE",
        &[
            ["TABLE_SCHEMA", "TABLE_NAME"],
            ["REFERENCED_TABLE_SCHEMA", "REFERENCED_TABLE_NAME"],
        ],
    ),
    plain(
        "REFERENTIAL_CONSTRAINTS",
        &[
            ["CONSTRAINT_SCHEMA", "TABLE_NAME"],
            ["UNIQUE_CONSTRAINT_SCHEMA", "REFERENCED_TABLE_NAME"],
        ],
    ),
];

impl View {
    pub fn find(name: &str) -> Option<&'static View> {
        VIEWS
            .iter()
            .find(|view| view.name.eq_ignore_ascii_case(name))
    }

    pub fn figure(&self, column: &str) -> Option<Figure> {
        let mut figures = self.figures.iter();
        figures
            .find(|(name, _)| name.eq_ignore_ascii_case(column))
            .map(|(_, figure)| *figure)
    }
}
