//! TLS to the servers: every mode, whom it trusts, and what is said when it cannot be.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::{needs, scalar, tls, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// Server options: this certificate, and the tests' authority for those of clients.
fn options(name: &str) -> Vec<String> {
    let option = |key: &str, file: &str| format!("--ssl-{key}={}", tls::file(file).display());
    vec![
        option("cert", &format!("{name}.pem")),
        option("key", &format!("{name}.key")),
        option("ca", "ca.pem"),
    ]
}

fn cluster(name: &str) -> Cluster {
    let options = options(name);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Cluster::start_with(0, &options)
}

/// A server whose certificate is in order, for the tests that change nothing about it.
fn right() -> &'static Cluster {
    static RIGHT: OnceLock<Cluster> = OnceLock::new();
    RIGHT.get_or_init(|| cluster("server"))
}

fn config(cluster: &Cluster, group_tls: &str) -> ProxyConfig {
    let mut config = ProxyConfig::new(cluster).proxy("lease_timeout_ms = 1500");
    config.group_tls = group_tls.into();
    config
}

/// How the server says that Umpire's connection is encrypted; empty: it is not.
fn cipher(proxy: &Proxy, user: &str, password: &str) -> Result<String, mysql::Error> {
    let options = proxy.options().user(Some(user)).pass(Some(password));
    let mut client = proxy.try_client(options.db_name(None::<String>))?;
    let row: Option<(String, String)> = client.query_first("SHOW STATUS LIKE 'Ssl_cipher'")?;
    Ok(row.expect("a row").1)
}

fn authority() -> String {
    tls::keys(&[("ca", "ca.pem")])
}

/// The column of SHOW SERVERS for the server at this port.
fn shown(proxy: &Proxy, port: u16, column: usize) -> String {
    let rows = proxy.ask_admin("SHOW SERVERS");
    let row = rows.iter().find(|r| r[1].ends_with(&format!(":{port}")));
    row.expect("the server")[column].clone()
}
const ALIVE: usize = 4;
const REASON: usize = 11;

#[test]
fn each_mode_encrypts_and_trusts_as_it_says() {
    needs!(the_proxy);
    let (elsewhere, expired) = std::thread::scope(|scope| {
        let elsewhere = scope.spawn(|| cluster("elsewhere"));
        let expired = cluster("expired");
        (elsewhere.join().expect("it starts"), expired)
    });
    let other_group = |name: &str, user: &str, password: &str, port: u16, tls: &str| {
        format!(
            "\n[[group]]\nname = \"{name}\"\n\
             monitor = {{ user = \"monitor\", password = \"monitorpw\", interval_ms = 100 }}\n\
             servers = [{{ address = \"127.0.0.1:{port}\", role = \"primary\" }}]\n[group.tls]\n{tls}\n\
             [[user]]\nname = \"{user}\"\npassword = \"{password}\"\ngroup = \"{name}\"\n"
        )
    };
    let ports = [right(), &expired, &elsewhere].map(|c| c.primary().port);
    for (mode, good) in [
        ("preferred", [true, true, true]),
        ("required", [true, true, true]),
        ("verify-ca", [true, false, true]),
        ("verify-identity", [true, false, false]),
    ] {
        let lines = format!("mode = \"{mode}\"\n{}", authority());
        let mut config = config(right(), &lines);
        config.users = false;
        config.more = format!(
            "[[user]]\nname = \"app\"\npassword = \"apppw\"\ngroup = \"main\"\n{}{}",
            other_group("expired", "app2", "app2pw", ports[1], &lines),
            other_group("elsewhere", "nobody", "", ports[2], &lines),
        );
        let proxy = config.start();
        for ((user, password), (port, good)) in
            [("app", "apppw"), ("app2", "app2pw"), ("nobody", "")]
                .into_iter()
                .zip(ports.into_iter().zip(good))
        {
            let outcome = cipher(&proxy, user, password);
            if good {
                assert!(!outcome.unwrap().is_empty(), "{mode} {user}");
                continue;
            }
            let text = outcome.expect_err("not trusted").to_string();
            let expected = match user {
                "app2" => "certificate has to be renewed",
                _ => "certificate is not for 127.0.0.1",
            };
            assert!(text.contains(expected), "{mode} {user}: {text}");
            wait_until("the server is not alive, and it is said why", || {
                shown(&proxy, port, ALIVE) == "no" && shown(&proxy, port, REASON).contains(expected)
            });
        }
    }
}

