use super::*;
use crate::sniff::{sniff, Dialect};
use crate::topology::{Address, Budget, Greeting, Health, Role, Target};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn server(index: u32, role: Role, weight: u32) -> Server {
    Server {
        id: ServerId(index),
        address: Address::Tcp("127.0.0.1".into(), 3306 + index as u16),
        target: Some(Target::Tcp(([127, 0, 0, 1], 3306 + index as u16).into())),
        role,
        weight,
        compression: crate::config::Compression::Off,
        health: Health {
            alive: true,
            writable: role == Role::Primary,
            readable: true,
            lag: None,
            reason: String::new(),
        },
        budget: Arc::new(Budget::new(100)),
        tls: None,
        proxy_protocol: None,
    }
}

/// A primary that takes no reads and replicas of these weights.
fn servers(weights: &[u32]) -> Vec<Server> {
    let replicas = weights
        .iter()
        .zip(1..)
        .map(|(&weight, index)| server(index, Role::Replica, weight));
    std::iter::once(server(0, Role::Primary, 0))
        .chain(replicas)
        .collect()
}

fn group_of(servers: Vec<Server>) -> Group {
    Group {
        name: "main".into(),
        index: 0,
        read_write_split: true,
        election: crate::config::Primary::Writable,
        read_your_writes: ReadYourWrites::Timer,
        read_your_writes_window: Duration::from_millis(300),
        servers: servers.into_iter().map(Arc::new).collect(),
        primary: Some(0),
        greeting: Arc::new(Greeting {
            version: "9.7.0".into(),
            capabilities: 0,
            collation: 45,
            auth_plugin: "caching_sha2_password".into(),
            collations: Arc::new(HashMap::new()),
            sql_mode: String::new(),
            autocommit: true,
            select_limit: false,
            div_precision_increment: 4,
        }),
        accounts: None,
    }
}

fn group() -> Group {
    group_of(servers(&[1, 1]))
}

/// A moment long after any write.
fn context() -> Context {
    Context {
        now: 1_000_000 * MS,
        ..Context::default()
    }
}

fn decide(sql: &str, context: &Context, group: &Group) -> Decision {
    let sniffed = sniff(
        sql.as_bytes(),
        true,
        Dialect {
            version: 90_700,
            ..Dialect::default()
        },
    );
    route(&sniffed, context, group, &|_| 0)
}

#[track_caller]
fn assert_primary(sql: &str, context: &Context, group: &Group, reason: Reason) {
    assert_eq!(
        decide(sql, context, group),
        Decision {
            route: Route::Primary(0),
            reason
        },
        "{sql}"
    );
}

#[track_caller]
fn assert_replica(sql: &str, context: &Context, group: &Group, reason: Reason) {
    let decision = decide(sql, context, group);
    assert!(
        matches!(decision.route, Route::Replica(index) if index > 0),
        "{sql}: {decision:?}"
    );
    assert_eq!(decision.reason, reason, "{sql}");
}

#[test]
fn reads_go_to_replicas_and_everything_else_to_the_primary() {
    let (context, group) = (context(), group());
    assert_replica("SELECT 1", &context, &group, Reason::Read);
    assert_replica(
        "(SELECT 1) UNION (SELECT 2)",
        &context,
        &group,
        Reason::Read,
    );
    assert_replica("SHOW TABLES", &context, &group, Reason::Read);
    assert_replica("SELECT f()", &context, &group, Reason::Read);
    assert_primary("DELETE FROM t", &context, &group, Reason::Write);
    assert_primary(
        "WITH c AS (SELECT 1) DELETE FROM t",
        &context,
        &group,
        Reason::Write,
    );
    assert_primary(
        "SELECT a FROM t FOR UPDATE",
        &context,
        &group,
        Reason::Locking,
    );
    assert_primary("CALL p()", &context, &group, Reason::Unsure);
    assert_primary("SELECT 1; SELECT 2", &context, &group, Reason::Unsure);
    assert_primary("SHOW STATUS", &context, &group, Reason::ServerState);
    assert_primary(
        "SELECT LAST_INSERT_ID()",
        &context,
        &group,
        Reason::ServerState,
    );
    assert_primary("SET a=1", &context, &group, Reason::Unsure);
}

