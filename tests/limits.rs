//! Limits per user and for the process, on two workers with two users: rate, running statements, time, size of
//! results, idle transactions, packet size; all of them changed while the proxy runs.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{code, needs, scalar, try_rows, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn proxy_with(app: &str, more: &str) -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    config.app = app.into();
    config.more = more.into();
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

/// Enough clients of one user that every worker has some.
fn clients(proxy: &Proxy, user: &str, password: &str) -> Vec<Conn> {
    (0..6).map(|_| proxy.client_as(user, password)).collect()
}

/// So many that some always wait for their turn, however slow the machine is.
fn crowd(proxy: &Proxy) -> Vec<Conn> {
    (0..30).map(|_| proxy.client_as("app", "apppw")).collect()
}

/// The row of a user in SHOW LIMITS, by column.
fn limit_of(proxy: &Proxy, user: &str, column: usize) -> String {
    let rows = proxy.ask_admin("SHOW LIMITS");
    let row = rows.iter().find(|row| row[0] == user);
    row.unwrap_or_else(|| panic!("{rows:?}"))[column].clone()
}

const RUNNING: usize = 3;
const WAITING: usize = 5;
const QPS: usize = 6;

/// What `SELECT 1` on all of these connections comes to in this time, in statements a second.
fn rate(conns: Vec<Conn>, time: Duration) -> f64 {
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut measured = 0.0;
    std::thread::scope(|scope| {
        for mut conn in conns {
            let (stop, count) = (&stop, &count);
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    conn.query_drop("SELECT 1").expect("no error, only latency");
                    count.fetch_add(1, Relaxed);
                }
            });
        }
        // the burst at the start is not counted
        common::pause(Duration::from_millis(300));
        let (before, started) = (count.load(Relaxed), Instant::now());
        common::pause(time);
        measured = (count.load(Relaxed) - before) as f64 / started.elapsed().as_secs_f64();
        stop.store(true, Relaxed);
    });
    measured
}

/// The rate that `measure` comes to, five percent at most from the limit. A machine that has no time for these clients holds
/// them below it, and a pause of the whole machine is caught up with: then it is measured again.
fn held_at(limit: f64, mut measure: impl FnMut() -> f64) -> f64 {
    let near = limit * 0.95..=limit * 1.05;
    let mut seen = Vec::new();
    for _ in 0..5 {
        let held = measure();
        if near.contains(&held) {
            return held;
        }
        seen.push(held);
    }
    panic!("{seen:?} statements a second with a limit of {limit}");
}

/// How long the statements of another user take meanwhile, on every worker, the shortest first.
fn times(proxy: &Proxy, meanwhile: impl FnOnce()) -> Vec<Duration> {
    let done = AtomicBool::new(false);
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (0..4)
            .map(|_| proxy.client_as("app2", "app2pw"))
            .map(|mut other| {
                let done = &done;
                scope.spawn(move || {
                    let mut times = Vec::new();
                    while !done.load(Relaxed) {
                        let begun = Instant::now();
                        other.query_drop("SELECT 1").expect("not limited");
                        times.push(begun.elapsed());
                        // as an application: not all of the machine is for it
                        common::pause(Duration::from_millis(2));
                    }
                    times
                })
            })
            .collect();
        meanwhile();
        done.store(true, Relaxed);
        let times = others.into_iter().map(|o| o.join().expect("no panic"));
        times.flatten().collect::<Vec<Duration>>()
    });
    all.sort_unstable();
    all
}

