//! Who a client may be: a configured user, or an account of the servers (`accounts = "server"`).
use super::password::Proof;
use super::{address_allowed, host_of};
use crate::backend::Identity;
use crate::config::Secret;
use crate::net::{self, Peer};
use crate::session::shared::Shared;
use crate::topology::accounts::{Accounts, Host, Method, Requires, ServerAccount};
use crate::topology::{Group, Server, Snapshot, User};
use crate::wire::auth::{CACHING_SHA2, ED25519, NATIVE};
use crate::wire::{error, reply};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a login waits for the servers' accounts to be read.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a name.
pub(super) enum Known {
    Configured(Arc<User>),
    OfServer(OfServer),
    Nobody,
    /// The user may not come from this address.
    Elsewhere,
}

/// An account of the servers.
pub(super) struct OfServer {
    pub user: Arc<User>,
    pub account: Arc<ServerAccount>,
    accounts: Arc<Accounts>,
    /// The servers are told the client's address, and see it.
    sees_client: bool,
}

impl Known {
    /// Looks the name up in accounts that are as new as any change that a client of Umpire has made.
    ///
    /// # Errors
    /// Nobody is known by this name, and the servers cannot be asked.
    pub async fn find(shared: &Shared, name: &str, peer: &Peer) -> Result<Known, reply::Err> {
        let snapshot = shared.snapshot();
        if let Some(user) = snapshot.users.get(name) {
            if user.config.secret != Secret::Server {
                return Ok(Known::of(&snapshot, name, peer));
            }
        }
        let until = net::now() + PATIENCE;
        for group in &snapshot.groups {
            if let Some(accounts) = &group.accounts {
                wait(
                    shared,
                    &group.name,
                    accounts.refresh.current(),
                    false,
                    until,
                )
                .await;
            }
        }
        match Known::of(&shared.snapshot(), name, peer) {
            // made a moment ago, past Umpire?
            Known::Nobody => Known::find_again(shared, name, peer).await,
            known => Ok(known),
        }
    }

    /// Looks the name up in accounts that are read after this call; a server that is away is waited for.
    ///
    /// # Errors
    /// The servers cannot be asked.
    pub async fn find_again(shared: &Shared, name: &str, peer: &Peer) -> Result<Known, reply::Err> {
        let snapshot = shared.snapshot();
        let until = net::now() + snapshot.proxy.lease_timeout;
        for group in &snapshot.groups {
            if let Some(accounts) = &group.accounts {
                wait(shared, &group.name, accounts.refresh.ask(), true, until).await;
            }
        }
        let snapshot = shared.snapshot();
        let known = Known::of(&snapshot, name, peer);
        let mut accounts = snapshot
            .groups
            .iter()
            .filter_map(|g| Some((g, g.accounts.as_ref()?)));
        let trouble =
            accounts.find_map(|(g, accounts)| Some((&g.name, accounts.trouble.as_ref()?)));
        match (&known, trouble) {
            (Known::Nobody, Some((group, trouble))) => Err(error::own(&format!(
                "the accounts of group '{group}' cannot be read: {trouble}"
            ))),
            _ => Ok(known),
        }
    }

    fn of(snapshot: &Snapshot, name: &str, peer: &Peer) -> Known {
        let named = snapshot.users.get(name);
        let Some(user) = named.or_else(|| snapshot.users.get("")) else {
            return Known::Nobody;
        };
        if !address_allowed(user, peer) {
            return Known::Elsewhere;
        }
        if user.config.secret != Secret::Server {
            return match named {
                Some(user) => Known::Configured(user.clone()),
                None => Known::Nobody,
            };
        }
        let group = snapshot.groups.get(user.group);
        let Some(accounts) = group.and_then(|group| group.accounts.as_ref()) else {
            return Known::Nobody;
        };
        match accounts.find(name, &host_in(accounts, peer)) {
            Some(account) => Known::OfServer(OfServer {
                user: user.clone(),
                account: account.clone(),
                accounts: accounts.clone(),
                sees_client: group.is_some_and(|g| sees_client(g, peer)),
            }),
            None => Known::Nobody,
        }
    }

    pub fn user(&self) -> Option<&Arc<User>> {
        match self {
            Known::Configured(user) => Some(user),
            Known::OfServer(known) => Some(&known.user),
            Known::Nobody | Known::Elsewhere => None,
        }
    }

    /// What a client that began with the plugin `used` has to prove; `nobody` where there is nothing.
    ///
    /// # Errors
    /// The account logs in by a plugin that Umpire does not have.
    pub fn proof<'k>(
        &'k self,
        used: Option<&str>,
        nobody: &'k Secret,
        nothing: &'k OnceLock<Box<[u8]>>,
    ) -> Result<Proof<'k>, reply::Err> {
        let (secret, proven) = match self {
            Known::Configured(user) => (&user.config.secret, &*user.proven),
            Known::OfServer(known) => (known.secret(used)?, &known.account.proven),
            Known::Nobody | Known::Elsewhere => (nobody, nothing),
        };
        let config = self.user().map(|user| &user.config);
        Ok(Proof {
            secret,
            demanded: config.and_then(|c| c.auth_plugin),
            proven,
            mapped: config.is_some_and(|c| c.server_account.is_some()),
        })
    }
}

