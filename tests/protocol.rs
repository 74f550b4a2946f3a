//! Every command as with a direct connection; and no bytes whatever that kill the proxy.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::reply::Reply;
use common::{process, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use std::io::{Read, Write};
use std::time::Duration;
use umpire::wire::capabilities as cap;

fn cluster() -> &'static Cluster {
    static READY: std::sync::Once = std::sync::Once::new();
    let cluster = Cluster::shared();
    READY.call_once(|| {
        cluster.stop_logging();
        cluster.prepare(&[
            "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'x')",
            "INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, '')",
            "CREATE TABLE loaded (a INT, b VARCHAR(20))",
            "CREATE PROCEDURE results() BEGIN SELECT 1; SELECT a FROM t; SELECT NULL; END",
            "CREATE PROCEDURE fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END",
        ]);
    });
    cluster
}

/// Runs the same script against the proxy and against the primary: the replies must be equal.
#[track_caller]
fn as_direct(script: impl Fn(&mut RawClient) -> Vec<Reply>) {
    let cluster = cluster();
    let flags = [
        0,
        cap::DEPRECATE_EOF,
        cap::DEPRECATE_EOF | cap::SESSION_TRACK | cap::FOUND_ROWS,
    ];
    for extra in flags {
        let login = Login::default().with(extra).with(cap::MULTI_STATEMENTS);
        let run = |port| {
            let mut client = RawClient::login(port, &login).expect("login");
            script(&mut client)
        };
        let there = run(cluster.primary().port);
        let here = run(Proxy::shared().port);
        assert_eq!(here.len(), there.len());
        for (i, (here, there)) in here.iter().zip(&there).enumerate() {
            assert_eq!(here, there, "reply {i} with flags {extra:x}");
        }
    }
}

fn ask(client: &mut RawClient, statements: &[&str]) -> Vec<Reply> {
    let statements = statements.iter();
    statements
        .map(|sql| client.query(sql).expect("a reply"))
        .collect()
}

#[test]
fn text_results_of_every_shape_are_the_servers_bytes() {
    as_direct(|c| {
        ask(
            c,
            &[
                "SELECT a, b FROM t ORDER BY a",
                "SELECT a FROM t WHERE a > 99",
                "SELECT NULL, '', 0x00, 'ü😀', 1.5, NOW() > 0",
                "SELECT REPEAT('x', 250), REPEAT('y', 251), REPEAT('z', 70000)",
                "SELECT a.* FROM t a JOIN t b JOIN t c",
                "DO 1",
                "UPDATE t SET b = b WHERE a = 1",
                "SELECT * FROM missing",
                "SELEC",
                "SELECT 1/0",
                "SHOW WARNINGS",
                "SHOW COLUMNS FROM t",
                "CREATE TEMPORARY TABLE tt (a INT)",
                "INSERT INTO tt VALUES (1), (2), (3)",
                "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
                "SELECT FOUND_ROWS()",
            ],
        )
    });
}

#[test]
fn several_results_in_one_reply_are_the_servers_bytes() {
    as_direct(|c| {
        ask(
            c,
            &[
                "CALL results()",
                "CALL fails()",
                "SELECT 1; SELECT 2; DO 3",
                "SELECT 1; SELEC 2; SELECT 3",
                "SELECT 1; SELECT * FROM missing",
                "SET @a = 1; SELECT @a",
                "BEGIN; SELECT 1; COMMIT",
                "SELECT 1;;",
                "CALL results(); SELECT 4",
                "SELECT 'alive'",
            ],
        )
    });
}

