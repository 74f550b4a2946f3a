//! The worker's clock: read once a pass, handed out as often as asked.
use super::timers::{Nanos, NEVER};
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
}

/// `Instant` hides its nanoseconds; a pair taken at the start converts. The `Instant` is taken
/// first, so that a converted deadline is never early.
#[derive(Clone, Copy)]
struct Clock {
    instant: Instant,
    nanos: Nanos,
    now: Nanos,
}

/// Time at the start of this pass of the driver (one clock_gettime a pass).
pub fn now() -> Instant {
    match CLOCK.get() {
        Some(clock) => clock.instant + Duration::from_nanos(clock.now - clock.nanos),
        None => Instant::now(),
    }
}

/// CLOCK_MONOTONIC nanoseconds, read now.
pub fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the kernel to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(super) fn start() -> Nanos {
    let instant = Instant::now();
    let nanos = monotonic_nanos();
    CLOCK.set(Some(Clock {
        instant,
        nanos,
        now: nanos,
    }));
    nanos
}

/// A new pass.
pub(super) fn tick() -> Nanos {
    let now = monotonic_nanos();
    if let Some(clock) = CLOCK.get() {
        CLOCK.set(Some(Clock { now, ..clock }));
    }
    now
}

pub(super) fn nanos_of(instant: Instant) -> Nanos {
    let Some(clock) = CLOCK.get() else {
        return NEVER;
    };
    let since = instant.saturating_duration_since(clock.instant);
    clock.nanos.saturating_add(nanos(since))
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(duration.subsec_nanos()))
}
