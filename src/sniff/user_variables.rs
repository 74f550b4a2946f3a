//! User variables that one SET statement sets to literals: what can be set again on another connection.
use super::lexer::{Kind, Lexer, Token};
use super::types::Dialect;
use super::variables::scope;
use super::words::Word;

/// A value whose meaning is all in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A number, TRUE, FALSE or NULL, with its sign, as written.
    Plain(Vec<u8>),
    /// A string, its escapes resolved; in the client's character set.
    Text(Vec<u8>),
}

/// Name (lower case) and value of each user variable; None: something is set to anything but a literal. The
/// statement is one SET; variables of the server's may have any values.
pub fn literal_assignments(sql: &[u8], dialect: Dialect) -> Option<Vec<(Vec<u8>, Literal)>> {
    let mut reader = Reader {
        lexer: Lexer::new(sql, dialect),
        dialect,
    };
    let set = reader.lexer.next();
    if set.entry.word != Word::Set {
        return None;
    }
    let mut found = Vec::new();
    loop {
        let first = reader.lexer.next();
        let end = if first.kind == Kind::UserVariable {
            let (assignment, end) = reader.user_variable(&first)?;
            found.push(assignment);
            end
        } else {
            reader.other(&first)?
        };
        if end.kind != Kind::Mark(b',') {
            return Some(found);
        }
    }
}

/// The server's variables that one SET assigns as `@@name`, without a scope, in lower case; None: that cannot be said of
/// this statement.
pub fn unscoped_assignments(sql: &[u8], dialect: Dialect) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader {
        lexer: Lexer::new(sql, dialect),
        dialect,
    };
    if reader.lexer.next().entry.word != Word::Set {
        return None;
    }
    let mut found = Vec::new();
    loop {
        let first = reader.lexer.next();
        let name = reader.lexer.bytes(&first).to_ascii_lowercase();
        if first.kind == Kind::SystemVariable && scope(&name).is_none() {
            let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            if name.is_empty() || !name.iter().all(plain) {
                return None;
            }
            found.push(name);
        }
        if reader.other(&first)?.kind != Kind::Mark(b',') {
            return Some(found);
        }
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    dialect: Dialect,
}

type Assignment = (Vec<u8>, Literal);

impl Reader<'_> {
    /// `@name = literal` up to the token behind it, which has to end the assignment.
    fn user_variable(&mut self, variable: &Token) -> Option<(Assignment, Token)> {
        let name = self.lexer.bytes(variable).to_ascii_lowercase();
        // servers fold the case of other letters too, and unquoting a name is not ours to repeat
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
        if name.is_empty() || !name.iter().all(plain) {
            return None;
        }
        let sign = self.lexer.next();
        if !matches!(sign.kind, Kind::Assign | Kind::Mark(b'=')) {
            return None;
        }
        let value = self.literal()?;
        let end = self.lexer.next();
        is_end(&end).then_some(((name, value), end))
    }

    fn literal(&mut self) -> Option<Literal> {
        let first = self.lexer.next();
        let mut text = Vec::new();
        let value = match first.kind {
            Kind::Mark(sign @ (b'-' | b'+')) => {
                text.push(sign);
                self.lexer.next()
            }
            _ => first,
        };
        let bytes = self.lexer.bytes(&value);
        match value.kind {
            Kind::Number => {}
            Kind::Text if text.is_empty() => {
                return unquoted(bytes, self.dialect).map(Literal::Text)
            }
            Kind::Word if text.is_empty() && is_constant(bytes) => {}
            _ => return None,
        }
        text.extend_from_slice(bytes);
        Some(Literal::Plain(text))
    }

    /// Over the assignment of a variable of the server's, unless a user variable is assigned in its value.
    fn other(&mut self, first: &Token) -> Option<Token> {
        let mut depth = 0;
        let (mut before, mut token) = (Kind::End, *first);
        loop {
            match token.kind {
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') => depth -= 1,
                Kind::Assign if before == Kind::UserVariable => return None,
                _ if is_end(&token) && (depth <= 0 || token.kind != Kind::Mark(b',')) => {
                    return Some(token)
                }
                _ => {}
            }
            before = token.kind;
            token = self.lexer.next();
        }
    }
}

fn is_end(token: &Token) -> bool {
    matches!(token.kind, Kind::Mark(b',') | Kind::Semicolon | Kind::End)
}

