//! A plan that is recalled without the statement being read is the plan that would be made.
use super::super::known::{Asked, Context, Recalled};
use super::super::*;
use super::cached::{templates, value, Random};
use super::World;
use crate::sniff::{Memo, TextId};
use std::hash::{Hash, Hasher};

/// With numbers of these lengths in the places, or strings.
fn filled(template: &str, kinds: &[usize], random: &mut Random) -> String {
    const STRINGS: [&str; 4] = ["'eu'", "'5'", "'it''s 7'", "'2024-05-31'"];
    let (mut out, mut kinds) = (String::new(), kinds.iter());
    for char in template.chars() {
        let kind = if char == '\0' { kinds.next() } else { None };
        match kind {
            None => out.push(char),
            Some(&string @ 0..=3) => out += STRINGS[string],
            Some(&length) => {
                (3..length).for_each(|_| out.push((b'0' + random.below(10) as u8).into()))
            }
        }
    }
    out
}

/// What a session is like: one in so many differs.
fn varied<'r>(request: &Request<'r>, change: usize) -> Request<'r> {
    let mut request = Request {
        version: Some(if change == 9 { 8 } else { 7 }),
        dialect: request.dialect,
        columns: request.columns,
        ids: request.ids,
        ..*request
    };
    match change {
        0 => request.schema = Some("billing"),
        1 => request.schema = None,
        2 => request.home = 1,
        3 => request.dialect.ansi_quotes = true,
        4 => request.dialect.no_backslash_escapes = true,
        5 => request.dialect.ambiguous_bytes = true,
        6 => request.zero_generates = false,
        7 => request.held = Some(2),
        _ => {}
    }
    request
}

/// What a session does with a text; the plan, if it was recalled.
fn by_text(
    cache: &mut Cache,
    text: Option<TextId>,
    request: &Request<'_>,
) -> (Option<Recalled>, Vec<u8>) {
    let mut out = b"head".to_vec();
    let Some(text) = text else {
        return (None, out);
    };
    let context = Context::of(request).expect("a version");
    let recalled = cache.recall(text, request.sql, &context, &mut out);
    if recalled.is_none() {
        if concerns(request.sql, request.schema, request.map, request.dialect) {
            let planned = cache.plan_as(request, Asked::Text(text));
            assert_eq!(planned, plan(request));
        } else {
            cache.keep_unconcerned(text, &context);
        }
    }
    (recalled, out)
}

#[test]
fn a_text_that_is_known_has_the_plan_that_would_be_made() {
    let world = World::new();
    let (mut memo, mut cache) = (Memo::default(), Cache::default());
    let (mut random, mut shards, mut unconcerned) = (Random(5), 0, 0);
    let mut all = templates();
    all.push("SELECT orders_of_others.c FROM elsewhere WHERE id = \0".into());
    for template in &all {
        let holes = template.matches('\0').count();
        for _ in 0..2 {
            // digits: none that stay in a kept plan's text but for a few
            let kinds: Vec<usize> = (0..holes)
                .map(|_| match random.below(8) {
                    0 => random.below(4),
                    1 => 3 + 19,
                    _ => 4 + random.below(4),
                })
                .collect();
            for _ in 0..14 {
                let sql = filled(template, &kinds, &mut random);
                let change = random.below(24);
                world.ask(&sql, None, |request| {
                    let request = varied(request, change);
                    let (_, text) = memo.know(sql.as_bytes(), true, request.dialect);
                    let text = text.map(|text| text.id);
                    let (recalled, out) = by_text(&mut cache, text, &request);
                    let own = |sql: &[u8]| Planned::Plan(Plan::Single(part(&recalled, sql)));
                    let expected = match recalled {
                        None => return,
                        Some(Recalled::Unconcerned) => {
                            unconcerned += 1;
                            let (schema, map) = (request.schema, request.map);
                            assert!(
                                !concerns(request.sql, schema, map, request.dialect),
                                "{sql}"
                            );
                            return;
                        }
                        Some(Recalled::Whole(group)) => Planned::Whole { group },
                        Some(Recalled::Shard { same: true, .. }) => {
                            assert_eq!(out, b"head");
                            own(request.sql)
                        }
                        Some(Recalled::Shard { same: false, .. }) => own(&out[4..]),
                    };
                    shards += usize::from(matches!(recalled, Some(Recalled::Shard { .. })));
                    assert_eq!(Ok(expected), plan(&request), "{sql}");
                });
            }
        }
    }
    assert!(shards > 40 && unconcerned > 5, "{shards}, {unconcerned}");
}

