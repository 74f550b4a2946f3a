//! Large statements and values on sharded tables; rules that come after a statement was prepared.
use super::volume::by_remainder;
use super::world::World;
use crate::common::reply::{text, Reply};
use crate::common::{self, code, needs, rows, scalar, wait_until, Login, RawClient};
use mysql::prelude::Queryable;

const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const RESET: u8 = 0x1a;
/// Types of parameters.
const BIGINT: [u8; 2] = [8, 0];
const BLOB: [u8; 2] = [0xfc, 0];
const STRING: [u8; 2] = [0xfd, 0];

/// Shards of one name on two groups.
const SAME: &str = "\n[[table]]\nname = \"app.same\"\nkey = \"id\"\nmethod = \"mod\"\n\
    shards = [{ group = \"main\" }, { group = \"second\" }]\n";

/// EXECUTE's body. None: sent before as long data.
fn execute(id: u32, parameters: &[([u8; 2], Option<Vec<u8>>)]) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0]);
    body.resize(body.len() + parameters.len().div_ceil(8), 0);
    body.push(1);
    body.extend(parameters.iter().flat_map(|(kind, _)| *kind));
    for (_, value) in parameters {
        body.extend(value.iter().flatten());
    }
    body
}

fn number(n: i64) -> Option<Vec<u8>> {
    Some(n.to_le_bytes().to_vec())
}

fn send(client: &mut RawClient, id: u32, parameter: u16, data: &[u8]) {
    let body = [&id.to_le_bytes()[..], &parameter.to_le_bytes(), data].concat();
    client.send_command(LONG_DATA, &body).expect("sent");
}

/// Affected rows, or the error's code.
fn came_to(reply: &Reply) -> Result<u64, u16> {
    match reply.code() {
        0 => Ok(reply.ok().affected_rows),
        code => Err(code),
    }
}

/// What the script came to on Umpire and on the plain server, which have to be alike.
fn alike<T: PartialEq + std::fmt::Debug>(world: &World, script: impl Fn(&mut RawClient) -> T) {
    // from then on the server knows the password, and asks for nothing but its proof
    drop(world.direct());
    let [ours, theirs] = [world.proxy.port, world.direct_port()].map(|port| {
        let mut client = RawClient::login(port, &Login::default()).expect("a login");
        script(&mut client)
    });
    assert_eq!(ours, theirs);
}

