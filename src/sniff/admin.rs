//! Statements that hold locks, prepare, call, or administer the server.

use super::lexer::Kind;
use super::scan::Scan;
use super::types::{Access, Effects, Verb};
use super::words::Word;

impl Scan<'_> {
    pub(super) fn control(&mut self, verb: Verb) {
        let word = self.advance_word();
        self.end_of_hints();
        self.raise(access(verb));
        match verb {
            Verb::Do => self.expressions(),
            Verb::Call => self.call(),
            Verb::Use => self.with_effect(Effects::USE),
            Verb::Lock => self.lock(word),
            Verb::Unlock => self.unlock(word),
            Verb::Flush => self.flush(),
            Verb::Handler => self.handler(),
            Verb::Prepare => self.with_effect(Effects::PREPARES),
            Verb::Execute => self.execute(word),
            Verb::Load => self.load(),
            Verb::Get => self.get_diagnostics(),
            _ => self.skip(),
        }
    }

    /// A first word that starts no statement of its own.
    pub(super) fn other(&mut self, word: Word) {
        self.raise(Access::Unsure);
        let next = self.advance();
        self.end_of_hints();
        match word {
            Word::Backup => self.backup(next.entry.word),
            Word::Compound | Word::Loop | Word::If | Word::Case | Word::For => {
                self.effect(Effects::CALL)
            }
            // A label before a block.
            _ if next.kind == Kind::Mark(b':') => self.effect(Effects::CALL),
            _ => {}
        }
        self.skip();
    }

    fn with_effect(&mut self, effects: Effects) {
        self.effect(effects);
        self.skip();
    }

    /// DO, whose first token after the verb is part of an expression already.
    fn expressions(&mut self) {
        self.is_query = true;
        self.apply_rules();
        self.rest();
    }

    /// The arguments are expressions; user variables among them may be assigned.
    fn call(&mut self) {
        self.effect(Effects::CALL);
        self.rest();
    }

    /// LOCK TABLES, or LOCK INSTANCE FOR BACKUP.
    fn lock(&mut self, word: Word) {
        let is_instance = word == Word::Instance;
        self.with_effect(if is_instance {
            BACKUP_LOCK
        } else {
            Effects::LOCKS_TABLES
        });
    }

    /// UNLOCK INSTANCE leaves the locks of tables alone.
    fn unlock(&mut self, word: Word) {
        let is_instance = word == Word::Instance;
        self.with_effect(if is_instance {
            Effects::empty()
        } else {
            Effects::UNLOCKS_TABLES
        });
    }

    /// FLUSH TABLES … WITH READ LOCK, FOR EXPORT.
    fn flush(&mut self) {
        while !self.at_end() {
            let token = self.token;
            // as a global variable, it changes new sessions only
            if self.bytes(&token).eq_ignore_ascii_case(b"optimizer_costs") {
                self.effect(Effects::SET_GLOBAL);
            }
            let before = token.entry.word;
            let word = self.advance_word();
            if matches!(
                (before, word),
                (Word::Read, Word::Lock) | (Word::For, Word::Export)
            ) {
                self.effect(Effects::FLUSHES_WITH_LOCK);
            }
        }
    }

    /// HANDLER t OPEN: the word may stand behind a qualified name.
    fn handler(&mut self) {
        while !self.at_end() {
            if self.advance_word() == Word::Open {
                self.effect(Effects::HANDLER_OPEN);
            }
        }
    }

    /// What was prepared may do anything; EXECUTE IMMEDIATE prepares and runs.
    fn execute(&mut self, word: Word) {
        self.effect(Effects::CALL);
        if word == Word::Immediate {
            self.effect(Effects::PREPARES);
        }
        self.apply_rules();
        self.rest();
    }

    /// LOAD DATA [LOW_PRIORITY | CONCURRENT] LOCAL, LOAD XML LOCAL.
    fn load(&mut self) {
        let mut words = 0;
        while !self.at_end() && words < 3 {
            if self.token.entry.word == Word::Local {
                self.effect(Effects::LOCAL_INFILE);
            }
            self.advance();
            words += 1;
        }
        self.rest();
    }

    /// GET DIAGNOSTICS @a = NUMBER, …
    fn get_diagnostics(&mut self) {
        self.effect(Effects::DIAGNOSTICS);
        while !self.at_end() {
            if self.advance().kind == Kind::UserVariable {
                self.effect(Effects::ASSIGNS_USER_VARIABLE | Effects::USES_USER_VARIABLE);
            }
        }
    }

    /// MariaDB: BACKUP STAGE START … END, BACKUP LOCK t, BACKUP UNLOCK.
    fn backup(&mut self, word: Word) {
        let releases = match word {
            Word::Stage => self.advance_word() == Word::End,
            word => word == Word::Unlock,
        };
        if !releases {
            self.effect(BACKUP_LOCK);
        }
    }
}

/// UNLOCK TABLES does not release these, so the session must not think that it does: as after a
/// CALL, only a reset is certain to.
const BACKUP_LOCK: Effects = Effects::FLUSHES_WITH_LOCK.union(Effects::CALL);

/// What is certain of a statement by its verb alone.
fn access(verb: Verb) -> Access {
    use Verb::*;
    match verb {
        Do | Call | Use | Lock | Unlock | Handler | Prepare | Execute | Deallocate | Savepoint
        | Release | Kill | Get | Signal | Resignal | Checksum => Access::Unsure,
        _ => Access::Write,
    }
}
