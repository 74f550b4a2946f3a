//! The wider grammar: all column types, text keys and ranges, joins, set operations, windows, every kind of aggregate, and
//! changes of several tables.
use super::generate::{condition, directed, filter, id, limit, some, Case, Random, IDS};

const KEYS: [&str; 4] = ["k", "Key-", "x.", "ZED"];
const SPELLINGS: [&str; 10] = [
    "'straße'",
    "'Strasse'",
    "'a'",
    "'Á'",
    "'á'",
    "'B'",
    "'b '",
    "''",
    "'_x'",
    "NULL",
];
const CYRILLIC: [&str; 5] = ["'Жук'", "'жук'", "'Ёж'", "'z'", "NULL"];
const DOCUMENTS: [&str; 5] = [
    "'{\"a\": 1}'",
    "'[1, 2, 3]'",
    "'\"text\"'",
    "'{\"a\": {\"b\": null}}'",
    "NULL",
];

pub fn text_key(r: &mut Random) -> String {
    format!("'{}{}'", r.pick(&KEYS), r.below(40))
}

/// A row for the table v.
fn text_row(r: &mut Random) -> String {
    let key = text_key(r);
    let null = |r: &mut Random, value: String| if r.one_in(5) { "NULL".into() } else { value };
    let tiny = r.below(256).to_string();
    let medium = format!("{}", r.below(2000) as i64 * 7 - 7000);
    let big = format!(
        "{}.{:012}",
        r.below(1 << 40) as i64 - (1 << 39),
        r.below(1 << 39)
    );
    let stamp = format!(
        "'2021-0{}-1{} 0{}:30:00.{:06}'",
        1 + r.below(9),
        r.below(10),
        r.below(10),
        r.below(1_000_000)
    );
    let time = format!(
        "'{}0{}:1{}:00.{:03}'",
        r.pick(&["", "-"]),
        r.below(10),
        r.below(6),
        r.below(1000)
    );
    let list = [
        key,
        r.below(3).to_string(),
        null(r, tiny),
        null(r, medium),
        r.pick(&["TRUE", "FALSE", "NULL"]).into(),
        null(r, big),
        null(r, stamp),
        null(r, time),
        r.pick(&DOCUMENTS).into(),
        r.pick(&["x'00010203'", "'ab'", "x'ff'", "NULL"]).into(),
        r.pick(&["x'00ff00'", "'blob'", "''", "NULL"]).into(),
        r.pick(&SPELLINGS).into(),
        r.pick(&SPELLINGS).into(),
        r.pick(&CYRILLIC).into(),
        r.pick(&["REPEAT('long ', 300)", "'short'", "NULL"]).into(),
        r.below(2000).to_string(),
    ];
    format!("({})", list.join(", "))
}

/// Fills the tables v and r.
pub fn rows(r: &mut Random) -> Vec<String> {
    let texts: Vec<String> = (0..150).map(|_| text_row(r)).collect();
    let ranged: Vec<String> = (0..IDS)
        .filter(|id| id % 3 > 0)
        .map(|id| {
            format!(
                "({id}, {}, {}, 'note{}')",
                id % 4,
                r.below(100),
                r.below(12)
            )
        })
        .collect();
    vec![
        format!("INSERT IGNORE INTO v VALUES {}", texts.join(", ")),
        format!("INSERT INTO r VALUES {}", ranged.join(", ")),
    ]
}

fn text_condition(r: &mut Random) -> String {
    match r.below(9) {
        0 => format!("k = {}", text_key(r)),
        1 => format!("k IN ({}, {}, {})", text_key(r), text_key(r), text_key(r)),
        2 => format!("un = {}", r.pick(&SPELLINGS[..9])),
        3 => format!("nw >= {}", r.pick(&SPELLINGS[..9])),
        4 => format!("cy = {}", r.pick(&CYRILLIC[..4])),
        5 => format!("ti BETWEEN {} AND {}", r.below(100), 100 + r.below(150)),
        6 => "bo IS NOT TRUE".into(),
        7 => "k LIKE 'key%'".into(),
        _ => format!("big > {}", r.below(1 << 38)),
    }
}

fn text_filter(r: &mut Random) -> String {
    match r.below(3) {
        0 => String::new(),
        1 => format!(" WHERE {}", text_condition(r)),
        _ => format!(" WHERE {} OR {}", text_condition(r), text_condition(r)),
    }
}

