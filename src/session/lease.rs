//! From a statement to a server connection: routing, borrowing, waiting for a primary.
use super::pins::Pins;
use super::questions::warnings_are_gone;
use super::registry::{Activity, Entry, OnServer};
use super::shared::Shared;
use super::Session;
use crate::backend::{After, Lease, LeaseError, PoolRef, Want};
use crate::net;
use crate::route::{self, Context, Decision, Route};
use crate::sniff::{self, Effects, Sniffed, Verb};
use crate::topology::{Group, Role, Server, ServerId, Snapshot};
use crate::wire::capabilities::{CONNECT_ATTRS, CONNECT_WITH_DB, SESSION_TRACK};
use crate::wire::{error, reply, status};
use std::future::{poll_fn, Future};
use std::num::NonZeroU64;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a turn waits before it tries an unreachable primary again, if no new topology comes first.
const PRIMARY_RETRY: Duration = Duration::from_millis(100);

/// Where the user's group is in the snapshots; looked up by name once an epoch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupIndex {
    epoch: u64,
    index: usize,
}

impl GroupIndex {
    /// Of the snapshot in which it was looked up.
    #[inline]
    pub fn epoch(self) -> u64 {
        self.epoch
    }

    /// Its place in the snapshot of this epoch; None: not looked up yet.
    #[inline]
    pub fn of(self, epoch: u64) -> Option<usize> {
        (self.epoch == epoch).then_some(self.index)
    }
}

/// No connection has as many uses.
const NEVER: u64 = u64::MAX;

/// A server connection as a session left it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastConnection {
    server: ServerId,
    /// Connections count from 1, which keeps an absent one as small.
    id: NonZeroU64,
    uses: u64,
}

/// The statement asks about the one before: its warnings or its counts.
pub(super) const ASKS_ABOUT_LAST: Effects = ABOUT_LAST.union(Effects::DIAGNOSTICS);

/// Statements about the statement before, which only its own connection can answer.
pub(super) const ABOUT_LAST: Effects = Effects::FOUND_ROWS.union(Effects::ROW_COUNT);

/// What earlier tries of the same command found out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attempt {
    /// This server was lost or unreachable: another one if there is any.
    pub avoid: Option<ServerId>,
    /// The primary has to run it: a replica refused the statement because it writes, or the login.
    pub writes: bool,
    /// Servers tried.
    pub tries: u8,
}

impl Session {
    /// Borrows a connection for the statement, or says why there is none. Waits at most `lease_timeout`.
    pub(super) async fn lease(
        &mut self,
        sniffed: &Sniffed,
        attempt: &mut Attempt,
    ) -> Result<Lease, reply::Err> {
        if let Some(lease) = self.held.take() {
            if self.sharded.is_some() {
                self.uses_server(&lease);
            }
            return Ok(lease);
        }
        if let Some(last) = self.last {
            if self.asks_for_lent_warnings(sniffed) {
                return self.lease_lent(last);
            }
            if sniffed.effects.intersects(ABOUT_LAST) {
                return self.lease_last(last, sniffed);
            }
        }
        self.lent_warnings = false;
        self.own_id = false;
        let mut deadline = None;
        loop {
            if self.entry.stopped() {
                return Err(error::query_interrupted());
            }
            let snapshot = self.shared.snapshot();
            let group = self.group(&snapshot)?;
            let decision = self.decide(group, sniffed, attempt);
            let timeout = snapshot.proxy.lease_timeout;
            match decision.route {
                Route::Primary(i) | Route::Replica(i) => {
                    let want = self.want(group, i, matches!(decision.route, Route::Replica(_)));
                    let pool = self.pool(&group.servers[i]);
                    if let Some(lease) = pool.try_lease(&want) {
                        return Ok(self.leased(lease, group, i));
                    }
                    let until = *deadline.get_or_insert_with(|| net::now() + timeout);
                    self.entry.set(Activity::Waiting, net::now());
                    let waited =
                        unless_dead(&self.shared, want.server.id, pool.lease(&want, until));
                    let lease = Box::pin(unless_killed(&self.entry, waited)).await;
                    self.entry.set(Activity::Running, net::now());
                    let Some(lease) = lease.ok_or_else(error::query_interrupted)? else {
                        continue;
                    };
                    match lease {
                        Ok(lease) => return Ok(self.leased(lease, group, i)),
                        Err(e) => {
                            let again = self.give_up_or_wait(e, group, i, attempt, until);
                            Box::pin(again).await?;
                        }
                    }
                }
                Route::Held | Route::NoPrimary => {
                    let until = *deadline.get_or_insert_with(|| net::now() + timeout);
                    self.entry.set(Activity::Waiting, net::now());
                    let waited = self.shared.topology_changed(until);
                    let changed = Box::pin(unless_killed(&self.entry, waited)).await;
                    self.entry.set(Activity::Running, net::now());
                    if !changed.ok_or_else(error::query_interrupted)? {
                        return Err(no_primary(group, timeout));
                    }
                }
            }
        }
    }

