//! One worker: a glommio executor pinned to a CPU, its ring, its share of the clients, its pools.
//!
//! Workers share nothing on a turn's path. What they must agree on (topology, KILL, connection
//! budgets, uneven numbers of clients) goes by [`mailbox`] messages.
mod accept;
mod listen;
pub mod mailbox;
pub mod memory;
mod messages;

pub use listen::{Bound, ListenError};

use crate::backend::{Pools, StateTable};
use crate::coordination::Clerk;
use crate::net::{self, NetConfig, Wake};
use crate::observe::ring::Writer;
use crate::observe::WorkerStats;
use crate::session::shared::{KeyPair, KillElsewhere, Shared};
use crate::session::store::StoreLink;
use crate::topology::{ServerId, Snapshot};
use ahash::AHashMap;
use glommio::{LocalExecutorBuilder, Placement};
use mailbox::{Mailbox, Message};
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::Arc;
use std::time::Duration;

/// glommio's own ring is not used for sockets: small, and without its registered memory.
const EXECUTOR_RING: usize = 16;
/// glommio interrupts running tasks by this timer; here tasks are short and the driver decides who runs.
const PREEMPT: Duration = Duration::from_secs(1);
/// How often pools are tended and counters copied.
const TEND: Duration = Duration::from_secs(1);

/// What a worker is started with.
pub struct Input {
    pub index: usize,
    /// CPU to pin to.
    pub cpu: usize,
    /// Listening sockets, in the order of `proxy.listen`.
    pub listeners: Vec<OwnedFd>,
    pub snapshot: Arc<Snapshot>,
    pub stats: Arc<WorkerStats>,
    pub keys: Arc<KeyPair>,
    pub wake: Wake,
    /// For the audit and the slow log.
    pub journal: Writer,
    pub inbox: Receiver<Message>,
    /// Keeps what must outlive the process; absent: nothing is kept.
    pub clerk: Option<Clerk>,
    /// All workers, this one among them; by index.
    pub mailboxes: Vec<Mailbox>,
    pub all_stats: Vec<Arc<WorkerStats>>,
    /// Bytes that the process could use at most.
    pub machine_memory: u64,
}

/// State of the worker's own tasks. Per worker.
struct Worker {
    shared: Rc<Shared>,
    mailboxes: Vec<Mailbox>,
    all_stats: Vec<Arc<WorkerStats>>,
    listeners: Vec<net::Listener>,
    kills: messages::PendingKills,
    /// Accepted or handed over, and not yet ended.
    clients: Cell<usize>,
    /// Told to drain: the worker ends when its last client has.
    draining: Cell<bool>,
    /// Bytes that the process could use at most.
    machine_memory: u64,
    memory: Cell<memory::Share>,
    /// The memory is used up, by many that hold little each: no further clients.
    full: Cell<bool>,
    charged: RefCell<AHashMap<Rc<str>, memory::Charge>>,
}

/// Runs a worker on the calling thread until it is drained. `started` is told once: the worker accepts,
/// or why it cannot.
pub fn run(input: Input, started: SyncSender<Result<(), String>>) {
    let executor = LocalExecutorBuilder::new(Placement::Fixed(input.cpu))
        .name(&format!("worker-{}", input.index))
        .ring_depth(EXECUTOR_RING)
        .io_memory(0)
        .preempt_timer(PREEMPT)
        .make();
    let executor = match executor {
        Ok(executor) => executor,
        Err(cause) => {
            let why = format!(
                "worker {}: no executor on CPU {} (a MemLockLimit is raised by `ulimit -l` or LimitMEMLOCK=): {cause}",
                input.index, input.cpu
            );
            // main waits for exactly one answer of each worker, so that the channel has room
            let _ = started.send(Err(why));
            return;
        }
    };
    executor.run(async move {
        match start(input) {
            Ok(()) => {
                let _ = started.send(Ok(()));
                net::drive().await;
            }
            Err(why) => {
                let _ = started.send(Err(why));
            }
        }
    });
    drop(executor);
    net::finish();
}

