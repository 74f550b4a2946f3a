//! Bytes from one connection to another inside the kernel (splice(2), through a pipe), for packets so long that
//! copying them in and out would be most of what they cost.
//!
//! While a [`Splice`] stands, the receive of the connection that is read is off: what is not moved is read by
//! small direct reads in [`Socket::poll_recv`], so that the next packet's header comes and little of its body.
//! Each step moves no more than the pipe holds; the caller yields between steps, so that no stream starves others.
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::pipe::{splice, Pipe, STEP};
use super::slot::Slot;
use super::{driver, Aborter, Buf, Peer, Socket};
use io_uring::{opcode, types};
use std::io;
use std::os::fd::RawFd;
use std::task::{Context, Poll, Waker};

/// A direct read beside moved bytes: a header and what little may follow.
const READ: usize = 512;
/// Of a body of which more than this is to come so much is awaited before the task is woken, bytes: a server writes
/// in smaller pieces, and each would cost a pass.
const ENOUGH: usize = 128 << 10;

/// Which end failed.
#[derive(Debug)]
pub enum Side {
    From(io::Error),
    To(io::Error),
}

/// The way from one connection to another, both TCP and neither encrypted nor compressed. Dropping it lets the first be read as
/// usual again; bytes that are then between the two are lost, and the second is to be closed.
pub struct Splice {
    from: Aborter,
    to: Aborter,
    pipe: Option<Pipe>,
    taken: usize,
    /// All that had come was taken.
    emptied: bool,
}

impl Splice {
    /// None: not between these two, or not now.
    pub fn begin(from: &Socket, to: &Socket) -> Option<Splice> {
        let pipe = driver::with(|driver| {
            if !driver.is_plain_tcp(from.index()) || !driver.is_plain_tcp(to.index()) {
                return None;
            }
            let pipe = driver.pipes.take()?;
            driver.hold_recv(from.index());
            Some(pipe)
        })?;
        Some(Splice {
            from: from.aborter(),
            to: to.aborter(),
            pipe: Some(pipe),
            taken: 0,
            emptied: false,
        })
    }

    /// Nothing is received and unread, and nothing will be but by us.
    pub fn is_quiet(&self) -> bool {
        driver::with(|driver| {
            let quiet = |slot: &Slot| !slot.receiving && slot.received.is_empty();
            self.from.slot(driver).is_some_and(quiet)
        })
    }

    /// One step, of up to `most` bytes, once what is queued for the second connection is sent. What was taken from
    /// the first is to be asked for after each call ([`Splice::taken`]), whatever it returned.
    ///
    /// # Errors
    /// As for receiving from the first and sending to the second.
    pub fn poll_step(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Result<(), Side>> {
        driver::with(|driver| {
            let gone = || io::Error::from(io::ErrorKind::NotConnected);
            let (Some(_), Some(pipe)) = (self.from.slot(driver), &mut self.pipe) else {
                return Poll::Ready(Err(Side::From(gone())));
            };
            if self.to.slot(driver).is_none() {
                return Poll::Ready(Err(Side::To(gone())));
            }
            let (from, to) = (self.from.index(), self.to.index());
            match driver.poll_drained(to, 0, cx.waker()) {
                Poll::Ready(Ok(())) => {}
                other => return other.map_err(Side::To),
            }
            if pipe.bytes == 0 {
                if std::mem::take(&mut self.emptied) {
                    driver.await_enough(from, most, cx.waker());
                    return Poll::Pending;
                }
                match driver.splice_in(from, pipe, most, cx.waker()) {
                    Poll::Ready(Ok(taken)) => {
                        self.taken += taken;
                        self.emptied = taken < most.min(STEP);
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(Side::From(error))),
                    Poll::Pending => return Poll::Pending,
                }
            }
            let out = driver.splice_out(to, pipe, cx.waker());
            out.map_err(Side::To)
        })
    }

    /// Bytes taken from the first connection since the last call.
    pub fn taken(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }
}

impl Drop for Splice {
    fn drop(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        driver::try_with(|driver| {
            driver.pipes.put_back(pipe);
            if self.to.slot(driver).is_some() {
                driver.slots[self.to.index() as usize].piped = false;
            }
            if self.from.slot(driver).is_some() {
                driver.resume_recv(self.from.index());
            }
        });
    }
}

impl Driver {
    fn is_plain_tcp(&self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        slot.tls.is_none() && slot.compression.is_none() && matches!(slot.peer, Peer::Tcp(_))
    }

    fn hold_recv(&mut self, index: u32) {
        self.slots[index as usize].spliced = true;
        self.cancel_recv(index);
        // splice(2) waits for a socket's bytes unless the descriptor says not to
        self.set_nonblocking(index, true);
    }

    fn resume_recv(&mut self, index: u32) {
        if std::mem::take(&mut self.slots[index as usize].spliced) {
            self.set_nonblocking(index, false);
            self.set_enough(index, 1);
            self.arm_recv(index);
        }
    }

    /// Only for moments without an operation of the ring that could wait: the kernel would not let it.
    fn set_nonblocking(&self, index: u32, on: bool) {
        if let Some(fd) = self.slots[index as usize].raw_fd() {
            let flags = libc::O_RDWR | if on { libc::O_NONBLOCK } else { 0 };
            // SAFETY: plain integers; of these flags F_SETFL changes O_NONBLOCK alone, no other is ever set.
            unsafe { libc::fcntl(fd, libc::F_SETFL, flags) };
        }
    }

