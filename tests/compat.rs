//! A part of MariaDB's own test suite, and of MySQL's, through the proxy: `make compat` and `make compat-mysql` run all.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::needs;
use std::path::Path;
use std::process::Command;

/// What run.sh says when the suite is not installed.
const NOT_INSTALLED: i32 = 3;

#[test]
fn mariadb_s_own_tests_pass_through_the_proxy() {
    needs!(the_proxy);
    run("chosen", "441", None);
}

/// 410 MB to fetch: only where that has been done.
#[test]
fn mysql_s_own_tests_pass_through_the_proxy() {
    needs!(the_proxy);
    if let Some(suite) = common::mysql_pair::suite() {
        run("chosen-mysql", "444", Some(&suite));
    }
}

/// `thread`: apart from a run of `make compat` at the same time.
fn run(list: &str, thread: &str, mysql: Option<&Path>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat");
    let chosen = std::fs::read_to_string(folder.join(list)).expect("the list of tests");
    let tests = chosen.lines().filter(|line| !line.starts_with('#'));
    let out = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(folder.join("run.sh"));
    if let Some(suite) = mysql {
        command.env("MYSQL_SUITE", suite);
    }
    let output = command
        .arg(env!("CARGO_BIN_EXE_umpire"))
        .arg(out.path())
        .args(tests)
        .env("MTR_THREAD", thread)
        .output()
        .expect("run.sh runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let more = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NOT_INSTALLED) {
        return common::skipped(more.trim());
    }
    assert!(output.status.success(), "{said}{more}");
    assert!(said.contains("passed through Umpire: "), "{said}{more}");
}
