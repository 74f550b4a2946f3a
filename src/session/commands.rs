//! Which command goes where; the commands that need no file of their own.
use super::lease::Attempt;
use super::pins::Pins;
use super::turn::{Outgoing, Ran};
use super::{eof_packet, error_packet, End, Session};
use crate::relay::Command;
use crate::sniff::{Access, Effects, Sniffed, Verb};
use crate::wire::{capabilities, command, error, tracker};

/// A command without SQL text: nothing is proven, so it goes to the primary.
pub(super) const NEUTRAL: Sniffed = Sniffed {
    verb: Verb::Other,
    access: Access::Unsure,
    effects: Effects::empty(),
    hint: None,
};

/// The same for commands that set session state only.
pub(super) const SESSION_ONLY: Sniffed = Sniffed {
    verb: Verb::Use,
    ..NEUTRAL
};

/// Leaves the last statement's warnings where they are.
const PING: Sniffed = Sniffed {
    effects: Effects::DIAGNOSTICS,
    ..SESSION_ONLY
};

impl Session {
    /// One client command and its whole reply.
    pub(super) async fn turn(&mut self, command: Command) -> Result<(), End> {
        if self.shared.epoch() != self.group.epoch() {
            let snapshot = self.shared.snapshot();
            // a group that is gone is told where a connection is asked for
            let _ = self.group(&snapshot);
        }
        if let Err(error) = self.watch_begins(&command).await {
            return self.deny(&command, &error);
        }
        if self.user.is_held_back() && tracker::expects_reply(command.kind()) {
            if let Err(error) = Box::pin(self.admit()).await {
                self.tell(&error);
                return Ok(());
            }
        }
        if self.pins.contains(Pins::SCHEMA) && self.hangs_on_schema(command.kind()) {
            Box::pin(self.learn_schema()).await?;
        }
        if self.shared.has_libraries() {
            if let Err(error) = self.may_command(command.kind()) {
                return self.deny(&command, &error);
            }
        }
        match command.kind() {
            command::QUERY => self.query(command).await,
            command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => self.execute(command).await,
            command::STMT_PREPARE => Box::pin(self.prepare(command)).await,
            command::STMT_SEND_LONG_DATA => Box::pin(self.long_data(command)).await,
            command::STMT_FETCH => Box::pin(self.fetch(command)).await,
            command::STMT_RESET => Box::pin(self.reset_statement(command)).await,
            command::STMT_CLOSE => {
                self.close_statement(&command);
                Ok(())
            }
            command::QUIT => Err(End::Quit),
            // a held connection must not end by its own wait_timeout while the client keeps it alive; and after a
            // ping, ROW_COUNT() is another one
            command::PING if self.pins.leaves_state() || self.pins.contains(Pins::DIAGNOSTICS) => {
                Box::pin(self.forward(command, &PING)).await
            }
            command::PING => {
                self.shared.stats.turns_local.add(1);
                self.tell_ok();
                Ok(())
            }
            command::INIT_DB => Box::pin(self.forward(command, &SESSION_ONLY)).await,
            command::SET_OPTION => Box::pin(self.set_option(command)).await,
            command::RESET_CONNECTION => self.reset_connection(),
            command::CHANGE_USER => Box::pin(self.change_user(command)).await,
            command::PROCESS_KILL => Box::pin(self.process_kill(command)).await,
            command::REGISTER_SLAVE => Box::pin(self.register_replica(command)).await,
            command::BINLOG_DUMP | command::BINLOG_DUMP_GTID => Box::pin(self.dump(command)).await,
            command::FIELD_LIST
            | command::STATISTICS
            | command::PROCESS_INFO
            | command::DEBUG
            | command::REFRESH
            | command::CREATE_DB
            | command::DROP_DB
            | command::SHUTDOWN => Box::pin(self.forward(command, &NEUTRAL)).await,
            _ => {
                self.send(error_packet(&error::unknown_command(), 1));
                Ok(())
            }
        }
    }

