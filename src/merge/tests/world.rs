//! Shards in memory, and the whole of a merge's rows.
use crate::merge::{Error, Merger, Needs, Step};
use crate::plan::Merge;
use crate::wire::column::{flags, kind, Column, BINARY, NOT_FIXED};
use crate::wire::row::{begin_binary, put_binary, put_text, walk_binary, walk_text};

/// A value as text, in both protocols; the columns say what it is.
pub type Text = Option<String>;

pub fn column(name: &str, of: u8) -> Column {
    Column {
        name: name.into(),
        kind: of,
        collation: BINARY,
        decimals: if of == kind::DOUBLE { NOT_FIXED } else { 0 },
        ..Column::default()
    }
}

pub fn unsigned(name: &str) -> Column {
    Column {
        flags: flags::UNSIGNED,
        ..column(name, kind::LONGLONG)
    }
}

pub fn decimal(name: &str, decimals: u8) -> Column {
    Column {
        decimals,
        ..column(name, kind::NEWDECIMAL)
    }
}

pub fn text(value: &str) -> Text {
    Some(value.to_string())
}

fn width(of: u8) -> Option<usize> {
    Some(match of {
        kind::TINY => 1,
        kind::SHORT | kind::YEAR => 2,
        kind::INT24 | kind::LONG => 4,
        kind::LONGLONG => 8,
        _ => return None,
    })
}

fn binary_value(value: &str, column: &Column) -> Vec<u8> {
    if let Some(width) = width(column.kind) {
        return value.parse::<i128>().unwrap().to_le_bytes()[..width].to_vec();
    }
    match column.kind {
        kind::DOUBLE => value.parse::<f64>().unwrap().to_le_bytes().to_vec(),
        kind::FLOAT => value.parse::<f32>().unwrap().to_le_bytes().to_vec(),
        _ => value.as_bytes().to_vec(),
    }
}

fn shown(value: &[u8], column: &Column) -> String {
    if let Some(width) = width(column.kind) {
        assert_eq!(value.len(), width);
        let signed = !column.is_unsigned() && column.kind != kind::YEAR;
        let fill = if signed && value[width - 1] & 0x80 != 0 {
            0xff
        } else {
            0
        };
        let mut all = [fill; 16];
        all[..width].copy_from_slice(value);
        return i128::from_le_bytes(all).to_string();
    }
    match column.kind {
        kind::DOUBLE => f64::from_le_bytes(value.try_into().unwrap()).to_string(),
        _ => String::from_utf8(value.to_vec()).unwrap(),
    }
}

pub fn encode(row: &[Text], columns: &[Column], binary: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if binary {
        begin_binary(columns.len(), &mut out);
    }
    for (i, (value, column)) in row.iter().zip(columns).enumerate() {
        if binary {
            let bytes = value.as_ref().map(|v| binary_value(v, column));
            put_binary(0, i, column.kind, bytes.as_deref(), &mut out);
        } else {
            put_text(value.as_ref().map(String::as_bytes), &mut out);
        }
    }
    out
}

pub fn decode(row: &[u8], columns: &[Column], binary: bool) -> Vec<Text> {
    let mut spans = Vec::new();
    if binary {
        let kinds: Vec<u8> = columns.iter().map(|c| c.kind).collect();
        walk_binary(row, &kinds, &mut spans).unwrap();
    } else {
        walk_text(row, columns.len(), &mut spans).unwrap();
    }
    let value = |(span, column): (&crate::wire::row::Span, &Column)| {
        let bytes = span.of(row)?;
        Some(if binary {
            shown(bytes, column)
        } else {
            String::from_utf8(bytes.to_vec()).unwrap()
        })
    };
    spans.iter().zip(columns).map(value).collect()
}

/// All merged rows, and how many rows were taken from the shards.
pub fn merged(
    merge: &Merge,
    columns: &[Column],
    shards: &[Vec<Vec<Text>>],
    binary: bool,
) -> Result<(Vec<Vec<Text>>, usize), Error> {
    let all: Vec<Vec<Column>> = shards.iter().map(|_| columns.to_vec()).collect();
    merged_of(merge, &all, shards, binary)
}

/// As [`merged`], where each shard has its own columns.
pub fn merged_of(
    merge: &Merge,
    columns: &[Vec<Column>],
    shards: &[Vec<Vec<Text>>],
    binary: bool,
) -> Result<(Vec<Vec<Text>>, usize), Error> {
    let mut merger = Merger::new(merge, columns, binary, 4, 1 << 20)?;
    let visible = merger.columns().to_vec();
    let mut next = vec![0; shards.len()];
    let (mut rows, mut taken) = (Vec::new(), 0);
    loop {
        let mut out = Vec::new();
        let wanted = match merger.step(&mut out)? {
            Step::Row => {
                rows.push(decode(&out, &visible, binary));
                continue;
            }
            Step::Done => return Ok((rows, taken)),
            Step::Needs(Needs::Shard(shard)) => shard,
            Step::Needs(Needs::Any) => merger.hungry().next().expect("a shard that has not ended"),
        };
        match shards[wanted].get(next[wanted]) {
            Some(row) => merger.push(wanted, &encode(row, &columns[wanted], binary))?,
            None => merger.end(wanted),
        }
        next[wanted] += 1;
        taken += 1;
    }
}
