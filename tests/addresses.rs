//! Who may come in: address lists of listeners and users, PROXY headers of balancers, and the pace of addresses whose
//! logins fail.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::raw::{change_user_body, tcp_from, Refused};
use common::{code, needs, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient, PATIENCE};
use mysql::prelude::Queryable;
use std::io::Write;
use std::time::{Duration, Instant};

const HERE: [u8; 4] = [127, 0, 0, 1];
const OTHER: [u8; 4] = [127, 0, 0, 2];

/// One listener with these keys, and these lines for the proxy and the user app.
fn proxy_with(keys: &str, lines: &str, app: &str) -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared()).proxy(lines);
    config.app = app.into();
    let proxy = config.start();
    if !common::direct_mode() {
        set_listener(&proxy, keys);
    }
    proxy
}

/// Gives the TCP listener these keys, by a reload.
fn set_listener(proxy: &Proxy, keys: &str) {
    let text = proxy.config_text();
    let listen = text.lines().find(|line| line.starts_with("listen = "));
    let listen = listen.expect("a listener").to_string();
    let (port, unix) = (proxy.port, proxy.unix.display());
    let table = format!("listen = [{{ address = \"127.0.0.1:{port}\", {keys} }}, \"unix:{unix}\"]");
    proxy.write_config_text(&text.replace(&listen, &table));
    let answer = proxy.ask_admin("RELOAD");
    assert!(answer.is_empty(), "{answer:?}");
}

fn connect(proxy: &Proxy, source: [u8; 4]) -> Result<RawClient, Refused> {
    RawClient::on(tcp_from(source, proxy.port)?)
}

fn log_in(proxy: &Proxy, source: [u8; 4], login: &Login) -> Result<RawClient, Refused> {
    let mut client = connect(proxy, source)?;
    client.finish_login(login)?;
    Ok(client)
}

/// Sends these pieces, each by itself, before the greeting.
fn after(proxy: &Proxy, pieces: &[&[u8]]) -> Result<RawClient, Refused> {
    let mut socket = tcp_from(HERE, proxy.port)?;
    for piece in pieces {
        socket.write_all(piece)?;
        common::pause(Duration::from_millis(5));
    }
    RawClient::on(socket)
}

fn counter(proxy: &Proxy, name: &str) -> u64 {
    let rows = proxy.ask_admin(&format!("SHOW STATUS LIKE '{name}'"));
    rows[0][1].parse().expect("a number")
}

/// The client's address in SHOW SESSIONS.
fn shown(proxy: &Proxy, client: &RawClient) -> String {
    let id = client.hello.connection_id.to_string();
    let rows = proxy.ask_admin("SHOW SESSIONS");
    let row = rows.iter().find(|row| row[0] == id);
    let row = row.unwrap_or_else(|| panic!("{id} in {rows:?}"));
    let has_address = |text: &&String| text.contains(':') && !text.contains(' ');
    row.iter().find(has_address).cloned().unwrap_or_default()
}

/// Signature, command, family, and what is behind.
fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut out = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    out.extend([command, family]);
    out.extend((body.len() as u16).to_be_bytes());
    out.extend(body);
    out
}

#[test]
fn a_listeners_lists_turn_clients_away_before_they_are_greeted() {
    needs!(the_proxy);
    let proxy = proxy_with("allow = [\"127.0.0.0/8\"]", "", "");
    let mut stays = log_in(&proxy, OTHER, &Login::default()).expect("allowed");
    set_listener(
        &proxy,
        "allow = [\"127.0.0.0/8\"], deny = [\"127.0.0.2\", \"::/0\"]",
    );
    let rows = proxy.ask_admin("SHOW CONFIG LIKE 'proxy.listen'");
    assert!(rows[0][1].contains("(deny 127.0.0.2/32 ::/0)"), "{rows:?}");
    wait_until("the new list holds", || connect(&proxy, OTHER).is_err());
    for _ in 0..4 {
        let error = connect(&proxy, OTHER).err().expect("denied").server();
        let text = "Host '127.0.0.2' is not allowed to connect to this MySQL server";
        assert_eq!((error.code, error.message.as_str()), (1130, text));
        log_in(&proxy, HERE, &Login::default()).expect("not denied");
    }
    assert!(counter(&proxy, "clients_denied") >= 5);
    assert!(proxy
        .http("/metrics")
        .1
        .contains("umpire_clients_denied_total"));
    proxy.wait_for_log("is not allowed at 127.0.0.1:");
    // who is in stays, and the socket has no lists
    let reply = stays.query("SELECT 1").expect("connected");
    assert!(reply.error.is_none());
    RawClient::login_unix(&proxy.unix, &Login::default()).expect("no address, no list");
    // a list of which nobody here is a member
    set_listener(&proxy, "allow = [\"10.0.0.0/8\", \"2001:db8::/32\"]");
    wait_until("the new list holds", || connect(&proxy, HERE).is_err());
    let error = connect(&proxy, HERE).err().expect("not a member").server();
    assert_eq!(error.code, 1130);
}

