//! Every metric with its help text and where its value is.
use super::prometheus::ServerInfo;
use super::{names, WorkerStats};

/// Metric type of the `# TYPE` line.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric with one value a worker.
pub(super) struct WorkerMetric {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub get: fn(&WorkerStats) -> u64,
}

/// A metric with one value a server; none: not known.
pub(super) struct ServerMetric {
    pub name: &'static str,
    pub help: &'static str,
    pub get: fn(&ServerInfo) -> Option<f64>,
}

pub(super) const WORKER_METRICS: [WorkerMetric; 44] = [
    gauge(names::CLIENTS, "Client connections open now", |s| {
        s.clients.get()
    }),
    counter(
        names::CLIENTS_ACCEPTED,
        "Client connections accepted",
        |s| s.clients_accepted.get(),
    ),
    counter(
        names::CLIENTS_REFUSED,
        "Client connections refused for a limit",
        |s| s.clients_refused.get(),
    ),
    counter(
        names::CLIENTS_DENIED,
        "Clients refused for their address",
        |s| s.clients_denied.get(),
    ),
    counter(
        names::PROXY_HEADERS_REFUSED,
        "Connections closed for a PROXY header that was wrong, missing, or not trusted",
        |s| s.proxy_headers_refused.get(),
    ),
    counter(
        names::LOGINS_DELAYED,
        "Logins slowed down or refused for earlier failures of their address",
        |s| s.logins_delayed.get(),
    ),
    counter(names::LOGINS_FAILED, "Client logins refused", |s| {
        s.logins_failed.get()
    }),
    counter(
        names::POLICIES_DENIED,
        "Commands that a policy denied",
        |s| s.policies_denied.get(),
    ),
    counter(
        names::POLICIES_NOTED,
        "Policies that only log, met by a command",
        |s| s.policies_noted.get(),
    ),
    counter(
        names::AUDIT_RECORDS,
        "Records for the audit and the slow log",
        |s| s.audit_records.get(),
    ),
    counter(
        names::AUDIT_DROPPED,
        "Records that had no room in the queue",
        |s| s.audit_dropped.get(),
    ),
    counter(
        names::AUDIT_WAITS,
        "Commands that waited for room for their record",
        |s| s.audit_waits.get(),
    ),
    counter(
        names::DIGESTS_EVICTED,
        "Digests that lost their place in the table to others",
        |s| s.digests_evicted.get(),
    ),
    counter(names::TURNS, "Commands answered", |s| s.turns.get()),
    counter(names::TURNS_TO_PRIMARY, "Commands sent to a primary", |s| {
        s.turns_to_primary.get()
    }),
    counter(names::TURNS_TO_REPLICA, "Commands sent to a replica", |s| {
        s.turns_to_replica.get()
    }),
    counter(
        names::TURNS_LOCAL,
        "Commands answered by the proxy itself",
        |s| s.turns_local.get(),
    ),
    counter(
        names::TURNS_FANNED_OUT,
        "Statements that ran on several shards and were merged",
        |s| s.turns_fanned_out.get(),
    ),
    counter(
        names::TURNS_GATHERED,
        "Statements whose rows were brought to one server first",
        |s| s.turns_gathered.get(),
    ),
    counter(
        names::PLANS_MADE,
        "Statements that may use tables with a rule, planned anew",
        |s| s.plans_made.get(),
    ),
    counter(
        names::PLANS_CACHED,
        "Statements that may use tables with a rule, whose plan was known",
        |s| s.plans_cached.get(),
    ),
    counter(
        names::PARTIAL_COMMITS,
        "Changes of several groups that were committed on some of them only",
        |s| s.partial_commits.get(),
    ),
    counter(
        names::LIBRARIES_SELECTED,
        "Libraries that sessions selected",
        |s| s.libraries_selected.get(),
    ),
    counter(
        names::LIBRARY_OBJECTS_ASSIGNED,
        "Objects that were given a library",
        |s| s.library_objects_assigned.get(),
    ),
    counter(
        names::TURNS_FAILED,
        "Commands that ended with an error of the proxy",
        |s| s.turns_failed.get(),
    ),
    counter(
        names::RETRIES,
        "Commands sent again after a server was lost without effect",
        |s| s.retries.get(),
    ),
    counter(
        names::HEALED_WRITES,
        "Writes taken for reads, refused by a replica and sent to the primary",
        |s| s.healed_writes.get(),
    ),
    counter(
        names::SYNC_STATEMENTS,
        "Statements sent to give a connection its session's state",
        |s| s.sync_statements.get(),
    ),
    gauge(
        names::SERVER_CONNECTIONS,
        "Server connections open now",
        |s| s.server_connections.get(),
    ),
    counter(names::SERVER_CONNECTS, "Server connections opened", |s| {
        s.server_connects.get()
    }),
    counter(
        names::SERVER_CONNECT_ERRORS,
        "Server connections that could not be opened",
        |s| s.server_connect_errors.get(),
    ),
    counter(
        names::SERVER_CONNECTIONS_LOST,
        "Server connections that ended unasked",
        |s| s.server_connections_lost.get(),
    ),
    counter(
        names::LEASE_WAITS,
        "Commands that waited for a server connection",
        |s| s.lease_waits.get(),
    ),
    counter(
        names::LEASE_TIMEOUTS,
        "Commands that waited for a server connection in vain",
        |s| s.lease_timeouts.get(),
    ),
    gauge(
        names::PINNED,
        "Sessions that hold a server connection between commands",
        |s| s.pinned.get(),
    ),
    counter(
        names::BYTES_FROM_CLIENTS,
        "Bytes received from clients after their login",
        |s| s.bytes_from_clients.get(),
    ),
    counter(
        names::BYTES_TO_CLIENTS,
        "Bytes sent to clients after their login",
        |s| s.bytes_to_clients.get(),
    ),
    counter(
        names::BACKPRESSURE_PAUSES,
        "Times a peer was not read because the other was slow",
        |s| s.backpressure_pauses.get(),
    ),
    counter(
        names::BUFFERS_SPILLED,
        "Receives that found no provided buffer",
        |s| s.buffers_spilled.get(),
    ),
    counter(names::RING_ENTERS, "io_uring_enter calls", |s| {
        s.ring_enters.get()
    }),
    counter(names::RING_EVENTS, "Completions taken from the ring", |s| {
        s.ring_events.get()
    }),
    counter(
        names::MEMORY_PRESSED,
        "Times the worker's memory rose above its high-water mark",
        |s| s.memory_pressed.get(),
    ),
    counter(
        names::MEMORY_EVICTIONS,
        "Statements and connections that ended because they held the most memory",
        |s| s.memory_evictions.get(),
    ),
    gauge(
        names::HEAP_BYTES,
        "Bytes of the heap that the worker uses",
        |s| s.heap_bytes.get(),
    ),
];

