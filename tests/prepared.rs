//! Prepared statements, byte for byte as with a direct connection.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::reply::{text, Reply};
use common::{Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use mysql::Value;
use umpire::wire::capabilities as cap;

const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const RESET: u8 = 0x1a;
const FETCH: u8 = 0x1c;

const STRING: [u8; 2] = [0xfd, 0];
const BLOB: [u8; 2] = [0xfc, 0];
const BIGINT: [u8; 2] = [8, 0];

fn cluster() -> &'static Cluster {
    static READY: std::sync::Once = std::sync::Once::new();
    let cluster = Cluster::shared();
    READY.call_once(|| {
        cluster.stop_logging();
        cluster.prepare(&[
            "CREATE TABLE numbers (n INT PRIMARY KEY, t TEXT) CHARACTER SET utf8mb4",
            "INSERT INTO numbers SELECT seq, CONCAT('row ', seq) FROM seq_1_to_100",
            "CREATE PROCEDURE several(x INT) BEGIN SELECT x; SELECT n FROM numbers WHERE n <= x; END",
            "CREATE PROCEDURE gives(IN x INT, OUT y INT) BEGIN SET y = x + 1; SELECT x; END",
            "CREATE TABLE written (a BIGINT, b TEXT)",
        ]);
    });
    cluster
}

/// EXECUTE's body; `types` empty means "as bound before".
fn execute(id: u32, cursor: u8, types: &[[u8; 2]], parameters: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.push(cursor);
    body.extend(1u32.to_le_bytes());
    if parameters.is_empty() {
        return body;
    }
    let mut nulls = vec![0u8; parameters.len().div_ceil(8)];
    for (i, parameter) in parameters.iter().enumerate() {
        if parameter.is_none() {
            nulls[i / 8] |= 1 << (i % 8);
        }
    }
    body.extend(nulls);
    body.push(u8::from(!types.is_empty()));
    body.extend(types.iter().flatten());
    for parameter in parameters.iter().flatten() {
        body.extend_from_slice(parameter);
    }
    body
}

fn number(n: i64) -> Option<Vec<u8>> {
    Some(n.to_le_bytes().to_vec())
}

fn string(s: &[u8]) -> Option<Vec<u8>> {
    Some(text(s))
}

/// Runs the same script against the proxy and against the primary: the replies must be equal.
#[track_caller]
fn as_direct(login: &Login, script: impl Fn(&mut RawClient) -> Vec<Reply>) -> Vec<Reply> {
    as_direct_through(Proxy::shared(), login, script)
}

#[track_caller]
fn as_direct_through(
    proxy: &Proxy,
    login: &Login,
    script: impl Fn(&mut RawClient) -> Vec<Reply>,
) -> Vec<Reply> {
    let run = |port| {
        let mut client = RawClient::login(port, login).expect("login");
        script(&mut client)
    };
    let there = run(cluster().primary().port);
    let here = run(proxy.port);
    for (i, (here, there)) in here.iter().zip(&there).enumerate() {
        assert_eq!(here, there, "reply {i}");
    }
    assert_eq!(here.len(), there.len());
    here
}

fn with_and_without_eof(script: impl Fn(&mut RawClient) -> Vec<Reply>) {
    as_direct(&Login::default(), &script);
    as_direct(&Login::default().with(cap::DEPRECATE_EOF), &script);
    let tracking = Login::default().with(cap::DEPRECATE_EOF);
    as_direct(&tracking.with(cap::SESSION_TRACK), &script);
}