#[test]
fn what_a_failed_call_left_of_its_schema_is_reported_when_the_server_does() {
    as_direct(|c| {
        let steps = [
            "USE other",
            "CREATE TABLE app.given_up (id INT)",
            "CREATE PROCEDURE app.gives_up() BEGIN INSERT INTO given_up VALUES (1); SIGNAL SQLSTATE '45000'; END",
            "BEGIN",
            "COMMIT AND CHAIN",
            "CALL app.gives_up()",
            "BEGIN",
            "CALL app.gives_up()",
            "INSERT INTO app.given_up VALUES (2)",
            "CALL app.gives_up()",
            "UPDATE app.given_up SET id = 3",
            "ROLLBACK",
            "CALL app.gives_up()",
            "INSERT INTO app.given_up VALUES (4)",
            "SELECT ROW_COUNT()",
            "SET time_zone = '+01:00'",
            "DROP PROCEDURE app.gives_up",
            "DROP TABLE app.given_up",
        ];
        steps
            .iter()
            .map(|sql| c.query(sql).expect("a reply"))
            .collect()
    });
}

/// An error, or a result that ends with EOF, has no room for the report: it comes with the session's next OK, and never with
/// another session's.
#[test]
fn on_mysql_what_could_not_be_reported_at_once_is_when_the_server_does() {
    common::needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let proxy = ProxyConfig::for_ports(vec![(pair.ports[0], "primary")])
        .proxy("workers = [0]")
        .start();
    // from the second login on the server does without the password itself
    let options = common::cluster::client_options(pair.ports[0]);
    mysql::Conn::new(options).expect("login");
    let run = |port, flags| {
        let login = Login::default().with(flags);
        let mut first = RawClient::login(port, &login).expect("login");
        let mut replies = ask(
            &mut first,
            &[
                "START TRANSACTION",
                "DROP TABLE nowhere_at_all",
                "SELECT 1",
                "SHOW WARNINGS",
                "SELECT 2",
            ],
        );
        let mut second = RawClient::login(port, &login).expect("login");
        replies.extend(ask(&mut second, &["SELECT 3", "SET @b = 1", "DO 2"]));
        replies.extend(ask(
            &mut first,
            &["SET @a = 1", "DO 1", "START TRANSACTION"],
        ));
        replies.extend(ask(&mut first, &["DROP TABLE nowhere_at_all", "SELECT 4"]));
        // to the schema that it was prepared in, and back
        replies.extend(ask(&mut first, &["SET @a = 2", "USE other"]));
        let id = first.prepare("SELECT 7").id.to_le_bytes();
        replies.extend(ask(&mut first, &["USE app"]));
        let body = [&id[..], &[0, 1, 0, 0, 0]].concat();
        replies.push(first.command(0x17, &body).expect("a reply"));
        replies.extend(ask(&mut second, &["SELECT 6", "SET @b = 2"]));
        replies.extend(ask(&mut first, &["SELECT 6", "SET @a = 3", "DO 4"]));
        drop(first);
        let mut third = RawClient::login(port, &login).expect("login");
        replies.extend(ask(&mut third, &["SELECT 5", "SET @c = 1", "DO 3"]));
        replies
    };
    for flags in [cap::SESSION_TRACK, cap::SESSION_TRACK | cap::DEPRECATE_EOF] {
        let (there, here) = (run(pair.ports[0], flags), run(proxy.port, flags));
        for (i, (here, there)) in here.iter().zip(&there).enumerate() {
            assert_eq!(here, there, "reply {i} with flags {flags:x}");
        }
    }
}

/// MariaDB's progress reports look like errors of this number.
#[test]
fn errors_of_any_number_end_their_replies() {
    let signals = ["1000", "65534", "65535", "65536"]
        .map(|number| format!("SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {number}"));
    let ask_all = |c: &mut RawClient| {
        let signals = signals.iter().map(|sql| c.query(sql).expect("a reply"));
        let mut replies: Vec<Reply> = signals.collect();
        replies.extend(ask(c, &["RESIGNAL", "SELECT 1"]));
        replies
    };
    as_direct(ask_all);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let proxy = ProxyConfig::for_ports(vec![(pair.ports[0], "primary")]).start();
    let replies = ask_all(&mut RawClient::connect(proxy.port));
    let codes: Vec<u16> = replies.iter().map(Reply::code).collect();
    assert_eq!(codes, [1000, 65534, 65535, 1231, 1645, 0]);
}

