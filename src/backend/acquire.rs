//! Getting a connection that is not idle yet: opening one, or waiting for one.
use super::bell::or_at;
use super::connection::{After, Recipe, ServerConnection};
use super::gate::{Closed, Failure};
use super::home::{self, Grant, Permit, Token};
use super::lease::{Lease, LeaseError};
use super::login::{self, Channel, Trouble};
use super::pool::{Busy, Pool};
use super::prepared::PreparedCache;
use super::setup::{self, Kind};
use super::sync::{fit, Fit};
use super::Want;
use crate::net::{self, Buf, Endpoint, Socket};
use crate::topology::Target;
use crate::wire::proxy_protocol::{self, Origin, Version};
use crate::wire::reply::Err as ServerError;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a connection to a replica serves whose account may be another one there by now.
const IN_DOUBT: Duration = Duration::from_secs(1);
/// How long a refused login is answered without asking the server again.
const REFUSAL_HOLDS: Duration = Duration::from_millis(250);
/// How often the extra connection over the budget is asked for.
const EXTRA_TICK: Duration = Duration::from_millis(5);
/// Share of the maximum age by which connections opened together end apart.
const AGE_SPREAD: f64 = 0.1;
/// What waits for a slow client waits in its own queue: of the high-water mark, a server's connection gets this
/// part, enough to go on at once.
const SERVER_SHARE: usize = 4;
const TOO_MANY_CONNECTIONS: u16 = 1040;
const SHUTTING_DOWN: u16 = 1053;

/// One attempt after another, until there is a lease or a reason why not.
struct Attempt<'a, 'w> {
    pool: &'a Rc<Pool>,
    want: &'a Want<'w>,
    deadline: Instant,
    since: Instant,
    /// The server's 1040, if that is what it failed on.
    full: Option<ServerError>,
}

impl Pool {
    /// See [`super::Pools::lease`].
    pub async fn lease(
        self: &Rc<Self>,
        want: &Want<'_>,
        deadline: Instant,
    ) -> Result<Lease, LeaseError> {
        let mut attempt = Attempt {
            pool: self,
            want,
            deadline,
            since: net::now(),
            full: None,
        };
        loop {
            if let Some(lease) = self.try_lease(want) {
                return Ok(lease);
            }
            let grant = attempt.next_grant().await?;
            if let Some(lease) = attempt.take(grant).await? {
                return Ok(lease);
            }
        }
    }

    /// See [`super::Pools::dedicated`].
    pub async fn dedicated(
        self: &Rc<Self>,
        want: &Want<'_>,
        deadline: Instant,
    ) -> Result<Lease, LeaseError> {
        let token = loop {
            if let Some(token) = Token::take_or_exceed(&self.home) {
                break token;
            }
            let again = net::now() + EXTRA_TICK;
            if again >= deadline {
                return Err(LeaseError::Timeout(format!(
                    "the connection limit of {} is reached",
                    self.address()
                )));
            }
            net::sleep_until(again).await;
        };
        let made = self
            .connect(want, deadline)
            .await
            .map_err(|trouble| self.error(trouble, deadline))?;
        Ok(Lease::new(self, self.assemble(want, made, token), false))
    }

    /// Opens a connection with leave to do so; the gate learns how it went.
    pub async fn open(
        self: &Rc<Self>,
        want: &Want<'_>,
        mut permit: Permit,
        deadline: Instant,
    ) -> Result<Box<ServerConnection>, Trouble> {
        let _busy = Busy::on(&self.busy);
        permit.begin();
        match self.connect(want, deadline).await {
            Ok(made) => match permit.succeeded() {
                Some(token) => Ok(self.assemble(want, made, token)),
                None => unreachable!("a permit has its token until it is settled"),
            },
            Err(trouble) => {
                self.home.shared.stats.server_connect_errors.add(1);
                self.settle(permit, &trouble, deadline);
                Err(trouble)
            }
        }
    }

    fn settle(&self, permit: Permit, trouble: &Trouble, deadline: Instant) {
        match trouble {
            Trouble::Refused(e) if e.code == TOO_MANY_CONNECTIONS => permit.failed(Failure::Full),
            Trouble::Refused(e) if e.code == SHUTTING_DOWN => {
                permit.failed(Failure::Down(format!(
                    "server {} is shutting down",
                    self.address()
                )));
            }
            Trouble::Refused(_) => drop(permit),
            // The caller's own haste says nothing of the server.
            Trouble::TimedOut(_) if net::now() >= deadline => drop(permit),
            Trouble::TimedOut(phase) => {
                permit.failed(Failure::Down(format!(
                    "server {}: timeout: {phase}",
                    self.address()
                )));
            }
            Trouble::Broken(text) => {
                permit.failed(Failure::Down(format!("server {}: {text}", self.address())))
            }
        }
    }