#[test]
fn a_server_signed_by_another_authority_is_refused_and_its_own_setting_goes_before_the_groups() {
    needs!(the_proxy);
    let lines = format!(
        "mode = \"verify-ca\"\n{}",
        tls::keys(&[("ca", "other-ca.pem")])
    );
    let proxy = config(right(), &lines).start();
    let text = cipher(&proxy, "app", "apppw").expect_err("not trusted");
    let expected = "no authority of the group's tls.ca signed the server's certificate";
    assert!(text.to_string().contains(expected), "{text}");
    let mut off = config(right(), "mode = \"required\"");
    off.servers[0].2 = "tls = \"disabled\"".into();
    assert_eq!(cipher(&off.start(), "app", "apppw").unwrap(), "");
}

#[test]
fn a_servers_certificate_that_its_authority_took_back_is_refused_by_checks_and_turns() {
    needs!(the_proxy);
    let (withdrawn, renewed) = std::thread::scope(|scope| {
        let withdrawn = scope.spawn(|| cluster("withdrawn"));
        let renewed = cluster("renewed");
        (withdrawn.join().expect("it starts"), renewed)
    });
    for mode in ["verify-ca", "verify-identity"] {
        let lines = format!("mode = \"{mode}\"\n{}", authority());
        let list = format!("{lines}{}", tls::keys(&[("crl", "crl.pem")]));
        let good = config(&renewed, &list).start();
        assert!(!cipher(&good, "app", "apppw").unwrap().is_empty(), "{mode}");
        // trusted as long as nobody reads the list; a reload reads it
        let changed = config(&withdrawn, &list);
        let proxy = config(&withdrawn, &lines).start();
        assert!(
            !cipher(&proxy, "app", "apppw").unwrap().is_empty(),
            "{mode}"
        );
        proxy.write_config(&changed);
        proxy.reload();
        let port = withdrawn.primary().port;
        let expected = "the authority took the server's certificate back";
        wait_until("the server is not alive, and it is said why", || {
            shown(&proxy, port, ALIVE) == "no" && shown(&proxy, port, REASON).contains(expected)
        });
        wait_until("no turn uses it", || {
            cipher(&proxy, "app", "apppw").is_err_and(|e| e.to_string().contains(expected))
        });
    }
    // no list of the authority in between: nobody knows what it took back
    let lines = format!(
        "mode = \"verify-ca\"\n{}{}",
        authority(),
        tls::keys(&[("crl", "crl.pem")])
    );
    let proxy = config(right(), &lines).start();
    let error = cipher(&proxy, "app", "apppw")
        .expect_err("not trusted")
        .to_string();
    assert!(
        error.contains("needs a list of each authority in the chain"),
        "{error}"
    );
}

#[test]
fn health_checks_use_it_and_accounts_that_require_a_certificate_get_one() {
    needs!(the_proxy);
    let cluster = cluster("server");
    cluster.prepare(&[
        "ALTER USER monitor@'%' REQUIRE SSL",
        "ALTER USER app2@'%' REQUIRE X509",
    ]);
    let pair = tls::keys(&[("certificate", "client.pem"), ("key", "client.key")]);
    let lines = format!("mode = \"verify-identity\"\n{}{pair}", authority());
    let proxy = config(&cluster, &lines).start();
    wait_until("the monitor is let in and sees a writable server", || {
        let rows = proxy.ask_admin("SHOW SERVERS");
        rows.iter().all(|row| row[4] == "yes" && row[5] == "yes")
    });
    let log = proxy.stderr();
    assert!(!log.contains("turns the monitor away"), "{log}");
    assert!(!cipher(&proxy, "app2", "app2pw").unwrap().is_empty());
    // without the certificate the server says no, and its answer comes through
    let without = format!("mode = \"required\"\n{}", authority());
    let proxy = config(&cluster, &without).start();
    let error = cipher(&proxy, "app2", "app2pw").expect_err("refused");
    assert_eq!(common::code(&error), 1045);
}

