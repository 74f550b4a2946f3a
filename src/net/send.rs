//! The send side: buffers queue up and go out once a pass, several as one message. At most one send
//! of a socket is in flight; its buffers stay in the queue until it is known how much the kernel took.
//!
//! A small send is *prompt*: the kernel must take all of it while it is submitted, or report how much it
//! took. Silence means success, so that the usual send costs no completion, no second pass and no system
//! call of its own: it travels with the enter that waits for what comes next.
use super::buf::Buf;
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::slot::{Gather, Slot, GATHER};
use super::timers::{Nanos, NEVER};
use super::tls::Layer;
use super::Peer;
use io_uring::{opcode, squeue, types};
use std::io;
use std::os::fd::RawFd;
use std::task::{Poll, Waker};

/// Up to this many bytes a send is prompt: what a socket's buffer usually has room for.
const PROMPT_BYTES: usize = 64 << 10;
/// Over TCP a send that finds no room ends when all of it is taken: the kernel goes on by itself, instead of a
/// completion and another send for each part. What was taken meanwhile shows in what the peer acknowledged.
const PATIENT: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
pub(super) const PROMPT: i32 = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;

/// A stalled send is looked at this often within the write timeout.
const STALL_CHECKS: u64 = 4;

impl Driver {
    pub(super) fn send(&mut self, index: u32, buf: Buf) {
        let slot = &mut self.slots[index as usize];
        let broken = |tls: &Layer| tls.is_broken();
        if buf.is_empty() || slot.error != 0 || slot.tls.as_deref().is_some_and(broken) {
            return;
        }
        if slot.queued == 0 {
            slot.progress = self.now;
        }
        let length = buf.len();
        match &mut slot.tls {
            None => slot.queue.push_back(buf),
            Some(tls) if tls.is_established() => tls.outgoing.push_back(buf),
            // it would have to wait for a handshake that may never end
            Some(_) => return self.fail(index, libc::ENOTCONN),
        }
        slot.queued += length;
        self.mark_dirty(index);
    }

    /// What is queued goes out with this pass, or when the send that is under way is over.
    #[inline]
    pub(super) fn mark_dirty(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if !slot.dirty && !slot.sending {
            slot.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Sends everything queued since the last pass, with the enter that follows: small sends in the order in
    /// which they were queued, then the large ones, which would keep them waiting.
    pub(super) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|&index| {
            let large = self.slots[index as usize].queued > PROMPT_BYTES;
            if !large {
                self.begin_send(index);
            }
            large
        });
        for index in dirty.drain(..) {
            self.begin_send(index);
        }
        self.dirty = dirty;
    }

    fn begin_send(&mut self, index: u32) {
        if std::mem::take(&mut self.slots[index as usize].dirty) {
            self.start_send(index, true);
        }
    }

    /// `first`: nothing of the queue was tried before.
    fn start_send(&mut self, index: u32, first: bool) {
        self.seal(index);
        let slot = &mut self.slots[index as usize];
        let Some(fd) = slot.raw_fd() else { return };
        if !may_send(slot) {
            return;
        }
        let prompt = first && self.prompt_works && may_be_prompt(slot);
        let flags = match slot.peer {
            _ if prompt => PROMPT,
            Peer::Tcp(_) => PATIENT,
            Peer::Unix => libc::MSG_NOSIGNAL,
        };
        let entry = if slot.queue.is_long() {
            let mut gather = self.gathers.pop().unwrap_or_else(Gather::new);
            let message = gather.fill(&slot.queue);
            slot.gather = Some(gather);
            opcode::SendMsg::new(types::Fd(fd), message)
                .flags(flags as u32)
                .build()
        } else {
            let Some(buf) = slot.queue.first() else {
                return;
            };
            let length = u32::try_from(buf.len()).unwrap_or(u32::MAX);
            opcode::Send::new(types::Fd(fd), buf.as_ptr(), length)
                .flags(flags)
                .build()
        };
        let entry = entry.user_data(user_data(Op::Send, slot.generation, index));
        slot.sending = true;
        if prompt {
            slot.prompt = slot.queued as u32;
            self.prompt.push(index);
            self.ring.push(entry.flags(squeue::Flags::SKIP_SUCCESS));
            self.stats.prompt_sends += 1;
            return;
        }
        let due = slot
            .progress
            .saturating_add(self.write_timeout / STALL_CHECKS);
        self.ring.push(entry);
        self.stats.ring_sends += 1;
        self.schedule(index, due);
    }

