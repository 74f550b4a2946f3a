//! A plan that was kept is the plan that would be made.
use super::super::*;
use super::World;

/// Literals of every kind. What replaces a literal is any of them.
const LITERALS: [&str; 40] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "41",
    "00042",
    "999",
    "1000",
    "1999",
    "2147483647",
    "2147483648",
    "999999999999999999",
    "1000000000000000000",
    "18446744073709551616",
    "-1",
    "- 6",
    "+7",
    "(8)",
    "1.0",
    ".5",
    "1e1",
    "0x1F",
    "0b1",
    "NULL",
    "TRUE",
    "DEFAULT",
    "''",
    "'5'",
    "'05'",
    "'eu'",
    "'EU '",
    "'it''s'",
    "'a\\'b'",
    "'2024-05-31'",
    "'Jürgen'",
    "_latin1'x'",
];

pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// Statements of the golden files, as templates: `\0` where a plain number or string stood.
pub(super) fn templates() -> Vec<String> {
    let files = [
        include_str!("../testdata/single.sql"),
        include_str!("../testdata/fanout.sql"),
        include_str!("../testdata/gather.sql"),
        include_str!("../testdata/writes.sql"),
        include_str!("../testdata/placed.sql"),
        include_str!("../testdata/refused.sql"),
    ];
    let mut all = Vec::new();
    for file in files {
        let mut statement = String::new();
        for line in file.lines() {
            if line.starts_with(['-', '#']) || line.is_empty() {
                continue;
            }
            statement += line;
            match statement.strip_suffix(';') {
                Some(sql) => {
                    all.push(marked(sql));
                    statement.clear();
                }
                None => statement.push('\n'),
            }
        }
    }
    all
}

fn marked(sql: &str) -> String {
    let (mut out, mut chars) = (String::new(), sql.chars().peekable());
    let mut before = ' ';
    while let Some(char) = chars.next() {
        match char {
            '\'' => {
                while chars.next().is_some_and(|c| c != '\'') {}
                out.push('\0');
            }
            '0'..='9' if !before.is_alphanumeric() && !"_.`".contains(before) => {
                while chars.next_if(char::is_ascii_alphanumeric).is_some() {}
                out.push('\0');
            }
            other => out.push(other),
        }
        before = char;
    }
    out
}

fn filled(template: &str, random: &mut Random, plain: bool) -> String {
    let mut out = String::new();
    for char in template.chars() {
        match char {
            '\0' if plain => out += LITERALS[random.below(15)],
            '\0' => out += LITERALS[random.below(LITERALS.len())],
            other => out.push(other),
        }
    }
    out
}

pub(super) fn value(random: &mut Random) -> Value {
    match random.below(6) {
        0 => Value::Null,
        1 => Value::Unsigned(random.below(2000) as u64),
        2 => Value::Double(1.5),
        3 => Value::Bytes(b"eu".to_vec()),
        4 => Value::Bytes(random.below(2000).to_string().into_bytes()),
        _ => Value::Int(random.below(2000) as i64 - 100),
    }
}

#[test]
fn a_kept_plan_is_the_plan_that_would_be_made() {
    let world = World::new();
    let templates = templates();
    assert!(templates.len() > 100);
    let (mut random, mut cache) = (Random(11), Cache::default());
    let mut ran = 0;
    for round in 0..60 {
        for template in &templates {
            let sql = filled(template, &mut random, round % 3 > 0);
            let values: Vec<Value> = (0..sql.matches('?').count())
                .map(|_| value(&mut random))
                .collect();
            let values = (random.below(4) > 0).then_some(values.as_slice());
            let change = random.below(64);
            let asked = |request: &Request<'_>, cache: Option<&mut Cache>| {
                let mut request = Request {
                    version: Some(7 + round / 50),
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
                match cache {
                    Some(cache) => cache.plan(&request),
                    None => plan(&request),
                }
            };
            let fresh = world.ask(&sql, values, |request| asked(request, None));
            let kept = world.ask(&sql, values, |request| asked(request, Some(&mut cache)));
            assert_eq!(kept, fresh, "{sql}\n{values:?}");
            ran += 1;
        }
    }
    // not all can be kept; most that can have been seen before
    assert!(cache.hits() > ran / 15, "{} of {ran}", cache.hits());
}

/// Whether the second statement's plan is found once the first was planned.
fn finds(first: &str, second: &str) -> bool {
    let world = World::new();
    let mut cache = Cache::default();
    let mut ask = |sql: &str| {
        let planned = world.ask(sql, None, |request| {
            cache.plan(&Request {
                version: Some(1),
                ..*request
            })
        });
        assert_eq!(planned, world.plan(sql), "{sql}");
        cache.hits()
    };
    ask(first) < ask(second)
}

