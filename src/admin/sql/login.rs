//! The admin port's login: one account, mysql_native_password or caching_sha2_password.
//!
//! The password is known as text, so that caching_sha2_password always takes the fast path.

use super::pace::Pace;
use super::stream::{Ended, PacketStream};
use crate::config::Proxy;
use crate::wire::auth::{self, caching_sha2, native};
use crate::wire::handshake::{Greeting, Response};
use crate::wire::{capabilities as caps, error, reply, status};
use std::net::IpAddr;

const CAPABILITIES: u64 = caps::LONG_PASSWORD
    | caps::FOUND_ROWS
    | caps::LONG_FLAG
    | caps::CONNECT_WITH_DB
    | caps::ODBC
    | caps::IGNORE_SPACE
    | caps::PROTOCOL_41
    | caps::INTERACTIVE
    | caps::TRANSACTIONS
    | caps::SECURE_CONNECTION
    | caps::MULTI_RESULTS
    | caps::PS_MULTI_RESULTS
    | caps::PLUGIN_AUTH
    | caps::CONNECT_ATTRS
    | caps::PLUGIN_AUTH_LENENC_CLIENT_DATA;
/// utf8mb4_general_ci
const COLLATION: u8 = 45;
/// What clients take for the server's version. They choose their own behaviour by the number.
pub const VERSION: &str = concat!("8.0.0-umpire-", env!("CARGO_PKG_VERSION"));
/// caching_sha2_password: the fast path succeeded; an OK follows.
const FAST_AUTH_OK: [u8; 2] = [1, 3];

/// What a successful login agreed on.
pub struct Login {
    pub capabilities: u64,
    /// The database that the client named.
    pub schema: Option<String>,
}

/// Who logs in.
pub struct Client<'a> {
    pub id: u32,
    /// The address without the port, for errors.
    pub host: &'a str,
    /// None: it could not be had.
    pub address: Option<IpAddr>,
}

/// Greets and checks; on success the client has its OK.
pub async fn login(
    stream: &mut PacketStream,
    client: &Client<'_>,
    pace: &Pace,
    proxy: &Proxy,
) -> Result<Login, Ended> {
    let greeting = Greeting {
        version: VERSION.into(),
        connection_id: client.id,
        scramble: auth::new_scramble(),
        capabilities: CAPABILITIES,
        collation: COLLATION,
        status: status::AUTOCOMMIT,
        auth_plugin: auth::CACHING_SHA2.into(),
    };
    stream.send(&greeting.encode(), 0).await?;
    let (sequence, payload) = receive(stream, proxy).await?;
    let response = Response::decode(&payload)?;
    let mut attempt = Attempt {
        sequence,
        plugin: plugin_of(&response),
        scramble: greeting.scramble,
        answer: response.auth.clone(),
    };
    if attempt.plugin != auth::CACHING_SHA2 {
        // Its answer was made without, or for another, scramble.
        switch(stream, &mut attempt, proxy).await?;
    }
    if !pace.turn(client.address, proxy).await {
        let slowed = error::host_is_slowed(client.host);
        stream
            .send(&slowed.encode(), attempt.sequence.wrapping_add(1))
            .await?;
        return Err(Ended::TooManyFailures);
    }
    let outcome = finish(stream, &response, &attempt, client.host, proxy).await;
    let noted = outcome.as_ref().map(|_| ());
    pace.ended(client.address, proxy, noted).await;
    outcome?;
    Ok(Login {
        capabilities: response.capabilities & CAPABILITIES,
        schema: response.schema,
    })
}

/// What the client has answered so far.
struct Attempt {
    /// Of the client's last packet.
    sequence: u8,
    plugin: &'static str,
    scramble: [u8; 20],
    answer: Vec<u8>,
}

/// Every client that knows neither knows native.
fn plugin_of(response: &Response) -> &'static str {
    match response.auth_plugin.as_deref() {
        Some(auth::CACHING_SHA2) => auth::CACHING_SHA2,
        _ => auth::NATIVE,
    }
}

async fn switch(
    stream: &mut PacketStream,
    attempt: &mut Attempt,
    proxy: &Proxy,
) -> Result<(), Ended> {
    attempt.scramble = auth::new_scramble();
    let request = reply::auth_switch(attempt.plugin, &attempt.scramble);
    stream
        .send(&request, attempt.sequence.wrapping_add(1))
        .await?;
    (attempt.sequence, attempt.answer) = receive(stream, proxy).await?;
    Ok(())
}

async fn finish(
    stream: &mut PacketStream,
    response: &Response,
    attempt: &Attempt,
    host: &str,
    proxy: &Proxy,
) -> Result<(), Ended> {
    let mut next = attempt.sequence.wrapping_add(1);
    // Both are looked at in any case: the time tells nothing about the user's name.
    if !(proves(attempt, &proxy.admin_password) & (response.user == proxy.admin_user)) {
        tracing::warn!(host, user = ?response.user, "the admin port refused a login");
        let denied = error::access_denied(&response.user, host, !attempt.answer.is_empty());
        // it failed also where the client does not wait for the answer
        let _ = stream.send(&denied.encode(), next).await;
        return Err(Ended::LoginRefused);
    }
    // Without a password there is nothing to be fast about: the client expects the OK at once.
    if attempt.plugin == auth::CACHING_SHA2 && !proxy.admin_password.is_empty() {
        stream.send(&FAST_AUTH_OK, next).await?;
        next = next.wrapping_add(1);
    }
    let ok = reply::Ok {
        status: status::AUTOCOMMIT,
        ..reply::Ok::default()
    };
    stream
        .send(&ok.encode(response.capabilities & CAPABILITIES), next)
        .await
}

fn proves(attempt: &Attempt, password: &str) -> bool {
    let password = password.as_bytes();
    if password.is_empty() {
        // Also a lone NUL, as some clients write the empty password.
        return matches!(attempt.answer.as_slice(), [] | [0]);
    }
    match attempt.plugin {
        auth::CACHING_SHA2 => {
            let digest = caching_sha2::fast_digest(password);
            caching_sha2::verify_fast(&attempt.answer, &attempt.scramble, &digest)
        }
        _ => {
            let stage2 = native::stage2(password);
            native::verify(&attempt.answer, &attempt.scramble, &stage2).is_some()
        }
    }
}

async fn receive(stream: &mut PacketStream, proxy: &Proxy) -> Result<(u8, Vec<u8>), Ended> {
    match stream.receive(proxy.login_timeout).await? {
        Some(packet) => Ok(packet),
        None => Err(Ended::Malformed("closed during the login")),
    }
}
