//! One TLS connection apart from its socket: received bytes → plaintext and answers, plaintext → records.
//!
//! rustls does the protocol on buffers of ours. Whole records are decrypted where they were received; only a
//! record that came in pieces is joined first.
use crate::net::Buf;
use rustls::client::ClientConnectionData;
use rustls::client::UnbufferedClientConnection;
use rustls::server::ServerConnectionData;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedConnectionCommon, UnbufferedStatus,
};
use rustls::Error;
use smallvec::SmallVec;
use std::ops::DerefMut;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Content type, version, length: in front of every record.
const HEADER: usize = 5;
/// Bytes behind the header that a record may have at most (TLS 1.2 allows more than 1.3); rustls refuses longer
/// ones.
const LONGEST: usize = 16_384 + 2_048;
/// Most plaintext of one record.
pub(super) const FRAGMENT: usize = 16_384;
/// What a record adds to its plaintext at most: header, explicit nonce, content type, tag; and room for a key
/// update in front.
const OVERHEAD: usize = 128;
/// A handshake message may lie in several records, which are kept until it is whole. Longer than the longest
/// that rustls takes, with its headers.
const KEPT: usize = 96 << 10;

enum Side {
    Server(UnbufferedServerConnection),
    Client(UnbufferedClientConnection),
}

/// Per connection that uses TLS.
///
/// Invariant: `incoming` ends with `tail` bytes of a record that is not whole.
pub(in crate::net) struct Tls {
    side: Side,
    /// Received and kept: records of a handshake message that is not whole, then the beginning of a record.
    incoming: Vec<u8>,
    tail: usize,
    established: bool,
    closed: bool,
    failure: Option<Error>,
}

/// What came of received bytes.
#[derive(Default)]
pub(super) struct Yield {
    pub plain: SmallVec<[Buf; 4]>,
    /// For the peer: handshake messages, alerts.
    pub wire: Vec<u8>,
}

impl Tls {
    pub fn server(connection: UnbufferedServerConnection) -> Tls {
        Tls::new(Side::Server(connection))
    }

    pub fn client(connection: UnbufferedClientConnection) -> Tls {
        Tls::new(Side::Client(connection))
    }

    fn new(side: Side) -> Tls {
        Tls {
            side,
            incoming: Vec::new(),
            tail: 0,
            established: false,
            closed: false,
            failure: None,
        }
    }

    /// The handshake is over: plaintext may be sent.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// The peer has ended its direction (close_notify).
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Why nothing more can be received.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    pub fn common(&self) -> &rustls::CommonState {
        match &self.side {
            Side::Server(connection) => connection,
            Side::Client(connection) => connection,
        }
    }

    /// What has to go out before anything is received: a client's first message.
    pub fn begin(&mut self, out: &mut Yield) {
        self.advance(&mut [], out);
    }

    /// Takes received bytes.
    pub fn receive(&mut self, mut buf: Buf, out: &mut Yield) {
        while !buf.is_empty() && !self.closed && self.failure.is_none() {
            if self.incoming.is_empty() {
                self.receive_in_place(&mut buf, out);
            } else {
                self.complete_record(&mut buf, out);
            }
        }
    }

    /// Nothing is kept: whole records are dealt with where they are.
    fn receive_in_place(&mut self, buf: &mut Buf, out: &mut Yield) {
        let whole = whole_records(buf);
        let consumed = if whole > 0 {
            self.advance(&mut buf.make_mut()[..whole], out)
        } else {
            0
        };
        self.incoming.extend_from_slice(&buf[consumed..]);
        self.tail = buf.len() - whole;
        // room for all of the record, so that it does not grow in steps
        let missing = missing(&self.incoming[self.incoming.len() - self.tail..]);
        if self.tail > 0 {
            self.incoming.reserve_exact(missing);
        }
        *buf = Buf::default();
    }