fn long_data(world: &World) {
    alike(world, |client| {
        let mut replies = Vec::new();
        let insert = client.prepare("INSERT INTO docs VALUES (?, ?, ?)").id;
        for id in 0..8 {
            for piece in [&b"abc"[..], b"", &[b'x'; 70_000], "\u{fc}".as_bytes()] {
                send(client, insert, 1, piece);
            }
            let large = if id == 3 { 1_500_000 } else { 3 };
            send(client, insert, 2, &vec![0x80 | id as u8; large]);
            let values = [(BIGINT, number(id)), (STRING, None), (BLOB, None)];
            let reply = client.command(EXECUTE, &execute(insert, &values));
            replies.push(came_to(&reply.expect("a reply")));
        }
        // what was sent before is used once; without it there are values again
        let values = [
            (BIGINT, number(8)),
            (STRING, Some(text(b"y"))),
            (BLOB, Some(text(b"z"))),
        ];
        let reply = client.command(EXECUTE, &execute(insert, &values));
        replies.push(came_to(&reply.expect("a reply")));
        // over all shards; the key itself
        for (sql, last) in [
            ("UPDATE docs SET body = CONCAT(?, id) WHERE id > ?", 5),
            ("UPDATE docs SET body = ? WHERE id = ?", 2),
            (
                "DELETE FROM docs WHERE LENGTH(body) > LENGTH(?) AND id = ?",
                1,
            ),
        ] {
            let statement = client.prepare(sql).id;
            send(client, statement, 0, b"new ");
            send(client, statement, 0, &[b'w'; 300]);
            let values = [(STRING, None), (BIGINT, number(last))];
            let reply = client.command(EXECUTE, &execute(statement, &values));
            replies.push(came_to(&reply.expect("a reply")));
        }
        let named = client.prepare("INSERT INTO v (k, i) VALUES (?, ?)").id;
        send(client, named, 0, b"An");
        send(client, named, 0, b"na");
        let reply = client.command(
            EXECUTE,
            &execute(named, &[(STRING, None), (BIGINT, number(1))]),
        );
        replies.push(came_to(&reply.expect("a reply")));
        let sql = "SELECT i FROM v WHERE k = 'anna'";
        replies.push(Ok(client.query(sql).expect("rows").values().len() as u64));
        // there is no such parameter: told by each EXECUTE until a reset
        let values = [
            (BIGINT, number(9)),
            (STRING, Some(text(b"y"))),
            (BLOB, Some(text(b"z"))),
        ];
        send(client, insert, 7, b"x");
        for _ in 0..2 {
            let reply = client.command(EXECUTE, &execute(insert, &values));
            replies.push(came_to(&reply.expect("a reply")));
        }
        client.command(RESET, &insert.to_le_bytes()).expect("reset");
        let reply = client.command(EXECUTE, &execute(insert, &values));
        replies.push(came_to(&reply.expect("a reply")));
        // a reset forgets it
        send(client, insert, 1, b"forgotten");
        client.command(RESET, &insert.to_le_bytes()).expect("reset");
        let values = [
            (BIGINT, number(10)),
            (STRING, Some(text(b"y"))),
            (BLOB, Some(text(b"z"))),
        ];
        let reply = client.command(EXECUTE, &execute(insert, &values));
        replies.push(came_to(&reply.expect("a reply")));
        let sql = "SELECT id, LENGTH(body), MD5(body), LENGTH(raw), MD5(raw) FROM docs ORDER BY id";
        (replies, client.query(sql).expect("rows").values())
    });
    // more than a connection may keep
    let mut client = RawClient::login(world.proxy.port, &Login::default()).expect("a login");
    let insert = client.prepare("INSERT INTO docs VALUES (?, ?, ?)").id;
    for _ in 0..5 {
        send(&mut client, insert, 1, &vec![b'x'; 1 << 20]);
    }
    let values = |id| {
        [
            (BIGINT, number(id)),
            (STRING, Some(text(b"y"))),
            (BLOB, Some(text(b"z"))),
        ]
    };
    let reply = client.command(EXECUTE, &execute(insert, &values(20)));
    assert_eq!(came_to(&reply.expect("a reply")), Err(1041));
    client.command(RESET, &insert.to_le_bytes()).expect("reset");
    let reply = client.command(EXECUTE, &execute(insert, &values(20)));
    assert_eq!(came_to(&reply.expect("a reply")), Ok(1));
}

