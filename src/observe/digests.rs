//! Statements by digest and user, in a table of fixed size. Per worker; nothing is allocated once it is made.
//!
//! Sets of eight places. A new digest takes a free place, or that of the least used one of its set; each such
//! loss makes the others of the set a little older, so that what was busy once goes in the end. A flood of
//! statements that never come again therefore costs one place of a set, and the busy ones stay.
use std::rc::Rc;

const WAYS: usize = 8;
/// Bytes of a normalised text that are kept.
pub const TEXT: usize = 240;
/// Four buckets an octave of microseconds, up to half a minute and more.
const BUCKETS: usize = 96;

/// One turn, for the table.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    pub digest: u64,
    /// Of the user's and the group's name.
    pub user_hash: u64,
    pub micros: u64,
    pub rows: u64,
    pub bytes: u64,
    pub failed: bool,
}

struct Place {
    digest: u64,
    user_hash: u64,
    /// Decides which one of a set goes; 0: free.
    weight: u32,
    text_len: u16,
    text: [u8; TEXT],
    user: Rc<str>,
    group: Rc<str>,
    calls: u64,
    errors: u64,
    rows: u64,
    bytes: u64,
    micros: u64,
    most: u64,
    buckets: [u32; BUCKETS],
}

/// One row of SHOW DIGESTS.
#[derive(Debug, Clone, PartialEq)]
pub struct DigestInfo {
    pub digest: u64,
    pub user: String,
    pub group: String,
    pub text: String,
    pub calls: u64,
    pub errors: u64,
    pub rows: u64,
    pub bytes: u64,
    /// Microseconds, summed and the longest.
    pub micros: u64,
    pub most: u64,
    pub buckets: Vec<u32>,
}

/// Per worker.
#[derive(Default)]
pub struct Digests {
    places: Vec<Place>,
    evicted: u64,
}

impl Digests {
    /// About `size` places; 0: none, and nothing is noted.
    pub fn new(size: usize) -> Digests {
        let nobody: Rc<str> = "".into();
        let sets = if size == 0 {
            0
        } else {
            size.div_ceil(WAYS).next_power_of_two()
        };
        let place = || Place {
            digest: 0,
            user_hash: 0,
            weight: 0,
            text_len: 0,
            text: [0; TEXT],
            user: nobody.clone(),
            group: nobody.clone(),
            calls: 0,
            errors: 0,
            rows: 0,
            bytes: 0,
            micros: 0,
            most: 0,
            buckets: [0; BUCKETS],
        };
        Digests {
            places: std::iter::repeat_with(place).take(sets * WAYS).collect(),
            evicted: 0,
        }
    }

    pub fn is_on(&self) -> bool {
        !self.places.is_empty()
    }

    /// Statements that lost their place to others.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Bytes of the table.
    pub fn size(&self) -> usize {
        self.places.capacity() * std::mem::size_of::<Place>()
    }

    /// Notes one turn. `text` writes the normalised text and returns its length: asked for a new digest only.
    pub fn note(
        &mut self,
        turn: &Turn,
        user: &Rc<str>,
        group: &Rc<str>,
        text: impl FnOnce(&mut [u8; TEXT]) -> usize,
    ) {
        if self.places.is_empty() {
            return;
        }
        let sets = self.places.len() / WAYS;
        let mixed =
            (turn.digest ^ turn.user_hash.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let start = (mixed >> 32) as usize & (sets - 1);
        let Some(set) = self.places.get_mut(start * WAYS..(start + 1) * WAYS) else {
            return;
        };
        let is_it =
            |p: &Place| p.weight > 0 && p.digest == turn.digest && p.user_hash == turn.user_hash;
        if let Some(place) = set.iter_mut().find(|p| is_it(p)) {
            return place.count(turn);
        }
        let mut least = 0;
        for (at, place) in set.iter().enumerate() {
            if place.weight < set[least].weight {
                least = at;
            }
        }
        if set[least].weight > 0 {
            self.evicted += 1;
            for place in set.iter_mut() {
                place.weight -= place.weight >> 8;
            }
        }
        let place = &mut set[least];
        place.begin(turn, user, group);
        place.text_len = text(&mut place.text).min(TEXT) as u16;
        place.count(turn);
    }

    /// What is there, in no order.
    pub fn rows(&self) -> Vec<DigestInfo> {
        self.places
            .iter()
            .filter(|p| p.weight > 0)
            .map(Place::info)
            .collect()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.iter_mut().for_each(|p| p.weight = 0);
        self.evicted = 0;
    }
}

impl Place {
    fn begin(&mut self, turn: &Turn, user: &Rc<str>, group: &Rc<str>) {
        (self.digest, self.user_hash) = (turn.digest, turn.user_hash);
        (self.user, self.group) = (user.clone(), group.clone());
        self.weight = 0;
        (self.calls, self.errors, self.rows, self.bytes) = (0, 0, 0, 0);
        (self.micros, self.most) = (0, 0);
        self.buckets = [0; BUCKETS];
    }

