use super::*;
use crate::config::{Address, Config, Role};
use std::cmp::Ordering;

fn config(text: &str) -> Config {
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    config::parse(text, "test.toml", &no_files).unwrap_or_else(|errors| panic!("{errors}"))
}

/// One group of three, one user.
const THREE: &str = r#"
[proxy]
listen = ["127.0.0.1:6033"]
[[group]]
name = "main"
servers = [
  { address = "a:1", role = "primary", max_connections = 10 },
  { address = "b:1", role = "replica" },
  { address = "c:1", role = "replica" },
]
[[user]]
name = "app"
password = "x"
group = "main"
max_connections = 5
"#;

fn address(name: &str) -> Address {
    Address::Tcp(name.into(), 1)
}

/// "w": writable, "r": read-only, "-": dead.
fn health(state: char) -> Health {
    let (alive, writable) = (state != '-', state == 'w');
    Health {
        alive,
        writable,
        readable: alive,
        lag: None,
        reason: String::new(),
    }
}

fn learnt(states: &str) -> Vec<Learnt> {
    let names = ["a", "b", "c"];
    let one = |(name, state)| Learnt {
        address: address(name),
        target: Some(Target::Unix(format!("/{name}").into())),
        health: health(state),
        greeting: None,
    };
    names.into_iter().zip(states.chars()).map(one).collect()
}

/// The primaries and whether there was an alarm, after each look at servers a, b and c.
fn primaries(looks: &[&str]) -> Vec<(Option<usize>, bool)> {
    let mut ids = ServerIds::default();
    let mut snapshot = Snapshot::build(&config(THREE), None, &mut ids, &[]).snapshot;
    let mut look = |states: &&str| {
        let built = snapshot.with_health(&mut ids, &learnt(states));
        snapshot = built.snapshot;
        (snapshot.groups[0].primary, !built.alarms.is_empty())
    };
    looks.iter().map(&mut look).collect()
}

const A: (Option<usize>, bool) = (Some(0), false);
const B: (Option<usize>, bool) = (Some(1), false);
const ALARM_A: (Option<usize>, bool) = (Some(0), true);
const ALARM_B: (Option<usize>, bool) = (Some(1), true);
const NONE: (Option<usize>, bool) = (None, false);
const ALARM_NONE: (Option<usize>, bool) = (None, true);

#[test]
fn the_one_writable_server_is_the_primary_whatever_its_configured_role() {
    assert_eq!(primaries(&["wrr", "rwr", "rww", "-w-"]), [A, B, ALARM_B, B]);
}

#[test]
fn without_a_writable_server_there_is_no_primary() {
    assert_eq!(
        primaries(&["rrr", "wrr", "-rr", "---", "wrr"]),
        [NONE, A, NONE, NONE, A]
    );
}

#[test]
fn the_only_server_is_the_primary_also_while_it_is_read_only() {
    let alone = |role: &str, state| {
        let toml = format!(
            "[proxy]\nlisten = [\"127.0.0.1:1\"]\n[[group]]\nname = \"main\"\n\
             servers = [ {{ address = \"a:1\", role = \"{role}\" }} ]\n\
             [[user]]\nname = \"app\"\npassword = \"x\"\ngroup = \"main\"\n"
        );
        let built = Snapshot::build(
            &config(&toml),
            None,
            &mut ServerIds::default(),
            &learnt(state),
        );
        built.snapshot.groups[0].primary
    };
    assert_eq!(alone("primary", "r"), Some(0));
    assert_eq!(alone("primary", "-"), None);
    assert_eq!(alone("replica", "r"), None);
}

#[test]
fn a_failover_is_followed() {
    assert_eq!(primaries(&["wrr", "-rr", "-wr", "rwr"]), [A, NONE, B, B]);
}

#[test]
fn a_second_writable_server_is_an_alarm_and_changes_nothing() {
    assert_eq!(
        primaries(&["wrr", "wwr", "www", "wrr"]),
        [A, ALARM_A, ALARM_A, A]
    );
    // not even when the second one is the configured primary
    assert_eq!(primaries(&["rwr", "wwr"]), [B, ALARM_B]);
}