    /// Adds to the kept record what it lacks; a whole one is dealt with.
    fn complete_record(&mut self, buf: &mut Buf, out: &mut Yield) {
        let begun = self.incoming.len() - self.tail;
        let part = buf.split_to(missing(&self.incoming[begun..]));
        self.incoming.extend_from_slice(&part);
        self.tail += part.len();
        if missing(&self.incoming[begun..]) > 0 {
            return;
        }
        self.tail = 0;
        let mut incoming = std::mem::take(&mut self.incoming);
        let consumed = self.advance(&mut incoming, out);
        if consumed < incoming.len() {
            incoming.drain(..consumed);
            self.incoming = incoming;
        }
        if self.incoming.len() > KEPT && self.failure.is_none() {
            self.failure = Some(Error::General("a handshake message without end".into()));
        }
    }

    /// Lets rustls work on whole records; the count of bytes it is done with. Should it panic on what a peer sent,
    /// this connection alone ends: it is not used any more.
    fn advance(&mut self, bytes: &mut [u8], out: &mut Yield) -> usize {
        let progress = Progress {
            established: &mut self.established,
            closed: &mut self.closed,
            failure: &mut self.failure,
            out,
        };
        let side = &mut self.side;
        let worked = catch_unwind(AssertUnwindSafe(|| match side {
            Side::Server(connection) => progress.work(connection, bytes),
            Side::Client(connection) => progress.work(connection, bytes),
        }));
        worked.unwrap_or_else(|_| {
            self.failure = Some(Error::General("TLS met a fault of its own".into()));
            0
        })
    }

    /// The records of `plain`, in a buffer of their own.
    pub fn seal(&mut self, plain: &[u8]) -> Result<Buf, Error> {
        let records = plain.len().div_ceil(FRAGMENT);
        self.write(Outgoing::Plain(plain), plain.len() + records * OVERHEAD)
    }

    /// The last record: nothing more will be sent.
    pub fn seal_end(&mut self) -> Result<Buf, Error> {
        self.write(Outgoing::End, OVERHEAD)
    }

    fn write(&mut self, what: Outgoing<'_>, room: usize) -> Result<Buf, Error> {
        let whole = self.incoming.len() - self.tail;
        let kept = &mut self.incoming[..whole];
        match &mut self.side {
            Side::Server(connection) => write(connection, kept, what, room),
            Side::Client(connection) => write(connection, kept, what, room),
        }
    }
}

#[derive(Clone, Copy)]
enum Outgoing<'p> {
    Plain(&'p [u8]),
    End,
}

/// `kept` are the bytes that rustls has seen and not let go.
fn write<D>(
    connection: &mut impl Machine<D>,
    kept: &mut [u8],
    what: Outgoing<'_>,
    mut room: usize,
) -> Result<Buf, Error> {
    let UnbufferedStatus { discard, state, .. } = connection.step(kept);
    debug_assert_eq!(discard, 0, "nothing was received");
    let ConnectionState::WriteTraffic(mut traffic) = state? else {
        return Err(Error::HandshakeNotComplete);
    };
    loop {
        let mut out = Buf::blank(room);
        let written = match what {
            Outgoing::Plain(plain) => traffic.encrypt(plain, out.make_mut()),
            Outgoing::End => traffic.queue_close_notify(out.make_mut()),
        };
        match written {
            Ok(written) => {
                out.truncate(written);
                return Ok(out);
            }
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(_) => return Err(Error::EncryptError),
        }
    }
}

/// How many bytes of whole records `bytes` begin with. What cannot be a record counts as whole as it is: rustls
/// refuses it, and nobody waits for the rest of it.
fn whole_records(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(header) = bytes[at..].first_chunk() {
        if !is_record(header) {
            return bytes.len();
        }
        let end = at + HEADER + length(header);
        if end > bytes.len() {
            break;
        }
        at = end;
    }
    at
}

