//! The receive side: one multishot receive per connection, paused above the high-water mark, moved
//! to large buffers while much comes in.
use super::buf::Buf;
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::pool;
use io_uring::{cqueue, opcode, types};
use std::io;
use std::task::{Poll, Waker};

/// Full small buffers in a row after which a connection gets large ones.
const BULK_AFTER: u8 = 4;
/// A peer that has closed and one that has only ended its direction (`shutdown(SHUT_WR)`) look the same until something
/// is sent. Nanoseconds.
const HALF_CLOSED: u64 = 5_000_000_000;
/// Receives in a row that a small buffer would have held after which it goes back.
const SMALL_AFTER: u8 = 8;

impl Driver {
    pub(super) fn arm_recv(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let wanted = !slot.paused
            && !slot.spliced
            && !slot.ended
            && slot.error == 0
            && (!slot.released || slot.lingering);
        if slot.receiving || slot.connecting || !wanted {
            return;
        }
        let Some(fd) = slot.raw_fd() else { return };
        slot.receiving = true;
        slot.cancelling = false;
        let group = if slot.bulk { pool::BULK } else { pool::SMALL };
        let entry = opcode::RecvMulti::new(types::Fd(fd), group).build();
        self.ring
            .push(entry.user_data(user_data(Op::Recv, slot.generation, index)));
    }

    pub(super) fn on_recv(&mut self, index: u32, result: i32, flags: u32) {
        let last = !cqueue::more(flags);
        if last {
            self.slots[index as usize].receiving = false;
        }
        let taken = cqueue::buffer_select(flags)
            .and_then(|bid| pool::receive(bid, usize::try_from(result).unwrap_or(0)));
        match (result, taken) {
            (1.., Some((buf, spilled))) => {
                self.stats.spills += u64::from(spilled);
                self.deliver(index, buf);
            }
            (1.., None) => self.fail(index, libc::EIO),
            (0, _) => self.on_end(index),
            (error, _) => self.on_recv_error(index, -error),
        }
        if last {
            self.arm_recv(index);
            let slot = &mut self.slots[index as usize];
            if slot.spliced {
                wake(&mut slot.recv_waker, &mut self.woken);
            }
        }
    }

    fn deliver(&mut self, index: u32, buf: Buf) {
        let slot = &mut self.slots[index as usize];
        if slot.released {
            return;
        }
        let length = buf.len();
        if slot.tls.is_some() {
            self.open(index, buf);
        } else {
            slot.received_bytes += length;
            slot.received.push_back(buf);
            wake(&mut slot.recv_waker, &mut self.woken);
        }
        let slot = &self.slots[index as usize];
        if slot.received_bytes > self.most_waiting(slot.high_water) {
            self.pause(index);
        } else {
            self.choose_group(index, length);
        }
    }

    fn pause(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if !slot.paused {
            slot.paused = true;
            self.stats.pauses += 1;
            self.cancel_recv(index);
            self.watch_hangup(index);
        }
    }

    /// Counts towards the other group of buffers; a change needs the receive to be armed anew.
    fn choose_group(&mut self, index: u32, length: usize) {
        let slot = &mut self.slots[index as usize];
        let small = self.config.small_size;
        let (counts, enough) = if slot.bulk {
            (length <= small, SMALL_AFTER)
        } else {
            (length == small, BULK_AFTER)
        };
        slot.streak = if counts { slot.streak + 1 } else { 0 };
        if slot.streak < enough {
            return;
        }
        slot.streak = 0;
        if slot.bulk || self.has_bulk() {
            self.set_bulk(index, !self.slots[index as usize].bulk);
            self.cancel_recv(index);
        }
    }

    pub(super) fn set_bulk(&mut self, index: u32, bulk: bool) {
        let slot = &mut self.slots[index as usize];
        if std::mem::replace(&mut slot.bulk, bulk) == bulk {
            return;
        }
        if bulk {
            self.bulk_sockets += 1;
        } else {
            self.bulk_sockets -= 1;
        }
        let window = u32::from(self.config.bulk_window) * self.bulk_sockets.max(1);
        pool::set_window(pool::BULK, window);
    }

    /// The large buffers are made when first asked for.
    fn has_bulk(&mut self) -> bool {
        if self.config.bulk_buffers == 0 || pool::exists(pool::BULK) {
            return self.config.bulk_buffers != 0;
        }
        let (count, size) = (self.config.bulk_buffers, self.config.bulk_size);
        let window = self.config.bulk_window.clamp(1, count);
        if let Err(error) = pool::create(self.ring.uring(), pool::BULK, count, size, window) {
            tracing::warn!(%error, "no large receive buffers: going on with small ones");
            self.config.bulk_buffers = 0;
        }
        self.config.bulk_buffers != 0
    }

