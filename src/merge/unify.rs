//! One column out of all shards' columns, and a shard's values as that column has them.
//!
//! The same expression has another type where a server's plan leads it through a temporary table: `YEAR(d)` is YEAR, INT or
//! BIGINT, `MONTH(d)` INT or BIGINT, `MAX(e)` of an ENUM is one or is text, a long text is VARCHAR or TEXT, BIT is INT, NULL is
//! an empty BINARY. Each shard has a plan of its own, by the rows it holds. Any of the types is what a single server might
//! say; the widest of them holds the values of all. What loses something on the way stays an error.
use super::compare::{signed, unsigned};
use super::error::Error;
use crate::wire::column::{flags, kind, Column, BINARY};
use smallvec::SmallVec;

/// How a shard's value becomes one of the common column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast {
    /// The same bytes.
    Keep,
    /// Binary: an integer of so many bytes, with its sign.
    Signed(usize),
    /// Binary: an integer of so many bytes, without a sign.
    Unsigned(usize),
    /// Binary: FLOAT as DOUBLE.
    Double,
    /// Text: without ZEROFILL's zeros.
    Digits,
    /// BIT as an integer of so many bytes.
    Bits(usize),
    /// BIT as digits.
    BitDigits,
}

pub type Bytes = SmallVec<[u8; 24]>;

/// Makes `one` a column that has the values of both: of the wider type, longer, more precise, NOT NULL if both are.
///
/// # Errors
/// Their types have no common one, whatever the plans are.
pub fn unify(one: &mut Column, other: &Column, binary: bool) -> Result<(), Error> {
    let of = common(one, other, binary)?;
    let fraction = matches!(
        of,
        kind::DECIMAL
            | kind::NEWDECIMAL
            | kind::FLOAT
            | kind::DOUBLE
            | kind::TIME
            | kind::DATETIME
            | kind::TIMESTAMP
    );
    one.flags = match (one.kind, other.kind) {
        (kind::NULL, kind::NULL) => one.flags,
        (kind::NULL, _) => other.flags & !flags::NOT_NULL,
        (_, kind::NULL) => one.flags & !flags::NOT_NULL,
        _ => flags_of_both(one.flags, other.flags),
    };
    if one.kind == kind::NULL || one.collation == BINARY && of == kind::JSON {
        one.collation = other.collation;
    }
    one.decimals = match (one.kind, other.kind) {
        (kind::NULL, _) => other.decimals,
        (_, kind::NULL) => one.decimals,
        _ if fraction => one.decimals.max(other.decimals),
        // servers put anything there for text, by how they happened to compute it
        _ => one.decimals.min(other.decimals),
    };
    one.length = one.length.max(other.length);
    one.kind = of;
    Ok(())
}

/// What says more about the values than there is holds only if both say it.
fn flags_of_both(one: u16, other: u16) -> u16 {
    const MORE: u16 =
        flags::NOT_NULL | flags::UNSIGNED | flags::ZEROFILL | flags::ENUM | flags::SET;
    (one | other) & !MORE | one & other & MORE
}

/// The type of both.
fn common(one: &Column, other: &Column, binary: bool) -> Result<u8, Error> {
    let (a, b) = (one.kind, other.kind);
    if a == kind::NULL || b == kind::NULL {
        // a literal NULL has no type of its own, and no values
        return Ok(if a == kind::NULL { b } else { a });
    }
    let collation = one.collation == other.collation;
    let of = match (integer(one), integer(other)) {
        (Some(x), Some(y)) if x == y => Some(wider(a, b)),
        (Some(true), None) if b == kind::BIT => Some(a),
        (None, Some(true)) if a == kind::BIT => Some(b),
        (Some(_), _) | (_, Some(_)) => None,
        _ if is_text(a) && is_text(b) && collation => Some(longer(a, b)),
        _ if a == kind::JSON && b == kind::JSON => Some(a),
        _ if a == b && collation => Some(a),
        _ if [a, b] == [kind::FLOAT, kind::DOUBLE] || [b, a] == [kind::FLOAT, kind::DOUBLE] => {
            if !binary {
                return Err(Error::plan(
                    "a FLOAT is a DOUBLE by some shards' plans, and text shows six digits of it: prepare the \
                     statement, or make it a DOUBLE by + 0e0",
                ));
            }
            Some(kind::DOUBLE)
        }
        _ => None,
    };
    of.ok_or_else(|| differ(one, other))
}