    /// A command that is passed on as it is.
    async fn forward(&mut self, command: Command, sniffed: &Sniffed) -> Result<(), End> {
        if let Err(error) = self.check_command(command.kind(), command.body()) {
            return self.deny(&command, &error);
        }
        if !command.is_whole() {
            return Err(self.tell_and_end(&error::packet_too_large()));
        }
        // MySQL's OK to COM_INIT_DB counts the warnings of the statement before
        let counts_before = command.kind() == command::INIT_DB && !self.dialect.mariadb;
        if !counts_before {
            self.release_diagnostics(sniffed.effects).await?;
        }
        let clears_diagnostics = counts_before && self.pins.is_empty();
        let mut attempt = Attempt::default();
        let mut lease = match self.lease(sniffed, &mut attempt).await {
            Ok(lease) => lease,
            Err(error) => {
                self.tell(&error);
                return Ok(());
            }
        };
        let out = Outgoing {
            clears_diagnostics,
            ..Outgoing::of(&command, sniffed)
        };
        match self.exchange(&mut lease, out, &mut attempt).await? {
            Ran::Done(end) => {
                // servers without session tracking: the command itself says what changed
                let schema = command.kind() == command::INIT_DB && end.error.is_none();
                if schema && !lease.tracking {
                    self.state = self
                        .shared
                        .states
                        .intern(self.state.with_schema(command.body()));
                    lease.state = self.state.clone();
                    self.state_changed();
                }
                self.finish(lease, end, sniffed, &[]);
            }
            _ => self.forget(lease),
        }
        Ok(())
    }

    /// COM_SET_OPTION: multi-statements on (0) or off (1). The session's flags decide which connections
    /// fit; a held connection is told.
    async fn set_option(&mut self, command: Command) -> Result<(), End> {
        let on = match command.body() {
            [0, 0] => true,
            [1, 0] => false,
            _ => {
                self.tell(&error::unknown_command());
                return Ok(());
            }
        };
        // MySQL's OK counts the warnings of the statement before
        if self.dialect.mariadb {
            self.release_diagnostics(Effects::empty()).await?;
        }
        if self.held.is_some() {
            self.forward(command, &PING).await?;
        } else if self.capabilities & capabilities::DEPRECATE_EOF != 0 {
            self.tell_ok();
        } else {
            self.send(eof_packet(self.status, 1));
        }
        let flag = capabilities::MULTI_STATEMENTS;
        let set = |flags: u64| if on { flags | flag } else { flags & !flag };
        self.capabilities = set(self.capabilities);
        if let Some(lease) = self.held.as_mut() {
            lease.capabilities = set(lease.capabilities);
            lease.wanted = set(lease.wanted);
        }
        Ok(())
    }

    /// COM_RESET_CONNECTION: as after login, without one. Nothing of it needs a server: a held connection is
    /// reset on its way back to the pool.
    fn reset_connection(&mut self) -> Result<(), End> {
        self.clear_session();
        if self.dialect.mariadb {
            let schema = self.state.schema.clone();
            let state = self.state.with_schema_after_reset(schema);
            self.state = self.shared.states.intern(state);
        } else {
            // MySQL goes back to the server's character set, MariaDB to that of the login
            let mut state =
                crate::backend::initial_state(self.greeting.collation.into(), &self.greeting);
            state.schema.clone_from(&self.state.schema);
            self.state = self.shared.states.intern(state);
            self.state_changed();
        }
        self.tell_ok();
        Ok(())
    }

    /// Rolls back, drops all session state, keeps the user.
    pub(super) fn clear_session(&mut self) {
        use super::pins::Pins;
        self.leave_seats();
        self.leave_library();
        self.statements.clear();
        self.hold_statements();
        self.pins = Pins::empty();
        self.kept = None;
        if let Some(lease) = self.held.take() {
            self.forget(lease);
        }
        self.last_insert_id = 0;
        self.owes_schema = false;
        self.status = super::login::first_status(&self.greeting);
        self.reads_as_new();
        let schema = self.state.schema.clone();
        let mut state = crate::backend::initial_state(self.collation, &self.greeting);
        state.schema = schema;
        self.state = self.shared.states.intern(state);
        self.state_changed();
    }

    /// Tells the client that its command may not run. One of which the end was not read ends the session.
    pub(super) fn deny(
        &mut self,
        command: &Command,
        error: &crate::wire::reply::Err,
    ) -> Result<(), End> {
        if !command.is_whole() {
            return Err(self.tell_and_end(error));
        }
        self.tell(error);
        Ok(())
    }

    /// Whether a command needs to know which schema is selected: in which a statement is prepared, what a reset keeps,
    /// which tables a policy is asked about.
    fn hangs_on_schema(&self, kind: u8) -> bool {
        match kind {
            command::QUERY => !self.user.policies.is_empty(),
            command::STMT_PREPARE
            | command::STMT_EXECUTE
            | command::STMT_BULK_EXECUTE
            | command::RESET_CONNECTION => true,
            _ => false,
        }
    }
}
