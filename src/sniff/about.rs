//! What statistics and audit want to know of a text.
use super::digest::digest;
use super::types::Dialect;

/// The same of all texts that differ in plain numbers only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct About {
    /// See [`digest`]; 0: there is no text.
    pub digest: u64,
    /// It may hold a password, and must not be written down as it is.
    pub secret: bool,
}

impl About {
    pub fn of(sql: &[u8], dialect: Dialect) -> About {
        if sql.is_empty() {
            return About::default();
        }
        About {
            digest: digest(sql, dialect),
            secret: may_hold_secret(sql),
        }
    }
}

/// CREATE USER, ALTER USER, GRANT, SET PASSWORD, CHANGE MASTER have passwords as literals.
pub(super) fn may_hold_secret(sql: &[u8]) -> bool {
    let word = |word: &[u8]| {
        memchr::memchr2_iter(word[0], word[0].to_ascii_uppercase(), sql).any(|at| {
            sql.get(at..at + word.len())
                .is_some_and(|there| there.eq_ignore_ascii_case(word))
        })
    };
    word(b"password") || word(b"identified")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_passwords_is_secret_in_any_case() {
        for (sql, secret) in [
            ("SET PASSWORD = 'x'", true),
            ("CREATE USER u Identified BY 'x'", true),
            ("SELECT password FROM users WHERE id = 5", true),
            ("SELECT passwort FROM users WHERE id = 5", false),
            ("SELECT c FROM t WHERE id = 5", false),
            ("passwor", false),
        ] {
            let about = About::of(sql.as_bytes(), Dialect::default());
            assert_eq!(about.secret, secret, "{sql}");
            assert_eq!(about.digest, digest(sql.as_bytes(), Dialect::default()));
        }
        assert_eq!(About::of(b"", Dialect::default()), About::default());
    }
}