#[test]
fn a_user_gets_its_rate_over_all_workers_and_another_user_is_not_held() {
    needs!(the_proxy);
    let proxy = proxy_with("qps = 100", "");
    let alone = times(&proxy, || common::pause(Duration::from_secs(1)));
    let mut held = 0.0;
    let beside = times(&proxy, || {
        held = held_at(100.0, || rate(crowd(&proxy), Duration::from_secs(4)));
    });
    let percent = |times: &[Duration], percent: usize| times[times.len() * percent / 100];
    println!(
        "{held:.1}/s; the others' 99th percentile: {:?} alone, {:?} beside it",
        percent(&alone, 99),
        percent(&beside, 99)
    );
    // thirty connections at 100 a second: each waits 300 ms for its statement, and the others do not
    assert!(percent(&beside, 50) < Duration::from_millis(100));
    if std::env::var_os("UMPIRE_SOAK").is_some_and(|v| v == "1") {
        let most = percent(&alone, 99) + percent(&alone, 99) / 2 + Duration::from_millis(1);
        assert!(percent(&beside, 99) <= most);
    }
    // a cost loop's way: the rate of a running user is changed, and a bad value is refused
    let mut admin = proxy.admin();
    admin.query_drop("SET USER app qps = 200").expect("changed");
    assert_eq!(limit_of(&proxy, "app", QPS), "200");
    held_at(200.0, || rate(crowd(&proxy), Duration::from_secs(3)));
    for wrong in ["app qps = 0", "app speed = 5", "nobody qps = 5"] {
        let refused = admin.query_drop(format!("SET USER {wrong}")).unwrap_err();
        assert!(
            refused.to_string().contains("nothing was changed"),
            "{refused}"
        );
    }
    proxy.reload();
    wait_until("the file's limit is back", || {
        limit_of(&proxy, "app", QPS) == "100"
    });
}

#[test]
fn running_statements_of_a_user_are_limited_over_all_workers_and_further_ones_wait() {
    needs!(the_proxy);
    let proxy = proxy_with("max_running = 2", "");
    let most = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let running = limit_of(&proxy, "app", RUNNING).parse().expect("a number");
                most.fetch_max(running, Relaxed);
            }
        });
        let sleepers: Vec<_> = clients(&proxy, "app", "apppw")
            .into_iter()
            .map(|mut conn| scope.spawn(move || conn.query_drop("SELECT SLEEP(0.4)")))
            .collect();
        wait_until("some wait", || limit_of(&proxy, "app", WAITING) != "0");
        // another user runs at once
        proxy
            .client_as("app2", "app2pw")
            .query_drop("SELECT 1")
            .expect("not limited");
        for sleeper in sleepers {
            sleeper.join().expect("no panic").expect("waited and ran");
        }
        done.store(true, Relaxed);
    });
    assert_eq!(most.load(Relaxed), 2);
    assert_eq!(limit_of(&proxy, "app", RUNNING), "0");
    assert_eq!(limit_of(&proxy, "app", WAITING), "0");
}

#[test]
fn a_transaction_goes_on_while_others_wait_for_its_locks() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE OR REPLACE TABLE running_t (a INT PRIMARY KEY, b INT)"]);
    cluster.prepare(&["INSERT INTO running_t VALUES (1, 0)"]);
    let proxy = proxy_with("max_running = 1", "");
    let mut holder = proxy.client();
    holder.query_drop("BEGIN").unwrap();
    holder.query_drop("UPDATE running_t SET b = 1").unwrap();
    let mut blocked = proxy.client();
    std::thread::scope(|scope| {
        let waits = scope.spawn(move || blocked.query_drop("UPDATE running_t SET b = 2"));
        wait_until("it runs", || limit_of(&proxy, "app", RUNNING) == "1");
        // the only place is taken by a statement that waits for this transaction
        holder.query_drop("COMMIT").expect("not held up");
        waits.join().expect("no panic").expect("ran after it");
    });
}

#[test]
fn a_statement_that_waited_too_long_is_told_so_and_a_kill_ends_the_wait() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared()).proxy("lease_timeout_ms = 500");
    config.app = "max_running = 1".into();
    let proxy = config.start();
    let mut sleeper = proxy.client();
    let id = sleeper.connection_id();
    std::thread::scope(|scope| {
        let runs = scope.spawn(move || sleeper.query_drop("SELECT SLEEP(30)"));
        wait_until("it runs", || limit_of(&proxy, "app", RUNNING) == "1");
        let mut late = proxy.client();
        let error = late.query_drop("SELECT 1").unwrap_err();
        assert_eq!(code(&error), 1226, "{error}");
        proxy
            .admin()
            .query_drop(format!("KILL QUERY {id}"))
            .expect("killed");
        let _ = runs.join().expect("no panic");
        late.query_drop("SELECT 1").expect("there is a place again");
    });
}

