//! Whom a KILL statement means.

use super::lexer::{Kind, Lexer};
use super::types::{Dialect, Verb};
use super::words::Word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// The connection id as the client knows it.
    pub id: u64,
    /// KILL QUERY: ends the statement, not the connection.
    pub query: bool,
    /// MariaDB's KILL HARD, which is the default; false for KILL SOFT.
    pub hard: bool,
}

/// The target of `KILL [HARD | SOFT] [CONNECTION | QUERY] n`. None for any other statement, and
/// where the id is not a literal (an expression, MariaDB's KILL USER and KILL QUERY ID).
pub fn kill_target(sql: &[u8]) -> Option<Kill> {
    let mut lexer = Lexer::new(sql, Dialect::default());
    if lexer.next().entry.verb != Verb::Kill {
        return None;
    }
    let mut kill = Kill {
        id: 0,
        query: false,
        hard: true,
    };
    let mut token = lexer.next();
    while token.kind == Kind::Word {
        match token.entry.word {
            Word::Hard => {}
            Word::Soft => kill.hard = false,
            Word::Connection => {}
            Word::Query => kill.query = true,
            _ => return None,
        }
        token = lexer.next();
    }
    if token.kind != Kind::Number {
        return None;
    }
    kill.id = std::str::from_utf8(lexer.bytes(&token))
        .ok()?
        .parse()
        .ok()?;
    token = lexer.next();
    while token.kind == Kind::Semicolon {
        token = lexer.next();
    }
    (token.kind == Kind::End && !lexer.trouble).then_some(kill)
}
