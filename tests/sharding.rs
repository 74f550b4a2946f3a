//! Sharded tables against one plain server with the same rows, which is the judge of every answer.
//!
//! `UMPIRE_SEED=n` repeats a run's statements, `UMPIRE_STATEMENTS=n` says how many.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

#[path = "sharding/chaos.rs"]
mod chaos;
mod common;
#[path = "sharding/generate.rs"]
mod generate;
#[path = "sharding/globals.rs"]
mod globals;
#[path = "sharding/large.rs"]
mod large;
#[path = "sharding/odd.rs"]
mod odd;
#[path = "sharding/one.rs"]
mod one;
#[path = "sharding/outcome.rs"]
mod outcome;
#[path = "sharding/placed.rs"]
mod placed;
#[path = "sharding/tpc.rs"]
mod tpc;
#[path = "sharding/tpch.rs"]
mod tpch;
#[path = "sharding/transactions.rs"]
mod transactions;
#[path = "sharding/types.rs"]
mod types;
#[path = "sharding/volume.rs"]
mod volume;
#[path = "sharding/wide.rs"]
mod wide;
#[path = "sharding/within.rs"]
mod within;
#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "sharding/world.rs"]
mod world;

use common::{needs, wait_until, Login, RawClient};
use generate::Random;
use mysql::prelude::Queryable;
use mysql::Conn;
use outcome::{fold, run, Outcome};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn rows_that_were_brought_to_one_server_leave_nothing_behind() {
    needs!(the_proxy);
    let world = World::start();
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
    let left = "SELECT COUNT(*) FROM information_schema.INNODB_SYS_TABLES WHERE NAME LIKE '%#sql%'";
    assert_eq!(world.ask_groups(left), ["0", "0"]);
    // a table that is not what the others are
    world.run_on(1, "ALTER TABLE t_2 MODIFY sm BIGINT");
    let error = common::try_rows(&mut umpire, "SELECT COUNT(DISTINCT sm) FROM t").unwrap_err();
    assert!(error.to_string().contains("column sm is type"), "{error}");
    assert_eq!(common::rows(&mut umpire, STATE), before);
    assert_eq!(world.ask_groups(left), ["0", "0"]);
}

/// Sleeps for each row of every shard.
const ENDLESS: &str = "SELECT id, SLEEP(20) FROM t";

/// Whether the statement runs on all servers, or on none.
fn runs_everywhere(world: &World, what: &str, everywhere: bool) -> bool {
    let running = world.processes();
    let runs = |of: &Vec<(String, String)>| of.iter().any(|(_, text)| text.starts_with(what));
    running.iter().all(|of| runs(of) == everywhere)
}

#[test]
fn limits_kill_and_a_client_that_leaves_reach_every_server_of_a_statement() {
    needs!(the_proxy);
    let world = World::start();
    for sql in generate::rows(&mut Random(2)) {
        world.both(&sql);
    }
    let (mut umpire, mut admin) = (world.umpire(), world.proxy.admin());
    let id = umpire.connection_id();
    let ended = || {
        wait_until("nothing runs any more", || {
            runs_everywhere(&world, "SELECT id, SLEEP", false)
                && runs_everywhere(&world, "UPDATE t", false)
        });
    };
    let running = || {
        wait_until("it runs everywhere", || {
            runs_everywhere(&world, "SELECT id, SLEEP", true)
        });
    };
    // KILL QUERY
    std::thread::scope(|scope| {
        let victim = scope.spawn(|| common::try_rows(&mut umpire, ENDLESS));
        running();
        let kill = format!("KILL QUERY {id}");
        world.umpire().query_drop(kill).expect("killed");
        let error = victim.join().expect("no panic").unwrap_err();
        assert_eq!(common::code(&error), 1317, "{error}");
    });
    ended();
    assert_eq!(common::scalar(&mut umpire, "SELECT 'alive'"), "alive");
    // a client that leaves, and KILL
    let mut leaves = RawClient::login(world.proxy.port, &Login::default()).expect("a login");
    leaves.send_command(0x03, ENDLESS.as_bytes()).expect("sent");
    running();
    drop(leaves);
    ended();
    let mut killed = world.umpire();
    let id = killed.connection_id();
    std::thread::scope(|scope| {
        let victim = scope.spawn(|| common::try_rows(&mut killed, ENDLESS));
        running();
        world
            .umpire()
            .query_drop(format!("KILL {id}"))
            .expect("killed");
        assert!(victim.join().expect("no panic").is_err());
    });
    ended();
    // max_execution_time_ms: merged rows, changes, gathered rows
    let total = "SELECT SUM(g), COUNT(*) FROM t";
    let before = common::rows(&mut umpire, total);
    let set = |admin: &mut Conn, what: &str| {
        admin
            .query_drop(format!("SET USER app {what}"))
            .expect(what)
    };
    set(&mut admin, "max_execution_time_ms = 500");
    wait_until("the new limit holds", || {
        common::try_rows(&mut umpire, "SELECT SLEEP(20)").is_err_and(|e| common::code(&e) == 1969)
    });
    for endless in [
        ENDLESS,
        "UPDATE t SET g = g + 1 + SLEEP(20)",
        "SELECT COUNT(DISTINCT x.g) FROM t x, t y, t z, t q WHERE x.sm + y.sm + z.sm + q.sm < -1000000",
    ] {
        let error = common::try_rows(&mut umpire, endless).unwrap_err();
        assert_eq!(common::code(&error), 1969, "{endless}: {error}");
        ended();
    }
    set(&mut admin, "max_execution_time_ms = none");
    wait_until("the limit is gone", || {
        common::try_rows(&mut umpire, "SELECT SLEEP(0.7)").is_ok()
    });
    assert_eq!(common::rows(&mut umpire, total), before);
    // max_result_rows and max_result_bytes
    for (limit, most) in [("max_result_rows", 20), ("max_result_bytes", 1024)] {
        set(&mut admin, &format!("{limit} = {most}"));
        wait_until("the new limit holds", || {
            let cut = common::try_rows(&mut umpire, "SELECT id, s, dt, tx FROM t ORDER BY id");
            cut.is_err_and(|error| error.to_string().contains(limit))
        });
        let few = common::rows(&mut umpire, "SELECT id FROM t ORDER BY id LIMIT 2");
        assert_eq!(few.len(), 2);
        set(&mut admin, &format!("{limit} = none"));
        wait_until("the limit is gone", || {
            common::try_rows(&mut umpire, "SELECT id, s, dt, tx FROM t ORDER BY id").is_ok()
        });
    }
}

