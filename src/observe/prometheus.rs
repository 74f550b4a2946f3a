//! The metrics as Prometheus text (exposition format 0.0.4).
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>
use super::{names, WorkerStats};
use hdrhistogram::Histogram;
use std::fmt::{Display, Write};
use std::sync::Arc;
use std::time::Duration;

/// What `/metrics` and SHOW SERVERS tell of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    pub group: String,
    pub address: String,
    /// As configured: primary or replica.
    pub role: String,
    /// It is its group's primary now.
    pub primary: bool,
    pub alive: bool,
    pub writable: bool,
    pub readable: bool,
    pub lag: Option<Duration>,
    pub weight: u32,
    /// Connections of the whole process to it, and how many there may be.
    pub used: u32,
    pub limit: u32,
    /// Why it is not alive or not readable; empty when all is well.
    pub reason: String,
}

/// Metric type of the `# TYPE` line.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

struct WorkerMetric {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    get: fn(&WorkerStats) -> u64,
}

struct ServerMetric {
    name: &'static str,
    help: &'static str,
    get: fn(&ServerInfo) -> Option<f64>,
}

/// Upper bounds of the turn histogram in microseconds: 50 µs to 10 s.
const BOUNDS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// All metrics. `workers` by their number; `latency` holds a worker's number and its turns in
/// microseconds (a worker that did not answer is missing).
pub fn prometheus(
    workers: &[Arc<WorkerStats>],
    servers: &[ServerInfo],
    latency: &[(usize, Histogram<u64>)],
) -> String {
    let mut out = String::with_capacity(16 * 1024);
    head(
        &mut out,
        names::BUILD_INFO,
        "Version of the running proxy",
        Kind::Gauge,
    );
    line(
        &mut out,
        names::BUILD_INFO,
        &[("version", env!("CARGO_PKG_VERSION"))],
        1,
    );
    head(&mut out, names::WORKERS, "Worker threads", Kind::Gauge);
    line(&mut out, names::WORKERS, &[], workers.len());
    for metric in &WORKER_METRICS {
        of_workers(&mut out, metric, workers);
    }
    turn_histogram(&mut out, latency);
    for metric in &SERVER_METRICS {
        of_servers(&mut out, metric, servers);
    }
    out
}

/// A label's value as it stands between the quotes: backslash, quote and line end escaped.
pub fn escape_label(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn of_workers(out: &mut String, metric: &WorkerMetric, workers: &[Arc<WorkerStats>]) {
    head(out, metric.name, metric.help, metric.kind);
    for (number, stats) in workers.iter().enumerate() {
        line(
            out,
            metric.name,
            &[("worker", &number.to_string())],
            (metric.get)(stats),
        );
    }
}

/// A server without the value (a lag not known) has no line.
fn of_servers(out: &mut String, metric: &ServerMetric, servers: &[ServerInfo]) {
    head(out, metric.name, metric.help, Kind::Gauge);
    for server in servers {
        if let Some(value) = (metric.get)(server) {
            let labels = [
                ("group", server.group.as_str()),
                ("server", &server.address),
                ("role", &server.role),
            ];
            line(out, metric.name, &labels, value);
        }
    }
}

fn turn_histogram(out: &mut String, latency: &[(usize, Histogram<u64>)]) {
    let name = names::TURN_SECONDS;
    head(
        out,
        name,
        "From a command's first byte to its reply's last, by worker",
        Kind::Histogram,
    );
    for (number, histogram) in latency {
        one_histogram(out, name, &number.to_string(), histogram);
    }
}

/// Buckets are cumulative and end with `+Inf`, which equals the count.
fn one_histogram(out: &mut String, name: &str, worker: &str, histogram: &Histogram<u64>) {
    let (counts, sum) = counted(histogram);
    let bucket = format!("{name}_bucket");
    let mut cumulative = 0;
    for (bound, count) in BOUNDS.iter().zip(counts) {
        cumulative += count;
        line(
            out,
            &bucket,
            &[
                ("worker", worker),
                ("le", &seconds(*bound as f64).to_string()),
            ],
            cumulative,
        );
    }
    line(
        out,
        &bucket,
        &[("worker", worker), ("le", "+Inf")],
        histogram.len(),
    );
    line(
        out,
        &format!("{name}_sum"),
        &[("worker", worker)],
        seconds(sum),
    );
    line(
        out,
        &format!("{name}_count"),
        &[("worker", worker)],
        histogram.len(),
    );
}

/// Turns of each bound (those above the last are in none) and the sum in microseconds. A turn counts
/// with the middle of the histogram's own step, which is all that it keeps.
fn counted(histogram: &Histogram<u64>) -> ([u64; BOUNDS.len()], f64) {
    let (mut counts, mut sum) = ([0; BOUNDS.len()], 0.0);
    for step in histogram.iter_recorded() {
        let value = histogram.median_equivalent(step.value_iterated_to());
        sum += value as f64 * step.count_at_value() as f64;
        if let Some(count) = counts.get_mut(BOUNDS.partition_point(|bound| *bound < value)) {
            *count += step.count_at_value();
        }
    }
    (counts, sum)
}

fn seconds(microseconds: f64) -> f64 {
    microseconds / 1e6
}

fn head(out: &mut String, name: &str, help: &str, kind: Kind) {
    let kind = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    put(
        out,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"),
    );
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    out.push_str(name);
    for (i, (label, text)) in labels.iter().enumerate() {
        let open = if i == 0 { '{' } else { ',' };
        put(
            out,
            format_args!("{open}{label}=\"{}\"", escape_label(text)),
        );
    }
    let close = if labels.is_empty() { "" } else { "}" };
    put(out, format_args!("{close} {value}\n"));
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // writing into a String does not fail
    let _ = out.write_fmt(text);
}

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

const WORKER_METRICS: [WorkerMetric; 25] = [
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
    counter(names::LOGINS_FAILED, "Client logins refused", |s| {
        s.logins_failed.get()
    }),
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
        "Bytes received from clients",
        |s| s.bytes_from_clients.get(),
    ),
    counter(names::BYTES_TO_CLIENTS, "Bytes sent to clients", |s| {
        s.bytes_to_clients.get()
    }),
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
];

const SERVER_METRICS: [ServerMetric; 8] = [
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

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}
