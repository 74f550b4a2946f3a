//! Addresses, networks and password hashes from text. Pure; the errors are the half sentence that
//! follows the key's name.
use super::{Address, Cidr, Listen, Secret};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Longest path of a Unix socket: `sun_path` without its NUL (unix(7)).
const MAX_SOCKET_PATH: usize = 107;
/// Lengths of the parts of a caching_sha2_password hash.
const SALT: usize = 20;
const DIGEST: usize = 43;

/// A server's address: `host:port`, `[v6]:port`, `unix:/path`.
pub(super) fn address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(Address::Unix(socket_path(path)?));
    }
    let (host, port) = host_and_port(text)?;
    Ok(Address::Tcp(host, port))
}

/// A client listener: `ip:port`, `[v6]:port`, `unix:/path`.
pub(super) fn listen(text: &str) -> Result<Listen, String> {
    match text.strip_prefix("unix:") {
        Some(path) => socket_path(path).map(Listen::Unix),
        None => socket_address(text).map(Listen::Tcp),
    }
}

/// `ip:port` or `[v6]:port`; names are not looked up for an address to listen on.
pub(super) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = host_and_port(text)?;
    match host.parse::<IpAddr>() {
        Ok(ip) => Ok(SocketAddr::new(ip, port)),
        Err(_) => Err(format!(
            "{host:?} is not an IP address; a listener needs one, such as 127.0.0.1 or [::]"
        )),
    }
}

/// `10.0.0.0/8`, `2001:db8::/32`, or one address.
pub(super) fn cidr(text: &str) -> Result<Cidr, String> {
    let (ip, prefix) = match text.split_once('/') {
        Some((ip, prefix)) => (ip, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = ip.parse().map_err(|_| {
        format!("{text:?} is not an address or a network, such as 10.0.0.0/8 or ::1")
    })?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => bits,
        Some(p) => number(p)
            .and_then(|p| u8::try_from(p).ok())
            .filter(|p| *p <= bits)
            .ok_or_else(|| {
                format!("{text:?} has no prefix length from 0 to {bits} behind the slash")
            })?,
    };
    let network = network_of(address, prefix);
    if network != address {
        return Err(format!(
            "{text:?} has bits behind its prefix; did you mean \"{network}/{prefix}\"?"
        ));
    }
    Ok(match (address.to_canonical(), prefix.checked_sub(96)) {
        // written as the addresses that IPv4 is mapped to
        (IpAddr::V4(v4), Some(prefix)) if address.is_ipv6() => Cidr {
            address: IpAddr::V4(v4),
            prefix,
        },
        _ => Cidr { address, prefix },
    })
}

/// `*` and 40 hex digits (mysql_native_password), `$A$005$…` (caching_sha2_password), `$5$…` (sha256_password), or 43 characters of
/// base64 (ed25519's public key); any may be written as `0x` and the hex of its bytes, since salts hold unprintable bytes.
///
/// # Errors
/// Half a sentence about what is wrong.
pub fn password_hash(text: &str) -> Result<Secret, String> {
    // first: its letters may begin with 0x, and hex has no such length
    if let Some(key) = ed25519_key(text.as_bytes()) {
        return Ok(Secret::Ed25519(key));
    }
    let bytes = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => {
            hex(digits.as_bytes()).ok_or("the digits behind 0x are not pairs of hex digits")?
        }
        None => text.as_bytes().to_vec(),
    };
    if let Some(digits) = bytes.strip_prefix(b"*") {
        return native(digits);
    }
    if let Some(rest) = bytes.strip_prefix(b"$A$") {
        return caching_sha2(rest);
    }
    if let Some(rest) = bytes.strip_prefix(b"$5$") {
        return sha256(rest);
    }
    if let Some(key) = ed25519_key(&bytes) {
        return Ok(Secret::Ed25519(key));
    }
    Err("is none of \"*\" with 40 hex digits (mysql_native_password), \"$A$005$\" with salt and digest \
         (caching_sha2_password), \"$5$\" with salt and digest (sha256_password), 43 characters of base64 (ed25519), as text or as 0x and hex"
        .into())
}

/// 32 bytes as base64 without padding.
fn ed25519_key(text: &[u8]) -> Option<[u8; 32]> {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    engine.decode(text).ok()?.try_into().ok()
}

fn native(digits: &[u8]) -> Result<Secret, String> {
    hex(digits)
        .and_then(|bytes| <[u8; 20]>::try_from(bytes).ok())
        .map(Secret::Native)
        .ok_or_else(|| "a mysql_native_password hash is \"*\" and 40 hex digits".into())
}

