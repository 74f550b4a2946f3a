//! The protocol's basic types: fixed and length-encoded integers, NUL-ended and length-encoded
//! strings. https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html

use super::Malformed;

/// Reads a payload from the front. Every method names the field it reads, for [`Malformed`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        if n > self.bytes.len() {
            return Err(Malformed { what });
        }
        let (taken, rest) = self.bytes.split_at(n);
        self.bytes = rest;
        Ok(taken)
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.fixed(1, what)? as u8)
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(self.fixed(2, what)? as u16)
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(self.fixed(4, what)? as u32)
    }

    /// Length-encoded integer. 0xfb (NULL) and 0xff (ERR) begin none.
    pub fn lenenc(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.u8(what)? {
            first @ 0..=0xfa => Ok(u64::from(first)),
            0xfc => self.fixed(2, what),
            0xfd => self.fixed(3, what),
            0xfe => self.fixed(8, what),
            _ => Err(Malformed { what }),
        }
    }

    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.lenenc(what)?).map_err(|_| Malformed { what })?;
        self.take(length, what)
    }

    /// Bytes up to a NUL, which is consumed and not returned.
    pub fn nul(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let end = memchr::memchr(0, self.bytes).ok_or(Malformed { what })?;
        let taken = self.take(end, what)?;
        self.take(1, what)?;
        Ok(taken)
    }

    /// As [`Reader::nul`], but the end of the payload ends the string too: some peers leave out
    /// the last NUL.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.bytes);
        let (taken, rest) = self.bytes.split_at(end.unwrap_or(self.bytes.len()));
        self.bytes = rest.get(1..).unwrap_or_default();
        taken
    }

    fn fixed(&mut self, n: usize, what: &'static str) -> Result<u64, Malformed> {
        let little_endian = |value, byte: &u8| (value << 8) | u64::from(*byte);
        Ok(self.take(n, what)?.iter().rev().fold(0, little_endian))
    }
}

pub(super) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => put_prefixed(out, 0xfc, &bytes[..2]),
        0x1_0000..=0xff_ffff => put_prefixed(out, 0xfd, &bytes[..3]),
        _ => put_prefixed(out, 0xfe, &bytes),
    }
}

pub(super) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A NUL inside would end the string for the peer, so the text stops there.
pub(super) fn put_nul(out: &mut Vec<u8>, text: &[u8]) {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    out.extend_from_slice(&text[..end]);
    out.push(0);
}

/// Text of a peer. Bytes that are not UTF-8 become U+FFFD: such a name is shown, and matches none.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn put_prefixed(out: &mut Vec<u8>, prefix: u8, bytes: &[u8]) {
    out.push(prefix);
    out.extend_from_slice(bytes);
}
