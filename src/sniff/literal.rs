//! The value of a string literal.

use super::types::Dialect;
use std::borrow::Cow;

/// The value of a string literal with its quotes.
pub(super) fn unescaped(text: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    let [quote, inner @ .., _] = text else {
        return Cow::Borrowed(text);
    };
    let escapes = !dialect.no_backslash_escapes;
    if !(inner.contains(quote) || escapes && inner.contains(&b'\\')) {
        return Cow::Borrowed(inner);
    }
    let mut value = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if escapes => value.push(match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'b') => 8,
                Some(b'0') => 0,
                Some(b'Z') => 0x1a,
                Some(other) => other,
                None => b'\\',
            }),
            _ if byte == *quote => {
                // doubled
                bytes.next();
                value.push(byte);
            }
            _ => value.push(byte),
        }
    }
    Cow::Owned(value)
}
