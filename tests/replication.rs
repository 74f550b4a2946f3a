//! Replicas and binary log readers attach through the proxy as they do to a server.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::{needs, rows, scalar, tls, wait_until, Cluster, Proxy, ProxyConfig};
use std::process::{Command, Stdio};

/// A row that needs two packets.
const LARGE: usize = 17 << 20;

/// In front of the primary alone, with the account that replicas use, and TLS, which MySQL's want.
fn proxy_before(port: u16) -> Proxy {
    let mut config = ProxyConfig::for_ports(vec![(port, "primary")]);
    config.more = format!(
        "{}\n[[user]]\nname = \"repl\"\npassword = \"replpw\"\ngroup = \"main\"\n",
        tls::section("")
    );
    let proxy = config.start();
    proxy.wait_for_readers(&[1]);
    proxy
}

fn session_of_the_replica(proxy: &Proxy) -> Option<Vec<String>> {
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    sessions
        .into_iter()
        .find(|row| row[2] == "repl" && row[8].contains("replication"))
}

#[test]
fn a_mariadb_replica_follows_through_the_proxy_with_semi_synchronous_acknowledgements() {
    needs!(the_proxy);
    let cluster = Cluster::start(1);
    let proxy = proxy_before(cluster.primary().port);
    let replica = &cluster.servers[1];
    cluster
        .primary()
        .run(&["SET GLOBAL rpl_semi_sync_master_enabled = 1"]);
    replica.run(&[
        "STOP SLAVE",
        "SET GLOBAL rpl_semi_sync_slave_enabled = 1",
        &format!("CHANGE MASTER TO MASTER_PORT = {}", proxy.port),
        "START SLAVE",
    ]);
    cluster.wait_for_replication(1);
    let mut primary = cluster.primary().root();
    let status = |primary: &mut mysql::Conn, name: &str| {
        rows(primary, &format!("SHOW STATUS LIKE '{name}'"))[0][1].clone()
    };
    wait_until("the primary knows the replica", || {
        status(&mut primary, "Rpl_semi_sync_master_clients") == "1"
    });
    let large = format!("INSERT INTO app.followed VALUES (REPEAT('x', {LARGE}))");
    cluster.prepare(&[
        "CREATE TABLE followed (a LONGTEXT)",
        "INSERT INTO followed VALUES ('small')",
        &large,
    ]);
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(LENGTH(a))) FROM app.followed";
    assert_eq!(replica.ask(sum), format!("2 {}", LARGE + 5));
    let acknowledged = status(&mut primary, "Rpl_semi_sync_master_yes_tx");
    assert_ne!(acknowledged, "0", "the replica's answers reach the primary");
    let hosts = rows(&mut primary, "SHOW SLAVE HOSTS");
    assert!(hosts.iter().any(|h| h[0] == replica.id.to_string()));

    // a dump that is ended is begun again where it was
    let session = session_of_the_replica(&proxy).expect("the dump is shown");
    proxy.ask_admin(&format!("KILL {}", session[0]));
    cluster.prepare(&["INSERT INTO followed VALUES ('after')"]);
    assert_eq!(replica.ask(sum), format!("3 {}", LARGE + 10));
}

#[test]
fn a_mysql_replica_follows_through_the_proxy() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    let proxy = proxy_before(pair.ports[0]);
    let source = format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT = {}", proxy.port);
    pair.run(1, &["STOP REPLICA", &source, "START REPLICA"]);
    let status = || {
        let mut root = pair.try_root(1).expect("root can log in");
        rows(&mut root, "SHOW REPLICA STATUS").remove(0)
    };
    let runs = common::holds_within(common::PATIENCE, || status()[10] == "Yes");
    assert!(runs, "{:?}; {}", status(), proxy.stderr());
    let large = format!("INSERT INTO app.followed VALUES (REPEAT('x', {LARGE}))");
    pair.run(0, &["CREATE TABLE app.followed (a LONGTEXT)", &large]);
    pair.sync();
    let length = pair.ask(1, "SELECT LENGTH(a) FROM app.followed");
    assert_eq!(length, LARGE.to_string());
    assert!(session_of_the_replica(&proxy).is_some());
    let mut primary = pair.try_root(0).expect("root can log in");
    assert_eq!(rows(&mut primary, "SHOW REPLICAS").len(), 1);
}

#[test]
fn the_binary_log_read_through_the_proxy_is_the_servers() {
    needs!(the_proxy);
    let cluster = Cluster::start(0);
    let proxy = proxy_before(cluster.primary().port);
    cluster.prepare(&[
        "CREATE TABLE logged (a LONGTEXT)",
        "INSERT INTO logged VALUES (REPEAT('y', 3000000))",
        "FLUSH BINARY LOGS",
    ]);
    let mut root = cluster.primary().root();
    let log = scalar(&mut root, "SHOW BINARY LOGS");
    let read = |port: u16| {
        let output = Command::new("mariadb-binlog")
            .args(["--no-defaults", "--read-from-remote-server"])
            .args(["--host=127.0.0.1", "--user=repl", "--password=replpw"])
            .args([format!("--port={port}"), log.clone()])
            .stdin(Stdio::null())
            .output()
            .expect("mariadb-binlog runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        output.stdout
    };
    let direct = read(cluster.primary().port);
    assert!(direct.len() > 3_000_000, "the log holds the row");
    assert!(read(proxy.port) == direct, "the same bytes");
    wait_until("the reader's session is gone", || {
        session_of_the_replica(&proxy).is_none()
    });
}
