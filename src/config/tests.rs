//! The parser through its public functions.
mod accounts;
mod cross;
mod document;
mod secret;
mod sharding;
mod tls;
mod value;

use super::*;
use std::io;
use std::path::Path;

pub(super) const BASE: &str = r#"
[proxy]
listen = ["127.0.0.1:6033"]

[[group]]
name = "main"
servers = [
  { address = "127.0.0.1:3306", role = "primary" },
  { address = "127.0.0.1:3307", role = "replica" },
]

[[user]]
name = "app"
password = "secret"
group = "main"
"#;

/// No secret files in these tests, unless a test brings its own reader.
pub(super) fn no_files(_: &Path) -> io::Result<SecretFile> {
    Err(io::Error::from(io::ErrorKind::NotFound))
}

pub(super) fn good(text: &str) -> Config {
    parse(text, "test.toml", &no_files).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The errors of a text, a line each.
pub(super) fn errors(text: &str) -> Vec<String> {
    match parse(text, "test.toml", &no_files) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.problems.iter().map(ToString::to_string).collect(),
    }
}

/// The base with one line put in behind another.
pub(super) fn with(behind: &str, line: &str) -> String {
    assert!(BASE.contains(behind), "{behind} is not in the base");
    BASE.replacen(behind, &format!("{behind}\n{line}"), 1)
}

#[track_caller]
pub(super) fn assert_only_error(text: &str, expected: &str) {
    assert_eq!(errors(text), [expected], "\n{text}");
}

#[test]
fn the_least_configuration_has_the_documented_defaults() {
    let config = good(BASE);
    let proxy = &config.proxy;
    assert_eq!(
        proxy.listen,
        [Listener {
            address: Listen::Tcp("127.0.0.1:6033".parse().unwrap()),
            tls: ListenerTls::Off,
            addresses: Addresses::default(),
            balancers: Vec::new(),
            compression: true,
        }]
    );
    assert_eq!((proxy.admin, proxy.http), (None, None));
    assert_eq!(proxy.workers, Workers::Auto);
    assert_eq!(
        (proxy.admin_user.as_str(), proxy.admin_password.as_str()),
        ("admin", "")
    );
    assert_eq!(
        (
            proxy.max_connections,
            proxy.min_idle,
            proxy.max_prepared_per_connection
        ),
        (10_000, 1, 256)
    );
    let seconds = [
        proxy.connect_timeout,
        proxy.login_timeout,
        proxy.idle_timeout,
        proxy.write_timeout,
        proxy.lease_timeout,
        proxy.drain_timeout,
        proxy.server_max_age,
        proxy.server_idle_timeout,
    ];
    assert_eq!(
        seconds.map(|d| d.as_secs_f64()),
        [3.0, 10.0, 28_800.0, 60.0, 10.0, 30.0, 3_600.0, 300.0]
    );
    assert_eq!(proxy.busy_poll, Duration::ZERO);
    assert_eq!(
        (proxy.high_water, proxy.max_allowed_packet),
        (256 << 10, 1 << 30)
    );
    let group = &config.groups[0];
    assert!(group.read_write_split && group.monitor.is_none());
    assert_eq!(group.read_your_writes, ReadYourWrites::Timer);
    assert_eq!(group.read_your_writes_window, Duration::from_millis(300));
    assert_eq!(group.max_replica_lag, Duration::from_secs(5));
    assert_eq!(
        group
            .servers
            .iter()
            .map(|s| (s.weight, s.max_connections))
            .collect::<Vec<_>>(),
        [(0, 200), (1, 200)]
    );
    let user = &config.users[0];
    assert!(user.addresses.is_empty() && user.max_connections.is_none() && user.qps.is_none());
    assert!(user.secret == Secret::Plain("secret".into()));
}