    /// Connect, login, set-up.
    async fn connect(&self, want: &Want<'_>, deadline: Instant) -> Result<Made, Trouble> {
        let shared = &self.home.shared;
        let settings = shared.settings();
        shared.stats.server_connects.add(1);
        let target = want.server.target.as_ref();
        let target =
            target.ok_or_else(|| Trouble::Broken("its host name could not be resolved".into()))?;
        let now = net::now();
        let within = settings
            .connect_timeout
            .min(deadline.saturating_duration_since(now));
        let socket = net::connect(&endpoint(target), within)
            .await
            .map_err(connect_trouble)?;
        socket.set_high_water(settings.high_water / SERVER_SHARE);
        socket.set_deadline(Some(deadline.min(net::now() + settings.login_timeout)));
        if let Some(header) = proxy_header(want, target) {
            socket.send(Buf::from_vec(header));
        }
        let mut channel = Channel::new(&socket, "login");
        let state = want.state.base(None);
        let outcome = enter(&mut channel, want, &state).await;
        if let Err(Trouble::Refused(e)) = &outcome {
            if !matches!(e.code, TOO_MANY_CONNECTIONS | SHUTTING_DOWN) {
                self.note_refusal(net::now() + REFUSAL_HOLDS, e, want.guarded);
            }
        }
        let (login, ready) = outcome?;
        channel.finish()?;
        socket.set_deadline(None);
        let state = shared.states.intern(state);
        Ok(Made {
            socket,
            login,
            ready,
            state,
        })
    }

    fn assemble(&self, want: &Want<'_>, made: Made, token: Token) -> Box<ServerConnection> {
        let shared = &self.home.shared;
        let settings = shared.settings();
        let now = net::now();
        let recipe = Rc::new(Recipe {
            server: want.server.clone(),
            account: want.account.clone(),
            capabilities: want.capabilities,
            collation: want.collation,
            state: made.state.clone(),
            guarded: want.guarded,
            mariadb: want.mariadb,
        });
        self.remember(&recipe);
        let spread = 1.0 - AGE_SPREAD + 2.0 * AGE_SPREAD * shared.chance();
        Box::new(ServerConnection {
            socket: made.socket,
            server: want.server.clone(),
            capabilities: made.login.capabilities,
            wanted: want.capabilities,
            thread_id: made.login.thread_id,
            state: made.state,
            guarded: want.guarded,
            tracking: made.ready.tracking,
            prepared: PreparedCache::new(settings.max_prepared_per_connection as usize),
            keeps_report: false,
            status: made.ready.status,
            id: shared.next_id(),
            uses: 0,
            after: After::Return,
            guard_lost: false,
            recipe,
            scramble: made.login.scramble,
            mariadb: made.login.mariadb,
            expires: now + lifetime(want, settings.server_max_age.mul_f64(spread), now),
            idle_since: now,
            token,
        })
    }

    fn address(&self) -> String {
        self.home.server.borrow().address.to_string()
    }

    fn error(&self, trouble: Trouble, deadline: Instant) -> LeaseError {
        match trouble {
            Trouble::Refused(e) => LeaseError::Refused(e),
            Trouble::TimedOut(phase) if net::now() >= deadline => LeaseError::Timeout(format!(
                "no connection to server {} in time: {phase}",
                self.address()
            )),
            Trouble::TimedOut(phase) => {
                LeaseError::Unreachable(format!("server {}: timeout: {phase}", self.address()))
            }
            Trouble::Broken(text) => {
                LeaseError::Unreachable(format!("server {}: {text}", self.address()))
            }
        }
    }
}

/// Login and set-up.
async fn enter(
    channel: &mut Channel<'_>,
    want: &Want<'_>,
    state: &super::State,
) -> Result<(login::LoggedIn, setup::Ready), Trouble> {
    let login = login::log_in(channel, want).await?;
    channel.phase = "setting up a connection";
    let kind = Kind {
        capabilities: login.capabilities,
        mariadb: login.mariadb,
        guarded: want.guarded,
    };
    let ready = setup::set_up(channel, kind, want.account, state).await?;
    Ok((login, ready))
}

/// How long a connection may serve. On a replica that may be behind with the account it has the privileges of before.
fn lifetime(want: &Want<'_>, usual: Duration, now: Instant) -> Duration {
    let identity = want.account.identity.as_ref().filter(|_| want.guarded);
    let doubt = identity.and_then(|identity| identity.in_doubt_until);
    match doubt {
        Some(until) if now < until => usual.min(IN_DOUBT),
        _ => usual,
    }
}

/// A connection before it has a token.
struct Made {
    socket: Socket,
    login: login::LoggedIn,
    ready: setup::Ready,
    state: Rc<super::State>,
}

fn endpoint(target: &Target) -> Endpoint {
    match target {
        Target::Tcp(address) => Endpoint::Tcp(*address),
        Target::Unix(path) => Endpoint::Unix(path.clone()),
    }
}

