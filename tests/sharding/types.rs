//! Expressions whose type a server's plan has a say in, where each shard has another plan.
use super::outcome::Described;
use super::world::World;
use super::Random;
use crate::common::{code, needs, texts};
use crate::generate;
use mysql::prelude::{Protocol, Queryable};
use mysql::Conn;

/// Numbers, years, texts of all lengths, ENUM, SET, documents, bits: what a temporary table may give another type.
const OF: [&str; 30] = [
    "YEAR(dt)",
    "MONTH(dt)",
    "HOUR(tm)",
    "EXTRACT(YEAR_MONTH FROM ts)",
    "TO_DAYS(dt)",
    "y",
    "y + 0",
    "COALESCE(y, y)",
    "NULLIF(y, 2000)",
    "sm + 0",
    "COALESCE(sm, 1)",
    "LEAST(g, sm)",
    "g > 3",
    "g IS NULL",
    "CASE WHEN g > 3 THEN y END",
    "IFNULL(d, 1)",
    "NULLIF(g, 3)",
    "LENGTH(s)",
    "CRC32(sb)",
    "LOWER(sb)",
    "e",
    "st",
    "b",
    "b + 0",
    "bl",
    "LENGTH(l)",
    "REPEAT(sb, 300)",
    "IFNULL(bl, bl)",
    "NULLIF(e, 'x')",
    "IF(g > 3, NULL, NULL)",
];

/// `{e}`: the expression, `{w}`: the condition.
const STATEMENTS: [&str; 6] = [
    "SELECT {e} kk, BIT_AND(g), COUNT(*) FROM t WHERE {w} GROUP BY {e}",
    "SELECT DISTINCT {e} kk FROM t WHERE {w}",
    "SELECT DISTINCT {e} kk FROM t WHERE {w} ORDER BY {e}",
    "SELECT {e} kk, id FROM t WHERE {w} ORDER BY id",
    "SELECT g % 2, MIN({e}), MAX({e}) kk FROM t WHERE {w} GROUP BY g % 2",
    "SELECT id, MAX({e}) kk, GROUP_CONCAT({e}) FROM t WHERE {w} GROUP BY id",
];

type Answer = mysql::Result<(Vec<Described>, Vec<Vec<String>>)>;

fn answer(conn: &mut Conn, sql: &str, prepared: bool) -> Answer {
    if prepared {
        collect(conn.exec_iter(sql, ())?)
    } else {
        collect(conn.query_iter(sql)?)
    }
}

fn collect<P: Protocol>(mut result: mysql::QueryResult<'_, '_, '_, P>) -> Answer {
    let columns = result.columns();
    let described = columns
        .as_ref()
        .iter()
        .map(|c| Described::of(c).whatever_the_plan())
        .collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in result.by_ref() {
        // of one group's texts any may be shown, with its spaces
        let row = texts(&row?).into_iter();
        rows.push(row.map(|text| text.trim_end().to_owned()).collect());
    }
    rows.sort();
    Ok((described, rows))
}

/// Of one shard one row and of another two.
const ROWS: &str = "id IN (0, 2, 5, 6)";

fn asks_shards_for_one_row_and_for_several(umpire: &mut Conn) {
    let ids = crate::common::rows(umpire, &format!("SELECT id FROM t WHERE {ROWS}"));
    assert_eq!(ids.len(), 4);
    let explain = format!("EXPLAIN ROUTE SELECT g FROM t WHERE {ROWS}");
    let route = crate::common::rows(umpire, &explain);
    let asks = |words: &str| route.iter().any(|row| row.join(" ").ends_with(words));
    assert!(
        asks("WHERE id IN (0)") && asks("WHERE id IN (5, 6)"),
        "{route:?}"
    );
}

/// A shard that is asked for one row knows it before it makes a plan; one that is asked for several makes a temporary table.
fn check(world: &World) {
    for sql in generate::rows(&mut Random(4)) {
        world.both(&sql);
    }
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    asks_shards_for_one_row_and_for_several(&mut umpire);
    let mut wrong = Vec::new();
    for expression in OF {
        for statement in STATEMENTS {
            let sql = statement.replace("{e}", expression).replace("{w}", ROWS);
            for prepared in [false, true] {
                let ours = answer(&mut umpire, &sql, prepared);
                let theirs = answer(&mut direct, &sql, prepared);
                let alike = match (&ours, &theirs) {
                    (Ok(ours), Ok(theirs)) => ours == theirs,
                    (Err(ours), Err(theirs)) => code(ours) == code(theirs),
                    _ => false,
                };
                if !alike {
                    wrong.push(format!(
                        "{sql} (prepared: {prepared})\n  Umpire: {ours:?}\n  server: {theirs:?}\n"
                    ));
                }
            }
        }
    }
    let first: Vec<&String> = wrong.iter().take(20).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
}

#[test]
fn types_that_hang_on_a_shards_plan_are_one_in_the_answer() {
    needs!(the_proxy);
    check(&World::start());
}

#[test]
fn types_that_hang_on_a_shards_plan_are_one_in_mysqls_answer() {
    needs!(the_proxy);
    let Some(world) = World::mysql() else { return };
    check(&world);
    let kinds = |condition: &str| {
        let sql =
            format!("SELECT YEAR(dt) kk, BIT_AND(g) FROM t WHERE {condition} GROUP BY YEAR(dt)");
        let mut direct = world.direct();
        let result = direct.query_iter(sql).expect("an answer");
        let kind = result.columns().as_ref()[0].column_type();
        kind
    };
    // what this is about: if it is no longer so, the statements above prove nothing
    assert_ne!(kinds("id = 1"), kinds("id < 50"));
}
