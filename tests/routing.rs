//! Where each kind of statement goes, by the servers' own word: their general logs.
//! The names T01 … are the cases of other proxies' users that each test is there for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{marker, needs, scalar, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::time::{Duration, Instant};

/// The cluster with the tables and routines that the statements below name.
fn cluster() -> &'static Cluster {
    static READY: std::sync::Once = std::sync::Once::new();
    let cluster = Cluster::shared();
    READY.call_once(|| {
        cluster.prepare(&[
            "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
            "INSERT INTO t VALUES (1, 10), (2, 20)",
            "CREATE TABLE w (a INT)",
            "CREATE TABLE calls (a INT)",
            "CREATE FUNCTION row_count_plus(x INT) RETURNS INT READS SQL DATA \
             RETURN (SELECT COUNT(*) FROM t) + x",
            "CREATE FUNCTION writes(x INT) RETURNS INT MODIFIES SQL DATA \
             BEGIN INSERT INTO calls VALUES (x); RETURN x; END",
            "CREATE PROCEDURE write_it(x INT) BEGIN INSERT INTO calls VALUES (x); SELECT x; END",
            "CREATE SEQUENCE seq",
            "CREATE VIEW writing_view AS SELECT writes(77) AS n",
        ]);
    });
    cluster
}

/// Sends a statement (`{m}` is where its marker goes, else at its end) whatever its result is,
/// and says which servers saw it.
fn route(client: &mut Conn, sql: &str) -> Vec<u32> {
    let word = marker();
    let text = if sql.contains("{m}") {
        sql.replace("{m}", &word)
    } else {
        format!("{sql} /* {word} */")
    };
    if let Ok(result) = client.query_iter(&text) {
        result.for_each(drop);
    }
    cluster().where_did_it_go(&word)
}

#[track_caller]
fn all_go_to_the_primary(statements: &[&str]) {
    all_go(statements, "the primary only", |went| went == [1]);
}

#[track_caller]
fn all_go_to_a_replica(statements: &[&str]) {
    all_go(statements, "one replica only", |went| {
        went == [2] || went == [3]
    });
}

#[track_caller]
fn all_go(statements: &[&str], way: &str, right: fn(&[u32]) -> bool) {
    needs!(the_proxy);
    cluster();
    let mut wrong = Vec::new();
    for sql in statements {
        let went = route(&mut Proxy::shared().client(), sql);
        if !right(&went) {
            wrong.push(format!("{sql:?} went to {went:?}"));
        }
    }
    assert!(wrong.is_empty(), "not to {way}:\n{}", wrong.join("\n"));
}

#[test]
fn t01_locking_reads_go_to_the_primary_in_every_spelling() {
    let clauses = [
        "FOR UPDATE",
        "for update",
        "FOR\tUPDATE",
        "FOR  \n UPDATE",
        "FOR /* c */ UPDATE",
        "FOR UPDATE NOWAIT",
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE WAIT 1",
        "LOCK IN SHARE MODE",
        "lock in share mode",
        "LOCK\nIN\r\nSHARE\tMODE",
        "LOCK IN SHARE MODE NOWAIT",
        "FOR SHARE",
        "FOR SHARE OF t",
        "FOR UPDATE OF t SKIP LOCKED",
        "LIMIT 1 FOR UPDATE",
    ];
    let heads = [
        "SELECT a FROM t WHERE a = 1",
        "(SELECT a FROM t WHERE a = 1",
    ];
    let mut statements = Vec::new();
    for clause in clauses {
        statements.push(format!("{} {clause}", heads[0]));
    }
    statements.push(format!("{} FOR UPDATE)", heads[1]));
    statements.push("SELECT * FROM (SELECT a FROM t FOR UPDATE) AS x".into());
    statements.push("SELECT a FROM t WHERE a IN (SELECT a FROM w LOCK IN SHARE MODE)".into());
    statements.push("SELECT 1 UNION SELECT a FROM t FOR UPDATE".into());
    statements.push("WITH x AS (SELECT a FROM t) SELECT * FROM x FOR UPDATE".into());
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    all_go_to_the_primary(&statements);
}

