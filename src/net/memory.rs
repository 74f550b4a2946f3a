//! What a worker's connections hold, and what happens when it is much.
//!
//! Each connection's bytes are counted where they change hands: received and not taken, queued and not sent, and what
//! its owner says it keeps for it ([`Socket::hold`]). Above the high-water mark of the worker's memory nobody gets
//! far ahead: a peer is read only while little of it waits, and not at all while its owner keeps much of it. Who has
//! to go at the ceiling is the caller's to decide.
use super::driver::{self, note_waker, wake, Driver};
use super::slot::Slot;
use super::socket::Aborter;
use super::{heap, pool, Socket};
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, Waker};

/// Under pressure a peer with this much waiting is not read on.
const LIGHT: usize = 16 << 10;

/// What a socket's owner keeps for its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Parts of a message that is not whole.
    Parts = 0,
    /// Prepared statements.
    Statements = 1,
    /// Rows of several shards.
    Rows = 2,
}

pub(super) const KEPT: usize = 3;

/// Bytes that one connection holds, or all of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Received and not taken yet.
    pub received: usize,
    /// Queued for the peer and not taken by the kernel.
    pub queued: usize,
    pub parts: usize,
    pub statements: usize,
    pub rows: usize,
}

impl Held {
    pub fn sum(&self) -> usize {
        self.received + self.queued + self.parts + self.statements + self.rows
    }
}

impl std::ops::AddAssign for Held {
    fn add_assign(&mut self, other: Held) {
        self.received += other.received;
        self.queued += other.queued;
        self.parts += other.parts;
        self.statements += other.statements;
        self.rows += other.rows;
    }
}

/// Of one worker, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// Allocated by the worker's thread.
    pub heap: usize,
    /// Receive buffers that were touched.
    pub buffers: usize,
    /// State of connections, whether they are in use or not.
    pub sockets: usize,
    pub pressed: bool,
}

/// Where the worker stands.
pub(super) struct Pressure {
    /// Of the thread's heap: above it the worker is pressed.
    high: i64,
    pub(super) pressed: bool,
    /// Who decides about the heaviest.
    waiting: Option<Waker>,
    /// Of the thread's heap: above it `grown` is woken.
    look_at: i64,
    grown: Option<Waker>,
    /// The lesser of the two marks: what a pass compares with.
    next: i64,
}

impl Pressure {
    pub(super) const NONE: Pressure = Pressure {
        high: i64::MAX,
        pressed: false,
        waiting: None,
        look_at: i64::MAX,
        grown: None,
        next: i64::MAX,
    };

    fn set(&mut self, high: i64, look_at: i64) {
        (self.high, self.look_at, self.next) = (high, look_at, high.min(look_at));
    }
}

impl Driver {
    /// Once a pass: a comparison, as long as there is memory.
    #[inline]
    pub(super) fn watch_memory(&mut self) {
        let live = heap::live();
        if live > self.pressure.next {
            self.has_grown(live);
        }
        if self.pressure.pressed && live < self.pressure.high - self.pressure.high / 16 {
            self.relieve();
        }
    }

    #[cold]
    fn has_grown(&mut self, live: i64) {
        if live > self.pressure.look_at {
            self.pressure.set(self.pressure.high, i64::MAX);
            wake(&mut self.pressure.grown, &mut self.woken);
        }
        if live > self.pressure.high {
            if !self.pressure.pressed {
                self.pressure.pressed = true;
                self.stats.pressed += 1;
            }
            wake(&mut self.pressure.waiting, &mut self.woken);
        }
    }

    fn relieve(&mut self) {
        self.pressure.pressed = false;
        for slot in &mut self.slots {
            if slot.kept[Kept::Parts as usize] > 0 {
                wake(&mut slot.recv_waker, &mut self.woken);
            }
        }
    }

    /// Bytes that may wait in one direction of a connection.
    #[inline]
    pub(super) fn most_waiting(&self, high_water: usize) -> usize {
        match self.pressure.pressed {
            true => high_water.min(LIGHT),
            false => high_water,
        }
    }

    /// The owner keeps so much of the peer's bytes that it gets no more for now.
    #[inline]
    pub(super) fn is_held_back(&self, index: u32) -> bool {
        self.pressure.pressed
            && self.slots[index as usize].kept[Kept::Parts as usize] as usize > LIGHT
    }
}

