//! Reading the configuration file again while running.

use crate::config::{self, Config};
use std::path::Path;

pub(super) struct Loaded {
    pub config: Config,
    /// What was done and what needs a restart.
    pub words: String,
}

/// Reads `path` anew. What only a restart can change keeps its old value, so that the rest of the
/// file can take effect. Errors: every error of the file; nothing is to be changed.
pub(super) fn load(path: &Path, running: &Config) -> Result<Loaded, String> {
    let mut config = config::load(path).map_err(|e| e.to_string())?;
    let mut words = config::needs_restart(running, &config);
    // what holds at an address can change, the addresses cannot
    let addresses = |config: &Config| -> Vec<config::Listen> {
        let listeners = config.proxy.listen.iter();
        listeners.map(|listener| listener.address.clone()).collect()
    };
    if addresses(&config) != addresses(running) {
        config.proxy.listen = running.proxy.listen.clone();
    }
    // the same files: clients can go on resuming their sessions
    if config.proxy.tls == running.proxy.tls {
        config.proxy.tls = running.proxy.tls.clone();
    }
    config.proxy.admin = running.proxy.admin;
    config.proxy.http = running.proxy.http;
    config.proxy.workers = running.proxy.workers.clone();
    keep_server_tls(&mut config, running);
    words.insert(0, format!("{} is in effect", path.display()));
    Ok(Loaded {
        config,
        words: words.join("; "),
    })
}

/// The same files: pooled connections are kept, and sessions can be resumed.
fn keep_server_tls(config: &mut Config, running: &Config) {
    let servers = || running.groups.iter().flat_map(|group| &group.servers);
    for server in config
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.servers)
    {
        let old = servers().find(|old| old.address == server.address);
        if let Some(old) = old.filter(|old| old.tls == server.tls) {
            server.tls = old.tls.clone();
        }
    }
}

/// What there is to say about Umpire's own certificates: those that run out, or have.
pub(super) fn expiring(config: &Config) -> impl Iterator<Item = String> + '_ {
    let certificates = config::certificates(config).into_iter();
    certificates.filter_map(|(what, own)| Some(format!("{what}: {}", own.warning()?)))
}
