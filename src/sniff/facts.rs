//! What policies look at: kind, tables, and shape of each statement of a command.
//!
//! Read from the same tokens as everything else, so that comments, case, quoting and `/*! … */` hide nothing. What
//! cannot be seen through (a text that is made when it runs, a stored program) is said to be so.

use super::lexer::{Kind, Lexer, Token};
use super::literal::unescaped;
use super::types::{Dialect, Verb};
use super::words::Word;
use smallvec::SmallVec;

/// One statement of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it does: of WITH … DELETE and of SET STATEMENT … FOR DELETE, Delete. EXPLAIN stays Explain unless
    /// the statement is executed.
    pub kind: Verb,
    /// `SELECT *` or TABLE of a table, in any query block, without WHERE and LIMIT.
    pub full_table_select: bool,
    /// UPDATE or DELETE without a WHERE that names anything.
    pub no_where: bool,
    /// What runs cannot be known from the text.
    pub opaque: bool,
    /// The command has more than one statement, and this is not the first.
    pub further: bool,
}

/// Gets what is found, in the order of the text.
pub trait Judge {
    /// A name that may be a table's, with the name before its dot.
    fn name(&mut self, qualifier: Option<&[u8]>, name: &[u8]);
    /// The end of the statement that the names before were in.
    fn statement(&mut self, facts: Facts);
}

/// How deep texts within texts are followed (PREPARE … FROM 'PREPARE … FROM ''…''').
const DEPTH: u8 = 4;

/// Reads all statements of a command; of a prepared text too. `complete` false: it is cut off.
pub fn facts(sql: &[u8], complete: bool, dialect: Dialect, judge: &mut dyn Judge) {
    read(sql, complete, dialect, DEPTH, judge);
}

fn read(sql: &[u8], complete: bool, dialect: Dialect, depth: u8, judge: &mut dyn Judge) {
    let mut reader = Reader {
        lexer: Lexer::new(sql, dialect),
        dialect,
        depth,
        judge,
        blocks: SmallVec::new(),
        before: Before::Nothing,
        qualifier: None,
        last_name: None,
        s: Statement::new(false, false),
    };
    reader.run(complete);
}

/// A query block, or a pair of parentheses that is none.
#[derive(Clone, Copy, Default)]
struct Block {
    is_query: bool,
    star: bool,
    in_from: bool,
    /// A table stands in FROM, not only what other blocks bring.
    base: bool,
    in_where: bool,
    /// A WHERE that names something.
    where_: bool,
    limit: bool,
    /// Something in it has a name.
    named: bool,
    /// The parenthesis of EXISTS: `*` in it means nothing.
    exists: bool,
}

/// What the token before was, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A table's name comes next, if any name does.
    WantsTable,
    /// SELECT, a modifier or a comma behind it, or a dot: a `*` means all columns.
    WantsColumns,
    Dot,
    Name,
    Exists,
    Other,
}

/// What becomes known of the statement.
#[derive(Clone, Copy, Default)]
struct Statement {
    kind: Option<Verb>,
    words: u32,
    with: bool,
    /// EXPLAIN: what follows does not run.
    explains: bool,
    full: bool,
    opaque: bool,
    further: bool,
    /// An earlier statement of the command may have changed how text is read.
    unsure: bool,
    /// PREPARE … FROM, EXECUTE IMMEDIATE: the text comes next.
    wants_text: bool,
    prepares: bool,
    creates: bool,
    set: bool,
    /// SET STATEMENT … up to FOR.
    set_statement: bool,
}

impl Statement {
    fn new(further: bool, unsure: bool) -> Statement {
        Statement {
            opaque: unsure,
            further,
            unsure,
            ..Statement::default()
        }
    }
}

struct Reader<'a, 'j> {
    lexer: Lexer<'a>,
    dialect: Dialect,
    depth: u8,
    judge: &'j mut dyn Judge,
    blocks: SmallVec<[Block; 8]>,
    before: Before,
    /// The name before the last dot.
    qualifier: Option<Token>,
    last_name: Option<Token>,
    s: Statement,
}

impl Reader<'_, '_> {
    fn run(&mut self, complete: bool) {
        self.blocks.push(Block::default());
        let mut any = false;
        loop {
            let token = self.lexer.next();
            match token.kind {
                Kind::End => break,
                Kind::Semicolon => {
                    if self.s.words > 0 {
                        any = true;
                        self.end(false);
                    }
                    self.s = Statement::new(any, self.s.unsure || self.s.set);
                    self.blocks.clear();
                    self.blocks.push(Block::default());
                    self.before = Before::Nothing;
                }
                _ => self.token(&token),
            }
        }
        let cut = !complete || self.lexer.trouble;
        if self.s.words > 0 || !any || cut {
            self.end(cut);
        }
    }

