//! The client's side of the wire: bytes → commands.
//!
//! A command that arrived in one receive buffer is handed over as a slice of it. One that arrived in
//! pieces is joined on the heap up to [`WHOLE_LIMIT`]; a larger one is handed over by its first part,
//! and the rest is streamed by the turn that runs it.
use crate::net::{Buf, Kept, Socket};
use crate::wire::packet::{Header, HEADER, MAX_PAYLOAD};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Commands up to this many bytes (headers included) are joined before they are looked at. Holds the
/// types of an EXECUTE with 65,535 parameters.
pub const WHOLE_LIMIT: usize = 256 * 1024;

/// One client command, from its packet header on.
pub struct Command {
    /// Header, command byte and body; all of it if `rest` is zero and `continued` is false.
    pub bytes: Buf,
    /// Payload bytes of the current packet that are still to come from the socket.
    pub rest: usize,
    /// The current packet is of the greatest length: another packet of the same command follows it.
    pub continued: bool,
}

impl Command {
    /// The command byte (COM_*).
    #[inline]
    pub fn kind(&self) -> u8 {
        self.bytes[HEADER]
    }
    /// What follows the command byte, as far as it is here.
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.bytes[HEADER + 1..]
    }
    /// Nothing is left to stream.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.rest == 0 && !self.continued
    }
}

/// Why there is no further command.
#[derive(Debug)]
pub enum Closed {
    /// The client ended the connection.
    End,
    /// The deadline passed without a command.
    Idle,
    /// The connection failed.
    Failed(io::Error),
    /// A packet does not follow the protocol; the error for the client, then the connection ends.
    Protocol(Fault),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    OutOfOrder,
    TooLarge,
    Empty,
}

/// Reads commands. Per session; holds bytes only while a command is incomplete.
pub struct Inbox {
    /// Received and not yet handed over.
    front: Option<Buf>,
    /// Instead of `front`: the joined parts of a command that did not come in one piece.
    parts: Option<Vec<u8>>,
    /// The end of what the client is sending (a large command, a file) was not read yet.
    streaming: bool,
    /// The socket was told what is kept of its client's bytes, and not yet that it is gone.
    holds: bool,
    /// Bytes received since the count was last taken.
    count: u64,
    /// A server allows a gigabyte at most.
    max_allowed_packet: u32,
}

impl Inbox {
    pub fn new(max_allowed_packet: usize) -> Inbox {
        Inbox {
            front: None,
            parts: None,
            streaming: false,
            holds: false,
            count: 0,
            max_allowed_packet: u32::try_from(max_allowed_packet).unwrap_or(u32::MAX),
        }
    }

    /// True: what comes next is the rest of a command or file, and must not be read as a command. A session
    /// that does not stream it to its end has to end itself.
    pub fn is_streaming(&self) -> bool {
        self.streaming
    }

    pub(super) fn set_streaming(&mut self, streaming: bool) {
        self.streaming = streaming;
    }

    /// Bytes received from the client since this was last asked.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// From the next command on.
    pub fn set_max_allowed_packet(&mut self, bytes: usize) {
        self.max_allowed_packet = u32::try_from(bytes).unwrap_or(u32::MAX);
    }

    /// Bytes; a command over it is an error of its client.
    pub fn max_allowed_packet(&self) -> usize {
        self.max_allowed_packet as usize
    }

    /// Puts bytes in front of what the socket has (what login read too much).
    pub fn push_front(&mut self, bytes: Buf) {
        debug_assert!(!self.has_bytes());
        if !bytes.is_empty() {
            self.front = Some(bytes);
        }
    }

