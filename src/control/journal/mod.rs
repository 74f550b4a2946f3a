//! The audit and the slow log: records of all workers → lines in files and at a collector.
//!
//! A thread of its own, so that a slow disk or collector delays no health check. It takes records out of the
//! workers' rings only while it can write them: with `when_full = "wait"` a collector that is away fills the
//! rings, and statements wait; otherwise what has no room is dropped and counted.
mod collector;
mod file;
mod learnt;
mod line;

use crate::config::{Watching, WhenFull};
use crate::observe::record::{Event, Record};
use crate::observe::ring::Reader;
use crate::topology::Snapshot;
use collector::Sender;
use file::RotatingFile;
use learnt::Learnt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the thread sleeps when there is nothing to do.
const PAUSE: Duration = Duration::from_millis(20);
/// Where nothing is written down, looks are further apart after so many that found nothing: each is a wake-up.
const SETTLED: u32 = 50;
const LONG_PAUSE: Duration = Duration::from_millis(200);
/// Records of one worker in a row.
const BATCH: usize = 1024;
/// At the end of the process, what is queued may still be delivered for so long.
const LAST: Duration = Duration::from_secs(5);
/// Of the slow log.
const SLOW_ROTATE: u64 = 100 << 20;
const SLOW_KEEP: u32 = 10;

/// What the journal is told.
pub enum Order {
    /// What to write where; server names come from the snapshot.
    Settings(Arc<Watching>, Arc<Snapshot>),
}

