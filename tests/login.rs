//! Logging in, and being refused: codes, SQLSTATEs and texts as MySQL's.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::raw::{CACHING_SHA2, NATIVE};
use common::{scalar, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use umpire::wire::capabilities as cap;

fn refusal(port: u16, login: &Login) -> common::reply::ServerError {
    match RawClient::login(port, login) {
        Ok(_) => panic!("{login:?} was let in"),
        Err(refused) => refused.server(),
    }
}

#[test]
fn wrong_passwords_and_unknown_users_are_refused_as_direct() {
    let direct = Cluster::shared().primary().port;
    for login in [
        Login::default().user("app", "wrong"),
        Login::default().user("app", ""),
        Login::default().user("stranger", "x"),
        Login::default().user("stranger", ""),
        Login::default().user("", ""),
        Login::default().user("APP", "apppw"),
    ] {
        let here = refusal(Proxy::shared().port, &login);
        let there = refusal(direct, &login);
        assert_eq!(here.code, there.code, "{login:?}");
        assert_eq!(here.state, "28000");
        assert_eq!(here.message, there.message, "{login:?}");
    }
}

#[test]
fn an_unknown_schema_is_refused_at_login_as_direct() {
    let login = Login::default().schema(Some("no_such_schema"));
    let here = refusal(Proxy::shared().port, &login);
    let there = refusal(Cluster::shared().primary().port, &login);
    assert_eq!(here, there);
    assert_eq!((here.code, here.state.as_str()), (1049, "42000"));
}

#[test]
fn both_plugins_let_the_right_password_in() {
    for plugin in [NATIVE, CACHING_SHA2] {
        let login = Login {
            plugin,
            ..Login::default()
        };
        let proxy = Proxy::shared();
        // The first caching_sha2 login may need the full exchange, which the mysql crate's client does.
        drop(proxy.client());
        let mut client =
            RawClient::login(proxy.port, &login).unwrap_or_else(|e| panic!("{plugin}: {e:?}"));
        assert_eq!(client.query("SELECT 1").expect("a reply").code(), 0);
        let wrong = Login {
            plugin,
            ..Login::default().user("app", "wrong")
        };
        // MariaDB knows no caching_sha2_password: only the proxy is asked.
        assert_eq!(refusal(proxy.port, &wrong).code, 1045, "{plugin}");
    }
}

#[test]
fn a_client_of_either_plugin_may_be_switched_to_the_users_own() {
    common::needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    // SHA1(SHA1("nativepw")) and nothing else is known of this one: only the native plugin can check it.
    config.more = format!(
        "\n[[user]]\nname = \"app3\"\npassword_hash = \"*{}\"\ngroup = \"main\"\n",
        native_hash("app3pw")
    );
    Cluster::shared().prepare(&[
        "CREATE USER app3@'%' IDENTIFIED BY 'app3pw'",
        "GRANT SELECT ON *.* TO app3@'%'",
    ]);
    let proxy = config.start();
    for plugin in [NATIVE, CACHING_SHA2] {
        let login = Login {
            plugin,
            ..Login::default().user("app3", "app3pw")
        };
        let mut client =
            RawClient::login(proxy.port, &login).unwrap_or_else(|e| panic!("{plugin}: {e:?}"));
        assert_eq!(
            client
                .query("SELECT CURRENT_USER()")
                .expect("a reply")
                .value()
                .as_deref(),
            Some("app3@%")
        );
    }
    let wrong = Login::default().user("app3", "wrong");
    assert_eq!(refusal(proxy.port, &wrong).code, 1045);
}

fn native_hash(password: &str) -> String {
    use sha1::{Digest, Sha1};
    let twice = Sha1::digest(Sha1::digest(password));
    twice.iter().map(|b| format!("{b:02X}")).collect()
}

#[test]
fn the_full_caching_sha2_exchange_works_on_a_cold_proxy() {
    common::needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared()).start();
    let mut client = proxy.client_as("app2", "app2pw");
    assert_eq!(scalar(&mut client, "SELECT CURRENT_USER()"), "app2@%");
    let wrong = proxy.options().user(Some("app2")).pass(Some("wrong"));
    let error = proxy.try_client(wrong).expect_err("refused");
    assert_eq!(common::code(&error), 1045);
}

