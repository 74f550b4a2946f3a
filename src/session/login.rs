//! A client's login: greeting, account, password.
//!
//! ```text
//! greeting → response → [AuthSwitch → response] → [fast ok | full: key, cipher] → account → (session) OK
//! ```
mod greeting;
mod known;
mod password;

use super::arrival;
use super::registry::Entry;
use super::shared::Shared;
use crate::backend::{not_for_clients, Account, Password};
use crate::config::{ListenerTls, Proxy, Secret, Tls, UserTls};
use crate::net::{Buf, Kept, Peer, Socket};
use crate::topology::{Greeting, User};
use crate::wire::auth::{new_scramble, CACHING_SHA2, NATIVE};
use crate::wire::capabilities::*;
use crate::wire::compressed::Algorithm;
use crate::wire::handshake::{self, ChangeUser, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::proxy_protocol;
use crate::wire::reply;
use crate::wire::{error, status, Malformed};
use greeting::servers_greeting;
pub(super) use known::host_name;
use known::Known;
use password::{asked, check, evidence, plugin_for};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// Largest message of a client during login: connection attributes are at most 64 KiB.
const MESSAGE_LIMIT: usize = 128 * 1024;

/// What Umpire does not speak itself, whatever the servers offer. With CACHE_METADATA a server leaves out the columns of a
/// statement that was executed before on the connection: sessions share statements, and this one may not have seen them.
const NOT_OFFERED: u64 =
    MULTI_FACTOR_AUTH | MARIADB_COM_MULTI | MARIADB_CACHE_METADATA | SSL_VERIFY_SERVER_CERT;
const COMPRESSIONS: u64 = COMPRESS | ZSTD_COMPRESSION;
/// An odd number, so that neither two generations nor a generation and a fingerprint meet by chance.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// What every client of this century sends, and Umpire needs.
const ALWAYS_OFFERED: u64 = PROTOCOL_41
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC_CLIENT_DATA
    | CONNECT_WITH_DB;

/// A client that proved who it is.
pub struct LoggedIn {
    /// Without those of compression, which servers know nothing of.
    pub capabilities: u64,
    /// From the OK on.
    pub compression: Option<Algorithm>,
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
    /// TLS could not be agreed on; an alert says why.
    Handshake,
    /// A PROXY header where none is trusted.
    ProxyHeader,
    /// The client left, was too slow, or sent what is not the protocol.
    Gone,
}

/// Messages with the client while it logs in.
pub struct Dialogue<'a> {
    pub client: &'a Socket,
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
            if let Err(malformed) = self.assembler.push(&buf) {
                return Err(match proxy_protocol::begins(&buf) {
                    true => Refused::ProxyHeader,
                    false => self.malformed(malformed),
                });
            }
            self.client.hold(Kept::Parts, self.assembler.held());
        }
    }

    /// What follows is TLS. Bytes that came behind the request belong to the handshake: nothing that was sent
    /// before it is ever taken for a part of the login.
    async fn encrypt(&mut self, tls: &Tls) -> Result<(), Refused> {
        let begun = std::mem::replace(&mut self.assembler, Assembler::new(MESSAGE_LIMIT)).rest();
        let handshake = self
            .client
            .accept_tls(tls.server.clone(), Buf::from_vec(begun));
        handshake.await.map_err(|cause| {
            tracing::debug!(peer = ?self.client.peer(), %cause, "a client's TLS handshake failed");
            Refused::Handshake
        })
    }

    /// Nobody else can read what is sent: TLS, or a Unix socket. A password may go over it as it is.
    pub fn is_private(&self) -> bool {
        self.is_encrypted() || self.client.peer() == Peer::Unix
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

    /// Whether nobody on the way can read along, by TLS.
    pub fn is_encrypted(&self) -> bool {
        self.client.is_encrypted()
    }

    /// Bytes behind the last message belong to the first command.
    pub fn into_rest(self) -> Vec<u8> {
        self.client.hold(Kept::Parts, 0);
        self.assembler.rest()
    }
}

