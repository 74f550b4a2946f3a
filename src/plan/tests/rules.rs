//! What holds for every plan.
use super::super::*;
use super::World;

fn single(planned: Planned) -> Part {
    match planned {
        Planned::Plan(Plan::Single(part)) => part,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_choose_the_shard_and_keep_their_places() {
    let world = World::new();
    let sql = "SELECT ?, id FROM orders WHERE total > ? AND customer_id = ?";
    let values = [Value::Int(9), Value::Double(1.5), Value::Int(5)];
    let part = single(world.plan_with(sql, Some(&values)).unwrap());
    assert_eq!((part.shard, part.parameters), (1, vec![0, 1, 2]));
    let text = [Value::Int(9), Value::Int(1), Value::Bytes(b"6".to_vec())];
    assert_eq!(single(world.plan_with(sql, Some(&text)).unwrap()).shard, 2);
}

#[test]
fn a_limit_in_a_write_is_judged_when_its_key_is_known() {
    let world = World::new();
    let sql = "UPDATE orders SET total = ? WHERE customer_id = ? LIMIT 1";
    single(world.plan(sql).unwrap());
    let part = single(
        world
            .plan_with(sql, Some(&[Value::Int(9), Value::Int(6)]))
            .unwrap(),
    );
    assert_eq!((part.shard, part.parameters), (2, vec![0, 1]));
    let sql = "DELETE FROM orders WHERE total = ? LIMIT 1";
    single(world.plan(sql).unwrap());
    assert!(world.plan_with(sql, Some(&[Value::Int(9)])).is_err());
}

#[test]
fn rows_of_an_insert_take_their_parameters_along() {
    let world = World::new();
    let sql = "INSERT INTO orders (id, customer_id) VALUES (?, ?), (?, 2), (?, ?) ON DUPLICATE KEY UPDATE total = ?";
    let values: Vec<Value> = [10, 1, 11, 12, 5, 99].into_iter().map(Value::Int).collect();
    let Planned::Plan(Plan::Fanout(fanout)) = world.plan_with(sql, Some(&values)).unwrap() else {
        panic!()
    };
    let parts: Vec<_> = fanout
        .parts
        .iter()
        .map(|p| (p.shard, p.parameters.clone()))
        .collect();
    assert_eq!(parts, [(1, vec![0, 1, 3, 4, 5]), (2, vec![2, 5])]);
    assert!(fanout.writes);
}

#[test]
fn a_limit_of_parameters_becomes_a_number_in_the_parts() {
    let world = World::new();
    let sql = "SELECT id FROM orders WHERE total > ? ORDER BY id LIMIT ? OFFSET ?";
    let values = [Value::Int(1), Value::Int(10), Value::Unsigned(5)];
    let Planned::Plan(Plan::Fanout(fanout)) = world.plan_with(sql, Some(&values)).unwrap() else {
        panic!()
    };
    assert_eq!(fanout.parts[0].parameters, [0]);
    assert!(String::from_utf8_lossy(&fanout.parts[0].sql).ends_with("LIMIT 15"));
    let Answer::Rows(merge) = fanout.answer else {
        panic!()
    };
    assert_eq!((merge.limit, merge.offset), (Some(10), 5));
}

#[test]
fn a_hidden_key_with_a_parameter_binds_it_twice() {
    let world = World::new();
    let sql = "SELECT id FROM orders WHERE state = ? ORDER BY id + ? DESC";
    let values = [Value::Bytes(b"x".to_vec()), Value::Int(3)];
    match world.plan_with(sql, Some(&values)).unwrap() {
        // the type of a parameter is not known: a server puts the rows in order
        Planned::Plan(Plan::Gather(gather)) => {
            assert_eq!(gather.parameters, [0, 1]);
            assert_eq!(gather.tables[0].parts[0].parameters, [0]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_values_some_shard_describes_the_statement() {
    let world = World::new();
    for sql in [
        "SELECT id FROM orders WHERE customer_id = ?",
        "SELECT COUNT(DISTINCT state) FROM orders WHERE total > ?",
        "INSERT INTO orders (id, customer_id) VALUES (?, ?)",
    ] {
        let part = single(world.plan(sql).unwrap());
        assert_eq!(part.parameters.len(), sql.matches('?').count(), "{sql}");
    }
}

#[test]
fn columns_that_are_not_known_are_asked_for_first() {
    let world = World::new();
    let request = Request {
        sql: b"SELECT id FROM accounts",
        schema: Some("shop"),
        map: &world.map,
        columns: &|_, _| None,
        parameters: None,
        dialect: Default::default(),
        home: 0,
        held: None,
        ids: &|_, _, _| None,
        zero_generates: true,
        version: None,
        seed: 0,
    };
    let Planned::Needs {
        schema,
        table,
        group,
        question,
    } = plan(&request).unwrap()
    else {
        panic!()
    };
    assert_eq!(
        (schema.as_str(), table.as_str(), group),
        ("shop", "accounts", 1)
    );
    assert!(question.contains(
        "TABLE_SCHEMA = _utf8mb4 x'73686f70' AND TABLE_NAME = _utf8mb4 x'6163636f756e7473'"
    ));
}

#[test]
fn what_concerns_the_planner_is_noticed_and_nothing_else() {
    let world = World::new();
    let yes = |sql: &str| concerns(sql.as_bytes(), Some("shop"), &world.map, Default::default());
    for sql in [
        "select * from orders",
        "SELECT * FROM `shop`.`Orders`",
        "SELECT/**/1 FROM\norders",
        "UPDATE x, log SET a = 1",
        "SELECT * FROM billing.x",
        "PREPARE s FROM 'select * from orders'",
        "EXECUTE IMMEDIATE 'delete from orders'",
    ] {
        assert!(yes(sql), "{sql}");
    }
    for sql in [
        "SELECT * FROM users",
        "SELECT 'orders'",
        "SELECT 1 -- orders",
        "SELECT /* orders */ 1",
        "BEGIN",
    ] {
        assert!(!yes(sql), "{sql}");
    }
    assert!(concerns(
        b"SELECT * FROM t",
        Some("billing"),
        &world.map,
        Default::default()
    ));
    assert!(!concerns(
        b"SELECT * FROM orders",
        Some("shop"),
        &ShardMap::default(),
        Default::default()
    ));
}

use crate::topology::ShardMap;
