//! A statement on the connection that is to execute it: prepared there if need be, its parameters of the session's types.
use super::execute::{has_values, just_prepared, Plan, NOBODY, UNKNOWN_STATEMENT, WRONG_ARGUMENTS};
use super::parameter_types::{after, after_first, differ_in_nulls, label, Known};
use super::pins::Pins;
use super::prepare::close_on_server;
use super::sharded::OnShard;
use super::statements::Statement;
use super::sync::NotReady;
use super::Session;
use crate::backend::{After, Lease, Prepared, State, StatementKey};
use crate::net::Buf;
use crate::relay::{Broken, Command};
use crate::sniff::Effects;
use crate::wire::packet::{frame, HEADER};
use crate::wire::prepare::{AllGiven, Execute};
use crate::wire::{command, error, reply};
use std::rc::Rc;

/// Before this version MySQL resolved a statement for each EXECUTE; so does MariaDB.
const RESOLVES_ONCE: u32 = 80_022;

impl Session {
    /// Servers keep what a statement's parameters were taken for.
    pub(in crate::session) fn resolves_once(&self) -> bool {
        !self.dialect.mariadb && self.dialect.version >= RESOLVES_ONCE
    }

    /// Whether this connection has the statement as this session would have it, and nothing was sent ahead for one.
    pub(super) fn is_ready(&mut self, lease: &mut Lease, command: &Command, plan: &Plan) -> bool {
        let resolves_once = self.resolves_once();
        let Some(statement) = self.statements.get(plan.id) else {
            return false;
        };
        statement.proving = None;
        let key = statement.key_now(&plan.on);
        let own = self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA);
        !own && (!resolves_once || !statement.is_typeless(command, &plan.head))
            && lease.prepared.get(key).is_some()
    }

    /// The statement on this connection, as the session's own would be on a connection of its own. Where that cannot be
    /// brought about, as if it was executed for the first time.
    pub(super) async fn ready_to_execute(
        &mut self,
        lease: &mut Lease,
        command: &Command,
        plan: &Plan,
    ) -> Result<(), NotReady> {
        if self.pins.intersects(Pins::CURSOR | Pins::LONG_DATA) {
            self.statements.keep_apart(plan.id);
        }
        if self.is_ready(lease, command, plan) {
            return Ok(());
        }
        let known = self.statements.look(plan.id);
        let known = known.filter(|s| self.resolves_once() && s.pins().is_empty());
        if let Some(statement) = known {
            let typeless = statement.is_typeless(command, &plan.head);
            return self.bring_types(lease, command, plan, typeless).await;
        }
        // what was sent ahead, or a cursor, is with one of the connection's statements
        self.prepared_on(lease, plan.id, &plan.on).await?;
        let resolves_once = self.resolves_once();
        let Some(statement) = self.statements.get(plan.id) else {
            return Err(NotReady::Refused(error::own("no statement to execute")));
        };
        let key = statement.place_on(&plan.on);
        let long_data = statement.long_data && statement.rows && resolves_once;
        if statement.becoming.is_some() || long_data {
            statement.proving = Some(Box::new(key));
        }
        Ok(())
    }

    /// The connection has none whose parameters are of the types after this EXECUTE: one that was not executed yet gets
    /// them by it. `typeless`: the server is to refuse it, which it does for one that nobody gave types.
    async fn bring_types(
        &mut self,
        lease: &mut Lease,
        command: &Command,
        plan: &Plan,
        typeless: bool,
    ) -> Result<(), NotReady> {
        let capabilities = self.server_capabilities();
        let Some(statement) = self.statements.get(plan.id) else {
            return Err(NotReady::Refused(error::own("no statement to execute")));
        };
        if let Some(given) = statement.given(command, &plan.head, capabilities) {
            let first = after_first(given.clone(), statement.rows);
            let wanted = statement.wanted_types();
            // of a statement without rows nobody sees what a NULL is taken for
            let unseen = || !statement.rows && differ_in_nulls(&first, wanted, given);
            if first != *wanted && !unseen() {
                statement.becoming = Some(first);
            }
        }
        let wanted = statement.wanted_types();
        let base = statement.base_on(&plan.on);
        let key = base.with_types(label(wanted));
        if !typeless && lease.prepared.get(key).is_some() {
            return Ok(());
        }
        let unproven = typeless || key != base;
        // nobody looks for it here before it is what it is to be
        let key = match unproven {
            true => base.with_types(u128::from(statement.token) << 64),
            false => key,
        };
        statement.proving = unproven.then(|| Box::new(key));
        let (text, state, typed) = statement.to_prepare(&plan.on);
        let usable = |p: &mut Prepared| !typeless || p.types_of == NOBODY;
        let fresh = match lease.prepared.get(base).is_some_and(usable) {
            true => lease.prepared.remove(base),
            false => None,
        };
        match fresh {
            Some(fresh) => self.keep_prepared(lease, key, fresh),
            None => {
                self.prepare_on(lease, key, text, state, typed).await?;
            }
        }
        Ok(())
    }

    /// After the reply: what the parameters' types are now, in the statement of the session and in that of the server.
    pub(super) fn note_parameter_types(
        &mut self,
        lease: &mut Lease,
        plan: &Plan,
        error: Option<&reply::Err>,
    ) {
        let before = |e: &reply::Err| matches!(e.code, WRONG_ARGUMENTS | UNKNOWN_STATEMENT);
        let Some(statement) = self.statements.get(plan.id) else {
            return;
        };
        let before_it = statement.place_on(&plan.on);
        if let Some(types) = statement
            .becoming
            .take()
            .filter(|_| !error.is_some_and(before))
        {
            statement.parameter_types = types;
        }
        let Some(proving) = statement.proving.take() else {
            return;
        };
        let used_before = before_it == *proving;
        if used_before {
            // from one's types to others' there is more than one way
            statement.keep_to_itself();
        }
        let key = statement.place_on(&plan.on);
        let Some(prepared) = lease.prepared.remove(*proving) else {
            return;
        };
        if used_before || error.is_none() {
            self.keep_prepared(lease, key, prepared);
        } else {
            // whether it has the types hangs on how far it came
            close_on_server(lease, prepared.server_id);
        }
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
        let mut key = statement.place_on(on);
        if let Some(prepared) = lease.prepared.get(key) {
            return Ok(prepared.server_id);
        }
        if statement.parameter_types.take().is_some() {
            // this connection's begins as if it had not been executed
            key = statement.place_on(on);
            if let Some(prepared) = lease.prepared.get(key) {
                return Ok(prepared.server_id);
            }
        }
        let (text, state, typed) = statement.to_prepare(on);
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
        self.keep_prepared(lease, key, just_prepared(&ok));
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
}

