//! Session state follows the client over shared server connections, and never leaks to another.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{code, rows, scalar, try_rows, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use std::sync::{Arc, Barrier};

const AUTOCOMMIT: u16 = 2;
const IN_TRANS: u16 = 1;

/// A proxy whose clients must share few server connections.
fn small_pool() -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    for server in &mut config.servers {
        server.2 = "max_connections = 12".into();
    }
    let proxy = config.proxy("min_idle = 0").start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

#[test]
fn fifty_clients_with_their_own_settings_never_see_each_others() {
    let proxy = small_pool();
    let zones: Vec<String> = (0..50)
        .map(|i| format!("+{:02}:{:02}", i % 12, i))
        .collect();
    let start = Arc::new(Barrier::new(zones.len()));
    std::thread::scope(|scope| {
        for (i, zone) in zones.iter().enumerate() {
            let (proxy, start) = (&proxy, start.clone());
            scope.spawn(move || {
                let mut client = proxy.client();
                let mode = ["ANSI_QUOTES", "STRICT_ALL_TABLES", "NO_ZERO_DATE", ""][i % 4];
                let level = ["READ-COMMITTED", "SERIALIZABLE", "REPEATABLE-READ"][i % 3];
                let charset = ["latin1", "utf8mb4", "cp1251"][(i / 3) % 3];
                for statement in [
                    format!("SET time_zone = '{zone}'"),
                    format!("SET SESSION sql_mode = '{mode}'"),
                    format!(
                        "SET SESSION TRANSACTION ISOLATION LEVEL {}",
                        level.replace('-', " ")
                    ),
                    format!("SET NAMES {charset}"),
                    format!("SET SESSION lock_wait_timeout = {}", 1000 + i),
                ] {
                    client.query_drop(statement).expect("a plain SET");
                }
                start.wait();
                let expected = [zone.as_str(), mode, level, charset, &(1000 + i).to_string()];
                let ask =
                    "SELECT @@time_zone, @@sql_mode, @@tx_isolation, @@character_set_client, \
                           @@lock_wait_timeout";
                for round in 0..20 {
                    let seen = rows(&mut client, ask).remove(0);
                    assert_eq!(seen, expected, "client {i}, round {round}");
                }
            });
        }
    });
    // Whoever comes after them starts with the server's own values.
    let ask = "SELECT @@time_zone, @@sql_mode, @@tx_isolation, @@lock_wait_timeout";
    let fresh = rows(&mut Cluster::shared().direct(), ask);
    for _ in 0..30 {
        assert_eq!(rows(&mut proxy.client(), ask), fresh);
    }
}

#[test]
fn a_setting_is_the_same_on_the_primary_and_on_replicas() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE follows (a INT)"]);
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    client
        .query_drop("SET SESSION group_concat_max_len = 4321, sql_mode = 'ANSI'")
        .expect("SET");
    for _ in 0..10 {
        assert_eq!(scalar(&mut client, "SELECT @@group_concat_max_len"), "4321");
        client
            .query_drop("INSERT INTO follows VALUES (@@group_concat_max_len)")
            .expect("INSERT");
        assert_eq!(
            scalar(&mut client, "SELECT \"a\" FROM (SELECT 1 AS a) AS x"),
            "1"
        );
    }
    let stored = cluster
        .primary()
        .ask("SELECT GROUP_CONCAT(DISTINCT a) FROM app.follows");
    assert_eq!(stored, "4321");
}

#[test]
fn several_settings_in_one_statement_all_follow() {
    let mut client = Proxy::shared().client();
    client
        .query_drop(
            "SET @@session.sql_mode='', SESSION max_statement_time=0.5, @a:=5, time_zone='+01:00'",
        )
        .expect("SET");
    let ask = "SELECT @@sql_mode, @@max_statement_time, @a, @@time_zone";
    for _ in 0..10 {
        assert_eq!(rows(&mut client, ask), [["", "0.500000", "5", "+01:00"]]);
    }
}

#[test]
fn a_refused_setting_changes_nothing() {
    let mut client = Proxy::shared().client();
    let mut direct = Cluster::shared().direct();
    for statement in [
        "SET sql_mode = 'NO_SUCH_MODE'",
        "SET no_such_variable = 1",
        "SET time_zone = 'Nowhere/City'",
        "SET NAMES nothing",
        "SET SESSION max_connections = 5",
    ] {
        let here = client.query_drop(statement).expect_err(statement);
        let there = direct.query_drop(statement).expect_err(statement);
        assert_eq!(here.to_string(), there.to_string());
    }
    let ask = "SELECT @@sql_mode, @@time_zone, @@character_set_client";
    assert_eq!(rows(&mut client, ask), rows(&mut direct, ask));
}

