//! Odd SQL, by hand: each is answered as one server does, or refused with a reason.
use super::generate::{self, Case, Random};
use super::world::{sharded, World};
use super::{fold, run, Outcome};
use crate::common::{code, needs};
use mysql::prelude::Queryable;
use mysql::Conn;

/// One a line, answered alike. What begins with `~` has no order of its own; `\n` is the end of a line.
const ALIKE: &str = include_str!("odd.sql");

/// Refused, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT id FROM t PARTITION (p0)", ""),
    (
        "SELECT id INTO @v FROM t WHERE g = 1 LIMIT 1",
        "user variable",
    ),
    ("SELECT * FROM t INTO OUTFILE '/tmp/umpire-odd'", ""),
    ("INSERT INTO t (g) VALUES (1)", "id"),
    ("INSERT INTO t (id, g) VALUES (NULL, 1)", "id"),
    ("INSERT INTO t (id, g) VALUES (DEFAULT, 1)", "id"),
    ("REPLACE INTO t (g) VALUES (1)", "id"),
    ("REPLACE INTO m (n, x) VALUES (DEFAULT, 1)", "n"),
    ("INSERT INTO t (id, g) VALUES (400, 1), (401 + 1, 2)", "id"),
    ("INSERT INTO t (id) VALUES ('4x')", "id"),
    ("INSERT INTO t (id) VALUES (4.5)", "id"),
    ("INSERT INTO t (id) VALUES (@x)", "id"),
    ("UPDATE t SET id = 5 WHERE id = 6", "id"),
    ("UPDATE t SET g = 1 LIMIT 3", "LIMIT"),
    (
        "INSERT INTO m VALUES (1, 1) ON DUPLICATE KEY UPDATE n = 2",
        "n",
    ),
    ("LOCK TABLES t READ", "FOR UPDATE"),
    ("HANDLER t OPEN", "SELECT"),
    ("LOAD DATA LOCAL INFILE '/nothing' INTO TABLE t", "INSERT"),
    ("CREATE VIEW seen AS SELECT id FROM t", "VIEW"),
    (
        "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW SET @x = 1",
        "TRIGGER",
    ),
    ("CREATE PROCEDURE p() SELECT COUNT(*) FROM t", "PROCEDURE"),
    (
        "CREATE FUNCTION f() RETURNS INT RETURN (SELECT COUNT(*) FROM t)",
        "FUNCTION",
    ),
    ("PREPARE s FROM 'SELECT * FROM t'", "prepared statements"),
    ("CREATE TABLE copy AS SELECT * FROM t", "rule"),
    ("CREATE TEMPORARY TABLE copy LIKE t", "rule"),
    ("CREATE TEMPORARY TABLE t (id INT)", "rule"),
    ("SELECT 1; SELECT COUNT(*) FROM t", ""),
    ("SELECT id FROM t WHERE id = @x", "user variable"),
    ("DELETE FROM t ORDER BY id LIMIT 2", "LIMIT"),
    ("SET @n = (SELECT COUNT(*) FROM t)", "SELECT"),
    ("DO (SELECT COUNT(*) FROM t)", "SELECT"),
    ("CHECKSUM TABLE t", "group"),
    ("OPTIMIZE TABLE t", "group"),
    ("EXPLAIN SELECT * FROM t", "EXPLAIN ROUTE"),
    ("SELECT LAST_INSERT_ID(), id FROM t", "connection"),
    ("SELECT FOUND_ROWS() FROM t", "connection"),
    ("DELETE FROM u WHERE id IN (SELECT k FROM u)", ""),
    (
        "INSERT IGNORE INTO r SELECT id, part + 30, 1, note FROM r LIMIT 2",
        "LIMIT",
    ),
    ("INSERT INTO m VALUES (200, (SELECT COUNT(*) FROM t))", ""),
    ("SET sql_select_limit = 2; SELECT id FROM t", ""),
];

fn rules() -> String {
    sharded("m", "n", "mod")
}

