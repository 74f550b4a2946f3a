use super::*;
use crate::sniff::{digest, kill_target, Kill, KillWhom};

#[test]
fn mariadb_leaves_out_comments_for_later_mysql() {
    let sql = |version: &str| format!("SELECT a FROM t /*{version} FOR UPDATE */");
    for (version, mysql, mariadb) in [
        ("!", true, true),
        ("!50000", true, true),
        ("!50699", true, true),
        ("!50700", true, false),
        ("!80000", true, false),
        ("!90700", true, false),
        ("!90701", false, false),
        ("!99999", false, false),
        ("!100000", false, true),
        ("!101119", false, true),
        ("!101120", false, false),
        ("M!", false, true),
        ("M!50700", false, true),
        ("M!101119", false, true),
        ("M!101120", false, false),
        ("+", false, false),
    ] {
        let locks = |dialect| {
            sniff(sql(version).as_bytes(), true, dialect)
                .effects
                .contains(Effects::LOCKING_READ)
        };
        assert_eq!(locks(MYSQL), mysql, "{version} in MySQL");
        assert_eq!(locks(MARIADB), mariadb, "{version} in MariaDB");
        assert!(
            locks(Dialect::default()) || !mysql,
            "{version} in an unknown version"
        );
    }
}

#[test]
fn mysql_reads_a_sixth_digit_only_before_a_space() {
    // 09070 and a zero, which the server refuses; or 90701
    assert!(of("SELECT a FROM t /*!0907010 FOR UPDATE */")
        .effects
        .contains(Effects::LOCKING_READ));
    assert_eq!(
        of("SELECT a FROM t /*!090701 FOR UPDATE */").effects,
        Effects::empty()
    );
    let old = Dialect {
        version: 80_020,
        ..MYSQL
    };
    assert_eq!(
        sniff(b"SELECT a /*!100100 , b */ FROM t", true, old).access,
        Access::Unsure
    );
}

#[test]
fn comments_nest_once_inside_a_comment_that_is_left_out() {
    assert_eq!(
        of("SELECT 1 /*!99999 /* x */ ; DELETE FROM t */").access,
        Access::Read
    );
    assert_eq!(of("SELECT 1 /*!40000 /* x */ + 1 */").access, Access::Read);
    assert_eq!(
        of("SELECT 1 /* /* x */ ; DELETE FROM t").access,
        Access::Write
    );
    assert_eq!(of("SELECT 1 /*/ ; DELETE FROM t */").access, Access::Read);
}

#[test]
fn two_dashes_need_a_space_to_start_a_comment() {
    assert_eq!(of("SELECT 1 --; DELETE FROM t").access, Access::Write);
    assert_eq!(of("SELECT 1 -- ; DELETE FROM t").access, Access::Read);
    assert_eq!(of("SELECT 1 --\t; DELETE FROM t").access, Access::Read);
    assert_eq!(of("SELECT 1 --\u{1}; DELETE FROM t").access, Access::Read);
    assert_eq!(of("SELECT 1 --\n; DELETE FROM t").access, Access::Write);
    assert_eq!(
        of("SELECT 1 -- x\r; DELETE FROM t").access,
        Access::Read,
        "a CR ends no comment"
    );
}

