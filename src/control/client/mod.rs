//! A small MySQL client for the checks: one connection, text queries, small bounded answers.
//!
//! Own code rather than a driver because the checks want what drivers hide: the greeting's bytes
//! (capabilities, plugin, collation) of the very connection that is then kept for the queries.
//! Every future here may be dropped at any point; the connection must be dropped with it.

mod login;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::Rows;

use crate::config::{ProxyHeaders, ServerTls};
use crate::topology::Target;
use crate::wire::packet::{frame, Assembler};
use crate::wire::proxy_protocol::{self, Origin, Version};
use crate::wire::{command, handshake, reply, Malformed};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// The largest packet taken from a server: collations and replication status stay far below.
const PACKET_LIMIT: usize = 1 << 20;
/// Rows of one answer; the collations are some hundreds.
const ROW_LIMIT: usize = 20_000;

/// Why a connection or a query failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server's own error, unchanged.
    #[error("{} {}", .0.code, String::from_utf8_lossy(&.0.message))]
    Server(reply::Err),
    /// TLS could not be agreed on, or the server does not offer what its group requires.
    #[error("{0}")]
    Tls(String),
    #[error("the server's bytes do not follow the protocol: {0}")]
    Malformed(&'static str),
    /// Something this client does not do.
    #[error("{0}")]
    Unsupported(String),
}

impl From<Malformed> for ClientError {
    fn from(e: Malformed) -> ClientError {
        ClientError::Malformed(e.what)
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync> Stream for T {}

/// A connected stream that speaks packets.
pub struct Link {
    stream: Box<dyn Stream>,
    /// Address of this end; None: a Unix socket.
    local: Option<IpAddr>,
    encrypted: bool,
    /// Nobody can listen: TLS, or a Unix socket.
    private: bool,
    assembler: Assembler,
}

impl Link {
    /// Connects; the caller sets the deadline. `headers`: a server that takes PROXY headers is told that the connection
    /// is Umpire's own.
    pub async fn connect(target: &Target, headers: Option<ProxyHeaders>) -> io::Result<Link> {
        let (mut stream, local): (Box<dyn Stream>, _) = match target {
            Target::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let local = stream.local_addr()?.ip();
                (Box::new(stream), Some(local))
            }
            Target::Unix(path) => (Box::new(UnixStream::connect(path).await?), None),
        };
        if let Some(headers) = headers {
            let nobody = SocketAddr::from(([127, 0, 0, 1], 0));
            let header =
                proxy_protocol::header(Version::number(headers.version), Origin::Own, nobody);
            stream.write_all(&header).await?;
        }
        Ok(Link {
            stream,
            local,
            encrypted: false,
            private: matches!(target, Target::Unix(_)),
            assembler: Assembler::new(PACKET_LIMIT),
        })
    }

    /// Address of this end of the connection; None: a Unix socket.
    pub fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// The server's greeting, or the error it sends in its place (1040, 1129, 1130 …).
    pub async fn greeting(&mut self) -> Result<handshake::Greeting, ClientError> {
        let (_, payload) = self.receive().await?;
        match payload.first() {
            Some(0xff) => Err(ClientError::Server(reply::Err::decode(&payload)?)),
            _ => Ok(handshake::Greeting::decode(&payload)?),
        }
    }

    /// Agrees on TLS; the request for it has been sent.
    async fn encrypt(self, tls: &ServerTls) -> Result<Link, ClientError> {
        if !self.assembler.rest().is_empty() {
            return Err(ClientError::Malformed("more than a greeting before TLS"));
        }
        let connector = tokio_rustls::TlsConnector::from(tls.client.clone());
        let stream = connector.connect(tls.name.clone(), self.stream).await;
        let stream = stream.map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => {
                ClientError::Tls("TLS handshake: the server ended the connection".into())
            }
            _ => ClientError::Tls(tls.explain(&e)),
        })?;
        Ok(Link {
            stream: Box::new(stream),
            local: self.local,
            encrypted: true,
            private: true,
            assembler: Assembler::new(PACKET_LIMIT),
        })
    }

    async fn send(&mut self, payload: &[u8], sequence: u8) -> Result<(), ClientError> {
        let mut bytes = Vec::with_capacity(payload.len() + 4);
        frame(payload, sequence, &mut bytes);
        self.stream.write_all(&bytes).await?;
        self.stream.flush().await?;
        Ok(())
    }

    /// The next whole payload and its sequence number.
    async fn receive(&mut self) -> Result<(u8, Vec<u8>), ClientError> {
        let mut chunk = [0u8; 4096];
        loop {
            if let Some(packet) = self.assembler.pop() {
                return Ok(packet);
            }
            match self.stream.read(&mut chunk).await? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => self.assembler.push(&chunk[..n])?,
            }
        }
    }
}

/// A logged-in connection.
pub struct Client {
    link: Link,
    capabilities: u64,
}

impl Client {
    /// Logs in on `link`, whose `greeting` has just been read.
    pub async fn login(
        link: Link,
        tls: Option<&Arc<ServerTls>>,
        greeting: &handshake::Greeting,
        user: &str,
        password: &str,
    ) -> Result<Client, ClientError> {
        let (link, capabilities) = login::login(link, tls, greeting, user, password).await?;
        Ok(Client { link, capabilities })
    }

    /// Runs one statement and reads its whole answer.
    pub async fn query(&mut self, sql: &str) -> Result<Rows, ClientError> {
        self.query_up_to(sql, ROW_LIMIT).await
    }

    /// As [`Client::query`], for answers of up to `limit` rows.
    pub async fn query_up_to(&mut self, sql: &str, limit: usize) -> Result<Rows, ClientError> {
        let mut payload = vec![command::QUERY];
        payload.extend_from_slice(sql.as_bytes());
        self.link.send(&payload, 0).await?;
        rows::receive(&mut self.link, self.capabilities, limit).await
    }

    /// What is asked from here on has whole, present answers, whatever the server gives new sessions: with autocommit off a
    /// kept connection would read the same snapshot for ever, sql_select_limit cuts lists, a sql_mode may pad values.
    pub async fn settle_in(&mut self) -> Result<(), ClientError> {
        self.query(
            "SET SESSION autocommit = 1, sql_mode = '', sql_select_limit = 18446744073709551615",
        )
        .await?;
        self.stay_out_of_the_log().await
    }

    /// Keeps what is asked from here on out of the server's general log, where the account may do so: a log that somebody turns on
    /// to look for something would be full of it.
    async fn stay_out_of_the_log(&mut self) -> Result<(), ClientError> {
        match self.query("SET SESSION sql_log_off = 1").await {
            // no right to
            Err(ClientError::Server(_)) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub async fn quit(mut self) {
        let _ = self.link.send(&[command::QUIT], 0).await;
        let _ = self.link.stream.shutdown().await;
    }
}
