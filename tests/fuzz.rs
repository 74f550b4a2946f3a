//! The fuzz targets' checks without a fuzzer: every seed, every beginning of one, and seeded changes of them for
//! a moment; `UMPIRE_FUZZ_SECONDS` says how long each. `make fuzz` is the thorough way.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test reads files"
)]

#[path = "../fuzz/targets/checks/mod.rs"]
mod checks;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant};

/// Of each target where nothing else is asked for.
const MOMENT: Duration = Duration::from_millis(300);

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let name = format!("fuzz/seeds/{target}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{name}: {e}"));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let line = |line: &str| line.as_bytes().chunks(2).map(byte).collect();
    let seeds: Option<Vec<Vec<u8>>> = text.lines().map(line).collect();
    let seeds = seeds.unwrap_or_else(|| panic!("{name} is not hexadecimal"));
    assert!(!seeds.is_empty(), "{name} has no seed");
    seeds
}

/// An input that fails is shown as it has to stand in a seeds file.
fn run(target: &str, check: checks::Check, data: &[u8]) {
    let outcome = catch_unwind(AssertUnwindSafe(|| check(data)));
    if outcome.is_err() {
        let hex: String = data.iter().map(|b| format!("{b:02x}")).collect();
        panic!("{target} fails with {hex}");
    }
}

/// xorshift64 (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % n.max(1)
    }

    /// Changes bytes, cuts, repeats, and joins with another seed.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        const TELLING: &[u8] = b"\0\x01\xff\xfe\xfb\x7f\x80'\"`\\;*/!(),.@? \n";
        let mut data = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 + self.below(4) {
            let at = self.below(data.len() + 1);
            match self.below(6) {
                0 if at < data.len() => data[at] = self.below(256) as u8,
                1 if at < data.len() => data[at] = TELLING[self.below(TELLING.len())],
                2 => data.insert(at, TELLING[self.below(TELLING.len())]),
                3 => data.truncate(at),
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    data.truncate(at);
                    data.extend_from_slice(&other[from..]);
                }
                _ => {
                    let end = (at + self.below(16)).min(data.len());
                    let part = data[at..end].to_vec();
                    data.extend(part);
                }
            }
        }
        data
    }
}

#[test]
fn every_seed_and_every_change_of_one_passes_its_check() {
    let seconds = std::env::var("UMPIRE_FUZZ_SECONDS").ok();
    let each = seconds.map_or(MOMENT, |s| {
        Duration::from_secs(s.parse().expect("UMPIRE_FUZZ_SECONDS is a number"))
    });
    for (target, check) in checks::ALL {
        let seeds = seeds(target);
        for seed in &seeds {
            run(target, check, seed);
            for cut in 0..seed.len().min(64) {
                run(target, check, &seed[..cut]);
            }
        }
        let (mut random, started, mut inputs) = (Random(0x9e37_79b9), Instant::now(), 0);
        while started.elapsed() < each {
            run(target, check, &random.changed(&seeds));
            inputs += 1;
        }
        eprintln!("{target}: {} seeds, {inputs} changes", seeds.len());
        assert!(inputs > 0);
    }
}
