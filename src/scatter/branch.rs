//! One connection: what is sent on it, and its replies as events.
use super::failure::Failure;
use super::packets::Packets;
use crate::net::{Buf, Socket};
use crate::wire::capabilities::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA,
};
use crate::wire::column::{decode_count, Column};
use crate::wire::packet::MAX_PAYLOAD;
use crate::wire::reply::{self, Change, EOF, ERR, OK};
use crate::wire::status::MORE_RESULTS;
use std::task::{Context, Poll};
use std::time::Instant;

/// A connection and what runs on it.
pub struct Branch<'a> {
    pub socket: &'a Socket,
    /// In effect on the connection.
    pub capabilities: u64,
    /// Framed commands: `silent` of the proxy's own, then one for each part.
    pub bytes: Buf,
    /// Replies in front, each an OK that nobody sees (state, BEGIN, SAVEPOINT).
    pub silent: usize,
    /// The plan's parts, in the order they run here.
    pub parts: Vec<usize>,
    /// The session holds the connection: an unread reply would cost it its transaction.
    pub keep: bool,
}

/// What a branch has come to.
#[derive(Debug, Default)]
pub struct BranchEnd {
    /// All replies were read: the connection can be used again.
    pub clean: bool,
    /// Commands were sent on it.
    pub sent: bool,
    /// The silent commands were answered with OK.
    pub prepared: bool,
    /// Status flags of the last OK or EOF.
    pub status: Option<u16>,
    /// What the server's session tracking reported.
    pub changes: Vec<Change>,
    /// Its first error.
    pub error: Option<reply::Err>,
}

/// What comes next of a branch.
pub(super) enum Event {
    /// A part's whole answer.
    Ok {
        part: usize,
        ok: reply::Ok,
    },
    Columns {
        part: usize,
        columns: Vec<Column>,
    },
    Row(Buf),
    /// A part's rows have ended.
    End {
        part: usize,
        warnings: u16,
    },
    /// A silent reply, or the end of all.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    First,
    Definitions { left: usize },
    DefinitionsEnd,
    Rows,
}

/// A branch while its replies are read.
pub(super) struct Channel<'a> {
    branch: Branch<'a>,
    packets: Packets<'a>,
    phase: Phase,
    silent_left: usize,
    silent_failed: bool,
    /// Place in `branch.parts`.
    at: usize,
    columns: Vec<Column>,
    failed: bool,
    end: BranchEnd,
}

impl<'a> Channel<'a> {
    pub fn new(branch: Branch<'a>, longest: usize) -> Channel<'a> {
        Channel {
            packets: Packets::new(branch.socket, longest),
            phase: Phase::First,
            silent_left: branch.silent,
            silent_failed: false,
            at: 0,
            columns: Vec::new(),
            failed: false,
            end: BranchEnd::default(),
            branch,
        }
    }

    pub fn send(&mut self) {
        self.end.sent = true;
        self.branch.socket.send(self.branch.bytes.clone());
    }

    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.packets.socket().set_deadline(deadline);
    }

    /// Something of its replies is still to come.
    pub fn is_open(&self) -> bool {
        !self.failed && (self.silent_left > 0 || self.at < self.branch.parts.len())
    }

    pub fn keep(&self) -> bool {
        self.branch.keep
    }

    /// The part whose reply is read now, or was read last.
    pub fn part(&self) -> usize {
        let last = self.branch.parts.len().saturating_sub(1);
        let at = self.at.min(last);
        self.branch.parts.get(at).copied().unwrap_or(0)
    }