#[test]
fn t02_ends_of_lines_comments_and_semicolons_change_nothing() {
    all_go_to_the_primary(&[
        "SELECT a /* {m} */ FROM t FOR UPDATE;",
        "SELECT a /* {m} */\nFROM t\nFOR UPDATE\n;\n",
        "SELECT a /* {m} */\r\nFROM t\r\nFOR UPDATE\r\n",
        "SELECT a FROM t FOR UPDATE -- {m}",
        "SELECT a FROM t FOR UPDATE # {m}\n",
        "SELECT a FROM t -- {m}\n FOR UPDATE",
        "   \n\t SELECT a FROM t FOR UPDATE /* {m} */  ;  ",
        "/* {m} */SELECT a FROM t FOR UPDATE",
        "-- {m}\nSELECT a FROM t FOR UPDATE",
        "#{m}\nUPDATE t SET b = 1 WHERE a = 99",
        "/* {m} */;INSERT INTO w VALUES (1)",
    ]);
    all_go_to_a_replica(&[
        "SELECT a /* {m} */ FROM t;",
        "SELECT a /* {m} */\r\nFROM t\r\n;\r\n",
        "  \n\t SELECT a FROM t -- {m}",
        "-- {m} for update\nSELECT a FROM t",
        "/* {m} */ /* for update */ SELECT a FROM t",
        "#{m}\n#\n--\t\nselect a from t",
    ]);
}

#[test]
fn t02_words_in_strings_and_names_are_not_clauses() {
    all_go_to_a_replica(&[
        "SELECT 'FOR UPDATE', \"LOCK IN SHARE MODE\"",
        "SELECT 'it''s \\' FOR UPDATE'",
        "SELECT a AS `for update` FROM t",
        "SELECT 'INTO @x' FROM t",
        "SELECT '@v := 1'",
        "SELECT 'GET_LOCK(1)', 'writes(1)'",
        "SELECT COUNT(*) AS `insert` FROM t",
    ]);
}

#[test]
fn t09_leading_parentheses_are_seen_through() {
    all_go_to_a_replica(&[
        "(SELECT a FROM t) UNION (SELECT b FROM t)",
        "((SELECT a FROM t))",
        "( /* c */ SELECT a FROM t) UNION ALL (SELECT 2) ORDER BY 1",
        "(((SELECT 1)))",
        "-- c\n(SELECT a FROM t LIMIT 1)",
    ]);
    all_go_to_the_primary(&[
        "(SELECT a FROM t FOR UPDATE)",
        "(SELECT a FROM t) UNION (SELECT a FROM t FOR UPDATE)",
        "((SELECT a FROM t LOCK IN SHARE MODE)) ORDER BY 1",
    ]);
}

#[test]
fn t10_the_verb_is_the_first_word_outside_comments() {
    all_go_to_the_primary(&[
        "/*!50000 INSERT INTO w VALUES (2) */ /* {m} */",
        "/*!50000 INSERT */ INTO w SELECT 1",
        "/*!99999 SELECT 1 */ INSERT INTO w VALUES (3)",
        "/*M!100100 DELETE FROM w WHERE a = 99 */ /* {m} */",
        "/*! UPDATE t SET b = 1 WHERE a = 99 */ /* {m} */",
        "SELECT a FROM t /*!50000 FOR UPDATE */",
        "SELECT a FROM t /*M! FOR UPDATE */",
        "/* select 1 */ INSERT INTO w VALUES (4)",
        "-- select 1\nINSERT INTO w VALUES (5)",
        "# select 1\nDELETE FROM w WHERE a = 99",
        "/*! select 1 */ /* x */; INSERT INTO w VALUES (6)",
        "/* umpire:replica */ INSERT INTO w VALUES (7)",
        "/* umpire:replica */ SELECT a FROM t FOR UPDATE",
    ]);
    all_go_to_a_replica(&[
        "/*!50000 SELECT */ a FROM t",
        "SELECT /*!50000 STRAIGHT_JOIN */ a FROM t",
        "/* insert into w values (1) */ SELECT a FROM t",
        "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t",
    ]);
}

#[test]
fn hints_choose_among_what_is_allowed() {
    all_go_to_the_primary(&[
        "/* umpire:primary */ SELECT a FROM t",
        "/*umpire:primary*/SELECT a FROM t",
        "/* umpire:primary */ (SELECT a FROM t)",
    ]);
    all_go_to_a_replica(&["/* umpire:replica */ SELECT a FROM t"]);
}

