use crate::backend::{initial_state, replay_policy, Replay, State, StateTable};
use crate::topology::Greeting;
use crate::wire::reply::Change;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

fn greeting() -> Greeting {
    let known = [
        (8, "latin1_swedish_ci", "latin1"),
        (45, "utf8mb4_general_ci", "utf8mb4"),
        (309, "utf8mb4_0900_bin", "utf8mb4"),
    ];
    let known = known.map(|(id, collation, set)| (id, (collation.to_owned(), set.to_owned())));
    Greeting {
        version: "8.4.0".into(),
        capabilities: 0,
        collation: 8,
        auth_plugin: String::new(),
        collations: Arc::new(HashMap::from(known)),
        sql_mode: String::new(),
        autocommit: true,
        select_limit: false,
        div_precision_increment: 4,
    }
}

fn collation(id: u16) -> (Vec<u8>, Vec<u8>) {
    let state = initial_state(id, &greeting());
    let get = |name: &str| state.variable(name.as_bytes()).unwrap_or(b"?").to_vec();
    assert_eq!(get("character_set_client"), get("character_set_results"));
    assert_eq!(get("character_set_client"), get("character_set_connection"));
    (get("collation_connection"), get("character_set_client"))
}

#[test]
fn the_collation_of_the_login_decides_the_character_sets() {
    assert_eq!(
        collation(309),
        (b"utf8mb4_0900_bin".to_vec(), b"utf8mb4".to_vec()),
        "as the servers name it"
    );
    assert_eq!(
        collation(45),
        (b"utf8mb4_general_ci".to_vec(), b"utf8mb4".to_vec()),
        "known to all"
    );
    for unknown_here in [255, 9999] {
        assert_eq!(
            collation(unknown_here),
            (b"latin1_swedish_ci".to_vec(), b"latin1".to_vec()),
            "the group's default"
        );
    }
}

#[test]
fn variables_are_sorted_whatever_the_order_and_case_of_setting() {
    let a = State::default()
        .with_variable(b"time_zone", b"+00:00")
        .with_variable(b"SQL_MODE", b"ANSI");
    let b = State::default()
        .with_variable(b"sql_mode", b"ANSI")
        .with_variable(b"Time_Zone", b"+00:00");
    assert_eq!(a, b);
    assert_eq!(a.variable(b"sql_mode"), Some(&b"ANSI"[..]));
    assert_eq!(a.variable(b"sql_notes"), None);
}

#[test]
fn setting_again_replaces() {
    let state = State::default()
        .with_variable(b"a", b"1")
        .with_variable(b"a", b"2");
    assert_eq!(state.variables.len(), 1);
    assert_eq!(state.variable(b"a"), Some(&b"2"[..]));
}

#[test]
fn spellings_of_the_same_value_are_one_state() {
    let on = State::default().with_variable(b"autocommit", b"ON");
    assert_eq!(State::default().with_variable(b"autocommit", b"1"), on);
    assert_eq!(State::default().with_variable(b"AUTOCOMMIT", b"on"), on);
    assert_ne!(State::default().with_variable(b"autocommit", b"0"), on);
}

#[test]
fn a_dropped_schema_is_no_schema() {
    assert_eq!(
        State::default().with_schema(b"d").with_schema(b""),
        State::default()
    );
}

#[test]
fn reports_that_are_no_state_change_nothing() {
    let state = State::default();
    assert_eq!(state.with_tracked(b"statement_id", b"45"), state);
    assert_eq!(state.with_tracked(b"last_gtid", b"0-1-10"), state);
}

#[test]
fn set_names_leaves_the_default_collation_of_the_character_set() {
    let state = initial_state(45, &greeting()).with_tracked(b"character_set_connection", b"latin1");
    assert_eq!(state.variable(b"collation_connection"), Some(&b""[..]));
}

#[test]
fn a_collation_implies_its_character_set() {
    let state = initial_state(45, &greeting()).with_tracked(b"collation_connection", b"latin1_bin");
    assert_eq!(
        state.variable(b"character_set_connection"),
        Some(&b"latin1"[..])
    );
    let state = state.with_tracked(b"collation_connection", b"binary");
    assert_eq!(
        state.variable(b"character_set_connection"),
        Some(&b"binary"[..])
    );
}

#[test]
fn policies_do_not_depend_on_case() {
    assert_eq!(replay_policy(b"TimeStamp"), Replay::Pins);
    assert_eq!(replay_policy(b"WARNING_COUNT"), Replay::Never);
    assert_eq!(replay_policy(b"sql_mode"), Replay::Yes);
    assert_eq!(replay_policy(b"some_plugin_variable"), Replay::Yes);
}

#[test]
fn equal_states_are_one() {
    let table = StateTable::new();
    let a = table.intern(State::default().with_schema(b"d"));
    let b = table.intern(State::default().with_schema(b"d"));
    let c = table.intern(State::default().with_schema(b"e"));
    assert!(Rc::ptr_eq(&a, &b));
    assert!(!Rc::ptr_eq(&a, &c));
}

#[test]
fn the_table_forgets_what_nobody_uses() {
    let table = StateTable::new();
    let kept = table.intern(State::default().with_schema(b"kept"));
    for n in 0..100_000u32 {
        table.intern(State::default().with_schema(n.to_string().as_bytes()));
    }
    assert!(table.len() <= 1024, "{} entries", table.len());
    assert!(Rc::ptr_eq(
        &kept,
        &table.intern(State::default().with_schema(b"kept"))
    ));
}

#[test]
fn the_table_keeps_what_is_used() {
    let table = StateTable::new();
    let all: Vec<_> = (0..2000u32)
        .map(|n| table.intern(State::default().with_schema(&n.to_be_bytes())))
        .collect();
    for (n, state) in (0..2000u32).zip(&all) {
        assert!(Rc::ptr_eq(
            state,
            &table.intern(State::default().with_schema(&n.to_be_bytes()))
        ));
    }
}

fn report(entries: &[(&str, &str)]) -> Vec<Change> {
    let entry = |(name, value): &(&str, &str)| Change::Variable {
        name: (*name).into(),
        value: (*value).into(),
    };
    entries.iter().map(entry).collect()
}

#[test]
fn a_report_is_applied_as_a_whole() {
    let fresh = initial_state(45, &greeting());
    let mut changes = report(&[("sql_mode", "ANSI"), ("statement_id", "9")]);
    changes.push(Change::Schema(b"shop".to_vec()));
    changes.push(Change::State(b"1".to_vec()));
    assert_eq!(
        fresh.with_changes(&changes),
        fresh
            .with_variable(b"sql_mode", b"ANSI")
            .with_schema(b"shop")
    );
}

#[test]
fn a_collation_in_the_report_holds_wherever_it_stands() {
    let fresh = initial_state(45, &greeting());
    let (set, collation) = (
        ("character_set_connection", "latin1"),
        ("collation_connection", "latin1_bin"),
    );
    for order in [[set, collation], [collation, set]] {
        let state = fresh.with_changes(&report(&order));
        assert_eq!(
            state.variable(b"collation_connection"),
            Some(&b"latin1_bin"[..])
        );
        assert_eq!(
            state.variable(b"character_set_connection"),
            Some(&b"latin1"[..])
        );
    }
}
