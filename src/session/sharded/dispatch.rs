//! The planner's answer → how the statement runs.
use super::columns::command_of;
use super::ids::Wanted;
use super::reply::Told;
use super::{Last, Session};
use crate::backend::State;
use crate::plan::{Asked, Part, Plan, Planned, Refusal, Request, Value};
use crate::relay::Command;
use crate::session::pins::Pins;
use crate::session::shared::Topology;
use crate::session::End;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::capabilities::QUERY_ATTRIBUTES;
use crate::wire::{error, reply};
use std::rc::Rc;

/// Tables whose columns one statement may ask for.
pub(super) const QUESTIONS: usize = 64;

impl Session {
    /// Reads a statement to its end: a table with a rule may be named anywhere in it.
    pub(in crate::session) async fn read_for_rules(
        &mut self,
        mut command: Command,
    ) -> Result<Command, End> {
        if command.continued {
            let what = "a statement of 16 MiB or more cannot be looked through for tables with rules: split it, or send \
                        large values as parameters of a prepared statement";
            return Err(self.tell_and_end(&error::own(what)));
        }
        match self.inbox.read_rest(&self.client, &mut command).await {
            Ok(true) => Ok(command),
            Ok(false) | Err(_) => Err(End::ClientGone),
        }
    }

    /// Whether the planner has to be asked, or other seats have a part in it. Cheap: one pass over the text.
    pub(in crate::session) fn may_leave_home(&self, sniffed: &Sniffed, sql: &[u8]) -> bool {
        let schema = self.state.schema.as_deref();
        let schema = schema.and_then(|s| std::str::from_utf8(s).ok());
        self.sharded.is_some()
            || sniffed.effects.contains(Effects::BEGIN)
            || self.shared.concerns(sql, schema, self.dialect)
    }

    /// What becomes of a statement; pure but for the columns that are known. `asked`: by what the plan is recalled later.
    pub(in crate::session) fn plan_text(
        &self,
        snapshot: &Topology,
        sql: &[u8],
        asked: Asked<'_>,
    ) -> Result<Planned, Refusal> {
        self.ask_planner(snapshot, sql, None, &self.state, |request| {
            self.shared.plan(request, asked)
        })
    }

    /// As [`Session::plan_text`], of an EXECUTE. `state`: what the session's was when names in it were given their meaning.
    pub(super) fn plan_with(
        &self,
        snapshot: &Topology,
        sql: &[u8],
        parameters: Option<&[Value]>,
        state: &State,
    ) -> Result<Planned, Refusal> {
        self.ask_planner(snapshot, sql, parameters, state, |request| {
            self.shared.plan(request, Asked::Once)
        })
    }

    pub(super) fn ask_planner<R>(
        &self,
        snapshot: &Topology,
        sql: &[u8],
        parameters: Option<&[Value]>,
        state: &State,
        ask: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let home = self.home_index(snapshot);
        let held = self.sharded.as_ref().and_then(|s| {
            let mut open = s.parked_in_transaction();
            match open.find_map(|seat| seat.group.as_deref()) {
                Some(name) => snapshot.groups.iter().position(|g| g.name == name),
                None => Some(home).filter(|_| s.home_used),
            }
        });
        let now = crate::net::now();
        let columns = |schema: &str, table: &str| {
            self.shared
                .columns
                .get(&snapshot.shards, schema, table, now)
        };
        let ids =
            |table: &str, count: u64, above: u64| self.shared.ids.take(table, count, above, now);
        ask(&Request {
            sql,
            schema: state
                .schema
                .as_deref()
                .and_then(|s| std::str::from_utf8(s).ok()),
            map: &snapshot.shards,
            columns: &columns,
            parameters,
            dialect: self.dialect,
            home,
            held,
            ids: &ids,
            version: Some(self.shared.columns.version(&snapshot.shards, now)),
            zero_generates: self.zero_generates_in(state),
            seed: self.shared.seed(),
        })
    }

    /// Whether the statement can run as if there were no other group.
    pub(in crate::session) fn stays_home(
        &self,
        planned: &Result<Planned, Refusal>,
        sniffed: &Sniffed,
        snapshot: &Topology,
    ) -> bool {
        let plain = !sniffed.effects.contains(Effects::BEGIN) && self.sharded.is_none();
        plain && matches!(planned, Ok(Planned::Whole { group }) if self.is_home(*group, snapshot))
    }

