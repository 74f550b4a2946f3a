//! A blocking client that sends any bytes and reads whole packets.
//!
//! It has its own framing and login, not the product's: a fault that both sides shared would
//! stay invisible.

use super::compressed::Compressed;
use super::reply::{self, Reply};
use super::PATIENCE;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use umpire::wire::capabilities as cap;

/// What the client asks for at login.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: String,
    pub schema: Option<String>,
    pub capabilities: u32,
    pub collation: u8,
    /// Plugin for the first answer; the server may switch.
    pub plugin: &'static str,
}

impl Default for Login {
    fn default() -> Self {
        Login {
            user: "app".into(),
            password: "apppw".into(),
            schema: Some("app".into()),
            capabilities: BASE,
            collation: 45,
            plugin: NATIVE,
        }
    }
}

impl Login {
    pub fn with(mut self, flag: u64) -> Login {
        self.capabilities |= flag as u32;
        self
    }
    pub fn without(mut self, flag: u64) -> Login {
        self.capabilities &= !(flag as u32);
        self
    }
    pub fn user(mut self, user: &str, password: &str) -> Login {
        self.user = user.into();
        self.password = password.into();
        self
    }
    pub fn schema(mut self, schema: Option<&str>) -> Login {
        self.schema = schema.map(Into::into);
        self
    }
}

/// What a plain modern client sends, without DEPRECATE_EOF and session tracking.
pub const BASE: u32 = (cap::LONG_PASSWORD
    | cap::LONG_FLAG
    | cap::PROTOCOL_41
    | cap::TRANSACTIONS
    | cap::SECURE_CONNECTION
    | cap::MULTI_RESULTS
    | cap::PS_MULTI_RESULTS
    | cap::PLUGIN_AUTH
    | cap::LOCAL_FILES) as u32;

pub const NATIVE: &str = "mysql_native_password";
pub const CACHING_SHA2: &str = "caching_sha2_password";
pub const ED25519: &str = "client_ed25519";
pub const CLEAR: &str = "mysql_clear_password";

/// The server's first packet.
#[derive(Debug, Clone, Default)]
pub struct Hello {
    pub version: String,
    pub connection_id: u32,
    pub scramble: Vec<u8>,
    pub capabilities: u32,
    pub collation: u8,
    pub status: u16,
    pub plugin: String,
}

pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Compressed(Box<Compressed>),
    /// For the moment of a change.
    None,
}

impl Socket {
    /// Below compression.
    fn wire(&self) -> &Socket {
        match self {
            Socket::Compressed(compressed) => &compressed.inner,
            other => other,
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buffer),
            Socket::Unix(s) => s.read(buffer),
            Socket::Tls(s) => s.read(buffer),
            Socket::Compressed(s) => s.read(buffer),
            Socket::None => Ok(0),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(bytes),
            Socket::Unix(s) => s.write(bytes),
            Socket::Tls(s) => s.write(bytes),
            Socket::Compressed(s) => s.write(bytes),
            Socket::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Socket::Tls(s) => s.flush(),
            Socket::Compressed(s) => s.flush(),
            _ => Ok(()),
        }
    }
}

pub struct RawClient {
    pub socket: Socket,
    /// Flags agreed on.
    pub capabilities: u32,
    pub hello: Hello,
    /// The last packet's sequence number.
    pub sequence: u8,
    /// The plugin that the server asked for last.
    pub asked_for: Option<String>,
}

impl RawClient {
    /// Logs in as app with a plain client's flags.
    pub fn connect(port: u16) -> RawClient {
        RawClient::login(port, &Login::default()).expect("app can log in")
    }

    /// Err: the server's ERR packet, or the broken connection as an io error.
    pub fn login(port: u16, login: &Login) -> Result<RawClient, Refused> {
        let mut client = RawClient::open(port)?;
        client.finish_login(login)?;
        Ok(client)
    }

    /// Over TLS. Err: the server's ERR packet, or the broken handshake as an io error.
    pub fn login_tls(
        port: u16,
        login: &Login,
        tls: &Arc<ClientConfig>,
    ) -> Result<RawClient, Refused> {
        let mut client = RawClient::open(port)?;
        client.encrypt(tls)?;
        client.finish_login(login)?;
        Ok(client)
    }

