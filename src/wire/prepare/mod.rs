//! Prepared statements: what the proxy has to see of COM_STMT_PREPARE's reply and of
//! COM_STMT_EXECUTE, to give statements its own ids and to put the parameter types back in.

use super::bytes::Reader;
use super::capabilities::{OPTIONAL_RESULTSET_METADATA, QUERY_ATTRIBUTES};
use super::{command, Malformed};
use std::ops::Range;

mod given;
#[cfg(test)]
mod tests;
mod values;

pub use given::{AllGiven, Content, Given};
pub use values::{encode_execute, Bound, LongData, Value};

/// EXECUTE flag under QUERY_ATTRIBUTES: the parameter section is there even without parameters.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// Where both PREPARE's reply and EXECUTE hold the statement's id.
const STATEMENT_ID: Range<usize> = 1..5;

/// COM_STMT_PREPARE_OK (first packet of the reply).
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    pub statement_id: u32,
    pub columns: u16,
    pub parameters: u16,
    pub warnings: u16,
}

impl PrepareOk {
    pub fn decode(payload: &[u8]) -> Result<PrepareOk, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("prepare status")? != 0 {
            let what = "prepare status";
            return Err(Malformed { what });
        }
        let statement_id = reader.u32("statement id")?;
        let columns = reader.u16("prepared columns")?;
        let parameters = reader.u16("prepared parameters")?;
        let warnings = reader
            .take(1, "prepare filler")
            .and_then(|_| reader.u16("prepare warnings"))
            .unwrap_or(0);
        Ok(PrepareOk {
            statement_id,
            columns,
            parameters,
            warnings,
        })
    }

    /// For a client with these capabilities, with the definitions announced to follow.
    pub fn encode(&self, capabilities: u64) -> Vec<u8> {
        let mut out = vec![0];
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.extend_from_slice(&self.columns.to_le_bytes());
        out.extend_from_slice(&self.parameters.to_le_bytes());
        out.push(0);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if capabilities & OPTIONAL_RESULTSET_METADATA != 0 {
            out.push(1);
        }
        out
    }
}

/// Puts another statement id into a payload: PREPARE's reply, or EXECUTE, BULK_EXECUTE, FETCH,
/// RESET, CLOSE or SEND_LONG_DATA from the command byte on. False: the payload has no place for it.
pub fn set_statement_id(payload: &mut [u8], id: u32) -> bool {
    let Some(place) = payload.get_mut(STATEMENT_ID) else {
        return false;
    };
    place.copy_from_slice(&id.to_le_bytes());
    true
}

/// The statement id in such a payload.
pub fn statement_id(payload: &[u8]) -> Result<u32, Malformed> {
    let mut reader = Reader::new(payload);
    reader.take(STATEMENT_ID.start, "command")?;
    reader.u32("statement id")
}

/// Fixed head of COM_STMT_EXECUTE and where its parameter types are.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute {
    pub statement_id: u32,
    /// Cursor type, and whether a parameter count follows.
    pub flags: u8,
    pub iterations: u32,
    /// Offset in the payload of new_params_bound_flag; None without parameters.
    pub bound_flag_at: Option<usize>,
    /// The types block (2 bytes a parameter, with names under QUERY_ATTRIBUTES) when the flag is 1.
    pub types: Option<Range<usize>>,
}

impl Execute {
    /// `payload` from the command byte on; may be only the first part of a long command as long as
    /// the types are in it. `parameters` as PREPARE's reply told.
    pub fn decode(
        payload: &[u8],
        parameters: u16,
        capabilities: u64,
    ) -> Result<Execute, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("command")? != command::STMT_EXECUTE {
            let what = "command";
            return Err(Malformed { what });
        }
        let mut execute = Execute {
            statement_id: reader.u32("statement id")?,
            flags: reader.u8("execute flags")?,
            iterations: reader.u32("execute iterations")?,
            bound_flag_at: None,
            types: None,
        };
        let named = capabilities & QUERY_ATTRIBUTES != 0;
        let counted = named && execute.flags & PARAMETER_COUNT_AVAILABLE != 0;
        let mut parameters = u64::from(parameters);
        if parameters == 0 && !counted {
            return Ok(execute);
        }
        if named {
            // with attributes the count is always there, flag or not (tried on MySQL 9.7)
            parameters = reader.lenenc("parameter count")?;
        }
        if parameters == 0 {
            return Ok(execute);
        }
        let bitmap = usize::try_from(parameters.div_ceil(8)).unwrap_or(usize::MAX);
        reader.take(bitmap, "NULL bitmap")?;
        execute.bound_flag_at = Some(payload.len() - reader.left());
        if reader.u8("new parameters flag")? == 1 {
            let start = payload.len() - reader.left();
            skip_types(&mut reader, parameters, named)?;
            execute.types = Some(start..payload.len() - reader.left());
        }
        Ok(execute)
    }
}

/// The same EXECUTE with the types block put in (flag set to 1). For a payload whose flag is 0;
/// one without a byte at `bound_flag_at` comes back as it is.
pub fn with_types(payload: &[u8], bound_flag_at: usize, types: &[u8]) -> Vec<u8> {
    debug_assert_ne!(
        payload.get(bound_flag_at),
        Some(&1),
        "types are there already"
    );
    let Some((head, [_, values @ ..])) = payload.split_at_checked(bound_flag_at) else {
        return payload.to_vec();
    };
    [head, &[1], types, values].concat()
}

fn skip_types(reader: &mut Reader, parameters: u64, named: bool) -> Result<(), Malformed> {
    const WHAT: &str = "parameter types";
    if !named {
        let length = usize::try_from(parameters.saturating_mul(2)).unwrap_or(usize::MAX);
        return reader.take(length, WHAT).map(|_| ());
    }
    // ends with the bytes at the latest, however many parameters are announced
    for _ in 0..parameters {
        reader.take(2, WHAT)?;
        reader.lenenc_bytes(WHAT)?;
    }
    Ok(())
}
