//! The steps from the shards' rows to the client's.
use super::compare::{compare_rows, Key};
use super::error::Error;
use super::group::{Group, Grouper};
use super::layout::{Layout, Row};
use crate::plan::{Merge, SortKey};
use crate::wire::column::Column;
use crate::wire::row::Span;
use std::cmp::Ordering;

/// Merges one statement's rows. Per turn.
#[derive(Debug)]
pub struct Merger {
    layout: Layout,
    /// By what the shards' rows come ordered; empty: by nothing.
    input: Vec<Key>,
    grouper: Option<Grouper>,
    group_keys: Vec<Key>,
    group: Option<Group>,
    /// Groups come in another order than the client wants: all of them are kept and sorted.
    sort: Option<Vec<Key>>,
    kept: Kept,
    distinct: Option<Vec<Key>>,
    /// The last row that went on, for DISTINCT.
    last: Option<Row>,
    offset: u64,
    left: u64,
    sources: Vec<Source>,
    /// Of sources with a row, when `input` orders: the one whose row comes first is last.
    ready: Vec<usize>,
    /// No source has to be looked at before the next row is taken.
    primed: bool,
    spans: Vec<Span>,
}

/// Rows that wait to be sorted.
#[derive(Debug, Default)]
struct Kept {
    rows: Vec<Row>,
    bytes: usize,
    limit: usize,
    sorted: bool,
}

#[derive(Debug, Default)]
struct Source {
    head: Option<Row>,
    ended: bool,
}

/// What the merger needs before it can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The next row, or the end, of this shard.
    Shard(usize),
    /// Of any shard that has not ended.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A row's payload was appended.
    Row,
    Needs(Needs),
    /// No more rows come; shards that have not ended need not be read.
    Done,
}

impl Merger {
    /// `columns`: each shard's. `increment`: the session's div_precision_increment. `limit`: bytes of rows that
    /// may be kept.
    ///
    /// # Errors
    /// The shards' columns differ, or the plan asks for what cannot be merged exactly.
    pub fn new(
        merge: &Merge,
        columns: &[Vec<Column>],
        binary: bool,
        increment: u32,
        limit: usize,
    ) -> Result<Merger, Error> {
        let layout = Layout::unify(columns, merge.hidden, binary)?;
        let keys = |keys: &[SortKey]| -> Result<Vec<Key>, Error> {
            keys.iter().map(|k| Key::new(*k, &layout)).collect()
        };
        let grouping = merge.group.as_ref();
        let group_keys = keys(grouping.map_or(&[], |g| &g.keys))?;
        let order = keys(&merge.order)?;
        let sorted = grouping.is_none_or(|g| g.keys.starts_with(&merge.order));
        if merge.distinct && order.is_empty() {
            return Err(Error::plan("DISTINCT rows come in no order"));
        }
        let distinct = merge.distinct.then(|| order.clone());
        let (input, sort) = match (grouping, sorted) {
            (None, _) => (order, None),
            (Some(_), true) => (group_keys.clone(), None),
            (Some(_), false) => (group_keys.clone(), Some(order)),
        };
        let grouper = match grouping {
            None => None,
            Some(grouping) => Some(Grouper::new(grouping, &layout, increment)?),
        };
        Ok(Merger {
            input,
            grouper,
            group_keys,
            group: None,
            sort,
            kept: Kept {
                limit,
                ..Kept::default()
            },
            distinct,
            last: None,
            offset: merge.offset,
            left: merge.limit.unwrap_or(u64::MAX),
            sources: columns.iter().map(|_| Source::default()).collect(),
            ready: Vec::new(),
            primed: false,
            spans: Vec::new(),
            layout,
        })
    }

    /// Bytes of the rows that it keeps.
    pub fn bytes(&self) -> usize {
        self.kept.bytes
    }

    /// What the client gets.
    pub fn columns(&self) -> &[Column] {
        &self.layout.columns[..self.layout.visible]
    }

    /// A row of this shard, which has none here.
    ///
    /// # Errors
    /// It is no row of these columns.
    pub fn push(&mut self, shard: usize, payload: &[u8]) -> Result<(), Error> {
        let row = self.layout.row(shard, payload.to_vec(), &mut self.spans)?;
        if let Some(source) = self.sources.get_mut(shard) {
            debug_assert!(source.head.is_none() && !source.ended);
            source.head = Some(row);
            if self.primed {
                self.insert(shard)?;
            }
        }
        Ok(())
    }

    /// This shard has sent its last row.
    pub fn end(&mut self, shard: usize) {
        if let Some(source) = self.sources.get_mut(shard) {
            source.ended = true;
        }
    }

