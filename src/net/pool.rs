//! The receive buffers of one worker: two groups of equal buffers from which the kernel picks one
//! when bytes have arrived, so that an idle connection holds none.
//!
//! A buffer is in one of three places: in the kernel's ring (provided), spare, or out (held by
//! [`Buf`](super::Buf)s). Spare buffers are a stack, and only a window of them is provided at a
//! time, so that a quiet worker reuses a few warm buffers instead of touching all of them in turn.
//! The window doubles whenever the kernel found the ring empty.
use super::buf::Buf;
use io_uring::types::BufRingEntry;
use io_uring::IoUring;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers for everyone.
pub(super) const SMALL: u16 = 0;
/// Large buffers, for connections that receive much at once.
pub(super) const BULK: u16 = 1;

/// The group is the top bit of a buffer's number.
const GROUP_SHIFT: u32 = 15;
const INDEX_MASK: u16 = (1 << GROUP_SHIFT) - 1;
/// Small buffers start this much apart from a multiple of the page: the first lines of all of them would share a
/// few sets of the CPU's caches otherwise, and push each other out.
const COLOUR: usize = 256;
/// Most buffers of a group.
pub(super) const MOST: u16 = 1 << 14;

thread_local! {
    static POOLS: [OnceCell<Pool>; 2] = const { [OnceCell::new(), OnceCell::new()] };
}

/// Makes the group and registers it with the ring. Once per group and thread.
pub(super) fn create(
    ring: &IoUring,
    group: u16,
    entries: u16,
    size: usize,
    window: u16,
) -> io::Result<()> {
    let pool = Pool::new(ring, group, entries, size, window)?;
    POOLS
        .with(|pools| pools[usize::from(group)].set(pool))
        .map_err(|_| io::ErrorKind::AlreadyExists.into())
}

pub(super) fn exists(group: u16) -> bool {
    POOLS.with(|pools| pools[usize::from(group)].get().is_some())
}

/// Takes over a buffer that the kernel has filled. When the group runs low the bytes are copied to
/// the heap and the buffer goes straight back (second value: true), so that bytes nobody fetches
/// cannot starve the other connections. None: the number is of no buffer we have.
pub(super) fn receive(bid: u16, length: usize) -> Option<(Buf, bool)> {
    with(bid >> GROUP_SHIFT, |pool| {
        let start = pool.take(bid)?;
        let buf = Buf::received(start, length.min(pool.size), bid);
        Some(if pool.is_low() {
            (Buf::from_vec(buf.to_vec()), true)
        } else {
            (buf, false)
        })
    })
    .flatten()
}

/// Lends a small buffer for outgoing bytes, if it is large enough and plenty are left.
pub(super) fn borrow_small(length: usize) -> Option<(NonNull<u8>, u16)> {
    with(SMALL, |pool| pool.borrow(length)).flatten()
}

/// Hands spare buffers to the kernel; seen by it at the next enter.
pub(super) fn provide() {
    with(SMALL, Pool::provide);
    with(BULK, Pool::provide);
}

/// The kernel found no buffer: provide more from now on.
pub(super) fn widen(group: u16) {
    with(group, |pool| {
        pool.window
            .set(pool.window.get().saturating_mul(2).min(pool.entries))
    });
}

/// Buffers of the group that the kernel may have at a time.
pub(super) fn set_window(group: u16, window: u32) {
    with(group, |pool| {
        let most = u32::from(pool.entries);
        pool.window.set(window.clamp(1, most) as u16);
    });
}

/// Gives the group's memory back to the system if nothing was received into it since the last call.
pub(super) fn tidy(group: u16) {
    with(group, Pool::tidy);
}

/// Buffers held outside of the rings, both groups.
pub(super) fn out() -> usize {
    [SMALL, BULK]
        .into_iter()
        .filter_map(|group| with(group, Pool::out))
        .sum()
}

/// Bytes of the group's memory that are resident.
pub(super) fn resident(group: u16) -> usize {
    with(group, |pool| {
        let length = usize::from(pool.entries) * pool.stride;
        let mut pages = vec![0u8; length.div_ceil(4096)];
        // SAFETY: our own mapping, page-aligned, and a byte for each of its pages.
        let done =
            unsafe { libc::mincore(pool.memory.as_ptr().cast(), length, pages.as_mut_ptr()) };
        debug_assert_eq!(done, 0);
        pages.iter().filter(|&&page| page & 1 == 1).count() * 4096
    })
    .unwrap_or(0)
}

#[inline]
pub(super) fn retain(bid: u16) {
    with(bid >> GROUP_SHIFT, |pool| pool.retain(bid & INDEX_MASK));
}

#[inline]
pub(super) fn release(bid: u16) {
    with(bid >> GROUP_SHIFT, |pool| pool.release(bid & INDEX_MASK));
}

pub(super) fn references(bid: u16) -> u32 {
    with(bid >> GROUP_SHIFT, |pool| {
        pool.references[usize::from(bid & INDEX_MASK)].get()
    })
    .unwrap_or(0)
}

/// None: no such group, or the thread is ending.
#[inline]
fn with<R>(group: u16, f: impl FnOnce(&Pool) -> R) -> Option<R> {
    POOLS
        .try_with(|pools| pools[usize::from(group & 1)].get().map(f))
        .ok()
        .flatten()
}

/// One group. Per worker.
struct Pool {
    group: u16,
    entries: u16,
    size: usize,
    /// From one buffer's start to the next one's.
    stride: usize,
    /// The ring shared with the kernel, `entries` long.
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: Cell<u16>,
    provided: Cell<u16>,
    window: Cell<u16>,
    spare: RefCell<Vec<u16>>,
    references: Box<[Cell<u32>]>,
    /// Filled by the kernel since the last `tidy`, or since the memory was given back.
    filled: Cell<bool>,
    resident: Cell<bool>,
}

