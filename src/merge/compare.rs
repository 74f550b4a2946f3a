//! Values of two rows compared as the server that sent them would.
use super::decimal::compare_text;
use super::error::Error;
use super::layout::{Layout, Row};
use crate::plan::{Compare, SortKey};
use crate::wire::column::{flags, kind, Column, BINARY};
use std::cmp::Ordering;

/// How a column's values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Signed,
    Unsigned,
    Double,
    Decimal,
    /// Dates and their like in the binary protocol: parts as numbers.
    Moment,
    /// TIME: has a sign.
    Time,
    /// BIT: a number, its highest byte first.
    Bits,
    Bytes,
    /// See [`Compare::Padded`].
    Padded(u16),
}

/// One key and how it compares.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub column: usize,
    pub descending: bool,
    order: Order,
}

impl Key {
    /// # Errors
    /// The column cannot be compared without its collation, or its text has lost digits.
    pub fn new(key: SortKey, layout: &Layout) -> Result<Key, Error> {
        let column = layout.place(key.column)?;
        let order = order_of(&layout.columns[column], layout.binary)?;
        let agrees = match key.compare {
            Compare::Number => matches!(
                order,
                Order::Signed | Order::Unsigned | Order::Double | Order::Decimal | Order::Bits
            ),
            Compare::Time => {
                let of = layout.columns[column].kind;
                matches!(order, Order::Time | Order::Moment) || TIMES.contains(&of)
            }
            Compare::Bytes | Compare::Padded(_) => order == Order::Bytes,
        };
        let order = match key.compare {
            Compare::Padded(weight) => Order::Padded(weight),
            _ => order,
        };
        // without a value nothing is compared
        if !agrees && layout.columns[column].kind != kind::NULL {
            return Err(Error::Changed(
                String::from_utf8_lossy(&layout.columns[column].name).into_owned(),
            ));
        }
        Ok(Key {
            column,
            descending: key.descending,
            order,
        })
    }

    /// FLOAT in text, for finding the least or greatest of what is shown.
    pub fn of_shown_float(column: usize) -> Key {
        Key {
            column,
            descending: false,
            order: Order::Double,
        }
    }

    /// Two values that are not NULL, ascending.
    pub fn values(&self, binary: bool, a: &[u8], b: &[u8]) -> Result<Ordering, Error> {
        compare(self.order, binary, a, b)
    }

    pub fn compare(&self, layout: &Layout, a: &Row, b: &Row) -> Result<Ordering, Error> {
        let order = match (a.value(self.column), b.value(self.column)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => compare(self.order, layout.binary, a, b)?,
        };
        Ok(if self.descending {
            order.reverse()
        } else {
            order
        })
    }
}

const TIMES: [u8; 4] = [kind::DATE, kind::DATETIME, kind::TIMESTAMP, kind::YEAR];

