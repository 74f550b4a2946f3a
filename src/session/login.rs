//! A client's login: greeting, account, password.
//!
//! ```text
//! greeting → response → [AuthSwitch → response] → [fast ok | full: key, cipher] → account → (session) OK
//! ```
mod password;

use super::registry::Entry;
use super::shared::Shared;
use crate::backend::Account;
use crate::config::Secret;
use crate::net::{Buf, Peer, Socket};
use crate::topology::{Greeting, Snapshot, User};
use crate::wire::auth::{new_scramble, CACHING_SHA2, NATIVE};
use crate::wire::capabilities::*;
use crate::wire::handshake::{self, ChangeUser, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::reply;
use crate::wire::{error, status, Malformed};
use password::prove;
use std::rc::Rc;
use std::sync::Arc;

/// Largest message of a client during login: connection attributes are at most 64 KiB.
const MESSAGE_LIMIT: usize = 128 * 1024;

/// What Umpire does not speak itself, whatever the servers offer.
const NOT_OFFERED: u64 = SSL
    | COMPRESS
    | ZSTD_COMPRESSION
    | MULTI_FACTOR_AUTH
    | MARIADB_COM_MULTI
    | SSL_VERIFY_SERVER_CERT;
/// What every client of this century sends, and Umpire needs.
const ALWAYS_OFFERED: u64 = PROTOCOL_41
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC_CLIENT_DATA
    | CONNECT_WITH_DB;

/// A client that proved who it is.
pub struct LoggedIn {
    pub capabilities: u64,
    pub collation: u16,
    pub user: Arc<User>,
    pub account: Rc<Account>,
    pub schema: Option<String>,
    pub greeting: Arc<Greeting>,
    pub scramble: [u8; 20],
    /// Of the OK or ERR packet that ends the login.
    pub sequence: u8,
    pub token: SessionToken,
}

/// Counts a session against its user's `max_connections`; gives the place back on drop.
pub struct SessionToken(Arc<User>);

impl Drop for SessionToken {
    fn drop(&mut self) {
        self.0.sessions.give_back();
    }
}

/// Why a login ended without a session.
pub enum Refused {
    /// Told to the client.
    Error { error: reply::Err, sequence: u8 },
    /// The client left, was too slow, or sent what is not the protocol.
    Gone,
}

/// Messages with the client while it logs in.
pub struct Dialogue<'a> {
    client: &'a Socket,
    assembler: Assembler,
    /// Of the next packet to the client.
    pub sequence: u8,
}

