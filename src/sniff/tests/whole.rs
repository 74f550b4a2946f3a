//! What must hold for every statement: seeded, so that a failure can be repeated.

use super::*;
use crate::sniff::{digest, kill_target};

/// Xorshift; good enough to shuffle bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn all() -> impl Iterator<Item = &'static str> {
    corpus::READS.iter().chain(corpus::NOT_READS).copied()
}

const DIALECTS: [Dialect; 4] = [
    MYSQL,
    MARIADB,
    Dialect {
        ansi_quotes: true,
        no_backslash_escapes: true,
        ..MYSQL
    },
    Dialect {
        ansi_quotes: false,
        no_backslash_escapes: false,
        mariadb: false,
        version: 0,
        ambiguous_bytes: false,
    },
];

#[test]
fn space_comments_and_semicolons_around_a_statement_change_nothing() {
    let before = [
        "",
        " ",
        "\r\n\t",
        "/* SELECT */",
        "/* FOR UPDATE */ ",
        "# DELETE\n",
        "-- x\n",
        "/*! */",
        "/*!99999 DELETE */",
    ];
    let after = [
        "",
        " ",
        "\r\n",
        ";",
        " ; \n",
        "/* FOR UPDATE */",
        "\n# INTO @x",
        "\n-- FOR UPDATE",
        ";-- x\n",
        "; /* x */ ;",
    ];
    for sql in all().filter(|sql| is_whole(sql)) {
        for dialect in DIALECTS {
            let expected = sniff(sql.as_bytes(), true, dialect);
            // Whether that comment counts is not known there.
            let before = before
                .iter()
                .filter(|text| dialect.version != 0 || !text.contains("99999"));
            for (before, after) in before.flat_map(|b| after.iter().map(move |a| (b, a))) {
                let wrapped = format!("{before}{sql}{after}");
                assert_eq!(
                    sniff(wrapped.as_bytes(), true, dialect),
                    expected,
                    "{wrapped}"
                );
            }
        }
    }
}

/// Has an end that text can be put behind, and code.
fn is_whole(sql: &str) -> bool {
    let got = of(sql);
    !got.effects.contains(Effects::UNREAD)
        && got.verb != Verb::Empty
        && got.effects != Effects::CALL
}

#[test]
fn case_changes_nothing() {
    for sql in all().filter(|sql| !sql.contains("\\") && !sql.contains("/*M")) {
        let expected = of(sql);
        assert_eq!(of(&sql.to_ascii_uppercase()), expected, "{sql}");
        assert_eq!(of(&sql.to_ascii_lowercase()), expected, "{sql}");
    }
}

#[test]
fn more_space_and_comments_between_words_change_nothing() {
    let mut random = Random(0x5eed);
    let gaps = [
        " ",
        "\n",
        "\r\n",
        "\t ",
        " /**/ ",
        " /* FOR UPDATE; */ ",
        " -- x\n",
        " # y\n",
        "/*x*/",
        " /*!99999 x */ ",
    ];
    for sql in all().filter(|sql| is_plain(sql)) {
        for _ in 0..8 {
            let mut spaced = String::new();
            for part in sql.split(' ') {
                spaced.push_str(part);
                spaced.push_str(random.pick(&gaps));
            }
            assert_eq!(of(&spaced), of(sql), "{spaced}");
        }
    }
}

/// Has no strings, names or comments with spaces inside.
fn is_plain(sql: &str) -> bool {
    !sql.contains(['\'', '"', '`', '/', '#', '-']) && of(sql).verb != Verb::Empty
}

#[test]
fn parentheses_around_a_query_change_nothing() {
    for sql in corpus::READS.iter().filter(|sql| {
        matches!(
            of(sql).verb,
            Verb::Select | Verb::With | Verb::Table | Verb::Values
        )
    }) {
        for wrapped in [
            format!("({sql})"),
            format!(" ( (\n{sql} ) ) ;"),
            format!("/* x */({sql})-- y"),
        ] {
            assert_eq!(of(&wrapped), of(sql), "{wrapped}");
        }
    }
}

#[test]
fn a_read_before_or_behind_a_statement_hides_none_of_its_effects() {
    for sql in all().filter(|sql| is_whole(sql) && !sql.contains("umpire")) {
        let effects = of(sql).effects;
        for batch in [
            format!("SELECT 1; {sql}"),
            format!("{sql}; SELECT 1"),
            format!("SELECT 1;;\n/* x */{sql}"),
        ] {
            let got = of(&batch);
            assert_ne!(got.access, Access::Read, "{batch}");
            assert_eq!(got.effects, effects | Effects::MULTI_STATEMENT, "{batch}");
        }
    }
}

#[test]
fn a_locking_clause_behind_any_read_is_seen() {
    let locks = [
        "FOR UPDATE",
        "for share",
        "FOR UPDATE OF t SKIP LOCKED",
        "LOCK IN SHARE MODE",
        "INTO @a",
        "INTO OUTFILE 'x'",
    ];
    for sql in corpus::READS
        .iter()
        .filter(|sql| matches!(of(sql).verb, Verb::Select | Verb::With | Verb::Table))
    {
        for lock in locks {
            assert_never_read(&[
                &format!("{sql} {lock}"),
                &format!("{sql}\n{lock};"),
                &format!("({sql}) UNION (SELECT 1 {lock})"),
            ]);
        }
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = Random(0xbad5eed);
    let spice: [&[u8]; 16] = [
        b"'",
        b"\"",
        b"`",
        b"/*",
        b"*/",
        b"/*!",
        b"/*!50000",
        b"--",
        b"#",
        b";",
        b"\\",
        b"@@",
        b"@",
        b"\0",
        b"\xff\xa0",
        b":=",
    ];
    let statements: Vec<_> = all().collect();
    for round in 0..60_000 {
        let mut sql = statements[random.below(statements.len())]
            .as_bytes()
            .to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(sql.len() + 1);
            match random.below(4) {
                0 => sql.truncate(at),
                1 => drop(sql.splice(at..at, spice[random.below(spice.len())].iter().copied())),
                2 if at < sql.len() => sql[at] = random.next() as u8,
                _ => sql.extend_from_slice(statements[random.below(statements.len())].as_bytes()),
            }
        }
        let dialect = DIALECTS[round % DIALECTS.len()];
        let got = sniff(&sql, true, dialect);
        assert_eq!(sniff(&sql, true, dialect), got);
        assert_ne!(sniff(&sql, false, dialect).access, Access::Read);
        assert_eq!(digest(&sql, dialect), digest(&sql, dialect));
        let _ = kill_target(&sql, MARIADB);
    }
}

#[test]
fn pure_noise_does_not_make_it_panic() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let noise: Vec<u8> = (0..random.below(80)).map(|_| random.next() as u8).collect();
        let got = sniff(&noise, true, MYSQL);
        assert!(
            got.access != Access::Read || got.verb.is_query(),
            "{noise:?}"
        );
    }
}
