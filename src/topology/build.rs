//! Configuration + what was learnt of the servers → snapshot.
use super::accounts::Accounts;
use super::{
    derive_primary, Budget, Greeting, Group, Health, Memory, Server, ServerId, ShardMap, Snapshot,
    Target, User,
};
use crate::config::{self, Address};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

/// What the control thread knows of one server. It keeps one for every configured server and hands
/// in all of them each time: a greeting that it leaves out no longer counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    pub address: Address,
    pub target: Option<Target>,
    pub health: Health,
    /// What the server said of itself when it was last reached.
    pub greeting: Option<Greeting>,
}

/// A snapshot and what an operator should hear about it.
#[derive(Debug)]
pub struct Built {
    pub snapshot: Snapshot,
    /// One line a group in trouble, beginning with its name.
    pub alarms: Vec<String>,
}

/// What outlives every snapshot: names and budgets of servers, earlier decisions about primaries.
/// Per process, owned by the control thread.
#[derive(Debug, Default)]
pub struct ServerIds {
    /// Never forgets an address, so that a server that comes back after a reload is the same one.
    servers: HashMap<Address, Known>,
    memories: HashMap<String, Memory>,
    /// By group: the servers' accounts, as read last.
    accounts: HashMap<String, Arc<Accounts>>,
}

#[derive(Debug)]
struct Known {
    id: ServerId,
    /// Alive as long as a snapshot or an open connection holds it.
    budget: Weak<Budget>,
}

impl ServerIds {
    /// The server's name; a new one at its first mention.
    pub fn id(&mut self, address: &Address) -> ServerId {
        let next = ServerId(self.servers.len() as u32);
        let fresh = || Known {
            id: next,
            budget: Weak::new(),
        };
        self.servers.entry(address.clone()).or_insert_with(fresh).id
    }

    /// What the next [`Snapshot::build`] takes over. None: the group has only configured users.
    pub fn set_accounts(&mut self, group: &str, accounts: Option<Arc<Accounts>>) {
        match accounts {
            Some(accounts) => self.accounts.insert(group.to_owned(), accounts),
            None => self.accounts.remove(group),
        };
    }

    /// The server's one budget, with this limit from now on.
    fn budget(&mut self, address: &Address, limit: u32) -> Arc<Budget> {
        self.id(address);
        let existing = self
            .servers
            .get(address)
            .and_then(|known| known.budget.upgrade());
        let budget = existing.unwrap_or_else(|| Arc::new(Budget::new(limit)));
        budget.set_limit(limit);
        if let Some(known) = self.servers.get_mut(address) {
            known.budget = Arc::downgrade(&budget);
        }
        budget
    }

    /// Decides the group's primary and remembers the decision; returns it with the alarm.
    fn decide(
        &mut self,
        group: &str,
        election: config::Primary,
        servers: &[Arc<Server>],
    ) -> (Option<usize>, Option<String>) {
        let memory = self.memories.entry(group.to_owned()).or_default();
        let each = servers.iter().map(Arc::as_ref);
        let decision = derive_primary(election, memory, each);
        *memory = decision.memory;
        (
            decision.primary,
            decision
                .alarm
                .map(|alarm| format!("group {group}: {alarm}")),
        )
    }
}

impl Snapshot {
    /// The snapshot of a configuration. Users' last writes and session counts come from `previous`
    /// by user name, a group's greeting by group name where nothing is learnt; servers keep name and
    /// budget through `ids`. Limits of carried budgets change at once, so build only what will be
    /// published.
    pub fn build(
        config: &config::Config,
        previous: Option<&Snapshot>,
        ids: &mut ServerIds,
        learnt: &[Learnt],
    ) -> Built {
        let mut alarms = Vec::new();
        let mut groups = Vec::with_capacity(config.groups.len());
        for (index, group) in config.groups.iter().enumerate() {
            let before =
                previous.and_then(|snapshot| snapshot.groups.iter().find(|g| g.name == group.name));
            let servers: Vec<_> = group
                .servers
                .iter()
                .map(|s| Arc::new(server(s, group, before, ids, learnt)))
                .collect();
            let greeting = greeting(&servers, before, learnt);
            let election = group.primary.unwrap_or(config::Primary::Writable);
            let (primary, alarm) = ids.decide(&group.name, election, &servers);
            alarms.extend(alarm);
            groups.push(Arc::new(Group {
                name: group.name.clone(),
                index,
                read_write_split: group.read_write_split,
                election,
                read_your_writes: group.read_your_writes,
                read_your_writes_window: group.read_your_writes_window,
                servers,
                primary,
                greeting,
                accounts: ids.accounts.get(&group.name).cloned(),
            }));
        }
        let configured = config.users.iter();
        let users = configured
            .filter_map(|u| user(u, config, &groups, previous))
            .collect();
        let users = with_users_of_servers(users, config, &groups, previous);
        let shared = previous.map_or_else(Arc::default, |snapshot| snapshot.shared.clone());
        let running = config.limits.max_running.unwrap_or(u32::MAX);
        shared.running.set_limit(running);
        let snapshot = Snapshot {
            epoch: previous.map_or(1, |snapshot| snapshot.epoch + 1),
            proxy: Arc::new(config.proxy.clone()),
            groups,
            users,
            shared,
            shards: shards(config, previous),
            libraries: config.libraries.as_slice().into(),
            watch: config.watching.clone(),
            defaults: previous.map_or_else(Default::default, |p| p.defaults.clone()),
        };
        Built { snapshot, alarms }
    }

