//! Changes of sharded tables' definitions, and the ids of their rows: what must outlive the proxy.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

#[path = "definitions/catalogue.rs"]
mod catalogue;
#[path = "definitions/changes.rs"]
mod changes;
mod common;
#[path = "definitions/documented.rs"]
mod documented;
#[path = "definitions/rules.rs"]
mod rules;
#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "sharding/world.rs"]
mod world;

use common::{code, needs, rows, scalar};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use world::{sharded, World};

fn store() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let section = format!(
        "[coordination]\nstore = \"file:{}\"\n",
        folder.path().display()
    );
    (folder, section)
}

/// How many of the groups' tables of this name have the column.
fn having(world: &World, table: &str, column: &str) -> Vec<String> {
    world.ask_groups(&format!(
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME LIKE '{table}\\_%' AND \
         COLUMN_NAME = '{column}'"
    ))
}

#[test]
fn a_definition_changes_on_every_shard_or_can_be_resumed_where_it_is_missing() {
    needs!(the_proxy);
    let (_folder, section) = store();
    definitions(World::with(&format!(
        "\n{section}{}",
        sharded("tickets", "owner", "hash")
    )));
}

#[test]
fn a_definition_changes_on_every_shard_of_mysql_or_can_be_resumed_where_it_is_missing() {
    needs!(the_proxy);
    let (_folder, section) = store();
    if let Some(world) = World::mysql_with(&format!(
        "\n{section}{}",
        sharded("tickets", "owner", "hash")
    )) {
        definitions(world);
    }
}

