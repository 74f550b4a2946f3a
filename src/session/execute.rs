//! COM_STMT_EXECUTE, COM_STMT_BULK_EXECUTE.
//!
//! The route is decided at each EXECUTE. A connection that does not have the statement yet gets it
//! prepared first, under the state it was prepared in; parameter types that the client sent once and
//! relies on are put in for a connection that has not seen them.
use super::lease::Attempt;
use super::pins::Pins;
use super::prepare::{close_on_server, statement_id, with_statement_id};
use super::sharded::OnShard;
use super::sync::NotReady;
use super::turn::{Outgoing, Ran, READ_ONLY_REFUSALS};
use super::{End, Session};
use crate::backend::{After, Lease, Prepared, State, StatementKey};
use crate::net::Buf;
use crate::relay::{Broken, Command, TurnEnd};
use crate::sniff::{Access, Effects, Sniffed};
use crate::wire::packet::{frame, HEADER, MAX_PAYLOAD};
use crate::wire::prepare::{with_types, Execute};
use crate::wire::{command, error, reply, status};
use std::rc::Rc;

/// Whose types a server remembers of a statement that nobody has executed, and after a bulk execution. No session's.
pub(super) const NOBODY: u64 = 0;
const BULK: u64 = u64::MAX;
/// MYSQL_TYPE_NULL
const UNBOUND: [u8; 2] = [6, 0];
/// An EXECUTE that is refused before anything else happens.
const WRONG_ARGUMENTS: u16 = 1210;
const UNKNOWN_STATEMENT: u16 = 1243;
/// The EXECUTE flags that ask for a cursor; another one only says that query attributes follow.
const CURSOR_FLAGS: u8 = 7;

/// What an EXECUTE needs of its statement, copied out so that the session stays free to borrow.
struct Plan {
    id: u32,
    sniffed: Sniffed,
    text: Rc<[u8]>,
    head: Execute,
    cursor: bool,
    on: OnShard,
    /// Policies have nothing to say of it.
    passed: bool,
}

impl Session {
    pub(super) async fn execute(&mut self, command: Command) -> Result<(), End> {
        let (mut visit, mut on) = (None, None);
        if self.executes_sharded(&command) {
            match self.visit_to_execute(&command) {
                Ok(Some((there, shard))) => (visit, on) = (Some(there), shard),
                Ok(None) => return Box::pin(self.execute_sharded(command)).await,
                Err(error) => return self.deny(&command, &error),
            }
        }
        let ran = self.run_execute(command, on, visit.is_some()).await;
        match visit {
            Some(visit) if !self.leave(&ran) => Box::pin(self.settle_visit(visit)).await,
            _ => ran,
        }
    }

