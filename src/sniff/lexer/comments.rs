//! Comments: those that count as code, those that are for another server, and those that carry a hint.

use super::{Class, Lexer, CLASS};
use crate::sniff::types::Hint;
use memchr::{memchr, memchr2};

impl Lexer<'_> {
    /// `--` needs a space or control character behind it; the end of the text counts as one.
    pub(super) fn starts_dash_comment(&mut self) -> bool {
        if self.peek(1) != b'-' {
            return false;
        }
        let next = self.peek(2);
        // Control characters of one-byte character sets: the servers differ.
        self.trouble |= next >= 0x80;
        next <= b' ' || next == 0x7f
    }

    pub(super) fn skip_line(&mut self) {
        let rest = self.sql.get(self.at..).unwrap_or_default();
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        self.note_hint(rest.get(..length).unwrap_or_default());
        self.at += length;
    }

    /// `/* … */`, `/*! … */`, `/*!50000 … */`, `/*M! … */`.
    pub(super) fn comment(&mut self) {
        match (self.peek(2), self.peek(3)) {
            (b'!', _) => self.code_comment(3, false),
            (b'M', b'!') if self.dialect.mariadb => self.code_comment(4, true),
            _ => self.plain_comment(),
        }
    }

    fn plain_comment(&mut self) {
        let start = self.at + 2;
        self.at = start;
        self.skip_comment_body(0);
        self.note_hint(self.sql.get(start..self.at).unwrap_or_default());
    }

    /// The content counts unless it is for a later version. Both servers want exactly five digits,
    /// or six: MariaDB whenever there are six, MySQL (newer ones only) when a space follows them.
    fn code_comment(&mut self, marker: usize, is_m: bool) {
        self.at += marker;
        let digits = (0..6)
            .take_while(|&i| self.peek(i).is_ascii_digit())
            .count();
        if digits < 5 {
            self.in_code_comment = true;
            return;
        }
        let length = self.version_length(digits);
        let version = (0..length).fold(0, |sum, i| sum * 10 + u32::from(self.peek(i) - b'0'));
        self.at += length;
        if self.counts(version, is_m) {
            self.in_code_comment = true;
        } else {
            self.skip_comment_body(1);
        }
    }

    fn version_length(&mut self, digits: usize) -> usize {
        if digits < 6 || (!self.dialect.mariadb && CLASS[self.peek(6) as usize] != Class::Space) {
            return 5;
        }
        // Old MySQL reads five and takes the sixth for code.
        self.trouble |= !self.dialect.mariadb && self.dialect.version < 90_000;
        6
    }

    fn counts(&mut self, version: u32, is_m: bool) -> bool {
        if self.dialect.version == 0 {
            self.trouble |= version > 50_699;
            return true;
        }
        // MariaDB takes 5.7 and later, up to its own 10.0, for MySQL's and leaves them out.
        let is_mysqls = self.dialect.mariadb && !is_m && (50_700..=99_999).contains(&version);
        version <= self.dialect.version && !is_mysqls
    }

    /// To behind the closing `*/`, over that many levels of comments inside.
    fn skip_comment_body(&mut self, nested: u32) {
        let mut depth = 0;
        loop {
            let rest = self.sql.get(self.at..).unwrap_or_default();
            let Some(offset) = memchr2(b'*', b'/', rest) else {
                self.trouble = true;
                self.at = self.sql.len();
                return;
            };
            self.at += offset;
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') if depth == 0 => {
                    self.at += 2;
                    return;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                (b'/', b'*') if depth < nested => {
                    depth += 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }

    fn note_hint(&mut self, comment: &[u8]) {
        if !self.leading || comment.len() > 256 {
            return;
        }
        for word in
            comment.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b':' && *byte != b'_')
        {
            if word.eq_ignore_ascii_case(b"umpire:primary") {
                self.hint = Some(Hint::Primary);
            } else if word.eq_ignore_ascii_case(b"umpire:replica") && self.hint.is_none() {
                self.hint = Some(Hint::Replica);
            }
        }
    }
}
