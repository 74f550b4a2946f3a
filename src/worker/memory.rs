//! A worker's share of the process's memory: who has to go when it is used up.
//!
//! Above the high-water mark the network lets nobody get far ahead (`net::memory`). That bounds what comes in, but what
//! is held already may stand still: then, or at the ceiling, the connections that hold the most end, until there is
//! room. Light sessions notice nothing.
use super::Worker;
use crate::config::Memory;
use crate::net::{self, memory as held, Held};
use crate::observe::memory::{ConnectionMemory, HeldBytes, UserMemory, WorkerMemory};
use crate::session::registry::{Entry, Eviction};
use crate::session::Session;
use crate::topology::User;
use ahash::AHashMap;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Of the process, for what is no worker's: the program, the other threads.
const RESERVE: u64 = 24 << 20;
/// A worker's heap, with the allocator's part, gets this at the least, whatever the configuration says.
const LEAST: u64 = 12 << 20;
/// How often a pressed worker is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often users' sums are looked at where nothing grows.
const CHARGE: Duration = Duration::from_secs(1);
/// Growth of the heap for which users' sums are not looked at.
const STEP: usize = 128 << 10;
/// What stands above the high-water mark for this long is made room for.
const GRACE: Duration = Duration::from_secs(1);
/// An evicted session that is still there after this is no longer counted on.
const PATIENCE: Duration = Duration::from_secs(1);
/// A connection that holds less is nobody's problem.
const HEAVY: usize = 16 << 10;
/// Connections that are looked at before others get their turn.
const AT_ONCE: usize = 256;
/// Rows of SHOW MEMORY about single connections, of each worker.
const TOP: usize = 10;

/// A worker's share, bytes of its heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub high_water: usize,
    pub limit: usize,
    /// The configured limit is too small for so many workers: the least was taken.
    pub least: Option<u64>,
}

/// `machine`: bytes that the process could have at most. `buffers`: of one worker, beside its heap.
pub fn share(config: &Memory, machine: u64, workers: usize, buffers: usize) -> Share {
    let (workers, buffers) = (workers.max(1) as u64, buffers as u64);
    let least = RESERVE + workers * (buffers + LEAST);
    let wanted = config.limit.unwrap_or(machine / 2);
    let limit = (wanted.max(least) - RESERVE) / workers - buffers;
    // what blocks cost beside their contents, and the holes between them
    let limit = limit / 3 * 2;
    // what is kept free is for what is on its way when reading stops
    let high_water = limit / 100 * u64::from(config.high_water_percent);
    let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Share {
        high_water: bytes(high_water),
        limit: bytes(limit),
        least: (wanted < least && config.limit.is_some()).then_some(least),
    }
}

impl Worker {
    /// Takes the share from the configuration in effect.
    pub(super) fn apply_memory(&self) {
        let memory = self.shared.snapshot().proxy.memory;
        let workers = self.mailboxes.len();
        let share = share(&memory, self.machine_memory, workers, held::most_buffers());
        let before = self.memory.replace(share);
        if let Some(least) = share
            .least
            .filter(|_| before != share && self.shared.worker == 0)
        {
            tracing::warn!(
                "proxy.memory_limit_bytes is too small for {workers} workers: {least} bytes are taken"
            );
        }
        held::set_high_water(share.high_water);
    }

    /// Ends the sessions that hold the most while the worker has too much.
    async fn make_room(&self) {
        let mut since = net::now();
        while held::is_pressed() {
            let share = self.memory.get();
            let used = held::heap_used();
            let stands_still = net::now() >= since + GRACE;
            let goal = share.high_water - share.high_water / 12;
            if used > share.limit || stands_still {
                let freed = self.evict(used.saturating_sub(goal), Eviction::Worker, &|_| true);
                // nobody holds much: there are too many
                self.full.set(freed == 0 && used > share.limit);
                since = net::now();
            }
            net::sleep_until(net::now() + LOOK).await;
        }
        self.full.set(false);
    }