impl Pool {
    fn new(
        uring: &IoUring,
        group: u16,
        entries: u16,
        size: usize,
        window: u16,
    ) -> io::Result<Pool> {
        if !entries.is_power_of_two() || entries > MOST || size == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "receive buffers: a power of two up to 16384",
            ));
        }
        let ring = map(usize::from(entries) * size_of::<BufRingEntry>())?;
        let stride = if group == SMALL { size + COLOUR } else { size };
        let memory = map(usize::from(entries) * stride)?;
        // SAFETY: `ring` is a page-aligned mapping of `entries` entries that is unmapped only when
        // the pool is dropped, after the ring's last enter.
        unsafe {
            uring.submitter().register_buf_ring_with_flags(
                ring.as_ptr() as u64,
                entries,
                group,
                0,
            )?
        };
        Ok(Pool {
            group,
            entries,
            size,
            stride,
            ring: ring.cast(),
            memory,
            tail: Cell::new(0),
            provided: Cell::new(0),
            window: Cell::new(window.min(entries)),
            spare: RefCell::new((0..entries).rev().collect()),
            references: (0..entries).map(|_| Cell::new(0)).collect(),
            filled: Cell::new(false),
            resident: Cell::new(false),
        })
    }

    /// The kernel has taken this buffer out of the ring and filled it.
    fn take(&self, bid: u16) -> Option<NonNull<u8>> {
        let index = bid & INDEX_MASK;
        let references = self.references.get(usize::from(index))?;
        debug_assert_eq!(
            references.get(),
            0,
            "the kernel filled a buffer that is in use"
        );
        references.set(1);
        self.filled.set(true);
        self.provided.set(self.provided.get().saturating_sub(1));
        Some(self.start(index))
    }

    fn borrow(&self, length: usize) -> Option<(NonNull<u8>, u16)> {
        if length > self.size || self.is_low() {
            return None;
        }
        let index = self.spare.borrow_mut().pop()?;
        self.references[usize::from(index)].set(1);
        Some((self.start(index), self.group << GROUP_SHIFT | index))
    }

    #[inline]
    fn retain(&self, index: u16) {
        let count = &self.references[usize::from(index)];
        count.set(count.get() + 1);
    }

    #[inline]
    fn release(&self, index: u16) {
        let count = &self.references[usize::from(index)];
        debug_assert!(count.get() > 0, "a receive buffer was released twice");
        count.set(count.get() - 1);
        if count.get() == 0 {
            self.spare.borrow_mut().push(index);
        }
    }

    fn provide(&self) {
        if self.provided.get() >= self.window.get() {
            return;
        }
        let mut spare = self.spare.borrow_mut();
        while self.provided.get() < self.window.get() {
            let Some(index) = spare.pop() else { break };
            self.write_entry(index);
            self.provided.set(self.provided.get() + 1);
        }
        // SAFETY: the ring is mapped and its tail is a field of the first entry, which the kernel
        // reads atomically; nothing else refers to it.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring.as_ptr()).cast_mut()) };
        tail.store(self.tail.get(), Ordering::Release);
    }

    fn write_entry(&self, index: u16) {
        let place = usize::from(self.tail.get() & (self.entries - 1));
        // SAFETY: `place` is below `entries`, so inside the mapping; the kernel reads an entry only
        // after the tail has passed it. The tail shares the first entry's reserved field, which the
        // setters leave alone.
        let entry = unsafe { &mut *self.ring.as_ptr().add(place) };
        entry.set_addr(self.start(index).as_ptr() as u64);
        entry.set_len(self.size as u32);
        entry.set_bid(self.group << GROUP_SHIFT | index);
        self.tail.set(self.tail.get().wrapping_add(1));
    }

    fn start(&self, index: u16) -> NonNull<u8> {
        // SAFETY: `index` is below `entries`, so the result is inside the mapping.
        unsafe { self.memory.add(usize::from(index) * self.stride) }
    }

    fn tidy(&self) {
        if self.filled.replace(false) {
            self.resident.set(true);
        } else if self.resident.get() && self.out() == 0 {
            self.resident.set(false);
            let length = usize::from(self.entries) * self.stride;
            // SAFETY: our own mapping, of exactly this length, and no buffer is out: nobody reads what is in it.
            // The kernel may fill the provided ones later, on new pages.
            unsafe { libc::madvise(self.memory.as_ptr().cast(), length, libc::MADV_DONTNEED) };
        }
    }

    /// Less than a quarter is left.
    fn is_low(&self) -> bool {
        self.out() * 4 > usize::from(self.entries) * 3
    }

    fn out(&self) -> usize {
        usize::from(self.entries) - self.spare.borrow().len() - usize::from(self.provided.get())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A `Buf` that outlives the thread-local state (a task never finished) still points into
        // the memory; then the mapping stays.
        if self.out() == 0 {
            // SAFETY: both are our own mappings of exactly these lengths and no buffer is out. The
            // kernel holds its own reference to the ring's pages.
            unsafe {
                libc::munmap(
                    self.memory.as_ptr().cast(),
                    usize::from(self.entries) * self.stride,
                );
                libc::munmap(
                    self.ring.as_ptr().cast(),
                    usize::from(self.entries) * size_of::<BufRingEntry>(),
                );
            }
        }
    }
}

fn map(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping touches no memory of ours.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)
}