    /// Prompt sends that were submitted and of which no completion came are done. To be called when all
    /// completions of the enter have been dealt with.
    pub(super) fn finish_prompt(&mut self) {
        let mut prompt = std::mem::take(&mut self.prompt);
        for index in prompt.drain(..) {
            let taken = self.slots[index as usize].prompt;
            if taken > 0 {
                self.on_send(index, taken as i32);
                self.settle(index);
            }
        }
        self.prompt = prompt;
    }

    pub(super) fn on_send(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        slot.sending = false;
        let prompt = std::mem::take(&mut slot.prompt) > 0;
        if let Some(gather) = slot.gather.take() {
            self.gathers.push(gather);
        }
        if slot.error != 0 || slot.released {
            slot.clear_queue();
            return;
        }
        match result {
            0.. => self.on_taken(index, result as usize),
            // not taken now: the next send waits until there is room
            _ if matches!(-result, libc::EAGAIN | libc::EINTR | libc::ECANCELED) => {}
            _ if prompt && matches!(-result, libc::ENOBUFS | libc::ENOMEM) => {}
            _ => self.fail(index, -result),
        }
        self.start_send(index, false);
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

    /// Whether the peer has taken no byte for the write timeout. A send ends when all of it is taken, and the
    /// kernel reports room only once a third of its send buffer is free, so a slow peer's progress shows in the
    /// bytes that it has acknowledged.
    pub(super) fn is_stalled(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        if (slot.queued == 0 && !slot.piped) || slot.error != 0 {
            return false;
        }
        let taken = match (slot.raw_fd(), &slot.peer) {
            (Some(fd), Peer::Tcp(_)) => acknowledged(fd),
            (Some(fd), Peer::Unix) => unread(fd),
            (None, _) => 0,
        };
        if std::mem::replace(&mut slot.taken_before, taken) != taken {
            slot.progress = self.now;
        }
        slot.progress.saturating_add(self.write_timeout) <= self.now
    }

    /// When a send that is under way should be looked at; NEVER: there is none.
    pub(super) fn next_stall_check(&self, index: u32) -> Nanos {
        let slot = &self.slots[index as usize];
        if (slot.queued == 0 && !slot.piped) || slot.error != 0 {
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

/// Small, all of it in one message, and nobody waits for its end: the worker may sleep when it is done.
fn may_be_prompt(slot: &Slot) -> bool {
    slot.queued <= PROMPT_BYTES && slot.queue.len() <= GATHER && slot.drain_waker.is_none()
}

/// Bytes that a TCP peer's system has acknowledged since the connection began.
fn acknowledged(fd: RawFd) -> u64 {
    /// `tcpi_bytes_acked` of linux/tcp.h's `struct tcp_info` (Linux 4.1), which grows at its end only.
    const BYTES_ACKED: usize = 120;
    let mut info = [0u64; BYTES_ACKED / 8 + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes of integers.
    unsafe {
        let place = info.as_mut_ptr().cast();
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, place, &mut length)
    };
    info[BYTES_ACKED / 8]
}

/// Sent bytes that the peer at the other end of a Unix socket has not read yet.
fn unread(fd: RawFd) -> u64 {
    let mut bytes = 0;
    // SAFETY: the descriptor is open and the kernel writes one int.
    unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &mut bytes) };
    u64::try_from(bytes).unwrap_or(0)
}