#[test]
fn set_names_in_every_spelling_carries_emoji_there_and_back() {
    Cluster::shared()
        .prepare(&["CREATE TABLE emoji (id INT PRIMARY KEY, t VARCHAR(50)) CHARACTER SET utf8mb4"]);
    let mut client = Proxy::shared().client();
    for (i, names) in [
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8mb4'",
        "set names utf8mb4;",
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'",
        "SET character_set_client=utf8mb4, character_set_results=utf8mb4, character_set_connection=utf8mb4",
        "/* c */ SET NAMES \"utf8mb4\"",
        "SET CHARACTER SET utf8mb4",
    ]
    .iter()
    .enumerate()
    {
        client.query_drop("SET NAMES latin1").expect("SET");
        client.query_drop(names).unwrap_or_else(|e| panic!("{names}: {e}"));
        client
            .query_drop(format!("REPLACE INTO emoji VALUES ({i}, '😀ümlaut')"))
            .expect("REPLACE");
        Cluster::shared().sync();
        for _ in 0..6 {
            let ask = format!("SELECT t, HEX(t) FROM emoji WHERE id = {i}");
            assert_eq!(
                rows(&mut client, &ask),
                [["😀ümlaut", "F09F9880C3BC6D6C617574"]],
                "{names}"
            );
        }
    }
}

#[test]
fn the_schema_follows_use_init_db_and_login() {
    let cluster = Cluster::shared();
    let mut client = Proxy::shared().client();
    for _ in 0..5 {
        assert_eq!(scalar(&mut client, "SELECT DATABASE()"), "app");
    }
    for (statement, schema) in [
        ("USE other", "other"),
        ("use `app`;", "app"),
        ("/* x */ USE other", "other"),
    ] {
        client.query_drop(statement).expect("USE");
        for _ in 0..5 {
            assert_eq!(
                scalar(&mut client, "SELECT DATABASE()"),
                schema,
                "{statement}"
            );
        }
    }
    client.select_db("app").expect("COM_INIT_DB");
    for _ in 0..5 {
        assert_eq!(scalar(&mut client, "SELECT DATABASE()"), "app");
    }
    let statement = "USE no_such_schema";
    let here = client.query_drop(statement).expect_err("unknown");
    let there = cluster.direct().query_drop(statement).expect_err("unknown");
    assert_eq!(here.to_string(), there.to_string());
    assert_eq!(scalar(&mut client, "SELECT DATABASE()"), "app");
}

#[test]
fn a_client_without_a_schema_gets_none_from_a_shared_connection() {
    let proxy = small_pool();
    let mut with = proxy.client();
    for _ in 0..10 {
        assert_eq!(scalar(&mut with, "SELECT DATABASE()"), "app");
        let mut without = proxy
            .try_client(proxy.options().db_name(None::<String>))
            .expect("login");
        assert_eq!(scalar(&mut without, "SELECT DATABASE()"), "NULL");
        let error = try_rows(&mut without, "SELECT * FROM x").expect_err("no schema");
        assert_eq!(code(&error), 1046);
    }
}

#[test]
fn a_transaction_stays_on_one_connection_of_the_primary() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE one_connection (a INT PRIMARY KEY)"]);
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    for start in [
        "BEGIN",
        "begin;",
        "START TRANSACTION",
        "/* c */ Start  Transaction",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "BEGIN WORK",
        "START TRANSACTION READ WRITE",
    ] {
        client.query_drop(start).expect("begins");
        client
            .query_drop("INSERT INTO one_connection VALUES (1)")
            .expect("INSERT");
        for _ in 0..4 {
            let word = common::marker();
            let seen = rows(
                &mut client,
                &format!("SELECT a, @@server_id, '{word}' FROM one_connection"),
            );
            assert_eq!(seen, [["1", "1", word.as_str()]], "{start}");
        }
        client.query_drop("ROLLBACK").expect("ROLLBACK");
        assert_eq!(
            rows(&mut client, "SELECT a FROM one_connection").len(),
            0,
            "{start}"
        );
    }
}

