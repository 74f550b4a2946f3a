//! Rules that come in a comment of CREATE TABLE.
use super::common::{self, code, needs, rows, scalar};
use super::world::World;
use super::{having, store};
use mysql::prelude::Queryable;

/// Tables of both groups with names like this.
pub fn tables(world: &World, like: &str) -> Vec<String> {
    world.ask_groups(&format!(
        "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' AND \
         TABLE_NAME LIKE '{like}'"
    ))
}

const COLUMNS: &str =
    "(id BIGINT AUTO_INCREMENT, owner INT NOT NULL, at DATE, note VARCHAR(20), x DECIMAL(9,2), PRIMARY KEY (owner, id), KEY (id))";

/// Comments that are wrong, and what the error says of it.
const WRONG: &[(&str, &str)] = &[
    (
        "shards by hash(owner) over 4 tables on main, second",
        "expected SHARD BY or BROADCAST ON near 'shards by",
    ),
    ("", "expected SHARD BY or BROADCAST ON at the end"),
    (
        "shard by hash(owner) over 4 tables on",
        "expected a group at the end",
    ),
    (
        "shard by hash owner over 4 tables on main",
        "expected '(' near 'owner",
    ),
    (
        "shard by hash(owner) over 4 tables on main second",
        "expected the end of the comment near 'second'",
    ),
    (
        "shard by hash(owner) over 0 tables on main",
        "'0 tables': from 1 to 4096",
    ),
    (
        "shard by md5(owner) over 4 tables on main",
        "there is no method \"md5\"; there are: hash, mod",
    ),
    (
        "shard by hash(owner) over 4 tables on main, third",
        "there is no group \"third\"",
    ),
    (
        "shard by hash(owner) over wrong_0 on main, wrong_0 on main",
        "holds a shard already",
    ),
    (
        "shard by hash(owner) over t_0 on main, wrong_1 on second",
        "holds a shard of app.t already, by the rule in the configuration",
    ),
    (
        "shard by hash(custmer) over 4 tables on main, second",
        "a CREATE TABLE without custmer, the sharding key",
    ),
    (
        "shard by hash(x) over 4 tables on main, second",
        "x as the sharding key: this method needs an integer, CHAR or VARCHAR",
    ),
    (
        "shard by mod(note) over 4 tables on main",
        "note as the sharding key: this method needs an integer column",
    ),
    (
        "shard by range(owner) over 4 tables on main",
        "bounds or values of its own: list the shards",
    ),
    (
        "shard by range(owner) over a below 10 on main, b from 5 on second",
        "the range overlaps the one of shards[0]",
    ),
    (
        "shard by date(at, week) over a below 2024 on main, b from 2024 on second",
        "\"week\" is not one of",
    ),
    (
        "shard by list(owner) over a values (1, 2) on main, b on second",
        "a shard of a list needs values, or default",
    ),
    (
        "shard by hash(owner) over 4 tables on main ids random",
        "\"random\" is not one of",
    ),
    ("broadcast on main, main", "has the table already"),
    ("shard by hash(owner) over 'open on main", "does not end"),
];

#[test]
fn a_rule_in_a_comment_is_kept_and_known_to_all_before_the_ok_or_nothing_is_created() {
    needs!(the_proxy);
    let (_folder, section) = store();
    comments(World::with(&format!("\n{section}")));
}

#[test]
fn on_mysql_too_a_rule_in_a_comment_is_kept_and_known_to_all_before_the_ok_or_nothing_is_created() {
    needs!(the_proxy);
    let (_folder, section) = store();
    if let Some(world) = World::mysql_with(&format!("\n{section}")) {
        comments(world);
    }
}

