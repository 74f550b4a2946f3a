//! The sections `[[group]]` with their servers and monitors.
use super::proxy::{count, in_ms};
use super::secret::{self, Reader};
use super::tls::servers::{self as server_tls, GroupTls};
use super::value;
use super::walk::{nearest, Findings, Found, Number, Section};
use super::{
    Accounts, Address, Compression, Group, Listen, Listener, Monitor, Primary, ProxyHeaders,
    ReadYourWrites, Role, Server,
};
use std::collections::HashMap;
use std::net::IpAddr;

const WINDOW: Number = Number {
    key: "read_your_writes_window_ms",
    unit: "milliseconds",
    range: 0..3_600_001,
    default: 300,
};
const MAX_LAG: Number = Number {
    key: "max_replica_lag_ms",
    unit: "milliseconds",
    range: 1..86_400_001,
    default: 5_000,
};
const WEIGHT: Number = Number {
    key: "weight",
    unit: "shares",
    range: 0..10_001,
    default: 0,
};
const SERVER_CONNECTIONS: Number = Number {
    key: "max_connections",
    unit: "connections",
    range: 1..100_001,
    default: 200,
};
const INTERVAL: Number = Number {
    key: "interval_ms",
    unit: "milliseconds",
    range: 10..3_600_001,
    default: 1_000,
};
const ACCOUNTS_INTERVAL: Number = Number {
    key: "accounts_interval_ms",
    unit: "milliseconds",
    range: 100..86_400_001,
    default: 5_000,
};
/// Longest name of a group, in characters.
const MAX_NAME: usize = 64;

/// What earlier groups used, with its line.
#[derive(Default)]
struct Seen {
    names: HashMap<String, usize>,
    addresses: HashMap<Address, usize>,
}

/// Reads all groups. `listen` are Umpire's own addresses, which no server can have.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    listen: &[Listener],
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Vec<Group> {
    let sections = top.tables("group");
    if sections.is_empty() && !top.has("group") {
        findings.error(
            0,
            "group",
            "missing: at least one [[group]] with its servers",
        );
    }
    let mut seen = Seen::default();
    sections
        .into_iter()
        .map(|section| group(section, &mut seen, listen, findings, secrets))
        .collect()
}

/// Reports a name that no group has.
pub(super) fn known_group(found: &Found<&str>, groups: &[Group], findings: &Findings<'_>) {
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    known_name(found, &names, findings);
}

/// Reports a name that is not one of these names of groups.
pub(super) fn known_name(found: &Found<&str>, groups: &[&str], findings: &Findings<'_>) {
    if !groups.is_empty() && !groups.contains(&found.value) {
        let names = || groups.iter().copied().filter(|name| !name.is_empty());
        let hint = match nearest(found.value, names()) {
            Some(right) => format!("did you mean {right:?}?"),
            None => format!("there are: {}", names().collect::<Vec<_>>().join(", ")),
        };
        findings.error(
            found.at,
            &found.key,
            format!("there is no group {:?}; {hint}", found.value),
        );
    }
}

impl Group {
    /// What is believed of a server where nobody looks. Where the order decides and there is no monitor, that any of them
    /// may be written to.
    pub fn trusted_role(&self, server: &Server) -> Role {
        match (self.primary, &self.monitor) {
            (Some(Primary::First), None) => Role::Primary,
            _ => server.role,
        }
    }
}

/// A name of a group: not empty, printable. Reported when wrong.
fn name(
    section: &mut Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    findings: &Findings<'_>,
) -> String {
    let Some(found) = section.required("name", "every group needs a name") else {
        return String::new();
    };
    let name = found.value;
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        findings.error(
            found.at,
            &found.key,
            format!("a group's name has 1 to {MAX_NAME} printable characters"),
        );
    } else if let Some(line) = seen.insert(name.to_owned(), findings.line(found.at)) {
        findings.error(
            found.at,
            &found.key,
            format!("there is a group {name:?} already, at line {line}"),
        );
    }
    name.to_owned()
}

