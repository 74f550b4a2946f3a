//! The PROXY protocol, versions 1 and 2: a balancer tells whose connection it passes on, in front of everything
//! else. <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>
#[cfg(test)]
mod tests;

use super::Malformed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest header of version 1 with its line end (section 2.1).
const LONGEST_V1: usize = 107;
/// Longest header of version 2 that is taken, addresses and TLVs included. The protocol allows 65,551 bytes; what
/// balancers send (names, cloud endpoints, TLS details) has some hundred.
pub const LONGEST: usize = 4096;
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const FIXED_V2: usize = 16;
/// TLV type: CRC32c of the whole header, which a receiver has to check (section 2.2.3).
const CRC32C: u8 = 3;

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The balancer's own (LOCAL: a health check), or of somebody without an IP address (UNKNOWN, UNSPEC, Unix).
    Own,
    Client(SocketAddr),
}

/// A header of the two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Version {
    /// Version 1, else 2.
    pub fn number(n: u8) -> Version {
        match n {
            1 => Version::V1,
            _ => Version::V2,
        }
    }
}

/// Whether a connection that begins so begins with a header, or may: no client's first packet does, since it would
/// announce more than 850,000 bytes.
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PROX") || bytes.starts_with(&SIGNATURE[..4])
}

/// The header at the beginning of a connection: its length and what it says. None: more bytes are needed.
///
/// # Errors
/// It is no header, is too long, or contradicts itself: the connection has to be closed.
pub fn parse(bytes: &[u8]) -> Result<Option<(usize, Origin)>, Malformed> {
    match bytes.first() {
        None => Ok(None),
        Some(b'P') => parse_v1(bytes),
        Some(b'\r') => parse_v2(bytes),
        Some(_) => Err(wrong("no PROXY header where one has to be")),
    }
}

fn parse_v1(bytes: &[u8]) -> Result<Option<(usize, Origin)>, Malformed> {
    const NAME: &[u8] = b"PROXY ";
    let n = bytes.len().min(NAME.len());
    if bytes[..n] != NAME[..n] {
        return Err(wrong("no PROXY header where one has to be"));
    }
    let head = &bytes[..bytes.len().min(LONGEST_V1)];
    let Some(end) = head.windows(2).position(|two| two == b"\r\n") else {
        return match bytes.len() < LONGEST_V1 {
            true => Ok(None),
            false => Err(wrong("PROXY header of version 1 without an end")),
        };
    };
    let line = String::from_utf8_lossy(&head[NAME.len().min(end)..end]);
    Ok(Some((end + 2, origin_v1(&line)?)))
}

fn origin_v1(line: &str) -> Result<Origin, Malformed> {
    let mut words = line.split(' ');
    let family = words.next();
    // what stands behind UNKNOWN is to be ignored
    if family == Some("UNKNOWN") {
        return Ok(Origin::Own);
    }
    let mut word = || {
        words
            .next()
            .ok_or(wrong("PROXY header with a word too few"))
    };
    let (source, destination) = (word()?, word()?);
    let (source_port, destination_port) = (port(word()?)?, port(word()?)?);
    if words.next().is_some() {
        return Err(wrong("PROXY header with a word too many"));
    }
    let (source, _) = match family {
        Some("TCP4") => (v4(source)?, v4(destination)?),
        Some("TCP6") => (v6(source)?, v6(destination)?),
        _ => return Err(wrong("family of the PROXY header")),
    };
    let _ = destination_port;
    Ok(Origin::Client(SocketAddr::new(
        source.to_canonical(),
        source_port,
    )))
}

fn v4(text: &str) -> Result<IpAddr, Malformed> {
    let ip = text.parse::<Ipv4Addr>();
    ip.map(IpAddr::V4)
        .map_err(|_| wrong("IPv4 address of the PROXY header"))
}

fn v6(text: &str) -> Result<IpAddr, Malformed> {
    let ip = text.parse::<Ipv6Addr>();
    ip.map(IpAddr::V6)
        .map_err(|_| wrong("IPv6 address of the PROXY header"))
}

/// 0 to 65535, in digits, without leading zeros.
fn port(text: &str) -> Result<u16, Malformed> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let leading = text.len() > 1 && text.starts_with('0');
    let port = text.parse().ok().filter(|_| digits && !leading);
    port.ok_or(wrong("port of the PROXY header"))
}

