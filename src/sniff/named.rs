//! What a statement makes or ends of the things that hold a session's connection, by name.
//!
//! Only what the text says beyond doubt: one statement in its plain form, names of letters, digits, `_` and `$`. A session
//! counts by it, so that the end of the last one ends the hold.
use super::lexer::{Kind, Lexer, Token};
use super::literal::unescaped;
use super::types::Dialect;
use super::words::Word;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A table as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableName<'a> {
    pub schema: Option<&'a [u8]>,
    pub name: &'a [u8],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named<'a> {
    /// CREATE TEMPORARY TABLE
    MakesTable(TableName<'a>),
    /// DROP [TEMPORARY] TABLE: of a temporary and a permanent table of one name, the temporary one goes.
    DropsTables(SmallVec<[TableName<'a>; 4]>),
    /// PREPARE name FROM; the text, where it is a literal.
    Prepares(&'a [u8], Option<Cow<'a, [u8]>>),
    Executes(&'a [u8]),
    Deallocates(&'a [u8]),
    OpensHandler(&'a [u8]),
    ClosesHandler(&'a [u8]),
    /// SELECT or DO of one such function, with a literal name.
    TakesLock(&'a [u8]),
    ReleasesLock(&'a [u8]),
    ReleasesAllLocks,
}

/// None: nothing of the kind, or not in the plain form.
pub fn named(sql: &[u8], dialect: Dialect) -> Option<Named<'_>> {
    let mut reader = Reader {
        lexer: Lexer::new(sql, dialect),
        dialect,
    };
    let named = reader.statement()?;
    // code in a comment may count for one server only
    (!reader.lexer.trouble && !sql.windows(2).any(|w| w == b"/*")).then_some(named)
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    dialect: Dialect,
}

impl<'a> Reader<'a> {
    fn statement(&mut self) -> Option<Named<'a>> {
        let verb = self.lexer.next();
        match self.upper(&verb).as_slice() {
            b"CREATE" => self.create(),
            b"DROP" => self.drop(),
            b"DEALLOCATE" => self.word(b"PREPARE").then(|| self.deallocates())?,
            b"PREPARE" => self.prepares(),
            b"EXECUTE" => self.executes(),
            b"HANDLER" => self.handler(),
            b"SELECT" | b"DO" => self.lock(),
            _ => None,
        }
    }

    /// [OR REPLACE] TEMPORARY TABLE [IF NOT EXISTS] name …
    fn create(&mut self) -> Option<Named<'a>> {
        let mut next = self.lexer.next();
        if next.entry.word == Word::Or {
            self.word(b"REPLACE").then_some(())?;
            next = self.lexer.next();
        }
        (next.entry.word == Word::Temporary && self.word(b"TABLE")).then_some(())?;
        let mut first = self.lexer.next();
        if first.entry.word == Word::If {
            (self.word(b"NOT") && self.word(b"EXISTS")).then_some(())?;
            first = self.lexer.next();
        }
        let (table, _) = self.table(&first)?;
        Some(Named::MakesTable(table))
    }

    /// [TEMPORARY] TABLE [IF EXISTS] name, … [RESTRICT | CASCADE], or PREPARE name
    fn drop(&mut self) -> Option<Named<'a>> {
        let mut kind = self.lexer.next();
        if kind.entry.word == Word::Temporary {
            kind = self.lexer.next();
        }
        match self.upper(&kind).as_slice() {
            b"PREPARE" => return self.deallocates(),
            b"TABLE" | b"TABLES" => {}
            _ => return None,
        }
        let mut first = self.lexer.next();
        if first.entry.word == Word::If {
            self.word(b"EXISTS").then_some(())?;
            first = self.lexer.next();
        }
        let mut tables = SmallVec::new();
        loop {
            let (table, behind) = self.table(&first)?;
            tables.push(table);
            match behind.kind {
                Kind::Mark(b',') => first = self.lexer.next(),
                Kind::Semicolon | Kind::End | Kind::Word => {
                    return Some(Named::DropsTables(tables))
                }
                _ => return None,
            }
        }
    }

    fn prepares(&mut self) -> Option<Named<'a>> {
        let name = self.next_name()?;
        self.word(b"FROM").then_some(())?;
        let text = self.lexer.next();
        let bytes = self.lexer.bytes(&text);
        let whole = self.ends();
        let text = match text.kind {
            Kind::Text if whole => Some(unescaped(bytes, self.dialect)),
            _ => None,
        };
        Some(Named::Prepares(name, text))
    }

    fn executes(&mut self) -> Option<Named<'a>> {
        let name = self.lexer.next();
        (name.entry.word != Word::Immediate)
            .then(|| self.name(&name))?
            .map(Named::Executes)
    }

    fn deallocates(&mut self) -> Option<Named<'a>> {
        let name = self.next_name()?;
        self.ends().then_some(Named::Deallocates(name))
    }

    /// table OPEN [[AS] alias], alias CLOSE
    fn handler(&mut self) -> Option<Named<'a>> {
        let first = self.lexer.next();
        let (table, verb) = self.table(&first)?;
        match self.upper(&verb).as_slice() {
            b"OPEN" => {}
            b"CLOSE" => return self.ends().then_some(Named::ClosesHandler(table.name)),
            _ => return None,
        }
        let mut alias = self.lexer.next();
        if alias.entry.word == Word::As {
            alias = self.lexer.next();
        }
        match alias.kind {
            Kind::End | Kind::Semicolon => Some(Named::OpensHandler(table.name)),
            _ => self.name(&alias).map(Named::OpensHandler),
        }
    }

    /// One call, with an alias at most.
    fn lock(&mut self) -> Option<Named<'a>> {
        let function = self.lexer.next();
        let function = self.upper(&function);
        (self.lexer.next().kind == Kind::Mark(b'(')).then_some(())?;
        let named = match function.as_slice() {
            b"RELEASE_ALL_LOCKS" => Named::ReleasesAllLocks,
            b"RELEASE_LOCK" => Named::ReleasesLock(self.lock_name()?),
            b"GET_LOCK" => {
                let name = self.lock_name()?;
                (self.lexer.next().kind == Kind::Mark(b',')).then_some(())?;
                let mut seconds = self.lexer.next();
                if seconds.kind == Kind::Mark(b'-') {
                    seconds = self.lexer.next();
                }
                (seconds.kind == Kind::Number).then_some(Named::TakesLock(name))?
            }
            _ => return None,
        };
        (self.lexer.next().kind == Kind::Mark(b')')).then_some(())?;
        let mut behind = self.lexer.next();
        if behind.entry.word == Word::As {
            behind = self.lexer.next();
        }
        if matches!(behind.kind, Kind::Word | Kind::Quoted) {
            // FROM and the like are no aliases: the function may then run any number of times
            let is_alias = behind.kind == Kind::Quoted || behind.entry.word == Word::Name;
            is_alias.then_some(())?;
            behind = self.lexer.next();
        }
        matches!(behind.kind, Kind::End | Kind::Semicolon).then_some(named)
    }

    /// A text of characters that are the same in every character set that a client may have, and need no escape.
    fn lock_name(&mut self) -> Option<&'a [u8]> {
        let token = self.lexer.next();
        let text = self.lexer.bytes(&token);
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_.:-/$ ".contains(b);
        match text {
            [b'\'' | b'"', inner @ .., _] if token.kind == Kind::Text => {
                (!inner.is_empty() && inner.iter().all(plain)).then_some(inner)
            }
            _ => None,
        }
    }

    /// `[schema.]name`, and the token behind it.
    fn table(&mut self, first: &Token) -> Option<(TableName<'a>, Token)> {
        let name = self.name(first)?;
        let behind = self.lexer.next();
        if behind.kind != Kind::Mark(b'.') {
            return Some((TableName { schema: None, name }, behind));
        }
        let second = self.lexer.next();
        let table = TableName {
            schema: Some(name),
            name: self.name(&second)?,
        };
        Some((table, self.lexer.next()))
    }

    fn next_name(&mut self) -> Option<&'a [u8]> {
        let token = self.lexer.next();
        self.name(&token)
    }

    fn name(&self, token: &Token) -> Option<&'a [u8]> {
        let name = self.lexer.bytes(token);
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
        let is_name = matches!(token.kind, Kind::Word | Kind::Quoted);
        (is_name && !name.is_empty() && name.iter().all(plain)).then_some(name)
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let token = self.lexer.next();
        token.kind == Kind::Word && self.lexer.bytes(&token).eq_ignore_ascii_case(word)
    }

    fn ends(&mut self) -> bool {
        matches!(self.lexer.next().kind, Kind::End | Kind::Semicolon)
    }

    fn upper(&self, token: &Token) -> SmallVec<[u8; 24]> {
        match token.kind {
            Kind::Word => self
                .lexer
                .bytes(token)
                .iter()
                .map(u8::to_ascii_uppercase)
                .collect(),
            _ => SmallVec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn read(sql: &str) -> Option<Named<'_>> {
        named(sql.as_bytes(), Dialect::default())
    }

    fn table<'a>(schema: Option<&'a str>, name: &'a str) -> TableName<'a> {
        TableName {
            schema: schema.map(str::as_bytes),
            name: name.as_bytes(),
        }
    }

    #[test]
    fn what_is_made_and_ended_is_named() {
        let cases: &[(&str, Named)] = &[
            (
                "CREATE TEMPORARY TABLE t (a INT)",
                Named::MakesTable(table(None, "t")),
            ),
            (
                "create or replace temporary table if not exists `d`.`t` AS SELECT 1",
                Named::MakesTable(table(Some("d"), "t")),
            ),
            (
                "DROP TABLE t",
                Named::DropsTables(smallvec![table(None, "t")]),
            ),
            (
                "drop temporary tables if exists a, d . b ;",
                Named::DropsTables(smallvec![table(None, "a"), table(Some("d"), "b")]),
            ),
            (
                "DROP TABLE a, b CASCADE",
                Named::DropsTables(smallvec![table(None, "a"), table(None, "b")]),
            ),
            (
                "PREPARE s FROM 'SELECT ''x'''",
                Named::Prepares(b"s", Some(b"SELECT 'x'".as_slice().into())),
            ),
            ("PREPARE s FROM @a", Named::Prepares(b"s", None)),
            ("PREPARE s FROM 'SELECT ' 'x'", Named::Prepares(b"s", None)),
            ("EXECUTE s USING @a", Named::Executes(b"s")),
            ("DEALLOCATE PREPARE s;", Named::Deallocates(b"s")),
            ("drop prepare `s`", Named::Deallocates(b"s")),
            ("HANDLER t OPEN", Named::OpensHandler(b"t")),
            ("HANDLER d.t OPEN AS h", Named::OpensHandler(b"h")),
            ("HANDLER t OPEN h", Named::OpensHandler(b"h")),
            ("HANDLER h CLOSE", Named::ClosesHandler(b"h")),
            ("SELECT GET_LOCK('a-b.c', 10)", Named::TakesLock(b"a-b.c")),
            ("DO get_lock(\"a\", -1);", Named::TakesLock(b"a")),
            (
                "SELECT RELEASE_LOCK ( 'a' ) AS released",
                Named::ReleasesLock(b"a"),
            ),
            ("SELECT RELEASE_LOCK('a') t0_c1", Named::ReleasesLock(b"a")),
            ("DO RELEASE_ALL_LOCKS()", Named::ReleasesAllLocks),
        ];
        for (sql, expected) in cases {
            assert_eq!(read(sql).as_ref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn what_leaves_a_doubt_is_not() {
        for sql in [
            "CREATE TABLE t (a INT)",
            "CREATE TEMPORARY TABLE `a b` (a INT)",
            "CREATE TEMPORARY TABLE ü (a INT)",
            "CREATE TEMPORARY SEQUENCE s",
            "DROP TABLE `a``b`",
            "DROP TABLE /*!50000 a, */ b",
            "DROP VIEW v",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "SELECT GET_LOCK(@a, 10)",
            "SELECT GET_LOCK('a', 10), 1",
            "SELECT GET_LOCK('ü', 10)",
            "SELECT GET_LOCK('it''s', 10)",
            "SELECT GET_LOCK('a' 'b', 10)",
            "SELECT RELEASE_LOCK('a') FROM t",
            "SELECT IF(0, RELEASE_LOCK('a'), 1)",
            "SELECT RELEASE_LOCK('a') + 1",
            "SELECT RELEASE_ALL_LOCKS() FROM t WHERE 0",
            "SELECT RELEASE_LOCK(?)",
            "DEALLOCATE PREPARE",
            "HANDLER t READ FIRST",
            "",
        ] {
            assert_eq!(read(sql), None, "{sql}");
        }
    }
}
