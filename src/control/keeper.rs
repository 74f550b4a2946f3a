//! What the control thread knows: the configuration, every server's health, the last snapshot; and
//! what follows from a change of any of them.

mod configured;
mod limits;
mod rules;

pub(super) use rules::follow;

use super::accounts;
use super::handle::View;
use super::health::assess::{assess, writable, Member};
use super::health::{Liveness, Outcome, ServerHealth};
use super::journal::Order;
use super::log::{log_service, log_transition};
use super::reload;
use super::stall::StallClock;
use super::watch::Report;
use crate::config::{self, Address, Config};
use crate::coordination::Rule;
use crate::topology::{
    Built, DefaultsChanging, Greeting, Health, Learnt, ServerIds, Snapshot, Target,
};
use crate::worker::mailbox::{Mailbox, Message};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// One configured server. Lives as long as its address stays configured.
struct Watched {
    generation: u64,
    health: ServerHealth,
    /// Reported at least once.
    heard_of: bool,
    greeting: Option<Greeting>,
    target: Option<Target>,
    /// The monitor account that the task uses.
    monitor: Option<config::Monitor>,
    tls: Option<Arc<config::ServerTls>>,
    /// What the server is told of its connections.
    headers: Option<config::ProxyHeaders>,
    task: AbortHandle,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watched {
    /// Whether it is checked as this server of the group has to be.
    fn is_for(&self, server: &config::Server, group: &config::Group) -> bool {
        self.tls == server.tls
            && self.headers == group.proxy_protocol
            && same_monitor(&self.monitor, &group.monitor)
    }
}

/// What is published of every group: its servers' health and which of them was taken for the
/// primary in judging them.
struct Judged {
    healths: Vec<Vec<Health>>,
    primaries: Vec<Option<usize>>,
}

/// Per process; owned by the control thread's main task.
pub(super) struct Keeper {
    config: Arc<Config>,
    config_path: PathBuf,
    /// What the store keeps of rules; they are in `config`, too.
    rules: Vec<Rule>,
    mailboxes: Arc<[Mailbox]>,
    reports: mpsc::Sender<Report>,
    clock: Arc<StallClock>,
    watched: HashMap<Address, Watched>,
    generations: u64,
    ids: ServerIds,
    snapshot: Arc<Snapshot>,
    /// False: the workers have no snapshot yet.
    published: bool,
    healths: Vec<Vec<Health>>,
    /// Of the groups, from the topology; and of single servers, from their checks.
    alarms: Vec<String>,
    draining: bool,
    /// A worker did not take the last snapshot or the order to drain: it is sent again.
    owed: bool,
    journal: std::sync::mpsc::Sender<Order>,
    accounts: accounts::Watch,
}

impl Keeper {
    /// Begins to check the configured servers. Must run inside the runtime.
    pub(super) fn new(
        config: Config,
        rules: Vec<Rule>,
        config_path: PathBuf,
        mailboxes: Arc<[Mailbox]>,
        reports: mpsc::Sender<Report>,
        clock: Arc<StallClock>,
        journal: std::sync::mpsc::Sender<Order>,
    ) -> Keeper {
        let mut ids = ServerIds::default();
        let first = Snapshot::build(&config, None, &mut ids, &[]).snapshot;
        let mut accounts = accounts::Watch::new(Arc::new(first));
        accounts.configure(&config, &mut ids);
        let snapshot = Snapshot::build(&config, None, &mut ids, &[]).snapshot;
        let mut keeper = Keeper {
            config: Arc::new(config),
            config_path,
            rules,
            mailboxes,
            reports,
            clock,
            watched: HashMap::new(),
            generations: 0,
            ids,
            snapshot: Arc::new(snapshot),
            published: false,
            healths: Vec::new(),
            alarms: Vec::new(),
            draining: false,
            owed: false,
            journal,
            accounts,
        };
        keeper.watch_configured();
        keeper.refresh(Instant::now());
        keeper
    }

    /// Every server has been checked once: a snapshot says what there is to say.
    pub(super) fn heard_of_all(&self) -> bool {
        self.watched.values().all(|w| w.heard_of)
    }