    /// The same configuration with what is learnt now. Groups and servers that are as before stay
    /// the same objects; servers that `learnt` leaves out stay as they are.
    pub fn with_health(&self, ids: &mut ServerIds, learnt: &[Learnt]) -> Built {
        let mut alarms = Vec::new();
        let groups = self.groups.iter().map(|group| {
            let servers: Vec<_> = group
                .servers
                .iter()
                .map(|server| refreshed(server, learnt))
                .collect::<Vec<_>>();
            let (primary, alarm) = ids.decide(&group.name, group.election, &servers);
            alarms.extend(alarm);
            refreshed_group(group, servers, primary, learnt)
        });
        let snapshot = Snapshot {
            epoch: self.epoch + 1,
            proxy: self.proxy.clone(),
            groups: groups.collect(),
            users: self.users.clone(),
            shared: self.shared.clone(),
            shards: self.shards.clone(),
            libraries: self.libraries.clone(),
            watch: self.watch.clone(),
            defaults: self.defaults.clone(),
        };
        Built { snapshot, alarms }
    }

    /// A group's servers give new sessions other variables than before that Umpire goes by.
    pub fn has_other_modes_than(&self, before: &Snapshot) -> bool {
        self.groups.iter().any(|group| {
            let known = before.groups.iter().find(|g| g.name == group.name);
            known.is_some_and(|known| {
                let (old, new) = (&known.greeting, &group.greeting);
                old.sql_mode != new.sql_mode
                    || old.autocommit != new.autocommit
                    || old.select_limit != new.select_limit
                    || old.div_precision_increment != new.div_precision_increment
            })
        })
    }

    /// Whether nothing but the epoch differs: not worth a publication.
    pub fn is_same_as(&self, other: &Snapshot) -> bool {
        let same_groups = self.groups.len() == other.groups.len()
            && self
                .groups
                .iter()
                .zip(&other.groups)
                .all(|(a, b)| Arc::ptr_eq(a, b));
        let same_user = |name, user| {
            other
                .users
                .get(name)
                .is_some_and(|known| Arc::ptr_eq(known, user))
        };
        let same_users = self.users.len() == other.users.len()
            && self.users.iter().all(|(name, user)| same_user(name, user));
        Arc::ptr_eq(&self.proxy, &other.proxy)
            && Arc::ptr_eq(&self.shards, &other.shards)
            && self.libraries == other.libraries
            && same_groups
            && same_users
    }
}

impl Health {
    /// Of a server that was not checked yet: nothing goes there.
    pub fn unchecked() -> Health {
        Health {
            alive: false,
            writable: false,
            readable: false,
            lag: None,
            reason: "not checked yet".into(),
        }
    }
}

fn server(
    config: &config::Server,
    of: &config::Group,
    before: Option<&Arc<Group>>,
    ids: &mut ServerIds,
    learnt: &[Learnt],
) -> Server {
    let known = find(learnt, &config.address);
    let old = before.and_then(|group| group.servers.iter().find(|s| s.address == config.address));
    let target = known
        .map(|k| k.target.clone())
        .or_else(|| old.map(|s| s.target.clone()));
    let health = known
        .map(|k| k.health.clone())
        .or_else(|| old.map(|s| s.health.clone()));
    Server {
        id: ids.id(&config.address),
        address: config.address.clone(),
        target: target.flatten(),
        role: config.role,
        weight: config.weight,
        compression: of.compression,
        health: health.unwrap_or_else(Health::unchecked),
        budget: ids.budget(&config.address, config.max_connections),
        tls: config.tls.clone(),
        proxy_protocol: of.proxy_protocol,
    }
}

