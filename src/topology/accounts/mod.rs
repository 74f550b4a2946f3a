//! The accounts of a group's servers, where the group takes its users from them (`accounts = "server"`).
//!
//! The control thread reads them and publishes a new [`Accounts`] with the snapshot when something changed.
//! A login looks up the account here exactly as a server does: the most specific host first.
mod host;
mod refresh;
#[cfg(test)]
mod tests;

pub use host::{Host, HostPattern};
pub use refresh::{Changing, Refresh};

use crate::config::{Address, Secret};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// All accounts of a group's servers, as read last. Immutable.
#[derive(Debug)]
pub struct Accounts {
    /// Which wish of [`Refresh`] this fulfils.
    pub version: u64,
    pub refresh: Arc<Refresh>,
    pub mariadb: bool,
    /// The servers look up no names: not even their own machine's.
    pub skip_name_resolve: bool,
    /// A server lets nobody in without encryption (`require_secure_transport`).
    pub require_secure_transport: bool,
    /// How each server sees Umpire.
    pub seen_as: Vec<(Address, Host)>,
    /// In the order in which a server looks through them.
    sorted: Vec<Arc<ServerAccount>>,
    /// By user name (empty: anonymous): places in `sorted`, ascending.
    by_user: HashMap<Box<str>, Vec<usize>, ahash::RandomState>,
    /// Why they could not be read the last time; the accounts are those of the time before.
    pub trouble: Option<String>,
}

/// One account of the servers.
#[derive(Debug)]
pub struct ServerAccount {
    /// Empty: anonymous.
    pub user: Box<str>,
    pub host: HostPattern,
    /// Ways to prove who one is, in the server's order.
    pub methods: Vec<Method>,
    pub locked: bool,
    pub expired: bool,
    pub requires: Requires,
    /// Of everything that a server reads when this account logs in: privileges, roles, limits. A connection of an
    /// account that was another then has other privileges.
    pub fingerprint: u64,
    /// It changed under Umpire's eyes: until then a replica may not have the change. None: it was so from the start.
    pub in_doubt_until: Option<Instant>,
    /// The password that matches the stored hash, once a client has shown it.
    pub proven: OnceLock<Box<[u8]>>,
    /// The log has said why the account cannot be used.
    pub told: OnceLock<()>,
}

/// A way to prove who one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    Secret(Secret),
    /// A plugin that only the server itself can serve.
    Unsupported(Box<str>),
}

/// What an account asks of the client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requires {
    Nothing,
    Encryption,
    /// X509, ISSUER, SUBJECT or CIPHER
    Certificate,
}

impl ServerAccount {
    /// Equal in all that matters: the one with the proven password may stay.
    fn is_same_as(&self, other: &ServerAccount) -> bool {
        self.fingerprint == other.fingerprint
            && self.user == other.user
            && self.host == other.host
            && self.methods == other.methods
            && (self.locked, self.expired, self.requires)
                == (other.locked, other.expired, other.requires)
    }
}

impl std::fmt::Display for ServerAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host.as_str())
    }
}

/// What was read of the servers, for [`Accounts::new`].
#[derive(Debug, Default)]
pub struct AccountsRead {
    pub mariadb: bool,
    pub skip_name_resolve: bool,
    pub require_secure_transport: bool,
    pub seen_as: Vec<(Address, Host)>,
    pub accounts: Vec<ServerAccount>,
    /// When replicas have what was read, too, if they are not too far behind to be read from.
    pub replicated_by: Option<Instant>,
}

impl Accounts {
    /// Nothing read yet.
    pub fn unknown(refresh: Arc<Refresh>, trouble: String) -> Accounts {
        let mut accounts = Accounts::new(AccountsRead::default(), refresh, 0, None);
        accounts.trouble = Some(trouble);
        accounts
    }

