//! The compressed protocol: packets, cut anywhere, inside frames that are compressed each by itself.
//!
//! ```text
//! frame: length of what follows the header (3 bytes) · sequence (1) · length before compression (3) · bytes
//! ```
//! A length before compression of 0 means that the bytes are as they were. Frames are counted like packets, by a count of
//! their own that begins at 0 with each command.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression.html
use super::Malformed;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// Of a frame, bytes.
const HEADER: usize = 7;
/// Less is not worth it: the servers' own bound.
const LEAST: usize = 50;
/// Bytes of one frame that is made here. Larger ones are taken, up to what three bytes can say.
const MOST: usize = 1 << 20;
/// Bytes that are reserved for what a frame will hold before any of it is seen.
const FIRST: usize = 64 << 10;
/// A client names the level at which it wants to be sent to. Higher ones cost more than they save.
const HIGHEST_LEVEL: u8 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// CLIENT_COMPRESS
    Zlib,
    /// CLIENT_ZSTD_COMPRESSION_ALGORITHM, at a level of 1 to 22.
    Zstd(u8),
}

/// Which end of a connection this is: whose commands begin the count anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Server,
    Client,
}

/// Both directions of one connection. What it needs for a frame only is the thread's.
#[derive(Debug)]
pub struct Codec {
    algorithm: Algorithm,
    end: End,
    /// Received and not decoded: less than a frame, or frames that nobody asked for yet.
    received: Vec<u8>,
    /// Bytes of `received` that are decoded.
    at: usize,
    /// Of the next frame to the peer.
    next: u8,
    sent: Packets,
}

/// Tools that are the same for all frames: some hundred KiB, which no idle connection should have.
struct Tools {
    inflate: Decompress,
    deflate: Compress,
    unzstd: Option<zstd::bulk::Decompressor<'static>>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::new(Tools {
        inflate: Decompress::new(true),
        deflate: Compress::new(Compression::fast(), true),
        unzstd: None,
        zstd: None,
    });
}

impl Codec {
    pub fn new(algorithm: Algorithm, end: End) -> Codec {
        Codec {
            algorithm,
            end,
            received: Vec::new(),
            at: 0,
            next: 0,
            sent: Packets::default(),
        }
    }

    /// Takes bytes of the peer's.
    pub fn push(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Whether there is anything that was received and not asked for.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// What the next frame holds, not empty. None: the rest of it is still to come.
    ///
    /// One frame at a time: a reply counts on from the frame that its command ended with, and the next command may
    /// have been received already.
    pub fn take_frame(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        loop {
            let rest = self.received.get(self.at..).unwrap_or_default();
            let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else {
                self.forget_decoded();
                return Ok(None);
            };
            let [a, b, c, sequence, d, e, f] = *header;
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            let before = u32::from_le_bytes([d, e, f, 0]) as usize;
            let Some(bytes) = rest.get(..length) else {
                self.forget_decoded();
                return Ok(None);
            };
            let plain = match before {
                0 => bytes.to_vec(),
                _ => unpacked(self.algorithm, bytes, before)?,
            };
            self.at += HEADER + length;
            self.next = sequence.wrapping_add(1);
            if self.at == self.received.len() {
                self.received = Vec::new();
                self.at = 0;
            }
            if !plain.is_empty() {
                return Ok(Some(plain));
            }
        }
    }

    fn forget_decoded(&mut self) {
        self.received.drain(..self.at);
        self.at = 0;
    }

    /// Frames with these bytes of packets.
    pub fn encode(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len().min(FIRST) + HEADER);
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = match self.end {
                End::Server => rest.len(),
                // each command begins a frame of its own
                End::Client => {
                    let walked = self.sent.walk(rest);
                    if walked.begins {
                        self.next = 0;
                    }
                    walked.length
                }
            };
            let (now, behind) = rest.split_at(length);
            for part in now.chunks(MOST) {
                put_frame(self.algorithm, part, self.next, &mut out);
                self.next = self.next.wrapping_add(1);
            }
            rest = behind;
        }
        out
    }
}

fn put_frame(algorithm: Algorithm, bytes: &[u8], sequence: u8, out: &mut Vec<u8>) {
    let packed = match bytes.len() >= LEAST {
        true => packed(algorithm, bytes).filter(|p| p.len() < bytes.len()),
        false => None,
    };
    let (what, before) = match &packed {
        Some(packed) => (packed.as_slice(), bytes.len()),
        None => (bytes, 0),
    };
    out.extend_from_slice(&(what.len() as u32).to_le_bytes()[..3]);
    out.push(sequence);
    out.extend_from_slice(&(before as u32).to_le_bytes()[..3]);
    out.extend_from_slice(what);
}

