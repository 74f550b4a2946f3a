use super::*;
use crate::config::Secret;

fn account(user: &str, host: &str, mariadb: bool) -> ServerAccount {
    ServerAccount {
        user: user.into(),
        host: HostPattern::new(host, mariadb),
        methods: vec![Method::Secret(Secret::Plain(String::new()))],
        locked: false,
        expired: false,
        requires: Requires::Nothing,
        fingerprint: 1,
        in_doubt_until: None,
        proven: OnceLock::new(),
        told: OnceLock::new(),
    }
}

fn accounts(names: &[(&str, &str)], mariadb: bool) -> Accounts {
    let read = AccountsRead {
        mariadb,
        accounts: names
            .iter()
            .map(|(user, host)| account(user, host, mariadb))
            .collect(),
        ..AccountsRead::default()
    };
    Accounts::new(read, Arc::new(Refresh::new(|| ())), 1, None)
}

fn loopback() -> Host {
    Host::of_address([127, 0, 0, 1].into(), false)
}

/// Hosts in the order in which accounts of one user are found when each found one is dropped.
fn order(hosts: &[&str], mariadb: bool) -> Vec<String> {
    let mut left: Vec<(&str, &str)> = hosts.iter().map(|host| ("u", *host)).collect();
    let mut found = Vec::new();
    loop {
        let accounts = accounts(&left, mariadb);
        let Some(first) = accounts.find("u", &loopback()) else {
            return found;
        };
        let host = first.host.as_str().to_owned();
        left.retain(|(_, h)| *h != host);
        found.push(host);
    }
}

#[test]
fn mysql_takes_addresses_before_networks_before_names_before_wildcards() {
    let expected = [
        "127.0.0.1",
        "127.0.0.1/32",
        "127.0.0.0/16",
        "127.0.0.0/8",
        "127.0.0.1/255.255.255.255",
        "127.0.0.0/255.255.255.0",
        "127.0.0.0/255.0.0.0",
        "localhost",
        "127.0.0._",
        "127.0.%",
        "local%",
        "127.%",
        "l%",
        "_2%",
        "%",
        "",
    ];
    let mut mixed = expected.to_vec();
    mixed.sort_unstable();
    mixed.extend(["10.0.0.0/8", "::1", "elsewhere", "128.%"]);
    assert_eq!(order(&mixed, false), expected);
}

#[test]
fn mariadb_takes_the_pattern_with_the_longest_shortest_match() {
    // as a MariaDB 10.11 answers, whatever the order of CREATE USER
    let expected = [
        "localhost",
        "127.0.0.1/255.255.255.255",
        "127.0.0.1",
        "127.0.0.0/255.255.255.0",
        "127.0.0.0/255.0.0.0",
        "_27.0.0.1",
        "127.0.0._",
        "___.0.0.1",
        "127.0.0.%",
        "________%",
        "%.0.0.1",
        "%0.0.1",
        "local%",
        "_____%",
        "1%.1",
        "l__%",
        "_2%",
        "l_%",
        "__%",
        "%1",
        "l%",
        "_%",
        "%7%",
        "%",
        "",
    ];
    let mut mixed = expected.to_vec();
    mixed.sort_unstable();
    mixed.extend(["127.0.0.0/8", "10.%"]);
    assert_eq!(order(&mixed, true), expected);
}

#[test]
fn an_anonymous_account_with_a_more_specific_host_comes_first() {
    let names = [("app", "%"), ("", "localhost")];
    for mariadb in [false, true] {
        let accounts = accounts(&names, mariadb);
        assert_eq!(
            accounts.find("app", &loopback()).unwrap().to_string(),
            "''@'localhost'"
        );
        let far = Host::of_address([10, 0, 0, 1].into(), false);
        assert_eq!(accounts.find("app", &far).unwrap().to_string(), "'app'@'%'");
        assert!(accounts.find("other", &far).is_none());
    }
}

#[test]
fn a_named_account_comes_before_an_anonymous_one_of_the_same_host() {
    let accounts = accounts(&[("", "localhost"), ("app", "localhost")], true);
    let found = accounts.find("app", &loopback()).unwrap();
    assert_eq!(found.to_string(), "'app'@'localhost'");
}

#[test]
fn user_names_are_told_apart_by_case_and_hosts_are_not() {
    let accounts = accounts(&[("App", "LocalHost")], false);
    assert!(accounts.find("app", &loopback()).is_none());
    assert!(accounts.find("App", &loopback()).is_some());
}

