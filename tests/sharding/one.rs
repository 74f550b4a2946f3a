//! The statements that applications send most, one shard's, again and again: planned, kept, known.
use super::world::World;
use crate::common::random::Random;
use crate::common::{code, needs, rows, scalar, try_rows};
use crate::generate;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};

/// Often enough that the plan of each shard is known without looking.
const ROUNDS: u32 = 24;

fn filled(more: &str) -> World {
    let world = World::with(more);
    for sql in generate::rows(&mut Random(6)) {
        world.both(&sql);
    }
    world
}

/// Schemas, tables, names and types of the columns, the rows, or the error's code; what a client can see of an OK.
fn outcome(conn: &mut Conn, sql: &str, values: Option<&[Value]>) -> String {
    fn seen<P: mysql::prelude::Protocol>(
        result: mysql::Result<mysql::QueryResult<'_, '_, '_, P>>,
    ) -> mysql::Result<String> {
        let mut result = result?;
        let mut out = String::new();
        for column in result.columns().as_ref() {
            out += &format!(
                "{}.{}.{} {} {} {:?} {:?}; ",
                column.schema_str(),
                column.org_table_str(),
                column.table_str(),
                column.name_str(),
                column.org_name_str(),
                column.column_type(),
                column.flags()
            );
        }
        for row in result.by_ref() {
            out += &format!("{:?} ", row?.unwrap());
        }
        let (affected, warnings) = (result.affected_rows(), result.warnings());
        let (id, info) = (result.last_insert_id(), result.info_str());
        Ok(out + &format!("{affected} {warnings} {id:?} {info}"))
    }
    let answer = match values {
        None => seen(conn.query_iter(sql)),
        Some(values) => seen(conn.exec_iter(sql, Params::Positional(values.to_vec()))),
    };
    answer.unwrap_or_else(|error| format!("error {}", code(&error)))
}

#[test]
fn what_is_known_is_answered_as_by_one_server_in_text_and_prepared() {
    needs!(the_proxy);
    let world = filled("");
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let texts = [
        "SELECT id, t.g, s AS x, t.* FROM t WHERE t.id = {}",
        "SELECT app.t.id, u.k FROM t JOIN u ON u.id = t.id WHERE t.id = {} ORDER BY k",
        "SELECT x.g, COUNT(*), ROW_COUNT() FROM t x WHERE x.id = {} GROUP BY x.g",
        "SELECT x.g, COUNT(*) FROM t x WHERE x.id = {} GROUP BY x.g",
        "SELECT nothing FROM t WHERE id = {}",
        "UPDATE t SET g = g + 1, sm = 99999999 WHERE id = {}",
        "UPDATE IGNORE t SET g = g + 1, sm = 99999999 WHERE id = {}",
        "SHOW WARNINGS",
        "SELECT SQL_CALC_FOUND_ROWS k FROM u WHERE id = {} ORDER BY k LIMIT 1",
        "SELECT FOUND_ROWS()",
        "INSERT INTO t (id, g, s) VALUES ({}, 1, 'it''s')",
        "INSERT IGNORE INTO t (id, g, s) VALUES ({}, 1, 'y')",
        "SHOW WARNINGS",
        "DELETE FROM u WHERE id = {} AND k = 1",
        "SELECT ROW_COUNT()",
        "REPLACE INTO u VALUES ({}, 1, 7, 'é')",
        "SELECT LAST_INSERT_ID(), id FROM t WHERE id = {}",
        "SELECT GET_LOCK('x', 0), RELEASE_LOCK('x'), id FROM t WHERE id = {}",
        "SELECT id FROM r WHERE id = {} AND v <> 100000000000000000000",
    ];
    for round in 0..ROUNDS {
        for text in texts {
            // some of the rows are there and some are not; two digits, on all shards
            let sql = text.replace("{}", &(10 + round * 3).to_string());
            let expected = outcome(&mut direct, &sql, None);
            assert_eq!(outcome(&mut umpire, &sql, None), expected, "{sql}");
        }
        for text in texts.iter().filter(|text| text.contains("{}")) {
            let sql = text.replace("{}", "?");
            let values = match round % 6 {
                5 => [Value::NULL],
                4 => [Value::from((10 + round * 3).to_string())],
                _ => [Value::from(10 + round * 3)],
            };
            // what refuses NULL as a key is no matter of this test
            if round % 6 == 5 && text.contains("IN") {
                continue;
            }
            let expected = outcome(&mut direct, &sql, Some(&values));
            let answer = outcome(&mut umpire, &sql, Some(&values));
            assert_eq!(answer, expected, "{sql} {values:?}");
        }
    }
    let status = rows(&mut world.proxy.admin(), "SHOW STATUS LIKE 'plans_cached'");
    let known: u32 = status[0][1].parse().expect("a number");
    assert!(known > ROUNDS * 8, "{known}");
}

