//! Before a statement runs: its user's rate, and how many may run at once.
//!
//! Both hold by waiting. The rate is one number a user that all workers share (`throttle`); running statements
//! are counted in a budget that all workers share. Those of a worker that wait for a place stand in a line per
//! user, and only the first in line looks for one, so that a long line costs no more than a short one.
use super::lease::unless_killed;
use super::pins::Pins;
use super::promise::Promise;
use super::registry::Activity;
use super::shared::Shared;
use super::Session;
use crate::net;
use crate::throttle;
use crate::topology::User;
use crate::wire::{error, reply};
use ahash::AHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the first in line looks for a place that another worker has given back.
const LOOK: Duration = Duration::from_millis(1);
/// The burst of a rate: a hundredth of a second's worth, so that waiting is spread evenly.
const BURST_SHARE: u32 = 100;

/// Reasons for holding a server connection that may come with locks on data.
const MAY_LOCK: Pins = Pins::TRANSACTION
    .union(Pins::LOCK_TABLES)
    .union(Pins::FLUSH_LOCK)
    .union(Pins::GET_LOCK)
    .union(Pins::HANDLER)
    .union(Pins::XA)
    .union(Pins::CALL)
    .union(Pins::UNKNOWN_STATE);

/// A running statement's place; given back on drop.
pub(super) struct Place {
    user: Arc<User>,
    snapshot: Rc<super::shared::Topology>,
    of_process: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.user.running.give_back();
        if self.of_process {
            self.snapshot.shared.running.give_back();
        }
    }
}

/// Sessions of this worker that wait for a place, by user. Per worker.
#[derive(Default)]
pub struct Lines(RefCell<AHashMap<Box<str>, VecDeque<Promise<()>>>>);

impl Lines {
    /// At the end of the user's line; to be awaited until it is the first.
    fn join(&self, user: &str) -> Promise<()> {
        let place = Promise::default();
        let mut lines = self.0.borrow_mut();
        if !lines.contains_key(user) {
            lines.insert(user.into(), VecDeque::new());
        }
        if let Some(line) = lines.get_mut(user) {
            if line.is_empty() {
                place.fulfil(());
            }
            line.push_back(place.clone());
        }
        place
    }

    /// Leaves the line from wherever it is; the new first is told.
    fn leave(&self, user: &str, place: &Promise<()>) {
        let mut lines = self.0.borrow_mut();
        let Some(line) = lines.get_mut(user) else {
            return;
        };
        let Some(at) = line.iter().position(|p| p.is_same(place)) else {
            return;
        };
        line.remove(at);
        match line.front() {
            Some(next) if at == 0 => next.fulfil(()),
            Some(_) => {}
            None => drop(lines.remove(user)),
        }
    }

    fn is_empty(&self, user: &str) -> bool {
        !self.0.borrow().contains_key(user)
    }

    /// Waiting sessions by user, for SHOW LIMITS.
    pub fn waiting(&self) -> Vec<(String, usize)> {
        let lines = self.0.borrow();
        lines
            .iter()
            .map(|(user, line)| (user.to_string(), line.len()))
            .collect()
    }
}

/// Being in line; leaves it however the wait ends.
struct InLine<'a> {
    shared: &'a Shared,
    user: &'a str,
    place: Promise<()>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.shared.lines.leave(self.user, &self.place);
    }
}

impl Session {
    /// Holds a user with limits to them; an error if the wait would be longer than `lease_timeout`.
    pub(super) async fn admit(&mut self) -> Result<(), reply::Err> {
        self.pace().await?;
        if self.user.limits.max_running.is_some() || self.user.process.max_running.is_some() {
            self.running = Some(Box::new(self.place().await?));
        }
        Ok(())
    }

