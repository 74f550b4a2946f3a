//! The budget of a turn: a routed point select allocates nothing on the worker.
use super::one_shard::{bound, columns, prepare, with_one_parameter};
use super::world::{mock, prepared, Client, World};
use crate::backend::tests::mock::Answer;
use crate::config::{Action, Audit, AuditText, Policy, Statistics, TableName, Watching};
use crate::net::testing::{allocations, run};
use crate::net::Buf;
use crate::wire::packet::frame;
use crate::wire::{command, status};

/// One row of one column, without EOF packets before the end.
fn one_row() -> Answer {
    let mut end = vec![0xfe, 0, 0];
    end.extend_from_slice(&status::AUTOCOMMIT.to_le_bytes());
    end.extend_from_slice(&[0, 0]);
    let column =
        b"\x03def\x00\x00\x00\x01c\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00";
    let mut bytes = Vec::new();
    let mut sequence = 1;
    for payload in [&[1][..], column, b"\x011", &end] {
        sequence = frame(payload, sequence, &mut bytes);
    }
    Answer::Bytes(bytes)
}

/// Sends the command and reads as many bytes as the reply has, without an allocation of its own.
async fn turn(client: &Client, command: &'static [u8], reply: usize) {
    client.socket.send(Buf::from_static(command));
    let mut got = 0;
    while got < reply {
        let buf = client.socket.recv().await.expect("readable").expect("open");
        got += buf.len();
    }
    assert_eq!(got, reply);
}

/// Enough for an allocation a turn, or one in twenty of them, to stand out.
const TURNS: u64 = 2_000;
/// What the machine's other work may cause: a reply that arrives in two pieces, a queue that grows once.
const CHANCE: u64 = TURNS / 100;

/// Allocations of the worker's thread in two thousand turns, after a hundred others.
fn in_many_turns(make: fn(&[u8; 4]) -> Vec<u8>) -> u64 {
    in_many_watched_turns(Watching::default(), make)
}

/// A table in two shards of "main" and two of "g1".
const SHARDED: &str = r#"
[[table]]
name = "shop.orders"
key = "id"
method = "mod"
shards = [{ group = "main", table = "o_0" }, { group = "main", table = "o_1" },
          { group = "g1", table = "o_2" }, { group = "g1", table = "o_3" }]
"#;

/// As [`in_many_turns`], of statements that are each one shard's.
fn in_many_sharded_turns(watching: Watching, make: fn(&[u8; 4]) -> Vec<u8>) -> u64 {
    in_many_turns_of_shards(watching, one_row, 0, make)
}

/// `grown`: bytes that the reply has more for the client.
fn in_many_turns_of_shards(
    watching: Watching,
    one_row: fn() -> Answer,
    grown: usize,
    make: fn(&[u8; 4]) -> Vec<u8>,
) -> u64 {
    run(move || async move {
        let answer = move |kind, text: &str| match kind {
            command::STMT_PREPARE if text.contains('?') => Some(with_one_parameter()),
            command::STMT_PREPARE => Some(prepared(1)),
            command::STMT_EXECUTE => Some(one_row()),
            _ if text.contains("information_schema.COLUMNS") => Some(columns()),
            _ => text.starts_with("SELECT").then(one_row),
        };
        let (main, other) = (mock(answer), mock(answer));
        let world = World::of_watched_groups(&[&main, &other], watching, |_| {});
        world.rules(SHARDED);
        let mut client = world.client_in("shop").await;
        let id = prepare(&mut client, "SELECT c FROM orders WHERE id=?").await;
        let command: &'static [u8] = make(&id).leak();
        let Answer::Bytes(reply) = one_row() else {
            unreachable!("bytes");
        };
        for _ in 0..100 {
            turn(&client, command, reply.len() + grown).await;
        }
        let before = allocations();
        let known = world.shared.stats.plans_cached.get();
        for _ in 0..TURNS {
            turn(&client, command, reply.len() + grown).await;
        }
        let made = allocations() - before;
        assert_eq!(world.shared.stats.plans_cached.get() - known, TURNS);
        made
    })
}

fn execute(id: &[u8; 4], value: u64) -> Vec<u8> {
    framed(command::STMT_EXECUTE, &bound(id, value))
}

#[test]
fn a_point_select_of_one_shard_in_text_allocates_nothing() {
    let at_home = in_many_sharded_turns(Watching::default(), |_| {
        framed(command::QUERY, b"SELECT c FROM orders WHERE id=505")
    });
    assert!(at_home <= CHANCE, "{at_home} allocations in {TURNS} turns");
    let elsewhere = in_many_sharded_turns(Watching::default(), |_| {
        framed(command::QUERY, b"SELECT c FROM orders WHERE id=507")
    });
    assert!(
        elsewhere <= CHANCE,
        "{elsewhere} allocations in {TURNS} turns"
    );
}

