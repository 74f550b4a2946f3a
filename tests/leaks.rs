//! What one session must never leave to the next one on the same server connection, and bytes of a client that
//! must never become what it did not say.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::{
    needs, pause, rows, scalar, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient,
};
use mysql::prelude::Queryable;
use std::time::Duration;
use umpire::backend::{replay_policy, Replay};
use umpire::wire::capabilities as cap;

const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const RESET: u8 = 0x1a;
const FETCH: u8 = 0x1c;
const RESET_CONNECTION: u8 = 0x1f;
const BIGINT: [u8; 2] = [8, 0];
const STRING: [u8; 2] = [0xfd, 0];

/// A proxy whose clients share one connection to each server.
fn one_connection() -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    for server in &mut config.servers {
        server.2 = "max_connections = 1".into();
    }
    let proxy = config.proxy("min_idle = 0\nworkers = [0]").start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

/// EXECUTE's body for values that are framed already; no types: as bound before.
fn execute(id: u32, cursor: u8, types: &[[u8; 2]], values: &[&[u8]]) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.push(cursor);
    body.extend(1u32.to_le_bytes());
    if !values.is_empty() {
        body.extend(vec![0; values.len().div_ceil(8)]);
        body.push(u8::from(!types.is_empty()));
        body.extend(types.iter().flatten());
        body.extend(values.iter().copied().flatten());
    }
    body
}

fn text(value: &[u8]) -> Vec<u8> {
    let mut out = vec![0xfd];
    out.extend(&(value.len() as u32).to_le_bytes()[..3]);
    out.extend(value);
    out
}

#[test]
fn a_failed_statement_without_autocommit_leaves_no_transaction_and_no_lock_behind() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE TABLE twice (a INT PRIMARY KEY)",
        "INSERT INTO twice VALUES (1)",
    ]);
    let proxy = Proxy::shared();
    let free = || {
        cluster
            .direct()
            .query_drop("SELECT a FROM twice WHERE a = 1 FOR UPDATE NOWAIT")
            .is_ok()
    };
    for end in ["ROLLBACK", "quit", "vanish"] {
        let mut client = RawClient::connect(proxy.port);
        client.query("SET autocommit = 0").expect("SET");
        let refused = client
            .query("INSERT INTO twice VALUES (1)")
            .expect("answer");
        assert_eq!(refused.code(), 1062);
        assert!(!free(), "the failed INSERT holds its lock, as on a server");
        match end {
            "ROLLBACK" => drop(client.query("ROLLBACK").expect("ROLLBACK")),
            "quit" => client.send_command(0x01, b"").expect("QUIT"),
            _ => drop(client),
        }
        wait_until(&format!("after {end} the lock is free"), free);
    }
}

#[test]
fn a_statement_whose_state_is_refused_leaves_no_reply_and_no_setting_behind() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE DATABASE goes_away"]);
    let proxy = one_connection();
    let mut client = RawClient::connect(proxy.port);
    for sql in ["USE goes_away", "SET sql_mode = 'ANSI'"] {
        client.query(sql).expect(sql);
    }
    // a read: prepared on a replica, so that the primary does not have it
    let prepared = client.prepare("SELECT 5");
    for sql in ["USE app", "SET sql_mode = ''"] {
        client.query(sql).expect(sql);
    }
    cluster.prepare(&["DROP DATABASE goes_away"]);
    client.query("BEGIN").expect("BEGIN");
    for round in 0..5 {
        let refused = client
            .command(EXECUTE, &execute(prepared.id, 0, &[], &[]))
            .expect("answer");
        assert_eq!(refused.code(), 1049, "{refused:?}");
        for i in 0..3 {
            let ask = format!("SELECT CONCAT('{round}.{i} ', DATABASE(), ' ', @@sql_mode)");
            let reply = client.query(&ask).expect("answer");
            assert_eq!(reply.value(), Some(format!("{round}.{i} app ")));
        }
    }
    client.query("COMMIT").expect("COMMIT");
}

