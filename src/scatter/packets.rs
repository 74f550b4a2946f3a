//! Whole payloads out of a server's socket.
use crate::net::{Buf, Socket};
use crate::wire::packet::{Header, HEADER, MAX_PAYLOAD};
use std::io;
use std::task::{Context, Poll};

/// Cuts packets. A payload that came in one piece is a slice of the receive buffer.
pub(super) struct Packets<'a> {
    socket: &'a Socket,
    /// Received and not cut yet.
    front: Option<Buf>,
    /// Instead of the front's beginning: a packet that came in pieces.
    partial: Vec<u8>,
    /// Payloads of full packets, which the next one continues.
    long: Vec<u8>,
    /// Bytes that a payload may have.
    longest: usize,
}

impl<'a> Packets<'a> {
    pub fn new(socket: &'a Socket, longest: usize) -> Packets<'a> {
        Packets {
            socket,
            front: None,
            partial: Vec::new(),
            long: Vec::new(),
            longest,
        }
    }

    pub fn socket(&self) -> &'a Socket {
        self.socket
    }

    /// The next payload.
    ///
    /// # Errors
    /// The connection ended or failed, its deadline passed, or a payload is longer than allowed.
    pub fn poll_payload(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Buf>> {
        loop {
            while let Some(payload) = self.cut() {
                if payload.len() < MAX_PAYLOAD && self.long.is_empty() {
                    return Poll::Ready(Ok(payload));
                }
                if self.long.len() + payload.len() > self.longest {
                    let what = "a row is longer than merge_memory_bytes";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, what)));
                }
                self.long.extend_from_slice(&payload);
                if payload.len() < MAX_PAYLOAD {
                    return Poll::Ready(Ok(Buf::from_vec(std::mem::take(&mut self.long))));
                }
            }
            match self.socket.poll_recv(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Some(buf))) => self.append(buf),
                Poll::Ready(Ok(None)) => {
                    let what = "the server closed the connection";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, what)));
                }
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
            }
        }
    }

    /// What was received behind the last payload.
    pub fn into_rest(self) -> Option<Buf> {
        debug_assert!(self.partial.is_empty() || self.front.is_none());
        let partial = (!self.partial.is_empty()).then(|| Buf::from_vec(self.partial));
        partial.or(self.front)
    }

    fn append(&mut self, mut buf: Buf) {
        if let Some(front) = self.front.take() {
            self.partial.extend_from_slice(&front);
        }
        while !self.partial.is_empty() && !buf.is_empty() {
            let missing = missing(&self.partial);
            if missing == 0 {
                break;
            }
            let piece = buf.split_to(missing);
            self.partial.extend_from_slice(&piece);
        }
        if !buf.is_empty() {
            self.front = Some(buf);
        }
    }

    fn cut(&mut self) -> Option<Buf> {
        if !self.partial.is_empty() {
            if missing(&self.partial) > 0 {
                return None;
            }
            let mut whole = Buf::from_vec(std::mem::take(&mut self.partial));
            whole.advance(HEADER);
            return Some(whole);
        }
        let front = self.front.as_mut()?;
        let whole = HEADER + Header::decode(front)?.length;
        if front.len() < whole {
            return None;
        }
        let mut packet = front.split_to(whole);
        if front.is_empty() {
            self.front = None;
        }
        packet.advance(HEADER);
        Some(packet)
    }
}

/// Bytes to the end of the header, or of the packet once its header is here.
fn missing(partial: &[u8]) -> usize {
    match Header::decode(partial) {
        None => HEADER - partial.len(),
        Some(header) => (HEADER + header.length).saturating_sub(partial.len()),
    }
}
