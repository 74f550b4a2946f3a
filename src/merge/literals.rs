//! Rows of the binary protocol as INSERT statements that bring every bit of them into another table.
use super::compare::{double, signed, unsigned};
use super::error::Error;
use crate::wire::column::{kind, Column};
use crate::wire::row::{walk_binary, Span};
use std::io::Write;

/// Gathers rows into statements of about this many bytes.
#[derive(Debug)]
pub struct Batches<'a> {
    table: &'a str,
    columns: &'a [Column],
    kinds: Vec<u8>,
    size: usize,
    sql: Vec<u8>,
    spans: Vec<Span>,
}

impl<'a> Batches<'a> {
    /// `table`: quoted; `columns`: of the rows, and in their order those of the table.
    pub fn new(table: &'a str, columns: &'a [Column], size: usize) -> Batches<'a> {
        Batches {
            table,
            columns,
            kinds: columns.iter().map(|c| c.kind).collect(),
            size,
            sql: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Adds a row; a statement once there is enough for one.
    ///
    /// # Errors
    /// It is no row of these columns.
    pub fn push(&mut self, row: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        walk_binary(row, &self.kinds, &mut self.spans)?;
        if self.sql.is_empty() {
            // infallible: a Vec takes everything
            let _ = write!(self.sql, "INSERT INTO {} VALUES (", self.table);
        } else {
            self.sql.extend_from_slice(b",(");
        }
        for (i, (span, column)) in self.spans.iter().zip(self.columns).enumerate() {
            if i > 0 {
                self.sql.push(b',');
            }
            match span.of(row) {
                None => self.sql.extend_from_slice(b"NULL"),
                Some(value) => literal(value, column, &mut self.sql)?,
            }
        }
        self.sql.push(b')');
        Ok((self.sql.len() >= self.size).then(|| std::mem::take(&mut self.sql)))
    }

    /// What is left.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.sql.is_empty()).then_some(self.sql)
    }
}

fn literal(value: &[u8], column: &Column, out: &mut Vec<u8>) -> Result<(), Error> {
    match column.kind {
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG | kind::YEAR => {
            let number = if column.is_unsigned() || column.kind == kind::YEAR {
                i128::from(unsigned(value, true)?)
            } else {
                i128::from(signed(value, true)?)
            };
            let _ = write!(out, "{number}");
        }
        kind::FLOAT | kind::DOUBLE => {
            // as a double, whose shortest text reads back as the same number; a sign of zero is kept
            let number = double(value, true)?;
            let negative_zero = number == 0.0 && value.last().is_some_and(|b| b & 0x80 != 0);
            let sign = if negative_zero { "-" } else { "" };
            let _ = write!(out, "{sign}{number:e}");
        }
        kind::DECIMAL | kind::NEWDECIMAL => {
            let plain = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'.');
            if !value.iter().all(plain) {
                return Err(Error::MALFORMED);
            }
            out.extend_from_slice(value);
        }
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => moment(value, column.kind, out)?,
        kind::TIME => time(value, out)?,
        kind::JSON => hex(b"_utf8mb4 x'", value, out),
        kind::NULL => out.extend_from_slice(b"NULL"),
        _ => hex(b"x'", value, out),
    }
    Ok(())
}

