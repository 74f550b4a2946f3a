//! TLS on a socket: between the ring's buffers and the queues that tasks see.
//!
//! What a task sends is encrypted when it is flushed, small buffers joined into one record; what is received is
//! decrypted when it arrives. Queues, limits, deadlines and hang-ups are the socket's own, in plaintext as with
//! TLS. A connection without TLS has one empty pointer for it.
mod connection;

use super::driver::{self, note_waker, wake, Driver};
use super::queue::Queue;
use super::slot::Slot;
use super::{Buf, Socket};
use connection::{Tls, Yield, FRAGMENT};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConfig, ServerConfig};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A buffer this long is encrypted by itself; shorter ones in a row share a record.
const ALONE: usize = 4 << 10;

/// The encryption of one socket.
pub(super) struct Layer {
    tls: Tls,
    /// Queued by tasks, not encrypted yet.
    pub(super) outgoing: Queue,
}

impl Layer {
    fn new(tls: Tls) -> Layer {
        Layer {
            tls,
            outgoing: Queue::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.tls.is_closed() || self.is_broken()
    }

    /// What a receiver gets once nothing received is left. None: more may come.
    pub(super) fn end(&self) -> Option<io::Result<Option<Buf>>> {
        match self.tls.failure() {
            Some(error) => Some(Err(invalid(error))),
            None => self.tls.is_closed().then_some(Ok(None)),
        }
    }

    pub(super) fn is_established(&self) -> bool {
        self.tls.is_established()
    }

    /// What is received cannot be trusted any more; nothing further is sent but the alert.
    pub(super) fn is_broken(&self) -> bool {
        self.tls.failure().is_some()
    }

    /// Gives up what was not encrypted yet; the count of its bytes.
    pub(super) fn clear(&mut self) -> usize {
        let bytes = self.outgoing.iter().map(|buf| buf.len()).sum();
        self.outgoing.clear();
        bytes
    }
}

fn invalid(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.clone())
}

/// What was agreed on in a connection's handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsInfo {
    /// As MySQL names it: `TLSv1.3`.
    pub version: &'static str,
    /// OpenSSL's name, as in MySQL's `Ssl_cipher`.
    pub cipher: &'static str,
    /// The peer presented a certificate, and it was verified.
    pub certificate: bool,
    /// Without a full handshake, by what the peer kept of an earlier one.
    pub resumed: bool,
}

impl Socket {
    /// Makes the connection a TLS one, as its server. `first`: bytes that came behind the request for it; they
    /// and all that follows are TLS. The socket's deadline bounds the handshake.
    ///
    /// # Errors
    /// InvalidData: the handshake failed, and the peer is told by an alert if the socket is closed gracefully;
    /// UnexpectedEof, TimedOut, or what the kernel reported.
    pub async fn accept_tls(&self, config: Arc<ServerConfig>, first: Buf) -> io::Result<()> {
        let connection = UnbufferedServerConnection::new(config).map_err(|e| invalid(&e))?;
        self.shake_hands(Tls::server(connection), first).await
    }

    /// As [`Socket::accept_tls`], as its client: `name` is what the server's certificate is checked against.
    ///
    /// # Errors
    /// The same.
    pub async fn connect_tls(
        &self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> io::Result<()> {
        let connection = UnbufferedClientConnection::new(config, name).map_err(|e| invalid(&e))?;
        self.shake_hands(Tls::client(connection), Buf::default())
            .await
    }

    async fn shake_hands(&self, tls: Tls, first: Buf) -> io::Result<()> {
        let index = self.index();
        driver::with(|driver| driver.start_tls(index, tls, first));
        poll_fn(|cx| driver::with(|driver| driver.poll_established(index, cx.waker()))).await
    }

    /// What is sent and received is encrypted, or about to be.
    pub fn is_encrypted(&self) -> bool {
        driver::with(|driver| driver.slots[self.index() as usize].tls.is_some())
    }

    /// What the handshake agreed on; None without TLS.
    pub fn tls(&self) -> Option<TlsInfo> {
        driver::with(|driver| {
            let layer = driver.slots[self.index() as usize].tls.as_ref()?;
            info(&layer.tls)
        })
    }
}

impl Driver {
    fn start_tls(&mut self, index: u32, mut tls: Tls, first: Buf) {
        let slot = &mut self.slots[index as usize];
        debug_assert!(slot.tls.is_none(), "TLS within TLS");
        let mut out = Yield::default();
        tls.begin(&mut out);
        tls.receive(first, &mut out);
        slot.tls = Some(Box::new(Layer::new(tls)));
        self.yielded(index, out);
        let mut early = std::mem::take(&mut self.slots[index as usize].received);
        self.slots[index as usize].received_bytes = 0;
        while let Some(buf) = early.pop_front() {
            self.open(index, buf);
        }
        self.resume_if_taken(index);
    }

