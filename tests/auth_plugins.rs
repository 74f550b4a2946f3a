//! Authentication plugins besides the two of MySQL, passwords from elsewhere, and users that have another account on
//! the servers.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::raw::{Refused, CACHING_SHA2, CLEAR, ED25519, NATIVE};
use common::{needs, scalar, tls, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A server with TLS and both plugins; the test plugin compares the clear password with the account's string.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let certificate = format!("--ssl-cert={}", tls::file("server.pem").display());
        let key = format!("--ssl-key={}", tls::file("server.key").display());
        let cluster = Cluster::start_with(
            0,
            &[
                "--plugin-load-add=auth_ed25519",
                "--plugin-load-add=auth_test_plugin",
                "--plugin-maturity=unknown",
                &certificate,
                &key,
            ],
        );
        cluster.prepare(&[
            "CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('curvepw')",
            "CREATE USER envy@'%' IDENTIFIED BY 'from the environment'",
            "CREATE USER shared@'%' IDENTIFIED BY 'sharedpw'",
            "GRANT SELECT ON *.* TO curve@'%', envy@'%', shared@'%'",
        ]);
        if has_clear_plugin(&cluster) {
            cluster.prepare(&[
                "CREATE USER clear@'%' IDENTIFIED VIA cleartext_plugin_server USING 'clearpw'",
                "GRANT SELECT ON *.* TO clear@'%'",
            ]);
        }
        cluster
    })
}

fn has_clear_plugin(cluster: &Cluster) -> bool {
    let sql = "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'cleartext_plugin_server'";
    let found = cluster.primary().ask(sql) == "1";
    if !found {
        common::skipped("the server has no plugin that wants a clear password (mariadb-test)");
    }
    found
}

fn user(name: &str, keys: &str) -> String {
    format!("\n[[user]]\nname = \"{name}\"\ngroup = \"main\"\n{keys}\n")
}

/// The key that the server stores for `password`.
fn stored_key(password: &str) -> String {
    let mut root = cluster().primary().root();
    let made = "CREATE OR REPLACE USER keymaker IDENTIFIED VIA ed25519 USING PASSWORD";
    root.query_drop(format!("{made}('{password}')"))
        .expect("an account");
    let sql = "SELECT JSON_VALUE(Priv, '$.authentication_string') FROM mysql.global_priv WHERE User = 'keymaker'";
    scalar(&mut root, sql)
}

fn config() -> ProxyConfig {
    let mut config = ProxyConfig::new(cluster());
    config.group_tls = "mode = \"required\"".into();
    config.more = tls::section("");
    let mapped = "server_user = \"shared\"\nserver_password = \"sharedpw\"";
    for (name, keys) in [
        ("curve", "password = \"curvepw\"".to_string()),
        ("clear", "password = \"clearpw\"".into()),
        ("envy", "password_env = \"UMPIRE_TESTS_PASSWORD\"".into()),
        ("curved", "password = \"curvedpw\"\nauth_plugin = \"ed25519\"\nserver_user = \"curve\"\nserver_password = \"curvepw\"".into()),
        ("shown", format!("password = \"shownpw\"\nauth_plugin = \"mysql_clear_password\"\n{mapped}")),
        ("alice", format!("password = \"alicepw\"\n{mapped}")),
        ("bob", format!("password_hash = \"{}\"\n{mapped}", stored_key("bobpw"))),
    ] {
        config.more.push_str(&user(name, &keys));
    }
    config
}

/// One proxy for the tests that change nothing about it.
fn proxy() -> &'static Proxy {
    static PROXY: OnceLock<Proxy> = OnceLock::new();
    PROXY.get_or_init(|| config().start())
}

fn login(user: &str, password: &str, plugin: &'static str) -> Login {
    Login {
        plugin,
        schema: None,
        ..Login::default().user(user, password)
    }
}

/// CURRENT_USER() of a login, in plain text or over TLS; or the error's text.
fn account(login: &Login, over_tls: bool) -> Result<String, String> {
    account_at(proxy().port, login, over_tls)
}