    /// A small read of a connection whose receive is held.
    pub(super) fn read_directly(
        &mut self,
        index: u32,
        waker: &Waker,
    ) -> Poll<io::Result<Option<Buf>>> {
        let Some(fd) = self.slots[index as usize].raw_fd() else {
            return Poll::Ready(Ok(None));
        };
        let mut buf = Buf::blank(READ);
        match receive(fd, buf.make_mut()) {
            Ok(0) => {
                self.slots[index as usize].ended = true;
                Poll::Ready(Ok(None))
            }
            Ok(length) => {
                buf.truncate(length);
                Poll::Ready(Ok(Some(buf)))
            }
            Err(error) => {
                self.set_enough(index, 1);
                match self.later(index, libc::POLLIN, waker, error) {
                    Some(error) => Poll::Ready(Err(error)),
                    None => Poll::Pending,
                }
            }
        }
    }

    /// Wakes the task when there is much to take, or all that is to come.
    fn await_enough(&mut self, index: u32, most: usize, waker: &Waker) {
        self.set_enough(index, most.min(ENOUGH));
        let slot = &mut self.slots[index as usize];
        if slot.is_over() || slot.deadline <= self.now {
            waker.wake_by_ref();
            self.woken = true;
        } else {
            self.when_ready(index, libc::POLLIN, waker);
        }
    }

    /// From how many bytes on the kernel calls the socket readable (SO_RCVLOWAT; earlier if its buffer is full or
    /// the peer ends).
    fn set_enough(&mut self, index: u32, bytes: usize) {
        let slot = &mut self.slots[index as usize];
        let bytes = bytes as libc::c_int;
        let Some(fd) = slot.raw_fd().filter(|_| slot.enough != bytes) else {
            return;
        };
        slot.enough = bytes;
        // SAFETY: the kernel reads one int.
        unsafe {
            let place = std::ptr::from_ref(&bytes).cast();
            let length = size_of::<libc::c_int>() as libc::socklen_t;
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, place, length)
        };
    }

    fn splice_in(
        &mut self,
        index: u32,
        pipe: &mut Pipe,
        most: usize,
        waker: &Waker,
    ) -> Poll<io::Result<usize>> {
        let fd = match self.usable(index) {
            Ok(_) if self.slots[index as usize].deadline <= self.now => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Ok(fd) => fd,
            Err(error) => return Poll::Ready(Err(error)),
        };
        self.stats.splices += 1;
        match splice(fd, pipe.input(), most.min(STEP)) {
            Ok(0) => {
                self.slots[index as usize].ended = true;
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            Ok(taken) => {
                pipe.bytes = taken;
                Poll::Ready(Ok(taken))
            }
            Err(error) => match self.later(index, libc::POLLIN, waker, error) {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        }
    }

    /// Ready when the pipe is empty.
    fn splice_out(&mut self, index: u32, pipe: &mut Pipe, waker: &Waker) -> Poll<io::Result<()>> {
        let fd = match self.usable(index) {
            Ok(fd) => fd,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if !std::mem::replace(&mut self.slots[index as usize].piped, true) {
            self.slots[index as usize].progress = self.now;
        }
        self.stats.splices += 1;
        self.set_nonblocking(index, true);
        let sent = splice(pipe.output(), fd, pipe.bytes);
        self.set_nonblocking(index, false);
        let error = match sent {
            Ok(sent) => {
                pipe.bytes = pipe.bytes.saturating_sub(sent);
                self.slots[index as usize].progress = self.now;
                io::ErrorKind::WouldBlock.into()
            }
            Err(error) => error,
        };
        if pipe.bytes == 0 {
            self.slots[index as usize].piped = false;
            return Poll::Ready(Ok(()));
        }
        let due = self.next_stall_check(index);
        self.schedule(index, due);
        match self.later(index, libc::POLLOUT, waker, error) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    }

    fn usable(&self, index: u32) -> io::Result<RawFd> {
        let slot = &self.slots[index as usize];
        match slot.raw_fd() {
            _ if slot.error != 0 => Err(io::Error::from_raw_os_error(slot.error)),
            Some(fd) => Ok(fd),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// After an attempt that failed: None if it is to be repeated once the socket is ready, of which the waker hears.
    fn later(
        &mut self,
        index: u32,
        events: libc::c_short,
        waker: &Waker,
        error: io::Error,
    ) -> Option<io::Error> {
        let repeat = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
        );
        if !repeat {
            self.fail(index, error.raw_os_error().unwrap_or(libc::EIO));
            return Some(error);
        }
        self.when_ready(index, events, waker);
        None
    }

    fn when_ready(&mut self, index: u32, events: libc::c_short, waker: &Waker) {
        let slot = &mut self.slots[index as usize];
        let place = match events {
            libc::POLLIN => &mut slot.recv_waker,
            _ => &mut slot.drain_waker,
        };
        note_waker(place, waker);
        let Some(fd) = slot.raw_fd() else { return };
        if !std::mem::replace(&mut slot.awaiting, true) {
            let entry = opcode::PollAdd::new(types::Fd(fd), events as u32).build();
            let id = user_data(Op::Ready, slot.generation, index);
            self.ring.push(entry.user_data(id));
        }
    }

    pub(super) fn on_ready(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.awaiting = false;
        wake(&mut slot.recv_waker, &mut self.woken);
        wake(&mut slot.drain_waker, &mut self.woken);
    }
}

fn receive(fd: RawFd, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the descriptor is open, and the kernel writes no more than the slice's length into it.
    let got = unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), libc::MSG_DONTWAIT) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}
