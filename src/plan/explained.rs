//! EXPLAIN, DESCRIBE and ANALYZE of a statement: of one shard's they are that shard's word.
use super::planner;
use super::request::{Planned, Request};
use super::types::{Plan, Refusal};
use crate::sniff::lexer::{Kind, Lexer};

/// What may stand between the verb and the statement.
const OPTIONS: [&[u8]; 7] = [
    b"analyze",
    b"extended",
    b"format",
    b"json",
    b"partitions",
    b"traditional",
    b"tree",
];
const STATEMENTS: [&[u8]; 7] = [
    b"delete", b"insert", b"replace", b"select", b"update", b"with", b"(",
];

/// The plan of the statement that is explained; none: no statement is.
///
/// # Errors
/// Several shards would explain it, each in its own way.
pub(super) fn plan(request: &Request<'_>) -> Result<Option<Planned>, Refusal> {
    let Some(at) = statement(request) else {
        return Ok(None);
    };
    let (head, sql) = request.sql.split_at(at);
    let planned = planner::plan(&Request { sql, ..*request })?;
    let Planned::Plan(plan) = planned else {
        return Ok(Some(planned));
    };
    let Plan::Single(mut part) = plan else {
        let message = "EXPLAIN and ANALYZE of a statement over several shards are not supported, each server would have its \
                       own answer: EXPLAIN ROUTE shows what every shard is asked; give the key's value, so that one shard \
                       explains it, or EXPLAIN a shard's statement on its server";
        return Err(Refusal::new(message));
    };
    part.sql.splice(0..0, head.iter().copied());
    Ok(Some(Planned::Plan(Plan::Single(part))))
}

/// Where the explained statement begins.
fn statement(request: &Request<'_>) -> Option<usize> {
    let mut lexer = Lexer::new(request.sql, request.dialect);
    lexer.next();
    loop {
        let token = lexer.next();
        let word = lexer.bytes(&token);
        let is = |of: &[&[u8]]| of.iter().any(|one| word.eq_ignore_ascii_case(one));
        match token.kind {
            Kind::Word | Kind::Mark(b'(') if is(&STATEMENTS) => return Some(token.start),
            Kind::Word if is(&OPTIONS) => {}
            Kind::Mark(b'=') => {}
            // FORMAT = 'json'
            Kind::Text => {}
            _ => return None,
        }
    }
}
