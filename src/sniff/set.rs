//! SET in all its forms.

use super::lexer::{Kind, Token};
use super::scan::Scan;
use super::types::{Access, Effects, Verb};
use super::variables::{self, Scope};
use super::words::Word;

impl Scan<'_> {
    /// Answers the verb: that of the inner statement for MariaDB's SET STATEMENT … FOR.
    pub(super) fn set(&mut self) -> Verb {
        let word = self.advance_word();
        self.end_of_hints();
        if word == Word::Statement {
            return self.set_statement();
        }
        self.raise(Access::Unsure);
        match word {
            Word::Password | Word::Default => self.set_account(),
            Word::Role | Word::Resource => self.set_other(),
            Word::Transaction => {
                self.effect(Effects::SET_NEXT_TRANSACTION);
                self.skip();
            }
            _ => self.assignments(),
        }
        Verb::Set
    }

    /// The variables hold for the inner statement only; it is judged as if it stood alone.
    fn set_statement(&mut self) -> Verb {
        self.is_query = true;
        while !self.at_end() {
            self.advance();
            if self.token.entry.word == Word::For && self.depth == 0 {
                return self.statement();
            }
            self.apply_rules();
        }
        self.raise(Access::Unsure);
        Verb::Set
    }

    /// SET PASSWORD, SET DEFAULT ROLE: written to the tables of accounts.
    fn set_account(&mut self) {
        self.raise(Access::Write);
        self.set_other();
    }

    fn set_other(&mut self) {
        self.effect(Effects::SET_OTHER);
        self.skip();
    }

    /// From the first token of the first assignment to the statement's end.
    fn assignments(&mut self) {
        self.is_query = true;
        let mut inherited = Effects::empty();
        while !self.at_end() {
            let effects = self.assignment();
            // Versions differ on whether GLOBAL holds for what follows it without a scope.
            self.effect(effects | inherited);
            inherited |= effects & Effects::SET_GLOBAL;
            self.value();
            self.advance();
        }
    }

    /// What assigning to the name at the current token does; the name is read, not the value.
    fn assignment(&mut self) -> Effects {
        let token = self.token;
        match token.kind {
            Kind::UserVariable => Effects::ASSIGNS_USER_VARIABLE,
            Kind::SystemVariable => self.assignment_to_system_variable(&token),
            Kind::Quoted => variables::effects_of_setting(self.bytes(&token), Scope::Session),
            Kind::Word => self.assignment_to_word(token.entry.word),
            _ => Effects::SET_SESSION,
        }
    }

    fn assignment_to_system_variable(&mut self, token: &Token) -> Effects {
        let name = self.bytes(token);
        match variables::scope(name) {
            Some(scope) => {
                self.advance();
                let token = self.advance();
                variables::effects_of_setting(self.bytes(&token), scope)
            }
            None => variables::effects_of_setting(name, Scope::Unnamed),
        }
    }

    fn assignment_to_word(&mut self, word: Word) -> Effects {
        let scope = match word {
            Word::Names | Word::Character => return Effects::SET_SESSION,
            Word::Global | Word::Persist => Scope::Global,
            Word::Session | Word::Local => Scope::Session,
            _ => return variables::effects_of_setting(self.bytes(&self.token), Scope::Session),
        };
        let token = self.advance();
        if token.entry.word == Word::Transaction {
            self.skip();
        }
        variables::effects_of_setting(self.bytes(&token), scope)
    }

    /// To the comma behind the value, or the statement's end.
    fn value(&mut self) {
        while !self.at_end() {
            self.advance();
            if self.token.kind == Kind::Mark(b',') && self.depth <= 0 {
                return;
            }
            self.apply_value_rules();
        }
    }

    /// `name := value` assigns no user variable when it is the assignment itself.
    fn apply_value_rules(&mut self) {
        let is_own = self.token.kind == Kind::Assign && self.depth == 0;
        if is_own && self.before.kind != Kind::UserVariable {
            return;
        }
        self.apply_rules();
    }
}
