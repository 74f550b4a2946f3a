//! Verdicts that are kept are those that judging again would give.
use super::*;
use crate::sniff::{Memo, TextId};

/// `#` stands for a digit.
const TEXTS: &[&str] = &[
    "SELECT c FROM sbtest# WHERE id=####",
    "SELECT * FROM salaries WHERE id = ##",
    "SELECT * FROM shop.salaries LIMIT ##",
    "SELECT * FROM t#",
    "SELECT * FROM t LIMIT ###",
    "SELECT * FROM t WHERE # = #",
    "SELECT * FROM t WHERE id = #",
    "SELECT * FROM salaries#, t WHERE id IN (#, ##)",
    "UPDATE t SET a = ## WHERE # = #",
    "UPDATE t SET a = ## WHERE id = #",
    "UPDATE t SET a = ##",
    "DELETE FROM t WHERE #",
    "DELETE FROM t WHERE \"a\" = #",
    "DELETE FROM t WHERE id > # LIMIT #",
    "INSERT INTO salaries VALUES (#, ##)",
    "REPLACE INTO t VALUES (#)",
    "SELECT # /*!##### INTO OUTFILE '/tmp/x' */ FROM t WHERE a = #",
    "SELECT # /*!99999 FROM salaries */",
    "SELECT ## /*!99999 ` */ , ### , ` */ FROM t WHERE a = #",
    "SELECT # FROM t WHERE name = 'd\u{fc}r##' AND id = #",
    "SELECT f(##), sleep(#) FROM t WHERE id = #",
];

fn filled(text: &str, state: &mut u64) -> String {
    let mut digit = || {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + (*state >> 60) as u8 % 10)
    };
    let each = text.chars().map(|c| if c == '#' { digit() } else { c });
    each.collect()
}

fn dialects() -> [Dialect; 4] {
    let ansi = Dialect {
        ansi_quotes: true,
        no_backslash_escapes: true,
        ..mysql()
    };
    let ambiguous = Dialect {
        ambiguous_bytes: true,
        ..mysql()
    };
    [mysql(), mariadb(), ansi, ambiguous]
}

const SEVERAL_RULES: &str = "[[policy]]\nname = \"a\"\naction = \"deny\"\nno_where = true\n\
     [[policy]]\nname = \"b\"\naction = \"deny\"\ntables = [\"shop.salaries\"]\n\
     [[policy]]\nname = \"c\"\naction = \"log\"\nfull_table_select = true\n";

