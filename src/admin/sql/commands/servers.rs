//! SHOW SERVERS.

use crate::admin::servers::infos;
use crate::admin::sql::answer::{yes_no, Answer, Table};
use crate::control::Handle;

pub fn run(handle: &Handle) -> Answer {
    let mut table = Table::new(&[
        "group",
        "server",
        "configured",
        "role",
        "alive",
        "writable",
        "readable",
        "lag_ms",
        "weight",
        "connections",
        "limit",
        "reason",
    ]);
    for server in infos(&handle.view()) {
        let role = match (server.alive, server.primary) {
            (false, _) => "down",
            (true, true) => "primary",
            (true, false) => "replica",
        };
        table.push([
            server.group,
            server.address,
            server.role,
            role.into(),
            yes_no(server.alive),
            yes_no(server.writable),
            yes_no(server.readable),
            server
                .lag
                .map_or(String::new(), |lag| lag.as_millis().to_string()),
            server.weight.to_string(),
            server.used.to_string(),
            server.limit.to_string(),
            server.reason,
        ]);
    }
    Answer::Rows(table)
}
