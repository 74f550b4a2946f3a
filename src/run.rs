//! From a configuration to running threads, and back.
//!
//! Listening sockets first, so that a wrong address is found before anything runs; then the control thread,
//! which learns what the servers are; then the workers. The process ends when the last worker has.
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;
use umpire::admin::Listeners;
use umpire::config::{Config, Workers};
use umpire::control::{self, ControlInput, Handle};
use umpire::coordination::Clerk;
use umpire::net::Wake;
use umpire::observe::ring::{ring, Writer};
use umpire::observe::WorkerStats;
use umpire::topology::Snapshot;
use umpire::wire::auth::caching_sha2::KeyPair;
use umpire::worker::mailbox::{Mailbox, Message};
use umpire::worker::{self, Bound, Input};

/// The first snapshot comes after one round of checks, at most.
const FIRST_SNAPSHOT: Duration = Duration::from_secs(30);

/// Runs until the workers have drained.
pub fn run(config_path: &Path, config: Config) -> Result<(), String> {
    umpire::net::probe().map_err(|e| e.to_string())?;
    let cpus = cpus(&config.proxy.workers)?;
    let admin = Listeners::bind(&config.proxy).map_err(|e| e.to_string())?;
    let bound = Bound::bind(&config.proxy.listen, &cpus).map_err(|e| e.to_string())?;
    let clerk = config
        .store
        .as_deref()
        .map(|folder| open_store(folder, &config));
    let clerk = clerk.transpose()?;
    let keys = Arc::new(match &config.proxy.rsa_private_key {
        Some(key) => KeyPair::of(key.as_ref().clone()),
        None => KeyPair::generate(),
    });
    let stats: Vec<Arc<WorkerStats>> = cpus.iter().map(|_| Arc::default()).collect();
    let (mailboxes, inboxes) = mailboxes(cpus.len())?;
    let (journals, journal_readers) = cpus
        .iter()
        .map(|_| ring(config.watching.audit.queue_bytes as usize))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let (stop, stopped) = oneshot::channel();
    let (started, snapshot) = channel();
    let input = ControlInput {
        config: config.clone(),
        config_path: config_path.to_owned(),
        mailboxes: mailboxes.clone(),
        worker_stats: stats.clone(),
        journals: journal_readers,
        started,
        clerk: clerk.clone(),
        serve: Box::new(move |handle: Handle| Box::pin(umpire::admin::serve(admin, handle))),
        stop: stopped,
    };
    let (ending, ends) = channel();
    let control = spawn("control", Ending(Who::Control, ending.clone()), move || {
        control::run(input).map_err(|e| format!("control thread: {e}"))
    })?;
    let Ok(snapshot) = snapshot.recv_timeout(FIRST_SNAPSHOT) else {
        drop(stop);
        return Err(ended(control)
            .err()
            .unwrap_or_else(|| "the control thread did not start".to_string()));
    };
    let common = Common {
        keys,
        snapshot,
        stats,
        mailboxes,
        clerk,
        machine_memory: machine_memory(),
    };
    let outcome = run_workers(cpus, bound, inboxes, journals, &common, ending)
        .and_then(|workers| wait_for(workers, &ends, &common.mailboxes));
    // the control thread may have ended by itself: then there is nobody to tell
    let _ = stop.send(());
    let control = ended(control);
    outcome.and(control)
}

/// Opens the store and takes over the objects that another program has given to libraries.
fn open_store(folder: &Path, config: &Config) -> Result<Clerk, String> {
    let known: Vec<String> = config.libraries.iter().map(|l| l.name.clone()).collect();
    let clerk = Clerk::start(folder, |libraries| match &config.library_save_file {
        Some(file) => libraries
            .take_over(file, &known)
            .map_err(|why| format!("coordination.library_save_file: {why}")),
        None => Ok(()),
    });
    clerk.map_err(|e| format!("coordination.store: {e}"))
}

/// What all workers are started with.
struct Common {
    keys: Arc<KeyPair>,
    snapshot: Arc<Snapshot>,
    stats: Vec<Arc<WorkerStats>>,
    mailboxes: Vec<Mailbox>,
    clerk: Option<Clerk>,
    machine_memory: u64,
}

type Inboxes = Vec<(Wake, Receiver<Message>)>;

fn mailboxes(count: usize) -> Result<(Vec<Mailbox>, Inboxes), String> {
    let mut mailboxes = Vec::new();
    let mut inboxes = Vec::new();
    for _ in 0..count {
        let wake = Wake::new().map_err(|e| format!("eventfd: {e}"))?;
        let (mailbox, inbox) = Mailbox::new(wake.clone());
        mailboxes.push(mailbox);
        inboxes.push((wake, inbox));
    }
    Ok((mailboxes, inboxes))
}

type Thread = JoinHandle<Result<(), String>>;