    pub(super) fn cancel_recv(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.receiving && !slot.cancelling {
            slot.cancelling = true;
            let target = user_data(Op::Recv, slot.generation, index);
            self.cancel(target);
        }
    }

    fn on_end(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.ended = true;
        slot.ended_at = self.now;
        wake(&mut slot.recv_waker, &mut self.woken);
        wake(&mut slot.hangup_waker, &mut self.woken);
        if slot.lingering {
            self.release(index);
        }
    }

    fn on_recv_error(&mut self, index: u32, errno: i32) {
        match errno {
            // our own cancel, or nothing that concerns the connection: armed anew if still wanted
            libc::ECANCELED | libc::EINTR | libc::EAGAIN => {}
            // armed anew too; the kernel gets new buffers before the same enter
            libc::ENOBUFS => {
                self.stats.starved += 1;
                // of large buffers there are few on purpose
                if !self.slots[index as usize].bulk {
                    pool::widen(pool::SMALL);
                }
            }
            _ => {
                self.fail(index, errno);
                if self.slots[index as usize].lingering {
                    self.release(index);
                }
            }
        }
    }

    pub(super) fn poll_recv(&mut self, index: u32, waker: &Waker) -> Poll<io::Result<Option<Buf>>> {
        if !self.is_held_back(index) {
            if let Some(buf) = self.take_received(index) {
                return Poll::Ready(Ok(Some(buf)));
            }
        }
        let slot = &mut self.slots[index as usize];
        if slot.error != 0 {
            Poll::Ready(Err(io::Error::from_raw_os_error(slot.error)))
        } else if let Some(end) = slot.tls.as_ref().and_then(|tls| tls.end()) {
            Poll::Ready(end)
        } else if slot.ended {
            Poll::Ready(Ok(None))
        } else if slot.deadline <= self.now {
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        } else if slot.spliced && !slot.receiving {
            self.read_directly(index, waker)
        } else {
            note_waker(&mut slot.recv_waker, waker);
            Poll::Pending
        }
    }

    pub(super) fn take_received(&mut self, index: u32) -> Option<Buf> {
        let slot = &mut self.slots[index as usize];
        let buf = slot.received.pop_front()?;
        slot.received_bytes -= buf.len();
        if slot.paused {
            self.resume_if_taken(index);
        }
        Some(buf)
    }

    /// Half of the high-water mark is free again: the peer is read on.
    pub(super) fn resume_if_taken(&mut self, index: u32) {
        let high_water = self.most_waiting(self.slots[index as usize].high_water);
        let slot = &mut self.slots[index as usize];
        if slot.paused && slot.received_bytes <= high_water / 2 {
            slot.paused = false;
            self.arm_recv(index);
        }
    }

    pub(super) fn unread(&mut self, index: u32, buf: Buf) {
        if !buf.is_empty() {
            let slot = &mut self.slots[index as usize];
            slot.received_bytes += buf.len();
            slot.received.push_front(buf);
        }
    }

    pub(super) fn poll_hangup(&mut self, index: u32, waker: &Waker) -> Poll<()> {
        let slot = &mut self.slots[index as usize];
        if slot.is_silent() {
            return Poll::Ready(());
        }
        note_waker(&mut slot.hangup_waker, waker);
        self.watch_hangup(index);
        Poll::Pending
    }

    /// As [`Driver::poll_hangup`], but a peer that has only ended may still read for [`HALF_CLOSED`].
    pub(super) fn poll_gone(&mut self, index: u32, waker: &Waker) -> Poll<()> {
        let slot = &mut self.slots[index as usize];
        let until = slot.ended_at.saturating_add(HALF_CLOSED);
        if slot.ended && slot.error == 0 && until > self.now {
            note_waker(&mut slot.hangup_waker, waker);
            self.schedule(index, until);
            return Poll::Pending;
        }
        self.poll_hangup(index, waker)
    }

    /// A paused receive cannot see the peer go: a poll does, if someone wants to know.
    fn watch_hangup(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(fd) = slot.raw_fd() else { return };
        if slot.paused && !slot.polling && slot.hangup_waker.is_some() {
            slot.polling = true;
            let entry = opcode::PollAdd::new(types::Fd(fd), libc::POLLRDHUP as u32).build();
            self.ring
                .push(entry.user_data(user_data(Op::Poll, slot.generation, index)));
        }
    }

    pub(super) fn on_poll(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        slot.polling = false;
        if result > 0 {
            slot.hung_up = true;
            wake(&mut slot.hangup_waker, &mut self.woken);
        }
    }
}
