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
    assert!(!denies_in(
        &rules,
        "SELECT 1 /*M!999999 ; DELETE FROM t */",
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
    let context = Context {
        schema: None,
        dialect: mysql(),
    };
    assert!(judge(&rules, b"SELECT 1", false, context).denied.is_some());
}

#[test]
fn a_rule_matches_what_meets_all_that_it_names_and_one_that_logs_does_not_deny() {
    let rules = rules(
        "[[policy]]\nname = \"a\"\naction = \"log\"\nkinds = [\"select\"]\n\
         [[policy]]\nname = \"b\"\naction = \"deny\"\nkinds = [\"delete\"]\ntables = [\"audit\"]\n\
         [[policy]]\nname = \"c\"\naction = \"deny\"\nmulti_statement = true\n",
    );
    let context = Context {
        schema: None,
        dialect: mysql(),
    };
    let verdict = |sql: &str| judge(&rules, sql.as_bytes(), true, context);
    let denied = |at, noted| Verdict {
        denied: Some(at),
        noted,
        learns: 0,
    };
    assert_eq!(
        verdict("SELECT a FROM audit"),
        Verdict {
            denied: None,
            noted: 1,
            learns: 0
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
            learns: 0
        }
    );
}

#[test]
fn a_digest_stands_for_all_texts_that_differ_in_literals() {
    let digest = sniff::digest(b"SELECT a FROM t WHERE b = 1", mysql());
    let rules = rule(&format!("digests = [\"{digest:016x}\"]"));
    assert!(denies(&rules, "select a from t where b=27"));
    assert!(!denies(&rules, "SELECT a FROM t WHERE c = 1"));
}

#[test]
fn a_command_without_text_is_judged_by_what_it_does() {
    let rules = rule("kinds = [\"drop\"]");
    let context = Context {
        schema: None,
        dialect: mysql(),
    };
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
    let context = Context {
        schema: None,
        dialect: mysql(),
    };
    let verdict = |rules: &[Policy], sql: &str| judge(rules, sql.as_bytes(), true, context);
    assert_eq!(verdict(&rules, "SELECT 1").denied, Some(0));
    rules[0].known = std::sync::Arc::new([sniff::digest(b"SELECT 1", mysql())].into());
    assert_eq!(verdict(&rules, "select 27"), Verdict::default());
    assert_eq!(verdict(&rules, "SELECT a FROM t").denied, Some(0));
    assert_eq!(verdict(&rules, "SELECT 1; SELECT 1").denied, Some(0));
    rules[0].action = Action::Learn;
    assert_eq!(verdict(&rules, "select 27"), Verdict::default());
    let unknown = verdict(&rules, "SELECT a FROM t");
    assert_eq!(
        (unknown.denied, unknown.noted, unknown.learns),
        (None, 0, 1)
    );
}