#[test]
fn all_statements_of_a_transaction_reach_the_same_server_thread() {
    let cluster = Cluster::shared();
    let proxy = Proxy::shared();
    let mut clients: Vec<_> = (0..6).map(|_| proxy.client()).collect();
    let words: Vec<String> = clients.iter().map(|_| common::marker()).collect();
    for client in &mut clients {
        client.query_drop("BEGIN").expect("BEGIN");
    }
    for _ in 0..5 {
        for (client, word) in clients.iter_mut().zip(&words) {
            client
                .query_drop(format!("SELECT /* {word} */ 1"))
                .expect("SELECT");
        }
    }
    for client in &mut clients {
        client.query_drop("COMMIT").expect("COMMIT");
    }
    let mut threads = std::collections::BTreeSet::new();
    for word in &words {
        let entries = cluster.entries_of(cluster.primary(), word);
        assert_eq!(entries.len(), 5, "all on the primary");
        assert!(entries.iter().all(|e| e.thread == entries[0].thread));
        threads.insert(entries[0].thread);
    }
    assert_eq!(
        threads.len(),
        clients.len(),
        "two transactions shared a connection"
    );
}

#[test]
fn autocommit_off_keeps_to_one_primary_connection_and_reports_status_as_direct() {
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE TABLE no_autocommit (a INT)",
        "CREATE TABLE no_autocommit_direct (a INT)",
    ]);
    let script = |table: &str| -> Vec<String> {
        [
            "SET autocommit=0",
            "SELECT 1",
            "SELECT COUNT(*) FROM TABLE",
            "INSERT INTO TABLE VALUES (1)",
            "SELECT COUNT(*) FROM TABLE",
            "COMMIT",
            "SELECT COUNT(*) FROM TABLE",
            "ROLLBACK",
            "INSERT INTO TABLE VALUES (2)",
            "SET autocommit=1",
            "SELECT COUNT(*) FROM TABLE",
            "SET @@session.autocommit = OFF",
            "INSERT INTO TABLE VALUES (3)",
            "ROLLBACK",
            "SET SESSION autocommit = ON",
            "SELECT COUNT(*) FROM TABLE",
        ]
        .iter()
        .map(|s| s.replace("TABLE", table))
        .collect()
    };
    let run = |port: u16, table: &str| -> Vec<(u16, Option<String>)> {
        let mut client = RawClient::connect(port);
        let statements = script(table).into_iter();
        statements
            .map(|s| {
                let reply = client.query(&s).expect("connected");
                assert_eq!(reply.error, None, "{s}");
                let status = reply.ok().status & (AUTOCOMMIT | IN_TRANS);
                (status, reply.value())
            })
            .collect()
    };
    let proxy = Proxy::shared();
    let here = run(proxy.port, "no_autocommit");
    let there = run(cluster.primary().port, "no_autocommit_direct");
    for (statement, (here, there)) in script("t").iter().zip(here.iter().zip(&there)) {
        if !statement.starts_with("SELECT COUNT") || here.0 & AUTOCOMMIT == 0 {
            assert_eq!(here, there, "{statement}");
        }
    }
    // In autocommit the last count may come from a replica: ask once they have caught up.
    cluster.sync();
    let mut client = proxy.client();
    assert_eq!(
        scalar(&mut client, "SELECT COUNT(*) FROM no_autocommit"),
        "2"
    );
}

#[test]
fn the_first_statement_after_commit_under_autocommit_off_opens_a_new_transaction() {
    Cluster::shared().prepare(&["CREATE TABLE implicit (a INT)"]);
    let mut client = Proxy::shared().client();
    client.query_drop("SET autocommit = 0").expect("SET");
    for _ in 0..3 {
        assert_eq!(scalar(&mut client, "SELECT @@server_id"), "1");
        client
            .query_drop("INSERT INTO implicit VALUES (1)")
            .expect("INSERT");
        client.query_drop("ROLLBACK").expect("ROLLBACK");
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM implicit"), "0");
        client.query_drop("COMMIT").expect("COMMIT");
    }
}

#[test]
fn savepoints_work_as_direct() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE savepoints (a INT) ENGINE=InnoDB"]);
    let mut client = Proxy::shared().client();
    for statement in [
        "BEGIN",
        "INSERT INTO savepoints VALUES (1)",
        "SAVEPOINT s",
        "INSERT INTO savepoints VALUES (2)",
        "ROLLBACK TO SAVEPOINT s",
        "RELEASE SAVEPOINT s",
    ] {
        client.query_drop(statement).expect(statement);
    }
    let here = client
        .query_drop("ROLLBACK TO unknown")
        .expect_err("unknown savepoint");
    let there = cluster
        .direct()
        .query_drop("ROLLBACK TO unknown")
        .expect_err("unknown savepoint");
    assert_eq!(here.to_string(), there.to_string());
    client.query_drop("COMMIT").expect("COMMIT");
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT GROUP_CONCAT(a) FROM app.savepoints"),
        "1"
    );
}

