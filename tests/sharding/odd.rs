//! Odd SQL, by hand: each is answered as one server does, or refused with a reason.
use super::generate::{self, Case, Random};
use super::world::{sharded, World};
use super::{fold, run, Outcome};
use crate::common::needs;
use mysql::prelude::Queryable;
use mysql::Conn;

/// Answered alike. What begins with `~` has no order of its own.
const ALIKE: &[&str] = &[
    // collations
    "SELECT s, COUNT(*) FROM t GROUP BY s ORDER BY s",
    "SELECT sb, COUNT(*) FROM t GROUP BY sb ORDER BY sb",
    "SELECT DISTINCT s COLLATE utf8mb4_bin AS x FROM t ORDER BY x",
    "SELECT s COLLATE utf8mb4_unicode_ci AS x, COUNT(*) AS n FROM t GROUP BY x ORDER BY n DESC, x",
    "~SELECT id FROM t WHERE s = 'A ' AND id < 100",
    "SELECT MIN(s), MAX(s), MIN(sb), MAX(sb), MIN(l), MAX(l) FROM t",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT sb), COUNT(DISTINCT l, s) FROM t",
    "SELECT un, COUNT(*) FROM v GROUP BY un ORDER BY un",
    "SELECT nw, COUNT(*) FROM v GROUP BY nw ORDER BY nw",
    "~SELECT id FROM t WHERE s LIKE 'A%' AND sb NOT LIKE '%x'",
    "SELECT LOWER(s) AS x, GROUP_CONCAT(id ORDER BY id DESC SEPARATOR '|') AS ids FROM t GROUP BY x ORDER BY x LIMIT 5",
    // sums and averages
    "SELECT SUM(d), AVG(d), SUM(-d), AVG(-d), MIN(d), MAX(d) FROM t",
    "SELECT g, SUM(d), AVG(d) FROM t GROUP BY g ORDER BY g",
    "SELECT g, AVG(sm), SUM(sm) / COUNT(*) FROM t GROUP BY g HAVING AVG(sm) < 0 OR COUNT(*) > 3 ORDER BY g",
    "SELECT SUM(DISTINCT sm), AVG(DISTINCT d), SUM(n), MAX(n), BIT_OR(n), BIT_AND(sm), BIT_XOR(sm) FROM t",
    "SELECT SUM(id), COUNT(*), AVG(id) FROM t WHERE id < 0",
    "SELECT SUM(n) + 1, AVG(n), SUM(n * 2) FROM t WHERE n < 1000000000",
    "SELECT COUNT(*), COUNT(g), COUNT(d), SUM(g IS NULL) FROM t",
    "SELECT ROUND(VARIANCE(sm), 6), ROUND(STDDEV(sm), 6), ROUND(VAR_SAMP(sm), 4) FROM t",
    "SELECT SUM(y), MIN(tm), MAX(tm), MIN(dt), MAX(ts), MIN(e), MAX(e), MIN(st) FROM t",
    "SELECT AVG(dt), SUM(b + 0), MAX(b + 0) FROM t",
    "SELECT TRUNCATE(AVG(d), 2), FORMAT(SUM(d), 3), CAST(SUM(d) AS CHAR) FROM t",
    // GROUP_CONCAT
    "SELECT GROUP_CONCAT(id ORDER BY g DESC, id SEPARATOR ';') FROM t WHERE id < 60",
    "SELECT g, GROUP_CONCAT(DISTINCT e ORDER BY e DESC SEPARATOR '') FROM t GROUP BY g ORDER BY g",
    "SELECT COUNT(DISTINCT g, e), COUNT(DISTINCT dt) FROM t",
    "SELECT JSON_ARRAYAGG(1) FROM t WHERE id = -1",
    // HAVING, ORDER BY
    "SELECT g AS x, COUNT(*) AS n FROM t GROUP BY x HAVING n > 1 ORDER BY n DESC, x",
    "SELECT g, COUNT(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
    "SELECT id FROM t ORDER BY ABS(sm), id LIMIT 7",
    "SELECT id AS x FROM t ORDER BY -x LIMIT 4",
    "SELECT s FROM t ORDER BY g, d, id LIMIT 10",
    "SELECT id, g FROM t ORDER BY g IS NULL, g DESC, id LIMIT 12",
    "SELECT id FROM t ORDER BY FIELD(e, 'high', 'low', 'mid'), id LIMIT 9",
    "SELECT id FROM t ORDER BY e DESC, st, id LIMIT 9",
    "SELECT DISTINCT g FROM t ORDER BY g DESC LIMIT 1, 3",
    "SELECT id FROM t ORDER BY NULL, id LIMIT 3",
    "SELECT id, sm AS g FROM t ORDER BY g, id LIMIT 5",
    "SELECT t.id AS n FROM t ORDER BY t.n, t.id LIMIT 5",
    "SELECT id FROM t ORDER BY id LIMIT 18446744073709551615 OFFSET 100000",
    "SELECT id FROM t ORDER BY id LIMIT 99999999999, 5",
    "SELECT id FROM t ORDER BY id LIMIT 0",
    "SELECT COUNT(*) FROM t LIMIT 1 OFFSET 1",
    "SELECT g, COUNT(*) FROM t GROUP BY g WITH ROLLUP",
    "SELECT COUNT(*) AS n FROM t HAVING n > 100000",
    "SELECT 1 FROM t HAVING COUNT(*) > 1",
    "SELECT MAX(id) - MIN(id), MAX(id) * 2 + COUNT(*) FROM t",
    "SELECT CASE WHEN SUM(g) > 10 THEN 'many' ELSE 'few' END AS x FROM t",
    "SELECT IFNULL(g, -1) AS x, SUM(IF(sm > 0, 1, 0)) FROM t GROUP BY IFNULL(g, -1) ORDER BY x",
    // UNION
    "SELECT id FROM t WHERE id < 20 UNION ALL SELECT id FROM u WHERE id < 10 ORDER BY id LIMIT 15",
    "(SELECT g FROM t ORDER BY id LIMIT 3) UNION (SELECT w FROM u ORDER BY id, k LIMIT 3) ORDER BY 1",
    "SELECT id FROM t WHERE id IN (1, 2) UNION SELECT id FROM t WHERE id IN (2, 3) ORDER BY id DESC",
    // keys
    "~SELECT id FROM t WHERE id = '12'",
    "~SELECT id FROM t WHERE id = ' 12'",
    "~SELECT id FROM t WHERE id = 12.0",
    "~SELECT id FROM t WHERE id = 12.5",
    "~SELECT id FROM t WHERE id = 1e1",
    "~SELECT id FROM t WHERE id = 0x0C",
    "~SELECT id FROM t WHERE id = NULL",
    "~SELECT id FROM t WHERE id <=> NULL",
    "~SELECT id FROM t WHERE id IS NULL",
    "~SELECT id FROM t WHERE NOT (id <> 12)",
    "~SELECT id FROM t WHERE id BETWEEN 20 AND 10",
    "~SELECT id FROM t WHERE id BETWEEN 10 AND NULL",
    "~SELECT id FROM t WHERE id NOT BETWEEN 5 AND 290",
    "~SELECT id FROM t WHERE id IN (5, NULL, '7', 9.0)",
    "~SELECT id FROM t WHERE id NOT IN (SELECT id FROM u)",
    "~SELECT id FROM t WHERE id IN (SELECT k FROM u WHERE w > 20)",
    "~SELECT id FROM t WHERE id IN (SELECT MAX(id) FROM t)",
    "~SELECT id FROM t WHERE (id, g) IN ((1, 1), (2, 2), (12, 3))",
    "~SELECT id FROM t WHERE id = 12 OR g = 3 AND id > 200",
    "~SELECT id FROM t WHERE id = 12 XOR id = 13",
    "~SELECT id FROM t WHERE id = 10 + 2",
    "~SELECT id FROM t WHERE 12 = id AND TRUE",
    "~SELECT id FROM t WHERE id = -(-12)",
    "~SELECT id FROM t WHERE id = TRUE",
    "~SELECT id FROM t WHERE id = '12abc'",
    "~SELECT id FROM t WHERE id = _utf8mb4'12'",
    "~SELECT id FROM t WHERE id = CAST('12' AS SIGNED)",
    "~SELECT id FROM t WHERE id > 280 AND id < 5",
    "~SELECT id FROM t WHERE id = 99999999999999999999",
    "~SELECT k, i FROM v WHERE k = 'a'",
    "~SELECT k, i FROM v WHERE k = 7",
    "~SELECT k, i FROM v WHERE k = '007'",
    "~SELECT k, i FROM v WHERE k = 'A '",
    "~SELECT k, i FROM v WHERE k IN ('b', 'B', 7)",
    "~SELECT k, i FROM v WHERE k LIKE 'a'",
    "~SELECT k, i FROM v WHERE k = BINARY 'A'",
    "~SELECT k, i FROM v WHERE k COLLATE utf8mb4_bin = 'a'",
    "~SELECT n, x FROM m WHERE n = -7",
    "~SELECT n, x FROM m WHERE n IN (-1, -2, -3, -4, 0, 3)",
    "~SELECT n, x FROM m WHERE n BETWEEN -5 AND 2",
    "~SELECT n, x FROM m WHERE n MOD 4 = -3",
    "SELECT n % 4 AS x, n DIV 4 AS q, COUNT(*) FROM m GROUP BY x, q ORDER BY x, q",
    // joins and subqueries
    "SELECT STRAIGHT_JOIN t.id, u.k FROM t JOIN u ON u.id = t.id WHERE t.id < 15 ORDER BY 1, 2",
    "SELECT t.id, u.k FROM t STRAIGHT_JOIN u ON u.id = t.id WHERE t.id < 15 ORDER BY 1, 2",
    "SELECT id FROM t USE INDEX (g) WHERE g = 3 ORDER BY id",
    "SELECT id FROM t FORCE INDEX FOR ORDER BY (PRIMARY) IGNORE INDEX (g) WHERE g = 3 ORDER BY id",
    "SELECT t.id, (SELECT COUNT(*) FROM u WHERE u.id = t.id) AS n FROM t ORDER BY n DESC, id LIMIT 5",
    "SELECT t.id, (SELECT COUNT(*) FROM u WHERE u.w = t.g) AS n FROM t ORDER BY n DESC, id LIMIT 5",
    "SELECT (SELECT COUNT(*) FROM t), (SELECT MAX(w) FROM u)",
    "SELECT * FROM t NATURAL JOIN b WHERE t.id < 5 ORDER BY t.id",
    "SELECT x.id, y.id FROM t x LEFT JOIN t y ON y.id = x.id + 1 WHERE x.id < 12 ORDER BY 1",
    "SELECT COUNT(*) FROM t x CROSS JOIN b",
    "SELECT b.label, COUNT(t.id) FROM b LEFT JOIN t ON t.g = b.g GROUP BY b.label ORDER BY b.label",
    "SELECT COUNT(*) FROM t RIGHT JOIN b ON t.g = b.g",
    "SELECT COUNT(*) FROM t LEFT JOIN b USING (g)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND w > 10)",
    "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.id)",
    "SELECT COUNT(*) FROM t WHERE g > ALL (SELECT g FROM b WHERE g < 3)",
    "SELECT COUNT(*) FROM t WHERE g = (SELECT MAX(g) FROM t)",
    "SELECT COUNT(*) FROM (SELECT DISTINCT g, e FROM t) q",
    "SELECT q.g, MAX(q.n) FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g, e) q GROUP BY q.g ORDER BY 1",
    // CTEs, window functions
    "WITH q AS (SELECT id, g FROM t WHERE id < 50) SELECT g, COUNT(*) FROM q GROUP BY g ORDER BY g",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT n.i, t.g FROM n JOIN t ON t.id = n.i ORDER BY 1",
    "WITH t AS (SELECT 1 AS id) SELECT id FROM t",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY id) AS n FROM t ORDER BY id LIMIT 10",
    "SELECT id, SUM(sm) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM t ORDER BY id LIMIT 10",
    "SELECT id, RANK() OVER w AS x FROM t WINDOW w AS (ORDER BY g) ORDER BY x, id LIMIT 10",
    // expressions and types
    "SELECT id, HEX(bl), b + 0, HEX(b), st + 0, e + 0, CAST(n AS CHAR) FROM t ORDER BY id LIMIT 6",
    "SELECT j, lt IS NULL, z, stamp, t3 FROM v ORDER BY k, i LIMIT 6",
    "SELECT DATE_FORMAT(dt, '%Y-%m') AS m, COUNT(*) FROM t GROUP BY m ORDER BY m",
    "SELECT YEAR(dt) AS y2, MONTH(dt) AS m2, COUNT(*) FROM t GROUP BY y2, m2 ORDER BY y2, m2 LIMIT 5",
    "SELECT CONCAT(s, '-', l) AS x FROM t ORDER BY x, id LIMIT 5",
    "SELECT id FROM t WHERE dt BETWEEN '2001-01-01' AND '2030-01-01' ORDER BY dt, id LIMIT 5",
    "SELECT 1 + 1 AS two, id FROM t WHERE id = 1",
    "SELECT SQL_NO_CACHE ALL id FROM t ORDER BY id LIMIT 2",
    "SELECT HIGH_PRIORITY SQL_SMALL_RESULT g, COUNT(*) FROM t GROUP BY g ORDER BY g",
    "SELECT COUNT(*) FROM t AS `t 2` WHERE `t 2`.id > 3",
    "SELECT app.t.id FROM app.t WHERE app.t.id = 3",
    "SELECT `t`.`id` + 0 FROM `app`.`t` WHERE `id` = 3",
    "SELECT id FROM t WHERE id = 3; ",
    "SELECT id -- comment\n FROM t # more\n WHERE /* t_0 */ id = 3",
    "select ID from t where Id = 3",
    "SELECT 't_0', id FROM t WHERE id = 3",
    "(SELECT id FROM t ORDER BY id LIMIT 2)",
    "SELECT id FROM t WHERE id = 3 FOR UPDATE",
    "SELECT id FROM t WHERE id < 4 ORDER BY id FOR UPDATE SKIP LOCKED",
    "SELECT id FROM t WHERE id < 4 ORDER BY id LOCK IN SHARE MODE",
    // writes
    "INSERT INTO m VALUES (-100, 1), (-101, 2), (100, 3), ('104', 4)",
    "INSERT INTO m (x, n) VALUES (5, 105), (6, -106)",
    "INSERT INTO m SET n = 107, x = 7",
    "INSERT IGNORE INTO m VALUES (-100, 9), (108, 8)",
    "REPLACE INTO m VALUES (-100, 11), (109, 9)",
    "INSERT INTO m VALUES (-100, 1), (110, 2) ON DUPLICATE KEY UPDATE x = x + 10",
    "INSERT INTO m VALUES (-100, 1), (111, 2)",
    "INSERT INTO m SELECT n, x + 1 FROM m WHERE n > 100 ON DUPLICATE KEY UPDATE x = 77",
    "UPDATE m SET x = x * 2 WHERE n < 0",
    "UPDATE m SET x = 5 WHERE n = -100 OR n = 104",
    "UPDATE m SET x = -x WHERE n BETWEEN 100 AND 110",
    "UPDATE m SET x = 1, x = x + 1 WHERE n = 105",
    "UPDATE m SET x = DEFAULT WHERE n = 107",
    "UPDATE t, u SET t.sm = 4 WHERE t.id = u.id AND u.k = 1 AND t.id < 30",
    "UPDATE t JOIN b ON b.g = t.g SET t.tx = b.label WHERE t.id < 30",
    "DELETE t FROM t JOIN u ON u.id = t.id WHERE u.w = 13",
    "DELETE FROM u USING u JOIN t ON t.id = u.id WHERE t.sm = 17",
    "DELETE FROM m WHERE n IN (-101, 108, 109)",
    "DELETE FROM m WHERE n = 110 LIMIT 1",
    "DELETE FROM m WHERE n = 111 ORDER BY x LIMIT 1",
    "SELECT * FROM m ORDER BY n",
    "SELECT COUNT(*), SUM(sm), COUNT(tx) FROM t",
    "SELECT COUNT(*), SUM(w) FROM u",
    "INSERT INTO b VALUES (90, 'x'), (91, 'y')",
    "UPDATE b SET label = CONCAT(label, '!') WHERE g >= 90",
    "DELETE FROM b WHERE g = 91",
    "SELECT * FROM b ORDER BY g",
    "UPDATE m SET x = LAST_INSERT_ID(x + 1) WHERE n = 100",
    "SELECT LAST_INSERT_ID()",
    "SELECT t.id, t.g, u.k FROM t, u WHERE t.id = u.id AND u.id = 12 ORDER BY u.k",
    "SELECT COUNT(*) FROM t WHERE id = 12 AND id = 13",
    "SELECT COUNT(*) FROM t WHERE (id, g) = (12, 3)",
    "SELECT id FROM t GROUP BY id ORDER BY COUNT(*), id LIMIT 3",
    "SELECT MOD(id, 7) AS x, MAX(s) FROM t GROUP BY MOD(id, 7) ORDER BY MAX(d), x",
    "INSERT IGNORE INTO t SELECT * FROM t",
    // conditions on keys in every place
    "~SELECT id FROM t WHERE id IN (1, 1, 1)",
    "SELECT COUNT(*) FROM t WHERE id != 12",
    "SELECT COUNT(*) FROM t WHERE id NOT IN (1, 2) AND NOT id = 12",
    "SELECT COUNT(*) FROM t WHERE id = 12 OR NULL",
    "SELECT COUNT(*) FROM t WHERE (id = 12) = 0",
    "SELECT COUNT(*) FROM t WHERE (id = 12) IS NOT TRUE",
    "SELECT COUNT(*) FROM t WHERE IF(id = 12, 0, 1)",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN id = 12 THEN 0 ELSE 1 END",
    "SELECT COUNT(*) FROM t WHERE id = 12 || id = 13",
    "SELECT COUNT(*) FROM t WHERE ! (id = 12)",
    "SELECT COUNT(*) FROM t WHERE id = 12 AND g = 1 OR TRUE",
    "SELECT COUNT(*) FROM t WHERE id = (SELECT 12)",
    "SELECT COUNT(*) FROM t WHERE id = ANY (SELECT id FROM u WHERE u.id = 12)",
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM t x)",
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM u WHERE u.id = t.id)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = 12)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = 12 OR u.id = t.id)",
    "SELECT b.g, t.id FROM b LEFT JOIN t ON t.g = b.g AND t.id = 12 ORDER BY b.g",
    "SELECT COUNT(*), COUNT(u.id) FROM t LEFT JOIN u ON u.id = t.id AND u.id = 12",
    "SELECT COUNT(*), COUNT(u.id) FROM t LEFT JOIN u ON u.id = t.id WHERE u.id = 12",
    "SELECT COUNT(*), COUNT(t.id) FROM t RIGHT JOIN u ON t.id = u.id AND t.id = 12",
    "SELECT COUNT(*), COUNT(u.id) FROM t LEFT JOIN u ON u.id = t.id AND t.id = 12",
    "SELECT COUNT(*) FROM t LEFT JOIN u ON u.id = t.id AND u.k = 0 WHERE u.id IS NULL",
    "SELECT x.id, u.k FROM (SELECT * FROM t WHERE id = 12) x LEFT JOIN u ON u.id = x.id ORDER BY u.k",
    "SELECT COUNT(*) FROM (SELECT id FROM t LIMIT 5) q",
    "SELECT q.id FROM (SELECT id FROM t ORDER BY id LIMIT 5 OFFSET 2) q JOIN t ON t.id = q.id ORDER BY 1",
    "SELECT id FROM t WHERE id IN (SELECT id FROM u) ORDER BY id LIMIT 5",
    "SELECT k, i FROM v WHERE k BETWEEN 'a' AND 'c' ORDER BY k, i",
    "SELECT k, i FROM v WHERE k > 'b' ORDER BY k DESC, i LIMIT 6",
    "SELECT COUNT(*) FROM r WHERE id < 75",
    "SELECT COUNT(*) FROM r WHERE id <= 75 AND id > 74.5",
    "SELECT COUNT(*) FROM r WHERE id BETWEEN 74 AND 76",
    "SELECT COUNT(*) FROM r WHERE id = 75.0",
    "SELECT COUNT(*) FROM r WHERE id < '80'",
    "SELECT COUNT(*) FROM r WHERE -id > -10",
    "SELECT COUNT(*) FROM r WHERE id >= 224.5 AND id < 225.5",
    "SELECT COUNT(*) FROM r WHERE NOT (id >= 75 AND id < 150)",
    "SELECT COUNT(*) FROM r WHERE NOT (id < 75 OR id >= 150)",
    "SELECT COUNT(*) FROM r WHERE id > NULL",
    "SELECT COUNT(*) FROM r x JOIN r y ON y.id = x.id AND y.part = x.part WHERE x.id < 80 AND y.id >= 70",
    // groups, orders and types
    "SELECT s, sb FROM t ORDER BY s DESC, sb, id LIMIT 9",
    "SELECT DISTINCT s FROM t ORDER BY s LIMIT 2, 3",
    "SELECT g, MIN(s), MAX(l) FROM t GROUP BY g ORDER BY g",
    "SELECT HEX(MIN(bl)), HEX(MAX(bl)), HEX(MIN(tx)) FROM t",
    "SELECT HEX(bl) AS x, COUNT(*) FROM t GROUP BY bl ORDER BY bl LIMIT 5",
    "SELECT id FROM t ORDER BY bl, id LIMIT 5",
    "SELECT id FROM t ORDER BY tx, id LIMIT 5",
    "SELECT id FROM t ORDER BY fl DESC, id LIMIT 5",
    "SELECT b + 0 AS x, COUNT(*) FROM t GROUP BY b ORDER BY b LIMIT 5",
    "SELECT tm, COUNT(*) FROM t GROUP BY tm ORDER BY tm LIMIT 5",
    "SELECT ts, y FROM t ORDER BY ts DESC, y, id LIMIT 5",
    "SELECT e, st, COUNT(*) FROM t GROUP BY e, st ORDER BY e, st LIMIT 9",
    "SELECT f, COUNT(*) FROM t GROUP BY f ORDER BY f LIMIT 5",
    "SELECT MAX(fl), MIN(fl), MAX(f), MIN(f) FROM t",
    "SELECT ROUND(SUM(f), 3), ROUND(AVG(fl), 2), SUM(e), SUM(st + 0) FROM t",
    "SELECT DISTINCT g, e FROM t ORDER BY e, g LIMIT 9",
    "SELECT DISTINCT COUNT(*) FROM t GROUP BY g ORDER BY 1",
    "SELECT COUNT(DISTINCT id) FROM t",
    "SELECT BIT_AND(sm), BIT_OR(sm), BIT_XOR(sm) FROM t WHERE id < 0",
    "SELECT COUNT(*), MAX(id) FROM t WHERE id = -5 GROUP BY g",
    "SELECT COUNT(*) FROM t GROUP BY 1 = 1",
    "SELECT COUNT(*) FROM t GROUP BY NULL",
    "SELECT COUNT(DISTINCT stamp), MAX(stamp), MIN(t3) FROM v",
    "SELECT big, COUNT(*) FROM v GROUP BY big ORDER BY big LIMIT 5",
    "SELECT SUM(big), AVG(big), AVG(ti), SUM(z) FROM v",
    "SELECT cy, COUNT(*) FROM v GROUP BY cy ORDER BY cy LIMIT 6",
    "SELECT z, stamp FROM v ORDER BY z, stamp, k, i LIMIT 5",
    // the session's settings
    "SET div_precision_increment = 2",
    "SELECT AVG(d), AVG(sm), SUM(sm) / 7 FROM t",
    "SELECT g, AVG(d) FROM t GROUP BY g ORDER BY AVG(d), g",
    "SET div_precision_increment = DEFAULT",
    "SET time_zone = '+05:00'",
    "SELECT stamp, k FROM v ORDER BY stamp DESC, k, i LIMIT 5",
    "SELECT COUNT(DISTINCT stamp), MIN(stamp) FROM v",
    "SELECT HOUR(stamp) AS h, COUNT(*) FROM v GROUP BY h ORDER BY h",
    "SET time_zone = DEFAULT",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SELECT \"id\", 'x' FROM \"t\" WHERE \"id\" = 3",
    "SET sql_mode = 'PIPES_AS_CONCAT'",
    "SELECT COUNT(*) FROM t WHERE id = 1 || 2",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SELECT COUNT(*) FROM v WHERE k = 'a\\'",
    "SET sql_mode = 'HIGH_NOT_PRECEDENCE'",
    "SELECT COUNT(*) FROM t WHERE NOT id BETWEEN 5 AND 12",
    "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'",
    "SELECT MIN(n - 5) FROM t WHERE n < 1000",
    "SET sql_mode = DEFAULT",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SELECT COUNT(*), 'a' = 'A' FROM t WHERE s = 'A'",
    "SELECT CONCAT(s, 'x') AS x, COUNT(*) FROM t GROUP BY x ORDER BY x LIMIT 4",
    "SET NAMES utf8mb4",
    "SET character_set_results = latin1",
    "SELECT s FROM t ORDER BY s, sb, id LIMIT 5",
    "SELECT COUNT(DISTINCT s), MAX(id) FROM t GROUP BY l ORDER BY l LIMIT 4",
    "SET character_set_results = utf8mb4",
    "SET group_concat_max_len = 20",
    "SELECT GROUP_CONCAT(id ORDER BY id) FROM t",
    "SET group_concat_max_len = DEFAULT",
    "SET sql_safe_updates = 1",
    "UPDATE m SET x = 1",
    "SET sql_safe_updates = 0",
    // more writes
    "UPDATE m SET x = x + 1 ORDER BY n DESC",
    "UPDATE t SET g = (SELECT MAX(g) FROM b WHERE g < 50) WHERE id < 3",
    "UPDATE t SET sm = (SELECT COUNT(*) FROM u WHERE u.id = t.id) WHERE id IN (3, 4, 5)",
    "INSERT INTO m VALUES (201, 1), (201, 2)",
    "INSERT INTO m (n) VALUES (-202), (202)",
    "REPLACE INTO m SELECT n, 50 FROM m WHERE n > 200",
    "SELECT COUNT(*), SUM(x), SUM(n) FROM m",
    "SELECT id, g, sm FROM t WHERE id < 6 ORDER BY id",
    // what belongs to the session, wherever the statement ran
    "SET @a = 5, @b = 'x'",
    "SELECT id, @a, @b FROM t WHERE id = 12",
    "SELECT id, @a, @b FROM t WHERE id = 3",
    "UPDATE m SET x = @a WHERE n = 100",
    "SELECT id INTO @r FROM t WHERE id = 12",
    "SELECT @r",
    "SELECT @r := @r + 1, @a := 6 FROM t WHERE id = 12",
    "SELECT @r, @a",
    "SELECT id FROM t WHERE id = 12 AND @a = 6",
    "SELECT SQL_CALC_FOUND_ROWS k FROM u WHERE id = 12 LIMIT 0",
    "SELECT FOUND_ROWS()",
    "UPDATE m SET x = 3 WHERE n = -7",
    "SELECT ROW_COUNT()",
    "SELECT CAST('1x' AS SIGNED) FROM t WHERE id = 12",
    "SHOW WARNINGS",
    "SELECT CAST('1x' AS SIGNED) FROM t WHERE id = 3",
    "SELECT @@warning_count",
    "SELECT GET_LOCK('odd', 0), id FROM t WHERE id = 12",
    "SELECT COUNT(*), COUNT(DISTINCT g) FROM t",
    "SELECT id FROM t ORDER BY id LIMIT 3",
    "SELECT RELEASE_LOCK('odd')",
    "SELECT DATABASE(), id FROM t WHERE id = 12",
    "CREATE TEMPORARY TABLE mine (id INT, note VARCHAR(9))",
    "INSERT INTO mine VALUES (3, 'a'), (12, 'b'), (999, 'c')",
    "SELECT COUNT(*) FROM mine JOIN t ON t.id = mine.id",
    "SELECT mine.note, (SELECT COUNT(*) FROM t WHERE t.id = mine.id) AS n FROM mine ORDER BY 1",
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM mine)",
    "DROP TEMPORARY TABLE mine",
    "START TRANSACTION READ ONLY",
    "SELECT x FROM m WHERE n = 100",
    "UPDATE m SET x = 1 WHERE n = 100",
    "COMMIT",
    "BEGIN",
    "UPDATE m SET x = 31 WHERE n = -7",
    "SELECT SUM(x), COUNT(DISTINCT x) FROM m WHERE n = -7",
    "SELECT x FROM m WHERE n IN (-7, -3) ORDER BY n",
    "ROLLBACK",
    "SET autocommit = 0",
    "UPDATE m SET x = 32 WHERE n = -7",
    "ROLLBACK",
    "SET autocommit = 1",
    "SELECT x FROM m WHERE n = -7",
    // a transaction on one shard
    "BEGIN",
    "UPDATE m SET x = 1000 WHERE n = 100",
    "SELECT x FROM m WHERE n = 100",
    "SAVEPOINT a",
    "DELETE FROM m WHERE n = 100",
    "ROLLBACK TO a",
    "SELECT x FROM m WHERE n = 100",
    "ROLLBACK",
    "SELECT x FROM m WHERE n = 100",
];

