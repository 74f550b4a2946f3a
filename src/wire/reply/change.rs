//! The session tracker's block of an OK packet: entries of a kind, a length and data.

use crate::wire::bytes::{put_lenenc_bytes, Reader};
use crate::wire::Malformed;

const VARIABLES: u8 = 0;
const SCHEMA: u8 = 1;
const STATE: u8 = 2;
const GTIDS: u8 = 3;
const CHARACTERISTICS: u8 = 4;
const TRANSACTION_STATE: u8 = 5;
/// The only encoding of GTIDs there is: text.
const GTIDS_AS_TEXT: u8 = 0;

/// One entry of the session tracker's block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Variable {
        name: Vec<u8>,
        value: Vec<u8>,
    },
    Schema(Vec<u8>),
    /// "1": some state changed (user variable, temporary table, prepared statement …)
    State(Vec<u8>),
    Gtids(Vec<u8>),
    /// SQL that would start a transaction with the same characteristics; empty: none pending.
    TransactionCharacteristics(Vec<u8>),
    /// Eight letters, e.g. "T_____I_".
    TransactionState(Vec<u8>),
    Other {
        kind: u8,
        data: Vec<u8>,
    },
}

pub(super) fn decode(block: &[u8]) -> Result<Vec<Change>, Malformed> {
    let mut reader = Reader::new(block);
    let mut changes = Vec::new();
    while !reader.is_empty() {
        let kind = reader.u8("session change kind")?;
        let data = reader.lenenc_bytes("session change")?;
        decode_entry(kind, data, &mut changes)?;
    }
    Ok(changes)
}

/// MariaDB puts all its variables into one entry, MySQL one into each.
pub(super) fn encode(changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        let (kind, data) = encode_entry(change);
        out.push(kind);
        put_lenenc_bytes(&mut out, &data);
    }
    out
}

fn decode_entry(kind: u8, data: &[u8], changes: &mut Vec<Change>) -> Result<(), Malformed> {
    if kind == VARIABLES {
        return decode_variables(data, changes);
    }
    let mut reader = Reader::new(data);
    if kind == GTIDS && reader.u8("GTID encoding")? != GTIDS_AS_TEXT {
        changes.push(other(kind, data));
        return Ok(());
    }
    // alone among the entries, this one has no second length
    if kind == STATE {
        changes.push(Change::State(data.to_vec()));
        return Ok(());
    }
    let wrap: fn(Vec<u8>) -> Change = match kind {
        SCHEMA => Change::Schema,
        GTIDS => Change::Gtids,
        CHARACTERISTICS => Change::TransactionCharacteristics,
        TRANSACTION_STATE => Change::TransactionState,
        _ => {
            changes.push(other(kind, data));
            return Ok(());
        }
    };
    changes.push(wrap(reader.lenenc_bytes("session change")?.to_vec()));
    Ok(())
}

fn decode_variables(data: &[u8], changes: &mut Vec<Change>) -> Result<(), Malformed> {
    let mut reader = Reader::new(data);
    while !reader.is_empty() {
        let name = reader.lenenc_bytes("variable name")?.to_vec();
        let value = reader.lenenc_bytes("variable value")?.to_vec();
        changes.push(Change::Variable { name, value });
    }
    Ok(())
}

fn other(kind: u8, data: &[u8]) -> Change {
    let data = data.to_vec();
    Change::Other { kind, data }
}

fn encode_entry(change: &Change) -> (u8, Vec<u8>) {
    let mut data = Vec::new();
    let (kind, text) = match change {
        Change::Variable { name, value } => {
            put_lenenc_bytes(&mut data, name);
            (VARIABLES, value)
        }
        Change::Schema(name) => (SCHEMA, name),
        Change::State(state) => return (STATE, state.clone()),
        Change::Gtids(set) => {
            data.push(GTIDS_AS_TEXT);
            (GTIDS, set)
        }
        Change::TransactionCharacteristics(sql) => (CHARACTERISTICS, sql),
        Change::TransactionState(state) => (TRANSACTION_STATE, state),
        Change::Other { kind, data } => return (*kind, data.clone()),
    };
    put_lenenc_bytes(&mut data, text);
    (kind, data)
}
