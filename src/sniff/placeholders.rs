//! The `?` of a statement to prepare.
use super::lexer::{Kind, Lexer};
use super::Dialect;

/// How many parameters the statement has.
pub fn placeholders(sql: &[u8], dialect: Dialect) -> usize {
    let mut lexer = Lexer::new(sql, dialect);
    let mut count = 0;
    loop {
        match lexer.next().kind {
            Kind::End => return count,
            Kind::Mark(b'?') => count += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_outside_of_texts_comments_and_names_count() {
        let sql = b"SELECT '?', `?`, ? /* ? */ FROM t WHERE a IN (?,?) -- ?";
        assert_eq!(placeholders(sql, Dialect::default()), 3);
        assert_eq!(placeholders(b"", Dialect::default()), 0);
    }
}
