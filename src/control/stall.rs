//! Telling our own stall from a server's silence.
//!
//! A process that was stopped (SIGSTOP, a frozen host, a starved CPU) finds all its deadlines over
//! when it runs again. A check that failed while the thread did not run proves nothing. A tick
//! every [`TICK`] shows the gaps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const TICK: Duration = Duration::from_millis(100);
/// A tick this late means that the thread did not run. Well above what a busy machine causes.
pub const GAP: Duration = Duration::from_millis(600);

/// Per process; written by the ticking task, read by every check.
#[derive(Debug)]
pub struct StallClock {
    base: Instant,
    /// Nanoseconds since `base`.
    last_tick: AtomicU64,
    /// End of the last stall, nanoseconds since `base`; 0: none yet.
    stall_end: AtomicU64,
}

impl StallClock {
    pub fn new(now: Instant) -> StallClock {
        StallClock {
            base: now,
            last_tick: AtomicU64::new(0),
            stall_end: AtomicU64::new(0),
        }
    }

    /// Records that the thread runs; answers how long it did not, if it stalled.
    pub fn tick(&self, now: Instant) -> Option<Duration> {
        let now = self.nanos(now);
        let gap = Duration::from_nanos(now.saturating_sub(self.last_tick.swap(now, Relaxed)));
        if gap < GAP {
            return None;
        }
        self.stall_end.store(now, Relaxed);
        Some(gap)
    }

    /// Whether the thread stalled between `since` and `now`. Counts a stall that no tick has seen
    /// yet: after a stop, a check may run before the ticking task does.
    pub fn stalled(&self, since: Instant, now: Instant) -> bool {
        let late = self.nanos(now).saturating_sub(self.last_tick.load(Relaxed));
        let end = self.stall_end.load(Relaxed);
        Duration::from_nanos(late) >= GAP || (end > 0 && end >= self.nanos(since))
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.base)
            .as_nanos()
            .try_into()
            .unwrap_or(u64::MAX)
    }
}

/// Ticks for as long as the control thread lives.
pub(super) async fn keep_ticking(clock: Arc<StallClock>) {
    loop {
        tokio::time::sleep(TICK).await;
        if let Some(gap) = clock.tick(Instant::now()) {
            tracing::warn!(
                ?gap,
                "this process did not run; checks of that time do not count"
            );
        }
    }
}
