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
            let what = "long data cannot go to sharded tables: bind the value with the EXECUTE";
            statement.failed = Some(error::own(what));
            // the next command begins behind it
            return if command.is_whole() {
                Ok(())
            } else {
                Err(End::Told)
            };
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
