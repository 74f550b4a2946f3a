//! CONNECTION_ID() means the id that the client was greeted with, not that of the server connection
//! its statement happens to run on: the calls in a statement's text are replaced by that number.
use super::lexer::{Kind, Lexer, Token};
use super::types::Dialect;
use super::words::Word;

/// The statement with every call of `CONNECTION_ID()` replaced by `id`; None: there is none.
///
/// A call that is a whole item of the outermost select list keeps its text as the column's name. In
/// the middle of an expression the name shows the number instead.
pub fn with_connection_id(sql: &[u8], id: u32, dialect: Dialect) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(sql, dialect);
    let mut place = Place::default();
    let mut out = Vec::new();
    let mut copied = 0;
    let mut token = lexer.next();
    while token.kind != Kind::End {
        let call = is_call(&lexer, &token)
            .then(|| closing(&mut lexer))
            .flatten();
        let Some(close) = call else {
            place.pass(&lexer, &token);
            token = lexer.next();
            continue;
        };
        out.extend_from_slice(&sql[copied..token.start]);
        out.extend_from_slice(id.to_string().as_bytes());
        copied = close.end;
        let text = &sql[token.start..close.end];
        token = lexer.next();
        if place.begins_item && ends_item(&lexer, &token) {
            out.extend_from_slice(b" AS `");
            out.extend(text.iter().filter(|b| **b != b'`'));
            out.push(b'`');
        }
        place.begins_item = false;
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(&sql[copied..]);
    Some(out)
}

/// Where in the statement the reader is.
#[derive(Default)]
struct Place {
    depth: u32,
    /// Behind the outermost SELECT, before what follows its list.
    in_list: bool,
    /// The next token is the first of a select item.
    begins_item: bool,
}

impl Place {
    fn pass(&mut self, lexer: &Lexer<'_>, token: &Token) {
        match token.kind {
            Kind::Mark(b'(') => self.depth += 1,
            Kind::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            Kind::Word if self.depth == 0 && token.entry.word == Word::Select => {
                self.in_list = true
            }
            Kind::Word if self.depth == 0 && follows_list(lexer, token) => self.in_list = false,
            _ => {}
        }
        let opens = match token.kind {
            Kind::Word => token.entry.word == Word::Select,
            kind => kind == Kind::Mark(b','),
        };
        self.begins_item = opens && self.in_list && self.depth == 0;
    }
}

fn is_call(lexer: &Lexer<'_>, token: &Token) -> bool {
    token.kind == Kind::Word
        && !token.qualified
        && lexer.bytes(token).eq_ignore_ascii_case(b"connection_id")
}

/// The `)` of an empty pair of parentheses that begins at the lexer's place; the lexer stays before
/// it if there is none.
fn closing(lexer: &mut Lexer<'_>) -> Option<Token> {
    let mut ahead = lexer.clone();
    let open = ahead.next();
    let close = ahead.next();
    if open.kind != Kind::Mark(b'(') || close.kind != Kind::Mark(b')') {
        return None;
    }
    *lexer = ahead;
    Some(close)
}

fn ends_item(lexer: &Lexer<'_>, after: &Token) -> bool {
    match after.kind {
        Kind::End | Kind::Semicolon | Kind::Mark(b',') => true,
        Kind::Word => follows_list(lexer, after),
        _ => false,
    }
}

fn follows_list(lexer: &Lexer<'_>, token: &Token) -> bool {
    const FOLLOWS: [&[u8]; 11] = [
        b"from",
        b"where",
        b"group",
        b"having",
        b"order",
        b"limit",
        b"union",
        b"except",
        b"intersect",
        b"into",
        b"for",
    ];
    !token.qualified
        && FOLLOWS
            .iter()
            .any(|w| lexer.bytes(token).eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> Option<String> {
        with_connection_id(sql.as_bytes(), 7, Dialect::default())
            .map(|v| String::from_utf8(v).expect("text"))
    }

    #[test]
    fn a_call_becomes_the_clients_id_under_its_own_name() {
        for (sql, expected) in [
            ("SELECT CONNECTION_ID()", "SELECT 7 AS `CONNECTION_ID()`"),
            (
                "select connection_id ( ) , 1",
                "select 7 AS `connection_id ( )` , 1",
            ),
            (
                "SELECT 1, Connection_Id() FROM t",
                "SELECT 1, 7 AS `Connection_Id()` FROM t",
            ),
            ("SELECT CONNECTION_ID() AS me", "SELECT 7 AS me"),
            ("SELECT CONNECTION_ID() me", "SELECT 7 me"),
            ("SELECT CONNECTION_ID()+1", "SELECT 7+1"),
            ("SELECT f(1, CONNECTION_ID(), 2)", "SELECT f(1, 7, 2)"),
            (
                "SELECT a FROM t ORDER BY 1, CONNECTION_ID()",
                "SELECT a FROM t ORDER BY 1, 7",
            ),
            (
                "INSERT INTO t VALUES (1, CONNECTION_ID())",
                "INSERT INTO t VALUES (1, 7)",
            ),
            ("KILL CONNECTION_ID()", "KILL 7"),
            (
                "SELECT CONNECTION_ID(); SELECT 2",
                "SELECT 7 AS `CONNECTION_ID()`; SELECT 2",
            ),
            (
                "SELECT /* x */ CONNECTION_ID(/* y */)",
                "SELECT /* x */ 7 AS `CONNECTION_ID(/* y */)`",
            ),
        ] {
            assert_eq!(rewritten(sql).as_deref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn text_that_only_looks_like_a_call_stays() {
        for sql in [
            "SELECT 'CONNECTION_ID()'",
            "SELECT t.connection_id FROM t",
            "SELECT connection_id FROM t",
            "SELECT 1 -- CONNECTION_ID()",
            "SELECT `connection_id`",
        ] {
            assert_eq!(rewritten(sql), None, "{sql}");
        }
    }
}
