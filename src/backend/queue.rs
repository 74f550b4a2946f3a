//! Who waits for a connection to one server, first come first served, bounded. `G` is what is granted.
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// More than this many are refused at once instead of piling up.
pub(super) const CAPACITY: usize = 10_000;
/// After this long, the first in the queue no longer stands back for those who fit a returned connection better.
const PATIENCE: Duration = Duration::from_millis(100);

/// Which connections a waiter can use: pool, capability flags, guard. The session state does not matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub pool: usize,
    pub capabilities: u64,
    pub guarded: bool,
}

/// Per worker and server. Entries given up stay until they are met or too many.
pub(super) struct Queue<G> {
    entries: VecDeque<Entry<G>>,
    /// Entries given up, shared with the tickets.
    given_up: Rc<Cell<usize>>,
    capacity: usize,
}

struct Entry<G> {
    key: Key,
    since: Instant,
    slot: Rc<Slot<G>>,
}

struct Slot<G> {
    state: Cell<SlotState>,
    grant: RefCell<Option<G>>,
    waker: RefCell<Option<Waker>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Waiting,
    Granted,
    GivenUp,
}

/// The waiter's end; dropping it gives the place up (and drops a grant that was not taken).
pub(super) struct Ticket<G> {
    slot: Rc<Slot<G>>,
    given_up: Rc<Cell<usize>>,
}

/// What should happen to a connection that came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offer<G> {
    /// Handed over.
    Taken,
    /// Nobody waits for such a one: keep it.
    Unwanted(G),
    /// The first in the queue has waited too long for one of another kind: close this one to make room.
    MakeRoom(G),
}

impl<G> Queue<G> {
    pub fn new(capacity: usize) -> Queue<G> {
        Queue {
            entries: VecDeque::new(),
            given_up: Rc::default(),
            capacity,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.given_up.get()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.entries.len()
    }

    /// `None`: the queue is full. `first`: for one who had his turn and was sent back.
    pub fn join(&mut self, key: Key, since: Instant, first: bool) -> Option<Ticket<G>> {
        if self.given_up.get() > self.entries.len() / 2 {
            self.entries
                .retain(|entry| entry.slot.state.get() == SlotState::Waiting);
            self.given_up.set(0);
        }
        if self.len() >= self.capacity && !first {
            return None;
        }
        let slot = Rc::new(Slot {
            state: Cell::new(SlotState::Waiting),
            grant: RefCell::new(None),
            waker: RefCell::new(None),
        });
        let ticket = Ticket {
            slot: slot.clone(),
            given_up: self.given_up.clone(),
        };
        let entry = Entry { key, since, slot };
        if first {
            self.entries.push_front(entry);
        } else {
            self.entries.push_back(entry);
        }
        Some(ticket)
    }

    /// Since when the first has waited, and for what.
    pub fn first(&mut self) -> Option<(Key, Instant)> {
        self.forget_given_up();
        self.entries.front().map(|entry| (entry.key, entry.since))
    }

    /// Gives to whoever is first; back if nobody waits.
    pub fn grant_first(&mut self, grant: G) -> Result<(), G> {
        self.forget_given_up();
        match self.entries.pop_front() {
            Some(entry) => {
                entry.slot.fill(grant);
                Ok(())
            }
            None => Err(grant),
        }
    }

    /// Offers a connection of this kind to the first who can use it.
    pub fn offer(&mut self, key: Key, now: Instant, grant: G) -> Offer<G> {
        let Some((first, since)) = self.first() else {
            return Offer::Unwanted(grant);
        };
        if first != key && now.saturating_duration_since(since) > PATIENCE {
            return Offer::MakeRoom(grant);
        }
        let fits =
            |entry: &Entry<G>| entry.key == key && entry.slot.state.get() == SlotState::Waiting;
        match self
            .entries
            .iter()
            .position(fits)
            .and_then(|at| self.entries.remove(at))
        {
            Some(entry) => {
                entry.slot.fill(grant);
                Offer::Taken
            }
            None => Offer::Unwanted(grant),
        }
    }

    fn forget_given_up(&mut self) {
        while self
            .entries
            .front()
            .is_some_and(|entry| entry.slot.state.get() == SlotState::GivenUp)
        {
            self.entries.pop_front();
            self.given_up.set(self.given_up.get() - 1);
        }
    }
}

impl<G> Slot<G> {
    fn fill(&self, grant: G) {
        self.state.set(SlotState::Granted);
        *self.grant.borrow_mut() = Some(grant);
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<G> Ticket<G> {
    pub fn take(&self) -> Option<G> {
        self.slot.grant.borrow_mut().take()
    }

    /// Who is woken by the grant.
    pub fn register(&self, waker: &Waker) {
        let mut known = self.slot.waker.borrow_mut();
        match &mut *known {
            Some(old) if old.will_wake(waker) => {}
            other => *other = Some(waker.clone()),
        }
    }
}

impl<G> Drop for Ticket<G> {
    fn drop(&mut self) {
        if self.slot.state.get() == SlotState::Waiting {
            self.slot.state.set(SlotState::GivenUp);
            self.given_up.set(self.given_up.get() + 1);
        }
        // Outside the borrow: dropping a connection may come back to the pool.
        let grant = self.take();
        drop(grant);
    }
}
