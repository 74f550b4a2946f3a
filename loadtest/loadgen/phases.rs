//! What the connections are made to do.

use crate::engine::{Engine, Event};
use crate::report::Phase;
use std::collections::VecDeque;
use std::io;

/// Logins at once while the clients are set up, below every listener's backlog.
const AT_ONCE: usize = 100;
/// How long answers are waited for when a phase is over.
const PATIENCE: u64 = 10_000_000_000;
/// The same for connections, of which thousands may wait for their login.
const DRAIN: u64 = 30_000_000_000;
const FOREVER: u64 = 60_000_000_000;

/// Opens the connections and has each ask once (and prepare).
pub fn set_up(engine: &mut Engine, count: usize) -> io::Result<()> {
    let (mut begun, mut over, mut last) = (0, 0, engine.now());
    while over < count {
        while begun < count && begun - over < AT_ONCE {
            begun += 1;
            let now = engine.now();
            over += usize::from(engine.open(now).is_none());
        }
        let now = engine.now();
        if now > last + PATIENCE {
            engine.count("set-up: no progress".into());
            break;
        }
        engine.turn(now + PATIENCE, |engine, index, event| {
            last = engine.now();
            match event {
                Event::LoggedIn => over += usize::from(!engine.request(index, last)),
                Event::Answered { .. } | Event::Left | Event::Lost => over += 1,
            }
        })?;
    }
    Ok(())
}

/// Every client sends its next query when it has its answer.
pub fn closed(
    engine: &mut Engine,
    clients: usize,
    seconds: f64,
    phase: &mut Phase,
) -> io::Result<()> {
    let until = engine.now() + nanoseconds(seconds);
    let mut busy = 0;
    for index in engine.indices().into_iter().take(clients) {
        let now = engine.now();
        busy += usize::from(engine.request(index, now));
    }
    let last = until + FOREVER;
    while busy > 0 && engine.now() < last {
        engine.turn(last, |engine, index, event| {
            let Event::Answered { sent, failed, .. } = event else {
                busy -= 1;
                return;
            };
            let now = engine.now();
            phase.answered(now - sent, failed);
            if now >= until || !engine.request(index, now) {
                busy -= 1;
            }
        })?;
    }
    phase.unfinished = busy as u64;
    Ok(())
}

/// Queries are due at equal distances; one that finds no free client waits for one, and its wait counts.
pub fn open(
    engine: &mut Engine,
    clients: usize,
    rate: f64,
    seconds: f64,
    phase: &mut Phase,
) -> io::Result<()> {
    let mut free: VecDeque<usize> = engine.indices().into_iter().take(clients).collect();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut schedule = Schedule::new(engine.now(), rate, seconds);
    let mut busy = 0usize;
    loop {
        let now = engine.now();
        while let Some(due) = schedule.take(now) {
            waiting.push_back(due);
        }
        while let (Some(&due), Some(&index)) = (waiting.front(), free.front()) {
            free.pop_front();
            if engine.request(index, due) {
                waiting.pop_front();
                busy += 1;
            }
        }
        let over = schedule.next().is_none();
        if over && busy == 0 && (waiting.is_empty() || free.is_empty())
            || now > schedule.end + PATIENCE
        {
            break;
        }
        let until = schedule.next().unwrap_or(schedule.end + PATIENCE);
        engine.turn(until, |engine, index, event| match event {
            Event::Answered { due, failed, .. } => {
                phase.answered(engine.now() - due, failed);
                busy -= 1;
                // the one that waits longest is sent at once
                match waiting.front() {
                    Some(&due) if engine.request(index, due) => {
                        waiting.pop_front();
                        busy += 1;
                    }
                    Some(_) => {}
                    None => free.push_back(index),
                }
            }
            Event::LoggedIn => {}
            Event::Lost | Event::Left => {
                busy = busy.saturating_sub(1);
                free.retain(|&other| other != index);
            }
        })?;
    }
    phase.unfinished = (busy + waiting.len()) as u64;
    Ok(())
}

/// Connect, log in, one query, quit; at a rate, or without one `most` at once. At a rate too no more than `most`
/// are open at a time; those that are due meanwhile begin late, or not at all when the time is over.
pub fn connect(
    engine: &mut Engine,
    most: usize,
    rate: f64,
    seconds: f64,
    phase: &mut Phase,
) -> io::Result<()> {
    let idle = engine.connections();
    let start = engine.now();
    let end = start + nanoseconds(seconds);
    let mut schedule = Schedule::new(start, rate, seconds);
    loop {
        let now = engine.now();
        let mut room = most.saturating_sub(engine.connections() - idle);
        while now < end && room > 0 {
            let due = if rate > 0.0 {
                schedule.take(now)
            } else {
                Some(now)
            };
            let Some(due) = due else { break };
            engine.open(due);
            room -= 1;
        }
        if now >= end && engine.connections() == idle || now > end + DRAIN {
            break;
        }
        let until = match schedule.next() {
            Some(due) if due > now && room > 0 => due.min(end),
            _ if now < end => end,
            _ => end + DRAIN,
        };
        engine.turn(until, |engine, index, event| match event {
            Event::LoggedIn => {
                engine.request_first(index);
            }
            Event::Answered { due, failed, .. } => {
                phase.answered(engine.now() - due, failed);
                engine.leave(index);
            }
            Event::Left | Event::Lost => {}
        })?;
    }
    phase.not_begun = schedule.count - schedule.taken;
    if engine.connections() > idle {
        phase.unfinished = engine.abandon_all();
    }
    Ok(())
}

/// When requests are due.
struct Schedule {
    start: u64,
    pub end: u64,
    /// Nanoseconds from one to the next.
    step: f64,
    taken: u64,
    count: u64,
}

impl Schedule {
    fn new(start: u64, rate: f64, seconds: f64) -> Schedule {
        Schedule {
            start,
            end: start + nanoseconds(seconds),
            step: 1e9 / rate.max(1e-3),
            taken: 0,
            count: (rate * seconds) as u64,
        }
    }

    fn next(&self) -> Option<u64> {
        (self.taken < self.count).then(|| self.start + (self.taken as f64 * self.step) as u64)
    }

    fn take(&mut self, now: u64) -> Option<u64> {
        let due = self.next().filter(|&due| due <= now)?;
        self.taken += 1;
        Some(due)
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