fn account_at(port: u16, login: &Login, over_tls: bool) -> Result<String, String> {
    let client = match over_tls {
        true => RawClient::login_tls(port, login, &tls::client()),
        false => RawClient::login(port, login),
    };
    let mut client = client.map_err(|refused| match refused {
        Refused::Server(e) => format!("{} {}", e.code, e.message),
        Refused::Io(e) => panic!("{login:?}: {e}"),
    })?;
    let reply = client.query("SELECT CURRENT_USER()").expect("a reply");
    reply.value().ok_or_else(|| format!("{:?}", reply.error))
}

#[test]
fn an_ed25519_account_of_the_server_is_logged_in_to_whatever_the_client_speaks() {
    needs!(the_proxy);
    for plugin in [NATIVE, CACHING_SHA2, ED25519] {
        for over_tls in [true, false] {
            let right = login("curve", "curvepw", plugin);
            assert_eq!(account(&right, over_tls), Ok("curve@%".into()), "{plugin}");
            let wrong = account(&login("curve", "wrong", plugin), over_tls);
            assert!(
                wrong.clone().is_err_and(|e| e.starts_with(
                    "1045 Access denied for user 'curve'@'127.0.0.1' (using password: YES)"
                )),
                "{wrong:?}"
            );
        }
    }
    // a change of user makes Umpire prove the password on a connection that it has already
    let mut client = RawClient::login(proxy().port, &login("curve", "curvepw", ED25519)).unwrap();
    for (user, password, plugin) in [("app", "apppw", NATIVE), ("curve", "curvepw", ED25519)] {
        let next = login(user, password, plugin);
        let answer = match plugin {
            // the scramble of the greeting is not what ed25519 signs
            ED25519 => Login {
                plugin: NATIVE,
                ..next.clone()
            },
            _ => next.clone(),
        };
        let body = common::raw::change_user_body(&answer, &client.hello.scramble.clone());
        client.send_command(0x11, &body).unwrap();
        client.follow_login(&next).unwrap();
        let account = client.query("SELECT CURRENT_USER()").unwrap().value();
        assert_eq!(account, Some(format!("{user}@%")));
    }
}

#[test]
fn a_user_whose_plugin_is_ed25519_is_asked_for_it() {
    needs!(the_proxy);
    for plugin in [NATIVE, CACHING_SHA2, ED25519] {
        let right = login("curved", "curvedpw", plugin);
        let mut client = RawClient::login(proxy().port, &right).unwrap();
        assert_eq!(client.asked_for.as_deref(), Some(ED25519), "{plugin}");
        let account = client.query("SELECT CURRENT_USER()").unwrap();
        assert_eq!(account.value().as_deref(), Some("curve@%"));
    }
    let wrong = account(&login("curved", "wrong", ED25519), false);
    assert!(wrong.is_err_and(|e| e.starts_with("1045 ")));
}

/// The same account by MariaDB's own client, here and straight at the server.
#[test]
fn mariadbs_own_client_speaks_ed25519_and_sends_a_clear_password_over_tls() {
    needs!(the_proxy);
    let direct = cluster().primary().port;
    for (port, user, password, more) in [
        (direct, "curve", "curvepw", ""),
        (
            proxy().port,
            "curve",
            "curvepw",
            "--default-auth=client_ed25519",
        ),
        (proxy().port, "curved", "curvedpw", ""),
        (proxy().port, "shown", "shownpw", "--ssl"),
        (proxy().port, "clear", "clearpw", "--ssl"),
    ] {
        if user == "clear" && !has_clear_plugin(cluster()) {
            continue;
        }
        let output = Command::new(common::server::find_program("mariadb"))
            .args(["--no-defaults", "-h127.0.0.1", "-N", "-B"])
            .args([
                format!("-P{port}"),
                format!("-u{user}"),
                format!("-p{password}"),
            ])
            .args(Some(more).filter(|m| !m.is_empty()))
            .args(["-e", "SELECT CURRENT_USER()"])
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let expected = match user {
            "curved" => "curve@%\n".to_string(),
            "shown" => "shared@%\n".to_string(),
            _ => format!("{user}@%\n"),
        };
        if shown.contains("cannot be loaded") {
            common::skipped(&format!("the client's plugins are not installed: {shown}"));
            continue;
        }
        assert_eq!(shown, expected, "{user} {more}");
    }
}

