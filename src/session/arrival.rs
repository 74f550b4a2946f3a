//! Who may come in, before anything is said: the PROXY header of a balancer, the listener's lists, and the pace of an
//! address whose logins fail.
use super::login::{host_of, Dialogue, Refused};
use super::registry::Entry;
use super::shared::Shared;
use crate::config::Listener;
use crate::net::{self, Buf, Peer, Socket};
use crate::throttle::failures::{Rule, Turn};
use crate::wire::proxy_protocol::{self, Origin};
use crate::wire::{error, reply, Malformed};
use std::future::{poll_fn, Future};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// A client that is wrong again and again is logged this often.
const COMPLAIN_EVERY: Duration = Duration::from_secs(1);

/// Why a connection is not greeted.
pub(super) enum Turned {
    /// Told in place of the greeting.
    Away(reply::Err),
    /// Closed without a word: the other end is no MySQL client.
    Off,
    /// It is gone.
    Gone,
}

/// Finds out whose connection it is and whether it may come in here. What stands behind a PROXY header stays unread.
pub(super) async fn arrive(
    client: &Socket,
    shared: &Shared,
    entry: &Entry,
    listener: Option<&Listener>,
) -> Result<(), Turned> {
    let (Some(listener), Peer::Tcp(peer)) = (listener, client.peer()) else {
        return Ok(());
    };
    let mut address = peer;
    if listener.is_balancer(peer.ip()) {
        if let Origin::Client(told) = header(client, shared, listener, peer).await? {
            address = told;
            client.name_peer(told);
            *entry.peer.borrow_mut() = Peer::Tcp(told);
        }
    }
    if listener.addresses.admit(address.ip()) {
        return Ok(());
    }
    shared.stats.clients_denied.add(1);
    complain(shared, || {
        format!(
            "a client at {address} is not allowed at {}",
            listener.address
        )
    });
    let host = address.ip().to_canonical().to_string();
    Err(Turned::Away(error::host_not_allowed(&host)))
}

/// The login's deadline bounds the wait for the header's bytes.
async fn header(
    client: &Socket,
    shared: &Shared,
    listener: &Listener,
    peer: SocketAddr,
) -> Result<Origin, Turned> {
    let mut bytes = Vec::new();
    let wrong = |what: &str| {
        shared.stats.proxy_headers_refused.add(1);
        complain(shared, || {
            format!(
                "{peer} is in proxy_protocol of {}, and its connection was closed: {what}",
                listener.address
            )
        });
    };
    loop {
        match proxy_protocol::parse(&bytes) {
            Ok(Some((length, origin))) => {
                if bytes.len() > length {
                    client.unread(Buf::from_vec(bytes.split_off(length)));
                }
                return Ok(origin);
            }
            Ok(None) => {}
            Err(Malformed { what }) => {
                wrong(what);
                return Err(Turned::Off);
            }
        }
        match client.recv().await {
            Ok(Some(more)) => bytes.extend_from_slice(&more),
            Ok(None) if bytes.is_empty() => return Err(Turned::Gone),
            Ok(None) => {
                wrong("it ended within the PROXY header");
                return Err(Turned::Gone);
            }
            Err(cause) => {
                wrong(&format!("no whole PROXY header came: {cause}"));
                return Err(Turned::Gone);
            }
        }
    }
}

/// The answer to a client whose first bytes are a PROXY header, from where none is trusted.
pub(super) fn untrusted_header(shared: &Shared, client: &Socket) -> reply::Err {
    shared.stats.proxy_headers_refused.add(1);
    let host = host_of(&client.peer());
    complain(shared, || {
        format!("a PROXY header came from {host}, which is not in proxy_protocol of its listener")
    });
    error::own(&format!(
        "a PROXY header came from {host}, and none is trusted from there: add the address to proxy_protocol of \
         this listener, or send no header"
    ))
}

/// Waits until the address may try again. Called where nothing else happens between it and the look at the password,
/// so that many connections at once are no way around it.
pub(super) async fn take_turn(dialogue: &Dialogue<'_>, shared: &Shared) -> Result<(), Refused> {
    let Peer::Tcp(address) = dialogue.client.peer() else {
        return Ok(());
    };
    let address = address.ip();
    let rule = Rule::of(&shared.snapshot().proxy);
    let turn = shared
        .failures
        .borrow_mut()
        .turn(address, rule, net::monotonic_nanos());
    match turn {
        Turn::Now => return Ok(()),
        Turn::Wait(_) | Turn::Never => shared.stats.logins_delayed.add(1),
    }
    let Turn::Wait(wait) = turn else {
        let host = address.to_canonical().to_string();
        return Err(dialogue.refuse(error::host_is_slowed(&host)));
    };
    let mut waited = pin!(net::sleep_until(net::now() + wait));
    poll_fn(|cx| {
        // a client that has left holds nothing any longer
        if dialogue.client.poll_hangup(cx).is_ready() {
            return Poll::Ready(Err(Refused::Gone));
        }
        waited.as_mut().poll(cx).map(Ok)
    })
    .await
}

/// Notes how a login of the address ended.
pub(super) fn ended(shared: &Shared, peer: &Peer, success: bool) {
    if !success {
        shared.stats.logins_failed.add(1);
    }
    // the clients of a Unix socket have no address
    let Peer::Tcp(address) = peer else { return };
    let address = address.ip();
    let (mut failures, now) = (shared.failures.borrow_mut(), net::monotonic_nanos());
    match success {
        true => failures.succeeded(address, now),
        false => failures.failed(address, Rule::of(&shared.snapshot().proxy), now),
    }
}

/// A line in the log, unless there was one a moment ago: a client may try for ever.
fn complain(shared: &Shared, text: impl FnOnce() -> String) {
    let now = net::now();
    let lately = |at| now.saturating_duration_since(at) < COMPLAIN_EVERY;
    if !shared.complained.get().is_some_and(lately) {
        shared.complained.set(Some(now));
        tracing::warn!("{}", text());
    }
}