const TEXT_COLUMNS: [&str; 16] = [
    "k", "i", "ti", "mi", "bo", "big", "stamp", "t3", "j", "bn", "bb", "un", "nw", "cy", "lt", "z",
];
const TEXT_SORTABLE: [&str; 14] = [
    "i",
    "LENGTH(un)",
    "ti",
    "mi",
    "bo",
    "big",
    "stamp",
    "t3",
    "bn",
    "un",
    "nw",
    "cy",
    "z",
    "k",
];

fn texts(r: &mut Random) -> Case {
    let list = some(r, &TEXT_COLUMNS, 6).join(", ");
    let mut sql = format!("SELECT {list} FROM v{}", text_filter(r));
    let ordered = r.one_in(2);
    if ordered {
        let mut keys = some(r, &TEXT_SORTABLE, 2);
        keys.extend(
            ["k", "i"]
                .iter()
                .filter(|k| !keys.contains(k))
                .collect::<Vec<_>>(),
        );
        sql += &format!(" ORDER BY {}{}", directed(r, &keys), limit(r));
    }
    Case { sql, ordered }
}

fn text_groups(r: &mut Random) -> Case {
    let keys = some(
        r,
        &["un", "nw", "cy", "ti", "bo", "bn", "z", "LENGTH(lt)"],
        2,
    );
    const OF: [&str; 22] = [
        "MIN(bo)",
        "MAX(ti)",
        "MIN(mi)",
        "MAX(LENGTH(lt))",
        "MIN(k)",
        "COUNT(*)",
        "SUM(big)",
        "AVG(big)",
        "AVG(ti)",
        "MIN(nw)",
        "MAX(un)",
        "MAX(cy)",
        "BIT_XOR(ti)",
        "BIT_AND(ti)",
        "MIN(stamp)",
        "MAX(t3)",
        "COUNT(DISTINCT un)",
        "SUM(DISTINCT ti)",
        "MIN(bn)",
        "MAX(z)",
        "SUM(bo)",
        "MIN(j IS NULL)",
    ];
    let of = some(r, &OF, 3).join(", ");
    let mut sql = format!(
        "SELECT {}, {of} FROM v{} GROUP BY {}",
        keys.join(", "),
        text_filter(r),
        keys.join(", ")
    );
    let ordered = r.one_in(2);
    if ordered {
        sql += &format!(" ORDER BY {}{}", directed(r, &keys), limit(r));
    }
    Case { sql, ordered }
}

/// Aggregates that are put together of others, or that only one server can tell.
fn computed(r: &mut Random) -> Case {
    const OF: [&str; 18] = [
        "SUM(g) / COUNT(*)",
        "MAX(d) - MIN(d)",
        "COUNT(*) * 2 + SUM(sm)",
        "IF(COUNT(*) > 10, 'many', 'few')",
        "COALESCE(SUM(d), 0)",
        "ROUND(STDDEV(g), 6)",
        // of small numbers: the sixteenth digit of a double hangs on the order of the rows
        "ROUND(VAR_SAMP(g), 6)",
        "ROUND(STDDEV_POP(d), 6)",
        "SUM(DISTINCT g)",
        "COUNT(DISTINCT g, sm)",
        "AVG(DISTINCT sm)",
        "GROUP_CONCAT(id ORDER BY id)",
        "GROUP_CONCAT(DISTINCT g ORDER BY g DESC SEPARATOR '|')",
        "BIT_AND(g)",
        "BIT_OR(n)",
        "BIT_XOR(id)",
        "SUM(CASE WHEN g > 3 THEN 1 ELSE 0 END)",
        "MAX(CONCAT(s, '-', id))",
    ];
    let of = some(r, &OF, 4).join(", ");
    let filter = filter(r, "");
    let key = r.pick(&[
        "g",
        "g % 3",
        "id",
        "MONTH(ts)",
        "NULLIF(y, 2000)",
        "LAST_DAY(dt)",
        "ABS(sm)",
        "YEAR(dt)",
        "sm > 0",
        "e",
        "LEFT(sb, 1)",
        "st",
        "",
    ]);
    if key.is_empty() {
        let sql = format!("SELECT {of} FROM t{filter}");
        return Case { sql, ordered: true };
    }
    let mut sql = format!("SELECT {key} kk, {of} FROM t{filter} GROUP BY {key}");
    match r.below(5) {
        0 => sql += " HAVING COUNT(*) > 3",
        // MariaDB takes DISTINCT for nothing where a group has one row, and forgets that for all groups' row
        1 if key != "id" => sql += " WITH ROLLUP",
        2 => sql += " HAVING kk IS NOT NULL",
        _ => {}
    }
    Case {
        sql,
        ordered: false,
    }
}

