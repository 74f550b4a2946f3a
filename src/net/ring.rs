//! The worker's io_uring: set-up, submission that never loses an entry, and the one system call of
//! a pass.
use super::StartError;
use io_uring::{squeue, IoUring};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

const ENTER_GETEVENTS: u32 = 1;
const ENTER_REGISTERED_RING: u32 = 1 << 4;
const REGISTER_RING_FDS: u32 = 20;

/// One completion, copied out of the ring.
#[derive(Clone, Copy)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// Per worker. The ring may be used by the thread that made it, and by no other.
pub(super) struct Ring {
    uring: IoUring,
    /// The descriptor passed to enter, and the flag that goes with it.
    descriptor: (i32, u32),
    /// Entries for which the submission queue had no room.
    overflow: VecDeque<squeue::Entry>,
}

impl Ring {
    pub(super) fn new(entries: u32, completions: u32) -> Result<Ring, StartError> {
        let uring = build(entries, completions).map_err(StartError::of_setup)?;
        let descriptor = match register_ring_fd(&uring) {
            Ok(index) => (index, ENTER_REGISTERED_RING),
            Err(_) => (uring.as_raw_fd(), 0),
        };
        Ok(Ring {
            uring,
            descriptor,
            overflow: VecDeque::new(),
        })
    }

    pub(super) fn uring(&self) -> &IoUring {
        &self.uring
    }

    /// Queues an entry for the next enter. What it points to must stay valid until its last
    /// completion has been reaped; every caller keeps it in the slot, in the driver or in a pool.
    #[inline]
    pub(super) fn push(&mut self, entry: squeue::Entry) {
        if !self.overflow.is_empty() || !self.try_push(&entry) {
            self.push_slowly(entry);
        }
    }

    #[inline]
    fn try_push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: see `push`: the operation's memory outlives it.
        unsafe { self.uring.submission().push(entry).is_ok() }
    }

    #[cold]
    fn push_slowly(&mut self, entry: squeue::Entry) {
        self.overflow.push_back(entry);
        self.submit(0, 0);
        self.refill();
    }

    fn refill(&mut self) {
        while let Some(entry) = self.overflow.pop_front() {
            if !self.try_push(&entry) {
                self.overflow.push_front(entry);
                return;
            }
        }
    }

    /// Submits everything and runs what the kernel has deferred; with `wait`, sleeps until there is
    /// at least one completion.
    pub(super) fn enter(&mut self, wait: bool) {
        while !self.overflow.is_empty() {
            let before = self.overflow.len();
            self.submit(0, 0);
            self.refill();
            if self.overflow.len() == before {
                // the kernel takes no more before completions are reaped
                self.submit(0, ENTER_GETEVENTS);
                return;
            }
        }
        self.submit(u32::from(wait), ENTER_GETEVENTS);
    }

    /// Everything that was pushed is with the kernel.
    pub(super) fn is_submitted(&mut self) -> bool {
        let mut queue = self.uring.submission();
        queue.sync();
        queue.is_empty() && self.overflow.is_empty()
    }

    pub(super) fn has_completions(&mut self) -> bool {
        !self.uring.completion().is_empty()
    }

    /// Copies up to `most` completions out, so that one batch stays short.
    pub(super) fn reap(&mut self, into: &mut Vec<Completion>, most: usize) {
        into.extend(self.uring.completion().take(most).map(|c| Completion {
            user_data: c.user_data(),
            result: c.result(),
            flags: c.flags(),
        }));
    }

    fn submit(&mut self, wait: u32, flags: u32) {
        let ready = {
            let mut queue = self.uring.submission();
            queue.sync();
            queue.len() as u32
        };
        let (descriptor, registered) = self.descriptor;
        // SAFETY: plain integers and a null argument; the entries in the queue are covered by `push`.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                descriptor,
                ready,
                wait,
                flags | registered,
                std::ptr::null::<libc::c_void>(),
                0usize,
            )
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // a signal, or completions must be reaped first: the next pass tries again
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                _ => panic!("io_uring_enter failed, the worker cannot go on: {error}"),
            }
        }
    }
}

/// NO_SQARRAY is newer than the rest (6.6) and only saves an indirection: done without where it is
/// not known.
fn build(entries: u32, completions: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(completions)
        .setup_no_sqarray();
    match builder.build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        result => return result,
    }
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(completions)
        .build(entries)
}

/// Saves the kernel a descriptor look-up per enter.
fn register_ring_fd(uring: &IoUring) -> io::Result<i32> {
    /// `struct io_uring_rsrc_update` of linux/io_uring.h.
    #[repr(C)]
    struct Update {
        offset: u32,
        reserved: u32,
        data: u64,
    }
    let mut update = Update {
        offset: u32::MAX,
        reserved: 0,
        data: uring.as_raw_fd() as u64,
    };
    // SAFETY: one update structure in the layout that the kernel expects, which it reads and writes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            uring.as_raw_fd(),
            REGISTER_RING_FDS,
            &mut update,
            1u32,
        )
    };
    match result {
        1 => Ok(update.offset as i32),
        _ => Err(io::Error::last_os_error()),
    }
}
