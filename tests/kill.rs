//! KILL by the ids that clients see, whichever worker and server connection the victim is on.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{
    code, needs, rows, scalar, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient,
};
use mysql::prelude::Queryable;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PROCESS_KILL: u8 = 0x0c;

fn proxy() -> Proxy {
    let proxy = ProxyConfig::new(Cluster::shared()).start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

/// A client whose statement sleeps; its outcome and the client come back.
fn sleeper(proxy: &Proxy) -> (u32, JoinHandle<(mysql::Result<()>, mysql::Conn)>) {
    let mut client = proxy.client();
    let id = client.connection_id();
    let running = std::thread::spawn(move || {
        let outcome = client.query_drop("SELECT SLEEP(50)");
        (outcome, client)
    });
    wait_until("the statement runs", || is_running(proxy, id));
    (id, running)
}

fn is_running(proxy: &Proxy, id: u32) -> bool {
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    sessions
        .iter()
        .any(|row| row[0] == id.to_string() && row.iter().any(|value| value == "running"))
}

/// What SELECT SLEEP tells when it was interrupted: an error, or on some servers the value 1.
fn was_cut_short(started: Instant) -> bool {
    started.elapsed() < Duration::from_secs(40)
}

#[test]
fn kill_query_ends_the_statement_and_leaves_the_client() {
    needs!(the_proxy);
    let proxy = proxy();
    // so many that every worker has some
    for _ in 0..4 {
        let started = Instant::now();
        let (id, running) = sleeper(&proxy);
        proxy
            .client()
            .query_drop(format!("KILL QUERY {id}"))
            .expect("killed");
        let (_, mut victim) = running.join().expect("no panic");
        assert!(was_cut_short(started));
        assert_eq!(scalar(&mut victim, "SELECT 'alive'"), "alive");
        assert_eq!(victim.connection_id(), id);
    }
}

#[test]
fn kill_closes_the_clients_connection() {
    needs!(the_proxy);
    let proxy = proxy();
    for _ in 0..4 {
        let started = Instant::now();
        let (id, running) = sleeper(&proxy);
        proxy
            .client()
            .query_drop(format!("KILL {id}"))
            .expect("killed");
        let (outcome, mut victim) = running.join().expect("no panic");
        assert!(was_cut_short(started));
        assert!(outcome.is_err());
        assert!(victim.query_drop("SELECT 1").is_err());
    }
    assert!(proxy.is_alive());
}

#[test]
fn an_idle_client_in_a_transaction_is_closed_and_rolled_back() {
    needs!(the_proxy);
    let proxy = proxy();
    Cluster::shared().prepare(&["CREATE TABLE IF NOT EXISTS killed (a INT)"]);
    let mut victim = proxy.client();
    victim.query_drop("BEGIN").expect("BEGIN");
    victim
        .query_drop("INSERT INTO killed VALUES (1)")
        .expect("INSERT");
    let mut raw = RawClient::connect(proxy.port);
    let id = victim.connection_id().to_le_bytes();
    assert_eq!(raw.command(PROCESS_KILL, &id).expect("reply").error, None);
    assert!(victim.query_drop("COMMIT").is_err());
    assert_eq!(
        Cluster::shared()
            .primary()
            .ask("SELECT COUNT(*) FROM app.killed"),
        "0"
    );
}

#[test]
fn nobody_kills_another_user_or_what_is_not_there() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    let proxy = ProxyConfig::new(cluster).start();
    let mut client = proxy.client();
    let error = client.query_drop("KILL 4000000000").expect_err("unknown");
    assert_eq!(code(&error), 1094);
    let error = client
        .query_drop("KILL QUERY 4000000000")
        .expect_err("unknown");
    assert_eq!(code(&error), 1094);
    // a client that is still logging in is nobody's to kill
    let silent = RawClient::open(proxy.port).expect("a greeting");
    let error = client
        .query_drop(format!("KILL {}", silent.hello.connection_id))
        .expect_err("not his");
    assert_eq!(code(&error), 1095);
    assert_eq!(scalar(&mut client, "SELECT 1"), "1");
}

