//! COM_STMT_PREPARE, COM_STMT_CLOSE, COM_STMT_RESET.
use super::commands::SESSION_ONLY;
use super::execute::just_prepared;
use super::lease::Attempt;
use super::pins::Pins;
use super::statements::{cost, key_of, Statement};
use super::turn::{Outgoing, Ran};
use super::{End, Session};
use crate::backend::{Lease, Prepared, StatementKey};
use crate::net::{Buf, Kept};
use crate::policy::Passed;
use crate::relay::{Command, TurnEnd};
use crate::sniff::{self, Access, Sniffed};
use crate::wire::packet::frame;
use crate::wire::{command, error, reply};
use std::rc::Rc;

impl Session {
    /// The statement is prepared where it would run now; where it really runs is decided at each EXECUTE.
    pub(super) async fn prepare(&mut self, mut command: Command) -> Result<(), End> {
        if self.statements.is_full() {
            self.tell(&error::too_many_prepared(super::statements::LIMIT));
            return Ok(());
        }
        if let Err(error) = self.may_keep_statement(command.body().len()) {
            self.tell(&error);
            return Ok(());
        }
        if !command.is_whole() {
            let limit = crate::relay::WHOLE_LIMIT;
            return Err(self.tell_and_end(&error::own(&format!(
                "a statement to prepare may have {limit} bytes at most"
            ))));
        }
        let sniffed = sniff::sniff(command.body(), true, self.dialect);
        self.watch_verb(sniffed.verb);
        let passed = match self.check_policies(command.body(), true, None) {
            Ok(passed) => passed,
            Err(error) => return self.deny(&command, &error),
        };
        if self.shared.has_libraries() {
            if let Err(error) = self.may_prepare(&sniffed, command.body()) {
                return self.deny(&command, &error);
            }
        }
        if super::query::asks_connection_id(&sniffed) {
            self.put_connection_id(&mut command, 0);
        }
        if self.brings_rule(&sniffed, command.body()) {
            self.refuse_to_prepare_rule();
            return Ok(());
        }
        if let Some(planned) = self.prepares_elsewhere(command.body(), &sniffed) {
            return Box::pin(self.prepare_sharded(command, (sniffed, passed), planned)).await;
        }
        // to prepare leaves the last statement's counts and warnings, which this one may ask for
        let mut asks = sniffed.effects & sniff::Effects::DIAGNOSTICS;
        if self.leaves_warnings(&sniffed, command.body()) {
            asks |= sniff::Effects::DIAGNOSTICS;
        } else {
            self.release_diagnostics(sniffed.effects).await?;
        }
        let mut attempt = Attempt {
            writes: self.is_known_write(command.body()),
            ..Attempt::default()
        };
        loop {
            let mut lease = match self.lease(&sniffed, &mut attempt).await {
                Ok(lease) => lease,
                Err(error) => {
                    self.tell(&error);
                    return Ok(());
                }
            };
            let id = self.statements.next_id();
            // preparing has no effect on data: it may be sent again
            let free = self.pins.is_empty();
            let out = Outgoing {
                read: free,
                heals: lease.guarded && free,
                statement_id: Some(id),
                ..Outgoing::of(&command, &SESSION_ONLY)
            };
            match self.exchange(&mut lease, out, &mut attempt).await? {
                Ran::Done(end) => {
                    self.prepared(&mut lease, &end, id, command.body(), (sniffed, passed));
                    let nothing = Sniffed {
                        access: Access::Read,
                        effects: asks,
                        ..sniffed
                    };
                    self.finish(lease, end, &nothing, &[]);
                    return Ok(());
                }
                Ran::NotRun => {
                    self.forget(lease);
                    return Ok(());
                }
                Ran::Lost => self.shared.stats.retries.add(1),
                Ran::Refused => self.heal(command.body(), &mut attempt),
            }
        }
    }

    /// Remembers the statement for the client, and on the connection that has it now.
    fn prepared(
        &mut self,
        lease: &mut Lease,
        end: &TurnEnd,
        id: u32,
        text: &[u8],
        (sniffed, passed): (Sniffed, Passed),
    ) {
        let Some(ok) = end.prepared else { return };
        let typed = sniffed.effects.contains(sniff::Effects::USES_USER_VARIABLE);
        let token = self.shared.next_token();
        let mut key = key_of(text, &self.state, typed);
        // what the state is now, only the connection knows; or the statement before would be closed with what is on it
        if !lease.tracking || self.is_busy(key) {
            key = StatementKey(key.0.wrapping_add(u128::from(token)));
        }
        self.keep_prepared(lease, key, just_prepared(&ok));
        self.statements.insert(
            id,
            Statement {
                text: text.into(),
                sniffed,
                parameters: ok.parameters,
                state: Rc::clone(&self.state),
                key,
                token,
                types: None,
                parameter_types: None,
                becoming: None,
                proving: None,
                rows: ok.columns > 0,
                long_data: false,
                cursor: false,
                failed: None,
                dialect: self.dialect,
                passed,
                about: None,
                long: None,
                ruled: self.group.epoch(),
                sharded: false,
            },
        );
        self.hold_statements();
    }

