//! Sharded tables against one plain server with the same rows, which is the judge of every answer.
//!
//! `UMPIRE_SEED=n` repeats a run's statements, `UMPIRE_STATEMENTS=n` says how many.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;
#[path = "sharding/generate.rs"]
mod generate;
#[path = "sharding/world.rs"]
mod world;

use common::needs;
use generate::{Case, Random};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use world::World;

/// What a statement came to.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Rows {
        columns: Vec<String>,
        rows: Vec<Vec<String>>,
    },
    Ok {
        affected: u64,
        warnings: u16,
    },
    Error(u16, String),
}

fn run(conn: &mut Conn, case: &Case, prepared: bool) -> Outcome {
    let outcome = if prepared {
        conn.exec_iter(&case.sql, ()).map(|mut r| collect(&mut r))
    } else {
        conn.query_iter(&case.sql).map(|mut r| collect(&mut r))
    };
    match outcome {
        Ok(Ok(Outcome::Rows { columns, mut rows })) => {
            if !case.ordered {
                rows.sort();
            }
            Outcome::Rows { columns, rows }
        }
        Ok(Ok(outcome)) => outcome,
        Ok(Err(e)) | Err(e) => match e {
            mysql::Error::MySqlError(e) => Outcome::Error(e.code, e.message),
            other => panic!("{}: {other}", case.sql),
        },
    }
}

fn collect<P: mysql::prelude::Protocol>(
    result: &mut mysql::QueryResult<'_, '_, '_, P>,
) -> mysql::Result<Outcome> {
    let described = |c: &mysql::Column| {
        // what a server puts there for text depends on how it happened to compute it
        let text = c.column_type().is_character_type();
        format!(
            "{} {:?} {:?} {} {}",
            c.name_str(),
            c.column_type(),
            c.flags() & mysql::consts::ColumnFlags::UNSIGNED_FLAG,
            if text { 0 } else { c.decimals() },
            c.character_set()
        )
    };
    let columns: Vec<String> = result.columns().as_ref().iter().map(described).collect();
    if columns.is_empty() {
        let (affected, warnings) = (result.affected_rows(), result.warnings());
        return Ok(Outcome::Ok { affected, warnings });
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let row = row?;
        let value = |at| match row.as_ref(at) {
            Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        rows.push((0..row.len()).map(value).collect());
    }
    Ok(Outcome::Rows { columns, rows })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Grouped text may be shown in any spelling that its collation takes for the same.
fn fold(outcome: Outcome, sql: &str) -> Outcome {
    let folds = sql.contains("GROUP BY")
        || sql.contains("DISTINCT")
        || sql.contains("MIN(s)")
        || sql.contains("UNION");
    match outcome {
        Outcome::Rows { columns, mut rows } if folds => {
            for value in rows.iter_mut().flatten() {
                *value = value.trim_end().to_lowercase().replace('ä', "a");
            }
            rows.sort();
            Outcome::Rows { columns, rows }
        }
        other => other,
    }
}

#[test]
fn rows_that_were_brought_to_one_server_leave_nothing_behind() {
    needs!(the_proxy);
    let world = World::start("");
    for sql in generate::rows(&mut Random(1)) {
        world.both(&sql);
    }
    const STATE: &str = "SELECT @@character_set_results, @@sql_mode, @@time_zone";
    let mut umpire = world.umpire();
    let before = common::rows(&mut umpire, STATE);
    let gathering = "SELECT COUNT(DISTINCT g), COUNT(DISTINCT s) FROM t WHERE sm > 0";
    let expected = common::rows(&mut world.direct(), gathering);
    for round in 0..4 {
        assert_eq!(common::rows(&mut umpire, gathering), expected);
        assert_eq!(common::rows(&mut umpire, STATE), before, "round {round}");
        let rows: Vec<mysql::Row> = umpire.exec(gathering, ()).expect("an answer");
        let shown: Vec<Vec<String>> = rows.iter().map(common::texts).collect();
        assert_eq!(shown, expected);
        assert_eq!(
            common::rows(&mut umpire, STATE),
            before,
            "round {round}, prepared"
        );
        let names = common::rows(&mut umpire, "SELECT l FROM t WHERE l = 'ä' LIMIT 1");
        assert!(names.iter().all(|row| row[0] == "ä"), "{names:?}");
    }
    for cluster in &world.groups {
        let left =
            "SELECT COUNT(*) FROM information_schema.INNODB_SYS_TABLES WHERE NAME LIKE '%#sql%'";
        assert_eq!(cluster.primary().ask(left), "0");
    }
}

#[test]
fn random_statements_on_four_shards_are_answered_as_by_one_server() {
    needs!(the_proxy);
    let world = World::start("");
    let seed = number("UMPIRE_SEED").unwrap_or_else(rand::random);
    let most = number("UMPIRE_STATEMENTS").unwrap_or(u64::MAX);
    let time = if most == u64::MAX {
        Duration::from_secs(20)
    } else {
        Duration::from_secs(1 << 30)
    };
    println!("UMPIRE_SEED={seed}");
    let mut random = Random(seed);
    for sql in generate::rows(&mut random) {
        world.both(&sql);
    }
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let mut refused: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let (mut ran, mut refusals) = (0, 0);
    let started = Instant::now();
    while ran < most && (started.elapsed() < time || ran < 200) {
        ran += 1;
        let case = generate::statement(&mut random);
        let prepared = random.one_in(3);
        let ours = run(&mut umpire, &case, prepared);
        if let Outcome::Error(1235, message) = &ours {
            refusals += 1;
            let kind: String = message.chars().take(120).collect();
            refused.entry(kind).or_insert((0, case.sql.clone())).0 += 1;
            continue;
        }
        let theirs = run(&mut direct, &case, prepared);
        if let (Outcome::Error(a, _), Outcome::Error(b, _)) = (&ours, &theirs) {
            if a == b {
                continue;
            }
        }
        if fold(ours.clone(), &case.sql) != fold(theirs.clone(), &case.sql) {
            wrong.push(format!(
                "{}\n  prepared: {prepared}\n  Umpire: {ours:?}\n  server: {theirs:?}",
                case.sql
            ));
            if wrong.len() > 20 {
                break;
            }
        }
        if ran % 5000 == 0 {
            println!(
                "{ran} statements, {refusals} refused, {} s",
                started.elapsed().as_secs()
            );
        }
    }
    println!("{ran} statements, {refusals} refused:");
    for (kind, (count, example)) in &refused {
        println!("  {count} times: {kind}\n     {example}");
    }
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    assert!(refusals * 50 <= ran, "{refusals} of {ran} were refused");
}
