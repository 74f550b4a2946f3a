//! Statements prepared on one server connection: bounded, least recently used first out.
use std::collections::HashMap;

/// Identity of a statement text in a state; interned by the session layer, unique in the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementKey(pub u128);

impl StatementKey {
    /// The same statement with its parameters of these types; 0: as derived from its text.
    pub fn with_types(self, label: u128) -> StatementKey {
        StatementKey(self.0.wrapping_add(label))
    }
}

/// One statement as the server knows it.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    pub server_id: u32,
    pub parameters: u16,
    pub columns: u16,
    /// Which session's parameter types the server remembers from the last EXECUTE.
    pub types_of: u64,
}

/// Statements prepared on one connection; LRU, bounded. `slots` is a list linked by index, most recently
/// used first; freed slots are in `free`.
pub struct PreparedCache {
    limit: usize,
    by_key: HashMap<StatementKey, usize, ahash::RandomState>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
}

struct Slot {
    key: StatementKey,
    prepared: Prepared,
    newer: usize,
    older: usize,
}

const NONE: usize = usize::MAX;

impl PreparedCache {
    /// Holds at most `limit` statements (at least one: the statement that is about to be executed).
    pub fn new(limit: usize) -> Self {
        PreparedCache {
            limit: limit.max(1),
            by_key: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Also marks it as used.
    pub fn get(&mut self, key: StatementKey) -> Option<&mut Prepared> {
        let at = *self.by_key.get(&key)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        self.slots.get_mut(at).map(|slot| &mut slot.prepared)
    }

    /// Returns the server's id of the statement that had to go (to be closed with COM_STMT_CLOSE). None of `busy` goes: if
    /// there is nothing else, there is one more.
    pub fn insert(
        &mut self,
        key: StatementKey,
        prepared: Prepared,
        busy: &[StatementKey],
    ) -> Option<u32> {
        if let Some(known) = self.get(key) {
            let before = std::mem::replace(known, prepared);
            return (before.server_id != prepared.server_id).then_some(before.server_id);
        }
        let gone = if self.by_key.len() >= self.limit {
            self.evict(busy)
        } else {
            None
        };
        let slot = Slot {
            key,
            prepared,
            newer: NONE,
            older: NONE,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.by_key.insert(key, at);
        self.link(at);
        gone.map(|prepared| prepared.server_id)
    }

    pub fn remove(&mut self, key: StatementKey) -> Option<Prepared> {
        let at = self.by_key.remove(&key)?;
        self.unlink(at);
        self.free.push(at);
        self.slots.get(at).map(|slot| slot.prepared)
    }

    pub fn clear(&mut self) {
        self.by_key.clear();
        self.slots.clear();
        self.free.clear();
        (self.newest, self.oldest) = (NONE, NONE);
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    fn evict(&mut self, busy: &[StatementKey]) -> Option<Prepared> {
        let mut slot = self.slots.get(self.oldest)?;
        while busy.contains(&slot.key) {
            slot = self.slots.get(slot.newer)?;
        }
        let key = slot.key;
        self.remove(key)
    }

    fn link(&mut self, at: usize) {
        let older = std::mem::replace(&mut self.newest, at);
        (self.slots[at].newer, self.slots[at].older) = (NONE, older);
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
    }

    fn unlink(&mut self, at: usize) {
        let (newer, older) = (self.slots[at].newer, self.slots[at].older);
        match self.slots.get_mut(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}
