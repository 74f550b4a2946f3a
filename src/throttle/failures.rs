//! Failed logins by address: an address that keeps failing has to wait, longer each time. Pure: `now` is handed in.
//!
//! A table of fixed size, made at the first failure. An address finds its place by a hash with a secret key, and
//! the whole address is compared: nobody waits for another's failures, and nobody can choose whose place is lost.
use crate::config::Proxy;
use ahash::RandomState;
use std::net::IpAddr;
use std::time::Duration;

/// Places of one set: where an address may stand.
const WAYS: usize = 4;
/// A power of two. With 32 bytes a place the table takes 128 KiB.
const SETS: usize = 1024;
/// An address without a failure for this long has none, nanoseconds.
const FORGET: u64 = 600_000_000_000;
/// The first wait, nanoseconds; each further failure doubles it.
const FIRST: u64 = 50_000_000;

/// From the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Failures without a consequence.
    pub free: u32,
    /// The longest time between two logins of one address.
    pub longest: Duration,
    /// How long a login can wait at all.
    pub patience: Duration,
}

impl Rule {
    pub fn of(proxy: &Proxy) -> Rule {
        Rule {
            free: proxy.failed_logins_free,
            longest: proxy.failed_login_delay,
            // the rest is for what else a login takes
            patience: proxy.login_timeout / 2,
        }
    }
}

/// What a login of an address has to do before its password is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Now,
    /// Its turn comes after this time; it is taken.
    Wait(Duration),
    /// So many of its logins wait already that this one cannot.
    Never,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    address: u64,
    /// Nanoseconds, of the last failure.
    last: u64,
    /// Nanoseconds: when the next login may have its turn.
    next: u64,
    /// 0: nobody's.
    failures: u32,
}

/// Per worker, and one of the admin port.
#[derive(Default)]
pub struct Failures {
    places: Vec<[Place; WAYS]>,
    keys: Option<RandomState>,
}

impl Failures {
    /// Takes the next turn of this address. `now`: nanoseconds of a clock that does not run backwards.
    pub fn turn(&mut self, address: IpAddr, rule: Rule, now: u64) -> Turn {
        if rule.longest.is_zero() {
            return Turn::Now;
        }
        let Some(place) = self.find(address, now) else {
            return Turn::Now;
        };
        let pause = pause(place.failures, rule);
        let due = place.next.max(now);
        let wait = Duration::from_nanos(due - now);
        if pause == 0 && wait.is_zero() {
            return Turn::Now;
        }
        if wait > rule.patience {
            return Turn::Never;
        }
        place.next = due + pause;
        match wait.is_zero() {
            true => Turn::Now,
            false => Turn::Wait(wait),
        }
    }

    /// Counts a failure. The address that has failed least lately loses its place where there is none.
    pub fn failed(&mut self, address: IpAddr, rule: Rule, now: u64) {
        if rule.longest.is_zero() {
            return;
        }
        if let Some(place) = self.find(address, now) {
            place.failures = place.failures.saturating_add(1);
            place.last = now;
            place.next = place.next.max(now + pause(place.failures, rule));
            return;
        }
        if self.places.is_empty() {
            self.places = vec![Default::default(); SETS];
        }
        let key = key(address);
        let set = self.set_of(key);
        let oldest = self
            .places
            .get_mut(set)
            .and_then(|set| set.iter_mut().min_by_key(|p| (p.failures > 0, p.last)));
        if let Some(place) = oldest {
            *place = Place {
                address: key,
                last: now,
                next: now + pause(1, rule),
                failures: 1,
            };
        }
    }

    /// A login has succeeded: what was before is forgiven.
    pub fn succeeded(&mut self, address: IpAddr, now: u64) {
        if let Some(place) = self.find(address, now) {
            *place = Place::default();
        }
    }

    /// Addresses that have failed of late.
    pub fn len(&self) -> usize {
        let places = self.places.iter().flatten();
        places.filter(|place| place.failures > 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&mut self, address: IpAddr, now: u64) -> Option<&mut Place> {
        if self.places.is_empty() {
            return None;
        }
        let key = key(address);
        let set = self.set_of(key);
        self.places.get_mut(set)?.iter_mut().find(|place| {
            place.failures > 0
                && place.address == key
                && now.saturating_sub(place.last.max(place.next)) < FORGET
        })
    }

    fn set_of(&mut self, key: u64) -> usize {
        let keys = self.keys.get_or_insert_with(RandomState::new);
        keys.hash_one(key) as usize % SETS
    }
}

/// Between two turns of an address with so many failures, nanoseconds.
fn pause(failures: u32, rule: Rule) -> u64 {
    let Some(beyond) = failures.checked_sub(rule.free.max(1)) else {
        return 0;
    };
    let longest = u64::try_from(rule.longest.as_nanos()).unwrap_or(u64::MAX);
    (FIRST << beyond.min(20)).min(longest)
}

/// Of IPv6 the network: one client has all addresses of a /64. The numbers of IPv4 are those of ::/32, which are
/// nobody's.
fn key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        IpAddr::V6(ip) => (u128::from(ip) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        free: 3,
        longest: Duration::from_secs(2),
        patience: Duration::from_secs(5),
    };
    const SECOND: u64 = 1_000_000_000;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn waits_begin_after_the_free_failures_double_and_stay_below_the_longest() {
        let mut failures = Failures::default();
        let mut now = SECOND;
        let mut waits = Vec::new();
        for _ in 0..12 {
            let wait = match failures.turn(ip("10.0.0.1"), RULE, now) {
                Turn::Now => Duration::ZERO,
                Turn::Wait(wait) => wait,
                Turn::Never => panic!("one at a time can always wait"),
            };
            waits.push(wait.as_millis());
            now += wait.as_nanos() as u64;
            failures.failed(ip("10.0.0.1"), RULE, now);
        }
        assert_eq!(
            waits,
            [0, 0, 0, 50, 100, 200, 400, 800, 1600, 2000, 2000, 2000]
        );
    }

