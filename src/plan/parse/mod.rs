//! Tokens → [`Parsed`], by MySQL's grammar and precedence. What is not understood is an error, never a guess.
//!
//! | file | job |
//! |---|---|
//! | `cursor.rs` | the tokens and the place in them |
//! | `query.rs` | SELECT, UNION, WITH and their clauses |
//! | `from.rs` | tables, joins, aliases |
//! | `expr.rs`, `atom.rs` | expressions |
//! | `write.rs` | INSERT, REPLACE, UPDATE, DELETE |
mod atom;
mod cursor;
mod expr;
mod from;
mod query;
mod write;

use super::ast::{Parsed, Statement};
use crate::sniff::Dialect;
use cursor::Cursor;

/// Where reading failed: the byte, and what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    pub at: usize,
    pub expected: &'static str,
}

/// Statements nested deeper than this are not read.
const MAX_DEPTH: u32 = 64;
/// Nor are those of more tokens: INSERTs of many rows are within it.
const MAX_TOKENS: usize = 4_000_000;

/// Reads one SELECT, INSERT, REPLACE, UPDATE or DELETE.
///
/// # Errors
/// Where the text is not understood.
pub fn parse(sql: &[u8], dialect: Dialect) -> Result<Parsed, Unread> {
    let mut cursor = Cursor::new(sql, dialect)?;
    let statement = cursor.statement()?;
    if cursor.mark(b';') {
        cursor.next();
    }
    cursor.expect_end()?;
    // a parameter that was skipped would be sent in another's place
    if cursor.count_marks(b'?') != cursor.parameters.len() {
        return Err(Unread {
            at: 0,
            expected: "parameters only where expressions are",
        });
    }
    Ok(Parsed {
        statement,
        tables: cursor.tables,
        blocks: cursor.blocks,
        parameters: cursor.parameters,
        qualifiers: cursor.qualifiers,
        using: cursor.using,
        derived_blocks: cursor.derived_blocks,
        facts: cursor.facts,
    })
}

impl Cursor<'_> {
    fn statement(&mut self) -> Result<Statement, Unread> {
        if self.word("insert") || self.word("replace") {
            return Ok(Statement::Insert(self.insert()?));
        }
        if self.word("update") {
            return Ok(Statement::Update(self.update()?));
        }
        if self.word("delete") {
            return Ok(Statement::Delete(self.delete()?));
        }
        if self.word("select") || self.word("with") || self.mark(b'(') {
            return Ok(Statement::Select(self.query()?));
        }
        Err(self.unread("SELECT, INSERT, REPLACE, UPDATE or DELETE"))
    }
}