#[test]
fn small_commands_answer_as_direct() {
    as_direct(|c| {
        let mut replies = vec![c.command(0x0e, &[]).expect("COM_PING")];
        replies.push(c.command(0x02, b"other").expect("COM_INIT_DB"));
        replies.push(c.query("SELECT DATABASE()").expect("a reply"));
        replies.push(c.command(0x02, b"no_such").expect("COM_INIT_DB"));
        replies.push(c.query("SELECT DATABASE()").expect("a reply"));
        replies.push(c.command(0x02, b"app").expect("COM_INIT_DB"));
        replies.push(c.command(0x04, b"t\0%").expect("COM_FIELD_LIST"));
        replies.push(c.command(0x04, b"t\0b").expect("COM_FIELD_LIST"));
        replies.push(c.command(0x04, b"missing\0").expect("COM_FIELD_LIST"));
        replies.push(
            c.command(0x1b, &[1, 0])
                .expect("COM_SET_OPTION: no multi statements"),
        );
        replies.push(c.query("SELECT 1; SELECT 2").expect("a reply"));
        replies.push(
            c.command(0x1b, &[0, 0])
                .expect("COM_SET_OPTION: multi statements"),
        );
        replies.push(c.query("SELECT 1; SELECT 2").expect("a reply"));
        replies.push(c.command(0x1f, &[]).expect("COM_RESET_CONNECTION"));
        replies.push(c.query("SELECT DATABASE(), @@autocommit").expect("a reply"));
        replies
    });
}

#[test]
fn statistics_is_one_text_packet() {
    let mut client = RawClient::connect(Proxy::shared().port);
    let text = client
        .command(0x09, &[])
        .expect("a reply")
        .text
        .expect("a text");
    assert!(text.contains("Uptime"), "{text}");
    assert_eq!(
        client
            .query("SELECT 'alive'")
            .expect("a reply")
            .value()
            .as_deref(),
        Some("alive")
    );
}

#[test]
fn unknown_commands_are_refused_and_the_connection_lives() {
    let cluster = cluster();
    for command in [0x05, 0x0f, 0x10, 0x14, 0x20, 0x7f, 0xf0, 0xff] {
        let run = |port| {
            let mut client = RawClient::connect(port);
            let reply = client.command(command, b"x").expect("a reply");
            let after = client.query("SELECT 'alive'").expect("a reply").value();
            (reply.error, after)
        };
        assert_eq!(
            run(Proxy::shared().port),
            run(cluster.primary().port),
            "command {command:#x}"
        );
    }
}

#[test]
fn an_empty_packet_is_answered_as_direct_or_closes_only_its_own_connection() {
    let mut client = RawClient::connect(Proxy::shared().port);
    client.send_packet(0, &[]).expect("sends");
    let mut next = RawClient::connect(Proxy::shared().port);
    assert_eq!(
        next.query("SELECT 'alive'")
            .expect("a reply")
            .value()
            .as_deref(),
        Some("alive")
    );
    // MariaDB reads it as COM_SLEEP and answers 1047.
    if let Ok(packet) = client.read_packet() {
        assert_eq!(packet.first(), Some(&0xff));
    }
}

#[test]
fn commands_sent_without_waiting_are_answered_in_order() {
    let mut client = RawClient::connect(Proxy::shared().port);
    let mut bytes = Vec::new();
    for i in 0..200 {
        let sql = format!("\x03SELECT {i}");
        bytes.extend([sql.len() as u8, 0, 0, 0]);
        bytes.extend(sql.as_bytes());
    }
    client.send_raw(&bytes).expect("sends");
    for i in 0..200 {
        let reply = client.read_reply(0x03).expect("a reply");
        assert_eq!(reply.value(), Some(i.to_string()));
    }
}