    /// Shards that have neither a row here nor ended.
    pub fn hungry(&self) -> impl Iterator<Item = usize> + '_ {
        let hungry = |s: &Source| s.head.is_none() && !s.ended;
        let sources = self.sources.iter().enumerate();
        sources.filter(move |(_, s)| hungry(s)).map(|(i, _)| i)
    }

    /// Appends the next row's payload to `out`, or says what is missing.
    ///
    /// # Errors
    /// A value cannot be merged; the statement ends with it.
    pub fn step(&mut self, out: &mut Vec<u8>) -> Result<Step, Error> {
        while self.left > 0 {
            let row = match self.next_sorted()? {
                Next::Row(row) => row,
                Next::Needs(needs) => return Ok(Step::Needs(needs)),
                Next::Done => break,
            };
            if self.repeats(&row)? {
                continue;
            }
            if self.offset > 0 {
                self.offset -= 1;
            } else {
                self.left -= 1;
                self.layout.write(&row, out);
                self.remember(row);
                return Ok(Step::Row);
            }
            self.remember(row);
        }
        Ok(Step::Done)
    }

    fn remember(&mut self, row: Row) {
        if self.distinct.is_some() {
            self.last = Some(row);
        }
    }

    fn repeats(&self, row: &Row) -> Result<bool, Error> {
        match (&self.distinct, &self.last) {
            (Some(keys), Some(last)) => Ok(compare_rows(keys, &self.layout, last, row)?.is_eq()),
            _ => Ok(false),
        }
    }

    /// Grouped rows in the client's order.
    fn next_sorted(&mut self) -> Result<Next, Error> {
        if self.sort.is_none() {
            return self.next_grouped();
        }
        while !self.kept.sorted {
            match self.next_grouped()? {
                Next::Row(row) => self.kept.push(row)?,
                Next::Needs(needs) => return Ok(Next::Needs(needs)),
                Next::Done => {
                    let keys = self.sort.as_deref().unwrap_or_default();
                    self.kept.sort(keys, &self.layout)?;
                }
            }
        }
        Ok(self.kept.rows.pop().map_or(Next::Done, Next::Row))
    }

    fn next_grouped(&mut self) -> Result<Next, Error> {
        if self.grouper.is_none() {
            return self.next_input();
        }
        loop {
            let next = self.next_input()?;
            let Some(grouper) = &self.grouper else {
                return Ok(next);
            };
            match (next, self.group.take()) {
                (Next::Row(row), None) => self.group = Some(grouper.begin(row, &self.layout)?),
                (Next::Row(row), Some(mut group)) => {
                    if compare_rows(&self.group_keys, &self.layout, &group.first, &row)?.is_eq() {
                        grouper.add(&mut group, &row, &self.layout)?;
                        self.group = Some(group);
                        continue;
                    }
                    self.group = Some(grouper.begin(row, &self.layout)?);
                    let whole = grouper.end(group, &self.layout, &mut self.spans)?;
                    return Ok(Next::Row(whole));
                }
                (Next::Needs(needs), group) => {
                    self.group = group;
                    return Ok(Next::Needs(needs));
                }
                (Next::Done, None) => return Ok(Next::Done),
                (Next::Done, Some(group)) => {
                    let whole = grouper.end(group, &self.layout, &mut self.spans)?;
                    return Ok(Next::Row(whole));
                }
            }
        }
    }

    /// The shards' rows as one stream, in their common order if there is one.
    fn next_input(&mut self) -> Result<Next, Error> {
        if self.input.is_empty() {
            return Ok(self.next_of_any());
        }
        if !self.primed {
            if let Some(hungry) = self.hungry().next() {
                return Ok(Next::Needs(Needs::Shard(hungry)));
            }
            for shard in 0..self.sources.len() {
                self.insert(shard)?;
            }
            self.primed = true;
        }
        // only the shard whose row was taken last can be without one
        if let Some(hungry) = self.hungry().next() {
            return Ok(Next::Needs(Needs::Shard(hungry)));
        }
        let taken = self.ready.pop();
        let row = taken.and_then(|shard| self.sources.get_mut(shard)?.head.take());
        Ok(row.map_or(Next::Done, Next::Row))
    }

    fn next_of_any(&mut self) -> Next {
        let row = self.sources.iter_mut().find_map(|s| s.head.take());
        match row {
            Some(row) => Next::Row(row),
            None if self.sources.iter().all(|s| s.ended) => Next::Done,
            None => Next::Needs(Needs::Any),
        }
    }

    /// Puts a shard that has a row where its row belongs; of equal rows those of the first shard come first.
    fn insert(&mut self, shard: usize) -> Result<(), Error> {
        let Some(row) = self.sources.get(shard).and_then(|s| s.head.as_ref()) else {
            return Ok(());
        };
        let (mut low, mut high) = (0, self.ready.len());
        while low < high {
            let middle = (low + high) / 2;
            let other = self.ready[middle];
            let Some(held) = &self.sources[other].head else {
                return Err(Error::plan("a shard without a row is in the order"));
            };
            let order = compare_rows(&self.input, &self.layout, held, row)?;
            if order.then(other.cmp(&shard)) == Ordering::Greater {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.ready.insert(low, shard);
        Ok(())
    }
}

enum Next {
    Row(Row),
    Needs(Needs),
    Done,
}

impl Kept {
    fn push(&mut self, row: Row) -> Result<(), Error> {
        self.bytes += row.size();
        if self.bytes > self.limit {
            return Err(Error::Memory(self.limit));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The row that comes first is last, to be popped.
    fn sort(&mut self, keys: &[Key], layout: &Layout) -> Result<(), Error> {
        let mut failed = None;
        self.rows.reverse();
        self.rows.sort_by(|a, b| {
            compare_rows(keys, layout, b, a).unwrap_or_else(|e| {
                failed = Some(e);
                Ordering::Equal
            })
        });
        self.sorted = true;
        failed.map_or(Ok(()), Err)
    }
}