    #[test]
    fn logins_at_once_take_turns_and_those_beyond_the_patience_are_refused() {
        let mut failures = Failures::default();
        for _ in 0..20 {
            failures.failed(ip("10.0.0.1"), RULE, SECOND);
        }
        let turns: Vec<Turn> = (0..100)
            .map(|_| failures.turn(ip("10.0.0.1"), RULE, SECOND))
            .collect();
        let seconds = |s| Turn::Wait(Duration::from_secs(s));
        assert_eq!(turns[..3], [seconds(2), seconds(4), Turn::Never]);
        assert!(turns[2..].iter().all(|turn| *turn == Turn::Never));
        // those that were refused took no turn of later ones
        let later = SECOND + 6 * SECOND;
        assert_eq!(failures.turn(ip("10.0.0.1"), RULE, later), Turn::Now);
    }

    #[test]
    fn nobody_waits_for_anothers_failures_but_for_the_same_ipv6_network() {
        let mut failures = Failures::default();
        for _ in 0..20 {
            failures.failed(ip("10.0.0.1"), RULE, SECOND);
            failures.failed(ip("2001:db8:0:1::1"), RULE, SECOND);
        }
        for n in 0..10_000u32 {
            let other = IpAddr::V4((0x0a00_0002 + n).into());
            assert_eq!(failures.turn(other, RULE, SECOND), Turn::Now, "{other}");
        }
        let turn = |failures: &mut Failures, text| failures.turn(ip(text), RULE, SECOND);
        assert_ne!(turn(&mut failures, "::ffff:10.0.0.1"), Turn::Now);
        assert_ne!(turn(&mut failures, "2001:db8:0:1:ffff::9"), Turn::Now);
        assert_eq!(turn(&mut failures, "2001:db8:0:2::1"), Turn::Now);
    }

    #[test]
    fn a_success_forgives_and_so_does_time() {
        let mut failures = Failures::default();
        let fail = |failures: &mut Failures| {
            for _ in 0..20 {
                failures.failed(ip("10.0.0.1"), RULE, SECOND);
            }
            assert_ne!(failures.turn(ip("10.0.0.1"), RULE, SECOND), Turn::Now);
        };
        fail(&mut failures);
        failures.succeeded(ip("10.0.0.1"), SECOND);
        assert_eq!(failures.turn(ip("10.0.0.1"), RULE, SECOND), Turn::Now);
        fail(&mut failures);
        let later = SECOND + FORGET + 10 * SECOND;
        assert_eq!(failures.turn(ip("10.0.0.1"), RULE, later), Turn::Now);
        // and it begins anew
        failures.failed(ip("10.0.0.1"), RULE, later);
        assert_eq!(failures.turn(ip("10.0.0.1"), RULE, later), Turn::Now);
    }

    #[test]
    fn a_million_addresses_take_no_more_room_and_the_busy_one_stays() {
        let mut failures = Failures::default();
        assert_eq!(failures.places.capacity(), 0);
        for n in 0..1_000_000u32 {
            let now = SECOND + u64::from(n);
            failures.failed(IpAddr::V4(n.into()), RULE, now);
            if n % 100 == 0 {
                failures.failed(ip("2001:db8::1"), RULE, now);
            }
        }
        assert_eq!(failures.places.capacity(), SETS);
        assert_eq!(std::mem::size_of::<[Place; WAYS]>() * SETS, 128 * 1024);
        assert!(failures.len() <= SETS * WAYS);
        let now = SECOND + 1_000_000;
        assert_ne!(failures.turn(ip("2001:db8::1"), RULE, now), Turn::Now);
    }

    #[test]
    fn without_a_longest_wait_nothing_is_counted() {
        let mut failures = Failures::default();
        let off = Rule {
            longest: Duration::ZERO,
            ..RULE
        };
        for _ in 0..100 {
            failures.failed(ip("10.0.0.1"), off, SECOND);
            assert_eq!(failures.turn(ip("10.0.0.1"), off, SECOND), Turn::Now);
        }
        assert!(failures.is_empty());
    }
}