fn hex(before: &[u8], value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(before);
    out.reserve(2 * value.len() + 1);
    for byte in value {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

fn moment(value: &[u8], of: u8, out: &mut Vec<u8>) -> Result<(), Error> {
    if !matches!(value.len(), 0 | 4 | 7 | 11) {
        return Err(Error::MALFORMED);
    }
    let mut all = [0; 11];
    all[..value.len()].copy_from_slice(value);
    let [y0, y1, month, day, hour, minute, second, micros @ ..] = all;
    let (year, micros) = (u16::from_le_bytes([y0, y1]), u32::from_le_bytes(micros));
    let _ = write!(out, "'{year:04}-{month:02}-{day:02}");
    if of != kind::DATE {
        let _ = write!(out, " {hour:02}:{minute:02}:{second:02}.{micros:06}");
    }
    out.push(b'\'');
    Ok(())
}

fn time(value: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    if !matches!(value.len(), 0 | 8 | 12) {
        return Err(Error::MALFORMED);
    }
    let mut all = [0; 12];
    all[..value.len()].copy_from_slice(value);
    let [negative, d0, d1, d2, d3, hour, minute, second, micros @ ..] = all;
    let hours = u64::from(u32::from_le_bytes([d0, d1, d2, d3])) * 24 + u64::from(hour);
    let sign = if negative != 0 { "-" } else { "" };
    let micros = u32::from_le_bytes(micros);
    let _ = write!(
        out,
        "'{sign}{hours:02}:{minute:02}:{second:02}.{micros:06}'"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::column::{flags, BINARY};
    use crate::wire::row::{begin_binary, put_binary};

    fn one(of: u8, flags: u16, value: &[u8]) -> String {
        let column = Column {
            kind: of,
            flags,
            collation: BINARY,
            ..Column::default()
        };
        let mut out = Vec::new();
        literal(value, &column, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_type_has_a_literal_that_keeps_its_bits() {
        assert_eq!(one(kind::TINY, 0, &[0x80]), "-128");
        assert_eq!(one(kind::TINY, flags::UNSIGNED, &[0x80]), "128");
        assert_eq!(
            one(kind::LONGLONG, flags::UNSIGNED, &[0xff; 8]),
            u64::MAX.to_string()
        );
        assert_eq!(one(kind::YEAR, 0, &2155u16.to_le_bytes()), "2155");
        assert_eq!(one(kind::DOUBLE, 0, &0.1f64.to_le_bytes()), "1e-1");
        let float = one(kind::FLOAT, 0, &0.1f32.to_le_bytes());
        assert_eq!(float.parse::<f64>().unwrap() as f32, 0.1);
        assert_eq!(float.parse::<f64>().unwrap(), f64::from(0.1f32));
        assert_eq!(one(kind::NEWDECIMAL, 0, b"-1.50"), "-1.50");
        assert_eq!(one(kind::DATE, 0, b""), "'0000-00-00'");
        assert_eq!(
            one(kind::DATETIME, 0, &[0xe9, 7, 1, 2, 3, 4, 5, 1, 0, 0, 0]),
            "'2025-01-02 03:04:05.000001'"
        );
        assert_eq!(
            one(kind::TIME, 0, &[1, 34, 0, 0, 0, 22, 59, 59]),
            "'-838:59:59.000000'"
        );
        assert_eq!(one(kind::BIT, 0, &[1, 0xff]), "x'01ff'");
        assert_eq!(one(0xfd, 0, b"it's"), "x'69742773'");
        assert_eq!(one(0xfd, 0, b""), "x''");
        assert_eq!(one(kind::JSON, 0, b"{}"), "_utf8mb4 x'7b7d'");
    }

    #[test]
    fn rows_become_statements_of_about_the_wanted_size() {
        let columns = vec![
            Column {
                kind: kind::LONG,
                ..Column::default()
            };
            2
        ];
        let mut batches = Batches::new("`a`.`t`", &columns, 60);
        let mut row = Vec::new();
        begin_binary(2, &mut row);
        put_binary(0, 0, kind::LONG, Some(&7i32.to_le_bytes()), &mut row);
        put_binary(0, 1, kind::LONG, None, &mut row);
        let made: Vec<_> = (0..9).filter_map(|_| batches.push(&row).unwrap()).collect();
        assert_eq!(made.len(), 2);
        let first = "INSERT INTO `a`.`t` VALUES (7,NULL),(7,NULL),(7,NULL),(7,NULL)";
        assert_eq!(String::from_utf8(made[0].clone()).unwrap(), first);
        assert_eq!(
            batches.finish().as_deref(),
            Some(&b"INSERT INTO `a`.`t` VALUES (7,NULL)"[..])
        );
    }
}
