//! Waking a worker from another thread: an eventfd that the worker's ring reads.
use super::driver::{self, note_waker, user_data, wake, Driver, Op};
use io_uring::{opcode, types};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Wakes the worker's ring from any thread (an eventfd).
#[derive(Clone)]
pub struct Wake(Arc<OwnedFd>);

impl Wake {
    pub fn new() -> io::Result<Wake> {
        // SAFETY: no memory is involved. Without EFD_NONBLOCK, so that the ring's read waits.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for us alone.
        Ok(Wake(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Never blocks in practice: the counter would have to stand at 2^64 - 2.
    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight readable bytes, and a descriptor that we hold open.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

/// From now on this worker is woken by `wake`, and [`woken`] reports it.
pub fn attach_wake(wake: Wake) {
    driver::with(|driver| driver.attach_wake(wake));
}

/// Ends once the worker's [`Wake`] was used since the last time this ended. For one task: the one
/// that reads the worker's mailbox.
pub async fn woken() {
    poll_fn(|cx| driver::with(|driver| driver.poll_woken(cx.waker()))).await;
}

/// The worker's side. Per worker.
pub(super) struct Waking {
    wake: Wake,
    /// Where the eventfd's counter is read to; boxed so that it stays in place.
    counter: Box<u64>,
    pending: bool,
    waker: Option<Waker>,
}

impl Driver {
    fn attach_wake(&mut self, wake: Wake) {
        debug_assert!(self.waking.is_none(), "one wake per worker");
        self.waking = Some(Waking {
            wake,
            counter: Box::new(0),
            pending: false,
            waker: None,
        });
        self.read_wake();
    }

    fn read_wake(&mut self) {
        let Some(waking) = &mut self.waking else {
            return;
        };
        let fd = types::Fd(waking.wake.0.as_raw_fd());
        let place: *mut u64 = &mut *waking.counter;
        let entry = opcode::Read::new(fd, place.cast(), 8).build();
        self.ring.push(entry.user_data(user_data(Op::Wake, 0, 0)));
    }

    pub(super) fn on_wake(&mut self, result: i32) {
        let Some(waking) = &mut self.waking else {
            return;
        };
        if result > 0 {
            waking.pending = true;
            wake(&mut waking.waker, &mut self.woken);
        }
        self.read_wake();
    }

    fn poll_woken(&mut self, waker: &Waker) -> Poll<()> {
        let Some(waking) = &mut self.waking else {
            return Poll::Pending;
        };
        if std::mem::take(&mut waking.pending) {
            return Poll::Ready(());
        }
        note_waker(&mut waking.waker, waker);
        Poll::Pending
    }
}
