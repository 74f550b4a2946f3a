//! Tables that came with their rule are renamed and dropped, and servers die in between.
use super::common::{code, needs, rows, scalar, wait_until};
use super::rules::tables;
use super::world::World;
use super::{having, store};
use mysql::prelude::Queryable;

const RULE: &str = "/* umpire: shard by hash(owner) over 4 tables on main, second */";
const COLUMNS: &str =
    "(id BIGINT AUTO_INCREMENT, owner INT NOT NULL, note VARCHAR(20), PRIMARY KEY (owner, id), KEY (id))";

fn rules(world: &World) -> Vec<String> {
    let listed = world.proxy.ask_admin("SHOW SHARDED TABLES");
    let kept = listed.iter().filter(|row| row[5] == "comment");
    kept.map(|row| row[0].clone()).collect()
}

#[test]
fn a_rule_follows_its_renamed_table_and_goes_with_the_last_shard_whatever_dies_in_between() {
    needs!(the_proxy);
    let (_folder, section) = store();
    renames(World::with(&format!("\n{section}")));
}

#[test]
fn on_mysql_too_a_rule_follows_its_renamed_table_and_goes_with_the_last_shard_whatever_dies_in_between(
) {
    needs!(the_proxy);
    let (_folder, section) = store();
    if let Some(world) = World::mysql_with(&format!("\n{section}")) {
        renames(world);
    }
}

fn renames(mut world: World) {
    let mut client = world.umpire();
    client
        .query_drop(format!("{RULE} CREATE TABLE orders {COLUMNS}"))
        .expect("created");
    client
        .query_drop("INSERT INTO orders (owner) VALUES (1), (2), (3), (4)")
        .expect("inserted");
    let highest = |client: &mut mysql::Conn, table: &str| -> u64 {
        let highest = scalar(client, &format!("SELECT MAX(id) FROM {table}"));
        highest.parse().expect("a number")
    };
    let before = highest(&mut client, "orders");

    // refused before anything is changed
    world.run_on(1, "CREATE TABLE taken_3 (x INT)");
    for (sql, words) in [
        (
            "RENAME TABLE orders TO taken",
            "app.taken_3 exists on group 'second'",
        ),
        ("RENAME TABLE orders TO t", "there is a rule for app.t"),
        ("RENAME TABLE t TO s", "its rule is in the configuration"),
        (
            "ALTER TABLE orders MODIFY owner SMALLINT NOT NULL",
            "may change values of owner (int",
        ),
    ] {
        let error = client.query_drop(sql).expect_err(sql).to_string();
        assert!(error.contains(words), "{sql}: {error}");
    }
    assert_eq!(
        tables(&world, "orders%"),
        ["orders_0,orders_1", "orders_2,orders_3"]
    );

    client
        .exec_drop("RENAME TABLE orders TO archive", ())
        .expect("renamed");
    assert_eq!(
        tables(&world, "archive%"),
        ["archive_0,archive_1", "archive_2,archive_3"]
    );
    assert_eq!(rules(&world), ["app.archive"]);
    for _ in 0..6 {
        let mut client = world.umpire();
        assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM archive"), "4");
        let error = client.query_drop("SELECT * FROM orders").unwrap_err();
        assert_eq!(code(&error), 1146, "{error}");
    }
    client
        .query_drop("INSERT INTO archive (owner) VALUES (5)")
        .expect("inserted");
    assert!(highest(&mut client, "archive") > before, "ids go on");
    // the old name is free; the new table is made like the other, bound to it
    client
        .query_drop(format!("{RULE} CREATE TABLE orders LIKE archive"))
        .expect("created");
    client
        .query_drop("ALTER TABLE archive RENAME TO old")
        .expect("renamed");
    client
        .query_drop("INSERT INTO orders (owner) VALUES (1), (9)")
        .expect("inserted");
    let joined = "SELECT COUNT(*) FROM orders JOIN old USING (owner)";
    assert_eq!(scalar(&mut client, joined), "1");
    world.kill_and_start();
    let mut client = world.umpire();
    assert_eq!(scalar(&mut client, joined), "1");
    // several tables, with and without a rule; one that is nowhere
    client
        .query_drop("CREATE TABLE plain (x INT)")
        .expect("created");
    client
        .query_drop("DROP TABLE IF EXISTS old, plain, nowhere")
        .expect("dropped");
    assert_eq!(
        (tables(&world, "old%"), tables(&world, "plain")),
        (vec!["NULL".into(); 2], vec!["NULL".into(); 2])
    );
    assert_eq!(rules(&world), ["app.orders"]);
    let error = client.query_drop("DROP TABLE orders, nowhere").unwrap_err();
    assert_eq!(code(&error), 1051, "{error}");
    assert_eq!(rules(&world), Vec::<String>::new());
    assert_eq!(
        world.proxy.ask_admin("SHOW JOBS"),
        Vec::<Vec<String>>::new()
    );

    // a server dies; what it has is named and missing, and only that runs later
    client
        .query_drop(format!("{RULE} CREATE TABLE orders {COLUMNS}"))
        .expect("created");
    world.kill_server(1);
    for sql in ["ALTER TABLE orders ADD COLUMN a INT", "DROP TABLE orders"] {
        let error = client.query_drop(sql).expect_err(sql).to_string();
        for words in [
            "shard 2 of app.orders on group 'second'",
            "2 of 4 shards are done",
            "RESUME JOB",
        ] {
            assert!(error.contains(words), "{sql}: {error}");
        }
    }
    assert_eq!(
        rules(&world),
        ["app.orders"],
        "not all shards have dropped it"
    );
    world.kill_and_start();
    world.start_server(1);
    let jobs = world.proxy.ask_admin("SHOW JOBS");
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    let resume = |job: &[String]| {
        wait_until("the job is done", || {
            let resumed = world
                .proxy
                .admin()
                .query_drop(format!("RESUME JOB {}", job[0]));
            resumed
                .map_err(|error| assert!(error.to_string().contains("stopped again"), "{error}"))
                .is_ok()
        });
    };
    resume(&jobs[0]);
    let with_column = |n: usize| {
        world.ask_group(n, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME LIKE 'orders%' AND COLUMN_NAME = 'a'")
    };
    assert_eq!(
        [with_column(0), with_column(1)],
        ["0", "2"],
        "the first group's are dropped already"
    );
    resume(&jobs[1]);
    assert_eq!(having(&world, "orders", "owner"), ["0", "0"]);
    wait_until("the rule is gone", || rules(&world).is_empty());
    assert_eq!(
        world.proxy.ask_admin("SHOW JOBS"),
        Vec::<Vec<String>>::new()
    );
    let mut client = world.umpire();
    client
        .query_drop(format!("{RULE} CREATE TABLE orders {COLUMNS}"))
        .expect("created anew");
    assert_eq!(rows(&mut client, "SELECT COUNT(*) FROM orders"), [["0"]]);
}