/// How many bytes the record that `bytes` begin lacks; of its header, while that is not whole.
fn missing(bytes: &[u8]) -> usize {
    match bytes.first_chunk() {
        Some(header) if !is_record(header) => 0,
        Some(header) => (HEADER + length(header)).saturating_sub(bytes.len()),
        None => HEADER - bytes.len(),
    }
}

/// Content type, major version and length are such as a record may have.
fn is_record(header: &[u8; HEADER]) -> bool {
    (20..=23).contains(&header[0]) && header[1] == 3 && length(header) <= LONGEST
}

fn length(header: &[u8; HEADER]) -> usize {
    usize::from(u16::from_be_bytes([header[3], header[4]]))
}

/// Both sides of rustls under one name.
trait Machine<D>: DerefMut<Target = UnbufferedConnectionCommon<D>> {
    fn step<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, D>;
}

impl Machine<ServerConnectionData> for UnbufferedServerConnection {
    fn step<'c, 'i>(
        &'c mut self,
        bytes: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(bytes)
    }
}

impl Machine<ClientConnectionData> for UnbufferedClientConnection {
    fn step<'c, 'i>(
        &'c mut self,
        bytes: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(bytes)
    }
}

/// The connection's state while rustls is at work on it.
struct Progress<'p> {
    established: &'p mut bool,
    closed: &'p mut bool,
    failure: &'p mut Option<Error>,
    out: &'p mut Yield,
}

impl Progress<'_> {
    fn work<D>(mut self, connection: &mut impl Machine<D>, bytes: &mut [u8]) -> usize {
        let mut done = 0;
        loop {
            // always what is left of the same bytes: rustls keeps places in them
            let UnbufferedStatus { discard, state, .. } = connection.step(&mut bytes[done..]);
            let further = match state {
                Ok(state) => self.note(state),
                Err(error) => {
                    self.failure.get_or_insert(error);
                    None
                }
            };
            done = (done + discard + further.unwrap_or(0)).min(bytes.len());
            if self.failure.is_some() {
                self.take_alert(connection, &mut bytes[done..]);
                return done;
            }
            if further.is_none() {
                return done;
            }
        }
    }

    /// After a failure, for as long as there is something to send and no longer: rustls must not look at the bytes
    /// that it failed on a second time.
    fn take_alert<D>(&mut self, connection: &mut impl Machine<D>, bytes: &mut [u8]) {
        while connection.wants_write() {
            let Ok(ConnectionState::EncodeTlsData(mut data)) = connection.step(bytes).state else {
                return;
            };
            encode(&mut data, &mut self.out.wire);
        }
    }

    /// Acts on a state. None: there is nothing to do without further bytes; else bytes to discard besides.
    fn note<D>(&mut self, state: ConnectionState<'_, '_, D>) -> Option<usize> {
        let mut discard = 0;
        match state {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    match record {
                        Ok(record) => {
                            discard += record.discard;
                            self.take(record.payload);
                        }
                        Err(error) => {
                            self.failure.get_or_insert(error);
                            break;
                        }
                    }
                }
            }
            ConnectionState::EncodeTlsData(mut data) => encode(&mut data, &mut self.out.wire),
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::PeerClosed => *self.closed = true,
            ConnectionState::WriteTraffic(_) => {
                *self.established = true;
                return None;
            }
            ConnectionState::BlockedHandshake | ConnectionState::Closed => return None,
            _ => {
                let what = "a state of TLS that was not asked for".into();
                self.failure.get_or_insert(Error::General(what));
            }
        }
        Some(discard)
    }

    fn take(&mut self, plain: &[u8]) {
        if !plain.is_empty() {
            self.out.plain.push(Buf::copy_from_slice(plain));
        }
    }
}

fn encode<D>(data: &mut EncodeTlsData<'_, D>, wire: &mut Vec<u8>) {
    let begun = wire.len();
    loop {
        match data.encode(&mut wire[begun..]) {
            Ok(written) => return wire.truncate(begun + written),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                wire.resize(begun + required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => return wire.truncate(begun),
        }
    }
}