    pub fn runs(&self, part: usize) -> bool {
        self.branch.parts.contains(&part)
    }

    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, Failure>> {
        while self.is_open() {
            let payload = match self.packets.poll_payload(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(payload)) => payload,
                // the statement ran too long: what it still sends can be read
                Poll::Ready(Err(cause)) if cause.kind() == std::io::ErrorKind::TimedOut => {
                    return Poll::Ready(Err(Failure::Overdue));
                }
                Poll::Ready(Err(cause)) => {
                    self.failed = true;
                    let part = self.part();
                    return Poll::Ready(Err(Failure::Lost { part, cause }));
                }
            };
            match self.take(payload) {
                Ok(None) => {}
                Ok(Some(event)) => return Poll::Ready(Ok(event)),
                Err(failure) => {
                    self.failed |= !matches!(failure, Failure::Refused { .. });
                    return Poll::Ready(Err(failure));
                }
            }
        }
        Poll::Ready(Ok(Event::Nothing))
    }

    pub fn finish(mut self) -> BranchEnd {
        self.end.clean = !self.is_open() && !self.failed;
        self.end.prepared = self.silent_left == 0 && !self.silent_failed;
        if let Some(rest) = self.packets.into_rest() {
            // not asked for: the pool sees it and closes the connection
            self.branch.socket.unread(rest);
        }
        self.end
    }

    fn take(&mut self, payload: Buf) -> Result<Option<Event>, Failure> {
        match (self.phase, payload.first().copied()) {
            (_, None) => Err(self.protocol("empty packet")),
            (Phase::Definitions { left }, Some(_)) => self.definition(&payload, left),
            (_, Some(ERR)) => self.error(&payload),
            (Phase::First, Some(OK)) => self.ok(&payload),
            (Phase::First, Some(_)) => self.count(&payload),
            (Phase::DefinitionsEnd, Some(_)) => {
                self.phase = Phase::Rows;
                Ok(Some(self.columns()))
            }
            (Phase::Rows, Some(EOF)) if self.is_end(&payload) => self.rows_end(&payload),
            (Phase::Rows, Some(_)) => Ok(Some(Event::Row(payload))),
        }
    }

    fn is_end(&self, payload: &[u8]) -> bool {
        let longest = if self.branch.capabilities & DEPRECATE_EOF != 0 {
            MAX_PAYLOAD - 1
        } else {
            8
        };
        payload.len() <= longest
    }

    fn error(&mut self, payload: &[u8]) -> Result<Option<Event>, Failure> {
        let progress = reply::is_progress_report(payload);
        let error =
            reply::Err::decode(payload).map_err(|_| self.protocol("malformed error packet"))?;
        if progress {
            return Ok(None);
        }
        let part = self.part();
        self.silent_failed |= self.silent_left > 0;
        self.next();
        self.end.error.get_or_insert_with(|| error.clone());
        Err(Failure::Refused { part, error })
    }

    fn ok(&mut self, payload: &[u8]) -> Result<Option<Event>, Failure> {
        let ok = self.decode_ok(payload)?;
        let silent = self.silent_left > 0;
        let part = self.part();
        self.next();
        Ok((!silent).then_some(Event::Ok { part, ok }))
    }

    fn decode_ok(&mut self, payload: &[u8]) -> Result<reply::Ok, Failure> {
        let mut ok = reply::Ok::decode(payload, self.branch.capabilities)
            .map_err(|m| self.protocol(m.what))?;
        self.end.status = Some(ok.status);
        if self.silent_left == 0 {
            self.end.changes.append(&mut ok.changes);
        }
        if ok.status & MORE_RESULTS != 0 {
            return Err(self.protocol("several results from one statement"));
        }
        Ok(ok)
    }

    fn count(&mut self, payload: &[u8]) -> Result<Option<Event>, Failure> {
        const FLAGGED: u64 = OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA;
        let (count, rest) = decode_count(payload)
            .map_err(|_| self.protocol("a reply that is neither OK nor an error nor rows"))?;
        if self.silent_left > 0 {
            return Err(self.protocol("rows where none were asked for"));
        }
        if self.branch.capabilities & FLAGGED != 0 && rest.first() == Some(&0) {
            return Err(self.protocol("rows without their columns"));
        }
        self.columns = Vec::new();
        self.phase = Phase::Definitions { left: count };
        Ok(None)
    }

    fn definition(&mut self, payload: &[u8], left: usize) -> Result<Option<Event>, Failure> {
        let column =
            Column::decode(payload, self.branch.capabilities).map_err(|m| self.protocol(m.what))?;
        self.columns.push(column);
        if left > 1 {
            self.phase = Phase::Definitions { left: left - 1 };
            return Ok(None);
        }
        if self.branch.capabilities & DEPRECATE_EOF == 0 {
            self.phase = Phase::DefinitionsEnd;
            return Ok(None);
        }
        self.phase = Phase::Rows;
        Ok(Some(self.columns()))
    }

    fn columns(&mut self) -> Event {
        Event::Columns {
            part: self.part(),
            columns: std::mem::take(&mut self.columns),
        }
    }

    fn rows_end(&mut self, payload: &[u8]) -> Result<Option<Event>, Failure> {
        let ok = self.decode_ok(payload)?;
        let part = self.part();
        self.next();
        let warnings = ok.warnings;
        Ok(Some(Event::End { part, warnings }))
    }

    /// A reply has ended.
    fn next(&mut self) {
        self.phase = Phase::First;
        if self.silent_left > 0 {
            self.silent_left -= 1;
        } else {
            self.at += 1;
        }
    }

    fn protocol(&self, what: &'static str) -> Failure {
        Failure::Protocol {
            part: self.part(),
            what,
        }
    }
}
