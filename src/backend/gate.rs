//! Whether one more connection may be opened now: concurrency, rate, and backoff after failures.
//! Pure: the time and the chance are passed in.
use std::time::{Duration, Instant};

/// Connects of one worker to one server at the same time.
pub(super) const CONCURRENCY: u32 = 16;
/// Connects in one burst, and per second after it.
const BURST: f64 = 64.0;
const PER_SECOND: f64 = 128.0;
/// First and longest backoff.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);
/// A full server is asked again sooner: connections end all the time.
const LONGEST_FULL: Duration = Duration::from_millis(400);

/// Per worker and server.
#[derive(Debug)]
pub(super) struct Gate {
    connecting: u32,
    tokens: f64,
    refilled: Option<Instant>,
    failures: u32,
    closed: Option<(Instant, Failure)>,
}

/// Why the last connect failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// Unreachable, or no sensible greeting; the text says what.
    Down(String),
    /// 1040: the server has no room.
    Full,
}

/// Why no connect is allowed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// Enough are under way.
    Concurrency,
    Rate,
    /// Backing off from a server that could not be reached.
    Down(String),
    /// Backing off from a full server.
    Full,
}

impl Gate {
    pub fn new() -> Gate {
        Gate {
            connecting: 0,
            tokens: BURST,
            refilled: None,
            failures: 0,
            closed: None,
        }
    }

    /// Counts a connect as begun, to be ended by one of the three below.
    pub fn admit(&mut self, now: Instant) -> Result<(), Closed> {
        if let Some((until, failure)) = &self.closed {
            // After the backoff one connect tries it alone.
            if now < *until || self.connecting > 0 {
                return Err(failure.into());
            }
        }
        if self.connecting >= CONCURRENCY {
            return Err(Closed::Concurrency);
        }
        self.refill(now);
        if self.tokens < 1.0 {
            return Err(Closed::Rate);
        }
        self.tokens -= 1.0;
        self.connecting += 1;
        Ok(())
    }

    /// The connect did not take place, or ended in a way that says nothing of the server.
    pub fn withdrawn(&mut self) {
        debug_assert!(self.connecting > 0);
        self.connecting = self.connecting.saturating_sub(1);
    }

    /// It was admitted and nothing was sent: its token is still good.
    pub fn unused(&mut self) {
        self.withdrawn();
        self.tokens = (self.tokens + 1.0).min(BURST);
    }

    pub fn succeeded(&mut self) {
        self.withdrawn();
        self.reopen();
    }

    /// `chance` from 0 to 1 spreads the retries of many workers and proxies.
    pub fn failed(&mut self, now: Instant, failure: Failure, chance: f64) {
        self.withdrawn();
        let longest = if failure == Failure::Full {
            LONGEST_FULL
        } else {
            LONGEST
        };
        // Connects that began before the first failure do not lengthen the backoff.
        if !matches!(&self.closed, Some((until, _)) if now < *until) {
            self.failures = (self.failures + 1).min(16);
        }
        let exponential = SHORTEST
            .saturating_mul(1 << (self.failures - 1))
            .min(longest);
        let pause = exponential.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        self.closed = Some((now + pause, failure));
    }

    /// The control thread says that the server is alive again, or a connect succeeded.
    pub fn reopen(&mut self) {
        self.failures = 0;
        self.closed = None;
    }

    fn refill(&mut self, now: Instant) {
        let before = self.refilled.replace(now).unwrap_or(now);
        let gained = now.saturating_duration_since(before).as_secs_f64() * PER_SECOND;
        self.tokens = (self.tokens + gained).min(BURST);
    }
}

impl From<&Failure> for Closed {
    fn from(failure: &Failure) -> Closed {
        match failure {
            Failure::Down(text) => Closed::Down(text.clone()),
            Failure::Full => Closed::Full,
        }
    }
}
