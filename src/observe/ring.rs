//! Records from one worker to the thread that writes them down: a bounded queue of bytes without a lock.
//!
//! One writer, one reader. Positions only grow; the writer publishes its own after the bytes, the reader after it
//! has taken them. The words are made at the first record, so that an unused ring costs nothing.
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, OnceLock};

const WORD: usize = 8;

struct Shared {
    words: OnceLock<Box<[AtomicU64]>>,
    capacity: usize,
    /// Words written, and words taken, since the start. Invariant: taken ≤ written ≤ taken + capacity.
    written: Apart,
    taken: Apart,
}

/// On a cache line of its own (and the neighbour that processors fetch with it), so that the two threads do not take the
/// line from each other at each record.
#[repr(align(128))]
#[derive(Default)]
struct Apart(AtomicU64);

/// The worker's end.
pub struct Writer {
    ring: Arc<Shared>,
    /// Words that the reader had taken when that was last looked at: it is only where they leave no room.
    taken: Cell<u64>,
}

/// The other thread's end.
pub struct Reader {
    ring: Arc<Shared>,
    /// The same of the words that were written.
    written: Cell<u64>,
}

/// A ring for about `bytes` bytes.
pub fn ring(bytes: usize) -> (Writer, Reader) {
    let shared = Arc::new(Shared {
        words: OnceLock::new(),
        capacity: (bytes / WORD).next_power_of_two().max(16),
        written: Apart::default(),
        taken: Apart::default(),
    });
    let writer = Writer {
        ring: shared.clone(),
        taken: Cell::new(0),
    };
    let reader = Reader {
        ring: shared,
        written: Cell::new(0),
    };
    (writer, reader)
}

/// Words that a record of `bytes` bytes takes: its length, and itself.
fn words_for(bytes: usize) -> usize {
    1 + bytes.div_ceil(WORD)
}

/// As many of the bytes as there are words for; zeroes behind the end.
fn copy(bytes: &[u8], words: &[AtomicU64]) {
    let chunks = bytes.chunks_exact(WORD);
    let rest = chunks.remainder();
    let whole = chunks.filter_map(|chunk| chunk.first_chunk());
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_le_bytes(*bytes), Relaxed);
    }
    if let Some(word) = words.get(bytes.len() / WORD).filter(|_| !rest.is_empty()) {
        let mut bytes = [0; WORD];
        bytes[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

impl Writer {
    /// Whether a record of so many bytes has room now.
    pub fn has_room(&self, bytes: usize) -> bool {
        let (ring, wanted) = (&*self.ring, words_for(bytes));
        let written = ring.written.0.load(Relaxed);
        let room = |taken: u64| ring.capacity - (written - taken) as usize;
        if wanted <= room(self.taken.get()) {
            return true;
        }
        self.taken.set(ring.taken.0.load(Acquire));
        wanted <= room(self.taken.get())
    }

    /// Bytes that can wait here at most.
    pub fn capacity(&self) -> usize {
        (self.ring.capacity - 1) * WORD
    }

    /// Bytes that the ring uses now.
    pub fn allocated(&self) -> usize {
        self.ring.words.get().map_or(0, |words| words.len() * WORD)
    }

    /// Adds a record; false: there is no room.
    pub fn put(&self, record: &[u8]) -> bool {
        if !self.has_room(record.len()) {
            return false;
        }
        let ring = &*self.ring;
        let words = ring.words.get_or_init(|| {
            let zeroes = std::iter::repeat_with(|| AtomicU64::new(0));
            zeroes.take(ring.capacity).collect()
        });
        let start = ring.written.0.load(Relaxed);
        let end = start + words_for(record.len()) as u64;
        let (again, here) = words
            .split_at_checked(start as usize & (ring.capacity - 1))
            .unwrap_or_default();
        let Some((length, here)) = here.split_first() else {
            return false;
        };
        length.store(record.len() as u64, Relaxed);
        // up to the ring's end, and from its beginning
        let (first, second) = record
            .split_at_checked(here.len() * WORD)
            .unwrap_or((record, &[]));
        copy(first, here);
        copy(second, again);
        ring.written.0.store(end, Release);
        true
    }
}

impl Reader {
    /// Takes the oldest record into `record`, which is cleared first; false: there is none.
    pub fn take(&self, record: &mut Vec<u8>) -> bool {
        record.clear();
        let ring = &*self.ring;
        let start = ring.taken.0.load(Relaxed);
        if self.written.get() == start {
            self.written.set(ring.written.0.load(Acquire));
        }
        let written = self.written.get();
        let Some(words) = ring.words.get().filter(|_| written > start) else {
            return false;
        };
        let word = |at: u64| {
            let word = words.get(at as usize & (ring.capacity - 1));
            word.map_or(0, |word| word.load(Relaxed))
        };
        let length = word(start) as usize;
        let end = start + words_for(length) as u64;
        debug_assert!(end <= written);
        record.reserve(length + WORD);
        for at in start + 1..end.min(written) {
            record.extend_from_slice(&word(at).to_le_bytes());
        }
        record.truncate(length);
        ring.taken.0.store(end, Release);
        true
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        let waiting = self.ring.written.0.load(Acquire) - self.ring.taken.0.load(Relaxed);
        waiting as usize * WORD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_as_they_went_in_until_the_ring_is_full() {
        let (writer, reader) = ring(256);
        let mut out = Vec::new();
        assert!(!reader.take(&mut out));
        for round in 0..100u8 {
            let records: Vec<Vec<u8>> = (0..4)
                .map(|n| vec![round ^ n; usize::from(n) * 9])
                .collect();
            for record in &records {
                assert!(writer.put(record));
            }
            assert!(reader.waiting() > 0);
            for record in &records {
                assert!(reader.take(&mut out));
                assert_eq!(&out, record);
            }
        }
        assert!(!writer.put(&[0; 256]), "larger than the ring");
        let fitting = (0..).take_while(|_| writer.put(&[7; 24])).count();
        assert_eq!(fitting, 8);
        assert!(!writer.has_room(24) && reader.take(&mut out) && writer.put(&[8; 24]));
    }

    #[test]
    fn a_reader_on_another_thread_gets_every_record_in_order() {
        let (writer, reader) = ring(4096);
        const COUNT: u64 = 20_000;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut n = 0;
                while n < COUNT {
                    let record = n.to_le_bytes().repeat(1 + n as usize % 7);
                    if writer.put(&record) {
                        n += 1;
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
            let (mut n, mut record) = (0u64, Vec::new());
            while n < COUNT {
                if !reader.take(&mut record) {
                    std::thread::yield_now();
                    continue;
                }
                assert_eq!(record, n.to_le_bytes().repeat(1 + n as usize % 7));
                n += 1;
            }
        });
    }
}
