//! The connections of one account to one server in one worker.
use super::connection::{After, Recipe, ServerConnection};
use super::home::{Grant, Home};
use super::lease::Lease;
use super::queue::{Key, Offer};
use super::setup;
use super::sync::{fit, Fit};
use super::{Account, Want};
use crate::net;
use crate::observe::PoolInfo;
use crate::wire::reply::Err as ServerError;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

/// Idle connections whose states are compared before the best of them is taken.
const CANDIDATES: usize = 16;

/// Per worker, server and account.
pub(super) struct Pool {
    pub home: Rc<Home>,
    pub account: Rc<Account>,
    /// The last one in is the first one out, so that the rest can age.
    /// Boxed: a connection is some hundred bytes and changes hands in each turn.
    #[allow(clippy::vec_box)]
    idle: RefCell<Vec<Box<ServerConnection>>>,
    leased: Cell<u32>,
    /// Being opened, reset or renewed.
    pub busy: Cell<u32>,
    pub waiting: Cell<u32>,
    fitted: Cell<u64>,
    synced: Cell<u64>,
    /// Leases at the last `tend`, and when their number last grew.
    seen: Cell<u64>,
    active: Cell<Instant>,
    /// How the newest connection was opened; the example for pre-warming.
    recipe: RefCell<Option<Rc<Recipe>>>,
    /// The server's refusal of this account's login, and until when it is not asked again.
    refusal: RefCell<Option<(Instant, ServerError)>>,
}

/// What becomes of a connection that comes back.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    Reset,
    /// Sound, but not needed.
    Retire,
    Drop,
}

impl Pool {
    pub fn new(home: Rc<Home>, account: Rc<Account>) -> Pool {
        Pool {
            home,
            account,
            idle: RefCell::default(),
            leased: Cell::new(0),
            busy: Cell::new(0),
            waiting: Cell::new(0),
            fitted: Cell::new(0),
            synced: Cell::new(0),
            seen: Cell::new(0),
            active: Cell::new(net::now()),
            recipe: RefCell::default(),
            refusal: RefCell::default(),
        }
    }

    /// See [`super::Pools::try_lease`].
    pub fn try_lease(self: &Rc<Self>, want: &Want<'_>) -> Option<Lease> {
        loop {
            let (at, exact) = self.best(want)?;
            // The topmost is the usual one: nothing moves behind it.
            let conn = self.idle.borrow_mut().remove(at);
            if conn.socket.is_stale() {
                self.lost(conn);
                continue;
            }
            self.count(exact);
            return Some(Lease::new(self, conn, true));
        }
    }

    /// See [`super::Pools::lease_again`].
    pub fn lease_again(self: &Rc<Self>, id: u64, uses: u64) -> Option<Lease> {
        let at = self
            .idle
            .borrow()
            .iter()
            .rposition(|conn| conn.id == id && conn.uses == uses)?;
        let conn = self.idle.borrow_mut().remove(at);
        if conn.socket.is_stale() {
            self.lost(conn);
            return None;
        }
        self.count(true);
        Some(Lease::new(self, conn, true))
    }

    /// See [`super::Pools::idle_thread`].
    pub fn idle_thread(&self, id: u64, uses: u64) -> Option<u32> {
        let idle = self.idle.borrow();
        let conn = idle.iter().find(|c| c.id == id && c.uses == uses)?;
        Some(conn.thread_id)
    }

    /// Position of the idle connection that fits best, and whether it fits as it is.
    fn best(&self, want: &Want<'_>) -> Option<(usize, bool)> {
        let idle = self.idle.borrow();
        let mut best: Option<(usize, usize)> = None;
        let mut compared = 0;
        for (at, conn) in idle.iter().enumerate().rev() {
            if !conn.is_kind(want) {
                continue;
            }
            if Rc::ptr_eq(&conn.state, want.state) {
                return Some((at, true));
            }
            if compared < CANDIDATES {
                let commands = match fit(&conn.state, want.state, want.mariadb) {
                    Fit::Exact => return Some((at, true)),
                    Fit::Sync(commands) => commands,
                    Fit::Impossible => continue,
                };
                compared += 1;
                if best.is_none_or(|(_, least)| commands < least) {
                    best = Some((at, commands));
                }
            }
        }
        best.map(|(at, _)| (at, false))
    }