#[test]
fn a_server_without_tls_is_used_where_tls_is_preferred_and_named_where_it_is_required() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(0, &["--skip-ssl"]);
    let port = cluster.primary().port;
    let preferred = config(&cluster, "mode = \"preferred\"").start();
    assert_eq!(cipher(&preferred, "app", "apppw").unwrap(), "");
    let required = config(&cluster, "mode = \"required\"").start();
    let text = cipher(&required, "app", "apppw").expect_err("refused");
    let expected = "does not offer TLS, which its group requires";
    assert!(text.to_string().contains(expected), "{text}");
    wait_until("the server is not alive, and it is said why", || {
        shown(&required, port, ALIVE) == "no" && shown(&required, port, REASON).contains(expected)
    });
}

#[test]
fn pooled_connections_give_way_when_a_reload_changes_how_they_are_encrypted() {
    needs!(the_proxy);
    let folder = common::cluster::run_folder();
    let authorities = folder.path().join("ca.pem");
    let put = |name: &str| {
        std::fs::copy(tls::file(name), &authorities).expect("a copy");
    };
    let mut config = config(right(), "");
    let proxy = config.start();
    assert_eq!(cipher(&proxy, "app", "apppw").unwrap(), "");
    let mut session = proxy.client();
    session.query_drop("SET @kept = 5").expect("a statement");
    session.query_drop("BEGIN").expect("a statement");
    put("ca.pem");
    config.group_tls = format!(
        "mode = \"verify-identity\"\nca = \"{}\"",
        authorities.display()
    );
    proxy.write_config(&config);
    proxy.reload();
    wait_until("new connections are encrypted", || {
        cipher(&proxy, "app", "apppw").is_ok_and(|cipher| !cipher.is_empty())
    });
    assert_eq!(
        scalar(&mut session, "SELECT @kept"),
        "5",
        "the transaction goes on"
    );
    session.query_drop("COMMIT").expect("a statement");
    assert_eq!(scalar(&mut session, "SELECT @kept + 1"), "6");
    // the same file with an authority that signed nothing of this: no pooled connection stays
    put("other-ca.pem");
    proxy.reload();
    wait_until("the server is no longer trusted", || {
        cipher(&proxy, "app2", "app2pw").is_err()
    });
    // a file that cannot be used changes nothing
    std::fs::write(&authorities, "no certificate").expect("written");
    proxy.reload();
    proxy.wait_for_log("holds no certificate in PEM form");
    put("ca.pem");
    proxy.reload();
    wait_until("the server is trusted again", || {
        cipher(&proxy, "app2", "app2pw").is_ok()
    });
    assert_eq!(scalar(&mut session, "SELECT @kept + 2"), "7");
}

/// Of several connections that are open at once, the later ones resume the session of an earlier one.
fn resumes(server: u16, tls: &str) {
    let listener = Listener::before(server);
    let mut config = ProxyConfig::for_ports(vec![(listener.port, "primary")]);
    config.group_tls = tls.into();
    let proxy = config.start();
    let mut held: Vec<Conn> = Vec::new();
    wait_until("a connection resumes an earlier one's session", || {
        if held.len() > 40 {
            held.clear();
        }
        let mut client = proxy.client();
        client.query_drop("BEGIN").expect("a statement");
        held.push(client);
        let said = listener.said.lock().expect("not poisoned");
        said.iter().any(|of_one| is_resumed(of_one))
    });
}

