//! KILL statements of Umpire's own, over connections apart from all sessions.
use super::registry::{Activity, Entry, OnServer};
use super::shared::Shared;
use crate::backend::{initial_state, Account, Lease, Want};
use crate::net::{self, Buf};
use crate::relay::Relay;
use crate::topology::{Group, Server};
use crate::wire::capabilities::PROTOCOL_41;
use crate::wire::packet::frame;
use crate::wire::{command, reply};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A KILL's own connection and its reply.
pub(super) const KILL_DEADLINE: Duration = Duration::from_millis(1500);

/// Interrupts what the session runs on a server now, if it runs something.
pub(super) async fn kill_on_server(shared: &Rc<Shared>, entry: &Entry, query_only: bool) {
    let is_running = || entry.activity() == Activity::Running;
    let Some(on) = entry.on_server.get().filter(|_| is_running()) else {
        return;
    };
    let still = || entry.on_server.get() == Some(on) && is_running();
    kill_if(shared, entry, on, query_only, &still).await;
}

/// As [`kill_on_server`], of a connection that the caller has for itself.
pub(super) async fn kill_one(shared: &Rc<Shared>, entry: &Entry, on: OnServer, query_only: bool) {
    kill_if(shared, entry, on, query_only, &|| true).await;
}

/// `still`: the connection is the session's, asked when the KILL can be sent.
async fn kill_if(
    shared: &Rc<Shared>,
    entry: &Entry,
    on: OnServer,
    query_only: bool,
    still: &dyn Fn() -> bool,
) {
    let Some(account) = entry.account.borrow().clone() else {
        return;
    };
    let snapshot = shared.snapshot();
    let found = snapshot
        .groups
        .iter()
        .find_map(|g| Some((g, g.servers.iter().find(|s| s.id == on.server)?)));
    let Some((group, server)) = found else { return };
    let what = if query_only { "KILL QUERY" } else { "KILL" };
    let sql = format!("{what} {}", on.thread_id);
    let sent = send_kill(shared, group, server, &account, &sql, still).await;
    if let Err(cause) = sent {
        tracing::warn!(id = entry.id, cause, "KILL did not reach the server");
        give_up(entry, on, query_only);
    }
}

/// Sends a KILL over a connection of its own; the server's error, if it tells one. Nothing is sent once `still` is
/// false: the statement may have ended and the connection gone to another session meanwhile.
pub(super) async fn send_kill(
    shared: &Rc<Shared>,
    group: &Group,
    server: &Arc<Server>,
    account: &Rc<Account>,
    sql: &str,
    still: &dyn Fn() -> bool,
) -> Result<Option<reply::Err>, String> {
    let deadline = net::now() + KILL_DEADLINE;
    let lease = apart(shared, group, server, account, deadline).await?;
    if !still() {
        return Ok(None);
    }
    let mut out = Vec::new();
    let mut payload = vec![command::QUERY];
    payload.extend_from_slice(sql.as_bytes());
    frame(&payload, 0, &mut out);
    lease.socket.set_deadline(Some(deadline));
    lease.socket.send(Buf::from_vec(out));
    let mut relay = Relay::new(&lease.socket, None, command::QUERY, lease.capabilities);
    relay.run().await.map_err(|cause| format!("{cause:?}"))?;
    Ok(relay.end.error)
}

/// A connection of nobody's session, closed after its use: it does not wait for one of the pool.
///
/// # Errors
/// Why there is none.
pub(super) async fn apart(
    shared: &Shared,
    group: &Group,
    server: &Arc<Server>,
    account: &Rc<Account>,
    deadline: Instant,
) -> Result<Lease, String> {
    let collation = u16::from(group.greeting.collation);
    let state = initial_state(collation, &group.greeting);
    let want = Want {
        server,
        account,
        capabilities: PROTOCOL_41,
        collation,
        state: &shared.states.intern(state),
        guarded: false,
        mariadb: group.greeting.is_mariadb(),
    };
    let lease = shared.pools.dedicated(&want, deadline).await;
    lease.map_err(|cause| format!("{cause:?}"))
}

/// The server does not answer: a session that was killed need not wait for it.
fn give_up(entry: &Entry, on: OnServer, query_only: bool) {
    if !query_only && entry.on_server.get() == Some(on) {
        on.aborter.abort();
    }
}