#[test]
fn what_is_left_of_an_upload_that_a_server_refused_is_never_a_command() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(0, &["--max-allowed-packet=1M"]);
    cluster.stop_logging();
    cluster.prepare(&[
        "CREATE TABLE injected (a INT)",
        "CREATE TABLE big (t LONGTEXT)",
    ]);
    let proxy = ProxyConfig::new(&cluster).start();
    wait_until("writes work", || {
        proxy
            .client()
            .query_drop("INSERT INTO big VALUES ('')")
            .is_ok()
    });
    let sql = b"\x03INSERT INTO injected VALUES (1)";
    let mut framed = (sql.len() as u32).to_le_bytes().to_vec();
    framed.extend(sql);
    // wherever the proxy's reading stops, one of the attempts has a frame begin there
    for padding in 0..framed.len() {
        let mut client = RawClient::connect(proxy.port);
        let mut body = b"INSERT INTO big VALUES ('".to_vec();
        body.extend(vec![b'x'; padding]);
        while body.len() < 4 << 20 {
            body.extend(&framed);
        }
        // a server that closes leaves the rest without a taker; one that reads it all goes on
        client.send_command(0x03, &body).ok();
        client.closed_within(Duration::from_millis(100));
    }
    assert_eq!(
        cluster.primary().ask("SELECT COUNT(*) FROM app.injected"),
        "0"
    );
}

#[test]
fn a_large_execute_without_types_is_read_by_its_own_sessions_types() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.stop_logging();
    cluster.prepare(&["CREATE TABLE typed (id BIGINT PRIMARY KEY, t LONGTEXT)"]);
    let proxy = one_connection();
    let mut numbers = RawClient::connect(proxy.port);
    let mut strings = RawClient::connect(proxy.port);
    let insert = "INSERT INTO typed VALUES (?, ?)";
    let (by_number, by_string) = (numbers.prepare(insert), strings.prepare(insert));
    for (i, size) in [10, 300_000, 5_000_000, 17 << 20].into_iter().enumerate() {
        let base = 10 * i as i64;
        let value = text(&vec![b'v'; size]);
        let first = execute(
            by_number.id,
            0,
            &[BIGINT, STRING],
            &[&(base + 1).to_le_bytes(), &text(b"a")],
        );
        let other = execute(
            by_string.id,
            0,
            &[STRING, STRING],
            &[&text((base + 2).to_string().as_bytes()), &text(b"b")],
        );
        let again = execute(
            by_number.id,
            0,
            &[],
            &[&(base + 3).to_le_bytes(), &value_of(&value, size)],
        );
        numbers.command(EXECUTE, &first).expect("answer").ok();
        strings.command(EXECUTE, &other).expect("answer").ok();
        let reply = numbers.command(EXECUTE, &again).expect("answer");
        let lengths = cluster.primary().ask(&format!(
            "SELECT GROUP_CONCAT(id, ':', LENGTH(t) ORDER BY id) FROM app.typed WHERE id BETWEEN {base} AND {}",
            base + 9
        ));
        let both = format!("{}:1,{}:1", base + 1, base + 2);
        match reply.error {
            None => assert_eq!(lengths, format!("{both},{}:{size}", base + 3)),
            // several packets: Umpire's own refusal, and nothing was written
            Some(error) => {
                assert!(
                    size > 1 << 24 && error.message.contains("types"),
                    "{error:?}"
                );
                assert_eq!(lengths, both);
            }
        }
    }
}

/// `text` has room for 16 MiB only.
fn value_of(framed: &[u8], size: usize) -> Vec<u8> {
    if size < 1 << 24 {
        return framed.to_vec();
    }
    let mut out = vec![0xfe];
    out.extend((size as u64).to_le_bytes());
    out.extend(vec![b'v'; size]);
    out
}

