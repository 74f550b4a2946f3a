//! Rows of one part that stay here: answers to the proxy's own questions, and rows on their way to another server.
use super::branch::{Branch, Event};
use super::failure::Failure;
use super::Scatter;
use crate::merge::Error;
use crate::net::{Buf, Socket};
use crate::wire::column::Column;
use std::task::{Context, Poll};

/// The rows of all parts, in the order they came.
#[derive(Debug, Default)]
pub struct Collected {
    /// Of each part.
    pub columns: Vec<Vec<Column>>,
    /// Payloads.
    pub rows: Vec<Vec<u8>>,
    pub bytes: usize,
}

/// One question over one connection, whose deadline bounds it: its rows. After an error what is left of the reply is not
/// read.
///
/// # Errors
/// The first that went wrong, or more than `limit` bytes.
pub async fn ask(
    socket: &Socket,
    capabilities: u64,
    bytes: Buf,
    limit: usize,
) -> Result<Collected, Failure> {
    let branch = Branch {
        socket,
        capabilities,
        bytes,
        silent: 0,
        parts: vec![0],
        keep: false,
    };
    let mut never = |_: &mut Context<'_>| Poll::Pending;
    let mut scatter = Scatter::new(vec![branch], None, &mut never, limit);
    scatter.send();
    scatter.collect(limit).await
}

impl Scatter<'_> {
    /// Reads all rows of all parts.
    ///
    /// # Errors
    /// The first that went wrong, or more than `limit` bytes.
    pub async fn collect(&mut self, limit: usize) -> Result<Collected, Failure> {
        let mut collected = Collected::default();
        loop {
            let open: Vec<usize> = (0..self.channels.len())
                .filter(|at| self.channels[*at].is_open())
                .collect();
            if open.is_empty() {
                return Ok(collected);
            }
            match self.next(&open).await? {
                (_, Event::Columns { columns, .. }) => collected.columns.push(columns),
                (_, Event::Row(row)) => {
                    collected.bytes += row.len() + size_of::<Vec<u8>>();
                    if collected.bytes > limit {
                        return Err(Error::Memory(limit).into());
                    }
                    self.hold(collected.bytes);
                    collected.rows.push(row.to_vec());
                }
                (_, Event::End { .. } | Event::Nothing) => {}
                (_, Event::Ok { part, .. }) => {
                    let what = "an OK where rows were expected";
                    return Err(Failure::Protocol { part, what });
                }
            }
        }
    }
}