fn group(
    mut section: Section<'_, '_>,
    seen: &mut Seen,
    listen: &[Listener],
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Group {
    let tls = server_tls::group(&mut section, findings, secrets);
    let group = Group {
        name: name(&mut section, &mut seen.names, findings),
        servers: servers(&mut section, seen, listen, tls.as_ref(), findings),
        read_write_split: section.boolean("read_write_split", true),
        read_your_writes: read_your_writes(&mut section, findings),
        read_your_writes_window: in_ms(&mut section, &WINDOW),
        max_replica_lag: in_ms(&mut section, &MAX_LAG),
        monitor: section
            .table("monitor")
            .map(|table| monitor(table, findings, secrets)),
        primary: primary(&mut section, findings),
        accounts: accounts(&mut section, findings),
        accounts_interval: in_ms(&mut section, &ACCOUNTS_INTERVAL),
        proxy_protocol: proxy_protocol(&mut section, findings),
        compression: compression(&mut section, findings),
    };
    if group.accounts == Accounts::Server && group.monitor.is_none() {
        findings.error(
            section.at,
            &section.path_of("accounts"),
            "\"server\" needs a monitor account, which reads the servers' accounts: \
             monitor = { user = …, password = … }, with GRANT SELECT ON mysql.* on the servers",
        );
    }
    section.finish();
    group
}

fn read_your_writes(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> ReadYourWrites {
    let Some(found) = section.string("read_your_writes") else {
        return ReadYourWrites::Timer;
    };
    match found.value {
        "timer" => {}
        "off" => return ReadYourWrites::Off,
        "gtid" => {
            let version = env!("CARGO_PKG_VERSION");
            let message =
                format!("Umpire {version} does not support \"gtid\" yet; use \"timer\" or \"off\"");
            findings.error(found.at, &found.key, message);
        }
        other => findings.error(
            found.at,
            &found.key,
            format!("{other:?} is not one of \"timer\", \"off\""),
        ),
    }
    ReadYourWrites::Timer
}

fn primary(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Option<Primary> {
    let found = section.string("primary")?;
    match found.value {
        "writable" => Some(Primary::Writable),
        "first" => Some(Primary::First),
        other => {
            let message = format!("{other:?} is not one of \"writable\", \"first\"");
            findings.error(found.at, &found.key, message);
            None
        }
    }
}

fn accounts(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Accounts {
    let Some(found) = section.string("accounts") else {
        return Accounts::Configuration;
    };
    match found.value {
        "configuration" => {}
        "server" => return Accounts::Server,
        other => findings.error(
            found.at,
            &found.key,
            format!("{other:?} is not one of \"configuration\", \"server\""),
        ),
    }
    Accounts::Configuration
}

fn proxy_protocol(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Option<ProxyHeaders> {
    let version = section.string("proxy_protocol");
    let address = section.string("proxy_protocol_address");
    let version = match version.as_ref().map(|found| (found, found.value)) {
        None | Some((_, "off")) => None,
        Some((_, "v1")) => Some(1),
        Some((_, "v2")) => Some(2),
        Some((found, other)) => {
            let message = format!("{other:?} is not one of \"off\", \"v1\", \"v2\"");
            findings.error(found.at, &found.key, message);
            None
        }
    };
    let of_client = match address.as_ref().map(|found| (found, found.value)) {
        None | Some((_, "own")) => false,
        Some((found, "client")) => {
            if version.is_none() {
                let message = "needs proxy_protocol = \"v1\" or \"v2\"";
                findings.error(found.at, &found.key, message);
            }
            true
        }
        Some((found, other)) => {
            let message = format!("{other:?} is not one of \"own\", \"client\"");
            findings.error(found.at, &found.key, message);
            false
        }
    };
    Some(ProxyHeaders {
        version: version?,
        of_client,
    })
}

fn compression(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Compression {
    let Some(found) = section.string("compression") else {
        return Compression::Off;
    };
    match found.value {
        "off" => {}
        "zlib" => return Compression::Zlib,
        "zstd" => return Compression::Zstd,
        other => findings.error(
            found.at,
            &found.key,
            format!("{other:?} is not one of \"off\", \"zlib\", \"zstd\""),
        ),
    }
    Compression::Off
}

fn servers(
    section: &mut Section<'_, '_>,
    seen: &mut Seen,
    listen: &[Listener],
    tls: Option<&GroupTls>,
    findings: &Findings<'_>,
) -> Vec<Server> {
    let tables = section.tables("servers");
    if section.lacks_members("servers") {
        findings.error(
            section.at,
            &section.path_of("servers"),
            "a group needs at least one server",
        );
    }
    let mut servers: Vec<Server> = Vec::new();
    for mut table in tables {
        let at = table.at;
        let path = table.path.clone();
        let server = server(&mut table, &mut seen.addresses, listen, tls, findings);
        table.finish();
        if server.as_ref().is_some_and(|s| s.role == Role::Primary)
            && servers.iter().any(|s| s.role == Role::Primary)
        {
            findings.error(
                at,
                &path,
                "a second primary; a group has one, the others are replicas",
            );
        }
        servers.extend(server);
    }
    servers
}

fn server(
    table: &mut Section<'_, '_>,
    seen: &mut HashMap<Address, usize>,
    listen: &[Listener],
    tls: Option<&GroupTls>,
    findings: &Findings<'_>,
) -> Option<Server> {
    let address = table
        .required(
            "address",
            "a server needs an address, such as \"127.0.0.1:3306\"",
        )
        .and_then(|text| server_address(text, seen, listen, findings));
    let role = role(table, findings);
    let weight = table
        .number_if_given(&WEIGHT)
        .and_then(|w| u32::try_from(w).ok());
    let max_connections = count(table, &SERVER_CONNECTIONS);
    let tls = server_tls::server(table, address.as_ref(), tls, findings);
    let role = role?;
    Some(Server {
        address: address?,
        role,
        // the primary takes reads only where the operator asks for it
        weight: weight.unwrap_or(u32::from(role == Role::Replica)),
        max_connections,
        tls,
    })
}

fn role(table: &mut Section<'_, '_>, findings: &Findings<'_>) -> Option<Role> {
    let found = table.required("role", "\"primary\" or \"replica\"")?;
    match found.value {
        "primary" => Some(Role::Primary),
        "replica" => Some(Role::Replica),
        other => {
            findings.error(
                found.at,
                &found.key,
                format!("{other:?} is not one of \"primary\", \"replica\""),
            );
            None
        }
    }
}

fn server_address(
    text: Found<&str>,
    seen: &mut HashMap<Address, usize>,
    listen: &[Listener],
    findings: &Findings<'_>,
) -> Option<Address> {
    let wrong = |message: String| findings.error(text.at, &text.key, message);
    let address = value::address(text.value).map_err(wrong).ok()?;
    let wrong = |message: String| findings.error(text.at, &text.key, message);
    let mut own = listen.iter().map(|listener| &listener.address);
    if let Some(own) = own.find(|own| reaches(&address, own)) {
        wrong(format!("{address} is where Umpire itself listens ({own})"));
    }
    if let Some(line) = seen.insert(address.clone(), findings.line(text.at)) {
        wrong(format!(
            "{address} is a server already, at line {line}; each server belongs to one group"
        ));
    }
    Some(address)
}

/// Whether connecting to `server` surely ends at Umpire's own listener. Names are not looked up.
fn reaches(server: &Address, listen: &Listen) -> bool {
    match (server, listen) {
        (Address::Unix(server), Listen::Unix(own)) => server == own,
        (Address::Tcp(host, port), Listen::Tcp(own)) => {
            let loopback = IpAddr::from([127, 0, 0, 1]);
            let ip = if host == "localhost" {
                Some(loopback)
            } else {
                host.parse().ok()
            };
            let same =
                |ip: IpAddr| ip == own.ip() || (own.ip().is_unspecified() && ip.is_loopback());
            *port == own.port() && ip.is_some_and(|ip| ip.is_ipv4() == own.is_ipv4() && same(ip))
        }
        _ => false,
    }
}

fn monitor(mut table: Section<'_, '_>, findings: &Findings<'_>, secrets: Reader<'_>) -> Monitor {
    let monitor = Monitor {
        user: table
            .required("user", "the account that checks the servers")
            .map_or("", |f| f.value)
            .to_owned(),
        password: secret::monitor(&mut table, findings, secrets).unwrap_or_default(),
        interval: in_ms(&mut table, &INTERVAL),
    };
    table.finish();
    monitor
}