    fn end(&mut self, cut: bool) {
        while self.blocks.len() > 1 {
            self.close();
        }
        let main = self.blocks.first().copied().unwrap_or_default();
        self.judge_block(main);
        let kind = self.s.kind.unwrap_or(Verb::Empty);
        let changes = matches!(kind, Verb::Update | Verb::Delete) && !self.s.explains;
        let facts = Facts {
            kind,
            full_table_select: self.s.full,
            no_where: changes && !main.where_,
            opaque: self.s.opaque || cut,
            further: self.s.further,
        };
        self.judge.statement(facts);
    }

    fn top(&mut self) -> &mut Block {
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    fn token(&mut self, token: &Token) {
        let first = self.s.words == 0;
        if !matches!(token.kind, Kind::Mark(b'(')) {
            self.s.words = self.s.words.saturating_add(1);
        }
        if std::mem::take(&mut self.s.wants_text) {
            self.prepared_text(token);
        }
        let next = match token.kind {
            Kind::Word | Kind::Quoted => self.word(token, first),
            Kind::Mark(b'(') => self.open(),
            Kind::Mark(b')') => {
                self.close();
                Before::Other
            }
            Kind::Mark(b'.') => {
                self.qualifier = self.last_name.filter(|_| self.before == Before::Name);
                Before::Dot
            }
            Kind::Mark(b',') => self.comma(),
            Kind::Mark(b'*') => {
                let all = matches!(self.before, Before::WantsColumns | Before::Dot);
                self.top().star |= all;
                Before::Other
            }
            // a label before a block of a compound statement
            Kind::Mark(b':') => {
                self.s.opaque |= self.s.words == 2;
                Before::Other
            }
            Kind::UserVariable | Kind::SystemVariable => {
                self.top().named = true;
                Before::Other
            }
            _ => Before::Other,
        };
        self.before = next;
    }

    fn comma(&mut self) -> Before {
        let block = self.top();
        if block.in_from && !block.in_where {
            Before::WantsTable
        } else if block.is_query && !block.in_from {
            Before::WantsColumns
        } else {
            Before::Other
        }
    }

    fn open(&mut self) -> Before {
        let exists = self.before == Before::Exists;
        let wants_table = self.before == Before::WantsTable;
        self.blocks.push(Block {
            exists,
            // FROM (a, b): tables of the block around it
            in_from: wants_table,
            ..Block::default()
        });
        if wants_table {
            Before::WantsTable
        } else {
            Before::Nothing
        }
    }

    fn close(&mut self) {
        if self.blocks.len() < 2 {
            return;
        }
        let Some(block) = self.blocks.pop() else {
            return;
        };
        self.judge_block(block);
        let around = self.top();
        around.named |= block.named;
        if around.in_where {
            around.where_ |= block.named;
        }
        if !block.is_query {
            around.base |= block.base;
        }
    }

    fn judge_block(&mut self, block: Block) {
        let whole = block.is_query && block.star && block.base && !block.exists;
        self.s.full |= whole && !block.where_ && !block.limit && !self.s.explains;
    }

    /// A bare word or a quoted name.
    fn word(&mut self, token: &Token, first: bool) -> Before {
        let name = self.lexer.bytes(token);
        let after_dot = self.before == Before::Dot;
        let bare = token.kind == Kind::Word && !after_dot;
        if bare {
            if first {
                return self.verb(token);
            }
            if let Some(next) = self.keyword(token) {
                return next;
            }
        } else if first {
            self.s.kind = Some(Verb::Other);
        }
        let qualifier = match (after_dot, self.qualifier) {
            (true, Some(token)) => Some(self.lexer.bytes(&token)),
            _ => None,
        };
        self.judge.name(qualifier, name);
        self.last_name = Some(*token);
        let wants_table = self.before == Before::WantsTable;
        let literal = token.kind == Kind::Word
            && [&b"true"[..], b"false", b"null", b"unknown"]
                .iter()
                .any(|word| name.eq_ignore_ascii_case(word));
        let block = self.top();
        block.base |= wants_table;
        block.named |= !literal;
        if block.in_where {
            block.where_ |= !literal;
        }
        Before::Name
    }

    /// The first word of a statement.
    fn verb(&mut self, token: &Token) -> Before {
        let verb = token.entry.verb;
        self.s.kind = Some(verb);
        let block = self.top();
        match verb {
            Verb::Select | Verb::Values => {
                block.is_query = true;
                return Before::WantsColumns;
            }
            Verb::Table => {
                (block.is_query, block.star, block.in_from) = (true, true, true);
                return Before::WantsTable;
            }
            Verb::With => self.s.with = true,
            Verb::Explain | Verb::Describe => self.s.explains = true,
            Verb::Call => self.s.opaque = true,
            Verb::Prepare => self.s.prepares = true,
            Verb::Create | Verb::Alter => self.s.creates = true,
            Verb::Set => self.s.set = true,
            Verb::Other => {
                self.s.opaque |= matches!(
                    token.entry.word,
                    Word::Compound | Word::Loop | Word::If | Word::Case | Word::For
                );
            }
            _ => {}
        }
        Before::Other
    }

    /// Words with a meaning here; None: it is a name.
    fn keyword(&mut self, token: &Token) -> Option<Before> {
        match token.entry.word {
            Word::Select => return Some(self.query_begins(Verb::Select)),
            Word::Values if self.s.with => {
                self.main_verb(Verb::Values);
                return Some(Before::Other);
            }
            Word::Update | Word::Delete | Word::Insert | Word::Replace => {
                self.main_verb(token.entry.verb);
                return Some(Before::Other);
            }
            Word::Analyze => {
                self.s.explains = false;
                return Some(Before::Other);
            }
            Word::Immediate if self.s.kind == Some(Verb::Execute) && self.s.words == 2 => {
                self.s.wants_text = true;
                return Some(Before::Other);
            }
            Word::Not if self.s.kind == Some(Verb::Begin) && self.s.words == 2 => {
                self.s.opaque = true;
                return Some(Before::Other);
            }
            Word::Statement if self.s.set && self.s.words == 2 => {
                self.s.set_statement = true;
                return Some(Before::Other);
            }
            Word::For if self.s.set_statement && self.blocks.len() == 1 => {
                // the statement behind it is the one that runs
                self.s = Statement {
                    opaque: self.s.opaque,
                    ..Statement::new(self.s.further, self.s.unsure)
                };
                return Some(Before::Nothing);
            }
            Word::Procedure | Word::Function | Word::Trigger | Word::Event | Word::Package
                if self.s.creates =>
            {
                self.s.opaque = true;
                return Some(Before::Other);
            }
            _ => {}
        }
        self.clause(token.entry.name)
    }

    fn clause(&mut self, name: &str) -> Option<Before> {
        let prepares = self.s.prepares;
        let block = self.top();
        Some(match name {
            "FROM" if prepares => {
                self.s.wants_text = true;
                Before::Other
            }
            "FROM" => {
                block.in_from = true;
                Before::WantsTable
            }
            "JOIN" | "STRAIGHT_JOIN" if block.in_from => Before::WantsTable,
            "WHERE" => {
                block.in_where = true;
                Before::Other
            }
            "GROUP" | "ORDER" | "HAVING" | "RETURNING" => {
                (block.in_where, block.in_from) = (false, false);
                Before::Other
            }
            "LIMIT" => {
                block.limit = true;
                block.in_where = false;
                Before::Other
            }
            "UNION" | "EXCEPT" | "INTERSECT" | "MINUS" => {
                let done = *block;
                *block = Block {
                    exists: done.exists,
                    named: done.named,
                    ..Block::default()
                };
                self.judge_block(done);
                Before::Nothing
            }
            "EXISTS" => Before::Exists,
            "ALL"
            | "DISTINCT"
            | "DISTINCTROW"
            | "HIGH_PRIORITY"
            | "SQL_SMALL_RESULT"
            | "SQL_BIG_RESULT"
            | "SQL_BUFFER_RESULT"
            | "SQL_NO_CACHE"
            | "SQL_CACHE"
            | "SQL_CALC_FOUND_ROWS"
            | "STRAIGHT_JOIN"
                if self.before == Before::WantsColumns =>
            {
                Before::WantsColumns
            }
            "AND" | "OR" | "XOR" | "NOT" | "IS" | "IN" | "BETWEEN" | "LIKE" | "RLIKE"
            | "REGEXP" | "DIV" | "CASE" | "WHEN" | "THEN" | "ELSE" | "END" | "INTERVAL"
            | "BINARY" | "COLLATE" | "ESCAPE" | "ANY" | "SOME" | "AS" | "ON" | "USING" | "INTO"
            | "BY" => Before::Other,
            _ => return None,
        })
    }

    fn query_begins(&mut self, verb: Verb) -> Before {
        self.main_verb(verb);
        let block = self.top();
        let exists = block.exists;
        *block = Block {
            is_query: true,
            exists,
            named: block.named,
            ..Block::default()
        };
        Before::WantsColumns
    }

    /// Behind WITH and EXPLAIN, the verb of the statement that runs; elsewhere a part of it.
    fn main_verb(&mut self, verb: Verb) {
        let runs = self.s.with && self.blocks.len() == 1;
        let explained = matches!(
            self.s.kind,
            Some(Verb::Analyze | Verb::Explain | Verb::Describe)
        );
        if runs {
            self.s.with = false;
            self.s.kind = Some(verb);
        } else if explained && !self.s.explains {
            self.s.kind = Some(verb);
        }
    }

    /// The text of PREPARE or EXECUTE IMMEDIATE: read as a command of its own if it is here.
    fn prepared_text(&mut self, token: &Token) {
        let text = match token.kind {
            Kind::Text => Some(self.lexer.bytes(token)),
            _ => None,
        };
        let ends = {
            let mut ahead = self.lexer.clone();
            let next = ahead.next();
            // `'a' 'b'` is one text, and operators make another of it
            matches!(next.kind, Kind::End | Kind::Semicolon) || next.entry.name == "USING"
        };
        match text.filter(|_| ends && self.depth > 0) {
            Some(text) => {
                let inner = unescaped(text, self.dialect);
                read(&inner, true, self.dialect, self.depth - 1, self.judge);
            }
            None => self.s.opaque = true,
        }
    }
}
