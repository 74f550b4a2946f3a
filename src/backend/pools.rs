//! All pools of one worker: the module's face to sessions and to the worker.
use super::home::{Home, Shared};
use super::lease::{Lease, LeaseError};
use super::pool::Pool;
use super::state::StateTable;
use super::{Account, Want};
use crate::config;
use crate::net;
use crate::observe::{PoolInfo, WorkerStats};
use crate::topology::{Server, ServerId, Snapshot};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

/// All pools of one worker. Single-threaded; cheap to clone.
#[derive(Clone)]
pub struct Pools(Rc<Inner>);

struct Inner {
    shared: Rc<Shared>,
    homes: RefCell<HashMap<ServerId, Rc<Home>, ahash::RandomState>>,
    /// By server and address of the account, which the entry keeps from being used again.
    pools: RefCell<HashMap<(ServerId, usize), Entry, ahash::RandomState>>,
}

struct Entry {
    account: Rc<Account>,
    pool: Rc<Pool>,
}

/// One pool, kept by a session so that it need not be looked up in each turn.
#[derive(Clone)]
pub struct PoolRef(Rc<Pool>);

impl PoolRef {
    /// As [`Pools::load`], without the look-up.
    #[inline]
    pub fn load(&self) -> u32 {
        self.0.home.leased.get()
    }

    /// As [`Pools::try_lease`], without the look-up. `want` must be of this pool's server and account.
    #[inline]
    pub fn try_lease(&self, want: &Want<'_>) -> Option<Lease> {
        self.0.try_lease(want)
    }

    /// As [`Pools::lease`], without the look-up.
    pub async fn lease(&self, want: &Want<'_>, deadline: Instant) -> Result<Lease, LeaseError> {
        self.0.lease(want, deadline).await
    }
}

impl Pools {
    /// `ask_others` is called when the server's budget is spent and someone waits here, at most every 10 ms a server:
    /// it should send GiveBack to another worker, to each in turn.
    pub fn new(
        worker: usize,
        settings: Arc<config::Proxy>,
        stats: Arc<WorkerStats>,
        states: Rc<StateTable>,
        ask_others: Box<dyn Fn(ServerId)>,
    ) -> Pools {
        let shared = Rc::new(Shared::new(worker, settings, stats, states, ask_others));
        Pools(Rc::new(Inner {
            shared,
            homes: RefCell::default(),
            pools: RefCell::default(),
        }))
    }

    /// The pool of an account at a server; made if there is none.
    pub fn pool(&self, server: &Arc<Server>, account: &Rc<Account>) -> PoolRef {
        let key = (server.id, Rc::as_ptr(account) as usize);
        if let Some(entry) = self.0.pools.borrow().get(&key) {
            return PoolRef(entry.pool.clone());
        }
        let pool = self
            .find_equal(server.id, account)
            .unwrap_or_else(|| self.new_pool(server, account));
        let entry = Entry {
            account: account.clone(),
            pool: pool.clone(),
        };
        self.0.pools.borrow_mut().insert(key, entry);
        PoolRef(pool)
    }

    /// A reload makes new accounts with the old contents.
    fn find_equal(&self, server: ServerId, account: &Rc<Account>) -> Option<Rc<Pool>> {
        let home = self.0.homes.borrow().get(&server)?.clone();
        let pools = home.pools.borrow();
        pools
            .iter()
            .filter_map(Weak::upgrade)
            .find(|pool| pool.account == *account)
    }

    fn new_pool(&self, server: &Arc<Server>, account: &Rc<Account>) -> Rc<Pool> {
        let home = self.home(server);
        let pool = Rc::new(Pool::new(home.clone(), account.clone()));
        home.pools.borrow_mut().push(Rc::downgrade(&pool));
        pool
    }

    fn home(&self, server: &Arc<Server>) -> Rc<Home> {
        let mut homes = self.0.homes.borrow_mut();
        let new = || Rc::new(Home::new(self.0.shared.clone(), server.clone()));
        homes.entry(server.id).or_insert_with(new).clone()
    }

    /// An idle connection that is alive and fits best (exact state first), without waiting.
    pub fn try_lease(&self, want: &Want<'_>) -> Option<Lease> {
        let key = (want.server.id, Rc::as_ptr(want.account) as usize);
        let pool = self
            .0
            .pools
            .borrow()
            .get(&key)
            .map(|entry| entry.pool.clone());
        match pool {
            Some(pool) => pool.try_lease(want),
            None => self.pool(want.server, want.account).try_lease(want),
        }
    }

