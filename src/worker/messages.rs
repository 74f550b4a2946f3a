//! The worker's mailbox: what other threads ask of it.
use super::mailbox::Message;
use super::{accept, Worker};
use crate::net;
use crate::session::kill::kill_here;
use crate::session::promise::Promise;
use crate::session::shared::KillOutcome;
use ahash::AHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// KILLs that this worker sent to others and that are not answered yet.
#[derive(Clone, Default)]
pub(super) struct PendingKills(Rc<Inner>);

#[derive(Default)]
struct Inner {
    waiting: RefCell<AHashMap<u64, Promise<KillOutcome>>>,
    next: Cell<u64>,
}

impl PendingKills {
    /// The ticket under which the answer will come.
    pub(super) fn add(&self, done: Promise<KillOutcome>) -> u64 {
        let ticket = self.0.next.get();
        self.0.next.set(ticket + 1);
        let mut waiting = self.0.waiting.borrow_mut();
        // those who no longer wait leave nothing behind
        waiting.retain(|_, promise| !promise.is_abandoned());
        waiting.insert(ticket, done);
        ticket
    }

    fn done(&self, ticket: u64, outcome: KillOutcome) {
        if let Some(promise) = self.0.waiting.borrow_mut().remove(&ticket) {
            promise.fulfil(outcome);
        }
    }
}

pub(super) async fn read_mailbox(worker: Rc<Worker>, inbox: Receiver<Message>) {
    loop {
        net::woken().await;
        loop {
            match inbox.try_recv() {
                Ok(message) => worker.handle(message),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }
}

impl Worker {
    fn handle(self: &Rc<Self>, message: Message) {
        let shared = &self.shared;
        match message {
            Message::Snapshot(snapshot) => {
                let proxy = &snapshot.proxy;
                net::tune(proxy.write_timeout, proxy.busy_poll);
                shared.set_snapshot(snapshot);
                self.apply_memory();
            }
            Message::Accepted { socket, listener } => {
                accept::serve(self, socket, listener);
                self.mailboxes[shared.worker].arrived();
            }
            Message::GiveBack(server) => shared.pools.give_back(server),
            Message::Sessions(reply) => {
                let snapshot = shared.snapshot();
                let name = |id| {
                    let servers = snapshot.groups.iter().flat_map(|g| &g.servers);
                    servers
                        .filter(|s| s.id == id)
                        .map(|s| s.address.to_string())
                        .next()
                };
                reply(shared.registry.info(net::now(), &name));
            }
            Message::Pools(reply) => reply(shared.pools.info()),
            Message::Stored(ticket, answer) => {
                if let Some(store) = shared.store() {
                    store.answered(ticket, answer);
                }
            }
            Message::ResumeJob(id, reply) => {
                let shared = shared.clone();
                net::spawn(async move {
                    reply(crate::session::resume_job(&shared, id).await);
                });
            }
            Message::Route(asked, reply) => {
                let shared = shared.clone();
                net::spawn(async move {
                    reply(crate::session::explain_for(&shared, asked).await);
                });
            }
            Message::Digests(reply) => reply(shared.digests.borrow().rows()),
            Message::Waiting(reply) => reply(shared.lines.waiting()),
            Message::Memory(reply) => {
                let worker = self.clone();
                net::spawn(async move { reply(worker.memory_info().await) });
            }
            Message::Latency(reply) => reply(shared.latency.borrow().clone()),
            Message::Kill {
                whom,
                act,
                user,
                reply,
            } => {
                let shared = shared.clone();
                net::spawn(async move {
                    reply(kill_here(&shared, &whom, act, user.as_deref()).await);
                });
            }
            Message::KillDone { ticket, outcome } => self.kills.done(ticket, outcome),
            Message::Heard(reply) => reply(()),
            Message::Drain(limit) => self.drain(limit),
        }
    }

    /// Stops accepting; idle clients are closed, the others after their turn or transaction, all after `limit`.
    fn drain(self: &Rc<Self>, limit: Duration) {
        self.listeners.iter().for_each(net::Listener::stop);
        self.shared.draining.set(true);
        if !self.draining.replace(true) {
            tracing::info!(
                worker = self.shared.worker,
                clients = self.clients.get(),
                "draining"
            );
        }
        self.shared.registry.wake_all();
        self.end_if_drained();
        let worker = self.clone();
        net::spawn(async move {
            net::sleep_until(net::now() + limit).await;
            if worker.clients.get() > 0 {
                tracing::warn!(
                    clients = worker.clients.get(),
                    "the drain deadline is over: closing what still runs"
                );
            }
            net::stop();
        });
    }

    pub(super) fn end_if_drained(&self) {
        if self.draining.get() && self.clients.get() == 0 {
            self.shared.pools.close_all();
            net::stop();
        }
    }
}