#[test]
fn the_mariadb_command_line_client_logs_in() {
    let proxy = Proxy::shared();
    let output = std::process::Command::new(common::server::find_program("mariadb"))
        .args([
            "--no-defaults",
            "-h127.0.0.1",
            "-uapp",
            "-papppw",
            "-N",
            "-B",
            "app",
        ])
        .arg(format!("-P{}", proxy.port))
        .args(["-e", "SELECT 1+1, DATABASE(); SHOW TABLES LIKE 'zzz'"])
        .output()
        .expect("mariadb runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\tapp\n");
}

#[test]
fn the_unix_socket_serves_the_same() {
    common::needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = RawClient::login_unix(&proxy.unix, &Login::default()).expect("login");
    assert_eq!(
        client
            .query("SELECT DATABASE()")
            .expect("a reply")
            .value()
            .as_deref(),
        Some("app")
    );
    let wrong = RawClient::login_unix(&proxy.unix, &Login::default().user("app", "wrong"));
    let error = wrong.map(|_| ()).expect_err("refused").server();
    assert_eq!(error.code, 1045);
    assert!(
        error.message.contains("'app'@'localhost'"),
        "{}",
        error.message
    );
}

#[test]
fn one_client_too_many_gets_1040_and_room_comes_back() {
    common::needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared())
        .proxy("max_connections = 5")
        .start();
    // The harness's own look at the greeting may still be counted.
    common::wait_until("five clients fit", || {
        let clients: Vec<_> = (0..5)
            .map_while(|_| RawClient::login(proxy.port, &Login::default()).ok())
            .collect();
        clients.len() == 5
    });
    let mut clients = Vec::new();
    common::wait_until("five clients fit", || {
        clients.extend(RawClient::login(proxy.port, &Login::default()));
        clients.len() == 5
    });
    let error = refusal(proxy.port, &Login::default());
    assert_eq!(
        (error.code, error.message.as_str()),
        (1040, "Too many connections")
    );
    clients.pop();
    common::wait_until("one may come", || {
        RawClient::login(proxy.port, &Login::default()).is_ok()
    });
}

#[test]
fn one_client_of_a_user_too_many_gets_1203() {
    common::needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    config.app = "max_connections = 2".into();
    let proxy = config.start();
    let clients: Vec<_> = (0..2).map(|_| RawClient::connect(proxy.port)).collect();
    let error = refusal(proxy.port, &Login::default());
    assert_eq!((error.code, error.state.as_str()), (1203, "42000"));
    let other = RawClient::login(proxy.port, &Login::default().user("app2", "app2pw"));
    assert!(other.is_ok(), "another user has his own room");
    drop(clients);
    common::wait_until("one may come", || {
        RawClient::login(proxy.port, &Login::default()).is_ok()
    });
}

#[test]
fn an_address_outside_the_users_networks_is_refused() {
    common::needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    config.app = "allow = [\"10.0.0.0/8\"]".into();
    let proxy = config.start();
    let error = refusal(proxy.port, &Login::default());
    assert_eq!(error.code, 1045);
    let other = RawClient::login(proxy.port, &Login::default().user("app2", "app2pw"));
    assert!(other.is_ok());
}

#[test]
fn every_client_gets_its_own_connection_id_and_the_servers_flags() {
    let proxy = Proxy::shared();
    let hellos: Vec<_> = (0..20)
        .map(|_| RawClient::open(proxy.port).expect("greets").hello)
        .collect();
    let mut ids: Vec<u32> = hellos.iter().map(|h| h.connection_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), hellos.len());
    let scrambles: std::collections::BTreeSet<_> =
        hellos.iter().map(|h| h.scramble.clone()).collect();
    assert_eq!(scrambles.len(), hellos.len());
    for hello in &hellos {
        assert!(
            hello.scramble.iter().all(|b| *b != 0),
            "no NUL in a scramble"
        );
        assert_eq!(hello.scramble.len(), 20);
        assert_eq!(hello.status, 2, "autocommit");
        let needed = cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH;
        assert_eq!(u64::from(hello.capabilities) & needed, needed);
        assert_eq!(u64::from(hello.capabilities) & cap::COMPRESS & cap::SSL, 0);
    }
}

#[test]
fn a_login_with_a_schema_lands_there_and_one_without_does_not() {
    let proxy = Proxy::shared();
    for (schema, expected) in [
        (Some("other"), Some("other")),
        (None, None),
        (Some("app"), Some("app")),
    ] {
        let mut client =
            RawClient::login(proxy.port, &Login::default().schema(schema)).expect("login");
        let seen = client.query("SELECT DATABASE()").expect("a reply").value();
        assert_eq!(seen.as_deref(), expected);
    }
}

