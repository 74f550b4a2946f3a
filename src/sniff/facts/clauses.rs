//! Words of a statement: which are clauses, which are names, and which names may be columns.
use super::{Before, Block, Reader, Statement};
use crate::sniff::lexer::{Kind, Token};
use crate::sniff::types::Verb;
use crate::sniff::words::Word;

/// Names without a parenthesis that stand for a value, or for nothing.
const VALUES: [&[u8]; 21] = [
    b"true",
    b"false",
    b"null",
    b"unknown",
    b"current_date",
    b"current_time",
    b"current_timestamp",
    b"current_user",
    b"current_role",
    b"localtime",
    b"localtimestamp",
    b"utc_date",
    b"utc_time",
    b"utc_timestamp",
    b"sysdate",
    b"leading",
    b"trailing",
    b"both",
    b"skip",
    b"nowait",
    b"rownum",
];
/// Functions whose first argument is a unit or a type.
const UNITS_FIRST: [&[u8]; 4] = [b"timestampadd", b"timestampdiff", b"extract", b"get_format"];

impl Reader<'_, '_> {
    /// A bare word or a quoted name.
    pub(super) fn word(&mut self, token: &Token, first: bool) -> Before {
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
        let block = self.top();
        block.base |= wants_table;
        if !block.in_where && self.blocks.len() == 1 {
            return Before::Name;
        }
        let next = self.lexer.clone().next();
        let called = next.kind == Kind::Mark(b'(');
        self.counted = match self.before {
            // what the name before the dot is
            Before::Dot => self.counted,
            Before::Name | Before::Operand | Before::Naming | Before::WantsTable => false,
            // `_utf8mb4'a'`, `date'2026-01-01'`
            _ => !called && next.kind != Kind::Text && !(bare && is_value(name)),
        };
        let counted = self.counted;
        let block = self.top();
        block.named |= counted;
        if block.in_where {
            block.where_ |= counted;
        }
        match () {
            () if called && is_any(name, &UNITS_FIRST) => Before::Unit,
            () if called && name.eq_ignore_ascii_case(b"convert") => Before::Convert,
            () => Before::Name,
        }
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
            Word::Table => return Some(self.table()),
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
        let outermost = self.blocks.len() == 1;
        let before = self.before;
        let block = self.top();
        Some(match name {
            "FROM" if prepares => {
                self.s.wants_text = true;
                Before::Other
            }
            "FROM" if block.is_query || outermost => {
                block.in_from = true;
                Before::WantsTable
            }
            // EXTRACT(YEAR FROM a), TRIM(LEADING FROM a)
            "FROM" => Before::Other,
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
            // UNION ALL
            "ALL" | "DISTINCT" if before == Before::Nothing => Before::Nothing,
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
                if before == Before::WantsColumns =>
            {
                Before::WantsColumns
            }
            "AND" | "OR" | "XOR" | "NOT" | "IS" | "IN" | "BETWEEN" | "LIKE" | "RLIKE"
            | "REGEXP" | "DIV" | "CASE" | "WHEN" | "THEN" | "ELSE" | "INTERVAL" | "BINARY"
            | "ESCAPE" | "ANY" | "SOME" | "ON" | "INTO" | "BY" | "SOUNDS" | "MEMBER" | "OF" => {
                Before::Other
            }
            "MOD" if before == Before::Operand || before == Before::Name => Before::Other,
            "END" => Before::Operand,
            "AS" | "COLLATE" | "USING" => Before::Naming,
            _ => return None,
        })
    }

    /// TABLE as a query, where it is not a word of CREATE TABLE, DROP TABLE and the like.
    fn table(&mut self) -> Before {
        let created = self.s.kind == Some(Verb::Create);
        let inserted = matches!(self.s.kind, Some(Verb::Insert | Verb::Replace));
        let begins = match self.before {
            Before::Nothing | Before::Naming | Before::WantsTable => true,
            _ if inserted || (created && self.s.table) => true,
            _ => self.s.kind != Some(Verb::Analyze) && self.main_verb(Verb::Table),
        };
        self.s.table = true;
        if !begins {
            return Before::Other;
        }
        let block = self.top();
        *block = Block {
            is_query: true,
            star: true,
            in_from: true,
            exists: block.exists,
            named: block.named,
            ..Block::default()
        };
        Before::WantsTable
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

    /// Behind WITH and EXPLAIN, the verb of the statement that runs: true; elsewhere a part of it.
    fn main_verb(&mut self, verb: Verb) -> bool {
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
        } else {
            return false;
        }
        true
    }
}

fn is_value(name: &[u8]) -> bool {
    is_any(name, &VALUES)
}

fn is_any(name: &[u8], of: &[&[u8]]) -> bool {
    of.iter().any(|word| name.eq_ignore_ascii_case(word))
}
