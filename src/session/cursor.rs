//! COM_STMT_FETCH: rows of a cursor that an EXECUTE opened on the held connection.
use super::lease::Attempt;
use super::prepare::{statement_id, with_statement_id};
use super::turn::{Outgoing, Ran};
use super::{End, Session};
use crate::relay::Command;
use crate::wire::{error, status};

impl Session {
    pub(super) async fn fetch(&mut self, command: Command) -> Result<(), End> {
        let id = statement_id(&command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let Some(statement) = self.statements.get(id) else {
            let error = self.unknown_statement(id, "mysqld_stmt_fetch");
            self.tell(&error);
            return Ok(());
        };
        let (key, open) = (statement.place(), statement.cursor);
        // without a cursor here a held connection is held for something else
        let lease = if open { self.held.take() } else { None };
        let Some(mut lease) = lease else {
            self.tell(&error::no_open_cursor(id, self.dialect.mariadb));
            return Ok(());
        };
        let Some(server_id) = lease.prepared.get(key).map(|p| p.server_id) else {
            self.held = Some(lease);
            self.tell(&error::no_open_cursor(id, self.dialect.mariadb));
            return Ok(());
        };
        let out = Outgoing {
            bytes: with_statement_id(&command.bytes, server_id),
            ..Outgoing::of(&command, &super::commands::SESSION_ONLY)
        };
        match self
            .exchange(&mut lease, out, &mut Attempt::default())
            .await?
        {
            Ran::Done(end) => {
                let last = end.error.is_some()
                    || end.status.is_some_and(|s| s & status::LAST_ROW_SENT != 0);
                if let (Some(statement), true) = (self.statements.get(id), last) {
                    statement.cursor = false;
                }
                self.update_statement_pins();
                self.finish(lease, end, &super::commands::SESSION_ONLY, &[]);
                Ok(())
            }
            _ => Err(End::Told),
        }
    }
}