fn case(sql: &str) -> Case {
    let unordered = sql.strip_prefix('~');
    Case {
        sql: unordered.unwrap_or(sql).to_owned(),
        ordered: unordered.is_none(),
    }
}

fn fill(world: &World) {
    world.create_table("m", "n BIGINT NOT NULL PRIMARY KEY, x INT DEFAULT 3", true);
    for sql in generate::rows(&mut Random(7)) {
        world.both(&sql);
    }
    world.both("INSERT INTO m VALUES (-7, 1), (-1, 2), (-2, 3), (-3, 4), (-4, 5), (0, 6), (3, 7), (4, 8), (5, 9)");
    for sql in super::wide::rows(&mut Random(7)) {
        world.both(&sql);
    }
    world.both("INSERT IGNORE INTO v (k, i, un) VALUES ('7', 1, 'x'), ('007', 2, 'y'), ('7.0', 3, 'z'), ('A', 900, 'w')");
}

/// What is wrong with the answers to one statement.
pub fn wrong(umpire: &mut Conn, direct: &mut Conn, sql: &str, prepared: bool) -> Option<String> {
    let case = case(sql);
    let values: Option<&[mysql::Value]> = if prepared { Some(&[]) } else { None };
    let ours = fold(run(umpire, &case, values), &case);
    let theirs = fold(run(direct, &case, values), &case);
    let alike = match (&ours, &theirs) {
        (Outcome::Error(a, _), Outcome::Error(b, _)) => a == b,
        (a, b) => a == b,
    };
    (!alike).then(|| {
        format!("{sql}\n  prepared: {prepared}\n  umpire: {ours:?}\n  direct: {theirs:?}\n")
    })
}

/// Values of user variables that one server's connection has are not asked of another.
fn variables(world: &World) {
    let groups: Vec<String> = ["main", "second"].map(str::to_owned).to_vec();
    let on = |group: usize| {
        let id = world.ask_group(group, &format!("SELECT MIN(id) FROM app.t_{}", 2 * group));
        (id, groups[group].clone())
    };
    let (here, there) = (on(0), on(1));
    for (first, second) in [(&here, &there), (&there, &here)] {
        let mut client = world.umpire();
        client.query_drop("SET @known = 'x'").expect("a literal");
        let assign = format!("SELECT id INTO @r FROM t WHERE id = {}", first.0);
        client.query_drop(assign).expect("one shard's");
        let both = |id: &str| format!("SELECT @r, @known FROM t WHERE id = {id}");
        let seen: Option<(String, String)> = client.query_first(both(&first.0)).expect("there");
        assert_eq!(seen, Some((first.0.clone(), "x".into())));
        let elsewhere = [
            both(&second.0),
            format!("SELECT id INTO @r FROM t WHERE id = {}", second.0),
        ];
        for sql in elsewhere {
            for error in [
                client.query_drop(&sql).expect_err(&sql),
                client.exec_drop(&sql, ()).expect_err(&sql),
            ] {
                let words = format!("by a statement on group '{}'", first.1);
                assert!(error.to_string().contains(&words), "{sql}: {error}");
            }
        }
        if first.1 == "second" {
            let error = client.query_drop("SELECT @r").expect_err("home");
            assert!(error.to_string().contains("on group 'second'"), "{error}");
        }
        // without them everything goes on
        let count: Option<u8> = client
            .query_first("SELECT COUNT(*) > 0 FROM t")
            .expect("all shards");
        assert_eq!(count, Some(1));
        let seen: Option<(String, String)> = client.query_first(both(&first.0)).expect("there");
        assert_eq!(seen, Some((first.0.clone(), "x".into())), "still held");
    }
}

