//! The admin port and the HTTP pages, by the `mysql` driver and by raw bytes, over made-up servers
//! and workers.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use mysql::prelude::Queryable;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use umpire::admin::{serve, Listeners};
use umpire::config::{self, Config};
use umpire::control::{Handle, View};
use umpire::net::Wake;
use umpire::observe::{PoolInfo, SessionInfo, WorkerStats};
use umpire::topology::{Health, Learnt, ServerIds, Snapshot, Target};
use umpire::wire::packet::{frame, Assembler};
use umpire::wire::{auth, capabilities as caps, handshake, reply};
use umpire::worker::mailbox::{KillOutcome, Mailbox, Message, Whom};

const CONFIG: &str = r#"
[proxy]
listen = ["127.0.0.1:6033"]
admin_user = "boss"
admin_password = "sesame"
[[group]]
name = "main"
servers = [
  { address = "10.0.0.1:3306", role = "primary" },
  { address = "10.0.0.2:3306", role = "replica" },
]
monitor = { user = "monitor", password = "hidden-monitor-password" }
[[user]]
name = "app"
password = "hidden-app-password"
group = "main"
"#;

fn config() -> Config {
    let no_files = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    let mut config = config::parse(CONFIG, "test.toml", &no_files).unwrap();
    config.proxy.admin = Some("127.0.0.1:0".parse().unwrap());
    config.proxy.http = Some("127.0.0.1:0".parse().unwrap());
    config
}

fn view() -> View {
    let config = config();
    let learnt: Vec<Learnt> = config.groups[0]
        .servers
        .iter()
        .map(|server| Learnt {
            address: server.address.clone(),
            target: Some(Target::Tcp("127.0.0.1:9".parse().unwrap())),
            health: Health {
                alive: true,
                writable: server.role == config::Role::Primary,
                readable: true,
                lag: None,
                reason: String::new(),
            },
            greeting: None,
        })
        .collect();
    let snapshot = Snapshot::build(&config, None, &mut ServerIds::default(), &learnt).snapshot;
    let mut healths: Vec<Health> = learnt.into_iter().map(|l| l.health).collect();
    healths[1].lag = Some(Duration::from_millis(2500));
    View {
        config: Arc::new(config),
        snapshot: Arc::new(snapshot),
        healths: vec![healths],
        alarms: vec!["something is odd".into()],
        draining: false,
    }
}

fn session(worker: usize, user: &str, pinned: &str) -> SessionInfo {
    SessionInfo {
        id: 100 + worker as u32,
        worker,
        user: user.into(),
        client: "10.9.9.9:5".into(),
        schema: None,
        state: "idle".into(),
        seconds: 3,
        in_transaction: !pinned.is_empty(),
        pinned: pinned.into(),
        server: None,
        turns: 7,
        tls: None,
    }
}

/// Answers as a worker does; ends with its mailbox.
fn worker(number: usize) -> Mailbox {
    let (mailbox, messages) = Mailbox::new(Wake::new().unwrap());
    std::thread::spawn(move || {
        for message in messages {
            match message {
                Message::Sessions(reply) => reply(vec![session(number, "app", "temporary table")]),
                Message::Pools(reply) => reply(vec![PoolInfo {
                    worker: number,
                    server: "10.0.0.1:3306".into(),
                    user: "a\"b".into(),
                    idle: 2,
                    leased: 1,
                    connecting: 0,
                    waiting: 4,
                    fitted: 10,
                    synced: 1,
                }]),
                Message::Latency(reply) => {
                    let mut turns = hdrhistogram::Histogram::new(3).unwrap();
                    turns.record(1000 * (number as u64 + 1)).unwrap();
                    reply(turns);
                }
                Message::Kill { whom, reply, .. } => {
                    reply(if whom == Whom::Id(100 + number as u32) {
                        KillOutcome::Killed(1)
                    } else {
                        KillOutcome::NoSuchThread
                    })
                }
                _ => {}
            }
        }
    });
    mailbox
}

/// Takes messages and never answers; what it got is kept, as a stuck worker keeps it.
fn stuck_worker() -> Mailbox {
    let (mailbox, messages) = Mailbox::new(Wake::new().unwrap());
    std::mem::forget(messages);
    mailbox
}

struct Admin {
    sql: SocketAddr,
    http: SocketAddr,
}

