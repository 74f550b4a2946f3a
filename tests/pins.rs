//! What holds a session's server connection ends with its reason, and not before.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::{needs, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient};
use umpire::wire::capabilities as cap;

/// A statement, and whether the session holds its connection afterwards.
type Step = (&'static str, bool);

/// Of SHOW SESSIONS.
const PINS: usize = 8;

fn pins(proxy: &Proxy, id: u32) -> String {
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    let own = sessions.iter().find(|row| row[0] == id.to_string());
    own.expect("the session is shown")[PINS].clone()
}

fn follow(proxy: &Proxy, steps: &[Step]) {
    let login = Login::default().with(cap::MULTI_STATEMENTS);
    let mut client = RawClient::login(proxy.port, &login).expect("app can log in");
    let id = client.hello.connection_id;
    for (sql, held) in steps {
        let reply = client.query(sql).expect("connected");
        let refused = reply.error.as_ref().map(|e| e.message.clone());
        assert_eq!(refused, None, "{sql}");
        let after = pins(proxy, id);
        assert_eq!(!after.is_empty(), *held, "{sql}: pinned by {after:?}");
    }
}

const BY_NAME: &[&[Step]] = &[
    &[
        ("CREATE TEMPORARY TABLE one (a INT)", true),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS app.two (a INT)", true),
        ("DROP TABLE one", true),
        ("INSERT INTO two VALUES (1)", true),
        ("DROP TEMPORARY TABLE IF EXISTS two", false),
    ],
    &[
        ("CREATE TEMPORARY TABLE one (a INT)", true),
        ("CREATE TEMPORARY TABLE two (a INT)", true),
        ("DROP TABLE one, app.two", false),
    ],
    &[
        ("CREATE TEMPORARY TABLE one (a INT)", true),
        ("ALTER TABLE one RENAME TO two", true),
        ("DROP TABLE IF EXISTS one", true),
        ("DROP TABLE two", true),
    ],
    &[
        ("SELECT GET_LOCK('pin a', 1)", true),
        ("SELECT GET_LOCK('pin b', 1)", true),
        ("DO RELEASE_LOCK('pin a')", true),
        ("SELECT RELEASE_LOCK('pin b') AS released", false),
    ],
    &[
        ("SELECT GET_LOCK('pin c', 1)", true),
        ("SELECT GET_LOCK('pin c', 1)", true),
        ("SELECT RELEASE_LOCK('pin c')", true),
        ("SELECT RELEASE_LOCK('pin c')", false),
    ],
    &[
        ("SELECT GET_LOCK(CONCAT('pin ', 'd'), 1)", true),
        ("SELECT RELEASE_LOCK('pin d')", true),
        ("DO RELEASE_ALL_LOCKS()", false),
    ],
    &[
        ("SELECT GET_LOCK('pin e', 1); SELECT 1", true),
        ("SELECT RELEASE_LOCK('pin e')", true),
    ],
    &[
        ("PREPARE a FROM 'SELECT ?'", true),
        ("SET @x = 1", true),
        ("EXECUTE a USING @x", true),
        ("PREPARE b FROM 'SELECT 2'", true),
        ("DEALLOCATE PREPARE a", true),
        ("DROP PREPARE B", false),
    ],
    &[
        ("PREPARE a FROM 'SELECT GET_LOCK(''pin f'', 1)'", true),
        ("EXECUTE a", true),
        ("DEALLOCATE PREPARE a", true),
        ("DO RELEASE_ALL_LOCKS()", false),
    ],
    &[
        ("HANDLER handled OPEN", true),
        ("HANDLER handled OPEN AS second", true),
        ("HANDLER handled CLOSE", true),
        ("HANDLER second READ FIRST", true),
        ("HANDLER second CLOSE", false),
    ],
    &[("LOCK TABLES handled READ", true), ("UNLOCK TABLES", false)],
    &[
        ("LOCK TABLES handled READ", true),
        ("START TRANSACTION", true),
        ("COMMIT", false),
    ],
    &[
        ("FLUSH TABLES handled WITH READ LOCK", true),
        ("UNLOCK TABLES", false),
    ],
    &[
        ("XA START 'pin'", true),
        ("XA END 'pin'", true),
        ("XA ROLLBACK 'pin'", false),
    ],
];

fn follow_all(proxy: &Proxy) {
    for steps in BY_NAME {
        follow(proxy, steps);
    }
}

#[test]
fn a_pin_ends_with_the_last_thing_of_its_kind() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE TABLE handled (a INT)"]);
    follow_all(Proxy::shared());
}