#[test]
fn at_the_first_look_the_configured_primary_is_believed() {
    assert_eq!(primaries(&["wwr"]), [ALARM_A]);
    assert_eq!(primaries(&["rww"]), [ALARM_NONE]);
    assert_eq!(primaries(&["rww", "rwr"]), [ALARM_NONE, B]);
}

#[test]
fn an_old_primary_that_came_back_writable_does_not_take_over() {
    // a failed over to b, came back writable, then b is missed by one check
    assert_eq!(
        primaries(&["wrr", "-wr", "wwr", "w-r", "wwr"]),
        [A, B, ALARM_B, ALARM_NONE, ALARM_B]
    );
}

#[test]
fn a_disputed_server_is_accepted_once_it_was_seen_read_only() {
    assert_eq!(
        primaries(&["wwr", "-wr", "-rr", "-wr"]),
        [ALARM_A, ALARM_NONE, NONE, B]
    );
    // being unreachable settles nothing
    assert_eq!(
        primaries(&["wwr", "--r", "-wr"]),
        [ALARM_A, NONE, ALARM_NONE]
    );
}

#[test]
fn a_lost_primary_that_returns_is_the_primary_again_beside_a_writable_replica() {
    assert_eq!(primaries(&["rwr", "r-r", "wwr"]), [B, NONE, ALARM_B]);
}

#[test]
fn a_server_that_left_the_group_is_forgotten() {
    let mut ids = ServerIds::default();
    let old = Snapshot::build(&config(THREE), None, &mut ids, &learnt("wwr"));
    assert_eq!(
        (old.snapshot.groups[0].primary, old.alarms.len()),
        (Some(0), 1)
    );
    let text = THREE.replace(
        "  { address = \"a:1\", role = \"primary\", max_connections = 10 },\n",
        "",
    );
    let new = Snapshot::build(
        &config(&text),
        Some(&old.snapshot),
        &mut ids,
        &learnt("wwr"),
    );
    // b stays disputed: it missed a's writes
    assert_eq!(
        (new.snapshot.groups[0].primary, new.alarms.len()),
        (None, 1)
    );
    let decided = new.snapshot.with_health(&mut ids, &learnt("-rw"));
    assert_eq!(
        decided.snapshot.groups[0].primary,
        Some(1),
        "c at its new place"
    );
}

#[test]
fn the_alarm_names_group_and_servers() {
    let mut ids = ServerIds::default();
    let built = Snapshot::build(&config(THREE), None, &mut ids, &learnt("wwr"));
    let expected = "group main: a:1 and b:1 are writable; a:1 stays the primary; set read_only=1 on all but the primary";
    assert_eq!(built.alarms, [expected]);
}

#[test]
fn the_pure_function_changes_no_memory_but_the_returned_one() {
    let server = |id, role, state| Server {
        id: ServerId(id),
        address: address("x"),
        target: None,
        role,
        weight: 1,
        compression: crate::config::Compression::Off,
        health: health(state),
        budget: Arc::new(Budget::new(1)),
        tls: None,
        proxy_protocol: None,
    };
    let servers = [server(7, Role::Primary, 'w'), server(8, Role::Replica, 'w')];
    let memory = Memory {
        last: Some(ServerId(8)),
        disputed: Vec::new(),
    };
    let decision = derive_primary(config::Primary::Writable, &memory, &servers);
    assert_eq!(decision.primary, Some(1));
    assert_eq!(
        decision.memory,
        Memory {
            last: Some(ServerId(8)),
            disputed: vec![ServerId(7)]
        }
    );
    assert_eq!(
        derive_primary(config::Primary::Writable, &decision.memory, &[]),
        Decision {
            primary: None,
            alarm: None,
            memory: Memory::default()
        }
    );
}

