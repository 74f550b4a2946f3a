//! What random sessions say.
//!
//! `$d`, `$e`: the lane's schemas, `$n`: the lane, `$i`: a small number, `$c`: the client's connection id,
//! `$isolation`, `$in_transaction`: what the server calls them.

/// A family is picked first, so that rare statements come as often as those with many spellings.
pub type Families = &'static [&'static [&'static str]];

/// They write nothing that another session reads: a client that says nothing else may be served by replicas.
pub const HARMLESS: Families = &[
    &[
        "SELECT @@time_zone, @@sql_mode, @@group_concat_max_len, @@autocommit, @@$isolation, DATABASE()",
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection, @a, @b, @@sql_select_limit",
        "SELECT $in_transaction, @@foreign_key_checks, @@unique_checks, @@lc_time_names, CURRENT_USER()",
        "SELECT CONNECTION_ID() = $c AS mine",
        "SHOW VARIABLES LIKE 'character\\_set\\_c%'",
        "SHOW SESSION VARIABLES LIKE 'session_track%'",
        "SET session_track_schema = OFF",
        "SET SESSION session_track_system_variables = 'sql_mode,time_zone', session_track_state_change = ON",

        "SELECT @@session_track_schema, @@session_track_state_change, @@session_track_system_variables",
    ],
    &[
        "SET time_zone = '+0$i:00'",
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "SET sql_mode = ''",
        "SET sql_mode = DEFAULT",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "SET group_concat_max_len = 1$i, lc_time_names = 'de_DE'",
        "SET foreign_key_checks = 0, unique_checks = OFF",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET sql_select_limit = $i",
        "SET sql_select_limit = DEFAULT",
        "SET no_such_variable = 1",
        "SET time_zone = 'No/Where'",
        "SET wait_timeout = 10$i",
        "SET @@session.time_zone = DEFAULT",
    ],
    &[
        "SET NAMES latin1",
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci';",
        "SET collation_connection = utf8mb4_bin",
        "SET CHARACTER SET cp1251",
        "SET collation_connection = utf8mb4_unicode_ci",
        "SET character_set_results = NULL",
        "SET character_set_results = utf8mb4, character_set_client = latin1",
    ],
    &[
        "SET @a = $i",
        "SET @b = 'x$i'",
        "SET @a = 'it''s', @b = -1.50",
        "SET @a := NULL",
        "SET @A = 0x4$i, @`b` = b'101'",
        "SET @a = _latin1'\\'', @b = 1e$i",
        "SET @a = @a + 1",
        "SELECT @b := $i",
        "SET @b = 'ü$i', time_zone = '+0$i:00'",
        "SET @a = TRUE, @b = $i.$i",
        "SELECT @a, @b, @`a` = @A, COLLATION(@a), COERCIBILITY(@b)",
        "SELECT @a + 1, CONCAT(@a, @b), @a IS NULL, @'b'",
        "SELECT 'x@a', \"@b\"",
    ],
    &["USE $d", "USE $e", "USE nowhere", "USE `$d`"],
    &[
        "SELECT * FROM kinds",
        "SELECT * FROM kinds WHERE id = $i",
        "SELECT ts, UNIX_TIMESTAMP(dt), tx, j FROM kinds ORDER BY id DESC",
        "SELECT c, CONCAT(tx, c), HEX(tx) FROM kinds",
        "SELECT id FROM fixed WHERE id = $i",
        "TABLE fixed LIMIT 2",
        "SHOW COLUMNS FROM kinds",
    ],
    &["SELECT 1/0", "SELECT CAST('x' AS SIGNED)", "SELECT DATE('z') FROM fixed", "SELEC", "SELECT nothing FROM fixed"],
    &["SELECT SQL_CALC_FOUND_ROWS id FROM fixed ORDER BY id LIMIT $i"],
    &["SELECT LAST_INSERT_ID()", "SELECT LAST_INSERT_ID() + 1 AS x", "SELECT @@last_insert_id, @@identity"],
    &["START TRANSACTION READ ONLY", "COMMIT", "ROLLBACK"],
    &["SET autocommit = 1", "SET @@autocommit = ON"],
    &[
        "SELECT 'it\\'s', id FROM fixed WHERE id = $i",
        "SELECT \"id\" FROM fixed WHERE id = $i -- '",
        "SELECT /*!40101 id, */ 2 FROM fixed /* ; */ LIMIT 1",
        "SELECT id FROM fixed LIMIT 1;",
        "(SELECT id FROM fixed LIMIT 1) UNION ALL (SELECT $i)",
        "",
        "/* nothing */",
        "SELECT '\0', 1",
    ],
    &[
        "SELECT 1; SELECT @a, 2",
        "SET @a = $i; SELECT @a",
        "USE $e; SELEC",
        "SELECT 1; SET time_zone = '+0$i:00'; SELECT @@time_zone",
    ],
];

pub const WRITING: Families = &[
    &[
        "SELECT t FROM s WHERE id <= $i",
        "SELECT COUNT(*) FROM s",
        "SELECT * FROM s ORDER BY id LIMIT 3",
    ],
    &[
        "INSERT INTO s (v) VALUES ($i)",
        "INSERT INTO s (v) VALUES ($i), ($i)",
        "INSERT INTO s (id, v) VALUES (1, 1)",
        "INSERT IGNORE INTO s (id, v) VALUES (1, 'x')",
        "UPDATE s SET v = v + 1",
        "UPDATE s SET v = LAST_INSERT_ID(v + $i) WHERE id = 1",
        "UPDATE s SET id = 2 WHERE id = 1",
        "DELETE FROM s WHERE id > 3",
        "REPLACE INTO s VALUES (2, 5, 'r')",
        "INSERT INTO s (v, t) SELECT v, LAST_INSERT_ID() FROM s WHERE id = 1",
        "INSERT INTO s (v, t) VALUES (1, @b)",
        "INSERT INTO missing VALUES (1)",
        "INSERT INTO triggered (v) VALUES ($i)",
        "INSERT INTO triggered VALUES (50$i, 1)",
    ],
    &[
        "SELECT LAST_INSERT_ID()",
        "SELECT LAST_INSERT_ID() + 1 AS x",
        "SELECT @@last_insert_id, @@identity",
    ],
    &[
        "BEGIN",
        "START TRANSACTION",
        "START TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ],
    &["COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK"],
    &[
        "SET autocommit = 0",
        "SET autocommit = 1",
        "SET @@autocommit = ON",
    ],
    &[
        "SAVEPOINT one",
        "ROLLBACK TO one",
        "RELEASE SAVEPOINT one",
        "SAVEPOINT two",
    ],
    &[
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "CREATE TEMPORARY TABLE IF NOT EXISTS tmp (a INT)",
        "INSERT INTO tmp VALUES ($i)",
        "SELECT * FROM tmp",
        "DROP TEMPORARY TABLE tmp",
        "DROP TEMPORARY TABLE IF EXISTS tmp",
        "DROP TABLE tmp",
    ],
    &[
        "SELECT GET_LOCK('l$n', 2)",
        "SELECT RELEASE_LOCK('l$n')",
        "SELECT IS_FREE_LOCK('l$n')",
        "DO RELEASE_ALL_LOCKS()",
        "SELECT RELEASE_ALL_LOCKS()",
    ],
    &[
        "LOCK TABLES s WRITE",
        "LOCK TABLES fixed READ",
        "UNLOCK TABLES",
    ],
    &[
        "PREPARE p FROM 'SELECT id FROM fixed WHERE id = ?'",
        "PREPARE q FROM 'SELECT @a, DATABASE()'",
        "EXECUTE p USING @a",
        "EXECUTE q",
        "DEALLOCATE PREPARE p",
        "DROP PREPARE q",
    ],
    &[
        "XA START 'x$n'",
        "XA END 'x$n'",
        "XA PREPARE 'x$n'",
        "XA COMMIT 'x$n'",
        "XA ROLLBACK 'x$n'",
    ],
    &[
        "HANDLER s OPEN",
        "HANDLER s READ FIRST",
        "HANDLER s CLOSE",
        "HANDLER s OPEN AS h",
        "HANDLER h CLOSE",
    ],
    &[
        "CALL $d.sets()",
        "CALL $d.begins()",
        "CALL $d.fails()",
        "CALL $d.asks()",
        "SELECT $d.writes($i)",
    ],
    &[
        "SET TRANSACTION READ ONLY",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ],
    &[
        "SELECT id FROM fixed WHERE id = $i FOR UPDATE",
        "SELECT id INTO @a FROM fixed WHERE id = $i",
    ],
    &[
        "SET @a = $i; INSERT INTO s (v) VALUES (@a); SELECT LAST_INSERT_ID()",
        "BEGIN; INSERT INTO s (id, v) VALUES (1, 1); COMMIT",
        "SET autocommit = 0; INSERT INTO s (id, v) VALUES (1, 1)",
        "CREATE TEMPORARY TABLE tmp (a INT); DROP TEMPORARY TABLE tmp",
    ],
];

/// `#`: filler of more than 256 KiB.
pub const LARGE: [&str; 6] = [
    "SELECT LENGTH('#'), @@time_zone, DATABASE()",
    "SELECT LENGTH('#'), LAST_INSERT_ID(), @a",
    "SELECT LENGTH('#'), id FROM fixed WHERE id = 1 FOR UPDATE",
    "INSERT INTO s (t, v) VALUES (LENGTH('#'), LAST_INSERT_ID())",
    "SELECT LENGTH('#'), @a := 77",
    "SELECT LENGTH('#'); SELECT 2",
];

pub const PREPARED: [&str; 7] = [
    "SELECT id, ? FROM fixed WHERE id < 3",
    "SELECT ?, DATABASE(), @@sql_mode, @@time_zone",
    "SELECT LAST_INSERT_ID(), ?",
    "SELECT \"id\", ? FROM fixed LIMIT 1",
    "SELECT @a, ?, @b",
    "SELECT * FROM kinds WHERE id > ?",
    "SELECT ?, CONCAT(?, 'x'), ? IS NULL",
];

pub const PREPARED_WRITING: [&str; 6] = [
    "INSERT INTO s (v) VALUES (?)",
    "UPDATE s SET v = ? WHERE id = 1",
    "SELECT t, ? FROM s",
    "SELECT id FROM fixed WHERE id = ? FOR UPDATE",
    "INSERT INTO s (v, t) VALUES (?, ?)",
    "CALL asks()",
];

/// The statement first, then a question about it.
pub const BEFORE_WARNINGS: [&str; 4] = [
    "SELECT 1/0",
    "SELEC",
    "SELECT v FROM missing",
    "SELECT CAST('x' AS SIGNED), id FROM fixed LIMIT 1",
];
pub const ASKS_WARNINGS: [&str; 4] = [
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW ERRORS",
    "SELECT @@warning_count, @@error_count",
];
pub const BEFORE_FOUND: [&str; 2] = [
    "SELECT id FROM fixed WHERE id < 4",
    "SELECT SQL_CALC_FOUND_ROWS id FROM fixed LIMIT 2",
];
pub const ASKS_FOUND: [&str; 2] = ["SELECT FOUND_ROWS()", "SELECT FOUND_ROWS(), ROW_COUNT()"];
pub const BEFORE_COUNT: [&str; 3] = [
    "UPDATE s SET v = v + 1 WHERE id < 3",
    "DELETE FROM s WHERE id = 1000",
    "INSERT INTO s (v) VALUES (3)",
];
pub const ASKS_COUNT: [&str; 2] = ["SELECT ROW_COUNT()", "SELECT ROW_COUNT(), LAST_INSERT_ID()"];

/// What the neighbours say.
pub const NOISE: [&str; 15] = [
    "INSERT INTO app.noise (v) VALUES (1)",
    "SELECT 1/0",
    "SELECT SQL_CALC_FOUND_ROWS id FROM d0.fixed LIMIT 2",
    "SET time_zone = '+11:00', sql_mode = 'ANSI'",
    "SELECT id FROM d1.fixed",
    "UPDATE app.noise SET v = v + 1 LIMIT 3",
    "USE other",
    "SET NAMES latin1",
    "SELECT 5 /* umpire:primary */",
    "SET group_concat_max_len = 4",
    "SELEC",
    "SET @a = 'of another', @b = 99",
    "SELECT @a, @b",
    "SHOW VARIABLES LIKE 'sql_mode'",
    "SELECT @@session_track_schema",
];