#[test]
fn t18_statements_that_write_or_may_write_go_to_the_primary() {
    all_go_to_the_primary(&[
        "INSERT INTO w VALUES (8)",
        "insert w values (9)",
        "REPLACE INTO w VALUES (10)",
        "UPDATE t SET b = 2 WHERE a = 99",
        "DELETE FROM w WHERE a = 99",
        "WITH x AS (SELECT 1 AS a) UPDATE t SET b = 1 WHERE a IN (SELECT a + 98 FROM x)",
        "WITH x AS (SELECT 99 AS a) DELETE FROM w WHERE a IN (SELECT a FROM x)",
        "EXPLAIN ANALYZE UPDATE t SET b = 3 WHERE a = 99",
        "ANALYZE UPDATE t SET b = 3 WHERE a = 99",
        "ANALYZE FORMAT=JSON DELETE FROM w WHERE a = 99",
        "SELECT a FROM t WHERE a = 1 INTO @v",
        "SELECT a INTO @v FROM t WHERE a = 1",
        "SELECT @v := 5",
        "SELECT 1 INTO OUTFILE '/nonexistent/folder/x'",
        "SELECT 1 INTO DUMPFILE '/nonexistent/folder/x'",
        "SELECT GET_LOCK('routing', 0)",
        "SELECT RELEASE_LOCK('routing')",
        "SELECT get_lock ('routing', 0)",
        "SELECT NEXTVAL(seq)",
        "SELECT NEXT VALUE FOR seq",
        "SELECT SETVAL(seq, 100)",
        "HANDLER t OPEN",
        "DO RELEASE_LOCK('x')",
        "DO writes(9)",
        "CALL write_it(8)",
        "{ CALL write_it(8) }",
        "LOCK TABLES t READ",
        "FLUSH STATUS",
        "CREATE TABLE IF NOT EXISTS w2 (a INT)",
        "ALTER TABLE w2 ADD COLUMN IF NOT EXISTS b INT",
        "TRUNCATE w2",
        "DROP TABLE IF EXISTS w2",
        "LOAD DATA INFILE '/nonexistent' INTO TABLE w",
        "ANALYZE TABLE t",
        "OPTIMIZE TABLE w",
        "CHECK TABLE t",
        "GRANT SELECT ON app.* TO nobody@'%'",
        "BEGIN NOT ATOMIC INSERT INTO w VALUES (1); END",
        "PREPARE s FROM 'SELECT 1'",
        "SET PASSWORD FOR nobody@'%' = ''",
    ]);
}

#[test]
fn t18_plain_reads_go_to_a_replica() {
    all_go_to_a_replica(&[
        "SELECT 1",
        "select a from t",
        "SELECT\n*\nFROM t",
        "WITH x AS (SELECT a FROM t) SELECT * FROM x",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
        "SELECT row_count_plus(1)",
        "SELECT COUNT(*), MAX(b), NOW(), RAND() FROM t",
        "TABLE t",
        "VALUES (1, 2), (3, 4)",
        "SHOW TABLES",
        "SHOW CREATE TABLE t",
        "SHOW FULL COLUMNS FROM t",
        "DESCRIBE t",
        "DESC t",
        "EXPLAIN SELECT a FROM t",
        "SELECT @@version, @@server_id",
        "SELECT a FROM t WHERE b = (SELECT MAX(b) FROM t) -- {m}",
        "SELECT a FROM other_db.for_update_table",
        "SELECT IF(a > 1, 'into', 'update') FROM t",
    ]);
}

#[test]
fn t19_what_is_not_proven_to_read_goes_to_the_primary() {
    all_go_to_the_primary(&[
        "FROBNICATE t",
        "",
        "/* {m} only a comment */",
        "SELECT 1; SELECT 2",
        "{m}",
        "(INSERT INTO w VALUES (1))",
        "SHUTDOWN_NOT",
    ]);
}

#[test]
fn spread_reads_use_every_replica_by_weight() {
    needs!(the_proxy);
    let cluster = cluster();
    let mut config = ProxyConfig::new(cluster);
    config.servers[0].2 = "weight = 1".into();
    config.servers[1].2 = "weight = 1".into();
    config.servers[2].2 = "weight = 2".into();
    let proxy = config.start();
    proxy.wait_for_readers(&[1, 2, 3]);
    let mut client = proxy.client();
    let mut counts = [0usize; 4];
    for id in proxy.readers(&mut client, 800) {
        counts[id as usize] += 1;
    }
    // A quarter, a quarter, a half; far wider than chance allows.
    assert!((120..=280).contains(&counts[1]), "{counts:?}");
    assert!((120..=280).contains(&counts[2]), "{counts:?}");
    assert!((320..=480).contains(&counts[3]), "{counts:?}");
}

