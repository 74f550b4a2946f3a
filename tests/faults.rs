//! Broken connections, killed servers, reloads and stops: what the client sees, and what it
//! must never see.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{
    code, needs, pause, rows, scalar, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient,
};
use mysql::prelude::Queryable;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

fn table(cluster: &Cluster) {
    cluster.prepare(&["CREATE TABLE IF NOT EXISTS t (a INT)"]);
}

/// Cuts every client connection of a server, as a firewall or an administrator would.
fn cut_connections(cluster: &Cluster, index: usize) {
    let mut root = cluster.servers[index].root();
    for row in rows(&mut root, "SHOW PROCESSLIST") {
        if row[1].starts_with("app") {
            root.query_drop(format!("KILL {}", row[0])).ok();
        }
    }
}

#[test]
fn a_replica_killed_in_a_run_of_reads_costs_no_client_an_error() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    cluster.prepare(&[
        "CREATE TABLE points (a INT PRIMARY KEY, b INT)",
        "INSERT INTO points SELECT seq, seq FROM seq_1_to_1000",
    ]);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    let stop = AtomicBool::new(false);
    let reads = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for i in 0..16u32 {
            let (proxy, stop, reads) = (&proxy, &stop, &reads);
            scope.spawn(move || {
                let mut client = proxy.client();
                let prepared = client
                    .prep("SELECT b FROM points WHERE a = ?")
                    .expect("prepares");
                let mut n = i;
                while !stop.load(Ordering::Relaxed) {
                    n = n % 1000 + 1;
                    let row: Option<u32> = if i % 2 == 0 {
                        client
                            .query_first(format!("SELECT b FROM points WHERE a = {n}"))
                            .expect("no error")
                    } else {
                        client.exec_first(&prepared, (n,)).expect("no error")
                    };
                    assert_eq!(row, Some(n));
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let count = |more: u32| {
            let goal = reads.load(Ordering::Relaxed) + more;
            let came =
                common::holds_within(common::PATIENCE, || reads.load(Ordering::Relaxed) >= goal);
            if !came {
                stop.store(true, Ordering::Relaxed);
            }
            assert!(came, "reads go on");
        };
        count(2000);
        cluster.servers[1].kill();
        count(2000);
        cluster.servers[1].launch();
        cluster.servers[1].wait_until_up();
        count(500);
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn server_connections_cut_while_idle_are_noticed_before_use() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    for _ in 0..20 {
        scalar(&mut client, "SELECT 1");
        client
            .query_drop("INSERT INTO t VALUES (1)")
            .expect("INSERT");
        cut_connections(&cluster, 0);
        cut_connections(&cluster, 1);
        client
            .query_drop("INSERT INTO t VALUES (1)")
            .expect("a write after the cut");
        assert_eq!(scalar(&mut client, "SELECT 1"), "1");
    }
    assert_eq!(
        cluster.primary().ask("SELECT COUNT(*) FROM app.t"),
        "40",
        "no write ran twice"
    );
}

#[test]
fn settings_and_statements_come_back_after_a_cut() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    client
        .query_drop("SET SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+04:00'")
        .expect("SET");
    client.query_drop("USE other").expect("USE");
    let prepared = client.prep("SELECT ?, @@time_zone").expect("prepares");
    let ask = "SELECT @@sql_mode, @@time_zone, DATABASE()";
    for _ in 0..10 {
        assert_eq!(rows(&mut client, ask), [["ANSI_QUOTES", "+04:00", "other"]]);
        let row: Option<(i32, String)> = client.exec_first(&prepared, (7,)).expect("executes");
        assert_eq!(row, Some((7, "+04:00".into())));
        cut_connections(&cluster, 0);
        cut_connections(&cluster, 1);
    }
}

#[test]
fn a_cut_in_a_transaction_is_an_error_and_nothing_of_it_stays() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    for next in ["INSERT INTO t VALUES (2)", "SELECT 1", "COMMIT"] {
        let mut client = proxy.client();
        client.query_drop("BEGIN").expect("BEGIN");
        client
            .query_drop("INSERT INTO t VALUES (1)")
            .expect("INSERT");
        cut_connections(&cluster, 0);
        let error = client
            .query_drop(next)
            .expect_err("the transaction is lost");
        if let mysql::Error::MySqlError(e) = &error {
            assert!(
                [1158, 2013, 2006, 1053, 1105, 1927, 1317].contains(&e.code),
                "{next}: {e}"
            );
        }
    }
    assert_eq!(cluster.primary().ask("SELECT COUNT(*) FROM app.t"), "0");
}

#[test]
fn a_killed_statement_is_not_run_again() {
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let word = common::marker();
    let sql = format!("SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b /* {word} */");
    let mut client = proxy.client();
    let running = std::thread::spawn(move || client.query_first::<mysql::Row, _>(sql));
    let mut killed = false;
    wait_until("the statement is seen and killed", || {
        for server in &cluster.servers {
            let mut root = server.root();
            for row in rows(&mut root, "SHOW FULL PROCESSLIST") {
                if row[7].contains(&word) && row[1].starts_with("app") {
                    root.query_drop(format!("KILL QUERY {}", row[0]))
                        .expect("KILL");
                    killed = true;
                }
            }
        }
        killed
    });
    let error = running
        .join()
        .expect("no panic")
        .map(|_| ())
        .expect_err("interrupted");
    assert_eq!(code(&error), 1317);
    assert_eq!(cluster.where_did_it_go(&word).len(), 1);
}

#[test]
fn a_write_that_was_under_way_when_the_primary_died_is_not_repeated() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let word = common::marker();
    let sql = format!("INSERT INTO t SELECT 7 + SLEEP(5) /* {word} */");
    let mut client = proxy.client();
    let running = std::thread::spawn(move || client.query_drop(sql));
    wait_until("the write runs", || cluster.where_did_it_go(&word) == [1]);
    cluster.primary().kill();
    running
        .join()
        .expect("no panic")
        .expect_err("its fate is unknown: an error");
    cluster.primary().launch();
    cluster.primary().wait_until_up();
    let mut client = proxy.client();
    wait_until("writes work again", || {
        client.query_drop("INSERT INTO t VALUES (1)").is_ok()
    });
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.t WHERE a = 7"),
        "0"
    );
    assert_eq!(cluster.where_did_it_go(&word), [1], "sent once");
}

