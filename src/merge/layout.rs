//! What the shards' rows look like, and one row of them.
use super::error::Error;
use super::unify::{unify, Cast};
use crate::plan;
use crate::wire::column::{kind, Column};
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
    /// By shard: those whose values are to be cast; none at all in the common case.
    foreign: Vec<Option<Foreign>>,
}

/// A shard's columns where their values are not yet those of the layout's.
#[derive(Debug, Clone)]
struct Foreign {
    kinds: Vec<u8>,
    casts: Vec<Cast>,
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
    /// They differ in number, or in types that have no common one.
    pub fn unify(shards: &[Vec<Column>], hidden: usize, binary: bool) -> Result<Layout, Error> {
        let mut columns = shards.first().cloned().unwrap_or_default();
        for other in shards.iter().skip(1) {
            if other.len() != columns.len() {
                return Err(Error::OTHER_NUMBER);
            }
            for (one, other) in columns.iter_mut().zip(other) {
                unify(one, other, binary)?;
            }
        }
        let mut foreign: Vec<_> = shards
            .iter()
            .map(|shard| Foreign::of(shard, &columns, binary))
            .collect();
        if foreign.iter().all(Option::is_none) {
            foreign = Vec::new();
        }
        let kinds = columns.iter().map(|c| c.kind).collect();
        let visible = columns.len().checked_sub(hidden).filter(|n| *n > 0);
        Ok(Layout {
            visible: visible.ok_or_else(|| Error::plan("more hidden columns than columns"))?,
            columns,
            kinds,
            binary,
            foreign,
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

    /// Finds the values of a shard's row.
    pub fn row(&self, shard: usize, bytes: Vec<u8>, scratch: &mut Vec<Span>) -> Result<Row, Error> {
        match self.foreign.get(shard) {
            Some(Some(foreign)) => self.cast(foreign, &bytes, scratch),
            _ => self.own(bytes, scratch),
        }
    }

    /// A row of the layout's own types out of one of other types.
    fn cast(&self, foreign: &Foreign, bytes: &[u8], scratch: &mut Vec<Span>) -> Result<Row, Error> {
        let mut out = Vec::with_capacity(bytes.len() + 4 * self.kinds.len());
        if self.binary {
            walk_binary(bytes, &foreign.kinds, scratch)?;
            begin_binary(self.columns.len(), &mut out);
        } else {
            walk_text(bytes, self.columns.len(), scratch)?;
        }
        for (i, (span, cast)) in scratch.iter().zip(&foreign.casts).enumerate() {
            let value = span.of(bytes).map(|value| cast.apply(value)).transpose()?;
            self.put(i, value.as_deref(), &mut out);
        }
        self.own(out, scratch)
    }

    /// Appends the next value of the row that `out` is.
    fn put(&self, at: usize, value: Option<&[u8]>, out: &mut Vec<u8>) {
        match self.kinds.get(at) {
            Some(of) if self.binary => put_binary(0, at, *of, value, out),
            _ => put_text(value, out),
        }
    }

    fn own(&self, bytes: Vec<u8>, scratch: &mut Vec<Span>) -> Result<Row, Error> {
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
        for i in 0..self.kinds.len() {
            let value = match values.get(i).and_then(Option::as_ref) {
                Some(new) => new.as_deref(),
                None => row.value(i),
            };
            self.put(i, value, &mut out);
        }
        self.own(out, scratch)
    }
}

impl Foreign {
    /// None: these columns' values are those of the common ones.
    fn of(shard: &[Column], common: &[Column], binary: bool) -> Option<Foreign> {
        let casts: Vec<Cast> = shard
            .iter()
            .zip(common)
            .map(|(from, to)| Cast::between(from, to, binary))
            .collect();
        let all_kept = casts.iter().all(|cast| *cast == Cast::Keep);
        (!all_kept).then(|| Foreign {
            kinds: shard.iter().map(|column| column.kind).collect(),
            casts,
        })
    }
}