    async fn pace(&mut self) -> Result<(), reply::Err> {
        let (own, all) = (self.user.config.qps, self.user.process.qps);
        let snapshot = self.shared.snapshot();
        let now = net::monotonic_nanos();
        let wait_for = |paid: &std::sync::atomic::AtomicU64, rate: Option<u32>| {
            rate.map_or(0, |rate| {
                throttle::admit(paid, rate, rate / BURST_SHARE, now)
            })
        };
        let of_user = wait_for(&self.user.paid_until, own);
        let of_all = wait_for(&snapshot.shared.paid_until, all);
        let wait = Duration::from_nanos(of_user.max(of_all));
        if wait.is_zero() {
            return Ok(());
        }
        if wait > snapshot.proxy.lease_timeout {
            for (paid, rate) in [
                (&*self.user.paid_until, own),
                (&snapshot.shared.paid_until, all),
            ] {
                rate.into_iter()
                    .for_each(|rate| throttle::give_back(paid, rate));
            }
            return Err(too_fast(&self.user, of_user >= of_all));
        }
        self.entry.set(Activity::Throttled, net::now());
        let slept = unless_killed(&self.entry, net::sleep_until(Instant::now() + wait)).await;
        self.entry.set(Activity::Running, net::now());
        slept.ok_or_else(error::query_interrupted)
    }

    /// A place among the running statements. A session that may hold locks is counted but never waits: those
    /// that have the places may wait for its locks.
    async fn place(&mut self) -> Result<Place, reply::Err> {
        let snapshot = self.shared.snapshot();
        let user = self.user.clone();
        if self.pins.intersects(MAY_LOCK) {
            user.running.take();
            let of_process = user.process.max_running.is_some();
            if of_process {
                snapshot.shared.running.take();
            }
            return Ok(Place {
                user,
                snapshot,
                of_process,
            });
        }
        let name = user.config.name.as_str();
        if self.shared.lines.is_empty(name) {
            if let Some(place) = take_place(&user, &snapshot) {
                return Ok(place);
            }
        }
        let until = net::now() + snapshot.proxy.lease_timeout;
        self.entry.set(Activity::Queued, net::now());
        let waited = wait_in_line(&self.shared, &user, &snapshot, until);
        let place = unless_killed(&self.entry, waited).await;
        self.entry.set(Activity::Running, net::now());
        match place {
            None => Err(error::query_interrupted()),
            Some(Some(place)) => Ok(place),
            Some(None) => {
                let limit = user.limits.max_running.or(user.process.max_running);
                Err(error::user_limit_reached(
                    name,
                    "max_running",
                    limit.unwrap_or(0).into(),
                ))
            }
        }
    }
}

async fn wait_in_line(
    shared: &Shared,
    user: &Arc<User>,
    snapshot: &Rc<super::shared::Topology>,
    until: Instant,
) -> Option<Place> {
    let name = user.config.name.as_str();
    let line = InLine {
        shared,
        user: name,
        place: shared.lines.join(name),
    };
    line.place.wait_until(until).await?;
    loop {
        if let Some(place) = take_place(user, snapshot) {
            return Some(place);
        }
        let now = net::now();
        if now >= until {
            return None;
        }
        net::sleep_until(until.min(now + LOOK)).await;
    }
}

/// One of the user's places and one of the process's, or none.
fn take_place(user: &Arc<User>, snapshot: &Rc<super::shared::Topology>) -> Option<Place> {
    if !user.running.try_take() {
        return None;
    }
    let of_process = user.process.max_running.is_some();
    if of_process && !snapshot.shared.running.try_take() {
        user.running.give_back();
        return None;
    }
    Some(Place {
        user: user.clone(),
        snapshot: snapshot.clone(),
        of_process,
    })
}

fn too_fast(user: &User, by_own: bool) -> reply::Err {
    let (who, rate, key) = match (by_own, user.config.qps, user.process.qps) {
        (true, Some(rate), _) => (format!("user '{}' is", user.config.name), rate, "its qps"),
        (_, _, rate) => (
            "all users together are".to_string(),
            rate.unwrap_or(0),
            "limits.qps",
        ),
    };
    error::own(&format!(
        "{who} limited to {rate} statements per second and too many wait already: send fewer at once, or raise {key}"
    ))
}
