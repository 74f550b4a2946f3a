//! SELECT of variables, plain functions and literals; and of information_schema, which is empty here.

use super::variables;
use super::DATABASE;
use crate::admin::sql::answer::Table;
use crate::admin::sql::login::VERSION;
use crate::admin::sql::session::Session;
use crate::admin::sql::statement;

/// Deeper calls in each other are not evaluated.
const DEPTH: usize = 4;

/// What follows SELECT; None: nothing that can be answered here.
pub fn select(session: &Session, list: &str) -> Option<Table> {
    let list = ["distinct", "sql_no_cache", "all"]
        .iter()
        .fold(list, |list, word| {
            statement::after(list, word).unwrap_or(list)
        });
    let (list, from) = cut_list(list);
    let items: Vec<(&str, &str)> = split(list).into_iter().map(alias).collect();
    match from {
        Some(from) => schema_table(&items, from),
        None => {
            let mut table = Table::default();
            let mut row = Vec::new();
            for (expression, name) in items {
                row.push(value(session, expression, DEPTH)?);
                table.columns.push(name.to_string());
            }
            table.rows.push(row);
            Some(table)
        }
    }
}

/// The select list, and what follows FROM outside of parentheses and quotes. Without FROM: the list up to
/// WHERE, LIMIT and the like.
fn cut_list(sql: &str) -> (&str, Option<&str>) {
    const ENDS: [&str; 6] = ["from", "where", "limit", "order", "union", "into"];
    let mut end = None;
    outer_words(sql, |at, word| {
        let ends = ENDS.iter().any(|w| word.eq_ignore_ascii_case(w));
        if ends && end.is_none() {
            end = Some((at, word.len(), word.eq_ignore_ascii_case("from")));
        }
    });
    match end {
        None => (sql, None),
        Some((at, length, is_from)) => {
            let (list, rest) = sql.split_at(at);
            let rest = rest.get(length..).unwrap_or("");
            (list, is_from.then_some(rest.trim_start()))
        }
    }
}

/// Calls with each bare word and each comma that stands outside of parentheses and quotes, and its place.
fn outer_words<'a>(sql: &'a str, mut each: impl FnMut(usize, &'a str)) {
    let (mut depth, mut quote, mut start) = (0usize, None, None);
    for (at, c) in sql.char_indices().chain([(sql.len(), ' ')]) {
        let is_word =
            quote.is_none() && (c.is_alphanumeric() || matches!(c, '_' | '@' | '$' | '.'));
        if let (Some(from), false) = (start, is_word) {
            start = None;
            if depth == 0 {
                each(from, sql.get(from..at).unwrap_or(""));
            }
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => each(at, ","),
            (None, _) if is_word && start.is_none() => start = Some(at),
            (None, _) => {}
        }
    }
}

/// The items between the outer commas.
fn split(list: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut from = 0;
    outer_words(list, |at, word| {
        if word == "," {
            items.push(list.get(from..at).unwrap_or("").trim());
            from = at + 1;
        }
    });
    items.push(list.get(from..).unwrap_or("").trim());
    items
}

/// `expression [AS] name` → both; without a name the expression names itself.
fn alias(item: &str) -> (&str, &str) {
    let mut as_at = None;
    outer_words(item, |at, word| {
        if word.eq_ignore_ascii_case("as") {
            as_at = Some(at);
        }
    });
    if let Some(at) = as_at {
        let name = item.get(at + 2..).unwrap_or("").trim();
        return (item.get(..at).unwrap_or(item).trim(), unquoted(name));
    }
    match item.rsplit_once(char::is_whitespace) {
        Some((expression, name))
            if is_name(name) && !expression.trim_end().ends_with(OPERATORS) =>
        {
            (expression.trim(), unquoted(name))
        }
        _ => (item, unquoted(item)),
    }
}

const OPERATORS: [char; 8] = ['+', '-', '*', '/', '=', '<', '>', ','];