#[test]
fn sql_mode_decides_what_quotes_and_backslashes_mean() {
    let ansi = Dialect {
        ansi_quotes: true,
        ..MYSQL
    };
    let plain = Dialect {
        no_backslash_escapes: true,
        ..MYSQL
    };
    let unescaped = br"SELECT 'a\' ; DELETE FROM t -- '";
    assert_eq!(sniff(unescaped, true, MYSQL).access, Access::Read);
    assert_eq!(sniff(unescaped, true, plain).access, Access::Write);
    let quoted = br#"SELECT "a\" ; DELETE FROM t -- ""#;
    assert_eq!(sniff(quoted, true, MYSQL).access, Access::Read);
    assert_eq!(sniff(quoted, true, ansi).access, Access::Write);
    assert_eq!(
        sniff(br#"SELECT "get_lock"('a', 1)"#, true, ansi).effects,
        Effects::GET_LOCK
    );
    assert_eq!(
        sniff(br#"SET "autocommit" = 0"#, true, ansi).effects,
        Effects::SET_SESSION | Effects::SET_AUTOCOMMIT
    );
    assert_eq!(
        sniff(br"SELECT `a\` ; DELETE FROM t", true, MYSQL).access,
        Access::Write,
        "no escapes in names"
    );
}

#[test]
fn bytes_that_may_be_spaces_elsewhere_are_not_trusted() {
    assert_eq!(
        sniff(b"SELECT a FROM t FOR\xa0UPDATE", true, MYSQL).access,
        Access::Unsure
    );
    assert_eq!(
        sniff("SELECT 'x\u{a0}y', größe FROM t".as_bytes(), true, MYSQL).access,
        Access::Read
    );
    assert_eq!(
        sniff(b"SELECT '\xa0\xff' FROM t", true, MYSQL).access,
        Access::Read
    );
    let gbk = Dialect {
        ambiguous_bytes: true,
        ..MYSQL
    };
    assert_eq!(
        sniff(b"SELECT '\xbf\\' FOR UPDATE -- '", true, gbk).access,
        Access::Unsure
    );
    assert_eq!(
        sniff(b"SELECT 'abc' FROM t", true, gbk).access,
        Access::Read
    );
}

#[test]
fn the_digest_forgets_literals_comments_space_and_case() {
    let same = |a: &str, b: &str| digest(a.as_bytes(), MYSQL) == digest(b.as_bytes(), MYSQL);
    assert!(same(
        "SELECT a FROM t WHERE b = 1",
        "select  A\nfrom /* x */ `t` where b='y'"
    ));
    assert!(same("SELECT f(1)", "SELECT f(1, 2, 'x')"));
    assert!(same("SELECT a IN (1)", "SELECT a IN (?,?,?)"));
    assert!(same("SELECT 1,2 FROM t", "SELECT 3 FROM t"));
    assert!(same("SELECT 1 -- x", "SELECT 2"));
    assert!(!same("SELECT f(1)", "SELECT g(1)"));
    assert!(!same("SELECT 1, a", "SELECT 1 a"));
    assert!(!same("SELECT a, 1", "SELECT a 1"));
    assert!(!same("SELECT @a", "SELECT a"));
    assert!(!same("SELECT ab c", "SELECT a bc"));
    assert_eq!(digest(b"SELECT 1", MYSQL), digest(b"SELECT 1", MARIADB));
}

#[test]
fn the_target_of_a_kill_is_read_from_every_spelling() {
    let kill = |whom, query, hard| Some(Kill { whom, query, hard });
    let id = |id, query, hard| kill(KillWhom::Session(id), query, hard);
    let computed = |text: &'static str| kill(KillWhom::Expression(text.as_bytes()), false, true);
    let user = |name: &str, host: Option<&str>| {
        let host = host.map(|host| host.as_bytes().to_vec());
        kill(KillWhom::User(name.into(), host), false, true)
    };
    for (sql, target) in [
        ("KILL 5", id(5, false, true)),
        (
            "kill connection 18446744073709551615;",
            id(u64::MAX, false, true),
        ),
        ("/* x */ KILL /* y */ QUERY 7 -- z", id(7, true, true)),
        ("KILL SOFT QUERY 7", id(7, true, false)),
        ("KILL HARD CONNECTION 7;", id(7, false, true)),
        (
            "KILL 18446744073709551616",
            computed("18446744073709551616"),
        ),
        ("KILL 5 + 1", computed("5 + 1")),
        ("KILL CONNECTION_ID() ;", computed("CONNECTION_ID()")),
        ("KILL @id", computed("@id")),
        ("KILL 1.5", computed("1.5")),
        (
            "KILL QUERY ID 7",
            kill(KillWhom::Statement(b"7"), true, true),
        ),
        ("KILL USER u", user("u", None)),
        (
            "KILL CONNECTION USER 'it''s'@`h%`",
            user("it's", Some("h%")),
        ),
        ("KILL USER u@localhost;", user("u", Some("localhost"))),
        (
            "KILL SOFT QUERY USER CURRENT_USER()",
            kill(KillWhom::CurrentUser, true, false),
        ),
        ("KILL USER u v", None),
        ("KILL USER", None),
        ("KILL 5; SELECT 1", None),
        ("KILL", None),
        ("SELECT 5", None),
        ("", None),
    ] {
        assert_eq!(kill_target(sql.as_bytes(), MARIADB), target, "{sql}");
    }
}

#[test]
fn every_word_of_the_table_is_found_in_any_case_and_is_there_once() {
    use crate::sniff::words;
    for entry in &words::TABLE {
        let found = words::find(entry.name.to_lowercase().as_bytes());
        assert!(std::ptr::eq(found, entry), "{}", entry.name);
        assert!(
            !entry.name.bytes().any(|byte| byte.is_ascii_lowercase()),
            "{}",
            entry.name
        );
    }
    assert_eq!(words::find(b"selec").word, words::Word::Name);
    assert_eq!(words::find(b"").word, words::Word::Name);
    assert_eq!(words::find(&[b'a'; 100]).word, words::Word::Name);
}
