//! `SELECT LIBRARY object`, `SELECT LIBRARY_BY_CORREL_OBJECT class object` and `SET CORREL_OBJECT class object core-object`:
//! commands of a configuration with libraries.
//!
//! A name is text in quotes of any kind, or bare up to the next space, quote, semicolon or comment. Everything that a server
//! could make sense of (`SELECT library FROM books`) is left to it.
use super::lexer::{Kind, Lexer, Token};
use super::types::{Dialect, Effects, Sniffed, Verb};

/// Such a command, its names without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryCommand {
    Select {
        object: Vec<u8>,
    },
    SelectRelated {
        class: Vec<u8>,
        object: Vec<u8>,
    },
    Relate {
        class: Vec<u8>,
        object: Vec<u8>,
        core: Vec<u8>,
    },
    /// It begins like one; why it is none.
    Wrong(&'static str),
}

const ALONE: &str =
    "commands about libraries are sent alone, not with other statements in one command";
const SHORT: [(&str, &str); 3] = [
    ("library", "command too short: SELECT LIBRARY object"),
    (
        "library_by_correl_object",
        "command too short: SELECT LIBRARY_BY_CORREL_OBJECT class object",
    ),
    (
        "correl_object",
        "command too short: SET CORREL_OBJECT class object core-object",
    ),
];
const LONG: &str = "too many names in this command about libraries: quote a name that has spaces";

/// None: any other statement. Cheap for those.
pub fn library_command(sql: &[u8], sniffed: &Sniffed, dialect: Dialect) -> Option<LibraryCommand> {
    if matches!(sniffed.verb, Verb::Select | Verb::Set) {
        if let Some((word, token)) = beginning(&mut Lexer::new(sql, dialect)) {
            let rest = sql.get(token.end..).unwrap_or_default();
            return command(word, rest, dialect);
        }
    }
    let several = sniffed.effects.contains(Effects::MULTI_STATEMENT);
    (several && is_behind_others(sql, dialect)).then_some(LibraryCommand::Wrong(ALONE))
}

/// Whether the text that SQL-level PREPARE is given is such a command.
pub fn prepares_library_command(sql: &[u8], sniffed: &Sniffed, dialect: Dialect) -> bool {
    let prepares = matches!(sniffed.verb, Verb::Prepare | Verb::Execute);
    if !prepares {
        return false;
    }
    let mut lexer = Lexer::new(sql, dialect);
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::End => return false,
            Kind::Text => {
                let text = lexer.bytes(&token);
                let inner = text
                    .get(1..text.len().saturating_sub(1))
                    .unwrap_or_default();
                return beginning(&mut Lexer::new(inner, dialect)).is_some();
            }
            _ => {}
        }
    }
}

/// The word that makes it one, and its place.
fn beginning(lexer: &mut Lexer<'_>) -> Option<(&'static str, Token)> {
    let verb = lexer.next().entry.verb;
    let token = lexer.next();
    if token.kind != Kind::Word {
        return None;
    }
    let word = lexer.bytes(&token);
    let words: &[&str] = match verb {
        Verb::Select => &["library", "library_by_correl_object"],
        Verb::Set => &["correl_object"],
        _ => return None,
    };
    let found = words
        .iter()
        .find(|w| w.as_bytes().eq_ignore_ascii_case(word))?;
    Some((found, token))
}

fn is_behind_others(sql: &[u8], dialect: Dialect) -> bool {
    let mut lexer = Lexer::new(sql, dialect);
    loop {
        match lexer.next().kind {
            Kind::End => return false,
            Kind::Semicolon => {
                let found = beginning(&mut lexer.clone());
                let is = found.and_then(|(word, token)| {
                    command(word, sql.get(token.end..).unwrap_or_default(), dialect)
                });
                if is.is_some() {
                    return true;
                }
            }
            _ => {}
        }
    }
}

