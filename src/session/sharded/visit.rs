//! Statements of one group go the way of all others: the session takes the group's seat, runs the statement as it runs
//! any, and sits down again at its user's own. Nothing of [`crate::scatter`] has a part in it.
//!
//! What has to wait for a server first (to join a transaction, to end what other seats are kept for) takes the longer way
//! through `dispatch.rs`.
use super::parameters::value;
use super::prepared::Binding;
use super::reply::Told;
use super::{Last, Session};
use crate::backend::StatementKey;
use crate::net::Buf;
use crate::plan::{Asked, Context, Execution, Plan, Planned, Recalled, Refusal, ShardText, Value};
use crate::relay::Command;
use crate::session::lease::ASKS_ABOUT_LAST;
use crate::session::pins::Pins;
use crate::session::prepare::statement_id;
use crate::session::shared::Topology;
use crate::session::statements::key_of;
use crate::session::End;
use crate::sniff::{Effects, Sniffed, TextId};
use crate::wire::packet::HEADER;
use crate::wire::prepare::Execute;
use crate::wire::{command, reply};
use std::rc::Rc;

/// A statement runs on one group's seat.
pub(in crate::session) struct Visit {
    /// The client's transaction was open there.
    begun: bool,
}

/// Where a text runs.
pub(in crate::session) enum Way {
    /// As if there were no other group.
    Home,
    /// With this command, if the client's own is not for that shard.
    Visit(Visit, Option<Command>),
    Dispatch(Box<Result<Planned, Refusal>>),
}

/// What a shard's EXECUTE executes, if not the client's own text.
pub(in crate::session) type OnShard = Option<Rc<ShardText>>;

/// Bytes of a command that may get another text here: with it, it is one packet still.
const LONGEST: usize = 1 << 20;
/// EXECUTE's flags for a cursor.
const CURSOR: u8 = 7;

impl Session {
    /// `text`: which of the texts that the sniffer keeps it is.
    pub(in crate::session) fn way(
        &mut self,
        command: &Command,
        text_at: usize,
        sniffed: &Sniffed,
        text: Option<TextId>,
    ) -> Way {
        if let Some(way) = text.and_then(|text| self.known_way(command, text_at, sniffed, text)) {
            return way;
        }
        let sql = command.body().get(text_at..).unwrap_or_default();
        if !self.may_leave_home(sniffed, sql) {
            if let Some(text) = text {
                let snapshot = self.shared.snapshot();
                self.shared
                    .keep_unconcerned(text, &self.plan_context(&snapshot));
            }
            return Way::Home;
        }
        let snapshot = self.shared.snapshot();
        let asked = text.map_or(Asked::Once, Asked::Text);
        let planned = self.plan_text(&snapshot, sql, asked);
        if self.stays_home(&planned, sniffed, &snapshot) {
            return Way::Home;
        }
        let one = match &planned {
            _ if !command.is_whole() || command.bytes.len() > LONGEST => None,
            Ok(Planned::Plan(Plan::Single(part))) => Some((part.group, Some(part))),
            Ok(Planned::Whole { group }) if !self.is_home(*group, &snapshot) => {
                Some((*group, None))
            }
            _ => None,
        };
        let visit = one.and_then(|(group, part)| {
            let visit = self.visit(group, sniffed, &snapshot)?;
            Some((visit, part))
        });
        let Some((visit, part)) = visit else {
            return Way::Dispatch(Box::new(planned));
        };
        let own = part.map(|part| {
            self.watch_shard(part.group, part.shard);
            self.names_shards = true;
            let mut out = self.shared.command.borrow_mut();
            out.clear();
            out.extend_from_slice(head(command, text_at));
            out.extend_from_slice(&part.sql);
            framed(&mut out)
        });
        Way::Visit(visit, own)
    }

