//! One statement or login for the audit and the slow log: its fields, and their bytes in a [`super::ring`].
use std::net::{IpAddr, SocketAddr};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Statement,
    Login,
    LoginFailed,
    /// A statement for a policy's list.
    Learnt,
}

/// Where the statement ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// On no server.
    Local,
    Primary,
    Replica,
    /// On several shards: see [`Record::shards`].
    Shards,
}

/// Written by a worker, read by the thread that writes them down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    pub event: Event,
    /// For the audit, for the slow log, or both.
    pub audited: bool,
    pub slow: bool,
    /// The text is cut.
    pub truncated: bool,
    pub ran: Ran,
    /// COM_*.
    pub command: u8,
    pub error: u16,
    /// Client-visible connection id.
    pub connection: u32,
    /// `topology::ServerId`; u32::MAX: none.
    pub server: u32,
    /// Microseconds since 1970, at the statement's end.
    pub at: u64,
    /// Microseconds.
    pub duration: u64,
    pub rows: u64,
    pub bytes: u64,
    pub digest: u64,
    /// None: a Unix socket.
    pub client: Option<SocketAddr>,
    pub user: &'a str,
    pub schema: &'a [u8],
    pub text: &'a [u8],
    /// `group/shard` of each that it ran on, separated by spaces; empty: it is no sharded statement.
    pub shards: &'a str,
    /// Of the policy that denied it, or noted it.
    pub policy: &'a str,
    pub denied: bool,
}

/// Bytes of a record without its texts.
pub const FIXED: usize = 96;

impl Record<'_> {
    /// Replaces what `out` holds.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        let flags = u8::from(self.audited)
            | u8::from(self.slow) << 1
            | u8::from(self.truncated) << 2
            | u8::from(self.denied) << 3;
        out.extend_from_slice(&[self.event as u8, flags, self.ran as u8, self.command]);
        out.extend_from_slice(&self.error.to_le_bytes());
        for n in [self.connection, self.server] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        for n in [self.at, self.duration, self.rows, self.bytes, self.digest] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        let (kind, port, ip) = match self.client {
            None => (0, 0, [0; 16]),
            Some(address) => match address.ip().to_canonical() {
                IpAddr::V4(ip) => (4, address.port(), ip.to_ipv6_mapped().octets()),
                IpAddr::V6(ip) => (6, address.port(), ip.octets()),
            },
        };
        out.push(kind);
        out.extend_from_slice(&u16::to_le_bytes(port));
        out.extend_from_slice(&ip);
        for text in [
            self.user.as_bytes(),
            self.schema,
            self.policy.as_bytes(),
            self.text,
            self.shards.as_bytes(),
        ] {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text);
        }
    }

    /// None: these are not the bytes of a record.
    pub fn decode(bytes: &[u8]) -> Option<Record<'_>> {
        let mut at = Fields(bytes);
        let [event, flags, ran, command] = at.array()?;
        let error = u16::from_le_bytes(at.array()?);
        let (connection, server) = (at.u32()?, at.u32()?);
        let (time, duration, rows, bytes, digest) =
            (at.u64()?, at.u64()?, at.u64()?, at.u64()?, at.u64()?);
        let [kind] = at.array()?;
        let port = u16::from_le_bytes(at.array()?);
        let ip = IpAddr::from(at.array::<16>()?).to_canonical();
        let user = std::str::from_utf8(at.text()?).ok()?;
        let schema = at.text()?;
        let policy = std::str::from_utf8(at.text()?).ok()?;
        let text = at.text()?;
        let shards = std::str::from_utf8(at.text()?).ok()?;
        Some(Record {
            event: match event {
                0 => Event::Statement,
                1 => Event::Login,
                2 => Event::LoginFailed,
                _ => Event::Learnt,
            },
            audited: flags & 1 != 0,
            slow: flags & 2 != 0,
            truncated: flags & 4 != 0,
            denied: flags & 8 != 0,
            ran: match ran {
                0 => Ran::Local,
                1 => Ran::Primary,
                2 => Ran::Replica,
                _ => Ran::Shards,
            },
            command,
            error,
            connection,
            server,
            at: time,
            duration,
            rows,
            bytes,
            digest,
            client: (kind != 0).then(|| SocketAddr::new(ip, port)),
            user,
            schema,
            text,
            shards,
            policy,
        })
    }
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_no_part_of_one_is_a_record() {
        let record = Record {
            event: Event::Login,
            audited: true,
            slow: false,
            truncated: true,
            ran: Ran::Replica,
            command: 3,
            error: 1064,
            connection: 7,
            server: 2,
            at: 1_700_000_000_000_000,
            duration: 123,
            rows: 5,
            bytes: 600,
            digest: u64::MAX,
            client: Some("10.0.0.9:4242".parse().unwrap()),
            user: "äpp",
            schema: b"shop",
            text: b"SELECT 1",
            shards: "s0/0 s1/1",
            policy: "",
            denied: true,
        };
        let mut bytes = vec![1, 2, 3];
        record.encode(&mut bytes);
        assert_eq!(Record::decode(&bytes), Some(record));
        assert!(bytes.len() - 4 - 4 - 8 - 9 - 3 < FIXED);
        for cut in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..cut]), None, "{cut}");
        }
        let unix = Record {
            client: None,
            ..record
        };
        unix.encode(&mut bytes);
        assert_eq!(Record::decode(&bytes), Some(unix));
        let v6 = Record {
            client: Some("[fd00::1]:1".parse().unwrap()),
            ..record
        };
        v6.encode(&mut bytes);
        assert_eq!(Record::decode(&bytes), Some(v6));
    }
}
