use super::*;

type E = Effects;

#[test]
fn transactions() {
    assert_effects(&[
        ("BEGIN", E::BEGIN),
        ("begin work;", E::BEGIN),
        ("START TRANSACTION", E::BEGIN),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", E::BEGIN),
        ("START TRANSACTION READ WRITE", E::BEGIN),
        ("START TRANSACTION READ ONLY", E::BEGIN | E::BEGIN_READ_ONLY),
        (
            "start /*c*/ transaction with consistent snapshot , read\nonly;",
            E::BEGIN | E::BEGIN_READ_ONLY,
        ),
        ("COMMIT", E::END_TRANSACTION),
        ("COMMIT WORK AND NO CHAIN NO RELEASE", E::END_TRANSACTION),
        ("COMMIT AND CHAIN", E::END_TRANSACTION | E::BEGIN),
        ("ROLLBACK", E::END_TRANSACTION),
        ("ROLLBACK WORK RELEASE", E::END_TRANSACTION),
        ("ROLLBACK AND CHAIN", E::END_TRANSACTION | E::BEGIN),
        ("ROLLBACK TO s", E::empty()),
        ("ROLLBACK WORK TO SAVEPOINT s", E::empty()),
        ("SAVEPOINT s", E::empty()),
        ("XA START 'x'", E::XA_START),
        ("XA BEGIN 'x' JOIN", E::XA_START),
        ("XA END 'x'", E::empty()),
        ("XA PREPARE 'x'", E::empty()),
        ("XA COMMIT 'x' ONE PHASE", E::XA_END),
        ("XA ROLLBACK 'x'", E::XA_END),
        ("XA RECOVER", E::SERVER_STATE),
        (
            "BEGIN NOT ATOMIC SELECT 1; END",
            E::CALL | E::MULTI_STATEMENT,
        ),
    ]);
}

#[test]
fn set() {
    assert_effects(&[
        ("SET a = 1", E::SET_SESSION),
        ("SET SESSION wait_timeout=100", E::SET_SESSION),
        (
            "SET LOCAL a=1, @@b=2, @@session.c=3, @@local.d=4",
            E::SET_SESSION | E::UNREPORTED,
        ),
        ("SET `sql_mode` = ''", E::SET_SESSION),
        (
            "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci';",
            E::SET_SESSION,
        ),
        ("SET CHARACTER SET utf8", E::SET_SESSION),
        (
            "SET CHARSET utf8, @a = 1",
            E::SET_SESSION | E::ASSIGNS_USER_VARIABLE,
        ),
        ("SET GLOBAL a=1", E::SET_GLOBAL),
        ("SET @@global.a=1, @@GLOBAL . b = 2", E::SET_GLOBAL),
        ("SET PERSIST a=1", E::SET_GLOBAL),
        ("SET @@persist_only.a=1", E::SET_GLOBAL),
        ("SET a=1, GLOBAL b=2", E::SET_SESSION | E::SET_GLOBAL),
        ("SET GLOBAL a=1, b=2", E::SET_SESSION | E::SET_GLOBAL),
        ("SET @a=1", E::ASSIGNS_USER_VARIABLE),
        ("SET @a=1, @`b c` := 2, @'d'=3", E::ASSIGNS_USER_VARIABLE),
        (
            "SET @a=@b",
            E::ASSIGNS_USER_VARIABLE | E::USES_USER_VARIABLE,
        ),
        ("SET a := 1", E::SET_SESSION),
        (
            "SET a := (@b := 1)",
            E::SET_SESSION | E::ASSIGNS_USER_VARIABLE | E::USES_USER_VARIABLE,
        ),
        ("SET autocommit=0", E::SET_SESSION | E::SET_AUTOCOMMIT),
        (
            "set @@autocommit = ON",
            E::SET_SESSION | E::SET_AUTOCOMMIT | E::UNREPORTED,
        ),
        (
            "SET @@session.autocommit=1",
            E::SET_SESSION | E::SET_AUTOCOMMIT,
        ),
        (
            "SET @@session.`autocommit`=1",
            E::SET_SESSION | E::SET_AUTOCOMMIT,
        ),
        ("SET `autocommit`=1", E::SET_SESSION | E::SET_AUTOCOMMIT),
        (
            "SET LOCAL AutoCommit=DEFAULT",
            E::SET_SESSION | E::SET_AUTOCOMMIT,
        ),
        ("SET GLOBAL autocommit=1", E::SET_GLOBAL),
        (
            "SET @v=(SELECT 1), autocommit=0",
            E::ASSIGNS_USER_VARIABLE | E::SET_SESSION | E::SET_AUTOCOMMIT,
        ),
        (
            "SET @v=CONCAT('a,autocommit=0', 'b'), sql_mode=''",
            E::ASSIGNS_USER_VARIABLE | E::SET_SESSION,
        ),
        ("SET @autocommit=0", E::ASSIGNS_USER_VARIABLE),
        ("SET TRANSACTION READ ONLY", E::SET_NEXT_TRANSACTION),
        (
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
            E::SET_NEXT_TRANSACTION,
        ),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
            E::SET_SESSION,
        ),
        (
            "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
            E::SET_GLOBAL,
        ),
        ("SET transaction_isolation='SERIALIZABLE'", E::SET_SESSION),
        (
            "SET @@transaction_isolation='SERIALIZABLE'",
            E::SET_NEXT_TRANSACTION,
        ),
        ("SET @@session.tx_read_only=1", E::SET_SESSION),
        ("SET PASSWORD FOR 'u'@'h' = 'x'", E::SET_OTHER),
        ("SET DEFAULT ROLE r TO u", E::SET_OTHER),
        ("SET ROLE NONE", E::SET_OTHER),
        ("SET RESOURCE GROUP g", E::SET_OTHER),
        ("SET a = f()", E::SET_SESSION | E::UNKNOWN_FUNCTION),
        (
            "SET @a = LAST_INSERT_ID(), b = GET_LOCK('x', 1)",
            E::ASSIGNS_USER_VARIABLE | E::LAST_INSERT_ID | E::SET_SESSION | E::GET_LOCK,
        ),
        ("SET STATEMENT a=1, b='x' FOR SELECT 1", E::empty()),
        ("SET STATEMENT a=1 FOR CALL p()", E::CALL),
        ("FLUSH NO_WRITE_TO_BINLOG Optimizer_Costs", E::SET_GLOBAL),
        ("flush optimizer_costs", E::SET_GLOBAL),
        ("FLUSH STATUS, TABLES", E::empty()),
        (
            "set names utf8; SELECT 1",
            E::SET_SESSION | E::MULTI_STATEMENT,
        ),
    ]);
}

