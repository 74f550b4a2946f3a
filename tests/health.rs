//! The proxy follows the servers: who lives, who lags, who is writable.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::cluster::client_options;
use common::{needs, pause, scalar, wait_until, Cluster, Proxy, ProxyConfig, RawClient};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::time::{Duration, Instant};

fn table(cluster: &Cluster) {
    cluster.prepare(&["CREATE TABLE IF NOT EXISTS t (a INT)"]);
}

/// Waits until `count` reads in a row stay off server `id`; every read must succeed.
fn wait_until_unused(proxy: &Proxy, id: u32) {
    let mut client = proxy.client();
    wait_until(&format!("no read goes to server {id}"), || {
        !proxy.readers(&mut client, 40).contains(&id)
    });
}

fn assert_stays_unused(proxy: &Proxy, id: u32) {
    let mut client = proxy.client();
    for _ in 0..10 {
        assert!(!proxy.readers(&mut client, 20).contains(&id));
    }
}

#[test]
fn a_replica_that_stops_gets_no_reads_and_comes_back() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    for _ in 0..2 {
        cluster.servers[1].stop();
        // No read fails, before the proxy has noticed and after.
        for _ in 0..100 {
            assert_eq!(scalar(&mut client, "SELECT @@server_id"), "3");
        }
        cluster.servers[1].launch();
        cluster.servers[1].wait_until_up();
        cluster.servers[1].run(&["SET GLOBAL read_only = 1"]);
        proxy.wait_for_readers(&[2]);
    }
}

#[test]
fn without_any_replica_reads_go_to_the_primary() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    cluster.servers[1].kill();
    for _ in 0..50 {
        assert_eq!(scalar(&mut client, "SELECT @@server_id"), "1");
    }
}

#[test]
fn a_replica_whose_replication_has_stopped_gets_no_new_reads() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    for stop in ["STOP SLAVE SQL_THREAD", "STOP SLAVE IO_THREAD"] {
        cluster.servers[1].run(&[stop]);
        wait_until_unused(&proxy, 2);
        assert_stays_unused(&proxy, 2);
        cluster.servers[1].run(&["START SLAVE"]);
        proxy.wait_for_readers(&[2]);
    }
}

#[test]
fn a_lagging_replica_gets_no_new_reads_but_running_ones_finish() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    table(&cluster);
    let mut config = ProxyConfig::new(&cluster);
    config.max_replica_lag_ms = 1000;
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    // Reads that are under way on both replicas while one of them falls behind.
    let running: Vec<_> = (0..6)
        .map(|_| {
            let mut client = proxy.client();
            std::thread::spawn(move || {
                client.query_first::<(u32, u32), _>("SELECT SLEEP(6), @@server_id")
            })
        })
        .collect();
    cluster.servers[1].run(&[
        "STOP SLAVE",
        "CHANGE MASTER TO MASTER_DELAY = 3600",
        "START SLAVE",
    ]);
    cluster.primary().run(&["INSERT INTO app.t VALUES (1)"]);
    wait_until("the replica lags", || {
        let status = common::rows(&mut cluster.servers[1].root(), "SHOW SLAVE STATUS");
        status[0][32].parse::<u32>().is_ok_and(|lag| lag > 2)
    });
    wait_until_unused(&proxy, 2);
    assert_stays_unused(&proxy, 2);
    for read in running {
        let row = read
            .join()
            .expect("no panic")
            .expect("running reads finish");
        assert_eq!(row.map(|r| r.0), Some(0));
    }
    cluster.servers[1].run(&[
        "STOP SLAVE",
        "CHANGE MASTER TO MASTER_DELAY = 0",
        "START SLAVE",
    ]);
    proxy.wait_for_readers(&[2]);
}

/// The time from read-only on the old primary to writable on the new one; checks are every 100 ms.
fn switch_with_a_gap_of(gap: Duration) {
    let cluster = Cluster::start(2);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    assert_eq!(writes_on(&mut client), Some(1));
    cluster.servers[0].run(&["SET GLOBAL read_only = 1"]);
    pause(gap);
    cluster.servers[1].run(&["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"]);
    wait_until("writes go to server 2", || {
        writes_on(&mut client) == Some(2)
    });
    for _ in 0..20 {
        assert_eq!(writes_on(&mut client), Some(2));
    }
    let locked: Option<u32> = client
        .query_first("SELECT @@server_id FROM t FOR UPDATE")
        .expect("locks");
    assert_eq!(locked, Some(2));
}