#[test]
fn read_only_characteristics_do_not_outlive_their_transaction() {
    Cluster::shared().prepare(&["CREATE TABLE characteristics (a INT)"]);
    let proxy = small_pool();
    for _ in 0..20 {
        let mut client = proxy.client();
        client
            .query_drop("START TRANSACTION READ ONLY")
            .expect("begins");
        let error = client
            .query_drop("INSERT INTO characteristics VALUES (1)")
            .expect_err("read only");
        // On a replica the server's read_only may speak first.
        assert!([1792, 1290].contains(&code(&error)), "{error}");
        client.query_drop("COMMIT").expect("COMMIT");
        client
            .query_drop("INSERT INTO characteristics VALUES (1)")
            .expect("writes again");
        client
            .query_drop("SET TRANSACTION READ ONLY")
            .expect("for the next one");
        // Gone without using it: the next owner of the connection must not inherit it.
        drop(client);
        let mut next = proxy.client();
        next.query_drop("INSERT INTO characteristics VALUES (2)")
            .expect("writes");
    }
}

#[test]
fn set_transaction_applies_to_the_next_transaction_only() {
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE TABLE isolation (a INT PRIMARY KEY)",
        "INSERT INTO isolation VALUES (1)",
    ]);
    let mut other = cluster.direct();
    other
        .query_drop("SET innodb_lock_wait_timeout = 0")
        .expect("SET");
    let mut client = Proxy::shared().client();
    client
        .query_drop("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .expect("SET");
    // A plain read locks its rows under SERIALIZABLE only.
    let write = "SELECT a FROM isolation WHERE a = 1 FOR UPDATE";
    for locks in [true, false, false] {
        client.query_drop("BEGIN").expect("BEGIN");
        assert_eq!(scalar(&mut client, "SELECT a FROM isolation"), "1");
        let blocked = other.query_drop(write).is_err();
        assert_eq!(blocked, locks);
        client.query_drop("ROLLBACK").expect("ROLLBACK");
    }
    assert_eq!(
        scalar(&mut client, "SELECT @@tx_isolation"),
        "REPEATABLE-READ"
    );
}

#[test]
fn temporary_tables_stay_with_their_client() {
    let proxy = small_pool();
    let mut clients: Vec<_> = (0..4).map(|_| proxy.client()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client
            .query_drop("CREATE TEMPORARY TABLE mine (a INT)")
            .expect("creates");
        client
            .query_drop(format!("INSERT INTO mine VALUES ({i})"))
            .expect("inserts");
    }
    for _ in 0..5 {
        for (i, client) in clients.iter_mut().enumerate() {
            assert_eq!(scalar(client, "SELECT a FROM mine"), i.to_string());
        }
    }
    clients.clear();
    for _ in 0..20 {
        let error = try_rows(&mut proxy.client(), "SELECT a FROM mine").expect_err("no such table");
        assert_eq!(code(&error), 1146);
    }
}

#[test]
fn user_variables_follow_literal_or_not() {
    let mut client = Proxy::shared().client();
    client
        .query_drop("SET @a = 1, @b = 'it''s @here', @c = NULL, @d = 1.50")
        .expect("SET");
    for _ in 0..8 {
        assert_eq!(
            rows(&mut client, "SELECT @a, @b, @c, @d"),
            [["1", "it's @here", "NULL", "1.50"]]
        );
    }
    // literals follow the session: 20 of them share six connections, and none sees another's
    let small = small_pool();
    let mut clients: Vec<_> = (0..20).map(|_| small.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        if n % 2 == 0 {
            let set = format!("SET @mine = {n}, @`text` = 'no. {n}\\n'");
            client.query_drop(set).expect("SET");
        }
    }
    for _ in 0..3 {
        for (n, client) in clients.iter_mut().enumerate() {
            let seen = rows(client, "SELECT @mine, @text, COERCIBILITY(@mine)");
            let (number, text) = match n % 2 {
                0 => (n.to_string(), format!("no. {n}\n")),
                _ => ("NULL".into(), "NULL".into()),
            };
            assert_eq!(seen[0][..2], [number, text], "client {n}");
        }
    }
    client
        .query_drop("SET @n = (SELECT COUNT(*) + 7 FROM (SELECT 1) AS x)")
        .expect("SET");
    client.query_drop("SELECT 5 INTO @into").expect("INTO");
    for _ in 0..8 {
        assert_eq!(rows(&mut client, "SELECT @n, @into, @a"), [["8", "5", "1"]]);
    }
}