    /// An idle connection of the right kind whose state cannot be brought to the wanted one by statements.
    pub fn take_unfit(&self, want: &Want<'_>) -> Option<Box<ServerConnection>> {
        loop {
            let at = self
                .idle
                .borrow()
                .iter()
                .rposition(|conn| conn.is_kind(want))?;
            let conn = self.idle.borrow_mut().remove(at);
            if !conn.socket.is_stale() {
                return Some(conn);
            }
            self.lost(conn);
        }
    }

    pub fn count(&self, exact: bool) {
        let counter = if exact { &self.fitted } else { &self.synced };
        counter.set(counter.get() + 1);
    }

    pub fn lent(&self) {
        self.leased.set(self.leased.get() + 1);
        self.home.leased.set(self.home.leased.get() + 1);
    }

    pub fn unlent(&self) {
        self.leased.set(self.leased.get() - 1);
        self.home.leased.set(self.home.leased.get() - 1);
    }

    /// The end of a lease, or of a reset.
    pub fn take_back(self: &Rc<Self>, conn: Box<ServerConnection>) {
        let now = net::now();
        match self.verdict(&conn, now) {
            Verdict::Keep => self.keep(conn, now),
            Verdict::Reset => self.reset_later(conn, now),
            Verdict::Retire => conn.retire(&self.home),
            Verdict::Drop => self.lost(conn),
        }
    }

    fn verdict(&self, conn: &ServerConnection, now: Instant) -> Verdict {
        if conn.after == After::Close || conn.socket.is_stale() {
            return Verdict::Drop;
        }
        if conn.expires <= now || self.home.disowns(&conn.server) || self.home.pays_debt(now) {
            return Verdict::Retire;
        }
        if conn.after == After::Reset || conn.is_dirty() {
            return Verdict::Reset;
        }
        Verdict::Keep
    }

    /// To the first who waits for such a one, else to the idle.
    fn keep(self: &Rc<Self>, mut conn: Box<ServerConnection>, now: Instant) {
        conn.after = After::Return;
        conn.idle_since = now;
        conn.socket.set_deadline(None);
        if !self.home.someone_waits() {
            self.idle.borrow_mut().push(conn);
            return;
        }
        let key = self.key(conn.wanted, conn.guarded);
        let (back, keep) = match self.home.offer(key, now, Lease::new(self, conn, true)) {
            Offer::Taken => return,
            Offer::Unwanted(grant) => (grant, true),
            Offer::MakeRoom(grant) => (grant, false),
        };
        let Grant::Connection(lease) = back else {
            return;
        };
        match lease.into_connection() {
            Some(conn) if keep => self.idle.borrow_mut().push(conn),
            Some(conn) => conn.retire(&self.home),
            None => {}
        }
    }

    /// Which connections of this pool one who waits can use.
    pub fn key(self: &Rc<Self>, capabilities: u64, guarded: bool) -> Key {
        Key {
            pool: Rc::as_ptr(self) as usize,
            capabilities,
            guarded,
        }
    }

    fn reset_later(self: &Rc<Self>, mut conn: Box<ServerConnection>, now: Instant) {
        let pool = self.clone();
        let deadline = now + self.home.shared.settings().login_timeout;
        net::spawn(async move {
            let busy = Busy::on(&pool.busy);
            let outcome = setup::reset(&mut conn, &pool.home.shared.states, false, deadline).await;
            drop(busy);
            match outcome {
                Ok(()) => {
                    conn.after = After::Return;
                    pool.take_back(conn);
                }
                Err(trouble) => {
                    let server = &conn.server.address;
                    tracing::debug!(%server, ?trouble, "a connection could not be reset and is closed");
                    pool.lost(conn);
                }
            }
        });
    }

    pub fn someone_waits(&self) -> bool {
        self.home.someone_waits()
    }

    /// Closes without a word: broken, or in the middle of something.
    pub fn lost(&self, conn: Box<ServerConnection>) {
        self.home.shared.stats.server_connections_lost.add(1);
        drop(conn);
    }

    /// The end of a dedicated connection.
    pub fn dismiss(&self, conn: Box<ServerConnection>) {
        if conn.after == After::Close {
            self.lost(conn);
        } else {
            conn.retire(&self.home);
        }
    }

    pub fn oldest_idle(&self) -> Option<Instant> {
        self.idle.borrow().first().map(|conn| conn.idle_since)
    }

    /// False: none is idle.
    pub fn retire_oldest(&self) -> bool {
        let oldest = {
            let mut idle = self.idle.borrow_mut();
            if idle.is_empty() {
                return false;
            }
            idle.remove(0)
        };
        oldest.retire(&self.home);
        true
    }

