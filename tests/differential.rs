//! The same random session scripts straight at a server and through the proxy, where sessions share a few server
//! connections with each other and with noisy neighbours: every reply must be the same, packet by packet.
//!
//! `UMPIRE_SEED=n` repeats a run's scripts, `UMPIRE_SECONDS=n` runs for longer.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::raw::change_user_body;
use common::reply::{Reply, ServerError};
use common::{needs, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use umpire::wire::capabilities as cap;

/// Scripts that run at once; each may hold one connection of the six to the primary.
const LANES: u64 = 4;
const STEPS: u64 = 40;
const QUERY: u8 = 0x03;
const EXECUTE: u8 = 0x17;

/// splitmix64, so that a seed means the same script everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

#[derive(Debug, Clone)]
enum Step {
    Query(String),
    /// A command by its byte.
    Command(u8, Vec<u8>),
    Prepare(String),
    /// The statement prepared so many before the last one; with or without types.
    Execute {
        back: usize,
        value: i64,
        types: bool,
    },
    CloseStatement {
        back: usize,
    },
    ResetStatement {
        back: usize,
    },
    ChangeUser,
}

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
enum Leave {
    Quit,
    Vanish,
    VanishInStatement,
}

#[derive(Debug)]
struct Script {
    login: Login,
    steps: Vec<Step>,
    leave: Leave,
}

/// Statements of which a family is picked first, so that rare ones come as often as those with many spellings.
/// `$d`, `$e`: the lane's schemas, `$n`: the lane, `$i`: a small number.
const FAMILIES: &[&[&str]] = &[
    &[
        "SELECT @@time_zone, @@sql_mode, @@group_concat_max_len, @@autocommit, @@tx_isolation, DATABASE()",
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection, @a, @b, @@sql_select_limit",
        "SELECT @@in_transaction, @@foreign_key_checks, @@unique_checks, @@lc_time_names, CURRENT_USER()",
    ],
    &[
        "SET time_zone = '+0$i:00'",
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "SET sql_mode = ''",
        "SET sql_mode = DEFAULT",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET group_concat_max_len = 1$i, lc_time_names = 'de_DE'",
        "SET NAMES latin1",
        "SET collation_connection = utf8mb4_bin",
        "SET CHARACTER SET cp1251",
        "SET collation_connection = utf8mb4_unicode_ci",
        "SET foreign_key_checks = 0, unique_checks = OFF",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET sql_select_limit = $i",
        "SET sql_select_limit = DEFAULT",
        "SET no_such_variable = 1",
        "SET time_zone = 'No/Where'",
    ],
    &["SET @a = $i", "SET @b = 'x$i'", "SET @a = @a + 1", "SELECT @b := $i"],
    &["USE $d", "USE $e", "USE nowhere", "USE `$d`"],
    &["SELECT t FROM s WHERE id <= $i", "SELECT COUNT(*) FROM s", "SELECT * FROM s ORDER BY id LIMIT 3"],
    &[
        "INSERT INTO s (v) VALUES ($i)",
        "INSERT INTO s (v) VALUES ($i), ($i)",
        "INSERT INTO s (id, v) VALUES (1, 1)",
        "INSERT IGNORE INTO s (id, v) VALUES (1, 'x')",
        "UPDATE s SET v = v + 1",
        "UPDATE s SET v = LAST_INSERT_ID(v + $i) WHERE id = 1",
        "UPDATE s SET id = 2 WHERE id = 1",
        "DELETE FROM s WHERE id > 3",
        "REPLACE INTO s VALUES (2, 5, 'r')",
        "INSERT INTO s (v, t) SELECT v, LAST_INSERT_ID() FROM s WHERE id = 1",
        "INSERT INTO missing VALUES (1)",
    ],
    &["SELECT LAST_INSERT_ID()", "SELECT LAST_INSERT_ID() + 1 AS x", "SELECT @@last_insert_id, @@identity"],
    &["BEGIN", "START TRANSACTION", "START TRANSACTION READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT"],
    &["COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK"],
    &["SET autocommit = 0", "SET autocommit = 1", "SET @@autocommit = ON"],
    &["SAVEPOINT one", "ROLLBACK TO one", "RELEASE SAVEPOINT one", "SAVEPOINT two"],
    &["SELECT 1/0", "SELECT CAST('x' AS SIGNED)", "SELECT DATE('z') FROM s", "SELEC", "SELECT nothing FROM s"],
    &["SELECT SQL_CALC_FOUND_ROWS id FROM fixed ORDER BY id LIMIT $i"],
    &[
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "INSERT INTO tmp VALUES ($i)",
        "SELECT * FROM tmp",
        "DROP TEMPORARY TABLE tmp",
    ],
    &["SELECT GET_LOCK('l$n', 2)", "SELECT RELEASE_LOCK('l$n')", "SELECT IS_FREE_LOCK('l$n')", "DO RELEASE_ALL_LOCKS()"],
    &["LOCK TABLES s WRITE", "LOCK TABLES fixed READ", "UNLOCK TABLES"],
    &["PREPARE p FROM 'SELECT id FROM fixed WHERE id = ?'", "EXECUTE p USING @a", "DEALLOCATE PREPARE p"],
    &["XA START 'x$n'", "XA END 'x$n'", "XA PREPARE 'x$n'", "XA COMMIT 'x$n'", "XA ROLLBACK 'x$n'"],
    &["HANDLER s OPEN", "HANDLER s READ FIRST", "HANDLER s CLOSE"],
    &["CALL $d.sets()", "CALL $d.begins()", "CALL $d.fails()", "CALL $d.asks()", "SELECT $d.writes($i)"],
    &["SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
    &[
        "SELECT 'it\\'s', id FROM fixed WHERE id = $i",
        "SELECT \"id\" FROM fixed WHERE id = $i -- '",
        "SELECT /*!40101 id, */ 2 FROM fixed /* ; */ LIMIT 1",
        "SELECT id FROM fixed WHERE id = $i FOR UPDATE",
        "SELECT id FROM fixed LIMIT 1;",
        "(SELECT id FROM fixed LIMIT 1) UNION ALL (SELECT $i)",
        "SELECT id INTO @a FROM fixed WHERE id = $i",
        "",
        "/* nothing */",
        "SELECT '\0', 1",
    ],
    &["SELECT 1/0", "SELECT CAST('x' AS SIGNED)", "SELECT DATE('z') FROM s", "SELEC", "SELECT nothing FROM s"],
    &["SELECT SQL_CALC_FOUND_ROWS id FROM fixed ORDER BY id LIMIT $i"],
    &[
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "INSERT INTO tmp VALUES ($i)",
        "SELECT * FROM tmp",
        "DROP TEMPORARY TABLE tmp",
    ],
    &["SELECT GET_LOCK('l$n', 2)", "SELECT RELEASE_LOCK('l$n')", "SELECT IS_FREE_LOCK('l$n')", "DO RELEASE_ALL_LOCKS()"],
    &["LOCK TABLES s WRITE", "LOCK TABLES fixed READ", "UNLOCK TABLES"],
    &["PREPARE p FROM 'SELECT id FROM fixed WHERE id = ?'", "EXECUTE p USING @a", "DEALLOCATE PREPARE p"],
    &["XA START 'x$n'", "XA END 'x$n'", "XA PREPARE 'x$n'", "XA COMMIT 'x$n'", "XA ROLLBACK 'x$n'"],
    &["HANDLER s OPEN", "HANDLER s READ FIRST", "HANDLER s CLOSE"],
    &["CALL $d.sets()", "CALL $d.begins()", "CALL $d.fails()", "CALL $d.asks()", "SELECT $d.writes($i)"],
    &["SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
    &[
        "SELECT 'it\\'s', id FROM fixed WHERE id = $i",
        "SELECT \"id\" FROM fixed WHERE id = $i -- '",
        "SELECT /*!40101 id, */ 2 FROM fixed /* ; */ LIMIT 1",
        "SELECT id FROM fixed WHERE id = $i FOR UPDATE",
        "SELECT id FROM fixed LIMIT 1;",
        "(SELECT id FROM fixed LIMIT 1) UNION ALL (SELECT $i)",
        "SELECT id INTO @a FROM fixed WHERE id = $i",
        "",
        "/* nothing */",
        "SELECT '\0', 1",
    ],
    &[
        "SELECT 1; SELECT @a, 2",
        "SET @a = $i; INSERT INTO s (v) VALUES (@a); SELECT LAST_INSERT_ID()",
        "BEGIN; INSERT INTO s (id, v) VALUES (1, 1); COMMIT",
        "SET autocommit = 0; INSERT INTO s (id, v) VALUES (1, 1)",
        "USE $e; SELEC",
        "SELECT 1; SET time_zone = '+0$i:00'; SELECT @@time_zone",
    ],
];

/// `#`: filler of more than 256 KiB.
const LARGE: [&str; 5] = [
    "SELECT LENGTH('#'), @@time_zone, DATABASE()",
    "SELECT LENGTH('#'), LAST_INSERT_ID(), @a",
    "SELECT LENGTH('#'), id FROM s WHERE id = 1 FOR UPDATE",
    "INSERT INTO s (t, v) VALUES (LENGTH('#'), LAST_INSERT_ID())",
    "SELECT LENGTH('#'), @a := 77",
];

const PREPARED: [&str; 9] = [
    "SELECT id, ? FROM fixed WHERE id < 3",
    "SELECT ?, DATABASE(), @@sql_mode, @@time_zone",
    "INSERT INTO s (v) VALUES (?)",
    "UPDATE s SET v = ? WHERE id = 1",
    "SELECT t, ? FROM s",
    "SELECT LAST_INSERT_ID(), ?",
    "SELECT \"id\", ? FROM fixed LIMIT 1",
    "SELECT id FROM fixed WHERE id = ? FOR UPDATE",
    "SELECT @a, ?",
];

fn script(seed: u64, lane: u64) -> Script {
    let mut random = Random(seed);
    let mut login = Login::default().schema(Some(&format!("d{lane}")));
    for flag in [cap::MULTI_STATEMENTS, cap::DEPRECATE_EOF, cap::FOUND_ROWS] {
        if random.below(3) == 0 {
            login = login.with(flag);
        }
    }
    let steps = (0..random.below(STEPS) + 5)
        .flat_map(|_| match random.below(12) {
            0 => asks_about_the_last(&mut random),
            _ => vec![step(&mut random, lane)],
        })
        .collect();
    let leave = [Leave::Quit, Leave::Vanish, Leave::VanishInStatement][random.below(3) as usize];
    Script {
        login,
        steps,
        leave,
    }
}

/// A statement and a question about it. After others the counts are whatever a server's version makes of them, and
/// MariaDB keeps warnings until a statement uses a table.
fn asks_about_the_last(random: &mut Random) -> Vec<Step> {
    if random.below(2) == 0 {
        let first = random.pick(&[
            "SELECT 1/0",
            "SELEC",
            "SELECT v FROM missing",
            "INSERT IGNORE INTO s VALUES (1, 'x', 2)",
        ]);
        let ask = random.pick(&[
            "SHOW WARNINGS",
            "SHOW COUNT(*) WARNINGS",
            "SHOW ERRORS",
            "SELECT @@warning_count, @@error_count",
        ]);
        return vec![Step::Query(first.into()), Step::Query(ask.into())];
    }
    let first = random.pick(&[
        "SELECT id FROM fixed WHERE id < 4",
        "SELECT SQL_CALC_FOUND_ROWS id FROM fixed LIMIT 2",
        "UPDATE s SET v = v + 1 WHERE id < 3",
        "DELETE FROM s WHERE id = 1000",
        "INSERT INTO s (v) VALUES (3)",
        "SELECT v FROM s WHERE id = 1",
    ]);
    let ask = match first.starts_with("SELECT") {
        true => random.pick(&["SELECT FOUND_ROWS()", "SELECT FOUND_ROWS(), ROW_COUNT()"]),
        false => random.pick(&["SELECT ROW_COUNT()", "SELECT ROW_COUNT(), LAST_INSERT_ID()"]),
    };
    vec![Step::Query(first.into()), Step::Query(ask.into())]
}

fn step(random: &mut Random, lane: u64) -> Step {
    let back = random.below(4) as usize;
    match random.below(100) {
        0..=5 => Step::Prepare(random.pick(&PREPARED).into()),
        6..=17 => Step::Execute {
            back,
            value: random.below(9) as i64,
            types: random.below(3) == 0,
        },
        18 => Step::CloseStatement { back },
        19 => Step::ResetStatement { back },
        20 => Step::Command(0x1f, Vec::new()),
        21 => Step::ChangeUser,
        22 => Step::Command(0x02, format!("d{lane}").into_bytes()),
        23 => Step::Command(0x0e, Vec::new()),
        24 => Step::Command(0x1b, vec![random.below(2) as u8, 0]),
        25 => Step::Command(0x04, b"fixed\0".to_vec()),
        26 => Step::Query(random.pick(&LARGE).replace('#', &"x".repeat(300_000))),
        _ => {
            let family = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
            let sql = random.pick(family);
            let number = (random.below(8) + 1).to_string();
            Step::Query(
                sql.replace("$d", &format!("d{lane}"))
                    .replace("$e", &format!("e{lane}"))
                    .replace("$n", &lane.to_string())
                    .replace("$i", &number),
            )
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Reply(Box<Reply>),
    /// The statement was not there to execute.
    Nothing,
    Closed,
}

impl Outcome {
    fn error(&self) -> Option<&ServerError> {
        match self {
            Outcome::Reply(reply) => reply.error.as_ref(),
            _ => None,
        }
    }
}

fn run(port: u16, script: &Script) -> Vec<Outcome> {
    let mut client = RawClient::login(port, &script.login).expect("login");
    let mut prepared: Vec<u32> = Vec::new();
    let mut outcomes = Vec::new();
    for step in &script.steps {
        let outcome = perform(&mut client, step, &mut prepared, &script.login);
        let closed = outcome.is_err();
        outcomes.push(outcome.unwrap_or(Outcome::Closed));
        if closed {
            break;
        }
    }
    match script.leave {
        Leave::Quit => drop(client.send_command(0x01, b"")),
        Leave::Vanish => {}
        Leave::VanishInStatement => drop(client.send_command(QUERY, b"SELECT SLEEP(0.05)")),
    }
    outcomes
}

fn perform(
    client: &mut RawClient,
    step: &Step,
    prepared: &mut Vec<u32>,
    login: &Login,
) -> std::io::Result<Outcome> {
    let nth = |back: usize| prepared.len().checked_sub(back + 1).map(|at| prepared[at]);
    let mut reply = match step {
        Step::Query(sql) => client.query(sql)?,
        Step::Command(byte, body) => client.command(*byte, body)?,
        Step::Prepare(sql) => {
            let mut reply = client.command(0x16, sql.as_bytes())?;
            if let Some(ok) = reply.prepared.as_mut() {
                prepared.push(std::mem::take(&mut ok.id));
            }
            reply
        }
        Step::Execute { back, value, types } => match nth(*back) {
            Some(id) => client.command(EXECUTE, &execute(id, *value, *types))?,
            None => return Ok(Outcome::Nothing),
        },
        Step::ResetStatement { back } => match nth(*back) {
            Some(id) => client.command(0x1a, &id.to_le_bytes())?,
            None => return Ok(Outcome::Nothing),
        },
        Step::CloseStatement { back } => {
            if let Some(id) = nth(*back) {
                client.send_command(0x19, &id.to_le_bytes())?;
            }
            return Ok(Outcome::Nothing);
        }
        Step::ChangeUser => {
            let scramble = client.hello.scramble.clone();
            client.send_command(0x11, &change_user_body(login, &scramble))?;
            return match client.follow_login(login) {
                Ok(()) => Ok(Outcome::Nothing),
                Err(_) => Ok(Outcome::Closed),
            };
        }
    };
    comparable(&mut reply);
    Ok(Outcome::Reply(Box::new(reply)))
}

/// Types only with the first EXECUTE of a statement or when the script says so: a bigint.
fn execute(id: u32, value: i64, types: bool) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0, 0]);
    body.push(u8::from(types));
    if types {
        body.extend([8, 0]);
    }
    body.extend(value.to_le_bytes());
    body
}

/// What may differ: statement ids (in errors too), and the flag that says session tracking follows.
fn comparable(reply: &mut Reply) {
    for set in &mut reply.sets {
        set.status &= !0x4000;
    }
    if let Some(error) = &mut reply.error {
        if error.code == 1243 || error.code == 1210 {
            error.message.clear();
        }
    }
}

/// Umpire's own refusals that are allowed: a count that went with its connection. What follows may hang on it.
fn is_refused_count(step: &Step, seen: &Outcome) -> bool {
    let refused = |e: &ServerError| e.code == 1105 && e.message.contains("is gone");
    asks_for_counts(step) && seen.error().is_some_and(refused)
}

fn asks_for_counts(step: &Step) -> bool {
    let Step::Query(sql) = step else { return false };
    sql.contains("ROW_COUNT()") || sql.contains("FOUND_ROWS()")
}

fn set_up(cluster: &Cluster) {
    cluster.stop_logging();
    let mut statements = Vec::new();
    for lane in 0..LANES {
        for schema in [format!("d{lane}"), format!("e{lane}")] {
            statements.extend([
                format!("CREATE DATABASE {schema}"),
                format!("USE {schema}"),
                "CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v INT, t VARCHAR(40))".into(),
                "CREATE TABLE fixed (id INT PRIMARY KEY)".into(),
                "INSERT INTO fixed SELECT seq FROM seq_1_to_20".into(),
                "CREATE PROCEDURE sets() BEGIN SET @a = 'p'; SET time_zone = '-05:00'; END".into(),
                "CREATE PROCEDURE begins() BEGIN START TRANSACTION; INSERT INTO s (v) VALUES (9); END".into(),
                "CREATE PROCEDURE fails() BEGIN INSERT INTO s (v) VALUES (8); SIGNAL SQLSTATE '45000'; END".into(),
                "CREATE PROCEDURE asks() BEGIN SELECT LAST_INSERT_ID(), @a, @@time_zone; SELECT 2; END".into(),
                "CREATE FUNCTION writes(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
                 BEGIN INSERT INTO s (v) VALUES (x); RETURN x; END".into(),
            ]);
        }
    }
    let borrowed: Vec<&str> = statements.iter().map(String::as_str).collect();
    cluster.prepare(&borrowed);
}

/// The lane's tables as at the start. What its last session left must be gone for that: a server may notice late that
/// a client has vanished.
fn clean_lane(cluster: &Cluster, lane: u64) {
    let mut root = cluster.primary().root();
    wait_until("no XA transaction is left, prepared or active", || {
        root.query_drop(format!("XA ROLLBACK 'x{lane}'")).ok();
        root.query_drop(format!("XA START 'x{lane}'")).is_ok()
    });
    root.query_drop(format!("XA END 'x{lane}'"))
        .expect("XA END");
    root.query_drop(format!("XA ROLLBACK 'x{lane}'"))
        .expect("XA ROLLBACK");
    wait_until("the lane's user lock is free", || {
        common::rows(&mut root, &format!("SELECT IS_FREE_LOCK('l{lane}')"))[0][0] == "1"
    });
    for schema in [format!("d{lane}"), format!("e{lane}")] {
        root.query_drop("SET lock_wait_timeout = 20").expect("SET");
        root.query_drop(format!("TRUNCATE TABLE {schema}.s"))
            .unwrap_or_else(|e| panic!("the last session of lane {lane} left a lock: {e}"));
        root.query_drop(format!(
            "INSERT INTO {schema}.s VALUES (1, 1, 'one'), (2, 2, 'two')"
        ))
        .expect("INSERT");
    }
}

/// Clients that are always in between.
fn make_noise(proxy: &Proxy, stop: &AtomicBool, seed: u64) {
    let mut random = Random(seed);
    while !stop.load(Ordering::Relaxed) {
        let mut client = RawClient::connect(proxy.port);
        for _ in 0..random.below(50) {
            let sql = random.pick(&[
                "INSERT INTO app.noise (v) VALUES (1)",
                "SELECT 1/0",
                "SELECT SQL_CALC_FOUND_ROWS id FROM d0.fixed LIMIT 2",
                "SET time_zone = '+11:00', sql_mode = 'ANSI'",
                "SELECT id FROM d1.fixed",
                "UPDATE app.noise SET v = v + 1 LIMIT 3",
                "USE other",
                "SET NAMES latin1",
                "SELECT 5 /* umpire:primary */",
                "SET group_concat_max_len = 4",
            ]);
            client.query(sql).expect("noise is served");
        }
    }
}

fn small_proxy(cluster: &Cluster) -> Proxy {
    let mut config = ProxyConfig::new(cluster).timer(600_000);
    for server in &mut config.servers {
        server.2 = "max_connections = 7".into();
    }
    let proxy = config
        .proxy("min_idle = 0\nlease_timeout_ms = 20000")
        .start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

fn compare(script: &Script, direct: &[Outcome], proxied: &[Outcome], name: &str) {
    for (i, step) in script.steps.iter().enumerate() {
        let (Some(d), Some(p)) = (direct.get(i), proxied.get(i)) else {
            assert_eq!(
                direct.len(),
                proxied.len(),
                "{name}: one of the two was closed before step {i}"
            );
            return;
        };
        if d == p {
            continue;
        }
        // after an error the counts are those of some statement before
        let after_error = i > 0 && direct[i - 1].error().is_some();
        if after_error && asks_for_counts(step) || is_refused_count(step, p) {
            return;
        }
        // types that were never sent: it fails either way, and what is found first depends on when and where
        // the statement was prepared
        let typeless = matches!(step, Step::Execute { types: false, .. });
        if typeless && d.error().is_some() && p.error().is_some() {
            return;
        }
        let before: Vec<String> = script.steps[..=i].iter().map(shown).collect();
        panic!(
            "{name} {:?}\n{}\n\ndirect:  {d:?}\nproxied: {p:?}",
            script.login,
            before.join("\n")
        );
    }
}

fn shown(step: &Step) -> String {
    let text = format!("{step:?}");
    text.replace(&"x".repeat(300_000), "x…")
}

#[test]
fn random_sessions_over_few_connections_are_answered_as_direct() {
    needs!(the_proxy);
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seed = number("UMPIRE_SEED").unwrap_or(20_261_130);
    let length = Duration::from_secs(number("UMPIRE_SECONDS").unwrap_or(12));
    let (alone, cluster) = (Cluster::start(0), Cluster::start(2));
    set_up(&alone);
    set_up(&cluster);
    cluster.prepare(&["CREATE TABLE noise (id INT AUTO_INCREMENT PRIMARY KEY, v INT)"]);
    let proxy = small_proxy(&cluster);
    let stop = AtomicBool::new(false);
    let scripts = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for noise in 0..2 {
            let (proxy, stop) = (&proxy, &stop);
            scope.spawn(move || make_noise(proxy, stop, noise));
        }
        let end = Instant::now() + length;
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let (proxy, alone, cluster, scripts) = (&proxy, &alone, &cluster, &scripts);
                scope.spawn(move || {
                    for n in 0.. {
                        if Instant::now() > end {
                            return;
                        }
                        let own = seed + n * LANES + lane;
                        let script = script(own, lane);
                        clean_lane(alone, lane);
                        clean_lane(cluster, lane);
                        let direct = run(alone.primary().port, &script);
                        let proxied = run(proxy.port, &script);
                        compare(
                            &script,
                            &direct,
                            &proxied,
                            &format!("seed {seed}, script {own}"),
                        );
                        scripts.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = lanes.into_iter().map(|l| l.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for lane in ended {
            if let Err(panic) = lane {
                std::panic::resume_unwind(panic);
            }
        }
    });
    assert!(
        scripts.load(Ordering::Relaxed) >= LANES as u32,
        "some scripts ran"
    );
}
