//! Rows of the servers' tables → accounts. Pure.
use crate::config::{self, Secret};
use crate::control::client::Rows;
use crate::topology::accounts::{Host, HostPattern, Method, Requires, ServerAccount};
use crate::wire::auth;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::OnceLock;

const DAY: i64 = 86_400;
/// The ways to log in that the query of MariaDB's accounts has columns for.
const WAYS: usize = 4;

/// Which columns say how an account logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthColumns {
    MySql,
    /// mysql.user of a MariaDB before 10.4
    OldMariaDb,
    /// mysql.global_priv
    Json,
}

/// What is true of the whole server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    pub mariadb: bool,
    pub skip_name_resolve: bool,
    /// Unix time.
    pub now: i64,
    /// Days; 0: for ever.
    pub lifetime: i64,
}

/// Fingerprints of what other tables than the accounts' own say of an account.
#[derive(Default)]
pub(super) struct Privileges {
    own: HashMap<(String, String), u64>,
    /// Roles and who has them: part of everybody's.
    shared: u64,
    roles: HashSet<(String, String)>,
}

impl Privileges {
    /// `table` of the schema mysql.
    pub fn add(&mut self, table: &str, rows: &Rows) {
        for row in 0..rows.count() {
            let print = fingerprint(rows, row);
            match table {
                "db" | "global_grants" => {
                    let column = |names: [&str; 2]| {
                        let mut found = names.iter().filter_map(|name| rows.get(row, name));
                        found.next().unwrap_or_default().to_owned()
                    };
                    let name = (column(["User", "USER"]), column(["Host", "HOST"]));
                    let own = self.own.entry(name).or_default();
                    // a sum, so that the order of the rows does not matter
                    *own = own.wrapping_add(print);
                }
                _ => {
                    self.shared = self.shared.wrapping_add(print);
                    if let Some(role) = rows.get(row, "FROM_USER") {
                        let host = rows.get(row, "FROM_HOST").unwrap_or_default();
                        self.roles.insert((role.to_owned(), host.to_owned()));
                    }
                }
            }
        }
    }

    /// A role's own row: what it may, everyone may who has it.
    fn add_role(&mut self, name: &(String, String), print: u64) {
        let own = self.own.get(name).copied().unwrap_or(0);
        self.shared = self.shared.wrapping_add(own).wrapping_add(print);
    }
}

/// The accounts that can log in.
pub(super) fn accounts(
    rows: &Rows,
    columns: AuthColumns,
    facts: &Facts,
    mut privileges: Privileges,
) -> Vec<ServerAccount> {
    let name = |row: usize| {
        let text = |column| rows.get(row, column).unwrap_or_default().to_owned();
        (text("User"), text("Host"))
    };
    let is_role = |row: usize| {
        ["1", "true", "Y"]
            .iter()
            .any(|yes| rows.get(row, "is_role") == Some(yes))
    };
    for row in 0..rows.count() {
        let name = name(row);
        if is_role(row) || privileges.roles.contains(&name) {
            let print = fingerprint(rows, row);
            privileges.add_role(&name, print);
        }
    }
    let can_log_in = (0..rows.count()).filter(|row| !is_role(*row));
    can_log_in
        .map(|row| account(rows, row, columns, facts, name(row), &privileges))
        .collect()
}

fn account(
    rows: &Rows,
    row: usize,
    columns: AuthColumns,
    facts: &Facts,
    name: (String, String),
    privileges: &Privileges,
) -> ServerAccount {
    let own = privileges.own.get(&name).copied().unwrap_or(0);
    let is = |column, yes: &[&str]| rows.get(row, column).is_some_and(|v| yes.contains(&v));
    let yes = &["Y", "1", "true"];
    ServerAccount {
        user: name.0.into(),
        host: HostPattern::new(&name.1, facts.mariadb),
        methods: methods(rows, row),
        locked: is("locked", yes) || is("account_locked", yes),
        expired: is("password_expired", yes) || is_too_old(rows, row, columns, facts),
        requires: requires(
            rows.get(row, "ssl_kind")
                .or(rows.get(row, "ssl_type"))
                .unwrap_or_default(),
        ),
        fingerprint: fingerprint(rows, row)
            .wrapping_add(own)
            .wrapping_add(privileges.shared),
        in_doubt_until: None,
        proven: OnceLock::new(),
        told: OnceLock::new(),
    }
}

/// Of the whole row; the same in every process.
fn fingerprint(rows: &Rows, row: usize) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one(rows.row(row))
}

fn methods(rows: &Rows, row: usize) -> Vec<Method> {
    let text = |column: &str| rows.get(row, column).unwrap_or_default();
    let first = || method(text("plugin"), text("auth"));
    let ways: usize = text("ways").parse().unwrap_or(0);
    if ways == 0 {
        return vec![first()];
    }
    let way = |i: usize| match text(&format!("plugin{i}")) {
        // stands for what is written outside the list
        "" => first(),
        plugin => method(plugin, text(&format!("auth{i}"))),
    };
    (0..ways.min(WAYS)).map(way).collect()
}

fn method(plugin: &str, stored: &str) -> Method {
    let unsupported = || Method::Unsupported(plugin.into());
    let empty = matches!(stored, "" | "0x");
    match plugin {
        "" | auth::NATIVE | auth::CACHING_SHA2 | auth::SHA256 if empty => {
            Method::Secret(Secret::Plain(String::new()))
        }
        "" | auth::NATIVE | auth::CACHING_SHA2 | auth::SHA256 => {
            config::password_hash(stored).map_or_else(|_| unsupported(), Method::Secret)
        }
        "ed25519" => match config::password_hash(stored) {
            Ok(secret @ Secret::Ed25519(_)) => Method::Secret(secret),
            _ => unsupported(),
        },
        _ => unsupported(),
    }
}

fn is_too_old(rows: &Rows, row: usize, columns: AuthColumns, facts: &Facts) -> bool {
    let number = |column| rows.get(row, column).and_then(|v| v.parse::<f64>().ok());
    let Some(changed) = number("changed").map(|v| v as i64) else {
        return false;
    };
    if columns == AuthColumns::Json && changed == 0 {
        // ALTER USER … PASSWORD EXPIRE
        return true;
    }
    let lifetime = number("lifetime")
        .or(number("password_lifetime"))
        .map_or(-1, |v| v as i64);
    let lifetime = if lifetime < 0 {
        facts.lifetime
    } else {
        lifetime
    };
    lifetime > 0 && changed + lifetime * DAY < facts.now
}

/// MySQL names the kind, MariaDB numbers it.
fn requires(kind: &str) -> Requires {
    match kind {
        "ANY" | "1" => Requires::Encryption,
        "X509" | "SPECIFIED" | "2" | "3" => Requires::Certificate,
        _ => Requires::Nothing,
    }
}

/// `user`: what USER() says; `local`: the address of the connection's own end, None for a Unix socket.
pub(super) fn seen_as(user: &str, local: Option<IpAddr>) -> Host {
    let host = user.rsplit_once('@').map_or("", |(_, host)| host);
    match (host.parse::<IpAddr>(), local) {
        (Ok(ip), _) => Host {
            ip: Some(ip.to_canonical()),
            name: None,
        },
        (Err(_), local) => Host {
            ip: local.map(|ip| ip.to_canonical()),
            name: Some(host.into()),
        },
    }
}
