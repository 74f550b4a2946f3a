mod known;

use super::*;
use crate::config::{parse, KINDS};
use crate::sniff::sniff;

fn rules(sections: &str) -> Vec<Policy> {
    let text = format!(
        "[proxy]\nlisten = [\"127.0.0.1:1\"]\n[[group]]\nname = \"g\"\nservers = [{{ address = \"127.0.0.1:2\", role = \"primary\" }}]\n\
         [[user]]\nname = \"app\"\npassword = \"x\"\ngroup = \"g\"\n{sections}"
    );
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    parse(&text, "test.toml", &no_files)
        .unwrap_or_else(|e| panic!("{e}"))
        .policies
}

fn rule(keys: &str) -> Vec<Policy> {
    rules(&format!(
        "[[policy]]\nname = \"p\"\naction = \"deny\"\n{keys}\n"
    ))
}

fn mysql() -> Dialect {
    Dialect {
        version: 80036,
        ..Dialect::default()
    }
}

fn mariadb() -> Dialect {
    Dialect {
        version: 101_119,
        mariadb: true,
        ..Dialect::default()
    }
}

fn denies_in(rules: &[Policy], sql: &str, dialect: Dialect, schema: &str) -> bool {
    let context = Context {
        schema: (!schema.is_empty()).then_some(schema.as_bytes()),
        dialect,
        several: true,
    };
    judge(rules, sql.as_bytes(), true, context).denied.is_some()
}

fn denies(rules: &[Policy], sql: &str) -> bool {
    denies_in(rules, sql, mysql(), "shop")
}

#[track_caller]
fn all(rules: &[Policy], denied: bool, statements: &[&str]) {
    for sql in statements {
        assert_eq!(denies(rules, sql), denied, "{sql}");
    }
}

#[test]
fn kinds_are_numbered_as_the_sniffer_numbers_its_verbs() {
    for (at, kind) in KINDS.iter().enumerate() {
        let sniffed = sniff(kind.to_uppercase().as_bytes(), true, mysql());
        assert_eq!(sniffed.verb as usize, at, "{kind}");
    }
}

#[test]
fn a_kind_is_found_behind_comments_parentheses_and_other_verbs() {
    let rules = rule("kinds = [\"delete\", \"drop\"]");
    all(
        &rules,
        true,
        &[
            "DELETE FROM t WHERE a = 1",
            "/* x */ dElEtE from t",
            "/*! DELETE */ FROM t",
            "/*!50000 DELETE FROM t */",
            "-- a\n#b\nDELETE FROM t",
            "WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM c)",
            "SELECT 1; DELETE FROM t",
            "SELECT 1;;/**/;DROP TABLE t",
            "PREPARE s FROM 'DELETE FROM t'",
            "PREPARE s FROM 'PREPARE r FROM ''DELETE FROM t'''",
            "PREPARE s FROM \"DEL\\ETE FROM t\"",
            "EXECUTE IMMEDIATE 'DELETE FROM t'",
            "EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ?' USING 1",
            "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
            "ANALYZE DELETE FROM t",
        ],
    );
    all(
        &rules,
        false,
        &[
            "SELECT 'DELETE FROM t'",
            "SELECT 1 /* DELETE */",
            "SELECT `DELETE` FROM t",
            "SELECT a FROM t FOR UPDATE",
            "INSERT INTO t VALUES ('; DROP TABLE t')",
            "EXPLAIN DELETE FROM t",
            "",
            ";",
        ],
    );
    assert!(denies_in(&rules, "/*M! DELETE FROM t */", mariadb(), ""));
    // a server of the group may be newer than what its clients are told
    for text in [
        "SELECT 1 /*!99999 ; DELETE FROM t */",
        "SELECT 1 /*!999999 ; DELETE FROM t */",
        "/*!80400 DELETE FROM t */",
    ] {
        assert!(denies_in(&rules, text, mysql(), ""), "{text}");
    }
    assert!(denies_in(
        &rules,
        "SELECT 1 /*M!999999 ; DELETE FROM t */",
        mariadb(),
        ""
    ));
    assert!(!denies_in(
        &rules,
        "SELECT 1 /*!80400 ; DELETE FROM t */",
        mariadb(),
        ""
    ));
}