/// One shard's error is the client's, whatever the others do; the session and its connections go on.
fn a_shard_that_fails(world: &World) {
    let mut client = world.umpire();
    let count: u64 = client
        .query_first("SELECT COUNT(*) FROM t")
        .expect("all shards")
        .expect("a row");
    let works = |client: &mut Conn, why: &str| {
        for _ in 0..3 {
            let again = client.query_first("SELECT COUNT(*) FROM t");
            assert_eq!(again.expect(why), Some(count), "{why}");
        }
    };
    let statements = [
        "SELECT id, s FROM t ORDER BY s, id",
        "SELECT COUNT(DISTINCT g) FROM t",
        "SELECT g, SUM(d) FROM t GROUP BY g",
        "UPDATE t SET sm = sm + 1",
    ];
    // its table is not there
    let total = "SELECT SUM(sm) FROM t";
    let before: Option<String> = client.query_first(total).expect("all shards");
    world.run_on(1, "RENAME TABLE t_2 TO t_2_away");
    for sql in statements {
        for error in [
            client.query_drop(sql).expect_err(sql),
            client.exec_drop(sql, ()).expect_err(sql),
        ] {
            assert_eq!(code(&error), 1146, "{sql}: {error}");
        }
    }
    world.run_on(1, "RENAME TABLE t_2_away TO t_2");
    works(&mut client, "the table is there again");
    let after: Option<String> = client.query_first(total).expect("all shards");
    assert_eq!(
        after, before,
        "nothing was changed where it could have been"
    );
    // it refuses the session's state, before the statement
    world.run_on(0, "CREATE DATABASE only_here");
    world.run_on(0, "GRANT ALL ON only_here.* TO 'app'@'%'");
    client
        .query_drop("USE only_here")
        .expect("the group of the user has it");
    for sql in ["SELECT COUNT(*) FROM app.t", "UPDATE app.t SET sm = sm + 1"] {
        let error = client.query_drop(sql).expect_err(sql);
        assert!([1044, 1049].contains(&code(&error)), "{sql}: {error}");
    }
    client.query_drop("USE app").expect("back");
    works(&mut client, "the schema is everywhere again");
    let after: Option<String> = client.query_first(total).expect("all shards");
    assert_eq!(
        after, before,
        "nothing was changed where it could have been"
    );
    world.run_on(0, "DROP DATABASE only_here");
}

fn check(world: &World) {
    fill(world);
    variables(world);
    a_shard_that_fails(world);
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let mut found = Vec::new();
    let lines = ALIKE.lines().map(|line| line.replace("\\n", "\n"));
    for sql in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        found.extend(wrong(&mut umpire, &mut direct, &sql, false));
        if case(&sql).sql.starts_with("SELECT") {
            found.extend(wrong(&mut umpire, &mut direct, &sql, true));
        }
    }
    umpire.query_drop("SET sql_select_limit = 2").expect("set");
    match umpire.query::<u64, _>("SELECT id FROM t ORDER BY id") {
        Ok(rows) if rows.len() != 2 => found.push(format!("sql_select_limit: {rows:?}\n")),
        _ => {}
    }
    umpire
        .query_drop("SET sql_select_limit = DEFAULT")
        .expect("set");
    for (sql, why) in REFUSED {
        match umpire.query_drop(sql) {
            Ok(()) => found.push(format!("{sql}\n  is not refused\n")),
            Err(mysql::Error::MySqlError(error)) if error.message.contains(why) => {
                if std::env::var_os("ODD").is_some() {
                    eprintln!("{sql}\n    {} {}", error.code, error.message);
                }
            }
            Err(error) => found.push(format!("{sql}\n  {error}\n")),
        }
        let alive = umpire
            .query_first::<u8, _>("SELECT 1")
            .expect("the session goes on");
        assert_eq!(alive, Some(1));
    }
    assert!(found.is_empty(), "{}", found.concat());
}

#[test]
fn odd_statements_are_answered_as_by_one_server_or_refused() {
    needs!(the_proxy);
    check(&World::with(&rules()));
}

#[test]
fn odd_statements_are_answered_as_by_one_mysql_or_refused() {
    needs!(the_proxy);
    if let Some(world) = World::mysql_with(&rules()) {
        check(&world);
    }
}
