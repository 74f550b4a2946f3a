//! Prepared statements on sharded tables: PREPARE is answered with a shard's own metadata, EXECUTE is planned with its
//! values and binds them to a statement of each shard.
use super::last::may_name_tables;
use super::names::rename_column;
use super::parameters::{parameter, value};
use super::reply::Told;
use super::used::Used;
use super::{Last, Session};
use crate::backend::{State, StatementKey};
use crate::net::{self, Buf};
use crate::plan::{Answer, Asked, Part, Plan, Planned, Value};
use crate::policy::Passed;
use crate::relay::Command;
use crate::scatter::{describe, Failure, Output};
use crate::session::lease::Attempt;
use crate::session::parameter_types::{after_first, label};
use crate::session::prepare::{close_on_server, statement_id};
use crate::session::statements::{key_of, Statement};
use crate::session::sync::NotReady;
use crate::session::turn::{Outgoing, Ran};
use crate::session::End;
use crate::sniff::{self, Access, Effects, Sniffed};
use crate::wire::capabilities::DEPRECATE_EOF;
use crate::wire::column::{kind, Column};
use crate::wire::packet::{frame, HEADER};
use crate::wire::prepare::{encode_execute, Bound, Execute, PrepareOk};
use crate::wire::{command, error, reply};
use std::rc::Rc;

/// What an EXECUTE binds.
pub(super) struct Binding {
    pub values: Vec<Bound>,
    /// Names in the text mean what they meant then.
    pub state: Rc<State>,
    /// The text names user variables, whose types are taken when it is prepared.
    pub typed: bool,
}

impl Binding {
    /// With these ids behind the client's own values.
    pub fn with_ids(&self, ids: &[u64]) -> Binding {
        let id = |id: &u64| Bound {
            kind: kind::LONGLONG,
            unsigned: true,
            raw: Some(id.to_le_bytes().to_vec()),
        };
        let values = self.values.iter().cloned().chain(ids.iter().map(id));
        Binding {
            values: values.collect(),
            state: self.state.clone(),
            typed: self.typed,
        }
    }

    /// Which of the servers' statements of this text an EXECUTE with these of the parameters may use: it sends all their
    /// types each time, and is answered as the first one with them. `resolves_once`: there are several.
    pub fn key(&self, text: &[u8], which: &[u16], resolves_once: bool) -> StatementKey {
        let key = key_of(text, &self.state, self.typed);
        if !resolves_once {
            return key;
        }
        let values = which
            .iter()
            .filter_map(|i| self.values.get(usize::from(*i)));
        key.with_types(label(&after_first(values.map(Bound::given), true)))
    }

    /// The command for a part's statement.
    pub fn execute(&self, part: &Part, server_id: u32, capabilities: u64) -> Option<Vec<u8>> {
        self.execute_with(&part.parameters, server_id, capabilities)
    }

    /// With these of the client's parameters. None: there is no such parameter.
    pub fn execute_with(
        &self,
        which: &[u16],
        server_id: u32,
        capabilities: u64,
    ) -> Option<Vec<u8>> {
        let at = |i: &u16| self.values.get(usize::from(*i));
        let values: Option<Vec<&Bound>> = which.iter().map(at).collect();
        Some(encode_execute(server_id, values?.into_iter(), capabilities))
    }
}

impl Session {
    /// The planner's answer for a statement to prepare, if it is not simply the user's own group's.
    pub(in crate::session) fn prepares_elsewhere(
        &mut self,
        text: &[u8],
        sniffed: &Sniffed,
    ) -> Option<Result<Planned, crate::plan::Refusal>> {
        if !self.shards() {
            return None;
        }
        let snapshot = self.shared.snapshot();
        let planned = self.plan_text(&snapshot, text, Asked::Once);
        let mut plain = *sniffed;
        plain.effects.remove(Effects::BEGIN);
        let seats = self.sharded.take();
        let home = self.stays_home(&planned, &plain, &snapshot);
        self.sharded = seats;
        (!home).then_some(planned)
    }

    pub(in crate::session) async fn prepare_sharded(
        &mut self,
        command: Command,
        sniffed: (Sniffed, Passed),
        planned: Result<Planned, crate::plan::Refusal>,
    ) -> Result<(), End> {
        let outcome = self
            .prepare_on_shard(command.body(), sniffed, planned)
            .await;
        self.go_home();
        self.tell_outcome(outcome)
    }