    /// Ends the heaviest of these sessions until they will have freed so much; what they hold, together.
    fn evict(&self, bytes: usize, why: Eviction, of: &dyn Fn(&Entry) -> bool) -> usize {
        let now = net::now();
        let mut heavy: Vec<(usize, Rc<Entry>)> = Vec::new();
        let mut freed = 0;
        self.shared.registry.each(|entry| {
            let holds = weight(entry);
            match entry.evicted_at() {
                _ if holds < HEAVY || !of(entry) => {}
                Some(at) if now < at + PATIENCE => freed += holds,
                _ => heavy.push((holds, entry.clone())),
            }
        });
        heavy.sort_unstable_by_key(|(holds, _)| std::cmp::Reverse(*holds));
        for (holds, entry) in heavy {
            if freed >= bytes {
                break;
            }
            freed += holds;
            entry.evict(why, now);
            self.shared.stats.memory_evictions.add(1);
            tracing::warn!(
                id = entry.id,
                user = &**entry.user.borrow(),
                bytes = holds,
                why = why.words(),
                "a connection holds the most memory: its statement ends"
            );
        }
        freed
    }

    /// Adds what this worker's sessions hold to their users' sums, where users are limited; one that is over its limit
    /// loses its heaviest sessions here. Some: this worker may gain so many bytes before a user can be over.
    async fn charge_users(&self) -> Option<usize> {
        let snapshot = self.shared.snapshot();
        let limited = |user: &User| user.limits.max_memory.is_some();
        let some = snapshot.users.values().any(|user| limited(user));
        if !some && self.charged.borrow().is_empty() {
            return None;
        }
        let mut sums: AHashMap<Rc<str>, u64> = AHashMap::new();
        for some in self.shared.registry.all().chunks(AT_ONCE) {
            for entry in some {
                *sums.entry(entry.user.borrow().clone()).or_default() += weight(entry) as u64;
            }
            net::yield_now().await;
        }
        let mut charged = self.charged.borrow_mut();
        charged.retain(|name, charge| {
            let gone = !sums.contains_key(&**name);
            if gone {
                charge.set(0);
            }
            !gone
        });
        for (name, sum) in sums {
            let Some(user) = snapshot.users.get(&*name).filter(|user| limited(user)) else {
                if let Some(mut charge) = charged.remove(&name) {
                    charge.set(0);
                }
                continue;
            };
            let charge = charged.entry(name.clone()).or_insert_with(|| Charge {
                of_user: user.memory.clone(),
                mine: 0,
            });
            let total = charge.set(sum);
            let limit = user.limits.max_memory.unwrap_or(u64::MAX);
            // the heavy ones may be another worker's: who holds less than an even part is left alone
            let even = limit / u64::from(user.sessions.used().max(1));
            let heavy =
                |entry: &Entry| **entry.user.borrow() == *name && weight(entry) as u64 > even;
            if total > limit {
                let over = usize::try_from(total - limit).unwrap_or(usize::MAX);
                self.evict(over, Eviction::User, &heavy);
            }
        }
        let left = snapshot.users.values().filter_map(room);
        let all_workers = left.min()? / self.mailboxes.len().max(1) as u64;
        Some(usize::try_from(all_workers).map_or(usize::MAX, |room| room.max(STEP)))
    }

    /// For SHOW MEMORY. Looks at every connection, some at a time.
    pub(super) async fn memory_info(&self) -> WorkerMemory {
        let mut all = Held::default();
        let mut from = 0;
        while let Some(some) = held::held_by(from..from + AT_ONCE) {
            all += some;
            from += AT_ONCE;
            net::yield_now().await;
        }
        let mut connections: Vec<ConnectionMemory> = Vec::new();
        let mut users = Users::default();
        let entries = self.shared.registry.all();
        for some in entries.chunks(AT_ONCE) {
            for entry in some {
                note(entry, &mut users, &mut connections);
            }
            net::yield_now().await;
        }
        let (shared, share, network) = (&self.shared, self.memory.get(), held::memory());
        let sessions = entries.len() * (size_of::<Session>() + size_of::<Entry>());
        WorkerMemory {
            worker: shared.worker,
            heap: network.heap as u64,
            buffers: network.buffers as u64,
            sockets: network.sockets as u64,
            sessions: sessions as u64,
            digests: shared.digests.borrow().size() as u64,
            journal: shared.journal.allocated() as u64,
            latency: (shared.latency.borrow().distinct_values() * size_of::<u64>()) as u64,
            held: bytes(Some(all)),
            high_water: share.high_water as u64,
            limit: share.limit as u64,
            pressed: network.pressed,
            evictions: shared.stats.memory_evictions.get(),
            users: users.into_values().collect(),
            connections,
        }
    }
}

/// What a limited user may hold beside what it holds already, bytes.
fn room(user: &Arc<User>) -> Option<u64> {
    let limit = user.limits.max_memory?;
    Some(limit.saturating_sub(user.memory.load(Relaxed)))
}

type Users = AHashMap<Rc<str>, UserMemory>;

