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

#[test]
fn an_import_is_a_configuration_that_check_accepts_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ks.yaml");
    let text = "addr : 127.0.0.1:9696\nuser : app\npassword : secret\nnodes :\n-\n    name : node1\n    user : app\n    \
                password : secret\n    master : 127.0.0.1:3306\nschema :\n    db : shop\n    nodes: [node1]\n    default: node1\n    \
                shard:\n    -\n        table: orders\n        key: id\n        nodes: [node1]\n        type: hash\n        \
                locations: [4]\n";
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    let output = umpire(&["import", "kingshard", name]);
    assert_eq!(output.status.code(), Some(0), "{}", text_of_both(&output));
    let condition =
        format!("{name}:16: condition: table shop.orders: the key is of a whole number's type");
    assert!(
        self::text(&output.stderr).starts_with(&condition),
        "{}",
        text_of_both(&output)
    );
    let imported = folder.path().join("umpire.toml");
    std::fs::write(&imported, &output.stdout).unwrap();
    let checked = umpire(&["check", imported.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{}", text_of_both(&checked));
    std::fs::write(&file, text.replace("hash", "crc")).unwrap();
    let output = umpire(&["import", "kingshard", name]);
    assert_eq!(output.status.code(), Some(1), "{}", text_of_both(&output));
    assert!(self::text(&output.stderr).contains("left out: table shop.orders"));
    let output = umpire(&["import", "mycat", name]);
    assert_eq!(
        (output.status.code(), self::text(&output.stdout)),
        (Some(2), "")
    );
}

fn text_of_both(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
