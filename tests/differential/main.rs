//! The same random session scripts straight at a server and through the proxy, where sessions share a few server
//! connections with each other and with fifty noisy neighbours: every reply must be the same, packet by packet.
//!
//! `UMPIRE_SEED=n` begins with another script, `UMPIRE_SESSIONS=n` runs so many (and not for a few seconds),
//! `UMPIRE_SCRIPT=n` runs that one script, `UMPIRE_TIMES=n` times.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod client;
#[path = "../common/mod.rs"]
mod common;
mod script;
mod servers;
mod statements;

use client::{run, Outcome};
use common::reply::ServerError;
use common::{needs, Proxy, RawClient};
use script::{script, Random, Script, Step, LANES};
use servers::Servers;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Clients that are always in between, and the threads that speak for them.
const NEIGHBOURS: usize = 50;
const NOISY_THREADS: usize = 5;
/// Without UMPIRE_SESSIONS.
const LENGTH: Duration = Duration::from_secs(12);
const LENGTH_ON_MYSQL: Duration = Duration::from_secs(5);

#[test]
fn random_sessions_over_few_connections_are_answered_as_direct() {
    needs!(the_proxy);
    compare_sessions(&Servers::mariadb(), LENGTH);
}

#[test]
fn random_sessions_on_mysql_are_answered_as_direct() {
    needs!(the_proxy);
    if let Some(servers) = Servers::mysql() {
        compare_sessions(&servers, LENGTH_ON_MYSQL);
    }
}

/// Which scripts to run.
struct Plan {
    first: u64,
    sessions: Option<u64>,
    end: Instant,
    /// Only this one, so often.
    only: Option<(u64, u64)>,
}

impl Plan {
    fn from_environment(length: Duration) -> Plan {
        let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
        let seed = number("UMPIRE_SEED").unwrap_or(20_261_130);
        Plan {
            // the lane follows from a script's number
            first: seed / LANES * LANES,
            sessions: number("UMPIRE_SESSIONS"),
            end: Instant::now() + length,
            only: number("UMPIRE_SCRIPT").map(|n| (n, number("UMPIRE_TIMES").unwrap_or(1))),
        }
    }

    /// The `n`th script of a lane.
    fn script(&self, lane: u64, n: u64) -> Option<u64> {
        if let Some((only, times)) = self.only {
            return (only % LANES == lane && n < times).then_some(only);
        }
        let more = match self.sessions {
            Some(sessions) => n * LANES + lane < sessions,
            None => Instant::now() < self.end,
        };
        more.then_some(self.first + n * LANES + lane)
    }
}

fn compare_sessions(servers: &Servers, length: Duration) {
    let proxy = servers.proxy();
    let plan = Plan::from_environment(length);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..NOISY_THREADS as u64 {
            let (proxy, stop) = (&proxy, &stop);
            scope.spawn(move || make_noise(proxy, stop, seed));
        }
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let (proxy, plan, done, stop) = (&proxy, &plan, &done, &stop);
                scope.spawn(move || {
                    // a lane that fails ends the others
                    let _stops = StopOnPanic(stop);
                    run_lane(servers, proxy, plan, lane, stop, done);
                })
            })
            .collect();
        let ended: Vec<_> = lanes.into_iter().map(|l| l.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for lane in ended {
            if let Err(panic) = lane {
                std::panic::resume_unwind(panic);
            }
        }
    });
    assert!(done.load(Ordering::Relaxed) > 0, "some scripts ran");
}

struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn run_lane(
    servers: &Servers,
    proxy: &Proxy,
    plan: &Plan,
    lane: u64,
    stop: &AtomicBool,
    done: &AtomicU64,
) {
    for n in 0.. {
        let Some(number) = plan.script(lane, n) else {
            return;
        };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let script = script(number, servers.words());
        servers.clean_lane(lane);
        let direct = run(servers.port(), &script);
        servers.clean_lane(lane);
        let proxied = run(proxy.port, &script);
        compare(&script, &direct, &proxied, number);
        let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
        if plan.sessions.is_some() && so_far % 250 == 0 {
            let line = format!("{so_far} sessions, no difference\n");
            std::io::stderr().write_all(line.as_bytes()).ok();
        }
    }
}

fn compare(script: &Script, direct: &[Outcome], proxied: &[Outcome], number: u64) {
    let name = format!("script {number} (UMPIRE_SCRIPT={number} repeats it)");
    for (i, step) in script.steps.iter().enumerate() {
        let (Some(d), Some(p)) = (direct.get(i), proxied.get(i)) else {
            assert_eq!(
                direct.len(),
                proxied.len(),
                "{name}: one of the two was closed before step {i}"
            );
            return;
        };
        if d == p {
            continue;
        }
        // after an error the counts are those of some statement before
        let after_error = i > 0 && direct[i - 1].error().is_some();
        if after_error && step.asks_for_counts() || is_refused_count(step, p) {
            return;
        }
        // types that were never sent: it fails either way, and what is found first depends on when and where
        // the statement was prepared
        let typeless = matches!(step, Step::Execute { types: false, .. });
        if typeless && d.error().is_some() && p.error().is_some() {
            return;
        }
        let before: Vec<String> = script.steps[..=i].iter().map(Step::shown).collect();
        panic!(
            "{name} {:?}\n{}\n\ndirect:  {d:?}\nproxied: {p:?}",
            script.login,
            before.join("\n")
        );
    }
}

/// Umpire's own refusals that are allowed: counts or warnings that went with their connection. What follows may hang on
/// it.
fn is_refused_count(step: &Step, seen: &Outcome) -> bool {
    let gone = |e: &ServerError| e.message.contains("is gone") || e.message.contains("are gone");
    let refused = |e: &ServerError| e.code == 1105 && gone(e);
    step.asks_about_the_last() && seen.error().is_some_and(refused)
}

/// One thread's share of the neighbours: whose turn it is, is chance. Now and then one leaves for another.
fn make_noise(proxy: &Proxy, stop: &AtomicBool, seed: u64) {
    let mut random = Random(seed);
    let mut clients: Vec<RawClient> = (0..NEIGHBOURS / NOISY_THREADS)
        .map(|_| RawClient::connect(proxy.port))
        .collect();
    while !stop.load(Ordering::Relaxed) {
        let at = random.below(clients.len() as u64) as usize;
        let sql = random.pick(&statements::NOISE);
        clients[at].query(sql).expect("noise is served");
        // what keeps a connection for a question must not keep all of them
        clients[at]
            .query("SELECT id FROM d1.fixed LIMIT 1")
            .expect("noise is served");
        match random.below(40) {
            0 => clients[at] = RawClient::connect(proxy.port),
            1 => drop(clients[at].command(0x1f, b"").expect("noise is served")),
            _ => {}
        }
    }
}
