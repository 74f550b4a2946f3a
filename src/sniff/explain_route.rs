//! EXPLAIN ROUTE: what Umpire would do with a statement.
use super::lexer::{Kind, Lexer};
use super::types::{Dialect, Verb};

/// Where the statement of `EXPLAIN ROUTE statement` begins. None for everything else, also for what a server answers:
/// `EXPLAIN route` and `DESCRIBE route column` describe a table of that name.
pub fn explained_route(sql: &[u8], dialect: Dialect) -> Option<usize> {
    let mut lexer = Lexer::new(sql, dialect);
    let explains = matches!(lexer.next().entry.verb, Verb::Explain | Verb::Describe);
    let route = lexer.next();
    if !explains || route.kind != Kind::Word || !lexer.bytes(&route).eq_ignore_ascii_case(b"route")
    {
        return None;
    }
    let (first, second) = (lexer.next(), lexer.next());
    let begins = match first.kind {
        Kind::Word => !matches!(second.kind, Kind::End | Kind::Semicolon),
        Kind::Mark(b'(') => true,
        _ => false,
    };
    // with the comments in front of it: hints are in them
    let rest = sql.get(route.end..)?;
    let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    begins.then_some(route.end + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_statement_behind_it_makes_it_one() {
        let at = |sql: &str| explained_route(sql.as_bytes(), Dialect::default());
        let found = |sql: &str| at(sql).map(|at| sql[at..].to_owned());
        assert_eq!(found("EXPLAIN ROUTE SELECT 1").as_deref(), Some("SELECT 1"));
        assert_eq!(
            found("/* x */ explain\n route /* y */ (SELECT 1)").as_deref(),
            Some("/* y */ (SELECT 1)")
        );
        for not in [
            "EXPLAIN route",
            "DESC route col",
            "DESCRIBE route 'c%'",
            "EXPLAIN route.t",
            "EXPLAIN `route` SELECT 1",
            "EXPLAIN SELECT 1",
            "SELECT route FROM t",
            "EXPLAIN route col;",
        ] {
            assert_eq!(at(not), None, "{not}");
        }
    }
}