#[test]
fn a_reset_connection_reads_text_as_a_new_one() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = RawClient::connect(proxy.port);
    for mode in ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"] {
        client
            .query(&format!("SET sql_mode = '{mode}', wait_timeout = 2"))
            .expect("SET")
            .ok();
        client.command(RESET_CONNECTION, b"").expect("reset").ok();
        for sql in [
            r"SELECT '\'', @@server_id FROM dual FOR UPDATE -- '",
            "SELECT \"'\", @@server_id FROM dual FOR UPDATE -- '",
        ] {
            for _ in 0..4 {
                let values = client.query(sql).expect("answer").values();
                assert_eq!(values[0][1].as_deref(), Some("1"), "{mode}: {sql}");
            }
        }
    }
    pause(Duration::from_secs(4));
    assert_eq!(
        client
            .query("SELECT 1")
            .expect("still there")
            .value()
            .as_deref(),
        Some("1")
    );
}

#[test]
fn what_is_set_without_a_scope_is_the_clients_alone() {
    needs!(the_proxy);
    let proxy = one_connection();
    let mut neighbour = proxy.client();
    let ask = "SELECT @@group_concat_max_len, @@autocommit, @@time_zone FROM dual FOR UPDATE";
    let fresh = rows(&mut neighbour, ask);
    // true: the one server connection is free for others afterwards
    for (set, shares) in [
        ("SET @@group_concat_max_len = 77", true),
        ("set @@`group_concat_max_len`=77", true),
        (
            "SET @@time_zone = '+05:00', @@group_concat_max_len = 77",
            true,
        ),
        (
            "SET time_zone = '+05:00', @@group_concat_max_len := 77",
            true,
        ),
        ("SET @@group_concat_max_len = 77, @@timestamp = 5", false),
        ("SET @a = 1, @@group_concat_max_len = 77", false),
        ("SET @@autocommit = 0", false),
        ("/*!50000 SET @@group_concat_max_len = 77 */", false),
        ("SELECT 1; SET @@group_concat_max_len = 77", false),
        ("SET @@group_concat_max_len = 77; SELEC", false),
        (
            "SET STATEMENT max_statement_time = 10 FOR SET @@group_concat_max_len = 77",
            false,
        ),
        ("EXECUTE IMMEDIATE 'SET @@group_concat_max_len = 77'", false),
        (
            "BEGIN NOT ATOMIC SET @@group_concat_max_len = 77; END",
            false,
        ),
    ] {
        let mut client = proxy.client();
        // one of them ends in an error
        let _ = client.query_drop(set);
        let mine = rows(&mut client, ask);
        assert_ne!(mine, fresh, "{set}");
        if shares {
            assert_eq!(rows(&mut neighbour, ask), fresh, "{set}");
            assert_eq!(rows(&mut client, ask), mine, "{set}");
        }
        drop(client);
        assert_eq!(rows(&mut neighbour, ask), fresh, "{set}");
    }
    let mut client = proxy.client();
    let set = "SET @@group_concat_max_len = ?";
    client.exec_drop(set, (77,)).expect(set);
    assert_ne!(rows(&mut client, ask), fresh);
    assert_eq!(rows(&mut neighbour, ask), fresh);
}

#[test]
fn every_variable_that_a_client_sets_is_the_clients_alone() {
    needs!(the_proxy);
    every_variable_is_the_clients_alone(Cluster::shared().primary().port);
    if let Some(pair) = MysqlPair::shared() {
        every_variable_is_the_clients_alone(pair.ports[0]);
    }
}

