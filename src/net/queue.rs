//! A queue of buffers whose first entry is inline: the usual one buffer needs no allocation, and an
//! idle connection's queue holds none.
use super::buf::Buf;
use std::collections::VecDeque;

/// Above this many entries the memory is given back once the queue is empty.
const KEEP: usize = 64;

/// Invariant: without a first entry there is no other.
#[derive(Default)]
pub(super) struct Queue {
    first: Option<Buf>,
    rest: VecDeque<Buf>,
}

impl Queue {
    #[inline]
    pub(super) fn push_back(&mut self, buf: Buf) {
        if self.first.is_none() {
            self.first = Some(buf);
        } else {
            self.rest.push_back(buf);
        }
    }

    pub(super) fn push_front(&mut self, buf: Buf) {
        if let Some(second) = self.first.replace(buf) {
            self.rest.push_front(second);
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Buf> {
        let buf = self.first.take()?;
        if !self.rest.is_empty() {
            self.first = self.rest.pop_front();
            if self.rest.is_empty() && self.rest.capacity() > KEEP {
                self.rest = VecDeque::new();
            }
        }
        Some(buf)
    }

    /// Forgets the first `n` bytes of all.
    pub(super) fn consume(&mut self, mut n: usize) {
        while let Some(first) = &mut self.first {
            if first.len() > n {
                first.advance(n);
                return;
            }
            n -= first.len();
            self.pop_front();
        }
    }

    pub(super) fn first(&self) -> Option<&Buf> {
        self.first.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Buf> {
        self.first.iter().chain(&self.rest)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// More than one entry.
    pub(super) fn is_long(&self) -> bool {
        !self.rest.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.rest = VecDeque::new();
    }
}
