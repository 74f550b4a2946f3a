use crate::backend::gate::{Closed, Failure, Gate, CONCURRENCY};
use std::time::{Duration, Instant};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn down() -> Failure {
    Failure::Down("refused".into())
}

#[test]
fn so_many_connects_at_once_and_no_more() {
    let (mut gate, now) = (Gate::new(), Instant::now());
    for _ in 0..CONCURRENCY {
        assert_eq!(gate.admit(now), Ok(()));
    }
    assert_eq!(gate.admit(now), Err(Closed::Concurrency));
    gate.succeeded();
    assert_eq!(gate.admit(now), Ok(()));
}

#[test]
fn a_storm_is_slowed_to_the_rate() {
    let (mut gate, start) = (Gate::new(), Instant::now());
    let mut admitted = 0;
    for millisecond in 0..1000 {
        while gate.admit(start + ms(millisecond)).is_ok() {
            gate.succeeded();
            admitted += 1;
        }
    }
    assert!((64..=64 + 129).contains(&admitted), "{admitted}");
    assert_eq!(gate.admit(start + ms(999)), Err(Closed::Rate));
}

#[test]
fn an_unused_leave_costs_nothing() {
    let (mut gate, now) = (Gate::new(), Instant::now());
    for _ in 0..10_000 {
        assert_eq!(gate.admit(now), Ok(()));
        gate.unused();
    }
}

#[test]
fn failures_close_the_gate_for_longer_and_longer() {
    let (mut gate, mut now) = (Gate::new(), Instant::now());
    let mut last = Duration::ZERO;
    for _ in 0..20 {
        assert_eq!(gate.admit(now), Ok(()));
        gate.failed(now, down(), 1.0);
        let closed = (0..10_000)
            .map(ms)
            .find(|after| gate.clone_admits(now + *after))
            .unwrap_or_default();
        assert!(
            closed >= last.min(Duration::from_secs(5)),
            "{closed:?} after {last:?}"
        );
        assert!(closed <= Duration::from_secs(5));
        last = closed;
        now += closed;
    }
    assert_eq!(last, Duration::from_secs(5));
}

#[test]
fn chance_spreads_the_retries() {
    let now = Instant::now();
    let (mut early, mut late) = (Gate::new(), Gate::new());
    for (gate, chance) in [(&mut early, 0.0), (&mut late, 1.0)] {
        assert_eq!(gate.admit(now), Ok(()));
        gate.failed(now, down(), chance);
    }
    assert!(early.clone_admits(now + ms(25)));
    assert!(!late.clone_admits(now + ms(49)));
    assert!(late.clone_admits(now + ms(50)));
}

#[test]
fn failures_of_one_storm_count_once() {
    let (mut gate, now) = (Gate::new(), Instant::now());
    for _ in 0..10 {
        assert_eq!(gate.admit(now), Ok(()));
    }
    for _ in 0..10 {
        gate.failed(now, down(), 1.0);
    }
    assert!(gate.clone_admits(now + ms(50)));
}

#[test]
fn after_the_backoff_one_tries_alone() {
    let (mut gate, now) = (Gate::new(), Instant::now());
    assert_eq!(gate.admit(now), Ok(()));
    gate.failed(now, down(), 1.0);
    let later = now + ms(60);
    assert_eq!(gate.admit(later), Ok(()));
    assert_eq!(gate.admit(later), Err(Closed::Down("refused".into())));
    gate.succeeded();
    assert_eq!(gate.admit(later), Ok(()));
    assert_eq!(gate.admit(later), Ok(()));
}

#[test]
fn a_full_server_is_asked_again_soon() {
    let (mut gate, mut now) = (Gate::new(), Instant::now());
    for _ in 0..10 {
        assert_eq!(gate.admit(now), Ok(()));
        gate.failed(now, Failure::Full, 1.0);
        assert_eq!(gate.admit(now), Err(Closed::Full));
        now += ms(400);
    }
}

#[test]
fn good_news_opens_the_gate_at_once() {
    let (mut gate, now) = (Gate::new(), Instant::now());
    assert_eq!(gate.admit(now), Ok(()));
    gate.failed(now, down(), 1.0);
    gate.reopen();
    assert_eq!(gate.admit(now), Ok(()));
}

impl Gate {
    fn clone_admits(&mut self, now: Instant) -> bool {
        let admitted = self.admit(now).is_ok();
        if admitted {
            self.unused();
        }
        admitted
    }
}