    async fn prepare_on_shard(
        &mut self,
        text: &[u8],
        (sniffed, passed): (Sniffed, Passed),
        planned: Result<Planned, crate::plan::Refusal>,
    ) -> Result<(), Told> {
        let judged = (sniffed, passed);
        let parameters = sniff::placeholders(text, self.dialect);
        let (group, sql, hidden) = match self.settle_plan(text, planned, None).await? {
            Planned::Whole { group } => (group, text.to_vec(), 0),
            Planned::Plan(Plan::Single(part)) => (part.group, part.sql, 0),
            Planned::Plan(Plan::Fanout(fanout)) => {
                let hidden = match &fanout.answer {
                    Answer::Rows(merge) => merge.hidden,
                    Answer::Affected | Answer::Inserted { .. } | Answer::AffectedOnce => 0,
                };
                let part = fanout.parts.into_iter().next();
                let part = part.ok_or_else(|| error::own("a plan without parts"))?;
                (part.group, part.sql, hidden)
            }
            Planned::Plan(Plan::Shown(shown)) => (shown.part.group, shown.part.sql, 0),
            // a server looks at it when it is executed, and so does the planner
            Planned::Plan(Plan::Definition(_)) => {
                return self.tell_prepared(text, judged, parameters, Vec::new());
            }
            Planned::Plan(Plan::Gather(gather)) => {
                let columns = self.describe_gather(&gather, &sniffed).await?;
                return self.tell_prepared(text, judged, parameters, columns);
            }
            Planned::Needs { .. } | Planned::NeedsIds { .. } => {
                return Err(error::own("no plan").into())
            }
        };
        let name = self.group_name(group)?;
        self.take_seat(Some(&name));
        let mut columns = self.describe(&sql, sniffed, hidden).await?;
        let map = &self.shared.snapshot().shards;
        let of_shard = columns.iter_mut();
        of_shard.for_each(|column| rename_column(map, group, column));
        self.tell_prepared(text, judged, parameters, columns)
    }

    /// The reply to PREPARE, with an id of the proxy's own.
    fn tell_prepared(
        &mut self,
        text: &[u8],
        (sniffed, passed): (Sniffed, Passed),
        parameters: usize,
        columns: Vec<Column>,
    ) -> Result<(), Told> {
        let id = self.statements.next_id();
        let ok = PrepareOk {
            statement_id: id,
            columns: u16::try_from(columns.len()).unwrap_or(u16::MAX),
            parameters: u16::try_from(parameters)
                .map_err(|_| error::own("a statement has 65,535 parameters at most"))?,
            warnings: 0,
        };
        self.statements.insert(
            id,
            Statement {
                text: text.into(),
                sniffed,
                parameters: ok.parameters,
                state: Rc::clone(&self.state),
                key: key_of(text, &self.state, false),
                token: self.shared.next_token(),
                types: None,
                parameter_types: None,
                becoming: None,
                proving: None,
                rows: !columns.is_empty(),
                long_data: false,
                cursor: false,
                failed: None,
                long: None,
                ruled: self.group.epoch(),
                sharded: true,
                dialect: self.dialect,
                passed,
                about: None,
            },
        );
        self.hold_statements();
        let mut out = Output::new(&self.client, usize::MAX);
        out.packet(&ok.encode(self.capabilities));
        let parameters = vec![parameter(); parameters];
        for block in [&parameters, &columns] {
            for column in block {
                out.packet(&column.encode(self.capabilities));
            }
            if !block.is_empty() && self.capabilities & DEPRECATE_EOF == 0 {
                out.packet(&reply::eof(0, self.reply_status()));
            }
        }
        out.flush();
        Ok(())
    }