#[test]
fn statements_by_key_are_found_whatever_else_they_say() {
    for (first, second) in [
        (
            "SELECT * FROM orders WHERE customer_id = 5",
            "SELECT * FROM orders WHERE customer_id = 9",
        ),
        (
            "UPDATE orders SET total = 1, state = 'x' WHERE customer_id = 5 AND id = 3",
            "UPDATE orders SET total = 2, state = 'it''s' WHERE customer_id = 1 AND id = 4",
        ),
        (
            "INSERT INTO orders (id, customer_id, note) VALUES (1, 5, 'a'), (2, 9, 'b')",
            "INSERT INTO orders (id, customer_id, note) VALUES (3, 1, ''), (4, 1, 'c')",
        ),
        (
            "INSERT INTO accounts SET name = 'ann', balance = 3",
            "INSERT INTO accounts SET name = 'ANN ', balance = 4",
        ),
        (
            "DELETE FROM orders WHERE customer_id IN (1, 5) LIMIT 3",
            "DELETE FROM orders WHERE customer_id IN (9, 1) LIMIT 0",
        ),
        (
            "SELECT o.id, 'x' FROM orders o JOIN items i USING (customer_id) WHERE o.customer_id = -3 ORDER BY 1",
            "SELECT o.id, 'y' FROM orders o JOIN items i USING (customer_id) WHERE o.customer_id = -7 ORDER BY 2",
        ),
        (
            "SELECT COUNT(*) FROM users u WHERE u.id = 3 AND 'orders' <> u.name",
            "SELECT COUNT(*) FROM users u WHERE u.id = 4 AND 'items' <> u.name",
        ),
    ] {
        assert!(finds(first, second), "{second}");
    }
}

#[test]
fn what_another_literal_could_change_is_not_found() {
    let point = "SELECT * FROM orders WHERE customer_id = 5";
    for (first, second) in [
        // other shards, other kinds, values that are no keys
        (point, "SELECT * FROM orders WHERE customer_id = 6"),
        (point, "SELECT * FROM orders WHERE customer_id = '5'"),
        (point, "SELECT * FROM orders WHERE customer_id = -3"),
        (point, "SELECT * FROM orders WHERE customer_id = 5.0"),
        (point, "SELECT * FROM orders WHERE customer_id = 0x5"),
        (point, "SELECT * FROM orders WHERE customer_id = NULL"),
        (
            point,
            "SELECT * FROM orders WHERE customer_id = 99999999999",
        ),
        (
            point,
            "SELECT * FROM orders WHERE customer_id = 18446744073709551621",
        ),
        // the statement's words
        (point, "SELECT * FROM orders WHERE customer_id <= 5"),
        (point, "SELECT * FROM orders o WHERE customer_id = 5"),
        // keys of two shards
        (
            "SELECT * FROM orders WHERE customer_id IN (1, 5)",
            "SELECT * FROM orders WHERE customer_id IN (1, 6)",
        ),
        // ranges, strings that name a column, statements of several shards
        (
            "SELECT * FROM orders WHERE customer_id BETWEEN 5 AND 5",
            "SELECT * FROM orders WHERE customer_id BETWEEN 5 AND 5",
        ),
        (
            "SELECT id 'a' FROM orders WHERE customer_id = 5",
            "SELECT id 'b' FROM orders WHERE customer_id = 5",
        ),
        (
            "SELECT id FROM orders LIMIT 1",
            "SELECT id FROM orders LIMIT 2",
        ),
        // ids that Umpire or the server gives
        (
            "INSERT INTO stamps (id, what) VALUES (2, 'a')",
            "INSERT INTO stamps (id, what) VALUES (0, 'a')",
        ),
        (
            "INSERT INTO tickets (what) VALUES ('a')",
            "INSERT INTO tickets (what) VALUES ('b')",
        ),
        (
            "INSERT INTO tickets (id, what) VALUES (1, 'a')",
            "INSERT INTO tickets (id, what) VALUES (0, 'a')",
        ),
    ] {
        assert!(!finds(first, second), "{second}");
    }
}

#[test]
fn what_is_kept_is_bounded_and_forgotten_with_its_version() {
    let world = World::new();
    let mut cache = Cache::default();
    let ask = |cache: &mut Cache, sql: &str, version: u64| {
        world.ask(sql, None, |request| {
            let request = Request {
                version: Some(version),
                ..*request
            };
            cache.plan(&request).unwrap()
        });
        cache.hits()
    };
    let often = "SELECT * FROM orders WHERE customer_id = 5";
    ask(&mut cache, often, 1);
    assert_eq!(ask(&mut cache, often, 1), 1);
    assert_eq!(ask(&mut cache, often, 2), 1);
    let long = "x".repeat(2000);
    for at in 0..3000 {
        let sql = format!("SELECT c{at}, {long} FROM orders WHERE customer_id = 5");
        ask(&mut cache, &sql, 2);
        let hits = cache.hits();
        assert_eq!(ask(&mut cache, often, 2), hits + 1, "what is used stays");
    }
    assert!(cache.size() < 9 << 20, "{}", cache.size());
}