pub(super) const SERVER_METRICS: [ServerMetric; 8] = [
    server(names::SERVER_UP, "1: alive at the last check", |s| {
        Some(flag(s.alive))
    }),
    server(
        names::SERVER_WRITABLE,
        "1: read_only was off at the last check",
        |s| Some(flag(s.writable)),
    ),
    server(
        names::SERVER_READABLE,
        "1: replication runs and lags less than the limit",
        |s| Some(flag(s.readable)),
    ),
    server(names::SERVER_PRIMARY, "1: takes its group's writes", |s| {
        Some(flag(s.primary))
    }),
    server(
        names::SERVER_LAG_SECONDS,
        "Replication lag, where it is known",
        |s| Some(s.lag?.as_secs_f64()),
    ),
    server(names::SERVER_WEIGHT, "Share of its group's reads", |s| {
        Some(f64::from(s.weight))
    }),
    server(
        names::SERVER_BUDGET_USED,
        "Connections of all workers to it",
        |s| Some(f64::from(s.used)),
    ),
    server(
        names::SERVER_BUDGET_LIMIT,
        "Connections that all workers may have to it",
        |s| Some(f64::from(s.limit)),
    ),
];

const fn counter(
    name: &'static str,
    help: &'static str,
    get: fn(&WorkerStats) -> u64,
) -> WorkerMetric {
    WorkerMetric {
        name,
        help,
        kind: Kind::Counter,
        get,
    }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    get: fn(&WorkerStats) -> u64,
) -> WorkerMetric {
    WorkerMetric {
        name,
        help,
        kind: Kind::Gauge,
        get,
    }
}

const fn server(
    name: &'static str,
    help: &'static str,
    get: fn(&ServerInfo) -> Option<f64>,
) -> ServerMetric {
    ServerMetric { name, help, get }
}

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}