fn is_name(word: &str) -> bool {
    let quoted =
        word.len() > 1 && word.starts_with(['`', '\'', '"']) && word.ends_with(['`', '\'', '"']);
    quoted || word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Of a quoted word; anything else as it is.
fn unquoted(word: &str) -> &str {
    for quote in ['`', '\'', '"'] {
        let inside = word.strip_prefix(quote).and_then(|w| w.strip_suffix(quote));
        if let Some(inside) = inside.filter(|i| !i.contains(quote)) {
            return inside;
        }
    }
    word
}

/// None: not known here; Some(None): NULL.
fn value(session: &Session, expression: &str, depth: usize) -> Option<Option<String>> {
    let expression = expression.trim();
    if let Some(variable) = expression.strip_prefix("@@") {
        return Some(variable_value(variable));
    }
    if expression.starts_with('@') {
        return Some(None);
    }
    if expression.starts_with(['\'', '"']) {
        let (text, rest) = statement::string(expression)?;
        return rest.is_empty().then_some(Some(text));
    }
    let lower = expression.to_ascii_lowercase();
    if let Some(inside) = lower
        .strip_prefix("concat(")
        .and_then(|i| i.strip_suffix(')'))
    {
        let inside = expression.get(7..7 + inside.len())?;
        return concat(session, inside, depth.checked_sub(1)?);
    }
    plain_value(session, &lower)
}

fn variable_value(variable: &str) -> Option<String> {
    let lower = variable.to_ascii_lowercase();
    let name = ["session.", "global.", "local."]
        .iter()
        .find_map(|scope| lower.strip_prefix(scope))
        .unwrap_or(&lower);
    // Drivers read many variables in one statement and can do without a value.
    variables::selected(name.trim_matches('`')).map(str::to_string)
}

fn concat(session: &Session, list: &str, depth: usize) -> Option<Option<String>> {
    let mut text = Some(String::new());
    for item in split(list) {
        let part = value(session, item, depth)?;
        text = text.zip(part).map(|(text, part)| text + &part);
    }
    Some(text)
}

fn plain_value(session: &Session, expression: &str) -> Option<Option<String>> {
    let compact: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let user = || session.handle.view().config.proxy.admin_user.clone();
    Some(match compact.as_str() {
        "database()" | "schema()" => session.schema.clone(),
        "version()" => Some(VERSION.into()),
        "connection_id()" => Some(session.id.to_string()),
        "user()" | "current_user()" | "current_user" | "session_user()" | "system_user()" => {
            Some(format!("{}@{}", user(), session.host))
        }
        "now()" | "now" | "current_timestamp" | "current_timestamp()" | "sysdate()" => Some(now()),
        "null" | "current_role()" => None,
        "last_insert_id()" | "found_rows()" => Some("0".into()),
        "row_count()" => Some("-1".into()),
        "true" => Some("1".into()),
        "false" => Some("0".into()),
        number if number.parse::<i64>().is_ok() => Some(number.to_string()),
        _ => return None,
    })
}

/// `2024-02-29 12:34:56`, in UTC as `@@system_time_zone` says.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |s| s.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let of_day = seconds % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The date of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(is_leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

/// A SELECT from the server's own schemas: there is one database here, and nothing in it. None: from a
/// table of somebody's, which there is none of.
fn schema_table(items: &[(&str, &str)], from: &str) -> Option<Table> {
    let lower: String = from
        .to_ascii_lowercase()
        .chars()
        .filter(|c| *c != '`')
        .collect();
    let lower = lower.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let of = |schema: &str| lower.starts_with(schema) || lower.contains(&format!(" {schema}"));
    if ![
        "information_schema.",
        "performance_schema.",
        "mysql.",
        "sys.",
        "dual",
    ]
    .iter()
    .any(|s| of(s))
    {
        return None;
    }
    let schemata = lower.starts_with("information_schema.schemata");
    let mut table = Table::default();
    for (expression, name) in items {
        match *expression {
            "*" => table
                .columns
                .extend(all_columns(lower).iter().map(|c| c.to_string())),
            _ => table.columns.push(column_name(name).to_string()),
        }
    }
    let grouped = lower.contains("group by");
    let counts = items.iter().all(|(e, _)| is_aggregate(e));
    if counts && !grouped {
        let row = items.iter().map(|(e, _)| aggregate(e, schemata));
        table.rows.push(row.collect());
    } else if schemata && names_our_database(lower) {
        let row = table.columns.iter().map(|c| schemata_value(c));
        table.rows.push(row.collect());
    }
    Some(table)
}

/// `t.name` is called name.
fn column_name(name: &str) -> &str {
    let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
    if last.is_empty() || name.contains('(') {
        return name;
    }
    unquoted(last)
}

fn is_aggregate(expression: &str) -> bool {
    let lower = expression.to_ascii_lowercase();
    ["count(", "sum(", "max(", "min(", "avg("]
        .iter()
        .any(|f| lower.starts_with(f))
}

fn aggregate(expression: &str, schemata: bool) -> Option<String> {
    let counts = expression.to_ascii_lowercase().starts_with("count(");
    counts.then(|| u8::from(schemata).to_string())
}

/// A condition with another database's name in quotes leaves none.
fn names_our_database(from: &str) -> bool {
    let Some((_, condition)) = from.split_once(" where ") else {
        return true;
    };
    !condition.contains("schema_name =") && !condition.contains("schema_name=")
        || condition.contains(&format!("'{DATABASE}'"))
}

fn schemata_value(column: &str) -> Option<String> {
    match column.to_ascii_uppercase().as_str() {
        "CATALOG_NAME" => Some("def".into()),
        "DEFAULT_CHARACTER_SET_NAME" => Some("utf8mb4".into()),
        "DEFAULT_COLLATION_NAME" => Some("utf8mb4_general_ci".into()),
        "SCHEMA_NAME" | "DATABASE" => Some(DATABASE.into()),
        _ => None,
    }
}

/// The columns of `*`.
fn all_columns(from: &str) -> &'static [&'static str] {
    let table = from
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ')' | ';'))
        .next()
        .unwrap_or("");
    match table {
        "information_schema.schemata" => &[
            "CATALOG_NAME",
            "SCHEMA_NAME",
            "DEFAULT_CHARACTER_SET_NAME",
            "DEFAULT_COLLATION_NAME",
            "SQL_PATH",
        ],
        "information_schema.tables" => &[
            "TABLE_CATALOG",
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "TABLE_TYPE",
            "ENGINE",
            "TABLE_ROWS",
            "TABLE_COLLATION",
            "TABLE_COMMENT",
        ],
        "information_schema.columns" => &[
            "TABLE_CATALOG",
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "COLUMN_NAME",
            "ORDINAL_POSITION",
            "COLUMN_DEFAULT",
            "IS_NULLABLE",
            "DATA_TYPE",
            "COLUMN_TYPE",
            "COLUMN_KEY",
            "EXTRA",
        ],
        "information_schema.routines" => &[
            "SPECIFIC_NAME",
            "ROUTINE_CATALOG",
            "ROUTINE_SCHEMA",
            "ROUTINE_NAME",
            "ROUTINE_TYPE",
        ],
        "information_schema.engines" => &[
            "ENGINE",
            "SUPPORT",
            "COMMENT",
            "TRANSACTIONS",
            "XA",
            "SAVEPOINTS",
        ],
        "information_schema.character_sets" => &[
            "CHARACTER_SET_NAME",
            "DEFAULT_COLLATE_NAME",
            "DESCRIPTION",
            "MAXLEN",
        ],
        "information_schema.collations" => &[
            "COLLATION_NAME",
            "CHARACTER_SET_NAME",
            "ID",
            "IS_DEFAULT",
            "IS_COMPILED",
            "SORTLEN",
        ],
        "information_schema.processlist" => &[
            "ID", "USER", "HOST", "DB", "COMMAND", "TIME", "STATE", "INFO",
        ],
        "information_schema.views" => &[
            "TABLE_CATALOG",
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "VIEW_DEFINITION",
        ],
        "information_schema.triggers" => &[
            "TRIGGER_CATALOG",
            "TRIGGER_SCHEMA",
            "TRIGGER_NAME",
            "EVENT_OBJECT_TABLE",
        ],
        "information_schema.events" => &["EVENT_CATALOG", "EVENT_SCHEMA", "EVENT_NAME", "STATUS"],
        "information_schema.statistics" => &[
            "TABLE_CATALOG",
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "INDEX_NAME",
            "COLUMN_NAME",
        ],
        "information_schema.key_column_usage" => &[
            "CONSTRAINT_SCHEMA",
            "CONSTRAINT_NAME",
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "COLUMN_NAME",
        ],
        "mysql.user" => &["Host", "User"],
        _ => &["name"],
    }
}

