//! Random statements over what is supported on sharded tables.
pub use crate::common::random::Random;

#[derive(Debug, Clone)]
pub struct Case {
    pub sql: String,
    /// ORDER BY decides about every row.
    pub ordered: bool,
}

/// Ids that rows have; some that none has come up too.
pub const IDS: u64 = 300;

const WORDS: [&str; 9] = [
    "'a'", "'A'", "'b'", "'ä'", "'Zed'", "''", "'a '", "'b%'", "NULL",
];

/// Row values for the table t behind its id.
fn values(r: &mut Random) -> String {
    let null = |r: &mut Random, value: String| if r.one_in(6) { "NULL".into() } else { value };
    let g = r.below(8);
    let d = format!("{}.{:03}", r.below(2000) as i64 - 1000, r.below(1000));
    let f = format!("{}", (r.below(4000) as f64 - 2000.0) / 4.0);
    let fl = format!("{}", (r.below(64) as f64 - 32.0) / 2.0);
    let n = ["0", "7", "9223372036854775808", "18446744073709551615"][r.below(4) as usize];
    let day = format!(
        "'20{:02}-{:02}-{:02}'",
        20 + r.below(5),
        1 + r.below(12),
        1 + r.below(28)
    );
    let moment = format!(
        "'2024-0{}-11 1{}:00:00.{:03}'",
        1 + r.below(9),
        r.below(10),
        r.below(1000)
    );
    let time = format!(
        "'{}{:02}:{:02}:01'",
        ["", "-"][r.below(2) as usize],
        r.below(200),
        r.below(60)
    );
    let year = format!("{}", 1990 + r.below(40));
    let level = r.pick(&["'low'", "'mid'", "'high'"]);
    let set = r.pick(&["'a'", "'a,c'", "''", "'b'"]);
    let bits = format!("b'{:b}'", r.below(512));
    let words: Vec<&str> = (0..3).map(|_| r.pick(&WORDS)).collect();
    let bytes = r.pick(&["x'00ff'", "x'61'", "''", "x'ff'"]);
    let text = r.pick(&["'long text'", "'Long Text'", "'x'"]);
    let small = format!("{}", r.below(20) as i64 - 10);
    let list = [
        null(r, g.to_string()),
        null(r, d),
        null(r, f),
        null(r, fl),
        null(r, n.into()),
        words[0].into(),
        words[1].into(),
        words[2].into(),
        null(r, day),
        null(r, moment),
        null(r, time),
        null(r, year),
        null(r, level.into()),
        null(r, set.into()),
        null(r, bits),
        null(r, bytes.into()),
        null(r, text.into()),
        null(r, small),
    ];
    list.join(", ")
}