/// Whether the ServerHello in what a server said agrees to a key of before (TLS 1.3: pre_shared_key).
fn is_resumed(said: &[u8]) -> bool {
    const PRE_SHARED_KEY: u16 = 41;
    let number = |at: usize| {
        said.get(at..at + 2)
            .map(|b| u16::from_be_bytes([b[0], b[1]]))
    };
    let Some(record) = said.windows(3).position(|w| w == [0x16, 3, 3]) else {
        return false;
    };
    // record header, message header, version, random, session id, cipher, compression
    let session = record + 5 + 4 + 2 + 32;
    let Some(length) = said.get(session) else {
        return false;
    };
    let extensions = session + 1 + usize::from(*length) + 3;
    let Some(end) = number(extensions).map(|n| extensions + 2 + usize::from(n)) else {
        return false;
    };
    let mut at = extensions + 2;
    while at < end {
        let (Some(kind), Some(length)) = (number(at), number(at + 2)) else {
            return false;
        };
        if kind == PRE_SHARED_KEY {
            return true;
        }
        at += 4 + usize::from(length);
    }
    false
}

#[test]
fn new_connections_resume_the_session_of_earlier_ones() {
    needs!(the_proxy);
    let lines = format!("mode = \"verify-identity\"\n{}", authority());
    resumes(right().primary().port, &lines);
}

/// 12 MB and 9 MB, inside TLS with the client and with the server.
fn large_both_ways(proxy: &Proxy, login: &Login) {
    let mut client = RawClient::login_tls(proxy.port, login, &tls::client()).unwrap();
    let reply = client.query("SELECT REPEAT('abc', 4000000)").unwrap();
    assert_eq!(reply.value().map(|v| v.len()), Some(12_000_000));
    let long = format!("SELECT LENGTH('{}')", "y".repeat(9_000_000));
    let reply = client.query(&long).unwrap();
    assert_eq!(reply.value().as_deref(), Some("9000000"));
    // a client that leaves in the middle of a result leaves the connection to nobody
    client
        .send_command(3, b"SELECT REPEAT('abc', 4000000)")
        .unwrap();
    drop(client);
    let mut next = RawClient::login_tls(proxy.port, login, &tls::client()).unwrap();
    assert_eq!(
        next.query("SELECT 7").unwrap().value().as_deref(),
        Some("7")
    );
}

#[test]
fn large_results_and_statements_pass_through_both_encryptions() {
    needs!(the_proxy);
    let mut config = config(
        right(),
        &format!("mode = \"verify-identity\"\n{}", authority()),
    );
    config.more = tls::section("");
    large_both_ways(&config.start(), &Login::default());
}

#[test]
fn kill_and_a_change_of_user_work_inside() {
    needs!(the_proxy);
    let proxy = config(right(), "mode = \"required\"").start();
    let mut sleeper = RawClient::connect(proxy.port);
    let id = sleeper.hello.connection_id;
    sleeper.send_command(3, b"SELECT SLEEP(60)").unwrap();
    let mut other = proxy.client();
    wait_until("the statement runs", || {
        let rows = proxy.ask_admin("SHOW SESSIONS");
        rows.iter()
            .any(|r| r[0] == id.to_string() && r.iter().any(|cell| cell == "running"))
    });
    other
        .query_drop(format!("KILL QUERY {id}"))
        .expect("own session");
    let reply = sleeper.read_reply(3).unwrap();
    assert!(
        reply.code() == 1317 || reply.value().as_deref() == Some("1"),
        "{reply:?}"
    );
    let login = Login::default().user("app2", "app2pw");
    let body = common::raw::change_user_body(&login, &sleeper.hello.scramble.clone());
    sleeper.send_command(0x11, &body).unwrap();
    sleeper.follow_login(&login).unwrap();
    let account = sleeper.query("SELECT CURRENT_USER()").unwrap();
    assert_eq!(account.value().as_deref(), Some("app2@%"));
}

/// A server that says hello as `real` does and then breaks the handshake off in one of several ways.
fn broken_server(real: u16) -> (u16, Arc<AtomicU8>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let how = Arc::new(AtomicU8::new(0));
    let ways = how.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), way) = (client, ways.load(Relaxed)) else {
                return;
            };
            std::thread::spawn(move || break_off(&mut client, real, way));
        }
    });
    (port, how)
}