#[test]
fn a_command_that_arrives_byte_by_byte_is_one_command() {
    let mut client = RawClient::connect(Proxy::shared().port);
    for _ in 0..2 {
        let sql = b"\x03SELECT 'slow'";
        let mut bytes = vec![sql.len() as u8, 0, 0, 0];
        bytes.extend(sql);
        for byte in bytes {
            client.send_raw(&[byte]).expect("sends");
        }
        assert_eq!(
            client.read_reply(0x03).expect("a reply").value().as_deref(),
            Some("slow")
        );
    }
}

/// A text query whose payload is exactly `total` bytes long.
fn query_of(total: usize) -> String {
    let (head, tail) = ("SELECT LENGTH('", "')");
    let value = "q".repeat(total - 1 - head.len() - tail.len());
    format!("{head}{value}{tail}")
}

#[test]
fn queries_of_exactly_the_packet_limit_and_around_it_go_through() {
    let limit = 0xff_ffff;
    cluster();
    for total in [
        limit - 1,
        limit,
        limit + 1,
        17 << 20,
        2 * limit,
        2 * limit + 1,
    ] {
        let mut client = RawClient::connect(Proxy::shared().port);
        let reply = client.query(&query_of(total)).expect("a reply");
        assert_eq!(reply.value(), Some((total - 18).to_string()), "{total}");
        let reply = client.query("SELECT 'alive'").expect("a reply");
        assert_eq!(reply.value().as_deref(), Some("alive"));
    }
}

#[test]
fn rows_of_exactly_the_packet_limit_and_around_it_come_back() {
    let limit = 0xff_ffff;
    as_lengths(&[
        limit - 5,
        limit - 4,
        limit - 3,
        limit,
        17 << 20,
        2 * limit - 9,
        2 * limit,
    ]);
}

#[track_caller]
fn as_lengths(lengths: &[usize]) {
    for login in [Login::default(), Login::default().with(cap::DEPRECATE_EOF)] {
        let mut client = RawClient::login(Proxy::shared().port, &login).expect("login");
        for length in lengths {
            let reply = client
                .query(&format!("SELECT REPEAT('r', {length}), 1"))
                .expect("a reply");
            assert_eq!(reply.error, None, "{length}");
            assert_eq!(
                reply.values()[0][0].as_ref().map(String::len),
                Some(*length)
            );
            assert_eq!(reply.values()[0][1].as_deref(), Some("1"));
        }
    }
}

#[test]
fn a_command_over_max_allowed_packet_is_refused_with_1153() {
    needs_proxy_config("max_allowed_packet = 1048576", |proxy| {
        let mut client = RawClient::connect(proxy.port);
        assert_eq!(client.query(&query_of(1 << 20)).expect("a reply").code(), 0);
        let mut client = RawClient::connect(proxy.port);
        // The refusal may come, and the connection close, before all was sent.
        if let Ok(reply) = client.query(&query_of(3 << 20)) {
            assert_eq!(reply.code(), 1153);
        }
        let mut next = RawClient::connect(proxy.port);
        assert_eq!(next.query("SELECT 1").expect("a reply").code(), 0);
    });
}

fn needs_proxy_config(lines: &str, test: impl FnOnce(&Proxy)) {
    common::needs!(the_proxy);
    let proxy = ProxyConfig::new(cluster()).proxy(lines).start();
    proxy.wait_for_readers(&[2, 3]);
    test(&proxy);
    assert!(proxy.is_alive());
    proxy.assert_no_panic();
}