fn scalars(r: &mut Random) -> Case {
    const OF: [&str; 26] = [
        "YEAR(dt)",
        "MONTH(ts) + 0",
        "NULLIF(y, 2000)",
        "COALESCE(sm, g)",
        "IFNULL(d, 1)",
        "b + 0",
        "REPEAT(sb, 300)",
        "LPAD(s, 30, '-')",
        "TIME(ts)",
        "CAST(ts AS DATE)",
        "CONCAT(s, '/', l)",
        "UPPER(sb)",
        "SUBSTRING(tx, 2, 3)",
        "COALESCE(g, -1)",
        "IF(g > 3, d, f)",
        "CAST(d AS CHAR(20))",
        "DATE_FORMAT(ts, '%Y/%m')",
        "dt + INTERVAL 1 MONTH",
        "n DIV 3",
        "ABS(d) + g",
        "e + 0",
        "HEX(bl)",
        "CASE e WHEN 'low' THEN 1 WHEN 'mid' THEN 2 END",
        "s <=> l",
        "GREATEST(g, sm)",
        "CHAR_LENGTH(s)",
    ];
    let list = some(r, &OF, 4).join(", ");
    let key = r.pick(&[
        "g % 4, id",
        "ABS(sm) DESC, id",
        "-id",
        "LENGTH(s), id DESC",
        "IFNULL(g, 99), id",
        "YEAR(ts), id",
    ]);
    let sql = format!(
        "SELECT id, {list} FROM t{} ORDER BY {key}{}",
        filter(r, ""),
        limit(r)
    );
    Case { sql, ordered: true }
}

fn combined(r: &mut Random) -> Case {
    let (a, b) = (id(r), id(r));
    let (sql, ordered) = match r.below(7) {
        0 => (format!("SELECT id, g FROM t WHERE id < {a} UNION ALL SELECT id, v FROM r WHERE id > {b} ORDER BY 1, 2 LIMIT 40"), false),
        1 => (format!("(SELECT id FROM t WHERE g = 1) EXCEPT (SELECT id FROM u WHERE w > {})", r.below(50)), false),
        2 => (format!("SELECT id FROM t WHERE id < {a} INTERSECT SELECT id FROM r"), false),
        3 => (format!("SELECT s FROM t WHERE id < {a} UNION SELECT un FROM v WHERE ti > {}", r.below(200)), false),
        4 => (format!("WITH q AS (SELECT g, SUM(d) total FROM t GROUP BY g) SELECT q.g, q.total, b.label FROM q LEFT JOIN b ON b.g = q.g WHERE q.g < {} ORDER BY q.g", r.below(9)), true),
        5 => (format!("SELECT id, g, ROW_NUMBER() OVER (PARTITION BY g ORDER BY id) n FROM t WHERE id < {a} ORDER BY id"), true),
        _ => (format!("SELECT id, SUM(sm) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) s3 FROM t WHERE id BETWEEN {} AND {} ORDER BY id", a.min(b), a.max(b)), true),
    };
    Case { sql, ordered }
}

fn joins(r: &mut Random) -> Case {
    let where_t = filter(r, "t.");
    let (sql, ordered) = match r.below(10) {
        0 => (format!("SELECT id, k, g FROM t JOIN u USING (id){} ORDER BY id, k{}", filter(r, ""), limit(r)), true),
        1 => (format!("SELECT t.id, u.w FROM u RIGHT JOIN t ON t.id = u.id AND u.w > {}{where_t}", r.below(40)), false),
        2 => (format!("SELECT t.id, b.label, u.w FROM t JOIN b ON b.g = t.g JOIN u ON u.id = t.id{where_t}"), false),
        3 => (format!("SELECT x.id, x.part, y.v FROM r x, r y WHERE x.id = y.id AND y.v < {}", r.below(100)), false),
        4 => (format!("SELECT t.id, v.k FROM t JOIN v ON v.ti = t.id WHERE t.id < {}", id(r)), false),
        5 => (format!("SELECT t.g, COUNT(u.w), SUM(u.w), MAX(t.d) FROM t LEFT JOIN u ON u.id = t.id{where_t} GROUP BY t.g ORDER BY t.g"), true),
        6 => (format!("SELECT r.note, COUNT(*) c FROM r JOIN t ON t.id = r.id{where_t} GROUP BY r.note ORDER BY c DESC, r.note{}", limit(r)), true),
        7 => (format!("SELECT t.id, q.total FROM t LEFT JOIN (SELECT id, SUM(w) total FROM u GROUP BY id) q ON q.id = t.id{where_t}"), false),
        8 => (format!("SELECT b.label, t.id FROM b LEFT JOIN t ON t.g = b.g AND t.id < {}", r.below(60)), false),
        _ => (format!("SELECT DISTINCT t.g, u.name FROM t JOIN u ON t.id = u.id{where_t}"), false),
    };
    Case { sql, ordered }
}

