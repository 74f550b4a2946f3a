//! What a new session starts with, as far as clients of Umpire change it.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use std::sync::Arc;

/// Counts changes of global variables (SET GLOBAL), which hold for the sessions that begin after them: a server
/// connection has the values of its login. One a process; outlives snapshots. Never blocks.
#[derive(Debug, Default)]
pub struct Defaults {
    generation: AtomicU64,
    /// Statements under way that change them.
    changing: AtomicU32,
}

impl Defaults {
    /// For a session that begins now. While a change is under way it may have taken effect already, so that
    /// each session gets a number of its own.
    pub fn generation(&self) -> u64 {
        if self.changing.load(Acquire) > 0 {
            return self.generation.fetch_add(1, AcqRel) + 1;
        }
        self.generation.load(Acquire)
    }
}

/// A change under way; when it is over, new sessions have a new number.
pub struct DefaultsChanging(Arc<Defaults>);

impl DefaultsChanging {
    pub fn new(defaults: Arc<Defaults>) -> DefaultsChanging {
        defaults.changing.fetch_add(1, AcqRel);
        DefaultsChanging(defaults)
    }
}

impl Drop for DefaultsChanging {
    fn drop(&mut self) {
        // in this order: between the two a session gets a number of its own
        self.0.generation.fetch_add(1, AcqRel);
        self.0.changing.fetch_sub(1, AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_begin_during_or_after_a_change_are_told_from_those_before() {
        let defaults = Arc::new(Defaults::default());
        assert_eq!((defaults.generation(), defaults.generation()), (0, 0));
        let changing = DefaultsChanging::new(defaults.clone());
        assert_eq!((defaults.generation(), defaults.generation()), (1, 2));
        drop(changing);
        assert_eq!((defaults.generation(), defaults.generation()), (3, 3));
    }
}
