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
use crate::backend::{After, Lease, Prepared};
use crate::net::Buf;
use crate::relay::{Command, TurnEnd};
use crate::sniff::{Access, Effects, Sniffed};
use crate::wire::packet::{HEADER, MAX_PAYLOAD};
use crate::wire::prepare::{with_types, Execute, PrepareOk};
use crate::wire::{command, error, reply, status};
use std::rc::Rc;

/// Whose types a server remembers of a statement that nobody has executed, and after a bulk execution. No session's.
pub(super) const NOBODY: u64 = 0;

/// A statement that its server has just prepared.
pub(super) fn just_prepared(ok: &PrepareOk) -> Prepared {
    Prepared {
        server_id: ok.statement_id,
        parameters: ok.parameters,
        columns: ok.columns,
        types_of: NOBODY,
    }
}
const BULK: u64 = u64::MAX;
/// MYSQL_TYPE_NULL
const UNBOUND: [u8; 2] = [6, 0];
/// An EXECUTE that is refused before anything else happens.
pub(super) const WRONG_ARGUMENTS: u16 = 1210;
pub(super) const UNKNOWN_STATEMENT: u16 = 1243;
/// The EXECUTE flags that ask for a cursor; another one only says that query attributes follow.
const CURSOR_FLAGS: u8 = 7;

/// What an EXECUTE needs of its statement, copied out so that the session stays free to borrow.
pub(super) struct Plan {
    pub id: u32,
    sniffed: Sniffed,
    text: Rc<[u8]>,
    pub head: Execute,
    cursor: bool,
    pub on: OnShard,
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
            if !self.is_ready(&mut lease, &command, &plan) {
                match Box::pin(self.ready_to_execute(&mut lease, &command, &plan)).await {
                    Ok(()) => {}
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
                }
            }
            let out = match self.outgoing_execute(&mut lease, &command, &plan) {
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
                    self.note_parameter_types(&mut lease, &plan, end.error.as_ref());
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
        let resolves_once = self.resolves_once();
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
        if resolves_once {
            statement.becoming = statement.types_after(command, &head, capabilities);
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

    /// The client's command for this connection: the server's statement id, and types it has not seen.
    fn outgoing_execute(
        &mut self,
        lease: &mut Lease,
        command: &Command,
        plan: &Plan,
    ) -> Result<Outgoing, reply::Err> {
        let (free, mariadb) = (self.pins.is_empty(), self.dialect.mariadb);
        let mut bytes = command.bytes.clone();
        let bulk = command.kind() == command::STMT_BULK_EXECUTE;
        let Some(statement) = self.statements.get(plan.id) else {
            return Err(error::own("no statement to execute"));
        };
        let Some(prepared) = lease.prepared.get(statement.key_now(&plan.on)) else {
            return Err(error::own("a statement is not where it was prepared"));
        };
        let server_id = prepared.server_id;
        if bulk {
            // it brings types of its own: the connection no longer has those of any session's EXECUTE
            prepared.types_of = BULK;
        }
        if let Some(at) = plan.head.bound_flag_at {
            if plan.head.types.is_none() && prepared.types_of != statement.token {
                bytes = match &statement.types {
                    Some(types) => retyped(command, at, types).ok_or_else(types_needed)?,
                    // what another session bound here is none of this one's
                    None if has_values(command, at) && (mariadb || prepared.types_of != NOBODY) => {
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
        if let Some(prepared) = lease.prepared.remove(statement.place()) {
            close_on_server(lease, prepared.server_id);
        }
        self.update_statement_pins();
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
            // a server goes to the schema that it was prepared in and back
            if ran_on && statement.state.schema != self.state.schema {
                match self.dialect.mariadb {
                    true => self.owes_schema = true,
                    // told with the next OK
                    false => self.pins |= Pins::REPORT,
                }
            }
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
pub(super) fn has_values(command: &Command, at: usize) -> bool {
    !command.is_whole() || command.bytes.len() > HEADER + at + 1
}

/// Without the types this connection would read the values as those of another session.
fn types_needed() -> reply::Err {
    error::own(
        "an EXECUTE of 16 MiB or more has to carry its parameter types: they were sent on another server connection",
    )
}
