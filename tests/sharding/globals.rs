//! What the servers' own variables and the session's modes say of a statement on several shards.
use super::odd::wrong;
use super::world::World;
use crate::common::{code, needs, try_rows, wait_until};
use mysql::prelude::Queryable;
use mysql::Conn;

const TABLES: &str = r#"
[[table]]
name = "app.days"
key = "id"
method = "mod"
shards = [{ group = "main" }, { group = "second" }]
[[table]]
name = "app.counted"
key = "k"
method = "mod"
shards = [{ group = "main" }, { group = "second" }]
"#;

fn world() -> World {
    let world = World::with(TABLES);
    for at in 0..3 {
        world.run_on(
            at,
            "CREATE TABLE days (id INT NOT NULL PRIMARY KEY, d DATE, c CHAR(4), n DECIMAL(6,2))",
        );
        world.run_on(
            at,
            "CREATE TABLE counted (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL, PRIMARY KEY (id, k))",
        );
    }
    for mut conn in [world.umpire(), world.direct()] {
        conn.query_drop("SET sql_mode = ''").expect("set");
        conn.query_drop(
            "INSERT INTO days VALUES (1, '2026-01-31', 'a', 1.10), (2, '0000-00-00', '', 2.25), \
             (3, '2026-02-00', NULL, 0.01), (4, NULL, 'b', -7)",
        )
        .expect("insert");
    }
    world
}

/// A session has a limit for a while, and none after it.
fn limit_and(world: &World, none: &str) {
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    for limit in ["2", none] {
        for conn in [&mut umpire, &mut direct] {
            let set = format!("SET sql_select_limit = {limit}");
            conn.query_drop(set).expect("set");
        }
    }
    alike(
        &mut umpire,
        &mut direct,
        &["SELECT id FROM days ORDER BY id"],
    );
}

fn alike(umpire: &mut Conn, direct: &mut Conn, statements: &[&str]) {
    for sql in statements {
        for prepared in [false, true] {
            assert_eq!(wrong(umpire, direct, sql, prepared), None);
        }
    }
}

/// A temporary table that the rows are brought to has the columns of the shards, whatever the session's mode makes of
/// the same words, and all their values.
#[test]
fn rows_brought_together_keep_their_types_and_values_under_every_mode() {
    needs!(the_proxy);
    let world = world();
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    for mode in [
        "",
        "ORACLE",
        "MAXDB",
        "TRADITIONAL",
        "EMPTY_STRING_IS_NULL",
        "PAD_CHAR_TO_FULL_LENGTH",
    ] {
        for conn in [&mut umpire, &mut direct] {
            conn.query_drop(format!("SET sql_mode = '{mode}'"))
                .expect("set");
        }
        alike(
            &mut umpire,
            &mut direct,
            &[
                "SELECT d, c, n, ROW_NUMBER() OVER (ORDER BY id) FROM days ORDER BY id",
                "SELECT COUNT(DISTINCT d), COUNT(DISTINCT c), MIN(d), MAX(c) FROM days",
                "SELECT d, c FROM days UNION SELECT d, c FROM days ORDER BY 1, 2",
            ],
        );
    }
}

/// Where the session has set nothing, the servers' own variables count.
#[test]
fn the_servers_own_variables_count_where_a_session_has_set_nothing() {
    needs!(the_proxy);
    let world = world();
    for at in 0..3 {
        world.run_on(at, "SET GLOBAL div_precision_increment = 9");
        world.run_on(
            at,
            "SET GLOBAL sql_mode = CONCAT(@@GLOBAL.sql_mode, ',NO_AUTO_VALUE_ON_ZERO')",
        );
    }
    let average = "SELECT AVG(n), SUM(n) / 3 FROM days";
    // by every worker
    wait_until("the variables are known", || {
        let known = |_| wrong(&mut world.umpire(), &mut world.direct(), average, false).is_none();
        (0..10).all(known)
    });
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    alike(
        &mut umpire,
        &mut direct,
        &[
            average,
            "SELECT c, AVG(n) FROM days GROUP BY c ORDER BY c",
            "INSERT IGNORE INTO counted (id, k) VALUES (0, 1)",
            "SELECT id, k FROM counted ORDER BY id, k",
        ],
    );
    limit_and(&world, "DEFAULT");
    for at in 0..3 {
        world.run_on(at, "SET GLOBAL sql_select_limit = 2");
    }
    wait_until("the limit is known", || {
        let refused = try_rows(&mut world.umpire(), "SELECT id FROM days");
        refused.is_err_and(|e| code(&e) == 1105 && e.to_string().contains("sql_select_limit"))
    });
    // a session that wants all rows says so
    limit_and(&world, "18446744073709551615");
}