fn is_constant(word: &[u8]) -> bool {
    const CONSTANTS: [&[u8]; 3] = [b"null", b"true", b"false"];
    CONSTANTS.iter().any(|c| word.eq_ignore_ascii_case(c))
}

/// What the quotes hold. None: not quoted.
fn unquoted(text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let [quote, inner @ .., last] = text else {
        return None;
    };
    if quote != last {
        return None;
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == *quote {
            // doubled
            bytes.next();
            out.push(byte);
        } else if byte == b'\\' && !dialect.no_backslash_escapes {
            escaped(bytes.next()?, &mut out);
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

fn escaped(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'0' => out.push(0),
        b'b' => out.push(8),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'Z' => out.push(26),
        b'%' | b'_' => out.extend_from_slice(&[b'\\', byte]),
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Option<Vec<(String, Literal)>> {
        let found = literal_assignments(sql.as_bytes(), Dialect::default())?;
        let text = |name| String::from_utf8(name).expect("ASCII");
        Some(found.into_iter().map(|(n, v)| (text(n), v)).collect())
    }

    fn plain(text: &str) -> Literal {
        Literal::Plain(text.into())
    }

    fn text(text: &str) -> Literal {
        Literal::Text(text.into())
    }

    #[test]
    fn variables_without_a_scope_are_found_where_they_are_assigned() {
        let names = |sql: &str| {
            let found = unscoped_assignments(sql.as_bytes(), Dialect::default())?;
            let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
            Some(found.iter().map(text).collect::<Vec<_>>().join(","))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(names("SET @@Time_Zone = 'x'"), some("time_zone"));
        assert_eq!(
            names("SET a=@@b, @@`c`:=IF(@@d, 1, 2), @@session.e=1, @f=@@g, @@h=2"),
            some("c,h")
        );
        assert_eq!(names("SET SESSION a = 1"), some(""));
        assert_eq!(names("SELECT @@a"), None);
        assert_eq!(names("SET @@a = (@b := 1)"), None);
        assert_eq!(names("SET @@`a``b` = 1"), None);
    }

    #[test]
    fn literals_of_all_kinds_are_read() {
        let sql = "/* a */ SET @A = 1, @`b`:=-2.50, @c = 1e-5, @d=0x4F, @e = NULL, @f.g = true, \
                   @h = 'it''s \\n \\% \\q', @i = \"a''b\" ;";
        let values = [
            ("a", plain("1")),
            ("b", plain("-2.50")),
            ("c", plain("1e-5")),
            ("d", plain("0x4F")),
            ("e", plain("NULL")),
            ("f.g", plain("true")),
            ("h", text("it's \n \\% q")),
            ("i", text("a''b")),
        ];
        let values = values.map(|(n, v)| (n.to_string(), v)).to_vec();
        assert_eq!(read(sql), Some(values));
    }

    #[test]
    fn variables_of_the_server_may_stand_between() {
        let sql = "SET time_zone = IF(1, 'x', 'y'), @a = 5, @@session.sql_mode = CONCAT(@b, ',')";
        assert_eq!(read(sql), Some(vec![("a".to_string(), plain("5"))]));
    }

    #[test]
    fn anything_else_is_no_literal() {
        for sql in [
            "SET @a = @a + 1",
            "SET @a = 1 + 1",
            "SET @a = 'a' 'b'",
            "SET @a = _utf8'x'",
            "SET @a = x'41'",
            "SET @a = N'x'",
            "SET @a = -'1'",
            "SET @a = (1)",
            "SET @a = 'x' COLLATE utf8mb4_bin",
            "SET @a = f()",
            "SET @a",
            "SET @a = @b := 1",
            "SET sql_mode = (SELECT @b := ''), @a = 1",
            "SET @`a``b` = 1",
            "SET @ü = 1",
            "SELECT @a := 1",
        ] {
            assert_eq!(read(sql), None, "{sql}");
        }
    }

    #[test]
    fn a_backslash_may_be_a_letter() {
        let dialect = Dialect {
            no_backslash_escapes: true,
            ..Dialect::default()
        };
        let found = literal_assignments(br"SET @a = 'x\n'", dialect);
        assert_eq!(found, Some(vec![(b"a".to_vec(), text(r"x\n"))]));
    }
}