#[test]
fn given_values_reach_their_fields() {
    let text = with(
        "listen = [\"127.0.0.1:6033\"]",
        "workers = [2, 0x3]\nidle_timeout_s = 7\nmax_allowed_packet = 4096",
    )
    .replace(
        "role = \"replica\"",
        "role = \"replica\", weight = 10_000, max_connections = 3",
    )
    .replace(
        "password = \"secret\"",
        "password = \"secret\"\nqps = 5\nmax_connections = 6\nallow = [\"10.0.0.0/8\"]\ndeny = [\"10.0.0.1\"]",
    );
    let config = good(&text);
    assert_eq!(config.proxy.workers, Workers::Cpus(vec![2, 3]));
    assert_eq!(config.proxy.idle_timeout, Duration::from_secs(7));
    assert_eq!(config.proxy.max_allowed_packet, 4096);
    assert_eq!(
        (
            config.groups[0].servers[1].weight,
            config.groups[0].servers[1].max_connections
        ),
        (10_000, 3)
    );
    assert_eq!(
        (config.users[0].qps, config.users[0].max_connections),
        (Some(5), Some(6))
    );
    let addresses = &config.users[0].addresses;
    assert!(addresses.admit("10.9.8.7".parse().unwrap()));
    assert!(!addresses.admit("10.0.0.1".parse().unwrap()));
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_right_one() {
    let text = with("listen = [\"127.0.0.1:6033\"]", "  max_conections = 5");
    assert_only_error(
        &text,
        "test.toml:4:3: proxy.max_conections: unknown key; did you mean `max_connections`?",
    );
}

#[test]
fn an_unknown_key_of_a_server_is_named_with_the_path_to_it() {
    let text = BASE.replace("role = \"replica\"", "role = \"replica\", wieght = 2");
    let expected =
        "test.toml:9:51: group[0].servers[1].wieght: unknown key; did you mean `weight`?";
    assert_only_error(&text, expected);
}

#[test]
fn a_key_unlike_any_other_gets_the_list_of_those_known() {
    let text = with("name = \"app\"", "zzz = 1");
    let expected = "test.toml:14:1: user[0].zzz: unknown key; known here: name, group, password_hash, \
                    password_file, password_env, password, allow, deny, tls, auth_plugin, server_user, server_password_file, \
                    server_password_env, server_password, max_connections, qps, max_running, max_execution_time_ms, \
         max_result_rows, max_result_bytes, idle_transaction_timeout_ms, max_allowed_packet, max_memory_bytes";
    assert_only_error(&text, expected);
}

#[test]
fn a_key_corrected_to_another_unit_says_so() {
    let text = with("listen = [\"127.0.0.1:6033\"]", "idle_timeout_ms = 5");
    let expected = "test.toml:4:1: proxy.idle_timeout_ms: unknown key; did you mean `idle_timeout_s`? (in seconds)";
    assert_only_error(&text, expected);
}

#[test]
fn an_unknown_section_is_named() {
    let text = format!("{BASE}\n[prxoy]\nadmin = 1\n");
    assert_only_error(
        &text,
        "test.toml:17:2: prxoy: unknown section; did you mean `proxy`?",
    );
}

#[test]
fn a_store_is_a_folder() {
    let text = format!("{BASE}\n[coordination]\nstore = \"file:/var/lib/umpire\"\n");
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let config = parse(&text, "test.toml", &no_files);
    let store = config.expect("it is right").store;
    assert_eq!(
        store.as_deref(),
        Some(std::path::Path::new("/var/lib/umpire"))
    );
    for wrong in ["/var/lib/umpire", "file:", "zookeeper:a:2181/umpire"] {
        let found = errors(&format!("{BASE}\n[coordination]\nstore = \"{wrong}\"\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("coordination.store"), "{found:?}");
    }
}

#[test]
fn a_wrong_type_says_what_was_expected_and_what_is_there() {
    for (line, expected) in [
        ("connect_timeout_ms = \"3s\"", "connect_timeout_ms: expected a whole number of milliseconds, found a string"),
        ("connect_timeout_ms = 1.5", "connect_timeout_ms: expected a whole number of milliseconds, found a number with a fraction"),
        ("admin = 6032", "admin: expected a string, found a whole number"),
        ("workers = true", "workers: expected \"auto\" or a list of CPU numbers, found true or false"),
        ("workers = \"all\"", "workers: expected \"auto\" or a list of CPU numbers, found a string"),
    ] {
        let found = errors(&with("listen = [\"127.0.0.1:6033\"]", line));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(&format!(": proxy.{expected}")), "{found:?}");
    }
    let single = BASE.replace("[[user]]", "[user]");
    assert!(
        errors(&single)[0].ends_with("user: expected [[user]] or a list of tables, found a table")
    );
    let text = BASE.replace("[\"127.0.0.1:6033\"]", "\"127.0.0.1:6033\"");
    assert_only_error(
        &text,
        "test.toml:3:10: proxy.listen: expected a list of addresses, or of tables with an address, found a string",
    );
}

#[test]
fn numbers_out_of_range_name_the_range() {
    for (line, expected) in [
        (
            "max_connections = 0",
            "max_connections: 0 is out of range: from 1 to 1000000 connections",
        ),
        (
            "max_connections = -1",
            "max_connections: -1 is out of range: from 1 to 1000000 connections",
        ),
        (
            "lease_timeout_ms = 3600001",
            "lease_timeout_ms: 3600001 is out of range: from 1 to 3600000 milliseconds",
        ),
        (
            "min_idle = 99999999999999999999",
            "min_idle: 99999999999999999999 is out of range: from 0 to 10000 connections",
        ),
        (
            "workers = [1024]",
            "workers[0]: expected a CPU number from 0 to 1023",
        ),
        ("workers = [1, 1]", "workers[1]: CPU 1 is in the list twice"),
        (
            "workers = []",
            "workers: names no CPU; \"auto\" takes all that the process may use",
        ),
    ] {
        let found = errors(&with("listen = [\"127.0.0.1:6033\"]", line));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].ends_with(&format!(": proxy.{expected}")),
            "{found:?}"
        );
    }
    let heavy = BASE.replace("role = \"replica\"", "role = \"replica\", weight = 10001");
    assert!(errors(&heavy)[0]
        .ends_with("servers[1].weight: 10001 is out of range: from 0 to 10000 shares"));
    let window = with("name = \"main\"", "read_your_writes_window_ms = 3_600_001");
    assert!(errors(&window)[0].contains("out of range: from 0 to 3600000 milliseconds"));
}

