//! What this worker's pools of one server have in common: the budget's tokens, the gate, and the queue of
//! those who wait.
mod token;

pub(super) use token::{Leaving, Permit, Token};

use super::bell::Bell;
use super::gate::{Closed, Gate};
use super::lease::{Lease, LeaseError};
use super::pool::Pool;
use super::queue::{self, Key, Offer, Queue, Ticket};
use super::state::StateTable;
use crate::config;
use crate::net;
use crate::observe::WorkerStats;
use crate::topology::{Server, ServerId};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// While someone waits: how often the budget is looked at (other workers give tokens back without a word).
const TICK: Duration = Duration::from_millis(5);
/// How often other workers are asked for a connection.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// How long a request of another worker stands, and how long this one then leaves the token alone.
const DEBT: Duration = Duration::from_millis(30);
/// A worker whose own clients wait gives to others at most this often.
const GENEROSITY: Duration = Duration::from_millis(100);

/// Per worker.
pub(super) struct Shared {
    pub worker: usize,
    pub settings: RefCell<Arc<config::Proxy>>,
    pub stats: Arc<WorkerStats>,
    pub states: Rc<StateTable>,
    pub ask_others: Box<dyn Fn(ServerId)>,
    pub closing: Cell<bool>,
    last_id: Cell<u64>,
}

impl Shared {
    pub fn new(
        worker: usize,
        settings: Arc<config::Proxy>,
        stats: Arc<WorkerStats>,
        states: Rc<StateTable>,
        ask_others: Box<dyn Fn(ServerId)>,
    ) -> Shared {
        Shared {
            worker,
            settings: RefCell::new(settings),
            stats,
            states,
            ask_others,
            closing: Cell::new(false),
            last_id: Cell::new(0),
        }
    }

    pub fn settings(&self) -> Arc<config::Proxy> {
        self.settings.borrow().clone()
    }

    pub fn next_id(&self) -> u64 {
        self.last_id.set(self.last_id.get() + 1);
        self.last_id.get()
    }

    /// From 0 to 1.
    pub fn chance(&self) -> f64 {
        rand::random()
    }
}

/// Per worker and server.
pub(super) struct Home {
    pub shared: Rc<Shared>,
    /// Of the newest snapshot.
    pub server: RefCell<Arc<Server>>,
    pub pools: RefCell<Vec<Weak<Pool>>>,
    pub leased: Cell<u32>,
    /// The server is no longer configured.
    gone: Cell<bool>,
    gate: RefCell<Gate>,
    queue: RefCell<Queue<Grant>>,
    /// A task serves the queue.
    watched: Cell<bool>,
    bell: Bell,
    /// Tokens held: connections and connects.
    open: Cell<u32>,
    /// Connections that are saying goodbye and still hold their token.
    leaving: Cell<u32>,
    /// A connection over the budget is out.
    extra: Cell<bool>,
    asked: Cell<Option<Instant>>,
    owes_until: Cell<Option<Instant>>,
    stands_back_until: Cell<Option<Instant>>,
    gave: Cell<Option<Instant>>,
}

/// What one who waits is given.
pub(super) enum Grant {
    /// Somebody else's connection; its state may be anything.
    Connection(Lease),
    /// Leave to open one.
    Connect(Permit),
    /// Waiting is of no use.
    Refused(LeaseError),
}

/// Why no connect is possible now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Busy {
    Budget,
    Gate(Closed),
}

impl Home {
    pub fn new(shared: Rc<Shared>, server: Arc<Server>) -> Home {
        Home {
            shared,
            server: RefCell::new(server),
            pools: RefCell::default(),
            leased: Cell::new(0),
            gone: Cell::new(false),
            gate: RefCell::new(Gate::new()),
            queue: RefCell::new(Queue::new(queue::CAPACITY)),
            watched: Cell::new(false),
            bell: Bell::default(),
            open: Cell::new(0),
            leaving: Cell::new(0),
            extra: Cell::new(false),
            asked: Cell::new(None),
            owes_until: Cell::new(None),
            stands_back_until: Cell::new(None),
            gave: Cell::new(None),
        }
    }

    pub fn server(&self) -> Arc<Server> {
        self.server.borrow().clone()
    }

    /// Leave to open one more connection, for one who stands in nobody's way.
    pub fn permit(self: &Rc<Self>, now: Instant) -> Result<Permit, Busy> {
        if self.gone.get() {
            let text = format!("server {} is no longer configured", self.server().address);
            return Err(Busy::Gate(Closed::Down(text)));
        }
        self.gate.borrow_mut().admit(now).map_err(Busy::Gate)?;
        let token = if is_ahead(&self.stands_back_until, now) {
            None
        } else {
            Token::take(self)
        };
        match token {
            Some(token) => Ok(Permit::new(self, token)),
            None => {
                self.gate.borrow_mut().unused();
                Err(Busy::Budget)
            }
        }
    }

    pub fn someone_waits(&self) -> bool {
        !self.queue.borrow().is_empty()
    }

