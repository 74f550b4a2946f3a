//! Statements of one shard whose plan is known go the way of all statements: what is sent where, against mock servers.
use super::shards::{seen, shard};
use super::world::{mock, ok_with, prepared, Client, World};
use crate::backend::tests::mock::{Answer, Mock};
use crate::net::testing::run;
use crate::wire::capabilities::{DEPRECATE_EOF, PROTOCOL_41};
use crate::wire::{command, reply, resultset, status};

/// Two tables with one shard on each of three groups; the second one's shards have its own name.
const RULES: &str = r#"
[[table]]
name = "shop.orders"
key = "id"
method = "mod"
shards = [{ group = "main", table = "o_0" }, { group = "g1", table = "o_1" }, { group = "g2", table = "o_2" }]
[[table]]
name = "shop.items"
key = "id"
method = "mod"
shards = [{ group = "main" }, { group = "g1" }, { group = "g2" }]
"#;

/// What a server says of the columns of any table.
pub fn columns() -> Answer {
    let names = [
        "name",
        "type",
        "column",
        "length",
        "charset",
        "collation",
        "null",
        "extra",
    ];
    let text = |value: &str| Some(value.to_string());
    let row = |name: &str| {
        let mut row = vec![text(name), text("int"), text("int(11)"), None, None, None];
        row.extend([text("NO"), text("")]);
        row
    };
    let mut out = Vec::new();
    let capabilities = DEPRECATE_EOF | PROTOCOL_41;
    let rows = [row("id"), row("c")];
    resultset::encode(&names, &rows, status::AUTOCOMMIT, capabilities, 1, &mut out);
    Answer::Bytes(out)
}

fn server() -> Mock {
    shard(|text| text.contains("information_schema.COLUMNS").then(columns))
}

async fn world(mocks: &[&Mock]) -> (World, Client) {
    let world = World::of_groups(mocks, |_| {});
    world.rules(RULES);
    let client = world.client_in("shop").await;
    (world, client)
}

/// The texts of COM_QUERY that the client's statements became.
fn texts(mock: &Mock) -> Vec<String> {
    let own = |c: &String| !c.contains("information_schema.COLUMNS");
    seen(mock).into_iter().filter(own).collect()
}

#[test]
fn each_time_the_same_is_sent_to_the_same_server() {
    run(|| async {
        let (home, one, two) = (server(), server(), server());
        let (world, mut client) = world(&[&home, &one, &two]).await;
        let mut expected = [Vec::new(), Vec::new(), Vec::new()];
        // two digits each; planned, kept, known
        for id in 10..40 {
            let sql = format!("UPDATE orders SET c = {} WHERE orders.id = {id}", 90 - id);
            assert_eq!(client.query(&sql).await, 0);
            expected[id % 3].push(format!(
                "3 UPDATE `o_{}` AS `orders` SET c = {} WHERE orders.id = {id}",
                id % 3,
                90 - id
            ));
            let sql = format!("UPDATE items SET c = 'x' WHERE id = {id}");
            assert_eq!(client.query(&sql).await, 0);
            expected[id % 3].push(format!("3 {sql}"));
        }
        for (mock, expected) in [&home, &one, &two].iter().zip(&expected) {
            assert_eq!(&texts(mock), expected);
        }
        let stats = &world.shared.stats;
        assert!(stats.plans_made.get() < 10, "{}", stats.plans_made.get());
        // no table of this schema has a rule
        let sql = "UPDATE items SET c = 'x' WHERE id = 10";
        let seen_here = one.saw(&format!("3 {sql}"));
        let mut there = world.client_in("other").await;
        for round in 1..5 {
            assert_eq!(there.query(sql).await, 0);
            assert_eq!(home.saw(&format!("3 {sql}")), round);
            assert_eq!(client.query(sql).await, 0);
            assert_eq!(one.saw(&format!("3 {sql}")), seen_here + round);
        }
        // other rules
        world.rules(
            &RULES
                .replace("\"g1\"", "\"other\"")
                .replace("\"g2\"", "\"g1\"")
                .replace("\"other\"", "\"g2\""),
        );
        for _ in 0..4 {
            assert_eq!(client.query(sql).await, 0);
        }
        assert_eq!(one.saw(&format!("3 {sql}")), seen_here + 4);
        assert_eq!(two.saw(&format!("3 {sql}")), 4);
    });
}