#[test]
fn a_held_connection_takes_everything() {
    let context = Context {
        held: true,
        ..context()
    };
    for sql in [
        "SELECT 1",
        "DELETE FROM t",
        "/* umpire:replica */ SELECT 1",
        "COMMIT",
    ] {
        let decision = decide(sql, &context, &group());
        assert_eq!(
            decision,
            Decision {
                route: Route::Held,
                reason: Reason::HeldConnection
            },
            "{sql}"
        );
    }
}

#[test]
fn transactions_start_on_the_primary_unless_they_are_read_only() {
    let (context, group) = (context(), group());
    assert_primary("BEGIN", &context, &group, Reason::Transaction);
    assert_primary("START TRANSACTION", &context, &group, Reason::Transaction);
    assert_primary("XA START 'x'", &context, &group, Reason::Transaction);
    assert_primary(
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        &context,
        &group,
        Reason::Transaction,
    );
    assert_replica(
        "START TRANSACTION READ ONLY",
        &context,
        &group,
        Reason::ReadOnlyTransaction,
    );
    assert_primary(
        "START TRANSACTION READ ONLY; DELETE FROM t",
        &context,
        &group,
        Reason::Write,
    );
    assert_primary(
        "START TRANSACTION READ ONLY; SELECT 1",
        &context,
        &group,
        Reason::Transaction,
    );
    let off = Context {
        autocommit_off: true,
        ..context
    };
    assert_primary(
        "START TRANSACTION READ ONLY",
        &off,
        &group,
        Reason::AutocommitOff,
    );
    let wrote = Context {
        last_write: context.now,
        ..context
    };
    assert_primary(
        "START TRANSACTION READ ONLY",
        &wrote,
        &group,
        Reason::ReadYourWrites,
    );
}

#[test]
fn without_autocommit_reads_belong_to_a_transaction() {
    let context = Context {
        autocommit_off: true,
        ..context()
    };
    assert_primary("SELECT 1", &context, &group(), Reason::AutocommitOff);
    assert_primary(
        "/* umpire:replica */ SELECT 1",
        &context,
        &group(),
        Reason::AutocommitOff,
    );
}

#[test]
fn a_user_reads_his_own_writes_for_the_whole_window_and_no_longer() {
    let group = group();
    let after = |ns: u64| Context {
        last_write: 5_000 * MS,
        now: 5_000 * MS + ns,
        ..context()
    };
    assert_primary("SELECT 1", &after(0), &group, Reason::ReadYourWrites);
    assert_primary("SELECT 1", &after(299 * MS), &group, Reason::ReadYourWrites);
    assert_primary(
        "SELECT 1",
        &after(300 * MS - 1),
        &group,
        Reason::ReadYourWrites,
    );
    assert_replica("SELECT 1", &after(300 * MS), &group, Reason::Read);
    assert_replica("SELECT 1", &after(301 * MS), &group, Reason::Read);
    let earlier = Context {
        last_write: 5_000 * MS,
        now: 4_999 * MS,
        ..context()
    };
    assert_primary("SELECT 1", &earlier, &group, Reason::ReadYourWrites);
    let never = Context {
        last_write: 0,
        now: MS,
        ..context()
    };
    assert_replica("SELECT 1", &never, &group, Reason::Read);
    let longest = Context {
        last_write: u64::MAX - 1,
        now: u64::MAX - 1,
        ..context()
    };
    assert_primary("SELECT 1", &longest, &group, Reason::ReadYourWrites);
}

#[test]
fn the_window_may_be_off() {
    let mut group = group();
    group.read_your_writes = ReadYourWrites::Off;
    let context = Context {
        last_write: 5_000 * MS,
        now: 5_001 * MS,
        ..context()
    };
    assert_replica("SELECT 1", &context, &group, Reason::Read);
}