#[test]
fn what_is_kept_is_what_judging_again_would_say() {
    let wheres = rule("no_where = true\nkinds = [\"delete\"]");
    let sets = [
        rules(SEVERAL_RULES),
        wheres.clone(),
        wheres,
        rule("full_table_select = true"),
        rule("tables = [\"salaries\"]\nkinds = [\"select\"]"),
        rule("opaque = true"),
    ];
    let (mut memo, mut known, mut state, mut recalled) = (Memo::default(), Known::default(), 3, 0);
    for _ in 0..60 {
        for (number, rules) in (1..).zip(&sets) {
            for dialect in dialects() {
                for schema in [None, Some(&b"shop"[..]), Some(b"other")] {
                    for text in TEXTS {
                        let sql = filled(text, &mut state);
                        let context = Context {
                            schema,
                            dialect,
                            several: state % 2 == 0,
                        };
                        let fresh = judge(rules, sql.as_bytes(), true, context);
                        // twice in a row, so that the text is kept
                        for _ in 0..2 {
                            let (_, there) = memo.know(sql.as_bytes(), true, dialect);
                            let Some(text) = there else { continue };
                            recalled +=
                                u32::from(known.recall(text.id, number, &context).is_some());
                            let kept = known.judge(text.id, number, rules, sql.as_bytes(), context);
                            assert_eq!(kept, fresh, "{sql} {context:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(recalled > 10_000, "{recalled}");
}

fn context() -> Context<'static> {
    Context {
        schema: Some(b"shop"),
        dialect: mysql(),
        several: false,
    }
}

/// Judged twice; whether it is known then.
fn is_kept(rules: &[Policy], sql: &str, context: Context<'_>) -> bool {
    let mut known = Known::default();
    let fresh = judge(rules, sql.as_bytes(), true, context);
    for _ in 0..2 {
        assert_eq!(
            known.judge(TextId(1), 1, rules, sql.as_bytes(), context),
            fresh,
            "{sql}"
        );
    }
    known.recall(TextId(1), 1, &context).is_some()
}

#[test]
fn only_that_a_text_may_run_is_kept() {
    let rules = rules(SEVERAL_RULES);
    assert!(is_kept(&rules, "SELECT a FROM t WHERE id = 5", context()));
    assert!(is_kept(&rules, "SELECT * FROM t", context()), "only noted");
    for denied in ["DELETE FROM t", "SELECT a FROM salaries WHERE id = 5"] {
        assert!(!is_kept(&rules, denied, context()), "{denied}");
    }
    let mut learns = rule("allow_list = \"list\"");
    learns[0].action = Action::Learn;
    assert!(!is_kept(&learns, "SELECT a FROM t WHERE id = 5", context()));
}

#[test]
fn a_text_that_is_read_in_two_ways_is_not_kept() {
    let rules = rule("tables = [\"salaries\"]");
    let newer = "SELECT 1 /*!99999 , a */ FROM t WHERE id = 5";
    assert!(!is_kept(&rules, newer, context()));
    let ambiguous = Context {
        dialect: dialects()[3],
        ..context()
    };
    let other = "SELECT a FROM t WHERE name = 'd\u{fc}r'";
    assert!(!is_kept(&rules, other, ambiguous));
    assert!(is_kept(&rules, other, context()));
    assert!(is_kept(&rules, "SELECT a FROM t WHERE id = 5", ambiguous));
}

#[test]
fn a_verdict_is_of_one_text_set_of_rules_schema_and_dialect() {
    let rules = rule("tables = [\"other.salaries\"]");
    let sql = "SELECT a FROM salaries WHERE id = 5";
    let mut known = Known::default();
    known.judge(TextId(1), 1, &rules, sql.as_bytes(), context());
    assert!(known.recall(TextId(1), 1, &context()).is_some());
    assert!(known.recall(TextId(2), 1, &context()).is_none());
    // another user's, or those of a new configuration
    assert!(known.recall(TextId(1), 2, &context()).is_none());
    let [_, _, ansi, _] = dialects();
    let others = [
        Context {
            schema: Some(b"other"),
            ..context()
        },
        Context {
            schema: None,
            ..context()
        },
        Context {
            several: true,
            ..context()
        },
        Context {
            dialect: ansi,
            ..context()
        },
    ];
    for other in others {
        assert!(known.recall(TextId(1), 1, &other).is_none(), "{other:?}");
    }
    let there = known.judge(TextId(1), 1, &rules, sql.as_bytes(), others[0]);
    assert_eq!(there.denied, Some(0));
}

#[test]
fn texts_that_push_each_other_out_get_no_other_texts_verdict() {
    let rules = rule("no_where = true");
    let mut known = Known::default();
    for round in 0..3 {
        for id in 0..5_000 {
            // every third one is denied
            let sql = match id % 3 {
                0 => format!("DELETE FROM t{id}"),
                _ => format!("DELETE FROM t{id} WHERE a = 5"),
            };
            let verdict = known.judge(TextId(id), 1, &rules, sql.as_bytes(), context());
            assert_eq!(verdict.denied.is_some(), id % 3 == 0, "{sql} {round}");
        }
    }
}

#[test]
fn a_kept_verdict_is_met_without_allocation() {
    let (rules, mut known) = (rule("no_where = true"), Known::default());
    let sql = b"DELETE FROM t WHERE a = 5";
    known.judge(TextId(1), 1, &rules, sql, context());
    let before = crate::net::testing::allocations();
    known.judge(TextId(1), 1, &rules, sql, context());
    assert_eq!(crate::net::testing::allocations(), before);
}