    /// What came behind the last command, for a login that goes on where the command ended.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let front = self.front.take().map(|buf| buf.to_vec());
        self.parts.take().or(front).unwrap_or_default()
    }

    /// The next command, or its first part. The socket's own deadline bounds the wait.
    pub fn poll_command(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
    ) -> Poll<Result<Command, Closed>> {
        debug_assert!(!self.streaming, "the rest of a command is not one");
        // what was joined has been kept until the command's end
        if self.holds && self.parts.is_none() {
            self.holds = false;
            socket.hold(Kept::Parts, 0);
        }
        loop {
            if let Some(command) = self.cut()? {
                return Poll::Ready(Ok(command));
            }
            match socket.poll_recv(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Some(buf))) => self.append(buf, socket),
                Poll::Ready(Ok(None)) => return Poll::Ready(Err(Closed::End)),
                Poll::Ready(Err(e)) if e.kind() == io::ErrorKind::TimedOut => {
                    return Poll::Ready(Err(Closed::Idle))
                }
                Poll::Ready(Err(e)) => return Poll::Ready(Err(Closed::Failed(e))),
            }
        }
    }

    /// Whether the client has sent something beyond the commands handed over.
    pub fn has_bytes(&self) -> bool {
        self.front.is_some() || self.parts.is_some()
    }

    /// Bytes for streaming: what is here, else what the socket brings. `Ok(None)`: the client ended.
    pub fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
    ) -> Poll<io::Result<Option<Buf>>> {
        debug_assert!(self.parts.is_none(), "parts are handed over whole");
        if let Some(buf) = self.front.take() {
            return Poll::Ready(Ok(Some(buf)));
        }
        let received = socket.poll_recv(cx);
        if let Poll::Ready(Ok(Some(buf))) = &received {
            self.count += buf.len() as u64;
        }
        received
    }

    /// Reads a command on to its end, for those who have to see all of it. False: the client ended before.
    ///
    /// # Errors
    /// The connection failed, or the deadline is over.
    pub async fn read_rest(&mut self, socket: &Socket, command: &mut Command) -> io::Result<bool> {
        debug_assert!(!command.continued, "one packet");
        let mut bytes = command.bytes.to_vec();
        while command.rest > 0 {
            let Some(mut buf) = poll_fn(|cx| self.poll_bytes(cx, socket)).await? else {
                return Ok(false);
            };
            let part = buf.split_to(command.rest);
            bytes.extend_from_slice(&part);
            command.rest -= part.len();
            self.holds = true;
            socket.hold(Kept::Parts, bytes.capacity());
            if !buf.is_empty() {
                self.front = Some(buf);
            }
        }
        command.bytes = Buf::from_vec(bytes);
        self.streaming = false;
        Ok(true)
    }

    fn append(&mut self, buf: Buf, socket: &Socket) {
        self.count += buf.len() as u64;
        if self.parts.is_none() && self.front.is_none() {
            self.front = Some(buf);
            return;
        }
        // grows with what has come, not with what is announced
        let parts = self.parts.get_or_insert_default();
        if let Some(first) = self.front.take() {
            parts.extend_from_slice(&first);
        }
        parts.extend_from_slice(&buf);
        self.holds = true;
        socket.hold(Kept::Parts, parts.capacity());
    }

    /// A command out of what was received, if enough of it is here.
    fn cut(&mut self) -> Result<Option<Command>, Closed> {
        let here: &[u8] = match (&self.parts, &self.front) {
            (Some(parts), _) => parts,
            (None, Some(front)) => front,
            (None, None) => return Ok(None),
        };
        let Some(header) = Header::decode(here) else {
            return Ok(None);
        };
        self.check(header)?;
        let whole = HEADER + header.length;
        if here.len() < whole && here.len() < WHOLE_LIMIT {
            return Ok(None);
        }
        let Some(mut bytes) = self
            .parts
            .take()
            .map(Buf::from_vec)
            .or_else(|| self.front.take())
        else {
            return Ok(None);
        };
        if bytes.len() > whole {
            let command = bytes.split_to(whole);
            self.front = Some(std::mem::replace(&mut bytes, command));
        }
        let continued = header.length == MAX_PAYLOAD;
        let rest = whole - bytes.len();
        self.streaming = rest > 0 || continued;
        Ok(Some(Command {
            bytes,
            rest,
            continued,
        }))
    }

    fn check(&self, header: Header) -> Result<(), Closed> {
        let fault = if header.sequence != 0 {
            Fault::OutOfOrder
        } else if header.length == 0 {
            Fault::Empty
        } else if header.length > self.max_allowed_packet() {
            Fault::TooLarge
        } else {
            return Ok(());
        };
        Err(Closed::Protocol(fault))
    }
}