/// Refused, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT id FROM t PARTITION (p0)", ""),
    (
        "SELECT id INTO @v FROM t WHERE g = 1 LIMIT 1",
        "user variable",
    ),
    ("SELECT * FROM t INTO OUTFILE '/tmp/umpire-odd'", ""),
    ("INSERT INTO t (g) VALUES (1)", "id"),
    ("INSERT INTO t (id, g) VALUES (NULL, 1)", "id"),
    ("INSERT INTO t (id, g) VALUES (DEFAULT, 1)", "id"),
    ("REPLACE INTO t (g) VALUES (1)", "id"),
    ("REPLACE INTO m (n, x) VALUES (DEFAULT, 1)", "n"),
    ("INSERT INTO t (id, g) VALUES (400, 1), (401 + 1, 2)", "id"),
    ("INSERT INTO t (id) VALUES ('4x')", "id"),
    ("INSERT INTO t (id) VALUES (4.5)", "id"),
    ("INSERT INTO t (id) VALUES (@x)", "id"),
    ("UPDATE t SET id = 5 WHERE id = 6", "id"),
    ("UPDATE t SET g = 1 LIMIT 3", "LIMIT"),
    (
        "INSERT INTO m VALUES (1, 1) ON DUPLICATE KEY UPDATE n = 2",
        "n",
    ),
    ("LOCK TABLES t READ", "FOR UPDATE"),
    ("HANDLER t OPEN", "SELECT"),
    ("LOAD DATA LOCAL INFILE '/nothing' INTO TABLE t", "INSERT"),
    ("CREATE VIEW seen AS SELECT id FROM t", "VIEW"),
    (
        "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW SET @x = 1",
        "TRIGGER",
    ),
    ("CREATE PROCEDURE p() SELECT COUNT(*) FROM t", "PROCEDURE"),
    (
        "CREATE FUNCTION f() RETURNS INT RETURN (SELECT COUNT(*) FROM t)",
        "FUNCTION",
    ),
    ("PREPARE s FROM 'SELECT * FROM t'", "prepared statements"),
    ("CREATE TABLE copy AS SELECT * FROM t", "rule"),
    ("CREATE TEMPORARY TABLE copy LIKE t", "rule"),
    ("CREATE TEMPORARY TABLE t (id INT)", "rule"),
    ("SELECT 1; SELECT COUNT(*) FROM t", ""),
    ("SELECT id FROM t WHERE id = @x", "user variable"),
    ("DELETE FROM t ORDER BY id LIMIT 2", "LIMIT"),
    ("SET @n = (SELECT COUNT(*) FROM t)", "SELECT"),
    ("DO (SELECT COUNT(*) FROM t)", "SELECT"),
    ("CHECKSUM TABLE t", "group"),
    ("OPTIMIZE TABLE t", "group"),
    ("EXPLAIN SELECT * FROM t", "EXPLAIN ROUTE"),
    ("SELECT LAST_INSERT_ID(), id FROM t", "connection"),
    ("SELECT FOUND_ROWS() FROM t", "connection"),
    ("DELETE FROM u WHERE id IN (SELECT k FROM u)", ""),
    (
        "INSERT IGNORE INTO r SELECT id, part + 30, 1, note FROM r LIMIT 2",
        "LIMIT",
    ),
    ("INSERT INTO m VALUES (200, (SELECT COUNT(*) FROM t))", ""),
    ("SET sql_select_limit = 2; SELECT id FROM t", ""),
];