#[test]
fn a_server_that_looks_up_no_names_does_not_know_localhost_by_tcp() {
    let pattern = HostPattern::new("localhost", true);
    assert!(!pattern.matches(&Host::of_address([127, 0, 0, 1].into(), true)));
    assert!(pattern.matches(&Host::local()));
}

#[test]
fn hosts_match_as_like_does() {
    let cases = [
        ("10.0.%", "10.0.1.2", true),
        ("10.0.%", "10.1.1.2", false),
        ("10.0.0._", "10.0.0.12", false),
        ("%.0.2", "10.0.0.2", true),
        ("%0%2", "10.0.0.2", true),
        ("%0%3", "10.0.0.2", false),
        ("fe80::%", "fe80::1", true),
        ("::1", "::1", true),
        ("::ffff:10.0.0.2", "10.0.0.2", false),
        ("192.168.0.0/255.255.0.0", "192.168.7.1", true),
        ("192.168.0.0/255.255.0.0", "192.169.7.1", false),
        ("0.0.0.0/0", "8.8.8.8", true),
        ("10.0.0.0/33", "10.0.0.1", false),
        ("10\\.0\\.0\\.2", "10.0.0.2", false),
        ("10\\.0.0%", "10.0.0.2", true),
        ("%%%%%%", "10.0.0.2", true),
        ("%_", "10.0.0.2", true),
    ];
    for (pattern, ip, expected) in cases {
        let host = Host::of_address(ip.parse().unwrap(), false);
        assert_eq!(
            HostPattern::new(pattern, false).matches(&host),
            expected,
            "{pattern} {ip}"
        );
    }
    let mapped = Host::of_address("::ffff:10.0.0.2".parse().unwrap(), false);
    assert!(HostPattern::new("10.0.0.2", false).matches(&mapped));
}

#[test]
fn accounts_that_did_not_change_stay_the_same_objects() {
    let before = accounts(&[("a", "%"), ("b", "%")], true);
    let mut changed = account("b", "%", true);
    changed.fingerprint = 2;
    let read = AccountsRead {
        mariadb: true,
        accounts: vec![account("a", "%", true), changed],
        ..AccountsRead::default()
    };
    let after = Accounts::new(read, before.refresh.clone(), 2, Some(&before));
    let find = |accounts: &Accounts, user| accounts.find(user, &loopback()).unwrap().clone();
    assert!(Arc::ptr_eq(&find(&before, "a"), &find(&after, "a")));
    assert!(!Arc::ptr_eq(&find(&before, "b"), &find(&after, "b")));
    assert!(!after.is_same_as(&before));
    assert!(before.stale(9, String::new()).trouble.is_some());
}

#[test]
fn a_server_that_sees_umpire_as_another_account_is_found() {
    let server = Address::Tcp("db".into(), 3306);
    let mut accounts = accounts(&[("app", "10.0.0.%"), ("app", "localhost")], true);
    accounts.seen_as = vec![(server.clone(), loopback())];
    let near = Host::of_address([10, 0, 0, 7].into(), false);
    let client = accounts.find("app", &near).unwrap().clone();
    let (at, _, there) = accounts.misplaced("app", &client).unwrap();
    assert_eq!(*at, server);
    assert_eq!(there.unwrap().to_string(), "'app'@'localhost'");
    let local = accounts.find("app", &loopback()).unwrap().clone();
    assert!(accounts.misplaced("app", &local).is_none());
    // --skip-grant-tables
    let nowhere = Host {
        ip: None,
        name: Some("".into()),
    };
    accounts.seen_as = vec![(server, nowhere)];
    assert!(accounts.misplaced("app", &client).is_none());
}

#[test]
fn a_wish_is_counted_and_told() {
    let told = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let teller = told.clone();
    let refresh = Refresh::new(move || {
        teller.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!((refresh.ask(), refresh.ask(), refresh.wanted()), (2, 3, 3));
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[test]
fn while_accounts_are_being_changed_every_login_asks() {
    let refresh = Arc::new(Refresh::new(|| ()));
    assert_eq!((refresh.current(), refresh.current()), (1, 1));
    let changing = Changing::new(refresh.clone());
    assert_eq!((refresh.current(), refresh.current()), (2, 3));
    drop(changing);
    assert_eq!((refresh.current(), refresh.wanted()), (4, 4));
}