#[cfg(test)]
mod tests {
    use super::{alias, civil, cut_list, split};

    #[test]
    fn a_list_is_cut_at_outer_commas_only() {
        assert_eq!(
            split("a, f(b, c) x, 'd, e', `f,g`"),
            ["a", "f(b, c) x", "'d, e'", "`f,g`"]
        );
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn a_list_ends_at_the_outer_from() {
        assert_eq!(
            cut_list("a, (SELECT 1 FROM b) FROM c"),
            ("a, (SELECT 1 FROM b) ", Some("c"))
        );
        assert_eq!(cut_list("'x from y'"), ("'x from y'", None));
        assert_eq!(cut_list("@@a limit 1"), ("@@a ", None));
        assert_eq!(cut_list("from_unixtime(1)"), ("from_unixtime(1)", None));
    }

    #[test]
    fn names_are_told_from_expressions() {
        assert_eq!(alias("@@a AS `b c`"), ("@@a", "b c"));
        assert_eq!(alias("@@a b"), ("@@a", "b"));
        assert_eq!(alias("1 + 2"), ("1 + 2", "1 + 2"));
        assert_eq!(alias("f(a, 'as')"), ("f(a, 'as')", "f(a, 'as')"));
        assert_eq!(alias("'x'"), ("'x'", "x"));
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(19_783), (2024, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
    }
}