fn break_off(client: &mut TcpStream, real: u16, way: u8) {
    let mut server = TcpStream::connect(("127.0.0.1", real)).expect("the real server");
    let mut buffer = [0; 4096];
    let hello = server.read(&mut buffer).expect("a greeting");
    // a client that has left is no concern of this one
    let _ = client.write_all(&buffer[..hello]);
    let _ = client.read(&mut buffer);
    let _ = match way {
        0 => Ok(()),
        1 => client.write_all(&[0x15, 3, 3, 0, 2, 2, 40]),
        2 => client.write_all(&[0xaa; 3000]),
        // half a record, and then nothing until the other side gives up
        _ => client
            .write_all(&[0x16, 3, 3, 0x40, 0, 2])
            .and_then(|()| client.read(&mut buffer).map(drop)),
    };
}

#[test]
fn a_server_that_breaks_the_handshake_off_is_an_error_that_says_so_and_harms_nobody() {
    needs!(the_proxy);
    let (port, how) = broken_server(right().primary().port);
    let mut config = ProxyConfig::for_ports(vec![(port, "primary")]);
    config.group_tls = "mode = \"required\"".into();
    config.proxy = "lease_timeout_ms = 600\nlogin_timeout_ms = 700\n".into();
    let proxy = config.start();
    for (way, expected) in [
        (0, "the server ended the connection"),
        (1, "HandshakeFailure"),
        (2, "TLS handshake"),
        (3, "no answer within"),
    ] {
        how.store(way, Relaxed);
        wait_until("SHOW SERVERS names it", || {
            shown(&proxy, port, REASON).contains(expected)
        });
        let refused = cipher(&proxy, "app", "apppw").expect_err("no server");
        assert!(refused.to_string().contains("server"), "{refused}");
    }
    assert!(proxy.is_alive());
}

/// In front of the real MySQL; clients are offered TLS as well.
fn mysql_config(pair: &MysqlPair, group_tls: &str) -> ProxyConfig {
    let mut config = ProxyConfig::for_ports(vec![(pair.ports[0], "primary")]);
    config.group_tls = group_tls.into();
    config.more = tls::section("");
    config
}

#[test]
fn mysqls_own_certificates_its_full_authentication_and_changes_of_user_work() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    pair.run(
        0,
        &[
            "CREATE USER tlsuser@'%' IDENTIFIED WITH caching_sha2_password BY 'tlspw' REQUIRE SSL",
            "CREATE USER other@'%' IDENTIFIED WITH caching_sha2_password BY 'otherpw' REQUIRE SSL",
            "ALTER USER monitor@'%' REQUIRE SSL",
            // the server forgets the passwords that it has seen: they have to be shown to it again
            "FLUSH PRIVILEGES",
        ],
    );
    let mut config = mysql_config(pair, "mode = \"required\"");
    for user in ["tlsuser", "other"] {
        let password = format!("{}pw", user.trim_end_matches("user"));
        config.more.push_str(&format!(
            "\n[[user]]\nname = \"{user}\"\npassword = \"{password}\"\ngroup = \"main\"\n"
        ));
    }
    let proxy = config.start();
    wait_until("the monitor is let in", || {
        shown(&proxy, pair.ports[0], ALIVE) == "yes"
    });
    assert!(!cipher(&proxy, "tlsuser", "tlspw").unwrap().is_empty());
    let login = Login {
        plugin: common::raw::CACHING_SHA2,
        schema: None,
        ..Login::default().user("tlsuser", "tlspw")
    };
    let mut client = RawClient::login_tls(proxy.port, &login, &tls::client()).unwrap();
    let value = |client: &mut RawClient, sql: &str| client.query(sql).unwrap().value();
    for (user, password) in [
        ("other", "otherpw"),
        ("tlsuser", "tlspw"),
        ("other", "otherpw"),
    ] {
        let login = Login {
            plugin: common::raw::CACHING_SHA2,
            schema: None,
            ..Login::default().user(user, password)
        };
        let body = common::raw::change_user_body(&login, &client.hello.scramble.clone());
        client.send_command(0x11, &body).unwrap();
        client.follow_login(&login).unwrap();
        let account = format!("{user}@%");
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()"), Some(account));
    }
    // a schema that has to be left again makes Umpire change the user of its own connection, inside TLS
    let mut first = proxy.client_as("app", "apppw");
    first.query_drop("DO 1").expect("a statement");
    drop(first);
    let no_schema = proxy.options().db_name(None::<String>);
    for _ in 0..3 {
        let mut second = proxy.try_client(no_schema.clone()).expect("app can log in");
        assert_eq!(
            scalar(&mut second, "SELECT IFNULL(DATABASE(), 'none')"),
            "none"
        );
    }
    large_both_ways(
        &proxy,
        &Login {
            plugin: common::raw::CACHING_SHA2,
            ..Login::default()
        },
    );
    resumes(pair.ports[0], "mode = \"required\"");
}

