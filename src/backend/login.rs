//! The client side of a server's login: greeting, response, authentication.
use super::authentication::Authentication;
use super::setup::Kind;
use super::Want;
use crate::config::{Compression, ServerTls, ServerTlsMode};
use crate::net::{Buf, Socket};
use crate::wire::compressed::{Algorithm, End};
use crate::wire::handshake::{ChangeUser, Greeting, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::reply::{Err as ServerError, Ok as OkPacket};
use crate::wire::{capabilities, error, Malformed};
use std::io;

/// Why a server connection could not be made ready.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server said so, or would never accept what we have (unknown plugin).
    Refused(ServerError),
    /// The connection or the protocol broke.
    Broken(String),
    /// The deadline set on the socket is over.
    TimedOut(&'static str),
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Trouble {
        Trouble::Broken(format!(
            "the server does not follow the protocol: {}",
            malformed.what
        ))
    }
}

/// Whole packets over a socket, for the exchanges before and between leases.
pub(super) struct Channel<'a> {
    pub(super) socket: &'a Socket,
    incoming: Assembler,
    /// What is going on, for the message when the time is over.
    pub phase: &'static str,
}

/// No message of a login or a set-up is near this.
const LARGEST: usize = 64 * 1024;

impl<'a> Channel<'a> {
    pub fn new(socket: &'a Socket, phase: &'static str) -> Channel<'a> {
        Channel {
            socket,
            incoming: Assembler::new(LARGEST),
            phase,
        }
    }

    /// The next packet: sequence and payload.
    pub async fn packet(&mut self) -> Result<(u8, Vec<u8>), Trouble> {
        loop {
            if let Some(packet) = self.incoming.pop() {
                return Ok(packet);
            }
            match self.socket.recv().await {
                Ok(Some(bytes)) => self.incoming.push(&bytes)?,
                Ok(None) => {
                    return Err(Trouble::Broken(format!(
                        "the server ended the connection: {}",
                        self.phase
                    )))
                }
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                    return Err(Trouble::TimedOut(self.phase))
                }
                Err(e) => return Err(Trouble::Broken(format!("{}: {e}", self.phase))),
            }
        }
    }

    /// A one-packet reply to a command.
    pub async fn reply(&mut self, caps: u64) -> Result<Result<OkPacket, ServerError>, Trouble> {
        let (sequence, payload) = self.packet().await?;
        if sequence != 1 {
            return Err(Trouble::Broken(format!(
                "the server's packets are out of order: {}",
                self.phase
            )));
        }
        match payload.first() {
            Some(0x00) => Ok(Ok(OkPacket::decode(&payload, caps)?)),
            Some(0xff) => Ok(Err(ServerError::decode(&payload)?)),
            _ => Err(Trouble::Broken(format!(
                "the server sent neither OK nor ERR: {}",
                self.phase
            ))),
        }
    }

    /// Asks for TLS and agrees on it. What the server sent before is worth nothing afterwards, and must not be
    /// taken for what it sends inside.
    async fn encrypt(
        &mut self,
        tls: &ServerTls,
        response: &Response,
        sequence: u8,
    ) -> Result<(), Trouble> {
        let incoming = std::mem::replace(&mut self.incoming, Assembler::new(LARGEST));
        if !incoming.rest().is_empty() || self.socket.is_stale() {
            return Err(Trouble::Broken(
                "the server sent more than its greeting before TLS".into(),
            ));
        }
        self.send(&response.encode_ssl_request(), sequence);
        let handshake = self
            .socket
            .connect_tls(tls.client.clone(), tls.name.clone());
        handshake.await.map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => Trouble::TimedOut("TLS handshake"),
            io::ErrorKind::UnexpectedEof => {
                Trouble::Broken("the server ended the connection: TLS handshake".into())
            }
            _ => Trouble::Broken(tls.explain(&e)),
        })
    }

    pub fn send(&self, payload: &[u8], sequence: u8) {
        let mut bytes = Vec::with_capacity(payload.len() + 4);
        frame(payload, sequence, &mut bytes);
        self.socket.send(Buf::from_vec(bytes));
    }

    /// Commands that are framed already.
    pub fn send_framed(&self, bytes: Vec<u8>) {
        self.socket.send(Buf::from_vec(bytes));
    }

    /// Nothing may be left: it would be taken for the reply to the next command.
    pub fn finish(self) -> Result<(), Trouble> {
        if self.incoming.rest().is_empty() {
            return Ok(());
        }
        Err(Trouble::Broken(format!(
            "the server sent more than was asked for: {}",
            self.phase
        )))
    }
}

/// What the login told.
pub(super) struct LoggedIn {
    /// In effect: wanted and offered.
    pub capabilities: u64,
    pub thread_id: u32,
    pub mariadb: bool,
    pub scramble: [u8; 20],
}

/// Flags that this side always needs.
const NEEDED: u64 = capabilities::PROTOCOL_41 | capabilities::SECURE_CONNECTION;
const WISHED: u64 =
    NEEDED | capabilities::PLUGIN_AUTH | capabilities::TRANSACTIONS | capabilities::SESSION_TRACK;