    /// Sorts what was read; accounts that are as before stay the same objects.
    pub fn new(
        read: AccountsRead,
        refresh: Arc<Refresh>,
        version: u64,
        before: Option<&Accounts>,
    ) -> Accounts {
        let changes = before.is_some_and(|before| !before.is_empty());
        let replicated_by = read.replicated_by.filter(|_| changes);
        let kept = |mut account: ServerAccount| {
            account.in_doubt_until = replicated_by;
            let mut known = before.into_iter().flat_map(|b| b.of_user(&account.user));
            match known.find(|known| known.is_same_as(&account)) {
                Some(known) => known.clone(),
                None => Arc::new(account),
            }
        };
        let mut sorted: Vec<Arc<ServerAccount>> = read.accounts.into_iter().map(kept).collect();
        sort(&mut sorted, read.mariadb);
        let mut by_user: HashMap<Box<str>, Vec<usize>, ahash::RandomState> = HashMap::default();
        for (place, account) in sorted.iter().enumerate() {
            by_user.entry(account.user.clone()).or_default().push(place);
        }
        Accounts {
            version,
            refresh,
            mariadb: read.mariadb,
            skip_name_resolve: read.skip_name_resolve,
            require_secure_transport: read.require_secure_transport,
            seen_as: read.seen_as,
            sorted,
            by_user,
            trouble: None,
        }
    }

    /// The same accounts, which could not be read again.
    pub fn stale(&self, version: u64, trouble: String) -> Accounts {
        Accounts {
            version,
            trouble: Some(trouble),
            ..self.with_refresh(self.refresh.clone())
        }
    }

    /// The same accounts for a new reader.
    pub fn with_refresh(&self, refresh: Arc<Refresh>) -> Accounts {
        Accounts {
            version: 0,
            refresh,
            mariadb: self.mariadb,
            skip_name_resolve: self.skip_name_resolve,
            require_secure_transport: self.require_secure_transport,
            seen_as: self.seen_as.clone(),
            sorted: self.sorted.clone(),
            by_user: self.by_user.clone(),
            trouble: self.trouble.clone(),
        }
    }

    /// Equal but for the version.
    pub fn is_same_as(&self, other: &Accounts) -> bool {
        let same = |a: &Arc<ServerAccount>, b: &Arc<ServerAccount>| Arc::ptr_eq(a, b);
        self.sorted.len() == other.sorted.len()
            && self
                .sorted
                .iter()
                .zip(&other.sorted)
                .all(|(a, b)| same(a, b))
            && (self.mariadb, self.skip_name_resolve) == (other.mariadb, other.skip_name_resolve)
            && self.require_secure_transport == other.require_secure_transport
            && self.seen_as == other.seen_as
            && self.trouble == other.trouble
    }

    /// Whether any account has this name, or any is anonymous.
    pub fn may_know(&self, user: &str) -> bool {
        self.by_user.contains_key(user) || self.by_user.contains_key("")
    }

    /// Names with an account; the anonymous one is empty.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.by_user.keys().map(AsRef::as_ref)
    }

    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The account that a server takes for this user from this host: the first in its order that matches, an
    /// anonymous one among them.
    pub fn find(&self, user: &str, host: &Host) -> Option<&Arc<ServerAccount>> {
        let named = self.first_match(user, host);
        let anonymous = self.first_match("", host);
        let place = match (named, anonymous) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        self.sorted.get(place)
    }

    /// A server at which Umpire would be another account than the client's: its address, and that account.
    pub fn misplaced(
        &self,
        user: &str,
        client: &Arc<ServerAccount>,
    ) -> Option<(&Address, &Host, Option<&Arc<ServerAccount>>)> {
        self.seen_as.iter().find_map(|(server, host)| {
            if host.is_unknown() {
                return None;
            }
            let there = self.find(user, host);
            let same = there.is_some_and(|account| Arc::ptr_eq(account, client));
            (!same).then_some((server, host, there))
        })
    }

    fn first_match(&self, user: &str, host: &Host) -> Option<usize> {
        let places = self.by_user.get(user)?;
        let matches = |place: &usize| {
            self.sorted
                .get(*place)
                .is_some_and(|a| a.host.matches(host))
        };
        places.iter().copied().find(matches)
    }

    fn of_user<'a>(&'a self, user: &str) -> impl Iterator<Item = &'a Arc<ServerAccount>> {
        let places = self
            .by_user
            .get(user)
            .map(Vec::as_slice)
            .unwrap_or_default();
        places.iter().filter_map(|place| self.sorted.get(*place))
    }
}

/// By host, a named account before an anonymous one, and where a server's order is not defined, by text.
fn sort(accounts: &mut [Arc<ServerAccount>], mariadb: bool) {
    accounts.sort_by(|a, b| {
        let ranked = if mariadb {
            a.host.mariadb_rank().cmp(&b.host.mariadb_rank())
        } else {
            a.host.mysql_rank().cmp(&b.host.mysql_rank())
        };
        ranked
            .then(a.user.is_empty().cmp(&b.user.is_empty()))
            .then_with(|| b.host.as_str().cmp(a.host.as_str()))
    });
}