    /// On the group whose seat is taken; `on`: what is executed there. `judged`: policies were asked.
    pub(super) async fn run_execute(
        &mut self,
        command: Command,
        on: OnShard,
        judged: bool,
    ) -> Result<(), End> {
        let plan = match self.plan_execute(&command, on) {
            Ok(plan) => plan,
            Err(error) => {
                self.tell(&error);
                return Ok(());
            }
        };
        if !judged && !plan.passed {
            if let Err(error) = self.check_statement(plan.id) {
                return self.deny(&command, &error);
            }
        }
        if !self.leaves_warnings(&plan.sniffed, &plan.text) {
            self.release_diagnostics(plan.sniffed.effects).await?;
        }
        let _changing = self.changing_accounts(&plan.sniffed, &plan.text);
        let _defaults = self.changing_defaults(&plan.sniffed);
        let mut attempt = Attempt {
            writes: plan.sniffed.access == Access::Read && self.is_known_write(&plan.text),
            ..Attempt::default()
        };
        loop {
            let mut lease = match self.lease(&plan.sniffed, &mut attempt).await {
                Ok(lease) => lease,
                Err(error) => {
                    self.tell(&error);
                    return Ok(());
                }
            };
            if self.asks_too_much(&plan.sniffed) {
                self.refuse_counts();
                self.settle(lease);
                return Ok(());
            }
            let server_id = match self.prepared_on(&mut lease, plan.id, &plan.on).await {
                Ok(id) => id,
                Err(NotReady::Refused(error)) if self.can_heal(&lease, &error) => {
                    lease.after = After::Reset;
                    let text = plan.text.clone();
                    self.heal(&text, &mut attempt);
                    continue;
                }
                Err(NotReady::Refused(error)) => {
                    lease.after = After::Reset;
                    self.forget_unless_held(lease);
                    self.tell(&error);
                    return Ok(());
                }
                Err(NotReady::Broken(broken)) => {
                    match self.broken(broken, true, &lease, &mut attempt)? {
                        Ran::Lost => {
                            self.shared.stats.retries.add(1);
                            continue;
                        }
                        _ => {
                            self.forget(lease);
                            return Ok(());
                        }
                    }
                }
            };
            let out = match self.outgoing_execute(&mut lease, &command, &plan, server_id) {
                Ok(out) => out,
                Err(error) => {
                    self.forget_unless_held(lease);
                    self.tell(&error);
                    return Ok(());
                }
            };
            match self.exchange(&mut lease, out, &mut attempt).await? {
                Ran::Done(mut end) => {
                    self.executed(&plan, &end);
                    self.follow_up(&mut lease, &mut end, &plan.sniffed, &plan.text)
                        .await?;
                    let said = [&plan.text[..], command.body()];
                    self.note_last_insert_id(&mut end, &plan.sniffed, &said);
                    if plan
                        .sniffed
                        .effects
                        .contains(Effects::ASSIGNS_USER_VARIABLE)
                    {
                        // a literal in it has the character set that it was prepared in
                        self.pins |= Pins::USER_VARIABLE;
                    }
                    self.finish(lease, end, &plan.sniffed, &plan.text);
                    return Ok(());
                }
                Ran::NotRun => {
                    self.forget(lease);
                    return Ok(());
                }
                Ran::Lost => self.shared.stats.retries.add(1),
                Ran::Refused => {
                    let text = plan.text.clone();
                    self.heal(&text, &mut attempt);
                }
            }
        }
    }

    fn plan_execute(&mut self, command: &Command, on: OnShard) -> Result<Plan, reply::Err> {
        let id = statement_id(command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let capabilities = self.server_capabilities();
        let Some(statement) = self.statements.get(id) else {
            return Err(self.unknown_statement(id, "mysqld_stmt_execute"));
        };
        if let Some(watch) = self.watch.as_mut() {
            watch.executes(statement);
        }
        if let Some(error) = statement.failed.clone() {
            return Err(error);
        }
        let passed = statement.passed;
        let head = if command.kind() == command::STMT_EXECUTE {
            Execute::decode(&command.bytes[HEADER..], statement.parameters, capabilities)
                .map_err(|_| error::malformed_packet())?
        } else {
            // COM_STMT_BULK_EXECUTE always carries its types
            Execute {
                statement_id: id,
                flags: 0,
                iterations: 1,
                bound_flag_at: None,
                types: None,
            }
        };
        if let Some(types) = head.types.clone() {
            let types = command.bytes.get(HEADER..).and_then(|p| p.get(types));
            // drivers that send the types with every EXECUTE send the same ones
            if types != statement.types.as_deref() {
                statement.types = types.map(Into::into);
            }
        }
        let cursor = head.flags & CURSOR_FLAGS != 0;
        let mut sniffed = statement.sniffed;
        // an open cursor holds its connection while the session may write; a command that is streamed cannot be
        // sent again when a replica refuses it
        if (cursor || !command.is_whole()) && sniffed.access == Access::Read {
            sniffed.access = Access::Unsure;
        }
        Ok(Plan {
            id,
            sniffed,
            text: statement.text.clone(),
            head,
            cursor,
            on,
            passed: self.has_passed(&passed),
        })
    }

    /// The server's id of the statement on this connection; prepares it there first if need be.
    pub(super) async fn prepared_on(
        &mut self,
        lease: &mut Lease,
        id: u32,
        on: &OnShard,
    ) -> Result<u32, NotReady> {
        if self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA) {
            self.statements.keep_apart(id);
        }
        let Some(statement) = self.statements.get(id) else {
            return Err(NotReady::Refused(
                self.unknown_statement(id, "mysqld_stmt_execute"),
            ));
        };
        let key = on
            .as_ref()
            .map_or(statement.key, |on| StatementKey(on.identity));
        if let Some(prepared) = lease.prepared.get(key) {
            return Ok(prepared.server_id);
        }
        let text = on.as_ref().map_or(&statement.text, |on| &on.sql);
        let (text, state) = (text.clone(), statement.state.clone());
        let typed = statement
            .sniffed
            .effects
            .contains(Effects::USES_USER_VARIABLE);
        // rare once the connection knows the statement: on the heap, so that a session's task stays small
        Box::pin(self.prepare_on(lease, key, text, state, typed)).await
    }