#[test]
fn a_select_of_a_whole_table_is_found_in_any_query_block() {
    let rules = rule("full_table_select = true");
    all(
        &rules,
        true,
        &[
            "SELECT * FROM t",
            "select/**/*/**/from`t`",
            "SELECT t.* FROM t",
            "SELECT DISTINCT * FROM t",
            "SELECT SQL_NO_CACHE * FROM t",
            "SELECT a, t.* FROM t ORDER BY a, b",
            "SELECT * FROM a JOIN b ON a.x = b.x",
            "SELECT * FROM (a, b)",
            "SELECT * FROM (SELECT 1) x, t",
            "SELECT * FROM (SELECT * FROM t) x LIMIT 5",
            "SELECT * FROM t WHERE a = 1 UNION SELECT * FROM u",
            "SELECT * FROM t UNION SELECT * FROM u LIMIT 1",
            "INSERT INTO u SELECT * FROM t",
            "CREATE TABLE u AS SELECT * FROM t",
            "WITH c AS (SELECT * FROM t) SELECT a FROM c WHERE a = 1",
            "(SELECT * FROM t)",
            "TABLE t",
            "SELECT * FROM t WHERE 1",
            "SELECT * FROM t WHERE 1 = 1 OR TRUE",
            "SELECT 1; SELECT * FROM t",
            "PREPARE s FROM 'SELECT * FROM t'",
            "SELECT (SELECT b FROM u WHERE u.a = 1) c, t.* FROM t",
            "(TABLE t)",
            "SELECT a FROM t WHERE a = 1 UNION TABLE t",
            "SELECT a FROM t WHERE a = 1 UNION ALL (TABLE t)",
            "SELECT 1 UNION DISTINCT TABLE shop.t",
            "SELECT a FROM t WHERE a = 1 UNION ALL SELECT * FROM u",
            "INSERT INTO u TABLE t",
            "REPLACE INTO u (a) (TABLE t)",
            "CREATE TABLE u TABLE t",
            "CREATE OR REPLACE TABLE u (a INT) IGNORE AS TABLE t",
            "CREATE VIEW v AS TABLE t",
            "WITH c AS (TABLE t) SELECT a FROM c WHERE a = 1",
            "WITH c AS (SELECT 1) TABLE t",
            "SELECT a FROM (TABLE t) x WHERE a = 1",
            "SELECT\u{b}*\u{c}FROM\rt",
            "SELECT * FROM t WHERE NOW()",
            "SELECT * FROM t WHERE (@a) OR @@autocommit",
            "SELECT * FROM (SELECT t.* FROM shop.t AS t) x WHERE a = 1",
        ],
    );
    all(
        &rules,
        false,
        &[
            "SELECT * FROM t WHERE a = 1",
            "SELECT * FROM t WHERE (a) IN (1)",
            "SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a)",
            "SELECT * FROM t LIMIT 10",
            "SELECT COUNT(*) FROM t",
            "SELECT a * b FROM t",
            "SELECT a, b FROM t",
            "SELECT 2 * 3",
            "SELECT * FROM (SELECT a FROM t WHERE a = 1) x ORDER BY a, b",
            "TABLE t LIMIT 5",
            "ANALYZE TABLE t",
            "CHECK TABLE t",
            "DROP TABLE t",
            "CREATE TABLE t (a INT)",
            "CREATE OR REPLACE TEMPORARY TABLE t LIKE u",
            "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u",
            "LOAD DATA INFILE 'x' REPLACE INTO TABLE t",
            "LOCK TABLE t READ",
            "INSERT INTO u TABLE t LIMIT 3",
            "SELECT * FROM t WHERE EXTRACT(YEAR FROM a) = 2020",
            "EXPLAIN SELECT * FROM t",
            "SELECT a FROM t WHERE EXISTS (SELECT * FROM u)",
            "DELETE FROM t",
        ],
    );
}