    /// The connection of the session's last statement, if no other session has had it since.
    fn lease_last(&mut self, last: LastConnection, sniffed: &Sniffed) -> Result<Lease, reply::Err> {
        self.counts = true;
        self.user.asks_counts.store(true, Relaxed);
        let lease = self.lease_again(last)?;
        lease
            .filter(|l| !l.guarded || sniffed.verb == Verb::Select)
            .ok_or_else(counts_are_gone)
    }

    /// The same for warnings; the session has them again.
    fn lease_lent(&mut self, last: LastConnection) -> Result<Lease, reply::Err> {
        let lease = self.lease_again(last)?.ok_or_else(warnings_are_gone)?;
        self.lent_warnings = false;
        self.pins |= Pins::DIAGNOSTICS;
        Ok(lease)
    }

    fn lease_again(&mut self, last: LastConnection) -> Result<Option<Lease>, reply::Err> {
        let snapshot = self.shared.snapshot();
        let group = self.group(&snapshot)?;
        let Some(at) = group.servers.iter().position(|s| s.id == last.server) else {
            return Ok(None);
        };
        let want = self.want(group, at, false);
        let lease = self
            .shared
            .pools
            .lease_again(&want, last.id.get(), last.uses);
        Ok(lease.map(|lease| self.leased(lease, group, at)))
    }

    /// Something else ran on the connection of the last statement.
    pub(super) fn counts_went(&mut self) {
        if let Some(last) = self.last.as_mut() {
            last.uses = NEVER;
        }
    }

    /// From now on this user's connections are prepared for the question.
    pub(super) fn refuse_counts(&mut self) {
        self.counts = true;
        self.user.asks_counts.store(true, Relaxed);
        self.tell(&counts_are_gone());
    }