fn command(word: &'static str, rest: &[u8], dialect: Dialect) -> Option<LibraryCommand> {
    let parted = rest
        .first()
        .is_none_or(|b| b.is_ascii_whitespace() || b"'\"`;/#\0".contains(b));
    // a function, a column of a table, an expression, an assignment
    let first = rest.trim_ascii_start().first();
    if !parted && !rest.starts_with(b"--") || first.is_some_and(|b| b"(.=:,".contains(b)) {
        return None;
    }
    if dialect.ambiguous_bytes && !rest.is_ascii() {
        let why = "in this character set bytes of a name may look like quotes: use utf8mb4";
        return Some(LibraryCommand::Wrong(why));
    }
    let names = match Names::read(rest, dialect) {
        Ok(names) => names,
        Err(why) => return Some(LibraryCommand::Wrong(why)),
    };
    if names.len() > 1 && names.iter().any(is_from) {
        return None;
    }
    if names
        .iter()
        .any(|name| !name.quoted && name.text.starts_with(b"@"))
    {
        let why = "variables are not read in commands about libraries: write the name itself";
        return Some(LibraryCommand::Wrong(why));
    }
    let names: Vec<Vec<u8>> = names.into_iter().map(|name| name.text).collect();
    Some(build(word, names))
}

fn build(word: &'static str, names: Vec<Vec<u8>>) -> LibraryCommand {
    let wanted = match word {
        "library" => 1,
        "library_by_correl_object" => 2,
        _ => 3,
    };
    if names.len() > wanted {
        return LibraryCommand::Wrong(LONG);
    }
    let short = SHORT.iter().find(|(known, _)| *known == word);
    let short = LibraryCommand::Wrong(short.map_or(LONG, |(_, why)| why));
    if names.iter().any(Vec::is_empty) {
        return short;
    }
    let mut names = names.into_iter();
    match (wanted, names.next(), names.next(), names.next()) {
        (1, Some(object), None, None) => LibraryCommand::Select { object },
        (2, Some(class), Some(object), None) => LibraryCommand::SelectRelated { class, object },
        (3, Some(class), Some(object), Some(core)) => LibraryCommand::Relate {
            class,
            object,
            core,
        },
        _ => short,
    }
}

fn is_from(name: &Name) -> bool {
    let word = name.text.get(..4);
    let ends = name.text.get(4).is_none_or(|b| !b.is_ascii_alphanumeric());
    !name.quoted && ends && word.is_some_and(|word| word.eq_ignore_ascii_case(b"from"))
}

struct Name {
    text: Vec<u8>,
    quoted: bool,
}

/// Reads names up to the end of the statement.
struct Names<'a> {
    left: &'a [u8],
    dialect: Dialect,
}

impl<'a> Names<'a> {
    fn read(rest: &'a [u8], dialect: Dialect) -> Result<Vec<Name>, &'static str> {
        let left = rest;
        let mut names = Names { left, dialect };
        let mut found = Vec::new();
        loop {
            names.skip_space()?;
            match names.left {
                [] => return Ok(found),
                [b';', ..] => {
                    names.end()?;
                    return Ok(found);
                }
                [quote @ (b'\'' | b'"' | b'`'), left @ ..] => {
                    names.left = left;
                    let text = names.quoted(*quote)?;
                    found.push(Name { text, quoted: true });
                }
                _ => {
                    let text = names.bare();
                    found.push(Name {
                        text,
                        quoted: false,
                    });
                }
            }
        }
    }

    /// Nothing but semicolons and comments may follow.
    fn end(&mut self) -> Result<(), &'static str> {
        while let [b';', left @ ..] = self.left {
            self.left = left;
            self.skip_space()?;
        }
        if self.left.is_empty() {
            Ok(())
        } else {
            Err(ALONE)
        }
    }