#[test]
fn functions_and_variables() {
    assert_effects(&[
        (
            "SELECT GET_LOCK('a',1), RELEASE_LOCK('b')",
            E::GET_LOCK | E::RELEASES_LOCK,
        ),
        ("INSERT INTO t VALUES (GET_LOCK('a',1))", E::GET_LOCK),
        ("DO RELEASE_ALL_LOCKS()", E::RELEASES_LOCK),
        ("SELECT service_get_write_locks('a', 'b', 1)", E::CALL),
        ("DO Version_Tokens_Lock_Shared('a', 1)", E::CALL),
        ("DO GET_LOCK('a', 1)", E::GET_LOCK),
        ("DO (GET_LOCK('a', 1))", E::GET_LOCK),
        ("SELECT t.get_lock, get_lock FROM t", E::empty()),
        ("SELECT db.get_lock(1)", E::UNKNOWN_FUNCTION),
        ("SELECT LAST_INSERT_ID()", E::LAST_INSERT_ID),
        ("INSERT INTO t VALUES (LAST_INSERT_ID())", E::LAST_INSERT_ID),
        ("UPDATE t SET x=LAST_INSERT_ID(x+1)", E::LAST_INSERT_ID),
        ("SELECT @@identity", E::LAST_INSERT_ID),
        (
            "SELECT FOUND_ROWS(), ROW_COUNT()",
            E::FOUND_ROWS | E::ROW_COUNT,
        ),
        ("SELECT SQL_CALC_FOUND_ROWS * FROM t", E::CALC_FOUND_ROWS),
        ("SELECT connection_id()", E::CONNECTION_ID),
        ("SELECT @@pseudo_thread_id", E::CONNECTION_ID),
        ("SELECT @@warning_count", E::DIAGNOSTICS),
        ("SHOW WARNINGS", E::DIAGNOSTICS),
        ("SHOW COUNT(*) ERRORS", E::DIAGNOSTICS),
        (
            "GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT",
            E::DIAGNOSTICS | E::ASSIGNS_USER_VARIABLE | E::USES_USER_VARIABLE,
        ),
        ("SELECT @a", E::USES_USER_VARIABLE),
        ("SELECT '@a', `@b`", E::empty()),
        (
            "SELECT @a INTO @b",
            E::USES_USER_VARIABLE | E::ASSIGNS_USER_VARIABLE,
        ),
        (
            "SELECT @a:=1",
            E::USES_USER_VARIABLE | E::ASSIGNS_USER_VARIABLE,
        ),
        (
            "UPDATE t SET a=(@a:=@a+1)",
            E::USES_USER_VARIABLE | E::ASSIGNS_USER_VARIABLE,
        ),
        ("INSERT INTO t VALUES (@a)", E::USES_USER_VARIABLE),
        ("SELECT a FROM t FOR UPDATE", E::LOCKING_READ),
        ("SELECT a FROM t LOCK IN SHARE MODE", E::LOCKING_READ),
        ("SELECT f(1)", E::UNKNOWN_FUNCTION),
        ("SELECT `f` (1)", E::UNKNOWN_FUNCTION),
        ("SELECT db.f(1), `db`.`concat`('x')", E::UNKNOWN_FUNCTION),
        ("SELECT 1f(2)", E::UNKNOWN_FUNCTION),
        (
            "SELECT a FROM t WHERE x = (SELECT my_func(b) FROM u)",
            E::UNKNOWN_FUNCTION,
        ),
        (
            "WITH c (n) AS (SELECT f(1)) SELECT * FROM c",
            E::UNKNOWN_FUNCTION,
        ),
        (
            "WITH c (n) AS (SELECT 1), d (m) AS (SELECT 2) SELECT * FROM c",
            E::empty(),
        ),
        (
            "WITH c (n) AS (SELECT 1) SELECT f(n) FROM c",
            E::UNKNOWN_FUNCTION,
        ),
        ("INSERT INTO t (a) VALUES (1)", E::empty()),
        ("SELECT @@session.tx_read_only", E::SERVER_STATE),
        ("SHOW VARIABLES", E::SERVER_STATE | E::SHOWS_TRACKING),
        (
            "SHOW SESSION VARIABLES LIKE 'session%'",
            E::SERVER_STATE | E::SHOWS_TRACKING,
        ),
        (
            "SHOW VARIABLES WHERE Variable_name = 'x'",
            E::SERVER_STATE | E::SHOWS_TRACKING,
        ),
        ("SHOW VARIABLES LIKE 'version'", E::SERVER_STATE),
        ("SHOW GLOBAL VARIABLES", E::SERVER_STATE),
        (
            "SELECT @@session.session_track_gtids",
            E::SERVER_STATE | E::SHOWS_TRACKING,
        ),
        (
            "SELECT * FROM performance_schema.session_variables",
            E::SERVER_STATE | E::SHOWS_TRACKING,
        ),
        (
            "SET session_track_schema = OFF",
            E::SET_SESSION | E::SETS_TRACKING,
        ),
        (
            "SET @@session.session_track_gtids = OWN_GTID, a = 1",
            E::SET_SESSION | E::SETS_TRACKING,
        ),
        (
            "SELECT * FROM information_schema.processlist",
            E::SERVER_STATE,
        ),
    ]);
}