#[test]
fn all_errors_are_reported_in_the_order_of_their_lines() {
    let text = r#"
[proxy]
listen = ["127.0.0.1:0"]
workres = 1
[[group]]
name = ""
servers = []
[[user]]
name = "app"
group = "main"
qps = 0
"#;
    let lines: Vec<String> = errors(text)
        .iter()
        .map(|e| e.split(':').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        lines,
        ["3", "4", "5", "6", "8", "10", "11"],
        "{:#?}",
        errors(text)
    );
}

#[test]
fn an_empty_file_names_everything_that_is_missing() {
    let found = errors("");
    assert_eq!(found.len(), 3, "{found:?}");
    for (line, section) in found.iter().zip(["proxy", "group", "user"]) {
        assert!(line.contains(&format!(": {section}: missing")), "{line}");
    }
}

#[test]
fn missing_keys_are_named_at_their_section() {
    let text = BASE
        .replace("name = \"main\"\n", "")
        .replace("role = \"primary\"", "weight = 1");
    let found = errors(&text);
    assert!(
        found[0].starts_with("test.toml:5:1: group[0].name: missing: every group needs a name"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("test.toml:7:3: group[0].servers[0].role: missing"),
        "{found:?}"
    );
    let text = BASE.replace("group = \"main\"\n", "");
    assert_only_error(
        &text,
        "test.toml:12:1: user[0].group: missing: the name of the user's group",
    );
}

#[test]
fn text_that_is_not_toml_is_reported_with_its_line() {
    let found = errors("[proxy]\nlisten = [\"127.0.0.1:6033\"]\nadmin = = 3\n");
    assert!(found[0].starts_with("test.toml:3:"), "{found:?}");
    assert!(
        found.iter().all(|e| e.contains("not valid TOML")),
        "{found:?}"
    );
    let twice = errors("[proxy]\nlisten = []\nlisten = []\n");
    assert!(
        twice[0].starts_with("test.toml:3:1: not valid TOML: duplicate key"),
        "{twice:?}"
    );
}

#[test]
fn columns_count_characters() {
    let text = with("name = \"app\"", "allow = [\"::1\", \"é\", 5]");
    assert!(
        errors(&text)[1].starts_with("test.toml:14:22: user[0].allow[2]:"),
        "{:?}",
        errors(&text)
    );
}

#[test]
fn keys_that_need_a_restart_are_named_and_others_are_not() {
    let old = good(BASE);
    assert!(needs_restart(&old, &good(&with("name = \"app\"", "qps = 5"))).is_empty());
    let text = BASE.replace(
        "127.0.0.1:6033\"]",
        "127.0.0.1:6034\"]\nhttp = \"127.0.0.1:1\"\nworkers = [1]",
    );
    assert_eq!(
        needs_restart(&old, &good(&text)),
        [
            "proxy.listen changed from [127.0.0.1:6033] to [127.0.0.1:6034]: takes effect after a restart",
            "proxy.http changed from none to 127.0.0.1:1: takes effect after a restart",
            "proxy.workers changed from auto to [1]: takes effect after a restart",
        ]
    );
}

#[test]
fn no_debug_output_shows_a_password() {
    let text = with(
        "name = \"main\"",
        "monitor = { user = \"m\", password = \"hush-monitor\" }",
    )
    .replace("\"secret\"", "\"hush-user\"")
    .replace(
        "[\"127.0.0.1:6033\"]",
        "[\"127.0.0.1:6033\"]\nadmin_password = \"hush-admin\"",
    );
    let shown = format!("{:?}", good(&text));
    assert!(!shown.contains("hush"), "{shown}");
}