    /// What the columns of the client's result are: asked of one shard.
    async fn describe(
        &mut self,
        sql: &[u8],
        sniffed: Sniffed,
        hidden: usize,
    ) -> Result<Vec<Column>, Told> {
        let lease = self.lease(&sniffed, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        self.write_state(&mut used)?;
        used.parts.push(0);
        used.write_prepare(sql);
        let longest = self.shared.snapshot().proxy.merge_memory;
        let described = self.describe_on(&mut used, longest).await;
        self.give_back(used)?;
        let mut columns = described.map_err(|failure| self.explain_failure(failure, &[]))?;
        columns.truncate(columns.len().saturating_sub(hidden));
        Ok(columns)
    }

    pub(super) async fn describe_on(
        &mut self,
        used: &mut Used,
        longest: usize,
    ) -> Result<Vec<Column>, Failure> {
        let limit = self.shared.snapshot().proxy.login_timeout;
        used.lease.socket.set_deadline(Some(net::now() + limit));
        let (outcome, end) = describe(used.branch(), longest).await;
        used.lease.socket.set_deadline(None);
        used.end = end;
        let described = outcome?;
        // what the connection keeps is prepared when it is executed
        close_on_server(&used.lease, described.statement_id);
        Ok(described.columns)
    }

    pub(in crate::session) async fn execute_sharded(
        &mut self,
        command: Command,
    ) -> Result<(), End> {
        let outcome = self.execute_planned(command).await;
        self.go_home();
        self.tell_outcome(outcome)
    }

    async fn execute_planned(&mut self, mut command: Command) -> Result<(), Told> {
        let id = statement_id(&command).map_or(0, |id| self.statements.resolve(id));
        let long = self.statements.take_long_data(id);
        self.hold_statements();
        let capabilities = self.server_capabilities();
        let Some(statement) = self.statements.get(id) else {
            return Err(error::unknown_statement_handler(id, "mysqld_stmt_execute").into());
        };
        let (text, sniffed) = (statement.text.clone(), statement.sniffed);
        let (sharded, failed) = (statement.sharded, statement.failed.clone());
        if let Some(watch) = self.watch.as_mut() {
            watch.executes(statement);
        }
        let elsewhere = statement.long_data;
        if !sharded {
            return self.execute_home(command, &sniffed, &text).await;
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        if elsewhere {
            let what = "the rules of the statement's tables have changed since its long data was sent: reset it and send it again";
            return Err(error::own(what).into());
        }
        self.check_statement(id)?;
        if command.kind() != command::STMT_EXECUTE {
            let what = "bulk EXECUTE cannot go to sharded tables: bind and execute row by row";
            return Err(error::own(what).into());
        }
        if command.continued {
            let what = "an EXECUTE of 16 MiB or more cannot go to sharded tables: send large values as long data";
            return Err(error::own(what).into());
        }
        if !command.is_whole() {
            let read = self.inbox.read_rest(&self.client, &mut command).await;
            if !matches!(read, Ok(true)) {
                return Err(End::ClientGone.into());
            }
        }
        let Some(statement) = self.statements.get(id) else {
            return Err(error::unknown_statement_handler(id, "mysqld_stmt_execute").into());
        };
        let payload = &command.bytes[HEADER..];
        let malformed = |_| error::malformed_packet();
        let head =
            Execute::decode(payload, statement.parameters, capabilities).map_err(malformed)?;
        if let Some(types) = head.types.clone() {
            statement.types = payload.get(types).map(Into::into);
        } else if statement.types.is_none() && statement.parameters > 0 {
            return Err(error::types_never_sent().into());
        }
        let known = statement.types.as_deref();
        let values = head
            .values(payload, statement.parameters, known, capabilities, &long)
            .map_err(malformed)?;
        let key = statement.key;
        let binding = Binding {
            values,
            state: statement.state.clone(),
            typed: sniffed.effects.contains(Effects::USES_USER_VARIABLE),
        };
        self.release_seats(sniffed.effects).await?;
        self.run_bound(&text, key, &sniffed, &binding).await
    }

    /// A statement of the user's own group, in a session that uses others too.
    async fn execute_home(
        &mut self,
        command: Command,
        sniffed: &Sniffed,
        text: &[u8],
    ) -> Result<(), Told> {
        self.release_seats(sniffed.effects).await?;
        if Self::asks_about_last(sniffed) {
            let home = self.user.clone();
            let named = may_name_tables(sniffed, text).then_some(&*home.config.group);
            self.sit_at_last(sniffed, named)?;
            self.run_execute(command, None, false).await?;
            return Ok(());
        }
        self.before_home(sniffed, text).await?;
        self.note_last(Last::Home);
        self.forget_error();
        let begun = self.begun_here();
        self.run_execute(command, None, false).await?;
        self.note_transaction(sniffed, text);
        self.check_transaction(begun).await
    }

    async fn run_bound(
        &mut self,
        text: &[u8],
        key: StatementKey,
        sniffed: &Sniffed,
        binding: &Binding,
    ) -> Result<(), Told> {
        let values: Vec<Value> = binding
            .values
            .iter()
            .map(|bound| value(bound.value()))
            .collect();
        let snapshot = self.shared.snapshot();
        let planned = self.plan_execute_of(&snapshot, (text, key, &values), binding, sniffed);
        match self
            .settle_plan(text, planned, Some((&values, &binding.state)))
            .await?
        {
            Planned::Whole { group } => {
                let part = Part {
                    group,
                    shard: 0,
                    sql: text.to_vec(),
                    parameters: (0..binding.values.len() as u16).collect(),
                };
                self.execute_part(&part, sniffed, binding).await
            }
            Planned::Plan(Plan::Single(part)) => {
                self.watch_shards(std::slice::from_ref(&part));
                self.names_shards = true;
                self.execute_part(&part, sniffed, binding).await
            }
            Planned::Plan(Plan::Fanout(fanout)) => {
                self.fanout(&fanout, sniffed, Some(binding)).await
            }
            Planned::Plan(Plan::Shown(shown)) => self.show(&shown, sniffed, Some(binding)).await,
            Planned::Plan(Plan::Definition(definition)) => {
                self.define(&definition, text, sniffed).await
            }
            Planned::Plan(Plan::Gather(gather)) => {
                self.gather(&gather, sniffed, Some(binding)).await
            }
            Planned::Needs { .. } | Planned::NeedsIds { .. } => Err(error::own("no plan").into()),
        }
    }

    /// One group's statement; its reply passes through.
    async fn execute_part(
        &mut self,
        part: &Part,
        sniffed: &Sniffed,
        binding: &Binding,
    ) -> Result<(), Told> {
        let name = self.group_name(part.group)?;
        match Self::asks_about_last(sniffed) {
            true => self.sit_at_last(sniffed, Some(&name))?,
            false => {
                self.may_use_variables(sniffed.effects, &name)?;
                self.sit_for_single(&name).await?;
                self.note_single(name);
            }
        }
        self.release_diagnostics(sniffed.effects).await?;
        self.forget_error();
        let begun = self.begun_here();
        let text: Rc<[u8]> = part.sql.as_slice().into();
        let key = binding.key(&text, &part.parameters, self.resolves_once());
        let mut attempt = Attempt::default();
        loop {
            let mut lease = self.lease(sniffed, &mut attempt).await?;
            let known = lease.prepared.get(key).map(|p| p.server_id);
            let ready = match known {
                Some(id) => Ok(id),
                None => {
                    self.prepare_on(
                        &mut lease,
                        key,
                        text.clone(),
                        binding.state.clone(),
                        binding.typed,
                    )
                    .await
                }
            };
            let server_id = match ready {
                Ok(id) => id,
                Err(NotReady::Refused(error)) => {
                    self.forget_unless_held(lease);
                    return Err(error.into());
                }
                Err(NotReady::Broken(broken)) => {
                    let ran = self.broken(broken, true, &lease, &mut attempt)?;
                    self.forget(lease);
                    match ran {
                        Ran::Lost => continue,
                        _ => return Ok(()),
                    }
                }
            };
            if let Some(prepared) = lease.prepared.get(key) {
                prepared.types_of = 0;
            }
            let payload = binding
                .execute(part, server_id, lease.capabilities)
                .ok_or_else(|| error::own("a plan with a parameter that there is not"))?;
            let mut bytes = Vec::new();
            frame(&payload, 0, &mut bytes);
            let free = self.pins.is_empty();
            let out = Outgoing {
                command: command::STMT_EXECUTE,
                bytes: Buf::from_vec(bytes),
                rest: 0,
                continued: false,
                read: sniffed.access == Access::Read && free,
                needs_last_insert_id: self.may_ask_last_insert_id(sniffed),
                clears_diagnostics: false,
                heals: lease.guarded && free,
                may_change_data: sniffed.may_change_data(),
                may_be_interrupted: true,
                about_tracking: false,
                keeps_schema: false,
                tells: false,
                is_query: false,
                statement_id: None,
            };
            match self.exchange(&mut lease, out, &mut attempt).await? {
                Ran::Done(mut end) => {
                    self.note_last_insert_id(&mut end, sniffed, &[&text]);
                    self.finish(lease, end, sniffed, &text);
                    self.after_single().await?;
                    return self.check_transaction(begun).await;
                }
                Ran::NotRun => {
                    self.forget(lease);
                    return Ok(());
                }
                Ran::Lost => self.shared.stats.retries.add(1),
                Ran::Refused => self.heal(&text, &mut attempt),
            }
        }
    }
}