fn user(
    config: &config::User,
    all: &config::Config,
    groups: &[Arc<Group>],
    previous: Option<&Snapshot>,
) -> Option<(Box<str>, Arc<User>)> {
    // validation has refused a user whose group does not exist
    let group = groups.iter().position(|group| group.name == config.group)?;
    let old = previous.and_then(|snapshot| snapshot.users.get(config.name.as_str()));
    let limits = all.limits_of(config);
    let kept = |budget: Option<&Arc<Budget>>, limit: Option<u32>| {
        let limit = limit.unwrap_or(u32::MAX);
        let budget = budget.map_or_else(|| Arc::new(Budget::new(limit)), Arc::clone);
        budget.set_limit(limit);
        budget
    };
    let sessions = kept(old.map(|user| &user.sessions), config.max_connections);
    let running = kept(old.map(|user| &user.running), limits.max_running);
    let last_write = old.map_or_else(
        || Arc::new(AtomicU64::new(0)),
        |user| user.last_write.clone(),
    );
    let asks_counts = old.map_or_else(Default::default, |user| user.asks_counts.clone());
    let paid_until = old.map_or_else(Default::default, |user| user.paid_until.clone());
    let proven = old
        .filter(|user| user.config.secret == config.secret)
        .map_or_else(Default::default, |user| user.proven.clone());
    let user = User {
        config: config.clone(),
        limits,
        process: all.limits,
        policies: all
            .policies
            .iter()
            .filter(|policy| policy.is_for(&config.name))
            .cloned()
            .collect(),
        proven,
        group,
        last_write,
        asks_counts,
        paid_until,
        sessions,
        running,
        memory: old.map_or_else(Default::default, |user| user.memory.clone()),
    };
    Some((config.name.as_str().into(), Arc::new(user)))
}

/// Plans are kept with the map they were made from: unchanged rules stay the same object.
fn shards(config: &config::Config, previous: Option<&Snapshot>) -> Arc<ShardMap> {
    let new = ShardMap::build(config);
    match previous {
        Some(previous) if *previous.shards == new => previous.shards.clone(),
        _ => Arc::new(new),
    }
}

type Users = HashMap<Box<str>, Arc<User>, ahash::RandomState>;

/// Adds the names that only the servers know; of several groups with the same name the first has it.
fn with_users_of_servers(
    mut users: Users,
    all: &config::Config,
    groups: &[Arc<Group>],
    previous: Option<&Snapshot>,
) -> Users {
    for group in groups {
        let names = group.accounts.iter().flat_map(|accounts| accounts.users());
        for name in names {
            if !users.contains_key(name) {
                let config = config::User::of_server(name, &group.name);
                users.extend(user(&config, all, groups, previous));
            }
        }
    }
    users
}

fn greeting(
    servers: &[Arc<Server>],
    before: Option<&Arc<Group>>,
    learnt: &[Learnt],
) -> Arc<Greeting> {
    let old = before.map(|group| &group.greeting);
    let known = servers
        .iter()
        .filter_map(|server| find(learnt, &server.address)?.greeting.as_ref());
    match (Greeting::merge(known), old) {
        (Some(merged), Some(old)) if merged == **old => old.clone(),
        (Some(merged), _) => Arc::new(merged),
        (None, Some(old)) => old.clone(),
        (None, None) => Arc::new(Greeting::unknown()),
    }
}

fn refreshed(server: &Arc<Server>, learnt: &[Learnt]) -> Arc<Server> {
    let Some(known) = find(learnt, &server.address) else {
        return server.clone();
    };
    if known.health == server.health && known.target == server.target {
        return server.clone();
    }
    Arc::new(Server {
        id: server.id,
        address: server.address.clone(),
        target: known.target.clone(),
        role: server.role,
        weight: server.weight,
        compression: server.compression,
        health: known.health.clone(),
        budget: server.budget.clone(),
        tls: server.tls.clone(),
        proxy_protocol: server.proxy_protocol,
    })
}

fn refreshed_group(
    group: &Arc<Group>,
    servers: Vec<Arc<Server>>,
    primary: Option<usize>,
    learnt: &[Learnt],
) -> Arc<Group> {
    let greeting = greeting(&servers, Some(group), learnt);
    let same_servers = group
        .servers
        .iter()
        .zip(&servers)
        .all(|(a, b)| Arc::ptr_eq(a, b));
    if same_servers && primary == group.primary && Arc::ptr_eq(&greeting, &group.greeting) {
        return group.clone();
    }
    Arc::new(Group {
        name: group.name.clone(),
        index: group.index,
        read_write_split: group.read_write_split,
        election: group.election,
        read_your_writes: group.read_your_writes,
        read_your_writes_window: group.read_your_writes_window,
        servers,
        primary,
        greeting,
        accounts: group.accounts.clone(),
    })
}

fn find<'l>(learnt: &'l [Learnt], address: &Address) -> Option<&'l Learnt> {
    learnt.iter().find(|known| known.address == *address)
}
