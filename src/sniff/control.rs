//! Transactions: BEGIN, START, COMMIT, ROLLBACK, XA.

use super::scan::Scan;
use super::types::{Access, Effects, Verb};
use super::words::Word;

impl Scan<'_> {
    pub(super) fn transaction(&mut self, verb: Verb) {
        self.raise(Access::Unsure);
        let word = self.advance_word();
        self.end_of_hints();
        match verb {
            Verb::Begin => self.begin(word),
            Verb::Start => self.start(word),
            Verb::Commit => self.end_transaction(),
            Verb::Rollback => self.rollback(word),
            _ => self.xa(word),
        }
    }

    /// BEGIN [WORK]; anything else behind it makes a block of statements, as BEGIN NOT ATOMIC.
    fn begin(&mut self, word: Word) {
        if word == Word::Work {
            self.advance();
        }
        if self.at_end() {
            return self.effect(Effects::BEGIN);
        }
        let is_block = word == Word::Not;
        self.effect(if is_block {
            Effects::CALL
        } else {
            Effects::CALL | Effects::BEGIN
        });
        self.rest();
    }

    fn start(&mut self, word: Word) {
        if word != Word::Transaction {
            // START REPLICA and the like
            self.raise(Access::Write);
            return self.skip();
        }
        self.effect(Effects::BEGIN);
        while !self.at_end() {
            let is_read = self.token.entry.word == Word::Read;
            if self.advance_word() == Word::Only && is_read {
                self.effect(Effects::BEGIN_READ_ONLY);
            }
        }
    }

    /// COMMIT [WORK] [AND [NO] CHAIN] [[NO] RELEASE]
    fn end_transaction(&mut self) {
        self.effect(Effects::END_TRANSACTION);
        while !self.at_end() {
            if self.token.entry.word == Word::Chain && self.before.entry.word == Word::And {
                self.effect(Effects::BEGIN);
            }
            self.advance();
        }
    }

    /// ROLLBACK [WORK] TO [SAVEPOINT] name leaves the transaction open.
    fn rollback(&mut self, word: Word) {
        let word = if word == Word::Work {
            self.advance_word()
        } else {
            word
        };
        if word == Word::To {
            return self.skip();
        }
        self.end_transaction();
    }

    fn xa(&mut self, word: Word) {
        match word {
            Word::Start | Word::Begin => self.effect(Effects::XA_START),
            Word::Commit | Word::Rollback => self.effect(Effects::XA_END),
            // a prepared transaction stays with its session, which can do nothing else before COMMIT or ROLLBACK
            Word::End | Word::Prepare => {}
            _ => self.effect(Effects::SERVER_STATE),
        }
        self.skip();
    }
}
