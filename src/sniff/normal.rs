//! A statement's text as its digest sees it: literals and comments gone, one space between words.

use super::digest::List;
use super::lexer::{Kind, Lexer, Token};
use super::types::Dialect;
use super::words::Word;

/// Writes the normalised text into `out`, as much of it as fits, and returns its length; no allocation. Statements
/// of one [`super::digest`] have the same text but for the case of names.
pub fn normalised(sql: &[u8], dialect: Dialect, out: &mut [u8]) -> usize {
    let mut lexer = Lexer::new(sql, dialect);
    let mut text = Text {
        out,
        length: 0,
        glue: true,
    };
    let mut list = List::None;
    loop {
        let token = lexer.next();
        if token.kind == Kind::End || text.is_full() {
            return text.length;
        }
        let next = list.next(&token);
        if list == List::Comma && next != List::Literal {
            text.mark(b',');
        }
        let is_repeated = list == List::Comma && next == List::Literal;
        if is_repeated && !text.ends_with(b"...") {
            text.put(b", ...");
        }
        if next != List::Comma && !is_repeated {
            token_text(&mut text, &lexer, &token);
        }
        list = next;
    }
}

fn token_text(text: &mut Text<'_>, lexer: &Lexer<'_>, token: &Token) {
    let bytes = lexer.bytes(token);
    match token.kind {
        Kind::Text | Kind::Number => text.word(b"", b"?"),
        Kind::Mark(byte) => text.mark(byte),
        Kind::Semicolon => text.mark(b';'),
        Kind::Assign => text.word(b"", b":="),
        Kind::UserVariable => text.word(b"@", bytes),
        Kind::SystemVariable => text.word(b"@@", bytes),
        Kind::Word if token.entry.word != Word::Name => {
            text.word(b"", token.entry.name.as_bytes());
        }
        Kind::Word | Kind::Quoted => text.word(b"", bytes),
        Kind::End => {}
    }
}

struct Text<'o> {
    out: &'o mut [u8],
    length: usize,
    /// No space comes before what is next.
    glue: bool,
}

impl Text<'_> {
    fn is_full(&self) -> bool {
        self.length == self.out.len()
    }

    fn ends_with(&self, end: &[u8]) -> bool {
        self.out
            .get(..self.length)
            .is_some_and(|text| text.ends_with(end))
    }

    fn put(&mut self, bytes: &[u8]) {
        for (to, from) in self.out.iter_mut().skip(self.length).zip(bytes) {
            *to = *from;
            self.length += 1;
        }
    }

    fn word(&mut self, before: &[u8], bytes: &[u8]) {
        if !std::mem::take(&mut self.glue) {
            self.put(b" ");
        }
        self.put(before);
        self.put(bytes);
    }

    fn mark(&mut self, mark: u8) {
        match mark {
            b'.' | b'(' => {
                let glued = mark == b'.' || self.ends_with_name();
                if !glued && !self.glue {
                    self.put(b" ");
                }
                self.put(&[mark]);
                self.glue = true;
            }
            b',' | b')' | b';' => self.put(&[mark]),
            _ => self.word(b"", &[mark]),
        }
        if matches!(mark, b',' | b')' | b';') {
            self.glue = false;
        }
    }

    fn ends_with_name(&self) -> bool {
        let last = self.length.checked_sub(1).and_then(|at| self.out.get(at));
        last.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> String {
        let mut out = [0; 100];
        let length = normalised(sql.as_bytes(), Dialect::default(), &mut out);
        String::from_utf8(out[..length].to_vec()).unwrap()
    }

    #[test]
    fn literals_and_comments_go_and_one_space_is_left() {
        for (sql, wanted) in [
            (
                "select  c from `sbtest1`\n where id=505 /* x */",
                "SELECT c FROM sbtest1 WHERE id = ?",
            ),
            (
                "INSERT INTO t (a,b) VALUES (1,'x'),(2,'y')",
                "INSERT INTO t(a, b) VALUES(?, ...), (?, ...)",
            ),
            (
                "SELECT s.t.c, @v, @@x, COUNT(*)",
                "SELECT s.t.c, @v, @@x, COUNT(*)",
            ),
            ("SELECT 1; SELECT -2", "SELECT ?; SELECT - ?"),
            ("", ""),
        ] {
            assert_eq!(text(sql), wanted, "{sql}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_secrets_in_literals_are_not_in_it() {
        let long = format!("SELECT {} 'secret'", "a, ".repeat(100));
        assert_eq!(text(&long).len(), 100);
        for sql in [
            "SET PASSWORD = 'secret'",
            "SELECT \"secret\"",
            "SELECT 0x736563726574",
            "SELECT _utf8'secret', N'secret'",
        ] {
            assert!(!text(sql).contains("secret"), "{}", text(sql));
        }
    }
}
