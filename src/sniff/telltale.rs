//! What a text that is too long to be read speaks of, told by words that cannot be missing where it does.
use memchr::memchr2;

/// Looks for its words in a text that comes in pieces, in any case of letters.
#[derive(Debug, Clone, Copy)]
pub struct Telltale {
    /// Common end of GET_LOCK and whatever else takes a user lock.
    lock: Word,
    /// Gives a user variable its value in the middle of a statement, of which servers report nothing.
    assigns: Word,
    /// So does this at the end of a query.
    into: Word,
}

impl Default for Telltale {
    fn default() -> Telltale {
        Telltale {
            lock: Word::new(b"_lock"),
            assigns: Word::new(b":="),
            into: Word::new(b"into"),
        }
    }
}

impl Telltale {
    /// Bytes that a word may have before the end of a piece.
    pub const LONGEST: usize = 4;

    pub fn of(text: &[u8]) -> Telltale {
        let mut words = Telltale::default();
        words.feed(text);
        words
    }

    pub fn feed(&mut self, piece: &[u8]) {
        for word in [&mut self.lock, &mut self.assigns, &mut self.into] {
            word.feed(piece);
        }
    }

    pub fn speaks_of_a_lock(&self) -> bool {
        self.lock.found
    }

    /// `query`: the statement is one; others have INTO for their tables.
    pub fn may_assign(&self, query: bool) -> bool {
        self.assigns.found || query && self.into.found
    }
}

#[derive(Debug, Clone, Copy)]
struct Word {
    /// In small letters; its first byte occurs in it once.
    bytes: &'static [u8],
    /// Bytes of it that the last piece ended with.
    have: usize,
    found: bool,
}

impl Word {
    const fn new(bytes: &'static [u8]) -> Word {
        Word {
            bytes,
            have: 0,
            found: false,
        }
    }

    fn feed(&mut self, mut piece: &[u8]) {
        let first = self.bytes[0];
        while !self.found && !piece.is_empty() {
            if self.have == 0 {
                let Some(at) = memchr2(first, first.to_ascii_uppercase(), piece) else {
                    return;
                };
                piece = &piece[at + 1..];
                self.have = 1;
                continue;
            }
            if piece[0].eq_ignore_ascii_case(&self.bytes[self.have]) {
                self.have += 1;
                piece = &piece[1..];
                self.found = self.have == self.bytes.len();
            } else {
                // this byte may be the first one
                self.have = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_the_text_is_cut() {
        let text = b"a_b _lo__LoCK(x) ::= IIntO";
        for cut in 0..text.len() {
            let mut words = Telltale::of(&text[..cut]);
            words.feed(&text[cut..]);
            assert!(words.lock.found && words.assigns.found && words.into.found);
        }
        // what is fed again at a cut is no longer than a word
        assert!(Telltale::LONGEST < b"_lock".len());
    }

    #[test]
    fn other_words_tell_nothing() {
        let none = Telltale::of(b"block, lock, _loc k, _ : = :, in to, int");
        assert!(!none.speaks_of_a_lock() && !none.may_assign(true));
        let insert = Telltale::of(b"INSERT INTO t VALUES (1)");
        assert!(!insert.may_assign(false) && insert.may_assign(true));
        assert!(Telltale::of(b"UPDATE t SET a = @a:=2").may_assign(false));
    }
}
