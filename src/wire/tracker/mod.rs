//! Finds the end of every command's reply by walking packet headers.
//!
//! ```text
//!            OK with MORE_RESULTS
//!          ┌──┐
//!  new ──► First ──count──► Definitions ──last──► DefinitionsEnd ──EOF──► Rows ──EOF/OK──► Done
//!          │ ▲ │                 │       (DEPRECATE_EOF: none)             ▲  │
//!          │ │ └─PREPARE_OK──► Definitions of parameters, then of columns  │  │
//!          │ └─────────────────────── MORE_RESULTS ────────────────────────┼──┘
//!          └──FETCH, FIELD_LIST, BINLOG_DUMP───────────────────────────────┘
//! ```
//!
//! ERR ends a reply in any state. Rows, definitions and the EOF between them are passed without a
//! look at anything but header and first byte.

mod classify;
#[cfg(test)]
mod tests;

use super::packet::{Header, HEADER, MAX_PAYLOAD};
use super::{reply, Malformed};
use classify::{Family, Found};

pub use super::command::expects_reply;

/// What follows in the server's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next `n` bytes (n > 0) carry nothing the proxy has to look at: pass them on. May end in
    /// the middle of a packet. [`Tracker::done`] may be true afterwards: under DEPRECATE_EOF the
    /// reply to PREPARE ends with a definition.
    Pass(usize),
    /// The next `n` bytes are one whole control packet, header included: OK, EOF or ERR, first
    /// prepare reply, LOCAL INFILE request. `kind` says which and whether the reply ends with it.
    Control { n: usize, kind: Control },
    /// A row that the reply's limits do not allow begins here; its header has this sequence number. Only with
    /// [`Tracker::limit`].
    OverLimit { sequence: u8 },
    /// A packet that has to be looked at begins but is not whole: keep the bytes, come back with
    /// more behind them.
    NeedMore,
}

/// A packet that the proxy has to see. `end`: the reply ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// OK packet; `end` false: more results follow.
    Ok { end: bool, status: u16 },
    /// Ends a result set, or a reply that is only this (EOF, or OK with header 0xfe under
    /// DEPRECATE_EOF). CURSOR_EXISTS in `status`: the statement has a cursor open; MySQL says so
    /// of a prepared EXPLAIN too, whose rows have all been sent.
    ResultEnd { end: bool, status: u16 },
    /// EOF behind definitions where no rows follow: a cursor was opened (`status` says so), or a
    /// statement was prepared. The EOF between definitions and rows is passed with them.
    ColumnsEnd { end: bool, status: u16 },
    /// ERR packet: always the end.
    Err,
    /// COM_STMT_PREPARE_OK; `end`: neither parameters nor columns follow.
    Prepared { end: bool },
    /// The server wants the client's file (0xfb): the client's packets follow until an empty one.
    LocalInfile,
    /// COM_STATISTICS text and the like: one packet, no status.
    Text,
    /// AuthSwitchRequest or AuthMoreData within COM_CHANGE_USER.
    Auth,
}

impl Control {
    /// The reply ends with this packet.
    pub fn ends(self) -> bool {
        match self {
            Control::Ok { end, .. } | Control::ResultEnd { end, .. } => end,
            Control::ColumnsEnd { end, .. } | Control::Prepared { end } => end,
            Control::Err | Control::Text => true,
            Control::LocalInfile | Control::Auth => false,
        }
    }
}

/// A control packet may announce this much, bytes. The longest real ones hold a set of GTIDs.
pub const CONTROL_LIMIT: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The next packet begins a reply or a further result.
    First,
    /// `left` definitions, then `later` more.
    Definitions,
    /// The EOF behind definitions.
    DefinitionsEnd,
    Rows,
    Done,
}

/// Where a row's header is, the one before says: each is a miss of the cache that the next one waits for, since the
/// kernel's copy may have left only the newest bytes there. Small rows are therefore fetched this far ahead, all
/// lines at once; the send that follows needs them too.
const AHEAD: usize = 1024;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Reads a byte of each line from here to there; where it ended.
fn fetch(bytes: &[u8], from: usize, to: usize) -> usize {
    for byte in bytes.iter().take(to).skip(from).step_by(LINE) {
        std::hint::black_box(*byte);
    }
    to
}