/// One client changes all that are ON, OFF or a whole number; another one shares its server connection.
fn every_variable_is_the_clients_alone(port: u16) {
    let mut config = ProxyConfig::for_ports(vec![(port, "primary")]);
    config.servers[0].2 = "max_connections = 1".into();
    let proxy = config.proxy("min_idle = 0\nworkers = [0]").start();
    proxy.wait_for_readers(&[]);
    let mut neighbour = proxy.client();
    let fresh = variables(&mut neighbour);
    let mut client = proxy.client();
    let mut set = Vec::new();
    for (name, value) in &fresh {
        let other = match (value.as_str(), value.parse::<u64>()) {
            ("ON", _) => "OFF".to_string(),
            ("OFF", _) => "ON".to_string(),
            (_, Ok(n)) if n < 1 << 40 => (n + 1000).to_string(),
            _ => continue,
        };
        // with autocommit off what asks for the variables would begin a transaction; with sql_auto_is_null a session
        // keeps its connection
        let apart = ["autocommit", "sql_auto_is_null"].contains(&name.as_str());
        let replayed = replay_policy(name.as_bytes()) == Replay::Yes && !apart;
        let sql = format!("SET SESSION {name} = {other}");
        if replayed && client.query_drop(&sql).is_ok() {
            set.push(name.clone());
        }
    }
    assert!(set.len() > 40, "{set:?} can be set");
    let mine = variables(&mut client);
    // others are of the server, which other tests use too
    let differ = |a: &[(String, String)], b: &[(String, String)]| -> Vec<_> {
        let both = a.iter().zip(b);
        let other = both.filter(|(a, b)| a != b && set.contains(&a.0));
        other.map(|(a, b)| (a.clone(), b.clone())).collect()
    };
    assert!(differ(&mine, &fresh).len() > 40, "they are set");
    assert_eq!(differ(&variables(&mut neighbour), &fresh), []);
    assert_eq!(differ(&variables(&mut client), &mine), []);
    client.reset().expect("COM_RESET_CONNECTION");
    assert_eq!(differ(&variables(&mut client), &fresh), []);
}

/// Of the session, as its connection has them.
fn variables(client: &mut mysql::Conn) -> Vec<(String, String)> {
    client.query("SHOW SESSION VARIABLES").expect("a list")
}

#[test]
fn what_a_function_sets_is_the_clients_alone() {
    needs!(the_proxy);
    Cluster::shared().prepare(&[
        "CREATE OR REPLACE FUNCTION sets_length() RETURNS INT NOT DETERMINISTIC NO SQL \
         BEGIN SET group_concat_max_len = 77; RETURN 1; END",
        "CREATE OR REPLACE VIEW set_by_view AS SELECT sets_length() AS one",
    ]);
    let proxy = one_connection();
    let ask = "SELECT @@group_concat_max_len FROM dual FOR UPDATE";
    let fresh = RawClient::connect(proxy.port)
        .query(ask)
        .expect("an answer")
        .value();
    for sql in [
        "/* umpire:primary */ SELECT sets_length()",
        "/* umpire:primary */ SELECT one FROM set_by_view",
        "/* umpire:primary */ SELECT sets_length(); SELECT 1",
    ] {
        for flags in [0, cap::DEPRECATE_EOF, cap::SESSION_TRACK] {
            let login = Login::default().with(flags).with(cap::MULTI_STATEMENTS);
            let mut client = RawClient::login(proxy.port, &login).expect("login");
            client.query(sql).expect("an answer").ok();
            let mine = client.query(ask).expect("an answer").value();
            assert_eq!(mine.as_deref(), Some("77"), "{sql}");
            drop(client);
            // with the same capabilities, so that it gets the same connection
            let mut next = RawClient::login(proxy.port, &login).expect("login");
            assert_eq!(next.query(ask).expect("an answer").value(), fresh, "{sql}");
        }
    }
}

#[test]
fn a_read_only_transaction_that_a_set_ends_leaves_writes_to_others() {
    needs!(the_proxy);
    Cluster::shared().prepare(&["CREATE OR REPLACE TABLE written_after (a INT)"]);
    let proxy = one_connection();
    let mut client = proxy.client();
    for sql in [
        "/* umpire:primary */ START TRANSACTION READ ONLY",
        "SET autocommit = 0",
        "SET autocommit = 1",
    ] {
        client.query_drop(sql).expect(sql);
    }
    drop(client);
    let mut next = proxy.client();
    next.query_drop("INSERT INTO written_after VALUES (1)")
        .expect("INSERT");
}