#[test]
fn an_update_or_delete_needs_a_where_that_names_something() {
    let rules = rule("no_where = true");
    all(
        &rules,
        true,
        &[
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "DELETE FROM t LIMIT 5",
            "DELETE a FROM a JOIN b ON a.x = b.x",
            "UPDATE t SET a = (SELECT b FROM u WHERE u.x = 1)",
            "DELETE FROM t WHERE 1",
            "DELETE FROM t WHERE 'a' = 'a'",
            "DELETE FROM t /* WHERE a = 1 */",
            "DELETE FROM t -- WHERE a = 1",
            "WITH c AS (SELECT a FROM u WHERE a = 1) DELETE FROM t",
            "SELECT 1; UPDATE t SET a = 1",
            "DELETE FROM t ORDER BY a",
            "DELETE FROM t WHERE @a IS NULL",
            "DELETE FROM t WHERE (@a)",
            "DELETE FROM t WHERE @@version",
            "DELETE FROM t WHERE NOW()",
            "DELETE FROM t WHERE {fn NOW()} > 0",
            "DELETE FROM t WHERE CURRENT_TIMESTAMP",
            "DELETE FROM t WHERE PI() > RAND(5)",
            "DELETE FROM t WHERE X'41' = _utf8mb4'A'",
            "DELETE FROM t WHERE DATE'2020-01-01' < N'b'",
            "DELETE FROM t WHERE 'a' COLLATE utf8mb4_bin = 'a'",
            "DELETE FROM t WHERE CAST(1 AS UNSIGNED)",
            "DELETE FROM t WHERE CONVERT('1', SIGNED INTEGER)",
            "DELETE FROM t WHERE CONVERT('1' USING utf8mb4)",
            "DELETE FROM t WHERE NOW() > NOW() - INTERVAL 1 DAY",
            "DELETE FROM t WHERE TIMESTAMPDIFF(DAY, '2020-01-01', NOW())",
            "DELETE FROM t WHERE EXTRACT(YEAR FROM '2020-01-01')",
            "DELETE FROM t WHERE TRIM(LEADING 'x' FROM 'xy')",
            "DELETE FROM t WHERE CASE WHEN 1 THEN TRUE END",
            "DELETE FROM t WHERE 1 IN (SELECT 1 FROM dual)",
            "DELETE FROM t WHERE EXISTS (SELECT 1 FROM mysql.user AS u)",
            "DELETE FROM t WHERE (SELECT 1 x FROM u y FOR UPDATE SKIP LOCKED)",
            "DELETE FROM t WHERE ? = ?",
            "UPDATE t SET a = b WHERE NOT NULL",
        ],
    );
    all(
        &rules,
        false,
        &[
            "UPDATE t SET a = 1 WHERE b = 2",
            "DELETE FROM t WHERE a IN (1, 2)",
            "DELETE FROM t WHERE (a = 1)",
            "DELETE FROM t WHERE (SELECT b FROM u)",
            "DELETE FROM t WHERE status = 1",
            "DELETE FROM t WHERE t.a = 1",
            "DELETE FROM t WHERE `shop`.`t`.`a` > @x",
            "DELETE FROM t WHERE 5 MOD a",
            "DELETE FROM t WHERE year = 2020 AND month = 1",
            "DELETE FROM t WHERE 'x' = LOWER(a)",
            "DELETE FROM t WHERE 1 < COALESCE(NULL, a)",
            "DELETE FROM t WHERE EXTRACT(YEAR FROM a) = 2020",
            "DELETE FROM t WHERE TRIM(a) = ''",
            "DELETE FROM t WHERE CONVERT(a, SIGNED) = 1",
            "DELETE FROM t WHERE CAST(a AS CHAR) = '1'",
            "DELETE FROM t WHERE NOW() > a + INTERVAL 1 DAY",
            "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
            "DELETE FROM t WHERE (1, 2) = (a, b)",
            "DELETE FROM t WHERE ? IN (a, b)",
            "DELETE FROM t WHERE CASE a WHEN 1 THEN 1 END",
            "DELETE FROM t WHERE BINARY a = 'x'",
            "DELETE x FROM t AS x JOIN u USING (a) WHERE x.a = 1",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
            "SELECT a FROM t FOR UPDATE",
            "EXPLAIN UPDATE t SET a = 1",
        ],
    );
}