#[test]
fn where_the_order_decides_the_first_usable_server_is_the_primary() {
    let text = THREE.replacen("name = \"main\"", "name = \"main\"\nprimary = \"first\"", 1);
    let mut ids = ServerIds::default();
    for (states, primary) in [
        ("www", Some(0)),
        ("-ww", Some(1)),
        ("--w", Some(2)),
        ("www", Some(0)),
        ("rww", Some(1)),
        ("rrr", None),
        ("rrw", Some(2)),
    ] {
        let built = Snapshot::build(&config(&text), None, &mut ids, &learnt(states));
        assert_eq!(built.snapshot.groups[0].primary, primary, "{states}");
        assert_eq!(built.alarms, [""; 0], "{states}");
    }
}

#[test]
fn a_server_not_checked_yet_gets_nothing() {
    let snapshot = Snapshot::build(&config(THREE), None, &mut ServerIds::default(), &[]).snapshot;
    assert_eq!(snapshot.epoch, 1);
    let server = &snapshot.groups[0].servers[0];
    assert_eq!((server.health.alive, server.target.clone()), (false, None));
    assert_eq!(snapshot.groups[0].primary, None);
    assert_eq!(*snapshot.groups[0].greeting, Greeting::unknown());
}

#[test]
fn a_reload_carries_ids_budgets_writes_sessions_and_health() {
    let mut ids = ServerIds::default();
    let old = Snapshot::build(&config(THREE), None, &mut ids, &learnt("wrr")).snapshot;
    assert!(old.groups[0].servers[0].budget.try_take());
    assert!(old.users["app"].sessions.try_take());
    old.users["app"].last_write.store(77, Relaxed);
    let text = THREE
        .replace("max_connections = 10", "max_connections = 20")
        .replace("max_connections = 5", "qps = 9")
        .replace("  { address = \"b:1\", role = \"replica\" },\n", "");
    let new = Snapshot::build(&config(&text), Some(&old), &mut ids, &[]).snapshot;
    assert_eq!(new.epoch, 2);
    let (a, c) = (&new.groups[0].servers[0], &new.groups[0].servers[1]);
    assert_eq!(
        (a.id, c.id),
        (old.groups[0].servers[0].id, old.groups[0].servers[2].id)
    );
    assert_eq!((a.budget.used(), a.budget.limit()), (1, 20));
    assert_eq!(a.health, health('w'), "kept where nothing new is learnt");
    let user = &new.users["app"];
    assert_eq!(
        (user.config.qps, user.sessions.used(), user.sessions.limit()),
        (Some(9), 1, u32::MAX)
    );
    assert_eq!(user.last_write.load(Relaxed), 77);
}

#[test]
fn a_server_that_comes_back_has_its_old_id_and_the_budget_still_in_use() {
    let mut ids = ServerIds::default();
    let old = Snapshot::build(&config(THREE), None, &mut ids, &[]).snapshot;
    let (id, open) = (
        old.groups[0].servers[1].id,
        old.groups[0].servers[1].budget.clone(),
    );
    assert!(open.try_take());
    let text = THREE.replace("  { address = \"b:1\", role = \"replica\" },\n", "");
    let without = Snapshot::build(&config(&text), Some(&old), &mut ids, &[]).snapshot;
    drop(old);
    let again = Snapshot::build(&config(THREE), Some(&without), &mut ids, &[]).snapshot;
    let b = &again.groups[0].servers[1];
    assert_eq!((b.id, b.budget.used()), (id, 1));
}

#[test]
fn looks_that_find_nothing_new_keep_every_object() {
    let mut ids = ServerIds::default();
    let first = Snapshot::build(&config(THREE), None, &mut ids, &learnt("wrr")).snapshot;
    let same = first.with_health(&mut ids, &learnt("wrr")).snapshot;
    assert!(same.is_same_as(&first) && same.epoch == first.epoch + 1);
    let other = first.with_health(&mut ids, &learnt("w-r")).snapshot;
    assert!(!other.is_same_as(&first));
    assert!(Arc::ptr_eq(
        &other.groups[0].servers[0],
        &first.groups[0].servers[0]
    ));
    assert!(!Arc::ptr_eq(
        &other.groups[0].servers[1],
        &first.groups[0].servers[1]
    ));
}