#[test]
fn a_statement_that_waits_for_a_connection_can_be_killed_and_does_not_run() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE waits (a INT)"]);
    let proxy = one_connection();
    let mut holder = RawClient::connect(proxy.port);
    holder.query("BEGIN").expect("BEGIN").ok();
    for (kill, code) in [("KILL QUERY", 1317), ("KILL", 1317)] {
        let mut waiter = RawClient::connect(proxy.port);
        let id = waiter.hello.connection_id;
        waiter
            .send_command(0x03, b"INSERT INTO waits VALUES (1)")
            .expect("sends");
        wait_until("it waits", || {
            let sessions = proxy.ask_admin("SHOW SESSIONS");
            sessions
                .iter()
                .any(|s| s[0] == id.to_string() && s.iter().any(|c| c.contains("waiting")))
        });
        let mut killer = RawClient::connect(proxy.port);
        killer.query(&format!("{kill} {id}")).expect("KILL").ok();
        let reply = waiter.read_reply(0x03).expect("an answer");
        assert_eq!(reply.code(), code, "{reply:?}");
        if kill == "KILL" {
            assert!(waiter.closed_within(Duration::from_secs(5)));
        }
    }
    holder.query("COMMIT").expect("COMMIT").ok();
    pause(Duration::from_millis(300));
    assert_eq!(cluster.primary().ask("SELECT COUNT(*) FROM app.waits"), "0");
}

#[test]
fn last_insert_id_in_the_tail_of_a_large_statement_is_the_sessions_own() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.stop_logging();
    cluster.prepare(&[
        "CREATE TABLE parents (id INT AUTO_INCREMENT PRIMARY KEY)",
        "CREATE TABLE children (t MEDIUMTEXT, parent INT)",
    ]);
    let proxy = one_connection();
    let mut mine = RawClient::connect(proxy.port);
    let mut other = RawClient::connect(proxy.port);
    let filler = "x".repeat(400_000);
    let insert = "INSERT INTO parents VALUES ()";
    for _ in 0..3 {
        let id = mine.query(insert).expect("answer").ok().last_insert_id;
        other.query(insert).expect("answer").ok();
        mine.query(&format!(
            "INSERT INTO children VALUES ('{filler}', LAST_INSERT_ID())"
        ))
        .expect("answer")
        .ok();
        assert_eq!(
            cluster
                .primary()
                .ask("SELECT MAX(parent) FROM app.children"),
            id.to_string()
        );
    }
}

#[test]
fn statements_of_the_same_text_have_their_own_cursors_and_long_data() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = RawClient::connect(proxy.port);
    let sql = "SELECT seq + ? FROM seq_1_to_3";
    let (a, b) = (client.prepare(sql), client.prepare(sql));
    let open = |client: &mut RawClient, id: u32, plus: i64| {
        client
            .command(EXECUTE, &execute(id, 1, &[BIGINT], &[&plus.to_le_bytes()]))
            .expect("answer")
    };
    let fetch = |client: &mut RawClient, id: u32| {
        let body = [id.to_le_bytes(), 1u32.to_le_bytes()].concat();
        let reply = client.command(FETCH, &body).expect("answer");
        reply
            .sets
            .iter()
            .flat_map(|s| s.rows.clone())
            .map(|r| i64::from(r[2]))
            .collect::<Vec<_>>()
    };
    assert_eq!(open(&mut client, a.id, 10).error, None);
    assert_eq!(fetch(&mut client, a.id), [11]);
    assert_eq!(open(&mut client, b.id, 20).error, None);
    assert_eq!(fetch(&mut client, b.id), [21]);
    assert_eq!(fetch(&mut client, a.id), [12]);
    assert_eq!(fetch(&mut client, b.id), [22]);
    client
        .send_command(CLOSE, &a.id.to_le_bytes())
        .expect("closes");
    assert_eq!(fetch(&mut client, b.id), [23]);
    let sql = "SELECT LENGTH(?)";
    let (a, b) = (client.prepare(sql), client.prepare(sql));
    let long = [&a.id.to_le_bytes()[..], &[0, 0], b"12345"].concat();
    client.send_command(LONG_DATA, &long).expect("sends");
    let value = text(b"123");
    let short = client
        .command(EXECUTE, &execute(b.id, 0, &[STRING], &[&value]))
        .expect("answer");
    assert_eq!(short.sets[0].rows[0][2], 3);
    let long = client
        .command(EXECUTE, &execute(a.id, 0, &[STRING], &[&[]]))
        .expect("answer");
    assert_eq!(long.sets[0].rows[0][2], 5);
    // one that is prepared later takes nothing away either
    let long = [&a.id.to_le_bytes()[..], &[0, 0], b"1234567"].concat();
    client.send_command(LONG_DATA, &long).expect("sends");
    client.prepare(sql);
    let long = client
        .command(EXECUTE, &execute(a.id, 0, &[STRING], &[&[]]))
        .expect("answer");
    assert_eq!(long.sets[0].rows[0][2], 7);
}

