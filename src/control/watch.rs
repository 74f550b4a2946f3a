//! The task that checks one server again and again, and how soon it does.

use super::health::{Outcome, FAILURES_TO_DEAD};
use super::probe::Prober;
use super::stall::StallClock;
use crate::config::{Address, Monitor, ProxyHeaders, ServerTls};
use crate::topology::{Greeting, Target};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Between checks of a server without a monitor account: each of them is a refused login in the
/// server's log.
const UNMONITORED_INTERVAL: Duration = Duration::from_secs(5);
/// The longest that one round may take.
const LONGEST_ROUND: Duration = Duration::from_secs(2);
/// The shortest deadline, however short the interval: a busy server is not a dead one.
const SHORTEST_ROUND: Duration = Duration::from_millis(500);
/// Between checks while it is open whether a server is dead or alive again.
const IN_DOUBT: Duration = Duration::from_millis(500);

/// What one round brought, for the keeper.
pub(super) struct Report {
    /// Names the server: an address is configured once.
    pub address: Address,
    /// Of the task; reports of a replaced task are stale.
    pub generation: u64,
    /// When the check began.
    pub began: Instant,
    pub at: Instant,
    /// None: the process itself stalled, the round proves nothing.
    pub outcome: Option<Outcome>,
    pub greeting: Option<Greeting>,
    pub target: Option<Target>,
}

/// Ends when its receiver is gone; may be aborted at any point.
pub(super) async fn watch(
    address: Address,
    generation: u64,
    monitor: Option<Monitor>,
    tls: Option<Arc<ServerTls>>,
    headers: Option<ProxyHeaders>,
    reports: mpsc::Sender<Report>,
    clock: Arc<StallClock>,
) {
    let interval = monitor
        .as_ref()
        .map_or(UNMONITORED_INTERVAL, |m| m.interval);
    let deadline = interval.clamp(SHORTEST_ROUND, LONGEST_ROUND);
    let mut prober = Prober::new(address.clone(), monitor, tls, headers, deadline);
    let mut pace = Pace::new(interval);
    loop {
        let started = Instant::now();
        let outcome = prober.round().await;
        let at = Instant::now();
        let failed = matches!(outcome, Outcome::Failed { .. });
        let counts = !(failed && clock.stalled(started, at));
        let report = Report {
            address: address.clone(),
            generation,
            began: started,
            at,
            outcome: counts.then_some(outcome),
            greeting: prober.learnt(),
            target: prober.target(),
        };
        if reports.send(report).await.is_err() {
            return;
        }
        let pause = if counts {
            pace.after(failed)
        } else {
            IN_DOUBT.min(interval)
        };
        tokio::time::sleep(pause).await;
    }
}

/// How long to wait until the next round. Pure.
struct Pace {
    interval: Duration,
    failures: u32,
    /// The round before was a failure.
    recovering: bool,
}

impl Pace {
    fn new(interval: Duration) -> Pace {
        Pace {
            interval,
            failures: 0,
            recovering: false,
        }
    }

    /// In doubt (a first failure, a first answer after failures) the next round comes soon; a server
    /// known to be dead or well has time.
    fn after(&mut self, failed: bool) -> Duration {
        let doubt = match failed {
            true => self.failures < FAILURES_TO_DEAD,
            false => self.recovering,
        };
        self.recovering = failed;
        self.failures = if failed {
            self.failures.saturating_add(1)
        } else {
            0
        };
        if doubt {
            self.interval.min(IN_DOUBT)
        } else {
            self.interval
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_come_sooner_only_while_it_is_open_whether_the_server_lives() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::new(second);
        assert_eq!(pace.after(false), second);
        for _ in 0..FAILURES_TO_DEAD {
            assert_eq!(pace.after(true), IN_DOUBT);
        }
        assert_eq!(pace.after(true), second, "dead: no haste");
        assert_eq!(
            pace.after(false),
            IN_DOUBT,
            "the first answer is to be confirmed"
        );
        assert_eq!(pace.after(false), second);
    }

    #[test]
    fn an_interval_shorter_than_the_pace_in_doubt_is_kept() {
        let mut pace = Pace::new(Duration::from_millis(50));
        assert_eq!(pace.after(true), Duration::from_millis(50));
    }
}