/// Statements that fill the tables.
pub fn rows(r: &mut Random) -> Vec<String> {
    let mut out = Vec::new();
    for start in (0..IDS).step_by(50) {
        let rows: Vec<String> = (start..start + 50)
            .filter(|_| !r.one_in(8))
            .map(|id| format!("({id}, {})", values_of(id)))
            .collect();
        out.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    let mut bound = Vec::new();
    for id in 0..IDS {
        for k in 0..r.below(3) {
            bound.push(format!("({id}, {k}, {}, 'n{}')", r.below(50), r.below(9)));
        }
    }
    out.push(format!("INSERT INTO u VALUES {}", bound.join(", ")));
    let labels: Vec<String> = (0..6).map(|g| format!("({g}, 'label{}')", g % 4)).collect();
    out.push(format!("INSERT INTO b VALUES {}", labels.join(", ")));
    out
}

fn values_of(id: u64) -> String {
    values(&mut Random(id.wrapping_mul(0x1234_5678_9abc)))
}

pub fn id(r: &mut Random) -> u64 {
    r.below(IDS + 20)
}

pub fn condition(r: &mut Random, t: &str) -> String {
    let (a, b) = (id(r), id(r));
    match r.below(16) {
        0 => format!("{t}id = {a}"),
        1 => format!("{t}id IN ({a}, {b}, {})", id(r)),
        2 => format!("{t}id BETWEEN {} AND {}", a.min(b), a.max(b)),
        3 => format!("{t}id < {a}"),
        4 => format!("{t}g = {}", r.below(8)),
        5 => format!("{t}g IS NULL"),
        6 => format!("{t}s = {}", r.pick(&["'a'", "'b'", "'zed'"])),
        7 => format!("{t}d > {}", r.below(500)),
        8 => format!("({t}id = {a} OR {t}id = {b})"),
        9 => format!("({t}g < 3 OR {t}id > {a})"),
        10 => format!("{t}dt >= '2022-06-01'"),
        11 => format!("{t}e = 'mid'"),
        12 => format!("NOT ({t}g = 2)"),
        13 => format!("{t}s LIKE 'a%'"),
        14 => format!("{t}n > 9223372036854775807"),
        _ => format!("{t}f BETWEEN -100 AND 100.5"),
    }
}

pub fn filter(r: &mut Random, t: &str) -> String {
    match r.below(4) {
        0 => String::new(),
        1 | 2 => format!(" WHERE {}", condition(r, t)),
        _ => format!(" WHERE {} AND {}", condition(r, t), condition(r, t)),
    }
}

const PLAIN: [&str; 18] = [
    "id", "g", "d", "f", "n", "s", "sb", "l", "dt", "ts", "tm", "y", "e", "st", "b", "bl", "tx",
    "sm",
];
const SORTABLE: [&str; 20] = [
    "g",
    "d",
    "f",
    "n",
    "s",
    "sb",
    "dt",
    "ts",
    "tm",
    "y",
    "sm",
    "b",
    "e",
    "st",
    "l",
    "bl",
    "fl",
    "YEAR(dt)",
    "MONTH(ts)",
    "g + sm",
];
const GROUPABLE: [&str; 18] = [
    "g",
    "s",
    "sb",
    "dt",
    "y",
    "sm",
    "d",
    "n",
    "b + 0",
    "e",
    "st",
    "l",
    "bl",
    "tm",
    "YEAR(dt)",
    "MONTH(ts)",
    "HOUR(tm)",
    "sm % 3",
];
const AGGREGATES: [&str; 32] = [
    "MAX(y)",
    "MAX(b + 0)",
    "MIN(e)",
    "MAX(st)",
    "MIN(l)",
    "MAX(bl)",
    "MAX(fl)",
    "MIN(YEAR(dt))",
    "MAX(MONTH(ts))",
    "MIN(sm + g)",
    "AVG(n)",
    "SUM(y)",
    "BIT_AND(n)",
    "MIN(id)",
    "COUNT(*)",
    "COUNT(g)",
    "SUM(g)",
    "SUM(d)",
    "SUM(f)",
    "AVG(g)",
    "AVG(d)",
    "AVG(f)",
    "MIN(d)",
    "MAX(dt)",
    "MIN(s)",
    "MAX(ts)",
    "MIN(tm)",
    "MAX(n)",
    "SUM(sm)",
    "BIT_OR(sm)",
    "COUNT(DISTINCT g)",
    "MAX(f) - MIN(f)",
];

pub fn some(r: &mut Random, from: &[&'static str], most: u64) -> Vec<&'static str> {
    let mut out: Vec<&'static str> = Vec::new();
    for _ in 0..1 + r.below(most) {
        let one = r.pick(from);
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

pub fn directed(r: &mut Random, keys: &[&str]) -> String {
    let each = keys
        .iter()
        .map(|k| format!("{k}{}", r.pick(&["", " DESC", " ASC"])));
    each.collect::<Vec<_>>().join(", ")
}

pub fn limit(r: &mut Random) -> String {
    match r.below(4) {
        0 => format!(" LIMIT {}", r.below(20)),
        1 => format!(" LIMIT {} OFFSET {}", 1 + r.below(20), r.below(30)),
        2 => format!(" LIMIT {}, {}", r.below(10), 1 + r.below(10)),
        _ => String::new(),
    }
}

fn simple(r: &mut Random) -> Case {
    let list = if r.one_in(5) {
        "*".into()
    } else {
        some(r, &PLAIN, 5).join(", ")
    };
    let ordered = r.below(3) > 0;
    let mut sql = format!("SELECT {list} FROM t{}", filter(r, ""));
    if ordered {
        let mut keys = some(r, &SORTABLE, 2);
        keys.push("id");
        sql += &format!(" ORDER BY {}{}", directed(r, &keys), limit(r));
    }
    Case { sql, ordered }
}

fn grouped(r: &mut Random) -> Case {
    let keys = some(r, &GROUPABLE, 2);
    let aggregates = some(r, &AGGREGATES, 3);
    let mut sql = format!(
        "SELECT {}, {} FROM t{} GROUP BY {}",
        keys.join(", "),
        aggregates.join(", "),
        filter(r, ""),
        keys.join(", ")
    );
    if r.one_in(4) {
        sql += r.pick(&[
            " HAVING COUNT(*) > 2",
            " HAVING SUM(g) > 5",
            " HAVING MIN(id) < 50",
        ]);
    }
    let ordered = r.below(2) > 0;
    if ordered {
        let first = if r.one_in(3) {
            r.pick(&["COUNT(*) DESC, ", "SUM(d), "])
        } else {
            ""
        };
        sql += &format!(" ORDER BY {first}{}{}", directed(r, &keys), limit(r));
    }
    // text of one group may be spelt in several ways: any row's spelling is right
    Case { sql, ordered }
}

fn whole(r: &mut Random) -> Case {
    let aggregates = some(r, &AGGREGATES, 4).join(", ");
    let sql = format!("SELECT {aggregates} FROM t{}", filter(r, ""));
    Case { sql, ordered: true }
}

fn distinct(r: &mut Random) -> Case {
    let keys = some(r, &GROUPABLE, 2);
    let mut sql = format!(
        "SELECT DISTINCT {} FROM t{}",
        keys.join(", "),
        filter(r, "")
    );
    let ordered = r.one_in(2);
    if ordered {
        sql += &format!(" ORDER BY {}{}", directed(r, &keys), limit(r));
    }
    Case { sql, ordered }
}

fn joined(r: &mut Random) -> Case {
    let (sql, ordered) = match r.below(5) {
        0 => (format!("SELECT t.id, u.k, u.w, t.g FROM t JOIN u ON u.id = t.id{}", filter(r, "t.")), false),
        1 => (
            format!("SELECT t.id, b.label FROM t LEFT JOIN b ON b.g = t.g{} ORDER BY t.id{}", filter(r, "t."), limit(r)),
            true,
        ),
        2 => (
            format!("SELECT b.label, COUNT(*), SUM(t.d) FROM t JOIN b ON b.g = t.g{} GROUP BY b.label", filter(r, "t.")),
            false,
        ),
        3 => (
            format!("SELECT x.id, y.id FROM t x JOIN t y ON y.g = x.g AND y.id < x.id WHERE x.id < {} ORDER BY 1, 2", r.below(40)),
            true,
        ),
        _ => (format!("SELECT u.id, u.k, t.s FROM u LEFT JOIN t ON t.id = u.id ORDER BY u.id, u.k{}", limit(r)), true),
    };
    Case { sql, ordered }
}

fn nested(r: &mut Random) -> Case {
    let a = id(r);
    let (sql, ordered) = match r.below(5) {
        0 => (
            format!(
                "SELECT id, g FROM t WHERE id IN (SELECT id FROM u WHERE w > {})",
                r.below(50)
            ),
            false,
        ),
        1 => (
            format!(
                "SELECT q.g, q.n FROM (SELECT g, COUNT(*) n FROM t GROUP BY g) q WHERE q.n > {}",
                r.below(30)
            ),
            false,
        ),
        2 => (
            format!("SELECT id FROM t WHERE id < {a} UNION SELECT id FROM u WHERE w < 10"),
            false,
        ),
        3 => (
            format!("SELECT g FROM t WHERE id = {a} UNION ALL SELECT w FROM u WHERE id = {a}"),
            false,
        ),
        _ => (
            format!("SELECT id, (SELECT MAX(w) FROM u WHERE u.id = t.id) m FROM t WHERE id = {a}"),
            true,
        ),
    };
    Case { sql, ordered }
}

fn change(r: &mut Random) -> Case {
    let a = IDS + 30 + r.below(200);
    let low = r.below(200);
    let sql = match r.below(9) {
        0 => {
            let rows: Vec<String> = (0..1 + r.below(4))
                .map(|i| format!("({}, {})", a + i, values(r)))
                .collect();
            format!("INSERT IGNORE INTO t VALUES {}", rows.join(", "))
        }
        1 => format!(
            "INSERT INTO t (id, g, s) VALUES ({a}, 1, 'new'), ({}, 2, 'Neu')",
            a + 1
        ),
        2 => format!("INSERT INTO t (id, g) VALUES ({a}, 5) ON DUPLICATE KEY UPDATE g = g + 1"),
        3 => format!("REPLACE INTO t (id, g, d) VALUES ({a}, 3, 1.5)"),
        4 => format!(
            "UPDATE t SET g = {}, sm = sm + 1 WHERE {}",
            r.below(8),
            condition(r, "")
        ),
        5 => format!(
            "UPDATE t SET d = d + 0.125 WHERE id BETWEEN {low} AND {}",
            low + 40
        ),
        6 => format!("DELETE FROM t WHERE id = {a}"),
        7 => format!(
            "DELETE FROM t WHERE id > {} AND g = {}",
            IDS + 100,
            r.below(8)
        ),
        _ => format!(
            "UPDATE u SET w = w + 1 WHERE id IN ({low}, {}, {})",
            low + 1,
            low + 7
        ),
    };
    Case { sql, ordered: true }
}

pub fn statement(r: &mut Random) -> Case {
    match r.below(12) {
        0..=2 => simple(r),
        3 | 4 => grouped(r),
        5 => whole(r),
        6 => distinct(r),
        7 => joined(r),
        8 => nested(r),
        _ => change(r),
    }
}

/// What a session may set, which statements then mean another thing by.
pub fn setting(r: &mut Random) -> &'static str {
    r.pick(&[
        "SET sql_mode = DEFAULT",
        "SET sql_mode = ''",
        "SET sql_mode = 'ANSI'",
        "SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE'",
        "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'",
        "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'",
        "SET sql_mode = 'TRADITIONAL'",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET time_zone = '+00:00'",
        "SET time_zone = '+05:30'",
        "SET time_zone = 'SYSTEM'",
        "SET div_precision_increment = 0",
        "SET div_precision_increment = 9",
        "SET div_precision_increment = DEFAULT",
        "SET NAMES utf8mb4",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET group_concat_max_len = 8",
        "SET group_concat_max_len = DEFAULT",
        "SET lc_time_names = 'de_DE'",
    ])
}