    /// A statement of the session has a cursor or long data on the connection under this key.
    fn is_busy(&self, key: StatementKey) -> bool {
        self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA)
            && self.statements.busy().contains(&key)
    }

    /// 1041 if the connection's statements, and the long data for them, would take too much. `text`: bytes more.
    pub(super) fn may_keep_statement(&self, text: usize) -> Result<(), reply::Err> {
        let limit = self.shared.snapshot().proxy.memory.connection;
        if self.statements.bytes() + cost(text, 0) <= limit {
            return Ok(());
        }
        Err(error::out_of_memory(&format!(
            "the prepared statements of this connection and their long data take more than {limit} bytes \
             (connection_memory_bytes): close some, or send less"
        )))
    }

    /// Tells the network what is kept for the client.
    pub(super) fn hold_statements(&self) {
        self.client.hold(Kept::Statements, self.statements.bytes());
    }

    /// No reply. Connections keep the statement for the next session that wants it.
    pub(super) fn close_statement(&mut self, command: &Command) {
        let Some(id) = statement_id(command) else {
            return;
        };
        let id = self.statements.resolve(id);
        let Some(statement) = self.statements.remove(id) else {
            return;
        };
        self.hold_statements();
        if statement.pins().is_empty() {
            return;
        }
        if let Some(lease) = self.held.as_mut() {
            if let Some(prepared) = lease.prepared.remove(statement.place()) {
                close_on_server(lease, prepared.server_id);
            }
        }
        self.statement_state_ended();
    }

    pub(super) async fn reset_statement(&mut self, command: Command) -> Result<(), End> {
        let id = statement_id(&command).map(|id| self.statements.resolve(id));
        self.statements.take_long_data(id.unwrap_or(0));
        self.hold_statements();
        let Some(statement) = id.and_then(|id| self.statements.get(id)) else {
            let error = self.unknown_statement(id.unwrap_or(0), "mysqld_stmt_reset");
            self.tell(&error);
            return Ok(());
        };
        statement.failed = None;
        let used = !statement.pins().is_empty();
        statement.cursor = false;
        statement.long_data = false;
        let key = statement.place();
        // with nothing of the statement on it, a held connection is held for something else and stays so
        let held = if used { self.held.take() } else { None };
        let Some(mut lease) = held else {
            self.tell_ok();
            return Ok(());
        };
        let Some(server_id) = lease.prepared.get(key).map(|p| p.server_id) else {
            self.held = Some(lease);
            self.tell_ok();
            return Ok(());
        };
        let out = Outgoing {
            bytes: with_statement_id(&command.bytes, server_id),
            ..Outgoing::of(&command, &SESSION_ONLY)
        };
        match self
            .exchange(&mut lease, out, &mut Attempt::default())
            .await?
        {
            Ran::Done(end) => {
                self.update_statement_pins();
                self.finish(lease, end, &SESSION_ONLY, &[]);
                Ok(())
            }
            _ => Err(End::Told),
        }
    }

    /// 1243. MySQL 8.0.22 and later look for the statement in one place for all commands.
    pub(super) fn unknown_statement(&self, id: u32, function: &str) -> reply::Err {
        let one_place = !self.dialect.mariadb && self.dialect.version >= 80_022;
        let function = if one_place {
            "mysql_stmt_precheck"
        } else {
            function
        };
        error::unknown_statement_handler(id, function)
    }

    /// After a statement's cursor or long data ended outside a reply.
    fn statement_state_ended(&mut self) {
        self.update_statement_pins();
        if let Some(lease) = self.held.take() {
            self.settle(lease);
        }
    }

    /// Adds to the connection's statements; the one that has to go for it is closed on the server. One with an open cursor
    /// or long data never goes.
    pub(super) fn keep_prepared(
        &mut self,
        lease: &mut Lease,
        key: StatementKey,
        prepared: Prepared,
    ) {
        if let Some(old) = lease.prepared.remove(key) {
            close_on_server(lease, old.server_id);
        }
        let busy = match self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA) {
            true => self.statements.busy(),
            false => Vec::new(),
        };
        if let Some(evicted) = lease.prepared.insert(key, prepared, &busy) {
            close_on_server(lease, evicted);
        }
    }

    pub(super) fn update_statement_pins(&mut self) {
        self.pins.remove(Pins::CURSOR | Pins::LONG_DATA);
        self.pins |= self.statements.pins();
    }
}

/// The statement id field of COM_STMT_* commands.
pub(super) fn statement_id(command: &Command) -> Option<u32> {
    let field = command.body().get(..4)?;
    Some(u32::from_le_bytes(field.try_into().ok()?))
}

/// The same command for the server's id: a copy, which for most commands is in a buffer of the worker's.
pub(super) fn with_statement_id(command: &[u8], id: u32) -> Buf {
    use crate::wire::packet::HEADER;
    let mut bytes = Buf::copy_from_slice(command);
    if let Some(field) = bytes.make_mut().get_mut(HEADER + 1..HEADER + 5) {
        field.copy_from_slice(&id.to_le_bytes());
    }
    bytes
}

pub(super) fn close_on_server(lease: &Lease, server_id: u32) {
    let mut payload = vec![command::STMT_CLOSE];
    payload.extend_from_slice(&server_id.to_le_bytes());
    let mut out = Vec::with_capacity(payload.len() + 4);
    frame(&payload, 0, &mut out);
    lease.socket.send(Buf::from_vec(out));
}
