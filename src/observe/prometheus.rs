//! The metrics as Prometheus text (exposition format 0.0.4).
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>
use super::catalogue::{Kind, ServerMetric, WorkerMetric, SERVER_METRICS, WORKER_METRICS};
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