/// What the server has to be told first. A connection that serves clients of every address is Umpire's own; the port
/// is nobody's, since sessions of one address share connections.
fn proxy_header(want: &Want<'_>, target: &Target) -> Option<Vec<u8>> {
    let headers = want.server.proxy_protocol?;
    let client = want.account.client.filter(|_| headers.of_client);
    let origin = client.map_or(Origin::Own, |ip| Origin::Client(SocketAddr::new(ip, 0)));
    let to = match target {
        Target::Tcp(address) => *address,
        Target::Unix(_) => SocketAddr::from(([127, 0, 0, 1], 0)),
    };
    Some(proxy_protocol::header(
        Version::number(headers.version),
        origin,
        to,
    ))
}

fn connect_trouble(e: io::Error) -> Trouble {
    match e.kind() {
        io::ErrorKind::TimedOut => Trouble::TimedOut("connecting"),
        _ => Trouble::Broken(format!("connecting: {e}")),
    }
}

impl Attempt<'_, '_> {
    /// Leave to connect if it can be had at once, else what the queue gives.
    async fn next_grant(&mut self) -> Result<Grant, LeaseError> {
        let (pool, now) = (self.pool, net::now());
        if pool.home.shared.closing.get() {
            return Err(LeaseError::Unreachable("the proxy is stopping".into()));
        }
        if let Some(e) = pool.refused_lately(now) {
            return Err(LeaseError::Refused(e));
        }
        if self.full.is_none() && pool.home.someone_waits() {
            return self.queued().await;
        }
        match pool.home.permit(now) {
            Ok(permit) => Ok(Grant::Connect(permit)),
            Err(home::Busy::Gate(Closed::Down(text))) => Err(LeaseError::Unreachable(text)),
            Err(home::Busy::Budget) => match pool.take_unfit(self.want) {
                Some(conn) => Ok(Grant::Connection(Lease::new(pool, conn, true))),
                None => self.queued().await,
            },
            Err(home::Busy::Gate(_)) => self.queued().await,
        }
    }

    async fn queued(&mut self) -> Result<Grant, LeaseError> {
        let (pool, want) = (self.pool, self.want);
        let key = pool.key(want.capabilities, want.guarded);
        let Some(ticket) = pool.home.join(key, self.since, self.full.is_some()) else {
            let text = format!(
                "too many wait for a connection to server {}",
                pool.address()
            );
            return Err(LeaseError::Timeout(text));
        };
        pool.home.shared.stats.lease_waits.add(1);
        let _waiting = Busy::on(&pool.waiting);
        let granted = or_at(self.deadline, |waker| {
            let grant = ticket.take();
            if grant.is_none() {
                ticket.register(waker);
            }
            grant
        });
        granted.await.ok_or_else(|| self.too_late())
    }

    fn too_late(&self) -> LeaseError {
        let home = &self.pool.home;
        home.shared.stats.lease_timeouts.add(1);
        if let Some(e) = &self.full {
            return LeaseError::Refused(e.clone());
        }
        let server = home.server();
        LeaseError::Timeout(format!(
            "no connection to server {} became free in time ({} of {} are in use)",
            server.address,
            server.budget.used(),
            server.budget.limit()
        ))
    }

    /// `None`: try again.
    async fn take(&mut self, grant: Grant) -> Result<Option<Lease>, LeaseError> {
        match grant {
            Grant::Refused(e) => Err(e),
            Grant::Connection(lease) => Ok(self.fit(lease).await),
            Grant::Connect(permit) => self.connect(permit).await,
        }
    }

    /// Makes a connection usable whose session no statement can turn into the wanted one.
    async fn fit(&self, mut lease: Lease) -> Option<Lease> {
        if lease.socket.is_stale() {
            lease.after = After::Close;
            return None;
        }
        let distance = fit(&lease.state, self.want.state, self.want.mariadb);
        if distance == Fit::Impossible {
            let shared = &self.pool.home.shared;
            let deadline = self
                .deadline
                .min(net::now() + shared.settings().login_timeout);
            lease.after = After::Close;
            if let Err(trouble) = setup::reset(&mut lease, &shared.states, true, deadline).await {
                let server = &lease.server.address;
                tracing::debug!(%server, ?trouble, "a connection could not be renewed and is closed");
                return None;
            }
            lease.after = After::Return;
        }
        self.pool.count(distance == Fit::Exact);
        Some(lease)
    }

    async fn connect(&mut self, permit: Permit) -> Result<Option<Lease>, LeaseError> {
        match self.pool.open(self.want, permit, self.deadline).await {
            Ok(conn) => {
                self.pool.count(Rc::ptr_eq(&conn.state, self.want.state));
                Ok(Some(Lease::new(self.pool, conn, true)))
            }
            Err(Trouble::Refused(e)) if e.code == TOO_MANY_CONNECTIONS => {
                self.full = Some(e);
                Ok(None)
            }
            Err(trouble) => Err(self.pool.error(trouble, self.deadline)),
        }
    }
}
