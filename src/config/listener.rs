//! `proxy.listen`: addresses for clients, and what holds for those who come that way.
use super::walk::{Findings, Found, Section};
use super::{addresses, tls, value};
use super::{Addresses, Listen, Listener, ListenerTls};
use toml::de::DeValue;

/// Addresses, each by itself or in a table with what holds for its clients. `offered`: what `[tls]` says;
/// `compression`: what `[proxy]` says.
pub(super) fn read(
    section: &mut Section<'_, '_>,
    offered: Option<ListenerTls>,
    compression: bool,
    findings: &Findings<'_>,
) -> Vec<Found<Listener>> {
    let expected = "a list of addresses, or of tables with an address";
    let members = section.list("listen", expected).unwrap_or_default();
    if section.lacks_members("listen") {
        let message = "needs at least one address for clients, such as [\"0.0.0.0:6033\"]";
        findings.error(section.at, &section.path_of("listen"), message);
    }
    let mut listeners: Vec<Found<Listener>> = Vec::new();
    for member in members {
        let Some(found) = listener(section, member, offered, compression, findings) else {
            continue;
        };
        let address = &found.value.address;
        if listeners
            .iter()
            .any(|other| other.value.address == *address)
        {
            findings.error(
                found.at,
                &found.key,
                format!("{address} is in the list twice"),
            );
        } else {
            listeners.push(found);
        }
    }
    listeners
}

fn listener(
    section: &Section<'_, '_>,
    member: Found<&DeValue<'_>>,
    offered: Option<ListenerTls>,
    compression: bool,
    findings: &Findings<'_>,
) -> Option<Found<Listener>> {
    let usual = offered.unwrap_or(ListenerTls::Off);
    if let DeValue::String(text) = member.value {
        let text = Found {
            value: text.as_ref(),
            at: member.at,
            key: member.key,
        };
        let mut found = at_address(text, usual, findings)?;
        found.value.compression = compression;
        return Some(found);
    }
    let mut table = section.open_member("listen", "an address or a table", member)?;
    let address = table.required("address", "where clients connect, such as \"0.0.0.0:6033\"");
    let tls = tls::listener_mode(&mut table, "tls", findings);
    if let (Some(ListenerTls::Optional | ListenerTls::Required), None) = (tls, offered) {
        let at = table.string("tls")?;
        tls::needs_section(&at, findings);
    }
    let addresses = addresses::read(&mut table, findings);
    let nobody = "where nobody sends PROXY headers";
    let balancers = addresses::networks(&mut table, "proxy_protocol", nobody, findings);
    let found = address.and_then(|at| at_address(at, tls.unwrap_or(usual), findings));
    let compression = table.boolean("compression", compression);
    if matches!(&found, Some(at) if matches!(at.value.address, Listen::Unix(_))) {
        has_no_addresses(&table, findings);
    }
    table.finish();
    let mut found = found?;
    found.value.addresses = addresses;
    found.value.balancers = balancers;
    found.value.compression = compression;
    Some(found)
}

fn has_no_addresses(table: &Section<'_, '_>, findings: &Findings<'_>) {
    for key in ["allow", "deny", "proxy_protocol"] {
        if table.has(key) {
            let message = "the clients of a Unix socket have no address: the permissions of its folder say who \
                           may connect";
            findings.error(table.at, &table.path_of(key), message);
        }
    }
}

fn at_address(
    text: Found<&str>,
    tls: ListenerTls,
    findings: &Findings<'_>,
) -> Option<Found<Listener>> {
    let address = value::listen(text.value)
        .map_err(|message| findings.error(text.at, &text.key, message))
        .ok()?;
    Some(Found {
        value: Listener {
            address,
            tls,
            addresses: Addresses::default(),
            balancers: Vec::new(),
            compression: true,
        },
        at: text.at,
        key: text.key,
    })
}