#[test]
fn a_result_cut_in_the_middle_is_an_error_not_a_short_result() {
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut client = RawClient::connect(proxy.port);
    client
        .send_command(0x03, b"SELECT REPEAT('x', 100000) FROM seq_1_to_2000")
        .expect("sends");
    for _ in 0..20 {
        client.read_packet().expect("the result has begun");
    }
    for server in &cluster.servers {
        server.kill();
    }
    let mut rows = 0;
    let ended_well = loop {
        match client.read_packet() {
            Err(_) => break false,
            Ok(p) if p.first() == Some(&0xff) => break false,
            Ok(p) if p.first() == Some(&0xfe) && p.len() < 9 => break true,
            Ok(_) => rows += 1,
        }
    };
    assert!(!ended_well, "{rows} of 2000 rows passed for a whole result");
}

#[test]
fn replicas_that_refuse_logins_leave_reads_to_others() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    cluster.servers[1].run(&["SET sql_log_bin = 0", "SET GLOBAL read_only = 0"]);
    let mut root = cluster.servers[1].root();
    root.query_drop("SET sql_log_bin = 0").expect("SET");
    root.query_drop("ALTER USER app@'%' ACCOUNT LOCK")
        .expect("ALTER");
    root.query_drop("SET GLOBAL read_only = 1").expect("SET");
    cut_connections(&cluster, 1);
    // Each client is served, or told the server's own reason; nobody hangs.
    for _ in 0..20 {
        let client = proxy.try_client(proxy.options());
        match client.and_then(|mut c| c.query_first::<u32, _>("SELECT @@server_id")) {
            Ok(id) => assert_ne!(id, Some(2)),
            Err(e) => assert_eq!(code(&e), 4151, "{e}"),
        }
    }
    assert!(proxy.is_alive());
}

#[test]
fn a_reload_takes_new_users_and_weights_and_drops_no_session() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    cluster.prepare(&[
        "CREATE USER late@'%' IDENTIFIED BY 'latepw'",
        "GRANT ALL ON app.* TO late@'%'",
    ]);
    let mut config = ProxyConfig::new(&cluster);
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let mut old = proxy.client();
    old.query_drop("SET @kept = 5").expect("SET");
    let mut transaction = proxy.client();
    transaction.query_drop("BEGIN").expect("BEGIN");
    let login = Login::default().user("late", "latepw");
    assert!(RawClient::login(proxy.port, &login).is_err());
    config.more = "\n[[user]]\nname = \"late\"\npassword = \"latepw\"\ngroup = \"main\"\n".into();
    config.servers[1].2 = "weight = 0".into();
    proxy.write_config(&config);
    proxy.reload();
    wait_until("the new user is known", || {
        RawClient::login(proxy.port, &login).is_ok()
    });
    assert_eq!(scalar(&mut old, "SELECT @kept"), "5");
    transaction
        .query_drop("COMMIT")
        .expect("the session lives on");
    wait_until("weight 0 takes no reads", || {
        !proxy.readers(&mut old, 40).contains(&2)
    });
    // A user that is gone from the file may not log in again.
    config.more.clear();
    proxy.write_config(&config);
    proxy.reload();
    wait_until("the user is gone", || {
        RawClient::login(proxy.port, &login).is_err()
    });
}

#[test]
fn a_bad_file_changes_nothing_and_is_named() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    let proxy = ProxyConfig::new(cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    let good = proxy.config_text();
    for bad in [
        "[proxy",
        "[proxy]\nlisten = []\n",
        &good.replace("read_write_split", "read_write_splat"),
        &good.replace("group = \"main\"", "group = \"gone\""),
        "",
    ] {
        let before = proxy.stderr().len();
        proxy.write_config_text(bad);
        proxy.reload();
        wait_until("the log names the file", || {
            proxy.stderr()[before..].contains("umpire.toml")
        });
        assert!(proxy.is_alive());
        assert_eq!(scalar(&mut client, "SELECT 1"), "1");
        assert_eq!(
            scalar(&mut proxy.client(), "SELECT CURRENT_USER()"),
            "app@%"
        );
    }
}