    pub(super) async fn prepare_on(
        &mut self,
        lease: &mut Lease,
        key: StatementKey,
        text: Rc<[u8]>,
        state: Rc<State>,
        typed: bool,
    ) -> Result<u32, NotReady> {
        let settled = std::mem::replace(&mut lease.after, After::Close);
        let wanted = self.shared.states.intern(prepare_state(
            &lease.state,
            &state,
            typed && !self.has_own_user_variables(),
        ));
        let before = lease.state.clone();
        if let Err(failed) = self.change_state(lease, &wanted).await {
            if !self.pins.is_empty() {
                // some of it may have worked
                lease.state = wanted;
                self.go_back(lease, &before).await?;
                lease.after = settled;
            }
            return Err(failed);
        }
        let mut out = Vec::new();
        let mut payload = Vec::with_capacity(text.len() + 1);
        payload.push(command::STMT_PREPARE);
        payload.extend_from_slice(&text);
        frame(&payload, 0, &mut out);
        lease.socket.send(Buf::from_vec(out));
        let end = self
            .own_reply(lease, command::STMT_PREPARE)
            .await
            .map_err(NotReady::Broken)?;
        if !self.pins.is_empty() {
            // a held connection is not made to fit again before the command
            self.go_back(lease, &before).await?;
        }
        lease.after = settled;
        let Some(ok) = end.prepared else {
            let error = end.error.unwrap_or_else(|| {
                error::own("a server answered COM_STMT_PREPARE with neither OK nor error")
            });
            return Err(NotReady::Refused(error));
        };
        let here = Prepared {
            server_id: ok.statement_id,
            parameters: ok.parameters,
            columns: ok.columns,
            types_of: NOBODY,
        };
        self.keep_prepared(lease, key, here);
        Ok(ok.statement_id)
    }

    /// The state of a held connection as it was. Without it the session's further statements would run in
    /// another one: then the connection counts as lost.
    async fn go_back(&mut self, lease: &mut Lease, before: &Rc<State>) -> Result<(), NotReady> {
        match self.change_state(lease, before).await {
            Err(NotReady::Refused(error)) => {
                tracing::warn!(server = %lease.server.address, ?error, "a session's state could not be restored");
                Err(NotReady::Broken(Broken::Protocol {
                    untouched: true,
                    what: "session state refused",
                }))
            }
            done => done,
        }
    }

    /// The client's command for this connection: the server's statement id, and types it has not seen.
    fn outgoing_execute(
        &mut self,
        lease: &mut Lease,
        command: &Command,
        plan: &Plan,
        server_id: u32,
    ) -> Result<Outgoing, reply::Err> {
        let (free, mariadb) = (self.pins.is_empty(), self.dialect.mariadb);
        let mut bytes = command.bytes.clone();
        self.note_bulk_types(lease, command, plan.id);
        if let (Some(statement), Some(at)) = (self.statements.get(plan.id), plan.head.bound_flag_at)
        {
            let key = plan
                .on
                .as_ref()
                .map_or(statement.key, |on| StatementKey(on.identity));
            if let Some(prepared) = lease.prepared.get(key) {
                if plan.head.types.is_none() && prepared.types_of != statement.token {
                    bytes = match &statement.types {
                        Some(types) => retyped(command, at, types).ok_or_else(types_needed)?,
                        // what another session bound here is none of this one's
                        None if has_values(command, at) => {
                            self.end_statement_state(lease, plan.id);
                            return Err(error::types_never_sent());
                        }
                        // all of them NULL: of the type that they have in a statement that nobody bound
                        None if mariadb && prepared.types_of != NOBODY => {
                            let unbound = UNBOUND.repeat(statement.parameters.into());
                            retyped(command, at, &unbound).ok_or_else(types_needed)?
                        }
                        None => bytes,
                    };
                }
                prepared.types_of = statement.token;
            }
        }
        Ok(Outgoing {
            bytes: with_statement_id(&bytes, server_id),
            read: plan.sniffed.access == Access::Read && free,
            clears_diagnostics: free && self.asks_nothing_of_mine(&plan.sniffed),
            needs_last_insert_id: self.may_ask_last_insert_id(&plan.sniffed),
            heals: lease.guarded && free,
            ..Outgoing::of(command, &plan.sniffed)
        })
    }