#[test]
fn load_data_local_streams_the_clients_file_and_never_the_proxys() {
    let cluster = cluster();
    let load = |port: u16, table: &str, chunks: &[&[u8]]| {
        let mut client = RawClient::connect(port);
        client
            .query(&format!("CREATE TEMPORARY TABLE {table} LIKE loaded"))
            .expect("a reply");
        // The name exists on this machine: the proxy must not open it.
        let sql = format!("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE {table}");
        let asked = client.query(&sql).expect("a reply");
        assert_eq!(asked.wants_file.as_deref(), Some("/etc/passwd"));
        let mut sequence = client.sequence.wrapping_add(1);
        for chunk in chunks {
            client.send_packet(sequence, chunk).expect("sends");
            sequence = sequence.wrapping_add(1);
        }
        client.send_packet(sequence, &[]).expect("sends");
        let done = client.read_reply(0x03).expect("a reply");
        let count = client
            .query(&format!("SELECT COUNT(*), SUM(a) FROM {table}"))
            .expect("a reply");
        (done, count.values())
    };
    let many: Vec<Vec<u8>> = (0..300)
        .map(|i| {
            (0..1000)
                .map(|j| format!("{}\trow\n", i * 1000 + j))
                .collect::<String>()
                .into_bytes()
        })
        .collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
    let cases: [&[&[u8]]; 4] = [
        &[],
        &[b"1\tone\n2\ttwo\n"],
        &[b"1\t", b"one\nbad\tx\n3"],
        &many,
    ];
    for chunks in cases {
        let here = load(Proxy::shared().port, "l", chunks);
        let there = load(cluster.primary().port, "l", chunks);
        assert_eq!(here, there);
    }
    // Refused by the server after the request: error, then the connection is usable.
    let mut client = RawClient::connect(Proxy::shared().port);
    let refused = client
        .query("LOAD DATA LOCAL INFILE 'x' INTO TABLE missing")
        .expect("a reply");
    assert_eq!(refused.code(), 1146);
    assert_eq!(client.query("SELECT 1").expect("a reply").code(), 0);
}

#[test]
fn change_user_in_every_outcome() {
    use common::raw::change_user_body;
    let cluster = cluster();
    let run = |port: u16, login: &Login| {
        let mut client = RawClient::connect(port);
        client.query("SET @kept = 1").expect("a reply");
        let body = change_user_body(login, &client.hello.scramble.clone());
        client.send_command(0x11, &body).expect("sends");
        match client.follow_login(login) {
            Ok(()) => {
                let who = client
                    .query("SELECT CURRENT_USER(), DATABASE(), @kept")
                    .expect("a reply");
                (0, who.values(), String::new())
            }
            Err(refused) => {
                let error = refused.server();
                // MariaDB goes on as the user of before
                let who = client
                    .query("SELECT CURRENT_USER(), DATABASE(), @kept, @@character_set_client");
                (
                    error.code,
                    who.map(|who| who.values()).unwrap_or_default(),
                    error.message,
                )
            }
        }
    };
    let cases = [
        Login::default(),
        Login::default()
            .user("app2", "app2pw")
            .schema(Some("other")),
        Login::default().user("app2", "app2pw").schema(None),
        Login::default().user("app2", "wrong"),
        Login::default().user("stranger", "x"),
        Login::default().schema(Some("no_such_schema")),
    ];
    for login in &cases {
        let here = run(Proxy::shared().port, login);
        let there = run(cluster.primary().port, login);
        assert_eq!(
            (here.0, &here.1),
            (there.0, &there.1),
            "{login:?}: {} / {}",
            here.2,
            there.2
        );
    }
}