#[test]
fn sigterm_lets_running_statements_and_transactions_end() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut sleeper = proxy.client();
    let mut transaction = proxy.client();
    let mut idle = RawClient::connect(proxy.port);
    transaction.query_drop("BEGIN").expect("BEGIN");
    transaction
        .query_drop("INSERT INTO t VALUES (1)")
        .expect("INSERT");
    let running = std::thread::spawn(move || sleeper.query_first::<u32, _>("SELECT SLEEP(2)"));
    wait_until("it runs", || {
        cluster.servers.iter().any(|s| {
            rows(&mut s.root(), "SHOW PROCESSLIST")
                .iter()
                .any(|r| r[7].contains("SLEEP(2)"))
        })
    });
    proxy.signal("TERM");
    assert!(
        idle.closed_within(Duration::from_secs(20)),
        "an idle client is let go"
    );
    wait_until("no new client is taken", || {
        RawClient::login(proxy.port, &Login::default()).is_err()
    });
    transaction
        .query_drop("INSERT INTO t VALUES (2)")
        .expect("the transaction goes on");
    transaction.query_drop("COMMIT").expect("COMMIT");
    assert_eq!(
        running.join().expect("no panic").expect("finishes"),
        Some(0)
    );
    assert_eq!(
        proxy.wait_for_exit(Duration::from_secs(20)),
        Some(0),
        "{}",
        proxy.stderr()
    );
    proxy.assert_no_panic();
    assert_eq!(cluster.primary().ask("SELECT COUNT(*) FROM app.t"), "2");
}

#[test]
fn the_drain_ends_at_its_deadline() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    table(cluster);
    let proxy = ProxyConfig::new(cluster)
        .proxy("drain_timeout_ms = 1000")
        .start();
    proxy.wait_for_readers(&[2, 3]);
    let mut stuck = proxy.client();
    stuck.query_drop("BEGIN").expect("BEGIN");
    stuck
        .query_drop("INSERT INTO t VALUES (77)")
        .expect("INSERT");
    proxy.stop_cleanly(Duration::from_secs(20));
    wait_until("its transaction is rolled back", || {
        // InnoDB makes this table anew only when nobody has read it for 100 ms
        common::pause(Duration::from_millis(150));
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM information_schema.innodb_trx")
            == "0"
    });
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.t WHERE a = 77"),
        "0"
    );
}

#[test]
fn a_stopped_and_continued_proxy_carries_on() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared()).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    proxy.signal("STOP");
    pause(Duration::from_secs(3));
    proxy.signal("CONT");
    for _ in 0..20 {
        assert_eq!(scalar(&mut client, "SELECT 'alive'"), "alive");
        client
            .query_drop("DO 1")
            .expect("the primary is still the primary");
    }
}

fn umpire(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_umpire"))
        .args(arguments)
        .output()
        .expect("runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn check_accepts_a_good_file_and_names_line_and_key_of_a_bad_one() {
    needs!(the_proxy);
    let proxy: &Proxy = Proxy::shared();
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("x.toml");
    let path = file.to_string_lossy().into_owned();
    std::fs::write(&file, proxy.config_text()).expect("writes");
    let (status, said) = umpire(&["check", &path]);
    assert_eq!(status, Some(0), "{said}");
    let wrong = proxy
        .config_text()
        .replace("read_write_split", "read_write_splitt");
    let line = 1 + wrong
        .lines()
        .position(|l| l.contains("splitt"))
        .expect("is there");
    std::fs::write(&file, wrong).expect("writes");
    for arguments in [&["check", path.as_str()][..], &["--config", &path]] {
        let (status, said) = umpire(arguments);
        assert!(matches!(status, Some(1 | 2)), "{said}");
        assert!(said.contains(&format!("x.toml:{line}")), "{said}");
        assert!(
            said.contains("read_write_splitt") && said.contains("read_write_split"),
            "{said}"
        );
    }
    let (status, said) = umpire(&["check", "/nonexistent/file.toml"]);
    assert!(
        status != Some(0) && said.contains("/nonexistent/file.toml"),
        "{said}"
    );
    let (status, said) = umpire(&["--version"]);
    assert_eq!(
        (status, said.trim()),
        (Some(0), concat!("umpire ", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn a_port_in_use_is_a_clear_start_up_error() {
    needs!(the_proxy);
    let proxy: &Proxy = Proxy::shared();
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("x.toml");
    // The admin port is not shared between processes.
    std::fs::write(&file, proxy.config_text()).expect("writes");
    let (status, said) = umpire(&["--config", &file.to_string_lossy()]);
    assert!(status.is_some_and(|s| s != 0), "{said}");
    assert!(said.contains("127.0.0.1:"), "{said}");
}