#[test]
fn the_writable_server_is_the_primary_whatever_its_role_says() {
    needs!(the_proxy);
    switch_with_a_gap_of(Duration::from_secs(1));
}

#[test]
fn a_switch_quicker_than_one_check_is_no_alarm() {
    needs!(the_proxy);
    // Never were two servers writable; a proxy that compares an old look with a new one thinks so.
    switch_with_a_gap_of(Duration::ZERO);
}

/// The server that took a write; None when it failed.
fn writes_on(client: &mut Conn) -> Option<u32> {
    client
        .query_drop("INSERT INTO t VALUES (@@server_id)")
        .ok()?;
    client
        .query_first("SELECT @@server_id FROM t LIMIT 1 FOR UPDATE")
        .ok()
        .flatten()
}

#[test]
fn two_writable_servers_are_an_alarm_and_change_nothing() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    cluster.servers[1].run(&["SET GLOBAL read_only = 0"]);
    proxy.wait_for_log("writable");
    let mut client = proxy.client();
    for _ in 0..50 {
        assert_eq!(writes_on(&mut client), Some(1));
    }
    assert_eq!(
        cluster.servers[1].ask("SELECT COUNT(*) FROM app.t WHERE a = 2"),
        "0"
    );
}

#[test]
fn without_a_primary_writes_fail_clearly_at_their_deadline_and_reads_go_on() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster)
        .proxy("lease_timeout_ms = 1500")
        .start();
    proxy.wait_for_readers(&[2, 3]);
    let mut writer = proxy.client();
    let mut reader = proxy.client();
    writer
        .query_drop("INSERT INTO t VALUES (1)")
        .expect("INSERT");
    cluster.primary().kill();
    // The first may meet the connection that just broke; the second finds no primary.
    writer.query_drop("INSERT INTO t VALUES (2)").ok();
    let mut writer = proxy.client();
    let started = Instant::now();
    let error = writer
        .query_drop("INSERT INTO t VALUES (3)")
        .expect_err("no primary");
    assert!(
        started.elapsed() > Duration::from_millis(1400),
        "waited: {error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("Umpire") && text.contains("primary"),
        "{text}"
    );
    for _ in 0..50 {
        let id = scalar(&mut reader, "SELECT @@server_id");
        assert!(id == "2" || id == "3");
    }
    cluster.primary().launch();
    cluster.primary().wait_until_up();
    wait_until("writes work again", || {
        writer.query_drop("INSERT INTO t VALUES (4)").is_ok()
    });
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.t WHERE a = 3"),
        "0"
    );
}

#[test]
fn writes_wait_for_a_primary_that_comes_back_in_time() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster)
        .proxy("lease_timeout_ms = 60000")
        .start();
    proxy.wait_for_readers(&[2]);
    let options = client_options(proxy.port);
    cluster.primary().kill();
    // Long enough for the proxy to know.
    let mut reader = proxy.client();
    for _ in 0..20 {
        scalar(&mut reader, "SELECT 1");
        pause(Duration::from_millis(50));
    }
    let waiting: Vec<_> = (0..5)
        .map(|i| {
            let mut client = Conn::new(options.clone()).expect("login needs no primary");
            std::thread::spawn(move || {
                client.query_drop(format!("INSERT INTO t VALUES ({})", 100 + i))
            })
        })
        .collect();
    pause(Duration::from_millis(300));
    cluster.primary().launch();
    for write in waiting {
        write.join().expect("no panic").expect("the write waited");
    }
    assert_eq!(
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.t WHERE a >= 100"),
        "5"
    );
}

