//! SHOW SESSIONS [LIKE 'pattern']: the pattern may match any of a session's texts.

use super::{unknown, NO_ANSWER};
use crate::admin::sql::answer::{yes_no, Answer, Table};
use crate::admin::sql::statement;
use crate::admin::workers::{ask, silent};
use crate::control::Handle;
use crate::observe::SessionInfo;
use crate::worker::mailbox::Message;

pub async fn run(handle: &Handle, rest: &str) -> Answer {
    let Ok(pattern) = statement::like(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let answers = ask(handle.mailboxes(), Message::Sessions).await;
    let mut table = Table::new(&[
        "id",
        "worker",
        "user",
        "client",
        "schema",
        "state",
        "seconds",
        "in_transaction",
        "pinned",
        "server",
        "turns",
        "tls",
    ]);
    for worker in silent(&answers) {
        table.rows.push(no_answer(worker, table.columns.len()));
    }
    let sessions = answers.into_iter().flatten().flatten();
    for session in sessions.filter(|s| pattern.as_ref().is_none_or(|p| fits(p, s))) {
        table.rows.push(row(session));
    }
    Answer::Rows(table)
}

/// SHOW PROCESSLIST: the same clients, in the columns that tools know.
pub async fn processlist(handle: &Handle) -> Answer {
    let answers = ask(handle.mailboxes(), Message::Sessions).await;
    let mut table = Table::new(&[
        "Id", "User", "Host", "db", "Command", "Time", "State", "Info",
    ]);
    for session in answers.into_iter().flatten().flatten() {
        let command = if session.state == "running" {
            "Query"
        } else {
            "Sleep"
        };
        table.rows.push(vec![
            Some(session.id.to_string()),
            Some(session.user),
            Some(session.client),
            session.schema,
            Some(command.into()),
            Some(session.seconds.to_string()),
            Some(session.state),
            None,
        ]);
    }
    Answer::Rows(table)
}

fn no_answer(worker: usize, columns: usize) -> Vec<Option<String>> {
    let mut row = vec![None; columns];
    for (column, text) in [(1, worker.to_string()), (5, NO_ANSWER.into())] {
        row[column] = Some(text);
    }
    row
}

fn fits(pattern: &str, session: &SessionInfo) -> bool {
    let texts = [
        &session.user,
        &session.client,
        &session.state,
        &session.pinned,
    ];
    let optional = [&session.schema, &session.server];
    let mut all = texts.into_iter().chain(optional.into_iter().flatten());
    all.any(|text| statement::matches(pattern, text))
}

fn row(session: SessionInfo) -> Vec<Option<String>> {
    vec![
        Some(session.id.to_string()),
        Some(session.worker.to_string()),
        Some(session.user),
        Some(session.client),
        session.schema,
        Some(session.state),
        Some(session.seconds.to_string()),
        Some(yes_no(session.in_transaction)),
        Some(session.pinned),
        session.server,
        Some(session.turns.to_string()),
        session.tls,
    ]
}