#[test]
fn locks_stay_on_their_connection_and_are_released_with_it() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE locked (a INT)"]);
    let proxy = Proxy::shared();
    let mut first = proxy.client();
    let mut second = proxy.client();
    assert_eq!(scalar(&mut first, "SELECT GET_LOCK('umpire-test', 5)"), "1");
    assert_eq!(
        scalar(&mut second, "SELECT GET_LOCK('umpire-test', 0)"),
        "0"
    );
    assert_eq!(
        scalar(&mut first, "SELECT RELEASE_LOCK('umpire-test')"),
        "1"
    );
    assert_eq!(
        scalar(&mut second, "SELECT GET_LOCK('umpire-test', 5)"),
        "1"
    );
    drop(second);
    assert_eq!(
        scalar(&mut first, "SELECT GET_LOCK('umpire-test', 10)"),
        "1"
    );
    first.query_drop("LOCK TABLES locked WRITE").expect("locks");
    first
        .query_drop("INSERT INTO locked VALUES (1)")
        .expect("writes");
    assert_eq!(scalar(&mut first, "SELECT COUNT(*) FROM locked"), "1");
    let error = try_rows(&mut first, "SELECT * FROM implicit_other").expect_err("not locked");
    assert_eq!(code(&error), 1100);
    first.query_drop("UNLOCK TABLES").expect("unlocks");
}

#[test]
fn warnings_belong_to_the_statement_before() {
    let cluster = Cluster::shared();
    let proxy = Proxy::shared();
    let mut direct = cluster.direct();
    let mut client = proxy.client();
    for statement in ["SELECT 1/0", "SELECT CAST('abc' AS SIGNED)", "SELECT 1"] {
        for ask in [
            "SHOW WARNINGS",
            "SHOW /* c */ WARNINGS",
            "SHOW COUNT(*) WARNINGS",
            "SELECT @@warning_count",
        ] {
            client.query_drop(statement).expect(statement);
            direct.query_drop(statement).expect(statement);
            assert_eq!(
                rows(&mut client, ask),
                rows(&mut direct, ask),
                "{statement}; {ask}"
            );
        }
    }
}

#[test]
fn last_insert_id_is_the_clients_own() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE serial (id INT AUTO_INCREMENT PRIMARY KEY, a INT)"]);
    let proxy = small_pool();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = proxy.client();
                for _ in 0..20 {
                    client
                        .query_drop("INSERT INTO serial (a) VALUES (1)")
                        .expect("INSERT");
                    let told = client.last_insert_id().to_string();
                    assert_eq!(scalar(&mut client, "SELECT LAST_INSERT_ID()"), told);
                    assert_eq!(scalar(&mut client, "select  last_insert_id( )"), told);
                    assert_eq!(scalar(&mut client, "SELECT @@last_insert_id"), told);
                }
            });
        }
    });
    let mut client = proxy.client();
    assert_eq!(scalar(&mut client, "SELECT LAST_INSERT_ID()"), "0");
}

#[test]
fn found_rows_counts_the_statement_before() {
    let mut client = Proxy::shared().client();
    let numbers = "(SELECT 1 UNION SELECT 2 UNION SELECT 3) AS x";
    for _ in 0..10 {
        client
            .query_drop(format!(
                "SELECT SQL_CALC_FOUND_ROWS * FROM {numbers} LIMIT 1"
            ))
            .expect("SELECT");
        assert_eq!(scalar(&mut client, "SELECT FOUND_ROWS()"), "3");
    }
}

