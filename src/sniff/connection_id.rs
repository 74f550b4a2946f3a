//! CONNECTION_ID() means the id that the client was greeted with, not that of the server connection
//! its statement happens to run on: the calls in a statement's text are replaced by that number.
use super::lexer::{Kind, Lexer, Token};
use super::types::Dialect;
use super::words::Word;

/// The statement with every call of `CONNECTION_ID()` replaced by `id`; None: there is none, or it names a table with the server's
/// own ids.
///
/// An item of the outermost select list with such a call gets its text as written for a name, as the
/// server would have named it; but not where its last words may be a name already.
pub fn with_connection_id(sql: &[u8], id: u32, dialect: Dialect) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(sql, dialect);
    let mut place = Place::default();
    let mut out = Vec::new();
    let mut copied = 0;
    let mut before = None;
    loop {
        let token = lexer.next();
        if place.ends_item(&lexer, &token) {
            if let Some((start, end)) = place.unnamed() {
                out.extend_from_slice(&sql[copied..end]);
                name_item(&sql[start..end], &mut out);
                copied = end;
            }
        }
        if token.kind == Kind::End {
            break;
        }
        if lists_connections(&lexer, &token) {
            // of one of the servers' own schemas: the only words before a dot that tell
            if before.is_some_and(|before| is_servers_schema(&lexer, &before)) {
                return None;
            }
        }
        if token.kind != Kind::Mark(b'.') {
            before = Some(token);
        }
        let call = is_call(&lexer, &token)
            .then(|| closing(&mut lexer))
            .flatten();
        let Some(close) = call else {
            place.pass(&lexer, &token);
            continue;
        };
        out.extend_from_slice(&sql[copied..token.start]);
        // what a server makes of this has the call's type and length, on MariaDB and MySQL
        out.extend_from_slice(format!("CAST({id} AS UNSIGNED)").as_bytes());
        copied = close.end;
        place.pass_call(&token, &close);
    }
    if out.is_empty() {
        return None;
    }
    out.extend_from_slice(&sql[copied..]);
    Some(out)
}

/// Tables of the server's connections: beside their ids the call means the server's as well, so that a session finds itself.
const OF_CONNECTIONS: [&[u8]; 7] = [
    b"processlist",
    b"innodb_trx",
    b"threads",
    b"metadata_lock_info",
    b"session_connect_attrs",
    b"session_account_connect_attrs",
    b"thread_pool_queues",
];

pub(super) fn lists_connections(lexer: &Lexer<'_>, token: &Token) -> bool {
    token.qualified && is_one_of(lexer, token, &OF_CONNECTIONS)
}

pub(super) fn is_servers_schema(lexer: &Lexer<'_>, token: &Token) -> bool {
    is_one_of(
        lexer,
        token,
        &[b"information_schema", b"performance_schema"],
    )
}