/// Greets the client and finds out who it is. The OK is the caller's to send.
pub async fn login(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    listener: usize,
    entry: &Entry,
) -> Result<LoggedIn, Refused> {
    let greeting = servers_greeting(dialogue, shared).await?;
    let snapshot = shared.snapshot();
    let scramble = new_scramble();
    let (mode, tls) = offered_tls(&snapshot.proxy, listener);
    let mut offered = offered_capabilities(&greeting, tls.is_some(), shared.sharding());
    if !offers_compression(&snapshot.proxy, listener) {
        offered &= !COMPRESSIONS;
    }
    dialogue.send(&encode_greeting(&greeting, entry.id, scramble, offered));
    let mut payload = dialogue.receive().await?;
    if handshake::is_ssl_request(&payload) {
        let Some(tls) = tls else {
            return Err(dialogue.refuse(error::own(
                "TLS was asked for, but this listener does not offer it: connect with ssl-mode=DISABLED or PREFERRED",
            )));
        };
        dialogue.encrypt(tls).await?;
        entry.tls.set(dialogue.client.tls());
        payload = dialogue.receive().await?;
    }
    if mode == ListenerTls::Required && !dialogue.is_private() {
        return Err(dialogue.refuse(error::secure_transport_required()));
    }
    let response = Response::decode(&payload).map_err(|m| dialogue.malformed(m))?;
    *entry.user.borrow_mut() = response.user.as_str().into();
    let claim = Claim {
        user: response.user,
        auth: response.auth,
        plugin: response.auth_plugin,
        collation: response.collation,
    };
    let (user, account, token) =
        admit(dialogue, shared, entry, &claim, &scramble, &greeting).await?;
    Ok(LoggedIn {
        capabilities: (response.capabilities & offered & !(SSL | COMPRESSIONS)) | PROTOCOL_41,
        compression: compression(response.capabilities & offered, response.zstd_level),
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
    let claim = Claim {
        user: request.user,
        auth: request.auth,
        plugin: request.auth_plugin,
        collation: request.collation,
    };
    admit(dialogue, shared, entry, &claim, scramble, greeting).await
}

/// Who a client says it is, and its first proof.
struct Claim {
    user: String,
    auth: Vec<u8>,
    plugin: Option<String>,
    /// 0: the servers' own.
    collation: u16,
}

async fn admit(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    entry: &Entry,
    claim: &Claim,
    scramble: &[u8; 20],
    greeting: &Greeting,
) -> Result<(Arc<User>, Rc<Account>, SessionToken), Refused> {
    if let Some(set) = not_for_clients(claim.collation, greeting) {
        return Err(dialogue.refuse(error::wrong_client_character_set(set)));
    }
    let peer = dialogue.client.peer();
    let (known, password, gave_password) =
        identify(dialogue, shared, claim, scramble, greeting).await?;
    let user = known
        .user()
        .filter(|u| is_secure_enough(u, dialogue.client));
    let (Some(user), Some(password)) = (user, password) else {
        arrival::ended(shared, &peer, false);
        let host = known::host_name(shared, &peer);
        return Err(dialogue.refuse(error::access_denied(&claim.user, &host, gave_password)));
    };
    let account = server_account(dialogue, shared, claim, &known, password)?;
    arrival::ended(shared, &peer, true);
    if !user.sessions.try_take() {
        return Err(dialogue.refuse(error::too_many_user_connections(&claim.user)));
    }
    let token = SessionToken(user.clone());
    *entry.user.borrow_mut() = claim.user.as_str().into();
    *entry.account.borrow_mut() = Some(account.clone());
    Ok((user.clone(), account, token))
}

/// The account that the session has on the servers.
fn server_account(
    dialogue: &Dialogue<'_>,
    shared: &Shared,
    claim: &Claim,
    known: &Known,
    password: Password,
) -> Result<Rc<Account>, Refused> {
    // a connection with the global values of before is another account's
    let generation = shared.snapshot().defaults.generation();
    let defaults = generation.wrapping_mul(SPREAD);
    let told = match dialogue.client.peer() {
        Peer::Tcp(address) if shared.snapshot().tells_clients() => Some(address.ip()),
        _ => None,
    };
    let mapped = known.user().and_then(|u| u.config.server_account.as_ref());
    if let Known::OfServer(of_server) = known {
        let (peer, encrypted) = (dialogue.client.peer(), dialogue.is_encrypted());
        let gave_password = !claim.auth.is_empty();
        let outcome = of_server.admit(
            &claim.user,
            &peer,
            encrypted,
            gave_password,
            mapped.is_some(),
        );
        outcome.map_err(|error| {
            arrival::ended(shared, &peer, false);
            dialogue.refuse(error)
        })?;
    }
    let mut account = Account::new(&claim.user, password);
    (account.fingerprint, account.client) = (defaults, told);
    Ok(match (mapped, known) {
        (Some(mapped), _) => {
            account.user = mapped.user.as_str().into();
            account.password = Password::Plain(mapped.password.as_bytes().into());
            shared.account(&claim.user, account)
        }
        (None, Known::OfServer(of_server)) => {
            let print = of_server.account.fingerprint;
            account.fingerprint = print.wrapping_add(defaults);
            account.identity = of_server.identity();
            shared.account(&of_server.account.to_string(), account)
        }
        _ => shared.account(&claim.user, account),
    })
}

/// Who the client is and whether its password is right; a wrong one is checked again with accounts that were
/// read after it came.
async fn identify(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    claim: &Claim,
    scramble: &[u8; 20],
    greeting: &Greeting,
) -> Result<(Known, Option<Password>, bool), Refused> {
    let (used, peer) = (claim.plugin.as_deref(), dialogue.client.peer());
    // an unknown user goes through the same steps, so that names cannot be guessed from the answers
    let nobody = Secret::Plain(String::from_utf8_lossy(&new_scramble()).into_owned());
    let nothing = OnceLock::new();
    let known = Known::find(shared, &claim.user, &peer)
        .await
        .map_err(|e| dialogue.refuse(e))?;
    if let Known::Elsewhere = known {
        shared.stats.clients_denied.add(1);
        arrival::ended(shared, &peer, false);
        let host = known::host_name(shared, &peer);
        return Err(dialogue.refuse(error::access_denied(
            &claim.user,
            &host,
            !claim.auth.is_empty(),
        )));
    }
    let proof = known.proof(used, &nobody, &nothing);
    let proof = proof.map_err(|e| dialogue.refuse(e))?;
    let plugin = plugin_for(&proof, used, greeting, dialogue)?;
    let mut shown = evidence(dialogue, claim, plugin, scramble, greeting).await?;
    arrival::take_turn(dialogue, shared).await?;
    let password = check(dialogue, shared, &mut shown, &proof).await?;
    let gave_password = shown.gave_password();
    let Known::OfServer(before) = &known else {
        return Ok((known, password, gave_password));
    };
    if password.is_some() {
        return Ok((known, password, gave_password));
    }
    let again = Known::find_again(shared, &claim.user, &peer)
        .await
        .map_err(|e| dialogue.refuse(e))?;
    let changed = match &again {
        Known::OfServer(now) => !Arc::ptr_eq(&now.account, &before.account),
        _ => false,
    };
    if !changed {
        return Ok((again, None, gave_password));
    }
    let proof = again.proof(used, &nobody, &nothing);
    let proof = proof.map_err(|e| dialogue.refuse(e))?;
    let plugin = plugin_for(&proof, Some(shown.plugin), greeting, dialogue)?;
    if plugin != shown.plugin {
        shown = asked(dialogue, plugin).await?;
    }
    let password = check(dialogue, shared, &mut shown, &proof).await?;
    let gave_password = shown.gave_password();
    Ok((again, password, gave_password))
}

fn address_allowed(user: &User, peer: &Peer) -> bool {
    match peer {
        Peer::Unix => true,
        Peer::Tcp(address) => user.config.addresses.admit(address.ip()),
    }
}

/// As servers do it, a user whose connection is not what it has to be is refused like a wrong password.
fn is_secure_enough(user: &User, client: &Socket) -> bool {
    match user.config.tls {
        UserTls::Optional => true,
        UserTls::Required => client.is_encrypted(),
        UserTls::Certificate => client.tls().is_some_and(|tls| tls.certificate),
    }
}

/// What the listener does, and what it is done with if it offers TLS.
fn offered_tls(proxy: &Proxy, listener: usize) -> (ListenerTls, Option<&Tls>) {
    let mode = proxy.listen.get(listener).map(|at| at.tls);
    match (mode, &proxy.tls) {
        (Some(mode), Some(tls)) if mode != ListenerTls::Off => (mode, Some(tls)),
        _ => (ListenerTls::Off, None),
    }
}

fn offers_compression(proxy: &Proxy, listener: usize) -> bool {
    proxy.listen.get(listener).is_some_and(|at| at.compression)
}

/// Of a client that asks for both, servers take the first.
fn compression(agreed: u64, zstd_level: u8) -> Option<Algorithm> {
    match agreed {
        flags if flags & COMPRESS != 0 => Some(Algorithm::Zlib),
        flags if flags & ZSTD_COMPRESSION != 0 => Some(Algorithm::Zstd(zstd_level)),
        _ => None,
    }
}

/// As MySQL names the client in its errors.
pub fn host_of(peer: &Peer) -> String {
    match peer {
        Peer::Unix => "localhost".to_string(),
        Peer::Tcp(address) => address.ip().to_canonical().to_string(),
    }
}

fn offered_capabilities(greeting: &Greeting, tls: bool, sharding: bool) -> u64 {
    let own = if tls { SSL } else { 0 };
    // merging needs the columns of every result; rows of a bulk EXECUTE may belong to several shards, and drivers that are
    // not offered it execute row by row
    let kept_out = if sharding {
        OPTIONAL_RESULTSET_METADATA | MARIADB_STMT_BULK_OPERATIONS
    } else {
        0
    };
    (greeting.capabilities & !(NOT_OFFERED | SSL | kept_out)) | ALWAYS_OFFERED | own
}

/// The plugin that clients are greeted with.
fn greeting_plugin(greeting: &Greeting) -> &'static str {
    match greeting.auth_plugin.as_str() {
        CACHING_SHA2 => CACHING_SHA2,
        _ => NATIVE,
    }
}

/// The status flags of a session that begins.
pub(super) fn first_status(greeting: &Greeting) -> u16 {
    match greeting.autocommit {
        true => status::AUTOCOMMIT,
        false => 0,
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
        status: first_status(greeting),
        auth_plugin: greeting_plugin(greeting).to_string(),
    }
    .encode()
}
