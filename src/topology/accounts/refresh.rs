//! The wish to have the accounts read again, from any worker to the control thread.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use std::sync::Arc;

/// One a group; outlives snapshots. Never blocks.
pub struct Refresh {
    wanted: AtomicU64,
    /// Statements under way that may change accounts.
    changing: AtomicU32,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Refresh {
    /// `wake` tells the reader of a new wish; called on workers, so it must not block.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Refresh {
        Refresh {
            // from the start somebody wants the first reading
            wanted: AtomicU64::new(1),
            changing: AtomicU32::new(0),
            wake: Box::new(wake),
        }
    }

    /// The accounts may have changed, or are not what a client expects. Answers the version to wait for:
    /// [`super::Accounts::version`] of accounts that were read after this call.
    pub fn ask(&self) -> u64 {
        let wanted = self.wanted.fetch_add(1, AcqRel) + 1;
        (self.wake)();
        wanted
    }

    /// The version that is surely up to date with all that clients of Umpire have done.
    pub fn current(&self) -> u64 {
        if self.changing.load(Acquire) > 0 {
            return self.ask();
        }
        self.wanted()
    }

    /// The newest wish.
    pub fn wanted(&self) -> u64 {
        self.wanted.load(Acquire)
    }
}

/// A statement that may change accounts is under way: its effect may be there before its client or Umpire
/// knows, and a login meanwhile has to look. When it is over, what was read before is out of date.
pub struct Changing(Arc<Refresh>);

impl Changing {
    pub fn new(refresh: Arc<Refresh>) -> Changing {
        refresh.changing.fetch_add(1, AcqRel);
        Changing(refresh)
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        // in this order: between the two a login asks by itself
        self.0.ask();
        self.0.changing.fetch_sub(1, AcqRel);
    }
}

impl std::fmt::Debug for Refresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Refresh({})", self.wanted())
    }
}