impl OfServer {
    /// By the plugin that the client began with, if the account has it; else the first that Umpire can check.
    fn secret(&self, used: Option<&str>) -> Result<&Secret, reply::Err> {
        let secrets = || {
            self.account.methods.iter().filter_map(|m| match m {
                Method::Secret(secret) => Some(secret),
                Method::Unsupported(_) => None,
            })
        };
        let by_used = secrets().find(|secret| match secret {
            Secret::Native(_) => used == Some(NATIVE),
            Secret::CachingSha2 { .. } => used == Some(CACHING_SHA2),
            Secret::Ed25519(_) => used == Some(ED25519),
            _ => true,
        });
        by_used.or_else(|| secrets().next()).ok_or_else(|| {
            let plugin = self.account.methods.iter().find_map(|m| match m {
                Method::Unsupported(plugin) => Some(plugin.as_ref()),
                Method::Secret(_) => None,
            });
            error::own(&format!(
                "account {} logs in by the plugin '{}', which only the server itself can check: give it \
                 {NATIVE}, {CACHING_SHA2} or ed25519, or configure it as a [[user]] with its password",
                self.account,
                plugin.unwrap_or("?")
            ))
        })
    }

    /// What its connections to servers have to be. A server that knows no accounts tells no name.
    pub fn identity(&self) -> Option<Identity> {
        let mut hosts = self.accounts.seen_as.iter().map(|(_, host)| host);
        let told = !hosts.any(Host::is_unknown);
        told.then(|| Identity {
            current_user: format!("{}@{}", self.account.user, self.account.host.as_str()).into(),
            in_doubt_until: self.account.in_doubt_until,
        })
    }

    /// What keeps an account out although its password is right. `mapped`: its sessions have another account on the
    /// servers.
    pub fn admit(
        &self,
        name: &str,
        peer: &Peer,
        encrypted: bool,
        gave_password: bool,
        mapped: bool,
    ) -> Result<(), reply::Err> {
        let host = host_in(&self.accounts, peer).to_string();
        let account = &self.account;
        let private = encrypted || matches!(peer, Peer::Unix);
        if self.accounts.require_secure_transport && !private {
            return Err(match self.accounts.mariadb {
                true => error::access_denied(name, &host, gave_password),
                false => error::secure_transport_required(),
            });
        }
        if account.locked {
            return Err(error::account_locked(name, &host, self.accounts.mariadb));
        }
        if account.expired {
            return Err(error::password_expired());
        }
        match account.requires {
            Requires::Encryption if !encrypted => {
                return Err(error::access_denied(name, &host, gave_password));
            }
            Requires::Certificate => {
                return Err(error::own(&format!(
                    "account {account} requires a certificate of the client's (REQUIRE X509, ISSUER, SUBJECT \
                     or CIPHER), which Umpire cannot show to the server: connect to the server itself"
                )));
            }
            _ => {}
        }
        match mapped {
            true => Ok(()),
            false => self.same_account_everywhere(name),
        }
    }

    /// The servers see Umpire's address, not the client's. Where that makes it another account, the session would
    /// have another one's privileges.
    fn same_account_everywhere(&self, name: &str) -> Result<(), reply::Err> {
        if self.sees_client {
            return Ok(());
        }
        let Some((server, host, there)) = self.accounts.misplaced(name, &self.account) else {
            return Ok(());
        };
        let there = match there {
            Some(account) => format!("takes it for {account}"),
            None => format!("has no account '{name}' for that host"),
        };
        let why = format!(
            "account {} is this client's, but server {server} sees Umpire's host '{host}' and {there}: \
             make one account that covers both hosts, such as '{name}'@'%'",
            self.account
        );
        // once an account: a client may try for ever
        if self.account.told.set(()).is_ok() {
            tracing::warn!("a login was refused: {why}");
        }
        Err(error::own(&why))
    }
}

fn sees_client(group: &Group, peer: &Peer) -> bool {
    let told = |server: &Arc<Server>| server.proxy_protocol.is_some_and(|told| told.of_client);
    matches!(peer, Peer::Tcp(_)) && group.servers.iter().all(told)
}

/// The client as a server with these accounts would see it.
fn host_in(accounts: &Accounts, peer: &Peer) -> Host {
    match peer {
        Peer::Unix => Host::local(),
        Peer::Tcp(address) => Host::of_address(address.ip(), accounts.skip_name_resolve),
    }
}

/// How errors name the client's host: as the servers do whose accounts are used.
pub(in crate::session) fn host_name(shared: &Shared, peer: &Peer) -> String {
    let snapshot = shared.snapshot();
    let mut accounts = snapshot.groups.iter().filter_map(|g| g.accounts.as_ref());
    match accounts.next() {
        Some(accounts) => host_in(accounts, peer).to_string(),
        None => host_of(peer),
    }
}

/// Until the group's accounts are of this version (`read`: and could be read), or the time is over: then what is
/// known has to do.
async fn wait(shared: &Shared, group: &str, version: u64, read: bool, until: Instant) {
    let done = || {
        let snapshot = shared.snapshot();
        let group = snapshot.groups.iter().find(|g| g.name == group);
        let accounts = group.and_then(|g| g.accounts.as_ref());
        accounts.is_none_or(|a| a.version >= version && !(read && a.trouble.is_some()))
    };
    while !done() {
        if !shared.topology_changed(until).await {
            return;
        }
    }
}