#[test]
fn a_server_that_refuses_new_connections_is_not_dead() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    table(&cluster);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    let mut client = proxy.client();
    assert_eq!(writes_on(&mut client), Some(1));
    // root takes the one connection above the limit.
    for server in &cluster.servers {
        server.run(&["SET GLOBAL max_connections = 20"]);
    }
    let mut crowd: Vec<Conn> = Vec::new();
    for server in &cluster.servers {
        while let Ok(one) = Conn::new(
            client_options(server.port)
                .user(Some("nobody"))
                .pass(Some("")),
        ) {
            crowd.push(one);
            assert!(crowd.len() < 100, "the limit holds");
        }
    }
    // Many checks of the monitor later:
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        assert_eq!(
            writes_on(&mut client),
            Some(1),
            "the pool's connection still works"
        );
        scalar(&mut client, "SELECT @@server_id");
    }
    drop(crowd);
    for server in &cluster.servers {
        server.run(&["SET GLOBAL max_connections = 400"]);
    }
    proxy.wait_for_readers(&[2]);
}

#[test]
fn a_server_that_answers_nothing_is_left_and_taken_back() {
    needs!(the_proxy);
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster)
        .proxy("connect_timeout_ms = 500\nlogin_timeout_ms = 1000")
        .start();
    proxy.wait_for_readers(&[2, 3]);
    cluster.servers[1].freeze();
    // Reads that had just been sent to it wait; new clients must soon be served by others.
    wait_until("twenty new clients in a row are served at once", || {
        (0..20).all(|_| {
            let options = client_options(proxy.port).read_timeout(Some(Duration::from_millis(800)));
            let id =
                Conn::new(options).and_then(|mut c| c.query_first::<u32, _>("SELECT @@server_id"));
            matches!(id, Ok(Some(3)))
        })
    });
    cluster.servers[1].thaw();
    proxy.wait_for_readers(&[2]);
}

#[test]
fn a_start_without_any_server_greets_later_and_does_not_exit() {
    needs!(the_proxy);
    let cluster = Cluster::start(0);
    table(&cluster);
    cluster.primary().stop();
    let config = ProxyConfig::new(&cluster).proxy("lease_timeout_ms = 60000");
    let starting = std::thread::spawn(move || {
        // start() waits for the greeting.
        config.start()
    });
    pause(Duration::from_millis(500));
    cluster.primary().launch();
    let proxy = starting.join().expect("starts");
    let mut client = proxy.client();
    client
        .query_drop("INSERT INTO t VALUES (1)")
        .expect("INSERT");
}

#[test]
fn a_client_that_comes_before_any_server_is_greeted_as_by_one_or_told_why_not() {
    needs!(the_proxy);
    let cluster = Cluster::start(0);
    cluster.prepare(&["CREATE PROCEDURE app.two() BEGIN SELECT 1; SELECT 2; END"]);
    cluster.primary().stop();
    let impatient = Proxy::launch(&ProxyConfig::new(&cluster).proxy("lease_timeout_ms = 200"));
    let patient = Proxy::launch(&ProxyConfig::new(&cluster).proxy("lease_timeout_ms = 60000"));
    for proxy in [&impatient, &patient] {
        proxy.wait_for_log("ready for clients");
    }
    let refused = RawClient::open(impatient.port).err().expect("refused");
    let error = refused.server();
    let why = "group 'main' has no writable primary and none appeared within 200 ms (server ";
    assert!(
        error.code == 1053 && error.message.contains(why),
        "{error:?}"
    );
    let port = patient.port;
    let early = std::thread::spawn(move || RawClient::connect(port));
    wait_until("a client that waits", || {
        let accepted =
            |line: &str| line.starts_with("umpire_clients_accepted_total") && !line.ends_with(" 0");
        patient.http("/metrics").1.lines().any(accepted)
    });
    cluster.primary().launch();
    let mut early = early.join().expect("greeted");
    assert!(early.hello.version.contains("MariaDB"), "{:?}", early.hello);
    let sets = early.query("CALL two()").expect("a reply").sets;
    assert_eq!(sets.len(), 3, "two results and an OK");
    patient.assert_no_panic();
}

#[test]
fn the_monitors_stop_shows_in_no_users_session_count() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2]);
    // Health checks go over kept connections: none is opened for a check.
    let connections = |i: usize| -> u64 {
        let ask = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'CONNECTIONS'";
        cluster.servers[i].ask(ask).parse().expect("a number")
    };
    let before = connections(0);
    pause(Duration::from_secs(2));
    // Twenty checks at 100 ms; our own two questions are the difference.
    assert!(connections(0) - before <= 5, "a connection for every check");
}
