//! How a user proves who it is, and which account it has on the servers.
use super::tls::certificates;
use super::{errors, good, with, BASE};
use crate::config::{parse, AuthPlugin, Secret, ServerAccount};

const ED25519: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";

#[track_caller]
fn only_error(text: &str) -> String {
    let found = errors(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn user(lines: &str) -> String {
    with("name = \"app\"", lines)
}

#[test]
fn a_password_may_stand_in_a_variable_of_the_environment() {
    let path = std::env::var("PATH").expect("every process of a test has one");
    let from = |name: &str| {
        BASE.replace(
            "password = \"secret\"",
            &format!("password_env = \"{name}\""),
        )
    };
    assert!(good(&from("PATH")).users[0].secret == Secret::Plain(path));
    for (name, expected) in [
        (
            "UMPIRE_NO_SUCH_VARIABLE",
            "\"UMPIRE_NO_SUCH_VARIABLE\" is not set",
        ),
        ("", "\"\" cannot exist"),
        ("A=B", "\"A=B\" cannot exist"),
    ] {
        let error = only_error(&from(name));
        assert!(
            error.contains("user[0].password_env: the environment variable")
                && error.contains(expected),
            "{error}"
        );
    }
    let both = only_error(&user("password_env = \"PATH\""));
    assert!(both.contains("has password and password_env"), "{both}");
    let monitor = with(
        "name = \"main\"",
        "monitor = { user = \"m\", password_env = \"PATH\" }",
    );
    assert!(!good(&monitor).groups[0]
        .monitor
        .as_ref()
        .unwrap()
        .password
        .is_empty());
}

#[test]
fn a_user_may_have_another_account_on_the_servers() {
    assert!(good(BASE).users[0].server_account.is_none());
    let account = |lines: &str| good(&user(lines)).users[0].server_account.clone();
    let expected = |user: &str, password: &str| {
        Some(ServerAccount {
            user: user.into(),
            password: password.into(),
        })
    };
    assert_eq!(
        account("server_user = \"shared\"\nserver_password = \"other\""),
        expected("shared", "other")
    );
    assert_eq!(account("server_password = \"\""), expected("app", ""));
    for (lines, wrong) in [
        (
            "server_user = \"shared\"",
            "user[0]: needs one of server_password, server_password_file, server_password_env",
        ),
        (
            "server_user = \"\"\nserver_password = \"x\"",
            "user[0].server_user: a user's name has 1 to 128 characters",
        ),
        (
            "server_password = \"a\"\nserver_password_env = \"PATH\"",
            "user[0]: has server_password and server_password_env",
        ),
    ] {
        let error = only_error(&user(lines));
        assert!(error.contains(wrong), "{error}");
    }
    let shown = format!("{:?}", account("server_password = \"hush\""));
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn a_users_plugin_has_to_be_one_that_can_prove_its_password() {
    let plugin = |lines: &str| good(&user(lines)).users[0].auth_plugin;
    assert_eq!(plugin(""), None);
    for (name, expected) in [
        ("mysql_native_password", AuthPlugin::Native),
        ("caching_sha2_password", AuthPlugin::CachingSha2),
        ("ed25519", AuthPlugin::Ed25519),
        ("client_ed25519", AuthPlugin::Ed25519),
    ] {
        assert_eq!(plugin(&format!("auth_plugin = \"{name}\"")), Some(expected));
    }
    let unknown = only_error(&user("auth_plugin = \"sha256_password\""));
    assert!(
        unknown.contains("user[0].auth_plugin: \"sha256_password\" is not one of"),
        "{unknown}"
    );
    let hashed = |hash: &str, plugin: &str| {
        let lines = format!("auth_plugin = \"{plugin}\"\nserver_password = \"other\"");
        user(&lines).replace(
            "password = \"secret\"",
            &format!("password_hash = \"{hash}\""),
        )
    };
    assert!(good(&hashed(ED25519, "ed25519")).users[0]
        .auth_plugin
        .is_some());
    let wrong = only_error(&hashed(ED25519, "mysql_native_password"));
    assert!(
        wrong.contains("cannot prove this kind of password_hash"),
        "{wrong}"
    );
}

#[test]
fn a_password_that_is_sent_as_it_is_needs_tls() {
    let clear = user("auth_plugin = \"mysql_clear_password\"");
    let error = only_error(&clear);
    assert!(
        error.contains("user[0].auth_plugin: needs the section [tls]"),
        "{error}"
    );
    let with_tls = format!("{clear}\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n");
    let config = parse(&with_tls, "test.toml", &certificates).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(config.users[0].auth_plugin, Some(AuthPlugin::Clear));
}

#[test]
fn an_ed25519_hash_alone_needs_a_way_to_the_password() {
    let hash = format!("password_hash = \"{ED25519}\"");
    let alone = BASE.replace("password = \"secret\"", &hash);
    let error = only_error(&alone);
    assert!(
        error.contains("user[0].password_hash: of an ed25519 hash nothing is left"),
        "{error}"
    );
    let mapped = alone.replace(&hash, &format!("{hash}\nserver_password = \"other\""));
    assert!(matches!(good(&mapped).users[0].secret, Secret::Ed25519(_)));
    let with_tls = format!("{alone}\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n");
    assert!(parse(&with_tls, "test.toml", &certificates).is_ok());
}