    fn skip_space(&mut self) -> Result<(), &'static str> {
        loop {
            self.left = self.left.trim_ascii_start();
            match self.left {
                // some clients send the end of their string
                [0] => self.left = &[],
                left if starts_line_comment(left) => {
                    let end = memchr::memchr(b'\n', left).unwrap_or(left.len());
                    self.left = left.get(end..).unwrap_or_default();
                }
                [b'/', b'*', b'!' | b'M' | b'+', ..] => {
                    return Err("no code comments in commands about libraries")
                }
                [b'/', b'*', left @ ..] => {
                    let end = memchr::memmem::find(left, b"*/").ok_or("a comment does not end")?;
                    self.left = left.get(end + 2..).unwrap_or_default();
                }
                _ => return Ok(()),
            }
        }
    }

    fn bare(&mut self) -> Vec<u8> {
        let ends = |at: usize| {
            let here = self.left.get(at..).unwrap_or_default();
            let byte = here.first().copied().unwrap_or(b' ');
            byte.is_ascii_whitespace()
                || b"'\"`;\0".contains(&byte)
                || starts_line_comment(here)
                || here.starts_with(b"/*")
        };
        let length = (1..=self.left.len()).find(|at| ends(*at));
        let (text, left) = self.left.split_at(length.unwrap_or(self.left.len()));
        self.left = left;
        text.to_vec()
    }

    /// Behind the opening quote.
    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, &'static str> {
        let name = quote == b'`' || quote == b'"' && self.dialect.ansi_quotes;
        let escapes = !name && !self.dialect.no_backslash_escapes;
        let mut text = Vec::new();
        loop {
            match *self.left {
                [a, b, ref left @ ..] if a == quote && b == quote => {
                    text.push(quote);
                    self.left = left;
                }
                [a, ref left @ ..] if a == quote => {
                    self.left = left;
                    return Ok(text);
                }
                [b'\\', escaped, ref left @ ..] if escapes => {
                    match escaped {
                        b'n' => text.push(b'\n'),
                        b't' => text.push(b'\t'),
                        b'r' => text.push(b'\r'),
                        b'b' => text.push(8),
                        b'0' => text.push(0),
                        b'Z' => text.push(26),
                        b'%' | b'_' => text.extend([b'\\', escaped]),
                        other => text.push(other),
                    }
                    self.left = left;
                }
                [byte, ref left @ ..] => {
                    text.push(byte);
                    self.left = left;
                }
                [] => return Err("a quote does not end"),
            }
        }
    }
}

