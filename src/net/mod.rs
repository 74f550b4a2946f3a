//! Sockets, the ring, buffers and deadlines of one worker. INTERFACE STUB
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A slice of received or owned bytes; cheap to clone and split (reference-counted).
pub struct Buf(());
impl Clone for Buf { fn clone(&self) -> Self { unimplemented!() } }
impl Buf {
    pub fn from_vec(_v: Vec<u8>) -> Buf { unimplemented!() }
    pub fn from_static(_v: &'static [u8]) -> Buf { unimplemented!() }
    /// Splits off and returns the first `n` bytes.
    pub fn split_to(&mut self, _n: usize) -> Buf { unimplemented!() }
    pub fn advance(&mut self, _n: usize) { unimplemented!() }
    pub fn truncate(&mut self, _n: usize) { unimplemented!() }
    /// The bytes for patching in place: copies to the heap first if the storage is shared.
    pub fn make_mut(&mut self) -> &mut [u8] { unimplemented!() }
    /// Moves to the heap, so that no receive buffer is held (for bytes kept beyond a turn).
    pub fn detach(&mut self) { unimplemented!() }
}
impl std::ops::Deref for Buf { type Target = [u8]; fn deref(&self) -> &[u8] { unimplemented!() } }

/// One connected stream socket, owned by a task of this worker. Dropping it closes it (what is
/// queued for sending and not yet sent is given up; use `close` for a graceful end).
pub struct Socket(());
impl Socket {
    /// The next received chunk; `Ok(None)`: the peer ended. Errors: TimedOut when the read deadline is over.
    pub fn poll_recv(&self, _cx: &mut Context<'_>) -> Poll<io::Result<Option<Buf>>> { unimplemented!() }
    pub async fn recv(&self) -> io::Result<Option<Buf>> { unimplemented!() }
    /// Without waiting: a chunk that is already here.
    pub fn try_recv(&self) -> Option<Buf> { unimplemented!() }
    /// Puts bytes back in front of what was received.
    pub fn unread(&self, _b: Buf) { unimplemented!() }
    /// Queues; sent in order with the other queued buffers by the end of this pass. Never blocks; errors
    /// surface at the next poll.
    pub fn send(&self, _b: Buf) { unimplemented!() }
    /// Bytes queued and not yet taken by the kernel.
    pub fn queued(&self) -> usize { unimplemented!() }
    /// Ready once at most `limit` bytes are queued. Errors: TimedOut when no byte was taken for the write timeout.
    pub fn poll_drained(&self, _cx: &mut Context<'_>, _limit: usize) -> Poll<io::Result<()>> { unimplemented!() }
    pub async fn drained(&self, _limit: usize) -> io::Result<()> { unimplemented!() }
    /// For the receive side; None: no deadline. Cheap enough to call every turn.
    pub fn set_deadline(&self, _d: Option<Instant>) { unimplemented!() }
    pub fn poll_hangup(&self, _cx: &mut Context<'_>) -> Poll<()> { unimplemented!() }
    /// The peer ended or failed, or has sent bytes that nobody asked for: not usable for a pool.
    pub fn is_stale(&self) -> bool { unimplemented!() }
    /// Flushes within the write timeout, then closes.
    pub async fn close(self) { unimplemented!() }
    pub fn peer(&self) -> Peer { unimplemented!() }
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer { Tcp(SocketAddr), Unix }

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint { Tcp(SocketAddr), Unix(PathBuf) }
pub async fn connect(_to: &Endpoint, _timeout: Duration) -> io::Result<Socket> { unimplemented!() }

/// Time at the start of this pass of the driver (one clock_gettime a pass).
pub fn now() -> Instant { unimplemented!() }
/// CLOCK_MONOTONIC nanoseconds, read now.
pub fn monotonic_nanos() -> u64 { unimplemented!() }
/// Ends at `deadline` (resolution: a tick of the driver).
pub async fn sleep_until(_deadline: Instant) { unimplemented!() }
/// Spawns a task of this worker, counted so that the driver knows when to block.
pub fn spawn<F: std::future::Future<Output = ()> + 'static>(_f: F) { unimplemented!() }

/// Wakes the worker's ring from any thread (an eventfd).
#[derive(Clone)]
pub struct Wake(std::sync::Arc<OwnedFd>);
impl Wake {
    pub fn new() -> io::Result<Wake> { unimplemented!() }
    pub fn wake(&self) { unimplemented!() }
}