#[test]
fn a_users_lists_hold_at_login_and_when_the_user_is_changed() {
    needs!(the_proxy);
    let lists = "allow = [\"127.0.0.0/30\"]\ndeny = [\"127.0.0.2\"]";
    let proxy = proxy_with("tls = \"off\"", "", lists);
    log_in(&proxy, HERE, &Login::default()).expect("allowed");
    let denied = counter(&proxy, "clients_denied");
    for source in [OTHER, [127, 0, 0, 9]] {
        let error = log_in(&proxy, source, &Login::default());
        let error = error.err().expect("denied").server();
        assert_eq!(error.code, 1045, "{error:?}");
        let host = format!("'app'@'127.0.0.{}' (using password: YES)", source[3]);
        assert!(error.message.contains(&host), "{error:?}");
        // whatever the password
        let wrong = Login::default().user("app", "wrong");
        let error = log_in(&proxy, source, &wrong).err().expect("denied");
        assert_eq!(error.server().code, 1045);
        // another user may, and may not become this one
        let app2 = Login::default().user("app2", "app2pw");
        let mut client = log_in(&proxy, source, &app2).expect("no lists");
        let body = change_user_body(&Login::default(), &client.hello.scramble.clone());
        client.send_command(0x11, &body).expect("connected");
        let refused = client.follow_login(&Login::default());
        assert_eq!(refused.expect_err("denied").server().code, 1045);
    }
    assert_eq!(counter(&proxy, "clients_denied"), denied + 6);
    let rows = proxy.ask_admin("SHOW CONFIG LIKE 'user.app.%'");
    let row = |key: &str| rows.iter().find(|row| row[0] == key).map(|row| &*row[1]);
    assert_eq!(row("user.app.allow"), Some("127.0.0.0/30"));
    assert_eq!(row("user.app.deny"), Some("127.0.0.2/32"));
    // the lists of a reload
    let text = proxy.config_text().replace("deny = [\"127.0.0.2\"]\n", "");
    proxy.write_config_text(&text);
    proxy.reload();
    wait_until("the new list holds", || {
        log_in(&proxy, OTHER, &Login::default()).is_ok()
    });
}