    pub fn retire_idle(&self) {
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        for conn in idle {
            conn.retire(&self.home);
        }
    }

    /// Age, idle time and health of the idle ones; pre-warming.
    pub fn tend(self: &Rc<Self>, now: Instant) {
        self.note_activity(now);
        let settings = self.home.shared.settings();
        let active =
            now.saturating_duration_since(self.active.get()) < settings.server_idle_timeout;
        let least = if active {
            settings.min_idle as usize
        } else {
            0
        };
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        let mut rest = idle.len();
        let mut kept = Vec::with_capacity(rest);
        for conn in idle {
            let unused =
                now.saturating_duration_since(conn.idle_since) >= settings.server_idle_timeout;
            if conn.socket.is_stale() {
                self.lost(conn);
            } else if conn.expires <= now || unused && rest > least {
                conn.retire(&self.home);
            } else {
                kept.push(conn);
                continue;
            }
            rest -= 1;
        }
        *self.idle.borrow_mut() = kept;
        if active && rest + (self.busy.get() as usize) < least {
            self.warm_up(now);
        }
    }

    fn note_activity(&self, now: Instant) {
        let leases = self.fitted.get() + self.synced.get();
        if self.seen.replace(leases) != leases || self.leased.get() > 0 {
            self.active.set(now);
        }
    }

    /// Opens one connection like the last one, if nobody waits and the budget has room.
    fn warm_up(self: &Rc<Self>, now: Instant) {
        let Some(recipe) = self.recipe.borrow().clone() else {
            return;
        };
        let server = self.home.server();
        let out_of_place = !server.health.alive || self.home.disowns(&recipe.server);
        if out_of_place || self.home.someone_waits() || self.refused_lately(now).is_some() {
            return;
        }
        let Ok(permit) = self.home.permit(now) else {
            return;
        };
        let pool = self.clone();
        net::spawn(async move {
            let deadline = now + pool.home.shared.settings().login_timeout;
            if let Ok(conn) = pool.open(&recipe.want(), permit, deadline).await {
                pool.take_back(conn);
            }
        });
    }

    pub fn remember(&self, recipe: &Rc<Recipe>) {
        self.refusal.take();
        *self.recipe.borrow_mut() = Some(recipe.clone());
    }

    /// `replica`: clients are not told, since the primary serves them; the log is, once until it goes well again.
    pub fn note_refusal(&self, until: Instant, error: &ServerError, replica: bool) {
        let before = self.refusal.replace(Some((until, error.clone())));
        if replica && before.is_none_or(|(_, before)| before.code != error.code) {
            let why = String::from_utf8_lossy(&error.message);
            tracing::warn!(
                server = %self.home.server.borrow().address, user = %self.account.user, code = error.code, %why,
                "a replica refuses a login: the primary serves this account's reads"
            );
        }
    }

    /// The answer that the server would give again.
    pub fn refused_lately(&self, now: Instant) -> Option<ServerError> {
        let refusal = self.refusal.borrow();
        refusal
            .as_ref()
            .filter(|(until, _)| now < *until)
            .map(|(_, error)| error.clone())
    }

    /// Nothing is here and nothing was for a while.
    pub fn is_forgotten(&self, now: Instant) -> bool {
        let quiet = now.saturating_duration_since(self.active.get())
            > self.home.shared.settings().server_idle_timeout;
        let empty = self.leased.get() + self.busy.get() + self.waiting.get() == 0
            && self.idle.borrow().is_empty();
        quiet && empty
    }

    pub fn info(&self) -> PoolInfo {
        PoolInfo {
            worker: self.home.shared.worker,
            server: self.home.server.borrow().address.to_string(),
            user: self.account.user.to_string(),
            idle: self.idle.borrow().len(),
            leased: self.leased.get() as usize,
            connecting: self.busy.get() as usize,
            waiting: self.waiting.get() as usize,
            fitted: self.fitted.get(),
            synced: self.synced.get(),
        }
    }
}

impl ServerConnection {
    fn is_kind(&self, want: &Want<'_>) -> bool {
        self.wanted == want.capabilities && self.guarded == want.guarded
    }
}

/// Counts one while it lives.
pub(super) struct Busy<'a>(&'a Cell<u32>);

impl<'a> Busy<'a> {
    pub fn on(counter: &'a Cell<u32>) -> Busy<'a> {
        counter.set(counter.get() + 1);
        Busy(counter)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
