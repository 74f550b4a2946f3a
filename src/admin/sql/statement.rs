//! Just enough reading of a statement for the admin commands: comments and the end cut off, words,
//! quoted strings. Pure.

/// The statement without leading comments and without trailing space and semicolons. Clients put
/// comments in front to name themselves.
pub fn trim(sql: &str) -> &str {
    let mut sql = sql.trim_start();
    loop {
        let rest = match sql {
            s if s.starts_with("/*") => s.split_once("*/").map(|(_, rest)| rest),
            s if s.starts_with("-- ") || s.starts_with('#') => {
                s.split_once('\n').map(|(_, rest)| rest)
            }
            _ => break,
        };
        match rest {
            Some(rest) => sql = rest.trim_start(),
            None => return "",
        }
    }
    sql.trim_end_matches(|c: char| c.is_whitespace() || c == ';' || c == '\0')
}

/// What follows `words` if the statement begins with them, in any case and spacing.
pub fn after<'a>(sql: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = sql;
    for word in words.split(' ') {
        let (head, tail) = next_word(rest);
        if !head.eq_ignore_ascii_case(word) {
            return None;
        }
        rest = tail;
    }
    Some(rest.trim_start())
}

/// The statement consists of these words only.
pub fn is(sql: &str, words: &str) -> bool {
    after(sql, words).is_some_and(str::is_empty)
}

/// The first word and the rest behind it.
pub fn next_word(sql: &str) -> (&str, &str) {
    let sql = sql.trim_start();
    sql.split_at(sql.find(char::is_whitespace).unwrap_or(sql.len()))
}

/// A quoted string or a bare word, quotes removed, doubled quotes and backslashes undone; and what
/// follows. None: the quote does not end.
pub fn string(sql: &str) -> Option<(String, &str)> {
    let quote = match sql.chars().next() {
        Some(quote @ ('\'' | '"' | '`')) => quote,
        _ => {
            let (word, rest) = next_word(sql);
            return Some((word.to_string(), rest));
        }
    };
    let mut text = String::new();
    let mut chars = sql.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            if chars.next_if(|(_, next)| *next == quote).is_none() {
                return Some((text, sql.get(at + quote.len_utf8()..).unwrap_or("")));
            }
            text.push(quote);
        } else if c == '\\' && quote != '`' {
            // LIKE reads the escape itself where it protects a wildcard.
            match chars.next()? {
                (_, wild @ ('%' | '_')) => text.extend(['\\', wild]),
                (_, other) => text.push(other),
            }
        } else {
            text.push(c);
        }
    }
    None
}

/// The pattern of `LIKE 'pattern'`; None without one. Err: something else is there.
pub fn like(rest: &str) -> Result<Option<String>, ()> {
    if rest.is_empty() {
        return Ok(None);
    }
    match after(rest, "like").and_then(string) {
        Some((pattern, end)) if end.trim().is_empty() => Ok(Some(pattern)),
        _ => Err(()),
    }
}

/// SQL's LIKE, without regard to case: `%` any text, `_` one character, `\` takes the next as it is.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on when a guess about the last `%` was wrong: one character more for it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let (token, width) = match (pattern.get(p), pattern.get(p + 1)) {
            (Some('\\'), Some(literal)) => (Token::Literal(*literal), 2),
            (Some('%'), _) => (Token::Any, 1),
            (Some('_'), _) => (Token::One, 1),
            (Some(literal), _) => (Token::Literal(*literal), 1),
            (None, _) => (Token::End, 0),
        };
        let fits = match (token, text.get(t)) {
            (Token::Any, _) => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            (Token::End, None) => return true,
            (Token::One, Some(_)) => true,
            (Token::Literal(literal), Some(c)) => literal == *c,
            _ => false,
        };
        if fits {
            p += width;
            t += 1;
            continue;
        }
        match retry {
            Some((behind, from)) if from < text.len() => {
                retry = Some((behind, from + 1));
                (p, t) = (behind, from + 1);
            }
            _ => return false,
        }
    }
}

enum Token {
    Any,
    One,
    Literal(char),
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_in_front_and_the_end_are_cut_off() {
        assert_eq!(trim(" /* a */ -- b\n # c\n SHOW  x ; ;\0"), "SHOW  x");
        assert_eq!(trim("/* no end"), "");
        assert_eq!(trim("-- only"), "");
        assert_eq!(trim("--"), "--");
    }

    #[test]
    fn words_match_in_any_case_and_spacing_but_only_whole() {
        assert_eq!(after("Show\n\tServers  now", "show servers"), Some("now"));
        assert_eq!(after("showservers", "show servers"), None);
        assert_eq!(after("show serversx", "show servers"), None);
        assert!(is("SHOW POOLS", "show pools"));
        assert!(!is("SHOW POOLS x", "show pools"));
    }

    #[test]
    fn strings_lose_their_quotes() {
        let string = |sql| string(sql).map(|(text, rest)| (text, rest.to_string()));
        let both = |text: &str, rest: &str| Some((text.to_string(), rest.to_string()));
        assert_eq!(string("'a''b' c"), both("a'b", " c"));
        assert_eq!(string("\"ü\\\"x\""), both("ü\"x", ""));
        assert_eq!(string("`a\\b`"), both("a\\b", ""));
        assert_eq!(string("bare word"), both("bare", " word"));
        assert_eq!(string("'open"), None);
        assert_eq!(string("'open\\"), None);
    }

    #[test]
    fn like_knows_both_wildcards_and_the_escape() {
        let pattern = |sql| like(sql);
        assert_eq!(pattern(""), Ok(None));
        assert_eq!(pattern("LIKE 'a\\_b'"), Ok(Some("a\\_b".into())));
        assert_eq!(pattern("LIKE 'a' x"), Err(()));
        assert_eq!(pattern("x"), Err(()));
        assert!(matches("%", "") && matches("a%c", "ABBC") && matches("_ü", "xÜ"));
        assert!(matches("%ab%ab", "ababxab"));
        assert!(!matches("%ab%ac", "ababxab"));
        assert!(matches("a\\_b", "a_b") && !matches("a\\_b", "axb"));
        assert!(!matches("", "a") && !matches("a", "") && matches("", ""));
    }

    #[test]
    fn a_hostile_pattern_ends_quickly() {
        let pattern = "%a".repeat(500);
        assert!(!matches(&pattern, &"b".repeat(5000)));
    }
}