/// Writes until the sender of orders is gone, and then what is queued.
pub fn run(readers: Vec<Reader>, orders: Receiver<Order>) {
    let mut journal = Journal::default();
    let mut record = Vec::new();
    let mut idle = 0u32;
    loop {
        let soon = idle < SETTLED || journal.writes();
        let order = orders.recv_timeout(if soon { PAUSE } else { LONG_PAUSE });
        match order {
            Ok(Order::Settings(watching, snapshot)) => journal.change(watching, snapshot),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        idle = idle.saturating_add(1);
        while journal.pass(&readers, &mut record) {
            idle = 0;
        }
    }
    let until = Instant::now() + LAST;
    loop {
        let moved = journal.pass(&readers, &mut record);
        let waiting: usize = readers.iter().map(Reader::waiting).sum();
        if waiting == 0 && journal.is_delivered() {
            return;
        }
        if Instant::now() >= until {
            tracing::error!(
                bytes = waiting,
                "the audit could not be delivered to its end: records were lost"
            );
            return;
        }
        if !moved {
            pause();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread that may block")]
fn pause() {
    std::thread::sleep(PAUSE);
}

#[derive(Default)]
struct Journal {
    watching: Arc<Watching>,
    snapshot: Option<Arc<Snapshot>>,
    audit: Option<RotatingFile>,
    slow: Option<RotatingFile>,
    sender: Option<Sender>,
    lines: u64,
    learnt: Learnt,
}

impl Journal {
    /// There is somewhere for records to go, so that many may come at once.
    fn writes(&self) -> bool {
        self.audit.is_some() || self.slow.is_some() || self.sender.is_some()
    }

    fn change(&mut self, watching: Arc<Watching>, snapshot: Arc<Snapshot>) {
        let audit = &watching.audit;
        let open = |old: Option<RotatingFile>, path: &Option<PathBuf>, bytes, keep| match path {
            Some(path) => Some(RotatingFile::after(old, path.clone(), bytes, keep)),
            None => {
                old.into_iter().for_each(RotatingFile::close);
                None
            }
        };
        self.audit = open(
            self.audit.take(),
            &audit.file,
            audit.rotate_bytes,
            audit.rotate_keep,
        );
        let slow = &watching.statistics.slow_log;
        self.slow = open(self.slow.take(), slow, SLOW_ROTATE, SLOW_KEEP);
        let same = |sender: &Sender| Some(sender.collector()) == audit.collector.as_ref();
        if !self.sender.as_ref().is_some_and(same) {
            let old = self.sender.take();
            self.sender = match &audit.collector {
                Some(collector) => Some(Sender::after(old, collector.clone())),
                None => {
                    old.iter().for_each(given_up);
                    None
                }
            };
        }
        self.watching = watching;
        self.snapshot = Some(snapshot);
    }

    fn is_delivered(&self) -> bool {
        let written = |file: &Option<RotatingFile>| file.as_ref().is_none_or(|f| f.is_flushed());
        self.sender.as_ref().is_none_or(Sender::is_empty)
            && written(&self.audit)
            && written(&self.slow)
    }

    /// Takes what can be written now; true: there may be more.
    fn pass(&mut self, readers: &[Reader], record: &mut Vec<u8>) -> bool {
        if let Some(sender) = &mut self.sender {
            sender.send();
        }
        let waits = self.watching.audit.when_full == WhenFull::Wait;
        let mut taken = 0;
        for reader in readers {
            for _ in 0..BATCH {
                if !self.is_ready(waits) || !reader.take(record) {
                    break;
                }
                taken += 1;
                match Record::decode(record) {
                    Some(record) => self.write(&record),
                    None => tracing::error!("a record of the audit cannot be read"),
                }
            }
        }
        for file in [&mut self.audit, &mut self.slow].into_iter().flatten() {
            file.flush();
        }
        if let Some(sender) = &mut self.sender {
            sender.send();
        }
        taken >= BATCH
    }

    /// Nothing is taken that could not be written; unless dropping is allowed.
    fn is_ready(&mut self, waits: bool) -> bool {
        let file = self.audit.as_mut().is_none_or(RotatingFile::is_writable);
        let sender = self.sender.as_ref().is_none_or(Sender::has_room);
        !waits || (file && sender)
    }

    fn write(&mut self, record: &Record<'_>) {
        if record.event == Event::Learnt {
            if let Some(path) = self.list_of(record) {
                self.learnt.add(&path, record);
            }
            return;
        }
        self.lines += 1;
        let server = self.server(record.server);
        let line = line::json(record, server.as_deref(), self.lines);
        if record.slow {
            if let Some(file) = &mut self.slow {
                file.append(line.as_bytes());
            }
        }
        if record.audited {
            if let Some(file) = &mut self.audit {
                file.append(line.as_bytes());
            }
            if let Some(sender) = &mut self.sender {
                sender.queue(line);
            }
        }
    }

    /// The list of the policy that learns.
    fn list_of(&self, record: &Record<'_>) -> Option<PathBuf> {
        let user = self.snapshot.as_ref()?.users.get(record.user)?;
        let mut policies = user.policies.iter();
        let policy = policies.find(|policy| policy.name == record.policy)?;
        policy.allow_list.clone()
    }

    fn server(&self, id: u32) -> Option<String> {
        let groups = &self.snapshot.as_ref()?.groups;
        let mut servers = groups.iter().flat_map(|group| &group.servers);
        let server = servers.find(|server| server.id.0 == id)?;
        Some(server.address.to_string())
    }
}

/// A collector that is no longer configured.
fn given_up(sender: &Sender) {
    let lines = sender.unsettled();
    if lines > 0 {
        let collector = &sender.collector().address;
        tracing::warn!(
            lines,
            collector,
            "audit: the collector is no longer used; it may not have read its last lines"
        );
    }
}

/// Logs a trouble once, and its end.
#[derive(Default)]
struct Trouble(bool);

impl Trouble {
    fn met(&mut self, what: &str, cause: &io::Error) {
        if !std::mem::replace(&mut self.0, true) {
            tracing::error!("audit: {what}: {cause}; trying again");
        }
    }

    fn over(&mut self, what: &str) {
        if std::mem::take(&mut self.0) {
            tracing::info!("audit: {what} again");
        }
    }
}
