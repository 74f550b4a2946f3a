//! Statements on several groups, planned by hand, against mock servers.
use super::world::{in_transaction, mock, packet, Client, World};
use crate::backend::tests::mock::{Answer, Mock};
use crate::config::CrossShard;
use crate::net::testing::run;
use crate::plan::{
    Answer as Told, Column as Place, Compare, Fanout, Merge, Part, Plan, Planned, Refusal, Request,
    SortKey,
};
use crate::wire::column::{encode_count, kind, Column, BINARY};
use crate::wire::packet::frame;
use crate::wire::row::put_text;
use crate::wire::{command, reply, status};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// `/*all*/` on g1 and g2, ordered by the first column; `/*change*/` on both; `/*g1*/`, `/*g2*/` on one.
fn planner(request: &Request<'_>) -> Result<Planned, Refusal> {
    let sql = String::from_utf8_lossy(request.sql).into_owned();
    let part = |group: usize| Part {
        group,
        shard: group,
        sql: format!("{sql} ON g{group}").into_bytes(),
        parameters: Vec::new(),
    };
    let both = |writes, answer| {
        Planned::Plan(Plan::Fanout(Fanout {
            parts: vec![part(1), part(2)],
            writes,
            answer,
            ids: Vec::new(),
        }))
    };
    let merge = |limit| Merge {
        order: vec![SortKey {
            column: Place::Visible(0),
            compare: Compare::Number,
            descending: false,
        }],
        limit,
        ..Merge::default()
    };
    Ok(match sql.split_once("*/").map(|(hint, _)| hint) {
        Some("/*all") => both(false, Told::Rows(merge(None))),
        Some("/*first") => both(false, Told::Rows(merge(Some(2)))),
        Some("/*change") => both(true, Told::Affected),
        Some("/*g1") => Planned::Plan(Plan::Single(part(1))),
        Some("/*g2") => Planned::Plan(Plan::Single(part(2))),
        Some("/*no") => return Err(Refusal::new("not this")),
        _ => Planned::Whole {
            group: request.home,
        },
    })
}

fn numbers(of: &[i32]) -> Answer {
    let column = Column {
        name: b"n".to_vec(),
        kind: kind::LONG,
        collation: BINARY,
        ..Column::default()
    };
    let mut out = Vec::new();
    let mut sequence = frame(&encode_count(1, false), 1, &mut out);
    sequence = frame(&column.encode(0), sequence, &mut out);
    for n in of {
        let mut row = Vec::new();
        put_text(Some(n.to_string().as_bytes()), &mut row);
        sequence = frame(&row, sequence, &mut out);
    }
    let end = reply::Ok {
        header: reply::EOF,
        status: status::AUTOCOMMIT,
        ..reply::Ok::default()
    };
    frame(
        &end.encode(crate::wire::capabilities::DEPRECATE_EOF),
        sequence,
        &mut out,
    );
    Answer::Bytes(out)
}

fn changed(rows: u64) -> Answer {
    let ok = reply::Ok {
        affected_rows: rows,
        status: status::AUTOCOMMIT,
        ..reply::Ok::default()
    };
    packet(&ok.encode(0))
}

/// Begins and ends transactions as a server does; anything else as `answer` says.
pub fn shard(answer: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) -> Mock {
    let open = AtomicBool::new(false);
    mock(move |kind, text| {
        match (kind, text) {
            (command::QUERY, "START TRANSACTION" | "BEGIN") => open.store(true, SeqCst),
            (command::QUERY, "COMMIT" | "ROLLBACK") => open.store(false, SeqCst),
            (command::QUERY, text) if text.contains("deadlock") => open.store(false, SeqCst),
            (command::QUERY, _) => {}
            (command::PING, _) => return open.load(SeqCst).then(in_transaction),
            _ => return None,
        }
        answer(text).or_else(|| open.load(SeqCst).then(in_transaction))
    })
}

/// Without what sets connections up.
pub fn seen(mock: &Mock) -> Vec<String> {
    let set_up =
        |c: &String| c.contains("@@SESSION.") || c.contains("SET NAMES") || c.starts_with("2 ");
    mock.commands().into_iter().filter(|c| !set_up(c)).collect()
}

/// The values of a result of one column, or its error's code.
async fn rows(client: &mut Client, sql: &str) -> Result<Vec<String>, u16> {
    client.send(command::QUERY, sql.as_bytes());
    let mut packets = 0;
    let mut values = Vec::new();
    loop {
        let packet = client.receive().await.expect("a reply");
        packets += 1;
        match packet[0] {
            0xff => return Err(reply::Err::decode(&packet).expect("an error").code),
            0xfe => return Ok(values),
            _ if packets > 2 => values.push(String::from_utf8_lossy(&packet[1..]).into_owned()),
            _ => {}
        }
    }
}

