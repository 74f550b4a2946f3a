//! A load generator for the benchmarks: `cargo build --release --example loadgen`.
//!
//! Closed loop (each client sends its next query when it has its answer), open loop (queries are due at fixed
//! times, whatever the answers do, and latency counts from when they were due), connect–query–quit, idle
//! clients, and a slow reader. One thread; results are counted by their packet headers, not parsed. Each phase
//! prints one JSON line.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own that may block"
)]

mod engine;
mod phases;
mod poll;
mod protocol;
mod report;
mod slow;

use clap::{Parser, ValueEnum};
use engine::{Engine, Settings};
use protocol::Account;
use report::Phase;
use std::io::{self, BufRead};

#[derive(Parser)]
struct Options {
    mode: Mode,
    #[arg(long)]
    port: u16,
    #[arg(long, default_value = "app")]
    user: String,
    #[arg(long, default_value = "apppw")]
    password: String,
    #[arg(long, default_value = "sbtest")]
    schema: String,
    /// {} becomes a random number from 1 to RANGE
    #[arg(long, default_value = "SELECT c FROM sbtest1 WHERE id={}")]
    query: String,
    #[arg(long, default_value_t = 10_000)]
    range: u64,
    /// Prepare once for each connection, then execute
    #[arg(long)]
    prepared: bool,
    /// Connections that send queries; in `connect` without a rate: how many at once
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Further connections that have asked once and stay idle
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Queries (`open`) or connections (`connect`) per second; `slow`: bytes per second
    #[arg(long, default_value_t = 0.0)]
    rate: f64,
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// `connect` at a rate: at most so many connections open at a time
    #[arg(long, default_value_t = 4_000)]
    most: usize,
    /// Print "ready" when all are connected, then run a phase for every line on standard input: SECONDS [RATE]
    #[arg(long)]
    gate: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Closed,
    Open,
    Connect,
    Slow,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let settings = Settings {
        port: options.port,
        account: Account {
            user: options.user.clone(),
            password: options.password.clone(),
            schema: options.schema.clone(),
        },
        query: options.query.clone(),
        range: options.range,
        prepared: options.prepared,
    };
    if options.mode == Mode::Slow {
        return slow::read(&settings, options.rate, options.seconds);
    }
    let mut engine = Engine::new(settings)?;
    let active = match options.mode {
        Mode::Connect => 0,
        _ => options.clients,
    };
    phases::set_up(&mut engine, active + options.idle)?;
    if !options.gate {
        return run(&options, &mut engine, options.seconds, options.rate);
    }
    report::ready(engine.connections(), &engine.errors);
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        let seconds = numbers
            .next()
            .and_then(Result::ok)
            .unwrap_or(options.seconds);
        let rate = numbers.next().and_then(Result::ok).unwrap_or(options.rate);
        run(&options, &mut engine, seconds, rate)?;
    }
    Ok(())
}

fn run(options: &Options, engine: &mut Engine, seconds: f64, rate: f64) -> io::Result<()> {
    let mut phase = Phase::new();
    engine.errors.clear();
    let (from, bytes) = (engine.now(), engine.bytes);
    let most = options.most.min(if rate > 0.0 {
        usize::MAX
    } else {
        options.clients
    });
    match options.mode {
        Mode::Closed => phases::closed(engine, options.clients, seconds, &mut phase)?,
        Mode::Open => phases::open(engine, options.clients, rate, seconds, &mut phase)?,
        Mode::Connect | Mode::Slow => phases::connect(engine, most, rate, seconds, &mut phase)?,
    }
    phase.seconds = (engine.now() - from) as f64 / 1e9;
    phase.bytes = engine.bytes - bytes;
    phase.print(&engine.errors, engine.connections());
    Ok(())
}