/// By all keys, the first first.
pub fn compare_rows(keys: &[Key], layout: &Layout, a: &Row, b: &Row) -> Result<Ordering, Error> {
    for key in keys {
        let order = key.compare(layout, a, b)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// How values of this column compare by value.
///
/// # Errors
/// Text with a collation, and FLOAT in the text protocol, which prints six digits of it.
pub fn order_of(column: &Column, binary: bool) -> Result<Order, Error> {
    let order = match column.kind {
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG | kind::YEAR => {
            if column.is_unsigned() || column.kind == kind::YEAR {
                Order::Unsigned
            } else {
                Order::Signed
            }
        }
        kind::FLOAT if !binary => {
            return Err(Error::plan(
                "a FLOAT cannot be a key in text, which shows six digits of it",
            ))
        }
        kind::FLOAT | kind::DOUBLE => Order::Double,
        kind::DECIMAL | kind::NEWDECIMAL => Order::Decimal,
        kind::TIME => Order::Time,
        kind::DATE | kind::DATETIME | kind::TIMESTAMP if binary => Order::Moment,
        kind::BIT => Order::Bits,
        kind::DATE | kind::DATETIME | kind::TIMESTAMP | kind::NULL => Order::Bytes,
        kind::JSON => return Err(Error::plan("JSON cannot be a key")),
        _ if column.collation != BINARY || column.flags & (flags::ENUM | flags::SET) != 0 => {
            return Err(Error::plan("text with a collation cannot be a key"));
        }
        _ => Order::Bytes,
    };
    Ok(order)
}

/// Two values that are not NULL.
pub fn compare(order: Order, binary: bool, a: &[u8], b: &[u8]) -> Result<Ordering, Error> {
    let by = match order {
        Order::Bytes => return Ok(a.cmp(b)),
        Order::Bits => return Ok(compare_bits(a, b)),
        Order::Padded(weight) => return Ok(compare_padded(a, b, weight)),
        Order::Decimal => return Ok(compare_text(a, b)),
        Order::Signed => signed(a, binary)?.cmp(&signed(b, binary)?),
        Order::Unsigned => unsigned(a, binary)?.cmp(&unsigned(b, binary)?),
        Order::Double => double(a, binary)?.total_cmp(&double(b, binary)?),
        Order::Moment => moment(a)?.cmp(&moment(b)?),
        Order::Time => time(a, binary)?.cmp(&time(b, binary)?),
    };
    Ok(by)
}

/// Numbers of any length.
fn compare_bits(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (without_zeros(a), without_zeros(b));
    a.len().cmp(&b.len()).then(a.cmp(b))
}

fn without_zeros(of: &[u8]) -> &[u8] {
    let zeros = of.iter().take_while(|byte| **byte == 0).count();
    of.get(zeros..).unwrap_or_default()
}

/// As if the shorter one went on with this weight.
fn compare_padded(a: &[u8], b: &[u8], weight: u16) -> Ordering {
    let common = a.len().min(b.len());
    let rest = |of: &[u8]| {
        let mut weights = of.get(common..).unwrap_or_default().chunks(2);
        let differs =
            weights.find_map(|w| Some(w.cmp(&weight.to_be_bytes())).filter(|o| o.is_ne()));
        differs.unwrap_or(Ordering::Equal)
    };
    let begin = a.get(..common).cmp(&b.get(..common));
    begin.then(rest(a)).then(rest(b).reverse())
}

/// An integer of any of the types that have a sign.
pub fn signed(value: &[u8], binary: bool) -> Result<i64, Error> {
    if !binary {
        return text_number(value);
    }
    Ok(match *value {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return Err(Error::MALFORMED),
    })
}

pub fn unsigned(value: &[u8], binary: bool) -> Result<u64, Error> {
    if !binary {
        return text_number(value);
    }
    if !matches!(value.len(), 1 | 2 | 4 | 8) {
        return Err(Error::MALFORMED);
    }
    Ok(value.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// −0 is 0.
pub fn double(value: &[u8], binary: bool) -> Result<f64, Error> {
    let number: f64 = if !binary {
        text_number(value)?
    } else {
        match *value {
            [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => return Err(Error::MALFORMED),
        }
    };
    Ok(number + 0.0)
}

fn text_number<N: std::str::FromStr>(value: &[u8]) -> Result<N, Error> {
    let text = std::str::from_utf8(value).map_err(|_| Error::MALFORMED)?;
    text.parse().map_err(|_| Error::MALFORMED)
}

/// Year, month, day, time of day, microseconds; what is left out is zero.
fn moment(value: &[u8]) -> Result<(u16, [u8; 5], u32), Error> {
    if !matches!(value.len(), 0 | 4 | 7 | 11) {
        return Err(Error::MALFORMED);
    }
    let mut all = [0; 11];
    all[..value.len()].copy_from_slice(value);
    let [y0, y1, month, day, hour, minute, second, micros @ ..] = all;
    Ok((
        u16::from_le_bytes([y0, y1]),
        [month, day, hour, minute, second],
        u32::from_le_bytes(micros),
    ))
}

/// Microseconds.
fn time(value: &[u8], binary: bool) -> Result<i64, Error> {
    if !binary {
        return text_time(value).ok_or(Error::MALFORMED);
    }
    if !matches!(value.len(), 0 | 8 | 12) {
        return Err(Error::MALFORMED);
    }
    let mut all = [0; 12];
    all[..value.len()].copy_from_slice(value);
    let [negative, d0, d1, d2, d3, hour, minute, second, micros @ ..] = all;
    let hours = i64::from(u32::from_le_bytes([d0, d1, d2, d3])) * 24 + i64::from(hour);
    let seconds = (hours * 60 + i64::from(minute)) * 60 + i64::from(second);
    let micros = seconds * 1_000_000 + i64::from(u32::from_le_bytes(micros));
    Ok(if negative != 0 { -micros } else { micros })
}

/// `[-]h…:mm:ss[.f…]`
fn text_time(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds = 0i64;
    for part in clock.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let mut micros: i64 = 0;
    for at in 0..6 {
        let digit = fraction
            .as_bytes()
            .get(at)
            .map_or(0, |d| d.wrapping_sub(b'0'));
        micros = micros * 10 + i64::from(digit);
    }
    let all = seconds.checked_mul(1_000_000)?.checked_add(micros)?;
    Some(if negative { -all } else { all })
}

#[cfg(test)]
#[test]
fn padded_weights_compare_as_if_both_were_as_long() {
    let compare = |a: &[u8], b: &[u8]| {
        let order = compare(Order::Padded(0x0209), false, a, b).unwrap();
        let back = compare_padded(b, a, 0x0209);
        assert_eq!(order, back.reverse());
        order
    };
    let (a, tab, space) = ([0x0e, 0x33], [0x02, 0x01], [0x02, 0x09]);
    assert_eq!(compare(&a, &[a, space, space].concat()), Ordering::Equal);
    assert_eq!(compare(&a, &[a, tab].concat()), Ordering::Greater);
    assert_eq!(compare(&a, &[a, space, tab].concat()), Ordering::Greater);
    assert_eq!(compare(&a, &[a, a].concat()), Ordering::Less);
    assert_eq!(compare(&[], &space), Ordering::Equal);
    assert_eq!(compare(&tab, &a), Ordering::Less);
}