fn definitions(mut world: World) {
    let mut client = world.umpire();
    let create = "CREATE TABLE tickets (id BIGINT AUTO_INCREMENT, owner INT NOT NULL, what VARCHAR(20), PRIMARY KEY (id, owner))";
    client.query_drop(create).expect("created on every shard");
    assert_eq!(having(&world, "tickets", "owner"), ["2", "2"]);
    client
        .query_drop("INSERT INTO tickets (owner, what) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        .expect("inserted");
    client
        .query_drop("ALTER TABLE tickets ADD COLUMN first INT, ADD INDEX (what)")
        .expect("altered");
    assert_eq!(having(&world, "tickets", "first"), ["2", "2"]);
    client
        .query_drop("CREATE INDEX by_first ON tickets (first)")
        .expect("indexed");
    client
        .query_drop("DROP INDEX what ON app.tickets")
        .expect("without that index");
    let indexes = rows(
        &mut client,
        "SHOW INDEX FROM tickets WHERE Key_name <> 'PRIMARY'",
    );
    assert_eq!(indexes.len(), 1, "{indexes:?}");
    assert_eq!(
        rows(&mut client, "SELECT COUNT(first), COUNT(*) FROM tickets"),
        [["0", "3"]]
    );
    // shown once, under its own name
    let shown = rows(&mut client, "SHOW CREATE TABLE tickets");
    assert_eq!(shown[0][0], "tickets");
    assert!(
        shown[0][1].starts_with("CREATE TABLE `tickets` ("),
        "{shown:?}"
    );
    let tables: Vec<String> = rows(&mut client, "SHOW TABLES")
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(tables, ["b", "r", "t", "tickets", "u", "v"]);
    assert_eq!(
        rows(&mut client, "SHOW FULL TABLES LIKE 'tick%'"),
        [["tickets", "BASE TABLE"]]
    );
    let columns = rows(&mut client, "DESCRIBE tickets");
    assert_eq!((columns[0][0].as_str(), columns.len()), ("id", 4));
    assert_eq!(
        rows(
            &mut client,
            "SHOW COLUMNS FROM tickets FROM app LIKE 'own%'"
        )
        .len(),
        1
    );
    let indexes = rows(&mut client, "SHOW INDEX FROM app.tickets");
    assert!(indexes.iter().all(|row| row[0] == "tickets"), "{indexes:?}");
    // as on one server, where nothing has changed
    let error = client
        .query_drop("ALTER TABLE tickets ADD COLUMN first INT")
        .unwrap_err();
    assert_eq!(code(&error), 1060, "{error}");
    assert!(
        error.to_string().contains("no shard has changed"),
        "{error}"
    );
    assert_eq!(
        world.proxy.ask_admin("SHOW JOBS"),
        Vec::<Vec<String>>::new()
    );

    // a shard that differs
    world.run_on(1, "ALTER TABLE tickets_2 ADD COLUMN x INT");
    let error = client
        .query_drop("ALTER TABLE tickets ADD COLUMN x INT")
        .unwrap_err();
    assert_eq!(code(&error), 1060, "{error}");
    for words in [
        "shard 2 of app.tickets on group 'second'",
        "2 of 4 shards are done",
        "RESUME JOB",
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(having(&world, "tickets", "x"), ["2", "1"]);
    // the next statement knows nothing of it; the job outlives the proxy
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM tickets"), "3");
    world.kill_and_start();
    let jobs = world.proxy.ask_admin("SHOW JOBS");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!(
        (jobs[0][1].as_str(), jobs[0][4].as_str()),
        ("stopped", "ALTER TABLE tickets ADD COLUMN x INT")
    );
    assert!(
        jobs[0][6].starts_with("2 of 4 done; failed: shard 2 of app.tickets"),
        "{jobs:?}"
    );
    let mut admin = world.proxy.admin();
    let resume = format!("RESUME JOB {}", jobs[0][0]);
    // not repaired: it stops there again
    let error = admin.query_drop(&resume).unwrap_err();
    assert!(error.to_string().contains("stopped again"), "{error}");
    world.run_on(1, "ALTER TABLE tickets_2 DROP COLUMN x");
    // shards that have the column would refuse it: only what is missing is touched
    admin.query_drop(&resume).expect("resumed");
    assert_eq!(having(&world, "tickets", "x"), ["2", "2"]);
    assert_eq!(
        world.proxy.ask_admin("SHOW JOBS"),
        Vec::<Vec<String>>::new()
    );
    let error = admin.query_drop(&resume).unwrap_err();
    assert!(error.to_string().contains("there is no job"), "{error}");

    let mut client = world.umpire();
    // a change commits what is open
    client.query_drop("BEGIN").expect("begun");
    client
        .query_drop("INSERT INTO tickets (owner, what) VALUES (9, 'open')")
        .expect("inserted");
    client
        .query_drop("ALTER TABLE tickets DROP COLUMN x")
        .expect("altered");
    client.query_drop("ROLLBACK").expect("nothing to undo");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM tickets"), "4");
    client
        .query_drop("TRUNCATE TABLE tickets")
        .expect("emptied");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM tickets"), "0");
    client.query_drop("DROP TABLE tickets").expect("dropped");
    assert_eq!(having(&world, "tickets", "owner"), ["0", "0"]);
}

/// Inserts until told to stop or the proxy is gone; the ids that were acknowledged.
fn insert(mut client: Conn, stop: &AtomicBool, owner: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let sql = format!(
            "INSERT INTO notes (owner, what) VALUES ({owner}, 'x'), ({}, 'y')",
            owner + 1
        );
        if client.query_drop(sql).is_err() {
            break;
        }
        let first = client.last_insert_id();
        ids.extend([first, first + 1]);
    }
    ids
}

#[test]
fn ids_are_unique_over_shards_workers_and_a_proxy_that_dies() {
    needs!(the_proxy);
    let (_folder, section) = store();
    let mut world = World::with(&format!("\n{section}{}", sharded("notes", "owner", "hash")));
    let mut client = world.umpire();
    client
        .query_drop("CREATE TABLE notes (id BIGINT AUTO_INCREMENT, owner INT, what VARCHAR(20), PRIMARY KEY (owner, id), KEY (id))")
        .expect("created");
    // rows from before Umpire counted: it begins above them
    world.run_on(1, "INSERT INTO notes_3 VALUES (5000, 1000000, 'old')");
    client
        .query_drop("INSERT INTO notes (owner, what) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        .expect("inserted");
    assert_eq!(client.last_insert_id(), 5001);
    assert_eq!(scalar(&mut client, "SELECT LAST_INSERT_ID()"), "5001");
    assert_eq!(
        rows(
            &mut client,
            "SELECT id, what FROM notes WHERE what < 'd' ORDER BY id"
        ),
        [["5001", "a"], ["5002", "b"], ["5003", "c"]]
    );
    // prepared, with its own ids in between, and one far above
    for (id, what) in [
        (None, "p"),
        (Some(6000u64), "own"),
        (None, "q"),
        (Some(9000), "far"),
        (None, "r"),
    ] {
        client
            .exec_drop(
                "INSERT INTO notes (id, owner, what) VALUES (?, ?, ?)",
                (id, 7, what),
            )
            .expect("inserted");
    }
    let above = scalar(&mut client, "SELECT id FROM notes WHERE what = 'r'");
    assert!(above.parse::<u64>().expect("a number") > 9000, "{above}");
    let mut acknowledged: Vec<u64> = Vec::new();
    for round in 0..2 {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..6)
                .map(|n| {
                    let (client, stop) = (world.umpire(), &stop);
                    scope.spawn(move || insert(client, stop, 10 * n + 100 * round))
                })
                .collect();
            common::pause(std::time::Duration::from_millis(400));
            if round == 0 {
                world.proxy.signal("KILL");
            }
            stop.store(true, Ordering::Relaxed);
            for thread in running {
                acknowledged.extend(thread.join().expect("no panic"));
            }
        });
        if round == 0 {
            world.kill_and_start();
        }
    }
    let distinct: BTreeSet<u64> = acknowledged.iter().copied().collect();
    assert_eq!(distinct.len(), acknowledged.len(), "an id was given twice");
    assert!(acknowledged.len() > 20, "too few to tell");
    let mut client = world.umpire();
    let counted = rows(
        &mut client,
        "SELECT COUNT(*), COUNT(DISTINCT id) FROM notes",
    );
    assert_eq!(counted[0][0], counted[0][1], "ids in the tables");
    let stored: BTreeSet<String> = rows(&mut client, "SELECT id FROM notes")
        .into_iter()
        .flatten()
        .collect();
    assert!(
        acknowledged
            .iter()
            .all(|id| stored.contains(&id.to_string())),
        "an acknowledged row is missing"
    );
}
