//! Metric names, counters, histograms and the records that workers hand to the control thread.
//!
//! Names are constants of [`names`]; [`prometheus`] writes them all as text.
mod catalogue;
pub mod digests;
pub mod memory;
pub mod names;
mod prometheus;
pub mod record;
pub mod ring;
#[cfg(test)]
mod tests;

pub use prometheus::{escape_label, prometheus, ServerInfo};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer (its worker) and any number of readers: load and store, no
/// read-modify-write, so that the turn's path stays free of locked instructions.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
    #[inline]
    pub fn sub(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(n), Relaxed);
    }
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of one worker, shared with the control thread (`Arc`), written by the worker alone.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WorkerStats {
    pub clients: Counter,
    pub clients_accepted: Counter,
    pub clients_refused: Counter,
    pub clients_denied: Counter,
    pub proxy_headers_refused: Counter,
    pub logins_delayed: Counter,
    pub logins_failed: Counter,
    pub turns: Counter,
    pub turns_to_primary: Counter,
    pub turns_to_replica: Counter,
    pub turns_local: Counter,
    /// Statements that ran on several shards and were merged, and those whose rows were gathered.
    pub turns_fanned_out: Counter,
    pub turns_gathered: Counter,
    /// Statements planned anew, and those whose plan was known.
    pub plans_made: Counter,
    pub plans_cached: Counter,
    /// Changes of several groups that were committed on some of them only.
    pub partial_commits: Counter,
    /// Libraries that sessions selected, and objects that were given one.
    pub libraries_selected: Counter,
    pub library_objects_assigned: Counter,
    pub turns_failed: Counter,
    pub policies_denied: Counter,
    pub policies_noted: Counter,
    pub audit_records: Counter,
    pub audit_dropped: Counter,
    pub audit_waits: Counter,
    pub digests_evicted: Counter,
    pub retries: Counter,
    pub healed_writes: Counter,
    pub sync_statements: Counter,
    pub server_connections: Counter,
    pub server_connects: Counter,
    pub server_connect_errors: Counter,
    pub server_connections_lost: Counter,
    pub lease_waits: Counter,
    pub lease_timeouts: Counter,
    pub pinned: Counter,
    pub bytes_from_clients: Counter,
    pub bytes_to_clients: Counter,
    pub backpressure_pauses: Counter,
    pub buffers_spilled: Counter,
    pub ring_enters: Counter,
    pub ring_events: Counter,
    pub memory_pressed: Counter,
    pub memory_evictions: Counter,
    pub heap_bytes: Counter,
}

/// One row of SHOW SESSIONS.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    pub id: u32,
    pub worker: usize,
    pub user: String,
    pub client: String,
    pub schema: Option<String>,
    /// idle, running, login, waiting for a connection …
    pub state: String,
    /// Seconds in this state.
    pub seconds: u64,
    pub in_transaction: bool,
    /// Why the session holds its server connection, in words; empty when it holds none.
    pub pinned: String,
    pub server: Option<String>,
    pub turns: u64,
    /// Version and cipher of the client's TLS; None without.
    pub tls: Option<String>,
}

/// One row of SHOW POOLS: one worker's connections of one account to one server.
#[derive(Debug, Clone)]
pub struct PoolInfo {
    pub worker: usize,
    pub server: String,
    pub user: String,
    pub idle: usize,
    pub leased: usize,
    pub connecting: usize,
    pub waiting: usize,
    /// Leases whose connection fitted without any statement, and those that needed some.
    pub fitted: u64,
    pub synced: u64,
}

/// Turn latencies: 1 µs to an hour, three significant digits; recorded saturating.
pub fn latency_histogram() -> hdrhistogram::Histogram<u64> {
    const HOUR_MICROS: u64 = 3_600_000_000;
    hdrhistogram::Histogram::new_with_bounds(1, HOUR_MICROS, 3)
        .expect("constant bounds: low ≥ 1, high ≥ 2 × low, at most 5 digits")
}