    /// The very connection that a session had last, if nobody has had it since: `id` and `uses` as they were then.
    /// For statements about the statement before (ROW_COUNT, FOUND_ROWS).
    pub fn lease_again(&self, want: &Want<'_>, id: u64, uses: u64) -> Option<Lease> {
        self.pool(want.server, want.account).0.lease_again(id, uses)
    }

    /// The server's own id of that connection, if it is idle and nobody has had it since.
    pub fn idle_thread(&self, server: ServerId, id: u64, uses: u64) -> Option<u32> {
        let home = self.0.homes.borrow().get(&server)?.clone();
        let pools = home.pools.borrow();
        let mut pools = pools.iter().filter_map(Weak::upgrade);
        pools.find_map(|pool| pool.idle_thread(id, uses))
    }

    /// `try_lease`, else a new connection within the budget, else wait for one to come back.
    pub async fn lease(&self, want: &Want<'_>, deadline: Instant) -> Result<Lease, LeaseError> {
        let pool = self.pool(want.server, want.account);
        pool.lease(want, deadline).await
    }

    /// A connection outside the pool, closed when dropped, for KILL and the like (counts in the budget, may
    /// exceed it by one a worker).
    pub async fn dedicated(&self, want: &Want<'_>, deadline: Instant) -> Result<Lease, LeaseError> {
        let pool = self.pool(want.server, want.account);
        pool.0.dedicated(want, deadline).await
    }

    /// Running leases on a server.
    pub fn load(&self, server: ServerId) -> u32 {
        self.0
            .homes
            .borrow()
            .get(&server)
            .map_or(0, |home| home.leased.get())
    }

    /// New settings, weights, servers: closes idle connections of servers that are gone, dead or have
    /// changed role. Those on loan are closed when they come back.
    pub fn apply(&self, snapshot: &Snapshot) {
        *self.0.shared.settings.borrow_mut() = snapshot.proxy.clone();
        let servers: HashMap<ServerId, &Arc<Server>> = snapshot
            .groups
            .iter()
            .flat_map(|group| &group.servers)
            .map(|server| (server.id, server))
            .collect();
        for home in self.homes() {
            let id = home.server.borrow().id;
            let server = servers.get(&id).copied();
            if home.update(server) {
                home.all_pools().iter().for_each(|pool| pool.retire_idle());
            }
            match server {
                None => home.refuse_all(&format!(
                    "server {} is no longer configured",
                    home.server().address
                )),
                Some(server) if !server.health.alive => {
                    home.refuse_all(&format!(
                        "server {} is down: {}",
                        server.address, server.health.reason
                    ));
                }
                Some(_) => {}
            }
        }
    }

    /// Another worker waits: close one idle connection to this server.
    pub fn give_back(&self, server: ServerId) {
        let home = self.0.homes.borrow().get(&server).cloned();
        if let Some(home) = home {
            home.give_back(net::now());
        }
    }

    /// Periodic work, called about once a second: maximum age, idle timeout, stale connections, pre-warming.
    pub fn tend(&self) {
        let now = net::now();
        for home in self.homes() {
            home.all_pools().iter().for_each(|pool| pool.tend(now));
        }
        self.forget(now);
    }

    /// Pools that nobody has used for long, and second names of others.
    fn forget(&self, now: Instant) {
        self.0.pools.borrow_mut().retain(|_, entry| {
            let alias = !Rc::ptr_eq(&entry.account, &entry.pool.account);
            let unused = Rc::strong_count(&entry.pool) == 1 && entry.pool.is_forgotten(now);
            !(unused || alias && Rc::strong_count(&entry.account) == 1)
        });
        for home in self.homes() {
            home.pools
                .borrow_mut()
                .retain(|pool| pool.strong_count() > 0);
        }
    }

    pub fn info(&self) -> Vec<PoolInfo> {
        self.homes()
            .iter()
            .flat_map(|home| home.all_pools())
            .map(|pool| pool.info())
            .collect()
    }

    /// The worker ends: idle connections close now, others when they come back; nobody waits any longer.
    pub fn close_all(&self) {
        self.0.shared.closing.set(true);
        for home in self.homes() {
            home.all_pools().iter().for_each(|pool| pool.retire_idle());
            home.refuse_all("the proxy is stopping");
        }
    }

    fn homes(&self) -> Vec<Rc<Home>> {
        self.0.homes.borrow().values().cloned().collect()
    }
}
