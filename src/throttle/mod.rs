//! Statements per second of a user, held by added latency, exact over all workers. Pure: `now` is handed in.
//!
//! One number per user says up to when its statements are paid for (a generic cell rate algorithm, as ATM
//! networks used it: ITU-T I.371). It is the one thing on a turn's path that workers share by a compare-and-swap,
//! and only users with a `qps` setting come here.
pub mod failures;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Fractions of a nanosecond in which the paid-up time is kept, so that rates that do not divide a second
/// stay exact to 0.01 % up to two million statements a second.
const FRACTION: u64 = 16;
const SECOND: u64 = 1_000_000_000 * FRACTION;

/// Admits one statement of a user with `rate` statements a second, after `burst` at once, and returns how many
/// nanoseconds it must wait first (0: none). Later ones queue behind it. `paid_until` is the user's (0 at first);
/// `now`: nanoseconds of a clock that does not run backwards. A rate or burst of 0 counts as 1.
pub fn admit(paid_until: &AtomicU64, rate: u32, burst: u32, now: u64) -> u64 {
    let now = now.saturating_mul(FRACTION);
    let interval = SECOND / u64::from(rate.max(1));
    let ahead = interval.saturating_mul(u64::from(burst.max(1)));
    let mut seen = paid_until.load(Relaxed);
    loop {
        let paid = seen.max(now).saturating_add(interval);
        match paid_until.compare_exchange_weak(seen, paid, Relaxed, Relaxed) {
            Ok(_) => {
                return paid
                    .saturating_sub(ahead)
                    .saturating_sub(now)
                    .div_ceil(FRACTION)
            }
            Err(other) => seen = other,
        }
    }
}

/// Gives back a statement that was admitted and will not run.
pub fn give_back(paid_until: &AtomicU64, rate: u32) {
    let interval = SECOND / u64::from(rate.max(1));
    // failing is impossible: the closure always returns a value
    let _ = paid_until.fetch_update(Relaxed, Relaxed, |paid| Some(paid.saturating_sub(interval)));
}
