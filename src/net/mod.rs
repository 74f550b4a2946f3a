//! Sockets, the ring, buffers and deadlines of one worker.
//!
//! The executor runs the driver, and the driver the tasks; sockets go through one io_uring per worker, in a thread-local that
//! [`start`] makes and [`drive`] works. One pass of the driver: what tasks have queued is submitted (the
//! buffers of one socket as one message), one enter sends it and waits for what comes, the completions'
//! bytes and ends are handed to their sockets, tasks are woken and run.
//! When nothing is runnable the worker sleeps in that enter; other threads wake it through [`Wake`].
//! Nothing on a worker may wait for anything else (the executor's own timers, channels and files):
//! it would not be woken.
//!
//! Receiving is a multishot operation into buffers that the kernel picks when bytes are there, so an
//! idle connection holds none. A consumer that stops taking stops the reading from that peer alone.
//!
//! | file | what |
//! |---|---|
//! | `socket`, `listen`, `connect` | what tasks use |
//! | `driver`, `recv`, `send`, `prompt` | the pass, and the two directions of a connection |
//! | `splice`, `pipe` | long packets from one connection to another inside the kernel |
//! | `tls` | encryption between the two directions and the queues |
//! | `compression` | the compressed protocol, between the queues and the tasks |
//! | `slot`, `queue`, `life` | the state of a connection, from its first day to its last |
//! | `ring`, `error` | io_uring, and why it cannot be had |
//! | `buf`, `pool` | counted slices, and the receive buffers |
//! | `timers`, `clock`, `task`, `wake` | deadlines, time, tasks, other threads |
//! | `pooled` | futures whose memory is used again |
//! | `heap`, `memory` | what is in use, by whom, and what happens when it is much |
mod buf;
mod clock;
mod compression;
mod connect;
mod driver;
mod error;
mod heap;
mod life;
mod listen;
pub mod memory;
mod options;
mod pipe;
mod pool;
mod pooled;
mod prompt;
mod queue;
mod recv;
mod ring;
mod send;
mod slot;
mod socket;
mod splice;
mod task;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod timers;
mod tls;
mod wake;

pub use buf::Buf;
pub use clock::{monotonic_nanos, now};
pub use connect::connect;
pub use error::{StartError, LEAST_KERNEL};
pub use heap::{allocator, give_back, keep_little, Allocator, Heap};
pub use listen::{listen, Listener};
pub use memory::{Held, Kept};
pub use pooled::{pooled, Pooled};
pub use socket::{Aborter, Socket};
pub use splice::{Side, Splice};
pub use task::{drive, finish, sleep_until, spawn, stop, yield_now};
pub use tls::TlsInfo;
pub use wake::{attach_wake, woken, Wake};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What the network of one worker is started with.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// A peer that takes no byte although some are queued for it fails after this.
    pub write_timeout: Duration,
    /// Without anything to do the worker looks for something this long before it sleeps.
    pub busy_poll: Duration,
    /// Received bytes of one socket that nobody takes, above which its peer is no longer read.
    pub high_water: usize,
    /// TCP: a silent connection is probed after this, this often, this many times.
    pub keepalive_idle: Duration,
    pub keepalive_interval: Duration,
    pub keepalive_count: u32,
    /// TCP: sent bytes that stay unacknowledged end the connection after this.
    pub tcp_user_timeout: Duration,
    /// Receive buffers for everyone: how many (a power of two), of how many bytes.
    pub small_buffers: u16,
    pub small_size: usize,
    /// Receive buffers for connections with much to receive, made when first needed; 0: none.
    pub bulk_buffers: u16,
    pub bulk_size: usize,
    /// Large buffers that the kernel may fill in one pass, for each connection that uses them: few, so that
    /// what is received is sent on while it is in the CPU's cache, and so that little is held.
    pub bulk_window: u16,
    /// Submission and completion entries of the ring.
    pub ring_entries: u32,
    pub ring_completions: u32,
    /// Completions dealt with before the tasks run.
    pub batch: usize,
}

impl Default for NetConfig {
    fn default() -> NetConfig {
        NetConfig {
            write_timeout: Duration::from_secs(60),
            busy_poll: Duration::ZERO,
            high_water: 256 << 10,
            keepalive_idle: Duration::from_secs(60),
            keepalive_interval: Duration::from_secs(10),
            keepalive_count: 6,
            tcp_user_timeout: Duration::from_secs(120),
            small_buffers: 512,
            small_size: 4 << 10,
            bulk_buffers: 256,
            bulk_size: 32 << 10,
            bulk_window: 4,
            ring_entries: 1024,
            ring_completions: 8192,
            batch: 512,
        }
    }
}

/// Starts the network of this thread, once per thread, before anything else here is used.
///
/// # Errors
/// A ring that cannot be had, with the cause and what to change.
pub fn start(config: NetConfig) -> Result<(), StartError> {
    driver::install(config)
}

/// Changes what of [`NetConfig`] may change while the worker runs; see there.
pub fn tune(write_timeout: Duration, busy_poll: Duration) {
    driver::with(|driver| {
        driver.write_timeout = clock::nanos(write_timeout);
        driver.busy_poll = clock::nanos(busy_poll);
    });
}

/// Whether a ring can be had here at all: for a clear error at start-up, before an executor is made (whose own
/// rings need less, but whose errors say less).
///
/// # Errors
/// As [`start`].
pub fn probe() -> Result<(), StartError> {
    ring::Ring::new(8, 16).map(drop)
}

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    Tcp(SocketAddr),
    Unix,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// Counts since [`start`], of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetStats {
    /// System calls into the ring, and completions it returned.
    pub enters: u64,
    pub events: u64,
    /// Sends that were submitted to be done at once, and those that may take their time.
    pub prompt_sends: u64,
    pub ring_sends: u64,
    /// Calls of splice(2).
    pub splices: u64,
    /// Connections accepted, and accepts that failed for want of descriptors or memory.
    pub accepted: u64,
    pub accept_errors: u64,
    /// Receives stopped at the high-water mark.
    pub pauses: u64,
    /// Receives copied to the heap because receive buffers ran low.
    pub spills: u64,
    /// Receives that found no buffer and had to be repeated.
    pub starved: u64,
    /// Times that the worker's memory rose above its high-water mark.
    pub pressed: u64,
}

/// What this worker's network has counted so far.
pub fn stats() -> NetStats {
    driver::with(|driver| driver.stats)
}

/// Gives memory back that was needed for a while and no longer is. To be called about once a second.
pub fn tidy() {
    pool::tidy(pool::BULK);
    driver::with(|driver| driver.pipes.tidy());
}

/// What is open, to find what leaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// Including dropped ones whose last completion is still to come.
    pub sockets: usize,
    pub listeners: usize,
    /// Receive buffers that are held.
    pub buffers: usize,
    pub timers: usize,
}

pub fn census() -> Census {
    driver::with(|driver| driver.census())
}