impl Statement {
    /// Its key, or that of its shard's text.
    fn base_on(&self, on: &OnShard) -> StatementKey {
        on.as_ref().map_or(self.key, |on| StatementKey(on.identity))
    }

    /// An EXECUTE of it has values, and their types were never told.
    fn is_typeless(&self, command: &Command, head: &Execute) -> bool {
        let values = |at: usize| has_values(command, at);
        self.types.is_none() && head.types.is_none() && head.bound_flag_at.is_some_and(values)
    }

    /// Where a connection that is ready has what the EXECUTE that runs is for.
    pub(super) fn key_now(&self, on: &OnShard) -> StatementKey {
        match &self.proving {
            Some(proving) => **proving,
            None => self.base_on(on).with_types(label(self.wanted_types())),
        }
    }

    /// After the EXECUTE that runs.
    fn wanted_types(&self) -> &Known {
        self.becoming.as_ref().unwrap_or(&self.parameter_types)
    }

    fn place_on(&self, on: &OnShard) -> StatementKey {
        self.base_on(on).with_types(label(&self.parameter_types))
    }

    /// Text, state, and whether it names user variables.
    fn to_prepare(&self, on: &OnShard) -> (Rc<[u8]>, Rc<State>, bool) {
        let text = on.as_ref().map_or(&self.text, |on| &on.sql);
        let effects = self.sniffed.effects;
        let typed = effects.contains(Effects::USES_USER_VARIABLE);
        (text.clone(), self.state.clone(), typed)
    }

    /// What an EXECUTE brings for its parameters. None: nothing, or of types that were never told.
    fn given<'c>(
        &'c self,
        command: &'c Command,
        head: &Execute,
        capabilities: u64,
    ) -> Option<AllGiven<'c>> {
        let payload = command.bytes.get(HEADER..)?;
        let known = self.types.as_deref();
        head.given(
            payload,
            self.parameters,
            known,
            capabilities,
            self.long_data,
        )
    }

    /// The parameters' types after an EXECUTE, if they change.
    pub(super) fn types_after(
        &self,
        command: &Command,
        head: &Execute,
        capabilities: u64,
    ) -> Option<Known> {
        let given = self.given(command, head, capabilities)?;
        after(&self.parameter_types, given, self.rows)
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
