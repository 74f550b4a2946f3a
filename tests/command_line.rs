//! The command line as people and scripts use it: exit codes, and what goes to which stream.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
use std::path::Path;
use std::process::{Command, Output};

fn umpire(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umpire"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn check_of_a_right_file_counts_what_is_in_it() {
    let output = umpire(&["check", "configs/minimal.toml"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        "configs/minimal.toml: ok (1 group, 2 servers, 1 user)\n"
    );
}

#[test]
fn check_of_a_wrong_file_prints_every_error_on_stderr_and_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    std::fs::write(&file, "[proxy]\nlissen = [\"127.0.0.1:1\"]\n").unwrap();
    let name = file.to_str().unwrap();
    let output = umpire(&["check", name]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    let errors = text(&output.stderr);
    assert!(
        errors.contains(&format!(
            "{name}:2:1: proxy.lissen: unknown key; did you mean `listen`?"
        )),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 4, "{errors}");
}

#[test]
fn a_run_with_a_wrong_or_absent_file_exits_with_2_before_anything_starts() {
    let output = umpire(&["--config", "configs/absent.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("configs/absent.toml: cannot be read: "));
}

#[test]
fn the_version_is_the_packages() {
    let output = umpire(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        format!("umpire {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_wrong_command_line_exits_with_2_and_says_how_it_goes() {
    for arguments in [
        &[][..],
        &["check"],
        &["--config"],
        &["--confg", "x"],
        &["--config", "x", "check", "y"],
    ] {
        let output = umpire(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            ["Usage: umpire", "--help"]
                .iter()
                .any(|hint| text(&output.stderr).contains(hint)),
            "{arguments:?}"
        );
        assert!(!Path::new("x").exists());
    }
}
