//! COM_STMT_SEND_LONG_DATA: parts of a parameter, sent ahead of the EXECUTE that uses them.
use super::lease::Attempt;
use super::pins::Pins;
use super::prepare::{statement_id, with_statement_id};
use super::sync::NotReady;
use super::turn::Outgoing;
use super::{End, Session};
use crate::backend::{After, Lease};
use crate::relay::Command;
use crate::sniff::{Access, Sniffed};
use crate::wire::error;

impl Session {
    /// No reply: an error waits for the EXECUTE. The connection is held from the first part on.
    pub(super) async fn long_data(&mut self, command: Command) -> Result<(), End> {
        let id = statement_id(&command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let Some(statement) = self.statements.get(id) else {
            return Ok(());
        };
        if statement.sharded {
            return self.keep_long_data(command, id).await;
        }
        // the session may write before it executes: never on a replica
        let sniffed = Sniffed {
            access: Access::Unsure,
            ..statement.sniffed
        };
        let failed = match self.lease(&sniffed, &mut Attempt::default()).await {
            Err(error) => error,
            Ok(mut lease) => match self.ready_for_long_data(&mut lease, id).await {
                Ok(server_id) => return self.send_long_data(lease, command, id, server_id).await,
                Err(NotReady::Refused(error)) => {
                    self.forget_unless_held(lease);
                    error
                }
                Err(NotReady::Broken(_)) => {
                    self.forget(lease);
                    error::server_lost()
                }
            },
        };
        if let Some(statement) = self.statements.get(id) {
            statement.failed = Some(failed);
        }
        Ok(())
    }

    /// Of a statement whose EXECUTE is planned: which servers the value goes to is known only then.
    async fn keep_long_data(&mut self, mut command: Command, id: u32) -> Result<(), End> {
        if command.continued {
            // nothing may be answered, and what follows is no command
            return Err(End::Told);
        }
        if !command.is_whole() {
            let read = self.inbox.read_rest(&self.client, &mut command).await;
            if !matches!(read, Ok(true)) {
                return Err(End::ClientGone);
            }
        }
        let kept = self.may_keep_statement(command.bytes.len());
        let Some(statement) = self.statements.get(id) else {
            return Ok(());
        };
        if statement.failed.is_some() {
            return Ok(());
        }
        let part = match command.body().get(4..).and_then(|b| b.split_first_chunk()) {
            Some((at, data)) if u16::from_le_bytes(*at) < statement.parameters => {
                Ok((u16::from_le_bytes(*at), data))
            }
            _ => Err(error::wrong_arguments("mysqld_stmt_send_long_data")),
        };
        match kept.and(part) {
            Ok((parameter, data)) => self.statements.add_long_data(id, parameter, data),
            Err(error) => {
                statement.failed = Some(error);
                self.statements.take_long_data(id);
            }
        }
        self.hold_statements();
        Ok(())
    }

    /// From here on the connection is held, and a held one is not made to fit any more: the statement is prepared
    /// and the session's state is set before the first part.
    async fn ready_for_long_data(&mut self, lease: &mut Lease, id: u32) -> Result<u32, NotReady> {
        let server_id = self.prepared_on(lease, id, &None).await?;
        if self.pins.is_empty() {
            let state = self.state.clone();
            self.change_state(lease, &state).await?;
        }
        Ok(server_id)
    }

    async fn send_long_data(
        &mut self,
        mut lease: Lease,
        command: Command,
        id: u32,
        server_id: u32,
    ) -> Result<(), End> {
        lease.after = After::Close;
        let mut out = Outgoing::of(&command, &super::commands::SESSION_ONLY);
        out.bytes = with_statement_id(&command.bytes, server_id);
        lease.socket.send(out.bytes.clone());
        if !command.is_whole() {
            self.upload(&lease, &out).await?;
        }
        if let Some(statement) = self.statements.get(id) {
            statement.long_data = true;
        }
        self.pins |= Pins::LONG_DATA;
        self.settle(lease);
        Ok(())
    }
}
