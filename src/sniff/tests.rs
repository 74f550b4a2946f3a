//! Tables of statements, by what must be said of them; then what must hold for all of them.

mod accounts;
mod corpus;
mod effects;
mod lexing;
mod memo;
mod reads;
mod whole;

use super::{sniff, Access, Dialect, Effects, Hint, Sniffed, Verb};

pub(super) const MYSQL: Dialect = Dialect {
    ansi_quotes: false,
    no_backslash_escapes: false,
    mariadb: false,
    version: 90_700,
    ambiguous_bytes: false,
};

pub(super) const MARIADB: Dialect = Dialect {
    mariadb: true,
    version: 101_119,
    ..MYSQL
};

fn of(sql: &str) -> Sniffed {
    sniff(sql.as_bytes(), true, MYSQL)
}

fn in_mariadb(sql: &str) -> Sniffed {
    sniff(sql.as_bytes(), true, MARIADB)
}

#[track_caller]
fn assert_access(statements: &[&str], access: Access) {
    for sql in statements {
        for dialect in [MYSQL, MARIADB] {
            let got = sniff(sql.as_bytes(), true, dialect);
            assert_eq!(got.access, access, "{sql}: {got:?}");
        }
    }
}

#[track_caller]
fn assert_never_read(statements: &[&str]) {
    for sql in statements {
        for dialect in [MYSQL, MARIADB] {
            let got = sniff(sql.as_bytes(), true, dialect);
            assert_ne!(got.access, Access::Read, "{sql}: {got:?}");
        }
    }
}

#[track_caller]
fn assert_effects(statements: &[(&str, Effects)]) {
    for (sql, effects) in statements {
        assert_eq!(of(sql).effects, *effects, "{sql}");
        assert_eq!(in_mariadb(sql).effects, *effects, "{sql} (MariaDB)");
    }
}