    /// Asks for TLS and agrees on it with a server called localhost.
    pub fn encrypt(&mut self, tls: &Arc<ClientConfig>) -> io::Result<()> {
        self.send_packet(1, &ssl_request())?;
        let name = ServerName::try_from("localhost").expect("a name");
        let mut connection = ClientConnection::new(tls.clone(), name).map_err(io::Error::other)?;
        let Socket::Tcp(mut socket) = std::mem::replace(&mut self.socket, Socket::None) else {
            return Err(io::Error::other("TLS goes over TCP here"));
        };
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        self.socket = Socket::Tls(Box::new(StreamOwned::new(connection, socket)));
        self.sequence = 1;
        Ok(())
    }

    /// The TLS side of a connection that has one.
    pub fn tls(&self) -> &ClientConnection {
        match &self.socket {
            Socket::Tls(s) => &s.conn,
            _ => panic!("not a TLS connection"),
        }
    }

    pub fn login_unix(path: &Path, login: &Login) -> Result<RawClient, Refused> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut client = RawClient::greeted(Socket::Unix(socket))?;
        client.finish_login(login)?;
        Ok(client)
    }

    /// Connects and reads the greeting only.
    pub fn open(port: u16) -> Result<RawClient, Refused> {
        let socket = tcp(port)?;
        RawClient::greeted(Socket::Tcp(socket))
    }

    /// Reads the greeting on a connection that exists already.
    pub fn on(socket: TcpStream) -> Result<RawClient, Refused> {
        RawClient::greeted(Socket::Tcp(socket))
    }

    fn greeted(socket: Socket) -> Result<RawClient, Refused> {
        let mut client = RawClient {
            socket,
            capabilities: 0,
            hello: Hello::default(),
            sequence: 0,
            asked_for: None,
        };
        let first = client.read_packet()?;
        if first.first() == Some(&0xff) {
            return Err(Refused::Server(reply::ServerError::parse(&first)));
        }
        client.hello = Hello::parse(&first);
        Ok(client)
    }

    /// Sends the handshake response and follows the plugin's exchange to its end.
    pub fn finish_login(&mut self, login: &Login) -> Result<(), Refused> {
        let mut capabilities = login.capabilities & (self.hello.capabilities | BASE);
        if self.is_tls() {
            capabilities |= cap::SSL as u32;
        }
        if login.schema.is_some() {
            capabilities |= cap::CONNECT_WITH_DB as u32;
        }
        self.capabilities = capabilities;
        let scramble = self.hello.scramble.clone();
        let answer = respond(login.plugin, &login.password, &scramble);
        let mut body = Vec::new();
        body.extend(capabilities.to_le_bytes());
        body.extend((64u32 << 20).to_le_bytes());
        body.push(login.collation);
        body.extend([0; 23]);
        body.extend(login.user.as_bytes());
        body.push(0);
        body.push(answer.len() as u8);
        body.extend(&answer);
        if let Some(schema) = &login.schema {
            body.extend(schema.as_bytes());
            body.push(0);
        }
        body.extend(login.plugin.as_bytes());
        body.push(0);
        let zstd = capabilities & cap::ZSTD_COMPRESSION as u32 != 0;
        if zstd {
            body.push(3);
        }
        let next = self.sequence.wrapping_add(1);
        self.send_packet(next, &body)?;
        self.follow_login(login)?;
        if zstd || capabilities & cap::COMPRESS as u32 != 0 {
            let inner = std::mem::replace(&mut self.socket, Socket::None);
            self.socket = Socket::Compressed(Box::new(Compressed::new(inner, zstd)));
        }
        Ok(())
    }

    /// The rest of a login or of COM_CHANGE_USER: until OK or ERR.
    pub fn follow_login(&mut self, login: &Login) -> Result<(), Refused> {
        loop {
            let packet = self.read_packet()?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(Refused::Server(reply::ServerError::parse(&packet))),
                Some(0xfe) => {
                    let (plugin, scramble) = auth_switch(&packet);
                    let answer = respond(&plugin, &login.password, &scramble);
                    self.asked_for = Some(plugin);
                    let next = self.sequence.wrapping_add(1);
                    self.send_packet(next, &answer)?;
                }
                // caching_sha2_password: 3 = fast path done, 4 = the password itself is wanted: as it
                // is over TLS, else by RSA, which the mysql crate's client covers.
                Some(0x01) if packet.get(1) == Some(&3) => {}
                Some(0x01) if packet.get(1) == Some(&4) && self.is_tls() => {
                    let clear = [login.password.as_bytes(), &[0]].concat();
                    let next = self.sequence.wrapping_add(1);
                    self.send_packet(next, &clear)?;
                }
                _ => return Err(Refused::Io(io::Error::other(format!("login: {packet:?}")))),
            }
        }
    }

    /// Sends one command with sequence 0, split at 16 MiB as the protocol says.
    pub fn send_command(&mut self, command: u8, body: &[u8]) -> io::Result<()> {
        let mut payload = Vec::with_capacity(body.len() + 1);
        payload.push(command);
        payload.extend_from_slice(body);
        self.send_payload(0, &payload).map(|_| ())
    }

    /// Sends a payload as packets from `sequence` on; returns the next sequence number.
    pub fn send_payload(&mut self, mut sequence: u8, payload: &[u8]) -> io::Result<u8> {
        let mut rest = payload;
        loop {
            let (part, behind) = rest.split_at(rest.len().min(0xff_ffff));
            self.send_packet(sequence, part)?;
            sequence = sequence.wrapping_add(1);
            rest = behind;
            if part.len() < 0xff_ffff {
                return Ok(sequence);
            }
        }
    }

    pub fn send_packet(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let length = (payload.len() as u32).to_le_bytes();
        let mut bytes = vec![length[0], length[1], length[2], sequence];
        bytes.extend_from_slice(payload);
        self.socket.write_all(&bytes)?;
        self.socket.flush()
    }

    /// Any bytes at all.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// One payload, joined when it came in several packets.
    pub fn read_packet(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let mut header = [0u8; 4];
            self.socket.read_exact(&mut header)?;
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            self.sequence = header[3];
            let start = payload.len();
            payload.resize(start + length, 0);
            self.socket.read_exact(&mut payload[start..])?;
            if length < 0xff_ffff {
                return Ok(payload);
            }
        }
    }

    /// Sends a command and reads its whole reply.
    pub fn command(&mut self, command: u8, body: &[u8]) -> io::Result<Reply> {
        self.send_command(command, body)?;
        self.read_reply(command)
    }

    /// Reads the whole reply of `command`.
    pub fn read_reply(&mut self, command: u8) -> io::Result<Reply> {
        reply::read(self, command)
    }

    pub fn query(&mut self, sql: &str) -> io::Result<Reply> {
        self.command(0x03, sql.as_bytes())
    }

    /// Prepares a statement; panics when it is refused.
    pub fn prepare(&mut self, sql: &str) -> reply::Prepared {
        self.try_prepare(sql)
            .expect("connected")
            .unwrap_or_else(|e| panic!("{sql}: {e:?}"))
    }

    pub fn try_prepare(
        &mut self,
        sql: &str,
    ) -> io::Result<Result<reply::Prepared, reply::ServerError>> {
        let reply = self.command(0x16, sql.as_bytes())?;
        Ok(match reply.error {
            Some(error) => Err(error),
            None => Ok(reply.prepared.expect("a prepare reply")),
        })
    }

    /// True when the peer has closed the connection (waits for it up to `limit`).
    pub fn closed_within(&mut self, limit: Duration) -> bool {
        self.set_read_timeout(limit);
        let mut byte = [0u8; 1024];
        loop {
            match self.socket.read(&mut byte) {
                Ok(0) => return true,
                Ok(_) => continue,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return e.kind() == io::ErrorKind::ConnectionReset,
            }
        }
    }

    pub fn set_read_timeout(&mut self, limit: Duration) {
        match self.socket.wire() {
            Socket::Tcp(s) => s.set_read_timeout(Some(limit)),
            Socket::Unix(s) => s.set_read_timeout(Some(limit)),
            Socket::Tls(s) => s.sock.set_read_timeout(Some(limit)),
            _ => Ok(()),
        }
        .expect("a socket takes a timeout");
    }

    fn is_tls(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// Half-close: the peer sees our end, we can still read.
    pub fn shut_down_writing(&mut self) {
        match self.socket.wire() {
            Socket::Tcp(s) => s.shutdown(Shutdown::Write),
            Socket::Unix(s) => s.shutdown(Shutdown::Write),
            Socket::Tls(s) => s.sock.shutdown(Shutdown::Write),
            _ => Ok(()),
        }
        .ok();
    }
}

