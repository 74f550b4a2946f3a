//! Literals and parameters → keys.
use super::ast::{Expr, ExprKind, Span};
use super::columns::Kind;
use super::request::{Request, Value};
use crate::sniff::Dialect;
use crate::topology::shards::{Key, Method, Period};

/// What an expression says of the key it is compared with or becomes.
#[derive(Debug, PartialEq)]
pub(super) enum Literal {
    Key(Key),
    Null,
    /// A value that is not known here, or that the server may change before it compares or stores it.
    Unknown,
}

/// How literals are read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub sql: &'a [u8],
    pub parameters: Option<&'a [Value]>,
    pub backslash: bool,
}

impl<'a> Reader<'a> {
    pub fn of(request: &Request<'a>) -> Reader<'a> {
        Reader {
            sql: request.sql,
            parameters: request.parameters,
            backslash: !request.dialect.no_backslash_escapes,
        }
    }

    /// Of a text without parameters.
    pub fn without_parameters(sql: &'a [u8], dialect: Dialect) -> Reader<'a> {
        Reader {
            sql,
            parameters: None,
            backslash: !dialect.no_backslash_escapes,
        }
    }

    /// The key that this expression is for a column of this kind. `stored`: it becomes a row's value; else it is
    /// compared with values.
    pub fn key(&self, expr: &Expr, kind: &Kind, stored: bool) -> Literal {
        match &expr.kind {
            ExprKind::Null => Literal::Null,
            ExprKind::Number => self.number(expr.span, false, kind, stored),
            ExprKind::Negative(inner) if matches!(inner.kind, ExprKind::Number) => {
                self.number(inner.span, true, kind, stored)
            }
            ExprKind::Text => self.string(expr.span, kind),
            ExprKind::Parameter(at) => self.parameter(*at, kind, stored),
            _ => Literal::Unknown,
        }
    }

    /// Digits, behind a minus or not.
    pub fn number(&self, span: Span, negative: bool, kind: &Kind, stored: bool) -> Literal {
        let digits = self.text(span);
        if !negative {
            return number(digits, kind, stored);
        }
        // 20 digits at most can be a key
        let (mut signed, length) = ([b'-'; 22], digits.len() + 1);
        match signed.get_mut(1..length) {
            Some(room) => room.copy_from_slice(digits),
            None => return Literal::Unknown,
        }
        number(signed.get(..length).unwrap_or_default(), kind, stored)
    }

    /// A string with its quotes.
    pub fn string(&self, span: Span, kind: &Kind) -> Literal {
        match self.unescape(span) {
            Some(text) => self.of_text(&text, kind),
            None => Literal::Unknown,
        }
    }

    /// A bound value.
    pub fn parameter(&self, at: u16, kind: &Kind, stored: bool) -> Literal {
        let value = self.parameters.and_then(|p| p.get(usize::from(at)));
        value.map_or(Literal::Unknown, |value| self.of_value(value, kind, stored))
    }

    /// A whole number that is not negative, of LIMIT.
    pub fn count(&self, expr: &Expr) -> Option<u64> {
        match &expr.kind {
            ExprKind::Number => std::str::from_utf8(self.text(expr.span)).ok()?.parse().ok(),
            ExprKind::Parameter(at) => match self.parameters?.get(usize::from(*at))? {
                Value::Int(n) => u64::try_from(*n).ok(),
                Value::Unsigned(n) => Some(*n),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn text(&self, span: Span) -> &[u8] {
        self.sql.get(span.0..span.1).unwrap_or_default()
    }

    /// A value that is not in [`Reader::parameters`].
    pub fn of_value(&self, value: &Value, kind: &Kind, stored: bool) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Int(n) => integer((*n).into(), kind, stored),
            Value::Unsigned(n) => integer((*n).into(), kind, stored),
            Value::Bytes(text) => self.of_text(text, kind),
            Value::Date {
                year, month, day, ..
            } => match kind {
                Kind::Date | Kind::DateTime => date_key(*year, *month, *day),
                _ => Literal::Unknown,
            },
            Value::Double(_) | Value::Other => Literal::Unknown,
        }
    }

    fn of_text(&self, text: &[u8], kind: &Kind) -> Literal {
        match kind {
            Kind::Integer { .. } => number(text, kind, true),
            Kind::Text { length, .. } => {
                let fits = u32::try_from(text.len()).is_ok_and(|n| n <= *length);
                Key::text(text)
                    .filter(|_| fits)
                    .map_or(Literal::Unknown, Literal::Key)
            }
            Kind::Date | Kind::DateTime => date(text),
            _ => Literal::Unknown,
        }
    }

    /// The text between the quotes. None: an escape whose result is no plain text.
    pub fn unescape(&self, span: Span) -> Option<Vec<u8>> {
        let literal = self.text(span);
        let quote = *literal.first()?;
        let inner = literal.get(1..literal.len().checked_sub(1)?)?;
        let (mut text, mut rest) = (Vec::with_capacity(inner.len()), inner.iter());
        while let Some(&byte) = rest.next() {
            if byte == b'\\' && self.backslash {
                text.push(match rest.next()? {
                    escaped @ (b'\\' | b'\'' | b'"') => *escaped,
                    _ => return None,
                });
            } else if byte == quote {
                // a doubled quote, or the end of one of several neighbouring strings
                if *rest.next()? != quote {
                    return None;
                }
                text.push(quote);
            } else {
                text.push(byte);
            }
        }
        Some(text)
    }
}

/// Digits as a key; see [`integer`].
fn number(digits: &[u8], kind: &Kind, stored: bool) -> Literal {
    let plain = digits.strip_prefix(b"-").unwrap_or(digits);
    if plain.is_empty() || plain.len() > 20 {
        return Literal::Unknown;
    }
    // 18 digits fit into 64 bits, whose arithmetic is the faster one
    let (high, low) = plain.split_at(plain.len().saturating_sub(18));
    let (Some(high), Some(low)) = (whole(high), whole(low)) else {
        return Literal::Unknown;
    };
    let value = match high {
        0 => i128::from(low),
        _ => i128::from(high) * 1_000_000_000_000_000_000 + i128::from(low),
    };
    let negative = plain.len() < digits.len();
    integer(if negative { -value } else { value }, kind, stored)
}

/// At most 18 digits. None: something else is among them.
fn whole(digits: &[u8]) -> Option<u64> {
    let mut sum = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum * 10 + u64::from(digit);
    }
    Some(sum)
}

/// A whole number as a key: of an integer column within its range; of a text column only when stored, since a number is
/// compared with text by value ('05' = 5).
fn integer(value: i128, kind: &Kind, stored: bool) -> Literal {
    match kind {
        Kind::Integer { low, high } if (*low..=*high).contains(&value) => {
            Literal::Key(Key::Int(value))
        }
        Kind::Text { .. } if stored => {
            Key::text(value.to_string().as_bytes()).map_or(Literal::Unknown, Literal::Key)
        }
        _ => Literal::Unknown,
    }
}

/// `2024-05-31`, with a time of whole seconds behind it or without.
fn date(text: &[u8]) -> Literal {
    let digits = |from: usize, to: usize| -> Option<u16> {
        let part = text.get(from..to)?;
        let plain = part.iter().all(u8::is_ascii_digit);
        plain.then(|| std::str::from_utf8(part).ok()?.parse().ok())?
    };
    let is = |at: usize, bytes: &[u8]| text.get(at).is_some_and(|b| bytes.contains(b));
    let has_time = text.len() == 19
        && is(10, b" T")
        && is(13, b":")
        && is(16, b":")
        && digits(11, 13).is_some_and(|h| h < 24)
        && digits(14, 16).is_some_and(|m| m < 60)
        && digits(17, 19).is_some_and(|s| s < 60);
    let parts = (digits(0, 4), digits(5, 7), digits(8, 10));
    match parts {
        (Some(year), Some(month), Some(day))
            if is(4, b"-") && is(7, b"-") && (text.len() == 10 || has_time) =>
        {
            date_key(
                year,
                month.try_into().unwrap_or(0),
                day.try_into().unwrap_or(0),
            )
        }
        _ => Literal::Unknown,
    }
}

fn date_key(year: u16, month: u8, day: u8) -> Literal {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(leap),
        _ => 0,
    };
    if (1..=days).contains(&day) {
        Literal::Key(Key::Date { year, month, day })
    } else {
        Literal::Unknown
    }
}

/// Why a column of this kind cannot be the key of this method; none: it can.
pub(super) fn unfit(kind: &Kind, method: &Method) -> Option<String> {
    let whole = matches!(kind, Kind::Integer { .. });
    match method {
        Method::Mod | Method::Range(_) if !whole => {
            Some("this method needs an integer column".into())
        }
        Method::Date { period: Period::Year | Period::Month | Period::Day, .. }
            if !matches!(kind, Kind::Date | Kind::DateTime) =>
        {
            Some("this method needs a DATE or DATETIME column (a TIMESTAMP's text depends on the time zone)".into())
        }
        Method::Hash | Method::Jump | Method::List { .. } => match kind {
            Kind::Integer { .. } => None,
            Kind::Text { collation, .. } if is_plain(collation) => None,
            Kind::Text { collation, .. } => Some(format!(
                "equal texts of the collation {collation} may look different to Umpire; use a _bin, _general_ci, \
                 _unicode_ci or _0900_ collation of ascii, latin1 or utf8"
            )),
            _ => Some("this method needs an integer, CHAR or VARCHAR column".into()),
        },
        _ => None,
    }
}

/// Collations under which printable ASCII texts are equal only if they are so but for case and trailing spaces.
fn is_plain(collation: &str) -> bool {
    let Some((charset, rest)) = collation.split_once('_') else {
        return false;
    };
    let known = matches!(
        charset,
        "ascii" | "latin1" | "utf8" | "utf8mb3" | "utf8mb4" | "uca1400"
    );
    let rules = [
        "bin",
        "nopad_bin",
        "general_ci",
        "general_cs",
        "general_nopad_ci",
        "general_mysql500_ci",
        "unicode_ci",
        "unicode_nopad_ci",
        "unicode_520_ci",
        "unicode_520_nopad_ci",
        "0900_ai_ci",
        "0900_as_ci",
        "0900_as_cs",
        "0900_bin",
    ];
    let uca1400 = |rest: &str| {
        let rest = rest.strip_prefix("uca1400_").unwrap_or(rest);
        let rest = rest.strip_prefix("nopad_").unwrap_or(rest);
        matches!(rest, "ai_ci" | "ai_cs" | "as_ci" | "as_cs")
    };
    known && (rules.contains(&rest) || collation == "latin1_swedish_ci" || uca1400(rest))
}