fn large_statements(world: &World) {
    let padding = "x".repeat(400_000);
    let all: Vec<String> = (100..8100)
        .map(|id| format!("({id}, 'row number {id} of many, with a longer text')"))
        .collect();
    let ids: Vec<String> = (0..60_000).map(|id| id.to_string()).collect();
    for sql in [
        format!("INSERT INTO same VALUES {}", all.join(", ")),
        format!("INSERT INTO same VALUES (1, '{padding}'), (2, 'b'), (3, '{padding}')"),
        format!(
            "UPDATE same SET body = 'c' WHERE id IN ({})",
            ids.join(", ")
        ),
        // the table is named behind what is read at first
        format!("SELECT LENGTH('{padding}'), COUNT(*), SUM(id) FROM same"),
        format!("SELECT COUNT(*) FROM (SELECT '{padding}' AS p) q, same WHERE same.id > 5"),
        format!("DELETE FROM same WHERE body <> '{padding}' AND id = 2"),
    ] {
        let what: String = sql.chars().take(60).collect();
        let mut ours = world.umpire();
        let mut theirs = world.direct();
        for prepared in [false, true] {
            let ask = |conn: &mut mysql::Conn| match prepared {
                false => common::try_rows(conn, &sql).map_err(|error| code(&error)),
                // what is prepared has no such length
                true => common::try_rows(conn, "SELECT COUNT(*), SUM(id), MIN(body) FROM same")
                    .map_err(|error| code(&error)),
            };
            assert_eq!(ask(&mut ours), ask(&mut theirs), "{what}");
        }
    }
    // values
    let body = "y".repeat(900_000);
    for mut conn in [world.umpire(), world.direct()] {
        conn.exec_drop("UPDATE same SET body = ? WHERE id < ?", (&body, 103))
            .expect("changed");
        conn.exec_drop("INSERT INTO same VALUES (?, ?)", (9000, &body))
            .expect("inserted");
    }
    let sums = "SELECT COUNT(*), SUM(LENGTH(body)) FROM same";
    assert_eq!(
        rows(&mut world.umpire(), sums),
        rows(&mut world.direct(), sums)
    );
    // what is too long to be looked at is refused, and has no effect
    let mut client = world.umpire();
    let error = client.query_drop(format!(
        "DELETE FROM same WHERE body <> '{}'",
        "x".repeat(5 << 20)
    ));
    let error = error.expect_err("too long");
    assert_eq!(code(&error), 1235, "{error}");
    let endless = format!(
        "SELECT LENGTH('{}'), COUNT(*) FROM same",
        "x".repeat(17 << 20)
    );
    let mut raw = RawClient::login(world.proxy.port, &Login::default()).expect("a login");
    raw.send_command(3, endless.as_bytes()).ok();
    match raw.read_reply(3) {
        Ok(reply) => assert_eq!(reply.code(), 1105, "{reply:?}"),
        // it was still being sent when the connection was closed
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert_eq!(rows(&mut client, sums), rows(&mut world.direct(), sums));
}

fn rules_that_come_later(world: &mut World) {
    let (mut client, mut other) = (world.umpire(), world.umpire());
    for group in 0..2 {
        world.run_on(group, &format!("INSERT INTO later VALUES ({group}, 'x')"));
    }
    let count = client
        .prep("SELECT COUNT(*) FROM later WHERE id >= ?")
        .expect("prepared");
    let change = client
        .prep("UPDATE later SET body = ? WHERE id = ?")
        .expect("prepared");
    let counted = |client: &mut mysql::Conn| {
        let rows: Option<u32> = client.exec_first(&count, (0,)).expect("a row");
        rows
    };
    assert_eq!(counted(&mut client), Some(1), "its own group's alone");
    world.add(
        "\n[[table]]\nname = \"app.later\"\nkey = \"id\"\nmethod = \"mod\"\n\
               shards = [{ group = \"main\" }, { group = \"second\" }]\n",
    );
    wait_until("the rule is there", || {
        scalar(&mut other, "SELECT COUNT(*) FROM later") == "2"
    });
    wait_until("for all workers", || counted(&mut client) == Some(2));
    client.exec_drop(&change, ("changed", 1)).expect("changed");
    assert_eq!(world.ask_group(1, "SELECT body FROM app.later"), "changed");
    assert_eq!(world.ask_group(0, "SELECT body FROM app.later"), "x");
}

fn check(mut world: World) {
    let docs = "id INT NOT NULL PRIMARY KEY, body LONGTEXT, raw LONGBLOB";
    world.create_table("docs", docs, true);
    for table in ["same", "later"] {
        world.create_table(table, "id INT NOT NULL PRIMARY KEY, body LONGTEXT", false);
    }
    long_data(&world);
    large_statements(&world);
    rules_that_come_later(&mut world);
}

const PROXY: &str = "connection_memory_bytes = 4194304\n";

fn more() -> String {
    by_remainder("app.docs") + SAME
}

#[test]
fn long_data_large_statements_and_later_rules_are_answered_as_by_one_server() {
    needs!(the_proxy);
    check(World::set_up(PROXY, &more()));
}

#[test]
fn long_data_large_statements_and_later_rules_are_answered_as_by_one_mysql() {
    needs!(the_proxy);
    if let Some(world) = World::mysql_set_up(PROXY, &more()) {
        check(world);
    }
}