fn starts_line_comment(text: &[u8]) -> bool {
    match text {
        [b'#', ..] => true,
        [b'-', b'-', rest @ ..] => rest.first().is_none_or(|b| *b <= b' '),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sniff::sniff;

    fn read(sql: &[u8], dialect: Dialect) -> Option<LibraryCommand> {
        library_command(sql, &sniff(sql, true, dialect), dialect)
    }

    fn selected(sql: &str) -> Option<String> {
        match read(sql.as_bytes(), Dialect::default()) {
            Some(LibraryCommand::Select { object }) => String::from_utf8(object).ok(),
            Some(LibraryCommand::Wrong(why)) => Some(format!("WRONG {why}")),
            _ => None,
        }
    }

    #[test]
    fn a_library_is_selected_in_any_spelling() {
        for (sql, object) in [
            ("select library 1", "1"),
            ("SELECT LIBRARY x;", "x"),
            ("Select\n\tLibrary 'a b' ; ;", "a b"),
            ("select library \"it''s\"", "it''s"),
            ("select library 'it''s'", "it's"),
            ("select library 'a\\'b\\n\\\\'", "a'b\n\\"),
            ("select library `a\\``b`", "a\\`b"),
            ("select library'x'", "x"),
            ("select library calvin@163.com", "calvin@163.com"),
            ("select library +86-139", "+86-139"),
            ("select library a--b", "a--b"),
            ("select library a/b", "a/b"),
            ("/* c */ select /* d */ library /* e */ 'x' /* f */", "x"),
            ("-- c\nselect library x -- end", "x"),
            ("select library x# end", "x"),
            ("select library x\0", "x"),
            ("select library/**/x", "x"),
            ("select library 客户", "客户"),
            ("select library from", "from"),
        ] {
            assert_eq!(selected(sql).as_deref(), Some(object), "{sql}");
        }
    }

    #[test]
    fn what_a_server_can_make_sense_of_is_left_to_it() {
        for sql in [
            "SELECT library FROM books",
            "SELECT library x FROM books",
            "SELECT library, name FROM books",
            "SELECT library.x FROM library",
            "SELECT library(1)",
            "SELECT `library` x",
            "SELECT @@version_comment LIMIT 1",
            "SELECT library_id",
            "SELECT 'library' x",
            "SET correl_object = 1",
            "SET correl_object := 1",
            "SET @library = 1",
            "INSERT INTO library VALUES (1)",
            "SELECT 1; SELECT 2",
        ] {
            assert_eq!(read(sql.as_bytes(), Dialect::default()), None, "{sql}");
        }
    }

    #[test]
    fn half_commands_are_said_to_be_so() {
        for (sql, words) in [
            ("select library", "too short"),
            ("select library ;", "too short"),
            ("select library ''", "too short"),
            ("select library a b", "too many"),
            ("select library 'a' 'b'", "too many"),
            ("select library a; delete from t", "sent alone"),
            ("select 1; select library a", "sent alone"),
            ("select library 'a", "quote does not end"),
            ("select library @x", "variables"),
            ("select library /*!50000 x */", "code comments"),
        ] {
            let found = selected(sql).unwrap_or_default();
            assert!(
                found.starts_with("WRONG") && found.contains(words),
                "{sql}: {found}"
            );
        }
        let gbk = Dialect {
            ambiguous_bytes: true,
            ..Dialect::default()
        };
        let wrong = read(b"select library '\x81\\'", gbk);
        assert!(matches!(wrong, Some(LibraryCommand::Wrong(_))));
    }

    #[test]
    fn related_objects_have_a_class() {
        let text = |s: &str| s.as_bytes().to_vec();
        let select = read(
            b"SELECT library_by_correl_object mail 'a b';",
            Dialect::default(),
        );
        let (class, object) = (text("mail"), text("a b"));
        let wanted = LibraryCommand::SelectRelated { class, object };
        assert_eq!(select, Some(wanted));
        let relate = read(b"set correl_object mail a@b.c `x`", Dialect::default());
        let (class, object, core) = (text("mail"), text("a@b.c"), text("x"));
        let wanted = LibraryCommand::Relate {
            class,
            object,
            core,
        };
        assert_eq!(relate, Some(wanted));
        for short in [
            "set correl_object mail x",
            "select library_by_correl_object mail",
        ] {
            let found = read(short.as_bytes(), Dialect::default());
            assert!(matches!(found, Some(LibraryCommand::Wrong(_))), "{short}");
        }
    }

    #[test]
    fn sql_modes_decide_what_a_quote_is() {
        let dialect = Dialect {
            ansi_quotes: true,
            no_backslash_escapes: true,
            ..Dialect::default()
        };
        let object = |sql: &[u8]| match read(sql, dialect) {
            Some(LibraryCommand::Select { object }) => object,
            other => panic!("{other:?}"),
        };
        assert_eq!(object(b"select library 'a\\'"), b"a\\");
        assert_eq!(object(b"select library \"a\\\""), b"a\\");
    }

    #[test]
    fn a_prepared_one_is_recognised() {
        let prepares = |sql: &str| {
            let sniffed = sniff(sql.as_bytes(), true, Dialect::default());
            prepares_library_command(sql.as_bytes(), &sniffed, Dialect::default())
        };
        assert!(prepares("PREPARE s FROM 'select library x'"));
        assert!(prepares("EXECUTE IMMEDIATE \"set correl_object a b c\""));
        assert!(!prepares("PREPARE s FROM 'select 1'"));
        assert!(!prepares("PREPARE s FROM @x"));
        assert!(!prepares("SELECT 'select library x'"));
    }
}