#[test]
fn change_user_and_reset_leave_nothing_of_the_session() {
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    let ask = "SELECT @@sql_mode, @@time_zone, @v, @@autocommit";
    let fresh = rows(&mut client, ask);
    let dirty = |client: &mut mysql::Conn| {
        for statement in [
            "SET sql_mode='ANSI', time_zone='+05:00', @v=9",
            "CREATE TEMPORARY TABLE gone (a INT)",
            "BEGIN",
        ] {
            client.query_drop(statement).expect(statement);
        }
    };
    dirty(&mut client);
    client.reset().expect("COM_RESET_CONNECTION");
    assert_eq!(rows(&mut client, ask), fresh);
    assert_eq!(
        code(&try_rows(&mut client, "SELECT * FROM gone").expect_err("gone")),
        1146
    );
    dirty(&mut client);
    let user = mysql::ChangeUserOpts::new()
        .with_user(Some("app2".into()))
        .with_pass(Some("app2pw".into()))
        .with_db_name(Some("other".into()));
    client.change_user(user).expect("COM_CHANGE_USER");
    assert_eq!(rows(&mut client, ask), fresh);
    for _ in 0..6 {
        let who = rows(&mut client, "SELECT CURRENT_USER(), DATABASE()");
        assert_eq!(who, [["app2@%", "other"]]);
    }
}

#[test]
fn a_reset_keeps_the_schema_but_not_its_collation_as_on_the_server() {
    let proxy = small_pool();
    let (mut client, mut direct) = (proxy.client(), Cluster::shared().direct());
    let mut neighbour = proxy.client();
    let ask = "SELECT DATABASE(), @@collation_database, @@character_set_database";
    Cluster::shared().prepare(&["CREATE DATABASE koi CHARACTER SET koi8r"]);
    neighbour.query_drop("USE koi").expect("USE");
    for step in ["USE koi", "", "SET CHARACTER SET cp1251", "USE koi"] {
        for conn in [&mut client, &mut direct] {
            match step {
                "" => conn.reset().expect("COM_RESET_CONNECTION"),
                sql => conn.query_drop(sql).expect(sql),
            }
        }
        for _ in 0..4 {
            let sql = format!("{ask}, @@collation_connection");
            assert_eq!(rows(&mut client, &sql), rows(&mut direct, &sql), "{step}");
            let of_the_neighbour = rows(&mut neighbour, ask);
            assert_eq!(of_the_neighbour, [["koi", "koi8r_general_ci", "koi8r"]]);
        }
    }
    direct.query_drop("DROP DATABASE koi").expect("DROP");
}

#[test]
fn a_schema_that_no_server_reports_is_known_where_it_matters() {
    let proxy = small_pool();
    let run = |mut conn: mysql::Conn| {
        let mut seen: Vec<Option<String>> = Vec::new();
        let set = "SET session_track_schema = OFF";
        conn.query_drop(set).expect(set);
        let before = conn.prep("SELECT DATABASE(), 'before'").expect("PREPARE");
        conn.query_drop("USE other").expect("USE");
        let behind = conn.prep("SELECT DATABASE(), 'behind'").expect("PREPARE");
        for statement in [&before, &behind] {
            let row: Option<(Option<String>, String)> =
                conn.exec_first(statement, ()).expect("EXECUTE");
            seen.push(row.expect("a row").0);
        }
        conn.reset().expect("COM_RESET_CONNECTION");
        for _ in 0..3 {
            seen.push(conn.query_first("SELECT DATABASE()").expect("SELECT"));
        }
        seen
    };
    let there = run(Cluster::shared().direct());
    assert_eq!(there.last(), Some(&Some("other".into())));
    assert_eq!(run(proxy.client()), there);
}

#[test]
fn every_statement_runs_as_its_own_account() {
    let proxy = small_pool();
    let mut app = proxy.client();
    let mut app2 = proxy.client_as("app2", "app2pw");
    for _ in 0..20 {
        assert_eq!(scalar(&mut app, "SELECT CURRENT_USER()"), "app@%");
        assert_eq!(scalar(&mut app2, "SELECT CURRENT_USER()"), "app2@%");
    }
}

#[test]
fn a_client_that_leaves_in_a_transaction_leaves_no_trace() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE abandoned (a INT)"]);
    let proxy = small_pool();
    for i in 0..20 {
        let mut client = RawClient::connect(proxy.port);
        client.query("BEGIN").expect("connected");
        client
            .query(&format!("INSERT INTO abandoned VALUES ({i})"))
            .expect("connected");
        if i % 2 == 0 {
            client.send_command(0x01, &[]).ok();
        }
        drop(client);
        let mut next = proxy.client();
        next.query_drop("INSERT INTO other.nothing SELECT 1")
            .expect_err("no such table");
        next.query_drop("COMMIT").expect("COMMIT");
    }
    common::wait_until(
        "no row of an abandoned transaction is left or locked",
        || {
            cluster
                .primary()
                .ask("SELECT COUNT(*) FROM app.abandoned FOR UPDATE")
                == "0"
        },
    );
    assert_eq!(
        cluster.primary().ask("SELECT COUNT(*) FROM app.abandoned"),
        "0"
    );
}