fn start(input: Input) -> Result<(), String> {
    let proxy = input.snapshot.proxy.clone();
    let config = NetConfig {
        write_timeout: proxy.write_timeout,
        high_water: proxy.high_water,
        busy_poll: proxy.busy_poll,
        ..NetConfig::default()
    };
    net::start(config).map_err(|e| format!("worker {}: {e}", input.index))?;
    net::attach_wake(input.wake);
    let listeners: Result<Vec<_>, _> = input.listeners.into_iter().map(net::listen).collect();
    let listeners = listeners.map_err(|e| format!("worker {}: cannot listen: {e}", input.index))?;
    let states = Rc::new(StateTable::new());
    let index = input.index;
    let ask_others = ask_in_turn(input.mailboxes.clone(), index);
    let pools = Pools::new(
        index,
        proxy,
        input.stats.clone(),
        states.clone(),
        ask_others,
    );
    let kills = messages::PendingKills::default();
    let store = input.clerk.map(|clerk| {
        let me = input.mailboxes[index].clone();
        let post = move |ticket, answer| {
            me.send(Message::Stored(ticket, answer));
        };
        StoreLink::new(clerk, Arc::new(post))
    });
    let shared = Shared::new(
        index,
        input.mailboxes.len(),
        pools,
        states,
        input.stats,
        input.keys,
        input.snapshot,
        kill_elsewhere(input.mailboxes.clone(), index, kills.clone()),
        input.journal,
    );
    let shared = Rc::new(shared.with_store(store));
    let worker = Rc::new(Worker {
        shared,
        mailboxes: input.mailboxes,
        all_stats: input.all_stats,
        listeners,
        kills,
        clients: Cell::new(0),
        draining: Cell::new(false),
        machine_memory: input.machine_memory,
        memory: Cell::default(),
        full: Cell::new(false),
        charged: RefCell::default(),
    });
    worker.apply_memory();
    for listener in 0..worker.listeners.len() {
        net::spawn(accept::accept_loop(worker.clone(), listener));
    }
    net::spawn(messages::read_mailbox(worker.clone(), input.inbox));
    net::spawn(memory::guard(worker.clone()));
    net::spawn(memory::charge(worker.clone()));
    net::spawn(tend(worker));
    Ok(())
}

/// Asks one other worker for a server connection, each in turn.
fn ask_in_turn(mailboxes: Vec<Mailbox>, me: usize) -> Box<dyn Fn(ServerId)> {
    let next = Cell::new(me);
    Box::new(move |server| {
        let step = if (next.get() + 1) % mailboxes.len() == me {
            2
        } else {
            1
        };
        next.set((next.get() + step) % mailboxes.len());
        if next.get() != me {
            mailboxes[next.get()].send(Message::GiveBack(server));
        }
    })
}

/// Sends a KILL to the worker that owns the id; the outcome comes back as a message.
fn kill_elsewhere(
    mailboxes: Vec<Mailbox>,
    me: usize,
    kills: messages::PendingKills,
) -> Box<dyn Fn(KillElsewhere)> {
    Box::new(move |kill| {
        let ticket = kills.add(kill.done);
        let Some(home) = mailboxes.get(me).cloned() else {
            return;
        };
        let reply = Box::new(move |outcome| {
            home.send(Message::KillDone { ticket, outcome });
        });
        if let Some(mailbox) = mailboxes.get(kill.worker) {
            mailbox.send(Message::Kill {
                whom: kill.whom,
                act: kill.act,
                user: kill.user,
                reply,
            });
        }
    })
}

/// Periodic work of the worker.
async fn tend(worker: Rc<Worker>) {
    loop {
        net::sleep_until(net::now() + TEND).await;
        worker.shared.pools.tend();
        net::tidy();
        let (stats, registry) = (&worker.shared.stats, &worker.shared.registry);
        stats
            .digests_evicted
            .set(worker.shared.digests.borrow().evicted());
        stats.pinned.set(registry.pinned() as u64);
        copy_net_stats(stats);
    }
}

fn copy_net_stats(stats: &WorkerStats) {
    let net = net::stats();
    stats.ring_enters.set(net.enters);
    stats.ring_events.set(net.events);
    stats.backpressure_pauses.set(net.pauses);
    stats.buffers_spilled.set(net.spills);
    stats.clients_accepted.set(net.accepted);
    stats.memory_pressed.set(net.pressed);
    stats.heap_bytes.set(net::memory::heap_used() as u64);
}
