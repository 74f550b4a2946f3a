//! The compressed protocol, on either side of the proxy: the same answers, and smaller.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::raw::{change_user_body, Socket, CACHING_SHA2};
use common::reply::Reply;
use common::{needs, tls, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient};
use std::process::{Command, Stdio};
use umpire::wire::capabilities as cap;

/// Of several packets, and of several buffers.
const LARGE: usize = 17 << 20;
const SMALL: usize = 1 << 20;

fn login(flag: u64, mysql: bool) -> Login {
    let login = Login::default().with(flag).with(cap::DEPRECATE_EOF);
    match mysql {
        true => Login {
            plugin: CACHING_SHA2,
            ..login
        },
        false => login,
    }
}

/// Every kind of traffic; what a client sees of it, with the session ids left out.
fn talk(client: &mut RawClient, large: usize) -> Vec<Reply> {
    let mut seen = Vec::new();
    let large = "y".repeat(large);
    for sql in [
        "CREATE TABLE squeezed (a LONGTEXT)",
        "SELECT 1",
        "SELECT REPEAT('x', 49), REPEAT('x', 5000)",
        "SELECT nothing",
        "SELECT SHA2(a, 512) FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 3) AS t",
        &format!("INSERT INTO squeezed VALUES ('{large}')"),
        "SELECT a FROM squeezed",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE squeezed",
    ] {
        let mut reply = client.query(sql).expect("connected");
        if reply.wants_file.is_some() {
            let mut sequence = client.sequence.wrapping_add(1);
            for n in 0..200 {
                let line = format!("{n}{}\n", "z".repeat(n));
                client
                    .send_packet(sequence, line.as_bytes())
                    .expect("sends");
                sequence = sequence.wrapping_add(1);
            }
            client.send_packet(sequence, &[]).expect("sends");
            reply = client.read_reply(0x03).expect("a reply");
        }
        for set in &mut reply.sets {
            // the server tells the proxy alone
            set.status &= !0x4000;
        }
        seen.push(reply);
    }
    let prepared = client.prepare("SELECT CONCAT(?, COUNT(*)) FROM squeezed");
    let mut body = prepared.id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0, 0, 1, 253, 0, 4]);
    body.extend(b"rows");
    seen.push(client.command(0x17, &body).expect("EXECUTE"));
    seen
}

fn frames(client: &RawClient) -> (usize, usize) {
    match &client.socket {
        Socket::Compressed(socket) => (socket.packed_frames, socket.frames),
        _ => panic!("the connection is not compressed"),
    }
}

fn compare(direct: u16, proxied: u16, (flag, mysql): (u64, bool), large: usize) {
    let connect = |port: u16| RawClient::login(port, &login(flag, mysql)).expect("app logs in");
    let (mut here, mut there) = (connect(proxied), connect(direct));
    let talk_anew = |client: &mut RawClient| {
        let mut other = connect(direct);
        other
            .query("DROP TABLE IF EXISTS squeezed")
            .expect("a reply");
        talk(client, large)
    };
    let (seen, expected) = (talk_anew(&mut here), talk_anew(&mut there));
    for (at, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
        assert!(seen == expected, "reply {at}, {:?}", seen.error);
    }
    for client in [&here, &there] {
        let (packed, all) = frames(client);
        assert!(packed > 0 && packed < all, "{packed} of {all}");
    }
}

/// In front of a primary alone, so that every answer is its.
fn before(port: u16, compression: &str) -> Proxy {
    let mut config = ProxyConfig::for_ports(vec![(port, "primary")]);
    config.group = format!("compression = \"{compression}\"");
    let proxy = config.start();
    proxy.wait_for_readers(&[1]);
    proxy
}

#[test]
fn clients_are_compressed_by_zlib_as_by_the_server() {
    needs!(the_proxy);
    let cluster = Cluster::start(0);
    cluster.stop_logging();
    let port = cluster.primary().port;
    compare(
        port,
        before(port, "off").port,
        (cap::COMPRESS, false),
        LARGE,
    );
    // both sides, and servers that are compressed alone
    let proxy = before(port, "zlib");
    compare(port, proxy.port, (cap::COMPRESS, false), SMALL);
    servers_are_compressed(&proxy);
}

