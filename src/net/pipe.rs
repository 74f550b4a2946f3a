//! Pipes of the kernel, in which bytes are between two connections (pipe(7), splice(2)).
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a pipe is asked to hold, and a step moves at most, bytes.
pub(super) const STEP: usize = 256 << 10;
/// Pipes of a worker at a time; each has two descriptors.
const PIPES: usize = 64;

/// A pipe of the kernel, with what is in it.
pub(super) struct Pipe {
    output: OwnedFd,
    input: OwnedFd,
    pub(super) bytes: usize,
}

/// The pipes of one worker.
#[derive(Default)]
pub(super) struct Pipes {
    spare: Vec<Pipe>,
    out: usize,
}

impl Pipes {
    pub(super) fn take(&mut self) -> Option<Pipe> {
        if self.out >= PIPES {
            return None;
        }
        let pipe = match self.spare.pop() {
            Some(pipe) => pipe,
            None => Pipe::new()
                .inspect_err(|error| tracing::debug!(%error, "no pipe: large packets are copied"))
                .ok()?,
        };
        self.out += 1;
        Some(pipe)
    }

    pub(super) fn put_back(&mut self, pipe: Pipe) {
        self.out -= 1;
        // bytes that are left belong to a connection that is of no more use
        if pipe.bytes == 0 {
            self.spare.push(pipe);
        }
    }

    /// Closes those that are not in use.
    pub(super) fn tidy(&mut self) {
        self.spare.clear();
    }
}

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new and nobody else's.
        let [output, input] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        // SAFETY: plain integers; a refusal leaves the pipe at its usual size, which will do.
        unsafe { libc::fcntl(input.as_raw_fd(), libc::F_SETPIPE_SZ, STEP as libc::c_int) };
        Ok(Pipe {
            output,
            input,
            bytes: 0,
        })
    }

    pub(super) fn input(&self) -> RawFd {
        self.input.as_raw_fd()
    }

    pub(super) fn output(&self) -> RawFd {
        self.output.as_raw_fd()
    }
}

/// Moves up to `most` bytes; one of the two is a pipe.
pub(super) fn splice(from: RawFd, to: RawFd, most: usize) -> io::Result<usize> {
    let none = std::ptr::null_mut();
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    // SAFETY: both descriptors are open, and neither has an offset.
    let moved = unsafe { libc::splice(from, none, to, none, most, flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}
