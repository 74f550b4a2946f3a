//! Bytes → tokens, by the rules of the servers' own scanners: what counts as comment, string,
//! number or name here is what the server will take for one.
//!
//! Where MySQL and MariaDB, or the client's character set, leave it open, `trouble` is set and the
//! statement is not proven to read.

mod comments;
use super::types::{Dialect, Hint};
use super::words::{self, Entry};
use memchr::{memchr, memchr2};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare word; `entry` tells which, [`words::NAME`] when it is only a name.
    Word,
    /// A name in backticks, or in double quotes under ANSI_QUOTES.
    Quoted,
    Text,
    Number,
    /// `@name` in any quoting; the bytes are those after the `@`.
    UserVariable,
    /// `@@name`; the bytes are those after the `@@`, up to a dot.
    SystemVariable,
    /// `:=`
    Assign,
    Semicolon,
    Mark(u8),
    End,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: Kind,
    pub(in crate::sniff) entry: &'static Entry,
    /// Comes after a dot: part of a qualified name, never a keyword.
    pub qualified: bool,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Letter,
    Digit,
    Apostrophe,
    DoubleQuote,
    Backtick,
    At,
    Slash,
    Star,
    Dash,
    Hash,
    Dot,
    Colon,
    Semicolon,
    Nul,
    Other,
}

const CLASSES: [Class; 256] = classes();
static CLASS: [Class; 256] = CLASSES;

const fn classes() -> [Class; 256] {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t'..=b'\r' => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xff => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'\'' => Class::Apostrophe,
            b'"' => Class::DoubleQuote,
            b'`' => Class::Backtick,
            b'@' => Class::At,
            b'/' => Class::Slash,
            b'*' => Class::Star,
            b'-' => Class::Dash,
            b'#' => Class::Hash,
            b'.' => Class::Dot,
            b':' => Class::Colon,
            b';' => Class::Semicolon,
            0 => Class::Nul,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
}

