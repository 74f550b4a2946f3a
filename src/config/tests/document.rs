//! The example files and the reference agree with the parser.
use super::tls::certificates;
use super::{good, BASE};
use crate::config::{examine, load, Config, Listen};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn example(name: &str) -> Config {
    load(&in_repository("configs").join(name)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Every key of the parser: the text has one section of each kind.
fn known_keys() -> BTreeSet<String> {
    let monitor = "name = \"main\"\ntls = { mode = \"preferred\" }\n\
                   monitor = { user = \"m\", password = \"p\" }";
    let listen = "[{ address = \"127.0.0.1:6033\" }]";
    let tls = "[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n\n[[group]]";
    let text = BASE
        .replacen("name = \"main\"", monitor, 1)
        .replacen("[\"127.0.0.1:6033\"]", listen, 1)
        .replacen("[[group]]", tls, 1)
        + "\n[limits]\n[[policy]]\nname = \"p\"\naction = \"deny\"\nopaque = true\n"
        + "[[database]]\nname = \"b\"\ngroup = \"main\"\n"
        + "[[table]]\nname = \"b.t\"\nmethod = \"hash\"\nkey = \"k\"\nshards = [{ group = \"main\" }]\n"
        + "\n[coordination]\nstore = \"file:s\"\n[[library]]\nname = \"l\"\ngroup = \"main\"\n"
        + "\n[audit]\nfile = \"a\"\n[statistics]\n";
    let examined = examine(&text, "test.toml", &certificates);
    assert!(examined.result.is_ok());
    let sections = [
        "proxy",
        "group",
        "user",
        "tls",
        "limits",
        "policy",
        "database",
        "table",
        "coordination",
        "library",
        "audit",
        "statistics",
    ];
    examined
        .keys
        .into_iter()
        .filter(|key| !sections.contains(&key.as_str()))
        .collect()
}

/// Keys of the reference: the first cell of each table row, under the heading of its section.
fn documented_keys(text: &str) -> BTreeSet<String> {
    let mut section = String::new();
    let mut keys = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('#') {
            let name = line.trim_start_matches('#').trim();
            section = name.trim_matches(['`', '[', ']']).to_owned();
        } else if let Some(key) = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split('`').next())
        {
            assert!(
                keys.insert(format!("{section}.{key}")),
                "{section}.{key} is documented twice"
            );
        }
    }
    keys
}

#[test]
fn the_reference_lists_exactly_the_keys_of_the_parser() {
    let reference = std::fs::read_to_string(in_repository("docs/configuration.md")).unwrap();
    assert_eq!(documented_keys(&reference), known_keys());
}

#[test]
fn each_row_of_the_reference_has_type_default_meaning_and_example() {
    let reference = std::fs::read_to_string(in_repository("docs/configuration.md")).unwrap();
    for row in reference.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(
            cells.len() == 5 && cells.iter().all(|cell| !cell.is_empty()),
            "{row}"
        );
    }
}

#[test]
fn the_documented_defaults_of_numbers_are_the_parsers() {
    let reference = std::fs::read_to_string(in_repository("docs/configuration.md")).unwrap();
    let section = |name: &str| {
        let from = reference.split_once(&format!("`{name}`\n")).unwrap().1;
        from.split("\n#").next().unwrap().to_owned()
    };
    let lines = |text: String| -> String {
        let numeric = |row: &str| {
            let cells: Vec<&str> = row
                .split('|')
                .map(|cell| cell.trim().trim_matches('`'))
                .collect();
            let default: u64 = cells.get(3)?.parse().ok()?;
            Some(format!("{} = {default}\n", cells[1]))
        };
        text.lines().filter_map(numeric).collect()
    };
    let proxy = lines(section("[proxy]"));
    let group = lines(section("[[group]]"));
    assert_eq!((proxy.lines().count(), group.lines().count()), (19, 3));
    let written = BASE
        .replace("[proxy]\n", &format!("[proxy]\n{proxy}"))
        .replace("[[group]]\n", &format!("[[group]]\n{group}"));
    let (written, plain) = (good(&written), good(BASE));
    assert_eq!(written.proxy, plain.proxy);
    assert_eq!(
        format!("{:?}", written.groups),
        format!("{:?}", plain.groups)
    );
}

#[test]
fn the_minimal_example_loads() {
    let config = example("minimal.toml");
    assert_eq!(
        (
            config.groups.len(),
            config.groups[0].servers.len(),
            config.users.len()
        ),
        (1, 2, 1)
    );
    assert!(config.databases.is_empty() && config.tables.is_empty());
}

#[test]
fn the_full_example_loads_and_shows_the_defaults() {
    let (full, minimal) = (example("full.toml"), example("minimal.toml"));
    assert!(full
        .proxy
        .listen
        .iter()
        .any(|at| at.address == Listen::Unix("/run/umpire/umpire.sock".into())));
    let mut proxy = full.proxy;
    proxy.listen = minimal.proxy.listen.clone();
    (proxy.admin, proxy.http) = (None, None);
    proxy.admin_password = String::new();
    assert_eq!(proxy, minimal.proxy);
    let (full, minimal) = (&full.groups[0], &minimal.groups[0]);
    assert_eq!(full.read_write_split, minimal.read_write_split);
    assert_eq!(full.read_your_writes, minimal.read_your_writes);
    assert_eq!(
        full.read_your_writes_window,
        minimal.read_your_writes_window
    );
    assert_eq!(full.max_replica_lag, minimal.max_replica_lag);
    for (full, minimal) in full.servers.iter().zip(&minimal.servers) {
        assert_eq!(
            (full.weight, full.max_connections),
            (minimal.weight, minimal.max_connections)
        );
    }
}

#[test]
fn the_full_example_names_every_key() {
    let text = std::fs::read_to_string(in_repository("configs/full.toml")).unwrap();
    for key in known_keys() {
        let name = key.rsplit('.').next().unwrap();
        let written = [format!("{name} = "), format!(".{name}]")];
        assert!(
            written.iter().any(|form| text.contains(form)),
            "{key} is not in full.toml"
        );
    }
}
