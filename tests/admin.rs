//! Looking in from outside: admin SQL from the ordinary clients, metrics and health pages.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{code, needs, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use std::process::Command;
use std::time::Duration;

/// One admin statement through the command-line client: column names, then rows.
fn cli(proxy: &Proxy, sql: &str) -> Vec<Vec<String>> {
    let output = Command::new(common::server::find_program("mariadb"))
        .args(["--no-defaults", "-h127.0.0.1", "-uadmin", "-padminpw", "-B"])
        .arg(format!("-P{}", proxy.admin_port))
        .args(["-e", sql])
        .output()
        .expect("mariadb runs");
    assert!(
        output.status.success(),
        "{sql}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .map(|l| l.split('\t').map(str::to_string).collect())
        .collect()
}

fn any_cell(rows: &[Vec<String>], wanted: &str) -> bool {
    rows.iter()
        .flatten()
        .any(|cell| cell.to_lowercase().contains(&wanted.to_lowercase()))
}

#[test]
fn show_servers_lists_each_with_its_role() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let shown = cli(proxy, "SHOW SERVERS");
    assert_eq!(shown.len(), 4, "{shown:?}");
    for (i, server) in Cluster::shared().servers.iter().enumerate() {
        let address = format!("127.0.0.1:{}", server.port);
        let row = shown
            .iter()
            .find(|r| r.contains(&address))
            .unwrap_or_else(|| panic!("{address}: {shown:?}"));
        let role = if i == 0 { "primary" } else { "replica" };
        assert!(any_cell(std::slice::from_ref(row), role), "{row:?}");
    }
    let again = cli(proxy, "show servers;");
    assert_eq!(again[0], shown[0]);
    assert_eq!(
        again.len(),
        shown.len(),
        "the numbers of connections may have changed"
    );
}

#[test]
fn show_sessions_says_why_a_session_is_pinned() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    client.query_drop("BEGIN").expect("BEGIN");
    client.query_drop("SELECT 1").expect("SELECT");
    let shown = cli(proxy, "SHOW SESSIONS");
    assert!(any_cell(&shown, "transaction"), "{shown:?}");
    client.query_drop("COMMIT").expect("COMMIT");
    client
        .query_drop("CREATE TEMPORARY TABLE pinned (a INT)")
        .expect("CREATE");
    let shown = cli(proxy, "SHOW SESSIONS");
    assert!(any_cell(&shown, "temporary"), "{shown:?}");
    assert!(any_cell(&shown, "app"), "{shown:?}");
}

#[test]
fn show_pools_and_status_show_the_work_done() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = proxy.client();
    for _ in 0..10 {
        client.query_drop("SELECT 1").expect("SELECT");
    }
    let pools = cli(proxy, "SHOW POOLS");
    let ports = Cluster::shared()
        .servers
        .iter()
        .map(|s| format!("127.0.0.1:{}", s.port));
    assert!(ports.into_iter().any(|p| any_cell(&pools, &p)), "{pools:?}");
    let status = cli(proxy, "SHOW STATUS");
    assert!(status.len() > 5, "{status:?}");
    assert!(
        status[1..]
            .iter()
            .any(|r| r.len() == 2 && r[1].parse::<f64>().is_ok_and(|n| n > 0.0)),
        "{status:?}"
    );
}

#[test]
fn explain_route_tells_the_decision_and_its_reason() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    for (sql, way) in [
        ("SELECT a FROM t", "replica"),
        ("SELECT a FROM t FOR UPDATE", "primary"),
        ("INSERT INTO t VALUES (1)", "primary"),
        ("/* umpire:primary */ SELECT 1", "primary"),
        ("CALL p()", "primary"),
        ("FROBNICATE", "primary"),
    ] {
        let mut admin = proxy.admin();
        let shown = common::rows(&mut admin, &format!("EXPLAIN ROUTE {sql}"));
        assert!(any_cell(&shown, way), "{sql}: {shown:?}");
    }
}

#[test]
fn the_admin_port_has_its_own_account() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let options = common::cluster::client_options(proxy.admin_port).db_name(None::<String>);
    for (user, password) in [("app", "apppw"), ("admin", "wrong"), ("admin", "")] {
        let login = options.clone().user(Some(user)).pass(Some(password));
        let error = mysql::Conn::new(login).map(|_| ()).expect_err("refused");
        assert_eq!(code(&error), 1045, "{user}/{password}");
    }
    let error = common::try_rows(&mut proxy.admin(), "SELECT * FROM shop.orders")
        .map(|_| ())
        .expect_err("not served");
    assert!(!error.to_string().is_empty());
    assert_eq!(cli(proxy, "SHOW SERVERS").len(), 4, "still there");
}

#[test]
fn a_client_ports_login_is_no_way_to_admin() {
    needs!(the_proxy);
    let options = common::cluster::client_options(Proxy::shared().port);
    let login = options.user(Some("admin")).pass(Some("adminpw"));
    let error = mysql::Conn::new(login).map(|_| ()).expect_err("refused");
    assert_eq!(code(&error), 1045);
}

#[test]
fn metrics_are_in_prometheus_text_and_count() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    let total = || -> f64 {
        let (status, body) = proxy.http("/metrics");
        assert_eq!(status, 200);
        for line in body
            .lines()
            .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
        {
            let value = line.rsplit(' ').next().expect("a value");
            assert!(value.parse::<f64>().is_ok() || value == "+Inf", "{line}");
            assert!(
                line.starts_with("umpire_") || line.starts_with("process_"),
                "{line}"
            );
        }
        let counters = body
            .lines()
            .filter(|l| l.starts_with("umpire_") && l.contains("_total"));
        counters
            .filter_map(|l| l.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    };
    let before = total();
    let mut client = proxy.client();
    for _ in 0..100 {
        client.query_drop("SELECT 1").expect("SELECT");
    }
    wait_until("the counters move", || total() >= before + 100.0);
}

#[test]
fn healthz_answers_while_the_proxy_serves() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    assert_eq!(proxy.http("/healthz").0, 200);
    assert_eq!(proxy.http("/no/such/page").0, 404);
}

#[test]
fn shutdown_over_the_admin_port_stops_as_sigterm_does() {
    needs!(the_proxy);
    let proxy = ProxyConfig::new(Cluster::shared()).start();
    proxy.wait_for_readers(&[2, 3]);
    proxy.admin().query_drop("SHUTDOWN").ok();
    assert_eq!(
        proxy.wait_for_exit(Duration::from_secs(30)),
        Some(0),
        "{}",
        proxy.stderr()
    );
    proxy.assert_no_panic();
}

#[test]
fn the_admin_port_answers_while_every_server_connection_is_taken() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    for server in &mut config.servers {
        server.2 = "max_connections = 2".into();
    }
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            let (proxy, stop) = (&proxy, &stop);
            scope.spawn(move || {
                let mut client = proxy.client();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    client
                        .query_drop("SELECT SLEEP(0.1)")
                        .expect("waits its turn");
                }
            });
        }
        for _ in 0..20 {
            assert_eq!(cli(&proxy, "SHOW SERVERS").len(), 4);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