fn part(recalled: &Option<Recalled>, sql: &[u8]) -> Part {
    let Some(Recalled::Shard { group, shard, .. }) = *recalled else {
        panic!("no shard: {recalled:?}");
    };
    Part {
        group,
        shard,
        sql: sql.to_vec(),
        parameters: Vec::new(),
    }
}

#[test]
fn an_execute_that_is_known_has_the_plan_that_would_be_made() {
    let world = World::new();
    let (mut random, mut cache, mut known) = (Random(3), Cache::default(), 0);
    for template in &templates() {
        let sql = template.replace('\0', "?");
        let (mut literal, mut at) = (String::new(), 0);
        for char in sql.chars() {
            at += usize::from(char == '?');
            // a literal here and there
            match char == '?' && at % 3 == 2 {
                true => literal += "5",
                false => literal.push(char),
            }
        }
        for sql in [&sql, &literal] {
            for _ in 0..10 {
                let values: Vec<Value> = (0..sql.matches('?').count())
                    .map(|_| value(&mut random))
                    .collect();
                let change = random.below(24);
                world.ask(sql, Some(&values), |request| {
                    let request = varied(request, change);
                    known += usize::from(check_execute(&mut cache, &request, &values));
                });
            }
        }
    }
    assert!(known > 100, "{known}");
}

/// Whether it was recalled.
fn check_execute(cache: &mut Cache, request: &Request<'_>, values: &[Value]) -> bool {
    let identity = |sql: &[u8]| {
        let mut hasher = std::hash::DefaultHasher::new();
        (sql, request.schema, request.zero_generates).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    let statement = identity(request.sql);
    let context = Context::of(request).expect("a version");
    let mut value = |at: u16| values.get(usize::from(at)).cloned();
    let Some(found) = cache.recall_execute(statement, &context, &mut value) else {
        let identify = &identity;
        let asked = Asked::Execute {
            statement,
            identify,
        };
        assert_eq!(cache.plan_as(request, asked), plan(request));
        return false;
    };
    let sql = match &found.text {
        Some(text) => {
            assert_eq!(text.identity, identity(&text.sql));
            text.sql.to_vec()
        }
        None => request.sql.to_vec(),
    };
    let group = found.group;
    let expected = match found.shard {
        None => Planned::Whole { group },
        Some(shard) => Planned::Plan(Plan::Single(Part {
            group,
            shard,
            sql,
            parameters: (0..values.len() as u16).collect(),
        })),
    };
    assert_eq!(Ok(expected), plan(request));
    true
}

#[test]
fn what_is_known_is_bounded_and_nothing_is_allocated_for_it() {
    let world = World::new();
    let mut cache = Cache::default();
    let long = "x".repeat(400);
    let ask = |cache: &mut Cache, sql: &str, text: u64| {
        world.ask(sql, None, |request| {
            let request = varied(request, 23);
            by_text(cache, Some(TextId(text)), &request).0
        })
    };
    for text in 0..2_500 {
        let sql = format!("SELECT c{text}, '{long}' FROM orders WHERE customer_id = 5");
        for _ in 0..3 {
            ask(&mut cache, &sql, text);
        }
    }
    assert!(cache.size() < 9 << 20, "{}", cache.size());
    let sql = "SELECT * FROM orders WHERE customer_id = 5";
    for _ in 0..3 {
        ask(&mut cache, sql, 7);
    }
    world.ask(sql, None, |request| {
        let request = varied(request, 23);
        let context = Context::of(&request).expect("a version");
        let mut out = Vec::with_capacity(1000);
        let before = crate::net::testing::allocations();
        let recalled = cache.recall(TextId(7), request.sql, &context, &mut out);
        assert_eq!(crate::net::testing::allocations(), before);
        assert!(matches!(recalled, Some(Recalled::Shard { .. })));
    });
}