#[test]
fn with_splitting_off_everything_goes_to_the_primary() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(cluster());
    config.split = false;
    let proxy = config.start();
    let mut client = proxy.client();
    for sql in [
        "SELECT 1",
        "SHOW TABLES",
        "START TRANSACTION READ ONLY",
        "SELECT 2",
    ] {
        assert_eq!(route(&mut client, sql), [1], "{sql}");
    }
}

#[test]
fn t03_autocommit_off_sends_everything_to_one_primary_connection() {
    needs!(the_proxy);
    let cluster = cluster();
    for off in [
        "SET autocommit=0",
        "SET AUTOCOMMIT = OFF",
        "set @@autocommit = false",
        "SET SESSION autocommit = 0",
        "SET @@session.autocommit=0;",
        "SET sql_mode = '', autocommit = 0",
        "SET LOCAL autocommit = (SELECT 0)",
    ] {
        let mut client = Proxy::shared().client();
        client.query_drop(off).expect(off);
        let word = marker();
        for sql in [
            "SELECT a FROM t",
            "INSERT INTO w VALUES (1)",
            "SELECT a FROM w",
        ] {
            client.query_drop(format!("{sql} /* {word} */")).expect(sql);
        }
        let entries = cluster.entries_of(cluster.primary(), &word);
        assert_eq!(cluster.where_did_it_go(&word), [1, 1, 1], "{off}");
        assert!(
            entries.iter().all(|e| e.thread == entries[0].thread),
            "{off}"
        );
        client.query_drop("ROLLBACK").expect("ROLLBACK");
        client.query_drop("SET autocommit = 1").expect("SET");
        let went = route(&mut client, "SELECT a FROM t");
        assert_ne!(went, [1], "reads are free again after {off}");
    }
}

#[test]
fn t05_t37_reads_in_a_transaction_stay_and_are_free_after_it() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    cluster();
    for (begin, end) in [
        ("BEGIN", "COMMIT"),
        ("START TRANSACTION", "ROLLBACK"),
        ("BEGIN", "COMMIT RELEASE_NOT"),
        (
            "BEGIN",
            "CREATE TABLE IF NOT EXISTS implicit_commit (a INT)",
        ),
        ("BEGIN", "SET autocommit = 1"),
    ] {
        let mut client = proxy.client();
        client.query_drop(begin).expect(begin);
        client
            .query_drop("INSERT INTO w VALUES (42)")
            .expect("INSERT");
        assert_eq!(route(&mut client, "SELECT a FROM w WHERE a = 42"), [1]);
        assert_eq!(route(&mut client, "SELECT 1"), [1]);
        if client.query_drop(end).is_err() {
            assert_eq!(
                route(&mut client, "SELECT 1"),
                [1],
                "still in the transaction"
            );
            client.query_drop("COMMIT AND NO CHAIN").expect("COMMIT");
        }
        // SET autocommit = 1 over autocommit = 1 commits nothing.
        if end.starts_with("SET") {
            assert_eq!(route(&mut client, "SELECT 1"), [1], "{end}");
            client.query_drop("COMMIT").expect("COMMIT");
        }
        assert_ne!(route(&mut client, "SELECT 1"), [1], "after {begin} … {end}");
    }
}

#[test]
fn commit_and_chain_keeps_the_connection() {
    needs!(the_proxy);
    cluster();
    let mut client = Proxy::shared().client();
    client.query_drop("BEGIN").expect("BEGIN");
    client
        .query_drop("INSERT INTO w VALUES (50)")
        .expect("INSERT");
    client.query_drop("COMMIT AND CHAIN").expect("COMMIT");
    assert_eq!(route(&mut client, "SELECT 1"), [1]);
    client.query_drop("ROLLBACK").expect("ROLLBACK");
    assert_ne!(route(&mut client, "SELECT 1"), [1]);
}

