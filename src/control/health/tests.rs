use super::assess::{assess, writable, Member};
use super::*;
use crate::config::Role;
use crate::topology::Health;

fn failed() -> Outcome {
    Outcome::Failed {
        refused: false,
        text: "no answer".into(),
    }
}

fn refused() -> Outcome {
    Outcome::Failed {
        refused: true,
        text: "connection refused".into(),
    }
}

fn primary() -> Outcome {
    Outcome::Answered(Facts {
        read_only: false,
        replication: Replication::NotConfigured,
    })
}

fn replica_with(io: IoThread, sql_running: bool, lag: Option<u64>) -> Outcome {
    let lag = lag.map(Duration::from_secs);
    let error = String::new();
    let replication = Replication::Configured {
        io,
        sql_running,
        lag,
        error,
    };
    Outcome::Answered(Facts {
        read_only: true,
        replication,
    })
}

fn after(outcomes: impl IntoIterator<Item = Outcome>) -> ServerHealth {
    let mut health = ServerHealth::default();
    let now = Instant::now();
    for outcome in outcomes {
        health.observe(outcome, now);
    }
    health
}

/// Health of a replica whose group has a primary (or has none), `age` after its only check.
fn judged(outcome: Outcome, primary_known: bool, age: Duration) -> Health {
    let mut states = [after([primary()]), ServerHealth::default()];
    let now = Instant::now();
    states[1].observe(outcome, now);
    if !primary_known {
        states[0] = after([refused(), refused()]);
    }
    let members = members(&states);
    let primary = primary_known.then_some(0);
    assess(&members, primary, Duration::from_secs(5), now + age).remove(1)
}

fn members(states: &[ServerHealth]) -> Vec<Member<'_>> {
    let role = |i| if i == 0 { Role::Primary } else { Role::Replica };
    let member = |(i, state)| Member {
        role: role(i),
        monitored: true,
        state,
    };
    states.iter().enumerate().map(member).collect()
}

#[test]
fn the_first_answer_makes_a_server_alive() {
    let mut health = ServerHealth::default();
    let transition = health.observe(primary(), Instant::now());
    assert_eq!(
        transition,
        Some(Transition {
            from: Liveness::Unknown,
            to: Liveness::Alive
        })
    );
    assert_eq!(health.trouble(), "");
}

#[test]
fn three_failures_in_a_row_are_death_and_two_are_not() {
    let mut health = after([primary(), failed(), failed()]);
    assert!(health.is_alive());
    assert_eq!(health.trouble(), "no answer");
    health.observe(primary(), Instant::now());
    health.observe(failed(), Instant::now());
    health.observe(failed(), Instant::now());
    assert!(
        health.is_alive(),
        "an answer in between starts the count anew"
    );
    let transition = health.observe(failed(), Instant::now());
    assert_eq!(
        transition,
        Some(Transition {
            from: Liveness::Alive,
            to: Liveness::Dead
        })
    );
}

#[test]
fn two_refused_connections_are_death() {
    assert!(after([primary(), refused()]).is_alive());
    assert!(!after([primary(), refused(), refused()]).is_alive());
    assert!(
        after([primary(), refused(), failed()]).is_alive(),
        "not in a row"
    );
}

#[test]
fn a_start_up_needs_as_many_failures_before_the_server_is_given_up() {
    assert_eq!(after([failed(), failed()]).liveness(), Liveness::Unknown);
    assert_eq!(
        after([failed(), failed(), failed()]).liveness(),
        Liveness::Dead
    );
}

#[test]
fn a_dead_server_must_answer_twice_before_it_is_used() {
    let mut health = after([primary(), refused(), refused(), primary()]);
    assert!(!health.is_alive());
    assert_eq!(health.trouble(), "answers again (1 of 2 checks)");
    health.observe(primary(), Instant::now());
    assert!(health.is_alive());
    assert!(!after([refused(), refused(), primary(), failed(), primary()]).is_alive());
}

#[test]
fn a_server_that_declines_a_connection_stays_as_it_was() {
    let full = || Outcome::Declined("1040 Too many connections".into());
    let health = after([primary(), full(), full(), full(), full()]);
    assert!(health.is_alive());
    assert_eq!(health.declined_with(), Some("1040 Too many connections"));
    assert_eq!(
        health.facts().map(|f| f.read_only),
        Some(false),
        "what it said last holds"
    );
    assert!(!after([refused(), refused(), full(), full()]).is_alive());
    assert!(after([primary(), failed(), failed(), full(), failed()]).is_alive());
    assert_eq!(after([primary(), full(), primary()]).declined_with(), None);
}

#[test]
fn a_server_that_never_let_the_monitor_in_is_not_used_for_anything() {
    let state = [after([Outcome::Declined("1045 Access denied".into())])];
    let health = assess(
        &members(&state),
        None,
        Duration::from_secs(5),
        Instant::now(),
    )
    .remove(0);
    assert_eq!(
        (health.alive, health.writable, health.readable),
        (true, false, false)
    );
    assert_eq!(health.reason, "1045 Access denied");
}