    /// Decrypts what was received.
    pub(super) fn open(&mut self, index: u32, buf: Buf) {
        let Some(layer) = &mut self.slots[index as usize].tls else {
            return;
        };
        let mut out = Yield::default();
        layer.tls.receive(buf, &mut out);
        self.yielded(index, out);
    }

    /// Queues what came of received bytes, and wakes who waits for it.
    fn yielded(&mut self, index: u32, out: Yield) {
        let slot = &mut self.slots[index as usize];
        let Some(layer) = &mut slot.tls else { return };
        if layer.is_broken() {
            slot.queued -= layer.clear();
        }
        let changed = !out.plain.is_empty() || layer.is_over() || layer.tls.is_established();
        let to_send = !out.wire.is_empty() || !layer.outgoing.is_empty();
        for buf in out.plain {
            slot.received_bytes += buf.len();
            slot.received.push_back(buf);
        }
        if changed {
            wake(&mut slot.recv_waker, &mut self.woken);
        }
        if slot.is_silent() {
            wake(&mut slot.hangup_waker, &mut self.woken);
        }
        if to_send {
            self.queue_sealed(index, Buf::from_vec(out.wire));
            self.mark_dirty(index);
        }
    }

    fn poll_established(&mut self, index: u32, waker: &Waker) -> Poll<io::Result<()>> {
        let slot = &mut self.slots[index as usize];
        let Some(layer) = &slot.tls else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if let Some(error) = layer.tls.failure() {
            Poll::Ready(Err(invalid(error)))
        } else if slot.error != 0 {
            Poll::Ready(Err(io::Error::from_raw_os_error(slot.error)))
        } else if layer.tls.is_established() {
            Poll::Ready(Ok(()))
        } else if slot.is_silent() {
            Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
        } else if slot.deadline <= self.now {
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        } else {
            note_waker(&mut slot.recv_waker, waker);
            Poll::Pending
        }
    }

    /// Encrypts what tasks have queued, once the handshake is over.
    #[inline]
    pub(super) fn seal(&mut self, index: u32) {
        if self.slots[index as usize].tls.is_some() {
            self.seal_queued(index);
        }
    }

    fn seal_queued(&mut self, index: u32) {
        let mut joined = std::mem::take(&mut self.joined);
        while let Some(result) = self.slots[index as usize].seal_next(&mut joined) {
            match result {
                Ok(buf) => self.queue_sealed(index, buf),
                Err(error) => {
                    tracing::warn!(%error, "TLS: cannot encrypt: the connection ends");
                    self.fail(index, libc::EIO);
                }
            }
        }
        self.joined = joined;
    }

    /// Says that nothing more will be sent, behind all that is queued.
    pub(super) fn seal_end(&mut self, index: u32) {
        self.seal(index);
        let Some(layer) = &mut self.slots[index as usize].tls else {
            return;
        };
        if !layer.tls.is_established() || layer.is_broken() {
            return;
        }
        // without it the peer sees the plain end of the connection
        if let Ok(buf) = layer.tls.seal_end() {
            self.queue_sealed(index, buf);
            self.mark_dirty(index);
        }
    }

    fn queue_sealed(&mut self, index: u32, buf: Buf) {
        let slot = &mut self.slots[index as usize];
        if buf.is_empty() || slot.error != 0 {
            return;
        }
        if slot.queued == 0 {
            slot.progress = self.now;
        }
        slot.queued += buf.len();
        slot.queue.push_back(buf);
    }
}

impl Slot {
    /// The next record or records of what tasks have queued. None: nothing is left, or it is not time yet.
    fn seal_next(&mut self, joined: &mut Vec<u8>) -> Option<Result<Buf, rustls::Error>> {
        let layer = self.tls.as_mut()?;
        if self.error != 0 || !layer.tls.is_established() {
            return None;
        }
        let first = layer.outgoing.pop_front()?;
        let second = layer.outgoing.first();
        if first.len() >= ALONE || second.is_none_or(|s| s.len() + first.len() > FRAGMENT) {
            self.queued -= first.len();
            return Some(layer.tls.seal(&first));
        }
        joined.clear();
        joined.extend_from_slice(&first);
        while let Some(next) = layer.outgoing.first() {
            if joined.len() + next.len() > FRAGMENT {
                break;
            }
            joined.extend_from_slice(next);
            layer.outgoing.pop_front();
        }
        self.queued -= joined.len();
        Some(layer.tls.seal(joined))
    }
}

fn info(tls: &Tls) -> Option<TlsInfo> {
    let common = tls.common();
    let suite = common.negotiated_cipher_suite()?;
    Some(TlsInfo {
        version: match common.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => "TLSv1.2",
        },
        cipher: openssl_name(suite.suite()),
        certificate: common.peer_certificates().is_some(),
        resumed: common.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
    })
}

/// OpenSSL's name of a suite that rustls has.
fn openssl_name(suite: rustls::CipherSuite) -> &'static str {
    use rustls::CipherSuite::*;
    match suite {
        TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        other => other.as_str().unwrap_or("unknown"),
    }
}