#[test]
fn unknown_functions_alone_leave_a_read_a_read() {
    assert_access(
        &[
            "SELECT f()",
            "SELECT db.f(a) FROM t",
            "SELECT `My Func`(1)",
            "WITH c AS (SELECT f()) SELECT 1",
        ],
        Access::Read,
    );
}

#[test]
fn what_pins() {
    assert_effects(&[
        (
            "CREATE TEMPORARY TABLE t (a INT)",
            E::CREATES_TEMPORARY_TABLE,
        ),
        (
            "create or replace temporary table t select 1",
            E::CREATES_TEMPORARY_TABLE,
        ),
        (
            "CREATE /* x */ TEMPORARY\nTABLE IF NOT EXISTS t LIKE u",
            E::CREATES_TEMPORARY_TABLE,
        ),
        ("CREATE TEMPORARY SEQUENCE s", E::CREATES_TEMPORARY_TABLE),
        ("CREATE TABLE temporary (a INT)", E::empty()),
        ("DROP TEMPORARY TABLE t", E::empty()),
        ("LOCK TABLES t READ, u WRITE", E::LOCKS_TABLES),
        ("LOCK TABLE t READ", E::LOCKS_TABLES),
        ("LOCK INSTANCE FOR BACKUP", E::FLUSHES_WITH_LOCK | E::CALL),
        ("UNLOCK TABLES", E::UNLOCKS_TABLES),
        ("UNLOCK INSTANCE", E::empty()),
        ("FLUSH TABLES WITH READ LOCK", E::FLUSHES_WITH_LOCK),
        (
            "FLUSH LOCAL TABLES t, u WITH\nREAD LOCK",
            E::FLUSHES_WITH_LOCK,
        ),
        ("FLUSH TABLES t FOR EXPORT", E::FLUSHES_WITH_LOCK),
        ("FLUSH TABLES", E::empty()),
        ("BACKUP STAGE START", E::FLUSHES_WITH_LOCK | E::CALL),
        ("BACKUP STAGE END", E::empty()),
        ("BACKUP LOCK t", E::FLUSHES_WITH_LOCK | E::CALL),
        ("BACKUP UNLOCK", E::empty()),
        ("HANDLER d.t OPEN AS h", E::HANDLER_OPEN),
        ("HANDLER h READ NEXT", E::empty()),
        ("PREPARE s FROM @q", E::PREPARES),
        ("EXECUTE s", E::CALL),
        ("EXECUTE s USING @a", E::CALL | E::USES_USER_VARIABLE),
        ("EXECUTE IMMEDIATE 'SELECT 1'", E::CALL | E::PREPARES),
        ("DEALLOCATE PREPARE s", E::empty()),
        ("CALL p(1)", E::CALL),
        ("CALL p(@a)", E::CALL | E::USES_USER_VARIABLE),
        ("USE `d`", E::USE),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", E::LOCAL_INFILE),
        (
            "LOAD DATA CONCURRENT LOCAL INFILE 'x' INTO TABLE t",
            E::LOCAL_INFILE,
        ),
        ("LOAD XML LOCAL INFILE 'x' INTO TABLE t", E::LOCAL_INFILE),
        ("LOAD DATA INFILE 'local' INTO TABLE t", E::empty()),
        ("IF 1 THEN SELECT 1", E::CALL),
        ("lbl: BEGIN NOT ATOMIC END", E::CALL),
        ("CREATE USER 'a'@'b'", E::empty()),
        ("GRANT SELECT ON *.* TO a@b", E::empty()),
    ]);
}

