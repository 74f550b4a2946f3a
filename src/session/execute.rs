//! COM_STMT_EXECUTE, COM_STMT_BULK_EXECUTE, COM_STMT_FETCH, COM_STMT_SEND_LONG_DATA.
//!
//! The route is decided at each EXECUTE. A connection that does not have the statement yet gets it
//! prepared first, under the state it was prepared in; parameter types that the client sent once and
//! relies on are put in for a connection that has not seen them.
use super::lease::Attempt;
use super::pins::Pins;
use super::prepare::{keep_prepared, statement_id, with_statement_id};
use super::turn::{swallow, Outgoing, Ran, READ_ONLY_REFUSALS};
use super::{End, Session};
use crate::backend::{After, Lease, Prepared, State};
use crate::net::Buf;
use crate::relay::{Broken, Command, Relay, TurnEnd};
use crate::sniff::{Access, Sniffed};
use crate::wire::packet::{frame, HEADER, MAX_PAYLOAD};
use crate::wire::prepare::{with_types, Execute};
use crate::wire::{command, error, reply, status};
use std::rc::Rc;

/// The EXECUTE flags that ask for a cursor; another one only says that query attributes follow.
const CURSOR_FLAGS: u8 = 7;

/// What an EXECUTE needs of its statement, copied out so that the session stays free to borrow.
struct Plan {
    id: u32,
    sniffed: Sniffed,
    text: Rc<[u8]>,
    head: Execute,
    cursor: bool,
}

/// Why a statement could not be prepared on this connection.
enum PrepareFailed {
    /// The server says so; the error is for the client.
    Refused(reply::Err),
    Broken(Broken),
}