    /// The user's group in this snapshot.
    pub(super) fn group<'s>(
        &mut self,
        snapshot: &'s Snapshot,
    ) -> Result<&'s Arc<Group>, reply::Err> {
        if self.group.epoch != snapshot.epoch {
            let seat = self.sharded.as_ref().and_then(|s| s.active());
            let name = match seat {
                Some(name) => name,
                None => self.home_in(snapshot),
            };
            let index = snapshot.groups.iter().position(|g| g.name == *name);
            self.group = GroupIndex {
                epoch: snapshot.epoch,
                index: index.unwrap_or(usize::MAX),
            };
            if let Some(user) = snapshot.users.get(&*self.user.config.name) {
                // limits may have changed; a user that is gone keeps its sessions until they end
                self.user = user.clone();
                self.user_changed(snapshot);
            }
            let servers = snapshot.groups.get(self.group.index).map(|g| &g.servers);
            self.pools = servers
                .into_iter()
                .flatten()
                .map(|s| (s.id, self.shared.pools.pool(s, &self.account)))
                .collect();
        }
        snapshot.groups.get(self.group.index).ok_or_else(|| {
            error::own(&format!(
                "group '{}' is no longer configured: connect again",
                self.home()
            ))
        })
    }

    pub(super) fn decide(&self, group: &Group, sniffed: &Sniffed, attempt: &Attempt) -> Decision {
        let last_write = self.user.last_write.load(Relaxed);
        let context = Context {
            // a held connection is taken before anybody asks for a route
            held: false,
            autocommit_off: self.status & status::AUTOCOMMIT == 0,
            now: if last_write == 0 {
                0
            } else {
                net::monotonic_nanos()
            },
            last_write,
            known_write: attempt.writes || self.auto_is_null,
            avoid: attempt.avoid,
            seed: self.shared.seed(),
        };
        route::route(sniffed, &context, group, &|server| match self
            .pools
            .iter()
            .find(|(id, _)| *id == server)
        {
            Some((_, pool)) => pool.load(),
            None => self.shared.pools.load(server),
        })
    }

    /// The pool of the session's account at this server.
    fn pool(&self, server: &Arc<Server>) -> PoolRef {
        match self.pools.iter().find(|(id, _)| *id == server.id) {
            Some((_, pool)) => pool.clone(),
            None => self.shared.pools.pool(server, &self.account),
        }
    }

    /// Whether this text was refused by a replica before.
    pub(super) fn is_known_write(&self, sql: &[u8]) -> bool {
        let known = self.shared.known_writes.borrow();
        !known.is_empty() && known.contains(sniff::digest(sql, self.dialect))
    }

    pub(super) fn want<'w>(&'w self, group: &'w Group, server: usize, read: bool) -> Want<'w> {
        Want {
            server: &group.servers[server],
            account: &self.account,
            capabilities: self.server_capabilities(),
            collation: self.collation,
            state: &self.state,
            guarded: read && group.primary != Some(server),
            mariadb: self.dialect.mariadb,
        }
    }

    /// The client's flags, so that replies need no translation; session tracking always.
    pub(super) fn server_capabilities(&self) -> u64 {
        (self.capabilities | SESSION_TRACK) & !(CONNECT_WITH_DB | CONNECT_ATTRS)
    }

    fn leased(&mut self, lease: Lease, group: &Group, server: usize) -> Lease {
        let stats = &self.shared.stats;
        if group.primary == Some(server) {
            &stats.turns_to_primary
        } else {
            &stats.turns_to_replica
        }
        .add(1);
        self.uses_server(&lease);
        if self.auto_is_null {
            self.pins |= Pins::VARIABLE;
        }
        lease
    }

    /// Whom KILL and the news that a server is dead are to find.
    pub(super) fn uses_server(&self, lease: &Lease) {
        self.entry.on_server.set(Some(OnServer {
            server: lease.server.id,
            thread_id: lease.thread_id,
            aborter: lease.socket.aborter(),
        }));
    }

    /// After a failed lease: an error for the client, or Ok when another try makes sense.
    async fn give_up_or_wait(
        &mut self,
        failed: LeaseError,
        group: &Group,
        server: usize,
        attempt: &mut Attempt,
        until: Instant,
    ) -> Result<(), reply::Err> {
        let address = &group.servers[server].address;
        let replica = group.primary.is_some_and(|primary| primary != server);
        match failed {
            // it may not have heard of the account yet, or has no room for another connection
            LeaseError::Refused(_) if replica && !attempt.writes => {
                attempt.writes = true;
                Ok(())
            }
            LeaseError::Refused(error) => Err(error),
            LeaseError::Timeout(why) => Err(error::own(&format!(
                "no connection to {address} in time: {why}"
            ))),
            LeaseError::Unreachable(why) => {
                attempt.tries = attempt.tries.saturating_add(1);
                attempt.avoid = Some(group.servers[server].id);
                let another = group.primary != Some(server)
                    && usize::from(attempt.tries) < group.servers.len();
                if another {
                    return Ok(());
                }
                let now = net::now();
                if now >= until {
                    return Err(error::own(&format!(
                        "server {address} cannot be reached: {why}"
                    )));
                }
                self.shared
                    .topology_changed(until.min(now + PRIMARY_RETRY))
                    .await;
                Ok(())
            }
        }
    }

    /// Puts the connection back where it belongs: held while there is a reason, else to its pool.
    pub(super) fn settle(&mut self, mut lease: Lease) {
        self.entry.pins.set(self.pins);
        self.entry
            .in_transaction
            .set(self.pins.contains(Pins::TRANSACTION));
        if self.pins.is_empty() {
            self.last = NonZeroU64::new(lease.id).map(|id| LastConnection {
                server: lease.server.id,
                id,
                uses: lease.uses,
            });
            let used = (lease.server.id, lease.id, lease.uses);
            self.entry.last_used.set(Some(used));
            // it was set just now, on a connection that others had
            lease.after = match self.auto_is_null {
                true => After::Reset,
                false => After::Return,
            };
            self.entry.on_server.set(None);
            return;
        }
        lease.after = match self.pins {
            pins if pins.intersects(Pins::XA | Pins::REPLICATION) => After::Close,
            pins if pins.leaves_state() => After::Reset,
            _ => After::Return,
        };
        self.held = Some(lease);
    }

    /// The session lost its connection, or gives it up whatever is on it.
    pub(super) fn forget(&mut self, lease: Lease) {
        self.pins = Pins::empty();
        self.kept = None;
        self.last = None;
        self.entry.pins.set(self.pins);
        self.entry.in_transaction.set(false);
        self.entry.on_server.set(None);
        drop(lease);
    }
}

