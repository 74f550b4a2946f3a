//! The send side: buffers queue up and go out once a pass, several as one message. At most one send
//! of a socket is in flight; its buffers stay in the queue until the kernel says how much it took.
use super::buf::Buf;
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::slot::{Gather, Slot};
use super::timers::{Nanos, NEVER};
use io_uring::{opcode, types};
use std::io;
use std::os::fd::RawFd;
use std::task::{Poll, Waker};

/// Up to this many bytes a lone send goes out by a direct system call.
const DIRECT_BYTES: usize = 64 << 10;
/// Up to this many buffers, too.
const DIRECT_PARTS: usize = 8;

/// A stalled send is looked at this often within the write timeout.
const STALL_CHECKS: u64 = 4;

impl Driver {
    pub(super) fn send(&mut self, index: u32, buf: Buf) {
        let slot = &mut self.slots[index as usize];
        if buf.is_empty() || slot.error != 0 {
            return;
        }
        if slot.queued == 0 {
            slot.progress = self.now;
        }
        slot.queued += buf.len();
        slot.queue.push_back(buf);
        if !slot.dirty && !slot.sending {
            slot.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Sends everything queued since the last pass. A lone small send goes out directly: that saves
    /// its completion. Several go through the ring, with the enter that follows anyway.
    pub(super) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        if let [index] = dirty[..] {
            if self.is_direct(index) {
                self.send_directly(index);
            }
        }
        for index in dirty.drain(..) {
            if std::mem::take(&mut self.slots[index as usize].dirty) {
                self.start_send(index);
            }
        }
        self.dirty = dirty;
    }

    fn is_direct(&self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        slot.dirty && may_send(slot) && slot.queued <= DIRECT_BYTES
    }

    fn send_directly(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let Some(fd) = slot.raw_fd() else { return };
        self.stats.direct_sends += 1;
        match send_now(fd, slot) {
            Ok(taken) => self.on_taken(index, taken),
            // the ring's send waits until there is room
            Err(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM) => {}
            Err(errno) => self.fail(index, errno),
        }
    }

    fn start_send(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(fd) = slot.raw_fd() else { return };
        if !may_send(slot) {
            return;
        }
        let Some(first) = slot.queue.first() else {
            return;
        };
        let entry = if slot.queue.is_long() {
            let mut gather = self.gathers.pop().unwrap_or_else(Gather::new);
            let message = gather.fill(&slot.queue);
            slot.gather = Some(gather);
            opcode::SendMsg::new(types::Fd(fd), message)
                .flags(libc::MSG_NOSIGNAL as u32)
                .build()
        } else {
            let length = u32::try_from(first.len()).unwrap_or(u32::MAX);
            opcode::Send::new(types::Fd(fd), first.as_ptr(), length)
                .flags(libc::MSG_NOSIGNAL)
                .build()
        };
        slot.sending = true;
        let due = slot
            .progress
            .saturating_add(self.write_timeout / STALL_CHECKS);
        self.ring
            .push(entry.user_data(user_data(Op::Send, slot.generation, index)));
        self.stats.ring_sends += 1;
        self.schedule(index, due);
    }

    pub(super) fn on_send(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        slot.sending = false;
        self.gathers.extend(slot.gather.take());
        if slot.error != 0 || slot.released {
            slot.queue.clear();
            slot.queued = 0;
            return;
        }
        match result {
            0.. => self.on_taken(index, result as usize),
            _ if matches!(-result, libc::EAGAIN | libc::EINTR | libc::ECANCELED) => {}
            _ => self.fail(index, -result),
        }
        self.start_send(index);
    }

    fn on_taken(&mut self, index: u32, taken: usize) {
        let slot = &mut self.slots[index as usize];
        if taken > 0 {
            slot.progress = self.now;
        }
        slot.queue.consume(taken);
        slot.queued = slot.queued.saturating_sub(taken);
        if slot.queued <= slot.drain_limit {
            wake(&mut slot.drain_waker, &mut self.woken);
        }
    }

    /// Whether the peer has taken no byte for the write timeout. The kernel reports room only once a
    /// third of its send buffer is free, so a slow peer's progress shows in the bytes that it has
    /// not acknowledged.
    pub(super) fn is_stalled(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        if slot.queued == 0 || slot.error != 0 {
            return false;
        }
        let unacknowledged = slot.raw_fd().map_or(0, unacknowledged);
        if std::mem::replace(&mut slot.unacknowledged, unacknowledged) != unacknowledged {
            slot.progress = self.now;
        }
        slot.progress.saturating_add(self.write_timeout) <= self.now
    }

    /// When a send that is under way should be looked at; NEVER: there is none.
    pub(super) fn next_stall_check(&self, index: u32) -> Nanos {
        let slot = &self.slots[index as usize];
        if slot.queued == 0 || slot.error != 0 {
            return NEVER;
        }
        let end = slot.progress.saturating_add(self.write_timeout);
        end.min(self.now.saturating_add(self.write_timeout / STALL_CHECKS))
    }

    pub(super) fn poll_drained(
        &mut self,
        index: u32,
        limit: usize,
        waker: &Waker,
    ) -> Poll<io::Result<()>> {
        let slot = &mut self.slots[index as usize];
        if slot.error != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(slot.error)));
        }
        if slot.queued <= limit {
            return Poll::Ready(Ok(()));
        }
        slot.drain_limit = limit;
        note_waker(&mut slot.drain_waker, waker);
        Poll::Pending
    }
}

fn may_send(slot: &Slot) -> bool {
    !slot.sending && slot.error == 0 && !slot.released && !slot.queue.is_empty()
}

/// A send that does not block; Err: errno.
fn send_now(fd: RawFd, slot: &Slot) -> Result<usize, i32> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    let mut parts = [libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    }; DIRECT_PARTS];
    let mut count = 0;
    for (part, buf) in parts.iter_mut().zip(slot.queue.iter()) {
        *part = libc::iovec {
            iov_base: buf.as_ptr().cast_mut().cast(),
            iov_len: buf.len(),
        };
        count += 1;
    }
    let taken = if count == 1 {
        // SAFETY: the part is the queue's first buffer, which the slot holds during the call.
        unsafe { libc::send(fd, parts[0].iov_base, parts[0].iov_len, flags) }
    } else {
        // SAFETY: all zeroes is a valid msghdr; the parts are buffers that the slot holds during
        // the call, and sendmsg only reads them.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = count;
            libc::sendmsg(fd, &message, flags)
        }
    };
    usize::try_from(taken).map_err(|_| {
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)
    })
}

/// Sent bytes that the peer's system (TCP) or the peer (Unix) has not taken yet.
fn unacknowledged(fd: RawFd) -> i32 {
    let mut bytes = 0;
    // SAFETY: the descriptor is open and the kernel writes one int.
    unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &mut bytes) };
    bytes
}