#[test]
fn of_an_ed25519_hash_alone_a_signature_is_enough_where_the_servers_account_is_another() {
    needs!(the_proxy);
    for over_tls in [false, true] {
        let right = login("bob", "bobpw", ED25519);
        assert_eq!(account(&right, over_tls), Ok("shared@%".into()));
        assert!(account(&login("bob", "wrong", NATIVE), over_tls)
            .is_err_and(|e| e.starts_with("1045 ")));
    }
}

#[test]
fn of_an_ed25519_hash_alone_the_password_is_asked_for_once_over_tls() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(cluster());
    config.more = tls::section("");
    config.more.push_str(&user(
        "curve",
        &format!("password_hash = \"{}\"", stored_key("curvepw")),
    ));
    let proxy = config.start();
    let right = login("curve", "curvepw", ED25519);
    let told = account_at(proxy.port, &right, false).expect_err("it cannot log in at the server");
    assert!(told.contains("over TLS only"), "{told}");
    let wrong = account_at(proxy.port, &login("curve", "wrong", ED25519), true);
    assert!(wrong.is_err_and(|e| e.starts_with("1045 ")));
    assert_eq!(account_at(proxy.port, &right, true), Ok("curve@%".into()));
    // from now on a signature is enough
    assert_eq!(account_at(proxy.port, &right, false), Ok("curve@%".into()));
    let wrong = account_at(proxy.port, &login("curve", "wrong", ED25519), false);
    assert!(wrong.is_err_and(|e| e.starts_with("1045 ")));
}

#[test]
fn accounts_of_the_servers_with_ed25519_log_in_over_tls() {
    needs!(the_proxy);
    cluster().prepare(&["GRANT SELECT ON mysql.* TO monitor@'%'"]);
    let mut config = ProxyConfig::new(cluster());
    config.users = false;
    config.group = "accounts = \"server\"".into();
    config.more = tls::section("");
    let proxy = config.start();
    let right = login("curve", "curvepw", ED25519);
    let told = account_at(proxy.port, &right, false).expect_err("nothing to log in with");
    assert!(told.contains("over TLS only"), "{told}");
    assert_eq!(account_at(proxy.port, &right, true), Ok("curve@%".into()));
    assert_eq!(account_at(proxy.port, &right, false), Ok("curve@%".into()));
}

#[test]
fn a_server_that_wants_the_password_as_it_is_gets_it_over_tls_only() {
    needs!(the_proxy);
    if !has_clear_plugin(cluster()) {
        return;
    }
    assert_eq!(
        account(&login("clear", "clearpw", NATIVE), false),
        Ok("clear@%".into())
    );
    let mut plain = ProxyConfig::new(cluster());
    plain.more = user("clear", "password = \"clearpw\"");
    let refused = account_at(
        plain.start().port,
        &login("clear", "clearpw", NATIVE),
        false,
    );
    let text = refused.expect_err("the connection to the server is not encrypted");
    assert!(
        text.contains("mysql_clear_password")
            && text.contains("the connection to the server is not encrypted"),
        "{text}"
    );
    // a wrong password in the configuration is the server's to refuse
    let mut wrong = ProxyConfig::new(cluster());
    wrong.group_tls = "mode = \"required\"".into();
    wrong.more = user("clear", "password = \"mistyped\"");
    let refused = account_at(
        wrong.start().port,
        &login("clear", "mistyped", NATIVE),
        false,
    );
    let text = refused.expect_err("the server refuses");
    assert!(
        text.contains("1045") && text.contains("Access denied for user 'clear'"),
        "{text}"
    );
}

