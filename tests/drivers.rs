//! The drivers and tools that install in a minute: the same scripted work directly and through Umpire, where reads go to a
//! replica and noisy neighbours share the server connections (`tests/drivers/run.py`; `make drivers` runs all of them).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{needs, process};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// All of them, with their installation, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(840);

#[test]
fn drivers_and_tools_see_no_difference_through_umpire() {
    needs!(the_proxy);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers");
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers.log");
    let output = std::fs::File::create(&log).expect("a file for the output");
    let errors = output.try_clone().expect("a second handle");
    let mut child = process::spawn("python3", |command| {
        command
            .arg(folder.join("run.py"))
            .arg("--quick")
            .args(["--umpire", env!("CARGO_BIN_EXE_umpire")])
            .arg("--cache")
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
    })
    .expect("python3 runs");
    let status = process::wait_for_exit(&mut child, LIMIT);
    if status.is_none() {
        process::end(&mut child);
    }
    let text = std::fs::read_to_string(&log).expect("the output is text");
    for line in text.lines().filter(|l| l.starts_with("SKIPPED: ")) {
        common::skipped(line.trim_start_matches("SKIPPED: "));
    }
    assert!(status.is_some_and(|s| s.success()), "{text}");
}
