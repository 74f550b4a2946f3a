//! The section `[proxy]`.
use super::secret::{self, Reader};
use super::walk::{type_name, Findings, Found, Number, Section};
use super::{listener, memory, tls, value};
use super::{CrossShard, Listen, Listener, ListenerTls, Proxy, Workers};
use std::net::SocketAddr;
use std::time::Duration;
use toml::de::DeValue;

/// Highest CPU number that an affinity mask of the C library can name.
const MAX_CPU: usize = 1023;
const YEAR_S: u64 = 366 * 24 * 3600;
const HOUR_MS: u64 = 3_600_000;

const MAX_CONNECTIONS: Number = Number {
    key: "max_connections",
    unit: "connections",
    range: 1..1_000_001,
    default: 10_000,
};
const CONNECT_TIMEOUT: Number = milliseconds("connect_timeout_ms", 1, 3_000);
const LOGIN_TIMEOUT: Number = milliseconds("login_timeout_ms", 1, 10_000);
const FAILED_LOGINS_FREE: Number = Number {
    key: "failed_logins_free",
    unit: "logins",
    range: 1..1_000_001,
    default: 10,
};
const FAILED_LOGIN_DELAY: Number = milliseconds("failed_login_delay_ms", 0, 2_000);
const IDLE_TIMEOUT: Number = seconds("idle_timeout_s", 28_800);
const WRITE_TIMEOUT: Number = milliseconds("write_timeout_ms", 1, 60_000);
const LEASE_TIMEOUT: Number = milliseconds("lease_timeout_ms", 1, 10_000);
const DRAIN_TIMEOUT: Number = milliseconds("drain_timeout_ms", 0, 30_000);
const HIGH_WATER: Number = Number {
    key: "high_water_bytes",
    unit: "bytes",
    range: 16 * 1024..64 * 1024 * 1024 + 1,
    default: 256 * 1024,
};
const BUSY_POLL: Number = Number {
    key: "busy_poll_us",
    unit: "microseconds",
    range: 0..10_001,
    default: 0,
};
const MERGE_MEMORY: Number = Number {
    key: "merge_memory_bytes",
    unit: "bytes",
    range: 64 * 1024..(1 << 32),
    default: 64 * 1024 * 1024,
};
const MAX_ALLOWED_PACKET: Number = Number {
    key: "max_allowed_packet",
    unit: "bytes",
    range: 1024..(1 << 30) + 1,
    default: 1 << 30,
};
const SERVER_MAX_AGE: Number = seconds("server_max_age_s", 3_600);
const SERVER_IDLE_TIMEOUT: Number = seconds("server_idle_timeout_s", 300);
const MIN_IDLE: Number = Number {
    key: "min_idle",
    unit: "connections",
    range: 0..10_001,
    default: 1,
};
const MAX_PREPARED: Number = Number {
    key: "max_prepared_per_connection",
    unit: "statements",
    range: 1..65_536,
    default: 256,
};

/// Reads `[proxy]`; what is wrong is reported and replaced by its default.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Option<Proxy> {
    if !top.has("proxy") {
        findings.error(
            0,
            "proxy",
            "missing: the section [proxy] with the addresses to listen on",
        );
    }
    let tls = tls::read(top, findings, secrets);
    let offered = top
        .has("tls")
        .then(|| tls.as_ref().map_or(ListenerTls::Optional, |t| t.mode));
    let mut section = top.table("proxy")?;
    let compression = section.boolean("compression", true);
    let listen = listener::read(&mut section, offered, compression, findings);
    let admin = service(&mut section, "admin", findings);
    let http = service(&mut section, "http", findings);
    let admin_user = admin_user(&mut section, findings);
    let admin_password = secret::admin(&mut section, findings, secrets);
    check_overlaps(&listen, &admin, &http, findings);
    check_admin(&section, &admin, admin_password.is_some(), findings);
    let proxy = Proxy {
        listen: listen.into_iter().map(|found| found.value).collect(),
        tls,
        admin: admin.map(|found| found.value),
        http: http.map(|found| found.value),
        workers: workers(&mut section, findings),
        rsa_private_key: secret::rsa_private_key(&mut section, findings, secrets),
        admin_user,
        admin_password: admin_password.unwrap_or_default(),
        max_connections: count(&mut section, &MAX_CONNECTIONS),
        connect_timeout: in_ms(&mut section, &CONNECT_TIMEOUT),
        login_timeout: in_ms(&mut section, &LOGIN_TIMEOUT),
        failed_logins_free: count(&mut section, &FAILED_LOGINS_FREE),
        failed_login_delay: in_ms(&mut section, &FAILED_LOGIN_DELAY),
        idle_timeout: in_s(&mut section, &IDLE_TIMEOUT),
        write_timeout: in_ms(&mut section, &WRITE_TIMEOUT),
        lease_timeout: in_ms(&mut section, &LEASE_TIMEOUT),
        drain_timeout: in_ms(&mut section, &DRAIN_TIMEOUT),
        high_water: count(&mut section, &HIGH_WATER) as usize,
        busy_poll: Duration::from_micros(section.number(&BUSY_POLL)),
        merge_memory: count(&mut section, &MERGE_MEMORY) as usize,
        memory: memory::read(&mut section),
        cross_shard: cross_shard(&mut section, findings),
        max_allowed_packet: count(&mut section, &MAX_ALLOWED_PACKET) as usize,
        server_max_age: in_s(&mut section, &SERVER_MAX_AGE),
        server_idle_timeout: in_s(&mut section, &SERVER_IDLE_TIMEOUT),
        min_idle: count(&mut section, &MIN_IDLE),
        max_prepared_per_connection: count(&mut section, &MAX_PREPARED),
    };
    section.finish();
    Some(proxy)
}