#[test]
fn hints_choose_but_never_send_a_write_to_a_replica() {
    let (context, group) = (context(), group());
    assert_primary(
        "/* umpire:primary */ SELECT 1",
        &context,
        &group,
        Reason::HintPrimary,
    );
    assert_replica(
        "/* umpire:replica */ SELECT 1",
        &context,
        &group,
        Reason::HintReplica,
    );
    assert_replica(
        "SHOW /* umpire:replica */ REPLICA STATUS",
        &context,
        &group,
        Reason::HintReplica,
    );
    for sql in [
        "DELETE FROM t",
        "SELECT a FROM t FOR UPDATE",
        "BEGIN",
        "CALL p()",
        "SELECT GET_LOCK('a',1)",
        "SET a=1",
    ] {
        let decision = decide(&format!("/* umpire:replica */ {sql}"), &context, &group);
        assert_eq!(decision.route, Route::Primary(0), "{sql}");
    }
    let wrote = Context {
        last_write: context.now,
        ..context
    };
    assert_replica(
        "/* umpire:replica */ SELECT 1",
        &wrote,
        &group,
        Reason::HintReplica,
    );
    let known = Context {
        known_write: true,
        ..context
    };
    assert_primary(
        "/* umpire:replica */ SELECT f()",
        &known,
        &group,
        Reason::KnownWrite,
    );
}

#[test]
fn a_statement_that_wrote_before_goes_to_the_primary() {
    let context = Context {
        known_write: true,
        ..context()
    };
    assert_primary("SELECT f()", &context, &group(), Reason::KnownWrite);
}

#[test]
fn without_splitting_everything_goes_to_the_primary() {
    let mut group = group();
    group.read_write_split = false;
    assert_primary("SELECT 1", &context(), &group, Reason::SplitOff);
    assert_primary(
        "/* umpire:replica */ SELECT 1",
        &context(),
        &group,
        Reason::SplitOff,
    );
}

#[test]
fn a_server_that_is_dead_unresolved_lagging_or_weightless_gets_no_reads() {
    let spoil: [fn(&mut Server); 4] = [
        |server| server.health.alive = false,
        |server| server.health.readable = false,
        |server| server.target = None,
        |server| server.weight = 0,
    ];
    for spoil in spoil {
        let mut list = servers(&[1, 1]);
        spoil(&mut list[1]);
        let group = group_of(list);
        for seed in 0..200 {
            assert_eq!(
                decide("SELECT 1", &Context { seed, ..context() }, &group).route,
                Route::Replica(2)
            );
        }
    }
}

#[test]
fn without_any_reader_the_primary_reads() {
    let group = group_of(servers(&[0, 0]));
    assert_primary("SELECT 1", &context(), &group, Reason::NoReplica);
    assert_primary(
        "/* umpire:replica */ SELECT 1",
        &context(),
        &group,
        Reason::NoReplica,
    );
}

#[test]
fn without_a_primary_reads_go_on_and_all_else_waits() {
    let mut group = group();
    group.primary = None;
    assert_replica("SELECT 1", &context(), &group, Reason::Read);
    assert_eq!(
        decide("DELETE FROM t", &context(), &group),
        Decision {
            route: Route::NoPrimary,
            reason: Reason::Write
        }
    );
    let wrote = Context {
        last_write: context().now,
        ..context()
    };
    assert_eq!(
        decide("SELECT 1", &wrote, &group).route,
        Route::NoPrimary,
        "it would not see the write"
    );
    let nobody = Group {
        primary: None,
        ..group_of(servers(&[0]))
    };
    assert_eq!(
        decide("SELECT 1", &context(), &nobody).route,
        Route::NoPrimary
    );
}

#[test]
fn a_primary_that_is_not_up_is_not_used() {
    let spoil: [fn(&mut Server); 2] = [
        |server| server.health.alive = false,
        |server| server.target = None,
    ];
    for spoil in spoil {
        let mut list = servers(&[1]);
        spoil(&mut list[0]);
        let group = group_of(list);
        assert_eq!(
            decide("DELETE FROM t", &context(), &group).route,
            Route::NoPrimary
        );
        assert_replica("SELECT 1", &context(), &group, Reason::Read);
    }
    let beyond = Group {
        primary: Some(9),
        ..group()
    };
    assert_eq!(
        decide("DELETE FROM t", &context(), &beyond).route,
        Route::NoPrimary
    );
}

