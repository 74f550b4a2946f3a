//! Whom a KILL statement means.

use super::lexer::{Kind, Lexer, Token};
use super::literal::unescaped;
use super::types::{Dialect, Verb};
use super::words::Word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill<'a> {
    pub whom: KillWhom<'a>,
    /// KILL QUERY: ends the statement, not the connection.
    pub query: bool,
    /// MariaDB's KILL HARD, which is the default; false for KILL SOFT.
    pub hard: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillWhom<'a> {
    /// The connection id as the client knows it.
    Session(u64),
    /// Its id is what this expression is.
    Expression(&'a [u8]),
    /// MariaDB's KILL USER: all connections of this name, and from this host if it is given.
    User(Vec<u8>, Option<Vec<u8>>),
    /// KILL USER CURRENT_USER
    CurrentUser,
    /// MariaDB's KILL QUERY ID: the number that the server gave to one statement.
    Statement(&'a [u8]),
}

/// The target of a KILL that is alone in its command; None for anything else.
pub fn kill_target(sql: &[u8], dialect: Dialect) -> Option<Kill<'_>> {
    let mut lexer = Lexer::new(sql, dialect);
    let verb = lexer.next();
    if verb.entry.verb != Verb::Kill {
        return None;
    }
    // the tokens of variables begin behind their `@`: what is computed begins behind the last keyword
    let mut start = verb.end;
    let (mut query, mut hard) = (false, true);
    let mut token = lexer.next();
    let mut to_user = false;
    loop {
        match token.entry.word {
            _ if token.kind != Kind::Word => break,
            Word::Hard | Word::Connection => {}
            Word::Soft => hard = false,
            Word::Query => query = true,
            _ if is(&lexer, &token, b"USER") => to_user = true,
            _ => break,
        }
        start = token.end;
        token = lexer.next();
    }
    let by_statement = query && is(&lexer, &token, b"ID");
    let whom = if to_user {
        let whom = user(&mut lexer, token, dialect)?;
        end(&mut lexer)?;
        whom
    } else {
        let (end, only) = expression(&mut lexer, token)?;
        let text = sql.get(start..end)?.trim_ascii();
        let number = only.then(|| std::str::from_utf8(text).ok()?.parse().ok());
        match number.flatten() {
            _ if by_statement => KillWhom::Statement(text.get(2..)?.trim_ascii()),
            Some(id) => KillWhom::Session(id),
            None => KillWhom::Expression(text),
        }
    };
    (!lexer.trouble).then_some(Kill { whom, query, hard })
}

fn is(lexer: &Lexer<'_>, token: &Token, word: &[u8]) -> bool {
    token.kind == Kind::Word && lexer.bytes(token).eq_ignore_ascii_case(word)
}

/// To the end of the only statement: where the expression ends, and whether it is one number.
fn expression(lexer: &mut Lexer<'_>, first: Token) -> Option<(usize, bool)> {
    let mut only = first.kind == Kind::Number;
    let (mut token, mut end_at) = (first, None);
    while !matches!(token.kind, Kind::End | Kind::Semicolon) {
        only &= end_at.is_none();
        end_at = Some(token.end);
        token = lexer.next();
    }
    while token.kind == Kind::Semicolon {
        token = lexer.next();
    }
    (token.kind == Kind::End).then_some((end_at?, only))
}

fn end(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut token = lexer.next();
    while token.kind == Kind::Semicolon {
        token = lexer.next();
    }
    (token.kind == Kind::End).then_some(())
}

/// `name`, `'name'@'host'`, `CURRENT_USER`, `CURRENT_USER()`.
fn user<'a>(lexer: &mut Lexer<'a>, token: Token, dialect: Dialect) -> Option<KillWhom<'a>> {
    if is(lexer, &token, b"CURRENT_USER") {
        let mut ahead = lexer.clone();
        if ahead.next().kind == Kind::Mark(b'(') && ahead.next().kind == Kind::Mark(b')') {
            *lexer = ahead;
        }
        return Some(KillWhom::CurrentUser);
    }
    if !matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Text) {
        return None;
    }
    let name = unquoted(lexer.bytes(&token), dialect);
    let mut ahead = lexer.clone();
    let at = ahead.next();
    // to the lexer `@host` looks like a user variable
    if at.kind != Kind::UserVariable {
        return Some(KillWhom::User(name, None));
    }
    let host = unquoted(ahead.bytes(&at), dialect);
    *lexer = ahead;
    Some(KillWhom::User(name, Some(host)))
}

fn unquoted(bytes: &[u8], dialect: Dialect) -> Vec<u8> {
    match bytes {
        [b'\'' | b'"', _, ..] => unescaped(bytes, dialect).into_owned(),
        [b'`', inner @ .., b'`'] => inner.to_vec(),
        plain => plain.to_vec(),
    }
}
