//! Queries: SELECT, TABLE, VALUES, WITH, SHOW, DESCRIBE, EXPLAIN, ANALYZE.

use super::lexer::Kind;
use super::scan::Scan;
use super::types::{Access, Effects, Verb};
use super::words::Word;

impl Scan<'_> {
    /// SELECT, TABLE t, VALUES ROW(…): read unless something inside says otherwise.
    pub(super) fn query(&mut self) {
        self.is_query = true;
        self.rest();
    }

    /// WITH … SELECT, or UPDATE and DELETE, which are found inside by their words.
    pub(super) fn with(&mut self) {
        self.cte_depth = Some(self.depth);
        self.query();
    }

    /// What of SHOW is the same on every server that has the data; the rest is the server's or the
    /// session's own.
    pub(super) fn show(&mut self) {
        match self.show_kind() {
            Some(Effects::DIAGNOSTICS) => self.unsure(Effects::DIAGNOSTICS),
            Some(effects) if effects.is_empty() => return self.query(),
            _ => {
                self.unsure(Effects::SERVER_STATE);
                self.show_variables();
            }
        }
        self.skip();
    }

    /// SHOW [SESSION] VARIABLES, unless its pattern cannot fit session_track_*.
    fn show_variables(&mut self) {
        if matches!(self.token.entry.word, Word::Session | Word::Local) {
            self.advance();
        }
        if !self.bytes(&self.token).eq_ignore_ascii_case(b"variables") {
            return;
        }
        let is_like = self.advance();
        let is_like = self.bytes(&is_like).eq_ignore_ascii_case(b"like");
        let pattern = self.advance();
        let begins_with = match (is_like, pattern.kind) {
            (true, Kind::Text) => self.bytes(&pattern).get(1).copied(),
            _ => None,
        };
        if begins_with.is_none_or(|b| matches!(b, b's' | b'S' | b'%' | b'_' | b'\\')) {
            self.effect(Effects::SHOWS_TRACKING);
        }
    }

    /// The effect of this kind of SHOW; empty for a plain one.
    fn show_kind(&mut self) -> Option<Effects> {
        let mut word = self.advance_word();
        self.end_of_hints();
        while matches!(word, Word::Full | Word::Extended) {
            word = self.advance_word();
        }
        let is_plain = match word {
            Word::Warnings | Word::Count => return Some(Effects::DIAGNOSTICS),
            Word::Tables | Word::Columns | Word::Schemas | Word::Index | Word::Keys => true,
            Word::Triggers | Word::Collation | Word::Engines => true,
            // SHOW TABLE STATUS, SHOW PROCEDURE STATUS; SHOW STORAGE ENGINES; SHOW CHARACTER SET
            Word::Table | Word::Procedure | Word::Function | Word::Package => {
                self.advance_word() == Word::Status
            }
            Word::Storage => self.advance_word() == Word::Engines,
            Word::Character => self.before_set(),
            Word::Create => self.is_show_create_plain(),
            _ => false,
        };
        is_plain.then(Effects::empty)
    }

    /// SHOW CHARSET, SHOW CHARACTER SET.
    fn before_set(&mut self) -> bool {
        self.advance();
        true
    }

    /// Events differ between primary and replica (DISABLE ON SLAVE), accounts may.
    fn is_show_create_plain(&mut self) -> bool {
        #[rustfmt::skip]
        let is_plain = matches!(self.advance_word(), Word::Table | Word::View | Word::Database
            | Word::Procedure | Word::Function | Word::Trigger | Word::Sequence | Word::Package);
        is_plain
    }

    /// EXPLAIN, DESCRIBE, DESC; with ANALYZE, before or after it, the statement is executed.
    pub(super) fn explain(&mut self, analyze: bool) {
        let mut executes = analyze;
        let mut word = self.advance_word();
        self.end_of_hints();
        while !self.at_end() {
            match word {
                Word::Analyze => executes = true,
                Word::Extended | Word::Partitions => {}
                // A table may be called that.
                Word::Format if !self.explain_format() => break,
                Word::Format => {}
                Word::For => return self.explain_for(),
                Word::Into => self.raise(Access::Unsure),
                _ if self.token.kind == Kind::UserVariable => {
                    self.unsure(Effects::ASSIGNS_USER_VARIABLE)
                }
                _ => break,
            }
            word = self.advance_word();
        }
        while self.token.kind == Kind::Mark(b'(') {
            self.depth += 1;
            word = self.advance_word();
        }
        self.explained(word, executes, analyze);
    }

    /// `FORMAT = JSON`: to the format's name; false if no `=` follows.
    fn explain_format(&mut self) -> bool {
        let is_format = self.advance().kind == Kind::Mark(b'=');
        if is_format {
            self.advance();
        }
        is_format
    }

    /// FOR CONNECTION n looks at this server's threads; FOR SCHEMA s … explains a statement there.
    fn explain_for(&mut self) {
        self.unsure(Effects::SERVER_STATE);
        self.rest();
    }

    fn explained(&mut self, word: Word, executes: bool, analyze: bool) {
        match (word, self.token.entry.verb) {
            (Word::With, _) => self.with(),
            // ANALYZE TABLE writes statistics; EXPLAIN TABLE t is a query.
            (Word::Table, _) if analyze => self.raise(Access::Write),
            (Word::Select | Word::Values | Word::Table, _) => self.query(),
            (_, Verb::Insert | Verb::Replace | Verb::Update | Verb::Delete) => {
                self.raise(if executes {
                    Access::Write
                } else {
                    Access::Unsure
                });
                self.rest();
            }
            // DESC t, DESCRIBE t column
            (_, Verb::Other) if !executes => self.query(),
            _ if analyze => self.raise(Access::Write),
            _ => self.raise(Access::Unsure),
        }
    }
}
