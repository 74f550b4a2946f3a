//! SHOW MEMORY: where the process's memory is, and who holds it.

use super::NO_ANSWER;
use crate::admin::memory::gather;
use crate::admin::sql::answer::{yes_no, Answer, Table};
use crate::control::Handle;
use crate::observe::memory::HeldBytes;

/// Connections that are shown.
const TOP: usize = 10;

pub async fn run(handle: &Handle) -> Answer {
    let all = gather(handle.mailboxes()).await;
    let mut table = Table::new(&["scope", "name", "bytes", "detail"]);
    let process = all.process();
    let total: u64 = process.iter().map(|(_, bytes)| bytes).sum();
    let resident = all.resident.all;
    let missing = i128::from(resident) - i128::from(total);
    let detail = format!("{resident} are resident, {missing} of them are not accounted for");
    table.push(row("process", "total", total, detail));
    for (name, bytes) in process {
        table.push(row("process", name, bytes, String::new()));
    }
    for (name, bytes) in all.heap() {
        table.push(row("heap", name, bytes, String::new()));
    }
    for worker in &all.silent {
        let mut silent = row("worker", &worker.to_string(), 0, String::new());
        silent[2] = NO_ANSWER.to_string();
        table.push(silent);
    }
    for worker in &all.workers {
        let detail = format!(
            "of the heap; high water {}, limit {}, pressed: {}, evictions: {}",
            worker.high_water,
            worker.limit,
            yes_no(worker.pressed),
            worker.evictions
        );
        table.push(row(
            "worker",
            &worker.worker.to_string(),
            worker.heap,
            detail,
        ));
    }
    for user in all.users() {
        let detail = format!("sessions {}: {}", user.sessions, words(&user.held));
        table.push(row("user", &user.user, user.held.sum(), detail));
    }
    for connection in all.connections(TOP) {
        let detail = format!(
            "{}, {}; client: {}; server: {}",
            connection.user,
            connection.state,
            words(&connection.client),
            words(&connection.server)
        );
        let id = connection.id.to_string();
        table.push(row("connection", &id, connection.sum(), detail));
    }
    Answer::Rows(table)
}

fn row(scope: &str, name: &str, bytes: u64, detail: String) -> [String; 4] {
    [scope.into(), name.into(), bytes.to_string(), detail]
}

/// What there is of each kind.
fn words(held: &HeldBytes) -> String {
    let kinds = [
        ("received", held.received),
        ("queued", held.queued),
        ("parts", held.parts),
        ("statements", held.statements),
        ("rows", held.rows),
    ];
    let some: Vec<String> = kinds
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| format!("{name} {bytes}"))
        .collect();
    match some.is_empty() {
        true => "nothing".into(),
        false => some.join(", "),
    }
}
