//! SHOW STATUS [LIKE 'pattern' | WHERE …]: every counter summed, then by worker (`name.N`); the alarms.

use super::client::Wanted;
use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::workers::{sum, Counter};
use crate::control::Handle;

macro_rules! counters {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), |s| s.$name.get())),*] };
}

const COUNTERS: [Counter; 44] = counters![
    clients,
    clients_accepted,
    clients_refused,
    clients_denied,
    proxy_headers_refused,
    logins_delayed,
    logins_failed,
    turns,
    turns_to_primary,
    turns_to_replica,
    turns_local,
    turns_fanned_out,
    turns_gathered,
    plans_made,
    plans_cached,
    partial_commits,
    libraries_selected,
    library_objects_assigned,
    turns_failed,
    audit_records,
    audit_dropped,
    audit_waits,
    digests_evicted,
    policies_denied,
    policies_noted,
    retries,
    healed_writes,
    sync_statements,
    server_connections,
    server_connects,
    server_connect_errors,
    server_connections_lost,
    lease_waits,
    lease_timeouts,
    pinned,
    bytes_from_clients,
    bytes_to_clients,
    backpressure_pauses,
    buffers_spilled,
    ring_enters,
    ring_events,
    memory_pressed,
    memory_evictions,
    heap_bytes,
];

pub fn run(handle: &Handle, rest: &str) -> Answer {
    let Some(wanted) = Wanted::read(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let mut rows = of_proxy(handle);
    let stats = handle.stats();
    rows.extend(
        COUNTERS
            .iter()
            .map(|c| (c.0.to_string(), sum(stats, c).to_string())),
    );
    for (worker, stats) in stats.iter().enumerate() {
        let of_worker = |c: &Counter| (format!("{}.{worker}", c.0), (c.1)(stats).to_string());
        rows.extend(COUNTERS.iter().map(of_worker));
    }
    let mut table = Table::new(&["Variable_name", "Value"]);
    rows.retain(|(name, _)| wanted.holds(name));
    for (name, value) in rows {
        table.push([name, value]);
    }
    Answer::Rows(table)
}

fn of_proxy(handle: &Handle) -> Vec<(String, String)> {
    let view = handle.view();
    let mut rows = vec![
        ("version".into(), env!("CARGO_PKG_VERSION").into()),
        ("workers".into(), handle.stats().len().to_string()),
        ("epoch".into(), view.snapshot.epoch.to_string()),
        (
            "draining".into(),
            if view.draining { "yes" } else { "no" }.into(),
        ),
        ("alarms".into(), view.alarms.len().to_string()),
    ];
    let alarms = view.alarms.iter().enumerate();
    rows.extend(alarms.map(|(i, alarm)| (format!("alarm.{i}"), alarm.clone())));
    rows
}
