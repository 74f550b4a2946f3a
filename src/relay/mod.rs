//! Packets from a server connection to a client, unparsed but for their headers.
//!
//! [`Relay`] walks one command's reply with the [`Tracker`], hands the server's buffers on to the
//! client's socket without copying, and looks into the few control packets only: they carry the status
//! flags, the session tracker's changes, and the errors that decide about a retry.
mod control;
mod inbox;
mod stream;
#[cfg(test)]
mod tests;

pub use control::TrackFilter;
pub use inbox::{Closed, Command, Fault, Inbox, WHOLE_LIMIT};
pub use stream::{stream_command, stream_file, Upload};

use crate::net::{yield_now, Buf, Side, Socket, Splice};
use crate::wire::reply::{self, Change};
use crate::wire::tracker::{Control, Step, Tracker};
use crate::wire::Malformed;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

/// What a finished reply told about the session.
#[derive(Debug, Default)]
pub struct TurnEnd {
    /// Status flags of the last OK or EOF packet; None: the reply carried none (an error, COM_STATISTICS).
    pub status: Option<u16>,
    /// The error that ended the reply.
    pub error: Option<reply::Err>,
    pub warnings: u16,
    /// Of the last OK packet that carried one.
    pub last_insert_id: Option<u64>,
    /// What the server's session tracking reported, in order.
    pub changes: Vec<Change>,
    /// First packet of a COM_STMT_PREPARE's reply, with the server's own statement id.
    pub prepared: Option<crate::wire::prepare::PrepareOk>,
    /// Bytes passed to the client.
    pub bytes: u64,
    /// Rows passed, of all results.
    pub rows: u64,
    /// The reply had more than one result.
    pub several: bool,
    /// What was streamed of a large command speaks of a user lock.
    pub mentions_lock: bool,
    /// And of a user variable that is given a value.
    pub mentions_assignment: bool,
    /// An EOF said that session state has changed, where no report can follow.
    pub changed_untold: bool,
    /// What the statement set without a report was asked for, and is among `changes`.
    pub asked: bool,
    /// A report that a server would still keep for a client whose tracking is its own: see [`TrackFilter::keeps_schema`].
    pub kept_schema: bool,
}

/// Why a reply did not come to its end.
#[derive(Debug)]
pub enum Broken {
    /// The server's connection ended or failed. `untouched`: the client has seen no byte of the reply.
    Server { untouched: bool, cause: io::Error },
    /// The server's bytes do not follow the protocol.
    Protocol { untouched: bool, what: &'static str },
    /// The client is gone or takes no bytes.
    Client(io::Error),
}

/// How far [`Relay::run`] came.
#[derive(Debug)]
pub enum Progress {
    Done,
    /// The first packet was an error that [`Relay::hold_errors`] names; it was not passed on.
    HeldError(reply::Err),
    /// The server asks for a file of the client (request passed on): send it, then run on.
    LocalInfile,
    /// The next row is over [`Relay::limit`]; its packet would have had this sequence number. What is left of
    /// the reply is the caller's to [`Relay::drain`].
    OverLimit {
        sequence: u8,
    },
}

/// Of a packet of which as much is still to come the rest is moved inside the kernel: below, what that costs (the
/// receive is taken off and put on again) is no less than copying.
const LONG: usize = 128 << 10;

/// Looks at the beginning of a reply before anything of it is passed on; may change what its packets hold.
pub trait Heading {
    /// `reply`: what is here of it.
    fn head(&self, reply: &[u8]) -> Head;
}

/// What is to be done with the beginning of a reply.
pub enum Head {
    /// Too little of it is here to say.
    NeedMore,
    AsIs,
    Instead(Buf),
}

/// A reply's beginning is waited for up to so many bytes: the definitions of 4096 columns, with long names.
const LONGEST_HEAD: usize = 2 << 20;

/// One reply on its way. Per turn.
pub struct Relay<'a> {
    pub server: &'a Socket,
    /// None: the reply is swallowed (synchronisation, or a result that must not be seen).
    pub client: Option<&'a Socket>,
    /// Bytes queued for the client above which the server is not read.
    pub high_water: usize,
    /// Of the server connection and of the client: OK packets are translated where they differ.
    pub server_capabilities: u64,
    pub client_capabilities: u64,
    pub filter: TrackFilter,
    /// A report that was kept before, for the first OK that tells the client something.
    /// Boxed, as the next: rare, and a turn is small.
    pub owed_schema: Option<Box<Change>>,
    /// Errors that, as the first packet, are kept back for the caller to decide on.
    pub hold_errors: &'a [u16],
    /// Replaces the statement id in the first packet of a COM_STMT_PREPARE reply.
    pub statement_id: Option<u32>,
    /// Of one word: a turn is small.
    pub head: Option<Rc<Box<dyn Heading>>>,
    /// The statement was interrupted by the proxy: the client is told this instead of 1317.
    pub interrupted: Option<Box<reply::Err>>,
    pub end: TurnEnd,
    tracker: Tracker,
    /// Received and not yet looked at.
    pending: Option<Buf>,
    /// Long packets are being moved inside the kernel. Boxed: most replies have none, and a turn is small.
    splice: Option<Box<Splice>>,
}