/// Protocol::SSLRequest of a plain client.
pub fn ssl_request() -> Vec<u8> {
    let mut body = (BASE | cap::SSL as u32).to_le_bytes().to_vec();
    body.extend((64u32 << 20).to_le_bytes());
    body.push(45);
    body.extend([0; 23]);
    body
}

pub fn tcp(port: u16) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Connects from an address of this machine, such as 127.0.0.2.
pub fn tcp_from(source: [u8; 4], port: u16) -> io::Result<TcpStream> {
    let (from, to) = (SocketAddr::from((source, 0)), ([127, 0, 0, 1], port));
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&from.into())?;
    socket.connect(&SocketAddr::from(to).into())?;
    let socket = TcpStream::from(socket);
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Refused {
    Server(reply::ServerError),
    Io(io::Error),
}

impl Refused {
    /// The server's error; panics when the connection just broke.
    pub fn server(self) -> reply::ServerError {
        match self {
            Refused::Server(error) => error,
            Refused::Io(error) => panic!("no answer of the server: {error}"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

impl Hello {
    fn parse(packet: &[u8]) -> Hello {
        let nul = packet
            .iter()
            .position(|b| *b == 0)
            .expect("a version ends with NUL");
        let version = String::from_utf8_lossy(&packet[1..nul]).into_owned();
        let at = nul + 1;
        let mut scramble = packet[at + 4..at + 12].to_vec();
        let low = u16::from_le_bytes([packet[at + 13], packet[at + 14]]);
        let high = u16::from_le_bytes([packet[at + 18], packet[at + 19]]);
        scramble.extend(&packet[at + 31..at + 43]);
        let plugin = packet[at + 44..].split(|b| *b == 0).next().unwrap_or(&[]);
        Hello {
            version,
            connection_id: u32::from_le_bytes([
                packet[at],
                packet[at + 1],
                packet[at + 2],
                packet[at + 3],
            ]),
            scramble,
            capabilities: u32::from(low) | u32::from(high) << 16,
            collation: packet[at + 15],
            status: u16::from_le_bytes([packet[at + 16], packet[at + 17]]),
            plugin: String::from_utf8_lossy(plugin).into_owned(),
        }
    }
}

fn auth_switch(packet: &[u8]) -> (String, Vec<u8>) {
    let mut parts = packet[1..].splitn(2, |b| *b == 0);
    let plugin = String::from_utf8_lossy(parts.next().unwrap_or(&[])).into_owned();
    let mut scramble = parts.next().unwrap_or(&[]).to_vec();
    if scramble.len() == 21 {
        scramble.pop();
    }
    (plugin, scramble)
}

/// The plugin's first answer to a scramble.
pub fn respond(plugin: &str, password: &str, scramble: &[u8]) -> Vec<u8> {
    match (plugin, password) {
        (CLEAR, _) => [password.as_bytes(), &[0]].concat(),
        // checked against MariaDB's own client and server in tests/auth_plugins.rs
        (ED25519, _) => {
            // the scramble of a greeting is none: the server will ask
            let sign = umpire::wire::auth::ed25519::sign;
            let nonce = scramble.try_into().ok();
            nonce.map_or(Vec::new(), |n| sign(password.as_bytes(), n).to_vec())
        }
        (_, "") => Vec::new(),
        (CACHING_SHA2, _) => {
            let once = Sha256::digest(password.as_bytes());
            let twice = Sha256::digest(once);
            let mixed = Sha256::new()
                .chain_update(twice)
                .chain_update(scramble)
                .finalize();
            once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
        }
        _ => {
            let once = Sha1::digest(password.as_bytes());
            let twice = Sha1::digest(once);
            let mixed = Sha1::new()
                .chain_update(scramble)
                .chain_update(twice)
                .finalize();
            once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
        }
    }
}

/// COM_CHANGE_USER's body for the connection's own scramble.
pub fn change_user_body(login: &Login, scramble: &[u8]) -> Vec<u8> {
    let answer = respond(login.plugin, &login.password, scramble);
    let mut body = login.user.as_bytes().to_vec();
    body.push(0);
    body.push(answer.len() as u8);
    body.extend(answer);
    body.extend(login.schema.clone().unwrap_or_default().as_bytes());
    body.push(0);
    body.extend([login.collation, 0]);
    body.extend(login.plugin.as_bytes());
    body.push(0);
    body
}
