//! Packets over a tokio socket, with limits and deadlines.

use crate::wire::packet::{frame, Assembler};
use crate::wire::Malformed;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The largest packet taken from an admin client.
const PACKET_LIMIT: usize = 1 << 20;
/// A client that takes no byte of its answer for so long is given up.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);

/// Why an admin connection ends other than by COM_QUIT.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the client's bytes do not follow the protocol: {0}")]
    Malformed(&'static str),
    #[error("login refused")]
    LoginRefused,
    #[error("too many logins of its address wait after failed ones")]
    TooManyFailures,
}

impl From<Malformed> for Ended {
    fn from(e: Malformed) -> Ended {
        Ended::Malformed(e.what)
    }
}

pub struct PacketStream {
    stream: TcpStream,
    assembler: Assembler,
}

impl PacketStream {
    pub fn new(stream: TcpStream) -> PacketStream {
        PacketStream {
            stream,
            assembler: Assembler::new(PACKET_LIMIT),
        }
    }

    /// The next payload and its sequence number; None: the client closed. Errors: TimedOut after
    /// `deadline`.
    pub async fn receive(&mut self, deadline: Duration) -> Result<Option<(u8, Vec<u8>)>, Ended> {
        match timeout(deadline, self.next()).await {
            Ok(packet) => packet,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    pub async fn send(&mut self, payload: &[u8], sequence: u8) -> Result<(), Ended> {
        let mut bytes = Vec::with_capacity(payload.len() + 4);
        frame(payload, sequence, &mut bytes);
        self.send_framed(&bytes).await
    }

    pub async fn send_framed(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        match timeout(WRITE_DEADLINE, self.stream.write_all(bytes)).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    async fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>, Ended> {
        let mut chunk = [0u8; 4096];
        loop {
            if let Some(packet) = self.assembler.pop() {
                return Ok(Some(packet));
            }
            match self.stream.read(&mut chunk).await? {
                0 => return Ok(None),
                n => self.assembler.push(&chunk[..n])?,
            }
        }
    }
}
