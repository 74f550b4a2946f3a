//! Compression on a socket: between the queues and the task that owns it.
//!
//! What a task sends is compressed when it is queued; what was received is decompressed, a frame at a time, when the
//! task asks for it. So limits, high-water marks and deadlines see the bytes that are on the wire, and TLS lies
//! below. A connection without compression has one empty pointer for it.
use super::driver::{self, Driver};
use super::queue::Queue;
use super::{Buf, Socket};
use crate::wire::compressed::{Algorithm, Codec, End};
use std::io;
use std::task::{Poll, Waker};

/// The compression of one socket.
pub(super) struct Layer {
    codec: Codec,
    /// Given back by the task; in front of what the codec has.
    unread: Queue,
}

impl Layer {
    /// Something was received that the task did not take.
    pub(super) fn has_received(&self) -> bool {
        !self.unread.is_empty() || !self.codec.is_empty()
    }
}

impl Socket {
    /// From here on both directions are compressed; what was received and not taken is so already. `end`: which one this
    /// side is.
    pub fn compress(&self, algorithm: Algorithm, end: End) {
        let layer = Layer {
            codec: Codec::new(algorithm, end),
            unread: Queue::default(),
        };
        driver::with(|driver| {
            driver.slots[self.index() as usize].compression = Some(Box::new(layer));
        });
    }
}

impl Driver {
    /// The next received bytes as the peer's packets have them.
    #[inline]
    pub(super) fn poll_plain(
        &mut self,
        index: u32,
        waker: &Waker,
    ) -> Poll<io::Result<Option<Buf>>> {
        if self.slots[index as usize].compression.is_none() {
            return self.poll_recv(index, waker);
        }
        loop {
            if let Some(next) = self.take_decompressed(index) {
                return Poll::Ready(next.map(Some));
            }
            match self.poll_recv(index, waker) {
                Poll::Ready(Ok(Some(buf))) => self.push_compressed(index, &buf),
                other => return other,
            }
        }
    }

    /// The same without waiting. Errors wait for the next poll.
    pub(super) fn take_plain(&mut self, index: u32) -> Option<Buf> {
        if self.slots[index as usize].compression.is_none() {
            return self.take_received(index);
        }
        loop {
            if let Some(next) = self.take_decompressed(index) {
                return next.ok();
            }
            let buf = self.take_received(index)?;
            self.push_compressed(index, &buf);
        }
    }

    fn take_decompressed(&mut self, index: u32) -> Option<io::Result<Buf>> {
        let layer = self.slots[index as usize].compression.as_mut()?;
        if let Some(buf) = layer.unread.pop_front() {
            return Some(Ok(buf));
        }
        match layer.codec.take_frame() {
            Ok(plain) => plain.map(Buf::from_vec).map(Ok),
            Err(malformed) => Some(Err(io::Error::new(io::ErrorKind::InvalidData, malformed))),
        }
    }

    fn push_compressed(&mut self, index: u32, buf: &Buf) {
        if let Some(layer) = self.slots[index as usize].compression.as_mut() {
            layer.codec.push(buf);
        }
    }

    /// Puts bytes back in front of what was received.
    pub(super) fn unread_plain(&mut self, index: u32, buf: Buf) {
        match self.slots[index as usize].compression.as_mut() {
            None => self.unread(index, buf),
            Some(_) if buf.is_empty() => {}
            Some(layer) => layer.unread.push_front(buf),
        }
    }

    #[inline]
    pub(super) fn send_plain(&mut self, index: u32, buf: Buf) {
        match self.slots[index as usize].compression.as_mut() {
            None => self.send(index, buf),
            Some(layer) => {
                let frames = layer.codec.encode(&buf);
                self.send(index, Buf::from_vec(frames));
            }
        }
    }
}