#[test]
fn the_character_set_of_the_login_is_the_sessions() {
    let direct = Cluster::shared().primary().port;
    let ask = "SELECT @@character_set_client, @@character_set_results, @@collation_connection";
    for collation in [8u8, 33, 45, 51, 224, 255] {
        let run = |port| {
            let login = Login {
                collation,
                ..Login::default()
            };
            let mut client = RawClient::login(port, &login).expect("login");
            (0..3)
                .map(|_| client.query(ask).expect("a reply").values())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            run(Proxy::shared().port),
            run(direct),
            "collation {collation}"
        );
    }
}

#[test]
fn mysql_itself_is_served_with_caching_sha2_on_both_sides() {
    common::needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let proxy =
        ProxyConfig::for_ports(vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")])
            .start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    assert_eq!(
        scalar(&mut client, "SELECT @@version"),
        pair.ask(0, "SELECT @@version")
    );
    client
        .query_drop("CREATE TABLE via_proxy (a INT PRIMARY KEY, b VARCHAR(20))")
        .expect("CREATE");
    client
        .query_drop("INSERT INTO via_proxy VALUES (1, '😀')")
        .expect("INSERT");
    pair.sync();
    for _ in 0..5 {
        let row: Option<(u32, String, u32)> = client
            .exec_first("SELECT a, b, @@server_id FROM via_proxy WHERE a = ?", (1,))
            .expect("SELECT");
        assert_eq!(row, Some((1, "😀".into(), 2)));
    }
    for locking in [
        "FOR UPDATE",
        "FOR SHARE",
        "FOR SHARE OF via_proxy SKIP LOCKED",
        "LOCK IN SHARE MODE",
    ] {
        let sql = format!("SELECT @@server_id FROM via_proxy {locking}");
        assert_eq!(scalar(&mut client, &sql), "1", "{locking}");
    }
    client
        .query_drop("SET SESSION sql_mode = 'ANSI', time_zone = '+03:00'")
        .expect("SET");
    for table in ["SELECT", "TABLE via_proxy"] {
        let sql = if table == "SELECT" {
            "SELECT @@time_zone".to_string()
        } else {
            table.to_string()
        };
        for _ in 0..3 {
            let first = scalar(&mut client, &sql);
            assert_eq!(first, if table == "SELECT" { "+03:00" } else { "1" });
        }
    }
    client.query_drop("BEGIN").expect("BEGIN");
    client
        .query_drop("INSERT INTO via_proxy VALUES (2, 'x')")
        .expect("INSERT");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM via_proxy"), "2");
    client.query_drop("ROLLBACK").expect("ROLLBACK");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM via_proxy"), "1");
}

/// mysql --server-public-key-path: the client never asks for the key, and does without TLS.
#[test]
fn a_client_that_was_given_the_public_key_logs_in_under_the_configured_one() {
    use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
    common::needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let key = rsa::RsaPrivateKey::new(&mut rand::thread_rng(), 2048).expect("a key");
    let private = folder.path().join("private.pem");
    let public = folder.path().join("public.pem");
    let pem = key.to_pkcs8_pem(LineEnding::LF).expect("PEM");
    std::fs::write(&private, pem.as_bytes()).expect("written");
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF);
    std::fs::write(&public, pem.expect("PEM")).expect("written");
    pair.run(0, &["GRANT SELECT ON mysql.* TO monitor@'%'"]);
    for configured in [true, false] {
        let mut config = ProxyConfig::for_ports(vec![(pair.ports[0], "primary")]);
        config.group = "accounts = \"server\"".into();
        config.users = false;
        if configured {
            config = config.proxy(&format!("rsa_private_key = {private:?}"));
        }
        let proxy = config.start();
        let output = std::process::Command::new(pair.client_program())
            .args([
                "--no-defaults",
                "-uapp",
                "-papppw",
                "-h127.0.0.1",
                "--ssl-mode=DISABLED",
            ])
            .arg(format!("--server-public-key-path={}", public.display()))
            .arg(format!("-P{}", proxy.port))
            .args(["-N", "-e", "SELECT CURRENT_USER()"])
            .output()
            .expect("mysql runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim() == "app@%", configured, "{output:?}");
    }
}
