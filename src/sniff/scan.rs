//! The pass over one command: statement after statement, each to its family's file, and the rules
//! that hold for every token in any of them.

use super::lexer::{Kind, Lexer, Token};
use super::types::{Access, Dialect, Effects, Sniffed, Verb};
use super::variables;
use super::words::{self, Call, Word};

/// Lives for one call of `sniff`. `access` and `effects` only ever grow.
pub(super) struct Scan<'a> {
    lexer: Lexer<'a>,
    pub token: Token,
    /// The token before, and what the one before that meant.
    pub before: Token,
    pub before2: Word,
    pub depth: i32,
    access: Access,
    effects: Effects,
    /// The statement is one that may turn out to read only: words that do not belong into such a
    /// statement, and calls of unknown functions, matter.
    pub is_query: bool,
    /// Between WITH and its main statement at this depth: `name (columns)` is no call.
    pub cte_depth: Option<i32>,
    has_into: bool,
    /// The token before was `information_schema.`
    in_information_schema: bool,
    /// `@@session` was read, the name comes after the dot.
    variable_scope: Option<variables::Scope>,
}

impl<'a> Scan<'a> {
    pub fn new(sql: &'a [u8], dialect: Dialect) -> Scan<'a> {
        let start = Token {
            kind: Kind::Semicolon,
            entry: &words::NAME,
            qualified: false,
            start: 0,
            end: 0,
        };
        Scan {
            lexer: Lexer::new(sql, dialect),
            token: start,
            before: start,
            before2: Word::Name,
            depth: 0,
            access: Access::Read,
            effects: Effects::empty(),
            is_query: false,
            cte_depth: None,
            has_into: false,
            in_information_schema: false,
            variable_scope: None,
        }
    }

    pub fn run(mut self, complete: bool) -> Sniffed {
        let verb = self.statement();
        while self.token.kind != Kind::End {
            // Also ends what a family's file has left unread of its statement.
            if self.token.kind != Kind::Semicolon {
                self.skip();
            } else if self.advance_over_semicolons() {
                self.effect(Effects::MULTI_STATEMENT);
                self.raise(Access::Unsure);
                self.judge();
            }
        }
        if !complete || self.lexer.trouble {
            self.effect(Effects::UNREAD);
            self.raise(Access::Unsure);
        }
        Sniffed {
            verb,
            access: self.access,
            effects: self.effects,
            hint: self.lexer.hint,
        }
    }

    /// Moves to the first token of the next statement, if there is one.
    fn advance_over_semicolons(&mut self) -> bool {
        while self.token.kind == Kind::Semicolon {
            self.advance_anyhow();
        }
        self.token.kind != Kind::End
    }

    /// Reads the next token and judges the statement that it starts.
    pub fn statement(&mut self) -> Verb {
        self.advance_anyhow();
        self.judge()
    }

    /// Judges the statement that starts at the current token.
    fn judge(&mut self) -> Verb {
        self.is_query = false;
        self.has_into = false;
        self.cte_depth = None;
        self.depth = 0;
        while self.token.kind == Kind::Mark(b'(') {
            self.depth += 1;
            self.advance();
        }
        if self.at_end() {
            self.raise(Access::Unsure);
            return if self.depth == 0 {
                Verb::Empty
            } else {
                Verb::Other
            };
        }
        let entry = self.token.entry;
        self.family(entry.verb, entry.word)
    }

    fn family(&mut self, verb: Verb, word: Word) -> Verb {
        match verb {
            Verb::Select | Verb::Table | Verb::Values => self.query(),
            Verb::With => self.with(),
            Verb::Show => self.show(),
            Verb::Describe | Verb::Explain => self.explain(false),
            Verb::Analyze => self.explain(true),
            Verb::Help => self.rest(),
            Verb::Insert | Verb::Replace | Verb::Update | Verb::Delete => self.write(),
            Verb::Set => return self.set(),
            Verb::Begin | Verb::Start | Verb::Commit | Verb::Rollback | Verb::Xa => {
                self.transaction(verb)
            }
            Verb::Create | Verb::Alter => self.create_or_alter(verb),
            Verb::Other => self.other(word),
            _ => self.control(verb),
        }
        verb
    }

    /// INSERT, REPLACE, UPDATE, DELETE: what is inside matters for its effects only.
    fn write(&mut self) {
        self.raise(Access::Write);
        self.rest();
    }

    /// The next token, without the rules; never out of the statement.
    #[inline]
    pub fn advance(&mut self) -> Token {
        if self.token.kind == Kind::Semicolon {
            return self.token;
        }
        self.advance_anyhow()
    }

    /// The next token, even if that is behind the statement's semicolon.
    #[inline]
    pub fn advance_anyhow(&mut self) -> Token {
        self.before2 = self.before.entry.word;
        self.before = self.token;
        self.token = self.lexer.next();
        self.token
    }

    /// The next token, by what it means as a keyword.
    pub fn advance_word(&mut self) -> Word {
        self.advance().entry.word
    }

    pub fn bytes(&self, token: &Token) -> &'a [u8] {
        self.lexer.bytes(token)
    }

