//! Listening sockets: one multishot accept each, stopped for a drain without losing a connection
//! that the kernel has already taken.
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::timers::{Nanos, Owner};
use super::{driver, options, Peer};
use io_uring::{cqueue, opcode, types};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::task::{Poll, Waker};

/// Out of descriptors or memory: the next try comes after this.
const BACKOFF: Nanos = 100_000_000;

/// Takes connections from a listening socket, TCP or Unix. Per worker.
pub struct Listener {
    index: u32,
    not_send: PhantomData<*const ()>,
}

/// Starts accepting on a bound, listening socket.
///
/// # Errors
/// If the descriptor's flags cannot be set.
pub fn listen(socket: impl Into<OwnedFd>) -> io::Result<Listener> {
    let fd = socket.into();
    options::set_nonblocking(&fd, false)?;
    let index = driver::with(|driver| driver.add_listener(fd));
    Ok(Listener {
        index,
        not_send: PhantomData,
    })
}

impl Listener {
    /// The next connection and where it comes from; `Ok(None)` after [`stop`](Listener::stop), once
    /// all connections have been handed out.
    ///
    /// The descriptor is for [`Socket::from_fd`](super::Socket::from_fd), on this worker or another.
    ///
    /// # Errors
    /// The listening socket itself failed. A connection that is gone again and a lack of
    /// descriptors are dealt with here: accepting goes on, after a pause where needed.
    pub async fn accept(&self) -> io::Result<Option<(OwnedFd, Peer)>> {
        loop {
            let accepted =
                poll_fn(|cx| driver::with(|driver| driver.poll_accept(self.index, cx.waker())))
                    .await?;
            let Some(fd) = accepted else { return Ok(None) };
            // the peer may be gone already: then there is nobody to serve
            if let Ok(peer) = options::peer_of(&fd) {
                return Ok(Some((fd, peer)));
            }
        }
    }

    /// Stops accepting: takes what waits in the kernel's queue, then closes the listening socket.
    pub fn stop(&self) {
        driver::with(|driver| driver.stop_listener(self.index));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        driver::try_with(|driver| driver.drop_listener(self.index));
    }
}

/// The driver's side of a listener. Places are not reused: a worker has a handful.
pub(super) struct Listening {
    /// None: stopped and closed.
    fd: Option<OwnedFd>,
    accepted: VecDeque<OwnedFd>,
    waker: Option<Waker>,
    /// A multishot accept is in flight.
    armed: bool,
    stopping: bool,
    dropped: bool,
    error: i32,
    /// The last accept failed for want of descriptors or memory.
    short: bool,
}

impl Driver {
    fn add_listener(&mut self, fd: OwnedFd) -> u32 {
        let index = self.listeners.len() as u32;
        self.listeners.push(Some(Listening {
            fd: Some(fd),
            accepted: VecDeque::new(),
            waker: None,
            armed: false,
            stopping: false,
            dropped: false,
            error: 0,
            short: false,
        }));
        self.arm_accept(index);
        index
    }

    fn listening(&mut self, index: u32) -> Option<&mut Listening> {
        self.listeners.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn arm_accept(&mut self, index: u32) {
        let Some(listening) = self.listening(index) else {
            return;
        };
        if listening.armed || listening.stopping || listening.error != 0 {
            return;
        }
        let Some(fd) = &listening.fd else { return };
        let entry = opcode::AcceptMulti::new(types::Fd(fd.as_raw_fd()))
            .flags(libc::SOCK_CLOEXEC)
            .build();
        listening.armed = true;
        self.ring
            .push(entry.user_data(user_data(Op::Accept, 0, index)));
    }

    pub(super) fn on_accept(&mut self, index: u32, result: i32, flags: u32) {
        // SAFETY: a non-negative result is a descriptor the kernel has just opened for us alone.
        let accepted = (result >= 0).then(|| unsafe { OwnedFd::from_raw_fd(result) });
        let Some(Some(listening)) = self.listeners.get_mut(index as usize) else {
            return;
        };
        if let Some(fd) = accepted {
            listening.short = false;
            listening.accepted.push_back(fd);
            self.stats.accepted += 1;
            wake(&mut listening.waker, &mut self.woken);
        }
        if cqueue::more(flags) {
            return;
        }
        listening.armed = false;
        if listening.stopping {
            self.finish_listener(index);
            return;
        }
        match -result {
            libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM => {
                self.back_off(index, -result)
            }
            libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP => {
                listening.error = -result;
                wake(&mut listening.waker, &mut self.woken);
            }
            // a connection, or one that was gone before it was taken
            _ => self.arm_accept(index),
        }
    }

    fn back_off(&mut self, index: u32, errno: i32) {
        self.stats.accept_errors += 1;
        let due = self.now + BACKOFF;
        let Some(listening) = self.listening(index) else {
            return;
        };
        if !std::mem::replace(&mut listening.short, true) {
            let error = io::Error::from_raw_os_error(errno);
            tracing::warn!(%error, "cannot accept connections: trying again every 100 ms (raise the limit of open files)");
        }
        self.timers.add(due, Owner::Listener(index));
    }

    fn poll_accept(&mut self, index: u32, waker: &Waker) -> Poll<io::Result<Option<OwnedFd>>> {
        let Some(listening) = self.listening(index) else {
            return Poll::Ready(Ok(None));
        };
        if let Some(fd) = listening.accepted.pop_front() {
            return Poll::Ready(Ok(Some(fd)));
        }
        if listening.error != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(listening.error)));
        }
        if listening.fd.is_none() {
            return Poll::Ready(Ok(None));
        }
        note_waker(&mut listening.waker, waker);
        Poll::Pending
    }

    fn stop_listener(&mut self, index: u32) {
        let Some(listening) = self.listening(index) else {
            return;
        };
        if std::mem::replace(&mut listening.stopping, true) {
            return;
        }
        if listening.armed {
            self.cancel(user_data(Op::Accept, 0, index));
        } else {
            self.finish_listener(index);
        }
    }

    fn drop_listener(&mut self, index: u32) {
        if let Some(listening) = self.listening(index) {
            listening.dropped = true;
            listening.waker = None;
            if !listening.armed {
                self.listeners[index as usize] = None;
                return;
            }
        }
        self.stop_listener(index);
    }

    /// The accept is over: takes what is left in the kernel's queue (closing would reset it) and
    /// closes.
    fn finish_listener(&mut self, index: u32) {
        let Some(Some(listening)) = self.listeners.get_mut(index as usize) else {
            return;
        };
        if let Some(fd) = listening.fd.take() {
            while let Some(connection) = accept_waiting(&fd) {
                listening.accepted.push_back(connection);
                self.stats.accepted += 1;
            }
        }
        wake(&mut listening.waker, &mut self.woken);
        if listening.dropped {
            self.listeners[index as usize] = None;
        }
    }
}

fn accept_waiting(fd: &OwnedFd) -> Option<OwnedFd> {
    options::set_nonblocking(fd, true).ok()?;
    loop {
        // SAFETY: the descriptor is open and no address is asked for.
        let accepted = unsafe {
            libc::accept4(
                fd.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_CLOEXEC,
            )
        };
        if accepted >= 0 {
            // SAFETY: the kernel has just opened it for us alone.
            return Some(unsafe { OwnedFd::from_raw_fd(accepted) });
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR | libc::ECONNABORTED) => {}
            _ => return None,
        }
    }
}