/// One command's reply. Per turn; small, no allocation.
///
/// Invariant: the next byte to look at is `skip` bytes ahead, and a packet's header begins there.
#[derive(Debug, Clone)]
pub struct Tracker {
    /// Bytes still to come of a packet that has been judged.
    skip: u32,
    /// Definitions still to come in this block.
    left: u16,
    /// Prepared statement: definitions of columns still to come behind those of parameters.
    later: u16,
    family: Family,
    phase: Phase,
    /// The last packet was full: the next is its continuation, whatever its first byte.
    continued: bool,
    /// A result set's rows follow its definitions, and not those of a prepared statement.
    rows_follow: bool,
    /// Definitions are announced but left out. The EOF packets behind them are not.
    omitted: bool,
    /// These rows are a procedure's OUT parameters: its OK follows. MySQL says so only in the EOF
    /// before the rows, where there is one.
    out_parameters: bool,
    deprecate_eof: bool,
    /// A byte behind the column count says whether definitions follow.
    metadata_flag: bool,
    touched: bool,
    infile: bool,
    /// Rows passed, of all the reply's results, and their bytes with headers.
    rows: u64,
    row_bytes: u64,
    max_rows: u64,
    max_bytes: u64,
}

impl Tracker {
    /// `capabilities`: of the connection the reply comes on. Commands without a reply (COM_STMT_CLOSE,
    /// COM_STMT_SEND_LONG_DATA, COM_QUIT) must not get a tracker; `expects_reply` tells.
    pub fn new(command: u8, capabilities: u64) -> Tracker {
        use super::capabilities::*;
        debug_assert!(expects_reply(command));
        let family = Family::of(command);
        let phase = if family == Family::Rows {
            Phase::Rows
        } else {
            Phase::First
        };
        Tracker {
            skip: 0,
            left: 0,
            later: 0,
            family,
            phase,
            continued: false,
            rows_follow: false,
            omitted: false,
            out_parameters: false,
            deprecate_eof: capabilities & DEPRECATE_EOF != 0,
            metadata_flag: capabilities & (OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA)
                != 0,
            touched: false,
            infile: false,
            rows: 0,
            row_bytes: 0,
            max_rows: u64::MAX,
            max_bytes: u64::MAX,
        }
    }

    /// No row beyond these; see [`Step::OverLimit`]. A row of 16 MiB and more is judged by its first packet: it
    /// cannot be cut.
    pub fn limit(&mut self, rows: u64, bytes: u64) {
        self.max_rows = rows;
        self.max_bytes = bytes;
    }

    /// Bytes still to come of the packet that was judged last.
    pub fn ahead(&self) -> usize {
        self.skip as usize
    }