    /// A statement of a session that uses several groups.
    pub(in crate::session) async fn dispatch(
        &mut self,
        command: Command,
        sniffed: Sniffed,
        text_at: usize,
        planned: Result<Planned, Refusal>,
    ) -> Result<(), End> {
        let outcome = self.run_planned(command, &sniffed, text_at, planned).await;
        self.go_home();
        self.tell_outcome(outcome)
    }

    async fn run_planned(
        &mut self,
        command: Command,
        sniffed: &Sniffed,
        text_at: usize,
        planned: Result<Planned, Refusal>,
    ) -> Result<(), Told> {
        self.release_seats(sniffed.effects).await?;
        if Self::asks_about_last(sniffed) {
            return self
                .ask_about_last(command, sniffed, text_at, planned)
                .await;
        }
        let planned = match planned {
            Ok(Planned::Plan(Plan::Single(part))) => return self.run_single(&part, *sniffed).await,
            planned => planned,
        };
        let sql = command.body().get(text_at..).unwrap_or_default().to_vec();
        match self.settle_plan(&sql, planned, None).await? {
            Planned::Whole { group } => {
                let name = self.group_name(group)?;
                if *name == *self.user.config.group {
                    self.run_home(command, *sniffed, text_at, &sql).await
                } else {
                    self.run_elsewhere(command, *sniffed, text_at, name).await
                }
            }
            Planned::Plan(Plan::Single(part)) => self.run_single(&part, *sniffed).await,
            Planned::Plan(Plan::Fanout(fanout)) => {
                let counts = sniffed.effects.intersects(Effects::CALC_FOUND_ROWS);
                if counts {
                    let what = "SQL_CALC_FOUND_ROWS over several shards is not supported: SELECT COUNT(*) instead";
                    return Err(error::own(what).into());
                }
                self.fanout(&fanout, sniffed, None).await
            }
            Planned::Plan(Plan::Gather(gather)) => self.gather(&gather, sniffed, None).await,
            Planned::Plan(Plan::Shown(shown)) => self.show(&shown, sniffed, None).await,
            Planned::Plan(Plan::Definition(definition)) => {
                self.define(&definition, &sql, sniffed).await
            }
            Planned::Needs { .. } | Planned::NeedsIds { .. } => {
                Err(error::own("the columns of the sharded tables could not be learnt").into())
            }
        }
    }

    /// Answers what the planner asks until it has a plan.
    pub(super) async fn settle_plan(
        &mut self,
        sql: &[u8],
        mut planned: Result<Planned, Refusal>,
        bound: Option<(&[Value], &Rc<State>)>,
    ) -> Result<Planned, Told> {
        for _ in 0..QUESTIONS {
            if let Ok(Planned::NeedsIds {
                schema,
                table,
                column,
                count,
                above,
            }) = &planned
            {
                let snapshot = self.shared.snapshot();
                let wanted = Wanted {
                    schema,
                    table,
                    column,
                    count: *count,
                    above: *above,
                };
                self.fetch_ids(&snapshot.shards, &wanted).await?;
                planned = self.plan_again(&snapshot, sql, bound);
                continue;
            }
            let (table, group, question) = match planned {
                Ok(Planned::Needs {
                    schema,
                    table,
                    group,
                    question,
                }) => ((schema, table), group, question),
                Ok(planned) => return Ok(planned),
                Err(refusal) => return Err(refused(refusal).into()),
            };
            let snapshot = self.shared.snapshot();
            let name = self.group_name(group)?;
            self.learn_columns(&snapshot.shards, table, &name, &question)
                .await?;
            planned = self.plan_again(&snapshot, sql, bound);
        }
        Err(error::own("the columns of the sharded tables could not be learnt").into())
    }

    fn plan_again(
        &self,
        snapshot: &Topology,
        sql: &[u8],
        bound: Option<(&[Value], &Rc<State>)>,
    ) -> Result<Planned, Refusal> {
        match bound {
            None => self.plan_text(snapshot, sql, Asked::Once),
            Some((values, state)) => self.plan_with(snapshot, sql, Some(values), state),
        }
    }

    pub(super) fn group_name(&self, group: usize) -> Result<Rc<str>, Told> {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(group);
        let name = group.map(|g| Rc::from(&*g.name));
        name.ok_or_else(|| error::own("a shard's group is no longer configured").into())
    }