#[test]
fn a_table_is_found_in_any_spelling_and_only_in_its_schema() {
    let rules = rule("tables = [\"shop.salaries\"]");
    all(
        &rules,
        true,
        &[
            "SELECT a FROM salaries",
            "SELECT a FROM SALARIES",
            "SELECT a FROM `salaries` WHERE b = 1",
            "SELECT a FROM shop.salaries",
            "SELECT a FROM `shop` . `salaries`",
            "SELECT a FROM x JOIN shop/**/./**/salaries",
            "INSERT INTO salaries VALUES (1)",
            "TRUNCATE salaries",
            "HANDLER salaries OPEN",
            "DESC salaries",
            "SHOW COLUMNS FROM salaries",
            "LOAD DATA INFILE 'x' INTO TABLE salaries",
            "CREATE VIEW v AS SELECT 1 FROM salaries",
            "PREPARE s FROM 'SELECT a FROM salaries'",
        ],
    );
    all(
        &rules,
        false,
        &[
            "SELECT a FROM other.salaries",
            "SELECT 'salaries' FROM t",
            "SELECT a FROM salaries_2",
            "SELECT a FROM t /* salaries */",
        ],
    );
    assert!(!denies_in(
        &rules,
        "SELECT a FROM salaries",
        mysql(),
        "other"
    ));
    assert!(denies_in(
        &rules,
        "USE shop; SELECT a FROM salaries",
        mysql(),
        "other"
    ));
    let ansi = Dialect {
        ansi_quotes: true,
        ..mysql()
    };
    assert!(denies_in(
        &rules,
        "SELECT a FROM \"salaries\"",
        ansi,
        "shop"
    ));
    assert!(!denies(&rules, "SELECT \"salaries\""));
}

#[test]
fn what_cannot_be_seen_through_is_said_to_be_so() {
    let rules = rule("opaque = true");
    all(
        &rules,
        true,
        &[
            "CALL p()",
            "PREPARE s FROM @text",
            "EXECUTE IMMEDIATE @text",
            "EXECUTE IMMEDIATE CONCAT('DEL', 'ETE')",
            "EXECUTE IMMEDIATE 'DEL' 'ETE FROM t'",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "IF 1 THEN DELETE FROM t; END IF",
            "CREATE PROCEDURE p() DELETE FROM t",
            "CREATE DEFINER = x TRIGGER g BEFORE INSERT ON t FOR EACH ROW DELETE FROM u",
            "SET sql_mode = 'ANSI_QUOTES'; SELECT \"a\" FROM t",
            "SELECT 'no end",
            "SELECT 1 /* no end",
            "PREPARE s FROM 'CALL p()'",
        ],
    );
    all(
        &rules,
        false,
        &[
            "SELECT 1",
            "SET autocommit = 1",
            "EXECUTE s USING @a",
            "PREPARE s FROM 'SELECT 1'",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "BEGIN",
            "CREATE TABLE t (a INT)",
            "SELECT f(1)",
        ],
    );
    assert!(judge(&rules, b"SELECT 1", false, NONE).denied.is_some());
}

