//! The process's allocator: the system's, with a count of what is in use.
//!
//! A count a thread, which its thread alone writes: an allocation costs an addition, and a turn that allocates nothing
//! costs nothing. What one thread allocates and another frees is a plus of the first and a minus of the second, so
//! that only the sum is exact; a worker shares little with others but the topology.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

/// Threads with a count of their own; further ones share one.
const COUNTS: usize = 128;

/// To be made the program's `#[global_allocator]`.
pub struct Heap;

/// On a line of the CPU's caches of its own.
#[repr(align(128))]
struct Count(AtomicI64);

static COUNTED: [Count; COUNTS] = [const { Count(AtomicI64::new(0)) }; COUNTS];
static OTHERS: AtomicI64 = AtomicI64::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Neither made nor dropped: usable from a thread's first allocation to its last.
    static MINE: Cell<Option<&'static AtomicI64>> = const { Cell::new(None) };
    /// Of a thread that shares its count.
    static OWN: Cell<i64> = const { Cell::new(0) };
}

/// Bytes in use that this thread allocated, less those of others that it freed.
#[inline]
pub(super) fn live() -> i64 {
    MINE.get()
        .map_or_else(|| OWN.get(), |mine| mine.load(Relaxed))
}

/// Bytes in use by the whole process.
pub(super) fn total() -> i64 {
    let counted = COUNTED.iter().map(|count| count.0.load(Relaxed));
    counted.sum::<i64>() + OTHERS.load(Relaxed)
}

#[inline]
fn add(bytes: i64) {
    match MINE.get() {
        Some(mine) => mine.store(mine.load(Relaxed) + bytes, Relaxed),
        None => add_first(bytes),
    }
}

#[cold]
fn add_first(bytes: i64) {
    // the number stays above COUNTS once it is there
    let number = match TAKEN.load(Relaxed) {
        taken if taken < COUNTS => TAKEN.fetch_add(1, Relaxed),
        taken => taken,
    };
    match COUNTED.get(number) {
        Some(Count(mine)) => {
            MINE.set(Some(mine));
            mine.fetch_add(bytes, Relaxed);
        }
        None => {
            OWN.set(OWN.get() + bytes);
            OTHERS.fetch_add(bytes, Relaxed);
        }
    }
}

// SAFETY: everything is the system allocator's. Counting touches a thread-local without a destructor and an atomic
// integer: neither allocates.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let at = unsafe { System.alloc(layout) };
        if !at.is_null() {
            add(layout.size() as i64);
        }
        at
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let at = unsafe { System.alloc_zeroed(layout) };
        if !at.is_null() {
            add(layout.size() as i64);
        }
        at
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let at = unsafe { System.realloc(at, layout, size) };
        if !at.is_null() {
            add(size as i64 - layout.size() as i64);
        }
        at
    }
}

/// What the C library's allocator says of itself, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocator {
    /// Handed out of its arenas, with what it adds to each block, and what others than this program's own code have
    /// of it.
    pub in_arenas: usize,
    /// Large blocks, each a mapping of its own.
    pub mapped: usize,
    /// Kept in the arenas for later allocations, resident or given back to the system.
    pub free: usize,
}

/// To be asked off the workers: it takes the allocator's locks, one after the other.
pub fn allocator() -> Allocator {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: only reads the allocator's own figures.
        let info = unsafe { libc::mallinfo2() };
        Allocator {
            in_arenas: info.uordblks,
            mapped: info.hblkhd,
            free: info.fordblks,
        }
    }
    #[cfg(not(target_env = "gnu"))]
    Allocator {
        in_arenas: usize::try_from(total()).unwrap_or(0),
        mapped: 0,
        free: 0,
    }
}

/// Large blocks are the system's own mappings and go back when they are freed. (The C library would raise that size
/// with the first large block that is freed, and keep what lies between blocks in use.) To be called first of all.
pub fn keep_little() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 128 << 10;
        // SAFETY: a setting of the allocator; no other thread runs yet.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Gives free memory of the allocator back to the system. Off the workers, as [`allocator`].
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: frees nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed_whoever_frees_it() {
        std::thread::spawn(|| {
            let before = live();
            let mut kept: Vec<u8> = Vec::with_capacity(100_000);
            assert_eq!(live() - before, 100_000);
            kept.reserve_exact(300_000);
            assert_eq!(live() - before, 300_000);
            let zeroes = vec![0u64; 1000];
            assert_eq!(live() - before, 308_000);
            drop(zeroes);
            let other = std::thread::spawn(move || {
                let mine = live();
                drop(kept);
                live() - mine
            });
            assert_eq!(other.join().expect("ends"), -300_000);
            // a thread's own structures
            assert!((live() - before - 300_000).abs() < 4096);
            assert!(total() > 0);
        })
        .join()
        .expect("no assertion failed");
    }

    #[test]
    fn the_allocator_knows_of_what_is_in_use() {
        let kept = vec![7u8; 32 << 20];
        let with = allocator();
        assert!(with.mapped >= 32 << 20, "{with:?}");
        drop(kept);
        give_back();
        assert!(allocator().mapped <= with.mapped - (31 << 20));
    }
}