    fn count(&mut self, turn: &Turn) {
        self.weight = self.weight.saturating_add(1);
        self.calls += 1;
        self.errors += u64::from(turn.failed);
        self.rows += turn.rows;
        self.bytes += turn.bytes;
        self.micros += turn.micros;
        self.most = self.most.max(turn.micros);
        if let Some(bucket) = self.buckets.get_mut(bucket_of(turn.micros)) {
            *bucket = bucket.saturating_add(1);
        }
    }

    fn info(&self) -> DigestInfo {
        let text = self
            .text
            .get(..usize::from(self.text_len))
            .unwrap_or_default();
        DigestInfo {
            digest: self.digest,
            user: self.user.to_string(),
            group: self.group.to_string(),
            text: String::from_utf8_lossy(text).into_owned(),
            calls: self.calls,
            errors: self.errors,
            rows: self.rows,
            bytes: self.bytes,
            micros: self.micros,
            most: self.most,
            buckets: self.buckets.to_vec(),
        }
    }
}

impl DigestInfo {
    /// Adds what another worker has of the same digest and user.
    pub fn add(&mut self, other: &DigestInfo) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.micros += other.micros;
        self.most = self.most.max(other.most);
        for (sum, n) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum = sum.saturating_add(*n);
        }
    }

    /// Microseconds within which this share of the calls ended, to a fifth.
    pub fn quantile(&self, share: f64) -> u64 {
        let all: u64 = self.buckets.iter().map(|n| u64::from(*n)).sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (at, n) in self.buckets.iter().enumerate() {
            seen += u64::from(*n);
            if seen >= wanted && seen > 0 {
                return top_of(at).min(self.most);
            }
        }
        self.most
    }
}

fn bucket_of(micros: u64) -> usize {
    if micros < 4 {
        return micros as usize;
    }
    let octave = 63 - micros.leading_zeros() as usize;
    let quarter = (micros >> (octave - 2)) as usize & 3;
    (4 + (octave - 2) * 4 + quarter).min(BUCKETS - 1)
}

/// The largest number of the bucket.
fn top_of(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (octave, quarter) = ((bucket - 4) / 4 + 2, (bucket - 4) as u64 % 4);
    (1u64 << octave) + ((quarter + 1) << (octave - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(digest: u64, micros: u64) -> Turn {
        Turn {
            digest,
            user_hash: 1,
            micros,
            rows: 2,
            bytes: 10,
            failed: micros == 13,
        }
    }

    fn note(table: &mut Digests, turn: &Turn) {
        let (user, group): (Rc<str>, Rc<str>) = ("app".into(), "main".into());
        table.note(turn, &user, &group, |text| {
            text[..3].copy_from_slice(b"abc");
            3
        });
    }

    #[test]
    fn calls_of_one_digest_and_user_are_summed() {
        let mut table = Digests::new(100);
        for micros in [1, 13, 100, 1000] {
            note(&mut table, &turn(7, micros));
        }
        note(
            &mut table,
            &Turn {
                user_hash: 2,
                ..turn(7, 5)
            },
        );
        let mut rows = table.rows();
        rows.sort_by_key(|row| row.calls);
        assert_eq!(rows.len(), 2);
        let row = &rows[1];
        assert_eq!((row.calls, row.errors, row.rows, row.bytes), (4, 1, 8, 40));
        assert_eq!(
            (row.micros, row.most, &*row.text, &*row.user),
            (1114, 1000, "abc", "app")
        );
        assert_eq!(row.quantile(1.0), 1000);
        assert!(
            (13..=15).contains(&row.quantile(0.5)),
            "{}",
            row.quantile(0.5)
        );
        table.clear();
        assert!(table.rows().is_empty());
    }

    #[test]
    fn buckets_are_right_to_a_quarter() {
        for micros in (0..5000).chain([1 << 20, (1 << 24) + 12345]) {
            let bucket = bucket_of(micros);
            assert!(micros <= top_of(bucket), "{micros}");
            assert!(bucket == 0 || micros > top_of(bucket - 1), "{micros}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn ten_million_distinct_digests_take_no_more_room_and_leave_the_busy_ones() {
        let mut table = Digests::new(1000);
        let size = table.size();
        let mut random = 1u64;
        for n in 0..10_000_000u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let digest = if n % 10 == 0 {
                n / 10 % 50
            } else {
                random | 1 << 63
            };
            note(&mut table, &turn(digest, 100));
        }
        assert_eq!(table.size(), size);
        assert!(table.rows().len() <= 1024);
        assert!(table.evicted() > 8_000_000);
        let busy = table
            .rows()
            .iter()
            .filter(|row| row.digest < 50 && row.calls > 19_000)
            .count();
        assert!(busy >= 45, "{busy} of 50 busy statements are still there");
    }
}
