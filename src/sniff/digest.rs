//! One number for all statements that differ only in their literals.

use super::lexer::{Kind, Lexer, Token};
use super::types::Dialect;

/// Hash of the normalised text: literals, comments, space and case of keywords folded, and lists of
/// literals made one. Stable over processes and workers; no allocation.
pub fn digest(sql: &[u8], dialect: Dialect) -> u64 {
    let mut lexer = Lexer::new(sql, dialect);
    let mut digester = Digester::default();
    loop {
        let token = lexer.next();
        if token.kind == Kind::End {
            return digester.finish();
        }
        digester.token(&lexer, &token);
    }
}

/// A digest that is made token by token.
pub(super) struct Digester {
    hash: Hash,
    list: List,
}

impl Default for Digester {
    fn default() -> Digester {
        Digester {
            hash: Hash::new(),
            list: List::None,
        }
    }
}

impl Digester {
    #[inline]
    pub fn token(&mut self, lexer: &Lexer<'_>, token: &Token) {
        let next = self.list.next(token);
        // A comma is held back until it is known that no literal follows it.
        if self.list == List::Comma && next != List::Literal {
            self.hash.byte(b',');
        }
        let is_repeated = self.list == List::Comma && next == List::Literal;
        if next != List::Comma && !is_repeated {
            token_hash(&mut self.hash, lexer, token);
        }
        self.list = next;
    }

    pub fn finish(self) -> u64 {
        self.hash.finish()
    }
}

/// Where in a list of literals the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    None,
    Literal,
    Comma,
}

impl List {
    pub fn next(self, token: &Token) -> List {
        match token.kind {
            Kind::Text | Kind::Number | Kind::Mark(b'?') => List::Literal,
            Kind::Mark(b',') if self == List::Literal => List::Comma,
            _ => List::None,
        }
    }
}

fn token_hash(hash: &mut Hash, lexer: &Lexer<'_>, token: &Token) {
    match token.kind {
        Kind::Text | Kind::Number => hash.byte(b'?'),
        Kind::Mark(byte) => hash.byte(byte),
        Kind::Semicolon => hash.byte(b';'),
        Kind::Assign => hash.bytes(b":="),
        Kind::UserVariable => hash.name(b'@', lexer.bytes(token)),
        Kind::SystemVariable => hash.name(b'$', lexer.bytes(token)),
        Kind::Word | Kind::Quoted => hash.name(b' ', lexer.bytes(token)),
        Kind::End => {}
    }
}

/// FNV-1a over 64 bits, mixed at the end so that every bit of the result depends on all bytes.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The mark before the name keeps neighbouring names apart.
    fn name(&mut self, mark: u8, name: &[u8]) {
        self.byte(mark);
        name.iter()
            .for_each(|byte| self.byte(byte.to_ascii_lowercase()));
    }

    fn finish(self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 32
    }
}
