//! The client side of a server's login: greeting, response, authentication.
use super::setup::Kind;
use super::{Password, Want};
use crate::net::{Buf, Peer, Socket};
use crate::wire::auth::{caching_sha2, native, CACHING_SHA2, NATIVE};
use crate::wire::handshake::{ChangeUser, Greeting, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::reply::{Err as ServerError, Login, Ok as OkPacket};
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
    socket: &'a Socket,
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
    let mut auth = Authentication::begin(want, channel.socket, &greeting);
    let response = Response {
        capabilities: caps,
        max_packet: MAX_PACKET,
        collation: want.collation,
        user: want.account.user.to_string(),
        auth: auth.answer()?,
        auth_plugin: (caps & capabilities::PLUGIN_AUTH != 0).then(|| auth.plugin.clone()),
        attributes: if caps & capabilities::CONNECT_ATTRS != 0 {
            PROGRAM_NAME.to_vec()
        } else {
            Vec::new()
        },
        ..Response::default()
    };
    channel.send(&response.encode(), sequence.wrapping_add(1));
    auth.run(channel, caps).await?;
    Ok(LoggedIn {
        capabilities: caps,
        thread_id: greeting.connection_id,
        mariadb: is_mariadb(&greeting),
        scramble: auth.scramble,
    })
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
    let plugin = match want.account.password {
        Password::Plain(_) if !kind.mariadb => CACHING_SHA2,
        _ => NATIVE,
    };
    let mut auth = Authentication::new(want, channel.socket, plugin, scramble);
    let request = ChangeUser {
        user: want.account.user.to_string(),
        auth: auth.answer()?,
        collation: want.collation,
        auth_plugin: (caps & capabilities::PLUGIN_AUTH != 0).then(|| plugin.to_owned()),
        ..ChangeUser::default()
    };
    channel.send(&request.encode(caps), 0);
    auth.run(channel, caps).await?;
    Ok(auth.scramble)
}

/// One authentication exchange.
struct Authentication<'a> {
    user: &'a str,
    password: &'a Password,
    plugin: String,
    scramble: [u8; 20],
    /// The way to the server cannot be listened to: a Unix socket.
    private: bool,
}

/// More messages than any plugin has.
const ROUNDS: usize = 8;
/// caching_sha2_password: what the server says in AuthMoreData, and the client's request for the key.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
const FAST_OK: &[u8] = &[3];
const FULL: &[u8] = &[4];
const REQUEST_KEY: &[u8] = &[2];

impl<'a> Authentication<'a> {
    fn begin(want: &Want<'a>, socket: &Socket, greeting: &Greeting) -> Authentication<'a> {
        // With the wrong plugin first, the server asks for the right one.
        let plugin = match want.account.password {
            Password::Plain(_) if greeting.auth_plugin == CACHING_SHA2 => CACHING_SHA2,
            _ => NATIVE,
        };
        Authentication::new(want, socket, plugin, greeting.scramble)
    }

    fn new(
        want: &Want<'a>,
        socket: &Socket,
        plugin: &str,
        scramble: [u8; 20],
    ) -> Authentication<'a> {
        let private = socket.peer() == Peer::Unix;
        let account: &'a super::Account = want.account;
        Authentication {
            user: &account.user,
            password: &account.password,
            plugin: plugin.into(),
            scramble,
            private,
        }
    }

    async fn run(&mut self, channel: &mut Channel<'_>, caps: u64) -> Result<(), Trouble> {
        for _ in 0..ROUNDS {
            let (sequence, payload) = channel.packet().await?;
            match Login::decode(&payload, caps)? {
                Login::Ok(_) => return Ok(()),
                Login::Err(e) => return Err(Trouble::Refused(e)),
                Login::Switch { plugin, scramble } => {
                    self.plugin = plugin;
                    self.scramble = first_20(&scramble)?;
                    channel.send(&self.answer()?, sequence.wrapping_add(1));
                }
                Login::More(data) => self.more(channel, sequence, &data, caps).await?,
            }
        }
        Err(Trouble::Broken(
            "the server's authentication does not end".into(),
        ))
    }

    /// What proves the password to the current plugin.
    fn answer(&self) -> Result<Vec<u8>, Trouble> {
        match (self.plugin.as_str(), self.password) {
            (NATIVE, Password::Plain(password)) => Ok(native::respond(password, &self.scramble)),
            (NATIVE, Password::Stage1(stage1)) => Ok(native::respond_stage1(stage1, &self.scramble)),
            (CACHING_SHA2, Password::Plain(password)) => Ok(caching_sha2::respond(password, &self.scramble)),
            (CACHING_SHA2, Password::Stage1(_)) => Err(self.password_needed()),
            _ => Err(Trouble::Refused(error::own(&format!(
                "the server wants authentication plugin '{}' for user '{}', which is not supported: \
                 use {NATIVE} or {CACHING_SHA2} for this account",
                self.plugin, self.user
            )))),
        }
    }

    fn password_needed(&self) -> Trouble {
        Trouble::Refused(error::own(&format!(
            "the server wants {CACHING_SHA2} for user '{}', and only a {NATIVE} hash is known: \
             put the password itself into the configuration",
            self.user
        )))
    }

    async fn more(
        &self,
        channel: &mut Channel<'_>,
        sequence: u8,
        data: &[u8],
        caps: u64,
    ) -> Result<(), Trouble> {
        if self.plugin != CACHING_SHA2 {
            return Err(Trouble::Broken(format!(
                "unexpected authentication data for {}",
                self.plugin
            )));
        }
        match data {
            FAST_OK => Ok(()),
            FULL => self.full(channel, sequence, caps).await,
            _ => Err(Trouble::Broken(
                "unknown authentication data of the server".into(),
            )),
        }
    }

    /// The server does not have the password in its cache: it wants to see it.
    async fn full(
        &self,
        channel: &mut Channel<'_>,
        sequence: u8,
        caps: u64,
    ) -> Result<(), Trouble> {
        let Password::Plain(password) = self.password else {
            return Err(self.password_needed());
        };
        if self.private {
            let mut clear = password.to_vec();
            clear.push(0);
            channel.send(&clear, sequence.wrapping_add(1));
            return Ok(());
        }
        channel.send(REQUEST_KEY, sequence.wrapping_add(1));
        let (sequence, payload) = channel.packet().await?;
        let pem = match Login::decode(&payload, caps)? {
            Login::More(pem) => pem,
            Login::Err(e) => return Err(Trouble::Refused(e)),
            _ => {
                return Err(Trouble::Broken(
                    "the server did not send its public key".into(),
                ))
            }
        };
        let pem = String::from_utf8_lossy(&pem);
        let cipher = caching_sha2::encrypt_password(password, &self.scramble, &pem)?;
        channel.send(&cipher, sequence.wrapping_add(1));
        Ok(())
    }
}

/// AuthSwitchRequest carries 20 bytes and a NUL.
fn first_20(scramble: &[u8]) -> Result<[u8; 20], Malformed> {
    let bytes = scramble.get(..20).and_then(|s| s.try_into().ok());
    bytes.ok_or(Malformed {
        what: "scramble of AuthSwitchRequest",
    })
}
