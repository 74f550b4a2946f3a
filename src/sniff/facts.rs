//! What policies look at: kind, tables, and shape of each statement of a command.
//!
//! Read from the same tokens as everything else, so that comments, case, quoting and `/*! … */` hide nothing. What
//! cannot be seen through (a text that is made when it runs, a stored program) is said to be so.

mod clauses;

use super::digest::Digester;
use super::lexer::{Kind, Lexer, Token};
use super::literal::unescaped;
use super::types::{Dialect, Verb};
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
    /// In the text of a PREPARE or EXECUTE IMMEDIATE.
    pub prepared: bool,
    /// The text ends within the statement: what it does besides is not known.
    pub cut: bool,
    /// As [`super::digest`] of this statement alone, where the judge asks for it.
    pub digest: u64,
}

/// Gets what is found, in the order of the text.
pub trait Judge {
    /// Whether statements' digests are needed.
    fn wants_digests(&self) -> bool {
        false
    }
    /// A text that the command prepares; its statement comes next.
    fn prepared(&mut self, _text: &[u8]) {}
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

/// Whether a comment is in the text that is code for some versions of the servers.
pub fn has_versions(sql: &[u8]) -> bool {
    // most texts have no exclamation mark
    memchr::memchr_iter(b'!', sql).any(|at| {
        let before = sql.get(..at).unwrap_or_default();
        before.ends_with(b"/*") || before.ends_with(b"/*M")
    })
}

fn read(sql: &[u8], complete: bool, dialect: Dialect, depth: u8, judge: &mut dyn Judge) {
    let digest = judge.wants_digests().then(Digester::default);
    let mut reader = Reader {
        lexer: Lexer::new(sql, dialect),
        digest,
        dialect,
        depth,
        judge,
        blocks: SmallVec::new(),
        before: Before::Nothing,
        qualifier: None,
        last_name: None,
        counted: false,
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
    /// That of CONVERT: behind its comma stands a type.
    convert: bool,
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
    /// A value: a name behind it is an alias, or a unit.
    Operand,
    /// A name comes next that is no column: an alias, a type, a collation.
    Naming,
    Exists,
    /// CONVERT, and functions whose first argument is a unit.
    Convert,
    Unit,
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
    /// Of CREATE: TABLE was read; another one begins a query.
    table: bool,
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
    digest: Option<Digester>,
    dialect: Dialect,
    depth: u8,
    judge: &'j mut dyn Judge,
    blocks: SmallVec<[Block; 8]>,
    before: Before,
    /// The name before the last dot.
    qualifier: Option<Token>,
    last_name: Option<Token>,
    /// The last name was taken for a column, or for its table.
    counted: bool,
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
                        self.end(false, false);
                    }
                    self.s = Statement::new(any, self.s.unsure || self.s.set);
                    self.blocks.clear();
                    self.blocks.push(Block::default());
                    self.before = Before::Nothing;
                }
                _ => {
                    if let Some(digest) = &mut self.digest {
                        digest.token(&self.lexer, &token);
                    }
                    self.token(&token);
                }
            }
        }
        let opaque = !complete || self.lexer.trouble;
        if self.s.words > 0 || !any || opaque {
            self.end(opaque, !complete);
        }
    }

    fn end(&mut self, opaque: bool, cut: bool) {
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
            opaque: self.s.opaque || opaque,
            further: self.s.further,
            prepared: self.depth < DEPTH,
            cut,
            digest: self
                .digest
                .as_mut()
                .map_or(0, |d| std::mem::take(d).finish()),
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
                Before::Operand
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
            // {fn now()}, {d '2026-01-01'}
            Kind::Mark(b'{') => Before::Naming,
            Kind::Text | Kind::Number | Kind::UserVariable | Kind::SystemVariable => {
                Before::Operand
            }
            Kind::Mark(b'?') => Before::Operand,
            _ => Before::Other,
        };
        self.before = next;
    }

    fn comma(&mut self) -> Before {
        let block = self.top();
        if block.convert {
            Before::Naming
        } else if block.in_from && !block.in_where {
            Before::WantsTable
        } else if block.is_query && !block.in_from {
            Before::WantsColumns
        } else {
            Before::Other
        }
    }

    fn open(&mut self) -> Before {
        let wants_table = self.before == Before::WantsTable;
        self.blocks.push(Block {
            exists: self.before == Before::Exists,
            convert: self.before == Before::Convert,
            // FROM (a, b): tables of the block around it
            in_from: wants_table,
            ..Block::default()
        });
        match self.before {
            Before::WantsTable => Before::WantsTable,
            Before::Unit => Before::Naming,
            _ => Before::Nothing,
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
                self.judge.prepared(&inner);
                read(&inner, true, self.dialect, self.depth - 1, self.judge);
            }
            None => self.s.opaque = true,
        }
    }
}