    /// Of a text whose plan is known without looking.
    fn known_way(
        &mut self,
        command: &Command,
        text_at: usize,
        sniffed: &Sniffed,
        text: TextId,
    ) -> Option<Way> {
        let snapshot = self.shared.snapshot();
        let sql = command.body().get(text_at..)?;
        let shared = self.shared.clone();
        let mut out = shared.command.borrow_mut();
        out.clear();
        out.extend_from_slice(head(command, text_at));
        let context = self.plan_context(&snapshot);
        let (group, shard, same) = match shared.recall(text, sql, &context, &mut out)? {
            Recalled::Unconcerned if self.sharded.is_none() => return Some(Way::Home),
            Recalled::Unconcerned => return None,
            Recalled::Whole(group) if self.is_home(group, &snapshot) => {
                return self.sharded.is_none().then_some(Way::Home);
            }
            Recalled::Whole(group) => (group, None, true),
            Recalled::Shard { group, shard, same } => (group, Some(shard), same),
        };
        let visit = self.visit(group, sniffed, &snapshot)?;
        if let Some(shard) = shard {
            self.watch_shard(group, shard);
        }
        self.names_shards = !same;
        let own = (!same).then(|| framed(&mut out));
        Some(Way::Visit(visit, own))
    }

    /// Takes the seat of the one group that a statement uses. None: something has to be done first.
    fn visit(&mut self, group: usize, sniffed: &Sniffed, snapshot: &Topology) -> Option<Visit> {
        const OTHERWISE: Effects = Effects::BEGIN.union(ASKS_ABOUT_LAST);
        let name = &*snapshot.groups.get(group)?.name;
        if sniffed.effects.intersects(OTHERWISE)
            || self.may_touch(name, false).is_err()
            || self.may_use_variables(sniffed.effects, name).is_err()
        {
            return None;
        }
        if let Some(sharded) = &self.sharded {
            let mut parked = sharded.parked.iter();
            let kept = |pins: Pins| pins.intersects(Pins::FOR_QUESTIONS) && !pins.leaves_state();
            if parked.any(|seat| kept(seat.pins)) {
                return None;
            }
            if sharded.begin.is_some() && !self.pins_at(name).contains(Pins::TRANSACTION) {
                return None;
            }
        }
        self.take_seat(Some(name));
        if let Some(sharded) = self.sharded.as_mut() {
            sharded.last = match sharded.active() {
                Some(group) => Last::Group(group.clone()),
                None => Last::Home,
            };
        }
        self.forget_error();
        Some(Visit {
            begun: self.begun_here(),
        })
    }

    /// After the statement. False: there is more to do, see [`Session::settle_visit`].
    pub(in crate::session) fn leave(&mut self, ran: &Result<(), End>) -> bool {
        self.note_use_of_home();
        let failed = self.sharded.as_ref().is_some_and(|s| s.error != 0);
        if ran.is_ok() && (failed || self.pins == Pins::INSERT_ID) {
            return false;
        }
        self.go_home();
        true
    }

    /// The server is asked what its reply did not tell.
    pub(in crate::session) async fn settle_visit(&mut self, visit: Visit) -> Result<(), End> {
        let settled = async {
            self.after_single().await?;
            self.check_transaction(visit.begun).await
        };
        let settled: Result<(), Told> = settled.await;
        self.go_home();
        self.tell_outcome(settled)
    }

    /// Of an EXECUTE whose plan is known. None: it is not, or something has to be done first.
    ///
    /// # Errors
    /// A policy denies the statement.
    pub(in crate::session) fn visit_to_execute(
        &mut self,
        command: &Command,
    ) -> Result<Option<(Visit, OnShard)>, reply::Err> {
        let Some(((id, sniffed), found)) = self.known_execution(command) else {
            return Ok(None);
        };
        if let Err(error) = self.check_statement(id) {
            self.watch_executes(id);
            return Err(error);
        }
        let snapshot = self.shared.snapshot();
        let Some(visit) = self.visit(found.group, &sniffed, &snapshot) else {
            return Ok(None);
        };
        if let Some(shard) = found.shard {
            self.watch_shard(found.group, shard);
        }
        self.names_shards = found.text.is_some();
        Ok(Some((visit, found.text)))
    }