/// None: it cannot be compressed; it is sent as it is.
fn packed(algorithm: Algorithm, bytes: &[u8]) -> Option<Vec<u8>> {
    TOOLS.with_borrow_mut(|tools| match algorithm {
        Algorithm::Zlib => {
            tools.deflate.reset();
            // what does not fit is not smaller
            let mut out = Vec::with_capacity(bytes.len());
            let status = tools
                .deflate
                .compress_vec(bytes, &mut out, FlushCompress::Finish);
            matches!(status, Ok(Status::StreamEnd)).then_some(out)
        }
        Algorithm::Zstd(level) => {
            let level = i32::from(level.clamp(1, HIGHEST_LEVEL));
            let tool = match &mut tools.zstd {
                Some(tool) => tool,
                none => none.insert(zstd::bulk::Compressor::new(level).ok()?),
            };
            tool.set_compression_level(level).ok()?;
            tool.compress(bytes).ok()
        }
    })
}

fn unpacked(algorithm: Algorithm, bytes: &[u8], length: usize) -> Result<Vec<u8>, Malformed> {
    let plain = TOOLS.with_borrow_mut(|tools| match algorithm {
        Algorithm::Zlib => inflated(&mut tools.inflate, bytes, length),
        Algorithm::Zstd(_) => {
            let tool = match &mut tools.unzstd {
                Some(tool) => tool,
                none => none.insert(zstd::bulk::Decompressor::new().ok()?),
            };
            // 16 MiB at most; what of it is not written is not there either
            tool.decompress(bytes, length).ok()
        }
    });
    plain
        .filter(|plain| plain.len() == length)
        .ok_or(Malformed {
            what: "compressed frame",
        })
}

fn inflated(tool: &mut Decompress, bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    tool.reset(true);
    // one byte more than there should be, so that the end is seen
    let mut out = Vec::with_capacity(length.min(FIRST) + 1);
    loop {
        let rest = bytes.get(usize::try_from(tool.total_in()).ok()?..)?;
        let status = tool
            .decompress_vec(rest, &mut out, FlushDecompress::Finish)
            .ok()?;
        if status == Status::StreamEnd {
            return Some(out);
        }
        if out.len() < out.capacity() || out.len() > length {
            return None;
        }
        out.reserve((length + 1 - out.len()).min(out.len()));
    }
}

/// Follows packets to find where commands begin.
#[derive(Debug, Default)]
struct Packets {
    /// Of the packet that is being walked.
    left: usize,
    header: [u8; 4],
    /// Bytes of `header` that are here.
    have: usize,
    /// Length and sequence of the packet before.
    before: Option<(usize, u8)>,
}

struct Walked {
    /// Bytes before the next command, or all.
    length: usize,
    /// A command begins with the first of them.
    begins: bool,
}

const FULL: usize = 0xff_ffff;

impl Packets {
    fn walk(&mut self, bytes: &[u8]) -> Walked {
        let mut begins = false;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.left > 0 {
                let step = self.left.min(rest.len());
                self.left -= step;
                at += step;
                continue;
            }
            match first_four(&self.header[..self.have], rest) {
                Some([a, b, c, sequence]) => {
                    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
                    if self.begins_command(sequence) {
                        if at > 0 {
                            return Walked { length: at, begins };
                        }
                        begins = true;
                    }
                    at += 4 - self.have;
                    self.have = 0;
                    self.left = length;
                    self.before = Some((length, sequence));
                }
                None => {
                    self.header[self.have..self.have + rest.len()].copy_from_slice(rest);
                    self.have += rest.len();
                    at += rest.len();
                }
            }
        }
        Walked { length: at, begins }
    }

    /// Packets with sequence 0 that do not: the 257th of a command or of a file.
    fn begins_command(&self, sequence: u8) -> bool {
        let goes_on =
            |(length, before): (usize, u8)| length == FULL || (before == 255 && length > 0);
        sequence == 0 && !self.before.is_some_and(goes_on)
    }
}