    /// Publishes the first snapshot, with what is known by now.
    pub(super) fn start(&mut self, now: Instant) {
        for group in self.config.groups.iter().filter(|g| !self.is_reached(g)) {
            tracing::warn!(
                group = group.name,
                "no server of the group has answered; its clients wait until one does, and get errors"
            );
        }
        self.refresh(now);
        self.published = true;
        self.send_snapshot();
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// What the admin servers see.
    pub(super) fn view(&self) -> View {
        View {
            config: self.config.clone(),
            snapshot: self.snapshot.clone(),
            healths: self.healths.clone(),
            alarms: self.alarms.clone(),
            draining: self.draining,
        }
    }

    pub(super) fn on_report(&mut self, report: Report) {
        let Report {
            address, began, at, ..
        } = report;
        let greeting = report.greeting.map(|greeting| self.sharing(greeting));
        let Some(watched) = self.watched.get_mut(&address) else {
            return;
        };
        if watched.generation != report.generation {
            return;
        }
        watched.heard_of = true;
        watched.greeting = greeting.or(watched.greeting.take());
        watched.target = report.target.or(watched.target.take());
        match report.outcome {
            None => tracing::info!(
                server = %address,
                "a check failed while this process did not run: not counted"
            ),
            Some(outcome) => {
                let answered = matches!(outcome, Outcome::Answered(_));
                let transition = watched.health.observe(outcome, at);
                if answered {
                    watched.health.note_look(began, at);
                }
                if let Some(transition) = transition {
                    log_transition(&address, transition, watched.health.trouble());
                }
            }
        }
        // At start, nothing is decided from what happens to be heard first.
        if self.published {
            self.send_owed();
            self.refresh(at);
        }
    }

    /// Servers of one version have the same hundreds of collations: one object, so that comparing them with
    /// every check is comparing pointers.
    fn sharing(&self, mut greeting: Greeting) -> Greeting {
        let known = self
            .watched
            .values()
            .filter_map(|w| w.greeting.as_ref())
            .map(|g| &g.collations);
        if let Some(same) = known.into_iter().find(|c| **c == greeting.collations) {
            greeting.collations = same.clone();
        }
        greeting
    }

    /// Looks at everything anew; publishes if something changed for the workers.
    fn refresh(&mut self, now: Instant) {
        let (built, healths) = self.settle(now, |snapshot, ids, learnt| {
            snapshot.with_health(ids, learnt)
        });
        self.healths = healths;
        self.raise(built.alarms);
        if !built.snapshot.is_same_as(&self.snapshot) {
            log_service(&self.snapshot, &built.snapshot);
            if built.snapshot.has_other_modes_than(&self.snapshot) {
                // pooled connections have the mode of before
                drop(DefaultsChanging::new(self.snapshot.defaults.clone()));
            }
            self.snapshot = Arc::new(built.snapshot);
            self.send_snapshot();
        }
    }

    /// The reports that [`Keeper::on_accounts`] wants; to be taken once.
    pub(super) fn account_reports(&mut self) -> mpsc::Receiver<accounts::Report> {
        self.accounts.reports()
    }

    pub(super) fn on_accounts(&mut self, report: accounts::Report, now: Instant) {
        if self.accounts.on_report(report, &mut self.ids) {
            let config = self.config.clone();
            self.rebuild(&config, now);
        }
    }

    /// The first time within the configured deadline, the second time at once.
    pub(super) fn drain(&mut self) {
        let deadline = match self.draining {
            false => self.config.proxy.drain_timeout,
            true => Duration::ZERO,
        };
        self.draining = true;
        tracing::info!(
            ?deadline,
            "draining: no new clients; sessions end after their transaction"
        );
        for mailbox in self.mailboxes.iter() {
            self.owed |= !mailbox.send(Message::Drain(deadline));
        }
    }

    /// What a worker did not take because its mailbox was full.
    fn send_owed(&mut self) {
        if !std::mem::take(&mut self.owed) {
            return;
        }
        self.send_snapshot();
        for mailbox in self.mailboxes.iter().filter(|_| self.draining) {
            self.owed |= !mailbox.send(Message::Drain(self.config.proxy.drain_timeout));
        }
    }

    /// Judges and builds until both agree on who the primaries are: a replica's health depends on
    /// whether there is a primary, and the primary is decided from all healths.
    fn settle(
        &mut self,
        now: Instant,
        build: impl Fn(&Snapshot, &mut ServerIds, &[Learnt]) -> Built,
    ) -> (Built, Vec<Vec<Health>>) {
        let mut primaries: Vec<Option<usize>> =
            self.snapshot.groups.iter().map(|g| g.primary).collect();
        // Who is primary depends on `writable` alone, which no judgement changes: the second round
        // agrees with the first.
        for _ in 0..2 {
            let judged = self.judge(primaries, now);
            let learnt = self.learnt(&judged.healths);
            let built = build(&self.snapshot, &mut self.ids, &learnt);
            primaries = built.snapshot.groups.iter().map(|g| g.primary).collect();
            if primaries == judged.primaries {
                return (built, judged.healths);
            }
        }
        let judged = self.judge(primaries, now);
        let learnt = self.learnt(&judged.healths);
        (
            build(&self.snapshot, &mut self.ids, &learnt),
            judged.healths,
        )
    }

    fn judge(&self, primaries: Vec<Option<usize>>, now: Instant) -> Judged {
        let groups = self.config.groups.iter().zip(&primaries);
        let healths = groups
            .map(|(group, primary)| {
                let members: Vec<Member<'_>> = self.members(group);
                let primary = primary.filter(|&i| members.get(i).is_some_and(writable));
                assess(&members, primary, group.max_replica_lag, now)
            })
            .collect();
        Judged { healths, primaries }
    }

    fn members<'a>(&'a self, group: &'a config::Group) -> Vec<Member<'a>> {
        let member = |server: &'a config::Server| {
            let watched = self.watched.get(&server.address)?;
            let monitored = group.monitor.is_some();
            Some(Member {
                role: group.trusted_role(server),
                monitored,
                state: &watched.health,
            })
        };
        group.servers.iter().filter_map(member).collect()
    }