    fn known_execution(&mut self, command: &Command) -> Option<((u32, Sniffed), Execution)> {
        if command.kind() != command::STMT_EXECUTE || !command.is_whole() {
            return None;
        }
        let snapshot = self.shared.snapshot();
        let capabilities = self.server_capabilities();
        let id = self.statements.resolve(statement_id(command)?);
        let statement = self.statements.look(id)?;
        let ready = statement.failed.is_none() && statement.long.is_none() && !statement.long_data;
        if !statement.sharded || !ready || !is_shared(&statement.sniffed) {
            return None;
        }
        // schema and sql_mode are those of the statement, whose key says them
        let context = self.plan_context(&snapshot);
        let payload = command.bytes.get(HEADER..)?;
        let head = Execute::decode(payload, statement.parameters, capabilities).ok()?;
        if head.flags & CURSOR != 0 {
            return None;
        }
        let (count, known) = (statement.parameters, statement.types.as_deref());
        let mut bound = |at| {
            head.value(payload, count, known, capabilities, at)
                .map(value)
        };
        let found = self
            .shared
            .recall_execute(statement.key.0, &context, &mut bound)?;
        Some(((id, statement.sniffed), found))
    }

    /// How an EXECUTE's plan is to be kept.
    pub(super) fn plan_execute_of(
        &self,
        snapshot: &Topology,
        (text, key, values): (&[u8], StatementKey, &[Value]),
        binding: &Binding,
        sniffed: &Sniffed,
    ) -> Result<Planned, Refusal> {
        let state = &binding.state;
        let identify = |text: &[u8]| key_of(text, state, false).0;
        let asked = match is_shared(sniffed) {
            true => Asked::Execute {
                statement: key.0,
                identify: &identify,
            },
            false => Asked::Once,
        };
        self.ask_planner(snapshot, text, Some(values), state, |request| {
            self.shared.plan(request, asked)
        })
    }

    /// What a plan of the session's text follows from.
    fn plan_context<'s>(&'s self, snapshot: &'s Topology) -> Context<'s> {
        let (columns, now) = (&self.shared.columns, crate::net::now());
        Context {
            map: &snapshot.shards,
            version: columns.version(&snapshot.shards, now),
            schema: self.state.schema.as_deref(),
            dialect: self.dialect,
            home: self.home_index(snapshot),
            zero_generates: self.zero_generates,
        }
    }

    /// As the planner counts it.
    pub(super) fn home_index(&self, snapshot: &Topology) -> usize {
        // between turns the session sits there, so that its place has most often been looked up
        if self.is_at_home() {
            if let Some(at) = self.group.of(snapshot.epoch) {
                if snapshot
                    .groups
                    .get(at)
                    .is_some_and(|g| g.name == self.home())
                {
                    return at;
                }
            }
        }
        let home = snapshot.groups.iter().position(|g| g.name == self.home());
        home.unwrap_or(usize::MAX)
    }

    /// Of a group that is no longer there, too.
    pub(super) fn is_home(&self, group: usize, snapshot: &Topology) -> bool {
        let group = snapshot.groups.get(group);
        group.is_none_or(|group| group.name == self.user.config.group)
    }
}

/// Prepared by all sessions alike: what it means hangs on no value of a user variable.
fn is_shared(sniffed: &Sniffed) -> bool {
    !sniffed.effects.contains(Effects::USES_USER_VARIABLE)
}

/// What is in front of the text; it stays when that becomes another.
fn head(command: &Command, text_at: usize) -> &[u8] {
    let end = HEADER + 1 + text_at;
    command.bytes.get(..end).unwrap_or_default()
}

/// A whole command of one packet, from a header on whose length is still to be set.
fn framed(out: &mut [u8]) -> Command {
    let length = (out.len().saturating_sub(HEADER) as u32).to_le_bytes();
    for (to, from) in out.iter_mut().zip(&length[..3]) {
        *to = *from;
    }
    Command {
        bytes: Buf::copy_from_slice(out),
        rest: 0,
        continued: false,
    }
}
