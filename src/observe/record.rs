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
/// Where these begin.
const AT_LENGTHS: usize = 73;
const AT_TEXTS: usize = AT_LENGTHS + 5 * 4;

impl Record<'_> {
    /// A statement of nobody that ran nowhere.
    pub const EMPTY: Record<'static> = Record {
        event: Event::Statement,
        audited: false,
        slow: false,
        truncated: false,
        ran: Ran::Local,
        command: 0,
        error: 0,
        connection: 0,
        server: u32::MAX,
        at: 0,
        duration: 0,
        rows: 0,
        bytes: 0,
        digest: 0,
        client: None,
        user: "",
        schema: b"",
        text: b"",
        shards: "",
        policy: "",
        denied: false,
    };

    /// Replaces what `out` holds.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let texts = [
            self.user.as_bytes(),
            self.schema,
            self.policy.as_bytes(),
            self.text,
            self.shards.as_bytes(),
        ];
        out.clear();
        out.extend_from_slice(&self.head(&texts));
        for text in texts {
            out.extend_from_slice(text);
        }
    }

    /// All but the texts, at places that never change.
    fn head(&self, texts: &[&[u8]; 5]) -> [u8; AT_TEXTS] {
        let flags = u8::from(self.audited)
            | u8::from(self.slow) << 1
            | u8::from(self.truncated) << 2
            | u8::from(self.denied) << 3;
        let mut head = [0; AT_TEXTS];
        head[..4].copy_from_slice(&[self.event as u8, flags, self.ran as u8, self.command]);
        head[4..6].copy_from_slice(&self.error.to_le_bytes());
        head[6..10].copy_from_slice(&self.connection.to_le_bytes());
        head[10..14].copy_from_slice(&self.server.to_le_bytes());
        head[14..22].copy_from_slice(&self.at.to_le_bytes());
        head[22..30].copy_from_slice(&self.duration.to_le_bytes());
        head[30..38].copy_from_slice(&self.rows.to_le_bytes());
        head[38..46].copy_from_slice(&self.bytes.to_le_bytes());
        head[46..54].copy_from_slice(&self.digest.to_le_bytes());
        if let Some(address) = &self.client {
            let (kind, ip) = match address.ip().to_canonical() {
                IpAddr::V4(ip) => (4, ip.to_ipv6_mapped().octets()),
                IpAddr::V6(ip) => (6, ip.octets()),
            };
            head[54] = kind;
            head[55..57].copy_from_slice(&address.port().to_le_bytes());
            head[57..AT_LENGTHS].copy_from_slice(&ip);
        }
        for (at, text) in texts.iter().enumerate() {
            let start = AT_LENGTHS + 4 * at;
            head[start..start + 4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        }
        head
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
        let lengths = [at.u32()?, at.u32()?, at.u32()?, at.u32()?, at.u32()?];
        let [user, schema, policy, text, shards] = lengths.map(|length| at.take(length as usize));
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
            user: std::str::from_utf8(user?).ok()?,
            schema: schema?,
            text: text?,
            shards: std::str::from_utf8(shards?).ok()?,
            policy: std::str::from_utf8(policy?).ok()?,
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
