//! Many clients: nothing is left behind, nobody waits for a sleeper, the data stay equal.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{needs, process, scalar, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// `make soak` sets UMPIRE_SOAK=1: the full numbers.
fn soak() -> bool {
    std::env::var_os("UMPIRE_SOAK").is_some_and(|v| v == "1")
}

fn proxy_with(keys: &str) -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    for server in &mut config.servers {
        server.2 = keys.into();
    }
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

/// `clients` threads connect, run one query and leave.
fn visit(proxy: &Proxy, clients: usize) {
    std::thread::scope(|scope| {
        for i in 0..clients {
            scope.spawn(move || {
                let mut client = proxy.client();
                assert_eq!(scalar(&mut client, &format!("SELECT {i}")), i.to_string());
            });
        }
    });
}

#[test]
fn clients_that_connect_query_and_leave_leave_nothing_behind() {
    needs!(the_proxy);
    let (clients, rounds) = if soak() { (1000, 100) } else { (100, 12) };
    let proxy = proxy_with("max_connections = 50");
    let pid = proxy.pid();
    // The first rounds fill pools, caches and the allocator's arenas.
    for _ in 0..3 {
        visit(&proxy, clients);
    }
    wait_until("the first clients are gone", || {
        process::open_descriptors(pid) < 400
    });
    let (memory, threads) = (process::resident_bytes(pid), process::threads(pid));
    for _ in 0..rounds {
        visit(&proxy, clients);
    }
    // pools may have grown to their budgets meanwhile: three servers, fifty connections each, and some for
    // listeners, rings and health checks
    const ALL_POOLED: usize = 3 * 50 + 50;
    wait_until("no descriptor is left", || {
        process::open_descriptors(pid) <= ALL_POOLED
    });
    assert_eq!(process::threads(pid), threads);
    let grown = process::resident_bytes(pid).saturating_sub(memory);
    assert!(
        grown < 16 << 20,
        "{} KB more after {} clients",
        grown >> 10,
        clients * rounds
    );
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    assert!(sessions.is_empty(), "{sessions:?}");
}

#[test]
fn sleepers_delay_nobody() {
    needs!(the_proxy);
    let proxy = proxy_with("max_connections = 100");
    let finished = AtomicU32::new(0);
    let sleepers = 60;
    std::thread::scope(|scope| {
        for _ in 0..sleepers {
            let (proxy, finished) = (&proxy, &finished);
            scope.spawn(move || {
                let mut client = proxy.client();
                client.query_drop("SELECT SLEEP(15)").expect("sleeps");
                finished.fetch_add(1, Ordering::Relaxed);
            });
        }
        wait_until("they sleep", || {
            let servers = Cluster::shared().servers.iter();
            let running = servers.flat_map(|s| common::processes(&mut s.root()));
            running
                .filter(|(_, text)| text == "SELECT SLEEP(15)")
                .count()
                >= sleepers as usize
        });
        let mut client = proxy.client();
        for _ in 0..100 {
            assert_eq!(scalar(&mut client, "SELECT 1"), "1");
            drop(proxy.client());
        }
        assert_eq!(
            finished.load(Ordering::Relaxed),
            0,
            "all that while nobody had woken up"
        );
    });
}

#[test]
fn more_clients_than_server_connections_take_turns() {
    needs!(the_proxy);
    Cluster::shared().prepare(&["CREATE TABLE turns (a INT)"]);
    let proxy = proxy_with("max_connections = 3");
    std::thread::scope(|scope| {
        for i in 0..40 {
            let proxy = &proxy;
            scope.spawn(move || {
                let mut client = proxy.client();
                for n in 0..25 {
                    if n % 5 == 0 {
                        client
                            .query_drop(format!("INSERT INTO turns VALUES ({i})"))
                            .expect("writes");
                    }
                    assert_eq!(scalar(&mut client, &format!("SELECT {n}")), n.to_string());
                }
            });
        }
    });
    let server = Cluster::shared().primary();
    assert_eq!(server.ask("SELECT COUNT(*) FROM app.turns"), "200");
    let connected = common::processes(&mut server.root()).into_iter();
    let connected = connected.filter(|(user, _)| user == "app").count();
    assert!(connected <= 3, "over the budget: {connected}");
}

fn sysbench(port: u16, script: &str, ps_mode: &str, arguments: &[&str]) -> String {
    let output = Command::new(common::server::find_program("sysbench"))
        .args([
            script,
            "--mysql-host=127.0.0.1",
            "--mysql-user=app",
            "--mysql-password=apppw",
        ])
        .args(["--mysql-db=sbtest", "--tables=2", "--table-size=2000"])
        .arg(format!("--mysql-port={port}"))
        .arg(format!("--db-ps-mode={ps_mode}"))
        .args(arguments)
        .output()
        .expect("sysbench runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{script} {ps_mode}: {text}");
    text
}

#[test]
fn sysbench_runs_without_one_error_and_leaves_equal_data() {
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster).timer(300).start();
    proxy.wait_for_readers(&[2, 3]);
    sysbench(proxy.port, "oltp_read_write", "disable", &["prepare"]);
    cluster.sync();
    let time = if soak() { "--time=60" } else { "--time=4" };
    for script in [
        "oltp_read_only",
        "oltp_read_write",
        "oltp_update_index",
        "oltp_insert",
    ] {
        for ps_mode in ["disable", "auto"] {
            let run = ["--threads=16", time, "run"];
            let said = sysbench(proxy.port, script, ps_mode, &run);
            // Deadlocks of its own transactions are all that sysbench may ignore.
            assert!(
                said.contains("reconnects:                          0"),
                "{said}"
            );
        }
    }
    cluster.sync();
    let checksum = "CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2";
    let expected = common::rows(&mut cluster.primary().root(), checksum);
    for replica in cluster.replicas() {
        assert_eq!(
            common::rows(&mut replica.root(), checksum),
            expected,
            "replica {}",
            replica.id
        );
    }
    assert!(proxy.is_alive());
    proxy.stop_cleanly(std::time::Duration::from_secs(30));
}