/// Whether rows of one table, read from several shards without a thought for the rest of the statement, are of one kind.
///
/// # Errors
/// They are not: the shards' tables differ.
pub fn alike(shards: &[Vec<Column>]) -> Result<(), Error> {
    let Some((first, others)) = shards.split_first() else {
        return Ok(());
    };
    let kind_of = |c: &Column| {
        let text = is_text(c.kind);
        let sign = integer(c);
        (if text { kind::BLOB } else { c.kind }, sign, c.collation)
    };
    for shard in others {
        if shard.len() != first.len() {
            return Err(Error::OTHER_NUMBER);
        }
        if let Some((one, other)) =
            (first.iter().zip(shard)).find(|(a, b)| kind_of(a) != kind_of(b))
        {
            return Err(differ(one, other));
        }
    }
    Ok(())
}

fn differ(one: &Column, other: &Column) -> Error {
    Error::Columns {
        column: String::from_utf8_lossy(&one.name).into_owned(),
        one: described(one),
        other: described(other),
    }
}

/// Whether it is an integer without a sign; None: it is no integer.
fn integer(column: &Column) -> Option<bool> {
    match column.kind {
        kind::YEAR => Some(true),
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG => {
            Some(column.is_unsigned())
        }
        _ => None,
    }
}

fn is_text(of: u8) -> bool {
    (kind::TINY_BLOB..=kind::STRING).contains(&of)
}

fn wider(a: u8, b: u8) -> u8 {
    let width = |of: u8| match of {
        kind::TINY => 0,
        kind::YEAR => 1,
        kind::SHORT => 2,
        kind::INT24 => 3,
        kind::LONG => 4,
        _ => 5,
    };
    let of = if width(a) < width(b) { b } else { a };
    if a != b && of == kind::YEAR {
        return kind::SHORT;
    }
    of
}

fn longer(a: u8, b: u8) -> u8 {
    const BY_LENGTH: [u8; 6] = [
        kind::STRING,
        kind::VAR_STRING,
        kind::TINY_BLOB,
        kind::BLOB,
        kind::MEDIUM_BLOB,
        kind::LONG_BLOB,
    ];
    let rank = |of: u8| BY_LENGTH.iter().position(|k| *k == of);
    if rank(a) < rank(b) {
        b
    } else {
        a
    }
}

fn described(column: &Column) -> String {
    let sign = if column.is_unsigned() {
        " unsigned"
    } else {
        ""
    };
    format!(
        "type {}{sign} with collation {}",
        column.kind, column.collation
    )
}

impl Cast {
    /// From a shard's column to what it was unified to.
    pub fn between(from: &Column, to: &Column, binary: bool) -> Cast {
        let number = integer(to);
        match (from.kind, number) {
            (kind::BIT, Some(_)) if binary => Cast::Bits(width(to.kind)),
            (kind::BIT, Some(_)) => Cast::BitDigits,
            (kind::FLOAT, _) if to.kind == kind::DOUBLE => Cast::Double,
            (kind::NULL, _) | (_, None) => Cast::Keep,
            (_, Some(unsigned)) if binary => match (width(from.kind), width(to.kind)) {
                (a, b) if a == b => Cast::Keep,
                (_, b) if unsigned => Cast::Unsigned(b),
                (_, b) => Cast::Signed(b),
            },
            _ if from.flags & !to.flags & flags::ZEROFILL != 0 => Cast::Digits,
            _ => Cast::Keep,
        }
    }

    /// # Errors
    /// It is no value of the shard's column.
    pub fn apply(self, value: &[u8]) -> Result<Bytes, Error> {
        Ok(match self {
            Cast::Keep => value.into(),
            Cast::Signed(width) => signed(value, true)?.to_le_bytes()[..width].into(),
            Cast::Unsigned(width) => unsigned(value, true)?.to_le_bytes()[..width].into(),
            Cast::Double => {
                let bits = value.try_into().map_err(|_| Error::MALFORMED)?;
                f64::from(f32::from_le_bytes(bits)).to_le_bytes()[..].into()
            }
            Cast::Digits => {
                let zeros = value.iter().take_while(|digit| **digit == b'0').count();
                let kept = zeros.min(value.len().saturating_sub(1));
                value[kept..].into()
            }
            Cast::Bits(width) => {
                let all = bits(value)?.to_le_bytes();
                if all[width..].iter().any(|byte| *byte != 0) {
                    return Err(Error::Range);
                }
                all[..width].into()
            }
            Cast::BitDigits => bits(value)?.to_string().into_bytes().into(),
        })
    }
}

/// Bytes of an integer in a binary row.
fn width(of: u8) -> usize {
    match of {
        kind::TINY => 1,
        kind::SHORT | kind::YEAR => 2,
        kind::INT24 | kind::LONG => 4,
        _ => 8,
    }
}

fn bits(value: &[u8]) -> Result<u64, Error> {
    if value.len() > 8 {
        return Err(Error::MALFORMED);
    }
    Ok(value.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
}