#[test]
fn rows_of_several_groups_come_as_one_ordered_result() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("SELECT").then(|| numbers(&[1, 4, 9])));
        let two = shard(|t| t.contains("SELECT").then(|| numbers(&[2, 4, 30])));
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        for _ in 0..20 {
            let all = rows(&mut client, "/*all*/ SELECT n").await;
            assert_eq!(all.unwrap(), ["1", "2", "4", "4", "9", "30"]);
            let first = rows(&mut client, "/*first*/ SELECT n").await;
            assert_eq!(first.unwrap(), ["1", "2"]);
        }
        assert_eq!(client.query("UPDATE t SET a = 1").await, 0);
        assert_eq!(
            (one.accepted(), two.accepted()),
            (1, 1),
            "connections are used again"
        );
        assert_eq!(home.saw("3 UPDATE"), 1);
    });
}

#[test]
fn one_shards_error_is_the_answer_and_the_others_stay_usable() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("SELECT").then(|| numbers(&[1])));
        let two = shard(|t| match t {
            t if t.contains("bad") => Some(Answer::Error(1146)),
            t => t.contains("SELECT").then(|| numbers(&[2])),
        });
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        for _ in 0..5 {
            assert_eq!(rows(&mut client, "/*all*/ SELECT bad").await, Err(1146));
            let good = rows(&mut client, "/*all*/ SELECT n").await;
            assert_eq!(good.unwrap(), ["1", "2"]);
        }
        assert_eq!((one.accepted(), two.accepted()), (1, 1));
        assert_eq!(rows(&mut client, "/*no*/ SELECT n").await, Err(1235));
    });
}

#[test]
fn a_lost_shard_is_an_error_and_the_next_statement_works() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("SELECT").then(|| numbers(&[1])));
        let two = shard(|t| match t {
            t if t.contains("dies") => Some(Answer::Close),
            t => t.contains("SELECT").then(|| numbers(&[2])),
        });
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        assert_eq!(rows(&mut client, "/*all*/ SELECT dies").await, Err(1053));
        let good = rows(&mut client, "/*all*/ SELECT n").await;
        assert_eq!(good.unwrap(), ["1", "2"]);
    });
}

#[test]
fn changes_of_several_groups_are_committed_together_and_add_up() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("UPDATE").then(|| changed(3)));
        let two = shard(|t| t.contains("UPDATE").then(|| changed(4)));
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        client.send(command::QUERY, b"/*change*/ UPDATE t SET a = 1");
        let packet = client.receive().await.expect("a reply");
        assert_eq!(packet[..2], [0, 7], "seven rows");
        for (mock, group) in [(&one, 1), (&two, 2)] {
            let statement = format!("3 /*change*/ UPDATE t SET a = 1 ON g{group}");
            assert_eq!(seen(mock), ["3 START TRANSACTION", &statement, "3 COMMIT"]);
        }
    });
}

#[test]
fn changes_that_one_shard_refuses_are_taken_back_on_all() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("UPDATE").then(|| changed(3)));
        let two = shard(|t| t.contains("UPDATE").then_some(Answer::Error(1062)));
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        assert_eq!(client.query("/*change*/ UPDATE t SET a = 1").await, 1062);
        for mock in [&one, &two] {
            let seen = seen(mock);
            assert_eq!(
                seen.first().map(String::as_str),
                Some("3 START TRANSACTION")
            );
            assert_eq!(seen.last().map(String::as_str), Some("3 ROLLBACK"));
        }
        assert_eq!(client.query("SELECT 1").await, 0);
    });
}

#[test]
fn a_transaction_on_one_other_group_begins_and_commits_there() {
    run(|| async {
        let (home, one, two) = (shard(|_| None), shard(|_| None), shard(|_| None));
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        for sql in [
            "BEGIN",
            "SAVEPOINT a",
            "/*g1*/ UPDATE t",
            "ROLLBACK TO a",
            "/*g1*/ UPDATE u",
        ] {
            assert_eq!(client.query(sql).await, 0, "{sql}");
        }
        assert_eq!(
            client.query("/*g2*/ UPDATE t").await,
            1105,
            "a second group"
        );
        assert_eq!(client.query("/*change*/ UPDATE t").await, 1105);
        assert_eq!(client.query("COMMIT").await, 0);
        let expected = [
            "3 BEGIN",
            "3 SAVEPOINT a",
            "3 /*g1*/ UPDATE t ON g1",
            "3 ROLLBACK TO a",
            "3 /*g1*/ UPDATE u ON g1",
            "3 COMMIT",
        ];
        assert_eq!(seen(&one), expected);
        assert_eq!(seen(&two), Vec::<String>::new());
        assert_eq!(client.query("/*g2*/ UPDATE t").await, 0, "a new one may");
        assert_eq!(one.accepted(), 1);
    });
}