#[test]
fn the_client_is_whom_a_trusted_header_names() {
    needs!(the_proxy);
    let proxy = proxy_with(
        "proxy_protocol = [\"127.0.0.1\"], deny = [\"10.9.0.0/16\", \"2001:db8:bad::/48\"]",
        "",
        "allow = [\"10.0.0.0/8\", \"2001:db8::/32\", \"127.0.0.1\"]",
    );
    let v4 = [10, 1, 2, 3, 127, 0, 0, 1, 0x12, 0x34, 0x0c, 0xea];
    let with_tlvs = [&v4[..], &[0xe0, 0, 3], b"abc", &[0x04, 0, 0]].concat();
    let v6: Vec<u8> = [
        &[0x20, 1, 0x0d, 0xb8][..],
        &[0; 11],
        &[7],
        &[0; 16],
        &[0, 9, 0, 0],
    ]
    .concat();
    let binary = v2(0x21, 0x11, &v4);
    let text = b"PROXY TCP6 2001:db8::7 ::1 9 3306\r\n";
    let each: Vec<&[u8]> = text.chunks(7).collect();
    let cases: [(&[&[u8]], &str); 7] = [
        (
            &[b"PROXY TCP4 10.1.2.3 127.0.0.1 4660 3306\r\n"],
            "10.1.2.3:4660",
        ),
        (&each, "[2001:db8::7]:9"),
        (
            &[b"PROXY TCP6 ::ffff:10.1.2.3 ::1 9 3306\r\n"],
            "10.1.2.3:9",
        ),
        (
            &[&binary[..13], &binary[13..20], &binary[20..]],
            "10.1.2.3:4660",
        ),
        (&[&v2(0x21, 0x11, &with_tlvs)], "10.1.2.3:4660"),
        (&[&v2(0x21, 0x21, &v6)], "[2001:db8::7]:9"),
        (&[&v2(0x20, 0, &[])], "127.0.0.1:"),
    ];
    for (pieces, address) in cases {
        let mut client = after(&proxy, pieces).expect(address);
        client.finish_login(&Login::default()).expect(address);
        assert!(shown(&proxy, &client).starts_with(address), "{address}");
        let reply = client.query("SELECT 1").expect("connected");
        assert!(reply.error.is_none());
    }
    // what the listener's list says of the named client, before a greeting
    for header in ["TCP4 10.9.1.2 1.1.1.1 1 1", "TCP6 2001:db8:bad::1 ::1 1 1"] {
        let header = format!("PROXY {header}\r\n");
        let error = after(&proxy, &[header.as_bytes()]).err().expect("denied");
        assert_eq!(error.server().code, 1130, "{header}");
    }
    // and the user's; the error names the client, not the balancer
    let mut client = after(&proxy, &[b"PROXY TCP4 11.1.2.3 1.1.1.1 1 1\r\n"]).expect("greeted");
    let error = client.finish_login(&Login::default());
    let error = error.expect_err("not in the user's list").server();
    assert!(error.message.contains("'app'@'11.1.2.3'"), "{error:?}");
    // the login itself may stand behind the header
    let mut client = after(&proxy, &[b"PROXY UNKNOWN\r\n"]).expect("greeted");
    client
        .finish_login(&Login::default())
        .expect("by the balancer's own address");
    assert_eq!(counter(&proxy, "proxy_headers_refused"), 0);
}

#[test]
fn a_header_that_is_wrong_missing_or_not_trusted_ends_the_connection() {
    needs!(the_proxy);
    let proxy = proxy_with(
        "proxy_protocol = [\"127.0.0.1\"]",
        "login_timeout_ms = 1000",
        "",
    );
    let refused = |expected: u64| {
        wait_until("it is counted", || {
            counter(&proxy, "proxy_headers_refused") == expected
        });
    };
    let oversize = [&v2(0x21, 0x11, &[])[..14], &[0xff, 0xff]].concat();
    let wrong: [&[u8]; 5] = [
        b"PROXY TCP4 10.1.2.3\r\n",
        b"\x50\x00\x00\x01a login without a header",
        &v2(0x21, 0x11, &[1, 2, 3]),
        &oversize,
        &[b'\r', b'\n', b'\r', b'\n', 1],
    ];
    for (n, bytes) in wrong.iter().enumerate() {
        let mut socket = tcp_from(HERE, proxy.port).expect("listens");
        socket.write_all(bytes).expect("sent");
        let silent = std::io::Read::read(&mut socket, &mut [0; 64]);
        assert!(matches!(silent, Ok(0) | Err(_)), "no greeting: {silent:?}");
        refused(n as u64 + 1);
    }
    proxy.wait_for_log("is in proxy_protocol of 127.0.0.1:");
    // without a header nothing is said until the deadline, nor after half of one
    for pieces in [&[][..], &[&b"PROXY TCP4 10."[..]]] {
        assert!(matches!(after(&proxy, pieces), Err(Refused::Io(_))));
    }
    refused(7);
    // from elsewhere none is taken, nor needed
    let from_elsewhere: [&[u8]; 2] = [b"PROXY UNKNOWN\r\n", &v2(0x20, 0, &[])];
    for header in from_elsewhere {
        let mut client = connect(&proxy, OTHER).expect("greeted");
        client.send_raw(header).expect("sent");
        let packet = client.read_packet().expect("an answer");
        assert_eq!(packet.first(), Some(&0xff));
        let text = String::from_utf8_lossy(&packet[9..]).into_owned();
        assert!(
            text.contains("a PROXY header came from 127.0.0.2"),
            "{text}"
        );
        assert!(client.closed_within(PATIENCE));
    }
    refused(9);
    log_in(&proxy, OTHER, &Login::default()).expect("without a header");
    // 127.0.0.1 is no balancer any more
    set_listener(&proxy, "tls = \"off\"");
    wait_until("the new list holds", || {
        log_in(&proxy, HERE, &Login::default()).is_ok()
    });
}

