//! The comment that brings a table's rule: `/* umpire: shard by … */ CREATE TABLE …`.
use super::lexer::{Kind, Lexer};
use super::types::Dialect;

/// The word that such a comment begins with.
const MARK: &[u8] = b"umpire";

/// What stands behind `umpire:` in the comments of a statement, in their order. Hints (`umpire:primary`) are none.
pub fn rule_comments(sql: &[u8], dialect: Dialect) -> Vec<&[u8]> {
    let mut found = Vec::new();
    if !sql
        .windows(MARK.len())
        .any(|w| w.eq_ignore_ascii_case(MARK))
    {
        return found;
    }
    let mut lexer = Lexer::new(sql, dialect);
    let mut before = 0;
    loop {
        let token = lexer.next();
        let ends = token.kind == Kind::End;
        let until = if ends { sql.len() } else { token.start };
        let gap = sql.get(before..until).unwrap_or_default();
        found.extend(Comments(gap).filter_map(of_rule));
        if ends {
            return found;
        }
        before = token.end;
    }
}

/// Whether the text of a PREPARE or EXECUTE IMMEDIATE has such comments.
pub fn prepares_rule(sql: &[u8], dialect: Dialect) -> bool {
    let mut lexer = Lexer::new(sql, dialect);
    loop {
        let token = lexer.next();
        let inner = sql.get(token.start + 1..token.end.saturating_sub(1));
        match token.kind {
            Kind::End => return false,
            Kind::Text if !rule_comments(inner.unwrap_or_default(), dialect).is_empty() => {
                return true
            }
            _ => {}
        }
    }
}

/// The comments in what stands between two tokens.
struct Comments<'a>(&'a [u8]);

impl<'a> Iterator for Comments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0;
        let at = rest.iter().position(|b| matches!(b, b'/' | b'-' | b'#'))?;
        let (begin, end, behind) = match rest.get(at..)? {
            [b'/', b'*', inner @ ..] => {
                let length = inner.windows(2).position(|w| w == b"*/");
                let length = length.unwrap_or(inner.len());
                (at + 2, at + 2 + length, at + 4 + length)
            }
            [b'/', ..] => return None,
            line => {
                let length = line.iter().position(|b| *b == b'\n');
                let length = length.unwrap_or(line.len());
                (at, at + length, at + length + 1)
            }
        };
        self.0 = rest.get(behind..).unwrap_or_default();
        rest.get(begin..end)
    }
}

/// The rule in a comment, which may be written as one for a version that no server has (`/*!99999 umpire: … */`), since
/// some clients keep only such comments.
fn of_rule(comment: &[u8]) -> Option<&[u8]> {
    let opening = |b: &u8| b.is_ascii_whitespace() || b.is_ascii_digit() || b"!M-#*".contains(b);
    let start = comment.iter().position(|b| !opening(b))?;
    let rest = comment.get(start..)?;
    let word = rest.get(..MARK.len())?;
    let behind = rest.get(MARK.len()..)?;
    let begins = behind
        .first()
        .is_none_or(|b| b.is_ascii_whitespace() || *b == b':');
    if !word.eq_ignore_ascii_case(MARK) || !begins {
        return None;
    }
    let rule = behind.strip_prefix(b":").unwrap_or(behind).trim_ascii();
    let first = rule.split(|b| !b.is_ascii_alphanumeric()).next()?;
    let is_hint = [&b"primary"[..], b"replica"]
        .iter()
        .any(|hint| first.eq_ignore_ascii_case(hint));
    (!is_hint).then_some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str) -> Vec<String> {
        let dialect = Dialect {
            mariadb: true,
            version: 101_106,
            ..Dialect::default()
        };
        let found = rule_comments(sql.as_bytes(), dialect).into_iter();
        found
            .map(|c| String::from_utf8_lossy(c).into_owned())
            .collect()
    }

    #[test]
    fn a_rule_is_found_in_every_kind_of_comment_and_place() {
        for sql in [
            "/* umpire: shard by x */ CREATE TABLE t (a INT)",
            "CREATE /*umpire:shard by x*/ TABLE t (a INT)",
            "CREATE TABLE t (a INT) /* Umpire: shard by x */",
            "CREATE TABLE t (a INT) -- umpire: shard by x",
            "-- umpire: shard by x\nCREATE TABLE t (a INT)",
            "# umpire: shard by x\nCREATE TABLE t (a INT)",
            "/*!99999 umpire: shard by x */ CREATE TABLE t (a INT)",
            "/* app 1 */ /* umpire shard by x */ CREATE TABLE t (a INT)",
        ] {
            assert_eq!(found(sql), ["shard by x"], "{sql}");
        }
        let twice = "/* umpire: a */ CREATE TABLE t (a INT) /* umpire: b */";
        assert_eq!(found(twice), ["a", "b"]);
        assert_eq!(found("/* umpire: */ CREATE TABLE t (a INT)"), [""]);
    }

    #[test]
    fn a_text_to_prepare_is_looked_into() {
        let prepares = |sql: &str| prepares_rule(sql.as_bytes(), Dialect::default());
        assert!(prepares(
            "PREPARE s FROM '/* umpire: shard */ CREATE TABLE t (a INT)'"
        ));
        assert!(!prepares("PREPARE s FROM 'SELECT /* umpire:primary */ 1'"));
        assert!(!prepares("PREPARE s FROM @a"));
    }

    #[test]
    fn hints_texts_and_other_words_are_no_rules() {
        for sql in [
            "/* umpire:primary */ CREATE TABLE t (a INT)",
            "/* umpire: replica x */ CREATE TABLE t (a INT)",
            "CREATE TABLE t (a INT COMMENT '/* umpire: shard by x */')",
            "CREATE TABLE `umpire` (umpire INT)",
            "/* umpires: shard */ CREATE TABLE t (a INT)",
            "/* by umpire: shard */ CREATE TABLE t (a INT)",
            "CREATE TABLE t (a INT DEFAULT (4 / 2)) /* umpir",
        ] {
            assert_eq!(found(sql), [""; 0], "{sql}");
        }
    }
}
