//! Statements that no shard's server could run for all: why, and what to do instead.
use super::ddl::Tokens;
use super::request::Request;
use super::types::Refusal;

const EACH: &str = "run it on each group's servers, with the names of the shards";

/// `shown`: the table with a rule that the statement names.
pub(super) fn refusal(request: &Request<'_>, verb: &str, shown: &str) -> Refusal {
    let tokens = Tokens::read(request);
    let (what, remedy) = match verb {
        "CREATE" => created(&tokens),
        "DROP" => ("DROP of what belongs to a sharded table".to_owned(), EACH),
        "LOCK" => (
            "LOCK TABLES of a sharded table".to_owned(),
            "use a transaction, and SELECT … FOR UPDATE for the rows that matter",
        ),
        "HANDLER" => (
            "HANDLER of a sharded table".to_owned(),
            "read it with SELECT … ORDER BY … LIMIT",
        ),
        "LOAD" => (
            "LOAD DATA into a sharded table, whose rows would need to be told apart by their key"
                .to_owned(),
            "INSERT the rows, many in one statement, or load each shard's file on its server",
        ),
        "CALL" | "DO" | "SET" | "VALUES" | "SIGNAL" | "IF" | "BEGIN" => (
            format!("{verb} that reads a sharded table"),
            "SELECT from it alone, and use what it says",
        ),
        "TABLE" => (
            "TABLE of a sharded table".to_owned(),
            "write SELECT * FROM it",
        ),
        "GRANT" | "REVOKE" => (
            format!("{verb} on a sharded table: accounts and privileges are the servers' own"),
            EACH,
        ),
        _ => (format!("{verb} on sharded and broadcast tables"), EACH),
    };
    Refusal::new(format!("{shown}; not supported: {what}; {remedy}"))
}

fn created(tokens: &Tokens) -> (String, &'static str) {
    // CREATE OR REPLACE ALGORITHM = … DEFINER = … VIEW
    const KINDS: [&str; 7] = [
        "table",
        "view",
        "trigger",
        "procedure",
        "function",
        "event",
        "index",
    ];
    let places = 1..tokens.list.len();
    let kind = places
        .into_iter()
        .find_map(|at| KINDS.into_iter().find(|kind| tokens.is(at, kind)));
    match kind {
        Some("table") => (
            "CREATE TABLE without a rule from a sharded table (LIKE, SELECT, a foreign key)".to_owned(),
            "give it a rule in a comment or the configuration, or write its columns",
        ),
        Some("view") => (
            "CREATE VIEW over sharded tables: a server would show its own shards alone".to_owned(),
            "send the view's SELECT itself, or a WITH in front of the statement",
        ),
        Some(kind @ ("trigger" | "procedure" | "function" | "event")) => (
            format!("CREATE {} with sharded tables: it would run on one server, with its shards alone", kind.to_uppercase()),
            "send its statements from the application; a trigger of the shard's own row may be created on each group's servers",
        ),
        _ => ("CREATE on sharded and broadcast tables".to_owned(), EACH),
    }
}