fn comments(mut world: World) {
    let mut client = world.umpire();
    for (rule, words) in WRONG {
        let sql = format!("/* umpire: {rule} */ CREATE TABLE wrong {COLUMNS}");
        let error = client.query_drop(&sql).expect_err(&sql).to_string();
        assert!(error.contains(words), "{rule}: {error}");
    }
    let rule = "/* umpire: shard by hash(owner) over 4 tables on main, second */";
    for (sql, words) in [
        (
            format!("{rule} CREATE TABLE t {COLUMNS}"),
            "there is another rule for app.t already, in the configuration",
        ),
        (
            format!("{rule} CREATE TABLE wrong {COLUMNS} {rule}"),
            "a table has one rule",
        ),
        (
            format!("{rule} CREATE TEMPORARY TABLE wrong {COLUMNS}"),
            "a temporary table is of one connection",
        ),
        (
            format!("{rule} CREATE OR REPLACE TABLE wrong {COLUMNS}"),
            "DROP TABLE first",
        ),
        (
            format!("{rule} CREATE TABLE wrong {COLUMNS} SELECT 1 AS owner"),
            "CREATE TABLE … SELECT",
        ),
        (
            format!("{rule} CREATE VIEW wrong AS SELECT 1"),
            "it belongs to a CREATE TABLE",
        ),
    ] {
        let error = client.query_drop(&sql).expect_err(&sql).to_string();
        assert!(error.contains(words), "{sql}: {error}");
    }
    // a table that has a shard's name, and one that has the table's own
    world.run_on(1, "CREATE TABLE goods_3 (x INT)");
    world.run_on(0, "CREATE TABLE wares (x INT)");
    for (table, words) in [
        ("goods", "app.goods_3 exists on group 'second'"),
        ("wares", "app.wares exists on group 'main'"),
    ] {
        let error = client
            .query_drop(format!("{rule} CREATE TABLE {table} {COLUMNS}"))
            .unwrap_err();
        assert_eq!(code(&error), 1050, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(tables(&world, "wrong%"), ["NULL", "NULL"]);
    assert_eq!(tables(&world, "goods%"), ["NULL", "goods_3"]);
    assert_eq!(
        world.proxy.ask_admin("SHOW JOBS"),
        Vec::<Vec<String>>::new()
    );
    let listed = |world: &World| world.proxy.ask_admin("SHOW SHARDED TABLES LIKE 'app.o%'");
    assert_eq!(listed(&world), Vec::<Vec<String>>::new());

    client
        .query_drop(format!("{rule} CREATE TABLE orders {COLUMNS}"))
        .expect("created");
    assert_eq!(
        tables(&world, "orders%"),
        ["orders_0,orders_1", "orders_2,orders_3"]
    );
    // every worker has the rule: connections go to all of them
    for owner in 0..16 {
        let mut client = world.umpire();
        client
            .query_drop(format!(
                "INSERT INTO orders (owner, note) VALUES ({owner}, 'x')"
            ))
            .expect("inserted");
        assert_eq!(
            scalar(&mut client, "SELECT COUNT(*) FROM orders"),
            (owner + 1).to_string()
        );
    }
    let row = ["app.orders", "hash", "owner",
        "app.orders_0 on main, app.orders_1 on main, app.orders_2 on second, app.orders_3 on second", "sequence", "comment"];
    assert_eq!(listed(&world), [row]);
    let configured = world.proxy.ask_admin("SHOW SHARDED TABLES LIKE 'app.t'");
    assert_eq!(
        (configured[0][5].as_str(), configured[0][1].as_str()),
        ("configuration", "hash")
    );
    // again: as on one server; with another rule: refused
    let error = client
        .query_drop(format!("{rule} CREATE TABLE orders {COLUMNS}"))
        .unwrap_err();
    assert_eq!(code(&error), 1050, "{error}");
    client
        .query_drop(format!(
            "{rule} CREATE TABLE IF NOT EXISTS orders {COLUMNS}"
        ))
        .expect("it is there");
    let other = "/* umpire: shard by mod(owner) over 4 tables on main, second */";
    let error = client
        .query_drop(format!(
            "{other} CREATE TABLE IF NOT EXISTS orders {COLUMNS}"
        ))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another rule for app.orders already, from a comment"),
        "{error}"
    );
    assert_eq!(listed(&world), [row]);

    // a reload and a death change nothing
    world.proxy.admin().query_drop("RELOAD").expect("reloaded");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM orders"), "16");
    world.kill_and_start();
    let mut client = world.umpire();
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM orders"), "16");
    assert_eq!(listed(&world), [row]);

    // other forms, in comments that clients keep; the schema named
    let ranged = "/*!99999 umpire: shard by range(owner) over low below 100 on main, high from 100 on second ids snowflake */";
    let create = format!("{ranged} CREATE TABLE app.ranged {COLUMNS}");
    let prepared = client.exec_drop(&create, ()).unwrap_err();
    assert!(
        prepared
            .to_string()
            .contains("cannot be prepared: send it as text"),
        "{prepared}"
    );
    let prepared = client
        .query_drop(format!("PREPARE s FROM '{create}'"))
        .unwrap_err();
    assert!(
        prepared
            .to_string()
            .contains("cannot be prepared: send it as text"),
        "{prepared}"
    );
    client.query_drop(&create).expect("created");
    assert_eq!(
        (tables(&world, "low"), tables(&world, "high")),
        (
            vec!["low".into(), "NULL".into()],
            vec!["NULL".into(), "high".into()]
        )
    );
    client
        .exec_drop("INSERT INTO ranged (owner) VALUES (?), (?)", (99, 100))
        .expect("inserted");
    assert_eq!(world.ask_groups("SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME IN ('low', 'high'))"), ["1", "1"]);
    client
        .query_drop("-- umpire: broadcast on main, second\nCREATE TABLE labels (g INT PRIMARY KEY)")
        .expect("created");
    client
        .query_drop("INSERT INTO labels VALUES (1), (2)")
        .expect("inserted");
    assert_eq!(
        world.ask_groups("SELECT COUNT(*) FROM app.labels"),
        ["2", "2"]
    );
    assert_eq!(having(&world, "orders", "owner"), ["2", "2"]);

    // DROP TABLE takes the rule with it, on every worker, and for good
    client.exec_drop("DROP TABLE orders", ()).expect("dropped");
    assert_eq!(tables(&world, "orders%"), ["NULL", "NULL"]);
    assert_eq!(listed(&world), Vec::<Vec<String>>::new());
    for _ in 0..8 {
        let error = world
            .umpire()
            .query_drop("SELECT COUNT(*) FROM orders")
            .unwrap_err();
        assert_eq!(code(&error), 1146, "{error}");
    }
    client
        .query_drop("CREATE TABLE orders (a INT)")
        .expect("a table without a rule");
    assert_eq!(tables(&world, "orders%"), ["orders", "NULL"]);
    world.kill_and_start();
    assert_eq!(listed(&world), Vec::<Vec<String>>::new());
    assert_eq!(
        rows(&mut world.umpire(), "SELECT COUNT(*) FROM labels"),
        [["2"]]
    );
    common::wait_until("its rules are there", || {
        world
            .proxy
            .ask_admin("SHOW SHARDED TABLES LIKE 'app.ranged'")
            .len()
            == 1
    });
}