    /// What the snapshot is built from. A change of lag alone is not worth a publication: the last
    /// published health stands for it.
    fn learnt(&self, healths: &[Vec<Health>]) -> Vec<Learnt> {
        let published: HashMap<&Address, &Health> = self
            .snapshot
            .groups
            .iter()
            .flat_map(|group| group.servers.iter().map(|s| (&s.address, &s.health)))
            .collect();
        let servers = self
            .config
            .groups
            .iter()
            .zip(healths)
            .flat_map(|(group, healths)| group.servers.iter().zip(healths));
        servers
            .filter_map(|(server, health)| {
                let watched = self.watched.get(&server.address)?;
                let before = published
                    .get(&server.address)
                    .filter(|p| means_the_same(p, health));
                Some(Learnt {
                    address: server.address.clone(),
                    target: watched.target.clone(),
                    health: before.map_or_else(|| health.clone(), |h| Health::clone(h)),
                    greeting: watched.greeting.clone(),
                })
            })
            .collect()
    }

    fn send_snapshot(&mut self) {
        if !self.published {
            return;
        }
        // it has ended only when the process does
        let _ = self.journal.send(Order::Settings(
            self.config.watching.clone(),
            self.snapshot.clone(),
        ));
        tracing::debug!(epoch = self.snapshot.epoch, "publishing a snapshot");
        self.accounts.published(&self.snapshot);
        for mailbox in self.mailboxes.iter() {
            self.owed |= !mailbox.send(Message::Snapshot(self.snapshot.clone()));
        }
    }

    fn is_reached(&self, group: &config::Group) -> bool {
        let mut servers = group
            .servers
            .iter()
            .filter_map(|s| self.watched.get(&s.address));
        servers.any(|w| w.health.liveness() == Liveness::Alive)
    }

    fn raise(&mut self, mut alarms: Vec<String>) {
        // In the configuration's order, so that the list stays as it is while nothing changes.
        let servers = self
            .config
            .groups
            .iter()
            .flat_map(|g| &g.servers)
            .map(|s| &s.address);
        alarms.extend(servers.filter_map(|address| {
            let declined = self.watched.get(address)?.health.declined_with()?;
            Some(format!(
                "server {address} turns the monitor away: {declined}"
            ))
        }));
        alarms.extend(reload::expiring(&self.config));
        for new in alarms.iter().filter(|a| !self.alarms.contains(a)) {
            tracing::error!("alarm: {new}");
        }
        for old in self.alarms.iter().filter(|a| !alarms.contains(a)) {
            tracing::info!("no more: {old}");
        }
        self.alarms = alarms;
    }
}

/// Equal but for the lag and, while the server is alive, the wording of the reason.
fn means_the_same(a: &Health, b: &Health) -> bool {
    let meaning = |h: &Health| (h.alive, h.writable, h.readable, h.reason.is_empty());
    meaning(a) == meaning(b) && (a.alive || a.reason == b.reason)
}

fn same_monitor(a: &Option<config::Monitor>, b: &Option<config::Monitor>) -> bool {
    let parts = |m: &config::Monitor| (m.user.clone(), m.password.clone(), m.interval);
    a.as_ref().map(parts) == b.as_ref().map(parts)
}
