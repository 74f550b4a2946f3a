//! epoll with waits in nanoseconds.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

pub struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

#[derive(Clone, Copy)]
pub enum Interest {
    Readable,
    Writable,
}

impl Interest {
    fn event(self, token: usize) -> libc::epoll_event {
        let events = match self {
            Interest::Readable => libc::EPOLLIN,
            Interest::Writable => libc::EPOLLOUT,
        };
        libc::epoll_event {
            events: events as u32,
            u64: token as u64,
        }
    }
}

impl Poll {
    pub fn new() -> io::Result<Poll> {
        // SAFETY: a plain system call; the descriptor is new and nobody else's.
        let fd = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Poll {
            fd,
            events: Vec::with_capacity(1024),
        })
    }

    pub fn add(&self, fd: RawFd, token: usize, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest.event(token))
    }

    pub fn change(&self, fd: RawFd, token: usize, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest.event(token))
    }

    fn control(&self, what: i32, fd: RawFd, mut event: libc::epoll_event) -> io::Result<()> {
        // SAFETY: the event lives through the call.
        match unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), what, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Appends the tokens of what is ready to `ready`; waits at most `timeout`.
    pub fn wait(&mut self, timeout: Duration, ready: &mut Vec<usize>) -> io::Result<()> {
        let limit = libc::timespec {
            tv_sec: timeout.as_secs() as _,
            tv_nsec: timeout.subsec_nanos() as _,
        };
        // SAFETY: the buffer has room for as many events as are asked for, and the kernel says how many it wrote.
        unsafe {
            let n = libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.capacity() as libc::c_int,
                &raw const limit,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            );
            if n < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    io::ErrorKind::Interrupted => Ok(()),
                    _ => Err(error),
                };
            }
            self.events.set_len(n as usize);
        }
        ready.extend(self.events.iter().map(|event| event.u64 as usize));
        Ok(())
    }
}
