//! A shard's text of a statement that is known byte for byte but for the digits of its numbers.
use super::template::{without_literals, Hole};
use super::types::Part;
use crate::sniff::Dialect;

/// A shard's text with some numbers in it.
pub(super) struct PartText {
    pub shard: usize,
    pub group: usize,
    /// None: the client's own.
    text: Option<Box<[u8]>>,
    numbers: Box<[Number]>,
}

/// Digits that are copied from the client's text.
struct Number {
    from: usize,
    to: usize,
    length: usize,
}

impl PartText {
    /// None: the part's literals are not the statement's, one by one.
    pub fn of(part: &Part, sql: &[u8], holes: &[Hole], dialect: Dialect) -> Option<PartText> {
        if part.sql == sql {
            return Some(PartText {
                shard: part.shard,
                group: part.group,
                text: None,
                numbers: [].into(),
            });
        }
        let (mut marked, mut own) = (Vec::new(), Vec::new());
        let read = without_literals(&part.sql, dialect, &mut marked, &mut own);
        if !read || own.len() != holes.len() {
            return None;
        }
        let mut numbers = Vec::new();
        for (theirs, own) in holes.iter().zip(&own).filter(|(of, _)| !of.is_string) {
            let length = theirs.span.1 - theirs.span.0;
            if own.is_string || own.span.1 - own.span.0 != length {
                return None;
            }
            numbers.push(Number {
                from: theirs.span.0,
                to: own.span.0,
                length,
            });
        }
        Some(PartText {
            shard: part.shard,
            group: part.group,
            text: Some(part.sql.as_slice().into()),
            numbers: numbers.into(),
        })
    }

    /// It is the client's own.
    pub fn is_same(&self) -> bool {
        self.text.is_none()
    }

    /// Appends the text with this statement's numbers; nothing where it is the client's own.
    pub fn put(&self, sql: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let Some(text) = &self.text else {
            return Some(());
        };
        let start = out.len();
        out.extend_from_slice(text);
        for number in &self.numbers {
            let digits = sql.get(number.from..number.from + number.length)?;
            let at = start + number.to;
            out.get_mut(at..at + number.length)?.copy_from_slice(digits);
        }
        Some(())
    }

    pub fn size(&self) -> usize {
        let text = self.text.as_ref().map_or(0, |text| text.len());
        size_of::<PartText>() + text + size_of_val(&*self.numbers)
    }
}
