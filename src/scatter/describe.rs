//! The reply to COM_STMT_PREPARE: the columns of a result before there is one.
use super::failure::Failure;
use super::packets::Packets;
use super::{Branch, BranchEnd};
use crate::wire::capabilities::DEPRECATE_EOF;
use crate::wire::column::Column;
use crate::wire::prepare::PrepareOk;
use crate::wire::reply::{self, ERR};
use std::future::poll_fn;

/// What a server says of a statement.
#[derive(Debug, Default)]
pub struct Described {
    pub columns: Vec<Column>,
    /// The server's; to be closed.
    pub statement_id: u32,
}

/// Sends the branch's commands, of which the last is a PREPARE, and reads its reply. The connection's deadline bounds it.
///
/// # Errors
/// The server's, or what went wrong.
pub async fn describe(
    branch: Branch<'_>,
    longest: usize,
) -> (Result<Described, Failure>, BranchEnd) {
    let mut end = BranchEnd {
        sent: true,
        ..BranchEnd::default()
    };
    branch.socket.send(branch.bytes.clone());
    let mut packets = Packets::new(branch.socket, longest);
    let outcome = read(&branch, &mut packets, &mut end).await;
    end.clean = matches!(outcome, Ok(_) | Err(Failure::Refused { .. }));
    if let Some(rest) = packets.into_rest() {
        branch.socket.unread(rest);
    }
    (outcome, end)
}

async fn read(
    branch: &Branch<'_>,
    packets: &mut Packets<'_>,
    end: &mut BranchEnd,
) -> Result<Described, Failure> {
    let mut refused = None;
    for _ in 0..branch.silent {
        let payload = next(packets).await?;
        if payload.first() == Some(&ERR) {
            refused = refused.or(Some(error(&payload)?));
        }
    }
    end.prepared = refused.is_none();
    let first = next(packets).await?;
    if first.first() == Some(&ERR) {
        return Err(refused.unwrap_or(error(&first)?));
    }
    let ok = PrepareOk::decode(&first).map_err(|m| protocol(m.what))?;
    let mut described = Described {
        statement_id: ok.statement_id,
        ..Described::default()
    };
    let eof = branch.capabilities & DEPRECATE_EOF == 0;
    for block in [ok.parameters, ok.columns] {
        described.columns.clear();
        for _ in 0..block {
            let payload = next(packets).await?;
            let column = Column::decode(&payload, branch.capabilities);
            described
                .columns
                .push(column.map_err(|m| protocol(m.what))?);
        }
        if eof && block > 0 {
            next(packets).await?;
        }
    }
    refused.map_or(Ok(described), Err)
}

async fn next(packets: &mut Packets<'_>) -> Result<crate::net::Buf, Failure> {
    let payload = poll_fn(|cx| packets.poll_payload(cx)).await;
    payload.map_err(|cause| Failure::Lost { part: 0, cause })
}

fn error(payload: &[u8]) -> Result<Failure, Failure> {
    let error = reply::Err::decode(payload).map_err(|m| protocol(m.what))?;
    Ok(Failure::Refused { part: 0, error })
}

fn protocol(what: &'static str) -> Failure {
    Failure::Protocol { part: 0, what }
}