fn is_one_of(lexer: &Lexer<'_>, token: &Token, names: &[&[u8]]) -> bool {
    if !matches!(token.kind, Kind::Word | Kind::Quoted) {
        return false;
    }
    let name = lexer.bytes(token);
    let name = name.strip_prefix(b"`").unwrap_or(name);
    let name = name.strip_suffix(b"`").unwrap_or(name);
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Servers take no longer name, bytes.
const NAME_LIMIT: usize = 255;

fn name_item(text: &[u8], out: &mut Vec<u8>) {
    if text.len() > NAME_LIMIT {
        return;
    }
    out.extend_from_slice(b" AS `");
    for byte in text {
        if *byte == b'`' {
            out.push(b'`');
        }
        out.push(*byte);
    }
    out.push(b'`');
}

/// Where in the statement the reader is.
#[derive(Default)]
struct Place {
    depth: u32,
    /// Behind the outermost SELECT, before what follows its list.
    in_list: bool,
    /// Of the select item that the reader is in.
    item: Option<Item>,
}

struct Item {
    start: usize,
    /// Of its last token so far.
    end: usize,
    calls: bool,
    /// The last token cannot be the item's name.
    is_unnamed: bool,
    /// The last token is an operator, so that the next one is an operand.
    wants_operand: bool,
}

impl Place {
    fn ends_item(&self, lexer: &Lexer<'_>, token: &Token) -> bool {
        self.in_list
            && self.depth == 0
            && match token.kind {
                Kind::End | Kind::Semicolon | Kind::Mark(b',') => true,
                Kind::Word => follows_list(lexer, token),
                _ => false,
            }
    }

    /// Where the item stands that ends here, if it has a call and no name.
    fn unnamed(&self) -> Option<(usize, usize)> {
        let item = self.item.as_ref()?;
        (item.calls && item.is_unnamed).then_some((item.start, item.end))
    }

    fn pass(&mut self, lexer: &Lexer<'_>, token: &Token) {
        if self.ends_item(lexer, token) {
            self.item = None;
            self.in_list = token.kind == Kind::Mark(b',');
            return;
        }
        if self.depth == 0 && token.kind == Kind::Word && token.entry.word == Word::Select {
            self.in_list = true;
            return;
        }
        match token.kind {
            Kind::Mark(b'(') => self.depth += 1,
            Kind::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.item.is_some() || !is_option(lexer, token) {
            // a variable's token begins behind its @
            let signs = match token.kind {
                Kind::UserVariable => 1,
                Kind::SystemVariable => 2,
                _ => 0,
            };
            let start = token.start.saturating_sub(signs);
            self.grow(start, token.end, token.kind, token.qualified);
        }
    }

    fn pass_call(&mut self, name: &Token, close: &Token) {
        self.grow(name.start, close.end, close.kind, false);
        if let Some(item) = &mut self.item {
            item.calls = true;
        }
    }

    fn grow(&mut self, start: usize, end: usize, kind: Kind, qualified: bool) {
        if !self.in_list {
            return;
        }
        let item = self.item.get_or_insert(Item {
            start,
            end,
            calls: false,
            is_unnamed: true,
            wants_operand: true,
        });
        item.end = end;
        item.is_unnamed =
            item.wants_operand || qualified || matches!(kind, Kind::Mark(b')') | Kind::Number);
        item.wants_operand = matches!(kind, Kind::Mark(m) if b"+-*/%=<>!&|^~".contains(&m));
    }
}

/// A word between SELECT and its list.
fn is_option(lexer: &Lexer<'_>, token: &Token) -> bool {
    const OPTIONS: [&[u8]; 6] = [
        b"all",
        b"distinct",
        b"distinctrow",
        b"high_priority",
        b"straight_join",
        b"sql_",
    ];
    let bytes = lexer.bytes(token);
    let begins = |word: &[u8]| {
        bytes
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    token.kind == Kind::Word
        && OPTIONS
            .iter()
            .any(|w| begins(w) && (bytes.len() == w.len() || w.ends_with(b"_")))
}

fn is_call(lexer: &Lexer<'_>, token: &Token) -> bool {
    token.kind == Kind::Word
        && !token.qualified
        && lexer.bytes(token).eq_ignore_ascii_case(b"connection_id")
}

/// The `)` of an empty pair of parentheses that begins at the lexer's place; the lexer stays before
/// it if there is none.
fn closing(lexer: &mut Lexer<'_>) -> Option<Token> {
    let mut ahead = lexer.clone();
    let open = ahead.next();
    let close = ahead.next();
    if open.kind != Kind::Mark(b'(') || close.kind != Kind::Mark(b')') {
        return None;
    }
    *lexer = ahead;
    Some(close)
}

fn follows_list(lexer: &Lexer<'_>, token: &Token) -> bool {
    const FOLLOWS: [&[u8]; 11] = [
        b"from",
        b"where",
        b"group",
        b"having",
        b"order",
        b"limit",
        b"union",
        b"except",
        b"intersect",
        b"into",
        b"for",
    ];
    !token.qualified
        && FOLLOWS
            .iter()
            .any(|w| lexer.bytes(token).eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> Option<String> {
        let text = with_connection_id(sql.as_bytes(), 7, Dialect::default())?;
        let text = String::from_utf8(text).expect("text");
        // for the reader
        assert!(text.contains("CAST(7 AS UNSIGNED)"), "{text}");
        Some(text.replace("CAST(7 AS UNSIGNED)", "7"))
    }

    #[test]
    fn a_call_becomes_the_clients_id_under_its_own_name() {
        for (sql, expected) in [
            ("SELECT CONNECTION_ID()", "SELECT 7 AS `CONNECTION_ID()`"),
            (
                "select connection_id ( ) , 1",
                "select 7 AS `connection_id ( )` , 1",
            ),
            (
                "SELECT 1, Connection_Id() FROM t",
                "SELECT 1, 7 AS `Connection_Id()` FROM t",
            ),
            ("SELECT CONNECTION_ID() AS me", "SELECT 7 AS me"),
            ("SELECT CONNECTION_ID() me", "SELECT 7 me"),
            (
                "SELECT CONNECTION_ID()+1",
                "SELECT 7+1 AS `CONNECTION_ID()+1`",
            ),
            (
                "SELECT f(1, CONNECTION_ID(), 2), 5",
                "SELECT f(1, 7, 2) AS `f(1, CONNECTION_ID(), 2)`, 5",
            ),
            (
                "SELECT DISTINCT a = CONNECTION_ID(), CONNECTION_ID() = t.`a` FROM t",
                "SELECT DISTINCT a = 7 AS `a = CONNECTION_ID()`, 7 = t.`a` AS `CONNECTION_ID() = t.``a``` FROM t",
            ),
            (
                "SELECT (SELECT CONNECTION_ID() FROM t) x, (SELECT CONNECTION_ID()) FROM u",
                "SELECT (SELECT 7 FROM t) x, (SELECT 7) AS `(SELECT CONNECTION_ID())` FROM u",
            ),
            (
                "SELECT @a - CONNECTION_ID(), @@port + CONNECTION_ID()",
                "SELECT @a - 7 AS `@a - CONNECTION_ID()`, @@port + 7 AS `@@port + CONNECTION_ID()`",
            ),
            (
                "SELECT -CONNECTION_ID(), x'07' + CONNECTION_ID(), `a` - CONNECTION_ID(), _utf8'7' + CONNECTION_ID()",
                "SELECT -7 AS `-CONNECTION_ID()`, x'07' + 7 AS `x'07' + CONNECTION_ID()`, `a` - 7 AS ```a`` - CONNECTION_ID()`, _utf8'7' + 7 AS `_utf8'7' + CONNECTION_ID()`",
            ),
            // what may be a name already is left alone
            ("SELECT CONNECTION_ID() IS NULL", "SELECT 7 IS NULL"),
            ("SELECT CONNECTION_ID() + 1 'x'", "SELECT 7 + 1 'x'"),
            ("SELECT CONNECTION_ID() + 1 AS x", "SELECT 7 + 1 AS x"),
            (
                "SELECT a FROM t ORDER BY 1, CONNECTION_ID()",
                "SELECT a FROM t ORDER BY 1, 7",
            ),
            (
                "INSERT INTO t VALUES (1, CONNECTION_ID())",
                "INSERT INTO t VALUES (1, 7)",
            ),
            ("KILL CONNECTION_ID()", "KILL 7"),
            (
                "SELECT CONNECTION_ID(); SELECT 2",
                "SELECT 7 AS `CONNECTION_ID()`; SELECT 2",
            ),
            (
                "SELECT /* x */ CONNECTION_ID(/* y */)",
                "SELECT /* x */ 7 AS `CONNECTION_ID(/* y */)`",
            ),
        ] {
            assert_eq!(rewritten(sql).as_deref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn text_that_only_looks_like_a_call_stays() {
        for sql in [
            "SELECT 'CONNECTION_ID()'",
            "SELECT t.connection_id FROM t",
            "SELECT * FROM information_schema.processlist WHERE id = connection_id()",
            "SELECT connection_id() FROM `performance_schema`.`threads`",
            "SELECT connection_id FROM t",
            "SELECT 1 -- CONNECTION_ID()",
            "SELECT `connection_id`",
        ] {
            assert_eq!(rewritten(sql), None, "{sql}");
        }
    }
}