#[test]
fn what_the_client_set_is_there_on_every_groups_connection() {
    run(|| async {
        let (home, one, two) = (server(), server(), server());
        let (_world, mut client) = world(&[&home, &one, &two]).await;
        let on = |id: u32| format!("UPDATE items SET c = 'x' WHERE id = {id}");
        for id in [10, 11, 12, 10, 11, 12, 10, 11, 12] {
            assert_eq!(client.query(&on(id)).await, 0);
        }
        let set = "SET @mine = 5";
        assert_eq!(client.query(set).await, 0);
        for id in [14, 13] {
            assert_eq!(client.query(&on(id)).await, 0);
        }
        for mock in [&one, &two] {
            let seen = seen(mock);
            let last = seen.len();
            assert!(
                seen[last - 2].to_lowercase().contains("@`mine`"),
                "{seen:?}"
            );
        }
    });
}

#[test]
fn a_transaction_begins_on_the_shards_group_and_stays_there() {
    run(|| async {
        let (home, one, two) = (server(), server(), server());
        let (_world, mut client) = world(&[&home, &one, &two]).await;
        let on = |id: u32| format!("UPDATE items SET c = 'x' WHERE id = {id}");
        for id in [10, 11, 12, 10, 11, 12, 10, 11, 12] {
            assert_eq!(client.query(&on(id)).await, 0);
        }
        let before = (seen(&one).len(), seen(&two).len(), home.saw("3 COMMIT"));
        assert_eq!(client.query("BEGIN").await, 0);
        for id in [14, 17, 20] {
            assert_eq!(client.query(&on(id)).await, 0);
        }
        // a second group would be one too many, home included
        for id in [13, 12] {
            assert_eq!(client.query(&on(id)).await, 1105);
        }
        assert_eq!(client.query("COMMIT").await, 0);
        let second = &seen(&two)[before.1..];
        let expected = ["BEGIN", &on(14), &on(17), &on(20), "COMMIT"].map(|t| format!("3 {t}"));
        assert_eq!(second, expected);
        assert_eq!(seen(&one).len(), before.0);
        assert_eq!(home.saw("3 COMMIT"), before.2 + 1);
        // and outside of it any group may be used again
        for id in [13, 14, 12] {
            assert_eq!(client.query(&on(id)).await, 0);
        }
    });
}

#[test]
fn warnings_are_asked_of_the_shard_and_its_connection_is_free_again_behind_them() {
    run(|| async {
        let warned = |text: &str| {
            text.contains("warns").then(|| {
                let ok = reply::Ok {
                    warnings: 1,
                    status: status::AUTOCOMMIT,
                    ..reply::Ok::default()
                };
                super::world::packet(&ok.encode(PROTOCOL_41))
            })
        };
        let (home, two) = (server(), server());
        let one = shard(
            move |text| match text.contains("information_schema.COLUMNS") {
                true => Some(columns()),
                false => warned(text),
            },
        );
        let (world, mut client) = world(&[&home, &one, &two]).await;
        let sql = |id: u32| format!("UPDATE items SET c = 'warns' WHERE id = {id}");
        for _ in 0..5 {
            assert_eq!(client.query(&sql(10)).await, 0);
            assert_eq!(client.query("SHOW WARNINGS").await, 0);
        }
        assert_eq!(one.saw("3 SHOW WARNINGS"), 5);
        assert_eq!(home.saw("3 SHOW WARNINGS"), 0);
        // on another group: what was kept for the question goes back
        assert_eq!(client.query(&sql(10)).await, 0);
        assert_eq!(client.query(&sql(11)).await, 0);
        let mut other = world.client_in("shop").await;
        assert_eq!(other.query(&sql(10)).await, 0);
        assert_eq!(one.accepted(), 1);
    });
}

