//! What clients and drivers send on their own account: answered so that they work.

use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::login::VERSION;
use crate::admin::sql::session::Session;
use crate::admin::sql::statement;
use crate::wire::reply;

/// Statements that change nothing here.
const ACCEPTED: [&str; 7] = [
    "set",
    "use",
    "begin",
    "commit",
    "rollback",
    "start transaction",
    "unlock tables",
];

/// Variables that clients ask for at their start.
const VARIABLES: [(&str, &str); 27] = [
    ("auto_increment_increment", "1"),
    ("autocommit", "1"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("hostname", ""),
    ("init_connect", ""),
    ("interactive_timeout", "3600"),
    ("license", "Apache-2.0"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "1048576"),
    ("net_write_timeout", "30"),
    ("performance_schema", "0"),
    ("port", "0"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("socket", ""),
    ("sql_mode", ""),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("version", VERSION),
    ("wait_timeout", "3600"),
];

/// None: not one of these.
pub fn run(session: &Session, sql: &str) -> Option<Answer> {
    if sql.is_empty() {
        let empty = reply::Err {
            code: 1065,
            state: *b"42000",
            message: b"Query was empty".to_vec(),
        };
        return Some(Answer::Refused(empty));
    }
    if ACCEPTED
        .iter()
        .any(|words| statement::after(sql, words).is_some())
    {
        return Some(Answer::ok());
    }
    if let Some(list) = statement::after(sql, "select") {
        return select(session, list).map(Answer::Rows);
    }
    show(sql).map(Answer::Rows)
}

fn show(sql: &str) -> Option<Table> {
    let rest = statement::after(sql, "show")?;
    let rest = ["session", "global"]
        .iter()
        .find_map(|scope| statement::after(rest, scope))
        .unwrap_or(rest);
    let begins = |words| statement::after(rest, words).is_some();
    if let Some(rest) = statement::after(rest, "variables") {
        return Some(variables(statement::like(rest).ok().flatten()));
    }
    if begins("databases") || begins("schemas") {
        let mut table = Table::new(&["Database"]);
        table.push(["umpire".into()]);
        return Some(table);
    }
    if begins("tables") || begins("full tables") {
        return Some(Table::new(&["Tables_in_umpire"]));
    }
    if begins("warnings") || begins("errors") {
        return Some(Table::new(&["Level", "Code", "Message"]));
    }
    None
}

fn variables(pattern: Option<String>) -> Table {
    let mut table = Table::new(&["Variable_name", "Value"]);
    for (name, value) in VARIABLES {
        if pattern.as_ref().is_none_or(|p| statement::matches(p, name)) {
            table.push([name.into(), value.into()]);
        }
    }
    table
}

/// A list of variables, plain functions and numbers, with or without a LIMIT.
fn select(session: &Session, list: &str) -> Option<Table> {
    let list = match list.to_ascii_lowercase().rfind(" limit ") {
        Some(at) => list.get(..at)?,
        None => list,
    };
    let mut table = Table::default();
    let mut row = Vec::new();
    for item in list.split(',').map(str::trim) {
        let (expression, name) = alias(item);
        row.push(value(session, expression)?);
        table.columns.push(name.to_string());
    }
    table.rows.push(row);
    Some(table)
}

/// `expression [AS] name` → both; without a name the expression names itself.
fn alias(item: &str) -> (&str, &str) {
    let Some((expression, name)) = item.rsplit_once(char::is_whitespace) else {
        return (item, item);
    };
    let lower = expression.trim_end().to_ascii_lowercase();
    let length = lower.strip_suffix(" as").unwrap_or(&lower).trim_end().len();
    let unquoted = name.trim_matches(['`', '\'', '"']);
    (expression.get(..length).unwrap_or(expression), unquoted)
}

/// None: not known here; Some(None): NULL.
fn value(session: &Session, expression: &str) -> Option<Option<String>> {
    let lower: String = expression
        .to_ascii_lowercase()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    if let Some(variable) = lower.strip_prefix("@@") {
        let name = variable
            .trim_start_matches("session.")
            .trim_start_matches("global.");
        let known = VARIABLES.iter().find(|(known, _)| *known == name);
        return match (known, name) {
            (Some((_, value)), _) => Some(Some(value.to_string())),
            (None, "version_comment") => Some(Some("Umpire admin port".into())),
            // Drivers read many variables in one statement and can do without a value.
            (None, _) => Some(None),
        };
    }
    let user = || format!("{}@umpire", session.handle.view().config.proxy.admin_user);
    match lower.as_str() {
        "database()" | "schema()" => Some(None),
        "version()" => Some(Some(VERSION.into())),
        "connection_id()" => Some(Some(session.id.to_string())),
        "user()" | "current_user()" | "current_user" => Some(Some(user())),
        number if number.parse::<i64>().is_ok() => Some(Some(number.to_string())),
        _ => None,
    }
}