impl Session {
    pub(super) async fn execute(&mut self, command: Command) -> Result<(), End> {
        let plan = match self.plan_execute(&command) {
            Ok(plan) => plan,
            Err(error) => {
                self.tell(&error);
                return if command.is_whole() {
                    Ok(())
                } else {
                    Err(End::Told)
                };
            }
        };
        self.release_diagnostics(plan.sniffed.effects).await?;
        let mut attempt = Attempt {
            writes: plan.cursor || self.is_known_write(&plan.text),
            ..Attempt::default()
        };
        loop {
            let mut lease = match self.lease(&plan.sniffed, &mut attempt).await {
                Ok(lease) => lease,
                Err(error) => {
                    self.tell(&error);
                    return if command.is_whole() {
                        Ok(())
                    } else {
                        Err(End::Told)
                    };
                }
            };
            if self.asks_too_much(&plan.sniffed) {
                self.refuse_counts();
                self.settle(lease);
                return Ok(());
            }
            let server_id = match self.prepared_on(&mut lease, plan.id).await {
                Ok(id) => id,
                Err(PrepareFailed::Refused(error)) if self.can_heal(&lease, &error) => {
                    lease.after = After::Reset;
                    let text = plan.text.clone();
                    self.heal(&text, &mut attempt);
                    continue;
                }
                Err(PrepareFailed::Refused(error)) => {
                    lease.after = After::Reset;
                    self.forget_unless_held(lease);
                    self.tell(&error);
                    return if command.is_whole() {
                        Ok(())
                    } else {
                        Err(End::Told)
                    };
                }
                Err(PrepareFailed::Broken(broken)) => {
                    match self.broken(broken, true, &lease, &mut attempt)? {
                        Ran::Lost => continue,
                        _ => return Ok(()),
                    }
                }
            };
            let out = match self.outgoing_execute(&mut lease, &command, &plan, server_id) {
                Ok(out) => out,
                Err(error) => {
                    self.forget_unless_held(lease);
                    self.tell(&error);
                    return if command.is_whole() {
                        Ok(())
                    } else {
                        Err(End::Told)
                    };
                }
            };
            match self.exchange(&mut lease, out, &mut attempt).await? {
                Ran::Done(mut end) => {
                    self.executed(&plan, &end);
                    let said = [&plan.text[..], command.body()];
                    self.note_last_insert_id(&mut end, &plan.sniffed, &said);
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

    fn plan_execute(&mut self, command: &Command) -> Result<Plan, reply::Err> {
        let id = statement_id(command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let capabilities = self.server_capabilities();
        let Some(statement) = self.statements.get(id) else {
            return Err(error::unknown_statement_handler(id, "mysqld_stmt_execute"));
        };
        if let Some(error) = statement.failed.clone() {
            return Err(error);
        }
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
            statement.types = command
                .bytes
                .get(HEADER..)
                .and_then(|p| p.get(types))
                .map(Into::into);
        }
        let cursor = head.flags & CURSOR_FLAGS != 0;
        let mut sniffed = statement.sniffed;
        if cursor {
            // the connection is held while the cursor is open, and the session may write meanwhile
            sniffed.access = if sniffed.access == Access::Read {
                Access::Unsure
            } else {
                sniffed.access
            };
        }
        Ok(Plan {
            id,
            sniffed,
            text: statement.text.clone(),
            head,
            cursor,
        })
    }

    /// The server's id of the statement on this connection; prepares it there first if need be.
    async fn prepared_on(&mut self, lease: &mut Lease, id: u32) -> Result<u32, PrepareFailed> {
        if self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA) {
            self.statements.keep_apart(id);
        }
        let Some(statement) = self.statements.get(id) else {
            return Err(PrepareFailed::Refused(error::unknown_statement_handler(
                id,
                "mysqld_stmt_execute",
            )));
        };
        let key = statement.key;
        if let Some(prepared) = lease.prepared.get(key) {
            return Ok(prepared.server_id);
        }
        let (text, state) = (statement.text.clone(), statement.state.clone());
        let settled = std::mem::replace(&mut lease.after, After::Close);
        let wanted = self
            .shared
            .states
            .intern(prepare_state(&lease.state, &state));
        let before = lease.state.clone();
        if let Err(failed) = change_state(lease, &wanted).await {
            if !self.pins.is_empty() {
                // some of it may have worked
                lease.state = wanted;
                go_back(lease, &before).await?;
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
        let mut relay = Relay::new(
            &lease.socket,
            None,
            command::STMT_PREPARE,
            lease.capabilities,
        );
        relay.run().await.map_err(PrepareFailed::Broken)?;
        let end = relay.end;
        if !self.pins.is_empty() {
            // a held connection is not made to fit again before the command
            go_back(lease, &before).await?;
        }
        lease.after = settled;
        let Some(ok) = end.prepared else {
            let error = end.error.unwrap_or_else(|| {
                error::own("a server answered COM_STMT_PREPARE with neither OK nor error")
            });
            return Err(PrepareFailed::Refused(error));
        };
        let here = Prepared {
            server_id: ok.statement_id,
            parameters: ok.parameters,
            columns: ok.columns,
            types_of: 0,
        };
        keep_prepared(lease, key, here);
        Ok(ok.statement_id)
    }

    /// The client's command for this connection: the server's statement id, and types it has not seen.
    fn outgoing_execute(
        &mut self,
        lease: &mut Lease,
        command: &Command,
        plan: &Plan,
        server_id: u32,
    ) -> Result<Outgoing, reply::Err> {
        let free = self.pins.is_empty();
        let mut bytes = command.bytes.clone();
        self.note_bulk_types(lease, command, plan.id);
        if let (Some(statement), Some(at)) = (self.statements.get(plan.id), plan.head.bound_flag_at)
        {
            if let Some(prepared) = lease.prepared.get(statement.key) {
                if plan.head.types.is_none() && prepared.types_of != statement.token {
                    bytes = match &statement.types {
                        Some(types) => retyped(command, at, types).ok_or_else(types_needed)?,
                        // what another session bound here is none of this one's
                        None if has_values(command, at) => return Err(error::types_never_sent()),
                        None => bytes,
                    };
                }
                prepared.types_of = statement.token;
            }
        }
        Ok(Outgoing {
            bytes: with_statement_id(bytes, server_id),
            read: plan.sniffed.access == Access::Read && free,
            clears_diagnostics: free && self.asks_nothing_of_mine(&plan.sniffed),
            needs_last_insert_id: self.may_ask_last_insert_id(&plan.sniffed),
            heals: lease.guarded && free,
            ..Outgoing::plain(command)
        })
    }

    /// COM_STMT_BULK_EXECUTE brings types of its own: the connection no longer has those of any session's EXECUTE.
    fn note_bulk_types(&mut self, lease: &mut Lease, command: &Command, id: u32) {
        if command.kind() != command::STMT_BULK_EXECUTE {
            return;
        }
        let key = self.statements.get(id).map(|s| s.key);
        if let Some(prepared) = key.and_then(|key| lease.prepared.get(key)) {
            prepared.types_of = 0;
        }
    }

    fn can_heal(&self, lease: &Lease, error: &reply::Err) -> bool {
        lease.guarded && self.pins.is_empty() && READ_ONLY_REFUSALS.contains(&error.code)
    }

    fn executed(&mut self, plan: &Plan, end: &TurnEnd) {
        if let Some(statement) = self.statements.get(plan.id) {
            // an error in long data stays with the server's statement until COM_STMT_RESET
            statement.long_data &= end.error.is_some();
            let opened = |flags: u16| flags & status::CURSOR_EXISTS != 0;
            statement.cursor = plan.cursor && end.status.is_some_and(opened);
        }
        self.update_statement_pins();
    }

    pub(super) async fn fetch(&mut self, command: Command) -> Result<(), End> {
        let id = statement_id(&command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let Some(statement) = self.statements.get(id) else {
            self.tell(&error::unknown_statement_handler(id, "mysqld_stmt_fetch"));
            return Ok(());
        };
        let (key, open) = (statement.key, statement.cursor);
        let held = if open { self.held.take() } else { None };
        let Some(mut lease) = held else {
            self.tell(&error::no_open_cursor(id, self.dialect.mariadb));
            return Ok(());
        };
        let Some(server_id) = lease.prepared.get(key).map(|p| p.server_id) else {
            self.held = Some(lease);
            self.tell(&error::no_open_cursor(id, self.dialect.mariadb));
            return Ok(());
        };
        let out = Outgoing {
            bytes: with_statement_id(command.bytes.clone(), server_id),
            ..Outgoing::plain(&command)
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
                self.finish(lease, end, &super::commands::NEUTRAL, &[]);
                Ok(())
            }
            _ => Err(End::Told),
        }
    }

    /// No reply: an error waits for the EXECUTE. The connection is held from the first part on.
    pub(super) async fn long_data(&mut self, command: Command) -> Result<(), End> {
        let id = statement_id(&command)
            .map(|id| self.statements.resolve(id))
            .unwrap_or(0);
        let Some(statement) = self.statements.get(id) else {
            return if command.is_whole() {
                Ok(())
            } else {
                Err(End::ClientGone)
            };
        };
        // the session may write before it executes: never on a replica
        let sniffed = Sniffed {
            access: Access::Unsure,
            ..statement.sniffed
        };
        let mut attempt = Attempt::default();
        let failed = match self.lease(&sniffed, &mut attempt).await {
            Err(error) => error,
            Ok(mut lease) => match self.prepared_on(&mut lease, id).await {
                Ok(server_id) => return self.send_long_data(lease, command, id, server_id).await,
                Err(PrepareFailed::Refused(error)) => {
                    self.forget_unless_held(lease);
                    error
                }
                Err(PrepareFailed::Broken(_)) => {
                    self.forget(lease);
                    error::server_lost()
                }
            },
        };
        if let Some(statement) = self.statements.get(id) {
            statement.failed = Some(failed);
        }
        if command.is_whole() {
            Ok(())
        } else {
            Err(End::ClientGone)
        }
    }

    async fn send_long_data(
        &mut self,
        mut lease: Lease,
        command: Command,
        id: u32,
        server_id: u32,
    ) -> Result<(), End> {
        lease.after = After::Close;
        let mut out = Outgoing::plain(&command);
        out.bytes = with_statement_id(command.bytes.clone(), server_id);
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

    /// After an error that is the client's: a held connection stays, another goes as its `after` says.
    fn forget_unless_held(&mut self, lease: Lease) {
        if self.pins.is_empty() {
            self.forget(lease);
        } else {
            self.settle(lease);
        }
    }
}

/// What a text means hangs on the schema, the SQL mode and the character sets; the rest of the
/// connection's state stays (changing autocommit would end a transaction).
fn prepare_state(now: &State, then: &State) -> State {
    const MEANING: [&[u8]; 4] = [
        b"sql_mode",
        b"character_set_client",
        b"character_set_connection",
        b"collation_connection",
    ];
    let mut state = now.clone();
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

/// The state of a held connection as it was. Without it the session's further statements would run in
/// another one: then the connection counts as lost.
async fn go_back(lease: &mut Lease, before: &Rc<State>) -> Result<(), PrepareFailed> {
    change_state(lease, before)
        .await
        .map_err(|failed| match failed {
            PrepareFailed::Refused(error) => {
                tracing::warn!(server = %lease.server.address, ?error, "a session's state could not be restored");
                PrepareFailed::Broken(Broken::Protocol {
                    untouched: true,
                    what: "session state refused",
                })
            }
            broken => broken,
        })
}

/// Makes the connection's state the wanted one and waits until it is. After an error the state may be
/// anything between the two.
async fn change_state(lease: &mut Lease, wanted: &Rc<State>) -> Result<(), PrepareFailed> {
    if Rc::ptr_eq(&lease.state, wanted) {
        return Ok(());
    }
    let mut out = Vec::new();
    let count = lease.sync_to(wanted, &mut out);
    if count > 0 {
        lease.socket.send(Buf::from_vec(out));
    }
    // every reply is read, also behind an error: the next one must not find it
    match swallow(lease, count).await {
        Ok(None) => {
            lease.state = wanted.clone();
            Ok(())
        }
        Ok(Some(error)) => Err(PrepareFailed::Refused(error)),
        Err(broken) => Err(PrepareFailed::Broken(broken)),
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
fn has_values(command: &Command, at: usize) -> bool {
    !command.is_whole() || command.bytes.len() > HEADER + at + 1
}

/// Without the types this connection would read the values as those of another session.
fn types_needed() -> reply::Err {
    error::own(
        "an EXECUTE of 16 MiB or more has to carry its parameter types: they were sent on another server connection",
    )
}