impl Slot {
    pub(super) fn held(&self) -> Held {
        let [parts, statements, rows] = self.kept.map(|bytes| bytes as usize);
        Held {
            received: self.received_bytes,
            queued: self.queued,
            parts,
            statements,
            rows,
        }
    }
}

impl Socket {
    /// Says how many bytes the owner keeps for the peer.
    pub fn hold(&self, what: Kept, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        driver::with(|driver| driver.slots[self.index() as usize].kept[what as usize] = bytes);
    }

    /// So much is queued for the peer that its source is to be read no further: more than `high_water`, or than less
    /// while the worker's memory is short.
    #[inline]
    pub fn is_full(&self, high_water: usize) -> bool {
        driver::with(|driver| {
            let queued = driver.slots[self.index() as usize].queued;
            queued > driver.most_waiting(high_water)
        })
    }

    /// Ready once it is not full, or only half full if it was.
    ///
    /// # Errors
    /// As [`Socket::poll_drained`].
    #[inline]
    pub fn poll_room(&self, cx: &mut Context<'_>, high_water: usize) -> Poll<io::Result<()>> {
        driver::with(|driver| {
            let most = driver.most_waiting(high_water);
            if driver.slots[self.index() as usize].queued <= most {
                return Poll::Ready(Ok(()));
            }
            driver.poll_drained(self.index(), most / 2, cx.waker())
        })
    }
}

impl Aborter {
    /// None: the socket is gone.
    pub fn held(self) -> Option<Held> {
        driver::try_with(|driver| Some(self.slot(driver)?.held())).flatten()
    }
}

/// The bytes of this worker's heap above which it is pressed.
pub fn set_high_water(bytes: usize) {
    driver::with(|driver| {
        let high = i64::try_from(bytes).unwrap_or(i64::MAX);
        driver.pressure.set(high, driver.pressure.look_at);
    });
}

/// Ready once this worker's heap is larger by so many bytes than when this was first polled. One at a time: a second
/// one takes the first one's place.
pub async fn grown(bytes: usize) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let target = heap::live().saturating_add(bytes);
    poll_fn(|cx| {
        if heap::live() > target {
            return Poll::Ready(());
        }
        driver::with(|driver| {
            driver.pressure.set(driver.pressure.high, target);
            note_waker(&mut driver.pressure.grown, cx.waker());
            Poll::Pending
        })
    })
    .await
}

/// Most bytes of receive buffers that the worker can have: they come on top of its heap.
pub fn most_buffers() -> usize {
    driver::with(|driver| {
        let config = &driver.config;
        usize::from(config.small_buffers) * config.small_size
            + usize::from(config.bulk_buffers) * config.bulk_size
    })
}

/// Ready once the worker's memory is above the high-water mark.
pub async fn pressed() {
    poll_fn(|cx| {
        driver::with(|driver| {
            if driver.pressure.pressed {
                return Poll::Ready(());
            }
            note_waker(&mut driver.pressure.waiting, cx.waker());
            Poll::Pending
        })
    })
    .await
}

pub fn is_pressed() -> bool {
    driver::with(|driver| driver.pressure.pressed)
}

/// Bytes of the heap that this thread uses.
pub fn heap_used() -> usize {
    usize::try_from(heap::live()).unwrap_or(0)
}

/// Bytes of the heap that the process uses.
pub fn heap_of_process() -> usize {
    usize::try_from(heap::total()).unwrap_or(0)
}

/// What these of the worker's sockets hold together; None: there are none so far up.
pub fn held_by(places: Range<usize>) -> Option<Held> {
    driver::with(|driver| {
        let end = places.end.min(driver.slots.len());
        let mut all = Held::default();
        let slots = driver.slots.get(places.start..end)?;
        slots.iter().for_each(|slot| all += slot.held());
        (!slots.is_empty()).then_some(all)
    })
}

/// What this worker uses.
pub fn memory() -> Use {
    let (sockets, pressed) = driver::with(|driver| {
        let sockets = driver.slots.capacity() * size_of::<Slot>();
        (sockets, driver.pressure.pressed)
    });
    Use {
        heap: heap_used(),
        buffers: pool::resident(pool::SMALL) + pool::resident(pool::BULK),
        sockets,
        pressed,
    }
}
