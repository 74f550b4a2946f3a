//! Deadlines of one worker: a heap whose entries know their place, so that a timer is moved or
//! removed without leaving a stale entry behind.
//!
//! Sockets use it lazily: a deadline that moves later leaves the entry where it is, and the entry,
//! when it comes up, is put in again for the time that holds then. So a deadline set on every turn
//! costs a comparison.
use std::task::Waker;

/// Nanoseconds of CLOCK_MONOTONIC.
pub(super) type Nanos = u64;
/// No deadline.
pub(super) const NEVER: Nanos = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimerId(u32);

/// Whom a timer that came up concerns.
#[derive(Debug)]
pub(super) enum Owner {
    Socket(u32),
    Listener(u32),
    Task(Waker),
}

/// Per worker.
#[derive(Default)]
pub(super) struct Timers {
    heap: Vec<(Nanos, u32)>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

struct Entry {
    place: usize,
    owner: Option<Owner>,
}

impl Timers {
    pub(super) fn add(&mut self, due: Nanos, owner: Owner) -> TimerId {
        let entry = Entry {
            place: self.heap.len(),
            owner: Some(owner),
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.heap.push((due, id));
        self.rise(self.heap.len() - 1);
        TimerId(id)
    }

    /// Moves a timer to an earlier time; a later one is ignored.
    pub(super) fn bring_forward(&mut self, id: TimerId, due: Nanos) {
        let place = self.entries[id.0 as usize].place;
        if due < self.heap[place].0 {
            self.heap[place].0 = due;
            self.rise(place);
        }
    }

    /// Another waker for a task's timer.
    pub(super) fn set_waker(&mut self, id: TimerId, waker: &Waker) {
        match &mut self.entries[id.0 as usize].owner {
            Some(Owner::Task(old)) if old.will_wake(waker) => {}
            owner => *owner = Some(Owner::Task(waker.clone())),
        }
    }

    pub(super) fn remove(&mut self, id: TimerId) {
        self.take(self.entries[id.0 as usize].place);
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.first().map(|first| first.0)
    }

    /// Removes one timer that is due.
    pub(super) fn pop(&mut self, now: Nanos) -> Option<(TimerId, Owner)> {
        let &(due, id) = self.heap.first()?;
        if due > now {
            return None;
        }
        self.take(0).map(|owner| (TimerId(id), owner))
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    fn take(&mut self, place: usize) -> Option<Owner> {
        let (_, id) = self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.note(place);
            self.sink(place);
            self.rise(place);
        }
        self.free.push(id);
        self.entries[id as usize].owner.take()
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= self.heap[place].0 {
                break;
            }
            self.heap.swap(parent, place);
            self.note(place);
            place = parent;
        }
        self.note(place);
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let Some(&(left_due, _)) = self.heap.get(left) else {
                break;
            };
            let child = match self.heap.get(left + 1) {
                Some(&(right_due, _)) if right_due < left_due => left + 1,
                _ => left,
            };
            if self.heap[place].0 <= self.heap[child].0 {
                break;
            }
            self.heap.swap(place, child);
            self.note(place);
            place = child;
        }
        self.note(place);
    }

    fn note(&mut self, place: usize) {
        let id = self.heap[place].1;
        self.entries[id as usize].place = place;
    }
}
