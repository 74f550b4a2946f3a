use super::rows::{accounts, seen_as, AuthColumns, Facts, Privileges};
use crate::config::Secret;
use crate::control::client::Rows;
use crate::topology::accounts::{Host, Method, Requires, ServerAccount};
use std::net::IpAddr;

const HASH: &str = "*DB14CBAE92D7CB2F84BD3AA7222415B564A4054A";
const COLUMNS: [&str; 13] = [
    "User", "Host", "Priv", "is_role", "plugin", "auth", "locked", "changed", "lifetime",
    "ssl_kind", "ways", "plugin0", "auth0",
];

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

/// A row of MariaDB's accounts: the named columns, the others NULL.
fn mariadb_row(set: &[(&str, &str)]) -> Vec<Option<String>> {
    let value = |column: &str| {
        let found = set.iter().find(|(name, _)| *name == column);
        found.map(|(_, value)| (*value).to_owned())
    };
    COLUMNS.iter().map(|column| value(column)).collect()
}

fn mariadb(rows: Vec<Vec<Option<String>>>, privileges: Privileges) -> Vec<ServerAccount> {
    let facts = Facts {
        mariadb: true,
        now: 1_000_000_000,
        lifetime: 0,
        ..Facts::default()
    };
    accounts(
        &Rows::new(&COLUMNS, rows),
        AuthColumns::Json,
        &facts,
        privileges,
    )
}

fn one(set: &[(&str, &str)]) -> ServerAccount {
    let mut row = vec![("User", "app"), ("Host", "%")];
    row.extend(set);
    let mut all = mariadb(vec![mariadb_row(&row)], Privileges::default());
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn mariadb_s_accounts_are_read() {
    let account = one(&[("plugin", "mysql_native_password"), ("auth", HASH)]);
    assert_eq!(account.to_string(), "'app'@'%'");
    assert!(matches!(
        account.methods[..],
        [Method::Secret(Secret::Native(_))]
    ));
    assert!(!account.locked && !account.expired);
    assert_eq!(account.requires, Requires::Nothing);
    let empty = Method::Secret(Secret::Plain(String::new()));
    assert_eq!(
        one(&[]).methods,
        [empty],
        "root of a fresh server has no plugin at all"
    );
    assert!(one(&[("locked", "1")]).locked);
    assert!(one(&[("changed", "0")]).expired, "PASSWORD EXPIRE");
    let days_ago = |days: i64| (1_000_000_000 - days * 86_400).to_string();
    let old = |lifetime| one(&[("changed", &days_ago(10)), ("lifetime", lifetime)]).expired;
    assert!(old("9") && !old("11") && !old("0") && !old("-1"));
    assert_eq!(one(&[("ssl_kind", "1")]).requires, Requires::Encryption);
    assert_eq!(one(&[("ssl_kind", "3")]).requires, Requires::Certificate);
}

#[test]
fn several_ways_to_log_in_are_kept_in_order() {
    let account = one(&[
        ("ways", "2"),
        ("plugin", "mysql_native_password"),
        ("auth", HASH),
        ("plugin0", "unix_socket"),
    ]);
    let [Method::Unsupported(first), Method::Secret(Secret::Native(_))] = &account.methods[..]
    else {
        panic!("{:?}", account.methods);
    };
    assert_eq!(&**first, "unix_socket");
    let invalid = one(&[("plugin", "mysql_native_password"), ("auth", "invalid")]);
    assert!(matches!(invalid.methods[..], [Method::Unsupported(_)]));
}

#[test]
fn roles_cannot_log_in_and_count_for_everybody() {
    let user = || mariadb_row(&[("User", "app"), ("Host", "%")]);
    let role = |print| {
        mariadb_row(&[
            ("User", "r"),
            ("Host", ""),
            ("is_role", "1"),
            ("Priv", print),
        ])
    };
    let print = |role_print| {
        let all = mariadb(vec![user(), role(role_print)], Privileges::default());
        assert_eq!(all.len(), 1);
        all[0].fingerprint
    };
    assert_eq!(print("a"), print("a"));
    assert_ne!(print("a"), print("b"));
}

#[test]
fn a_changed_privilege_changes_the_fingerprint_of_its_account_alone() {
    let names = ["User", "Host", "Db", "Select_priv"];
    let grants = |select: &str| {
        let row = ["app", "%", "shop", select].map(text).to_vec();
        let mut privileges = Privileges::default();
        privileges.add("db", &Rows::new(&names, vec![row]));
        let rows = vec![
            mariadb_row(&[("User", "app"), ("Host", "%")]),
            mariadb_row(&[("User", "other"), ("Host", "%")]),
        ];
        mariadb(rows, privileges)
            .iter()
            .map(|a| a.fingerprint)
            .collect::<Vec<_>>()
    };
    let (with, without) = (grants("Y"), grants("N"));
    assert_ne!(with[0], without[0]);
    assert_eq!(with[1], without[1]);
}

#[test]
fn mysql_s_accounts_are_read() {
    let names = [
        "User",
        "Host",
        "plugin",
        "auth",
        "account_locked",
        "password_expired",
        "changed",
        "password_lifetime",
        "ssl_type",
    ];
    let bytes = [&b"$A$00A$"[..], &[b's'; 20], &[b'd'; 43]].concat();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    let stored = &format!("0x{hex}");
    let read = |plugin: &str, auth: &str, locked: &str, expired: &str, ssl: &str| {
        let row = [
            "app",
            "10.%",
            plugin,
            auth,
            locked,
            expired,
            "999999999",
            "",
            ssl,
        ];
        let rows = Rows::new(&names, vec![row.map(text).to_vec()]);
        let facts = Facts::default();
        accounts(&rows, AuthColumns::MySql, &facts, Privileges::default()).remove(0)
    };
    let sha2 = read("caching_sha2_password", stored, "N", "N", "");
    assert!(
        matches!(
            sha2.methods[..],
            [Method::Secret(Secret::CachingSha2 { rounds: 10_000, .. })]
        ),
        "{:?}",
        sha2.methods
    );
    assert!(!sha2.locked && !sha2.expired);
    assert!(read("caching_sha2_password", stored, "Y", "N", "").locked);
    assert!(read("caching_sha2_password", stored, "N", "Y", "").expired);
    let empty = Method::Secret(Secret::Plain(String::new()));
    assert_eq!(
        read("caching_sha2_password", "0x", "N", "N", "").methods,
        [empty]
    );
    let ldap = read("authentication_ldap_simple", "0x00", "N", "N", "ANY");
    assert!(matches!(ldap.methods[..], [Method::Unsupported(_)]));
    assert_eq!(ldap.requires, Requires::Encryption);
}

#[test]
fn what_a_server_calls_umpire_is_understood() {
    let here: IpAddr = [10, 0, 0, 7].into();
    let named = Host {
        ip: Some(here),
        name: Some("proxy.example".into()),
    };
    assert_eq!(seen_as("monitor@proxy.example", Some(here)), named);
    let plain = Host {
        ip: Some([192, 168, 1, 2].into()),
        name: None,
    };
    assert_eq!(seen_as("mo@nitor@192.168.1.2", Some(here)), plain);
    assert_eq!(seen_as("monitor@localhost", None), Host::local());
}