#[test]
fn what_a_server_said_before_its_death_is_forgotten() {
    assert_eq!(after([primary(), refused(), refused()]).facts(), None);
}

#[test]
fn a_replica_is_readable_up_to_the_lag_limit() {
    let at = |lag| {
        judged(
            replica_with(IoThread::Running, true, Some(lag)),
            true,
            Duration::ZERO,
        )
    };
    assert_eq!(
        (at(5).readable, at(5).lag),
        (true, Some(Duration::from_secs(5)))
    );
    assert_eq!(at(5).reason, "");
    assert!(!at(6).readable);
    assert_eq!(at(6).reason, "is 6.0 s behind, limit 5.0 s");
    assert!(at(6).alive, "only new reads stay away");
}

#[test]
fn a_stopped_sql_thread_ends_reading_even_without_a_primary() {
    for primary_known in [true, false] {
        let outcome = replica_with(IoThread::Running, false, None);
        let health = judged(outcome, primary_known, Duration::ZERO);
        assert!(!health.readable);
        assert_eq!(health.reason, "the replication SQL thread is stopped");
    }
}

#[test]
fn a_stopped_io_thread_ends_reading_while_the_primary_runs() {
    let outcome = replica_with(IoThread::Stopped, true, None);
    assert!(!judged(outcome, true, Duration::ZERO).readable);
}

#[test]
fn a_replica_that_lost_its_source_serves_reads_until_the_limit() {
    let outcome = || replica_with(IoThread::Connecting, true, None);
    assert!(judged(outcome(), true, Duration::from_secs(5)).readable);
    assert!(!judged(outcome(), true, Duration::from_secs(6)).readable);
}

#[test]
fn reads_go_on_at_replicas_when_the_primary_is_gone() {
    for io in [IoThread::Connecting, IoThread::Stopped] {
        let health = judged(
            replica_with(io, true, None),
            false,
            Duration::from_secs(3600),
        );
        assert!(health.readable);
        assert_eq!(health.reason, "its source is gone; reads go on");
    }
}

#[test]
fn a_server_that_replicates_from_nobody_is_no_replica_to_read_from() {
    let alone = Facts {
        read_only: true,
        replication: Replication::NotConfigured,
    };
    let health = judged(Outcome::Answered(alone), true, Duration::ZERO);
    assert!(!health.readable);
    assert_eq!(health.reason, "replicates from no server");
}

#[test]
fn an_unknown_replication_state_is_not_readable_and_says_what_is_missing() {
    let replication = Replication::Unknown("grant it".into());
    let health = judged(
        Outcome::Answered(Facts {
            read_only: true,
            replication,
        }),
        true,
        Duration::ZERO,
    );
    assert!(!health.readable);
    assert_eq!(health.reason, "grant it");
}

#[test]
fn the_primary_is_readable_whatever_its_own_replication_does() {
    let outcome = replica_with(IoThread::Stopped, false, None);
    let Outcome::Answered(mut facts) = outcome else {
        unreachable!()
    };
    facts.read_only = false;
    let state = [after([Outcome::Answered(facts)])];
    let limit = Duration::from_secs(5);
    let health = assess(&members(&state), Some(0), limit, Instant::now()).remove(0);
    assert!(health.writable && health.readable);
}

#[test]
fn nobody_else_takes_writes_before_the_configured_primary_has_been_heard_or_given_up() {
    let now = Instant::now();
    let limit = Duration::from_secs(5);
    let mut states = [after([failed(), failed()]), after([primary()])];
    assert!(!assess(&members(&states), None, limit, now)[1].writable);
    states[0].observe(failed(), now);
    assert!(assess(&members(&states), None, limit, now)[1].writable);
}

#[test]
fn without_a_monitor_roles_are_trusted_and_answers_are_health() {
    let states = [
        after([Outcome::Greeted]),
        after([Outcome::Greeted]),
        after([refused()]),
    ];
    let unmonitored: Vec<Member<'_>> = members(&states)
        .into_iter()
        .map(|m| Member {
            monitored: false,
            ..m
        })
        .collect();
    assert!(writable(&unmonitored[0]) && !writable(&unmonitored[1]));
    let healths = assess(
        &unmonitored,
        Some(0),
        Duration::from_secs(5),
        Instant::now(),
    );
    let seen: Vec<_> = healths
        .iter()
        .map(|h| (h.alive, h.writable, h.readable))
        .collect();
    assert_eq!(
        seen,
        [
            (true, true, true),
            (true, false, true),
            (false, false, false)
        ]
    );
}

#[test]
fn a_second_writable_server_counts_after_the_next_look_at_the_primary() {
    let began = Instant::now();
    let at = |ms| began + Duration::from_millis(ms);
    let mut states = [after([primary()]), after([primary()])];
    states[0].note_look(at(0), at(1));
    states[1].note_look(at(2), at(3));
    let second = |states: &[ServerHealth]| {
        assess(&members(states), Some(0), Duration::from_secs(5), at(9)).remove(1)
    };
    assert!(!second(&states).writable, "they may have changed places");
    states[0].note_look(at(4), at(5));
    states[1].note_look(at(6), at(7));
    assert!(second(&states).writable, "both were, at once");
}
