//! Texts without their literals, of statements that come again and again.
use crate::backend::StatementKey;
use crate::sniff::{self, Dialect, TextId};

/// Statements that have a place; a power of two.
const PLACES: usize = 256;
/// Longer ones are made each time, bytes.
const LONGEST: usize = 1024;

/// What all commands have in common that lose the same text with their literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// One that the sniffer keeps, whatever its numbers are.
    Text(TextId),
    /// A prepared statement's.
    Statement(StatementKey),
}

/// Per worker. As in the sniffer's memo, what comes twice in a row in its place is kept.
#[derive(Default)]
pub struct Masked {
    places: Vec<Place>,
    /// Where others are made.
    scratch: Vec<u8>,
}

#[derive(Clone, Default)]
struct Place {
    /// Came last and is not the one kept.
    candidate: Option<Whose>,
    kept: Option<(Whose, Dialect)>,
    text: Vec<u8>,
}

impl Masked {
    /// As [`sniff::normalised`]: at most so many bytes of it.
    pub fn text(
        &mut self,
        whose: Option<Whose>,
        sql: &[u8],
        dialect: Dialect,
        most: usize,
    ) -> &[u8] {
        if self.places.is_empty() {
            self.places.resize(PLACES, Place::default());
        }
        let Masked { places, scratch } = self;
        let kept = whose.map(|whose| (whose, dialect));
        let place = match whose.and_then(|whose| places.get_mut(whose.place())) {
            Some(place) if place.kept == kept => {
                return place.text.get(..most).unwrap_or(&place.text);
            }
            place => place,
        };
        if scratch.len() < most {
            scratch.resize(most, 0);
        }
        let out = scratch.get_mut(..most).unwrap_or_default();
        let length = sniff::normalised(sql, dialect, out);
        let text = out.get(..length).unwrap_or_default();
        if let Some(place) = place {
            if place.candidate != whose {
                place.candidate = whose;
            } else if length < most.min(LONGEST) {
                // all of it
                place.kept = kept;
                place.text.clear();
                place.text.extend_from_slice(text);
            }
        }
        text
    }
}

impl Whose {
    fn place(self) -> usize {
        let low = match self {
            Whose::Text(id) => id.0 as usize,
            Whose::Statement(key) => key.0 as usize,
        };
        low % PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: Dialect = Dialect {
        ansi_quotes: false,
        no_backslash_escapes: false,
        mariadb: false,
        version: 80_036,
        ambiguous_bytes: false,
    };

    fn fresh(sql: &str, dialect: Dialect, most: usize) -> Vec<u8> {
        let mut out = vec![0; most];
        let length = sniff::normalised(sql.as_bytes(), dialect, &mut out);
        out.truncate(length);
        out
    }

    /// Asked until it is kept, and as often again.
    fn is_right(masked: &mut Masked, whose: Whose, sql: &str, dialect: Dialect, most: usize) {
        for _ in 0..4 {
            let text = masked.text(Some(whose), sql.as_bytes(), dialect, most);
            assert_eq!(text, fresh(sql, dialect, most), "{sql} {most}");
        }
    }

    #[test]
    fn a_kept_text_is_that_of_its_statement_and_dialect_cut_where_it_is_asked_to_be() {
        let mut masked = Masked::default();
        let ansi = Dialect {
            ansi_quotes: true,
            ..MYSQL
        };
        let quoted = "SELECT \"a\" FROM t WHERE id = 5";
        for most in [4096, 3, 4096, 0, 20] {
            for dialect in [MYSQL, ansi, MYSQL] {
                is_right(&mut masked, Whose::Text(TextId(1)), quoted, dialect, most);
            }
        }
        assert_ne!(fresh(quoted, MYSQL, 99), fresh(quoted, ansi, 99));
        // all in one place
        let at = |n: u64| PLACES as u64 * n + 2;
        for n in [0, 1, 0, 2] {
            let sql = format!("SELECT '{n}', c{n} FROM t{n}");
            is_right(&mut masked, Whose::Text(TextId(at(n))), &sql, MYSQL, 4096);
            let key = StatementKey(u128::from(at(n)));
            let other = format!("SELECT 's', d{n} FROM t{n}");
            is_right(&mut masked, Whose::Statement(key), &other, MYSQL, 4096);
        }
        let long = format!("SELECT {} 5", "a, ".repeat(LONGEST));
        is_right(&mut masked, Whose::Text(TextId(9)), &long, MYSQL, 4096);
        assert_eq!(masked.text(None, b"SELECT 5", MYSQL, 99), b"SELECT ?");
    }

    #[test]
    fn a_kept_text_is_met_without_being_made_again_and_without_allocation() {
        let (mut masked, whose) = (Masked::default(), Some(Whose::Text(TextId(1))));
        for _ in 0..3 {
            masked.text(whose, b"SELECT 5", MYSQL, 99);
        }
        let before = crate::net::testing::allocations();
        // what is not looked at
        assert_eq!(masked.text(whose, b"", MYSQL, 99), b"SELECT ?");
        assert_eq!(crate::net::testing::allocations(), before);
    }
}
