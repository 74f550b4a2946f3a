use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const SECOND_NS: u64 = 1_000_000_000;

/// Start times of `count` statements of one client that sends the next when the last was admitted.
fn back_to_back(bucket: &mut TokenBucket, start: u64, count: usize) -> Vec<u64> {
    let mut now = start;
    let admit = |_| {
        now += bucket.admit(now);
        now
    };
    (0..count).map(admit).collect()
}

#[test]
fn a_full_bucket_lets_its_burst_through_at_once_and_then_one_per_interval() {
    let mut bucket = TokenBucket::new(10, 3);
    let starts = back_to_back(&mut bucket, 5 * SECOND_NS, 6);
    let offsets: Vec<u64> = starts.iter().map(|t| t - 5 * SECOND_NS).collect();
    assert_eq!(offsets, [0, 0, 0, 100_000_000, 200_000_000, 300_000_000]);
}

#[test]
fn the_rate_is_exact_for_rates_that_do_not_divide_a_second() {
    for rate in [3, 7, 997, 333_333, 7_654_321] {
        let mut bucket = TokenBucket::new(rate, 1);
        let starts = back_to_back(&mut bucket, 12_345, 1_000_001);
        let took = starts[1_000_000] - starts[0];
        let exact = 1_000_000 * u128::from(SECOND_NS) / u128::from(rate);
        assert!(
            u128::from(took).abs_diff(exact) <= 1,
            "rate {rate}: {took} ns instead of {exact}"
        );
    }
}

#[test]
fn many_clients_at_random_times_are_held_to_the_rate() {
    for seed in 0..20 {
        let mut random = StdRng::seed_from_u64(seed);
        let rate = random.gen_range(1..20_000);
        let burst = random.gen_range(1..100);
        let mut bucket = TokenBucket::new(rate, burst);
        let (mut now, mut starts) = (random.gen_range(0..SECOND_NS), Vec::new());
        let begin = now;
        // offered: twice the rate
        for _ in 0..50_000 {
            now += random.gen_range(0..=SECOND_NS / u64::from(rate));
            starts.push(now + bucket.admit(now));
        }
        let seconds = (starts[starts.len() - 1] - begin) as f64 / 1e9;
        let got = (starts.len() as f64 - f64::from(burst)) / seconds;
        let off = (got / f64::from(rate) - 1.0).abs();
        assert!(off < 0.01, "seed {seed}: {got} a second instead of {rate}");
        assert!(
            starts.is_sorted(),
            "seed {seed}: a later statement overtook an earlier one"
        );
    }
}

#[test]
fn in_no_window_more_than_burst_and_rate_are_admitted() {
    let mut random = StdRng::seed_from_u64(42);
    let (rate, burst) = (100, 20);
    let mut bucket = TokenBucket::new(rate, burst);
    let (mut now, mut starts) = (0, Vec::new());
    for _ in 0..5_000 {
        // quiet times between bursts
        now += if random.gen_bool(0.01) {
            random.gen_range(0..3 * SECOND_NS)
        } else {
            random.gen_range(0..SECOND_NS / 200)
        };
        starts.push(now + bucket.admit(now));
    }
    for (i, from) in starts.iter().enumerate() {
        let within = starts[i..]
            .iter()
            .take_while(|t| **t < from + SECOND_NS)
            .count();
        assert!(
            within <= (rate + burst) as usize,
            "{within} statements in the second after {from}"
        );
    }
}

#[test]
fn a_client_below_its_rate_never_waits() {
    let mut bucket = TokenBucket::new(1_000, 1);
    assert!((0..10_000_u64).all(|i| bucket.admit(i * 1_000_000) == 0));
}

#[test]
fn an_idle_bucket_saves_no_more_than_its_burst() {
    let mut bucket = TokenBucket::new(10, 2);
    bucket.admit(0);
    let starts = back_to_back(&mut bucket, 3_600 * SECOND_NS, 3);
    assert_eq!(starts[2] - starts[0], 100_000_000);
}

#[test]
fn a_new_rate_keeps_what_is_owed() {
    let mut bucket = TokenBucket::new(10, 1);
    for _ in 0..11 {
        bucket.admit(SECOND_NS);
    }
    // eleven admitted: the next would wait 1.1 s; at ten times the rate a tenth of that
    bucket.set_rate(100, 1, SECOND_NS);
    assert_eq!(bucket.admit(SECOND_NS), 110_000_000);
}

#[test]
fn a_clock_that_steps_back_lets_nothing_through_early() {
    let mut bucket = TokenBucket::new(10, 1);
    assert_eq!(bucket.admit(SECOND_NS), 0);
    assert_eq!(bucket.admit(SECOND_NS / 2), 600_000_000);
}

#[test]
fn a_rate_of_zero_and_the_largest_values_do_not_overflow() {
    assert_eq!(TokenBucket::new(0, 0).admit(0), 0);
    let mut bucket = TokenBucket::new(u32::MAX, u32::MAX);
    assert_eq!(bucket.admit(u64::MAX), 0);
    bucket.set_rate(1, 1, u64::MAX);
    assert_eq!(bucket.admit(u64::MAX), SECOND_NS);
}