#[test]
fn mysql_compresses_by_zstd_too() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    let port = pair.ports[0];
    // a raw client has the fast path of caching_sha2_password only
    let options = common::cluster::client_options(port);
    mysql::Conn::new(options).expect("app logs in");
    let proxy = before(port, "off");
    compare(port, proxy.port, (cap::ZSTD_COMPRESSION, true), LARGE);
    compare(port, proxy.port, (cap::COMPRESS, true), SMALL);
    for algorithm in ["zstd", "zlib"] {
        let proxy = before(port, algorithm);
        compare(port, proxy.port, (cap::ZSTD_COMPRESSION, true), SMALL);
        servers_are_compressed(&proxy);
    }
    let client = pair.client_program();
    let output = run(Command::new(client).args(
        "--no-defaults -h127.0.0.1 -uapp -papppw --compression-algorithms=zstd --get-server-public-key"
            .split(' '),
    ), proxy.port);
    assert_eq!(output, *LONG);
}

/// What a command-line client prints of [`ASK`].
const ASK: &str = "SELECT REPEAT('ab', 5000)";
static LONG: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "ab".repeat(5000));

fn run(client: &mut Command, port: u16) -> String {
    let output = client
        .args([&format!("-P{port}"), "-N", "-e", ASK])
        .stdin(Stdio::null())
        .output()
        .expect("the client runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn servers_are_compressed(proxy: &Proxy) {
    let mut client = proxy.client();
    let status = common::rows(&mut client, "SHOW STATUS LIKE 'Compression'");
    assert_eq!(status, [["Compression", "ON"]]);
    // a file of more packets than their sequence numbers go
    let mut plain = RawClient::connect(proxy.port);
    for _ in 0..2 {
        plain.query("TRUNCATE TABLE squeezed").expect("a reply");
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE squeezed";
        assert!(plain.query(load).expect("a reply").wants_file.is_some());
        let mut sequence = plain.sequence.wrapping_add(1);
        for _ in 0..700 {
            let line = format!("{}\n", "w".repeat(100));
            plain.send_packet(sequence, line.as_bytes()).expect("sends");
            sequence = sequence.wrapping_add(1);
        }
        plain.send_packet(sequence, &[]).expect("sends");
        assert_eq!(
            plain.read_reply(0x03).expect("a reply").ok().affected_rows,
            700
        );
        let count = plain
            .query("SELECT COUNT(*) FROM squeezed")
            .expect("a reply");
        assert_eq!(count.value().as_deref(), Some("700"));
    }
}

#[test]
fn compression_goes_with_tls_change_of_user_and_ordinary_tools() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    config.more = tls::section("");
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let who = login(cap::COMPRESS, false);
    let mut client = RawClient::login_tls(proxy.port, &who, &tls::client()).expect("logs in");
    let reply = client.query(ASK).expect("a reply");
    assert_eq!(reply.value().as_deref(), Some(LONG.as_str()));
    let other = login(cap::COMPRESS, false).user("app2", "app2pw");
    let body = change_user_body(&other, &client.hello.scramble.clone());
    client.send_command(0x11, &body).expect("sends");
    client.follow_login(&other).expect("app2 logs in");
    let reply = client.query("SELECT CURRENT_USER()").expect("a reply");
    assert_eq!(reply.value().as_deref(), Some("app2@%"));
    assert!(frames(&client).0 > 0);
    let words = "--no-defaults --compress --skip-ssl -h127.0.0.1 -uapp -papppw";
    let mut tool = Command::new("mariadb");
    assert_eq!(run(tool.args(words.split(' ')), proxy.port), *LONG);
}

#[test]
fn a_listener_that_does_not_offer_it_is_plain() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared())
        .proxy("compression = false")
        .start();
    let mut client = RawClient::login(proxy.port, &login(cap::COMPRESS, false)).expect("logs in");
    assert!(matches!(client.socket, Socket::Tcp(_)));
    assert_eq!(client.query("SELECT 1").expect("a reply").code(), 0);
}

#[test]
fn a_compressed_client_that_sends_rubbish_is_closed_and_nobody_else() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut bystander = RawClient::connect(proxy.port);
    for rubbish in [
        &[3, 0, 0, 0, 255, 255, 255, 1, 2, 3][..],
        &[5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 14],
        &[255; 40],
    ] {
        let mut client =
            RawClient::login(proxy.port, &login(cap::COMPRESS, false)).expect("logs in");
        let inner = match &mut client.socket {
            Socket::Compressed(socket) => &mut socket.inner,
            _ => panic!("the connection is not compressed"),
        };
        std::io::Write::write_all(inner, rubbish).expect("sends");
        let socket = std::mem::replace(inner, Socket::None);
        client.socket = socket;
        client.shut_down_writing();
        assert!(client.closed_within(common::PATIENCE));
        assert_eq!(bystander.query("SELECT 1").expect("a reply").code(), 0);
    }
    wait_until("the proxy lives", || proxy.is_alive());
}