    /// A server forgets long data and closes the cursor with every EXECUTE, also one that it refuses.
    fn end_statement_state(&mut self, lease: &mut Lease, id: u32) {
        let Some(statement) = self.statements.get(id) else {
            return;
        };
        if statement.pins().is_empty() {
            return;
        }
        (statement.long_data, statement.cursor) = (false, false);
        if let Some(prepared) = lease.prepared.remove(statement.key) {
            close_on_server(lease, prepared.server_id);
        }
        self.update_statement_pins();
    }

    /// COM_STMT_BULK_EXECUTE brings types of its own: the connection no longer has those of any session's EXECUTE.
    fn note_bulk_types(&mut self, lease: &mut Lease, command: &Command, id: u32) {
        if command.kind() != command::STMT_BULK_EXECUTE {
            return;
        }
        let key = self.statements.get(id).map(|s| s.key);
        if let Some(prepared) = key.and_then(|key| lease.prepared.get(key)) {
            prepared.types_of = BULK;
        }
    }

    fn can_heal(&self, lease: &Lease, error: &reply::Err) -> bool {
        lease.guarded && self.pins.is_empty() && READ_ONLY_REFUSALS.contains(&error.code)
    }

    fn executed(&mut self, plan: &Plan, end: &TurnEnd) {
        if let Some(statement) = self.statements.get(plan.id) {
            let refused = |e: &reply::Err| matches!(e.code, WRONG_ARGUMENTS | UNKNOWN_STATEMENT);
            let ran_on = end
                .error
                .as_ref()
                .map_or(end.changed_untold, |e| !refused(e));
            // MariaDB goes to the schema that it was prepared in and back
            self.owes_schema |=
                self.dialect.mariadb && ran_on && statement.state.schema != self.state.schema;
            // an error in long data stays with the server's statement until COM_STMT_RESET
            statement.long_data &= end.error.is_some();
            let opened = |flags: u16| flags & status::CURSOR_EXISTS != 0;
            statement.cursor = plan.cursor && end.status.is_some_and(opened);
            let pins = statement.pins();
            // looking through all statements is for those few that have, or had, something on the connection
            if pins.is_empty() && !self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA) {
                return;
            }
        }
        self.update_statement_pins();
    }

    /// After an error that is the client's: a held connection stays, another goes as its `after` says.
    pub(super) fn forget_unless_held(&mut self, lease: Lease) {
        if self.pins.is_empty() {
            self.forget(lease);
        } else {
            self.settle(lease);
        }
    }
}

/// What a text means hangs on the schema, the SQL mode and the character sets; the rest of the
/// connection's state stays (changing autocommit would end a transaction). `typed`: it names user variables, whose types
/// are taken when it is prepared.
fn prepare_state(now: &State, then: &State, typed: bool) -> State {
    const MEANING: [&[u8]; 4] = [
        b"sql_mode",
        b"character_set_client",
        b"character_set_connection",
        b"collation_connection",
    ];
    let mut state = now.clone();
    if typed {
        state.user.clone_from(&then.user);
    }
    if then.schema.is_some() {
        state.schema.clone_from(&then.schema);
    }
    state
        .variables
        .retain(|(name, _)| !MEANING.contains(&&**name));
    for name in MEANING {
        if let Some(value) = then.variable(name) {
            state = state.with_variable(name, value);
        }
    }
    state
}

/// The command, or its first part, with the types put in. `None`: it is of several packets, and the bytes of all
/// of them would move.
fn retyped(command: &Command, at: usize, types: &[u8]) -> Option<Buf> {
    let payload = with_types(&command.bytes[HEADER..], at, types);
    let length = payload.len() + command.rest;
    if command.continued || length >= MAX_PAYLOAD {
        return None;
    }
    let mut out = Vec::with_capacity(HEADER + payload.len());
    out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
    out.push(0);
    out.extend_from_slice(&payload);
    Some(Buf::from_vec(out))
}

/// Something follows the flag that says whether types do.
fn has_values(command: &Command, at: usize) -> bool {
    !command.is_whole() || command.bytes.len() > HEADER + at + 1
}

/// Without the types this connection would read the values as those of another session.
fn types_needed() -> reply::Err {
    error::own(
        "an EXECUTE of 16 MiB or more has to carry its parameter types: they were sent on another server connection",
    )
}