#[test]
fn a_drain_does_not_wait_for_an_idle_client_with_a_warning() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared())
        .proxy("drain_timeout_ms = 50000")
        .start();
    let mut client =
        RawClient::login(proxy.port, &Login::default().with(cap::MULTI_STATEMENTS)).expect("login");
    assert!(client.query("SELECT 1/0").expect("answer").ok().warnings > 0);
    proxy.stop_cleanly(Duration::from_secs(30));
    assert!(client.closed_within(Duration::from_secs(1)));
}

#[test]
fn a_client_that_vanishes_leaves_a_clean_connection() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE left_behind (a INT)"]);
    let proxy = one_connection();
    let leave: [&[&str]; 9] = [
        &[
            "SET @x = 1",
            "SET sql_mode = 'ANSI'",
            "SET time_zone = '+01:00'",
        ],
        &["CREATE TEMPORARY TABLE left_temp (a INT)"],
        &["SELECT GET_LOCK('left', 5)"],
        &["BEGIN", "INSERT INTO left_behind VALUES (1)"],
        &["SET autocommit = 0", "INSERT INTO left_behind VALUES (2)"],
        &["LOCK TABLES left_behind WRITE"],
        &[
            "XA START 'left'",
            "INSERT INTO left_behind VALUES (3)",
            "XA END 'left'",
        ],
        &[
            "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET TRANSACTION READ ONLY",
        ],
        &[
            "USE other",
            "PREPARE p FROM 'SELECT 1'",
            "HANDLER app.left_behind OPEN",
            "SELECT 1/0",
        ],
    ];
    let ask = "SELECT CONCAT_WS('|', IFNULL(@x, 'none'), @@sql_mode, @@time_zone, @@autocommit, @@tx_isolation, \
               DATABASE(), IS_FREE_LOCK('left'), LAST_INSERT_ID(), @@in_transaction, @@warning_count)";
    let clean = scalar(&mut cluster.direct(), ask);
    for statements in leave {
        let mut client = RawClient::connect(proxy.port);
        for sql in statements {
            let reply = client.query(sql).expect("answer");
            assert_eq!(reply.error, None, "{sql}");
        }
        drop(client);
        let mut next = proxy.client();
        next.query_drop("INSERT INTO left_behind VALUES (7)")
            .expect("no lock is left");
        next.query_drop("DELETE FROM left_behind WHERE a = 7")
            .expect("DELETE");
        let sql = format!("{ask} /* umpire:primary */");
        assert_eq!(
            scalar(&mut next, &format!("/* umpire:primary */ {sql}")),
            clean,
            "after {statements:?}"
        );
        assert!(next.query_drop("SELECT * FROM left_temp").is_err());
        assert!(next.query_drop("EXECUTE p").is_err());
        drop(next);
    }
    assert_eq!(
        rows(&mut cluster.direct(), "SELECT * FROM left_behind"),
        [] as [Vec<String>; 0]
    );
}

#[test]
fn resetting_or_fetching_an_unused_statement_keeps_the_transaction() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE kept (a INT)"]);
    let mut client = RawClient::connect(Proxy::shared().port);
    let prepared = client.prepare("SELECT ?");
    client.query("BEGIN").expect("BEGIN").ok();
    client
        .query("INSERT INTO kept VALUES (1)")
        .expect("INSERT")
        .ok();
    client
        .command(RESET, &prepared.id.to_le_bytes())
        .expect("reset")
        .ok();
    client
        .query("INSERT INTO kept VALUES (2)")
        .expect("INSERT")
        .ok();
    let fetch = [prepared.id.to_le_bytes(), 1u32.to_le_bytes()].concat();
    assert_ne!(client.command(FETCH, &fetch).expect("answer").code(), 0);
    assert_eq!(
        client
            .query("SELECT COUNT(*) FROM kept")
            .expect("answer")
            .value()
            .as_deref(),
        Some("2")
    );
    client.query("ROLLBACK").expect("ROLLBACK").ok();
    assert_eq!(cluster.primary().ask("SELECT COUNT(*) FROM app.kept"), "0");
}