fn rules() -> String {
    sharded("m", "n", "mod")
}

fn case(sql: &str) -> Case {
    let unordered = sql.strip_prefix('~');
    Case {
        sql: unordered.unwrap_or(sql).to_owned(),
        ordered: unordered.is_none(),
    }
}

fn fill(world: &World) {
    world.create_table("m", "n BIGINT NOT NULL PRIMARY KEY, x INT DEFAULT 3", true);
    for sql in generate::rows(&mut Random(7)) {
        world.both(&sql);
    }
    world.both("INSERT INTO m VALUES (-7, 1), (-1, 2), (-2, 3), (-3, 4), (-4, 5), (0, 6), (3, 7), (4, 8), (5, 9)");
    for sql in super::wide::rows(&mut Random(7)) {
        world.both(&sql);
    }
    world.both("INSERT IGNORE INTO v (k, i, un) VALUES ('7', 1, 'x'), ('007', 2, 'y'), ('7.0', 3, 'z'), ('A', 900, 'w')");
}

/// What is wrong with the answers to one statement.
fn wrong(umpire: &mut Conn, direct: &mut Conn, sql: &str, prepared: bool) -> Option<String> {
    let case = case(sql);
    let values: Option<&[mysql::Value]> = if prepared { Some(&[]) } else { None };
    let ours = fold(run(umpire, &case, values), &case);
    let theirs = fold(run(direct, &case, values), &case);
    let alike = match (&ours, &theirs) {
        (Outcome::Error(a, _), Outcome::Error(b, _)) => a == b,
        (a, b) => a == b,
    };
    (!alike).then(|| {
        format!("{sql}\n  prepared: {prepared}\n  umpire: {ours:?}\n  direct: {theirs:?}\n")
    })
}