fn subqueries(r: &mut Random) -> Case {
    let (a, w) = (id(r), r.below(50));
    let (sql, ordered) = match r.below(9) {
        0 => (format!("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND u.w > {w})"), false),
        1 => (format!("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AND id < {a}"), false),
        2 => (format!("SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE w > {w}) ORDER BY id{}", limit(r)), true),
        3 => (format!("SELECT id, g FROM t WHERE g = (SELECT MAX(g) FROM t WHERE id < {a})"), false),
        4 => (format!("SELECT id, d FROM t WHERE d > ALL (SELECT w FROM u WHERE u.id = t.id) AND id < {a}"), false),
        5 => (format!("SELECT id, (SELECT COUNT(*) FROM u WHERE u.id = t.id) c, (SELECT label FROM b WHERE b.g = t.g) l FROM t ORDER BY id{}", limit(r)), true),
        6 => ("SELECT q.g, MAX(q.c) FROM (SELECT g, sm, COUNT(*) c FROM t GROUP BY g, sm) q GROUP BY q.g".to_owned(), false),
        7 => (format!("SELECT * FROM (SELECT id, g, s FROM t WHERE id < {a} ORDER BY id LIMIT 15) q WHERE q.g > 2"), false),
        _ => ("SELECT COUNT(*) FROM r WHERE v > (SELECT AVG(v) FROM r)".to_owned(), true),
    };
    Case { sql, ordered }
}

fn locking(r: &mut Random) -> Case {
    let how = r.pick(&["FOR UPDATE", "LOCK IN SHARE MODE"]);
    let sql = match r.below(3) {
        0 => format!("SELECT id, g FROM t WHERE id = {} {how}", id(r)),
        1 => format!(
            "SELECT id, d FROM t{} ORDER BY id{} {how}",
            filter(r, ""),
            limit(r)
        ),
        _ => format!(
            "SELECT g, COUNT(*) FROM t WHERE {} GROUP BY g ORDER BY g {how}",
            condition(r, "")
        ),
    };
    Case { sql, ordered: true }
}

