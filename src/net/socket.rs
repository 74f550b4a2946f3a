//! [`Socket`]: what a task holds of a connection.
use super::buf::Buf;
use super::driver::{self, Driver};
use super::slot::Slot;
use super::timers::NEVER;
use super::{clock, options, Peer};
use std::future::poll_fn;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Instant;

/// After a graceful close the peer may take this long to close its end, nanoseconds.
const LINGER: u64 = 1_000_000_000;

/// One connected stream socket, owned by a task of this worker. Dropping it closes it (what is
/// queued for sending and not yet sent is given up; use `close` for a graceful end).
///
/// The receive side, the drained side and the hang-up may each be awaited by one task.
pub struct Socket {
    index: u32,
    not_send: PhantomData<*const ()>,
}

/// Ends a connection of this worker that another task owns: its waits fail with ConnectionAborted. Does
/// nothing once the socket is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborter {
    index: u32,
    generation: u32,
    not_send: PhantomData<*const ()>,
}

impl Aborter {
    /// Of no socket.
    #[cfg(test)]
    pub const NONE: Aborter = Aborter {
        index: u32::MAX,
        generation: 0,
        not_send: PhantomData,
    };

    pub fn abort(self) {
        driver::try_with(|driver| {
            if self.slot(driver).is_some() {
                driver.fail(self.index, libc::ECONNABORTED);
                driver.shut_down(self.index, libc::SHUT_RDWR);
            }
        });
    }

    pub(super) fn index(self) -> u32 {
        self.index
    }

    /// None: the socket is gone.
    pub(super) fn slot(self, driver: &Driver) -> Option<&Slot> {
        let slot = driver.slots.get(self.index as usize)?;
        (slot.generation == self.generation && !slot.released).then_some(slot)
    }
}

impl Socket {
    /// Takes over a connected stream socket: one that a [`Listener`](super::Listener) accepted, of
    /// this worker or of another.
    ///
    /// # Errors
    /// The peer is gone already, or an option cannot be set.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Socket> {
        let peer = options::peer_of(&fd)?;
        driver::with(|driver| {
            options::prepare(&fd, &peer, &driver.config)?;
            let index = driver.insert(fd, peer);
            driver.arm_recv(index);
            Ok(Socket::of_slot(index))
        })
    }

    pub(super) fn of_slot(index: u32) -> Socket {
        Socket {
            index,
            not_send: PhantomData,
        }
    }

    /// For ending the connection from outside the task that owns it.
    pub fn aborter(&self) -> Aborter {
        let generation = driver::with(|driver| driver.slots[self.index as usize].generation);
        Aborter {
            index: self.index,
            generation,
            not_send: PhantomData,
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// The next received chunk; `Ok(None)`: the peer ended.
    ///
    /// # Errors
    /// TimedOut when the read deadline is over (the socket stays usable); what the kernel reported
    /// when the connection failed. Received bytes come before either.
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Buf>>> {
        driver::with(|driver| driver.poll_plain(self.index, cx.waker()))
    }

    pub async fn recv(&self) -> io::Result<Option<Buf>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Without waiting: a chunk that is already here.
    pub fn try_recv(&self) -> Option<Buf> {
        driver::with(|driver| driver.take_plain(self.index))
    }

    /// Puts bytes back in front of what was received.
    pub fn unread(&self, buf: Buf) {
        driver::with(|driver| driver.unread_plain(self.index, buf));
    }

    /// Queues; sent in order with the other queued buffers by the end of this pass. Never blocks; errors
    /// surface at the next poll.
    pub fn send(&self, buf: Buf) {
        driver::with(|driver| driver.send_plain(self.index, buf));
    }

    /// Bytes queued and not yet taken by the kernel.
    pub fn queued(&self) -> usize {
        driver::with(|driver| driver.slots[self.index as usize].queued)
    }

    /// Ready once at most `limit` bytes are queued.
    ///
    /// # Errors
    /// TimedOut when no byte was taken for the write timeout; what the kernel reported when the
    /// connection failed.
    pub fn poll_drained(&self, cx: &mut Context<'_>, limit: usize) -> Poll<io::Result<()>> {
        driver::with(|driver| driver.poll_drained(self.index, limit, cx.waker()))
    }

    pub async fn drained(&self, limit: usize) -> io::Result<()> {
        poll_fn(|cx| self.poll_drained(cx, limit)).await
    }

    /// For the receive side; None: no deadline. Cheap enough to call every turn.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        let due = deadline.map_or(NEVER, clock::nanos_of);
        driver::with(|driver| {
            driver.slots[self.index as usize].deadline = due;
            driver.schedule(self.index, due);
        });
    }

    /// Received bytes that nobody takes stop the reading from the peer above this many, until half
    /// of it is left. Default: the configuration's `high_water`.
    pub fn set_high_water(&self, bytes: usize) {
        driver::with(|driver| driver.slots[self.index as usize].high_water = bytes);
    }

    /// Ready once the peer has closed or the connection failed, even while received bytes are
    /// unread.
    pub fn poll_hangup(&self, cx: &mut Context<'_>) -> Poll<()> {
        driver::with(|driver| driver.poll_hangup(self.index, cx.waker()))
    }

    /// As [`Socket::poll_hangup`], for a peer that may end its direction and still wait for an answer: it is gone when the
    /// connection fails, or seconds after it ended.
    pub fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        driver::with(|driver| driver.poll_gone(self.index, cx.waker()))
    }

    pub async fn hangup(&self) {
        poll_fn(|cx| self.poll_hangup(cx)).await;
    }

    /// The peer ended or failed, or has sent bytes that nobody asked for: not usable for a pool.
    pub fn is_stale(&self) -> bool {
        driver::with(|driver| {
            let slot = &driver.slots[self.index as usize];
            let layer = slot.compression.as_ref();
            slot.is_silent()
                || !slot.received.is_empty()
                || layer.is_some_and(|layer| layer.has_received())
        })
    }

    /// Flushes within the write timeout, then closes. The peer gets a moment to read everything
    /// and to close its end (closing while it still sends would reset the connection and could
    /// lose the last bytes on their way to it); nobody waits for that.
    pub async fn close(self) {
        driver::with(|driver| driver.seal_end(self.index));
        if self.drained(0).await.is_ok() {
            driver::with(|driver| driver.linger(self.index));
            std::mem::forget(self);
        }
    }

    /// Who is behind the other end, where that is a balancer that has told it.
    pub fn name_peer(&self, address: SocketAddr) {
        driver::with(|driver| driver.slots[self.index as usize].peer = Peer::Tcp(address));
    }

    pub fn peer(&self) -> Peer {
        driver::with(|driver| driver.slots[self.index as usize].peer.clone())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        driver::try_with(|driver| driver.release(self.index));
    }
}

impl Driver {
    fn linger(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.is_over() {
            self.release(index);
            return;
        }
        slot.released = true;
        slot.lingering = true;
        slot.received.clear();
        slot.received_bytes = 0;
        slot.paused = false;
        slot.recv_waker = None;
        slot.drain_waker = None;
        slot.hangup_waker = None;
        slot.deadline = self.now.saturating_add(LINGER);
        let due = slot.deadline;
        self.shut_down(index, libc::SHUT_WR);
        self.arm_recv(index);
        self.schedule(index, due);
    }
}