#[test]
fn a_statement_that_runs_too_long_is_interrupted_and_its_connection_stays() {
    needs!(the_proxy);
    let proxy = proxy_with("max_execution_time_ms = 300", "");
    let mut client = proxy.client();
    let endless = "SELECT COUNT(*) FROM seq_1_to_1000000 endless, seq_1_to_1000000 b WHERE endless.seq + b.seq < 0";
    let error = try_rows(&mut client, endless).unwrap_err();
    assert_eq!(code(&error), 1969, "{error}");
    client.query_drop("BEGIN").unwrap();
    client.query_drop("SET @kept = 5").unwrap();
    let error = try_rows(&mut client, endless).unwrap_err();
    assert_eq!(code(&error), 1969, "{error}");
    assert_eq!(scalar(&mut client, "SELECT @kept"), "5");
    client.query_drop("COMMIT").unwrap();
    // by EXECUTE as well
    let statement = client.prep(endless).unwrap();
    let error = client.exec::<mysql::Row, _, _>(&statement, ()).unwrap_err();
    assert_eq!(code(&error), 1969, "{error}");
    // nothing of it runs any more, and another user is not limited
    for server in &Cluster::shared().servers {
        wait_until("the server is free", || {
            let mut running = common::processes(&mut server.root()).into_iter();
            !running.any(|(_, text)| text.contains("endless"))
        });
    }
    proxy
        .client_as("app2", "app2pw")
        .query_first::<u8, _>("SELECT SLEEP(0.6)")
        .expect("not limited");
}

#[test]
fn a_result_over_its_limit_is_cut_with_an_error_and_the_connection_goes_on() {
    needs!(the_proxy);
    let proxy = proxy_with("max_result_rows = 1000", "");
    let mut client = proxy.client();
    let count = |client: &mut Conn, sql: &str| try_rows(client, sql).map(|rows| rows.len());
    assert_eq!(
        count(&mut client, "SELECT seq FROM seq_1_to_1000").unwrap(),
        1000
    );
    for sql in [
        "SELECT seq FROM seq_1_to_1001",
        "SELECT seq FROM seq_1_to_5000000",
    ] {
        let error = count(&mut client, sql).unwrap_err();
        assert!(error.to_string().contains("max_result_rows"), "{error}");
        assert_eq!(scalar(&mut client, "SELECT 7"), "7");
    }
    // prepared, and inside a transaction, which stays
    client.query_drop("BEGIN").unwrap();
    client.query_drop("SET @kept = 5").unwrap();
    let statement = client
        .prep("SELECT seq, REPEAT('x', 500) FROM seq_1_to_3000000")
        .unwrap();
    let error = client.exec::<mysql::Row, _, _>(&statement, ()).unwrap_err();
    assert!(error.to_string().contains("max_result_rows"), "{error}");
    assert_eq!(scalar(&mut client, "SELECT @kept"), "5");
    client.query_drop("ROLLBACK").unwrap();
    // by bytes: a thousand rows of 1.6 MB
    let mut admin = proxy.admin();
    admin
        .query_drop("SET USER app max_result_bytes = 5000000")
        .unwrap();
    let heavy = "SELECT REPEAT('x', 1600000) FROM seq_1_to_1000";
    wait_until("the new limit holds", || {
        try_rows(&mut client, heavy)
            .is_err_and(|error| error.to_string().contains("max_result_bytes"))
    });
    assert_eq!(
        count(&mut client, "SELECT REPEAT('x', 1600000) FROM seq_1_to_3").unwrap(),
        3
    );
    assert_eq!(scalar(&mut client, "SELECT 7"), "7");
    // another user has all of it
    let mut other = proxy.client_as("app2", "app2pw");
    assert_eq!(
        count(&mut other, "SELECT seq FROM seq_1_to_1001").unwrap(),
        1001
    );
}

