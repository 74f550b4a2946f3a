//! What the tests of pools stand on: settings, servers, a worker's pools, wants.
use crate::backend::{Account, Password, Pools, State, StateTable, Want};
use crate::config::{Address, Proxy, Role, Workers};
use crate::net;
use crate::net::testing::run;
use crate::observe::WorkerStats;
use crate::topology::{Budget, Health, Server, ServerId, Target};
use crate::wire::capabilities::{DEPRECATE_EOF, MULTI_RESULTS, SESSION_TRACK};
use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const CAPABILITIES: u64 = DEPRECATE_EOF | MULTI_RESULTS | SESSION_TRACK;

pub fn settings() -> Proxy {
    Proxy {
        listen: Vec::new(),
        tls: None,
        admin: None,
        http: None,
        rsa_private_key: None,
        workers: Workers::Auto,
        admin_user: String::new(),
        admin_password: String::new(),
        max_connections: 100,
        connect_timeout: Duration::from_secs(2),
        login_timeout: Duration::from_secs(5),
        failed_logins_free: 10,
        failed_login_delay: Duration::from_secs(2),
        idle_timeout: Duration::from_secs(100),
        write_timeout: Duration::from_secs(5),
        lease_timeout: Duration::from_secs(5),
        drain_timeout: Duration::from_secs(5),
        high_water: 1 << 18,
        busy_poll: Duration::ZERO,
        merge_memory: 1 << 26,
        memory: crate::config::Memory::default(),
        cross_shard: crate::config::CrossShard::Refuse,
        max_allowed_packet: 1 << 30,
        server_max_age: Duration::from_secs(3600),
        server_idle_timeout: Duration::from_secs(300),
        min_idle: 0,
        max_prepared_per_connection: 16,
    }
}

pub fn server_with(target: Target, role: Role, alive: bool, budget: Arc<Budget>) -> Arc<Server> {
    Arc::new(Server {
        id: ServerId(7),
        address: Address::Tcp("test".into(), 1),
        target: Some(target),
        role,
        weight: 1,
        compression: crate::config::Compression::Off,
        health: Health {
            alive,
            writable: true,
            readable: true,
            lag: None,
            reason: "told so".into(),
        },
        budget,
        tls: None,
        proxy_protocol: None,
    })
}

pub fn server(address: SocketAddr, limit: u32) -> Arc<Server> {
    server_with(
        Target::Tcp(address),
        Role::Primary,
        true,
        Arc::new(Budget::new(limit)),
    )
}

/// One worker's pools and what they were made of.
pub struct World {
    pub pools: Pools,
    pub stats: Arc<WorkerStats>,
    pub states: Rc<StateTable>,
    pub asked: Rc<Cell<u32>>,
    pub account: Rc<Account>,
    pub server: Arc<Server>,
    /// Character sets only.
    pub fresh: Rc<State>,
}

impl World {
    pub fn new(server: Arc<Server>, settings: Proxy) -> World {
        World::of(server, settings, account("app", "apppw"))
    }

    pub fn of(server: Arc<Server>, settings: Proxy, account: Rc<Account>) -> World {
        let (stats, states) = (Arc::new(WorkerStats::default()), Rc::new(StateTable::new()));
        let asked = Rc::new(Cell::new(0));
        let count = asked.clone();
        let ask = Box::new(move |_| count.set(count.get() + 1));
        let pools = Pools::new(0, Arc::new(settings), stats.clone(), states.clone(), ask);
        let fresh = states.intern(utf8());
        World {
            pools,
            stats,
            states,
            asked,
            account,
            server,
            fresh,
        }
    }

    pub fn want<'a>(&'a self, state: &'a Rc<State>) -> Want<'a> {
        Want {
            server: &self.server,
            account: &self.account,
            capabilities: CAPABILITIES,
            collation: 45,
            state,
            guarded: false,
            mariadb: false,
        }
    }

    pub fn schema(&self, name: &str) -> Rc<State> {
        self.states.intern(self.fresh.with_schema(name.as_bytes()))
    }

    /// Until `done`, at most five seconds.
    pub async fn until(&self, what: &str, done: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !done() {
            assert!(Instant::now() < deadline, "{what} did not happen");
            pause(2).await;
        }
    }

    pub fn idle(&self) -> usize {
        self.pools.info().iter().map(|pool| pool.idle).sum()
    }
}

pub fn account(user: &str, password: &str) -> Rc<Account> {
    let password = Password::Plain(password.as_bytes().into());
    Rc::new(Account::new(user, password))
}

pub fn utf8() -> State {
    State::default()
        .with_variable(b"character_set_client", b"utf8mb4")
        .with_variable(b"character_set_connection", b"utf8mb4")
        .with_variable(b"character_set_results", b"utf8mb4")
        .with_variable(b"collation_connection", b"utf8mb4_general_ci")
}

pub fn soon() -> Instant {
    within(5000)
}

pub fn within(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

pub async fn pause(milliseconds: u64) {
    net::sleep_until(within(milliseconds)).await;
}

/// Runs a test, and after it what it left behind (goodbyes, watches of queues).
pub fn play<T, F>(make: impl FnOnce() -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    run(move || async move {
        let result = make().await;
        pause(30).await;
        result
    })
}