/// A command of which only the beginning is looked at.
#[test]
fn what_stands_beyond_the_end_that_is_looked_at_is_no_way_around_a_policy() {
    let denies = |keys: &str, sql: &str, several: bool| {
        let context = Context { several, ..NONE };
        let verdict = judge(&rule(keys), sql.as_bytes(), false, context);
        assert_eq!(verdict.unseen, verdict.denied.is_some(), "{keys}: {sql}");
        verdict.denied.is_some()
    };
    let big = "/* a long comment";
    for (keys, sql) in [
        ("kinds = [\"delete\"]", big),
        ("kinds = [\"delete\"]", "/* and */ "),
        (
            "kinds = [\"insert\"]\ntables = [\"shop.t\"]",
            "INSERT INTO u VALUES ('",
        ),
        ("tables = [\"t\"]", "SELECT 'a"),
        ("digests = [\"0000000000000001\"]", "SELECT 1 /* "),
        ("full_table_select = true", "SELECT a /* "),
        ("no_where = true", "WITH c AS (SELECT '"),
    ] {
        assert!(denies(keys, sql, false), "{keys}: {sql}");
    }
    // nothing that may follow changes what these do
    for (keys, sql) in [
        ("kinds = [\"delete\"]", "INSERT INTO u VALUES ('"),
        (
            "kinds = [\"delete\"]\ntables = [\"t\"]",
            "INSERT INTO u VALUES ('",
        ),
        ("no_where = true", "INSERT INTO u VALUES ('"),
        ("multi_statement = true", "INSERT INTO u VALUES ('"),
    ] {
        assert!(!denies(keys, sql, false), "{keys}: {sql}");
        // unless it is another statement
        assert!(denies(keys, sql, true), "{keys}: {sql}");
    }
    let noted = rules("[[policy]]\nname = \"p\"\naction = \"log\"\nkinds = [\"delete\"]\n");
    let verdict = judge(&noted, b"/* ", false, NONE);
    assert_eq!(verdict, Verdict::default());
}

/// The second byte of a character may be a backslash, which then escapes nothing, and a byte that begins a character in
/// one set stands alone in another.
#[test]
fn characters_of_two_bytes_hide_nothing() {
    let rules = rule("kinds = [\"delete\"]");
    let dialect = Dialect {
        ambiguous_bytes: true,
        ..mysql()
    };
    let denies = |sql: &[u8]| {
        let context = Context { dialect, ..NONE };
        judge(&rules, sql, true, context).denied.is_some()
    };
    // gbk, sjis and big5 end the string at the second quote
    assert!(denies(b"SELECT '\xbf\\' ; DELETE FROM t -- '"));
    assert!(denies(b"SELECT '\x83\\' ; DELETE FROM t -- '"));
    assert!(denies(b"SELECT '\xa5\\' ; DELETE FROM t -- '"));
    // 0xb1 is a character of its own in sjis, 0x85 none in big5: there the backslash escapes
    assert!(denies(b"SELECT '\xb1\\'' ; DELETE FROM t -- '"));
    assert!(denies(b"SELECT '\x85\\'' ; DELETE FROM t -- '"));
    assert!(!denies(b"SELECT '\xc4\xe3\xba\xc3' FROM t"));
    assert!(!denies(b"SELECT '\x83\\' FROM t"));
}

const NONE: Context<'_> = Context {
    schema: None,
    dialect: Dialect {
        ansi_quotes: false,
        no_backslash_escapes: false,
        ambiguous_bytes: false,
        mariadb: false,
        version: 80036,
    },
    several: false,
};

#[test]
fn a_rule_matches_what_meets_all_that_it_names_and_one_that_logs_does_not_deny() {
    let rules = rules(
        "[[policy]]\nname = \"a\"\naction = \"log\"\nkinds = [\"select\"]\n\
         [[policy]]\nname = \"b\"\naction = \"deny\"\nkinds = [\"delete\"]\ntables = [\"audit\"]\n\
         [[policy]]\nname = \"c\"\naction = \"deny\"\nmulti_statement = true\n",
    );
    let context = NONE;
    let verdict = |sql: &str| judge(&rules, sql.as_bytes(), true, context);
    let denied = |at, noted| Verdict {
        denied: Some(at),
        noted,
        learns: 0,
        unseen: false,
    };
    assert_eq!(
        verdict("SELECT a FROM audit"),
        Verdict {
            denied: None,
            noted: 1,
            learns: 0,
            unseen: false,
        }
    );
    assert_eq!(verdict("DELETE FROM audit"), denied(1, 0));
    assert_eq!(verdict("DELETE FROM t"), Verdict::default());
    // each statement by itself
    assert_eq!(verdict("DELETE FROM t; SELECT a FROM audit"), denied(2, 1));
    assert_eq!(
        verdict("SELECT 1;"),
        Verdict {
            denied: None,
            noted: 1,
            learns: 0,
            unseen: false,
        }
    );
}

