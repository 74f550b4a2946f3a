//! What the driver knows of one connection.
use super::compression;
use super::memory::KEPT;
use super::queue::Queue;
use super::timers::{Nanos, TimerId, NEVER};
use super::tls::Layer;
use super::Peer;
use socket2::SockAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::task::Waker;

/// One connection, from its descriptor's arrival until the last completion of its operations has
/// been reaped; then the place is free for another, with the next generation.
///
/// ```text
/// connecting ──▶ open ──▶ lingering ──▶ released ──▶ free
///      │           └────── drop ──────────▲
///      └────────────────── drop ──────────┘
/// ```
pub(super) struct Slot {
    pub(super) generation: u32,
    /// None: the place is free.
    pub(super) fd: Option<OwnedFd>,
    pub(super) peer: Peer,

    pub(super) received: Queue,
    pub(super) received_bytes: usize,
    pub(super) high_water: usize,
    pub(super) recv_waker: Option<Waker>,
    pub(super) hangup_waker: Option<Waker>,
    /// For the receive side, and for the whole of a connect and of a linger.
    pub(super) deadline: Nanos,

    pub(super) queue: Queue,
    pub(super) queued: usize,
    /// The drain waiter wants to know once no more than this is queued.
    pub(super) drain_limit: usize,
    pub(super) drain_waker: Option<Waker>,
    /// When the kernel last took a byte, or the queue began to fill.
    pub(super) progress: Nanos,
    /// When the peer ended.
    pub(super) ended_at: Nanos,
    /// What showed the peer's progress when it was last looked at.
    pub(super) taken_before: u64,
    /// The message of the send that is in flight, if it gathers several buffers.
    pub(super) gather: Option<Box<Gather>>,
    /// Bytes of the prompt send that was submitted and whose fate is not known yet; 0: none.
    pub(super) prompt: u32,
    /// The connection is encrypted, or about to be.
    pub(super) tls: Option<Box<Layer>>,
    /// Both directions are compressed.
    pub(super) compression: Option<Box<compression::Layer>>,

    pub(super) timer: Option<TimerId>,
    pub(super) timer_due: Nanos,
    /// Where a connect in flight goes to.
    pub(super) address: Option<Box<SockAddr>>,
    /// errno that ended the connection; 0: none.
    pub(super) error: i32,
    /// Bytes that the owner keeps for the peer, by [`super::Kept`].
    pub(super) kept: [u32; KEPT],
    /// Full small buffers in a row, or in bulk mode poorly filled large ones.
    pub(super) streak: u8,

    /// In flight: the multishot receive, the send, the connect, the poll for a hang-up, the one for a splice.
    pub(super) receiving: bool,
    pub(super) sending: bool,
    pub(super) connecting: bool,
    pub(super) polling: bool,
    pub(super) awaiting: bool,
    /// A cancel of the receive is on its way.
    pub(super) cancelling: bool,
    /// Over the high-water mark: the receive stays off until enough was taken.
    pub(super) paused: bool,
    /// A splice reads it: the receive stays off until that is over.
    pub(super) spliced: bool,
    /// From how many received bytes on the kernel calls it readable.
    pub(super) enough: i32,
    /// Bytes for it wait in a splice's pipe.
    pub(super) piped: bool,
    /// Receives into large buffers.
    pub(super) bulk: bool,
    /// In the driver's list of sockets to flush.
    pub(super) dirty: bool,
    /// The peer will send no more.
    pub(super) ended: bool,
    /// The poll saw the peer go although received bytes are unread.
    pub(super) hung_up: bool,
    /// Nobody holds the socket any more.
    pub(super) released: bool,
    /// Held by nobody, but still reading until the peer closes.
    pub(super) lingering: bool,
}

impl Slot {
    pub(super) fn vacant(generation: u32) -> Slot {
        Slot {
            generation,
            fd: None,
            peer: Peer::Unix,
            received: Queue::default(),
            received_bytes: 0,
            high_water: 0,
            recv_waker: None,
            hangup_waker: None,
            deadline: NEVER,
            queue: Queue::default(),
            queued: 0,
            drain_limit: 0,
            drain_waker: None,
            progress: 0,
            ended_at: 0,
            taken_before: 0,
            gather: None,
            prompt: 0,
            tls: None,
            compression: None,
            timer: None,
            timer_due: NEVER,
            address: None,
            error: 0,
            kept: [0; KEPT],
            streak: 0,
            receiving: false,
            sending: false,
            connecting: false,
            polling: false,
            awaiting: false,
            cancelling: false,
            paused: false,
            spliced: false,
            enough: 1,
            piped: false,
            bulk: false,
            dirty: false,
            ended: false,
            hung_up: false,
            released: false,
            lingering: false,
        }
    }

    pub(super) fn raw_fd(&self) -> Option<RawFd> {
        self.fd.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// An operation whose last completion is still to come.
    pub(super) fn in_flight(&self) -> bool {
        self.receiving || self.sending || self.connecting || self.polling || self.awaiting
    }

    /// The peer is gone, or the connection failed.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.hung_up || self.error != 0
    }

    /// Nothing more will be received, although the connection may still stand.
    pub(super) fn is_silent(&self) -> bool {
        self.is_over() || self.tls.as_ref().is_some_and(|tls| tls.is_over())
    }

    /// Gives up what is queued for sending.
    pub(super) fn clear_queue(&mut self) {
        self.queue.clear();
        self.queued = 0;
        if let Some(tls) = &mut self.tls {
            tls.clear();
        }
    }

    pub(super) fn invariants(&self) {
        debug_assert!(self.received.is_empty() == (self.received_bytes == 0));
        let nothing = |tls: &Layer| tls.outgoing.is_empty();
        let empty = self.queue.is_empty() && self.tls.as_deref().is_none_or(nothing);
        debug_assert!(empty == (self.queued == 0));
        debug_assert!(self.gather.is_none() || self.sending);
        debug_assert!(self.prompt == 0 || self.sending);
        debug_assert!(!self.lingering || self.released);
    }
}

/// Most buffers of one gathered send.
pub(super) const GATHER: usize = 64;

/// Storage of one sendmsg, reused through the driver's pool.
pub(super) struct Gather {
    header: libc::msghdr,
    parts: [libc::iovec; GATHER],
}

impl Gather {
    pub(super) fn new() -> Box<Gather> {
        // SAFETY: msghdr and iovec are plain C structures for which all zeroes is a valid value.
        Box::new(unsafe { std::mem::zeroed() })
    }

    /// Points the message at the queue's first buffers; the queue must keep them until the send is
    /// over. The box gives the message its stable address.
    pub(super) fn fill(self: &mut Box<Gather>, queue: &Queue) -> *const libc::msghdr {
        let mut count = 0;
        for (part, buf) in self.parts.iter_mut().zip(queue.iter()) {
            *part = libc::iovec {
                iov_base: buf.as_ptr().cast_mut().cast(),
                iov_len: buf.len(),
            };
            count += 1;
        }
        self.header.msg_iov = self.parts.as_mut_ptr();
        self.header.msg_iovlen = count;
        &self.header
    }
}