#[test]
fn a_client_may_kill_its_own_statement_or_itself() {
    needs!(the_proxy);
    let proxy = proxy();
    let mut client = RawClient::login(proxy.port, &Login::default()).expect("login");
    let id = client.hello.connection_id;
    let reply = client.query(&format!("KILL QUERY {id}")).expect("reply");
    assert_eq!(reply.error.map(|e| e.code), Some(1317));
    assert_eq!(client.query("SELECT 1").expect("reply").error, None);
    let reply = client.query(&format!("KILL {id}")).expect("reply");
    // MariaDB: the connection was killed; MySQL: the statement was interrupted
    assert_eq!(reply.error.map(|e| e.code), Some(1927));
    assert!(client.closed_within(Duration::from_secs(10)));
}

#[test]
fn the_clients_own_wait_timeout_closes_it() {
    needs!(the_proxy);
    let proxy = proxy();
    let mut client = RawClient::login(proxy.port, &Login::default()).expect("login");
    let set = client.query("SET SESSION wait_timeout = 1").expect("reply");
    assert_eq!(set.error, None);
    let shown = client.query("SELECT @@wait_timeout").expect("reply");
    assert_eq!(shown.value().as_deref(), Some("1"));
    assert!(client.closed_within(Duration::from_secs(10)));
    // a reset takes it back
    let mut client = RawClient::login(proxy.port, &Login::default()).expect("login");
    client.query("SET SESSION wait_timeout = 1").expect("reply");
    assert_eq!(client.command(0x1f, b"").expect("reply").error, None);
    common::pause(Duration::from_secs(2));
    assert_eq!(client.query("SELECT 1").expect("still there").error, None);
}

#[test]
fn a_client_that_ends_its_direction_gets_the_answer_and_one_that_is_gone_is_noticed() {
    needs!(the_proxy);
    let proxy = proxy();
    for sql in ["SELECT 'still'", "SELECT 'still', SLEEP(1)"] {
        let mut client = RawClient::login(proxy.port, &Login::default()).expect("login");
        client.send_command(0x03, sql.as_bytes()).expect("sends");
        client.shut_down_writing();
        let reply = client.read_reply(0x03).expect("the answer");
        assert_eq!(reply.value().as_deref(), Some("still"));
        assert!(client.closed_within(common::PATIENCE));
    }
    let mut client = RawClient::login(proxy.port, &Login::default()).expect("login");
    client
        .send_command(0x03, b"SELECT 'for nobody', SLEEP(500)")
        .expect("sends");
    let id = client.hello.connection_id;
    wait_until("the statement runs", || is_running(&proxy, id));
    drop(client);
    wait_until("the session is gone", || !is_running(&proxy, id));
}

/// A proxy with one more user, which has this right on the servers.
fn with_right(user: &str, right: &str) -> (Proxy, mysql::Conn) {
    let cluster = Cluster::shared();
    cluster.primary().run(&[
        &format!("CREATE OR REPLACE USER {user}@'%' IDENTIFIED BY 'pw'"),
        &format!("GRANT SELECT ON app.* TO {user}@'%'"),
        &format!("GRANT {right} ON *.* TO {user}@'%'"),
    ]);
    cluster.sync();
    let mut config = ProxyConfig::new(cluster);
    config.more = format!("[[user]]\nname = \"{user}\"\npassword = \"pw\"\ngroup = \"main\"\n");
    let proxy = config.start();
    let client = proxy.client_as(user, "pw");
    (proxy, client)
}

#[test]
fn who_may_on_the_servers_kills_other_users_too() {
    needs!(the_proxy);
    let (proxy, mut admin) = with_right("killer", "CONNECTION ADMIN");
    let started = Instant::now();
    let (id, running) = sleeper(&proxy);
    admin
        .query_drop(format!("KILL QUERY {id}"))
        .expect("killed");
    let (_, mut victim) = running.join().expect("no panic");
    assert!(was_cut_short(started));
    assert_eq!(scalar(&mut victim, "SELECT 'alive'"), "alive");
    admin.query_drop("KILL USER app").expect("killed");
    assert!(admin.affected_rows() >= 1);
    assert!(victim.query_drop("SELECT 1").is_err());
    let (proxy, mut nobody) = with_right("bystander", "PROCESS");
    let mut victim = proxy.client();
    let error = nobody
        .query_drop(format!("KILL {}", victim.connection_id()))
        .expect_err("not his");
    assert_eq!(code(&error), 1095);
    nobody
        .query_drop("KILL USER app")
        .expect("nobody is killed");
    assert_eq!(nobody.affected_rows(), 0);
    assert_eq!(scalar(&mut victim, "SELECT 'alive'"), "alive");
}