/// Serves on a thread of its own until the test process ends.
fn start(view: View, mailboxes: Vec<Mailbox>) -> Admin {
    let stats: Vec<_> = mailboxes
        .iter()
        .map(|_| Arc::new(WorkerStats::default()))
        .collect();
    stats.iter().for_each(|s| s.turns.add(21));
    let listeners = Listeners::bind(&view.config.proxy).unwrap();
    let admin = Admin {
        sql: listeners.sql_address().unwrap(),
        http: listeners.http_address().unwrap(),
    };
    let handle = Handle::fixed(view, mailboxes, stats);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(serve(listeners, handle));
    });
    admin
}

fn connect(admin: &Admin) -> mysql::Conn {
    try_connect(admin, "boss", "sesame").unwrap()
}

fn try_connect(admin: &Admin, user: &str, password: &str) -> mysql::Result<mysql::Conn> {
    mysql::Conn::new(options(admin, user, password))
}

fn options(admin: &Admin, user: &str, password: &str) -> mysql::OptsBuilder {
    mysql::OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(admin.sql.port())
        .user(Some(user))
        .pass(Some(password))
        .prefer_socket(false)
}

/// Rows as text, NULL as "NULL".
fn rows(conn: &mut mysql::Conn, sql: &str) -> Vec<Vec<String>> {
    let rows: Vec<mysql::Row> = conn.query(sql).unwrap();
    let text = |value| match value {
        mysql::Value::NULL => "NULL".to_string(),
        mysql::Value::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?} in a text result"),
    };
    rows.into_iter()
        .map(|row| row.unwrap().into_iter().map(text).collect())
        .collect()
}

fn error_code(result: mysql::Result<impl Sized>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(e)) => e.code,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn show_servers_tells_the_health_of_the_last_check() {
    let mut conn = connect(&start(view(), vec![]));
    let servers = rows(&mut conn, "show servers;");
    assert_eq!(
        servers,
        [
            [
                "main",
                "10.0.0.1:3306",
                "primary",
                "primary",
                "yes",
                "yes",
                "yes",
                "",
                "0",
                "0",
                "200",
                ""
            ],
            [
                "main",
                "10.0.0.2:3306",
                "replica",
                "replica",
                "yes",
                "no",
                "yes",
                "2500",
                "1",
                "0",
                "200",
                ""
            ],
        ]
    );
}

#[test]
fn a_stuck_worker_is_shown_as_such_and_holds_up_nobody() {
    let mut conn = connect(&start(view(), vec![worker(0), stuck_worker()]));
    let sessions = rows(&mut conn, "SHOW SESSIONS");
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (sessions[0][1].as_str(), sessions[0][5].as_str()),
        ("1", "no answer")
    );
    assert_eq!(
        (sessions[1][0].as_str(), sessions[1][8].as_str()),
        ("100", "temporary table")
    );
    let answers: Vec<String> = rows(&mut conn, "SHOW WORKERS")
        .into_iter()
        .map(|row| row[1].clone())
        .collect();
    assert_eq!(answers, ["yes", "no"]);
    assert_eq!(rows(&mut conn, "SHOW POOLS")[0][..2], ["1", "no answer"]);
    assert_eq!(
        error_code(conn.query_drop("KILL 55")),
        1105,
        "it might be on the stuck one"
    );
}

#[test]
fn a_worker_that_has_ended_is_shown_as_not_answering() {
    let (mailbox, messages) = Mailbox::new(Wake::new().unwrap());
    drop(messages);
    let mut conn = connect(&start(view(), vec![mailbox]));
    assert_eq!(rows(&mut conn, "SHOW WORKERS")[0][1], "no");
}

#[test]
fn sessions_can_be_chosen_by_a_pattern() {
    let mut conn = connect(&start(view(), vec![worker(0)]));
    assert_eq!(rows(&mut conn, "SHOW SESSIONS LIKE 'temp%'").len(), 1);
    assert_eq!(rows(&mut conn, "SHOW SESSIONS LIKE '%other%'").len(), 0);
    assert_eq!(
        error_code(conn.query_drop("SHOW SESSIONS LIKE 'open")),
        1064
    );
}

#[test]
fn kill_finds_the_client_on_any_worker() {
    let mut conn = connect(&start(view(), vec![worker(0), worker(1)]));
    conn.query_drop("KILL QUERY 101").unwrap();
    conn.query_drop("kill connection 100").unwrap();
    conn.query_drop("kill 101").unwrap();
    assert_eq!(error_code(conn.query_drop("KILL 102")), 1094);
    assert_eq!(error_code(conn.query_drop("KILL -1")), 1064);
}