/// The first four bytes of both together.
fn first_four(a: &[u8], b: &[u8]) -> Option<[u8; 4]> {
    let mut bytes = a.iter().chain(b).copied();
    Some([bytes.next()?, bytes.next()?, bytes.next()?, bytes.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALGORITHMS: [Algorithm; 3] = [Algorithm::Zlib, Algorithm::Zstd(3), Algorithm::Zstd(22)];

    fn all(codec: &mut Codec) -> Vec<u8> {
        let mut plain = Vec::new();
        while let Some(part) = codec.take_frame().expect("well-formed") {
            plain.extend(part);
        }
        plain
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut x = 1u32;
        let mut next = || {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 24) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    /// Sequence and whether it is compressed, of each frame.
    fn frames(mut bytes: &[u8]) -> Vec<(u8, bool)> {
        let mut found = Vec::new();
        while let [a, b, c, sequence, d, e, f, ..] = *bytes {
            found.push((sequence, [d, e, f] != [0; 3]));
            bytes = &bytes[HEADER + u32::from_le_bytes([a, b, c, 0]) as usize..];
        }
        assert!(bytes.is_empty());
        found
    }

    #[test]
    fn what_goes_in_comes_out_however_it_is_cut() {
        for algorithm in ALGORITHMS {
            for bytes in [
                vec![7; 3],
                vec![7; 5000],
                noise(5000),
                vec![1; 3 * MOST + 5],
            ] {
                let wire = Codec::new(algorithm, End::Server).encode(&bytes);
                let steps = [1, 6, 7, 1000, wire.len()];
                for step in steps.into_iter().filter(|s| wire.len() / s < 10_000) {
                    let mut reader = Codec::new(algorithm, End::Client);
                    let mut plain = Vec::new();
                    for piece in wire.chunks(step) {
                        reader.push(piece);
                        plain.extend(all(&mut reader));
                    }
                    assert!(plain == bytes, "{algorithm:?} in steps of {step}");
                    assert!(reader.is_empty());
                }
            }
        }
    }

    #[test]
    fn little_and_what_does_not_get_smaller_goes_as_it_is() {
        for algorithm in ALGORITHMS {
            let mut codec = Codec::new(algorithm, End::Server);
            assert_eq!(frames(&codec.encode(&[0; LEAST - 1])), [(0, false)]);
            assert_eq!(frames(&codec.encode(&noise(900))), [(1, false)]);
            assert_eq!(frames(&codec.encode(&[0; LEAST])), [(2, true)]);
        }
    }

    #[test]
    fn a_reply_counts_on_from_its_own_command() {
        let mut client = Codec::new(Algorithm::Zlib, End::Client);
        let mut server = Codec::new(Algorithm::Zlib, End::Server);
        let ping = [1, 0, 0, 0, 14];
        server.push(&client.encode(&ping));
        server.push(&client.encode(&ping));
        for _ in 0..2 {
            assert_eq!(server.take_frame(), Ok(Some(ping.to_vec())));
            assert_eq!(frames(&server.encode(b"ok")), [(1, false)]);
            assert_eq!(frames(&server.encode(b"ok")), [(2, false)]);
        }
    }

    #[test]
    fn each_command_begins_at_zero_and_a_file_counts_on() {
        let mut client = Codec::new(Algorithm::Zlib, End::Client);
        let ping = [1, 0, 0, 0, 14];
        let twice = [ping, ping].concat();
        assert_eq!(frames(&client.encode(&twice)), [(0, false), (0, false)]);
        // in pieces: the frames of one command count on
        assert_eq!(frames(&client.encode(&ping[..2])), [(1, false)]);
        let full = [&[255, 255, 255, 0][..], &[3; FULL], &[1, 0, 0, 1, 9]].concat();
        let count = frames(&Codec::new(Algorithm::Zlib, End::Client).encode(&full));
        let wanted: Vec<(u8, bool)> = (0..count.len()).map(|n| (n as u8, true)).collect();
        assert_eq!(count[..count.len() - 1], wanted[..count.len() - 1]);

        let mut client = Codec::new(Algorithm::Zlib, End::Client);
        client.encode(&ping);
        client.push(&Codec::new(Algorithm::Zlib, End::Server).encode(b"file?"));
        client.take_frame().expect("well-formed");
        let mut sequence = 2u8;
        for n in 1..=600u32 {
            let seen = frames(&client.encode(&[1, 0, 0, sequence, 65]));
            assert_eq!(seen, [(n as u8, false)]);
            sequence = sequence.wrapping_add(1);
        }
        client.encode(&[0, 0, 0, sequence]);
        assert_eq!(frames(&client.encode(&ping)), [(0, false)]);
    }

    #[test]
    fn frames_that_lie_are_refused() {
        for algorithm in ALGORITHMS {
            let honest = Codec::new(algorithm, End::Server).encode(&[5; 4000]);
            for (at, change) in [(4, 1u8), (5, 1), (HEADER + 3, 0x55), (HEADER, 0xff)] {
                let mut wire = honest.clone();
                wire[at] = wire[at].wrapping_add(change);
                let mut codec = Codec::new(algorithm, End::Client);
                codec.push(&wire);
                assert!(codec.take_frame().is_err(), "{algorithm:?} {at}");
            }
            let mut codec = Codec::new(algorithm, End::Client);
            codec.push(&[3, 0, 0, 0, 255, 255, 255, 1, 2, 3]);
            assert!(codec.take_frame().is_err());
        }
    }

    #[test]
    fn empty_frames_are_nothing() {
        let mut codec = Codec::new(Algorithm::Zlib, End::Server);
        codec.push(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 9]);
        assert_eq!(codec.take_frame(), Ok(Some(vec![9])));
        assert_eq!(codec.take_frame(), Ok(None));
    }
}
