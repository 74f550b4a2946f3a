//! A connection's life: its slot, its timer, its failure and its release.
use super::driver::{user_data, wake, Driver, Op, GENERATION_MASK};
use super::slot::Slot;
use super::timers::{Nanos, Owner, TimerId, NEVER};
use super::Peer;
use io_uring::{opcode, squeue};
use std::os::fd::OwnedFd;

impl Driver {
    /// Gives a descriptor a slot.
    pub(super) fn insert(&mut self, fd: OwnedFd, peer: Peer) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::vacant(0));
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.fd = Some(fd);
        slot.peer = peer;
        slot.high_water = self.config.high_water;
        index
    }

    /// Sees to it that the socket is looked at no later than `due`.
    pub(super) fn schedule(&mut self, index: u32, due: Nanos) {
        let slot = &mut self.slots[index as usize];
        if due >= slot.timer_due {
            return;
        }
        slot.timer_due = due;
        match slot.timer {
            Some(timer) => self.timers.bring_forward(timer, due),
            None => slot.timer = Some(self.timers.add(due, Owner::Socket(index))),
        }
    }

    pub(super) fn on_timer(&mut self, index: u32, id: TimerId) {
        let stalled = self.is_stalled(index);
        let slot = &mut self.slots[index as usize];
        debug_assert_eq!(slot.timer, Some(id));
        slot.timer = None;
        slot.timer_due = NEVER;
        let expired = slot.deadline <= self.now;
        if slot.lingering && expired {
            self.release(index);
            return;
        }
        if (slot.connecting && expired) || stalled {
            self.fail(index, libc::ETIMEDOUT);
            self.shut_down(index, libc::SHUT_RDWR);
        } else if expired {
            wake(&mut slot.recv_waker, &mut self.woken);
        }
        let slot = &mut self.slots[index as usize];
        if slot.ended {
            wake(&mut slot.hangup_waker, &mut self.woken);
        }
        let deadline = slot.deadline;
        let deadline = if deadline > self.now { deadline } else { NEVER };
        self.schedule(index, deadline.min(self.next_stall_check(index)));
    }

    /// The connection is over; waiters learn why. Buffers of a send in flight stay until it is over.
    pub(super) fn fail(&mut self, index: u32, errno: i32) {
        let slot = &mut self.slots[index as usize];
        if slot.error == 0 {
            slot.error = errno;
        }
        if !slot.sending {
            slot.clear_queue();
        }
        if slot.connecting {
            let target = user_data(Op::Connect, slot.generation, index);
            self.cancel(target);
        }
        self.wake_all(index);
    }

    pub(super) fn wake_all(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        wake(&mut slot.recv_waker, &mut self.woken);
        wake(&mut slot.drain_waker, &mut self.woken);
        wake(&mut slot.hangup_waker, &mut self.woken);
    }

    pub(super) fn shut_down(&self, index: u32, how: i32) {
        if let Some(fd) = self.slots[index as usize].raw_fd() {
            // SAFETY: the descriptor is open: the slot owns it.
            unsafe { libc::shutdown(fd, how) };
        }
    }

    /// Nobody holds the socket any more: ends what is in flight. The place becomes free, and the
    /// descriptor is closed, once the last completion is in.
    pub(super) fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.released = true;
        slot.lingering = false;
        slot.recv_waker = None;
        slot.drain_waker = None;
        slot.hangup_waker = None;
        slot.received.clear();
        slot.received_bytes = 0;
        slot.kept = Default::default();
        if !slot.sending {
            slot.clear_queue();
        }
        if let Some(timer) = slot.timer.take() {
            slot.timer_due = NEVER;
            self.timers.remove(timer);
        }
        self.cancel_all(index);
        self.settle(index);
    }

    fn cancel_all(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let (generation, receiving, polling) = (
            slot.generation,
            slot.receiving && !slot.cancelling,
            slot.polling,
        );
        let (sending, connecting, awaiting) = (slot.sending, slot.connecting, slot.awaiting);
        if sending || connecting {
            self.shut_down(index, libc::SHUT_RDWR);
        }
        let operations = [
            (receiving, Op::Recv),
            (sending, Op::Send),
            (connecting, Op::Connect),
            (polling, Op::Poll),
            (awaiting, Op::Ready),
        ];
        for (_, op) in operations.into_iter().filter(|(in_flight, _)| *in_flight) {
            self.cancel(user_data(op, generation, index));
        }
    }

    /// By user data, not by descriptor: a late cancel can then never hit another connection.
    pub(super) fn cancel(&mut self, target: u64) {
        let entry = opcode::AsyncCancel::new(target)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(user_data(Op::Ignored, 0, 0));
        self.ring.push(entry);
    }

    /// Frees the slot if it was released and nothing is in flight any more.
    pub(super) fn settle(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.invariants();
        if slot.released && !slot.lingering && !slot.in_flight() {
            self.set_bulk(index, false);
            let slot = &mut self.slots[index as usize];
            let generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
            *slot = Slot::vacant(generation);
            self.free.push(index);
        }
    }
}