#[test]
fn explain_route_tells_what_each_shard_runs_and_why() {
    needs!(the_proxy);
    let world = World::start();
    let mut umpire = world.umpire();
    let mut admin = world.proxy.admin();
    admin.query_drop("USE app").expect("a schema");
    let cases = [
        (
            "SELECT * FROM t WHERE id = 5",
            vec!["single: one shard", "conditions on id leave ["],
        ),
        (
            "SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY g LIMIT 3",
            vec![
                "fan-out: 4 shards run at once",
                "hash of id over 4 shards",
                "GROUP BY",
                "LIMIT 3",
                "summed up",
            ],
        ),
        (
            "SELECT COUNT(DISTINCT g) FROM t",
            vec!["gather: rows are copied to group", "DISTINCT"],
        ),
        (
            "UPDATE t SET id = 7 WHERE id = 5",
            vec!["refused: nothing is run", "1235 (42000)", "sharding key"],
        ),
        (
            "INSERT INTO t (id) VALUES (1), (2), (3)",
            vec!["3 rows, each to the shard of its key", "INSERT INTO `t_"],
        ),
    ];
    for (sql, words) in cases {
        for conn in [&mut umpire, &mut admin] {
            let rows = common::rows(conn, &format!("EXPLAIN ROUTE {sql}"));
            let text: Vec<String> = rows.iter().map(|row| row.join(": ")).collect();
            let text = text.join("\n");
            for word in &words {
                assert!(text.contains(word), "{sql}: no {word:?} in\n{text}");
            }
        }
    }
    assert_eq!(common::scalar(&mut umpire, "SELECT COUNT(*) FROM t"), "0");
    // no route: a table of that name
    let error = umpire.query_drop("EXPLAIN ROUTE").unwrap_err();
    assert_eq!(common::code(&error), 1146, "{error}");
}

#[test]
fn random_statements_on_four_shards_are_answered_as_by_one_server() {
    needs!(the_proxy);
    judge(&World::start(), Duration::from_secs(15));
}

#[test]
fn random_statements_on_four_shards_are_answered_as_by_one_mysql() {
    needs!(the_proxy);
    if let Some(world) = World::mysql() {
        judge(&world, Duration::from_secs(10));
    }
}