fn parse_v2(bytes: &[u8]) -> Result<Option<(usize, Origin)>, Malformed> {
    let n = bytes.len().min(SIGNATURE.len());
    if bytes[..n] != SIGNATURE[..n] {
        return Err(wrong("no PROXY header where one has to be"));
    }
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_V2>() else {
        return Ok(None);
    };
    let [.., command, family, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if command >> 4 != 2 {
        return Err(wrong("version of the PROXY header"));
    }
    if FIXED_V2 + length > LONGEST {
        return Err(wrong("a PROXY header of more than 4096 bytes"));
    }
    let Some(body) = rest.get(..length) else {
        return Ok(None);
    };
    let whole = &bytes[..FIXED_V2 + length];
    let origin = match command & 15 {
        // whatever else a LOCAL header holds is to be ignored
        0 => Origin::Own,
        1 => {
            let (origin, tlvs) = origin_v2(family, body)?;
            check_tlvs(tlvs, whole)?;
            origin
        }
        _ => return Err(wrong("command of the PROXY header")),
    };
    Ok(Some((whole.len(), origin)))
}

/// What family and addresses say, and the TLVs behind them.
fn origin_v2(family: u8, body: &[u8]) -> Result<(Origin, &[u8]), Malformed> {
    let short = wrong("PROXY header shorter than its addresses");
    Ok(match family {
        0x00 => (Origin::Own, &[][..]),
        // stream or datagram over IPv4: two addresses, two ports
        0x11 | 0x12 => {
            let (&[a, b, c, d, .., high, low, _, _], tlvs) =
                body.split_first_chunk::<12>().ok_or(short)?;
            let port = u16::from_be_bytes([high, low]);
            let client = SocketAddr::from(([a, b, c, d], port));
            (Origin::Client(client), tlvs)
        }
        0x21 | 0x22 => {
            let (addresses, tlvs) = body.split_first_chunk::<36>().ok_or(short.clone())?;
            let (source, _) = addresses.split_first_chunk::<16>().ok_or(short)?;
            let [.., high, low, _, _] = *addresses;
            let ip = IpAddr::from(*source).to_canonical();
            let port = u16::from_be_bytes([high, low]);
            (Origin::Client(SocketAddr::new(ip, port)), tlvs)
        }
        0x31 | 0x32 => (Origin::Own, body.get(216..).ok_or(short)?),
        _ => return Err(wrong("family of the PROXY header")),
    })
}

/// Types that are not known are skipped.
fn check_tlvs(mut tlvs: &[u8], header: &[u8]) -> Result<(), Malformed> {
    while let Some((&[kind, high, low], rest)) = tlvs.split_first_chunk::<3>() {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (value, rest) = rest
            .split_at_checked(length)
            .ok_or(wrong("TLV of the PROXY header"))?;
        if kind == CRC32C {
            let at = header.len() - rest.len() - length;
            let told: [u8; 4] = value
                .try_into()
                .map_err(|_| wrong("checksum of the PROXY header"))?;
            if crc32c(header, at) != u32::from_be_bytes(told) {
                return Err(wrong("checksum of the PROXY header"));
            }
        }
        tlvs = rest;
    }
    match tlvs {
        [] => Ok(()),
        _ => Err(wrong("TLV of the PROXY header")),
    }
}

/// Of the bytes, with four zeros at `at` where the checksum itself stands (RFC 4960, appendix B).
fn crc32c(bytes: &[u8], at: usize) -> u32 {
    let mut crc = u32::MAX;
    for (i, byte) in bytes.iter().enumerate() {
        crc ^= match (at..at + 4).contains(&i) {
            true => 0,
            false => u32::from(*byte),
        };
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

/// The header that tells a server whose connection this is. `to`: the server's address, as this side knows it.
pub fn header(version: Version, origin: Origin, to: SocketAddr) -> Vec<u8> {
    let client = match origin {
        Origin::Client(client) => Some(client),
        Origin::Own => None,
    };
    match version {
        Version::V1 => header_v1(client, to).into_bytes(),
        Version::V2 => header_v2(client, to),
    }
}

fn header_v1(client: Option<SocketAddr>, to: SocketAddr) -> String {
    let Some(client) = client else {
        return "PROXY UNKNOWN\r\n".into();
    };
    let (source, destination) = one_family(client.ip(), to.ip());
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (source_port, port) = (client.port(), to.port());
    format!("PROXY {family} {source} {destination} {source_port} {port}\r\n")
}

fn header_v2(client: Option<SocketAddr>, to: SocketAddr) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    let Some(client) = client else {
        // LOCAL, UNSPEC, nothing behind it
        out.extend_from_slice(&[0x20, 0x00, 0, 0]);
        return out;
    };
    let (source, destination) = one_family(client.ip(), to.ip());
    let (family, length) = if source.is_ipv4() {
        (0x11, 12)
    } else {
        (0x21, 36)
    };
    out.extend_from_slice(&[0x21, family, 0, length]);
    for ip in [source, destination] {
        match ip {
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
    }
    for port in [client.port(), to.port()] {
        out.extend_from_slice(&port.to_be_bytes());
    }
    out
}

/// A header has one family: where they differ both are given as IPv6.
fn one_family(a: IpAddr, b: IpAddr) -> (IpAddr, IpAddr) {
    let mapped = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        v6 => v6,
    };
    match a.is_ipv4() == b.is_ipv4() {
        true => (a, b),
        false => (mapped(a), mapped(b)),
    }
}

const fn wrong(what: &'static str) -> Malformed {
    Malformed { what }
}