#[test]
fn read_only_transactions_go_to_a_replica_as_a_whole() {
    needs!(the_proxy);
    let cluster = cluster();
    for begin in [
        "START TRANSACTION READ ONLY",
        "start  transaction\nread /* c */ only;",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ] {
        let mut client = Proxy::shared().client();
        let word = marker();
        client.query_drop(begin).expect(begin);
        for _ in 0..4 {
            client
                .query_drop(format!("SELECT a FROM t /* {word} */"))
                .expect("SELECT");
        }
        let error = client
            .query_drop("INSERT INTO w VALUES (1)")
            .expect_err("read only");
        // The replica's own read_only may speak before the transaction's.
        let refused = [1792, 1290].contains(&common::code(&error));
        assert!(refused, "{begin}: {error}");
        client.query_drop("COMMIT").expect("COMMIT");
        let went = cluster.where_did_it_go(&word);
        assert_eq!(went.len(), 4);
        assert!(
            went[0] != 1 && went.iter().all(|id| *id == went[0]),
            "{begin}: {went:?}"
        );
        client
            .query_drop("INSERT INTO w VALUES (1)")
            .expect("writes again (T13)");
    }
}

#[test]
fn t06_the_route_of_a_prepared_statement_is_decided_at_execute() {
    needs!(the_proxy);
    let cluster = cluster();
    let mut client = Proxy::shared().client();
    let word = marker();
    let read = client
        .prep(format!("SELECT a FROM w WHERE a = ? /* {word} */"))
        .expect("prepares");
    let write = client.prep("INSERT INTO w VALUES (?)").expect("prepares");
    let run = |client: &mut Conn| client.exec_drop(&read, (60,)).expect("executes");
    let executed_on = || -> Vec<u32> {
        let servers = cluster.servers.iter();
        servers
            .flat_map(|s| {
                let entries = cluster.entries_of(s, &word).into_iter();
                entries.filter(|e| e.command == "Execute").map(|_| s.id)
            })
            .collect()
    };
    run(&mut client);
    assert_ne!(executed_on(), [1], "outside: a replica");
    client.query_drop("BEGIN").expect("BEGIN");
    client.exec_drop(&write, (60,)).expect("executes");
    let found: Option<u32> = client.exec_first(&read, (60,)).expect("executes");
    assert_eq!(found, Some(60), "sees the transaction's own row");
    assert_eq!(executed_on().iter().filter(|id| **id == 1).count(), 1);
    client.query_drop("ROLLBACK").expect("ROLLBACK");
    let found: Option<u32> = client.exec_first(&read, (60,)).expect("executes");
    assert_eq!(found, None);
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.w WHERE a = 60"),
        "0"
    );
    assert_eq!(executed_on().iter().filter(|id| **id != 1).count(), 2);
}

#[test]
fn t16_xa_transactions_hold_one_primary_connection() {
    needs!(the_proxy);
    let cluster = cluster();
    let mut client = Proxy::shared().client();
    let word = marker();
    for sql in [
        "XA START 'umpire'",
        "INSERT INTO w VALUES (70)",
        "SELECT a FROM w WHERE a = 70",
        "XA END 'umpire'",
        "XA PREPARE 'umpire'",
        "XA COMMIT 'umpire'",
    ] {
        client.query_drop(format!("{sql} /* {word} */")).expect(sql);
    }
    let entries = cluster.entries_of(cluster.primary(), &word);
    assert_eq!(cluster.where_did_it_go(&word), [1; 6]);
    assert!(entries.iter().all(|e| e.thread == entries[0].thread));
    assert_ne!(route(&mut client, "SELECT 1"), [1], "free after XA COMMIT");
    for sql in ["XA START 'u2'", "INSERT INTO w VALUES (71)", "XA END 'u2'"] {
        client.query_drop(sql).expect(sql);
    }
    assert_eq!(route(&mut client, "SELECT 1"), [1], "pinned after XA END");
    client.query_drop("XA ROLLBACK 'u2'").expect("XA ROLLBACK");
}

#[test]
fn t17_the_greeting_tells_the_servers_own_version() {
    let cluster = cluster();
    let here = RawClient::open(Proxy::shared().port)
        .expect("a greeting")
        .hello;
    let there = RawClient::open(cluster.primary().port)
        .expect("a greeting")
        .hello;
    assert_eq!(here.version, there.version);
    let mut client = Proxy::shared().client();
    assert_eq!(
        scalar(&mut client, "select @@session.tx_read_only"),
        scalar(&mut cluster.direct(), "select @@session.tx_read_only")
    );
}