#[test]
fn last_insert_id_in_a_transaction_is_the_sessions_own() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY)",
        "CREATE PROCEDURE asks_id() SELECT LAST_INSERT_ID()",
        "CREATE FUNCTION tells_id() RETURNS BIGINT RETURN LAST_INSERT_ID()",
    ]);
    let proxy = one_connection();
    let mut mine = RawClient::connect(proxy.port);
    let mut other = RawClient::connect(proxy.port);
    let insert = "INSERT INTO ids VALUES ()";
    for ask in [
        "SELECT LAST_INSERT_ID()",
        "SELECT tells_id()",
        "CALL asks_id()",
    ] {
        let id = mine.query(insert).expect("answer").ok().last_insert_id;
        other.query(insert).expect("answer").ok();
        mine.query("BEGIN").expect("BEGIN").ok();
        for _ in 0..2 {
            assert_eq!(
                mine.query(ask).expect("answer").value(),
                Some(id.to_string()),
                "{ask}"
            );
        }
        mine.query("COMMIT").expect("COMMIT").ok();
        mine.command(RESET_CONNECTION, b"").expect("reset").ok();
    }
    mine.query("SELECT LAST_INSERT_ID(77)")
        .expect("answer")
        .ok();
    other.query(insert).expect("answer").ok();
    assert_eq!(
        mine.query("SELECT LAST_INSERT_ID()")
            .expect("answer")
            .value()
            .as_deref(),
        Some("77")
    );
}

#[test]
fn an_id_that_an_insert_gives_itself_does_not_change_last_insert_id() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE given (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)"]);
    let proxy = one_connection();
    let mut mine = RawClient::connect(proxy.port);
    let mut other = RawClient::connect(proxy.port);
    let prepared = mine.prepare("INSERT INTO given VALUES (?, 1)");
    for round in 1..4i64 {
        let id = mine
            .query("INSERT INTO given (v) VALUES (1)")
            .expect("answer")
            .ok()
            .last_insert_id;
        let explicit = 1_000_000 * round;
        let reply = match round {
            1 => mine.query(&format!("INSERT INTO given VALUES ({explicit}, 2)")),
            2 => mine.query(&format!("INSERT INTO given SELECT {explicit}, 2")),
            _ => mine.command(
                EXECUTE,
                &execute(prepared.id, 0, &[BIGINT], &[&explicit.to_le_bytes()]),
            ),
        };
        assert_eq!(reply.expect("answer").ok().last_insert_id, explicit as u64);
        other
            .query("INSERT INTO given (v) VALUES (3)")
            .expect("answer")
            .ok();
        let asked = mine
            .query("SELECT LAST_INSERT_ID()")
            .expect("answer")
            .value();
        assert_eq!(asked, Some(id.to_string()), "round {round}");
    }
}

#[test]
fn set_transaction_is_for_the_next_transaction_of_its_own_session() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE next_one (a INT)"]);
    let proxy = one_connection();
    for between in ["SELECT 1", "DO 1", "SHOW TABLES", "SELECT a FROM missing"] {
        let mut client = RawClient::connect(proxy.port);
        client
            .query("SET TRANSACTION READ ONLY")
            .expect("answer")
            .ok();
        client.query(between).expect("answer");
        // MariaDB: none of these used it up
        let write = client
            .query("INSERT INTO next_one VALUES (1)")
            .expect("answer");
        assert_eq!(write.code(), 1792, "{between}");
        drop(client);
        let mut next = RawClient::connect(proxy.port);
        next.query("INSERT INTO next_one VALUES (2)")
            .expect("answer")
            .ok();
    }
}

