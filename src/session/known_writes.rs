//! Statements that looked like reads and were refused by a replica because they write.
use ahash::AHashMap;

/// Digests per worker; beyond this the oldest half is forgotten (a forgotten one is refused once more
/// by a replica, before any effect, and comes back).
const LIMIT: usize = 4096;

#[derive(Default)]
pub struct KnownWrites {
    digests: AHashMap<u64, u64>,
    clock: u64,
}

impl KnownWrites {
    /// Nothing is known: the caller need not compute a digest.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    pub fn contains(&self, digest: u64) -> bool {
        self.digests.contains_key(&digest)
    }

    pub fn remember(&mut self, digest: u64) {
        if self.digests.len() >= LIMIT {
            let mut ages: Vec<u64> = self.digests.values().copied().collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            self.digests.retain(|_, age| *age > middle);
        }
        self.clock += 1;
        self.digests.insert(digest, self.clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_digests_stay_when_the_table_is_full() {
        let mut known = KnownWrites::default();
        assert!(known.is_empty());
        for digest in 0..3 * LIMIT as u64 {
            known.remember(digest);
        }
        assert!(known.digests.len() <= LIMIT);
        assert!(known.contains(3 * LIMIT as u64 - 1));
        assert!(!known.contains(0));
    }
}
