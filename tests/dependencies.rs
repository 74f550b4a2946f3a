//! The crates that Umpire is built from keep to deny.toml: licences, sources, bans. With cargo alone, so that it
//! runs wherever the tests do; `make deny` adds what only cargo-deny can say.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test runs cargo"
)]

use serde::Deserialize;
use std::path::Path;
use std::process::Command;

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// (name, licence) of each crate of the lock file whose sources are on this machine: those that were built are.
fn licences() -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none"])
        .args(["--format", "{p}|{l}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|line| line.split_once('|'));
    lines
        .map(|(name, licence)| {
            let licence = licence.trim_end_matches(" (*)").trim();
            (name.to_string(), licence.to_string())
        })
        .collect()
}

/// An expression of SPDX, or of the older form `A/B`: whether the allowed ones are enough.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression
        .replace('/', " OR ")
        .replace("MPL-2.0+", "MPL-2.0");
    let one = |licence: &str| {
        let licence = licence.trim().trim_matches(['(', ')']).trim();
        allowed.iter().any(|a| a == licence)
    };
    // AND binds closer than OR, but for `(A OR B) AND C`: then each side has to do by itself
    match expression.split_once(") AND ") {
        Some((left, right)) => is_allowed(left, allowed) && is_allowed(right, allowed),
        None => expression
            .split(" OR ")
            .any(|all| all.split(" AND ").all(one)),
    }
}

#[test]
fn every_crate_has_an_allowed_licence_a_known_source_and_is_not_banned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name| std::fs::read_to_string(root.join(name)).expect("a file of the repository");
    let rules: Rules = toml::from_str(&read("deny.toml")).expect("deny.toml has its sections");
    let licences = licences();
    assert!(licences.len() > 50, "{licences:?}");
    for (name, licence) in &licences {
        let fine = is_allowed(licence, &rules.licenses.allow);
        assert!(fine, "{name}: the licence {licence:?} is not in deny.toml");
    }
    let lock = read("Cargo.lock");
    for line in lock.lines() {
        if let Some(source) = line.strip_prefix("source = ") {
            let known = |registry: &String| source.contains(registry.as_str());
            assert!(rules.sources.allow_registry.iter().any(known), "{source}");
        }
        if let Some(name) = line.strip_prefix("name = ") {
            let name = name.trim_matches('"');
            assert!(
                !rules.bans.deny.iter().any(|ban| ban.name == name),
                "{name}"
            );
        }
    }
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed = ["MIT", "ISC", "Apache-2.0"].map(String::from);
    for (expression, fine) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("MIT/Apache-2.0", true),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("(MIT OR ISC) AND GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), fine, "{expression}");
    }
}
