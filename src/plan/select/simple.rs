//! What every part of a fan-out's text gets: hidden columns, its own ORDER BY and LIMIT.
use crate::plan::ast::Span;
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
            edits.push(Edit {
                span: (self.items_end, self.items_end),
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
