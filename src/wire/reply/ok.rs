//! OK and EOF packets.

use super::change::{self, Change};
use super::{EOF, OK};
use crate::wire::bytes::{put_lenenc, put_lenenc_bytes, Reader};
use crate::wire::capabilities::{DEPRECATE_EOF, SESSION_TRACK};
use crate::wire::status::SESSION_STATE_CHANGED;
use crate::wire::Malformed;

const EOF_LENGTH: usize = 5;

/// OK packet (also the 0xfe one that ends a result set under DEPRECATE_EOF, and a plain EOF).
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ok {
    /// 0x00, or 0xfe where it ends a result set.
    pub header: u8,
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: u16,
    pub warnings: u16,
    /// Text such as "Rows matched: 1  Changed: 1  Warnings: 0".
    pub info: Vec<u8>,
    /// What the server's session tracking reports.
    pub changes: Vec<Change>,
}

impl Ok {
    /// `capabilities` decide whether there is a session track block.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Ok, Malformed> {
        let mut reader = Reader::new(payload);
        let header = reader.u8("OK header")?;
        if header == EOF && payload.len() == EOF_LENGTH {
            let warnings = reader.u16("EOF warnings")?;
            let status = reader.u16("EOF status")?;
            return Result::Ok(ended(warnings, status));
        }
        if header != OK && header != EOF {
            let what = "OK header";
            return Err(Malformed { what });
        }
        let mut ok = Ok {
            header,
            affected_rows: reader.lenenc("affected rows")?,
            last_insert_id: reader.lenenc("last insert id")?,
            status: reader.u16("OK status")?,
            warnings: reader.u16("OK warnings")?,
            ..Ok::default()
        };
        if capabilities & SESSION_TRACK == 0 {
            ok.info = plain_info(reader.rest()).to_vec();
            return Result::Ok(ok);
        }
        if !reader.is_empty() {
            ok.info = reader.lenenc_bytes("OK info")?.to_vec();
        }
        if ok.status & SESSION_STATE_CHANGED != 0 && !reader.is_empty() {
            ok.changes = change::decode(reader.lenenc_bytes("session changes")?)?;
        }
        Result::Ok(ok)
    }

    /// For a peer with these capabilities, which may not be those it was decoded with: changes are
    /// left out without SESSION_TRACK, and the end of a result set becomes an EOF packet without
    /// DEPRECATE_EOF.
    pub fn encode(&self, capabilities: u64) -> Vec<u8> {
        let tracked = capabilities & SESSION_TRACK != 0 && !self.changes.is_empty();
        let flag = if tracked { SESSION_STATE_CHANGED } else { 0 };
        let status = self.status & !SESSION_STATE_CHANGED | flag;
        if self.header == EOF && capabilities & DEPRECATE_EOF == 0 {
            return eof(self.warnings, self.status & !SESSION_STATE_CHANGED);
        }
        let mut out = vec![self.header];
        put_lenenc(&mut out, self.affected_rows);
        put_lenenc(&mut out, self.last_insert_id);
        out.extend_from_slice(&status.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if tracked || !self.info.is_empty() {
            put_lenenc_bytes(&mut out, &self.info);
        }
        if tracked {
            put_lenenc_bytes(&mut out, &change::encode(&self.changes));
        }
        out
    }
}

/// EOF packet: warnings and status.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_eof_packet.html
pub fn eof(warnings: u16, status: u16) -> Vec<u8> {
    let [warnings_0, warnings_1] = warnings.to_le_bytes();
    let [status_0, status_1] = status.to_le_bytes();
    vec![EOF, warnings_0, warnings_1, status_0, status_1]
}

fn ended(warnings: u16, status: u16) -> Ok {
    Ok {
        header: EOF,
        warnings,
        status,
        ..Ok::default()
    }
}

/// The documentation says that the text runs to the packet's end; both servers send it
/// length-encoded all the same.
fn plain_info(rest: &[u8]) -> &[u8] {
    let mut reader = Reader::new(rest);
    match reader.lenenc_bytes("OK info") {
        Result::Ok(info) if reader.is_empty() => info,
        _ => rest,
    }
}
