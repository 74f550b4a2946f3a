//! CREATE and ALTER, and the bodies of stored programs, which do not run now.

use super::lexer::Kind;
use super::scan::Scan;
use super::types::{Access, Effects, Verb};
use super::words::Word;

impl Scan<'_> {
    pub(super) fn create_or_alter(&mut self, verb: Verb) {
        self.raise(Access::Write);
        self.advance();
        self.end_of_hints();
        self.object(verb == Verb::Create);
    }

    /// To the word that names the kind of object, then over the rest of the statement.
    fn object(&mut self, create: bool) {
        while !self.at_end() {
            match self.token.entry.word {
                Word::Temporary if create => self.effect(Effects::CREATES_TEMPORARY_TABLE),
                // CREATE TABLE … SELECT runs now
                Word::Table if create => return self.rest(),
                Word::Procedure | Word::Function | Word::Trigger | Word::Event | Word::Package => {
                    return self.body()
                }
                Word::Table
                | Word::View
                | Word::Index
                | Word::User
                | Word::Role
                | Word::Database => return self.skip(),
                _ => {}
            }
            self.advance();
        }
    }

    /// Over a stored program: the semicolons between BEGIN or CASE and their END are its own.
    fn body(&mut self) {
        let mut depth = 0;
        while self.token.kind != Kind::End && (depth > 0 || self.token.kind != Kind::Semicolon) {
            depth += self.block_step();
        }
        if depth != 0 {
            self.effect(Effects::UNREAD | Effects::CALL);
        }
    }

    /// Moves one token on and answers by how much the depth of blocks changes there. END IF, END LOOP
    /// and the like close nothing that was counted.
    fn block_step(&mut self) -> i32 {
        let word = self.advance_anyhow().entry.word;
        match (self.before.entry.word, word) {
            (Word::End, Word::If | Word::Loop | Word::For) => 1,
            (Word::End, Word::Case) => 0,
            (_, Word::Begin | Word::Case) => 1,
            (_, Word::End) => -1,
            _ => 0,
        }
    }
}