#[test]
fn pools_and_latencies_come_from_every_worker() {
    let mut conn = connect(&start(view(), vec![worker(0), worker(1)]));
    let pools = rows(&mut conn, "SHOW POOLS");
    assert_eq!(
        pools[1],
        ["1", "10.0.0.1:3306", "a\"b", "2", "1", "0", "4", "10", "1"]
    );
    let latency = rows(&mut conn, "SHOW LATENCY");
    let largest: Vec<_> = latency
        .iter()
        .map(|r| (r[0].as_str(), r[1].as_str(), r[6].as_str()))
        .collect();
    assert_eq!(
        largest,
        [
            ("all", "2", "2.000"),
            ("0", "1", "1.000"),
            ("1", "1", "2.000")
        ]
    );
}

#[test]
fn status_sums_the_workers_and_names_the_alarms() {
    let mut conn = connect(&start(view(), vec![worker(0), worker(1)]));
    assert_eq!(
        rows(&mut conn, "SHOW STATUS LIKE 'turns%'")[..3],
        [
            ["turns", "42"],
            ["turns_to_primary", "0"],
            ["turns_to_replica", "0"]
        ]
    );
    assert_eq!(
        rows(&mut conn, "show status like 'turns.1'"),
        [["turns.1", "21"]]
    );
    assert_eq!(
        rows(&mut conn, "show status like 'alarm%'"),
        [["alarms", "1"], ["alarm.0", "something is odd"]]
    );
}

#[test]
fn the_configuration_is_shown_without_secrets() {
    let mut conn = connect(&start(view(), vec![]));
    let all = rows(&mut conn, "SHOW CONFIG");
    let value = |key: &str| {
        all.iter()
            .find(|row| row[0] == key)
            .map(|row| row[1].as_str())
    };
    assert_eq!(value("group.main.read_write_split"), Some("true"));
    assert_eq!(value("group.main.read_your_writes_window_ms"), Some("300"));
    assert_eq!(
        value("group.main.servers.10.0.0.2:3306.role"),
        Some("replica")
    );
    assert_eq!(value("proxy.lease_timeout_ms"), Some("10000"));
    assert_eq!(value("user.app.group"), Some("main"));
    assert_eq!(value("user.app.qps"), Some("none"));
    assert_eq!(value("user.app.server_user"), Some("app"));
    assert_eq!(
        value("group.main.servers.10.0.0.2:3306.tls"),
        Some("disabled")
    );
    let text = format!("{all:?}");
    assert!(
        !text.contains("hidden") && !text.contains("sesame"),
        "{text}"
    );
}

#[test]
fn explain_route_tells_where_a_statement_would_go_and_why() {
    let mut conn = connect(&start(view(), vec![]));
    let mut explain = |sql: &str| {
        let rows = rows(&mut conn, &format!("EXPLAIN ROUTE {sql}"));
        let value = |what: &str| rows.iter().find(|r| r[0] == what).unwrap()[1].clone();
        (value("access"), value("route"), value("server"))
    };
    let expected = |access: &str, route: &str, server: &str| {
        (access.to_string(), route.to_string(), server.to_string())
    };
    assert_eq!(
        explain("SELECT 1 FROM t"),
        expected("read", "replica", "10.0.0.2:3306")
    );
    assert_eq!(
        explain("FOR USER app DELETE FROM t"),
        expected("write", "primary", "10.0.0.1:3306")
    );
    assert_eq!(explain("FOR GROUP 'main' SELECT 1 FROM t").1, "replica");
    assert_eq!(
        error_code(conn.query_drop("EXPLAIN ROUTE FOR USER nobody SELECT 1")),
        1105
    );
    assert_eq!(error_code(conn.query_drop("EXPLAIN ROUTE")), 1064);
}

#[test]
fn an_unknown_command_is_refused_with_a_way_on() {
    let mut conn = connect(&start(view(), vec![]));
    match conn.query_drop("OPTIMIZE EVERYTHING") {
        Err(mysql::Error::MySqlError(e)) => {
            assert_eq!(e.code, 1064);
            assert!(e.message.contains("HELP"), "{}", e.message);
        }
        other => panic!("{other:?}"),
    }
    assert!(rows(&mut conn, "SHOW HELP").len() >= 12);
    assert_eq!(error_code(conn.query_drop(" ; ")), 1065);
}