/// `005$`, salt, digest. The count is three hex digits, in thousands of rounds.
fn caching_sha2(rest: &[u8]) -> Result<Secret, String> {
    let whole = || {
        format!("a caching_sha2_password hash is \"$A$005$\", {SALT} bytes of salt and {DIGEST} of digest")
    };
    let (count, rest) = rest.split_at_checked(3).ok_or_else(whole)?;
    let thousands = std::str::from_utf8(count)
        .ok()
        .filter(|c| c.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|c| u32::from_str_radix(c, 16).ok())
        .filter(|n| *n >= 5)
        .ok_or("the rounds of a caching_sha2_password hash are three hex digits from 005 to FFF")?;
    let body = rest
        .strip_prefix(b"$")
        .filter(|b| b.len() == SALT + DIGEST)
        .ok_or_else(whole)?;
    let (salt, digest) = body.split_at(SALT);
    sha_crypt(thousands * 1000, salt, digest)
}

/// Salt, `$`, digest; the rounds are SHA-crypt's usual ones.
fn sha256(rest: &[u8]) -> Result<Secret, String> {
    const ROUNDS: u32 = 5000;
    let parts = rest.split_at_checked(SALT).and_then(|(salt, digest)| {
        let digest = digest.strip_prefix(b"$")?;
        (digest.len() == DIGEST).then_some((salt, digest))
    });
    let (salt, digest) = parts.ok_or_else(|| {
        format!(
            "a sha256_password hash is \"$5$\", {SALT} bytes of salt, \"$\" and {DIGEST} of digest"
        )
    })?;
    sha_crypt(ROUNDS, salt, digest)
}

fn sha_crypt(rounds: u32, salt: &[u8], digest: &[u8]) -> Result<Secret, String> {
    if !digest
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/'))
    {
        return Err(
            "the digest of a caching_sha2_password or sha256_password hash holds only letters, digits, '.' and '/'"
                .into(),
        );
    }
    Ok(Secret::CachingSha2 {
        rounds,
        salt: salt.to_vec(),
        digest: digest.to_vec(),
    })
}

/// Host in its one spelling (lower case, shortest IPv6) so that equal addresses compare equal.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let example = "write host:port, [v6]:port or unix:/path";
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| format!("{text:?} has no port; {example}"))?;
    let host = match host.strip_prefix('[') {
        Some(rest) => {
            let inner = rest
                .strip_suffix(']')
                .ok_or_else(|| format!("{text:?} has no port; {example}"))?;
            let ip: Ipv6Addr = inner
                .parse()
                .map_err(|_| format!("{inner:?} is not an IPv6 address"))?;
            ip.to_string()
        }
        None if host.contains(':') => {
            return Err(format!(
                "{text:?}: an IPv6 address stands in brackets, such as [::1]:3306"
            ));
        }
        None => host_name(host)?,
    };
    let port = number(port)
        .filter(|p| (1..=65_535).contains(p))
        .and_then(|p| u16::try_from(p).ok())
        .ok_or_else(|| format!("{port:?} is not a port from 1 to 65535"))?;
    Ok((host, port))
}

fn host_name(host: &str) -> Result<String, String> {
    let numeric = !host.is_empty() && host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if numeric {
        let ip: Ipv4Addr = host
            .parse()
            .map_err(|_| format!("{host:?} is not an IPv4 address"))?;
        return Ok(ip.to_string());
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if host.is_empty() || host.len() > 253 || !host.bytes().all(fits) {
        return Err(format!("{host:?} is not a host name or an IP address"));
    }
    Ok(host.to_ascii_lowercase())
}

fn socket_path(path: &str) -> Result<PathBuf, String> {
    if !path.starts_with('/') {
        return Err(format!(
            "{path:?} is not an absolute path; write unix:/path"
        ));
    }
    if path.len() > MAX_SOCKET_PATH {
        return Err(format!(
            "the path has {} bytes; a Unix socket's has at most {MAX_SOCKET_PATH}",
            path.len()
        ));
    }
    if path.contains('\0') {
        return Err("the path holds a NUL".into());
    }
    Ok(PathBuf::from(path))
}

fn network_of(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}

/// Decimal digits only: `parse` alone would take "+8".
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| {
        char::from(b)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    if digits.len() % 2 != 0 {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| pair.iter().try_fold(0, |n, b| Some(n << 4 | digit(*b)?)))
        .collect()
}
