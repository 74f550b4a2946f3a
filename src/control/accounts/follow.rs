//! The task that reads a group's accounts again and again.
use super::read::{self, Reader};
use super::Report;
use crate::config::{Address, Monitor};
use crate::topology::accounts::{AccountsRead, Host, Refresh};
use crate::topology::{Group, Server, Snapshot};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The longest that one reading may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// From one reading to the next at least: wishes of many logins come together in one.
const GAP: Duration = Duration::from_millis(100);
/// How long a connection waits for the next reading: no server has one more session for what is asked now and then.
const KEPT: Duration = Duration::from_secs(1);
/// What a replica's lag may be more than it was at the last look.
const SLACK: Duration = Duration::from_secs(5);
/// After a reading that failed.
const RETRY: Duration = Duration::from_millis(500);

pub(super) struct Order {
    pub group: String,
    pub monitor: Monitor,
    pub interval: Duration,
    /// A replica further behind takes no reads.
    pub max_replica_lag: Duration,
    pub refresh: Arc<Refresh>,
}

/// Ends when its receiver is gone; may be aborted at any point.
pub(super) async fn follow(
    order: Order,
    mut snapshots: watch::Receiver<Arc<Snapshot>>,
    mut woken: mpsc::Receiver<()>,
    reports: mpsc::Sender<Report>,
) {
    let mut follower = Follower {
        monitor: order.monitor,
        reader: None,
        seen_as: HashMap::new(),
    };
    loop {
        let started = Instant::now();
        let version = order.refresh.wanted();
        let snapshot = snapshots.borrow_and_update().clone();
        let group = snapshot.groups.iter().find(|g| g.name == order.group);
        let outcome = match group {
            Some(group) => follower.read(group).await,
            None => Err("the group is not published yet".into()),
        };
        let outcome = outcome.map(|mut read| {
            read.replicated_by = Some(std::time::Instant::now() + order.max_replica_lag + SLACK);
            read
        });
        let failed = outcome.is_err();
        let report = Report {
            group: order.group.clone(),
            refresh: order.refresh.clone(),
            version,
            outcome,
        };
        if reports.send(report).await.is_err() {
            return;
        }
        let pause = if failed { RETRY } else { order.interval };
        let mut next = pin!(async {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = woken.recv() => {}
                _ = snapshots.changed(), if failed => {}
            }
        });
        if tokio::time::timeout(KEPT, &mut next).await.is_err() {
            follower.leave().await;
            next.await;
        }
        tokio::time::sleep_until(started + GAP).await;
    }
}

struct Follower {
    monitor: Monitor,
    /// The kept connection, and to whom.
    reader: Option<(Address, Reader)>,
    /// How the servers see Umpire.
    seen_as: HashMap<Address, Host>,
}

impl Follower {
    async fn read(&mut self, group: &Group) -> Result<AccountsRead, String> {
        let Some(source) = source(group) else {
            return Err("no server of the group is alive".into());
        };
        let address = source.address.clone();
        let read = tokio::time::timeout(DEADLINE, self.read_from(source)).await;
        let mut read = read
            .unwrap_or_else(|_| Err(format!("no answer within {} s", DEADLINE.as_secs())))
            .map_err(|e| format!("{address}: {e}"))?;
        self.look_around(group).await;
        read.seen_as = self.seen_by(group);
        Ok(read)
    }

    /// The kept connection is out of `self` while a question is under way; a new one is tried once.
    async fn read_from(&mut self, server: &Server) -> Result<AccountsRead, String> {
        let kept = self.reader.take().filter(|(to, _)| *to == server.address);
        if let Some((_, mut reader)) = kept {
            if let Ok(read) = reader.read().await {
                self.reader = Some((server.address.clone(), reader));
                return Ok(read);
            }
        }
        let mut reader = Reader::connect(server, &self.monitor).await?;
        let read = reader.read().await?;
        self.seen_as
            .insert(server.address.clone(), reader.seen_as().clone());
        self.reader = Some((server.address.clone(), reader));
        Ok(read)
    }

    async fn leave(&mut self) {
        if let Some((_, reader)) = self.reader.take() {
            reader.quit().await;
        }
    }

    /// Asks the other servers once how they see Umpire; what a server that was away said no longer counts.
    async fn look_around(&mut self, group: &Group) {
        let alive = |s: &&Arc<Server>| s.health.alive;
        self.seen_as.retain(|address, _| {
            group
                .servers
                .iter()
                .filter(alive)
                .any(|s| s.address == *address)
        });
        for server in group.servers.iter().filter(alive) {
            if self.seen_as.contains_key(&server.address) {
                continue;
            }
            match tokio::time::timeout(DEADLINE, read::seen_as(server, &self.monitor)).await {
                Ok(Ok(host)) => drop(self.seen_as.insert(server.address.clone(), host)),
                Ok(Err(why)) => {
                    tracing::debug!(server = %server.address, "cannot ask how it sees Umpire: {why}");
                }
                Err(_) => {}
            }
        }
    }

    fn seen_by(&self, group: &Group) -> Vec<(Address, Host)> {
        let seen = |server: &Arc<Server>| {
            let host = self.seen_as.get(&server.address)?;
            Some((server.address.clone(), host.clone()))
        };
        group.servers.iter().filter_map(seen).collect()
    }
}

/// The primary; without one any server that is alive.
fn source(group: &Group) -> Option<&Arc<Server>> {
    let primary = group.primary.and_then(|i| group.servers.get(i));
    let alive = || group.servers.iter().find(|s| s.health.alive);
    primary.filter(|s| s.health.alive).or_else(alive)
}
