//! Rows of result sets, text and binary: where each value is, and how it is written again.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
use super::bytes::{put_lenenc_bytes, Reader};
use super::column::kind;
use super::Malformed;

const NULL: u8 = 0xfb;
/// Bits in front of the first column's in a binary row's NULL bitmap.
const BITMAP_OFFSET: usize = 2;

/// Where a value's bytes are in a row: without the length in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
    pub null: bool,
}

impl Span {
    /// The value's bytes; None: NULL.
    #[inline]
    pub fn of(self, row: &[u8]) -> Option<&[u8]> {
        if self.null {
            return None;
        }
        row.get(self.start as usize..self.end as usize)
    }
}

/// How a type's values lie in a binary row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Fixed(usize),
    /// One byte of length in front: dates and times.
    Short,
    /// A length-encoded integer in front.
    Long,
}

fn shape(of: u8) -> Shape {
    match of {
        kind::TINY => Shape::Fixed(1),
        kind::SHORT | kind::YEAR => Shape::Fixed(2),
        kind::LONG | kind::INT24 | kind::FLOAT => Shape::Fixed(4),
        kind::LONGLONG | kind::DOUBLE => Shape::Fixed(8),
        kind::NULL => Shape::Fixed(0),
        kind::DATE | kind::DATETIME | kind::TIMESTAMP | kind::TIME => Shape::Short,
        _ => Shape::Long,
    }
}

/// Finds the values of a text row.
///
/// # Errors
/// The row does not have exactly `columns` values.
pub fn walk_text(row: &[u8], columns: usize, spans: &mut Vec<Span>) -> Result<(), Malformed> {
    const WHAT: &str = "text row";
    spans.clear();
    let mut reader = Reader::new(row);
    for _ in 0..columns {
        let at = row.len() - reader.left();
        let null = row.get(at) == Some(&NULL);
        let length = if null {
            reader.u8(WHAT)?;
            0
        } else {
            reader.lenenc_bytes(WHAT)?.len()
        };
        push(spans, row.len() - reader.left(), length, null)?;
    }
    finish(reader, WHAT)
}

/// Finds the values of a binary row.
///
/// # Errors
/// The row is not one of these types.
pub fn walk_binary(row: &[u8], kinds: &[u8], spans: &mut Vec<Span>) -> Result<(), Malformed> {
    const WHAT: &str = "binary row";
    spans.clear();
    let mut reader = Reader::new(row);
    if reader.u8(WHAT)? != 0 {
        return Err(Malformed { what: WHAT });
    }
    let nulls = reader.take(bitmap_length(kinds.len()), WHAT)?;
    for (i, of) in kinds.iter().enumerate() {
        let bit = i + BITMAP_OFFSET;
        let null = nulls
            .get(bit / 8)
            .is_some_and(|b| b & (1 << (bit % 8)) != 0);
        let length = match shape(*of) {
            _ if null => 0,
            Shape::Fixed(n) => reader.take(n, WHAT)?.len(),
            Shape::Short => {
                let n = usize::from(reader.u8(WHAT)?);
                reader.take(n, WHAT)?.len()
            }
            Shape::Long => reader.lenenc_bytes(WHAT)?.len(),
        };
        push(spans, row.len() - reader.left(), length, null)?;
    }
    finish(reader, WHAT)
}

/// Appends a text value.
pub fn put_text(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        None => out.push(NULL),
        Some(bytes) => put_lenenc_bytes(out, bytes),
    }
}

/// Appends the head of a binary row, all values NULL; [`put_binary`] adds them in order.
pub fn begin_binary(columns: usize, out: &mut Vec<u8>) {
    out.push(0);
    out.resize(out.len() + bitmap_length(columns), 0);
}

/// Appends value number `index` of the binary row that began at `start`.
pub fn put_binary(start: usize, index: usize, of: u8, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(bytes) = value else {
        let bit = index + BITMAP_OFFSET;
        if let Some(byte) = out.get_mut(start + 1 + bit / 8) {
            *byte |= 1 << (bit % 8);
        }
        return;
    };
    match shape(of) {
        Shape::Fixed(_) => out.extend_from_slice(bytes),
        Shape::Short => {
            out.push(bytes.len() as u8);
            out.extend_from_slice(bytes);
        }
        Shape::Long => put_lenenc_bytes(out, bytes),
    }
}

/// Bytes of the NULL bitmap of a binary row.
pub fn bitmap_length(columns: usize) -> usize {
    (columns + BITMAP_OFFSET).div_ceil(8)
}

fn push(spans: &mut Vec<Span>, end: usize, length: usize, null: bool) -> Result<(), Malformed> {
    let what = "row length";
    let end = u32::try_from(end).map_err(|_| Malformed { what })?;
    let start = end - length as u32;
    spans.push(Span { start, end, null });
    Ok(())
}

fn finish(reader: Reader<'_>, what: &'static str) -> Result<(), Malformed> {
    if reader.is_empty() {
        Ok(())
    } else {
        Err(Malformed { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_row_is_walked_and_written_again() {
        let mut row = Vec::new();
        let values = [Some(&b"abc"[..]), None, Some(b""), Some(&[7; 300])];
        values.iter().for_each(|v| put_text(*v, &mut row));
        let mut spans = Vec::new();
        walk_text(&row, 4, &mut spans).unwrap();
        let back: Vec<_> = spans.iter().map(|s| s.of(&row)).collect();
        assert_eq!(back, values);
        for cut in 0..row.len() {
            assert!(walk_text(&row[..cut], 4, &mut spans).is_err(), "{cut}");
        }
        assert!(walk_text(&row, 3, &mut spans).is_err());
    }

    #[test]
    fn a_binary_row_is_walked_and_written_again() {
        let kinds = [
            kind::LONG,
            kind::DATETIME,
            0xfd,
            kind::NULL,
            kind::TINY,
            0xfd,
            0xfd,
        ];
        let values = [
            Some(&b"\x01\0\0\0"[..]),
            Some(b"\xe9\x07\x01\x02"),
            None,
            None,
            Some(b"\x05"),
            Some(b"text"),
            None,
        ];
        let mut row = Vec::new();
        begin_binary(kinds.len(), &mut row);
        for (i, value) in values.iter().enumerate() {
            put_binary(0, i, kinds[i], *value, &mut row);
        }
        let mut spans = Vec::new();
        walk_binary(&row, &kinds, &mut spans).unwrap();
        let back: Vec<_> = spans.iter().map(|s| s.of(&row)).collect();
        assert_eq!(back, values);
        for cut in 0..row.len() {
            assert!(
                walk_binary(&row[..cut], &kinds, &mut spans).is_err(),
                "{cut}"
            );
        }
    }
}
