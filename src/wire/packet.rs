//! Framing: a 3-byte length, a sequence number, the payload.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html

use super::Malformed;

/// Largest payload of one packet; a payload of exactly this length is continued in the next.
pub const MAX_PAYLOAD: usize = 0xff_ffff;
/// Bytes before the payload.
pub const HEADER: usize = 4;

/// The four bytes before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload that follow.
    pub length: usize,
    pub sequence: u8,
}

impl Header {
    /// None: fewer than four bytes.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let &[a, b, c, sequence] = bytes.first_chunk::<HEADER>()?;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        Some(Header { length, sequence })
    }

    pub fn encode(self) -> [u8; 4] {
        debug_assert!(self.length <= MAX_PAYLOAD);
        let [a, b, c, ..] = self.length.to_le_bytes();
        [a, b, c, self.sequence]
    }
}

/// Appends payload as one or more framed packets starting at `sequence`; returns the next sequence.
pub fn frame(payload: &[u8], sequence: u8, out: &mut Vec<u8>) -> u8 {
    let mut sequence = sequence;
    let mut rest = payload;
    loop {
        let (part, behind) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        let length = part.len();
        out.extend_from_slice(&Header { length, sequence }.encode());
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        rest = behind;
        // a full packet announces another, be it empty
        if length < MAX_PAYLOAD {
            return sequence;
        }
    }
}

/// Incremental reader for handshake-sized messages (not the data path): push bytes, pop whole
/// payloads (joined over 16 MiB). Announced lengths over `limit` are an error before any byte of
/// them is kept. Per connection, during login only.
///
/// Invariant: `kept` begins with a packet header, or is a part of one.
#[derive(Debug)]
pub struct Assembler {
    kept: Vec<u8>,
    limit: usize,
}

impl Assembler {
    pub fn new(limit: usize) -> Self {
        let kept = Vec::new();
        Assembler { kept, limit }
    }

    /// Fails when the message at the front announces more than the limit. Bytes behind it may
    /// belong to another stage, and are not judged before it has been popped.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.kept.extend_from_slice(bytes);
        if self.announced() > self.limit {
            self.kept = Vec::new();
            let what = "packet length over the limit";
            return Err(Malformed { what });
        }
        Ok(())
    }

    /// The next whole payload with the sequence number of its last packet.
    pub fn pop(&mut self) -> Option<(u8, Vec<u8>)> {
        let (sequence, end) = self.front()?;
        let framed = self.kept.drain(..end).collect::<Vec<u8>>();
        let mut payload = Vec::with_capacity(framed.len());
        for packet in framed.chunks(HEADER + MAX_PAYLOAD) {
            payload.extend_from_slice(packet.get(HEADER..).unwrap_or_default());
        }
        Some((sequence, payload))
    }

    /// Bytes of memory that it uses.
    pub fn held(&self) -> usize {
        self.kept.capacity()
    }

    /// Bytes received behind the last popped packet (to be handed back to the socket).
    pub fn rest(self) -> Vec<u8> {
        self.kept
    }

    /// Last sequence number of the message at the front and where it ends, if it is whole.
    fn front(&self) -> Option<(u8, usize)> {
        let mut at = 0;
        loop {
            let header = Header::decode(self.kept.get(at..)?)?;
            at += HEADER + header.length;
            if at > self.kept.len() {
                return None;
            }
            if header.length < MAX_PAYLOAD {
                return Some((header.sequence, at));
            }
        }
    }

    /// Payload bytes that the message at the front announces so far.
    fn announced(&self) -> usize {
        let (mut at, mut sum) = (0, 0);
        while let Some(header) = self.kept.get(at..).and_then(Header::decode) {
            at += HEADER + header.length;
            sum += header.length;
            if header.length < MAX_PAYLOAD {
                break;
            }
        }
        sum
    }
}