/// Values of user variables that one server's connection has are not asked of another.
fn variables(world: &World) {
    let groups: Vec<String> = ["main", "second"].map(str::to_owned).to_vec();
    let on = |group: usize| {
        let id = world.ask_group(group, &format!("SELECT MIN(id) FROM app.t_{}", 2 * group));
        (id, groups[group].clone())
    };
    let (here, there) = (on(0), on(1));
    for (first, second) in [(&here, &there), (&there, &here)] {
        let mut client = world.umpire();
        client.query_drop("SET @known = 'x'").expect("a literal");
        let assign = format!("SELECT id INTO @r FROM t WHERE id = {}", first.0);
        client.query_drop(assign).expect("one shard's");
        let both = |id: &str| format!("SELECT @r, @known FROM t WHERE id = {id}");
        let seen: Option<(String, String)> = client.query_first(both(&first.0)).expect("there");
        assert_eq!(seen, Some((first.0.clone(), "x".into())));
        let elsewhere = [
            both(&second.0),
            format!("SELECT id INTO @r FROM t WHERE id = {}", second.0),
        ];
        for sql in elsewhere {
            for error in [
                client.query_drop(&sql).expect_err(&sql),
                client.exec_drop(&sql, ()).expect_err(&sql),
            ] {
                let words = format!("by a statement on group '{}'", first.1);
                assert!(error.to_string().contains(&words), "{sql}: {error}");
            }
        }
        if first.1 == "second" {
            let error = client.query_drop("SELECT @r").expect_err("home");
            assert!(error.to_string().contains("on group 'second'"), "{error}");
        }
        // without them everything goes on
        let count: Option<u8> = client
            .query_first("SELECT COUNT(*) > 0 FROM t")
            .expect("all shards");
        assert_eq!(count, Some(1));
        let seen: Option<(String, String)> = client.query_first(both(&first.0)).expect("there");
        assert_eq!(seen, Some((first.0.clone(), "x".into())), "still held");
    }
}