#[test]
fn wrong_sequence_numbers_and_lengths_hurt_nobody_else() {
    let mut witness = RawClient::connect(Proxy::shared().port);
    for bytes in [
        &[1u8, 0, 0, 7, 0x0e][..],
        &[0xff, 0xff, 0xff, 0],
        &[0xff, 0xff, 0xff, 0, 0x03],
        &[5, 0, 0, 0, 0x17, 1],
        &[5, 0, 0, 0, 0x17, 1, 0, 0, 0],
        &[2, 0, 0, 0, 0x18, 1],
        &[1, 0, 0, 0, 0x19],
        &[1, 0, 0, 0, 0x1a],
        &[1, 0, 0, 0, 0x1c],
        &[1, 0, 0, 0, 0x11],
        &[3, 0, 0, 0, 0x11, b'a', b'b'],
        &[1, 0, 0, 0, 0x16],
        &[1, 0, 0, 0, 0x02],
        &[1, 0, 0, 0, 0x04],
        &[1, 0, 0, 0, 0x1b],
        &[2, 0, 0, 0, 0x03, 0],
        &[3, 0, 0, 0, 0x12, 0, 0],
        &[1, 0, 0, 0, 0xfa],
    ] {
        let mut client = RawClient::connect(Proxy::shared().port);
        client.send_raw(bytes).expect("sends");
        client.shut_down_writing();
        client.closed_within(Duration::from_secs(10));
        assert_eq!(
            witness
                .query("SELECT 'w'")
                .expect("a reply")
                .value()
                .as_deref(),
            Some("w")
        );
    }
}

/// xorshift: the same bytes in every run.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn random_bytes_before_in_and_after_the_login_never_kill_the_proxy() {
    needs_proxy_config("login_timeout_ms = 2000", |proxy| {
        let mut random = Random(0x5eed);
        for round in 0..300 {
            let size = (random.next() % 600) as usize;
            let garbage = random.bytes(size);
            match round % 4 {
                0 => {
                    let mut socket = common::raw::tcp(proxy.port).expect("accepts");
                    socket.write_all(&garbage).ok();
                }
                1 => {
                    let mut client = RawClient::open(proxy.port).expect("greets");
                    client.send_packet(1, &garbage).ok();
                }
                2 => {
                    let mut client = RawClient::connect(proxy.port);
                    client.send_raw(&garbage).ok();
                }
                _ => {
                    let mut client = RawClient::connect(proxy.port);
                    client
                        .send_command(random.next() as u8 % 0x20, &garbage)
                        .ok();
                }
            }
            if round % 50 == 0 {
                assert!(proxy.is_alive(), "{}", proxy.stderr());
            }
        }
        let mut client = proxy.client();
        assert_eq!(common::scalar(&mut client, "SELECT 'alive'"), "alive");
    });
}

#[test]
fn cut_and_mutated_login_packets_never_kill_the_proxy() {
    needs_proxy_config("login_timeout_ms = 2000", |proxy| {
        let mut random = Random(0xcafe);
        let good = handshake_response();
        for cut in 0..good.len() {
            let mut client = RawClient::open(proxy.port).expect("greets");
            client.send_packet(1, &good[..cut]).ok();
            let mut client = RawClient::open(proxy.port).expect("greets");
            let mut bad = good.clone();
            bad[cut] = random.next() as u8;
            client.send_packet(1, &bad).ok();
        }
        for announced in [0x00ff_ffffu32, 0x00ff_fffe, 0x0010_0000] {
            let mut client = RawClient::open(proxy.port).expect("greets");
            let l = announced.to_le_bytes();
            client.send_raw(&[l[0], l[1], l[2], 1]).ok();
            client.send_raw(&[0; 64]).ok();
        }
        assert_eq!(
            common::scalar(&mut proxy.client(), "SELECT 'alive'"),
            "alive"
        );
    });
}

fn handshake_response() -> Vec<u8> {
    let mut body = common::raw::BASE.to_le_bytes().to_vec();
    body.extend([0, 0, 0, 4, 45]);
    body.extend([0; 23]);
    body.extend(b"app\0\x14aaaaaaaaaaaaaaaaaaaaapp\0mysql_native_password\0");
    body
}

#[test]
fn clients_that_stay_silent_at_login_are_shown_the_door() {
    needs_proxy_config("login_timeout_ms = 700", |proxy| {
        let before = process::open_descriptors(proxy.pid());
        let mut silent: Vec<_> = (0..50)
            .map(|_| RawClient::open(proxy.port).expect("greets"))
            .collect();
        for client in &mut silent {
            assert!(
                client.closed_within(Duration::from_secs(20)),
                "closed at its deadline"
            );
        }
        common::wait_until("their descriptors are gone", || {
            process::open_descriptors(proxy.pid()) <= before + 5
        });
    });
}