/// Runs random statements for about so long (UMPIRE_STATEMENTS: so many), on Umpire and on the plain server.
fn judge(world: &World, time: Duration) {
    let seed = seed();
    let most = number("UMPIRE_STATEMENTS").unwrap_or(u64::MAX);
    let mut random = Random(seed);
    for sql in generate::rows(&mut random)
        .iter()
        .chain(&wide::rows(&mut random))
    {
        world.both(sql);
    }
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let mut refused: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let (mut ran, mut refusals, mut by_plan) = (0, 0, 0);
    let started = Instant::now();
    while ran < most && (most != u64::MAX || started.elapsed() < time || ran < 200) {
        ran += 1;
        let mut case = match random.below(5) {
            0 | 1 => generate::statement(&mut random),
            2 | 3 => wide::statement(&mut random),
            _ => within::statement(&mut random),
        };
        if random.one_in(30) {
            let setting = generate::setting(&mut random);
            for conn in [&mut umpire, &mut direct] {
                conn.query_drop(setting).expect(setting);
            }
        }
        let mut values = None;
        if random.one_in(3) {
            let (sql, bound) = wide::parameterised(&mut random, &case.sql);
            (case.sql, values) = (sql, Some(bound));
        }
        let ours = run(&mut umpire, &case, values.as_deref());
        if let Outcome::Error(1235, message) = &ours {
            refusals += 1;
            let kind: String = message.chars().take(120).collect();
            refused.entry(kind).or_insert((0, case.sql.clone())).0 += 1;
            continue;
        }
        let theirs = run(&mut direct, &case, values.as_deref());
        if let (Outcome::Error(a, _), Outcome::Error(b, _)) = (&ours, &theirs) {
            // several rows are wrong at once: which is told first depends on the shards
            if a == b || case.sql.contains("2024-02-30") {
                continue;
            }
        }
        let (folded, expected) = (fold(ours.clone(), &case), fold(theirs.clone(), &case));
        if folded != expected && folded.whatever_the_plan() == expected.whatever_the_plan() {
            by_plan += 1;
        } else if folded != expected {
            let what = format!(
                "{}\n  values: {values:?}\n  Umpire: {ours:?}\n  server: {theirs:?}",
                case.sql
            );
            println!("WRONG: {what}");
            wrong.push(what);
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
    println!("{ran} statements, {by_plan} of them of a type that hangs on a server's plan, {refusals} refused:");
    for (kind, (count, example)) in &refused {
        println!("  {count} times: {kind}\n     {example}");
    }
    let status = common::rows(&mut world.proxy.admin(), "SHOW STATUS LIKE 'plans_cached'");
    let known: u64 = status[0][1].parse().expect("a number");
    println!("{known} plans were known");
    assert!(known > 0, "{ran} statements, and no plan was known");
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    assert!(refusals * 50 <= ran, "{refusals} of {ran} were refused");
}

#[test]
fn one_shards_statement_is_explained_by_its_server() {
    needs!(the_proxy);
    let world = World::start();
    let mut umpire = world.umpire();
    for sql in generate::rows(&mut Random(3)) {
        umpire.query_drop(&sql).expect("rows");
    }
    for explain in [
        "EXPLAIN SELECT * FROM t WHERE id = 5",
        "EXPLAIN FORMAT=JSON SELECT * FROM t JOIN u USING (id) WHERE t.id = 5",
        "DESCRIBE UPDATE t SET g = 1 WHERE id = 5",
        "ANALYZE SELECT COUNT(*) FROM t WHERE id = 5",
        "EXPLAIN EXTENDED DELETE FROM t WHERE id = 5",
    ] {
        assert!(!common::rows(&mut umpire, explain).is_empty(), "{explain}");
    }
    let rows = common::rows(&mut umpire, "EXPLAIN SELECT * FROM t WHERE id = 5");
    assert_eq!(rows[0][2], "t", "under the table's own name: {rows:?}");
    let prepared: Vec<mysql::Row> = umpire
        .exec("EXPLAIN SELECT g FROM t WHERE id = ?", (5,))
        .expect("an answer");
    assert!(!prepared.is_empty());
    let several = "EXPLAIN SELECT * FROM t";
    let error = common::try_rows(&mut umpire, several).unwrap_err();
    assert_eq!(common::code(&error), 1235, "{error}");
    assert!(error.to_string().contains("EXPLAIN ROUTE"), "{error}");
}

/// Where the random statements of a run begin: UMPIRE_SEED, or always the same ones, so that a change is judged by what it
/// changed. `make judge` takes new ones each time.
fn seed() -> u64 {
    let seed = number("UMPIRE_SEED").unwrap_or(20_261_130);
    println!("UMPIRE_SEED={seed}");
    seed
}

/// `make soak` sets UMPIRE_SOAK=1: the full numbers.
fn soak() -> bool {
    std::env::var_os("UMPIRE_SOAK").is_some_and(|v| v == "1")
}

#[test]
fn transactions_and_reports_of_tpc_are_answered_as_by_one_server() {
    needs!(the_proxy);
    let (transactions, orders) = if soak() { (3000, 15_000) } else { (60, 400) };
    let mut random = Random(seed());
    let world = tpc::start();
    let mut pair = tpc::Pair::of(&world);
    tpc::load(&mut pair, &mut random);
    for _ in 0..transactions {
        tpc::transaction(&mut pair, &mut random);
    }
    tpc::check(&mut pair);
    tpch::load(&mut pair, &mut random, orders);
    tpch::run(&mut pair);
}
