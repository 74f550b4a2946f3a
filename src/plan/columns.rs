//! What a table's columns are: learnt once from a server, kept by the worker.

/// A table's columns in order. Per worker; forgotten after a DDL statement and after a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    pub list: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// As in CREATE TABLE, with character set and collation: `varchar(20) character set utf8mb4 collate utf8mb4_bin`.
    pub definition: String,
    pub nullable: bool,
    /// Not part of `SELECT *`.
    pub invisible: bool,
    pub auto_increment: bool,
    /// A generated column: it cannot be written.
    pub generated: bool,
}

/// How values of a column compare.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// With the least and the greatest value.
    Integer {
        low: i128,
        high: i128,
    },
    /// DECIMAL, FLOAT, DOUBLE.
    Number,
    Date,
    DateTime,
    /// TIMESTAMP (the same text is another moment in another time zone), TIME and YEAR.
    Time,
    /// CHAR and VARCHAR: `length` in characters.
    Text {
        length: u32,
        collation: String,
    },
    /// BINARY and VARBINARY.
    Binary {
        length: u32,
    },
    Enum,
    /// TEXT, BLOB, JSON, BIT (which MariaDB shows as bytes or as digits, by its plan), spatial: not compared here.
    Other,
}

/// Of a table, on both servers. Without LIMIT the servers' sql_select_limit would cut the answer.
const MOST_COLUMNS: usize = 4096;

impl Columns {
    /// The question whose rows [`Columns::read`] understands. Names are given in hexadecimal, which every sql_mode
    /// reads the same.
    pub fn question(schema: &str, table: &str) -> String {
        let literal = |name: &str| {
            let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("_utf8mb4 x'{digits}'")
        };
        format!(
            "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, COLLATION_NAME, \
             IS_NULLABLE, EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
             ORDER BY ORDINAL_POSITION LIMIT {MOST_COLUMNS}",
            literal(schema),
            literal(table)
        )
    }

    /// Reads the answer's rows (each value's text, None for NULL). None: no such table, or not such an answer.
    pub fn read<'r>(rows: impl Iterator<Item = Vec<Option<&'r [u8]>>>) -> Option<Columns> {
        let list: Vec<Column> = rows.map(|row| column(&row)).collect::<Option<_>>()?;
        (!list.is_empty()).then_some(Columns { list })
    }

    /// By name, in any case, as the servers find columns.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.list
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
    }

    pub fn get(&self, name: &str) -> Option<&Column> {
        self.list.get(self.position(name)?)
    }
}

fn column(row: &[Option<&[u8]>]) -> Option<Column> {
    let text = |at: usize| {
        let bytes = row.get(at).copied().flatten()?;
        std::str::from_utf8(bytes).ok()
    };
    let (data_type, column_type) = (text(1)?.to_ascii_lowercase(), text(2)?);
    let length = text(3).and_then(|n| n.parse().ok()).unwrap_or(u32::MAX);
    let (charset, collation) = (text(4), text(5));
    let extra = text(7).unwrap_or("").to_ascii_lowercase();
    let definition = match (charset, collation) {
        (Some(charset), Some(collation)) => {
            format!("{column_type} character set {charset} collate {collation}")
        }
        _ => column_type.to_owned(),
    };
    Some(Column {
        name: text(0)?.to_owned(),
        kind: kind(&data_type, column_type, length, collation),
        definition,
        nullable: text(6)?.eq_ignore_ascii_case("yes"),
        invisible: extra.contains("invisible"),
        auto_increment: extra.contains("auto_increment"),
        generated: extra.contains("generated") && !extra.contains("default_generated"),
    })
}

/// The kind of a column, by what a server says of it.
pub(super) fn kind(
    data_type: &str,
    column_type: &str,
    length: u32,
    collation: Option<&str>,
) -> Kind {
    let integer = |bits: u32| {
        let unsigned = column_type.to_ascii_lowercase().contains("unsigned");
        let (low, high) = if unsigned {
            (0, 1_i128 << bits)
        } else {
            (-(1 << (bits - 1)), 1 << (bits - 1))
        };
        Kind::Integer {
            low,
            high: high - 1,
        }
    };
    match (data_type, collation) {
        ("tinyint", _) => integer(8),
        ("smallint", _) => integer(16),
        ("mediumint", _) => integer(24),
        ("int" | "integer", _) => integer(32),
        ("bigint", _) => integer(64),
        ("decimal" | "numeric" | "float" | "double", _) => Kind::Number,
        ("date", _) => Kind::Date,
        ("datetime", _) => Kind::DateTime,
        ("timestamp" | "time" | "year", _) => Kind::Time,
        ("char" | "varchar", Some(collation)) => Kind::Text {
            length,
            collation: collation.to_owned(),
        },
        ("binary" | "varbinary", _) => Kind::Binary { length },
        ("enum" | "set", _) => Kind::Enum,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[[&str; 8]]) -> Option<Columns> {
        let value = |text: &'static str| (text != "-").then_some(text.as_bytes());
        let rows: Vec<Vec<Option<&[u8]>>> = rows
            .iter()
            .map(|row| row.iter().map(|t| value(Box::leak((*t).into()))).collect())
            .collect();
        Columns::read(rows.into_iter())
    }

    #[test]
    fn a_servers_answer_becomes_columns() {
        let columns = read(&[
            [
                "id",
                "int",
                "int(10) unsigned",
                "-",
                "-",
                "-",
                "NO",
                "auto_increment",
            ],
            [
                "Name",
                "varchar",
                "varchar(20)",
                "20",
                "utf8mb4",
                "utf8mb4_bin",
                "YES",
                "",
            ],
            [
                "at",
                "timestamp",
                "timestamp",
                "-",
                "-",
                "-",
                "NO",
                "DEFAULT_GENERATED",
            ],
            [
                "v",
                "json",
                "json",
                "-",
                "-",
                "-",
                "YES",
                "VIRTUAL GENERATED INVISIBLE",
            ],
        ])
        .unwrap();
        assert_eq!(columns.position("NAME"), Some(1));
        let id = columns.get("id").unwrap();
        assert_eq!(
            id.kind,
            Kind::Integer {
                low: 0,
                high: u32::MAX.into()
            }
        );
        assert!(id.auto_increment && !id.nullable && !id.generated);
        let name = columns.get("name").unwrap();
        assert_eq!(
            name.definition,
            "varchar(20) character set utf8mb4 collate utf8mb4_bin"
        );
        assert!(!columns.get("at").unwrap().generated);
        let v = columns.get("v").unwrap();
        assert!(v.generated && v.invisible && v.kind == Kind::Other);
    }

    #[test]
    fn an_answer_without_rows_is_no_table() {
        assert_eq!(read(&[]), None);
    }
}