#[test]
fn a_reload_that_fails_says_that_nothing_was_changed() {
    let mut conn = connect(&start(view(), vec![]));
    match conn.query_drop("RELOAD") {
        Err(mysql::Error::MySqlError(e)) => {
            assert_eq!(e.code, 1105);
            assert!(e.message.contains("nothing was changed"), "{}", e.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_clients_send_at_their_start_is_answered() {
    let mut conn = connect(&start(view(), vec![]));
    let comment = rows(&mut conn, "select @@version_comment limit 1");
    assert_eq!(comment, [["Umpire admin port"]]);
    assert_eq!(rows(&mut conn, "SELECT DATABASE()"), [["NULL"]]);
    assert_eq!(rows(&mut conn, "SELECT USER()"), [["boss@127.0.0.1"]]);
    assert_eq!(rows(&mut conn, "show databases"), [["umpire"]]);
    assert!(rows(&mut conn, "show tables").is_empty());
    assert!(rows(&mut conn, "SHOW WARNINGS").is_empty());
    assert_eq!(rows(&mut conn, "/* app */ select 1"), [["1"]]);
    assert_eq!(
        rows(&mut conn, "SHOW VARIABLES LIKE 'tx\\_%'"),
        [["tx_isolation", "REPEATABLE-READ"], ["tx_read_only", "OFF"]]
    );
    assert_eq!(
        rows(
            &mut conn,
            "SHOW VARIABLES WHERE Variable_name IN ('license', 'port')"
        )
        .len(),
        2
    );
    for sql in [
        "set names utf8mb4",
        "SET autocommit=1",
        "use umpire",
        "begin",
        "commit",
    ] {
        conn.query_drop(sql).unwrap();
    }
    let variables: Vec<mysql::Row> = conn
        .query("SELECT @@session.auto_increment_increment AS step, @@nowhere, @@wait_timeout w")
        .unwrap();
    let names: Vec<_> = variables[0]
        .columns_ref()
        .iter()
        .map(|c| c.name_str().into_owned())
        .collect();
    assert_eq!(names, ["step", "@@nowhere", "w"]);
    assert!(conn.ping().is_ok());
    assert_eq!(rows(&mut conn, "SELECT DATABASE()"), [["umpire"]]);
    conn.select_db("anything").unwrap();
    assert_eq!(rows(&mut conn, "SELECT DATABASE()"), [["anything"]]);
    assert!(conn.prep("SELECT 1").is_err());
    assert_eq!(
        rows(&mut conn, "SELECT 2"),
        [["2"]],
        "the connection goes on after an error"
    );
}

#[test]
fn tools_find_one_empty_database_and_the_clients_as_processes() {
    let mut conn = connect(&start(view(), vec![worker(0)]));
    let schemata = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA";
    assert_eq!(rows(&mut conn, schemata), [["umpire"]]);
    let tables = "SELECT t.TABLE_NAME n, 'a, b' FROM information_schema.TABLES t WHERE 1 = 1";
    assert!(rows(&mut conn, tables).is_empty());
    assert_eq!(
        rows(&mut conn, "SELECT COUNT(*) FROM information_schema.ENGINES"),
        [["0"]]
    );
    let processes = rows(&mut conn, "SHOW /*!50002 FULL */ PROCESSLIST");
    assert_eq!(
        processes[0][..5],
        ["100", "app", "10.9.9.9:5", "NULL", "Sleep"]
    );
    assert_eq!(
        rows(
            &mut conn,
            "SELECT CONCAT('a', \"b\", 1), @@autocommit AS `on`"
        ),
        [["ab1", "1"]]
    );
    assert_eq!(
        rows(&mut conn, "SHOW GLOBAL STATUS LIKE 'turns.0'"),
        [["turns.0", "21"]]
    );
    conn.query_drop("/*!40101 SET NAMES utf8 */").unwrap();
    assert_eq!(error_code(conn.query_drop("SELECT a FROM t")), 1064);
    assert_eq!(error_code(conn.query_drop("SELECT f(1)")), 1064);
}

#[test]
fn a_refused_login_names_the_clients_address() {
    match try_connect(&start(view(), vec![]), "boss", "wrong") {
        Err(mysql::Error::MySqlError(e)) => {
            assert!(e.message.contains("'boss'@'127.0.0.1'"), "{}", e.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn explain_route_says_what_a_function_of_unknown_effect_means() {
    let mut conn = connect(&start(view(), vec![]));
    let answer = rows(&mut conn, "EXPLAIN ROUTE SELECT f() FROM t");
    let reason = &answer.iter().find(|r| r[0] == "reason").unwrap()[1];
    assert!(reason.contains("function of unknown effect"), "{reason}");
}

#[test]
fn a_wrong_name_or_password_is_denied() {
    let admin = start(view(), vec![]);
    assert_eq!(error_code(try_connect(&admin, "boss", "wrong")), 1045);
    assert_eq!(error_code(try_connect(&admin, "other", "sesame")), 1045);
    assert_eq!(error_code(try_connect(&admin, "boss", "")), 1045);
}

/// One try from an address of this machine: the code of its refusal, 0 when it is let in.
fn try_from(admin: &Admin, source: [u8; 4], password: &str) -> u16 {
    let options =
        options(admin, "boss", password).bind_address(Some(SocketAddr::from((source, 0))));
    mysql::Conn::new(options).map_or_else(|e| error_code(Err::<(), _>(e)), |_| 0)
}

#[test]
fn an_address_whose_logins_fail_has_to_wait_and_no_other_has() {
    const HERE: [u8; 4] = [127, 0, 0, 1];
    const THERE: [u8; 4] = [127, 0, 0, 2];
    let mut view = view();
    let mut config = config();
    config.proxy.failed_logins_free = 2;
    config.proxy.failed_login_delay = Duration::from_millis(200);
    config.proxy.login_timeout = Duration::from_secs(2);
    view.config = Arc::new(config);
    let admin = start(view, vec![]);
    for _ in 0..2 {
        assert_eq!(try_from(&admin, HERE, "wrong"), 1045);
    }
    let started = Instant::now();
    for _ in 0..4 {
        assert_eq!(try_from(&admin, HERE, "wrong"), 1045);
        assert_eq!(try_from(&admin, THERE, "sesame"), 0);
    }
    // 50, 100, 200 and 200
    assert!(started.elapsed() >= Duration::from_millis(550));
    // many at once are no way around it: those whose turn is too far away are refused
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..30)
            .map(|_| scope.spawn(|| try_from(&admin, HERE, "wrong")))
            .collect();
        tries.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(
        codes.iter().all(|code| matches!(code, 1045 | 1129)),
        "{codes:?}"
    );
    assert!(codes.contains(&1129), "{codes:?}");
    assert_eq!(try_from(&admin, THERE, "sesame"), 0);
    // a success forgives
    while try_from(&admin, HERE, "sesame") != 0 {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    for _ in 0..2 {
        assert_eq!(try_from(&admin, HERE, "wrong"), 1045);
    }
}

#[test]
fn an_empty_configured_password_lets_in_without_one_only() {
    let mut view = view();
    let mut config = config();
    config.proxy.admin_password = String::new();
    view.config = Arc::new(config);
    let admin = start(view, vec![]);
    assert!(try_connect(&admin, "boss", "").is_ok());
    assert_eq!(error_code(try_connect(&admin, "boss", "sesame")), 1045);
}

/// A client on raw bytes.
struct Raw {
    stream: TcpStream,
    assembler: Assembler,
}

impl Raw {
    fn connect(admin: &Admin) -> Raw {
        let stream = TcpStream::connect(admin.sql).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Raw {
            stream,
            assembler: Assembler::new(1 << 20),
        }
    }

    fn send(&mut self, payload: &[u8], sequence: u8) {
        let mut bytes = Vec::new();
        frame(payload, sequence, &mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// None: closed.
    fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(packet) = self.assembler.pop() {
                return Some(packet);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(n) => self.assembler.push(&chunk[..n]).unwrap(),
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(e) => panic!("neither an answer nor closed: {e}"),
            }
        }
    }

    fn greeting(&mut self) -> handshake::Greeting {
        handshake::Greeting::decode(&self.receive().unwrap().1).unwrap()
    }

    /// As a client that knows mysql_native_password only.
    fn log_in(admin: &Admin) -> Raw {
        let mut raw = Raw::connect(admin);
        let greeting = raw.greeting();
        let capabilities = caps::PROTOCOL_41 | caps::SECURE_CONNECTION | caps::PLUGIN_AUTH;
        let response = handshake::Response {
            capabilities: capabilities & greeting.capabilities,
            user: "boss".into(),
            auth_plugin: Some(auth::NATIVE.into()),
            ..Default::default()
        };
        raw.send(&response.encode(), 1);
        let (sequence, payload) = raw.receive().unwrap();
        let scramble = match reply::Login::decode(&payload, capabilities).unwrap() {
            reply::Login::Switch { plugin, scramble } if plugin == auth::NATIVE => scramble,
            other => panic!("{other:?}"),
        };
        let scramble: [u8; 20] = scramble[..20].try_into().unwrap();
        raw.send(&auth::native::respond(b"sesame", &scramble), sequence + 1);
        let (_, ok) = raw.receive().unwrap();
        assert_eq!(ok[0], 0);
        raw
    }
}

#[test]
fn a_client_of_the_older_plugin_is_switched_to_it() {
    let mut raw = Raw::log_in(&start(view(), vec![]));
    raw.send(b"\x0e", 0);
    let (sequence, ok) = raw.receive().unwrap();
    assert_eq!((sequence, ok[0]), (1, 0));
}

#[test]
fn broken_bytes_end_the_connection_and_nothing_else() {
    let admin = start(view(), vec![]);
    let broken: [&[u8]; 5] = [
        b"\xff\xff\xff\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\x01",
        b"\x01\x00\x00\x01\x00",
        b"\x05\x00\x00\x01\xff\xff\xff\xff\xff",
    ];
    for bytes in broken {
        let mut raw = Raw::connect(&admin);
        raw.greeting();
        raw.stream.write_all(bytes).unwrap();
        assert_eq!(raw.receive(), None, "{bytes:?}");
    }
    let mut raw = Raw::log_in(&admin);
    raw.send(b"\x0e", 3);
    assert_eq!(
        reply::Err::decode(&raw.receive().unwrap().1).unwrap().code,
        1156
    );
    assert_eq!(raw.receive(), None);
    let mut raw = Raw::log_in(&admin);
    raw.send(b"", 0);
    assert_eq!(raw.receive(), None);
    assert!(connect(&admin).ping().is_ok());
}

#[test]
fn one_connection_too_many_is_told_so() {
    let admin = start(view(), vec![]);
    let mut open: Vec<Raw> = (0..64).map(|_| Raw::connect(&admin)).collect();
    open.iter_mut().for_each(|raw| drop(raw.greeting()));
    let refused = Raw::connect(&admin).receive().unwrap().1;
    assert_eq!(reply::Err::decode(&refused).unwrap().code, 1040);
}

fn http(admin: &Admin, request: &str) -> String {
    let mut stream = TcpStream::connect(admin.http).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(admin: &Admin, path: &str) -> String {
    http(admin, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
}

#[test]
fn metrics_hold_counters_servers_and_pools() {
    let admin = start(view(), vec![worker(0), stuck_worker()]);
    let page = get(&admin, "/metrics");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let pool =
        "umpire_pool_connections{server=\"10.0.0.1:3306\",user=\"a\\\"b\",state=\"idle\"} 2\n";
    let lines = [
        "umpire_turns_total{worker=\"1\"} 21\n",
        "umpire_server_lag_seconds{group=\"main\",server=\"10.0.0.2:3306\",role=\"replica\"} 2.5\n",
        "umpire_worker_answers{worker=\"0\"} 1\n",
        "umpire_worker_answers{worker=\"1\"} 0\n",
        "umpire_alarms 1\n",
        pool,
    ];
    for line in lines {
        assert!(page.contains(line), "{line} is not in {page}");
    }
}

#[test]
fn healthz_is_ok_or_names_the_reasons() {
    let answer = get(&start(view(), vec![worker(0)]), "/healthz");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok\n"),
        "{answer}"
    );

    let mut bad = view();
    bad.draining = true;
    for health in &mut bad.healths[0] {
        health.alive = false;
    }
    let answer = get(&start(bad, vec![stuck_worker()]), "/healthz");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let reasons = "group main: no usable server\ndraining\nworker 0 does not answer\n";
    assert!(answer.ends_with(reasons), "{answer}");
}

#[test]
fn other_paths_and_broken_requests_get_an_error() {
    let admin = start(view(), vec![]);
    assert!(get(&admin, "/").starts_with("HTTP/1.1 404"));
    assert!(http(
        &admin,
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    )
    .starts_with("HTTP/1.1 405"));
    assert!(http(&admin, "\x16\x03\x01\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert!(get(&admin, "/healthz").starts_with("HTTP/1.1 200"));
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut proxy = config().proxy;
    proxy.http = Some(taken.local_addr().unwrap());
    let error = Listeners::bind(&proxy).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("proxy.http = {}", taken.local_addr().unwrap())),
        "{error}"
    );
}