#[test]
fn a_clients_password_is_taken_as_it_is_over_tls_only() {
    needs!(the_proxy);
    for plugin in [NATIVE, CLEAR] {
        assert_eq!(
            account(&login("shown", "shownpw", plugin), true),
            Ok("shared@%".into())
        );
        for wrong in ["wrong", "", &"x".repeat(300)] {
            let refused = account(&login("shown", wrong, plugin), true);
            assert!(
                refused.clone().is_err_and(|e| e.starts_with("1045 ")),
                "{refused:?}"
            );
        }
    }
    let told = account(&login("shown", "shownpw", NATIVE), false).expect_err("in plain text");
    assert!(
        told.contains("(mysql_clear_password), which is done over TLS only"),
        "{told}"
    );
    let mut client = RawClient::open(proxy().port).unwrap();
    let refused = client.finish_login(&login("shown", "shownpw", NATIVE));
    assert!(
        refused.is_err() && client.asked_for.is_none(),
        "the password is not even asked for"
    );
    // any other user's client may begin with it over TLS, and is asked for another proof without
    let curve = login("curve", "curvepw", CLEAR);
    assert_eq!(account(&curve, true), Ok("curve@%".into()));
    assert_eq!(account(&curve, false), Ok("curve@%".into()));
}

#[test]
fn a_password_may_come_from_the_environment() {
    needs!(the_proxy);
    let right = login("envy", "from the environment", NATIVE);
    assert_eq!(account(&right, false), Ok("envy@%".into()));
}

#[test]
fn users_with_an_account_of_the_servers_in_common_are_that_account_there_and_themselves_here() {
    needs!(the_proxy);
    let alice = login("alice", "alicepw", NATIVE);
    assert_eq!(account(&alice, false), Ok("shared@%".into()));
    let refused =
        account(&login("alice", "sharedpw", NATIVE), false).expect_err("another's password");
    assert!(
        refused.starts_with("1045 Access denied for user 'alice'@"),
        "{refused}"
    );
    let refused = account(&login("shared", "sharedpw", NATIVE), false).expect_err("no user here");
    assert!(refused.starts_with("1045 "), "{refused}");
    // both ways of becoming another user
    let mut client = RawClient::connect(proxy().port);
    assert_eq!(client.query("SET @mine = 5").unwrap().code(), 0);
    for (user, password, account) in [
        ("alice", "alicepw", "shared@%"),
        ("app", "apppw", "app@%"),
        ("alice", "alicepw", "shared@%"),
    ] {
        let next = login(user, password, NATIVE);
        let body = common::raw::change_user_body(&next, &client.hello.scramble.clone());
        client.send_command(0x11, &body).unwrap();
        client.follow_login(&next).unwrap();
        let reply = client
            .query("SELECT CONCAT(CURRENT_USER(), IFNULL(@mine, ''))")
            .unwrap();
        assert_eq!(reply.value().as_deref(), Some(account));
        assert_eq!(client.query("SET @mine = 6").unwrap().code(), 0);
    }
    // pools are the server accounts'
    let pools = proxy().ask_admin("SHOW POOLS");
    let mut users: Vec<&str> = pools.iter().map(|row| row[2].as_str()).collect();
    users.retain(|user| !matches!(*user, "curve" | "clear" | "envy" | "app2"));
    users.sort_unstable();
    users.dedup();
    assert_eq!(users, ["app", "shared"]);
    // who may end whose sessions is between the users here
    let bob = RawClient::login(proxy().port, &login("bob", "bobpw", ED25519)).unwrap();
    let kill = format!("KILL {}", bob.hello.connection_id);
    assert_eq!(client.query(&kill).unwrap().code(), 1095);
    let sessions = proxy().ask_admin("SHOW SESSIONS");
    let id = bob.hello.connection_id.to_string();
    let row = sessions.iter().find(|row| row[0] == id).expect("bob's");
    assert!(row.iter().any(|cell| cell == "bob"), "{row:?}");
}

