//! The control thread: checks the servers, follows signals and reloads, and publishes an immutable
//! snapshot to every worker whenever something changed.
//!
//! One thread with its own tokio runtime, so that a stalled worker never looks like a dead server.
//! Everything that changes goes through one task, the [`keeper`]; the others send it messages.
//!
//! | file | job |
//! |---|---|
//! | `keeper.rs` | what is known, and what follows from a change |
//! | `health/` | one server's state machine, a group's assessment (pure) |
//! | `watch.rs`, `probe.rs` | the checking task of a server, one round of checks |
//! | `client/` | the MySQL client that the checks use |
//! | `accounts/` | the servers' accounts, for groups that take their users from there |
//! | `replication.rs`, `greeting.rs` | reading what servers say (pure) |
//! | `resolve.rs` | names → targets |
//! | `stall.rs` | telling our own stall from a server's silence |
//! | `journal/` | the audit and the slow log, on a thread of their own |
//! | `reload.rs` | the configuration file again |
//! | `memory.rs` | free memory back to the system after a load |
//! | `log.rs` | servers that come and go, in words |
//! | `handle.rs` | what the admin servers see and may ask |

mod accounts;
mod client;
mod greeting;
mod handle;
pub mod health;
mod journal;
mod keeper;
mod log;
mod memory;
mod probe;
mod reload;
mod replication;
mod resolve;
pub mod stall;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod watch;

pub use handle::{Handle, View};

use crate::config::Config;
use crate::coordination::Clerk;
use crate::observe::{ring, WorkerStats};
use crate::topology::Snapshot;
use crate::worker::mailbox::Mailbox;
use handle::Request;
use keeper::Keeper;
use stall::StallClock;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::{mpsc, oneshot, watch as watch_channel};
use watch::Report;

/// How often the end of the certificate is looked at.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// At start, servers that have not answered by then are published as not alive.
const STARTUP_DEADLINE: Duration = Duration::from_secs(3);
/// Reports and requests under way; senders wait when it is full.
const QUEUE: usize = 64;

/// The admin servers, run on the control thread; the top level puts them in, this module does not
/// know them.
pub type Serve = Box<dyn FnOnce(Handle) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// What the control thread needs.
pub struct ControlInput {
    pub config: Config,
    /// Read again by a reload.
    pub config_path: PathBuf,
    /// One a worker. Each gets the first snapshot before `started` is told.
    pub mailboxes: Vec<Mailbox>,
    /// In the order of the mailboxes.
    pub worker_stats: Vec<Arc<WorkerStats>>,
    /// Records of the workers, in the order of the mailboxes.
    pub journals: Vec<ring::Reader>,
    /// Told once, with the first snapshot.
    pub started: std::sync::mpsc::Sender<Arc<Snapshot>>,
    /// The store, where one is configured.
    pub clerk: Option<Clerk>,
    pub serve: Serve,
    /// Ends the control thread when told or dropped: after the last worker has ended.
    pub stop: oneshot::Receiver<()>,
}

/// Runs the control thread; returns after `stop`.
///
/// # Errors
/// The runtime or the signal handlers cannot be set up.
#[allow(
    clippy::disallowed_methods,
    reason = "waits, for some seconds at most, for the audit to be written"
)]
pub fn run(mut input: ControlInput) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (orders, ordered) = std::sync::mpsc::channel();
    let readers = std::mem::take(&mut input.journals);
    let writer = std::thread::Builder::new()
        .name("journal".into())
        .spawn(move || journal::run(readers, ordered))?;
    let result = runtime.block_on(follow(input, orders));
    // Does not wait for a name look-up that hangs.
    runtime.shutdown_background();
    // bounded: what cannot be delivered is given up after some seconds
    if writer.join().is_err() {
        tracing::error!("the thread that writes the audit has panicked");
    }
    result
}

async fn follow(
    input: ControlInput,
    journal: std::sync::mpsc::Sender<journal::Order>,
) -> io::Result<()> {
    let mut signals = Signals::new()?;
    let clock = Arc::new(StallClock::new(Instant::now()));
    tokio::spawn(stall::keep_ticking(clock.clone()));
    tokio::spawn(memory::tend());
    let mailboxes: Arc<[Mailbox]> = input.mailboxes.into();
    let (sender, mut reports) = mpsc::channel(QUEUE);
    let mut rules = keeper::follow(input.clerk.as_ref());
    let mut config = input.config;
    let mut stored = Vec::new();
    if input.clerk.is_some() {
        if let Some(first) = rules.recv().await {
            stored = first.list;
            let sections = stored.iter().map(|rule| rule.text.as_str());
            config = config.with_stored(sections).map_err(io::Error::other)?;
        }
    }
    let mut keeper = Keeper::new(
        config,
        stored,
        input.config_path,
        mailboxes.clone(),
        sender,
        clock,
        journal,
    );
    let mut accounts = keeper.account_reports();
    start_up(&mut keeper, &mut reports).await;
    // The receiver is gone when the top level gave up waiting; it then tells `stop`.
    let _ = input.started.send(keeper.snapshot().clone());

    let (requests_sender, mut requests) = mpsc::channel(QUEUE);
    let (views, view) = watch_channel::channel(Arc::new(keeper.view()));
    let stats = input.worker_stats.into();
    let handle = Handle {
        requests: requests_sender,
        view,
        mailboxes,
        stats,
        clerk: input.clerk,
    };
    let servers = tokio::spawn((input.serve)(handle));
    let mut stop = input.stop;
    let mut days = tokio::time::interval_at(tokio::time::Instant::now() + DAY, DAY);
    loop {
        tokio::select! {
            _ = days.tick() => keeper.look_at_certificates(),
            Some(report) = reports.recv() => keeper.on_report(report),
            Some(report) = accounts.recv() => keeper.on_accounts(report, Instant::now()),
            Some(request) = requests.recv() => answer(&mut keeper, request),
            Some(rules) = rules.recv() => keeper.on_rules(rules, Instant::now()),
            signal = signals.next() => obey(&mut keeper, signal),
            _ = &mut stop => break,
        }
        views.send_replace(Arc::new(keeper.view()));
    }
    servers.abort();
    Ok(())
}

/// Waits until every server was checked once, but not for ever; then publishes.
async fn start_up(keeper: &mut Keeper, reports: &mut mpsc::Receiver<Report>) {
    let checked = async {
        while !keeper.heard_of_all() {
            match reports.recv().await {
                Some(report) => keeper.on_report(report),
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(STARTUP_DEADLINE, checked).await;
    keeper.start(Instant::now());
}

fn answer(keeper: &mut Keeper, request: Request) {
    match request {
        Request::Reload(answer) => {
            // Nobody waits for the answer any more: the log has it.
            let _ = answer.send(keeper.reload(Instant::now()));
        }
        Request::SetLimit {
            user,
            key,
            value,
            answer,
        } => {
            let _ = answer.send(keeper.set_limit(&user, &key, value, Instant::now()));
        }
        Request::Shutdown => keeper.drain(),
    }
}

fn obey(keeper: &mut Keeper, signal: Order) {
    match signal {
        Order::Reload => {
            // Logged by the keeper.
            let _ = keeper.reload(Instant::now());
        }
        Order::Drain => keeper.drain(),
    }
}

enum Order {
    Reload,
    Drain,
}

struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Signals that come while nobody waits are kept.
    async fn next(&mut self) -> Order {
        tokio::select! {
            _ = self.hangup.recv() => Order::Reload,
            _ = self.terminate.recv() => Order::Drain,
            _ = self.interrupt.recv() => Order::Drain,
        }
    }
}
