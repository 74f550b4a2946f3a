mod allocations;
mod one_shard;
mod parameter_types;
mod shards;
mod turns;
mod world;

use super::pins::Pins;
use super::registry::Registry;
use super::statements::key_of;
use crate::backend::State;
use crate::net::{Aborter, Peer};
use std::time::Instant;

#[test]
fn connection_ids_tell_their_worker_and_are_unique() {
    let now = Instant::now();
    let mut seen = std::collections::HashSet::new();
    for worker in 0..3 {
        let registry = Registry::new(worker, 3);
        for _ in 0..100 {
            let entry = registry.add(Peer::Unix, Aborter::NONE, now);
            assert_eq!(registry.worker_of(entry.id), worker);
            assert!(entry.id != 0 && seen.insert(entry.id));
        }
        assert_eq!(registry.len(), 100);
    }
}

#[test]
fn a_statement_means_something_else_in_another_schema_or_mode() {
    let plain = State::default();
    let shop = plain.with_schema(b"shop");
    let ansi = plain.with_variable(b"sql_mode", b"ANSI_QUOTES");
    let keys = [
        key_of(b"SELECT 1", &plain, false),
        key_of(b"SELECT 1", &shop, false),
        key_of(b"SELECT 1", &ansi, false),
        key_of(b"SELECT 2", &plain, false),
    ];
    for (i, a) in keys.iter().enumerate() {
        for (j, b) in keys.iter().enumerate() {
            assert_eq!(a == b, i == j);
        }
    }
    assert_eq!(
        key_of(b"SELECT 1", &shop, false),
        key_of(b"SELECT 1", &plain.with_schema(b"shop"), false)
    );
}

#[test]
fn parts_of_a_key_cannot_be_shifted_into_each_other() {
    let a = State::default().with_schema(b"ab");
    let b = State::default().with_schema(b"b");
    assert_ne!(key_of(b"x", &a, false), key_of(b"xa", &b, false));
}

#[test]
fn only_what_waits_for_a_question_leaves_no_state_behind() {
    assert!(!Pins::FOR_QUESTIONS.leaves_state());
    let others = Pins::all().difference(Pins::FOR_QUESTIONS);
    for pin in others.iter() {
        assert!((pin | Pins::DIAGNOSTICS).leaves_state(), "{}", pin.words());
        assert!(!pin.words().is_empty());
    }
}

/// Size of what an async function returns.
fn future_size<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
    std::mem::size_of::<F>()
}

fn turn_size<F>(_: impl FnOnce(&'static mut super::Session, crate::relay::Command) -> F) -> usize {
    std::mem::size_of::<F>()
}

#[test]
fn an_idle_client_costs_little_memory() {
    // what a turn needs is lent to it: between turns a task has next to nothing
    let task = future_size(super::serve);
    assert!(task <= 320, "a session's task has {task} bytes");
    // as large as the largest turn: rare steps are boxed while they last. Lent to those that run, not to idle clients,
    // and copied once a turn
    let turn = turn_size(super::Session::turn);
    assert!(turn <= 1280, "a turn has {turn} bytes");
    let session = std::mem::size_of::<super::Session>();
    assert!(session <= 416, "a session has {session} bytes");
    println!("task {task}, turn {turn}, session {session}");
}