fn cross_shard(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> CrossShard {
    let Some(found) = section.string("cross_shard_transactions") else {
        return CrossShard::Refuse;
    };
    match found.value {
        "best-effort" => return CrossShard::BestEffort,
        "refuse" => {}
        other => findings.error(
            found.at,
            &found.key,
            format!("{other:?} is not one of \"refuse\", \"best-effort\""),
        ),
    }
    CrossShard::Refuse
}

/// A number whose range fits in 32 bits.
pub(super) fn count(section: &mut Section<'_, '_>, spec: &Number) -> u32 {
    u32::try_from(section.number(spec)).unwrap_or(u32::MAX)
}

pub(super) fn in_ms(section: &mut Section<'_, '_>, spec: &Number) -> Duration {
    Duration::from_millis(section.number(spec))
}

fn in_s(section: &mut Section<'_, '_>, spec: &Number) -> Duration {
    Duration::from_secs(section.number(spec))
}

const fn milliseconds(key: &'static str, from: u64, default: u64) -> Number {
    Number {
        key,
        unit: "milliseconds",
        range: from..HOUR_MS + 1,
        default,
    }
}

const fn seconds(key: &'static str, default: u64) -> Number {
    Number {
        key,
        unit: "seconds",
        range: 1..YEAR_S + 1,
        default,
    }
}

/// The address of `admin` or `http`.
fn service(
    section: &mut Section<'_, '_>,
    key: &'static str,
    findings: &Findings<'_>,
) -> Option<Found<SocketAddr>> {
    let text = section.string(key)?;
    match value::socket_address(text.value) {
        Ok(value) => Some(Found {
            value,
            at: text.at,
            key: text.key,
        }),
        Err(message) => {
            findings.error(text.at, &text.key, message);
            None
        }
    }
}

fn admin_user(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> String {
    let Some(found) = section.string("admin_user") else {
        return "admin".into();
    };
    if found.value.is_empty() || found.value.contains('\0') {
        findings.error(
            found.at,
            &found.key,
            "a user's name is not empty and holds no NUL",
        );
    }
    found.value.to_owned()
}

fn check_overlaps(
    listen: &[Found<Listener>],
    admin: &Option<Found<SocketAddr>>,
    http: &Option<Found<SocketAddr>>,
    findings: &Findings<'_>,
) {
    let mut taken: Vec<(String, SocketAddr)> = listen
        .iter()
        .filter_map(|found| match found.value.address {
            Listen::Tcp(address) => Some((found.key.clone(), address)),
            Listen::Unix(_) => None,
        })
        .collect();
    for service in [admin, http].into_iter().flatten() {
        if let Some((key, other)) = taken
            .iter()
            .find(|(_, other)| overlap(*other, service.value))
        {
            let message = format!("{} is already taken by {key} ({other})", service.value);
            findings.error(service.at, &service.key, message);
        }
        taken.push((service.key.clone(), service.value));
    }
}

fn overlap(a: SocketAddr, b: SocketAddr) -> bool {
    let any = a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() == b.port() && a.is_ipv4() == b.is_ipv4() && (any || a.ip() == b.ip())
}

/// The admin port can stop the proxy: beyond this machine only with a password.
fn check_admin(
    section: &Section<'_, '_>,
    admin: &Option<Found<SocketAddr>>,
    has_password: bool,
    f: &Findings<'_>,
) {
    let Some(admin) = admin else { return };
    let keys = [
        "admin_password",
        "admin_password_file",
        "admin_password_env",
    ];
    let given = keys.iter().any(|key| section.has(key));
    if !has_password && !given && !admin.value.ip().is_loopback() {
        let message = format!(
            "{} can be reached from other machines: set admin_password or admin_password_file",
            { admin.value }
        );
        f.error(admin.at, &admin.key, message);
    }
}

fn workers(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Workers {
    let expected = "expected \"auto\" or a list of CPU numbers";
    let Some(found) = section.get("workers") else {
        return Workers::Auto;
    };
    match found.value {
        DeValue::String(text) if text == "auto" => {}
        DeValue::Array(_) => {
            let list = section.list("workers", expected).unwrap_or_default();
            return Workers::Cpus(cpus(&found, list, findings));
        }
        other => findings.error(
            found.at,
            &found.key,
            format!("{expected}, found {}", type_name(other)),
        ),
    }
    Workers::Auto
}

fn cpus(
    whole: &Found<&DeValue<'_>>,
    list: Vec<Found<&DeValue<'_>>>,
    findings: &Findings<'_>,
) -> Vec<usize> {
    if list.is_empty() {
        findings.error(
            whole.at,
            &whole.key,
            "names no CPU; \"auto\" takes all that the process may use",
        );
    }
    let mut cpus = Vec::new();
    for member in list {
        let number = member
            .value
            .as_integer()
            .and_then(|n| usize::from_str_radix(n.as_str(), n.radix()).ok());
        match number.filter(|n| *n <= MAX_CPU) {
            Some(cpu) if cpus.contains(&cpu) => {
                findings.error(
                    member.at,
                    &member.key,
                    format!("CPU {cpu} is in the list twice"),
                );
            }
            Some(cpu) => cpus.push(cpu),
            None => findings.error(
                member.at,
                &member.key,
                format!("expected a CPU number from 0 to {MAX_CPU}"),
            ),
        }
    }
    cpus
}
