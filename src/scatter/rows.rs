//! Rows of several parts, merged and passed to the client.
use super::branch::Event;
use super::failure::Failure;
use super::output::Output;
use super::Scatter;
use crate::merge::{Error, Merger, Needs, Step};
use crate::net::Buf;
use crate::plan::Merge;
use crate::wire::capabilities::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA,
};
use crate::wire::column::{encode_count, Column};
use crate::wire::reply;
use std::collections::VecDeque;

/// What the merge of one statement needs to know.
pub struct Rows<'a> {
    pub merge: &'a Merge,
    /// Number of the plan's parts.
    pub parts: usize,
    /// Rows of the binary protocol.
    pub binary: bool,
    /// The session's div_precision_increment.
    pub increment: u32,
    /// Bytes of rows that may be kept.
    pub limit: usize,
    /// Rows, and bytes of them, that the client may get.
    pub most_rows: u64,
    pub most_bytes: u64,
    /// The client's.
    pub capabilities: u64,
    /// For the EOF behind the columns.
    pub status: u16,
    /// Gives the first part's columns the names that the client gets.
    pub named: &'a dyn Fn(&mut Column),
}

/// What is known when the client has its last row.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RowsEnd {
    pub rows: u64,
    pub warnings: u16,
}

/// Rows that came before they were needed: those of a part that runs in front of another on one connection.
struct Early {
    queues: Vec<VecDeque<Buf>>,
    ended: Vec<bool>,
    columns: Vec<Option<Vec<Column>>>,
    bytes: usize,
    warnings: u16,
}

impl Scatter<'_> {
    /// Sends the client columns and rows, not the end behind them.
    ///
    /// # Errors
    /// The first that went wrong. Rows may be with the client already: an error packet ends them.
    pub async fn rows(&mut self, of: &Rows<'_>, out: &mut Output<'_>) -> Result<RowsEnd, Failure> {
        let mut early = Early {
            queues: vec![VecDeque::new(); of.parts],
            ended: vec![false; of.parts],
            columns: vec![None; of.parts],
            bytes: 0,
            warnings: 0,
        };
        while let Some(part) = early.columns.iter().position(Option::is_none) {
            self.read(part, of.limit, &mut early).await?;
        }
        let columns: Vec<Vec<Column>> = early.columns.iter_mut().filter_map(Option::take).collect();
        let mut merger = Merger::new(of.merge, &columns, of.binary, of.increment, of.limit)?;
        head(&merger, of, out);
        let mut end = RowsEnd::default();
        let mut row = Vec::new();
        let mut sent = 0;
        loop {
            row.clear();
            match merger.step(&mut row)? {
                Step::Row => {
                    sent += row.len() as u64;
                    let by_rows = end.rows >= of.most_rows;
                    if by_rows || sent > of.most_bytes {
                        return Err(Failure::OverLimit { by_rows });
                    }
                    end.rows += 1;
                    out.rows += 1;
                    out.packet(&row);
                    if out.is_full() {
                        self.drained(out).await?;
                    }
                }
                Step::Done => break,
                Step::Needs(needs) => {
                    let part = match needs {
                        Needs::Shard(part) => Some(part),
                        Needs::Any => early.ready(merger.hungry()),
                    };
                    self.feed(part, of.limit, &mut early, &mut merger, out)
                        .await?;
                }
            }
        }
        end.warnings = early.warnings;
        Ok(end)
    }

    /// Brings the merger the next row or the end of this part, or of any.
    async fn feed(
        &mut self,
        part: Option<usize>,
        limit: usize,
        early: &mut Early,
        merger: &mut Merger,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        if let Some(part) = part {
            while !early.give(part, merger)? {
                self.read(part, limit, early).await?;
            }
            self.hold(early.bytes + merger.bytes());
            return Ok(());
        }
        // nobody can tell how long the next row takes: what there is goes to the client
        let hungry: Vec<usize> = merger.hungry().collect();
        let wanted: Vec<usize> = (0..self.channels.len())
            .filter(|at| hungry.iter().any(|part| self.channels[*at].runs(*part)))
            .collect();
        out.flush();
        let (at, event) = self.next(&wanted).await?;
        self.note(at, event, limit, early)
    }

    /// Reads one event of the connection that runs this part.
    async fn read(&mut self, part: usize, limit: usize, early: &mut Early) -> Result<(), Failure> {
        let Some(at) = self.channels.iter().position(|c| c.runs(part)) else {
            let what = "a part that no connection runs";
            return Err(Failure::Protocol { part, what });
        };
        let (at, event) = self.next(&[at]).await?;
        self.note(at, event, limit, early)
    }

    fn note(
        &mut self,
        at: usize,
        event: Event,
        limit: usize,
        early: &mut Early,
    ) -> Result<(), Failure> {
        match event {
            Event::Columns { part, columns } => early.columns[part] = Some(columns),
            Event::End { part, warnings } => {
                early.ended[part] = true;
                early.warnings = early.warnings.saturating_add(warnings);
            }
            Event::Row(mut row) => {
                let queue = &mut early.queues[self.channels[at].part()];
                if !queue.is_empty() {
                    row.detach();
                }
                early.bytes += row.len();
                queue.push_back(row);
                if early.bytes > limit {
                    return Err(Error::Memory(limit).into());
                }
                self.hold(early.bytes);
            }
            Event::Ok { part, .. } => {
                let what = "an OK where rows were expected";
                return Err(Failure::Protocol { part, what });
            }
            Event::Nothing => {
                let part = self.channels[at].part();
                let what = "the end of a reply came too soon";
                return Err(Failure::Protocol { part, what });
            }
        }
        Ok(())
    }
}

impl Early {
    /// A part of these for which something is here.
    fn ready(&self, mut parts: impl Iterator<Item = usize>) -> Option<usize> {
        parts.find(|part| !self.queues[*part].is_empty() || self.ended[*part])
    }

    fn give(&mut self, part: usize, merger: &mut Merger) -> Result<bool, Failure> {
        if let Some(row) = self.queues[part].pop_front() {
            self.bytes -= row.len();
            merger.push(part, &row)?;
            return Ok(true);
        }
        if self.ended[part] {
            merger.end(part);
        }
        Ok(self.ended[part])
    }
}

/// The column count, the definitions, and the EOF behind them.
fn head(merger: &Merger, of: &Rows<'_>, out: &mut Output<'_>) {
    const FLAGGED: u64 = OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA;
    let columns = merger.columns();
    let flagged = of.capabilities & FLAGGED != 0;
    out.packet(&encode_count(columns.len(), flagged));
    for column in columns {
        let mut column = column.clone();
        (of.named)(&mut column);
        out.packet(&column.encode(of.capabilities));
    }
    if of.capabilities & DEPRECATE_EOF == 0 {
        out.packet(&reply::eof(0, of.status));
    }
}