    pub fn at_end(&self) -> bool {
        matches!(self.token.kind, Kind::End | Kind::Semicolon)
    }

    /// To the statement's end, without the rules: what has no expressions, or does not run now.
    pub fn skip(&mut self) {
        while !self.at_end() {
            self.advance();
        }
    }

    /// To the statement's end, with the rules.
    pub fn rest(&mut self) {
        while !self.at_end() {
            self.advance();
            self.apply_rules();
        }
    }

    /// Hints count up to the token after the first keyword.
    pub fn end_of_hints(&mut self) {
        self.lexer.leading = false;
    }

    pub fn raise(&mut self, access: Access) {
        self.access = self.access.max(access);
    }

    pub fn effect(&mut self, effects: Effects) {
        self.effects |= effects;
    }

    /// An effect that also keeps the statement off the replicas.
    pub fn unsure(&mut self, effects: Effects) {
        self.effect(effects);
        self.raise(Access::Unsure);
    }

    /// The rules for the current token.
    pub fn apply_rules(&mut self) {
        self.end_of_hints();
        let (kind, qualified) = (self.token.kind, self.token.qualified);
        if self.is_query && matches!(self.before.entry.word, Word::Insert | Word::Replace) {
            self.insert_or_function();
        }
        match kind {
            Kind::Word if !qualified => self.keyword(self.token.entry.word),
            Kind::Word | Kind::Quoted if qualified => self.qualified_name(),
            Kind::Mark(mark) => self.mark(mark),
            Kind::UserVariable => self.user_variable(),
            Kind::SystemVariable => self.system_variable(),
            Kind::Assign => self.unsure(Effects::ASSIGNS_USER_VARIABLE),
            _ => {}
        }
    }

    fn mark(&mut self, mark: u8) {
        match mark {
            b'(' => self.open(),
            b')' => self.depth -= 1,
            b'.' => self.dot(),
            _ => {}
        }
    }

    /// INSERT and REPLACE are functions when a parenthesis follows.
    fn insert_or_function(&mut self) {
        if self.token.kind != Kind::Mark(b'(') {
            self.raise(Access::Write);
        }
    }

    fn keyword(&mut self, word: Word) {
        match word {
            Word::Name | Word::Plain => {}
            Word::CalcFoundRows => self.effect(Effects::CALC_FOUND_ROWS),
            _ if self.is_query => self.query_keyword(word),
            _ => {}
        }
    }