#[test]
fn a_function_that_writes_is_run_once_on_the_primary_and_remembered() {
    needs!(the_proxy);
    let cluster = cluster();
    let mut client = Proxy::shared().client();
    let calls = |x: u32| {
        cluster
            .primary()
            .ask(&format!("SELECT COUNT(*) FROM app.calls WHERE a = {x}"))
    };
    // One shape of statement: only numbers and the marker's comment differ.
    let word = marker();
    assert_eq!(
        scalar(
            &mut client,
            &format!("SELECT writes(1001) AS x /* {word} */")
        ),
        "1001"
    );
    assert_eq!(calls(1001), "1", "ran exactly once");
    let went = cluster.where_did_it_go(&word);
    assert_eq!(went.iter().filter(|id| **id == 1).count(), 1);
    let word = marker();
    let again = format!("SELECT writes(1002) AS x /* {word} */");
    assert_eq!(scalar(&mut client, &again), "1002");
    assert_eq!(calls(1002), "1");
    assert_eq!(
        cluster.where_did_it_go(&word),
        [1],
        "the second call goes straight there"
    );
    // On every worker, for every client, soon: a message between workers takes no time to speak of.
    common::wait_until("every client's call goes straight to the primary", || {
        let word = marker();
        let mut other = Proxy::shared().client();
        scalar(
            &mut other,
            &format!("SELECT writes(1003) AS x /* {word} */"),
        );
        cluster.where_did_it_go(&word) == [1]
    });
}

#[test]
fn a_view_over_a_writing_function_heals_too_in_both_protocols() {
    needs!(the_proxy);
    let cluster = cluster();
    let count = || {
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.calls WHERE a = 77")
    };
    let before: u32 = count().parse().expect("a number");
    let mut client = Proxy::shared().client();
    assert_eq!(scalar(&mut client, "SELECT n FROM writing_view"), "77");
    assert_eq!(scalar(&mut client, "SELECT n FROM writing_view"), "77");
    let statement = client
        .prep("SELECT n + ? FROM writing_view")
        .expect("prepares");
    for _ in 0..2 {
        let n: Option<i64> = client.exec_first(&statement, (1,)).expect("executes");
        assert_eq!(n, Some(78));
    }
    assert_eq!(count(), (before + 4).to_string(), "each ran exactly once");
    cluster.sync();
    for replica in cluster.replicas() {
        let there = replica.ask("SELECT COUNT(*) FROM app.calls WHERE a = 77");
        assert_eq!(
            there,
            (before + 4).to_string(),
            "nothing was written on a replica itself"
        );
    }
}

#[test]
fn procedures_run_on_the_primary_with_all_their_results() {
    let cluster = cluster();
    let mut client = Proxy::shared().client();
    for n in [2001, 2002] {
        let word = marker();
        let call = format!("CALL write_it({n}) /* {word} */");
        assert_eq!(scalar(&mut client, &call), n.to_string());
        assert_eq!(cluster.where_did_it_go(&word), [1]);
        let count = format!("SELECT COUNT(*) FROM app.calls WHERE a = {n}");
        assert_eq!(cluster.primary().ask(&count), "1");
    }
}

#[test]
fn several_statements_in_one_command_all_run_on_the_primary_in_order() {
    use umpire::wire::capabilities::MULTI_STATEMENTS;
    let cluster = cluster();
    let login = Login::default().with(MULTI_STATEMENTS);
    let mut client = RawClient::login(Proxy::shared().port, &login).expect("login");
    let word = marker();
    let reply = client
        .query(&format!(
            "SELECT 1 /* {word} */; INSERT INTO w VALUES (80); SELECT a /* {word} */ FROM w WHERE a = 80"
        ))
        .expect("connected");
    assert_eq!(reply.error, None);
    assert_eq!(reply.sets.len(), 3);
    assert_eq!(
        reply.values(),
        [[Some("1".to_string())], [Some("80".to_string())]]
    );
    let went = cluster.where_did_it_go(&word);
    assert!(went.iter().all(|id| *id == 1), "{went:?}");
    let mut without = RawClient::connect(Proxy::shared().port);
    assert_eq!(
        without
            .query("SELECT 1; SELECT 2")
            .expect("connected")
            .code(),
        1064
    );
    assert_eq!(without.query("SELECT 1;").expect("connected").code(), 0);
}

