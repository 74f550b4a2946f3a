//! Building small text results that the proxy answers itself (admin, local answers).
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html

use super::bytes::put_lenenc_bytes;
use super::capabilities::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, MARIADB_EXTENDED_METADATA, OPTIONAL_RESULTSET_METADATA,
};
use super::packet::frame;
use super::reply;

const NULL: u8 = 0xfb;
/// VAR_STRING
const TYPE: u8 = 0xfd;
/// utf8mb4_general_ci
const COLLATION: u16 = 45;
/// Decimals of a column that has none.
const DECIMALS: u8 = 0x1f;
/// Display width in bytes where nothing is longer.
const WIDTH: usize = 256;

/// Appends a whole framed text result set: string columns, values NULL or text; sequence starts at
/// `sequence`; returns the next one. `status` may hold MORE_RESULTS: the caller then appends more.
pub fn encode(
    columns: &[&str],
    rows: &[Vec<Option<String>>],
    status: u16,
    capabilities: u64,
    sequence: u8,
    out: &mut Vec<u8>,
) -> u8 {
    debug_assert!(!columns.is_empty() && rows.iter().all(|row| row.len() == columns.len()));
    let deprecate_eof = capabilities & DEPRECATE_EOF != 0;
    let mut sequence = frame(&count(columns.len(), capabilities), sequence, out);
    for (i, name) in columns.iter().enumerate() {
        let widths = rows
            .iter()
            .filter_map(|row| Some(row.get(i)?.as_ref()?.len()));
        let width = widths.fold(WIDTH, usize::max);
        sequence = frame(&definition(name, width, capabilities), sequence, out);
    }
    if !deprecate_eof {
        sequence = frame(&reply::eof(0, status), sequence, out);
    }
    for row in rows {
        sequence = frame(&text_row(row), sequence, out);
    }
    let end = reply::Ok {
        header: reply::EOF,
        status,
        ..reply::Ok::default()
    };
    frame(&end.encode(capabilities), sequence, out)
}

fn count(columns: usize, capabilities: u64) -> Vec<u8> {
    let flagged = capabilities & (OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA) != 0;
    super::column::encode_count(columns, flagged)
}

/// ColumnDefinition41 without a table.
fn definition(name: &str, width: usize, capabilities: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 32);
    put_lenenc_bytes(&mut out, b"def");
    // schema, table and original table
    out.extend_from_slice(&[0, 0, 0]);
    put_lenenc_bytes(&mut out, name.as_bytes());
    // original name
    out.push(0);
    if capabilities & MARIADB_EXTENDED_METADATA != 0 {
        out.push(0);
    }
    // length of what follows
    out.push(0x0c);
    out.extend_from_slice(&COLLATION.to_le_bytes());
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&[TYPE, 0, 0, DECIMALS, 0, 0]);
    out
}

fn text_row(row: &[Option<String>]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in row {
        match value {
            None => out.push(NULL),
            Some(text) => put_lenenc_bytes(&mut out, text.as_bytes()),
        }
    }
    out
}