#[test]
fn session_state_transactions_and_new_columns_hold_for_what_is_known() {
    needs!(the_proxy);
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().display();
    let world = filled(&format!("[coordination]\nstore = \"file:{store}\"\n"));
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let ids: Vec<u32> = (10..34).collect();
    let asks = |conn: &mut Conn, id: u32| {
        let sql = format!("SELECT id, @@time_zone, @@sql_mode, @mine FROM t WHERE id = {id}");
        let prepared = "SELECT id, @@time_zone, @mine FROM t WHERE id = ?";
        outcome(conn, &sql, None) + &outcome(conn, prepared, Some(&[Value::from(id)]))
    };
    for set in [
        "SELECT 1",
        "SET time_zone = '+03:00'",
        "SET @mine = 'x', sql_mode = 'ANSI_QUOTES'",
        "SET sql_mode = ''",
        "SET @mine = NULL",
    ] {
        for conn in [&mut umpire, &mut direct] {
            conn.query_drop(set).expect(set);
        }
        for id in &ids {
            assert_eq!(asks(&mut umpire, *id), asks(&mut direct, *id), "{set}");
        }
    }
    // a transaction: seen by itself alone, on one group, gone after ROLLBACK
    let on = |group: usize| {
        let id = world.ask_group(group, &format!("SELECT MIN(id) FROM app.t_{}", 2 * group));
        id.parse::<u32>().expect("an id")
    };
    let (main, second) = (on(0), on(1));
    let (update, select) = (
        "UPDATE t SET g = 77 WHERE id = ?",
        "SELECT g FROM t WHERE id = ?",
    );
    let mut other = world.umpire();
    for conn in [&mut umpire, &mut other] {
        for id in &ids {
            conn.exec_drop(select, (id,)).expect("rows");
            conn.query_drop(format!("UPDATE t SET g = 5 WHERE id = {id}"))
                .expect("changed");
            conn.exec_drop("UPDATE t SET g = 5 WHERE id = ?", (id,))
                .expect("changed");
            conn.exec_drop(update, (1_000_000 + id,)).expect("no row");
        }
    }
    for (first, then) in [(main, second), (second, main)] {
        for begin in ["BEGIN", "SET autocommit = 0"] {
            let g = |conn: &mut Conn| {
                conn.exec_first::<i32, _, _>(select, (first,))
                    .expect("a row")
            };
            let before = g(&mut other);
            umpire.query_drop(begin).expect(begin);
            umpire.exec_drop(update, (first,)).expect("the first group");
            assert_eq!((g(&mut umpire), g(&mut other)), (Some(77), before));
            let sql = format!("UPDATE t SET g = 5 WHERE id = {then}");
            assert_eq!(code(&umpire.query_drop(sql).unwrap_err()), 1105);
            assert_eq!(code(&umpire.exec_drop(update, (then,)).unwrap_err()), 1105);
            umpire.query_drop("ROLLBACK").expect("rolled back");
            umpire.query_drop("SET autocommit = 1").expect("as it was");
            assert_eq!(g(&mut umpire), before, "{begin}");
            umpire.exec_drop(update, (then,)).expect("free again");
            umpire
                .exec_drop("UPDATE t SET g = 5 WHERE id = ?", (then,))
                .expect("back");
        }
    }
    // a column more: in the very next statement
    let all = |conn: &mut Conn, id: u32| {
        let sql = format!("SELECT * FROM u WHERE id = {id} ORDER BY k");
        let prepared = "SELECT * FROM u WHERE id = ? ORDER BY k";
        outcome(conn, &sql, None) + &outcome(conn, prepared, Some(&[Value::from(id)]))
    };
    for alter in ["SELECT 1", "ALTER TABLE u ADD COLUMN more INT DEFAULT 7"] {
        world.both(alter);
        for _ in 0..3 {
            for id in &ids {
                assert_eq!(all(&mut umpire, *id), all(&mut direct, *id), "{alter}");
            }
        }
    }
}

#[test]
fn a_servers_restart_costs_reads_of_one_shard_nothing_and_another_schema_has_other_tables() {
    needs!(the_proxy);
    let world = filled("");
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let ids: Vec<u32> = (10..34).collect();
    let ask = |conn: &mut Conn, id: u32| {
        let sql = format!("SELECT id, g FROM t WHERE id = {id}");
        let prepared = "SELECT id, g FROM t WHERE id = ?";
        outcome(conn, &sql, None) + &outcome(conn, prepared, Some(&[Value::from(id)]))
    };
    let expected: Vec<String> = ids.iter().map(|id| ask(&mut direct, *id)).collect();
    let answers = |conn: &mut Conn| ids.iter().map(|id| ask(conn, *id)).collect::<Vec<_>>();
    assert_eq!(answers(&mut umpire), expected);
    assert_eq!(answers(&mut umpire), expected);
    // tests' servers write their logs when they find the time; this one has to find its rows again
    world.run_on(1, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    world.run_on(1, "UPDATE t_2 SET tx = 'flushed' LIMIT 1");
    world.kill_server(1);
    world.start_server(1);
    crate::common::wait_until("the second group is there again", || {
        try_rows(&mut world.umpire(), "SELECT COUNT(*) FROM t").is_ok()
    });
    assert!(answers(&mut umpire) == expected, "as before");
    // the same text where no table has a rule
    for group in 0..2 {
        world.run_on(group, "CREATE DATABASE IF NOT EXISTS plain");
    }
    world.run_on(0, "CREATE TABLE plain.t (id INT PRIMARY KEY, g INT)");
    world.run_on(0, "INSERT INTO plain.t VALUES (12, 1212)");
    umpire.query_drop("USE plain").expect("the schema");
    let sql = "SELECT g FROM t WHERE id = 12";
    for _ in 0..4 {
        assert_eq!(scalar(&mut umpire, sql), "1212");
        let prepared: Option<i32> = umpire
            .exec_first("SELECT g FROM t WHERE id = ?", (12,))
            .expect("a row");
        assert_eq!(prepared, Some(1212));
    }
    umpire.query_drop("USE app").expect("the schema");
    assert_eq!(scalar(&mut umpire, sql), scalar(&mut direct, sql));
}