    /// So many of them were passed unseen.
    pub fn passed(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.ahead());
        self.skip = self.skip.saturating_sub(bytes as u32);
    }

    /// Rows passed so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts a row packet of `size` bytes with its header; false: it is over the limits, and not counted.
    #[inline]
    fn admit(&mut self, size: usize) -> bool {
        let bytes = self.row_bytes.saturating_add(size as u64);
        if !self.continued {
            if self.rows >= self.max_rows || bytes > self.max_bytes {
                return false;
            }
            self.rows += 1;
        }
        self.row_bytes = bytes;
        true
    }

    /// Looks at the bytes not yet passed. Called with a non-empty slice that starts where the last
    /// step ended; of an empty one it needs more.
    ///
    /// # Errors
    /// Bytes that cannot be a reply to the command, and bytes behind its end. The connection is
    /// then of no more use.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Step, Malformed> {
        let mut at = bytes.len().min(self.skip as usize);
        self.skip -= at as u32;
        if at == 0 && self.done() {
            let what = "bytes behind the end of a reply";
            return Err(Malformed { what });
        }
        while at < bytes.len() && !self.done() {
            if self.phase == Phase::Rows {
                at = self.pass_rows(bytes, at);
            }
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            match self.classify(rest)? {
                Found::Data(n) => at = self.pass_packet(at, n, bytes.len()),
                // what is before it goes first; it is found again
                _ if at > 0 => break,
                Found::Control(n, kind) => return Ok(self.stop_at(&rest[..n], kind)),
                Found::OverLimit(sequence) => return Ok(Step::OverLimit { sequence }),
                Found::Part => break,
            }
        }
        if at == 0 {
            return Ok(Step::NeedMore);
        }
        self.touched = true;
        Ok(Step::Pass(at))
    }

    /// The reply's last byte has been passed or returned as a Control.
    pub fn done(&self) -> bool {
        self.phase == Phase::Done && self.skip == 0 && !self.continued
    }

    /// No byte of the reply has been passed yet (a retry is still invisible). A control packet that
    /// is the whole reply does not count: the caller may still withhold it.
    pub fn untouched(&self) -> bool {
        !self.touched
    }

    /// The client's file has been asked for, and `infile_sent` not been called yet.
    pub fn infile_pending(&self) -> bool {
        self.infile
    }

    /// The client's file has ended: the final OK or ERR follows.
    pub fn infile_sent(&mut self) {
        self.infile = false;
    }

    /// The hot loop: whole rows, and the part of one at the end, as long as nothing but header and
    /// first byte is needed. Stops before what may be a control packet.
    #[inline]
    fn pass_rows(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut at = at;
        // in registers: this loop is what a large result costs
        let (mut rows, mut row_bytes) = (self.rows, self.row_bytes);
        let limited = self.max_rows != u64::MAX || self.max_bytes != u64::MAX;
        let mut fetched = if bytes.len() > AHEAD { at } else { usize::MAX };
        while let Some(&[a, b, c, _, first]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            if fetched < at + AHEAD {
                fetched = fetch(bytes, fetched.max(at), at + 2 * AHEAD);
            }
            // an empty packet has no first byte: that one is the next header's
            if length == 0 || (first >= reply::EOF && !self.continued) {
                break;
            }
            let size = (HEADER + length) as u64;
            if limited && !self.continued {
                let bytes = row_bytes.saturating_add(size);
                if rows >= self.max_rows || bytes > self.max_bytes {
                    break;
                }
            }
            rows += u64::from(!self.continued);
            row_bytes = row_bytes.wrapping_add(size);
            self.continued = length == MAX_PAYLOAD;
            at = self.pass_packet(at, HEADER + length, bytes.len());
        }
        (self.rows, self.row_bytes) = (rows, row_bytes);
        at
    }

    /// Where the packet of `n` bytes at `at` ends, in the bytes at hand or behind them.
    #[inline]
    fn pass_packet(&mut self, at: usize, n: usize, have: usize) -> usize {
        let end = at + n;
        // a packet has no more than 2^24 + 3 bytes
        self.skip = end.saturating_sub(have) as u32;
        end.min(have)
    }

    /// Takes the control packet into account.
    fn stop_at(&mut self, packet: &[u8], kind: Control) -> Step {
        let n = packet.len();
        self.phase = match kind {
            _ if kind.ends() => Phase::Done,
            Control::Prepared { .. } => return self.prepared(packet, kind),
            Control::LocalInfile => {
                self.infile = true;
                Phase::First
            }
            _ => Phase::First,
        };
        self.touched |= !kind.ends();
        Step::Control { n, kind }
    }

    fn prepared(&mut self, packet: &[u8], kind: Control) -> Step {
        let payload = packet.get(HEADER..).unwrap_or_default();
        let (parameters, columns) = classify::prepared_counts(payload);
        self.omitted = self.without_definitions(payload);
        self.touched = true;
        if parameters > 0 {
            self.later = columns;
            self.begin_definitions(parameters);
        } else {
            self.begin_definitions(columns);
        }
        let n = packet.len();
        Step::Control { n, kind }
    }
}