    /// A place in the queue; `None` when it is full.
    pub fn join(self: &Rc<Self>, key: Key, since: Instant, first: bool) -> Option<Ticket<Grant>> {
        let ticket = self.queue.borrow_mut().join(key, since, first)?;
        if !self.watched.replace(true) {
            net::spawn(watch(self.clone()));
        }
        Some(ticket)
    }

    /// Offers a connection that came back to those who wait.
    pub fn offer(&self, key: Key, now: Instant, lease: Lease) -> Offer<Grant> {
        self.queue
            .borrow_mut()
            .offer(key, now, Grant::Connection(lease))
    }

    /// Grants what can be granted now; the time of the next look.
    fn serve(self: &Rc<Self>, now: Instant) -> Instant {
        while self.someone_waits() {
            match self.permit(now) {
                Ok(permit) => self.give(Grant::Connect(permit)),
                Err(Busy::Gate(Closed::Down(text))) => self.refuse_all(&text),
                Err(Busy::Gate(Closed::Concurrency | Closed::Rate)) => break,
                Err(Busy::Budget | Busy::Gate(Closed::Full)) => {
                    self.make_room(now);
                    break;
                }
            }
        }
        now + TICK
    }

    fn give(&self, grant: Grant) {
        let back = self.queue.borrow_mut().grant_first(grant);
        // Outside the borrow: a grant that nobody took has consequences.
        drop(back);
    }

    pub fn refuse_all(&self, text: &str) {
        while self.someone_waits() {
            self.give(Grant::Refused(LeaseError::Unreachable(text.to_owned())));
        }
    }

    /// The budget is spent, here or elsewhere: idle connections of other kinds must go.
    pub fn make_room(self: &Rc<Self>, now: Instant) {
        if (self.leaving.get() as usize) < self.queue.borrow().len().max(1) {
            self.retire_oldest_idle();
        }
        let due = self
            .asked
            .get()
            .is_none_or(|at| now.saturating_duration_since(at) >= ASK_EVERY);
        if due {
            self.asked.set(Some(now));
            (self.shared.ask_others)(self.server.borrow().id);
        }
    }

    /// Another worker waits for a connection.
    pub fn give_back(self: &Rc<Self>, now: Instant) {
        if self.retire_oldest_idle() {
            return;
        }
        let waited_for = self.someone_waits();
        let gave_lately = self
            .gave
            .get()
            .is_some_and(|at| now.saturating_duration_since(at) < GENEROSITY);
        if !waited_for || self.open.get() > 1 && !gave_lately {
            self.owes_until.set(Some(now + DEBT));
        }
    }

    /// Whether a connection that comes back now goes to another worker.
    pub fn pays_debt(&self, now: Instant) -> bool {
        if self.owes_until.get().is_none() || !is_ahead(&self.owes_until, now) {
            return false;
        }
        self.owes_until.set(None);
        self.gave.set(Some(now));
        self.stands_back_until.set(Some(now + DEBT));
        true
    }

    fn retire_oldest_idle(self: &Rc<Self>) -> bool {
        let pools = self.all_pools();
        let oldest = pools
            .iter()
            .filter_map(|pool| Some((pool.oldest_idle()?, pool)))
            .min_by_key(|(at, _)| *at);
        oldest.is_some_and(|(_, pool)| pool.retire_oldest())
    }

    pub fn all_pools(&self) -> Vec<Rc<Pool>> {
        self.pools
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Counts a connection as saying goodbye until the result is dropped.
    pub fn leaving(self: &Rc<Self>) -> Leaving {
        Leaving::new(self)
    }

    /// A new snapshot's view of the server; `None`: it is gone. True: idle connections must be closed.
    pub fn update(&self, server: Option<&Arc<Server>>) -> bool {
        let Some(new) = server else {
            self.gone.set(true);
            return true;
        };
        let old = self.server.replace(new.clone());
        let was_gone = self.gone.replace(false);
        if new.health.alive && (!old.health.alive || was_gone) {
            self.gate.borrow_mut().reopen();
        }
        !new.health.alive || differs(&old, new)
    }

    /// Whether a connection opened to `server` still is one to this server in its present role.
    pub fn disowns(&self, server: &Server) -> bool {
        self.gone.get() || self.shared.closing.get() || differs(server, &self.server.borrow())
    }
}

fn differs(a: &Server, b: &Server) -> bool {
    a.role != b.role
        || a.target != b.target
        || a.tls != b.tls
        || a.proxy_protocol != b.proxy_protocol
}

fn is_ahead(time: &Cell<Option<Instant>>, now: Instant) -> bool {
    time.get().is_some_and(|at| now < at)
}

/// Runs while someone waits for a connection to this server.
async fn watch(home: Rc<Home>) {
    loop {
        let again = home.serve(net::now());
        if !home.someone_waits() {
            break;
        }
        home.bell.wait(again).await;
    }
    home.watched.set(false);
}
