//! What one packet of a reply is, by command, phase and first byte.

use super::{reply, Control, Phase, Tracker, CONTROL_LIMIT};
use super::{Header, Malformed, HEADER, MAX_PAYLOAD};
use crate::wire::bytes::Reader;
use crate::wire::command;
use crate::wire::prepare::PrepareOk;
use crate::wire::status::{CURSOR_EXISTS, MORE_RESULTS, PS_OUT_PARAMS};

/// First byte of a server's request for the client's file.
const LOCAL_INFILE: u8 = 0xfb;
/// An EOF packet is shorter; a row that begins with 0xfe announces a value by eight more bytes.
const EOF_BELOW: usize = 9;
/// Length of PREPARE's first reply when it says whether definitions follow, and where.
const METADATA_FLAG_AT: usize = 12;

/// Commands by the shape of their replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// OK, ERR, a result set, or a request for a file; several of them.
    Query,
    /// As Query, and a cursor may stay open instead of rows.
    Execute,
    /// OK, EOF or ERR.
    Simple,
    /// Rows (or definitions, or binlog events) until EOF, with nothing before them.
    Rows,
    Prepare,
    ChangeUser,
    /// One packet of text.
    Text,
}

impl Family {
    pub fn of(command: u8) -> Family {
        match command {
            command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => Family::Execute,
            command::STMT_FETCH | command::FIELD_LIST => Family::Rows,
            command::BINLOG_DUMP | command::BINLOG_DUMP_GTID | command::TABLE_DUMP => Family::Rows,
            command::STMT_PREPARE => Family::Prepare,
            command::CHANGE_USER => Family::ChangeUser,
            command::STATISTICS => Family::Text,
            command::QUERY | command::PROCESS_INFO => Family::Query,
            command::SLEEP..=command::RESET_CONNECTION => Family::Simple,
            // one that is not known here: the widest shape
            _ => Family::Query,
        }
    }

    /// Whether MORE_RESULTS in a status means that more follows.
    fn has_more(self) -> bool {
        matches!(self, Family::Query | Family::Execute)
    }
}

/// A packet at the front of the bytes.
pub(super) enum Found {
    /// To be passed, this many bytes with its header, maybe more than are at hand. Already counted.
    Data(usize),
    /// To be looked at, whole, this many bytes. Not yet counted.
    Control(usize, Control),
    /// A row over the limits; the sequence number of its packet.
    OverLimit(u8),
    /// Not enough of it is at hand to tell.
    Part,
}

impl Tracker {
    pub(super) fn classify(&mut self, rest: &[u8]) -> Result<Found, Malformed> {
        let Some(header) = Header::decode(rest) else {
            return Ok(Found::Part);
        };
        let length = header.length;
        if self.continued || (length == 0 && self.phase == Phase::Rows) {
            if self.phase == Phase::Rows && !self.admit(HEADER + length) {
                return Ok(Found::OverLimit(header.sequence));
            }
            self.continued = length == MAX_PAYLOAD;
            return Ok(Found::Data(HEADER + length));
        }
        if length == 0 {
            let what = "empty packet";
            return Err(Malformed { what });
        }
        let Some(&first) = rest.get(HEADER) else {
            return Ok(Found::Part);
        };
        if first == reply::ERR {
            return with_whole(rest, length, |payload| Ok(self.error(payload)));
        }
        match self.phase {
            Phase::First => self.first(rest, length, first),
            Phase::Definitions => self.definition(length, first),
            Phase::DefinitionsEnd => {
                with_whole(rest, length, |payload| self.definitions_end(payload))
            }
            Phase::Rows => self.row(rest, header, first),
            Phase::Done => Ok(Found::Part),
        }
    }

    fn first(&mut self, rest: &[u8], length: usize, first: u8) -> Result<Found, Malformed> {
        let family = self.family;
        let query = family.has_more();
        with_whole(rest, length, |payload| match (family, first) {
            (Family::Text, _) => control(payload, Control::Text),
            (Family::Prepare, reply::OK) => self.prepare_reply(payload),
            (_, reply::OK) => {
                let status = ok_status(payload)?;
                let end = !self.more(status);
                control(payload, Control::Ok { end, status })
            }
            (Family::ChangeUser, _) => control(payload, Control::Auth),
            (Family::Query | Family::Execute | Family::Simple, reply::EOF) => {
                self.result_end(payload)
            }
            (_, LOCAL_INFILE) if query => control(payload, Control::LocalInfile),
            _ if query => self.column_count(payload),
            _ => Err(Malformed {
                what: "first packet of a reply",
            }),
        })
    }