#[test]
fn an_announced_gigabyte_that_never_comes_takes_no_memory() {
    needs_proxy_config("", |proxy| {
        let before = process::resident_bytes(proxy.pid());
        let mut clients: Vec<_> = (0..100).map(|_| RawClient::connect(proxy.port)).collect();
        for client in &mut clients {
            client
                .send_raw(&[0xff, 0xff, 0xff, 0, 0x03, b'S'])
                .expect("sends");
        }
        let mut other = proxy.client();
        for _ in 0..50 {
            other.query_drop("SELECT 1").expect("answers");
        }
        let grown = process::resident_bytes(proxy.pid()).saturating_sub(before);
        assert!(
            grown < 64 << 20,
            "{} MB for 100 unfinished commands",
            grown >> 20
        );
    });
}

#[test]
fn a_slow_reader_of_a_big_result_holds_only_the_high_water_mark() {
    needs_proxy_config("", |proxy| {
        let mut other = proxy.client();
        let before = process::resident_bytes(proxy.pid());
        let mut slow = RawClient::connect(proxy.port);
        // 400 MB, of which nothing is read for now.
        let rows = "SELECT REPEAT('x', 1000000) FROM seq_1_to_400";
        slow.send_command(0x03, rows.as_bytes()).expect("sends");
        let mut worst = 0;
        for _ in 0..300 {
            other.query_drop("SELECT 1").expect("others go on");
            worst = worst.max(process::resident_bytes(proxy.pid()));
            common::pause(Duration::from_millis(2));
        }
        let grown = worst.saturating_sub(before);
        assert!(
            grown < 32 << 20,
            "{} MB held for one slow reader",
            grown >> 20
        );
        // The reader wakes up and gets everything.
        let mut total = 0usize;
        let mut buffer = vec![0u8; 1 << 20];
        while total < 400_000_000 {
            let n = slow.socket.read(&mut buffer).expect("the result goes on");
            assert!(n > 0, "closed after {total} bytes");
            total += n;
        }
        let grown = process::resident_bytes(proxy.pid()).saturating_sub(before);
        assert!(grown < 48 << 20, "{} MB after the result", grown >> 20);
    });
}

#[test]
fn a_slow_sender_of_a_big_command_holds_nothing_and_a_lost_one_is_cleaned_up() {
    needs_proxy_config("", |proxy| {
        let before = process::open_descriptors(proxy.pid());
        for _ in 0..20 {
            let mut half = RawClient::connect(proxy.port);
            half.send_raw(&[0, 0, 0x40, 0, 0x03]).expect("sends");
            half.send_raw(&vec![b' '; 1 << 20]).expect("sends");
            drop(half);
        }
        common::wait_until("descriptors of the lost are gone", || {
            process::open_descriptors(proxy.pid()) <= before + 10
        });
        assert_eq!(
            common::scalar(&mut proxy.client(), "SELECT 'alive'"),
            "alive"
        );
    });
}

#[test]
fn a_client_that_half_closes_still_gets_its_answer_or_a_clean_end() {
    let mut client = RawClient::connect(Proxy::shared().port);
    client
        .send_command(0x03, b"SELECT SLEEP(0.2), 'late'")
        .expect("sends");
    client.shut_down_writing();
    if let Ok(reply) = client.read_reply(0x03) {
        assert_eq!(reply.values()[0][1].as_deref(), Some("late"));
    }
    let mut next = RawClient::connect(Proxy::shared().port);
    assert_eq!(next.query("SELECT 1").expect("a reply").code(), 0);
}

#[test]
fn quit_closes_the_connection() {
    let mut client = RawClient::connect(Proxy::shared().port);
    client.send_command(0x01, &[]).expect("sends");
    assert!(client.closed_within(Duration::from_secs(20)));
}
