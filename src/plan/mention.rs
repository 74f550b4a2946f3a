//! Which names of a statement may be tables with a rule: one pass over its tokens, no parsing.
use super::bind::{place, Place};
use super::request::Request;
use super::types::Refusal;
use crate::sniff::lexer::{Kind, Lexer};
use crate::sniff::Dialect;
use crate::topology::ShardMap;

/// Whether a statement may concern a database or table with a rule, so that the planner must be asked. Cheap, and
/// only ever wrong in one direction: a column of the same name makes it true.
pub fn concerns(sql: &[u8], schema: Option<&str>, map: &ShardMap, dialect: Dialect) -> bool {
    if map.is_empty() {
        return false;
    }
    let is_catalogue = |schema: &str| schema.eq_ignore_ascii_case("information_schema");
    if schema.is_some_and(|schema| map.database(schema).is_some() || is_catalogue(schema)) {
        return true;
    }
    let mut lexer = Lexer::without_words(sql, dialect);
    let mut prepares = false;
    let mut shows = None;
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::End => return false,
            Kind::Word | Kind::Quoted if map.may_concern(lexer.bytes(&token)) => return true,
            Kind::Word => {
                let word = lexer.bytes(&token);
                prepares |= is_prepare(word);
                // SHOW TABLES and its kin list tables with a rule without naming one
                const LISTS: [&[u8]; 3] = [b"tables", b"status", b"triggers"];
                let shows = *shows.get_or_insert_with(|| word.eq_ignore_ascii_case(b"show"));
                if shows && LISTS.iter().any(|list| word.eq_ignore_ascii_case(list)) {
                    return true;
                }
            }
            // PREPARE s FROM '…': the text is a statement
            Kind::Text if prepares => {
                let inner = sql
                    .get(token.start + 1..token.end.saturating_sub(1))
                    .unwrap_or_default();
                if concerns(inner, None, map, dialect) {
                    return true;
                }
            }
            _ => {}
        }
    }
}

fn is_prepare(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"prepare") || word.eq_ignore_ascii_case(b"immediate")
}

/// The places of all names that stand for tables with a rule or in a placed database, read token by token: `name`,
/// `schema.name`. A column of such a name counts too.
pub(super) fn places(request: &Request<'_>) -> Result<Vec<Place>, Refusal> {
    let mut lexer = Lexer::new(request.sql, request.dialect);
    let mut places = Vec::new();
    let mut before: Option<String> = None;
    let mut last: Option<(String, bool)> = None;
    let mut note = |schema: Option<&str>, name: &str| -> Result<(), Refusal> {
        let known = schema
            .or(request.schema)
            .is_some_and(|schema| request.map.find(schema, name).is_some());
        let placed = schema.and_then(|schema| request.map.database(schema));
        if known || placed.is_some() {
            places.push(place(request, schema, name)?);
        } else if let Some(group) = request.map.database(name).filter(|_| schema.is_none()) {
            // the database itself: SHOW TABLES FROM billing
            places.push(Place::Group(group));
        }
        Ok(())
    };
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::Word | Kind::Quoted => {
                let name = String::from_utf8_lossy(lexer.bytes(&token)).into_owned();
                let schema = if token.qualified { before.take() } else { None };
                note(schema.as_deref(), &name)?;
                last = Some((name, token.qualified));
            }
            Kind::Mark(b'.') => {
                before = last
                    .take()
                    .filter(|(_, qualified)| !qualified)
                    .map(|(name, _)| name)
            }
            Kind::End => return Ok(places),
            _ => {
                last = None;
                before = None;
            }
        }
    }
}

/// The first word of a statement, in upper case, for messages.
pub(super) fn verb(request: &Request<'_>) -> String {
    let mut lexer = Lexer::new(request.sql, request.dialect);
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::Word => return String::from_utf8_lossy(lexer.bytes(&token)).to_uppercase(),
            Kind::End => return String::new(),
            _ => {}
        }
    }
}

/// The last name of a statement: what USE names.
pub(super) fn last_name(request: &Request<'_>) -> Option<String> {
    let mut lexer = Lexer::new(request.sql, request.dialect);
    let mut last = None;
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::Word | Kind::Quoted => {
                last = Some(String::from_utf8_lossy(lexer.bytes(&token)).into_owned())
            }
            Kind::End => return last,
            _ => {}
        }
    }
}