#[test]
fn mysqls_own_authority_is_verified_and_another_is_not() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    let authority = pair.ask(0, "SELECT CONCAT(@@datadir, @@ssl_ca)");
    let lines = |ca: &str| format!("mode = \"verify-ca\"\nca = \"{ca}\"");
    let proxy = mysql_config(pair, &lines(&authority)).start();
    assert!(!cipher(&proxy, "app", "apppw").unwrap().is_empty());
    let other = tls::file("ca.pem").display().to_string();
    let proxy = mysql_config(pair, &lines(&other))
        .proxy("lease_timeout_ms = 1500")
        .start();
    let refused = cipher(&proxy, "app", "apppw").expect_err("not trusted");
    assert!(
        refused
            .to_string()
            .contains("no authority of the group's tls.ca"),
        "{refused}"
    );
}

type Bytes = Arc<Mutex<Vec<u8>>>;

/// Copies both directions between clients of `port` and a server, and keeps what was said.
struct Listener {
    port: u16,
    /// By all clients.
    heard: Bytes,
    /// The first bytes of the server, for each connection.
    said: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// Of what a server says.
const KEPT: usize = 4096;

impl Listener {
    fn before(server: u16) -> Listener {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (heard, said) = (Bytes::default(), Arc::new(Mutex::new(Vec::new())));
        let made = Listener {
            port: listener.local_addr().expect("bound").port(),
            heard: heard.clone(),
            said: said.clone(),
        };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let (Ok(c), Ok(s)) = (client.try_clone(), server.try_clone()) else {
                    continue;
                };
                let heard = heard.clone();
                std::thread::spawn(move || {
                    copy(client, server, |bytes| {
                        heard.lock().expect("not poisoned").extend(bytes);
                    });
                });
                let said = said.clone();
                let of_one = {
                    let mut all = said.lock().expect("not poisoned");
                    all.push(Vec::new());
                    all.len() - 1
                };
                std::thread::spawn(move || {
                    copy(s, c, |bytes| {
                        let mut all = said.lock().expect("not poisoned");
                        if all[of_one].len() < KEPT {
                            all[of_one].extend(bytes);
                        }
                    });
                });
            }
        });
        made
    }

    fn heard(&self, word: &str) -> bool {
        let heard = self.heard.lock().expect("not poisoned");
        heard.windows(word.len()).any(|w| w == word.as_bytes())
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, log: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        log(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    // one end is gone: so is the other
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}

#[test]
fn whoever_listens_on_the_way_to_the_server_hears_neither_names_nor_statements() {
    needs!(the_proxy);
    let listener = Listener::before(right().primary().port);
    let marker = common::marker();
    for (mode, heard) in [
        ("mode = \"disabled\"", true),
        ("mode = \"required\"", false),
    ] {
        listener.heard.lock().expect("not poisoned").clear();
        let mut config = ProxyConfig::for_ports(vec![(listener.port, "primary")]);
        config.group_tls = mode.into();
        let proxy = config.start();
        let mut client = proxy.client();
        assert_eq!(scalar(&mut client, &format!("SELECT '{marker}'")), marker);
        for word in [&marker[..], "app\0", "monitor\0", "@@global.read_only"] {
            assert_eq!(listener.heard(word), heard, "{mode} {word:?}");
        }
    }
}