#[test]
fn a_reload_moves_new_sessions_to_another_account_of_the_servers() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(cluster());
    config.more = user(
        "alice",
        "password = \"alicepw\"\nserver_user = \"shared\"\nserver_password = \"sharedpw\"",
    );
    let proxy = config.start();
    let alice = login("alice", "alicepw", NATIVE);
    let mut old = RawClient::login(proxy.port, &alice).unwrap();
    let who = |client: &mut RawClient| client.query("SELECT CURRENT_USER()").unwrap().value();
    assert_eq!(who(&mut old).as_deref(), Some("shared@%"));
    config.more = user(
        "alice",
        "password = \"alicepw\"\nserver_user = \"app2\"\nserver_password = \"app2pw\"",
    );
    proxy.write_config(&config);
    proxy.reload();
    common::wait_until("new sessions have the new account", || {
        account_at(proxy.port, &alice, false) == Ok("app2@%".into())
    });
    assert_eq!(who(&mut old).as_deref(), Some("shared@%"));
}

#[test]
fn on_mysql_users_may_have_another_account_too() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    let mut config =
        ProxyConfig::for_ports(vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")]);
    config.group_tls = "mode = \"required\"".into();
    config.more = tls::section("");
    config.more.push_str(&user(
        "alice",
        "password = \"alicepw\"\nserver_user = \"app2\"\nserver_password = \"app2pw\"",
    ));
    let proxy = config.start();
    for plugin in [NATIVE, CACHING_SHA2, ED25519, CLEAR] {
        let alice = login("alice", "alicepw", plugin);
        assert_eq!(
            account_at(proxy.port, &alice, true),
            Ok("app2@%".into()),
            "{plugin}"
        );
    }
    let mut client = proxy.client_as("app", "apppw");
    assert_eq!(scalar(&mut client, "SELECT CURRENT_USER()"), "app@%");
}

#[test]
fn on_mysql_accounts_with_sha256_password_log_in_over_tls_and_without() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    pair.run(
        0,
        &[
            "GRANT SELECT ON mysql.* TO monitor@'%'",
            "CREATE USER IF NOT EXISTS sha@'%' IDENTIFIED WITH sha256_password BY 'shapw'",
            "CREATE USER IF NOT EXISTS shanone@'%' IDENTIFIED WITH sha256_password BY ''",
            "CREATE USER IF NOT EXISTS shawatch@'%' IDENTIFIED WITH sha256_password BY 'watchpw'",
            "GRANT REPLICATION CLIENT ON *.* TO shawatch@'%'",
            "GRANT SELECT ON mysql.* TO shawatch@'%'",
        ],
    );
    pair.sync();
    for to_servers in ["disabled", "required"] {
        let mut config =
            ProxyConfig::for_ports(vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")]);
        config.group = "accounts = \"server\"".into();
        config.group_tls = format!("mode = \"{to_servers}\"");
        config.users = false;
        config.more = tls::section("");
        let proxy = config.start();
        for (plugin, encrypted) in [(CACHING_SHA2, true), (NATIVE, false), (CLEAR, true)] {
            let account = |user: &str, password: &str| {
                account_at(proxy.port, &login(user, password, plugin), encrypted)
            };
            assert_eq!(account("sha", "shapw"), Ok("sha@%".into()), "{plugin}");
            assert_eq!(account("shanone", ""), Ok("shanone@%".into()), "{plugin}");
            // in plain text the client would be asked for more, under Umpire's RSA key
            if encrypted {
                assert!(account("sha", "wrong").is_err(), "{plugin}");
            }
        }
        let usual = "user = \"monitor\", password = \"monitorpw\"";
        let text = proxy.config_text();
        assert!(text.contains(usual), "{text}");
        proxy
            .write_config_text(&text.replace(usual, "user = \"shawatch\", password = \"watchpw\""));
        proxy.reload();
        common::wait_until("the monitor logs in with such an account", || {
            let count =
                "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'shawatch'";
            pair.ask(0, count) != "0"
        });
    }
}
