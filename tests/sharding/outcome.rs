//! What a statement came to, of which two can be compared.
use super::generate::Case;
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// What a statement came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Rows {
        columns: Vec<Described>,
        rows: Vec<Vec<String>>,
    },
    Ok {
        affected: u64,
        warnings: u16,
        last_insert_id: u64,
        info: String,
    },
    Error(u16, String),
}

impl Outcome {
    /// With the types as wide as some plan makes them.
    pub fn whatever_the_plan(&self) -> Outcome {
        match self.clone() {
            Outcome::Rows { columns, rows } => Outcome::Rows {
                columns: columns.iter().map(Described::whatever_the_plan).collect(),
                rows,
            },
            other => other,
        }
    }
}

/// `values`: of an EXECUTE; none: as text.
pub fn run(conn: &mut Conn, case: &Case, values: Option<&[Value]>) -> Outcome {
    let outcome = match values {
        Some(values) => conn
            .exec_iter(&case.sql, values.to_vec())
            .map(|mut r| collect(&mut r)),
        None => conn.query_iter(&case.sql).map(|mut r| collect(&mut r)),
    };
    match outcome {
        Ok(Ok(Outcome::Rows { columns, mut rows })) => {
            if !case.ordered {
                rows.sort();
            }
            Outcome::Rows { columns, rows }
        }
        Ok(Ok(outcome)) => outcome,
        Ok(Err(e)) | Err(e) => match e {
            mysql::Error::MySqlError(e) => Outcome::Error(e.code, e.message),
            other => panic!("{}: {other}", case.sql),
        },
    }
}

fn collect<P: mysql::prelude::Protocol>(
    result: &mut mysql::QueryResult<'_, '_, '_, P>,
) -> mysql::Result<Outcome> {
    let columns: Vec<Described> = result
        .columns()
        .as_ref()
        .iter()
        .map(Described::of)
        .collect();
    if columns.is_empty() {
        return Ok(Outcome::Ok {
            affected: result.affected_rows(),
            warnings: result.warnings(),
            last_insert_id: result.last_insert_id().unwrap_or(0),
            info: result.info_str().into_owned(),
        });
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let row = row?;
        let value = |at| match row.as_ref(at) {
            Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        rows.push((0..row.len()).map(value).collect());
    }
    Ok(Outcome::Rows { columns, rows })
}

/// Grouped text may be shown in any spelling that its collation takes for the same.
pub fn fold(outcome: Outcome, case: &Case) -> Outcome {
    let folds = [
        "GROUP BY",
        "DISTINCT",
        "MIN(",
        "MAX(",
        "UNION",
        "EXCEPT",
        "INTERSECT",
    ];
    match outcome {
        Outcome::Rows { columns, mut rows } if folds.iter().any(|word| case.sql.contains(word)) => {
            for value in rows.iter_mut().flatten() {
                let folded = value.trim_end().to_lowercase();
                *value = folded
                    .replace(['ä', 'á'], "a")
                    .replace('ß', "ss")
                    .replace('ё', "е");
            }
            if !case.ordered {
                rows.sort();
            }
            Outcome::Rows { columns, rows }
        }
        // each shard has its own word on a statement's outdated spelling
        Outcome::Ok {
            affected,
            last_insert_id,
            info,
            ..
        } if case.sql.contains("VALUES(") => Outcome::Ok {
            affected,
            warnings: 0,
            last_insert_id,
            info: info.split("  Warnings").next().unwrap_or("").to_owned(),
        },
        other => other,
    }
}

/// What a client is told of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    name: String,
    of: ColumnType,
    unsigned: bool,
    /// Of numbers and times: what a server says there of text depends on how it happened to compute it.
    decimals: u8,
    collation: u16,
    /// ENUM, SET, ZEROFILL.
    marks: ColumnFlags,
}

impl Described {
    pub fn of(column: &mysql::Column) -> Described {
        const MARKS: ColumnFlags = ColumnFlags::ENUM_FLAG
            .union(ColumnFlags::SET_FLAG)
            .union(ColumnFlags::ZEROFILL_FLAG);
        Described {
            name: column.name_str().into_owned(),
            of: column.column_type(),
            unsigned: column.flags().contains(ColumnFlags::UNSIGNED_FLAG),
            decimals: if is_text(column.column_type()) {
                0
            } else {
                column.decimals()
            },
            collation: column.character_set(),
            marks: column.flags() & MARKS,
        }
    }

    /// What it is but for what a server's plan makes of it.
    pub fn whatever_the_plan(&self) -> Described {
        use ColumnType::*;
        let mut widest = self.clone();
        widest.marks = ColumnFlags::empty();
        match self.of {
            MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONG
            | MYSQL_TYPE_LONGLONG | MYSQL_TYPE_YEAR => widest.of = MYSQL_TYPE_LONGLONG,
            MYSQL_TYPE_JSON => widest.collation = 0,
            of if of == MYSQL_TYPE_NULL || is_text(of) => {
                widest.of = MYSQL_TYPE_LONG_BLOB;
                widest.unsigned = false;
            }
            _ => {}
        }
        widest
    }
}

/// CHAR, VARCHAR, TEXT, BLOB and their like, JSON.
fn is_text(of: ColumnType) -> bool {
    of as u8 == ColumnType::MYSQL_TYPE_JSON as u8
        || (ColumnType::MYSQL_TYPE_TINY_BLOB as u8..=ColumnType::MYSQL_TYPE_STRING as u8)
            .contains(&(of as u8))
}
