//! The servers' accounts, for groups with `accounts = "server"`: read again on an interval, and when a worker
//! asks ([`Refresh`]).
//!
//! | file | job |
//! |---|---|
//! | `follow.rs` | the task of a group: when to read, from which server |
//! | `read.rs` | the questions to a server |
//! | `rows.rs` | a row → an account (pure) |
mod follow;
mod read;
mod rows;
#[cfg(test)]
mod tests;

use crate::config::{self, Config};
use crate::topology::accounts::{Accounts, AccountsRead, Refresh};
use crate::topology::{ServerIds, Snapshot};
use follow::follow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

/// Reports under way; a task waits when it is full.
const QUEUE: usize = 16;

/// What one reading brought.
pub(super) struct Report {
    pub group: String,
    /// Of the task; reports of a replaced one are stale.
    pub refresh: Arc<Refresh>,
    /// The wish that it fulfils.
    pub version: u64,
    pub outcome: Result<AccountsRead, String>,
}

/// The reading tasks. Owned by the keeper.
pub(super) struct Watch {
    tasks: HashMap<String, Task>,
    sender: mpsc::Sender<Report>,
    receiver: Option<mpsc::Receiver<Report>>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

struct Task {
    monitor: config::Monitor,
    interval: Duration,
    max_replica_lag: Duration,
    accounts: Arc<Accounts>,
    abort: AbortHandle,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

impl Watch {
    pub fn new(snapshot: Arc<Snapshot>) -> Watch {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Watch {
            tasks: HashMap::new(),
            sender,
            receiver: Some(receiver),
            snapshots: watch::Sender::new(snapshot),
        }
    }

    /// The receiving end of the reports; there is one.
    pub fn reports(&mut self) -> mpsc::Receiver<Report> {
        self.receiver.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Where the servers are is known anew.
    pub fn published(&self, snapshot: &Arc<Snapshot>) {
        self.snapshots.send_replace(snapshot.clone());
    }

    /// Starts, keeps and ends the tasks as the configuration says. Must run inside the runtime.
    pub fn configure(&mut self, config: &Config, ids: &mut ServerIds) {
        let mut before = std::mem::take(&mut self.tasks);
        for group in &config.groups {
            let old = before.remove(&group.name);
            let task = match (group.accounts, &group.monitor) {
                (config::Accounts::Server, Some(monitor)) => Some(self.task(group, monitor, old)),
                _ => None,
            };
            ids.set_accounts(&group.name, task.as_ref().map(|t| t.accounts.clone()));
            if let Some(task) = task {
                self.tasks.insert(group.name.clone(), task);
            }
        }
    }

    fn task(&self, group: &config::Group, monitor: &config::Monitor, old: Option<Task>) -> Task {
        let interval = group.accounts_interval;
        let same = |task: &Task| {
            task.interval == interval
                && task.max_replica_lag == group.max_replica_lag
                && task.monitor.user == monitor.user
                && task.monitor.password == monitor.password
        };
        let old = match old {
            Some(task) if same(&task) => return task,
            other => other,
        };
        let (wake, woken) = mpsc::channel(1);
        // a full channel: a wish is waiting already, and the reading that it starts serves this one too
        let refresh = Arc::new(Refresh::new(move || {
            let _ = wake.try_send(());
        }));
        let accounts = match &old {
            Some(task) => task.accounts.with_refresh(refresh.clone()),
            None => Accounts::unknown(refresh.clone(), "they have not been read yet".into()),
        };
        let order = follow::Order {
            group: group.name.clone(),
            monitor: monitor.clone(),
            interval,
            max_replica_lag: group.max_replica_lag,
            refresh,
        };
        let reading = follow(
            order,
            self.snapshots.subscribe(),
            woken,
            self.sender.clone(),
        );
        Task {
            monitor: monitor.clone(),
            interval,
            max_replica_lag: group.max_replica_lag,
            accounts: Arc::new(accounts),
            abort: tokio::spawn(reading).abort_handle(),
        }
    }

    /// Takes a report in. True: the workers should hear of it.
    pub fn on_report(&mut self, report: Report, ids: &mut ServerIds) -> bool {
        let Some(task) = self.tasks.get_mut(&report.group) else {
            return false;
        };
        let known = &task.accounts;
        if !Arc::ptr_eq(&known.refresh, &report.refresh) {
            return false;
        }
        let new = match report.outcome {
            Ok(read) => Accounts::new(read, report.refresh, report.version, Some(known)),
            Err(trouble) => known.stale(report.version, trouble),
        };
        if new.is_same_as(known) && new.version == known.version {
            return false;
        }
        log(&report.group, known, &new);
        task.accounts = Arc::new(new);
        ids.set_accounts(&report.group, Some(task.accounts.clone()));
        true
    }
}

fn log(group: &str, before: &Accounts, now: &Accounts) {
    if before.trouble != now.trouble {
        match &now.trouble {
            Some(trouble) => {
                tracing::error!(group, "the servers' accounts cannot be read: {trouble}")
            }
            None => tracing::info!(group, accounts = now.len(), "read the servers' accounts"),
        }
    }
}
