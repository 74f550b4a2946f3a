use super::*;

#[test]
fn what_only_reads_is_proven_to() {
    assert_access(corpus::READS, Access::Read);
}

#[test]
fn what_writes_locks_or_needs_the_session_is_never_a_read() {
    assert_never_read(corpus::NOT_READS);
}

#[test]
fn statements_that_change_data_are_writes() {
    #[rustfmt::skip]
    assert_access(&[
        "INSERT INTO t VALUES (1)", "REPLACE INTO t VALUES (1)", "UPDATE t SET a=1", "DELETE FROM t", "TRUNCATE t",
        "WITH c AS (SELECT 1) UPDATE t SET a = 1", "WITH c AS (SELECT 1) DELETE FROM t",
        "WITH c AS (SELECT a FROM t FOR UPDATE) DELETE FROM t",
        "EXPLAIN ANALYZE UPDATE t SET a = 1", "ANALYZE FORMAT=JSON DELETE FROM t",
        "CREATE TABLE t (a INT)", "DROP TABLE t", "ALTER TABLE t ADD b INT", "GRANT SELECT ON *.* TO u",
        "SELECT a INTO OUTFILE 'x' FROM t", "SELECT NEXTVAL(s)", "SELECT NEXT VALUE FOR s", "SELECT 1; DELETE FROM t",
        "SET PASSWORD = 'x'", "LOAD DATA INFILE 'x' INTO TABLE t", "START REPLICA", "/*! UPDATE t SET a=1 */",
    ], Access::Write);
}

#[test]
fn what_only_concerns_the_session_is_unsure() {
    #[rustfmt::skip]
    assert_access(&[
        "SET autocommit=0", "SET @a=1", "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "USE d", "CALL p()", "DO f()",
        "SELECT 1 INTO @a", "SELECT GET_LOCK('a',1)", "SELECT a FROM t FOR UPDATE", "SHOW WARNINGS", "SHOW VARIABLES",
        "LOCK TABLES t READ", "XA START 'x'", "PREPARE s FROM 'x'", "", "nonsense", "SELECT 1; SELECT 2",
    ], Access::Unsure);
}

#[test]
fn a_trailing_semicolon_is_not_a_second_statement() {
    for sql in [
        "SELECT 1;",
        "SELECT 1 ;\r\n",
        "SELECT 1; -- done",
        "SELECT 1;;",
        "SELECT 1; /* x */ # y",
        "SELECT 1; --",
    ] {
        assert_eq!(of(sql).access, Access::Read, "{sql}");
        assert_eq!(of(sql).effects, Effects::empty(), "{sql}");
    }
}

#[test]
fn the_verb_is_the_first_word_outside_comments_and_parentheses() {
    for (sql, verb) in [
        ("/* INSERT */ SELECT 1", Verb::Select),
        ("((select 1))", Verb::Select),
        ("-- x\n  # y\n update t set a=1", Verb::Update),
        ("/*!40000 DELETE */ FROM t", Verb::Delete),
        ("/*!99999 SELECT */ DELETE FROM t", Verb::Delete),
        ("with c as (select 1) delete from t", Verb::With),
        ("TABLE t", Verb::Table),
        ("desc t", Verb::Describe),
        ("explain select 1", Verb::Explain),
        ("analyze table t", Verb::Analyze),
        (
            "set statement max_statement_time=1 for select 1",
            Verb::Select,
        ),
        ("set @a=1", Verb::Set),
        ("; delete from t", Verb::Empty),
        ("", Verb::Empty),
        (" /* nothing */ ", Verb::Empty),
        ("`select` 1", Verb::Other),
        ("selec", Verb::Other),
    ] {
        assert_eq!(of(sql).verb, verb, "{sql}");
    }
}

#[test]
fn a_part_of_a_statement_is_never_proven_to_read() {
    let got = sniff(b"SELECT a FROM t WHERE b = 'x", false, MYSQL);
    assert_eq!((got.verb, got.access), (Verb::Select, Access::Unsure));
    assert!(got.effects.contains(Effects::UNREAD));
    assert_eq!(
        sniff(b"INSERT INTO t VALUES ('", false, MYSQL).access,
        Access::Write
    );
}

#[test]
fn hints_are_seen_before_and_right_after_the_first_keyword_only() {
    for (sql, hint) in [
        ("/* umpire:primary */ SELECT 1", Some(Hint::Primary)),
        ("/*umpire:replica*/SELECT 1", Some(Hint::Replica)),
        ("SELECT /* UMPIRE:Primary */ 1", Some(Hint::Primary)),
        ("(/* umpire:replica */ SELECT 1)", Some(Hint::Replica)),
        ("( SELECT /* umpire:replica */ 1)", Some(Hint::Replica)),
        ("-- umpire:primary\nSELECT 1", Some(Hint::Primary)),
        ("# umpire:replica\nSELECT 1", Some(Hint::Replica)),
        ("/* app=x, umpire:replica */ SELECT 1", Some(Hint::Replica)),
        (
            "/* umpire:replica */ /* umpire:primary */ SELECT 1",
            Some(Hint::Primary),
        ),
        (
            "/* umpire:primary */ /* umpire:replica */ SELECT 1",
            Some(Hint::Primary),
        ),
        (
            "SHOW /* umpire:replica */ SLAVE STATUS",
            Some(Hint::Replica),
        ),
        ("SELECT 1 /* umpire:primary */", None),
        ("SELECT 1; /* umpire:primary */ SELECT 2", None),
        ("SELECT '/* umpire:primary */'", None),
        ("/* umpire:primary2 */ SELECT 1", None),
        ("/* xumpire:primary */ SELECT 1", None),
        ("/* select */ SELECT 1", None),
    ] {
        assert_eq!(of(sql).hint, hint, "{sql}");
    }
    assert_eq!(
        of("/* umpire:replica */ DELETE FROM t").access,
        Access::Write
    );
}

#[test]
fn only_what_changes_data_is_said_to() {
    for sql in [
        "SELECT 1",
        "SELECT a FROM t FOR UPDATE",
        "SET a=1",
        "SELECT 1 INTO @a",
        "SHOW STATUS",
        "BEGIN",
        "USE d",
        "",
    ] {
        assert!(!of(sql).may_change_data(), "{sql}");
    }
    for sql in [
        "DELETE FROM t",
        "CALL p()",
        "SELECT f()",
        "COMMIT",
        "SELECT 1; SELECT 2",
        "DO f()",
        "SELECT '",
        "EXECUTE s",
    ] {
        assert!(of(sql).may_change_data(), "{sql}");
    }
}

#[test]
fn a_plain_set_is_told_from_one_that_reaches_further() {
    for sql in [
        "SET autocommit=0",
        "SET a=1, @b=2",
        "SET NAMES utf8",
        "SET SESSION TRANSACTION READ ONLY",
    ] {
        assert!(of(sql).sets_only_session(), "{sql}");
    }
    for sql in [
        "SET GLOBAL a=1",
        "SET PASSWORD='x'",
        "SET a=f()",
        "SET a=1; DELETE FROM t",
        "SELECT 1",
        "SET ROLE r",
    ] {
        assert!(!of(sql).sets_only_session(), "{sql}");
    }
}
