//! Parameters of prepared statements: what the client is told of them, and their values for the planner.
use crate::plan::Value;
use crate::wire::column::{kind, Column, BINARY};
use crate::wire::prepare;

/// What servers say of every parameter.
pub(super) fn parameter() -> Column {
    Column {
        catalog: b"def".to_vec(),
        name: b"?".to_vec(),
        collation: BINARY,
        kind: 0xfd,
        ..Column::default()
    }
}

/// For the planner.
pub(super) fn value(bound: prepare::Value<'_>) -> Value {
    let Some(content) = bound.content.filter(|_| bound.kind != kind::NULL) else {
        return Value::Null;
    };
    let wide = |signed: bool| {
        let negative = signed && content.last().is_some_and(|b| b & 0x80 != 0);
        let mut bytes = [if negative { 0xff } else { 0 }; 8];
        for (to, from) in bytes.iter_mut().zip(content) {
            *to = *from;
        }
        bytes
    };
    match bound.kind {
        kind::TINY | kind::SHORT | kind::LONG | kind::INT24 | kind::LONGLONG | kind::YEAR => {
            if bound.unsigned {
                Value::Unsigned(u64::from_le_bytes(wide(false)))
            } else {
                Value::Int(i64::from_le_bytes(wide(true)))
            }
        }
        kind::DOUBLE => Value::Double(f64::from_le_bytes(wide(false))),
        kind::FLOAT => match *content {
            [a, b, c, d] => Value::Double(f32::from_le_bytes([a, b, c, d]).into()),
            _ => Value::Other,
        },
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => match *content {
            [y0, y1, month, day, ref time @ ..] => Value::Date {
                year: u16::from_le_bytes([y0, y1]),
                month,
                day,
                has_time: time.iter().any(|b| *b != 0),
            },
            _ => Value::Date {
                year: 0,
                month: 0,
                day: 0,
                has_time: false,
            },
        },
        kind::TIME => Value::Other,
        _ => Value::Bytes(content.to_vec()),
    }
}
