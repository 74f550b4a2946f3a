//! Whether a prompt send (see `send`) is what it has to be on this kernel: done, or reported, by the time
//! that it is submitted. Tried once at the start, since buffers would be used again too early otherwise.
use super::ring::Ring;
use super::send::PROMPT;
use io_uring::{opcode, squeue, types};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// More than a socket's buffer holds.
const MANY: usize = 256;
const PIECE: usize = 64 << 10;

/// Fills a socket until it takes no more: until then no completion may come, then one that says how much
/// was taken, if anything, and one that says that it would block.
pub(super) fn works(ring: &mut Ring) -> bool {
    let Ok((near, _far)) = UnixStream::pair() else {
        return false;
    };
    let bytes = vec![0u8; PIECE];
    let mut said = Vec::new();
    for _ in 0..MANY {
        let fd = types::Fd(near.as_raw_fd());
        let entry = opcode::Send::new(fd, bytes.as_ptr(), PIECE as u32).flags(PROMPT);
        ring.push(entry.build().flags(squeue::Flags::SKIP_SUCCESS));
        ring.enter(false);
        if !ring.is_submitted() {
            return false;
        }
        let before = said.len();
        ring.reap(&mut said, MANY);
        match said[before..] {
            [] if before == 0 => {}
            [short] if (1..PIECE as i32).contains(&short.result) && before == 0 => {}
            [full] if full.result == -libc::EAGAIN => return true,
            _ => return false,
        }
    }
    false
}