#[test]
fn a_digest_stands_for_all_texts_that_differ_in_literals() {
    let digest = sniff::digest(b"SELECT a FROM t WHERE b = 1", mysql());
    let rules = rule(&format!("digests = [\"{digest:016x}\"]"));
    assert!(denies(&rules, "select a from t where b=27"));
    // also as one of several statements, and as a text to prepare
    for sql in [
        "select a from t where b=27;",
        "SELECT 1; select a from t where b=27",
        "/*!50000 select a from t where b = 5 */; SELECT 1",
        "PREPARE s FROM 'select a from t where b=27'",
        "EXECUTE IMMEDIATE 'select a from t where b=?' USING 1",
    ] {
        assert!(denies(&rules, sql), "{sql}");
    }
    assert!(!denies(&rules, "SELECT a FROM t WHERE c = 1"));
}

#[test]
fn a_command_without_text_is_judged_by_what_it_does() {
    let rules = rule("kinds = [\"drop\"]");
    let context = NONE;
    assert!(judge_command(&rules, Verb::Drop, None, context)
        .denied
        .is_some());
    assert!(judge_command(&rules, Verb::Use, None, context)
        .denied
        .is_none());
}

#[test]
fn deep_nesting_and_any_bytes_are_read_in_bounded_time_and_without_a_panic() {
    let rules = rule("full_table_select = true\ntables = [\"t\"]");
    for text in [
        "(",
        "(SELECT * FROM ",
        "PREPARE s FROM '",
        "WITH ",
        "EXISTS(",
        ")",
        "/*!",
        ".",
        "`",
    ] {
        denies(&rules, &text.repeat(20_000));
    }
}

#[test]
fn a_statement_that_is_not_on_the_list_is_learnt_or_denied() {
    let mut rules = rule("allow_list = \"known\"");
    let context = NONE;
    let verdict = |rules: &[Policy], sql: &str| judge(rules, sql.as_bytes(), true, context);
    assert_eq!(verdict(&rules, "SELECT 1").denied, Some(0));
    rules[0].known = std::sync::Arc::new([sniff::digest(b"SELECT 1", mysql())].into());
    assert_eq!(verdict(&rules, "select 27"), Verdict::default());
    assert_eq!(verdict(&rules, "SELECT a FROM t").denied, Some(0));
    assert_eq!(verdict(&rules, "SELECT 1; SELECT 1").denied, Some(0));
    // a statement that is known to prepare from a literal does not let any literal through
    let prepares = sniff::digest(b"PREPARE s FROM 'x'", mysql());
    rules[0].known = std::sync::Arc::new([prepares, sniff::digest(b"SELECT 1", mysql())].into());
    assert_eq!(
        verdict(&rules, "PREPARE s FROM 'SELECT 5'"),
        Verdict::default()
    );
    assert_eq!(
        verdict(&rules, "PREPARE s FROM 'DELETE FROM t'").denied,
        Some(0)
    );
    assert_eq!(verdict(&rules, "PREPARE r FROM 'SELECT 5'").denied, Some(0));
    rules[0].action = Action::Learn;
    assert_eq!(verdict(&rules, "select 27"), Verdict::default());
    let unknown = verdict(&rules, "SELECT a FROM t");
    assert_eq!(
        (unknown.denied, unknown.noted, unknown.learns),
        (None, 0, 1)
    );
}
