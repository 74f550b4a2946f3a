//! What the log says when servers come and go.
use super::health::{Liveness, Transition};
use crate::config::Address;
use crate::topology::Snapshot;

/// A server that answers but leaves, or comes back to, serving reads or writes.
pub(super) fn log_service(before: &Snapshot, now: &Snapshot) {
    for group in &now.groups {
        let Some(old) = before.groups.iter().find(|g| g.name == group.name) else {
            continue;
        };
        for server in &group.servers {
            let Some(was) = old.servers.iter().find(|s| s.id == server.id) else {
                continue;
            };
            let both_alive = was.health.alive && server.health.alive;
            if both_alive && was.health.readable && !server.health.readable {
                tracing::warn!(server = %server.address, "no new reads: {}", server.health.reason);
            } else if both_alive && !was.health.readable && server.health.readable {
                tracing::info!(server = %server.address, "takes reads again");
            }
        }
        let primary = |g: &crate::topology::Group| Some(g.servers.get(g.primary?)?.address.clone());
        match (primary(old), primary(group)) {
            (was, Some(is)) if was.as_ref() != Some(&is) => {
                tracing::info!(group = group.name, server = %is, "is the primary");
            }
            (Some(was), None) => {
                tracing::warn!(group = group.name, server = %was, "no primary any more: writes wait");
            }
            _ => {}
        }
    }
}

pub(super) fn log_transition(server: &Address, transition: Transition, trouble: &str) {
    match transition.to {
        Liveness::Dead => tracing::error!(%server, "server is dead: {trouble}"),
        _ if trouble.is_empty() => tracing::info!(%server, "server is alive"),
        _ => tracing::warn!(%server, "server is alive, but: {trouble}"),
    }
}