/// Adds a session to its user's sum, and to the heaviest if it is one of them.
fn note(entry: &Entry, users: &mut Users, heaviest: &mut Vec<ConnectionMemory>) {
    let client = bytes(entry.client.held());
    let server = bytes(Some(on_servers(entry)));
    let name = entry.user.borrow().clone();
    let user = users.entry(name.clone()).or_insert_with(|| UserMemory {
        user: name.to_string(),
        ..UserMemory::default()
    });
    user.sessions += 1;
    user.held += client;
    user.held += server;
    let sum = client.sum() + server.sum();
    let full = heaviest.len() == TOP;
    if sum == 0 || (full && heaviest.last().is_some_and(|least| least.sum() >= sum)) {
        return;
    }
    heaviest.truncate(TOP - 1);
    let at = heaviest.partition_point(|other| other.sum() >= sum);
    let connection = ConnectionMemory {
        id: entry.id,
        user: name.to_string(),
        state: entry.activity().words().to_string(),
        client,
        server,
    };
    heaviest.insert(at, connection);
}

/// What this worker's sessions of a user hold, as it stands in the user's sum.
pub(super) struct Charge {
    of_user: Arc<AtomicU64>,
    mine: u64,
}

impl Charge {
    /// The user's sum over all workers.
    fn set(&mut self, bytes: u64) -> u64 {
        let change = bytes.wrapping_sub(std::mem::replace(&mut self.mine, bytes));
        self.of_user.fetch_add(change, Relaxed).wrapping_add(change)
    }
}

/// What a session holds: of its client's connection, and of the servers' that it uses.
fn weight(entry: &Entry) -> usize {
    entry.client.held().map_or(0, |held| held.sum()) + on_servers(entry).sum()
}

/// What the server connections that a session uses hold.
fn on_servers(entry: &Entry) -> Held {
    let mut all = Held::default();
    let uses = entry.uses();
    uses.iter()
        .filter_map(|on| on.aborter.held())
        .for_each(|held| all += held);
    all
}

fn bytes(held: Option<Held>) -> HeldBytes {
    let held = held.unwrap_or_default();
    HeldBytes {
        received: held.received as u64,
        queued: held.queued as u64,
        parts: held.parts as u64,
        statements: held.statements as u64,
        rows: held.rows as u64,
    }
}

pub(super) async fn guard(worker: Rc<Worker>) {
    loop {
        held::pressed().await;
        worker.make_room().await;
    }
}

/// Users' sums: now and then, and as soon as the worker's heap has grown by so much that one may be over its ceiling.
pub(super) async fn charge(worker: Rc<Worker>) {
    loop {
        let begun = net::now();
        let room = worker.charge_users().await;
        let mut due = pin!(net::sleep_until(begun + CHARGE));
        let Some(room) = room else {
            due.await;
            continue;
        };
        let mut grown = pin!(held::grown(room));
        poll_fn(|cx| match grown.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => due.as_mut().poll(cx),
        })
        .await;
        net::sleep_until(begun + LOOK).await;
    }
}

impl Default for Share {
    fn default() -> Share {
        Share {
            high_water: usize::MAX,
            limit: usize::MAX,
            least: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFERS: usize = 10 << 20;

    #[test]
    fn a_worker_gets_its_share_of_what_the_process_may_use() {
        let memory = Memory {
            limit: Some(1 << 30),
            ..Memory::default()
        };
        let four = share(&memory, 0, 4, BUFFERS);
        assert_eq!(four.limit, ((1000 << 20) / 4 - BUFFERS) / 3 * 2);
        assert_eq!(four.high_water, four.limit / 100 * 80);
        assert_eq!(four.least, None);
    }

    #[test]
    fn without_a_limit_the_process_may_use_half_of_the_machine() {
        let memory = Memory::default();
        let two = share(&memory, 16 << 30, 2, BUFFERS);
        assert_eq!(two.limit, (((8 << 30) - (24 << 20)) / 2 - BUFFERS) / 3 * 2);
    }

    #[test]
    fn a_limit_that_is_too_small_for_the_workers_is_raised_and_said() {
        let memory = Memory {
            limit: Some(64 << 20),
            ..Memory::default()
        };
        let many = share(&memory, 0, 32, BUFFERS);
        assert_eq!(many.limit, 8 << 20);
        assert_eq!(many.least, Some((24 << 20) + 32 * (22 << 20)));
        let tiny = share(&Memory::default(), 1 << 20, 2, BUFFERS);
        assert_eq!((tiny.limit, tiny.least), (8 << 20, None));
    }
}
