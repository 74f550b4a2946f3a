//! A statement as the server reads it: comments away, version comments opened. Pure.

/// `/*!50002 FULL */` and `/*M!100100 … */` become what is in them, any other comment a space; what is
/// quoted stays as it is.
pub fn plain(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            '\'' | '"' | '`' => quoted(rest, c, &mut out),
            '/' if rest.starts_with("/*") => comment(rest, &mut out),
            // the end of a version comment that was opened
            '*' if rest.starts_with("*/") => {
                out.push(' ');
                rest.get(2..).unwrap_or("")
            }
            '#' => line(rest, &mut out),
            '-' if rest.starts_with("-- ") || rest == "--" => line(rest, &mut out),
            c => {
                out.push(c);
                rest.get(c.len_utf8()..).unwrap_or("")
            }
        };
    }
    out.trim()
        .trim_end_matches(|c: char| c.is_whitespace() || c == ';' || c == '\0')
        .to_string()
}

/// Copies a quoted text; answers what follows it.
fn quoted<'a>(sql: &'a str, quote: char, out: &mut String) -> &'a str {
    let mut escaped = false;
    for (at, c) in sql.char_indices().skip(1) {
        if c == quote && !escaped {
            let (text, rest) = sql.split_at(at + c.len_utf8());
            out.push_str(text);
            return rest;
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    out.push_str(sql);
    ""
}

fn comment<'a>(sql: &'a str, out: &mut String) -> &'a str {
    out.push(' ');
    let opened = ["/*!", "/*M!"]
        .iter()
        .find_map(|mark| sql.strip_prefix(mark));
    match opened {
        Some(inside) => inside.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => sql
            .get(2..)
            .and_then(|inside| inside.split_once("*/"))
            .map_or("", |(_, rest)| rest),
    }
}

fn line<'a>(sql: &'a str, out: &mut String) -> &'a str {
    out.push(' ');
    sql.split_once('\n').map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn version_comments_are_opened_and_others_become_space() {
        assert_eq!(plain("/* app */ SELECT/**/1 -- x\n;"), "SELECT 1");
        assert_eq!(
            plain("SHOW /*!50002 GLOBAL */ STATUS"),
            "SHOW   GLOBAL   STATUS"
        );
        assert_eq!(plain("/*!40101 SET NAMES utf8 */;"), "SET NAMES utf8");
        assert_eq!(plain("/*M!100100 SET x = 1 */"), "SET x = 1");
        assert_eq!(
            plain("SELECT '/* a */', `--`, \"it\\\"s # 1\" # end"),
            "SELECT '/* a */', `--`, \"it\\\"s # 1\""
        );
    }

    #[test]
    fn what_does_not_end_ends_with_the_text() {
        assert_eq!(plain("SELECT 1 /* open"), "SELECT 1");
        assert_eq!(plain("SELECT 'open ü"), "SELECT 'open ü");
        assert_eq!(plain("/*!"), "");
        assert_eq!(plain("--"), "");
        assert_eq!(plain("5--3"), "5--3");
    }
}
