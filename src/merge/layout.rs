//! What the shards' rows look like, and one row of them.
use super::error::Error;
use crate::plan;
use crate::wire::column::{flags, kind, Column};
use crate::wire::row::{begin_binary, bitmap_length, put_binary, put_text};
use crate::wire::row::{walk_binary, walk_text, Span};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The columns of all shards as one, hidden ones included.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    pub columns: Vec<Column>,
    /// The first so many are the client's.
    pub visible: usize,
    kinds: Vec<u8>,
    /// Rows of the binary protocol.
    pub binary: bool,
}

/// One row's payload and where its values are.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub bytes: Vec<u8>,
    spans: SmallVec<[Span; 8]>,
}

impl Row {
    /// None: NULL, or no such column.
    #[inline]
    pub fn value(&self, column: usize) -> Option<&[u8]> {
        self.spans.get(column)?.of(&self.bytes)
    }

    /// Heap bytes, about.
    pub fn size(&self) -> usize {
        self.bytes.capacity() + size_of::<Row>() + self.spans.len() * size_of::<Span>()
    }
}

impl Layout {
    /// `columns`: each shard's.
    ///
    /// # Errors
    /// They differ in number or type.
    pub fn unify(shards: &[Vec<Column>], hidden: usize, binary: bool) -> Result<Layout, Error> {
        let mut columns = shards.first().cloned().unwrap_or_default();
        let shown = columns.len().saturating_sub(hidden);
        for other in shards.iter().skip(1) {
            if other.len() != columns.len() {
                return Err(Error::plan(
                    "the shards answer with different numbers of columns",
                ));
            }
            for (at, (one, other)) in columns.iter_mut().zip(other).enumerate() {
                // a server says of computed bytes what they are to it now: VARBINARY, or BLOB out of a temporary table
                let only_compared = at >= shown && one.is_bytes() && other.is_bytes();
                if !only_compared {
                    unify(one, other)?;
                }
            }
        }
        let kinds = columns.iter().map(|c| c.kind).collect();
        let visible = columns.len().checked_sub(hidden).filter(|n| *n > 0);
        Ok(Layout {
            visible: visible.ok_or_else(|| Error::plan("more hidden columns than columns"))?,
            columns,
            kinds,
            binary,
        })
    }

    /// The place of a column of the plan.
    pub fn place(&self, column: plan::Column) -> Result<usize, Error> {
        let at = match column {
            plan::Column::Visible(at) if at < self.visible => at,
            plan::Column::Hidden(at) => self.visible.saturating_add(at),
            plan::Column::Visible(_) => usize::MAX,
        };
        Some(at)
            .filter(|at| *at < self.columns.len())
            .ok_or_else(|| Error::plan("a key or an aggregate is no column"))
    }

    /// Finds the values of a row.
    pub fn row(&self, bytes: Vec<u8>, scratch: &mut Vec<Span>) -> Result<Row, Error> {
        if self.binary {
            walk_binary(&bytes, &self.kinds, scratch)?;
        } else {
            walk_text(&bytes, self.columns.len(), scratch)?;
        }
        Ok(Row {
            bytes,
            spans: SmallVec::from_slice(scratch),
        })
    }

    /// Appends the payload of the row's visible columns.
    pub fn write(&self, row: &Row, out: &mut Vec<u8>) {
        let visible = self.visible;
        if visible >= self.columns.len() {
            out.extend_from_slice(&row.bytes);
            return;
        }
        let last = row.spans.get(visible - 1);
        let end = last.map_or(0, |span| span.end as usize);
        if !self.binary {
            out.extend_from_slice(row.bytes.get(..end).unwrap_or_default());
            return;
        }
        // the values are the same bytes; the NULL bitmap in front of them is shorter
        let start = out.len();
        begin_binary(visible, out);
        for (i, span) in row.spans.iter().take(visible).enumerate() {
            if span.null {
                put_binary(start, i, kind::NULL, None, out);
            }
        }
        let values = 1 + bitmap_length(self.columns.len());
        out.extend_from_slice(row.bytes.get(values..end.max(values)).unwrap_or_default());
    }

    /// A row with some values replaced; `None` in `values`: as it was.
    pub fn rebuilt(
        &self,
        row: &Row,
        values: &[Option<Cow<'_, Option<Vec<u8>>>>],
        scratch: &mut Vec<Span>,
    ) -> Result<Row, Error> {
        let mut out = Vec::with_capacity(row.bytes.len() + 16);
        if self.binary {
            begin_binary(self.columns.len(), &mut out);
        }
        for (i, of) in self.kinds.iter().enumerate() {
            let value = match values.get(i).and_then(Option::as_ref) {
                Some(new) => new.as_deref(),
                None => row.value(i),
            };
            if self.binary {
                put_binary(0, i, *of, value, &mut out);
            } else {
                put_text(value, &mut out);
            }
        }
        self.row(out, scratch)
    }
}

/// What a single server would say of both: the longer, the more precise, NOT NULL if both are.
fn unify(one: &mut Column, other: &Column) -> Result<(), Error> {
    let kind_of = |c: &Column| {
        let signs = c.flags & flags::UNSIGNED;
        (c.kind, signs, c.collation)
    };
    if one.kind == kind::NULL && other.kind != kind::NULL {
        // a literal NULL has no type of its own
        return Err(Error::plan(
            "a column has a type on one shard and none on another",
        ));
    }
    if kind_of(one) != kind_of(other) {
        return Err(Error::Columns {
            column: String::from_utf8_lossy(&one.name).into_owned(),
            one: described(one),
            other: described(other),
        });
    }
    one.length = one.length.max(other.length);
    let number = matches!(
        one.kind,
        kind::DECIMAL | kind::NEWDECIMAL | kind::FLOAT | kind::DOUBLE
    );
    let time = matches!(one.kind, kind::TIME | kind::DATETIME | kind::TIMESTAMP);
    one.decimals = if number || time {
        one.decimals.max(other.decimals)
    } else {
        // servers put anything there for text, by how they happened to compute it
        one.decimals.min(other.decimals)
    };
    one.flags =
        (one.flags | other.flags) & !flags::NOT_NULL | one.flags & other.flags & flags::NOT_NULL;
    Ok(())
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