#[test]
fn affected_rows_follow_each_clients_found_rows_flag() {
    use umpire::wire::capabilities::FOUND_ROWS;
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE TABLE matched (a INT)",
        "INSERT INTO matched VALUES (1), (1)",
    ]);
    let proxy = Proxy::shared();
    let mut changed = RawClient::connect(proxy.port);
    let mut found =
        RawClient::login(proxy.port, &Login::default().with(FOUND_ROWS)).expect("login");
    for _ in 0..5 {
        let sql = "UPDATE matched SET a = 1";
        assert_eq!(changed.query(sql).expect("connected").ok().affected_rows, 0);
        assert_eq!(found.query(sql).expect("connected").ok().affected_rows, 2);
    }
}

#[test]
fn row_count_and_found_rows_are_the_sessions_own_or_refused_never_anothers() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE counted (a INT)"]);
    let small = small_pool();
    let proxy = &small;
    std::thread::scope(|scope| {
        for n in 1..9 {
            scope.spawn(move || {
                let mut client = proxy.client();
                for round in 0..10 {
                    let values = vec!["(1)"; n].join(",");
                    client
                        .query_drop(format!("INSERT INTO counted VALUES {values}"))
                        .expect("INSERT");
                    match try_rows(&mut client, "SELECT ROW_COUNT()") {
                        Ok(got) => assert_eq!(got, [[n.to_string()]]),
                        // only the user's first question may come too late
                        Err(error) => assert!(round == 0 && code(&error) == 1105, "{error}"),
                    }
                    client
                        .query_drop(format!(
                            "SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 2) AS t LIMIT {}",
                            1 + n % 2
                        ))
                        .expect("SELECT");
                    let found = scalar(&mut client, "SELECT FOUND_ROWS()");
                    assert_eq!(found, (1 + n % 2).to_string());
                }
            });
        }
    });
}

#[test]
fn connection_id_is_the_one_the_client_was_greeted_with_in_every_spelling() {
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    let greeted = client.connection_id().to_string();
    for sql in [
        "SELECT CONNECTION_ID()",
        "select connection_id ( )",
        "SELECT /* c */ Connection_Id(/* d */)",
        "SELECT IF(1, CONNECTION_ID(), 0)",
        "SELECT id FROM (SELECT CONNECTION_ID() AS id) AS t",
    ] {
        assert_eq!(scalar(&mut client, sql), greeted, "{sql}");
        let row: Option<u64> = client.exec_first(sql, ()).expect(sql);
        assert_eq!(row.map(|n| n.to_string()), Some(greeted.clone()), "{sql}");
    }
    for item in [
        "CONNECTION_ID()",
        "1 + CONNECTION_ID() * 2",
        "CONCAT('a`', CONNECTION_ID())",
        "(SELECT CONNECTION_ID())",
    ] {
        let result = client.query_iter(format!("SELECT {item}, 1"));
        let result = result.expect("a result");
        let name = result.columns().as_ref()[0].name_str().into_owned();
        assert_eq!(name, item);
    }
}

#[test]
fn after_a_ping_row_count_is_what_the_server_says() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE pinged (a INT)"]);
    let mut client = Proxy::shared().client();
    // a user's first question may come too late
    try_rows(&mut client, "SELECT ROW_COUNT()").ok();
    let ask = |client: &mut mysql::Conn| {
        client
            .query_drop("INSERT INTO app.pinged VALUES (1), (2)")
            .expect("INSERT");
        client.ping().expect("a ping");
        scalar(client, "SELECT ROW_COUNT()")
    };
    let through = ask(&mut client);
    assert_eq!(through, ask(&mut cluster.servers[0].root()));
}

#[test]
fn a_prepared_statement_can_ask_for_the_counts_of_the_statement_before() {
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE asked (a INT)"]);
    let mut client = Proxy::shared().client();
    // a user's first question may come too late
    try_rows(&mut client, "SELECT ROW_COUNT()").ok();
    for n in 1..20 {
        let values = vec!["(1)"; n].join(",");
        client
            .query_drop(format!("INSERT INTO asked VALUES {values}"))
            .expect("INSERT");
        // another text each time, so that it is prepared here
        let ask = format!("SELECT ROW_COUNT() + {n}");
        let got: Option<u64> = client.exec_first(ask, ()).expect("a count");
        assert_eq!(got, Some(2 * n as u64));
    }
}

