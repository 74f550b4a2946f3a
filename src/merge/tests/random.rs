//! Random rows and plans against a merge that keeps everything in memory.
use super::splitmix::Random;
use super::world::{column, decimal, merged, Text};
use crate::plan::{Aggregate, Column as Place, Compare, Grouping, Merge, SortKey};
use crate::wire::column::{kind, Column};
use std::cmp::Ordering;

pub fn wide(random: &mut Random) -> i128 {
    i128::from(random.next() as i64) << 64 | i128::from(random.next())
}

/// a BIGINT, d DECIMAL(.., 2), t bytes: few different values each, some NULL.
fn columns() -> Vec<Column> {
    vec![
        column("a", kind::LONGLONG),
        decimal("d", 2),
        column("t", 0xfd),
    ]
}

fn row(random: &mut Random) -> Vec<Text> {
    let mut some = |value: String| (random.below(6) > 0).then_some(value);
    let a = some(String::new()).map(|_| (random.below(5) as i64 - 2).to_string());
    let mut some = |value: String| (random.below(6) > 0).then_some(value);
    let d = some(String::new()).map(|_| {
        let cents = random.below(500) as i64 - 250;
        let sign = if cents < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
    });
    let t = (random.below(6) > 0).then(|| "xyz"[..1 + random.below(3) as usize].to_string());
    vec![a, d, t]
}

/// Hundredths, so that all numbers compare alike; text by its length, which orders these few words.
fn number(value: &Text) -> Option<i64> {
    let value = value.as_ref()?;
    match value.split_once('.') {
        Some((whole, cents)) => {
            let sign = if whole.starts_with('-') { -1 } else { 1 };
            let whole: i64 = whole.trim_start_matches('-').parse().unwrap();
            Some(sign * (whole * 100 + cents.parse::<i64>().unwrap()))
        }
        None => Some(value.parse::<i64>().map_or(value.len() as i64, |n| n * 100)),
    }
}

fn by(order: &[SortKey], a: &[Text], b: &[Text]) -> Ordering {
    order.iter().fold(Ordering::Equal, |so_far, key| {
        let Place::Visible(at) = key.column else {
            panic!("hidden")
        };
        let (x, y) = (number(&a[at]), number(&b[at]));
        so_far.then(if key.descending { y.cmp(&x) } else { x.cmp(&y) })
    })
}

fn some_order(random: &mut Random, columns: &[usize]) -> Vec<SortKey> {
    let mut columns = columns.to_vec();
    let mut order = Vec::new();
    while !columns.is_empty() {
        let column = columns.remove(random.below(columns.len() as u64) as usize);
        let descending = random.below(2) == 0;
        let compare = if column == 2 {
            Compare::Bytes
        } else {
            Compare::Number
        };
        order.push(SortKey {
            column: Place::Visible(column),
            compare,
            descending,
        });
    }
    order
}

fn cut(rows: Vec<Vec<Text>>, merge: &Merge) -> Vec<Vec<Text>> {
    let limit = merge.limit.unwrap_or(u64::MAX) as usize;
    let visible = |mut row: Vec<Text>| {
        row.truncate(3 - merge.hidden);
        row
    };
    let rows = rows.into_iter().skip(merge.offset as usize).take(limit);
    rows.map(visible).collect()
}

fn shards(random: &mut Random, order: &[SortKey]) -> Vec<Vec<Vec<Text>>> {
    let shard = |random: &mut Random| {
        let count = random.below(12);
        let mut rows: Vec<_> = (0..count).map(|_| row(random)).collect();
        rows.sort_by(|a, b| by(order, a, b));
        rows
    };
    (0..1 + random.below(5)).map(|_| shard(random)).collect()
}

fn ends(random: &mut Random, merge: &mut Merge) {
    merge.offset = random.below(3) * random.below(4);
    merge.limit = (random.below(2) == 0).then(|| random.below(10));
}

#[test]
fn random_orders_distincts_and_limits_are_those_of_one_sorted_list() {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = Random(seed);
    for case in 0..1500 {
        let order = some_order(&mut random, &[0, 1, 2]);
        let shards = shards(&mut random, &order);
        let mut merge = Merge {
            order: order.clone(),
            ..Merge::default()
        };
        ends(&mut random, &mut merge);
        let mut all: Vec<_> = shards.concat();
        all.sort_by(|a, b| by(&order, a, b));
        if random.below(2) == 0 {
            merge.distinct = true;
            all.dedup();
        }
        let expected = cut(all, &merge);
        for binary in [false, true] {
            let (rows, _) = merged(&merge, &columns(), &shards, binary).unwrap();
            assert_eq!(
                rows, expected,
                "case {case} binary {binary} {merge:?} {shards:?}"
            );
        }
    }
}

#[test]
fn random_groups_are_those_of_a_table_in_memory() {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = Random(seed);
    for case in 0..1500 {
        // a is the key; SUM(d), MAX(t)
        let keys = some_order(&mut random, &[0]);
        let by_text = SortKey {
            column: Place::Visible(2),
            compare: Compare::Bytes,
            descending: false,
        };
        let input = shards(&mut random, &keys);
        let shards: Vec<_> = input.iter().map(|rows| grouped(rows, &keys)).collect();
        let mut merge = Merge {
            group: Some(Grouping {
                keys: keys.clone(),
                aggregates: vec![
                    (Place::Visible(1), Aggregate::Sum),
                    (Place::Visible(2), Aggregate::Max { by: by_text }),
                ],
            }),
            order: keys.clone(),
            ..Merge::default()
        };
        ends(&mut random, &mut merge);
        let mut expected = grouped(&input.concat(), &keys);
        if random.below(2) == 0 {
            merge.order = some_order(&mut random, &[0, 1, 2]);
            expected.sort_by(|a, b| by(&merge.order, a, b));
        }
        let expected = cut(expected, &merge);
        for binary in [false, true] {
            let (rows, _) = merged(&merge, &columns(), &shards, binary).unwrap();
            assert_eq!(
                rows, expected,
                "case {case} binary {binary} {merge:?} {shards:?}"
            );
        }
    }
}

fn grouped(rows: &[Vec<Text>], keys: &[SortKey]) -> Vec<Vec<Text>> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| by(keys, a, b));
    let mut groups: Vec<Vec<Text>> = Vec::new();
    for row in rows {
        match groups.last_mut().filter(|g| g[0] == row[0]) {
            None => groups.push(row),
            Some(group) => {
                let sum = match (number(&group[1]), number(&row[1])) {
                    (None, one) | (one, None) => one,
                    (Some(a), Some(b)) => Some(a + b),
                };
                group[1] = sum.map(|cents| {
                    let sign = if cents < 0 { "-" } else { "" };
                    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
                });
                if number(&row[2]) > number(&group[2]) {
                    group[2] = row[2].clone();
                }
            }
        }
    }
    groups
}
