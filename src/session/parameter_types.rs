//! The types that a MySQL server has given to a statement's parameters, followed from one EXECUTE to the next.
//!
//! MySQL (8.0.22 and later) resolves a statement when it is prepared and keeps it so. An EXECUTE whose values do not fit
//! makes it resolve the statement anew, for the types of these values; one whose values fit has them converted. Which
//! columns a result has, and even what a value means, hangs on what was executed before: `SELECT ?` answers 'abc' with 0
//! when a number was executed first. So a server's statement is shared by sessions in whose eyes it has the same types
//! only. All rules here are what MySQL 9.7 does (tests/prepared_types.rs asks it).
use crate::wire::column::kind;
use crate::wire::prepare::{Content, Given};
use sha2::{Digest, Sha256};

/// What the server takes a parameter for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// What the statement's text makes of it.
    Derived,
    /// The same after a text that is a number, but no whole one: a decimal where the text of the statement says integer.
    DerivedOfFraction,
    Signed,
    Unsigned,
    Decimal,
    Double,
    Date,
    DateTime,
    Time,
}

/// Of all parameters, not all of them derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Types {
    kinds: Box<[Kind]>,
    /// Names them, among those of the same statement.
    pub label: u128,
}

/// None: as derived from the statement's text.
pub type Known = Option<Box<Types>>;

/// What tells a statement of these types from others of the same text.
pub fn label(types: &Known) -> u128 {
    types.as_ref().map_or(0, |types| types.label)
}

/// The types after an EXECUTE of `given`; None: they stay. `rows`: the statement gives rows, whose columns may
/// tell of a difference between a text that is a number and one that is not.
pub fn after<'p>(
    now: &Known,
    given: impl Iterator<Item = Given<'p>> + Clone,
    rows: bool,
) -> Option<Known> {
    let kinds = now.as_ref().map_or(&[][..], |types| &types.kinds);
    let of = |at: usize| kinds.get(at).copied().unwrap_or(Kind::Derived);
    let each = given.enumerate().map(|(at, given)| (of(at), given));
    let mut fraction = false;
    let mut refused = false;
    for (kind, given) in each.clone() {
        match keeps(kind, &given, rows) {
            Keeps::Yes => {}
            Keeps::AsFraction => fraction = true,
            Keeps::No => refused = true,
        }
    }
    let next: Box<[Kind]> = match (refused, fraction) {
        (false, false) => return None,
        (true, _) => each.map(|(kind, given)| anew(kind, &given, rows)).collect(),
        (false, true) => each
            .map(|(kind, given)| match keeps(kind, &given, rows) {
                Keeps::AsFraction => Kind::DerivedOfFraction,
                _ => kind,
            })
            .collect(),
    };
    let next = Types::of(next);
    (next != *now).then_some(next)
}

/// The types after an EXECUTE of `given` that is the statement's first.
pub fn after_first<'p>(given: impl Iterator<Item = Given<'p>> + Clone, rows: bool) -> Known {
    after(&None, given, rows).flatten()
}

/// Two that differ in parameters only that are NULL now.
pub fn differ_in_nulls<'p>(a: &Known, b: &Known, given: impl Iterator<Item = Given<'p>>) -> bool {
    let of = |types: &Known, at: usize| {
        let kinds = types.as_ref().map(|types| &types.kinds);
        let kind = kinds.and_then(|kinds| kinds.get(at));
        kind.copied().unwrap_or(Kind::Derived)
    };
    let mut given = given.enumerate();
    given.all(|(at, given)| given.content == Content::Null || of(a, at) == of(b, at))
}

impl Types {
    fn of(kinds: Box<[Kind]>) -> Known {
        if kinds.iter().all(|kind| *kind == Kind::Derived) {
            return None;
        }
        let mut hash = Sha256::new();
        kinds.iter().for_each(|kind| hash.update([*kind as u8]));
        let mut first = [0; 16];
        first.copy_from_slice(&hash.finalize()[..16]);
        let label = u128::from_le_bytes(first);
        Some(Box::new(Types { kinds, label }))
    }

    /// Bytes that they take.
    pub const fn cost(parameters: u16) -> usize {
        size_of::<Types>() + parameters as usize
    }
}

enum Keeps {
    Yes,
    AsFraction,
    No,
}

