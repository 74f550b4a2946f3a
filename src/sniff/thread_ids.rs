//! Ids of sessions in statements about the server's own connections, where they have to be those of server connections.
use super::connection_id::{is_servers_schema, lists_connections};
use super::lexer::{Kind, Lexer};
use super::types::Dialect;
use std::ops::Range;

/// What may be an id, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub at: Range<usize>,
    pub what: Mentioned,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mentioned {
    Number(u64),
    /// A user variable that the statement does not assign; its name in lower case.
    Variable(Vec<u8>),
}

/// Numbers and user variables behind the name of a table of the server's connections (`information_schema.processlist`,
/// `innodb_trx`, …), in the same statement.
pub fn beside_connections(sql: &[u8], dialect: Dialect) -> Vec<Mention> {
    let mut lexer = Lexer::new(sql, dialect);
    let mut found = Vec::new();
    let (mut named, mut before, mut into) = (false, None, false);
    loop {
        let token = lexer.next();
        let bytes = lexer.bytes(&token);
        match token.kind {
            Kind::End => return found,
            Kind::Semicolon => named = false,
            Kind::Number if named => {
                let digits = std::str::from_utf8(bytes).ok();
                let number = digits.and_then(|digits| digits.parse().ok());
                found.extend(number.map(|number| Mention {
                    at: token.start..token.end,
                    what: Mentioned::Number(number),
                }));
            }
            Kind::UserVariable if named && !into && !is_assigned(&lexer) => found.push(Mention {
                // with the @ before it
                at: token.start.saturating_sub(1)..token.end,
                what: Mentioned::Variable(bytes.to_ascii_lowercase()),
            }),
            _ => {}
        }
        named |= lists_connections(&lexer, &token)
            && before.is_some_and(|before| is_servers_schema(&lexer, &before));
        match token.kind {
            Kind::Word if bytes.eq_ignore_ascii_case(b"into") => into = true,
            Kind::UserVariable | Kind::Mark(b',') => {}
            _ => into = false,
        }
        if token.kind != Kind::Mark(b'.') {
            before = Some(token);
        }
    }
}

fn is_assigned(lexer: &Lexer<'_>) -> bool {
    lexer.clone().next().kind == Kind::Assign
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentioned(sql: &str) -> Vec<&str> {
        let found = beside_connections(sql.as_bytes(), Dialect::default());
        found.into_iter().map(|m| &sql[m.at]).collect()
    }

    #[test]
    fn numbers_and_variables_beside_tables_of_connections_may_be_ids() {
        for (sql, expected) in [
            (
                "SELECT 5 FROM information_schema.processlist WHERE id = 1000000001 AND info = '7'",
                vec!["1000000001"],
            ),
            (
                "SELECT state FROM Information_Schema.`PROCESSLIST` WHERE id IN (1, @a, @`B`)",
                vec!["1", "@a", "@`B`"],
            ),
            (
                "SELECT * FROM performance_schema.threads WHERE processlist_id=9",
                vec!["9"],
            ),
            (
                "SELECT id FROM information_schema.processlist INTO @a, @b",
                vec![],
            ),
            (
                "SELECT @x := id FROM information_schema.innodb_trx HAVING @y := 2.5",
                vec![],
            ),
            (
                "SELECT 1 FROM information_schema.tables WHERE x = 5",
                vec![],
            ),
            ("SELECT 1 FROM app.processlist WHERE id = 5", vec![]),
            (
                "SELECT 1 FROM information_schema.processlist; SELECT 6",
                vec![],
            ),
        ] {
            assert_eq!(mentioned(sql), expected, "{sql}");
        }
    }
}
