//! The servers as people see them: the snapshot's, with the health of the last check.

use crate::config::Role;
use crate::control::View;
use crate::observe::ServerInfo;
use crate::topology::{Group, Health, Server};

/// One row a server, in the configuration's order.
pub fn infos(view: &View) -> Vec<ServerInfo> {
    let groups = view.snapshot.groups.iter();
    groups
        .flat_map(|group| {
            let healths = view.healths.get(group.index).map_or(&[][..], Vec::as_slice);
            group.servers.iter().enumerate().map(move |(i, server)| {
                info(group, i, server, healths.get(i).unwrap_or(&server.health))
            })
        })
        .collect()
}

fn info(group: &Group, index: usize, server: &Server, health: &Health) -> ServerInfo {
    ServerInfo {
        group: group.name.clone(),
        address: server.address.to_string(),
        role: match server.role {
            Role::Primary => "primary".into(),
            Role::Replica => "replica".into(),
        },
        primary: group.primary == Some(index),
        alive: health.alive,
        writable: health.writable,
        readable: health.readable,
        lag: health.lag,
        weight: server.weight,
        used: server.budget.used(),
        limit: server.budget.limit(),
        reason: health.reason.clone(),
    }
}

/// Why clients of the proxy cannot be served now; empty: every group has a server to read from or
/// to write to.
pub fn unusable_groups(view: &View) -> Vec<String> {
    let infos = infos(view);
    let groups = view.snapshot.groups.iter();
    groups
        .filter(|group| {
            let mut servers = infos.iter().filter(|s| s.group == group.name);
            !servers.any(|s| s.alive && (s.primary || s.readable))
        })
        .map(|group| format!("group {}: no usable server", group.name))
        .collect()
}
