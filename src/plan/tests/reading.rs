//! The parser: precedence, and that nothing makes it panic.
use super::super::ast::{ExprKind, Statement, Term};
use super::super::parse::parse;
use super::World;
use crate::sniff::Dialect;

fn conjuncts(condition: &str) -> usize {
    let sql = format!("SELECT 1 FROM t WHERE {condition}");
    let parsed =
        parse(sql.as_bytes(), Dialect::default()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let Statement::Select(query) = parsed.statement else {
        panic!("{sql}")
    };
    let [Term::Select(select)] = query.parts.as_slice() else {
        panic!("{sql}")
    };
    let filter = select.filter.as_ref().unwrap();
    let span = filter.span;
    assert_eq!(&sql[span.0..span.1], condition);
    match &filter.kind {
        ExprKind::And(list) => list.len(),
        _ => 1,
    }
}

#[test]
fn and_binds_closer_than_xor_and_or_and_between_takes_its_own_and() {
    assert_eq!(conjuncts("a = 1 AND b = 2 && c = 3"), 3);
    assert_eq!(conjuncts("a = 1 AND b = 2 OR c = 3"), 1);
    assert_eq!(conjuncts("a = 1 AND b = 2 || c = 3"), 1);
    assert_eq!(conjuncts("a = 1 AND b = 2 XOR c = 3"), 1);
    assert_eq!(conjuncts("a BETWEEN 1 AND 2 AND NOT b AND c"), 3);
    assert_eq!(conjuncts("(a = 1 AND b = 2) AND c"), 2);
    assert_eq!(
        conjuncts("a = 1 AND b IN (1, (SELECT 2 FROM x)) AND c IS NOT NULL"),
        3
    );
}

#[test]
fn what_the_servers_understand_is_understood() {
    for sql in [
        "SELECT CAST(a AS CHAR(10) CHARACTER SET utf8mb4), CONVERT(a USING latin1), CONVERT(a, SIGNED INTEGER) FROM t",
        "SELECT EXTRACT(YEAR FROM a), TRIM(BOTH 'x' FROM b), SUBSTRING(c FROM 2 FOR 3), POSITION('a' IN b) FROM t",
        "SELECT GROUP_CONCAT(DISTINCT a, b ORDER BY c DESC, d SEPARATOR ', ') FROM t",
        "SELECT a FROM t WHERE MATCH (a, b) AGAINST ('x' IN BOOLEAN MODE) AND c MEMBER OF ('[1]')",
        "SELECT a->'$.b', a ->> '$.c' FROM t WHERE a->'$.b' = 3",
        "SELECT DATE_ADD(a, INTERVAL 1 DAY), a + INTERVAL 2 HOUR, INTERVAL(1, 2, 3) FROM t",
        "SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN a THEN b END FROM t",
        "SELECT _latin1'x', N'y', X'41', 0x41, b'1', DATE '2024-01-01', 'a' 'b', -a, ~a, !a, BINARY a FROM t",
        "SELECT a c, b AS `d e`, 'x' \"y\" FROM t AS u FORCE INDEX FOR ORDER BY (i, j) WHERE a <=> NULL AND b != 2",
        "SELECT 1 FROM (a JOIN b ON a.x = b.x) LEFT JOIN (c, d) ON c.x = a.x NATURAL JOIN e",
        "SELECT 1 FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND a > ALL (SELECT b FROM u) LIMIT 1, 2",
        "SELECT COUNT(*), SUM(DISTINCT a), LAG(a, 1) OVER w FROM t WINDOW w AS (ORDER BY b)",
        "(SELECT 1) UNION ALL (SELECT 2 FROM t ORDER BY 1 LIMIT 1) ORDER BY 1 LIMIT 3",
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r, t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS BETWEEN ? PRECEDING AND ? FOLLOWING) FROM t WINDOW w AS (PARTITION BY c)",
        "SELECT * FROM t FOR UPDATE SKIP LOCKED",
        "SELECT * FROM t, u FOR UPDATE OF t, u NOWAIT",
        "SELECT * FROM t LOCK IN SHARE MODE WAIT 3",
        "SELECT @a, @@sql_mode, @@session.autocommit, DATABASE(), CURRENT_TIMESTAMP FROM DUAL",
        "INSERT INTO t (a, t.b) VALUE (1, DEFAULT), ROW(2, DEFAULT(b)) AS new ON DUPLICATE KEY UPDATE a = new.a",
        "INSERT INTO t () VALUES ()",
        "INSERT INTO t (SELECT 1)",
        "DELETE LOW_PRIORITY QUICK IGNORE FROM t WHERE a LIKE 'x!%' ESCAPE '!' ORDER BY b LIMIT 3",
        "UPDATE IGNORE t, u SET t.a = u.a, t.b = DEFAULT WHERE t.id = u.id",
        "SELECT a FROM t WHERE a REGEXP '^x' OR a NOT LIKE 'y' OR a SOUNDS LIKE 'z' OR a DIV 2 MOD 3 = 1 ^ 2 | 3 & 4 << 5",
    ] {
        let parsed = parse(sql.as_bytes(), Dialect::default());
        assert!(parsed.is_ok(), "{sql}\n{:?} {}", parsed.as_ref().err(), &sql[parsed.as_ref().err().map_or(0, |e| e.at)..]);
    }
}

#[test]
fn no_text_makes_the_planner_panic() {
    let world = World::new();
    let statements = [
        include_str!("../testdata/single.sql"),
        include_str!("../testdata/fanout.sql"),
        include_str!("../testdata/gather.sql"),
        include_str!("../testdata/writes.sql"),
        include_str!("../testdata/refused.sql"),
    ];
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    for text in statements {
        for line in text
            .lines()
            .filter(|l| !l.starts_with(['-', '#']) && !l.is_empty())
        {
            for cut in 0..line.len() {
                if line.is_char_boundary(cut) {
                    let _ = world.plan(&line[..cut]);
                }
            }
            let words: Vec<&str> = line.split_inclusive([' ', '(', ',']).collect();
            for _ in 0..40 {
                let mut mixed = words.clone();
                for _ in 0..1 + random(3) {
                    let (a, b) = (random(mixed.len()), random(mixed.len()));
                    mixed.swap(a, b);
                }
                let _ = world.plan(&mixed.concat());
            }
        }
    }
}

#[test]
fn deep_and_long_statements_end_in_an_answer() {
    let world = World::new();
    let deep = format!(
        "SELECT {}1{} FROM orders",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    assert!(world.plan(&deep).is_err());
    let not = format!("SELECT id FROM orders WHERE {} 1", "NOT ".repeat(10_000));
    assert!(world.plan(&not).is_err());
    let long = format!(
        "SELECT id FROM orders WHERE {}",
        vec!["customer_id = 1"; 20_000].join(" OR ")
    );
    assert!(world.plan(&long).is_ok());
    let rows = vec!["(1, 2)"; 50_000].join(",");
    assert!(world
        .plan(&format!(
            "INSERT INTO orders (id, customer_id) VALUES {rows}"
        ))
        .is_ok());
}