/// As [`one_row`], of a column that tells the shard's table.
fn one_row_of_shard() -> Answer {
    let Answer::Bytes(mut bytes) = one_row() else {
        unreachable!("bytes");
    };
    let names = b"\x04shop\x06orders\x03o_1";
    // behind the column count, the header and the catalog: three empty names
    let at = 5 + 4 + 4;
    bytes.splice(at..at + 3, names.iter().copied());
    bytes[5] += names.len() as u8 - 3;
    Answer::Bytes(bytes)
}

#[test]
fn a_shards_name_becomes_the_tables_own_without_an_allocation() {
    let grown = "orders".len() - "o_1".len();
    type Make = fn(&[u8; 4]) -> Vec<u8>;
    let makes: [Make; 2] = [
        |_| framed(command::QUERY, b"SELECT c FROM orders WHERE id=505"),
        |id| execute(id, 505),
    ];
    for make in makes {
        let made = in_many_turns_of_shards(Watching::default(), one_row_of_shard, grown, make);
        assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
    }
}

#[test]
fn a_point_select_of_one_shard_by_execute_allocates_nothing() {
    let at_home = in_many_sharded_turns(Watching::default(), |id| execute(id, 505));
    assert!(at_home <= CHANCE, "{at_home} allocations in {TURNS} turns");
    let elsewhere = in_many_sharded_turns(Watching::default(), |id| execute(id, 507));
    assert!(
        elsewhere <= CHANCE,
        "{elsewhere} allocations in {TURNS} turns"
    );
}

#[test]
fn a_point_select_of_one_shard_that_is_audited_allocates_nothing() {
    let made = in_many_sharded_turns(audited(), |_| {
        framed(command::QUERY, b"SELECT c FROM orders WHERE id=507")
    });
    assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
}

fn in_many_watched_turns(watching: Watching, make: fn(&[u8; 4]) -> Vec<u8>) -> u64 {
    in_many_judged_turns(watching, Vec::new(), make)
}

fn in_many_judged_turns(
    watching: Watching,
    policies: Vec<Policy>,
    make: fn(&[u8; 4]) -> Vec<u8>,
) -> u64 {
    run(move || async move {
        let answer = |kind, text: &str| match kind {
            command::STMT_PREPARE => Some(prepared(1)),
            command::STMT_EXECUTE => Some(one_row()),
            _ => text.starts_with("SELECT").then(one_row),
        };
        let (primary, replica) = (mock(answer), mock(answer));
        let world = World::judging(&primary, Some(&replica), (watching, policies), |_| {});
        let mut client = world.client_in("shop").await;
        let id = client.prepare("SELECT c FROM sbtest1 WHERE id=?").await;
        let command: &'static [u8] = make(&id).leak();
        let Answer::Bytes(reply) = one_row() else {
            unreachable!("bytes");
        };
        for _ in 0..100 {
            turn(&client, command, reply.len()).await;
        }
        let before = allocations();
        for _ in 0..TURNS {
            turn(&client, command, reply.len()).await;
        }
        let made = allocations() - before;
        assert!(world.shared.stats.turns_to_replica.get() > TURNS);
        made
    })
}

#[test]
fn a_point_select_in_text_allocates_nothing() {
    let made = in_many_turns(|_| framed(command::QUERY, b"SELECT c FROM sbtest1 WHERE id=505"));
    assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
}

#[test]
fn a_point_select_by_execute_allocates_nothing() {
    let made = in_many_turns(|id| {
        let body = [&id[..], &[0, 1, 0, 0, 0]].concat();
        framed(command::STMT_EXECUTE, &body)
    });
    assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
}

#[test]
fn a_point_select_that_is_counted_and_audited_allocates_nothing() {
    let made = in_many_watched_turns(audited(), |_| {
        framed(command::QUERY, b"SELECT c FROM sbtest1 WHERE id=505")
    });
    assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
}

#[test]
fn a_point_select_that_is_judged_counted_and_audited_allocates_nothing() {
    let policies = || {
        let mut no_where = Policy::of_everything("where", Action::Deny);
        no_where.no_where = true;
        let mut salaries = Policy::of_everything("salaries", Action::Deny);
        salaries.tables = vec![TableName {
            schema: Some("shop".into()),
            table: "salaries".into(),
        }];
        vec![no_where, salaries]
    };
    for text in [AuditText::Full, AuditText::Masked] {
        let mut watching = audited();
        watching.audit.text = text;
        let made = in_many_judged_turns(watching.clone(), policies(), |_| {
            framed(command::QUERY, b"SELECT c FROM sbtest1 WHERE id=505")
        });
        assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
        let made = in_many_judged_turns(watching, policies(), |id| {
            let body = [&id[..], &[0, 1, 0, 0, 0]].concat();
            framed(command::STMT_EXECUTE, &body)
        });
        assert!(made <= CHANCE, "{made} allocations in {TURNS} turns");
    }
}

fn audited() -> Watching {
    Watching {
        audit: Audit {
            file: Some("a file that nobody opens here".into()),
            ..Audit::default()
        },
        statistics: Statistics {
            digests: 100,
            slow_log: None,
            slow_log_ms: 1000,
        },
    }
}

#[test]
fn the_count_sees_an_allocation() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations() - before, 1);
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&[&[kind], body].concat(), 0, &mut out);
    out
}
