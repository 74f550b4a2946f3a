//! One statement on several server connections at once.
//!
//! A [`Branch`] is a connection and what runs on it: one part of the plan, or several one after the other. All
//! are sent in one pass; the replies are read as they come. Rows go through [`crate::merge`] to the client's
//! socket, whose high-water mark holds the reading back; a shard whose rows are not needed yet is not read, and its
//! socket stops it. An error of one branch ends the statement; the others are read to their ends within bounds
//! ([`Scatter::quiesce`]), and the session closes the connections of those that did not get there.
//!
//! | file | job |
//! |---|---|
//! | `branch.rs` | one connection: its replies as events |
//! | `packets.rs` | whole payloads out of a socket |
//! | `rows.rs` | replies with rows, merged |
//! | `totals.rs` | OK packets, added up |
//! | `describe.rs` | a statement's columns, before it runs |
//! | `collect.rs` | rows that stay here |
//! | `output.rs` | packets for the client |
//! | `failure.rs` | why a statement ended early |
mod branch;
mod collect;
mod describe;
mod failure;
mod output;
mod packets;
mod rows;
mod totals;

pub use branch::{Branch, BranchEnd};
pub use collect::{ask, Collected};
pub use describe::{describe, Described};
pub use failure::Failure;
pub use output::Output;
pub use rows::{Rows, RowsEnd};
pub use totals::{Counting, Totals};

use crate::net::{self, Kept, Socket};
use branch::{Channel, Event};
use std::future::{poll_fn, Future};
use std::task::{Context, Poll};
use std::time::Instant;

/// Ready once the statement is to end (KILL).
pub type Stop<'a> = &'a mut dyn FnMut(&mut Context<'_>) -> Poll<()>;

/// A statement on its way. Per turn.
pub struct Scatter<'a> {
    channels: Vec<Channel<'a>>,
    /// Watched while servers are waited for: nobody computes for a client that is gone.
    client: Option<&'a Socket>,
    stop: Stop<'a>,
    /// Bytes of rows that the client's socket was told of.
    told: usize,
}

/// What is kept is told in steps of this many bytes.
const STEP: usize = 64 << 10;

impl<'a> Scatter<'a> {
    /// `longest`: bytes that one packet's payload may have.
    pub fn new(
        branches: Vec<Branch<'a>>,
        client: Option<&'a Socket>,
        stop: Stop<'a>,
        longest: usize,
    ) -> Scatter<'a> {
        let channels = branches
            .into_iter()
            .map(|b| Channel::new(b, longest))
            .collect();
        Scatter {
            channels,
            client,
            stop,
            told: 0,
        }
    }

    /// Queues every branch's commands; the network sends them by the end of this pass.
    pub fn send(&mut self) {
        self.channels.iter_mut().for_each(Channel::send);
    }

    /// The next event of one of these channels, with its number.
    async fn next(&mut self, wanted: &[usize]) -> Result<(usize, Event), Failure> {
        poll_fn(|cx| self.poll_next(cx, wanted)).await
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        wanted: &[usize],
    ) -> Poll<Result<(usize, Event), Failure>> {
        if (self.stop)(cx).is_ready() {
            return Poll::Ready(Err(Failure::Stopped));
        }
        for at in wanted {
            let Some(channel) = self.channels.get_mut(*at) else {
                continue;
            };
            if let Poll::Ready(event) = channel.poll_event(cx) {
                return Poll::Ready(event.map(|event| (*at, event)));
            }
        }
        match self.client.map(|c| c.poll_gone(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(Failure::Client)),
            _ => Poll::Pending,
        }
    }

    /// Reads what is left of all replies and throws it away, until `deadline`; of a branch that need not be kept at most
    /// `bytes`. What happened to each is in [`Scatter::finish`].
    pub async fn quiesce(&mut self, bytes: usize, deadline: Instant) {
        let mut left: Vec<usize> = self.channels.iter().map(|_| bytes).collect();
        self.set_deadline(Some(deadline));
        loop {
            let open: Vec<usize> = (0..self.channels.len())
                .filter(|at| self.channels[*at].is_open() && left[*at] > 0)
                .collect();
            if open.is_empty() || net::now() >= deadline {
                break;
            }
            let (at, event) = poll_fn(|cx| {
                for at in &open {
                    if let Poll::Ready(event) = self.channels[*at].poll_event(cx) {
                        return Poll::Ready((*at, event));
                    }
                }
                Poll::Pending
            })
            .await;
            if let (Ok(Event::Row(row)), false) = (&event, self.channels[at].keep()) {
                left[at] = left[at].saturating_sub(row.len().max(1));
            }
            if event.is_err() {
                left[at] = 0;
            }
        }
        self.set_deadline(None);
    }

    /// Until when replies are waited for; none: for ever.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        for channel in &self.channels {
            channel.set_deadline(deadline);
        }
    }

    /// Which branches' replies have not ended, in their order.
    pub fn open(&self) -> Vec<bool> {
        self.channels.iter().map(Channel::is_open).collect()
    }

    /// Waits until the client has taken half of what may be queued for it.
    async fn drained(&mut self, out: &Output<'_>) -> Result<(), Failure> {
        let mut drained = Box::pin(out.drained());
        poll_fn(|cx| {
            if (self.stop)(cx).is_ready() {
                return Poll::Ready(Err(Failure::Stopped));
            }
            let drained = drained.as_mut().poll(cx);
            drained.map(|done| done.map_err(|_| Failure::Client))
        })
        .await
    }

    /// Some branch must be read to its end.
    pub fn keeps(&self) -> bool {
        self.channels.iter().any(|c| c.keep() && c.is_open())
    }

    /// Notes what is kept for the client, roughly.
    #[inline]
    fn hold(&mut self, bytes: usize) {
        if bytes / STEP != self.told / STEP {
            self.told = bytes;
            self.client.iter().for_each(|c| c.hold(Kept::Rows, bytes));
        }
    }

    /// How each branch ended, in their order.
    pub fn finish(mut self) -> Vec<BranchEnd> {
        self.hold(0);
        self.channels.into_iter().map(Channel::finish).collect()
    }
}
