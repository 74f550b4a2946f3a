//! What clients are greeted with.
use super::{Dialogue, Refused};
use crate::net;
use crate::session::lease::no_primary;
use crate::session::shared::Shared;
use crate::topology::Greeting;
use crate::wire::error;
use std::sync::Arc;

/// Before any server has been seen nobody knows what a client can be promised, nor how its text is to be read: it waits,
/// as it would for a connection.
pub(super) async fn servers_greeting(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
) -> Result<Arc<Greeting>, Refused> {
    let timeout = shared.snapshot().proxy.lease_timeout;
    let until = net::now() + timeout;
    loop {
        let snapshot = shared.snapshot();
        let Some(group) = snapshot.groups.first() else {
            return Err(
                dialogue.refuse(error::own("no server group is configured: add a [[group]]"))
            );
        };
        if !group.greeting.is_unknown() {
            return Ok(group.greeting.clone());
        }
        if !shared.topology_changed(until).await {
            return Err(dialogue.refuse(no_primary(group, timeout)));
        }
    }
}