#[test]
fn session_tracking_looks_as_the_server_has_it_until_the_client_sets_it() {
    let proxy = Proxy::shared();
    let mut direct = Cluster::shared().direct();
    let mut client = proxy.client();
    let shows = [
        "SELECT @@session_track_schema, @@session_track_state_change, @@session_track_system_variables",
        "SHOW VARIABLES LIKE 'session_track%'",
        "SHOW SESSION VARIABLES WHERE Variable_name LIKE 'session_track%'",
        "SELECT * FROM information_schema.session_variables WHERE variable_name LIKE 'SESSION_TRACK%'",
    ];
    let set = "SET SESSION session_track_system_variables = 'sql_mode', session_track_schema = OFF";
    for set in [None, Some(set)] {
        for conn in [&mut direct, &mut client] {
            if let Some(sql) = set {
                conn.query_drop(sql).expect(sql);
            }
        }
        for sql in shows {
            assert_eq!(rows(&mut client, sql), rows(&mut direct, sql), "{sql}");
        }
        // what is shown in between does not stop the tracking
        client.query_drop("SET time_zone = '+05:00'").expect("SET");
        client.query_drop("USE other").expect("USE");
        for _ in 0..6 {
            let seen = rows(&mut client, "SELECT @@time_zone, DATABASE()");
            assert_eq!(seen, [["+05:00", "other"]]);
        }
    }
    client.reset().expect("COM_RESET_CONNECTION");
    direct.reset().expect("COM_RESET_CONNECTION");
    assert_eq!(rows(&mut client, shows[0]), rows(&mut direct, shows[0]));
}

#[test]
fn an_error_with_a_number_that_ends_connections_elsewhere_ends_nothing() {
    // 4031 is MySQL's "disconnected because of inactivity", and MariaDB's "referenced trigger does not exist"
    Cluster::shared().prepare(&[
        "CREATE OR REPLACE PROCEDURE numbered(n INT) SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = n",
    ]);
    for number in [4031, 1053, 1927, 3169] {
        let mut client = RawClient::connect(Proxy::shared().port);
        for sql in [format!("CALL numbered({number})"), "SELECT 1".into()] {
            client.query("BEGIN").expect("a reply");
            client.query("SET @kept = 7").expect("a reply");
            client.query(&sql).expect("a reply");
            let kept = client.query("SELECT @kept").expect("still connected");
            assert_eq!(kept.value().as_deref(), Some("7"), "{number}");
            client.query("COMMIT").expect("a reply");
        }
        assert_eq!(
            client
                .query(&format!("CALL numbered({number})"))
                .expect("a reply")
                .code(),
            number
        );
        assert_eq!(client.query("SELECT 1").expect("still connected").code(), 0);
    }
}

#[test]
fn to_prepare_and_execute_what_uses_no_table_leaves_the_warnings() {
    let shown = |port| {
        let mut client = RawClient::connect(port);
        let mut counts = Vec::new();
        client
            .query("DROP TABLE IF EXISTS no_such_table_at_all")
            .expect("a reply");
        let id = client.prepare("SELECT 1").id;
        counts.push(
            client
                .query("SELECT @@warning_count")
                .expect("a reply")
                .value(),
        );
        let execute = [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
        client.command(0x17, &execute).expect("a reply");
        counts.push(
            client
                .query("SELECT @@warning_count")
                .expect("a reply")
                .value(),
        );
        counts
    };
    let direct = shown(Cluster::shared().primary().port);
    assert_eq!(direct[0].as_deref(), Some("1"));
    assert_eq!(shown(Proxy::shared().port), direct);
}

#[test]
fn connection_id_has_the_servers_own_type() {
    let column = |port| {
        let mut client = RawClient::connect(port);
        let text = client.query("SELECT CONNECTION_ID()").expect("a reply");
        let prepared = client.prepare("SELECT CONNECTION_ID() AS id");
        let execute = [&prepared.id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat();
        let binary = client.command(0x17, &execute).expect("a reply");
        (text.sets[0].columns.clone(), binary.sets[0].columns.clone())
    };
    assert_eq!(
        column(Proxy::shared().port),
        column(Cluster::shared().primary().port)
    );
}