/// One read with what bounds its distance from a write: the write ended between `sent` and
/// `answered`, the read was routed between its own start and end.
struct Read {
    id: u32,
    /// The read was certainly routed no later than this after the write's end.
    at_most: Duration,
    /// … and no earlier than this.
    at_least: Duration,
}

fn reads_after_a_write(proxy: &Proxy, clients: &mut [Conn], until: Duration) -> Vec<Read> {
    let _ = proxy;
    let sent = Instant::now();
    clients[0]
        .query_drop("INSERT INTO w VALUES (90)")
        .expect("INSERT");
    let answered = Instant::now();
    let mut reads = Vec::new();
    while answered.elapsed() < until {
        for client in clients.iter_mut() {
            let start = Instant::now();
            let id: u32 = client
                .query_first("SELECT @@server_id")
                .expect("reads")
                .expect("a row");
            reads.push(Read {
                id,
                at_most: sent.elapsed(),
                at_least: start.duration_since(answered),
            });
        }
    }
    reads
}

#[test]
fn reads_of_a_user_follow_his_writes_for_300_ms_on_all_his_connections() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(cluster()).timer(300).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut clients: Vec<Conn> = (0..8).map(|_| proxy.client()).collect();
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..5 {
        for read in reads_after_a_write(&proxy, &mut clients, Duration::from_millis(450)) {
            if read.at_most < Duration::from_millis(299) {
                inside += 1;
                assert_eq!(read.id, 1, "after {:?}", read.at_most);
            }
            if read.at_least > Duration::from_millis(301) {
                outside += 1;
                assert_ne!(read.id, 1, "after {:?}", read.at_least);
            }
        }
    }
    assert!(
        inside > 50 && outside > 50,
        "{inside} inside, {outside} outside"
    );
}

#[test]
fn the_window_is_per_user_and_restarts_with_each_write() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(cluster()).timer(1000).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut writer = proxy.client();
    let mut same = proxy.client();
    let mut other = proxy.client_as("app2", "app2pw");
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1500) {
        let sent = Instant::now();
        writer
            .query_drop("INSERT INTO w VALUES (91)")
            .expect("INSERT");
        let id = scalar(&mut same, "SELECT @@server_id");
        let bystander = scalar(&mut other, "SELECT @@server_id");
        if sent.elapsed() < Duration::from_millis(999) {
            assert_eq!(id, "1");
        }
        assert_ne!(bystander, "1", "another user's reads stay free");
    }
}

#[test]
fn what_ends_a_transaction_that_was_not_open_is_no_write() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(cluster()).timer(600_000).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    for sql in [
        "SET autocommit = 1",
        "SET autocommit = 0, time_zone = '+01:00'",
        "COMMIT",
        "SET autocommit = 1",
        "ROLLBACK",
    ] {
        client.query_drop(sql).expect(sql);
    }
    assert_ne!(scalar(&mut client, "SELECT @@server_id"), "1");
    for sql in [
        "SET autocommit = 0",
        "INSERT INTO w VALUES (95)",
        "SET autocommit = 1",
    ] {
        client.query_drop(sql).expect(sql);
    }
    assert_eq!(scalar(&mut client, "SELECT @@server_id"), "1");
}

#[test]
fn the_end_of_a_transaction_and_a_failed_write_count_as_writes() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(cluster()).timer(2000).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut reader = proxy.client();
    for script in [
        &["BEGIN", "INSERT INTO w VALUES (92)", "COMMIT"][..],
        &["CALL write_it(93)"],
        &["SELECT writes(94)"],
        &["SELECT NEXTVAL(seq)"],
        &["BEGIN NOT ATOMIC INSERT INTO w VALUES (95); SIGNAL SQLSTATE '45000'; END"],
    ] {
        proxy.wait_for_readers(&[2]);
        let mut writer = proxy.client();
        for sql in script.iter() {
            writer.query_drop(sql).ok();
        }
        let answered = Instant::now();
        let id = scalar(&mut reader, "SELECT @@server_id");
        if answered.elapsed() < Duration::from_millis(1500) {
            assert_eq!(id, "1", "right after {script:?}");
        }
    }
}
