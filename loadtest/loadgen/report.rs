//! What is written on standard output: one JSON object a line.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Percentiles of the curve.
const CURVE: [f64; 16] = [
    1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999,
    100.0,
];
const LONGEST: u64 = 600_000_000_000;

pub struct Phase {
    pub seconds: f64,
    pub done: u64,
    pub failed: u64,
    pub bytes: u64,
    /// Were due and had no answer when the run ended.
    pub unfinished: u64,
    /// Connections that were due and found as many open as are allowed until the time was over.
    pub not_begun: u64,
    /// Nanoseconds from when a request was due (open loop) or sent (closed loop) to its whole reply.
    pub latency: Histogram<u64>,
}

impl Phase {
    pub fn new() -> Phase {
        Phase {
            seconds: 0.0,
            done: 0,
            failed: 0,
            bytes: 0,
            unfinished: 0,
            not_begun: 0,
            latency: Histogram::new_with_bounds(1, LONGEST, 3).expect("valid bounds"),
        }
    }

    pub fn answered(&mut self, nanoseconds: u64, failed: bool) {
        self.done += 1;
        self.failed += u64::from(failed);
        self.latency.saturating_record(nanoseconds.max(1));
    }

    pub fn print(&self, errors: &BTreeMap<String, u64>, connections: usize) {
        let us = |percentile: f64| self.latency.value_at_percentile(percentile) as f64 / 1e3;
        let mut out = format!(
            "{{\"event\": \"result\", \"seconds\": {:.6}, \"queries\": {}, \"failed\": {}, \"per_second\": {:.1}, \
             \"bytes\": {}, \"unfinished\": {}, \"not_begun\": {}, \"connections\": {connections}, \"latency_us\": {{",
            self.seconds,
            self.done,
            self.failed,
            self.done as f64 / self.seconds.max(1e-9),
            self.bytes,
            self.unfinished,
            self.not_begun,
        );
        for (name, percentile) in [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)] {
            let _ = write!(out, "\"{name}\": {:.1}, ", us(percentile));
        }
        let _ = write!(
            out,
            "\"max\": {:.1}, \"mean\": {:.1}}}, \"curve\": [",
            self.latency.max() as f64 / 1e3,
            self.latency.mean() / 1e3
        );
        for (i, percentile) in CURVE.into_iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let _ = write!(out, "{comma}[{percentile}, {:.1}]", us(percentile));
        }
        println!("{out}], \"errors\": {}}}", json(errors));
    }
}

pub fn ready(connections: usize, errors: &BTreeMap<String, u64>) {
    println!(
        "{{\"event\": \"ready\", \"connections\": {connections}, \"errors\": {}}}",
        json(errors)
    );
}

fn json(errors: &BTreeMap<String, u64>) -> String {
    let fields: Vec<String> = errors
        .iter()
        .map(|(what, n)| format!("{what:?}: {n}"))
        .collect();
    format!("{{{}}}", fields.join(", "))
}