/// Starts the workers; they accept when this returns.
fn run_workers(
    cpus: Vec<usize>,
    bound: Bound,
    inboxes: Inboxes,
    journals: Vec<Writer>,
    common: &Common,
    ending: Sender<Who>,
) -> Result<Vec<Thread>, String> {
    let (started, starts) = sync_channel(cpus.len());
    let mut threads = Vec::new();
    let parts = cpus.iter().zip(bound.per_worker).zip(inboxes).zip(journals);
    for (index, (((cpu, listeners), inbox), journal)) in parts.enumerate() {
        let input = worker_input(index, *cpu, listeners, inbox, journal, common);
        let started = started.clone();
        let ending = Ending(Who::Worker(index), ending.clone());
        threads.push(spawn(&format!("worker-{index}"), ending, move || {
            worker::run(input, started);
            Ok(())
        })?);
    }
    drop(started);
    for answer in starts.iter().take(cpus.len()) {
        if let Err(why) = answer {
            drain_now(&common.mailboxes);
            return Err(why);
        }
    }
    tracing::info!(workers = cpus.len(), cpus = ?cpus, "ready for clients");
    Ok(threads)
}

/// Until all workers have ended. A thread that ends by a fault ends the process, for a supervisor to start it
/// anew: clients would still be sent to a worker that is gone, and without the control thread the others would
/// never hear of a dead server.
#[allow(
    clippy::disallowed_methods,
    reason = "the main thread waits for the others"
)]
fn wait_for(
    workers: Vec<Thread>,
    ends: &Receiver<Who>,
    mailboxes: &[Mailbox],
) -> Result<(), String> {
    let mut left: Vec<Option<Thread>> = workers.into_iter().map(Some).collect();
    let mut outcome = Ok(());
    while left.iter().any(Option::is_some) {
        let result = match ends.recv() {
            Ok(Who::Worker(index)) => left[index].take().map_or(Ok(()), ended),
            Ok(Who::Control) => Err("the control thread ended: see the log above".to_string()),
            Err(_) => return outcome,
        };
        if result.is_err() && outcome.is_ok() {
            drain_now(mailboxes);
            outcome = result;
        }
    }
    outcome
}

fn drain_now(mailboxes: &[Mailbox]) {
    for mailbox in mailboxes {
        mailbox.send(Message::Drain(Duration::ZERO));
    }
}

#[derive(Clone, Copy)]
enum Who {
    Control,
    Worker(usize),
}

/// Tells on drop, and so on a panic too, that a thread has ended.
struct Ending(Who, Sender<Who>);

impl Drop for Ending {
    fn drop(&mut self) {
        // nobody listens any more when the process ends for another reason
        let _ = self.1.send(self.0);
    }
}

fn worker_input(
    index: usize,
    cpu: usize,
    listeners: Vec<OwnedFd>,
    (wake, inbox): (Wake, Receiver<Message>),
    journal: Writer,
    common: &Common,
) -> Input {
    Input {
        index,
        cpu,
        listeners,
        snapshot: common.snapshot.clone(),
        stats: common.stats[index].clone(),
        keys: common.keys.clone(),
        wake,
        journal,
        inbox,
        mailboxes: common.mailboxes.clone(),
        all_stats: common.stats.clone(),
        clerk: common.clerk.clone(),
        machine_memory: common.machine_memory,
    }
}

/// Bytes that the process could use at most: the machine's, or those of its control group.
#[allow(clippy::disallowed_methods, reason = "at start-up only")]
fn machine_memory() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = read("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map_or(u64::MAX, |kib| kib.saturating_mul(1024));
    // the second version's file, and the first one's; "max": none
    let groups = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let of_groups = groups
        .iter()
        .filter_map(|path| read(path).trim().parse().ok());
    of_groups.fold(machine, u64::min)
}

/// The CPUs to run on: those of the process's affinity mask, or the configured ones among them.
fn cpus(workers: &Workers) -> Result<Vec<usize>, String> {
    let allowed: Vec<usize> = core_affinity::get_core_ids()
        .unwrap_or_default()
        .iter()
        .map(|c| c.id)
        .collect();
    if allowed.is_empty() {
        return Err("the CPUs of this process cannot be read (sched_getaffinity)".to_string());
    }
    match workers {
        Workers::Auto => Ok(allowed),
        Workers::Cpus(wanted) => match wanted.iter().find(|c| !allowed.contains(c)) {
            None => Ok(wanted.clone()),
            Some(missing) => Err(format!(
                "proxy.workers names CPU {missing}; this process may use {allowed:?}"
            )),
        },
    }
}

fn spawn(
    name: &str,
    ending: Ending,
    f: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Result<Thread, String> {
    Builder::new()
        .name(name.to_string())
        .spawn(move || {
            let _ending = ending;
            f()
        })
        .map_err(|e| format!("thread {name}: {e}"))
}

#[allow(
    clippy::disallowed_methods,
    reason = "the main thread waits for the others"
)]
fn ended(thread: Thread) -> Result<(), String> {
    thread
        .join()
        .unwrap_or_else(|_| Err("a thread panicked: see the log above".to_string()))
}