/// Waits, but not beyond a KILL or KILL QUERY of the session: `None`. The statement has not run then.
pub(super) async fn unless_killed<F: Future>(entry: &Entry, waited: F) -> Option<F::Output> {
    let mut waited = pin!(waited);
    poll_fn(|cx| {
        if entry.poll_interrupted(cx).is_ready() {
            return Poll::Ready(None);
        }
        waited.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Waits for a connection to this server, but not beyond the news that it is dead: `None`.
async fn unless_dead<F: Future>(shared: &Shared, server: ServerId, waited: F) -> Option<F::Output> {
    const FAR: Duration = Duration::from_secs(3600);
    let mut waited = pin!(waited);
    let mut news = Box::pin(shared.topology_changed(net::now() + FAR));
    poll_fn(|cx| {
        while news.as_mut().poll(cx).is_ready() {
            let snapshot = shared.snapshot();
            let mut servers = snapshot.groups.iter().flat_map(|g| &g.servers);
            if !servers.any(|s| s.id == server && s.health.alive) {
                return Poll::Ready(None);
            }
            news = Box::pin(shared.topology_changed(net::now() + FAR));
        }
        waited.as_mut().poll(cx).map(Some)
    })
    .await
}

/// With what stands in the way of the server that is meant to be the primary.
pub(super) fn no_primary(group: &Group, timeout: Duration) -> reply::Err {
    let meant = group.servers.iter().find(|s| s.role == Role::Primary);
    let why = meant.filter(|s| !s.health.reason.is_empty());
    let why = why.map_or(String::new(), |s| {
        format!(" (server {}: {})", s.address, s.health.reason)
    });
    error::no_server(&format!(
        "group '{}' has no writable primary and none appeared within {} ms{why}; see SHOW SERVERS on the admin port",
        group.name,
        timeout.as_millis()
    ))
}

fn counts_are_gone() -> reply::Err {
    error::own(
        "ROW_COUNT() or FOUND_ROWS() of the last statement is gone: its server connection has served another \
         client. From now on this user's connections are kept for one more statement; repeat both statements",
    )
}