#[test]
fn an_address_whose_logins_fail_waits_longer_each_time_and_nobody_else_does() {
    needs!(the_proxy);
    let proxy = proxy_with(
        "tls = \"off\"",
        "workers = [0]\nfailed_logins_free = 3\nfailed_login_delay_ms = 300\nlogin_timeout_ms = 6000",
        "",
    );
    let wrong = Login::default().user("app", "wrong");
    let fail = |source| {
        let error = log_in(&proxy, source, &wrong).err().expect("refused");
        error.server().code
    };
    assert_eq!((fail(OTHER), fail(OTHER)), (1045, 1045));
    let started = Instant::now();
    assert_eq!(fail(OTHER), 1045);
    for _ in 0..4 {
        // every way to a password, an unknown user among them
        assert_eq!(fail(OTHER), 1045);
        let nobody = Login::default().user("nobody at all", "x");
        let error = log_in(&proxy, OTHER, &nobody).err().expect("refused");
        assert_eq!(error.server().code, 1045);
        // others do not notice
        let delayed = counter(&proxy, "logins_delayed");
        log_in(&proxy, HERE, &Login::default()).expect("no failures here");
        assert_eq!(counter(&proxy, "logins_delayed"), delayed);
    }
    // 50, 100, 200 and five times the longest
    assert!(started.elapsed() >= Duration::from_millis(1850));
    // a flood of connections at once is refused but for the few that can still have a turn
    let mut flood: Vec<RawClient> = (0..40)
        .map(|_| connect(&proxy, OTHER).expect("greeted"))
        .collect();
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let logins: Vec<_> = flood
            .iter_mut()
            .map(|client| scope.spawn(|| client.finish_login(&wrong).expect_err("refused")))
            .collect();
        let ended = logins.into_iter().map(|l| l.join().expect("no panic"));
        let code = |refused| match refused {
            Refused::Server(error) => error.code,
            // too late on a busy machine
            Refused::Io(_) => 1129,
        };
        ended.map(code).collect()
    });
    assert!(
        codes.iter().all(|code| matches!(code, 1045 | 1129)),
        "{codes:?}"
    );
    let examined = codes.iter().filter(|code| **code == 1045).count();
    assert!(examined <= 20, "{codes:?}");
    assert!(counter(&proxy, "logins_delayed") >= 20);
    // a success forgives
    wait_until("the turn comes", || {
        log_in(&proxy, OTHER, &Login::default()).is_ok()
    });
    let delayed = counter(&proxy, "logins_delayed");
    for _ in 0..3 {
        assert_eq!(fail(OTHER), 1045);
    }
    assert_eq!(counter(&proxy, "logins_delayed"), delayed);
    // and the setting can be taken away
    let text = proxy
        .config_text()
        .replace("failed_login_delay_ms = 300", "failed_login_delay_ms = 0");
    proxy.write_config_text(&text);
    proxy.reload();
    wait_until("the setting is in effect", || {
        let rows = proxy.ask_admin("SHOW CONFIG LIKE 'proxy.failed_login_delay_ms'");
        rows[0][1] == "0"
    });
    let app = proxy.client_as("app", "apppw");
    drop(app);
    for _ in 0..10 {
        assert_eq!(fail(HERE), 1045);
    }
    assert_eq!(counter(&proxy, "logins_delayed"), delayed);
    let wrong = proxy.options().pass(Some("wrong"));
    let refused = proxy.try_client(wrong).expect_err("still refused");
    assert_eq!(code(&refused), 1045);
    proxy.client().query_drop("SELECT 1").expect("at once");
}