impl<'a> Dialogue<'a> {
    pub fn new(client: &'a Socket, sequence: u8) -> Dialogue<'a> {
        Dialogue {
            client,
            assembler: Assembler::new(MESSAGE_LIMIT),
            sequence,
        }
    }

    /// Bytes of the client that were received already.
    pub fn begin_with(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        self.assembler.push(bytes).map_err(|m| self.malformed(m))
    }

    pub fn send(&mut self, payload: &[u8]) {
        let mut out = Vec::with_capacity(payload.len() + 4);
        self.sequence = frame(payload, self.sequence, &mut out);
        self.client.send(Buf::from_vec(out));
    }

    /// The client's next message; the socket's deadline bounds the wait.
    pub async fn receive(&mut self) -> Result<Vec<u8>, Refused> {
        loop {
            if let Some((sequence, payload)) = self.assembler.pop() {
                self.sequence = sequence.wrapping_add(1);
                return Ok(payload);
            }
            let buf = self
                .client
                .recv()
                .await
                .ok()
                .flatten()
                .ok_or(Refused::Gone)?;
            self.assembler.push(&buf).map_err(|m| self.malformed(m))?;
        }
    }

    pub fn refuse(&self, error: reply::Err) -> Refused {
        Refused::Error {
            error,
            sequence: self.sequence,
        }
    }

    fn malformed(&self, m: Malformed) -> Refused {
        tracing::debug!(peer = ?self.client.peer(), what = m.what, "a client's login does not follow the protocol");
        self.refuse(error::bad_handshake())
    }

    /// Bytes behind the last message belong to the first command.
    pub fn into_rest(self) -> Vec<u8> {
        self.assembler.rest()
    }
}

/// Greets the client and finds out who it is. The OK is the caller's to send.
pub async fn login(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    entry: &Entry,
) -> Result<LoggedIn, Refused> {
    let snapshot = shared.snapshot();
    let Some(group) = snapshot.groups.first() else {
        return Err(dialogue.refuse(error::own("no server group is configured: add a [[group]]")));
    };
    let greeting = group.greeting.clone();
    let scramble = new_scramble();
    let offered = offered_capabilities(&greeting);
    dialogue.send(&encode_greeting(&greeting, entry.id, scramble, offered));
    let payload = dialogue.receive().await?;
    if handshake::is_ssl_request(&payload) {
        return Err(dialogue.refuse(error::own(
            "TLS was asked for, but this listener does not offer it: connect with ssl-mode=DISABLED or PREFERRED",
        )));
    }
    let response = Response::decode(&payload).map_err(|m| dialogue.malformed(m))?;
    *entry.user.borrow_mut() = response.user.as_str().into();
    let claim = Claim {
        user: response.user,
        auth: response.auth,
        plugin: response.auth_plugin,
    };
    let (user, account, token) = admit(
        dialogue, shared, &snapshot, entry, &claim, &scramble, &greeting,
    )
    .await?;
    Ok(LoggedIn {
        capabilities: (response.capabilities & offered) | PROTOCOL_41,
        collation: response.collation,
        user,
        account,
        schema: response.schema.filter(|s| !s.is_empty()),
        greeting,
        scramble,
        sequence: dialogue.sequence,
        token,
    })
}

/// COM_CHANGE_USER: the same questions on a running session.
pub async fn change_user(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    entry: &Entry,
    request: ChangeUser,
    scramble: &[u8; 20],
    greeting: &Arc<Greeting>,
) -> Result<(Arc<User>, Rc<Account>, SessionToken), Refused> {
    let snapshot = shared.snapshot();
    let claim = Claim {
        user: request.user,
        auth: request.auth,
        plugin: request.auth_plugin,
    };
    admit(
        dialogue, shared, &snapshot, entry, &claim, scramble, greeting,
    )
    .await
}

/// Who a client says it is, and its first proof.
struct Claim {
    user: String,
    auth: Vec<u8>,
    plugin: Option<String>,
}

async fn admit(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    snapshot: &Snapshot,
    entry: &Entry,
    claim: &Claim,
    scramble: &[u8; 20],
    greeting: &Greeting,
) -> Result<(Arc<User>, Rc<Account>, SessionToken), Refused> {
    let user = snapshot
        .users
        .get(claim.user.as_str())
        .filter(|u| address_allowed(u, &entry.peer));
    let nobody = Secret::Plain(String::from_utf8_lossy(&new_scramble()).into_owned());
    // an unknown user goes through the same steps, so that names cannot be guessed from the answers
    let secret = user.map_or(&nobody, |u| &u.config.secret);
    let proof = prove(dialogue, shared, entry, claim, secret, scramble, greeting).await?;
    let (Some(user), Some(password)) = (user, proof.password) else {
        shared.stats.logins_failed.add(1);
        return Err(dialogue.refuse(error::access_denied(
            &claim.user,
            &host_of(&entry.peer),
            proof.gave_password,
        )));
    };
    if !user.sessions.try_take() {
        return Err(dialogue.refuse(error::too_many_user_connections(&claim.user)));
    }
    let token = SessionToken(user.clone());
    *entry.user.borrow_mut() = claim.user.as_str().into();
    Ok((user.clone(), shared.account(&claim.user, password), token))
}

fn address_allowed(user: &User, peer: &Peer) -> bool {
    match peer {
        Peer::Unix => true,
        Peer::Tcp(address) => {
            user.config.allow.is_empty()
                || user.config.allow.iter().any(|c| c.contains(address.ip()))
        }
    }
}

/// As MySQL names the client in its errors.
pub fn host_of(peer: &Peer) -> String {
    match peer {
        Peer::Unix => "localhost".to_string(),
        Peer::Tcp(address) => address.ip().to_canonical().to_string(),
    }
}

fn offered_capabilities(greeting: &Greeting) -> u64 {
    (greeting.capabilities & !NOT_OFFERED) | ALWAYS_OFFERED
}

/// The plugin that clients are greeted with.
fn greeting_plugin(greeting: &Greeting) -> &'static str {
    match greeting.auth_plugin.as_str() {
        CACHING_SHA2 => CACHING_SHA2,
        _ => NATIVE,
    }
}

fn encode_greeting(
    greeting: &Greeting,
    connection_id: u32,
    scramble: [u8; 20],
    capabilities: u64,
) -> Vec<u8> {
    handshake::Greeting {
        version: greeting.version.clone(),
        connection_id,
        scramble,
        capabilities,
        collation: greeting.collation,
        status: status::AUTOCOMMIT,
        auth_plugin: greeting_plugin(greeting).to_string(),
    }
    .encode()
}