#[test]
fn with_best_effort_a_transaction_uses_several_groups_and_commits_on_each() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| (t == "/*g1*/ UPDATE bad ON g1").then_some(Answer::Error(1064)));
        let two = shard(|t| (t.contains("poison")).then_some(Answer::Close));
        let world = World::of_groups(&[&home, &one, &two], |p| {
            p.cross_shard = CrossShard::BestEffort;
        });
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        for sql in [
            "BEGIN",
            "/*g1*/ UPDATE t",
            "/*g2*/ UPDATE t",
            "/*change*/ UPDATE t",
        ] {
            assert_eq!(client.query(sql).await, 0, "{sql}");
        }
        assert_eq!(client.query("/*g1*/ UPDATE bad").await, 1064);
        assert_eq!(client.query("COMMIT").await, 0);
        for mock in [&one, &two] {
            assert_eq!(mock.saw("3 COMMIT"), 1);
            assert_eq!(mock.saw("3 SAVEPOINT umpire"), 1);
        }
        assert_eq!(home.saw("3 COMMIT"), 1);
        // a group that is lost takes the transaction with it
        for sql in ["BEGIN", "/*g1*/ UPDATE t"] {
            assert_eq!(client.query(sql).await, 0, "{sql}");
        }
        client.send(command::QUERY, b"/*g2*/ UPDATE poison");
        assert_eq!(client.receive().await, None, "the session ends");
    });
}

/// How often the whole transaction was.
fn rolled_back(mock: &Mock) -> usize {
    seen(mock).iter().filter(|c| *c == "3 ROLLBACK").count()
}

#[test]
fn a_deadlock_on_one_group_ends_the_transaction_on_all() {
    run(|| async {
        let refuses = |t: &str| match t {
            t if t.contains("deadlock") => Some(Answer::Error(1213)),
            t if t.contains("too late") => Some(Answer::Error(1205)),
            t if t.contains("twice") => Some(Answer::Error(1062)),
            _ => None,
        };
        let (home, one, two) = (shard(|_| None), shard(refuses), shard(refuses));
        let world = World::of_groups(&[&home, &one, &two], |p| {
            p.cross_shard = CrossShard::BestEffort;
        });
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        let begun = ["BEGIN", "/*g1*/ UPDATE t", "/*g2*/ UPDATE t"];
        // an error that leaves the transaction open
        for sql in begun {
            assert_eq!(client.query(sql).await, 0, "{sql}");
        }
        assert_eq!(client.query("/*g2*/ UPDATE twice").await, 1062);
        assert_eq!(client.query("/*change*/ UPDATE twice").await, 1062);
        assert_eq!(client.query("COMMIT").await, 0);
        for mock in [&home, &one, &two] {
            assert_eq!((mock.saw("3 COMMIT"), rolled_back(mock)), (1, 0));
        }
        // the server's code says so, or its flags, of one statement on one server or on several
        let ends = [
            "/*g2*/ UPDATE deadlock",
            "/*g2*/ UPDATE deadlock too late",
            "/*change*/ UPDATE deadlock",
            "/*all*/ SELECT deadlock",
        ];
        for (at, ends) in ends.iter().enumerate() {
            for sql in begun {
                assert_eq!(client.query(sql).await, 0, "{sql}");
            }
            assert_ne!(client.query(ends).await, 0, "{ends}");
            // what is rolled back is so before the next statement runs, which is in no transaction
            assert_eq!(client.query("/*g1*/ UPDATE t SET after = 1").await, 0);
            assert_eq!(rolled_back(&home), at + 1, "{ends}");
            let after = "3 /*g1*/ UPDATE t SET after = 1 ON g1";
            assert_eq!(seen(&one).last().map(String::as_str), Some(after), "{ends}");
        }
        for mock in [&home, &one, &two] {
            assert_eq!(mock.saw("3 COMMIT"), 1);
        }
        assert!(rolled_back(&one) > 0);
    });
}

#[test]
fn a_commit_that_fails_on_the_second_group_says_what_was_committed() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|_| None);
        let two = shard(|t| (t == "COMMIT").then_some(Answer::Error(1180)));
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        client.send(command::QUERY, b"/*change*/ UPDATE t");
        let packet = client.receive().await.expect("a reply");
        let error = reply::Err::decode(&packet).expect("an error");
        let text = String::from_utf8(error.message).unwrap();
        assert!(
            text.contains("committed on group 'g1' but not on 'g2'"),
            "{text}"
        );
        assert!(text.contains("1180"), "{text}");
    });
}

#[test]
fn questions_about_the_last_statement_go_where_it_ran() {
    run(|| async {
        let home = shard(|_| None);
        let one = shard(|t| t.contains("INSERT").then(|| changed(1)));
        let two = shard(|_| None);
        let world = World::of_groups(&[&home, &one, &two], |_| {});
        world.shared.plan_with(planner);
        let mut client = world.client().await;
        assert_eq!(client.query("/*g1*/ INSERT INTO t VALUES (1)").await, 0);
        assert_eq!(client.query("SHOW WARNINGS").await, 0);
        assert_eq!(
            (one.saw("3 SHOW WARNINGS"), home.saw("3 SHOW WARNINGS")),
            (1, 0)
        );
        assert_eq!(client.query("/*change*/ UPDATE t").await, 0);
        assert_eq!(client.query("SELECT ROW_COUNT()").await, 1105);
    });
}