/// Shares of the servers, in percent, over many turns with nothing else running.
fn shares(group: &Group, load: &dyn Fn(ServerId) -> u32) -> Vec<f64> {
    const TURNS: u64 = 40_000;
    let sniffed = sniff(b"SELECT 1", true, Dialect::default());
    let mut counts = vec![0u32; group.servers.len()];
    for seed in 0..TURNS {
        match route(&sniffed, &Context { seed, ..context() }, group, load).route {
            Route::Replica(index) | Route::Primary(index) => counts[index] += 1,
            other => panic!("{other:?}"),
        }
    }
    counts
        .iter()
        .map(|&count| f64::from(count) * 100.0 / TURNS as f64)
        .collect()
}

#[track_caller]
fn assert_near(got: &[f64], wanted: &[f64]) {
    let near = got
        .iter()
        .zip(wanted)
        .all(|(got, wanted)| (got - wanted).abs() < 1.5);
    assert!(
        near && got.len() == wanted.len(),
        "{got:?}, wanted {wanted:?}"
    );
}

#[test]
fn shares_follow_the_weights_the_primary_included() {
    assert_near(
        &shares(&group_of(servers(&[1, 1])), &|_| 0),
        &[0.0, 50.0, 50.0],
    );
    assert_near(
        &shares(&group_of(servers(&[3, 1])), &|_| 0),
        &[0.0, 75.0, 25.0],
    );
    assert_near(
        &shares(&group_of(servers(&[100, 0, 300])), &|_| 0),
        &[0.0, 25.0, 0.0, 75.0],
    );
    let mut list = servers(&[2, 2]);
    list[0].weight = 1;
    assert_near(&shares(&group_of(list), &|_| 0), &[20.0, 40.0, 40.0]);
}

#[test]
fn loads_in_the_ratio_of_the_weights_count_as_equal() {
    let group = group_of(servers(&[3, 1]));
    assert_near(
        &shares(&group, &|server| if server.0 == 1 { 30 } else { 10 }),
        &[0.0, 75.0, 25.0],
    );
}

#[test]
fn the_busier_server_gets_less() {
    let group = group_of(servers(&[1, 1]));
    let got = shares(&group, &|server| if server.0 == 1 { 50 } else { 2 });
    assert_near(&got, &[0.0, 25.0, 75.0]);
}

#[test]
fn the_largest_weights_do_not_overflow() {
    let group = group_of(servers(&[u32::MAX, u32::MAX]));
    assert_near(&shares(&group, &|_| u32::MAX), &[0.0, 50.0, 50.0]);
}

#[test]
fn a_decision_is_explained_in_plain_words() {
    let group = group();
    let sniffed = sniff(
        b"/* umpire:replica */ START TRANSACTION READ ONLY",
        true,
        Dialect::default(),
    );
    let decision = Decision {
        route: Route::Replica(1),
        reason: Reason::HintReplica,
    };
    let rows: Vec<_> = explain(&sniffed, &decision, &group);
    let expected = [
        ("verb", "START"),
        ("access", "unsure"),
        ("effects", "begin, begin read only"),
        ("hint", "replica"),
        ("route", "replica 127.0.0.1:3307"),
        ("reason", "a hint in the statement asks for a replica"),
    ];
    assert_eq!(
        rows,
        expected.map(|(name, value)| (name, value.to_string()))
    );
    let read = explain(
        &sniff(b"SELECT 1", true, Dialect::default()),
        &decide("SELECT 1", &context(), &group),
        &group,
    );
    assert_eq!(
        (read[1].1.as_str(), read[2].1.as_str(), read[3].1.as_str()),
        ("read", "none", "none")
    );
}

#[test]
fn a_retry_never_goes_to_the_server_that_was_lost() {
    let avoid = |id| Context {
        avoid: Some(ServerId(id)),
        ..context()
    };
    for seed in 0..100 {
        let context = Context { seed, ..avoid(1) };
        assert_eq!(
            decide("SELECT 1", &context, &group()).route,
            Route::Replica(2)
        );
    }
    let single = group_of(servers(&[1]));
    assert_eq!(
        decide("SELECT 1", &avoid(1), &single).route,
        Route::Primary(0)
    );
    // there is one primary only: it is asked again
    assert_eq!(
        decide("DELETE FROM t", &avoid(0), &group()).route,
        Route::Primary(0)
    );
}
