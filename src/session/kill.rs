//! KILL and COM_PROCESS_KILL: client-visible ids → the server's thread.
//!
//! Ids that Umpire gave out tell the worker that owns the session; the victim's worker sends
//! `KILL QUERY thread` to the server over a connection of its own, so that it works while every pooled
//! connection is busy.
use super::promise::Promise;
use super::registry::{Entry, OnServer};
use super::shared::{KillElsewhere, KillOutcome, Shared};
use super::{End, Session};
use crate::backend::Want;
use crate::net::{self, Buf};
use crate::relay::{Command, Relay};
use crate::sniff::Kill;
use crate::wire::packet::frame;
use crate::wire::{command, error};
use std::rc::Rc;
use std::time::Duration;

/// A KILL's own connection and its reply.
const KILL_DEADLINE: Duration = Duration::from_millis(1500);

impl Session {
    pub(super) async fn kill(&mut self, kill: Kill) -> Result<(), End> {
        let outcome = match u32::try_from(kill.id) {
            Err(_) => KillOutcome::NoSuchThread,
            Ok(id) => self.kill_somewhere(id, kill.query).await,
        };
        match outcome {
            KillOutcome::NoSuchThread => self.tell(&error::no_such_thread(kill.id)),
            KillOutcome::NotOwner => self.tell(&error::not_owner_of_thread(kill.id)),
            KillOutcome::Killed if self.entry.stopped() => {
                return Err(self.tell_and_end(&error::query_interrupted()));
            }
            KillOutcome::Killed if kill.query && kill.id == u64::from(self.entry.id) => {
                self.tell(&error::query_interrupted());
            }
            KillOutcome::Killed => self.tell_ok(),
        }
        Ok(())
    }

    pub(super) async fn process_kill(&mut self, command: Command) -> Result<(), End> {
        if let Err(error) = self.check_command(command.kind(), command.body()) {
            return self.deny(&command, &error);
        }
        let Some(id) = super::prepare::statement_id(&command) else {
            self.tell(&error::malformed_packet());
            return Ok(());
        };
        self.kill(Kill {
            id: u64::from(id),
            query: false,
            hard: true,
        })
        .await
    }

    async fn kill_somewhere(&self, id: u32, query_only: bool) -> KillOutcome {
        let user = self.entry.user.borrow().to_string();
        let worker = self.shared.registry.worker_of(id);
        if worker == self.shared.worker {
            return kill_here(&self.shared, id, query_only, Some(&user)).await;
        }
        let done = Promise::default();
        (self.shared.kill_elsewhere)(KillElsewhere {
            worker,
            id,
            query_only,
            user,
            done: done.clone(),
        });
        done.wait_until(net::now() + 2 * KILL_DEADLINE)
            .await
            .unwrap_or(KillOutcome::NoSuchThread)
    }
}

/// Kills a session of this worker. `user`: only if it is this user's; None: the administrator asks.
pub async fn kill_here(
    shared: &Rc<Shared>,
    id: u32,
    query_only: bool,
    user: Option<&str>,
) -> KillOutcome {
    let Some(entry) = shared.registry.get(id) else {
        return KillOutcome::NoSuchThread;
    };
    if user.is_some_and(|u| u != &**entry.user.borrow()) {
        return KillOutcome::NotOwner;
    }
    if query_only {
        entry.interrupt();
    } else {
        entry.stop();
    }
    // a statement on several servers is interrupted by its own session, which is awake now
    if !entry.is_spread() {
        kill_on_server(shared, &entry, query_only).await;
    }
    KillOutcome::Killed
}

/// Interrupts what the session runs on a server now, if it runs something.
pub(super) async fn kill_on_server(shared: &Rc<Shared>, entry: &Entry, query_only: bool) {
    let is_running = || entry.activity() == super::registry::Activity::Running;
    let Some(on) = entry.on_server.get().filter(|_| is_running()) else {
        return;
    };
    let still = || entry.on_server.get() == Some(on) && is_running();
    kill_if(shared, entry, on, query_only, &still).await;
}

/// As [`kill_on_server`], of a connection that the caller has for itself.
pub(super) async fn kill_one(shared: &Rc<Shared>, entry: &Entry, on: OnServer, query_only: bool) {
    kill_if(shared, entry, on, query_only, &|| true).await;
}

/// `still`: the connection is the session's, asked when the KILL can be sent.
async fn kill_if(
    shared: &Rc<Shared>,
    entry: &Entry,
    on: OnServer,
    query_only: bool,
    still: &dyn Fn() -> bool,
) {
    let Some(account) = entry.account.borrow().clone() else {
        return;
    };
    let snapshot = shared.snapshot();
    let found = snapshot
        .groups
        .iter()
        .find_map(|g| Some((g, g.servers.iter().find(|s| s.id == on.server)?)));
    let Some((group, server)) = found else { return };
    let state = shared.states.intern(crate::backend::initial_state(
        u16::from(group.greeting.collation),
        &group.greeting,
    ));
    let want = Want {
        server,
        account: &account,
        capabilities: crate::wire::capabilities::PROTOCOL_41,
        collation: u16::from(group.greeting.collation),
        state: &state,
        guarded: false,
        mariadb: group.greeting.is_mariadb(),
    };
    let deadline = net::now() + KILL_DEADLINE;
    let lease = match shared.pools.dedicated(&want, deadline).await {
        Ok(lease) => lease,
        Err(cause) => {
            tracing::warn!(id = entry.id, ?cause, "KILL could not reach the server");
            return give_up(entry, on, query_only);
        }
    };
    // the statement may have ended and the connection gone to another session meanwhile
    if !still() {
        return;
    }
    let what = if query_only { "KILL QUERY" } else { "KILL" };
    let mut out = Vec::new();
    let mut payload = vec![command::QUERY];
    payload.extend_from_slice(format!("{what} {}", on.thread_id).as_bytes());
    frame(&payload, 0, &mut out);
    lease.socket.set_deadline(Some(deadline));
    lease.socket.send(Buf::from_vec(out));
    let mut relay = Relay::new(&lease.socket, None, command::QUERY, lease.capabilities);
    if let Err(cause) = relay.run().await {
        tracing::warn!(id = entry.id, ?cause, "KILL was not answered");
        give_up(entry, on, query_only);
    }
}

/// The server does not answer: a session that was killed need not wait for it.
fn give_up(entry: &Entry, on: OnServer, query_only: bool) {
    if !query_only && entry.on_server.get() == Some(on) {
        on.aborter.abort();
    }
}
