//! What the sniffer said of a text holds for every text that differs in plain numbers only, digit for digit: an
//! application sends few texts and many numbers.
//!
//! A worker keeps some of them. A text is looked up by a hash over its bytes in which every digit counts as `0`;
//! it is the same if all bytes are, but for the digits of what the lexer took for a whole number. Digits of names
//! (`log2`), of comments (`/*!50000`) and in quotes must be equal, and a number's length too, so nothing that the
//! lexer or a rule looks at can differ: what others conclude from its tokens (its digest, a plan, that a policy lets it
//! pass) they may keep by its [`TextId`]. Kept is what comes twice in a row in its place, so that texts which never
//! come again push nothing out, and in steady state nothing is allocated.
use super::about::{may_hold_secret, About};
use super::digest::Digester;
use super::lexer::{Kind, Lexer};
use super::{sniff, Dialect, Effects, Sniffed, Verb};

/// Longer texts are read every time, bytes.
const LONGEST: usize = 512;
/// Texts kept; a power of two.
const PLACES: usize = 256;

/// A text that is kept, with any digits in its free places. Never given twice by one [`Memo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextId(pub u64);

/// A text that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownText {
    pub id: TextId,
    pub about: About,
}

/// Per worker.
pub struct Memo {
    places: Vec<Place>,
    /// The last one given.
    id: u64,
}

#[derive(Clone)]
struct Place {
    /// Of the text that came last and was not the one kept here.
    candidate: u64,
    length: usize,
    dialect: Dialect,
    /// The text, eight bytes each, with free digits as `0`; and which bytes are such digits (0xff) or not (0).
    words: Vec<(u64, u64)>,
    sniffed: Sniffed,
    text: KnownText,
}

impl Default for Memo {
    fn default() -> Memo {
        let nothing = Place {
            candidate: 0,
            length: 0,
            dialect: Dialect::default(),
            words: Vec::new(),
            sniffed: sniff(b"", true, Dialect::default()),
            text: KnownText {
                id: TextId(0),
                about: About::default(),
            },
        };
        Memo {
            places: vec![nothing; PLACES],
            id: 0,
        }
    }
}

impl Memo {
    /// As [`sniff`].
    #[cfg(test)]
    pub fn sniff(&mut self, sql: &[u8], complete: bool, dialect: Dialect) -> Sniffed {
        self.know(sql, complete, dialect).0
    }

    /// As [`sniff`]; and which of the kept texts it is, if any.
    pub fn know(
        &mut self,
        sql: &[u8],
        complete: bool,
        dialect: Dialect,
    ) -> (Sniffed, Option<KnownText>) {
        if !complete || sql.is_empty() || sql.len() > LONGEST {
            return (sniff(sql, complete, dialect), None);
        }
        let hash = hash(sql);
        let Some(place) = self.places.get_mut(hash as usize % PLACES) else {
            return (sniff(sql, complete, dialect), None);
        };
        if place.holds(sql, dialect) {
            return (place.sniffed, Some(place.text));
        }
        let sniffed = sniff(sql, complete, dialect);
        if place.candidate != hash {
            place.candidate = hash;
        } else if is_kept(&sniffed) && place.keep(sql, dialect, sniffed) {
            self.id += 1;
            place.text.id = TextId(self.id);
        }
        (sniffed, None)
    }
}

/// Statements whose numbers are values and nothing else (SET autocommit = 0, KILL 5 are others, and whatever may
/// follow a semicolon).
fn is_kept(sniffed: &Sniffed) -> bool {
    let plain = matches!(
        sniffed.verb,
        Verb::Select | Verb::Insert | Verb::Update | Verb::Delete | Verb::Replace
    );
    plain
        && !sniffed
            .effects
            .intersects(Effects::UNREAD | Effects::MULTI_STATEMENT)
}

impl Place {
    fn holds(&self, sql: &[u8], dialect: Dialect) -> bool {
        let same = |(word, &(kept, free)): (u64, &(u64, u64))| {
            let (zeroed, digits) = without_digits(word);
            (zeroed & free | word & !free) == kept && digits & free == free
        };
        self.length == sql.len() && self.dialect == dialect && words(sql).zip(&self.words).all(same)
    }

    /// False: it is none that can be kept.
    fn keep(&mut self, sql: &[u8], dialect: Dialect, sniffed: Sniffed) -> bool {
        let mut free = [0u8; LONGEST];
        let mut lexer = Lexer::new(sql, dialect);
        let mut digester = Digester::default();
        let mut token = lexer.next();
        // SET STATEMENT … FOR has the verb of the inner statement
        if lexer.bytes(&token).eq_ignore_ascii_case(b"set") {
            return false;
        }
        loop {
            match token.kind {
                Kind::End => break,
                Kind::Number => {
                    let place = free.get_mut(token.start..token.end).unwrap_or_default();
                    if lexer.bytes(&token).iter().all(u8::is_ascii_digit) {
                        place.fill(0xff);
                    }
                }
                _ => {}
            }
            digester.token(&lexer, &token);
            token = lexer.next();
        }
        self.words.clear();
        for (word, free) in words(sql).zip(words(&free)) {
            self.words
                .push((without_digits(word).0 & free | word & !free, free));
        }
        (self.length, self.dialect, self.sniffed) = (sql.len(), dialect, sniffed);
        self.text.about = About {
            digest: digester.finish(),
            secret: may_hold_secret(sql),
        };
        true
    }
}

/// Eight bytes at a time, zeroes behind the end.
#[inline]
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|chunk| match chunk.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word.iter_mut()
                .zip(chunk)
                .for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        }
    })
}

fn hash(sql: &[u8]) -> u64 {
    let mix = |hash: u64, word| {
        (hash.rotate_left(23) ^ without_digits(word).0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let hash = words(sql).fold(sql.len() as u64, mix);
    hash ^ hash >> 32
}

/// The word with every digit as `0`, and 0xff where there was one.
#[inline]
fn without_digits(word: u64) -> (u64, u64) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const ZEROES: u64 = EACH * b'0' as u64;
    const HIGH: u64 = EACH * 0x80;
    // a digit becomes 0 to 9, and nothing else does
    let from_zero = word ^ ZEROES;
    // the high bit of each byte: it is more than 9
    let above = (from_zero & !HIGH).wrapping_add(EACH * (0x80 - 10)) | from_zero;
    let digits = ((!above & HIGH) >> 7).wrapping_mul(0xff);
    (word & !digits | ZEROES & digits, digits)
}