impl<'a> Relay<'a> {
    pub fn new(
        server: &'a Socket,
        client: Option<&'a Socket>,
        command: u8,
        server_capabilities: u64,
    ) -> Relay<'a> {
        Relay {
            server,
            client,
            high_water: usize::MAX,
            server_capabilities,
            client_capabilities: server_capabilities,
            filter: TrackFilter::default(),
            owed_schema: None,
            hold_errors: &[],
            statement_id: None,
            head: None,
            interrupted: None,
            end: TurnEnd::default(),
            tracker: Tracker::new(command, server_capabilities),
            pending: None,
            splice: None,
        }
    }

    /// Passes the reply on until it ends or the caller has to act.
    pub async fn run(&mut self) -> Result<Progress, Broken> {
        let progress = self.pass_on().await;
        self.splice = None;
        progress
    }

    async fn pass_on(&mut self) -> Result<Progress, Broken> {
        loop {
            if let Some(buf) = self.pending.take().and_then(|buf| self.begin(buf)) {
                let progress = self.walk(buf)?;
                self.end.rows = self.tracker.rows();
                if let Some(progress) = progress {
                    return Ok(progress);
                }
                self.choose_way();
            }
            while self.can_move() {
                poll_fn(|cx| self.poll_move(cx)).await?;
                // the other sessions have their turn
                yield_now().await;
            }
            let buf = poll_fn(|cx| self.poll_server(cx)).await?;
            self.pending = Some(match self.pending.take() {
                None => buf,
                Some(first) => join(&first, &buf),
            });
        }
    }

    /// The reply's beginning as it is to be passed on; None: more of it is needed.
    #[inline]
    fn begin(&mut self, buf: Buf) -> Option<Buf> {
        let Some(head) = self.head.take() else {
            return Some(buf);
        };
        match head.head(&buf) {
            Head::AsIs => Some(buf),
            Head::Instead(other) => Some(other),
            Head::NeedMore if buf.len() >= LONGEST_HEAD => Some(buf),
            Head::NeedMore => {
                self.head = Some(head);
                self.pending = Some(buf);
                None
            }
        }
    }

    /// Most rows that may pass, and most bytes of them.
    pub fn limit(&mut self, rows: u64, bytes: u64) {
        self.tracker.limit(rows, bytes);
    }

    /// Reads what is left of the reply, unseen by the client. True: it came to its end within `bound` bytes.
    ///
    /// # Errors
    /// The server's connection is of no more use.
    pub async fn drain(&mut self, bound: usize) -> Result<bool, Broken> {
        self.client = None;
        self.tracker.limit(u64::MAX, u64::MAX);
        let mut left = bound;
        loop {
            if let Some(buf) = self.pending.take() {
                let before = buf.len();
                match self.walk(buf)? {
                    Some(Progress::Done) => return Ok(true),
                    Some(_) => return Ok(false),
                    None => {}
                }
                let kept = self.pending.as_ref().map_or(0, |rest| rest.len());
                match left.checked_sub(before - kept.min(before)) {
                    Some(rest) => left = rest,
                    None => return Ok(false),
                }
            }
            let buf = poll_fn(|cx| self.poll_server(cx)).await?;
            self.pending = Some(match self.pending.take() {
                None => buf,
                Some(first) => join(&first, &buf),
            });
        }
    }

    /// After [`Progress::LocalInfile`]: the client's file is through, the final reply follows.
    pub fn infile_sent(&mut self) {
        self.tracker.infile_sent();
    }

    pub fn untouched(&self) -> bool {
        self.end.bytes == 0
    }

    /// The next bytes of the server, once the client's queue has room; ends early if the client is gone.
    fn poll_server(&mut self, cx: &mut Context<'_>) -> Poll<Result<Buf, Broken>> {
        if let Some(client) = self.client {
            match client.poll_room(cx, self.high_water) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(Broken::Client(e))),
                Poll::Ready(Ok(())) => {}
            }
        }
        let untouched = self.untouched();
        match self.server.poll_recv(cx) {
            Poll::Ready(Ok(Some(buf))) => return Poll::Ready(Ok(buf)),
            Poll::Ready(Ok(None)) => {
                let cause = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                );
                return Poll::Ready(Err(Broken::Server { untouched, cause }));
            }
            Poll::Ready(Err(cause)) => {
                return Poll::Ready(Err(Broken::Server { untouched, cause }))
            }
            Poll::Pending => {}
        }
        self.poll_client_gone(cx)
    }

    fn poll_client_gone<T>(&self, cx: &mut Context<'_>) -> Poll<Result<T, Broken>> {
        match self.client.map(|c| c.poll_gone(cx)) {
            Some(Poll::Ready(())) => {
                let cause = io::Error::new(io::ErrorKind::ConnectionReset, "the client is gone");
                Poll::Ready(Err(Broken::Client(cause)))
            }
            _ => Poll::Pending,
        }
    }

    /// Long packets go through the kernel, until one comes that is not.
    fn choose_way(&mut self) {
        if self.tracker.ahead() < LONG {
            self.splice = None;
        } else if self.splice.is_none() {
            let between = self.client.map(|client| Splice::begin(self.server, client));
            self.splice = between.flatten().map(Box::new);
        }
    }

    /// The next bytes are of a long packet's body, and all that was received before them is passed on.
    fn can_move(&self) -> bool {
        let quiet = self.splice.as_ref().is_some_and(|splice| splice.is_quiet());
        quiet && self.tracker.ahead() > 0 && self.pending.is_none()
    }

    fn poll_move(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let Some(splice) = &mut self.splice else {
            return Poll::Ready(Ok(()));
        };
        let moved = splice.poll_step(cx, self.tracker.ahead());
        let taken = splice.taken();
        self.tracker.passed(taken);
        self.end.bytes += taken as u64;
        match moved {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(Side::From(cause))) => {
                let untouched = self.untouched();
                Poll::Ready(Err(Broken::Server { untouched, cause }))
            }
            Poll::Ready(Err(Side::To(cause))) => Poll::Ready(Err(Broken::Client(cause))),
            Poll::Pending => self.poll_client_gone(cx),
        }
    }

    /// Walks what is here. `None`: more bytes are needed.
    fn walk(&mut self, mut buf: Buf) -> Result<Option<Progress>, Broken> {
        // bytes [0, clear) may go to the client as they are
        let mut clear = 0;
        while clear < buf.len() {
            match self
                .tracker
                .step(&buf[clear..])
                .map_err(|m| self.malformed(m))?
            {
                Step::Pass(n) => {
                    clear += n;
                    // a PREPARE reply under DEPRECATE_EOF ends with its last definition
                    if self.tracker.done() {
                        self.hand_over(buf, clear);
                        return Ok(Some(Progress::Done));
                    }
                }
                Step::OverLimit { sequence } => {
                    let rest = split_off(&mut buf, clear);
                    self.pass(buf);
                    self.pending = Some(rest);
                    return Ok(Some(Progress::OverLimit { sequence }));
                }
                Step::NeedMore => {
                    let rest = split_off(&mut buf, clear);
                    self.pass(buf);
                    self.pending = Some(rest);
                    return Ok(None);
                }
                Step::Control { n, kind } => {
                    let packet = buf.get(clear..clear + n).ok_or_else(|| {
                        self.malformed(Malformed {
                            what: "control packet",
                        })
                    })?;
                    let first = clear == 0 && self.untouched();
                    let verdict = self.control(kind, packet, first)?;
                    match verdict {
                        control::Verdict::AsIs => clear += n,
                        control::Verdict::Hold(error) => {
                            return Ok(Some(Progress::HeldError(error)))
                        }
                        control::Verdict::Replace(bytes) => {
                            let before = buf.split_to(clear);
                            self.pass(before);
                            buf.advance(n);
                            self.pass(Buf::from_vec(bytes));
                            clear = 0;
                        }
                    }
                    if kind == Control::LocalInfile {
                        self.hand_over(buf, clear);
                        return Ok(Some(Progress::LocalInfile));
                    }
                    if self.tracker.done() {
                        self.hand_over(buf, clear);
                        return Ok(Some(Progress::Done));
                    }
                }
            }
        }
        self.pass(buf);
        Ok(None)
    }

    /// The first `clear` bytes go to the client; what is behind them was not part of this reply.
    fn hand_over(&mut self, mut buf: Buf, clear: usize) {
        if clear < buf.len() {
            let rest = split_off(&mut buf, clear);
            self.server.unread(rest);
        }
        self.pass(buf);
    }

    #[inline]
    fn pass(&mut self, buf: Buf) {
        if let (Some(client), false) = (self.client, buf.is_empty()) {
            self.end.bytes += buf.len() as u64;
            client.send(buf);
        }
    }

    fn malformed(&self, m: Malformed) -> Broken {
        Broken::Protocol {
            untouched: self.untouched(),
            what: m.what,
        }
    }
}

fn join(first: &[u8], second: &[u8]) -> Buf {
    let mut joined = Vec::with_capacity(first.len() + second.len());
    joined.extend_from_slice(first);
    joined.extend_from_slice(second);
    Buf::from_vec(joined)
}

/// Keeps the first `n` bytes and returns the others.
fn split_off(buf: &mut Buf, n: usize) -> Buf {
    let front = buf.split_to(n);
    std::mem::replace(buf, front)
}