/// Flags that a pooled connection never has, whatever the client asked for.
const NEVER: u64 = capabilities::SSL
    | capabilities::COMPRESS
    | capabilities::ZSTD_COMPRESSION
    | capabilities::CONNECT_WITH_DB;
const MAX_PACKET: u32 = 1 << 30;
/// The servers' and their clients' default.
const ZSTD_LEVEL: u8 = 3;
/// The one connection attribute: name and value, each behind its length.
const PROGRAM_NAME: &[u8] = b"\x0cprogram_name\x06umpire";

/// Protocol::HandshakeV10 and what follows, until OK.
pub(super) async fn log_in(
    channel: &mut Channel<'_>,
    want: &Want<'_>,
) -> Result<LoggedIn, Trouble> {
    let (sequence, payload) = channel.packet().await?;
    if payload.first() == Some(&0xff) {
        return Err(Trouble::Refused(ServerError::decode(&payload)?));
    }
    let greeting = Greeting::decode(&payload)?;
    if greeting.capabilities & NEEDED != NEEDED {
        return Err(Trouble::Broken(format!(
            "server version {} is too old for this proxy",
            greeting.version
        )));
    }
    let caps = (want.capabilities & !NEVER | WISHED) & greeting.capabilities;
    let encrypted = wants_tls(want, &greeting)?;
    let compression = compression(want, &greeting);
    let mut response = Response {
        capabilities: caps | compression.map_or(0, |(flag, _)| flag),
        max_packet: MAX_PACKET,
        collation: want.collation,
        user: want.account.user.to_string(),
        attributes: if caps & capabilities::CONNECT_ATTRS != 0 {
            PROGRAM_NAME.to_vec()
        } else {
            Vec::new()
        },
        zstd_level: ZSTD_LEVEL,
        ..Response::default()
    };
    let mut next = sequence.wrapping_add(1);
    if let Some(tls) = encrypted {
        response.capabilities |= capabilities::SSL;
        channel.encrypt(tls, &response, next).await?;
        next = next.wrapping_add(1);
    }
    let mut auth = Authentication::begin(want, channel.socket, &greeting);
    response.auth = auth.answer()?;
    response.auth_plugin = (caps & capabilities::PLUGIN_AUTH != 0).then(|| auth.plugin.clone());
    channel.send(&response.encode(), next);
    auth.run(channel, caps).await?;
    if let Some((_, algorithm)) = compression {
        channel.socket.compress(algorithm, End::Client);
    }
    Ok(LoggedIn {
        capabilities: caps,
        thread_id: greeting.connection_id,
        mariadb: is_mariadb(&greeting),
        scramble: auth.scramble,
    })
}

/// What this connection is to be encrypted with. A server that does not offer what is required is told of like a
/// refused login: only its configuration or Umpire's can change that.
fn wants_tls<'w>(
    want: &'w Want<'_>,
    greeting: &Greeting,
) -> Result<Option<&'w ServerTls>, Trouble> {
    let Some(tls) = want.server.tls.as_deref() else {
        return Ok(None);
    };
    if greeting.capabilities & capabilities::SSL != 0 {
        return Ok(Some(tls));
    }
    if tls.mode == ServerTlsMode::Preferred {
        return Ok(None);
    }
    Err(Trouble::Refused(error::own(&format!(
        "server {} does not offer TLS, which its group requires: switch it on at the server (ssl_cert, ssl_key), \
         or set tls = \"preferred\" for this server",
        want.server.address
    ))))
}

/// The flag that asks for it; None: not wanted, or the server cannot.
fn compression(want: &Want<'_>, greeting: &Greeting) -> Option<(u64, Algorithm)> {
    let (flag, algorithm) = match want.server.compression {
        Compression::Off => return None,
        Compression::Zlib => (capabilities::COMPRESS, Algorithm::Zlib),
        Compression::Zstd => (capabilities::ZSTD_COMPRESSION, Algorithm::Zstd(ZSTD_LEVEL)),
    };
    let offered = greeting.capabilities & flag != 0;
    if !offered {
        tracing::warn!(server = %want.server.address, ?algorithm, "a server does not offer the configured compression: going on without");
    }
    offered.then_some((flag, algorithm))
}

/// MariaDB leaves the first flag (CLIENT_MYSQL there) out of its greeting, also under a changed version string.
fn is_mariadb(greeting: &Greeting) -> bool {
    greeting.version.contains("MariaDB") || greeting.capabilities & capabilities::LONG_PASSWORD == 0
}

/// COM_CHANGE_USER to the same account without a schema: a fresh session on an old connection.
/// Returns the scramble for the next time.
pub(super) async fn change_user(
    channel: &mut Channel<'_>,
    want: &Want<'_>,
    kind: Kind,
    scramble: [u8; 20],
) -> Result<[u8; 20], Trouble> {
    let caps = kind.capabilities;
    let mut auth = Authentication::again(want, channel.socket, kind.mariadb, scramble);
    let request = ChangeUser {
        user: want.account.user.to_string(),
        auth: auth.answer()?,
        collation: want.collation,
        auth_plugin: (caps & capabilities::PLUGIN_AUTH != 0).then(|| auth.plugin.clone()),
        ..ChangeUser::default()
    };
    channel.send(&request.encode(caps), 0);
    auth.run(channel, caps).await?;
    Ok(auth.scramble)
}