#[test]
fn statements_with_and_without_parameters_and_columns_answer_as_direct() {
    with_and_without_eof(|c| {
        let mut replies = Vec::new();
        let plain = c.prepare("SELECT n, t FROM numbers WHERE n < 4 ORDER BY n");
        replies.push(
            c.command(EXECUTE, &execute(plain.id, 0, &[], &[]))
                .expect("reply"),
        );
        let one = c.prepare("SELECT n, t, ? FROM numbers WHERE n = ?");
        assert_eq!((one.columns, one.parameters), (3, 2));
        for n in [1, 50, 1000] {
            let body = execute(one.id, 0, &[STRING, BIGINT], &[string(b"x"), number(n)]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
        }
        let nothing = c.prepare("DO ?");
        assert_eq!((nothing.columns, nothing.parameters), (0, 1));
        replies.push(
            c.command(EXECUTE, &execute(nothing.id, 0, &[BIGINT], &[None]))
                .expect("reply"),
        );
        replies
    });
}

#[test]
fn types_are_remembered_between_executes() {
    with_and_without_eof(|c| {
        let statement = c.prepare("SELECT n, ? FROM numbers WHERE n = ?");
        let mut replies = Vec::new();
        let first = execute(
            statement.id,
            0,
            &[STRING, BIGINT],
            &[string(b"first"), number(7)],
        );
        replies.push(c.command(EXECUTE, &first).expect("reply"));
        // The proxy may be on another server connection by now: the types must have come along.
        for n in 8..20 {
            let body = execute(statement.id, 0, &[], &[string(b"again"), number(n)]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
        }
        let null = execute(statement.id, 0, &[], &[None, number(5)]);
        replies.push(c.command(EXECUTE, &null).expect("reply"));
        replies
    });
}

#[test]
fn a_closed_or_unknown_statement_is_refused_as_direct() {
    with_and_without_eof(|c| {
        let statement = c.prepare("SELECT 1");
        c.send_command(CLOSE, &statement.id.to_le_bytes())
            .expect("sends");
        let mut replies = vec![c
            .command(EXECUTE, &execute(statement.id, 0, &[], &[]))
            .expect("reply")];
        replies.push(
            c.command(EXECUTE, &execute(77_777, 0, &[], &[]))
                .expect("reply"),
        );
        replies.push(c.command(RESET, &77_777u32.to_le_bytes()).expect("reply"));
        replies.push(c.command(FETCH, &[1, 2, 3, 4, 1, 0, 0, 0]).expect("reply"));
        replies.push(c.query("SELECT 1").expect("reply"));
        for reply in &mut replies {
            mask_ids(reply, statement.id);
        }
        replies
    });
}

/// Statement numbers may differ from the server's.
fn mask_ids(reply: &mut Reply, id: u32) {
    if let Some(error) = &mut reply.error {
        error.message = error.message.replace(&format!("({id})"), "(ID)");
    }
}

#[test]
fn errors_of_prepare_and_execute_are_the_servers_own() {
    with_and_without_eof(|c| {
        let mut replies = Vec::new();
        for bad in [
            "SELECT * FROM no_such_table",
            "SELEC 1",
            "",
            "SELECT ? +",
            "SELECT 1; SELECT 2",
        ] {
            let error = c.try_prepare(bad).expect("connected").expect_err(bad);
            replies.push(Reply {
                error: Some(error),
                ..Reply::default()
            });
        }
        let wrong = c.prepare("SELECT (SELECT n FROM numbers WHERE n < ?)");
        let body = execute(wrong.id, 0, &[BIGINT], &[number(5)]);
        replies.push(c.command(EXECUTE, &body).expect("reply"));
        replies.push(c.query("SELECT 'alive'").expect("reply"));
        replies
    });
}

#[test]
fn long_data_arrives_in_order_and_errors_wait_for_execute() {
    with_and_without_eof(|c| {
        let statement = c.prepare("SELECT LENGTH(?), MD5(?)");
        let mut replies = Vec::new();
        for _ in 0..3 {
            for parameter in [0u16, 1] {
                for chunk in [&b"abc"[..], "ü😀".as_bytes(), b"", &[b'z'; 70_000]] {
                    let mut body = statement.id.to_le_bytes().to_vec();
                    body.extend(parameter.to_le_bytes());
                    body.extend(chunk);
                    c.send_command(LONG_DATA, &body).expect("sends");
                }
            }
            let mut body = execute(statement.id, 0, &[BLOB, BLOB], &[None, None]);
            // Long data is no NULL, and no value is in the packet.
            body[9] = 0;
            replies.push(c.command(EXECUTE, &body).expect("reply"));
        }
        let mut astray = statement.id.to_le_bytes().to_vec();
        astray.extend([9, 0, b'x']);
        c.send_command(LONG_DATA, &astray).expect("sends");
        let body = execute(
            statement.id,
            0,
            &[BLOB, BLOB],
            &[string(b"a"), string(b"b")],
        );
        replies.push(c.command(EXECUTE, &body).expect("reply"));
        replies.push(
            c.command(RESET, &statement.id.to_le_bytes())
                .expect("reply"),
        );
        replies.push(c.command(EXECUTE, &body).expect("reply"));
        replies
    });
}

#[test]
fn cursors_fetch_close_and_reset_as_direct() {
    with_and_without_eof(|c| {
        let statement = c.prepare("SELECT n, t FROM numbers WHERE n <= ? ORDER BY n");
        let fetch = |rows: u32| {
            let mut body = statement.id.to_le_bytes().to_vec();
            body.extend(rows.to_le_bytes());
            body
        };
        let open = execute(statement.id, 1, &[BIGINT], &[number(25)]);
        let mut replies = vec![c.command(EXECUTE, &open).expect("reply")];
        for _ in 0..3 {
            replies.push(c.command(FETCH, &fetch(10)).expect("reply"));
            // Other statements in between use the same connection.
            replies.push(c.query("SELECT 1").expect("reply"));
        }
        replies.push(c.command(FETCH, &fetch(10)).expect("reply"));
        replies.push(c.command(EXECUTE, &open).expect("reply"));
        replies.push(
            c.command(RESET, &statement.id.to_le_bytes())
                .expect("reply"),
        );
        replies.push(c.command(FETCH, &fetch(1)).expect("reply"));
        for reply in &mut replies {
            mask_ids(reply, statement.id);
        }
        replies.push(c.query("SELECT 'alive'").expect("reply"));
        replies
    });
}

#[test]
fn call_returns_all_its_results_and_out_parameters() {
    with_and_without_eof(|c| {
        let several = c.prepare("CALL several(?)");
        let gives = c.prepare("CALL gives(?, ?)");
        let mut replies = Vec::new();
        for n in [1, 3] {
            let body = execute(several.id, 0, &[BIGINT], &[number(n)]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
            let body = execute(gives.id, 0, &[BIGINT, BIGINT], &[number(n), None]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
            replies.push(c.query("CALL several(2)").expect("reply"));
        }
        assert!(replies[0].sets.len() == 3, "two results and the final OK");
        replies
    });
}

#[test]
fn text_protocol_prepare_keeps_to_its_connection() {
    with_and_without_eof(|c| {
        let script = [
            "PREPARE s FROM 'SELECT n FROM numbers WHERE n < ?'",
            "SET @n = 3",
            "EXECUTE s USING @n",
            "SELECT 1",
            "EXECUTE s USING @n",
            "DEALLOCATE PREPARE s",
            "EXECUTE s USING @n",
        ];
        script
            .iter()
            .map(|sql| c.query(sql).expect("reply"))
            .collect()
    });
}

/// A parameter whose EXECUTE payload is exactly `total` bytes long.
fn payload_of(total: usize, id: u32) -> Vec<u8> {
    // command 1 + fixed 9 + nulls 1 + flag 1 + type 2 + length prefix of 4 or 9
    let prefix = if total - 18 <= 0xff_ffff { 4 } else { 9 };
    let value = vec![b'v'; total - 14 - prefix];
    let body = execute(id, 0, &[STRING], &[string(&value)]);
    assert_eq!(body.len() + 1, total);
    body
}

#[test]
fn executes_of_exactly_the_packet_limit_and_around_it_go_through_both_ways() {
    let limit = 0xff_ffff;
    let proxy = Proxy::shared();
    cluster();
    for total in [
        limit - 1,
        limit,
        limit + 1,
        17 << 20,
        2 * limit,
        2 * limit + 1,
    ] {
        let mut client = RawClient::connect(proxy.port);
        let statement = client.prepare("SELECT LENGTH(?)");
        let body = payload_of(total, statement.id);
        let reply = client.command(EXECUTE, &body).expect("reply");
        assert_eq!(reply.error, None, "{total}");
        let echo = client.prepare("SELECT ?");
        let body = payload_of(total, echo.id);
        let reply = client.command(EXECUTE, &body).expect("reply");
        assert_eq!(reply.error, None, "{total}");
        let row = &reply.sets[0].rows[0];
        assert!(
            row.len() >= total - 32 && row.ends_with(b"vvv"),
            "{total}: {}",
            row.len()
        );
        let reply = client.query("SELECT 'alive'").expect("reply");
        assert_eq!(reply.value().as_deref(), Some("alive"));
    }
}

/// `make soak`: the full number.
fn closed_statements() -> u32 {
    let soak = std::env::var_os("UMPIRE_SOAK").is_some_and(|v| v == "1");
    if soak {
        1_000_000
    } else {
        3000
    }
}

#[test]
fn many_statements_prepared_and_closed_leave_none_on_the_servers() {
    let cluster = cluster();
    let proxy = Proxy::shared();
    let mut client = RawClient::connect(proxy.port);
    for i in 0..closed_statements() {
        let statement = client.prepare(&format!("SELECT {i} + ?"));
        client
            .command(EXECUTE, &execute(statement.id, 0, &[BIGINT], &[number(1)]))
            .expect("reply");
        client
            .send_command(CLOSE, &statement.id.to_le_bytes())
            .expect("sends");
    }
    client.query("SELECT 1").expect("reply");
    for server in &cluster.servers {
        let count = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
                     WHERE VARIABLE_NAME = 'PREPARED_STMT_COUNT'";
        let left: u32 = server.ask(count).parse().expect("a number");
        // The bound of one connection, 256, times the few connections that this test binary has.
        assert!(left < 4000, "server {}: {left}", server.id);
    }
}

#[test]
fn fifty_clients_with_their_own_statements_get_their_own_rows() {
    cluster();
    let proxy = Proxy::shared();
    std::thread::scope(|scope| {
        for i in 0..50i64 {
            scope.spawn(move || {
                let mut client = proxy.client();
                let mine = client
                    .prep(format!("SELECT ? + {i}, {i}"))
                    .expect("prepares");
                let shared = client
                    .prep("SELECT t FROM numbers WHERE n = ?")
                    .expect("prepares");
                for n in 1..=20i64 {
                    let row: Option<(i64, i64)> = client.exec_first(&mine, (n,)).expect("executes");
                    assert_eq!(row, Some((n + i, i)));
                    let row: Option<String> = client.exec_first(&shared, (n,)).expect("executes");
                    assert_eq!(row, Some(format!("row {n}")));
                }
            });
        }
    });
}

/// MariaDB leaves columns out for clients that keep them (CACHE_METADATA) when a statement was executed before on the
/// connection, also by another session.
#[test]
fn a_statement_that_other_sessions_have_executed_brings_its_columns() {
    cluster();
    let mut clients: Vec<_> = (0..12).map(|_| Proxy::shared().client()).collect();
    for _ in 0..3 {
        for (n, client) in clients.iter_mut().enumerate() {
            let statement = client.prep("SELECT ? AS kept FROM seq_1_to_2").unwrap();
            let rows: Vec<usize> = client.exec(&statement, (n,)).unwrap();
            assert_eq!(rows, [n, n]);
        }
    }
}

#[test]
fn every_type_of_value_comes_back_as_direct() {
    let cluster = cluster();
    let ask = "SELECT ?, CAST(? AS DECIMAL(20,5)), CAST(? AS DATETIME(6)), CAST(? AS TIME(3)), \
               CAST(? AS BINARY), CAST(? AS DOUBLE), CAST(? AS UNSIGNED), ?";
    let values = || -> Vec<Value> {
        vec![
            Value::from(-5i64),
            Value::from("12345.6789"),
            Value::from("2024-02-29 23:59:59.123456"),
            Value::from("-12:34:56.789"),
            Value::from(vec![0u8, 255, 1, 254]),
            Value::from(1.5e300f64),
            Value::from(u64::MAX),
            Value::NULL,
        ]
    };
    let run = |mut client: mysql::Conn| -> Vec<Value> {
        let row: mysql::Row = client
            .exec_first(ask, values())
            .expect("executes")
            .expect("a row");
        row.unwrap()
    };
    assert_eq!(run(Proxy::shared().client()), run(cluster.direct()));
}

#[test]
fn writes_through_execute_report_rows_and_ids_as_direct() {
    with_and_without_eof(|c| {
        c.query("CREATE TEMPORARY TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, a BIGINT)")
            .expect("reply");
        let insert = c.prepare("INSERT INTO counted (a) VALUES (?), (?)");
        let update = c.prepare("UPDATE counted SET a = ?");
        let mut replies = Vec::new();
        for n in 0..3 {
            let body = execute(insert.id, 0, &[BIGINT, BIGINT], &[number(n), number(n)]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
            let body = execute(update.id, 0, &[BIGINT], &[number(n)]);
            replies.push(c.command(EXECUTE, &body).expect("reply"));
        }
        replies
    });
}

#[test]
fn reset_and_fetch_without_a_cursor_leave_a_transaction_alone() {
    with_and_without_eof(|c| {
        let mut replies = vec![c.query("DELETE FROM written").expect("reply")];
        let statement = c.prepare("SELECT 1");
        replies.push(c.query("BEGIN").expect("reply"));
        replies.push(
            c.query("INSERT INTO written VALUES (77, 'kept')")
                .expect("reply"),
        );
        let id = statement.id.to_le_bytes();
        replies.push(c.command(RESET, &id).expect("reply"));
        let fetch = [&id[..], &[1, 0, 0, 0]].concat();
        let refused = c.command(FETCH, &fetch).expect("reply");
        assert!(refused.error.is_some());
        replies.push(c.query("SELECT a FROM written").expect("reply"));
        replies.push(c.query("COMMIT").expect("reply"));
        replies.push(
            c.query("/* umpire:primary */ SELECT a, b FROM written")
                .expect("reply"),
        );
        replies.push(c.query("DELETE FROM written").expect("reply"));
        replies
    });
}

#[test]
fn a_connections_limit_of_statements_closes_none_with_a_cursor_or_long_data() {
    common::needs!(the_proxy);
    let cluster = cluster();
    let proxy = common::ProxyConfig::new(cluster)
        .proxy("max_prepared_per_connection = 3")
        .start();
    proxy.wait_for_readers(&[2, 3]);
    let run = |port: u16| {
        let mut client = RawClient::connect(port);
        let cursor = client.prepare("SELECT n, t FROM numbers ORDER BY n");
        let open = execute(cursor.id, 1, &[], &[]);
        let mut replies = vec![client.command(EXECUTE, &open).expect("reply")];
        let long = client.prepare("SELECT LENGTH(?)");
        let part = [&long.id.to_le_bytes()[..], &[0, 0], &[b'x'; 1000]].concat();
        client.send_command(LONG_DATA, &part).expect("sends");
        for i in 0..20 {
            let other = client.prepare(&format!("SELECT {i} + ?"));
            let body = execute(other.id, 0, &[BIGINT], &[number(1)]);
            replies.push(client.command(EXECUTE, &body).expect("reply"));
        }
        let fetch = [cursor.id.to_le_bytes(), 7u32.to_le_bytes()].concat();
        replies.push(client.command(FETCH, &fetch).expect("reply"));
        let body = [
            &execute(long.id, 0, &[STRING], &[None])[..9],
            &[0, 1, 0xfd, 0],
        ]
        .concat();
        replies.push(client.command(EXECUTE, &body).expect("reply"));
        replies.push(client.command(FETCH, &fetch).expect("reply"));
        replies
    };
    assert_eq!(run(proxy.port), run(cluster.primary().port));
}

#[test]
fn a_statement_of_65535_parameters_runs_on_any_connection() {
    const MOST: usize = 65_535;
    let text = format!("SELECT {}?", "? + ".repeat(MOST - 1));
    // too deep an expression for some servers: then the error is compared
    let list = format!("SELECT 1 IN ({}?)", "?,".repeat(MOST - 1));
    let one_more = format!("SELECT 1 IN ({}?)", "?,".repeat(MOST));
    let tiny = [1u8, 0];
    as_direct(&Login::default(), |c| {
        let mut replies = Vec::new();
        for sql in [&text, &list, &one_more] {
            match c.try_prepare(sql).expect("connected") {
                Err(error) => replies.push(Reply {
                    error: Some(error),
                    ..Reply::default()
                }),
                Ok(statement) => {
                    assert_eq!(usize::from(statement.parameters), MOST);
                    for (types, value) in [(&[tiny; MOST][..], 7u8), (&[], 1)] {
                        let values = vec![Some(vec![value]); MOST];
                        let body = execute(statement.id, 0, types, &values);
                        replies.push(c.command(EXECUTE, &body).expect("reply"));
                    }
                    let close = statement.id.to_le_bytes();
                    c.send_command(CLOSE, &close).expect("sends");
                }
            }
        }
        replies
    });
}

#[test]
fn statements_follow_ddl_and_a_schema_that_is_made_anew() {
    let cluster = cluster();
    let mut config = ProxyConfig::new(cluster);
    for server in &mut config.servers {
        // METADATA_CHANGED is said by a connection that had the statement before; another session's test must not take it
        server.2 = "max_connections = 1".into();
    }
    let proxy = config.proxy("min_idle = 0\nworkers = [0]").start();
    let script = |c: &mut RawClient| {
        let root = |sql: &str| cluster.primary().run(&[sql]);
        root("CREATE OR REPLACE DATABASE anew");
        root("CREATE TABLE anew.t (a INT)");
        root("INSERT INTO anew.t VALUES (1)");
        c.query("USE anew").expect("reply");
        let all = c.prepare("SELECT /* umpire:primary */ * FROM t");
        let some = c.prepare("SELECT /* umpire:primary */ a, ? FROM t");
        let mut replies = Vec::new();
        for change in [
            "SELECT 1",
            "ALTER TABLE anew.t ADD b VARCHAR(9) DEFAULT 'new'",
            "ALTER TABLE anew.t MODIFY a BIGINT UNSIGNED NOT NULL",
            "DROP TABLE anew.t",
            "CREATE TABLE anew.t (c DATE, a TEXT)",
            "DROP DATABASE anew",
            "CREATE DATABASE anew",
            "CREATE TABLE anew.t (a INT)",
            "INSERT INTO anew.t VALUES (9)",
        ] {
            root(change);
            for _ in 0..2 {
                let body = execute(all.id, 0, &[], &[]);
                replies.push(c.command(EXECUTE, &body).expect("reply"));
                let body = execute(some.id, 0, &[BIGINT], &[number(3)]);
                replies.push(c.command(EXECUTE, &body).expect("reply"));
            }
        }
        replies
    };
    as_direct_through(&proxy, &Login::default(), script);
}

#[test]
fn a_schema_that_an_execute_left_and_came_back_to_is_reported_when_a_server_would() {
    let script = |c: &mut RawClient| {
        let mut replies = Vec::new();
        // nothing is kept yet
        for sql in ["SET @a = 0", "SELEC", "SET @a = 1", "SET autocommit = 1"] {
            replies.push(c.query(sql).expect("reply"));
        }
        // the second time it is known that the first left something behind
        for zone in ["+01:00", "+02:00"] {
            c.query("USE information_schema").expect("reply");
            let statement = c.prepare("SELECT 7, DATABASE()");
            c.query("USE app").expect("reply");
            let mut rows = c
                .command(EXECUTE, &execute(statement.id, 0, &[], &[]))
                .expect("reply");
            // an EOF says that there is a report, though it has no room for one
            rows.sets.iter_mut().for_each(|set| set.status &= !0x4000);
            replies.push(rows);
            let zone = format!("SET time_zone = '{zone}'");
            let after = ["SET @a = 1", "SET foreign_key_checks = 0", "BEGIN", &zone];
            for sql in after.iter().chain(&["SET autocommit = 1"]) {
                replies.push(c.query(sql).expect("reply"));
            }
        }
        replies
    };
    let tracking = Login::default().with(cap::SESSION_TRACK);
    as_direct(&tracking, script);
    as_direct(&tracking.with(cap::DEPRECATE_EOF), script);
}
