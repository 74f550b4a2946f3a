//! A statement's text without its literals, and a part's text with room for them.
use super::ast::Span;
use super::types::Part;
use crate::sniff::lexer::{Kind, Lexer};
use crate::sniff::Dialect;

/// Numbers of more digits stay in the text: they may be too large for what smaller ones are.
const DIGITS: usize = 18;
/// What stands for a literal: a NUL, which stands in no text that is kept, and its kind.
const NUMBER: [u8; 2] = [0, b'n'];
const STRING: [u8; 2] = [0, b's'];

/// A plain whole number, or a string with its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hole {
    pub span: Span,
    pub is_string: bool,
}

/// Appends the text with marks for its literals to `text`, and the literals to `holes`. Two statements whose texts are
/// the same have the same tokens, one by one, but for what the literals say: signs, other kinds of number, words, names and
/// comments stay. False: what a literal is may depend on the server, or it stands in code for certain versions.
pub(super) fn without_literals(
    sql: &[u8],
    dialect: Dialect,
    text: &mut Vec<u8>,
    holes: &mut Vec<Hole>,
) -> bool {
    if memchr::memchr(0, sql).is_some() {
        return false;
    }
    let mut lexer = Lexer::without_words(sql, dialect);
    let mut copied = 0;
    loop {
        let token = lexer.next();
        if lexer.in_code_comment() {
            return false;
        }
        let bytes = sql.get(token.start..token.end).unwrap_or_default();
        let mark = match token.kind {
            Kind::Text => STRING,
            Kind::Number if bytes.len() <= DIGITS && bytes.iter().all(u8::is_ascii_digit) => NUMBER,
            Kind::End => {
                text.extend_from_slice(sql.get(copied..).unwrap_or_default());
                return !lexer.trouble;
            }
            _ => continue,
        };
        text.extend_from_slice(sql.get(copied..token.start).unwrap_or_default());
        text.extend_from_slice(&mark);
        holes.push(Hole {
            span: (token.start, token.end),
            is_string: mark == STRING,
        });
        copied = token.end;
    }
}

/// Whether a number stays in the text although it has digits only.
pub(super) fn has_long_numbers(sql: &[u8], dialect: Dialect) -> bool {
    let mut lexer = Lexer::without_words(sql, dialect);
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::End => return false,
            Kind::Number if token.end - token.start > DIGITS => return true,
            _ => {}
        }
    }
}

/// One shard's part of a statement, for any literals.
#[derive(Debug)]
pub(super) struct Template {
    pub shard: usize,
    group: usize,
    /// Without literals.
    text: Box<[u8]>,
    /// Where they belong, in the order of the statement.
    places: Box<[usize]>,
    parameters: Box<[u16]>,
}

impl Template {
    /// Of a part that was made from this statement. None: its literals are not the statement's.
    pub fn of(part: &Part, sql: &[u8], holes: &[Hole], dialect: Dialect) -> Option<Template> {
        let (mut marked, mut own) = (Vec::new(), Vec::new());
        if !without_literals(&part.sql, dialect, &mut marked, &mut own) || own.len() != holes.len()
        {
            return None;
        }
        let (mut text, mut places) = (Vec::with_capacity(part.sql.len()), Vec::new());
        let mut copied = 0;
        for (own, hole) in own.iter().zip(holes) {
            if part.sql.get(own.span.0..own.span.1) != sql.get(hole.span.0..hole.span.1) {
                return None;
            }
            text.extend_from_slice(part.sql.get(copied..own.span.0)?);
            places.push(text.len());
            copied = own.span.1;
        }
        text.extend_from_slice(part.sql.get(copied..)?);
        Some(Template {
            shard: part.shard,
            group: part.group,
            text: text.into(),
            places: places.into(),
            parameters: part.parameters.as_slice().into(),
        })
    }

    /// The part with this statement's literals.
    pub fn fill(&self, sql: &[u8], holes: &[Hole]) -> Part {
        let mut out = Vec::with_capacity(self.text.len() + sql.len());
        let mut copied = 0;
        for (place, hole) in self.places.iter().zip(holes) {
            out.extend_from_slice(self.text.get(copied..*place).unwrap_or_default());
            out.extend_from_slice(sql.get(hole.span.0..hole.span.1).unwrap_or_default());
            copied = *place;
        }
        out.extend_from_slice(self.text.get(copied..).unwrap_or_default());
        Part {
            group: self.group,
            shard: self.shard,
            sql: out,
            parameters: self.parameters.to_vec(),
        }
    }

    /// Bytes that it takes, about.
    pub fn size(&self) -> usize {
        let places = self.places.len() * size_of::<usize>();
        size_of::<Template>() + self.text.len() + places + 2 * self.parameters.len()
    }
}
