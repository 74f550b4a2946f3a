//! What every part of a fan-out's text gets: hidden columns, its own ORDER BY and LIMIT.
use crate::plan::ast::{ExprKind, Item, Select, Span};
use crate::plan::bind::Bound;
use crate::plan::edit::{Edit, Piece};
use crate::plan::types::Merge;

/// A fan-out's common text changes and its merge.
pub(in crate::plan) struct Simple {
    /// What is put in behind the select list.
    pub(super) hidden: Vec<Vec<Piece>>,
    pub merge: Merge,
    /// Where the shards' ORDER BY goes, and its keys: the client's own is kept if none.
    pub(in crate::plan) order: Option<Vec<(Span, bool)>>,
    /// LIMIT becomes this in the parts; none: it is left out.
    pub(in crate::plan) limit: Option<u64>,
    pub(super) items_end: usize,
    /// Where hidden columns go.
    pub(super) behind_items: usize,
    pub(super) tail: usize,
    pub(super) order_span: Option<Span>,
    pub(super) limit_span: Option<Span>,
}

impl Simple {
    /// The edits that every part needs.
    pub fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        if !self.hidden.is_empty() {
            let mut with = Vec::new();
            for hidden in &self.hidden {
                with.push(Piece::Text(", ".into()));
                with.extend(hidden.iter().map(|piece| match piece {
                    Piece::Text(text) => Piece::Text(text.clone()),
                    Piece::Copy(span) => Piece::Copy(*span),
                    Piece::Id { id, number } => Piece::Id {
                        id: *id,
                        number: *number,
                    },
                }));
            }
            if self.behind_items > self.items_end {
                with.push(Piece::Text(" ".into()));
            }
            edits.push(Edit {
                span: (self.behind_items, self.behind_items),
                with,
            });
        }
        let mut tail = Vec::new();
        if let Some(keys) = &self.order {
            edits.extend(self.order_span.map(Edit::remove));
            for (at, (span, descending)) in keys.iter().enumerate() {
                tail.push(Piece::Text(
                    if at == 0 { " ORDER BY " } else { ", " }.into(),
                ));
                tail.push(Piece::Copy(*span));
                tail.push(Piece::Text(if *descending { " DESC" } else { "" }.into()));
            }
        }
        if let Some(span) = self.limit_span {
            match self.limit {
                Some(count) => edits.push(Edit::replace(span, format!("LIMIT {count}"))),
                None => edits.push(Edit::remove(span)),
            }
        }
        if !tail.is_empty() {
            edits.push(Edit {
                span: (self.tail, self.tail),
                with: tail,
            });
        }
        edits
    }
}

impl Bound<'_> {
    /// Where hidden columns go. MySQL under IGNORE_SPACE counts the space behind a word to the column's name: a client that
    /// asks for `a + b FROM` gets the name `a + b `, whatever is put in behind it.
    pub(super) fn behind_items(&self, select: &Select) -> usize {
        let end = select.items_end;
        let named_by_text = |item: &Item| {
            let expr = item.expr.as_ref().filter(|_| item.alias.is_none());
            expr.is_some_and(|e| !matches!(e.kind, ExprKind::Column(_)))
        };
        let character = |at: usize| self.literals.text((at, at + 1)).first().copied();
        let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || !c.is_ascii();
        let ends_with_a_word = end.checked_sub(1).and_then(character).is_some_and(word);
        if !ends_with_a_word || !select.items.last().is_some_and(named_by_text) {
            return end;
        }
        let spaces =
            (end..).take_while(|at| character(*at).is_some_and(|c| c.is_ascii_whitespace()));
        end + spaces.count()
    }
}
