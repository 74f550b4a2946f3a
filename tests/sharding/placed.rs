//! Databases, tables and views that are on one group, beside sharded ones and others, in one session.
use super::odd::wrong;
use super::world::World;
use crate::common::random::Random;
use crate::common::{code, needs, rows, scalar};
use crate::generate;
use mysql::prelude::Queryable;

const RULES: &str = r#"
[[table]]
name = "app.bills"
group = "second"
[[table]]
name = "app.dear_bills"
group = "second"
[[database]]
name = "billing"
group = "second"
"#;

fn fill(world: &World) {
    for at in 0..3 {
        for sql in [
            "CREATE DATABASE billing",
            "GRANT ALL ON billing.* TO 'app'@'%'",
            "CREATE TABLE bills (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, t INT, amount DECIMAL(8,2))",
            "CREATE VIEW `dear_bills` AS SELECT * FROM bills WHERE amount > 50",
            "CREATE TABLE plain (id INT NOT NULL PRIMARY KEY, note VARCHAR(20))",
            "CREATE TABLE billing.items (id INT NOT NULL PRIMARY KEY, bill INT)",
        ] {
            world.run_on(at, sql);
        }
    }
    for sql in generate::rows(&mut Random(9)) {
        world.both(&sql);
    }
}

/// Answered alike, one after the other; `~`: without an order of its own.
const ALIKE: &str = "\
INSERT INTO bills (t, amount) VALUES (1, 9.50), (2, 100.25), (3, 60), (12, 70)
SELECT LAST_INSERT_ID()
INSERT INTO plain VALUES (1, 'here'), (2, 'too')
insert into `app`.`bills` set t = 5, amount = 55.5
SELECT `b`.`id`, b.amount FROM `app`.`bills` AS b WHERE b.t > 1 ORDER BY b.id
SELECT /* plain */ id FROM bills -- t\\n WHERE amount < (SELECT MAX(amount) FROM bills) ORDER BY id
SELECT id, amount FROM `dear_bills` ORDER BY id
SELECT `dear_bills`.id FROM `dear_bills` JOIN bills USING (id) ORDER BY id
SELECT note FROM plain ORDER BY id
SELECT COUNT(*), SUM(g) FROM t
UPDATE bills SET amount = amount + 1 WHERE t = 12
SELECT ROW_COUNT()
UPDATE `dear_bills` SET amount = 51 WHERE id = 3
INSERT INTO billing.items VALUES (1, 1), (2, 2), (3, 2)
SELECT i.id, b.amount FROM billing.items i LEFT JOIN bills b ON b.id = i.bill ORDER BY i.id
SELECT b.id, p.note FROM bills b JOIN plain p ON p.id = b.t ORDER BY b.id
SELECT b.id, t.g, t.s FROM bills b LEFT JOIN t ON t.id = b.t ORDER BY b.id
SELECT COUNT(*) FROM t WHERE id IN (SELECT t FROM bills)
SELECT 'bills', COUNT(*) FROM plain
SELECT COUNT(*) AS bills FROM t
DESCRIBE bills
SHOW CREATE TABLE bills
SHOW COLUMNS FROM billing.items
USE billing
SELECT id FROM items ORDER BY id
SELECT COUNT(*) FROM app.plain
SELECT COUNT(*) FROM app.t
CREATE TABLE notes (id INT NOT NULL PRIMARY KEY)
INSERT INTO notes VALUES (1), (2)
ALTER TABLE notes ADD COLUMN n INT DEFAULT 4
SELECT * FROM notes ORDER BY id
DROP TABLE notes
USE app
BEGIN
INSERT INTO bills (t, amount) VALUES (77, 1)
SELECT COUNT(*) FROM bills WHERE t = 77
ROLLBACK
SELECT COUNT(*) FROM bills WHERE t = 77
BEGIN
INSERT INTO billing.items VALUES (9, 9)
UPDATE bills SET amount = 0 WHERE t = 5
COMMIT
SELECT id, bill FROM billing.items ORDER BY id
DELETE FROM bills WHERE t = 2
TRUNCATE TABLE billing.items
SELECT COUNT(*) FROM billing.items
SELECT id, t, amount FROM bills ORDER BY id";

fn check(world: &World) {
    fill(world);
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let mut found = Vec::new();
    for sql in ALIKE.lines() {
        let sql = sql.replace("\\n", "\n");
        found.extend(wrong(&mut umpire, &mut direct, &sql, false));
        if sql.starts_with("SELECT") && !sql.contains("ROW_COUNT") && !sql.contains("LAST_") {
            found.extend(wrong(&mut umpire, &mut direct, &sql, true));
        }
    }
    assert!(found.is_empty(), "{}", found.concat());
    for table in ["bills", "billing.items"] {
        let count = format!("SELECT COUNT(*) FROM app.{table}").replace("app.billing", "billing");
        assert_eq!(world.ask_group(0, &count), "0", "{table} is elsewhere");
    }
    assert_eq!(world.ask_group(1, "SELECT COUNT(*) FROM app.plain"), "0");
    // what would need two servers at once has no effect on either
    let before = rows(&mut umpire, "SELECT COUNT(*), SUM(amount) FROM bills");
    for sql in [
        "UPDATE bills b JOIN plain p ON p.id = b.t SET b.amount = 1, p.note = 'x'",
        "INSERT INTO plain SELECT id, 'bill' FROM bills",
        "DELETE bills FROM bills JOIN t ON t.id = bills.t",
    ] {
        let error = umpire.query_drop(sql).expect_err(sql);
        assert_eq!(code(&error), 1235, "{sql}: {error}");
    }
    let after = rows(&mut umpire, "SELECT COUNT(*), SUM(amount) FROM bills");
    assert_eq!(
        (after, scalar(&mut umpire, "SELECT COUNT(*) FROM plain")),
        (before, "2".into())
    );
}

#[test]
fn what_is_placed_on_one_group_is_answered_as_by_one_server_beside_sharded_tables() {
    needs!(the_proxy);
    check(&World::with(RULES));
}

#[test]
fn what_is_placed_on_one_group_is_answered_as_by_one_mysql_beside_sharded_tables() {
    needs!(the_proxy);
    if let Some(world) = World::mysql_with(RULES) {
        check(&world);
    }
}
