//! Where clients may come from: `allow` and `deny` of listeners and users.
use super::value;
use super::walk::{Findings, Found, Section};
use std::net::IpAddr;

/// A network of client addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    pub address: IpAddr,
    /// Leading bits that count: 0..=32 for IPv4, 0..=128 for IPv6.
    pub prefix: u8,
}

impl Cidr {
    /// Whether `client` is in this network. An IPv4 client that reached an IPv6 listener
    /// (`::ffff:a.b.c.d`) is matched as IPv4.
    pub fn contains(&self, client: IpAddr) -> bool {
        match (self.address, client.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix))
                    .unwrap_or(0);
                u32::from(net) & mask == u32::from(ip) & mask
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix))
                    .unwrap_or(0);
                u128::from(net) & mask == u128::from(ip) & mask
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// `allow` and `deny`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Empty: any.
    pub allow: Vec<Cidr>,
    /// Takes precedence over `allow`.
    pub deny: Vec<Cidr>,
}

impl Addresses {
    /// Whether a client of this address may come in. What is denied stays denied, however narrow an `allow` is.
    #[inline]
    pub fn admit(&self, client: IpAddr) -> bool {
        let has = |list: &[Cidr]| list.iter().any(|network| network.contains(client));
        !has(&self.deny) && (self.allow.is_empty() || has(&self.allow))
    }

    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}

/// `allow` and `deny` of a section.
pub(super) fn read(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Addresses {
    Addresses {
        // an empty list reads as "nobody" but would mean "anybody"
        allow: networks(section, "allow", "to allow every address", findings),
        deny: networks(section, "deny", "to deny no address", findings),
    }
}

/// A list of networks; empty where the key is absent. `otherwise`: what leaving it out is for.
pub(super) fn networks(
    section: &mut Section<'_, '_>,
    key: &'static str,
    otherwise: &str,
    findings: &Findings<'_>,
) -> Vec<Cidr> {
    let Some(texts) = section.strings(key) else {
        return Vec::new();
    };
    if section.lacks_members(key) {
        findings.error(
            section.at,
            &section.path_of(key),
            format!("is empty; leave it out {otherwise}"),
        );
    }
    let parse = |text: Found<&str>| {
        let parsed = value::cidr(text.value);
        parsed
            .map_err(|message| findings.error(text.at, &text.key, message))
            .ok()
    };
    texts.into_iter().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<Cidr> {
        texts.iter().map(|t| value::cidr(t).unwrap()).collect()
    }

    #[test]
    fn deny_takes_precedence_and_an_absent_allow_means_any() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let any = Addresses::default();
        assert!(any.admit(ip("1.2.3.4")) && any.admit(ip("::1")) && any.is_empty());
        let both = Addresses {
            allow: list(&["10.0.0.0/8", "2001:db8::/32"]),
            deny: list(&["10.9.0.0/16", "2001:db8:bad::/48"]),
        };
        for (client, admitted) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.9.0.1", false),
            ("::ffff:10.9.0.1", false),
            ("11.0.0.1", false),
            ("2001:db8::1", true),
            ("2001:db8:bad::1", false),
            ("::1", false),
        ] {
            assert_eq!(both.admit(ip(client)), admitted, "{client}");
        }
        let all_but = Addresses {
            allow: Vec::new(),
            deny: list(&["0.0.0.0/0"]),
        };
        assert!(!all_but.admit(ip("1.2.3.4")) && !all_but.admit(ip("::ffff:1.2.3.4")));
        assert!(all_but.admit(ip("::1")));
    }

    /// `1.2.3.4` written as the IPv6 network it is mapped to.
    #[test]
    fn a_mapped_network_is_the_ipv4_network() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mapped = value::cidr("::ffff:10.0.0.0/104").unwrap();
        assert_eq!(mapped, value::cidr("10.0.0.0/8").unwrap());
        assert!(mapped.contains(ip("10.4.5.6")) && mapped.contains(ip("::ffff:10.4.5.6")));
        // wider than the mapped addresses: an IPv6 network
        assert!(value::cidr("::/0").unwrap().contains(ip("::1")));
    }
}