fn check(world: &World) {
    fill(world);
    variables(world);
    let (mut umpire, mut direct) = (world.umpire(), world.direct());
    let mut found = Vec::new();
    for sql in ALIKE {
        found.extend(wrong(&mut umpire, &mut direct, sql, false));
        if case(sql).sql.starts_with("SELECT") {
            found.extend(wrong(&mut umpire, &mut direct, sql, true));
        }
    }
    umpire.query_drop("SET sql_select_limit = 2").expect("set");
    match umpire.query::<u64, _>("SELECT id FROM t ORDER BY id") {
        Ok(rows) if rows.len() != 2 => found.push(format!("sql_select_limit: {rows:?}\n")),
        _ => {}
    }
    umpire
        .query_drop("SET sql_select_limit = DEFAULT")
        .expect("set");
    for (sql, why) in REFUSED {
        match umpire.query_drop(sql) {
            Ok(()) => found.push(format!("{sql}\n  is not refused\n")),
            Err(mysql::Error::MySqlError(error)) if error.message.contains(why) => {
                if std::env::var_os("ODD").is_some() {
                    eprintln!("{sql}\n    {} {}", error.code, error.message);
                }
            }
            Err(error) => found.push(format!("{sql}\n  {error}\n")),
        }
        let alive = umpire
            .query_first::<u8, _>("SELECT 1")
            .expect("the session goes on");
        assert_eq!(alive, Some(1));
    }
    assert!(found.is_empty(), "{}", found.concat());
}

#[test]
fn odd_statements_are_answered_as_by_one_server_or_refused() {
    needs!(the_proxy);
    check(&World::with(&rules()));
}

#[test]
fn odd_statements_are_answered_as_by_one_mysql_or_refused() {
    needs!(the_proxy);
    if let Some(world) = World::mysql_with(&rules()) {
        check(&world);
    }
}
