use super::*;

const SECOND_NANOS: u64 = 1_000_000_000;

/// Statements that start within `seconds`, when the user always has `waiting` of them queued.
fn started(rate: u32, burst: u32, seconds: u64, waiting: usize) -> u64 {
    let paid = AtomicU64::new(0);
    let start = 5 * SECOND_NANOS;
    let mut queue: std::collections::BinaryHeap<std::cmp::Reverse<u64>> = Default::default();
    for _ in 0..waiting {
        queue.push(std::cmp::Reverse(start + admit(&paid, rate, burst, start)));
    }
    let mut count = 0;
    while let Some(std::cmp::Reverse(at)) = queue.pop() {
        if at >= start + seconds * SECOND_NANOS {
            return count;
        }
        count += 1;
        queue.push(std::cmp::Reverse(at + admit(&paid, rate, burst, at)));
    }
    count
}

#[test]
fn a_busy_user_gets_its_rate_and_the_burst_once() {
    for rate in [1, 3, 7, 100, 999, 5000, 77_777] {
        for waiting in [1, 2, 50] {
            let count = started(rate, 1, 10, waiting);
            let wanted = u64::from(rate) * 10;
            let off = count.abs_diff(wanted);
            assert!(
                off <= 2 + wanted / 1000,
                "rate {rate}, {waiting} waiting: {count} instead of {wanted}"
            );
        }
    }
    let with_burst = started(100, 20, 10, 50);
    assert!((1018..=1021).contains(&with_burst), "{with_burst}");
}

#[test]
fn a_user_below_its_rate_never_waits() {
    let paid = AtomicU64::new(0);
    for i in 1..1000u64 {
        assert_eq!(admit(&paid, 100, 1, i * 10_000_001), 0);
    }
}

#[test]
fn a_pause_does_not_save_up_more_than_the_burst() {
    let paid = AtomicU64::new(0);
    assert_eq!(admit(&paid, 10, 3, SECOND_NANOS), 0);
    let later = 100 * SECOND_NANOS;
    let free = (0..10).filter(|_| admit(&paid, 10, 3, later) == 0).count();
    assert_eq!(free, 3);
}

#[test]
fn a_statement_given_back_leaves_its_place_to_the_next() {
    let paid = AtomicU64::new(0);
    let now = SECOND_NANOS;
    assert_eq!(admit(&paid, 10, 1, now), 0);
    let wait = admit(&paid, 10, 1, now);
    give_back(&paid, 10);
    assert_eq!(admit(&paid, 10, 1, now), wait);
}

#[test]
fn threads_share_one_rate() {
    let paid = AtomicU64::new(0);
    let now = SECOND_NANOS;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    admit(&paid, 1000, 1, now);
                }
            });
        }
    });
    // 4,000 statements at 1,000 a second: the next one waits for four seconds
    assert_eq!(admit(&paid, 1000, 1, now), 4 * SECOND_NANOS);
}
