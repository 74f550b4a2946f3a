//! What desktop tools send when they connect (`tests/drivers/startup/`): answered by Umpire as by the server, and on the
//! admin port without an error.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{needs, Cluster, Proxy};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::path::Path;

const TOOLS: [&str; 6] = [
    "dbeaver",
    "heidisql",
    "navicat",
    "phpmyadmin",
    "sequel-pro",
    "workbench",
];

struct Statement {
    sql: String,
    /// Its rows are other ones each time.
    volatile: bool,
}

fn statements(tool: &str, database: &str, kind: &str) -> Vec<Statement> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/startup");
    let text = std::fs::read_to_string(folder.join(format!("{tool}.sql"))).expect(kind);
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| Statement {
            sql: line.trim_start_matches('~').replace("$db", database),
            volatile: line.starts_with('~'),
        })
        .collect()
}

fn connect(port: u16, user: &str, password: &str) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(user))
        .pass(Some(password))
        .read_timeout(Some(common::PATIENCE))
        .prefer_socket(false);
    Conn::new(options).unwrap_or_else(|e| panic!("{user} at {port}: {e}"))
}

/// The columns' names, then the rows; or the error.
fn answer(conn: &mut Conn, sql: &str) -> Result<(Vec<String>, Vec<Vec<String>>), String> {
    let result = conn.query_iter(sql).map_err(|e| e.to_string())?;
    let names = result
        .columns()
        .as_ref()
        .iter()
        .map(|c| c.name_str().into_owned())
        .collect();
    let mut rows = Vec::new();
    for row in result {
        rows.push(common::texts(&row.map_err(|e| e.to_string())?));
    }
    Ok((names, rows))
}

#[test]
fn what_tools_send_at_their_start_gets_the_servers_answers() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.servers[0].run(&[
        "CREATE DATABASE startup",
        "CREATE TABLE startup.t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB",
        "CREATE VIEW startup.v AS SELECT id FROM startup.t",
        "CREATE PROCEDURE startup.p(IN a INT) SELECT a",
    ]);
    cluster.sync();
    for tool in TOOLS {
        let mut direct = connect(cluster.servers[0].port, "app", "apppw");
        let mut proxied = connect(Proxy::shared().port, "app", "apppw");
        for statement in statements(tool, "startup", "a list") {
            let sql = &statement.sql;
            let expected = answer(&mut direct, sql);
            let got = answer(&mut proxied, sql);
            if let Err(why) = &expected {
                panic!("{tool}: {sql}: the server itself refuses it: {why}");
            }
            if statement.volatile {
                let names =
                    |answer: Result<(Vec<String>, _), String>| answer.map(|(names, _)| names);
                assert_eq!(names(got), names(expected), "{tool}: {sql}");
            } else {
                assert_eq!(got, expected, "{tool}: {sql}");
            }
        }
    }
}

#[test]
fn what_tools_send_at_their_start_is_answered_on_the_admin_port() {
    needs!(the_proxy);
    let proxy = Proxy::shared();
    for tool in TOOLS {
        let mut admin = connect(proxy.admin_port, "admin", "adminpw");
        for statement in statements(tool, "umpire", "a list") {
            let sql = &statement.sql;
            match answer(&mut admin, sql) {
                Err(why) => panic!("{tool}: {sql}: {why}"),
                Ok((names, rows)) => assert!(
                    rows.iter().all(|row| row.len() == names.len()),
                    "{tool}: {sql}"
                ),
            }
        }
    }
}