#[test]
fn a_collation_of_set_names_follows_to_every_connection() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let ask = "SELECT @@collation_connection, 'a' = 'A'";
    for set in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'",
        "SET time_zone = '+01:00', NAMES utf8mb4 COLLATE utf8mb4_bin",
        "EXECUTE IMMEDIATE 'SET NAMES utf8mb4 COLLATE utf8mb4_bin'",
    ] {
        let mut client = RawClient::connect(proxy.port);
        client.query(set).expect("answer").ok();
        for _ in 0..6 {
            let seen = client.query(ask).expect("answer").values().remove(0);
            assert_eq!(
                seen,
                [Some("utf8mb4_bin".into()), Some("0".into())],
                "{set}"
            );
        }
        client.query("SET NAMES utf8mb4").expect("answer").ok();
        for _ in 0..4 {
            let seen = client.query(ask).expect("answer").values().remove(0);
            assert_eq!(seen[1].as_deref(), Some("1"), "{set}");
        }
    }
}

#[test]
fn an_insert_that_is_found_by_is_null_is_the_sessions_own() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE found_by_null (id INT AUTO_INCREMENT PRIMARY KEY, a INT)"]);
    let find = "SELECT a FROM found_by_null WHERE id IS NULL";
    let insert = |client: &mut mysql::Conn, a: u32| {
        let sql = format!("INSERT INTO found_by_null (a) VALUES ({a})");
        client.query_drop(sql).expect("insert");
    };
    let none: [[&str; 1]; 0] = [];
    // the only connection to the primary has another session's insert
    let single = one_connection();
    insert(&mut single.client(), 1);
    let mut first = single.client();
    first.query_drop("SET sql_auto_is_null = 1").expect("SET");
    assert_eq!(rows(&mut first, find), none);
    insert(&mut first, 2);
    assert_eq!(rows(&mut first, find), [["2"]]);
    assert_eq!(rows(&mut first, find), none);
    drop(first);
    assert_eq!(rows(&mut single.client(), find), none);
    // neighbours that insert in between are never seen
    let proxy = ProxyConfig::new(cluster).start();
    let (mut first, mut second) = (proxy.client(), proxy.client());
    first.query_drop("SET sql_auto_is_null = ON").expect("SET");
    for a in 3..9 {
        insert(&mut first, a);
        insert(&mut second, 100);
        assert_eq!(rows(&mut first, find), [[a.to_string()]]);
        assert_eq!(rows(&mut second, find), none);
    }
    // what many drivers say at their start keeps no connection
    second.query_drop("SET sql_auto_is_null = 0").expect("SET");
    second.query_drop("SELECT 1").expect("SELECT");
    let id = second.connection_id().to_string();
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    let own = sessions.iter().find(|row| row[0] == id).expect("a session");
    assert!(!own.iter().any(|v| v.contains("variable")), "{own:?}");
}

#[test]
fn a_prepared_xa_transaction_stays_with_its_session_and_blocks_nobody() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE prepared_xa (a INT PRIMARY KEY)"]);
    let proxy = one_connection();
    let mut first = proxy.client();
    for sql in [
        "XA START 'left'",
        "INSERT INTO prepared_xa VALUES (1)",
        "XA END 'left'",
        "XA PREPARE 'left'",
    ] {
        first
            .query_drop(sql)
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let attached = first.query_drop("INSERT INTO prepared_xa VALUES (2)");
    assert_eq!(attached.err().map(|e| common::code(&e)), Some(1399));
    drop(first);
    // the same connection to the server would refuse everything but the end of that transaction
    let mut second = proxy.client();
    second
        .query_drop("INSERT INTO prepared_xa VALUES (3)")
        .expect("a clean connection");
    second
        .query_drop("XA COMMIT 'left'")
        .expect("anybody may end it");
    assert_eq!(
        rows(
            &mut second,
            "SELECT /* umpire:primary */ a FROM prepared_xa ORDER BY a"
        ),
        [["1"], ["3"]]
    );
}
