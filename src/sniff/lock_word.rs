//! Whether a text that is too long to be read speaks of a user lock.
use memchr::memchr;

/// Common end of GET_LOCK and whatever else takes one.
const WORD: &[u8] = b"_lock";

/// Looks for the word in a text that comes in pieces, in any case of letters.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockWord {
    /// Bytes of it that the last piece ended with.
    have: usize,
    found: bool,
}

impl LockWord {
    pub fn of(text: &[u8]) -> bool {
        let mut word = LockWord::default();
        word.feed(text);
        word.found
    }

    pub fn feed(&mut self, mut piece: &[u8]) {
        while !self.found && !piece.is_empty() {
            if self.have == 0 {
                // only its first letter is one of another kind
                let Some(at) = memchr(WORD[0], piece) else {
                    return;
                };
                piece = &piece[at + 1..];
                self.have = 1;
                continue;
            }
            if piece[0].eq_ignore_ascii_case(&WORD[self.have]) {
                self.have += 1;
                piece = &piece[1..];
                self.found = self.have == WORD.len();
            } else {
                // this byte may be the first one
                self.have = 0;
            }
        }
    }

    pub fn is_found(self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_found_however_the_text_is_cut() {
        let text = b"a_b _lo__LoCK(x";
        for cut in 0..text.len() {
            let mut word = LockWord::default();
            word.feed(&text[..cut]);
            word.feed(&text[cut..]);
            assert!(word.is_found(), "cut at {cut}");
        }
        assert!(!LockWord::of(b"block, lock, _loc k, _"));
    }
}