/// Cheap to clone, for looking ahead. `at` never passes the end of `sql`; every call of [`Lexer::next`] moves it or returns End.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    dialect: Dialect,
    /// Inside `/*! … */` whose content counts.
    in_code_comment: bool,
    after_dot: bool,
    /// Where the last name ended: a dot right there joins names, elsewhere it may start a number.
    name_end: usize,
    /// Each word's [`Entry`] is looked up.
    knows_words: bool,
    /// Comments read now may carry a hint.
    pub leading: bool,
    pub hint: Option<Hint>,
    pub trouble: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(sql: &'a [u8], dialect: Dialect) -> Lexer<'a> {
        Lexer {
            sql,
            at: 0,
            dialect,
            in_code_comment: false,
            after_dot: false,
            name_end: usize::MAX,
            knows_words: true,
            leading: true,
            hint: None,
            trouble: dialect.ambiguous_bytes && !sql.is_ascii(),
        }
    }

    /// All words are names: for those who only want to know what a token is and where.
    pub fn without_words(sql: &'a [u8], dialect: Dialect) -> Lexer<'a> {
        Lexer {
            knows_words: false,
            ..Lexer::new(sql, dialect)
        }
    }

    /// Whether the last token stands in `/*! … */`.
    pub fn in_code_comment(&self) -> bool {
        self.in_code_comment
    }

    /// The token's bytes; of quoted names and variables without the quotes.
    pub fn bytes(&self, token: &Token) -> &'a [u8] {
        let bytes = self.sql.get(token.start..token.end).unwrap_or_default();
        match bytes {
            [b'`' | b'"' | b'\'', inner @ .., _] if token.kind != Kind::Text => inner,
            _ => bytes,
        }
    }

    pub fn next(&mut self) -> Token {
        let qualified = std::mem::take(&mut self.after_dot);
        while let Some(&byte) = self.sql.get(self.at) {
            // spaces and words are nearly all of a statement
            match CLASS[byte as usize] {
                Class::Space => self.at += 1,
                Class::Letter => return self.word(qualified),
                class => {
                    if let Some(token) = self.other(byte, class, qualified) {
                        return token;
                    }
                }
            }
        }
        self.trouble |= self.in_code_comment;
        self.take(Kind::End, 0)
    }

    /// What begins with this byte, which is neither space nor letter; None: a comment, or part of one.
    fn other(&mut self, byte: u8, class: Class, qualified: bool) -> Option<Token> {
        match class {
            Class::Digit => return Some(self.number_or_name(qualified)),
            Class::Apostrophe => return Some(self.text(byte)),
            Class::DoubleQuote if !self.dialect.ansi_quotes => return Some(self.text(byte)),
            Class::DoubleQuote | Class::Backtick => return Some(self.quoted(byte, qualified)),
            Class::At => return Some(self.variable()),
            Class::Dash if self.starts_dash_comment() => self.skip_line(),
            Class::Hash => self.skip_line(),
            Class::Slash if self.peek(1) == b'*' => self.comment(),
            Class::Star if self.in_code_comment && self.peek(1) == b'/' => {
                self.in_code_comment = false;
                self.at += 2;
            }
            Class::Dot => return Some(self.dot()),
            Class::Colon if self.peek(1) == b'=' => return Some(self.take(Kind::Assign, 2)),
            Class::Semicolon => return Some(self.take(Kind::Semicolon, 1)),
            // The servers end a statement here or there at a NUL: not ours to guess.
            Class::Nul => {
                self.trouble = true;
                self.at += 1;
            }
            _ => return Some(self.take(Kind::Mark(byte), 1)),
        }
        None
    }

    /// The byte at this distance; 0 past the end, as the servers' scanners see it.
    fn peek(&self, distance: usize) -> u8 {
        self.sql.get(self.at + distance).copied().unwrap_or(0)
    }

    fn take(&mut self, kind: Kind, length: usize) -> Token {
        let start = self.at;
        self.at += length;
        Token {
            kind,
            entry: &words::NAME,
            qualified: false,
            start,
            end: self.at,
        }
    }

    #[inline(always)]
    fn word(&mut self, qualified: bool) -> Token {
        let start = self.at;
        let word = self.skip_name();
        let entry = match self.knows_words && !qualified {
            true => words::find(word),
            false => &words::NAME,
        };
        self.name(Kind::Word, entry, qualified, start)
    }

    fn name(&mut self, kind: Kind, entry: &'static Entry, qualified: bool, start: usize) -> Token {
        self.name_end = self.at;
        Token {
            kind,
            entry,
            qualified,
            start,
            end: self.at,
        }
    }

    #[inline]
    fn skip_name(&mut self) -> &'a [u8] {
        let rest = self.sql.get(self.at..).unwrap_or_default();
        let (mut length, mut seen) = (0, 0);
        for &byte in rest {
            if !is_name_byte(byte) {
                break;
            }
            seen |= byte;
            length += 1;
        }
        self.at += length;
        let name = rest.get(..length).unwrap_or_default();
        // In a one-byte character set some of these bytes are spaces, and would part two words.
        if seen >= 0x80 && std::str::from_utf8(name).is_err() {
            self.trouble = true;
        }
        name
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// `1`, `1.5`, `1e5`, `0x1F`; but `1a` is a name, and `1e5for` is a number and a word.
    fn number_or_name(&mut self, qualified: bool) -> Token {
        let start = self.at;
        self.skip_digits();
        let is_number = !qualified && (self.fraction() || self.exponent() || self.based(start));
        if is_number || !is_name_byte(self.peek(0)) {
            if !qualified {
                return Token {
                    kind: Kind::Number,
                    entry: &words::NAME,
                    qualified,
                    start,
                    end: self.at,
                };
            }
        } else {
            self.skip_name();
        }
        self.name(Kind::Word, &words::NAME, qualified, start)
    }

    fn fraction(&mut self) -> bool {
        let is_fraction = self.peek(0) == b'.';
        if is_fraction {
            self.at += 1;
            self.skip_digits();
            self.exponent();
        }
        is_fraction
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.peek(0), b'e' | b'E') {
            return false;
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        let is_exponent = self.peek(1 + sign).is_ascii_digit();
        if is_exponent {
            self.at += 1 + sign;
            self.skip_digits();
        }
        is_exponent
    }

    /// `0x…` and `0b…`, where `start` is the zero.
    fn based(&mut self, start: usize) -> bool {
        if self.at != start + 1 || self.sql.get(start) != Some(&b'0') {
            return false;
        }
        let is_digit: fn(u8) -> bool = match self.peek(0) {
            b'x' => |byte| byte.is_ascii_hexdigit(),
            b'b' => |byte| matches!(byte, b'0' | b'1'),
            _ => return false,
        };
        let mut length = 1;
        while is_digit(self.peek(length)) {
            length += 1;
        }
        let is_based = length > 1 && !is_name_byte(self.peek(length));
        if is_based {
            self.at += length;
        }
        is_based
    }

    fn dot(&mut self) -> Token {
        if self.name_end != self.at && self.peek(1).is_ascii_digit() {
            let start = self.at;
            self.fraction();
            return Token {
                kind: Kind::Number,
                entry: &words::NAME,
                qualified: false,
                start,
                end: self.at,
            };
        }
        self.after_dot = true;
        self.take(Kind::Mark(b'.'), 1)
    }

    fn text(&mut self, quote: u8) -> Token {
        let start = self.at;
        self.skip_quoted(quote, !self.dialect.no_backslash_escapes);
        Token {
            kind: Kind::Text,
            entry: &words::NAME,
            qualified: false,
            start,
            end: self.at,
        }
    }

    fn quoted(&mut self, quote: u8, qualified: bool) -> Token {
        let start = self.at;
        self.skip_quoted(quote, false);
        self.name(Kind::Quoted, &words::NAME, qualified, start)
    }

    /// From the opening quote to behind the closing one; a doubled quote does not close.
    fn skip_quoted(&mut self, quote: u8, backslash: bool) {
        self.at += 1;
        loop {
            let rest = self.sql.get(self.at..).unwrap_or_default();
            let found = if backslash {
                memchr2(quote, b'\\', rest)
            } else {
                memchr(quote, rest)
            };
            let Some(offset) = found else {
                self.trouble = true;
                self.at = self.sql.len();
                return;
            };
            self.at += offset;
            if self.peek(0) == quote && self.peek(1) != quote {
                self.at += 1;
                return;
            }
            self.at = (self.at + 2).min(self.sql.len());
        }
    }

    fn variable(&mut self) -> Token {
        let kind = if self.peek(1) == b'@' {
            Kind::SystemVariable
        } else {
            Kind::UserVariable
        };
        self.at += if kind == Kind::SystemVariable { 2 } else { 1 };
        let start = self.at;
        match self.peek(0) {
            b'`' => self.skip_quoted(b'`', false),
            b'"' => self.skip_quoted(
                b'"',
                !self.dialect.ansi_quotes && !self.dialect.no_backslash_escapes,
            ),
            b'\'' if kind == Kind::UserVariable => {
                self.skip_quoted(b'\'', !self.dialect.no_backslash_escapes)
            }
            _ => self.skip_variable_name(kind),
        }
        Token {
            kind,
            entry: &words::NAME,
            qualified: false,
            start,
            end: self.at,
        }
    }

    /// The name of a user variable may hold dots.
    fn skip_variable_name(&mut self, kind: Kind) {
        self.skip_name();
        while kind == Kind::UserVariable && self.peek(0) == b'.' {
            self.at += 1;
            self.skip_name();
        }
    }
}

#[inline]
fn is_name_byte(byte: u8) -> bool {
    NAME_BYTE[byte as usize]
}

static NAME_BYTE: [bool; 256] = name_bytes();

const fn name_bytes() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(CLASSES[byte], Class::Letter | Class::Digit);
        byte += 1;
    }
    table
}
