//! The host part of an account name: what it matches, and which of several that match comes first.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/connection-access.html>; MariaDB's order is its own, as its
//! servers show it (the tests ask real ones of both kinds).
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who connects, as a server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// None: by a Unix socket.
    pub ip: Option<IpAddr>,
    /// "localhost" for the server's own machine; other names only where a server told it.
    pub name: Option<Box<str>>,
}

impl Host {
    /// A client by its address. Names are not looked up: only the machine's own is known.
    pub fn of_address(ip: IpAddr, skip_name_resolve: bool) -> Host {
        let ip = ip.to_canonical();
        // servers know this one address of their own by name, and look the others up
        let own = ip == IpAddr::V4(Ipv4Addr::LOCALHOST) || ip == IpAddr::V6(Ipv6Addr::LOCALHOST);
        let local = own && !skip_name_resolve;
        Host {
            ip: Some(ip),
            name: local.then(|| "localhost".into()),
        }
    }

    /// A server with `--skip-grant-tables` tells no host: it has no accounts, and everybody may do everything.
    pub fn is_unknown(&self) -> bool {
        self.name.as_deref() == Some("")
    }

    /// A client of a Unix socket.
    pub fn local() -> Host {
        Host {
            ip: None,
            name: Some("localhost".into()),
        }
    }
}

impl std::fmt::Display for Host {
    /// As servers name a client in errors.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.name, self.ip) {
            (Some(name), _) => f.write_str(name),
            (None, Some(ip)) => write!(f, "{ip}"),
            (None, None) => f.write_str("localhost"),
        }
    }
}

/// The host part of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    text: Box<str>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Address(IpAddr),
    /// Network and mask, both as numbers; MySQL writes a prefix length, both write masks.
    Network {
        network: u32,
        mask: u32,
        prefix_length: bool,
    },
    /// A name without wildcards.
    Name,
    /// With `%` or `_`.
    Wild,
    /// `%`
    Any,
    /// Empty: as `%`, and behind it.
    Empty,
}

impl HostPattern {
    /// `mariadb`: a prefix length (`10.0.0.0/8`) is no network there but a name that nobody has.
    pub fn new(text: &str, mariadb: bool) -> HostPattern {
        HostPattern {
            text: text.into(),
            kind: kind(text, mariadb),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn matches(&self, host: &Host) -> bool {
        match &self.kind {
            Kind::Any | Kind::Empty => true,
            Kind::Address(own) => host.ip == Some(*own),
            Kind::Network { network, mask, .. } => match host.ip {
                Some(IpAddr::V4(ip)) => u32::from(ip) & mask == *network,
                _ => false,
            },
            Kind::Name => host
                .name
                .as_deref()
                .is_some_and(|name| name.eq_ignore_ascii_case(&self.text)),
            Kind::Wild => {
                let ip = host.ip.map(|ip| ip.to_string());
                let texts = host.name.as_deref().into_iter().chain(ip.as_deref());
                texts
                    .into_iter()
                    .any(|text| like(text.as_bytes(), self.text.as_bytes()))
            }
        }
    }

    /// MySQL (8.0.23 and later): addresses, prefix lengths, masks, names, then wildcards by what stands in
    /// front of the first one; ascending.
    pub(super) fn mysql_rank(&self) -> (u8, Reverse<u32>) {
        let rank = |class, detail| (class, Reverse(detail));
        match self.kind {
            Kind::Address(_) => rank(0, 0),
            Kind::Network {
                mask,
                prefix_length: true,
                ..
            } => rank(1, mask),
            Kind::Network { mask, .. } => rank(2, mask),
            Kind::Name => rank(3, 0),
            Kind::Wild => rank(4, first_wildcard(&self.text)),
            Kind::Any => rank(5, 0),
            Kind::Empty => rank(6, 0),
        }
    }

    /// MariaDB: whatever has no wildcard; then by the length of the shortest text that matches, the fewer
    /// wildcards and the earlier ones first; ascending.
    pub(super) fn mariadb_rank(&self) -> (u8, Reverse<usize>, usize, usize) {
        match self.kind {
            Kind::Empty => (2, Reverse(0), 0, 0),
            Kind::Any | Kind::Wild => {
                let (shortest, count, places) = wildcards(&self.text);
                (1, Reverse(shortest), count, places)
            }
            _ => (0, Reverse(0), 0, 0),
        }
    }
}

fn kind(text: &str, mariadb: bool) -> Kind {
    if text.is_empty() {
        return Kind::Empty;
    }
    if text == "%" {
        return Kind::Any;
    }
    if let Some(network) = text
        .split_once('/')
        .and_then(|(ip, mask)| network(ip, mask, mariadb))
    {
        return network;
    }
    if let Ok(ip) = text.parse() {
        return Kind::Address(ip);
    }
    if text.bytes().any(|b| matches!(b, b'%' | b'_')) {
        return Kind::Wild;
    }
    Kind::Name
}

fn network(ip: &str, mask: &str, mariadb: bool) -> Option<Kind> {
    let network = u32::from(ip.parse::<Ipv4Addr>().ok()?);
    let prefix_length = !mask.contains('.');
    let mask = if !prefix_length {
        u32::from(mask.parse::<Ipv4Addr>().ok()?)
    } else if mariadb {
        return None;
    } else {
        let bits: u32 = mask.parse().ok().filter(|bits| *bits <= 32)?;
        u32::MAX.checked_shl(32 - bits).unwrap_or(0)
    };
    Some(Kind::Network {
        network,
        mask,
        prefix_length,
    })
}

/// Its place, counted from one, backslashes left out.
fn first_wildcard(text: &str) -> u32 {
    let mut bytes = text.bytes();
    let mut place = 1;
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' | b'_' => break,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
        place += 1;
    }
    place
}

/// Length of the shortest text that matches, number of wildcards, sum of their places.
fn wildcards(text: &str) -> (usize, usize, usize) {
    let (mut shortest, mut count, mut places, mut place) = (0, 0, 0, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => (count, places) = (count + 1, places + place),
            b'_' => {
                shortest += 1;
                (count, places) = (count + 1, places + place);
            }
            b'\\' => {
                shortest += usize::from(bytes.next().is_some());
            }
            _ => shortest += 1,
        }
        place += 1;
    }
    (shortest, count, places)
}

/// SQL's LIKE without regard to case: `%` any number of bytes, `_` one, a backslash takes the next as it is.
/// Linear in the product of the lengths, which are at most 255 each.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'%') => {
                retry = Some((t, p + 1));
                p += 1;
                continue;
            }
            None if t == text.len() => return true,
            None => None,
            Some(b'_') => text.get(t).map(|_| 1),
            Some(b'\\') if pattern.len() > p + 1 => {
                equal(text.get(t), pattern.get(p + 1)).then_some(2)
            }
            Some(_) => equal(text.get(t), pattern.get(p)).then_some(1),
        };
        match (step, retry) {
            (Some(width), _) => (t, p) = (t + 1, p + width),
            (None, Some((from, after))) if from < text.len() => {
                retry = Some((from + 1, after));
                (t, p) = (from + 1, after);
            }
            (None, _) => return false,
        }
    }
}

fn equal(a: Option<&u8>, b: Option<&u8>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a.eq_ignore_ascii_case(b))
}