/// On a server that takes PROXY headers from here.
#[test]
fn servers_are_told_whose_connections_they_have() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(0, &["--proxy-protocol-networks=127.0.0.0/8"]);
    cluster.primary().run(&[
        "GRANT SELECT ON mysql.* TO monitor@'%'",
        "CREATE USER near@'10.1.2.%' IDENTIFIED BY 'nearpw'",
        "GRANT SELECT ON app.* TO near@'10.1.2.%'",
    ]);
    let mut config = ProxyConfig::new(&cluster);
    config.group = "accounts = \"server\"\nproxy_protocol = \"v2\"".into();
    let proxy = config.start();
    set_listener(&proxy, "proxy_protocol = [\"127.0.0.1\"]");
    let from = |address: &str, login: &Login| -> Result<RawClient, Refused> {
        let family = if address.contains(':') {
            "TCP6"
        } else {
            "TCP4"
        };
        let header = format!("PROXY {family} {address} {address} 7 3306\r\n");
        let mut client = after(&proxy, &[header.as_bytes()])?;
        client.finish_login(login)?;
        Ok(client)
    };
    let seen = |client: &mut RawClient| -> String {
        let reply = client.query("SELECT USER()").expect("connected");
        let user = reply.values()[0][0].clone().unwrap_or_default();
        user.split('@').nth(1).unwrap_or_default().to_string()
    };
    wait_until("the listener takes headers", || {
        from("10.1.2.3", &Login::default()).is_ok()
    });
    // a connection of many clients is Umpire's own, in both versions
    for version in ["v2", "v1"] {
        let text = proxy.config_text();
        proxy.write_config_text(&text.replace(
            "proxy_protocol = \"v2\"",
            &format!("proxy_protocol = {version:?}"),
        ));
        let answer = proxy.ask_admin("RELOAD");
        assert!(answer.is_empty(), "{answer:?}");
        for address in ["10.1.2.3", "2001:db8::7"] {
            let mut client = from(address, &Login::default()).expect("the server takes the header");
            let host = seen(&mut client);
            assert!(
                host.starts_with("127.0.0.1") || host.starts_with("localhost"),
                "{host}"
            );
        }
        let refused = from(
            "10.1.2.3",
            &Login::default().user("near", "nearpw").schema(None),
        );
        let error = refused.err().expect("the server sees Umpire").server();
        assert!(error.message.contains("sees Umpire's host"), "{error:?}");
    }
    // or each has its client's address, and no other client's
    for version in ["v1", "v2"] {
        let text = proxy.config_text();
        let line = text.lines().find(|l| l.starts_with("proxy_protocol = "));
        let line = line.expect("a line of the group");
        let new = format!("proxy_protocol = {version:?}\nproxy_protocol_address = \"client\"");
        let text = text.replace("proxy_protocol_address = \"client\"\n", "");
        proxy.write_config_text(&text.replace(line, &new));
        let answer = proxy.ask_admin("RELOAD");
        assert!(answer.is_empty(), "{answer:?}");
        wait_until("the client's address is told", || {
            let client = from("10.1.2.3", &Login::default());
            client.is_ok_and(|mut client| seen(&mut client).starts_with("10.1.2.3"))
        });
        let addresses = ["10.1.2.3", "10.1.2.4", "2001:db8::7"];
        let mut clients = Vec::new();
        for _ in 0..3 {
            for address in addresses {
                let client = from(address, &Login::default()).expect("logged in");
                clients.push((address, client));
            }
        }
        for _ in 0..5 {
            for (address, client) in &mut clients {
                let host = seen(client);
                assert!(host.starts_with(*address), "{address}: {host}");
            }
        }
        let near = Login::default().user("near", "nearpw");
        let mut client = from("10.1.2.9", &near).expect("an account for the client's host alone");
        assert!(seen(&mut client).starts_with("10.1.2.9"));
        assert!(from("10.9.9.9", &near).is_err());
    }
    // a socket's client has no address; checks never have one
    let mut client = RawClient::login_unix(&proxy.unix, &Login::default()).expect("logged in");
    assert!(!seen(&mut client).starts_with("10."));
    let servers = proxy.ask_admin("SHOW SERVERS");
    assert_eq!(servers.len(), 1);
}