#[test]
fn a_lost_connection_costs_a_read_of_one_shard_nothing() {
    run(|| async {
        let lost = std::sync::atomic::AtomicBool::new(false);
        let reads = |text: &str| text.starts_with("SELECT c").then(columns);
        let home = server();
        let one = mock(move |kind, text| match kind {
            command::QUERY if text.contains("information_schema.COLUMNS") => Some(columns()),
            command::QUERY if text.contains("id = 97") => {
                match lost.swap(true, std::sync::atomic::Ordering::SeqCst) {
                    false => Some(Answer::Close),
                    true => reads(text),
                }
            }
            command::QUERY => reads(text),
            _ => None,
        });
        let two = server();
        let (world, mut client) = world(&[&home, &one, &two]).await;
        for id in [10, 13, 16, 97, 19] {
            let sql = format!("SELECT c FROM items WHERE id = {id}");
            client.send(command::QUERY, sql.as_bytes());
            read_rows(&mut client).await;
        }
        assert_eq!(world.shared.stats.retries.get(), 1);
    });
}

/// Until the end of a result.
async fn read_rows(client: &mut Client) {
    loop {
        let packet = client.receive().await.expect("a reply");
        assert_ne!(packet[0], 0xff, "{:?}", String::from_utf8_lossy(&packet));
        if packet[0] == 0xfe {
            return;
        }
    }
}

/// The reply to a PREPARE with one parameter.
pub fn with_one_parameter() -> Answer {
    let Answer::Bytes(mut bytes) = prepared(1) else {
        unreachable!("bytes");
    };
    bytes[4 + 7] = 1;
    let parameter =
        b"\x03def\x00\x00\x00\x01?\x00\x0c\x3f\x00\x00\x00\x00\x00\xfd\x80\x00\x00\x00\x00";
    crate::wire::packet::frame(parameter, 2, &mut bytes);
    Answer::Bytes(bytes)
}

/// With one parameter.
pub async fn prepare(client: &mut Client, sql: &str) -> [u8; 4] {
    client.send(command::STMT_PREPARE, sql.as_bytes());
    let ok = client.receive().await.expect("a reply");
    assert_eq!((ok[0], ok[7]), (0, 1), "one parameter");
    client.receive().await.expect("its definition");
    ok[1..5].try_into().expect("an id")
}

/// With one BIGINT, and its type.
pub fn bound(id: &[u8; 4], value: u64) -> Vec<u8> {
    let head: &[u8] = &[0, 1, 0, 0, 0, 0, 1, 8, 0];
    [id, head, &value.to_le_bytes()].concat()
}

/// The type was sent before.
fn bound_again(id: &[u8; 4], value: u64) -> Vec<u8> {
    let head: &[u8] = &[0, 1, 0, 0, 0, 0, 0];
    [id, head, &value.to_le_bytes()].concat()
}

