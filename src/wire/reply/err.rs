//! ERR packet. https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_err_packet.html

use super::ERR;
use crate::wire::bytes::Reader;
use crate::wire::Malformed;

/// What stands for a SQLSTATE that a server did not send: before a login it sends none.
const GENERAL: [u8; 5] = *b"HY000";
/// Code of MariaDB's progress report, which has an ERR packet's shape, is no error and ends nothing.
/// <https://mariadb.com/kb/en/progress-reporting/>
pub const PROGRESS_REPORT: u16 = 0xffff;

/// Whether an ERR packet is a progress report. An error may have its code (SIGNAL … SET MYSQL_ERRNO = 65535), and then a
/// `#` and the SQLSTATE behind it.
// rare, and kept out of the walk over a reply's packets
#[inline(never)]
pub fn is_progress_report(payload: &[u8]) -> bool {
    matches!(payload, [_, 0xff, 0xff, next, ..] if *next != b'#')
}

/// An error as a server tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Err {
    pub code: u16,
    /// SQLSTATE.
    pub state: [u8; 5],
    pub message: Vec<u8>,
}

impl Err {
    pub fn decode(payload: &[u8]) -> Result<Err, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("ERR header")? != ERR {
            let what = "ERR header";
            return Result::Err(Malformed { what });
        }
        let code = reader.u16("error code")?;
        let rest = reader.rest();
        let marked = rest.strip_prefix(b"#").and_then(|marked| {
            let (state, message) = marked.split_first_chunk::<5>()?;
            Some((*state, message))
        });
        let (state, message) = marked.unwrap_or((GENERAL, rest));
        let message = message.to_vec();
        Ok(Err {
            code,
            state,
            message,
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.message.len());
        out.push(ERR);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&self.state);
        out.extend_from_slice(&self.message);
        out
    }
}

impl std::fmt::Display for Err {
    /// As the command line clients show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = String::from_utf8_lossy(&self.state);
        let message = String::from_utf8_lossy(&self.message);
        write!(f, "ERROR {} ({state}): {message}", self.code)
    }
}