#[test]
fn a_pin_ends_with_the_last_thing_of_its_kind_on_mysql() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    pair.run(
        0,
        &[
            "CREATE TABLE app.handled (a INT)",
            "GRANT ALL ON *.* TO app",
        ],
    );
    pair.sync();
    let ports = vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")];
    let proxy = ProxyConfig::for_ports(ports).start();
    proxy.wait_for_readers(&[2]);
    follow_all(&proxy);
    // which is not reported, and not read so far behind
    let large = format!("SELECT LENGTH('{}'), @a := 77", "x".repeat(400_000));
    let mut client = RawClient::connect(proxy.port);
    assert_eq!(client.query(&large).expect("connected").error, None);
    assert!(!pins(&proxy, client.hello.connection_id).is_empty());
    let kept = client.query("SELECT @a").expect("connected");
    assert_eq!(kept.value().as_deref(), Some("77"));
}

#[test]
fn a_large_statement_holds_its_connection_only_for_what_it_did() {
    needs!(the_proxy);
    Cluster::shared().prepare(&["CREATE TABLE large (a LONGTEXT)"]);
    let proxy = Proxy::shared();
    let filler = "x".repeat(400_000);
    let insert = format!("INSERT INTO large VALUES ('{filler}')");
    let select = format!("SELECT LENGTH('{filler}')");
    for (sql, held) in [
        (insert.clone(), false),
        (format!("{insert};"), false),
        (select.clone(), false),
        (format!("{select}, GET_LOCK('large', 1)"), true),
        (format!("{select}, GeT_LoCk('large', 1)"), true),
        (format!("{select}; SET @a = 1"), true),
        (format!("{select}, @a := 1"), true),
        (format!("{select} INTO @a"), true),
    ] {
        let login = Login::default().with(cap::MULTI_STATEMENTS);
        let mut client = RawClient::login(proxy.port, &login).expect("app can log in");
        let reply = client.query(&sql).expect("connected");
        assert!(reply.error.is_none());
        let end = &sql[sql.len() - 30..];
        let after = pins(proxy, client.hello.connection_id);
        assert_eq!(!after.is_empty(), held, "…{end}: pinned by {after:?}");
    }
    let mut root = Cluster::shared().primary().root();
    wait_until("the lock went with its session", || {
        common::scalar(&mut root, "SELECT IS_FREE_LOCK('large')") == "1"
    });
}

#[test]
fn a_report_that_comes_late_does_not_stand_for_what_a_statement_did_unseen() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(
        &["CREATE FUNCTION sets_two() RETURNS INT NOT DETERMINISTIC \
         BEGIN SET @a = 77; SET SESSION group_concat_max_len = 55; RETURN 1; END"],
    );
    let mut config = ProxyConfig::new(cluster).proxy("workers = [0]");
    config.split = false;
    config.servers[0].2 = "max_connections = 1".into();
    let proxy = config.start();
    let large = format!("SELECT LENGTH('{}'), @a := 77", "x".repeat(400_000));
    for sql in [large.as_str(), "SELECT sets_two()"] {
        let login = Login::default().with(cap::DEPRECATE_EOF | cap::SESSION_TRACK);
        let mut client = RawClient::login(proxy.port, &login).expect("app can log in");
        let mut run = |sql: &str| client.query(sql).expect("connected");
        run("USE information_schema");
        // an EXECUTE that fails in another schema leaves MariaDB a report for later
        let failing = client.prepare("SELECT (SELECT 1 UNION SELECT 2), DATABASE()");
        client.query("USE app").expect("connected");
        let mut body = failing.id.to_le_bytes().to_vec();
        body.extend([0, 1, 0, 0, 0]);
        let reply = client.command(0x17, &body).expect("connected");
        assert_eq!(reply.code(), 1242);
        let reply = client.query(sql).expect("connected");
        assert_eq!(reply.error, None);
        let end = &sql[sql.len() - 10..];
        let after = pins(&proxy, client.hello.connection_id);
        assert_ne!(after, "", "…{end}");
        let kept = client.query("SELECT @a").expect("connected").value();
        assert_eq!(kept.as_deref(), Some("77"), "…{end}");
    }
}

/// Texts that take a lock only for who knows the mode in which the server reads them.
const READ_BY_MODE: [(&str, &str); 2] = [
    (
        "ANSI_QUOTES",
        r#"SELECT 1 AS "a\", GET_LOCK('by mode', 0) AS "b""#,
    ),
    (
        "NO_BACKSLASH_ESCAPES",
        r"SELECT 'a\', GET_LOCK('by mode', 0) AS `'`",
    ),
];

#[test]
fn text_is_read_as_the_servers_global_sql_mode_says_from_a_sessions_first_statement_on() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    for (mode, sql) in READ_BY_MODE {
        for server in &cluster.servers {
            server.run(&[&format!("SET GLOBAL sql_mode = '{mode}'")]);
        }
        wait_until("new sessions are read by the new mode", || {
            let mut client = RawClient::connect(proxy.port);
            let reply = client.query(sql).expect("connected");
            reply.error.is_none() && !pins(&proxy, client.hello.connection_id).is_empty()
        });
        wait_until("new sessions have the new mode on every server", || {
            let mut client = RawClient::connect(proxy.port);
            let asked = client.query("SELECT @@sql_mode").expect("connected");
            asked.value().as_deref() == Some(mode)
        });
    }
}