#[test]
fn an_execute_runs_the_shards_statement_with_the_types_that_it_needs() {
    run(|| async {
        let answer = |kind, text: &str| match kind {
            command::STMT_PREPARE => Some(with_one_parameter()),
            command::QUERY if text.contains("information_schema.COLUMNS") => Some(columns()),
            _ => None,
        };
        let (home, one, two) = (mock(answer), mock(answer), mock(answer));
        let (world, mut client) = world(&[&home, &one, &two]).await;
        let id = prepare(&mut client, "UPDATE orders SET c = 1 WHERE id = ?").await;
        assert_eq!(client.run(command::STMT_EXECUTE, &bound(&id, 11)).await, 0);
        for value in 10..40 {
            let command = bound_again(&id, value);
            assert_eq!(client.run(command::STMT_EXECUTE, &command).await, 0);
        }
        for (at, mock) in [&home, &one, &two].iter().enumerate() {
            let commands = mock.commands();
            let text = format!("22 UPDATE `o_{at}` AS `orders` SET c = 1 WHERE id = ?");
            // once for what the client is told of it, at most; once for all who execute it
            let prepared = commands.iter().filter(|c| **c == text).count();
            assert!((1..=2).contains(&prepared), "{commands:?}");
            let executed: Vec<&String> = commands.iter().filter(|c| c.starts_with("23 ")).collect();
            assert_eq!(executed.len(), if at == 2 { 11 } else { 10 });
        }
        // a connection that another session has used knows other types: the client's are put in again
        let mut other = world.client_in("shop").await;
        let theirs = prepare(&mut other, "UPDATE orders SET c = 1 WHERE id = ?").await;
        for value in [11, 14, 17] {
            assert_eq!(
                other
                    .run(command::STMT_EXECUTE, &bound(&theirs, value))
                    .await,
                0
            );
        }
        let before = one.commands().len();
        let command = bound_again(&id, 14);
        assert_eq!(client.run(command::STMT_EXECUTE, &command).await, 0);
        let last = two.commands().pop().expect("a command");
        assert!(last.contains("\u{1}\u{8}\0"), "with its type: {last:?}");
        assert_eq!(one.commands().len(), before);
        // without any types nobody can read the values
        let fresh = prepare(&mut client, "UPDATE orders SET c = 1 WHERE id = ?").await;
        let command = bound_again(&fresh, 14);
        let code = client.run(command::STMT_EXECUTE, &command).await;
        assert_ne!(code, 0);
    });
}

#[test]
fn an_execute_in_a_transaction_is_refused_on_a_second_group() {
    run(|| async {
        let answer = |text: &str| text.contains("information_schema.COLUMNS").then(columns);
        let make = || {
            let begun = std::sync::atomic::AtomicBool::new(false);
            mock(move |kind, text| {
                use std::sync::atomic::Ordering::SeqCst;
                match (kind, text) {
                    (command::STMT_PREPARE, _) => return Some(with_one_parameter()),
                    (command::QUERY, "BEGIN") => begun.store(true, SeqCst),
                    (command::QUERY, "COMMIT" | "ROLLBACK") => begun.store(false, SeqCst),
                    _ => {}
                }
                let flags = status::AUTOCOMMIT | status::IN_TRANS;
                answer(text).or_else(|| begun.load(SeqCst).then(|| ok_with(flags)))
            })
        };
        let (home, one, two) = (make(), make(), make());
        let (_world, mut client) = world(&[&home, &one, &two]).await;
        let id = prepare(&mut client, "UPDATE items SET c = 1 WHERE id = ?").await;
        for value in 10..20 {
            assert_eq!(
                client.run(command::STMT_EXECUTE, &bound(&id, value)).await,
                0
            );
        }
        let executed = |mock: &Mock| {
            mock.commands()
                .iter()
                .filter(|c| c.starts_with("23 "))
                .count()
        };
        let before = executed(&two);
        assert_eq!(client.query("BEGIN").await, 0);
        for (value, code) in [(13, 0), (14, 1105), (16, 0), (12, 1105), (13, 0)] {
            let ran = client.run(command::STMT_EXECUTE, &bound(&id, value)).await;
            assert_eq!(ran, code, "{value}");
        }
        assert_eq!(client.query("COMMIT").await, 0);
        assert_eq!(one.saw("3 BEGIN"), 1);
        assert_eq!(one.saw("3 COMMIT"), 1);
        assert_eq!(executed(&two), before);
        assert_eq!(client.run(command::STMT_EXECUTE, &bound(&id, 14)).await, 0);
    });
}