#[test]
fn an_idle_transaction_ends_with_its_connection_and_a_large_packet_is_refused() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE OR REPLACE TABLE idle_t (a INT PRIMARY KEY)"]);
    let limits = "[limits]\nidle_transaction_timeout_ms = 300\n";
    let proxy = proxy_with("max_allowed_packet = 4096", limits);
    let mut idle = proxy.client();
    let mut forgotten = proxy.client();
    forgotten.query_drop("BEGIN").unwrap();
    forgotten
        .query_drop("INSERT INTO idle_t VALUES (1)")
        .unwrap();
    wait_until("the transaction is gone", || {
        let sessions = proxy.ask_admin("SHOW SESSIONS");
        let id = forgotten.connection_id().to_string();
        !sessions.iter().any(|row| row[0] == id)
    });
    let error = forgotten.query_drop("COMMIT").unwrap_err();
    assert!(
        !matches!(&error, mysql::Error::MySqlError(e) if e.code != 4031),
        "{error}"
    );
    wait_until("its row is rolled back", || {
        cluster.primary().ask("SELECT COUNT(*) FROM app.idle_t") == "0"
    });
    assert_eq!(scalar(&mut idle, "SELECT 7"), "7");
    let large = format!("SELECT '{}'", "x".repeat(5000));
    let error = idle.query_drop(&large).unwrap_err();
    assert!(
        !matches!(&error, mysql::Error::MySqlError(e) if e.code != 1153),
        "{error}"
    );
    let mut other = proxy.client_as("app2", "app2pw");
    assert_eq!(scalar(&mut other, &large).len(), 5000);
}

#[test]
fn limits_of_the_process_hold_for_all_users_together() {
    needs!(the_proxy);
    let limits = "[limits]\nqps = 100\nmax_running = 2\nmax_result_rows = 1000\nmax_execution_time_ms = 2000\n";
    let proxy = proxy_with("max_result_rows = 50", limits);
    // two users on all workers share one rate
    held_at(100.0, || {
        let mut conns = clients(&proxy, "app", "apppw");
        conns.extend(clients(&proxy, "app2", "app2pw"));
        rate(conns, Duration::from_secs(3))
    });
    // and two places
    let done = AtomicBool::new(false);
    let most = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let running = limit_of(&proxy, "(all)", RUNNING);
                most.fetch_max(running.parse().expect("a number"), Relaxed);
            }
        });
        let mut sleepers = Vec::new();
        for (user, password) in [("app", "apppw"), ("app2", "app2pw")] {
            for mut conn in clients(&proxy, user, password).into_iter().take(3) {
                sleepers.push(scope.spawn(move || conn.query_drop("SELECT SLEEP(0.2)")));
            }
        }
        for sleeper in sleepers {
            sleeper.join().expect("no panic").expect("waited and ran");
        }
        done.store(true, Relaxed);
    });
    assert_eq!(most.load(Relaxed), 2);
    // a user's own limit takes the place of the one for everybody
    for (user, password, rows) in [("app", "apppw", 50), ("app2", "app2pw", 1000)] {
        let mut client = proxy.client_as(user, password);
        let most = format!("SELECT seq FROM seq_1_to_{rows}");
        assert_eq!(try_rows(&mut client, &most).expect("not over").len(), rows);
        let over = format!("SELECT seq FROM seq_1_to_{}", rows + 1);
        let error = try_rows(&mut client, &over).unwrap_err();
        assert!(error.to_string().contains("max_result_rows"), "{error}");
    }
    let mut client = proxy.client_as("app2", "app2pw");
    let endless =
        "SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0";
    let error = try_rows(&mut client, endless).unwrap_err();
    assert_eq!(code(&error), 1969, "{error}");
}

