//! What clients, drivers and tools send on their own account when they connect: answered so that they work.

mod plain;
mod select;
mod show;
mod variables;

use crate::admin::sql::answer::Answer;
use crate::admin::sql::session::Session;
use crate::admin::sql::statement;
use crate::wire::reply;

pub use plain::plain;
pub use variables::Wanted;

/// The one database that tools find here.
const DATABASE: &str = "umpire";

/// Statements that change nothing here.
const ACCEPTED: [&str; 13] = [
    "set",
    "use",
    "do",
    "begin",
    "commit",
    "rollback",
    "savepoint",
    "release savepoint",
    "start transaction",
    "lock tables",
    "unlock tables",
    "flush",
    "deallocate prepare",
];

/// `sql` as [`plain`] leaves it. None: not one of these.
pub fn run(session: &Session, sql: &str) -> Option<Answer> {
    if sql.is_empty() {
        let empty = reply::Err {
            code: 1065,
            state: *b"42000",
            message: b"Query was empty".to_vec(),
        };
        return Some(Answer::Refused(empty));
    }
    let begins = |words: &&str| statement::after(sql, words).is_some();
    if ACCEPTED.iter().any(begins) {
        return Some(Answer::ok());
    }
    if let Some(list) = statement::after(sql, "select") {
        return select::select(session, list).map(Answer::Rows);
    }
    let rest = statement::after(sql, "show")?;
    let user = &session.handle.view().config.proxy.admin_user;
    show::show(rest, user).map(Answer::Rows)
}

/// The database that a USE names.
pub fn used(sql: &str) -> Option<String> {
    let rest = statement::after(sql, "use")?;
    let (name, _) = statement::string(rest)?;
    Some(name.trim_end_matches(';').to_string()).filter(|name| !name.is_empty())
}