    fn attributes(&self) -> bool {
        self.server_capabilities() & QUERY_ATTRIBUTES != 0
    }

    pub(super) fn text_offset(&self) -> usize {
        if self.attributes() {
            crate::wire::query::NO_ATTRIBUTES.len()
        } else {
            0
        }
    }

    pub(super) fn command_for(&self, part: &Part) -> Command {
        command_of(&part.sql, self.attributes())
    }

    /// One shard's answer is the client's.
    async fn run_single(&mut self, part: &Part, sniffed: Sniffed) -> Result<(), Told> {
        let name = self.group_name(part.group)?;
        self.watch_shards(std::slice::from_ref(part));
        self.names_shards = true;
        let command = self.command_for(part);
        let text_at = self.text_offset();
        self.run_elsewhere(command, sniffed, text_at, name).await
    }

    /// On the user's own group, after what has to happen elsewhere.
    async fn run_home(
        &mut self,
        command: Command,
        sniffed: Sniffed,
        text_at: usize,
        sql: &[u8],
    ) -> Result<(), Told> {
        self.before_home(&sniffed, sql).await?;
        self.note_last(Last::Home);
        let mut sniffed = sniffed;
        if self.in_open_transaction() {
            // a read of the transaction stays with the transaction
            sniffed.access = sniffed.access.max(crate::sniff::Access::Unsure);
        }
        self.forget_error();
        let begun = self.begun_here();
        self.run_query(command, sniffed, text_at).await?;
        self.note_transaction(&sniffed, sql);
        self.check_transaction(begun).await
    }

    /// What a statement of the user's own group means for the others.
    pub(super) async fn before_home(&mut self, sniffed: &Sniffed, sql: &[u8]) -> Result<(), Told> {
        self.take_seat(None);
        self.may_use_variables(sniffed.effects, &self.user.config.group)?;
        if sniffed.effects.contains(Effects::END_TRANSACTION) {
            self.end_elsewhere(sniffed.verb).await?;
            self.take_seat(None);
        } else if sniffed.effects.contains(Effects::BEGIN) {
            // commits what is open, on every server
            self.end_elsewhere(Verb::Commit).await?;
            self.take_seat(None);
        } else if self.commits_unseen(sniffed) {
            let what = "this statement would commit the open transaction, which also uses other groups: COMMIT or \
                        ROLLBACK first";
            return Err(error::own(what).into());
        } else if matches!(
            sniffed.verb,
            Verb::Savepoint | Verb::Release | Verb::Rollback
        ) {
            self.savepoint_elsewhere(sql).await?;
        }
        Ok(())
    }

    /// On one other group, like any statement.
    async fn run_elsewhere(
        &mut self,
        command: Command,
        sniffed: Sniffed,
        text_at: usize,
        group: Rc<str>,
    ) -> Result<(), Told> {
        self.may_use_variables(sniffed.effects, &group)?;
        self.sit_for_single(&group).await?;
        self.note_single(group);
        let begun = self.begun_here();
        self.forget_error();
        self.run_query(command, sniffed, text_at).await?;
        self.after_single().await?;
        self.check_transaction(begun).await
    }

    pub(super) fn forget_error(&mut self) {
        if let Some(sharded) = self.sharded.as_mut() {
            sharded.error = 0;
        }
    }

    /// Takes the seat of the one group that a statement uses, within the client's transaction.
    pub(super) async fn sit_for_single(&mut self, group: &str) -> Result<(), Told> {
        self.may_touch(group, false)?;
        self.take_seat(Some(group));
        self.join_transaction().await
    }

    pub(super) fn note_single(&mut self, group: Rc<str>) {
        let home = self.active_seat().is_none();
        self.note_last(if home { Last::Home } else { Last::Group(group) });
    }

    /// After a statement on the seat that is taken.
    pub(super) fn note_use_of_home(&mut self) {
        if self.pins.contains(Pins::TRANSACTION) && self.is_at_home() {
            self.sharded.get_or_insert_with(Box::default).home_used = true;
        }
    }

    pub(super) async fn after_single(&mut self) -> Result<(), Told> {
        self.note_use_of_home();
        if self.pins == Pins::INSERT_ID {
            self.resolve_last_insert_id().await?;
        }
        Ok(())
    }
}

pub(super) fn refused(refusal: Refusal) -> reply::Err {
    reply::Err {
        code: refusal.code,
        state: refusal.state,
        message: refusal.message.into_bytes(),
    }
}
