//! A client's side of the compressed protocol, with its own framing, and strict about the servers' counting.

use super::raw::Socket;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::Compression;
use std::io::{self, Read, Write};

/// Less is sent as it is.
const LEAST: usize = 50;

pub struct Compressed {
    pub inner: Socket,
    zstd: bool,
    /// Of the next frame, in either direction.
    sequence: u8,
    decoded: Vec<u8>,
    at: usize,
    /// Frames that came compressed, and all.
    pub packed_frames: usize,
    pub frames: usize,
}

impl Compressed {
    pub fn new(inner: Socket, zstd: bool) -> Compressed {
        Compressed {
            inner,
            zstd,
            sequence: 0,
            decoded: Vec::new(),
            at: 0,
            packed_frames: 0,
            frames: 0,
        }
    }

    fn read_frame(&mut self) -> io::Result<()> {
        let mut header = [0u8; 7];
        self.inner.read_exact(&mut header)?;
        let number =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]);
        let (length, before) = (number(0) as usize, number(4) as usize);
        assert_eq!(header[3], self.sequence, "frames are counted");
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = vec![0; length];
        self.inner.read_exact(&mut bytes)?;
        self.frames += 1;
        self.decoded = match before {
            0 => bytes,
            _ => {
                self.packed_frames += 1;
                let mut plain = Vec::new();
                match self.zstd {
                    true => plain = zstd::decode_all(&bytes[..])?,
                    false => drop(ZlibDecoder::new(&bytes[..]).read_to_end(&mut plain)?),
                }
                assert_eq!(plain.len(), before, "a frame holds what it says");
                plain
            }
        };
        self.at = 0;
        Ok(())
    }

    fn write_frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        let packed = match (bytes.len() < LEAST, self.zstd) {
            (true, _) => None,
            (false, true) => Some(zstd::encode_all(bytes, 3)?),
            (false, false) => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                Some(encoder.finish()?)
            }
        };
        let packed = packed.filter(|p| p.len() < bytes.len());
        let (what, before) = match &packed {
            Some(packed) => (packed.as_slice(), bytes.len() as u32),
            None => (bytes, 0),
        };
        let (length, before) = ((what.len() as u32).to_le_bytes(), before.to_le_bytes());
        let mut frame = vec![length[0], length[1], length[2], self.sequence];
        frame.extend_from_slice(&before[..3]);
        frame.extend_from_slice(what);
        self.sequence = self.sequence.wrapping_add(1);
        self.inner.write_all(&frame)
    }
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.decoded.len() {
            self.read_frame()?;
        }
        let length = buffer.len().min(self.decoded.len() - self.at);
        buffer[..length].copy_from_slice(&self.decoded[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// A write is one packet, as the client sends them.
impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.get(3) == Some(&0) {
            self.sequence = 0;
        }
        for part in bytes.chunks(0xff_ffff) {
            self.write_frame(part)?;
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