#[test]
fn the_body_of_a_stored_program_does_not_run_now() {
    assert_effects(&[
        ("CREATE PROCEDURE p() SET @a = 1", E::empty()),
        ("CREATE PROCEDURE p() BEGIN SET autocommit=0; SELECT GET_LOCK('a',1); END", E::empty()),
        ("CREATE DEFINER=a@b FUNCTION f() RETURNS INT BEGIN IF a THEN SET @x=1; END IF; RETURN CASE WHEN 1 THEN 2 END; END", E::empty()),
        ("CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN CASE x WHEN 1 THEN SET @a=1; END CASE; END;", E::empty()),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN WHILE 1 DO BEGIN END; END WHILE; END", E::empty()),
        ("ALTER EVENT e DO BEGIN CALL p(); END", E::empty()),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; END; SET @a=1", E::MULTI_STATEMENT | E::ASSIGNS_USER_VARIABLE),
        ("CREATE PROCEDURE p() SELECT 1; CALL p()", E::MULTI_STATEMENT | E::CALL),
    ]);
    assert!(of("CREATE PROCEDURE p() BEGIN SELECT 1;")
        .effects
        .contains(E::UNREAD | E::CALL));
}

#[test]
fn a_variable_set_without_a_scope_is_told_apart() {
    for (sql, unreported) in [
        ("SET @@time_zone = 'x'", true),
        ("/*!50000 SET @@time_zone = 'x' */", true),
        ("SET time_zone = 'x', @@`sql_mode` = ''", true),
        ("SELECT 1; SET @@sql_mode = ''", true),
        (
            "SET STATEMENT max_statement_time = 1 FOR SET @@sql_mode = ''",
            true,
        ),
        ("SET @@autocommit = 0", true),
        ("SET @@session.time_zone = @@time_zone", false),
        ("SET time_zone = @@time_zone", false),
        ("SET @@tx_isolation = 'SERIALIZABLE'", false),
        ("SET @@global.sql_mode = ''", false),
    ] {
        assert_eq!(of(sql).effects.contains(E::UNREPORTED), unreported, "{sql}");
    }
}

#[test]
fn the_effects_of_all_statements_of_a_batch_are_united() {
    assert_effects(&[
        ("SELECT 1; SELECT 2", E::MULTI_STATEMENT),
        (
            "BEGIN; SELECT a FROM t FOR UPDATE; COMMIT;",
            E::MULTI_STATEMENT | E::BEGIN | E::LOCKING_READ | E::END_TRANSACTION,
        ),
        ("USE d;select 1", E::MULTI_STATEMENT | E::USE),
        (
            "SHOW WARNINGS; SET autocommit = 0",
            E::MULTI_STATEMENT | E::DIAGNOSTICS | E::SET_SESSION | E::SET_AUTOCOMMIT,
        ),
        (
            "SHOW CREATE; CALL p()",
            E::MULTI_STATEMENT | E::SERVER_STATE | E::CALL,
        ),
        ("DESC format; CALL p()", E::MULTI_STATEMENT | E::CALL),
        ("; BEGIN", E::MULTI_STATEMENT | E::BEGIN),
        ("EXPLAIN SET a=1; BEGIN", E::MULTI_STATEMENT | E::BEGIN),
    ]);
}
