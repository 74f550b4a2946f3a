//! Servers that die under statements of several shards, and clients that do not read.
use super::volume::by_remainder;
use super::world::World;
use crate::common::random::Random;
use crate::common::{
    code, needs, process, rows, scalar, texts, try_rows, wait_until, Login, RawClient,
};
use crate::{generate, runs_everywhere};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::sync::Barrier;

/// Rows of table big; a thousand bytes each: more than sockets hold.
const ROWS: u32 = 70_000;
const ALL: &str = "SELECT k, id, pad FROM big ORDER BY k DESC, id";

fn filled() -> World {
    let world = World::set_up("merge_memory_bytes = 1048576\n", &by_remainder("app.big"));
    world.create_table(
        "big",
        "id INT NOT NULL PRIMARY KEY, k INT, pad VARCHAR(1000)",
        true,
    );
    for shard in 0..4 {
        let rows = format!(
            "INSERT INTO big_{shard} SELECT seq, seq * 7919 % 5000, REPEAT('x', 1000) FROM seq_1_to_{ROWS} WHERE seq % 4 = {shard}"
        );
        world.run_on(shard / 2, &rows);
    }
    for sql in generate::rows(&mut Random(8)) {
        world.umpire().query_drop(sql).expect("rows");
    }
    world
        .umpire()
        .query_drop("INSERT INTO r VALUES (1, 1, 1, 'main'), (300, 1, 1, 'second')")
        .expect("rows");
    // tests' servers write their logs when they find the time; this one has to find its rows again
    world.run_on(1, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    world.run_on(1, "UPDATE big_2 SET pad = 'flushed' WHERE id = 2");
    world
}

/// The second group's server dies and comes back.
fn revive(world: &World) {
    world.start_server(1);
    wait_until("all shards answer again", || {
        try_rows(&mut world.umpire(), "SELECT COUNT(*) FROM t").is_ok()
    });
}

/// The session that lost a server goes on, with what does not need that server.
fn goes_on(client: &mut Conn) {
    assert_eq!(scalar(client, "SELECT 'alive'"), "alive");
    assert_eq!(scalar(client, "SELECT id FROM big WHERE id = 8"), "8");
    assert_eq!(
        scalar(client, "SELECT COUNT(*) FROM big WHERE id IN (4, 5, 8)"),
        "3"
    );
}

/// Reads until the server is dead, which it is made once all readers are in the middle of their rows.
fn in_the_middle_of_rows(world: &World, prepared: bool, reached: &Barrier) {
    let mut client = world.umpire();
    let mut read = 0;
    let error = {
        let mut next = |row: mysql::Result<mysql::Row>| {
            read += 1;
            if read == 100 {
                reached.wait();
                reached.wait();
            }
            row.err()
        };
        match prepared {
            false => client.query_iter(ALL).expect("rows").find_map(&mut next),
            true => client.exec_iter(ALL, ()).expect("rows").find_map(&mut next),
        }
    };
    let error = error.expect("not all rows can have come");
    assert_eq!(code(&error), 1053, "{error}");
    assert!(error.to_string().contains("on group 'second'"), "{error}");
    assert!(read < ROWS, "{read}");
    goes_on(&mut client);
    // what needs it is told so
    assert!(client.query_drop("SELECT COUNT(*) FROM big").is_err());
    goes_on(&mut client);
}

fn under_a_change(world: &World, change: &str, prepared: bool, reached: &Barrier) {
    let mut client = world.umpire();
    reached.wait();
    let changed = match prepared {
        false => client.query_drop(change),
        true => client.exec_drop(change, ()),
    };
    reached.wait();
    let error = changed.expect_err("one shard is gone");
    assert_eq!(code(&error), 1053, "{error}");
    assert!(error.to_string().contains("on group 'second'"), "{error}");
    goes_on(&mut client);
}

fn in_a_transaction(world: &World, reached: &Barrier) {
    let mut client = world.umpire();
    let change = "UPDATE r SET v = v + 100 WHERE id = 300";
    client.query_drop("BEGIN").expect("begun");
    client.query_drop(change).expect("changed");
    reached.wait();
    reached.wait();
    assert!(client.query_drop(change).is_err());
    // it must not look as if the transaction went on
    assert!(client.query_drop("COMMIT").is_err());
}

/// Everything at once, so that one death is enough.
fn a_death_under_all(world: &World) {
    const CHANGES: [&str; 2] = [
        "UPDATE t SET sm = 7, g = g + 1 + SLEEP(60)",
        "UPDATE u SET w = 7 + SLEEP(60)",
    ];
    let sums =
        "SELECT (SELECT SUM(sm) + SUM(g) FROM t), (SELECT SUM(w) FROM u), (SELECT SUM(v) FROM r)";
    let before = rows(&mut world.umpire(), sums);
    // two readers, two who change, one in a transaction, and the one who kills
    let reached = &Barrier::new(6);
    std::thread::scope(|scope| {
        let mut sessions = Vec::new();
        for prepared in [false, true] {
            sessions.push(scope.spawn(move || in_the_middle_of_rows(world, prepared, reached)));
            let change = CHANGES[usize::from(prepared)];
            sessions.push(scope.spawn(move || under_a_change(world, change, prepared, reached)));
        }
        sessions.push(scope.spawn(move || in_a_transaction(world, reached)));
        reached.wait();
        for table in ["t", "u"] {
            wait_until("it runs on all servers", || {
                runs_everywhere(world, &format!("UPDATE `{table}_"), true)
            });
        }
        world.kill_server(1);
        reached.wait();
        sessions
            .into_iter()
            .for_each(|session| session.join().expect("no panic"));
    });
    wait_until("the other server is free", || {
        world.ask_group(0, "SELECT COUNT(*) FROM information_schema.INNODB_TRX") == "0"
    });
    revive(world);
    assert_eq!(
        rows(&mut world.umpire(), sums),
        before,
        "nothing was changed"
    );
}

#[test]
fn a_server_that_dies_ends_statements_of_several_shards_with_an_error_and_nothing_is_changed() {
    needs!(the_proxy);
    let world = filled();
    a_client_that_does_not_read(&world);
    few_of_many_rows(&world);
    more_than_may_be_kept(&world);
    a_death_under_all(&world);
}

/// It holds its own servers' connections and nothing else.
fn a_client_that_does_not_read(world: &World) {
    let mut client = world.umpire();
    assert_eq!(
        rows(&mut client, "SELECT k, id FROM big ORDER BY k, id LIMIT 3").len(),
        3
    );
    let resident = || process::resident_bytes(world.proxy.pid());
    let before = resident();
    let mut slow = RawClient::login(world.proxy.port, &Login::default()).expect("a login");
    slow.send_command(3, ALL.as_bytes()).expect("sent");
    wait_until("it runs", || {
        runs_everywhere(world, "SELECT k, id, pad", true)
    });
    let sent = || world.proxy.ask_admin("SHOW STATUS LIKE 'bytes_to_clients'")[0][1].clone();
    let mut last = String::new();
    wait_until("nothing more is passed on", || {
        crate::common::pause(std::time::Duration::from_millis(200));
        let now = sent();
        std::mem::replace(&mut last, now.clone()) == now
    });
    // the others have what they ask for
    for _ in 0..5 {
        assert_eq!(
            rows(
                &mut client,
                "SELECT k, id FROM big ORDER BY k DESC, id LIMIT 9"
            )
            .len(),
            9
        );
        goes_on(&mut client);
    }
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 16 << 20,
        "{} KiB for a client that does not read",
        grown >> 10
    );
    assert!(
        runs_everywhere(world, "SELECT k, id, pad", true),
        "its statement waits for it"
    );
    // it reads after all: every row is there, in order
    let reply = slow.read_reply(3).expect("all rows");
    assert_eq!(reply.code(), 0);
    assert_eq!(reply.sets[0].rows.len(), ROWS as usize);
    drop(reply);
    // and one that leaves in the middle ends its statement everywhere
    slow.send_command(3, ALL.as_bytes()).expect("sent");
    wait_until("it runs", || {
        runs_everywhere(world, "SELECT k, id, pad", true)
    });
    drop(slow);
    wait_until("nothing runs any more", || {
        runs_everywhere(world, "SELECT k, id, pad", false)
    });
}