#[test]
fn limits_and_policies_hold_on_mysql() {
    needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let numbers = "WITH RECURSIVE n AS (SELECT 1 a UNION ALL SELECT a + 1 FROM n WHERE a < 900)";
    pair.run(
        0,
        &[
            "CREATE TABLE IF NOT EXISTS app.limit_t (a INT PRIMARY KEY)",
            &format!("INSERT INTO app.limit_t {numbers} SELECT a FROM n"),
        ],
    );
    pair.sync();
    let mut config =
        ProxyConfig::for_ports(vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")]);
    config.app =
        "max_execution_time_ms = 300\nmax_result_rows = 500\nidle_transaction_timeout_ms = 2000"
            .into();
    config.more = "[[policy]]\nname = \"keep where\"\naction = \"deny\"\nusers = [\"app2\"]\nno_where = true\n\
                   [[policy]]\nname = \"whole\"\naction = \"deny\"\nusers = [\"app2\"]\nfull_table_select = true\n\
                   [[policy]]\nname = \"see through\"\naction = \"deny\"\nusers = [\"app2\"]\nopaque = true\n"
        .into();
    let proxy = config.start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    // interrupted, by COM_QUERY and by EXECUTE; the connection stays
    let endless = "SELECT COUNT(*) FROM limit_t a, limit_t b, limit_t c, limit_t d WHERE a.a + b.a + c.a + d.a < 0";
    let error = try_rows(&mut client, endless).unwrap_err();
    assert_eq!(code(&error), 3024, "{error}");
    let statement = client.prep(endless).unwrap();
    let error = client.exec::<mysql::Row, _, _>(&statement, ()).unwrap_err();
    assert_eq!(code(&error), 3024, "{error}");
    for at in 0..2 {
        let running = "SELECT COUNT(*) FROM performance_schema.processlist \
                       WHERE INFO LIKE '%limit_t c%' AND INFO NOT LIKE '%processlist%'";
        wait_until("the server is free", || pair.ask(at, running) == "0");
    }
    // cut between two rows, in a transaction that stays
    client.query_drop("BEGIN").unwrap();
    client.query_drop("SET @kept = 5").unwrap();
    for _ in 0..2 {
        let error = try_rows(&mut client, "SELECT a FROM limit_t").unwrap_err();
        assert!(error.to_string().contains("max_result_rows"), "{error}");
    }
    let statement = client
        .prep("SELECT a, REPEAT('x', 9000) FROM limit_t")
        .unwrap();
    let error = client.exec::<mysql::Row, _, _>(&statement, ()).unwrap_err();
    assert!(error.to_string().contains("max_result_rows"), "{error}");
    assert_eq!(scalar(&mut client, "SELECT @kept"), "5");
    // and ends when its client forgets it
    wait_until("the transaction is gone", || {
        let id = client.connection_id().to_string();
        !proxy
            .ask_admin("SHOW SESSIONS")
            .iter()
            .any(|row| row[0] == id)
    });
    let mut client = proxy.client_as("app2", "app2pw");
    for sql in [
        "DELETE FROM limit_t",
        "/*!80000 DELETE FROM limit_t */",
        "/*!99999 DELETE FROM limit_t */ SELECT 1",
        "WITH c AS (SELECT 1) DELETE FROM limit_t",
        "DELETE\u{b}FROM\u{c}limit_t\r\nWHERE @a OR NOW()",
        "DELETE FROM limit_t WHERE {fn NOW()} > x'41'",
        "PREPARE s FROM 'DELETE FROM limit_t'",
        "SELECT 1; DELETE FROM limit_t",
        "TABLE limit_t",
        "SELECT a FROM limit_t WHERE a = 1 UNION ALL TABLE limit_t",
        "CREATE TABLE limit_u TABLE limit_t",
        "(((SELECT limit_t.* FROM app.limit_t)))",
        "CALL no_such_procedure()",
        "PREPARE s FROM @text",
    ] {
        let error = client.query_drop(sql).unwrap_err();
        assert_eq!(code(&error), 1227, "{sql}: {error}");
    }
    let error = client.prep("DELETE FROM limit_t").unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM limit_t"), "900");
    client
        .query_drop("DELETE FROM limit_t WHERE a = 1")
        .expect("allowed");
}