#[test]
fn an_id_may_be_computed() {
    needs!(the_proxy);
    let proxy = proxy();
    let (id, running) = sleeper(&proxy);
    let mut client = proxy.client();
    client
        .query_drop(format!("SET @victim = {id} - 1"))
        .expect("SET");
    client.query_drop("KILL QUERY @victim + 1").expect("killed");
    running.join().expect("no panic").0.ok();
    for (sql, expected) in [
        ("KILL 'x'", 1094),
        ("KILL NULL", 1094),
        ("KILL (SELECT no_such_column)", 1054),
        ("KILL QUERY CONNECTION_ID()", 1317),
        ("KILL 5; SELECT 1", 1105),
        ("KILL CONNECTION_ID()", 1927),
    ] {
        let error = client.query_drop(sql).expect_err(sql);
        assert_eq!(code(&error), expected, "{sql}: {error}");
    }
    assert!(client.query_drop("SELECT 1").is_err());
}

#[test]
fn an_id_of_the_servers_process_list_is_its_session() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    config.split = false;
    let proxy = config.start();
    let started = Instant::now();
    let mut victim = proxy.client();
    let running = std::thread::spawn(move || {
        let outcome = victim.query_drop("SELECT SLEEP(50), 'of the process list'");
        (outcome, victim)
    });
    let mut client = proxy.client();
    let listed = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%of the process list%' AND ID != CONNECTION_ID()";
    wait_until("it is listed", || !rows(&mut client, listed).is_empty());
    let thread = scalar(&mut client, listed);
    client
        .query_drop(format!("KILL QUERY {thread}"))
        .expect("killed");
    let (_, mut victim) = running.join().expect("no panic");
    assert!(was_cut_short(started));
    assert_eq!(scalar(&mut victim, "SELECT 'alive'"), "alive");
    // and what no client of this proxy uses is the server's to end
    let mut direct = Cluster::shared().direct();
    client
        .query_drop(format!("KILL {}", direct.connection_id()))
        .expect("killed");
    assert!(direct.query_drop("SELECT 1").is_err());
}

#[test]
fn a_clients_id_finds_its_statement_among_the_servers_connections() {
    needs!(the_proxy);
    let proxy = proxy();
    let started = Instant::now();
    let mut victim = proxy.client();
    let id = victim.connection_id();
    let running = std::thread::spawn(move || {
        // an error, or the value 1
        let _ = victim.query_drop("SELECT /* umpire:primary */ SLEEP(50)");
        victim
    });
    let mut other = proxy.client();
    other
        .query_drop(format!("SET @victim = {id}"))
        .expect("SET");
    let count = |client: &mut mysql::Conn, what: &str| {
        let list = "FROM information_schema.processlist WHERE";
        let sleeps = "info LIKE 'SELECT /* umpire:primary */ SLEEP%'";
        scalar(
            client,
            &format!("SELECT COUNT(*) {list} id = {what} AND {sleeps}"),
        )
    };
    for what in [id.to_string(), "@victim".to_string()] {
        wait_until("it is listed", || count(&mut other, &what) == "1");
    }
    let own = other.connection_id();
    let me = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id IN ({own}, 0)");
    assert_eq!(scalar(&mut other, &me), "1");
    // an idle client's last server connection is its own until somebody else gets it
    let mut idle = proxy.client_as("app2", "app2pw");
    idle.query_drop("SELECT /* umpire:primary */ 1")
        .expect("a row");
    let asleep = format!(
        "SELECT user FROM information_schema.processlist WHERE id = {}",
        idle.connection_id()
    );
    wait_until("the idle client is listed", || {
        rows(&mut other, &asleep) == [["app2"]]
    });
    // columns keep their names, and numbers elsewhere their values
    let sql = format!("SELECT {id} FROM information_schema.processlist LIMIT 1");
    assert_eq!(scalar(&mut other, &sql), id.to_string());
    other.query_drop(format!("KILL {id}")).expect("killed");
    running.join().expect("no panic");
    assert!(was_cut_short(started));
    assert_eq!(count(&mut other, &id.to_string()), "0");
}