/// Shards stop when the client has its rows, and their connections are good for the next statement.
fn few_of_many_rows(world: &World) {
    let mut client = world.umpire();
    let few = [
        "SELECT k, id FROM big ORDER BY k, id LIMIT 2",
        "SELECT id, COUNT(*) FROM big GROUP BY id ORDER BY id LIMIT 2",
        "SELECT k, COUNT(*) AS n FROM big GROUP BY k ORDER BY n DESC, k LIMIT 2",
        "SELECT DISTINCT k FROM big ORDER BY k LIMIT 2 OFFSET 3",
        "SELECT pad, id FROM big ORDER BY id LIMIT 2 OFFSET 500",
    ];
    let mut expected = None;
    for prepared in [false, true] {
        let answers = few.map(|sql| match prepared {
            false => rows(&mut client, sql),
            true => {
                let rows: Vec<mysql::Row> = client.exec(sql, ()).expect("rows");
                rows.iter().map(texts).collect()
            }
        });
        assert!(answers.iter().all(|rows| rows.len() == 2), "{answers:?}");
        assert_eq!(expected.get_or_insert_with(|| answers.clone()), &answers);
        goes_on(&mut client);
    }
    let connections = || {
        world.ask_groups("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Threads_connected'")
    };
    let most: u32 = connections()
        .iter()
        .map(|n| n.parse::<u32>().expect("a number"))
        .max()
        .expect("groups");
    assert!(most < 60, "{most} connections");
}

/// It is an error that says what to do, and no memory; the session and its connections go on.
fn more_than_may_be_kept(world: &World) {
    let mut client = world.umpire();
    let before = process::resident_bytes(world.proxy.pid());
    for sql in [
        "SELECT COUNT(DISTINCT pad, id) FROM big",
        "SELECT a.id FROM big a JOIN big b ON b.k = a.k AND b.id > a.id ORDER BY a.id",
        "SELECT CONCAT(id, pad) AS x, COUNT(*) AS n FROM big GROUP BY x ORDER BY n, x",
    ] {
        for error in [
            client.query_drop(sql).expect_err(sql),
            client.exec_drop(sql, ()).expect_err(sql),
        ] {
            assert_eq!(code(&error), 1105, "{sql}: {error}");
            assert!(
                error.to_string().contains("merge_memory_bytes"),
                "{sql}: {error}"
            );
        }
        goes_on(&mut client);
    }
    let grown = process::resident_bytes(world.proxy.pid()).saturating_sub(before);
    assert!(grown < 16 << 20, "{} KiB", grown >> 10);
}
