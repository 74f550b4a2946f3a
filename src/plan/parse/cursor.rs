//! The tokens of a statement and a place in them.
use super::super::ast::{Facts, Qualifier, Span, TableUse};
use super::{Unread, MAX_DEPTH, MAX_TOKENS};
use crate::sniff::lexer::{Kind, Lexer, Token};
use crate::sniff::Dialect;

pub(super) struct Cursor<'a> {
    pub sql: &'a [u8],
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    pub tables: Vec<TableUse>,
    pub blocks: Vec<Option<usize>>,
    /// The query block that is being read.
    pub block: Option<usize>,
    pub parameters: Vec<Span>,
    pub qualifiers: Vec<Qualifier>,
    pub using: Vec<(usize, String)>,
    pub derived_blocks: Vec<usize>,
    pub facts: Facts,
    /// Names of the common table expressions in sight, in lower case.
    pub ctes: Vec<String>,
}

impl<'a> Cursor<'a> {
    pub fn new(sql: &'a [u8], dialect: Dialect) -> Result<Cursor<'a>, Unread> {
        let mut lexer = Lexer::new(sql, dialect);
        let mut tokens = Vec::with_capacity(sql.len() / 6 + 2);
        let mut facts = Facts::default();
        loop {
            let token = lexer.next();
            facts.code_comment |= lexer.in_code_comment();
            facts.user_variable |= token.kind == Kind::UserVariable;
            tokens.push(token);
            if token.kind == Kind::End {
                break;
            }
            if tokens.len() > MAX_TOKENS {
                return Err(Unread {
                    at: token.start,
                    expected: "a statement of fewer words",
                });
            }
        }
        if lexer.trouble {
            return Err(Unread {
                at: 0,
                expected: "text that has one meaning in every character set and version",
            });
        }
        Ok(Cursor {
            sql,
            tokens,
            at: 0,
            depth: 0,
            tables: Vec::new(),
            blocks: Vec::new(),
            block: None,
            parameters: Vec::new(),
            qualifiers: Vec::new(),
            using: Vec::new(),
            derived_blocks: Vec::new(),
            facts,
            ctes: Vec::new(),
        })
    }

    pub fn count_marks(&self, mark: u8) -> usize {
        self.tokens
            .iter()
            .filter(|t| t.kind == Kind::Mark(mark))
            .count()
    }

    pub fn token(&self) -> Token {
        self.peek(0)
    }

    /// The token at this distance; the end beyond it.
    pub fn peek(&self, distance: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + distance).min(last)]
    }

    pub fn next(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    /// Where the last token read ends.
    pub fn end(&self) -> usize {
        match self.at.checked_sub(1) {
            Some(before) => self.tokens[before].end,
            None => 0,
        }
    }

    pub fn start(&self) -> usize {
        self.token().start
    }

    /// The token's text; of quoted names what is between the quotes, with doubled quotes made one.
    pub fn name_of(&self, token: &Token) -> String {
        let bytes = self.sql.get(token.start..token.end).unwrap_or_default();
        match (token.kind, bytes) {
            (Kind::Quoted, [quote @ (b'`' | b'"'), inner @ .., _]) => {
                let text = String::from_utf8_lossy(inner);
                let quote = char::from(*quote);
                text.replace(&format!("{quote}{quote}"), &quote.to_string())
            }
            _ => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    /// Whether the token at this distance is this bare word (given in lower case).
    pub fn word_at(&self, distance: usize, word: &str) -> bool {
        let token = self.peek(distance);
        token.kind == Kind::Word
            && !token.qualified
            && self
                .sql
                .get(token.start..token.end)
                .is_some_and(|t| t.eq_ignore_ascii_case(word.as_bytes()))
    }

    pub fn word(&self, word: &str) -> bool {
        self.word_at(0, word)
    }

    pub fn any_word(&self, words: &[&str]) -> bool {
        self.token().kind == Kind::Word && words.iter().any(|word| self.word(word))
    }

    /// Takes the word if it is there.
    pub fn take_word(&mut self, word: &str) -> bool {
        let is = self.word(word);
        if is {
            self.at += 1;
        }
        is
    }

    /// Takes all of these that come, in any order.
    pub fn skip_words(&mut self, words: &[&str]) {
        while self.any_word(words) {
            self.at += 1;
        }
    }

    pub fn mark_at(&self, distance: usize, mark: u8) -> bool {
        let kind = self.peek(distance).kind;
        kind == Kind::Mark(mark) || (mark == b';' && kind == Kind::Semicolon)
    }

    pub fn mark(&self, mark: u8) -> bool {
        self.mark_at(0, mark)
    }

    pub fn take_mark(&mut self, mark: u8) -> bool {
        let is = self.mark(mark);
        if is {
            self.at += 1;
        }
        is
    }

    pub fn expect_mark(&mut self, mark: u8, shown: &'static str) -> Result<(), Unread> {
        if self.take_mark(mark) {
            Ok(())
        } else {
            Err(self.unread(shown))
        }
    }

    pub fn expect_word(&mut self, word: &str, shown: &'static str) -> Result<(), Unread> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(self.unread(shown))
        }
    }

    pub fn expect_end(&self) -> Result<(), Unread> {
        match self.token().kind {
            Kind::End => Ok(()),
            _ => Err(self.unread("the end of the statement")),
        }
    }

    /// Whether two tokens stand together: `<` `=` is an operator, `< =` is not.
    pub fn joined(&self, distance: usize) -> bool {
        self.peek(distance).end == self.peek(distance + 1).start
    }

    pub fn is_name(&self, distance: usize) -> bool {
        matches!(self.peek(distance).kind, Kind::Word | Kind::Quoted)
    }

    pub fn name(&mut self, shown: &'static str) -> Result<(String, Span), Unread> {
        if !self.is_name(0) {
            return Err(self.unread(shown));
        }
        let token = self.next();
        Ok((self.name_of(&token), (token.start, token.end)))
    }

    /// Skips a parenthesis and all in it.
    pub fn skip_parentheses(&mut self) -> Result<(), Unread> {
        self.expect_mark(b'(', "(")?;
        let mut depth = 1;
        while depth > 0 {
            match self.next().kind {
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') => depth -= 1,
                Kind::End => return Err(self.unread(")")),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn unread(&self, expected: &'static str) -> Unread {
        Unread {
            at: self.start(),
            expected,
        }
    }

    /// One level deeper, as long as that is bearable.
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Unread>,
    ) -> Result<T, Unread> {
        if self.depth == MAX_DEPTH {
            return Err(self.unread("fewer parentheses in each other"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