fn changes(r: &mut Random) -> Case {
    let a = IDS + 30 + r.below(200);
    let low = r.below(280);
    let sql = match r.below(18) {
        0 => format!("INSERT IGNORE INTO v VALUES {}, {}, {}", text_row(r), text_row(r), text_row(r)),
        1 => {
            let rows: Vec<String> = (0..2 + r.below(4)).map(|i| format!("({}, {}, {})", low + i * 17, i % 4, r.below(50))).collect();
            format!("INSERT INTO r (id, part, v) VALUES {} ON DUPLICATE KEY UPDATE v = VALUES(v), note = 'again'", rows.join(", "))
        }
        2 => format!("REPLACE INTO r (id, part, v) VALUES ({low}, 1, 1), ({}, 2, 2), ({}, 3, NULL)", low + 60, low + 130),
        3 => format!("INSERT INTO r SET id = {low}, part = {}, v = 5, note = 'set'", 4 + r.below(1 << 20)),
        4 => format!("UPDATE v SET mi = mi + 1, un = CONCAT(LEFT(un, 5), 'x') WHERE {}", text_condition(r)),
        5 => format!("UPDATE v SET bo = NOT bo, stamp = '2022-02-02 02:02:02' WHERE k IN ({}, {})", text_key(r), text_key(r)),
        6 => format!("DELETE FROM v WHERE {} AND ti < 10", text_condition(r)),
        7 => format!("DELETE FROM r WHERE id BETWEEN {low} AND {} AND v > 90", low + 100),
        8 => format!("UPDATE t JOIN u ON u.id = t.id SET t.sm = u.w, u.name = 'joined' WHERE u.w = {}", r.below(50)),
        9 => format!("UPDATE t SET g = {} WHERE id = {low} ORDER BY g LIMIT 1", r.below(8)),
        10 => format!("DELETE u FROM u JOIN t ON t.id = u.id WHERE t.g = {} AND u.w = {}", r.below(8), r.below(50)),
        11 => format!("INSERT INTO b (g, label) VALUES ({}, 'n') ON DUPLICATE KEY UPDATE label = 'dup'", r.below(12)),
        12 => format!("UPDATE b SET label = CONCAT(LEFT(label, 6), {}) WHERE g < {}", r.below(9), r.below(12)),
        13 => format!("DELETE FROM b WHERE g = {}", 6 + r.below(6)),
        14 => format!("UPDATE t SET g = NULL WHERE id IN (SELECT id FROM u WHERE w = {}) AND id > {low}", r.below(50)),
        15 => format!("INSERT INTO t (id, g, dt, tm, e) VALUES ({a}, 300, '2024-02-30', '99:99', 'none'), ({}, 1, '2024-02-29', '10:00', 'low')", a + 1),
        16 => format!("UPDATE IGNORE u SET k = k + 1 WHERE id IN ({low}, {}, {})", low + 3, low + 5),
        _ => format!("UPDATE t SET sm = 40000 WHERE id IN ({low}, {})", low + 1),
    };
    Case { sql, ordered: true }
}

pub fn statement(r: &mut Random) -> Case {
    match r.below(12) {
        0 | 1 => texts(r),
        2 => text_groups(r),
        3 => computed(r),
        4 => scalars(r),
        5 => combined(r),
        6 | 7 => joins(r),
        8 => subqueries(r),
        9 => locking(r),
        _ => changes(r),
    }
}

/// The statement with some of its whole numbers and texts as parameters.
pub fn parameterised(r: &mut Random, sql: &str) -> (String, Vec<mysql::Value>) {
    let (mut out, mut values) = (String::new(), Vec::new());
    let bytes = sql.as_bytes();
    let (mut at, mut listed) = (0, false);
    while at < bytes.len() {
        let c = bytes[at];
        let before = BEFORE_A_VALUE.iter().any(|words| out.ends_with(words));
        let in_list = listed && (out.ends_with('(') || out.ends_with(", "));
        let bound = (before || in_list) && r.below(3) > 0;
        let length = match c {
            b'\'' | b'"' | b'`' => quoted(&bytes[at..]),
            _ if c.is_ascii_digit() => digits(&bytes[at..]),
            _ => sql[at..].chars().next().map_or(1, char::len_utf8),
        };
        let piece = &sql[at..at + length];
        let value = match c {
            b'\'' => plain_text(piece),
            _ if c.is_ascii_digit() => whole_number(piece, bytes.get(at + length)),
            _ => None,
        };
        match value.filter(|_| bound) {
            Some(value) => {
                out.push('?');
                values.push(value);
            }
            None => {
                match c {
                    b')' => listed = false,
                    b'(' => {
                        listed = out.ends_with("IN ")
                            || out.ends_with("VALUES ")
                            || (listed && out.ends_with(", "));
                    }
                    _ => {}
                }
                out.push_str(piece);
            }
        }
        at += length;
    }
    (out, values)
}

const BEFORE_A_VALUE: [&str; 7] = ["= ", "< ", "> ", "BETWEEN ", "LIMIT ", "OFFSET ", "LIKE "];

/// Length of the text in quotes that this begins with.
fn quoted(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        let doubled = bytes[at] == bytes[0] && bytes.get(at + 1) == Some(&bytes[0]);
        if bytes[at] == bytes[0] && !doubled {
            break;
        }
        at += if doubled || bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn plain_text(quoted: &str) -> Option<mysql::Value> {
    let text = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    // which error of several comes first is known by the wrong date in the statement
    let plain = !text.contains(['\\', '\'']) && !text.is_empty() && text != "2024-02-30";
    plain.then(|| text.into())
}

fn whole_number(digits: &str, next: Option<&u8>) -> Option<mysql::Value> {
    let whole = !next.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    let value = digits.parse::<i64>().ok().filter(|_| whole)?;
    Some(value.into())
}