    fn query_keyword(&mut self, word: Word) {
        match word {
            Word::Select | Word::Table | Word::Values if self.cte_depth == Some(self.depth) => {
                self.cte_depth = None;
            }
            Word::For if self.before.entry.word == Word::Value => self.sequence_value(),
            Word::Update | Word::Share if self.before.entry.word == Word::For => self.locks(),
            Word::Lock => self.locks(),
            Word::Update | Word::Delete | Word::Outfile => self.raise(Access::Write),
            Word::Into => {
                self.has_into = true;
                self.raise(Access::Unsure);
            }
            Word::Set if self.before.entry.word == Word::Character => {}
            #[rustfmt::skip]
            Word::Procedure | Word::Create | Word::Alter | Word::Drop | Word::Call | Word::Set
            | Word::Load | Word::Kill | Word::Foreign => self.raise(Access::Unsure),
            _ => {}
        }
    }

    fn locks(&mut self) {
        self.unsure(Effects::LOCKING_READ);
    }

    /// NEXT VALUE FOR moves the sequence; PREVIOUS VALUE FOR answers from the connection's own past.
    fn sequence_value(&mut self) {
        match self.before2 {
            Word::Next => self.raise(Access::Write),
            Word::Previous => self.unsure(Effects::SERVER_STATE),
            _ => {}
        }
    }

    fn user_variable(&mut self) {
        self.effect(Effects::USES_USER_VARIABLE);
        if self.is_query && self.has_into {
            self.unsure(Effects::ASSIGNS_USER_VARIABLE);
        }
    }

    fn system_variable(&mut self) {
        let name = self.bytes(&self.token);
        match variables::scope(name) {
            Some(scope) => self.variable_scope = Some(scope),
            None => self.reads_variable(name, None),
        }
    }

    fn reads_variable(&mut self, name: &[u8], scope: Option<variables::Scope>) {
        let effects = variables::effects_of_reading(name, scope);
        if !effects.is_empty() {
            self.unsure(effects);
        }
    }

    /// A dot after a schema whose tables are the server's own, or after `@@session`.
    fn dot(&mut self) {
        let word = match self.before.kind {
            Kind::Quoted if !self.before.qualified => words::find(self.bytes(&self.before)).word,
            _ => self.before.entry.word,
        };
        match word {
            Word::ServerSchema if self.is_query => {
                self.unsure(Effects::SERVER_STATE);
                self.in_information_schema = true;
            }
            Word::InformationSchema => self.in_information_schema = true,
            _ => {}
        }
        if self.before.kind != Kind::SystemVariable {
            self.variable_scope = None;
        }
    }

    fn qualified_name(&mut self) {
        let name = self.bytes(&self.token);
        if let Some(scope) = self.variable_scope.take() {
            self.reads_variable(name, Some(scope));
        }
        if std::mem::take(&mut self.in_information_schema) && variables::is_server_table(name) {
            self.unsure(Effects::SERVER_STATE);
            if variables::shows_variables(name) {
                self.effect(Effects::SHOWS_TRACKING);
            }
        }
        if is_sequence_column(name) && self.is_query {
            self.raise(Access::Unsure);
        }
    }

    /// An opening parenthesis: a call, if a name stands before it.
    fn open(&mut self) {
        self.depth += 1;
        let name = self.before;
        let call = match name.kind {
            Kind::Word => name.entry.call,
            Kind::Quoted if name.qualified => Call::Unknown,
            Kind::Quoted => words::find(self.bytes(&name)).call,
            _ => return,
        };
        match call {
            Call::Pure => {}
            Call::Touches(access, effects) => {
                self.effect(effects);
                self.raise(access);
            }
            Call::Unknown => self.unknown_call(&name),
        }
    }

    fn unknown_call(&mut self, name: &Token) {
        let is_column_list = self.before2 == Word::As || self.cte_depth == Some(self.depth - 1);
        if !self.is_query || is_column_list {
            return;
        }
        self.effect(Effects::UNKNOWN_FUNCTION);
        if variables::is_administrative_function(self.bytes(name)) {
            self.raise(Access::Unsure);
        }
    }
}

/// `sequence.nextval`, `sequence.currval` of Oracle mode; unlikely as the name of a column.
fn is_sequence_column(name: &[u8]) -> bool {
    name.len() == 7
        && (name.eq_ignore_ascii_case(b"nextval") || name.eq_ignore_ascii_case(b"currval"))
}
