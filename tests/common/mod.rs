//! The harness of the tests that need real servers: servers of their own, the proxy in front of
//! them, and clients that see every byte.
//!
//! Nothing here outlives the test process: every child carries a parent-death signal, and what a
//! killed run left in the temporary folder is removed by the next one.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "every test binary uses its own part of the harness"
)]

pub mod cluster;
pub mod compressed;
pub mod general_log;
pub mod mysql_pair;
pub mod process;
pub mod proxy;
pub mod random;
pub mod raw;
pub mod reply;
pub mod server;
pub mod several;
pub mod tls;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use cluster::Cluster;
pub use mysql::prelude::Queryable;
pub use proxy::{Proxy, ProxyConfig};
pub use raw::{Login, RawClient};

/// Every wait of the harness ends by then: long enough for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `condition` until it holds; panics with `what` when it does not within `PATIENCE`.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        holds_within(PATIENCE, condition),
        "not within {PATIENCE:?}: {what}"
    );
}

/// True as soon as `condition` holds, false when it has not within `limit`.
pub fn holds_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        pause(Duration::from_millis(10));
    }
}

/// The one sleep of the harness: between two looks at a condition, or because time itself is tested.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A word that no other statement of this run contains, to find one statement in the logs.
pub fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("marker{}x{number}x", std::process::id())
}

/// With `UMPIRE_TESTS_DIRECT=1` the "proxy" is the primary itself: shows that an expectation is
/// the server's own behaviour. Tests of routing and of the proxy's own functions are skipped then.
pub fn direct_mode() -> bool {
    std::env::var_os("UMPIRE_TESTS_DIRECT").is_some_and(|v| v == "1")
}

/// Says loudly, past the test runner's capture, that a test could not run, and counts it.
pub fn skipped(why: &str) {
    let name = std::thread::current().name().unwrap_or("?").to_string();
    let line = format!("SKIPPED: {name}: {why}\n");
    let mut err = std::io::stderr();
    err.write_all(line.as_bytes()).ok();
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("skipped.log");
    if let Ok(mut file) = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
    {
        file.write_all(line.as_bytes()).ok();
    }
}

/// `needs!(the_proxy)`: returns from the test in direct mode, where there is none.
macro_rules! needs {
    (the_proxy) => {
        if $crate::common::direct_mode() {
            return $crate::common::skipped("direct mode has no proxy");
        }
    };
}
pub(crate) use needs;

/// The MySQL error code of a failed call; panics when it is no server error.
pub fn code(error: &mysql::Error) -> u16 {
    match error {
        mysql::Error::MySqlError(e) => e.code,
        other => panic!("not a server's error: {other}"),
    }
}

/// User and text of what a server runs now. (MariaDB 10.11 can crash in COUNT(*) over information_schema.PROCESSLIST.)
pub fn processes(root: &mut mysql::Conn) -> Vec<(String, String)> {
    let mut all = rows(root, "SHOW FULL PROCESSLIST");
    let field = |row: &mut Vec<String>, at: usize| row.get_mut(at).map(std::mem::take);
    all.iter_mut()
        .filter_map(|row| Some((field(row, 1)?, field(row, 7)?)))
        .collect()
}

/// The first column of the first row, as text; "NULL" for NULL, "" without a row.
pub fn scalar(conn: &mut mysql::Conn, sql: &str) -> String {
    rows(conn, sql)
        .into_iter()
        .next()
        .map(|row| row.into_iter().next().unwrap_or_default())
        .unwrap_or_default()
}

/// All rows of a text query, every value as text.
pub fn rows(conn: &mut mysql::Conn, sql: &str) -> Vec<Vec<String>> {
    try_rows(conn, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// As `rows`, with the error.
pub fn try_rows(conn: &mut mysql::Conn, sql: &str) -> mysql::Result<Vec<Vec<String>>> {
    let rows: Vec<mysql::Row> = conn.query(sql)?;
    Ok(rows.into_iter().map(|r| texts(&r)).collect())
}

/// A row's values as text.
pub fn texts(row: &mysql::Row) -> Vec<String> {
    (0..row.len()).map(|i| text(row.as_ref(i))).collect()
}

fn text(value: Option<&mysql::Value>) -> String {
    match value {
        Some(mysql::Value::Bytes(b)) => String::from_utf8_lossy(b).into_owned(),
        Some(mysql::Value::NULL) | None => "NULL".into(),
        Some(mysql::Value::Int(n)) => n.to_string(),
        Some(mysql::Value::UInt(n)) => n.to_string(),
        Some(other) => other.as_sql(true),
    }
}
