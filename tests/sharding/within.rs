//! Statements whose rows stay in the shard that they are read from, and those that one shard answers whatever they are.
use super::generate::{condition, id, Case, Random, IDS};

/// INSERT … SELECT and REPLACE … SELECT.
fn copies(r: &mut Random) -> Case {
    let (a, low) = (IDS + 30 + r.below(200), r.below(280));
    let high = low + r.below(60);
    let filter = condition(r, "");
    let sql = match r.below(12) {
        0 => format!("INSERT IGNORE INTO u (id, k, w) SELECT id, {}, g FROM t WHERE {filter}", 50 + r.below(9)),
        1 => format!("REPLACE INTO u (id, k, w) SELECT id, 60, sm FROM t WHERE id BETWEEN {low} AND {high}"),
        2 => format!("INSERT IGNORE INTO u (id, k, w) SELECT t.id, 61, SUM(u.w) FROM t JOIN u ON u.id = t.id WHERE t.id >= {low} GROUP BY t.id"),
        3 => format!("INSERT INTO u (w, id, k) SELECT w, id, k + 50 FROM u WHERE id BETWEEN {low} AND {high} AND k < 50 ON DUPLICATE KEY UPDATE w = VALUES(w) + 1"),
        4 => format!("INSERT IGNORE INTO t (id, g, s) SELECT {a}, g, label FROM b WHERE g = {}", r.below(8)),
        5 => format!("INSERT INTO t (id, g) SELECT {a}, 5 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM t WHERE id = {a})"),
        6 => format!("INSERT IGNORE INTO r SELECT id, part + 10, v, note FROM r WHERE id BETWEEN {low} AND {high} AND part < 10"),
        7 => "INSERT IGNORE INTO r SELECT * FROM r".to_owned(),
        8 => format!("INSERT IGNORE INTO v (k, i, un) SELECT k, i + 100, un FROM v WHERE i < {}", r.below(3)),
        9 => format!("INSERT IGNORE INTO u (id, k, w) SELECT DISTINCT t.id, 62, b.g FROM t JOIN b ON b.g = t.g WHERE t.id < {low}"),
        10 => format!("REPLACE INTO u (id, k, w) SELECT id, 63, g FROM t WHERE id = {low} ORDER BY g LIMIT 1"),
        _ => format!("INSERT IGNORE INTO u (id, k, w) SELECT x.id, 64, y.w FROM u x JOIN u y USING (id) WHERE x.k = 0 AND y.k = 0 AND x.id > {low}"),
    };
    Case { sql, ordered: true }
}

/// Rows of several tables changed at once, and what `copies` brought taken away.
fn changes(r: &mut Random) -> Case {
    let (low, w) = (r.below(280), r.below(50));
    let sql = match r.below(9) {
        0 => format!("DELETE t, u FROM t JOIN u ON u.id = t.id WHERE t.id > {IDS} AND u.w = {w}"),
        1 => format!("UPDATE t LEFT JOIN u ON u.id = t.id SET t.sm = 3 WHERE u.id IS NULL AND t.id > {low}"),
        2 => format!("UPDATE r x JOIN r y ON y.id = x.id SET x.v = y.v WHERE x.part = 1 AND y.part = 2 AND x.id > {low}"),
        3 => format!("UPDATE t, u SET t.sm = 1, u.w = u.w + 1 WHERE t.id = u.id AND t.id IN ({low}, {}, {})", low + 1, low + 5),
        4 => format!("UPDATE t JOIN b ON b.g = t.g SET t.s = b.label WHERE t.id BETWEEN {low} AND {}", low + 30),
        5 => format!("DELETE u FROM u LEFT JOIN t ON t.id = u.id WHERE t.id IS NULL AND u.id > {}", IDS),
        6 => format!("UPDATE u SET w = (SELECT COUNT(*) FROM t WHERE t.id = u.id) WHERE u.id BETWEEN {low} AND {}", low + 20),
        7 => format!("DELETE FROM v WHERE i >= 100 AND ti <=> {}", r.below(256)),
        _ => "DELETE FROM u WHERE k >= 50".to_owned(),
    };
    Case { sql, ordered: true }
}

/// One shard's rows, in every form.
fn pinned(r: &mut Random) -> Case {
    let a = id(r);
    let (sql, ordered) = match r.below(11) {
        0 => (format!("SELECT q.id, q.g FROM (SELECT id, g FROM t WHERE id = {a}) q"), false),
        1 => (format!("SELECT q.id, u.w FROM (SELECT id FROM t WHERE id = {a}) q JOIN u ON u.id = q.id AND u.id = {a}"), false),
        2 => (format!("WITH q AS (SELECT id, k, w FROM u WHERE id = {a}) SELECT COUNT(*), SUM(w), GROUP_CONCAT(k ORDER BY k) FROM q"), true),
        3 => (format!("(SELECT id, g FROM t WHERE id = {a}) UNION ALL (SELECT id, w FROM u WHERE id = {a}) ORDER BY 1, 2 LIMIT 3"), true),
        4 => (format!("SELECT k, w, RANK() OVER (ORDER BY w, k) n FROM u WHERE id = {a} ORDER BY k"), true),
        5 => (format!("SELECT t.id, t.s, u.k FROM t JOIN u USING (id) WHERE t.id = {a} ORDER BY u.k FOR UPDATE"), true),
        6 => (format!("SELECT id, g FROM t WHERE id = {a} FOR UPDATE SKIP LOCKED"), true),
        7 => (format!("SELECT id, d FROM t WHERE id IN ({a}, {}) ORDER BY id FOR UPDATE NOWAIT", a + 1), true),
        8 => (format!("SELECT id, d FROM t WHERE g = {} ORDER BY id LOCK IN SHARE MODE", r.below(8)), true),
        9 => (format!("SELECT COUNT(DISTINCT w), STDDEV(w), MAX(k) FROM u WHERE id = {a} HAVING COUNT(*) >= 0"), true),
        _ => (format!("SELECT q.g, COUNT(*) FROM (SELECT g FROM t WHERE id < {a} UNION ALL SELECT w FROM u WHERE id = {a}) q GROUP BY q.g ORDER BY q.g"), true),
    };
    Case { sql, ordered }
}

/// What applications send most: the same words with other values.
fn points(r: &mut Random) -> Case {
    let (a, b) = (id(r), r.below(8));
    let text = r.pick(&["'a'", "'it''s'", "'x\\'y'", "'?'", "''"]);
    let sql = match r.below(8) {
        0 | 1 => format!("SELECT id, g, s FROM t WHERE id = {a}"),
        2 => format!("UPDATE t SET g = {b}, sb = {text} WHERE id = {a}"),
        3 => format!("INSERT IGNORE INTO t (id, g, s) VALUES ({a}, {b}, {text})"),
        4 => format!("DELETE FROM u WHERE id = {a} AND k = {b}"),
        5 => format!(
            "SELECT k, i FROM v WHERE k = {} ORDER BY i",
            super::wide::text_key(r)
        ),
        6 => {
            format!("SELECT t.id, {text}, u.k FROM t JOIN u USING (id) WHERE t.id = {a} ORDER BY k")
        }
        _ => format!("REPLACE INTO u VALUES ({a}, {b}, {}, {text})", r.below(50)),
    };
    Case { sql, ordered: true }
}

pub fn statement(r: &mut Random) -> Case {
    match r.below(6) {
        0 => copies(r),
        1 => changes(r),
        2 | 3 => points(r),
        _ => pinned(r),
    }
}