#[test]
fn users_point_to_their_group() {
    let second =
        "\n[[group]]\nname = \"two\"\nservers = [{ address = \"d:1\", role = \"primary\" }]\n\
                  [[user]]\nname = \"other\"\npassword = \"x\"\ngroup = \"two\"\n";
    let built = Snapshot::build(
        &config(&format!("{THREE}{second}")),
        None,
        &mut ServerIds::default(),
        &[],
    );
    let snapshot = built.snapshot;
    assert_eq!(
        (snapshot.users["app"].group, snapshot.users["other"].group),
        (0, 1)
    );
    assert_eq!(snapshot.groups[1].index, 1);
}

fn greeting(version: &str, capabilities: u64, collations: &[u16]) -> Greeting {
    let entry = |id: &u16| (*id, (format!("collation{id}"), "utf8mb4".to_owned()));
    Greeting {
        version: version.into(),
        capabilities,
        collation: 255,
        auth_plugin: "caching_sha2_password".into(),
        collations: Arc::new(collations.iter().map(entry).collect()),
        sql_mode: String::new(),
        autocommit: true,
        select_limit: false,
        div_precision_increment: 4,
    }
}

#[test]
fn a_group_greets_with_its_lowest_version_and_what_all_can() {
    let list = [
        greeting("9.7.0", 0b1110, &[45, 255, 300]),
        greeting("8.0.36-log", 0b0111, &[45, 255]),
    ];
    let merged = Greeting::merge(&list).unwrap();
    assert_eq!(
        (
            merged.version.as_str(),
            merged.capabilities,
            merged.collation
        ),
        ("8.0.36-log", 0b0110, 255)
    );
    assert_eq!(merged.collations, list[1].collations);
    assert_eq!(Greeting::merge(&[]), None);
}

#[test]
fn a_default_collation_that_one_server_lacks_is_not_promised() {
    let list = [
        greeting("8.0.1", 1, &[45, 255]),
        greeting("10.6.1-MariaDB", 1, &[45]),
    ];
    let merged = Greeting::merge(&list).unwrap();
    assert_eq!((merged.version.as_str(), merged.collation), ("8.0.1", 45));
}

#[test]
fn versions_are_ordered_by_number() {
    for (low, high) in [
        ("10.6.21-MariaDB", "10.11.6-MariaDB-1"),
        ("5.5.5-10.4.1-MariaDB", "5.5.5-10.11.6-MariaDB"),
        ("5.7.44-log", "8.0.0"),
        ("5.5.5-log", "5.6.0"),
        ("8.0.9", "8.0.36-28.1"),
    ] {
        assert_eq!(compare_versions(low, high), Ordering::Less, "{low} {high}");
    }
    assert_eq!(
        compare_versions("5.5.5-10.4.1-MariaDB", "10.4.1-MariaDB"),
        Ordering::Equal
    );
}

#[test]
fn a_greeting_is_kept_while_no_server_can_be_asked() {
    let mut ids = ServerIds::default();
    let mut seen = learnt("wrr");
    seen[1].greeting = Some(greeting("8.0.36", 7, &[]));
    let first = Snapshot::build(&config(THREE), None, &mut ids, &seen).snapshot;
    assert_eq!(first.groups[0].greeting.version, "8.0.36");
    let later = first.with_health(&mut ids, &learnt("---")).snapshot;
    assert!(Arc::ptr_eq(
        &later.groups[0].greeting,
        &first.groups[0].greeting
    ));
    assert!(!later.groups[0].greeting.is_mariadb());
}

#[test]
fn a_budget_gives_no_more_than_its_limit() {
    let budget = Budget::new(2);
    assert!(budget.try_take() && budget.try_take() && !budget.try_take());
    budget.set_limit(1);
    budget.give_back();
    assert!(!budget.try_take(), "one is still out and one is the limit");
    budget.give_back();
    assert!(budget.try_take());
}
