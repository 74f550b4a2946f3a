//! Text result sets → [`Rows`].
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html>

use super::{ClientError, Link};
use crate::wire::{capabilities as caps, reply, status, Malformed};

/// More columns than any server sends.
const COLUMN_LIMIT: u64 = 4096;

/// A whole small text result: columns by name, values as text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    columns: Vec<String>,
    values: Vec<Vec<Option<String>>>,
}

impl Rows {
    #[cfg(test)]
    pub fn new(columns: &[&str], values: Vec<Vec<Option<String>>>) -> Rows {
        Rows {
            columns: columns.iter().map(|c| c.to_string()).collect(),
            values,
        }
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// By column name, in any case; None: no such row or column, or NULL.
    pub fn get(&self, row: usize, column: &str) -> Option<&str> {
        let at = self
            .columns
            .iter()
            .position(|c| c.eq_ignore_ascii_case(column))?;
        self.at(row, at)
    }

    /// All values of a row; empty: no such row.
    pub fn row(&self, row: usize) -> &[Option<String>] {
        self.values.get(row).map(Vec::as_slice).unwrap_or_default()
    }

    /// By position; None: no such row or column, or NULL.
    pub fn at(&self, row: usize, column: usize) -> Option<&str> {
        self.values.get(row)?.get(column)?.as_deref()
    }
}

/// Reads the answer to one COM_QUERY; an OK without rows gives empty [`Rows`].
pub(super) async fn receive(
    link: &mut Link,
    capabilities: u64,
    limit: usize,
) -> Result<Rows, ClientError> {
    let (_, first) = link.receive().await?;
    let columns = match first.first() {
        Some(0x00) => return Ok(Rows::default()),
        Some(0xff) => return Err(ClientError::Server(reply::Err::decode(&first)?)),
        // A request for a local file: this client has none to give.
        Some(0xfb) | None => return Err(ClientError::Malformed("first packet of a result")),
        Some(_) => Reader(&first).integer()?,
    };
    if columns > COLUMN_LIMIT {
        return Err(ClientError::Malformed("number of columns"));
    }
    let mut rows = Rows::default();
    for _ in 0..columns {
        let (_, definition) = link.receive().await?;
        rows.columns.push(column_name(&definition)?);
    }
    if capabilities & caps::DEPRECATE_EOF == 0 {
        let (_, eof) = link.receive().await?;
        end_status(&eof).ok_or(ClientError::Malformed("end of the columns"))?;
    }
    read_values(link, &mut rows, limit).await?;
    Ok(rows)
}

async fn read_values(link: &mut Link, rows: &mut Rows, limit: usize) -> Result<(), ClientError> {
    loop {
        let (_, payload) = link.receive().await?;
        if payload.first() == Some(&0xff) {
            return Err(ClientError::Server(reply::Err::decode(&payload)?));
        }
        match end_status(&payload) {
            Some(flags) if flags & status::MORE_RESULTS != 0 => {
                return Err(ClientError::Malformed("more than one result"));
            }
            Some(_) => return Ok(()),
            None if rows.values.len() >= limit => {
                return Err(ClientError::Unsupported(format!("more than {limit} rows")));
            }
            None => rows.values.push(values(&payload, rows.columns.len())?),
        }
    }
}

/// Status flags of an EOF packet (or of the OK that stands in for it); None: it is a row.
fn end_status(payload: &[u8]) -> Option<u16> {
    match payload {
        [0xfe, _, _, low, high] => Some(u16::from_le_bytes([*low, *high])),
        // A row that begins with 0xfe has a value of 16 MiB or more, over the packet limit here.
        [0xfe, ..] => Some(0),
        _ => None,
    }
}

/// ColumnDefinition41: catalog, schema, table, org_table, name, …
fn column_name(definition: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader(definition);
    for _ in 0..4 {
        reader.value()?;
    }
    reader.value()?.ok_or(Malformed {
        what: "column name",
    })
}

fn values(payload: &[u8], columns: usize) -> Result<Vec<Option<String>>, Malformed> {
    let mut reader = Reader(payload);
    (0..columns).map(|_| reader.value()).collect()
}

/// What is left of a payload.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// A length-encoded integer.
    fn integer(&mut self) -> Result<u64, Malformed> {
        let short = Malformed {
            what: "length-encoded integer",
        };
        let (&first, rest) = self.0.split_first().ok_or(short.clone())?;
        let size = match first {
            0..=0xfa => {
                self.0 = rest;
                return Ok(u64::from(first));
            }
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(short),
        };
        let (number, rest) = rest.split_at_checked(size).ok_or(short)?;
        self.0 = rest;
        Ok(number
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// A length-encoded string, or NULL.
    fn value(&mut self) -> Result<Option<String>, Malformed> {
        if let [0xfb, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(None);
        }
        let short = Malformed {
            what: "length-encoded string",
        };
        let length = usize::try_from(self.integer()?).map_err(|_| short.clone())?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(short)?;
        self.0 = rest;
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }
}
