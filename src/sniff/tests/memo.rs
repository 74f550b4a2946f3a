use super::super::memo::Memo;
use super::super::About;
use super::{sniff, Dialect, MARIADB, MYSQL};
use std::collections::HashMap;

const DIALECTS: [Dialect; 2] = [
    MARIADB,
    Dialect {
        ansi_quotes: true,
        no_backslash_escapes: true,
        ..MYSQL
    },
];

/// `#` stands for a digit.
const TEXTS: &[&str] = &[
    "SELECT c FROM sbtest# WHERE id=####",
    "SELECT log##(5), sha#('x'), atan#(1, ##), f#(3)",
    "SELECT # /*!##### INTO OUTFILE '/tmp/x' */ FROM t",
    "SELECT # /*M!###### FOR UPDATE */ FROM t",
    "SELECT #e#, #.#, .##, 0x##, x'##', b'##', 0b##, #a, t.#, t.#e# FROM t LIMIT ##",
    "SELECT last_insert_id(##), @v#, @@server_id + #",
    "SELECT '##', \"##\", `t#`.`c##` FROM `##`",
    "SELECT # -- ##\n FROM t#",
    "SELECT # # ##\n, get_lock('a##', ##)",
    "INSERT INTO t# (id, k) VALUES (##, ##), (####, '####')",
    "UPDATE t SET k = k + # WHERE id = ########",
    "DELETE FROM t# WHERE id BETWEEN ## AND ### LIMIT #",
    "REPLACE INTO t VALUES (#)",
    "SET autocommit = #",
    "SET @v = ##, sql_mode = ##",
    "KILL ##",
    "SELECT #; DELETE FROM t WHERE id = ##",
    "SELECT * FROM (SELECT # FROM t#) d LIMIT ##, ##",
    "SELECT sleep(#), nextval#, s.nextval, #nextval",
    "SELECT #### FROM t WHERE name = 'd\u{fc}r##'",
    "/* umpire:replica */ SELECT ## FROM t FOR UPDATE",
    "SELECT '##\\', ## , f##('",
    "SET STATEMENT max_statement_time=## FOR SELECT ##",
];

/// A seeded generator is enough for digits.
fn filled(text: &str, state: &mut u64) -> String {
    let digit = |_: char| {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + (*state >> 60) as u8 % 10)
    };
    let mut digit = digit;
    text.chars()
        .map(|c| if c == '#' { digit(c) } else { c })
        .collect()
}

#[test]
fn what_is_remembered_is_what_reading_again_would_say() {
    let (mut memo, mut state) = (Memo::default(), 7);
    for _ in 0..400 {
        for dialect in DIALECTS {
            for text in TEXTS {
                let sql = filled(text, &mut state);
                let expected = sniff(sql.as_bytes(), true, dialect);
                // twice, so that it is kept
                for _ in 0..2 {
                    assert_eq!(memo.sniff(sql.as_bytes(), true, dialect), expected, "{sql}");
                }
            }
        }
    }
}

#[test]
fn what_is_known_of_a_text_is_what_reading_it_would_say() {
    let (mut memo, mut state, mut known) = (Memo::default(), 11, 0);
    for _ in 0..50 {
        for dialect in DIALECTS {
            for text in TEXTS {
                for _ in 0..3 {
                    let sql = filled(text, &mut state);
                    let (_, there) = memo.know(sql.as_bytes(), true, dialect);
                    let Some(there) = there else { continue };
                    assert_eq!(there.about, About::of(sql.as_bytes(), dialect), "{sql}");
                    known += 1;
                }
            }
        }
    }
    assert!(known > 500, "{known}");
}

#[test]
fn an_id_is_of_one_text_under_one_dialect_however_many_come() {
    let (mut memo, mut texts, mut state) = (Memo::default(), HashMap::new(), 13);
    for round in 0..20_000 {
        let name = round / 8 % 700;
        let dialect = DIALECTS[round / 4 % 2];
        let shape = format!("SELECT c FROM n{name}_x WHERE id = ####");
        let sql = filled(&shape, &mut state);
        let (_, known) = memo.know(sql.as_bytes(), true, dialect);
        if let Some(known) = known {
            let of = texts.entry(known.id.0).or_insert((shape.clone(), dialect));
            assert_eq!(*of, (shape, dialect));
        }
    }
    assert!(texts.len() > 700, "{} texts were kept", texts.len());
}

#[test]
fn digits_of_names_and_of_version_comments_count() {
    let mut memo = Memo::default();
    let dialect = DIALECTS[0];
    let pairs = [
        ("SELECT log10(5)", "SELECT log90(5)"),
        (
            "SELECT 1 /*!50000 FOR UPDATE */",
            "SELECT 1 /*!99999 FOR UPDATE */",
        ),
        ("SELECT sha1('x')", "SELECT sha3('x')"),
    ];
    for (one, other) in pairs {
        let (first, second) = (one.as_bytes(), other.as_bytes());
        assert_ne!(
            sniff(first, true, dialect),
            sniff(second, true, dialect),
            "{one}"
        );
        for text in [first, first, first, second, second, second, first] {
            assert_eq!(memo.sniff(text, true, dialect), sniff(text, true, dialect));
        }
    }
}

#[test]
fn a_text_that_was_cut_is_never_taken_for_the_whole_one() {
    let mut memo = Memo::default();
    let sql = b"SELECT c FROM t WHERE id = 5";
    for _ in 0..3 {
        assert_eq!(
            memo.sniff(sql, true, DIALECTS[0]),
            sniff(sql, true, DIALECTS[0])
        );
    }
    assert_eq!(
        memo.sniff(sql, false, DIALECTS[0]),
        sniff(sql, false, DIALECTS[0])
    );
    assert_ne!(
        sniff(sql, false, DIALECTS[0]),
        sniff(sql, true, DIALECTS[0])
    );
}

#[test]
fn a_kept_text_is_met_without_allocation() {
    let mut memo = Memo::default();
    for id in 1000..1003 {
        memo.sniff(
            format!("SELECT c FROM t WHERE id = {id}").as_bytes(),
            true,
            DIALECTS[0],
        );
    }
    let before = crate::net::testing::allocations();
    memo.sniff(b"SELECT c FROM t WHERE id = 7777", true, DIALECTS[0]);
    assert_eq!(crate::net::testing::allocations(), before);
}