/// Whether a parameter's type stays with this value, as far as it alone decides.
fn keeps(kind: Kind, given: &Given<'_>, rows: bool) -> Keeps {
    use Kind::*;
    let bytes = match given.content {
        Content::Null => return Keeps::Yes,
        Content::Here(bytes) => bytes,
        Content::Elsewhere => b"",
    };
    let kept = match (type_of(given), kind) {
        (None, Derived) if rows && number(bytes, false) == Some(Decimal) => {
            return Keeps::AsFraction
        }
        (None, Signed | Unsigned) => number(bytes, kind == Unsigned) != Some(Decimal),
        (None, _) => true,
        (Some(Signed | Unsigned), Decimal | Double | Date | DateTime | Time) => true,
        (Some(Decimal), Double | Date | DateTime | Time) => true,
        (Some(Double), Date | DateTime | Time) => true,
        // a statement's text may have made a time of it, which becomes a date only then
        (Some(Date), DateTime) => false,
        (Some(DateTime), Time) | (Some(Time), DateTime) => true,
        (Some(now), before) => now == before,
    };
    match kept {
        true => Keeps::Yes,
        false => Keeps::No,
    }
}

/// A parameter's type when the statement is resolved anew for these values.
fn anew(kind: Kind, given: &Given<'_>, rows: bool) -> Kind {
    use Kind::*;
    let bytes = match given.content {
        Content::Null | Content::Elsewhere => b"",
        Content::Here(bytes) => bytes,
    };
    if given.content == Content::Null {
        return Derived;
    }
    match (type_of(given), kind) {
        (Some(now), _) => now,
        (None, Derived | DerivedOfFraction) => match number(bytes, false) {
            Some(Decimal) if rows => DerivedOfFraction,
            _ => Derived,
        },
        (None, Signed | Unsigned) => number(bytes, kind == Unsigned).unwrap_or(Derived),
        (None, Decimal | Double) if number(bytes, false).is_some() => kind,
        (None, _) => Derived,
    }
}

/// None: a string.
fn type_of(given: &Given<'_>) -> Option<Kind> {
    Some(match given.kind {
        kind::TINY | kind::SHORT | kind::LONG | kind::LONGLONG | kind::INT24 | kind::YEAR => {
            match given.unsigned {
                true => Kind::Unsigned,
                false => Kind::Signed,
            }
        }
        kind::DECIMAL | kind::NEWDECIMAL => Kind::Decimal,
        kind::FLOAT | kind::DOUBLE => Kind::Double,
        kind::DATE => Kind::Date,
        kind::DATETIME | kind::TIMESTAMP => Kind::DateTime,
        kind::TIME => Kind::Time,
        _ => return None,
    })
}

/// What a text is to a parameter that is an integer: one of the same kind, a decimal, or (None) no number as a whole.
fn number(text: &[u8], unsigned: bool) -> Option<Kind> {
    let text = text.trim_ascii();
    let (minus, rest) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (digits, rest) = digits(rest);
    let (point, fraction, rest) = match rest.split_first() {
        Some((b'.', rest)) => {
            let (fraction, rest) = self::digits(rest);
            (true, fraction, rest)
        }
        _ => (false, &[][..], rest),
    };
    let exponent = match rest.split_first() {
        None => false,
        Some((b'e' | b'E', rest)) if is_exponent(rest) => true,
        Some(_) => return None,
    };
    if digits.is_empty() && fraction.is_empty() {
        return None;
    }
    if point || exponent {
        return Some(Kind::Decimal);
    }
    Some(integer(digits, minus, unsigned))
}

fn integer(digits: &[u8], minus: bool, unsigned: bool) -> Kind {
    let leading = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = digits.get(leading..).unwrap_or_default();
    let value = digits.iter().take(21).fold(0u128, |value, digit| {
        value * 10 + u128::from(digit.wrapping_sub(b'0'))
    });
    let largest = match (minus, unsigned) {
        (true, true) => return Kind::Decimal,
        (true, false) => 0,
        (false, true) => u128::from(u64::MAX),
        (false, false) => i64::MAX as u128,
    };
    match (value <= largest, unsigned) {
        (false, _) => Kind::Decimal,
        (true, true) => Kind::Unsigned,
        (true, false) => Kind::Signed,
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let many = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(many)
}

fn is_exponent(text: &[u8]) -> bool {
    let text = match text.split_first() {
        Some((b'-' | b'+', rest)) => rest,
        _ => text,
    };
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