    fn definition(&mut self, length: usize, first: u8) -> Result<Found, Malformed> {
        if first == reply::EOF && length < EOF_BELOW {
            let what = "column definition";
            return Err(Malformed { what });
        }
        self.continued = length == MAX_PAYLOAD;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.definitions_passed();
        }
        Ok(Found::Data(HEADER + length))
    }

    fn row(&mut self, rest: &[u8], header: Header, first: u8) -> Result<Found, Malformed> {
        let length = header.length;
        // a value of 16 MiB fills its first packet, which no OK does
        let below = if self.deprecate_eof {
            MAX_PAYLOAD
        } else {
            EOF_BELOW
        };
        if first == reply::EOF && length < below {
            return with_whole(rest, length, |payload| self.result_end(payload));
        }
        if !self.admit(HEADER + length) {
            return Ok(Found::OverLimit(header.sequence));
        }
        self.continued = length == MAX_PAYLOAD;
        Ok(Found::Data(HEADER + length))
    }

    /// A block of definitions comes next.
    pub(super) fn begin_definitions(&mut self, count: u16) {
        self.left = count;
        self.phase = Phase::Definitions;
        if count == 0 || self.omitted {
            self.definitions_passed();
        }
    }

    fn definitions_passed(&mut self) {
        if !self.deprecate_eof {
            self.phase = Phase::DefinitionsEnd;
        } else if self.rows_follow {
            self.phase = Phase::Rows;
        } else {
            self.next_definitions();
        }
    }

    /// Behind the parameters of a prepared statement come its columns.
    fn next_definitions(&mut self) {
        match std::mem::take(&mut self.later) {
            0 => self.phase = Phase::Done,
            columns => self.begin_definitions(columns),
        }
    }

    fn definitions_end(&mut self, payload: &[u8]) -> Result<Found, Malformed> {
        let status = end_status(payload, false)?;
        let cursor = self.family == Family::Execute && status & CURSOR_EXISTS != 0;
        if self.rows_follow && cursor {
            let end = !self.more(status);
            return control(payload, Control::ColumnsEnd { end, status });
        }
        if self.rows_follow {
            self.out_parameters = self.family == Family::Execute && status & PS_OUT_PARAMS != 0;
            self.phase = Phase::Rows;
            return Ok(Found::Data(HEADER + payload.len()));
        }
        if self.later > 0 {
            self.next_definitions();
            return Ok(Found::Data(HEADER + payload.len()));
        }
        control(payload, Control::ColumnsEnd { end: true, status })
    }

    fn result_end(&self, payload: &[u8]) -> Result<Found, Malformed> {
        let status = end_status(payload, self.deprecate_eof)?;
        let end = !self.more(status) && !self.out_parameters;
        control(payload, Control::ResultEnd { end, status })
    }

    fn more(&self, status: u16) -> bool {
        self.family.has_more() && status & MORE_RESULTS != 0
    }

    fn column_count(&mut self, payload: &[u8]) -> Result<Found, Malformed> {
        const WHAT: &str = "column count";
        let mut reader = Reader::new(payload);
        let count = reader.lenenc(WHAT)?;
        let count = u16::try_from(count).map_err(|_| Malformed { what: WHAT })?;
        self.omitted = self.metadata_flag && !reader.is_empty() && reader.u8(WHAT)? == 0;
        if !reader.is_empty() {
            return Err(Malformed { what: WHAT });
        }
        self.rows_follow = true;
        self.out_parameters = false;
        self.begin_definitions(count);
        Ok(Found::Data(HEADER + payload.len()))
    }

    fn prepare_reply(&self, payload: &[u8]) -> Result<Found, Malformed> {
        let prepared = PrepareOk::decode(payload)?;
        let none = prepared.parameters == 0 && prepared.columns == 0;
        let end = none || (self.deprecate_eof && self.without_definitions(payload));
        control(payload, Control::Prepared { end })
    }

    /// PREPARE's first reply says that definitions are left out.
    pub(super) fn without_definitions(&self, payload: &[u8]) -> bool {
        self.metadata_flag && payload.get(METADATA_FLAG_AT) == Some(&0)
    }

    /// MariaDB's progress report has an ERR packet's shape and ends nothing.
    fn error(&self, payload: &[u8]) -> Found {
        let n = HEADER + payload.len();
        let code = payload
            .get(1..3)
            .map(|code| u16::from_le_bytes([code[0], code[1]]));
        match code {
            Some(reply::PROGRESS_REPORT) => numbered_as_progress(payload),
            _ => Found::Control(n, Control::Err),
        }
    }
}

// apart: rare, in the middle of what runs for every packet
#[inline(never)]
fn numbered_as_progress(payload: &[u8]) -> Found {
    let n = HEADER + payload.len();
    match reply::is_progress_report(payload) {
        true => Found::Data(n),
        false => Found::Control(n, Control::Err),
    }
}

/// Statement's parameters and columns; what is not a prepare reply has none.
pub(super) fn prepared_counts(payload: &[u8]) -> (u16, u16) {
    match PrepareOk::decode(payload) {
        Ok(prepared) => (prepared.parameters, prepared.columns),
        Err(_) => (0, 0),
    }
}

fn control(payload: &[u8], kind: Control) -> Result<Found, Malformed> {
    Ok(Found::Control(HEADER + payload.len(), kind))
}

/// Runs `look` once the packet is whole.
fn with_whole(
    rest: &[u8],
    length: usize,
    look: impl FnOnce(&[u8]) -> Result<Found, Malformed>,
) -> Result<Found, Malformed> {
    if length > CONTROL_LIMIT {
        let what = "length of a control packet";
        return Err(Malformed { what });
    }
    match rest.get(HEADER..HEADER + length) {
        Some(payload) => look(payload),
        None => Ok(Found::Part),
    }
}

fn ok_status(payload: &[u8]) -> Result<u16, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8("OK header")?;
    reader.lenenc("affected rows")?;
    reader.lenenc("last insert id")?;
    reader.u16("OK status")
}

/// Status of the packet that ends rows or definitions.
fn end_status(payload: &[u8], as_ok: bool) -> Result<u16, Malformed> {
    if payload.first() != Some(&reply::EOF) {
        let what = "EOF header";
        return Err(Malformed { what });
    }
    if as_ok && payload.len() >= 7 {
        return ok_status(payload);
    }
    let mut reader = Reader::new(payload);
    reader.take(3, "EOF warnings")?;
    reader.u16("EOF status")
}
