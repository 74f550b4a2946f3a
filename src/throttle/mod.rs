//! Token buckets: statements a second, held by added latency. Pure: `now` is handed in.
#[cfg(test)]
mod tests;

/// Duration of one second in the unit of `now`.
const SECOND: u128 = 1_000_000_000;

/// Admits `rate` statements a second, after `burst` at once. Per worker and user.
///
/// Time is counted in nanoseconds × rate, in which both a nanosecond (`rate`) and a statement
/// (10⁹) are whole numbers: nothing is rounded from one statement to the next, so the rate is exact
/// over any time.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: u32,
    burst: u32,
    /// When all admitted statements will have been paid for; the bucket is full from then on.
    paid_at: u128,
}

impl TokenBucket {
    /// A full bucket. A rate or burst of 0 counts as 1: a bucket never stops anyone for good.
    pub fn new(rate: u32, burst: u32) -> TokenBucket {
        TokenBucket {
            rate: rate.max(1),
            burst: burst.max(1),
            paid_at: 0,
        }
    }

    /// Admits one statement and returns how many nanoseconds it must wait first (0: none). Later
    /// ones queue behind it. `now`: nanoseconds of a clock that does not run backwards; if it does,
    /// statements wait longer, none is let through early.
    pub fn admit(&mut self, now: u64) -> u64 {
        let rate = u128::from(self.rate);
        let now = u128::from(now) * rate;
        self.paid_at = self.paid_at.max(now) + SECOND;
        let may_start = self.paid_at.saturating_sub(u128::from(self.burst) * SECOND);
        let wait = may_start.saturating_sub(now).div_ceil(rate);
        u64::try_from(wait).unwrap_or(u64::MAX)
    }

    /// Changes rate and burst from `now` on; statements not yet paid for keep their number, not
    /// their time.
    pub fn set_rate(&mut self, rate: u32, burst: u32, now: u64) {
        let owed = self
            .paid_at
            .saturating_sub(u128::from(now) * u128::from(self.rate));
        self.rate = rate.max(1);
        self.burst = burst.max(1);
        // `owed` is in statements × 10⁹, whatever the rate
        self.paid_at = u128::from(now) * u128::from(self.rate) + owed;
    }
}
