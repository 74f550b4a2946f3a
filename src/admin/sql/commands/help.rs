//! HELP: the commands.

use crate::admin::sql::answer::{Answer, Table};

const COMMANDS: [(&str, &str); 24] = [
    (
        "SHOW SERVERS",
        "every server: role, health, lag, connections, and why it is not used",
    ),
    (
        "SHOW POOLS",
        "server connections by worker, server and user",
    ),
    (
        "SHOW SESSIONS [LIKE 'pattern']",
        "clients, and why one holds its server connection",
    ),
    (
        "SHOW STATUS [LIKE 'pattern']",
        "counters, summed and by worker; alarms",
    ),
    ("SHOW TLS", "Umpire's own certificates, and when they end"),
    ("SHOW WORKERS", "worker threads, and whether they answer"),
    (
        "SHOW MEMORY",
        "where the process's memory is: by kind, worker, user; the connections that hold the most",
    ),
    (
        "SHOW LATENCY",
        "turn times: 50, 95, 99, 99.9 percent, largest, in milliseconds",
    ),
    (
        "SHOW DIGESTS [LIKE 'pattern']",
        "statements by digest and user: calls, errors, rows, bytes, times",
    ),
    ("SHOW LIMITS", "what each user may use, and uses now"),
    (
        "SET USER name limit = number | NONE",
        "changes a limit of SHOW LIMITS until the configuration is read again",
    ),
    (
        "SHOW CONFIG [LIKE 'pattern']",
        "the configuration in effect",
    ),
    (
        "EXPLAIN ROUTE [FOR USER name | FOR GROUP name] statement",
        "where it would go, and why",
    ),
    (
        "SHOW SHARDED TABLES [LIKE 'pattern']",
        "every table with a rule: method, key, shards, and whether the configuration or a comment has it",
    ),
    (
        "SHOW JOBS",
        "changes of sharded tables' definitions that some shards lack",
    ),
    (
        "RESUME JOB number",
        "runs such a change where it is missing",
    ),
    (
        "CANCEL JOB number",
        "gives such a change up; what is done stays",
    ),
    (
        "SHOW LIBRARIES",
        "each library: its group, objects, weight, the server that it uses now",
    ),
    (
        "SHOW LIBRARY OBJECTS [LIKE 'pattern']",
        "up to 1000 objects, and the library of each",
    ),
    (
        "RAISE LIBRARY name BY number",
        "gives it more of the objects that have no library yet",
    ),
    (
        "KILL [QUERY] id",
        "ends a client's statement, or its connection",
    ),
    (
        "RELOAD",
        "reads the configuration file again; a bad file changes nothing",
    ),
    (
        "SHUTDOWN",
        "drains and ends the proxy; a second time: at once",
    ),
    (
        "SHOW HELP",
        "this list (also HELP, which some clients keep to themselves)",
    ),
];

pub fn run() -> Answer {
    let mut table = Table::new(&["command", "what it does"]);
    for (command, what) in COMMANDS {
        table.push([command.into(), what.into()]);
    }
    Answer::Rows(table)
}
