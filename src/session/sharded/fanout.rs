//! One statement on several shards at once.
use super::interrupt::servers_of;
use super::names::rename_column;
use super::prepared::Binding;
use super::reply::{lost, Told};
use super::used::Used;
use super::{Last, Session};
use crate::plan::{Answer, Fanout, Part};
use crate::scatter::{Branch, BranchEnd, Counting, Failure, Output, Rows, Scatter, Totals};
use crate::session::pins::Pins;
use crate::sniff::{Sniffed, Verb};
use crate::topology::NO_SELECT_LIMIT;
use crate::wire::column::Column;
use crate::wire::{error, status};
use std::rc::Rc;
use std::task::{Context, Poll};

/// Undoes one statement of a transaction where another shard refused it.
const SAVE: &[u8] = b"SAVEPOINT umpire_statement";
const UNDO: &[u8] = b"ROLLBACK TO SAVEPOINT umpire_statement";

impl Session {
    /// Runs the parts and answers the client.
    pub(super) async fn fanout(
        &mut self,
        fanout: &Fanout,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
    ) -> Result<(), Told> {
        self.may_fan_out(fanout)?;
        self.start_time();
        self.shared.stats.turns_fanned_out.add(1);
        self.watch_several(0, 0, 0);
        let open = self.in_transaction();
        let with_ids = binding
            .filter(|_| !fanout.ids.is_empty())
            .map(|binding| binding.with_ids(&fanout.ids));
        let binding = with_ids.as_ref().or(binding);
        let places: Vec<String> = fanout.parts.iter().map(|p| self.place_of(p)).collect();
        self.watch_shards(&fanout.parts);
        let mut used = self.lease_all(fanout, sniffed).await?;
        if let Some(binding) = binding {
            if let Err(told) = self.prepare_parts(&mut used, fanout, binding).await {
                self.put_back(used)?;
                return Err(told);
            }
        }
        self.make_ready(&mut used, sniffed)?;
        let begun: Vec<bool> = used.iter().map(Used::is_in_transaction).collect();
        let outcome = match &fanout.answer {
            Answer::Rows(_) => self.fan_out_rows(fanout, &mut used, binding).await,
            Answer::Affected => {
                self.fan_out_changes(&mut used, fanout, sniffed, Counting::All, binding)
                    .await
            }
            Answer::Inserted { ignore } => {
                let counting = Counting::Inserted { ignore: *ignore };
                self.fan_out_changes(&mut used, fanout, sniffed, counting, binding)
                    .await
            }
            Answer::AffectedOnce => {
                self.fan_out_changes(&mut used, fanout, sniffed, Counting::Once, binding)
                    .await
            }
        };
        if fanout.writes {
            self.note_write();
        }
        let mut over = false;
        if open && !matches!(outcome, Ok(Ran { error: 0, .. })) {
            over = self.was_rolled_back(&mut used, &begun, &outcome).await;
        }
        let noted = !matches!(
            outcome,
            Ok(Ran {
                warnings: 0,
                error: 0
            })
        );
        let mut ended = Ok(());
        for used in used {
            ended = ended.and(self.give_back(used));
        }
        self.note_last(Last::Several { noted });
        let told = match outcome {
            Ok(_) => Ok(()),
            Err(failure) => Err(self.explain_failure(failure, &places)),
        };
        ended?;
        if over {
            self.abandon_transaction().await?;
        }
        told
    }

    /// A statement failed in the client's transaction: whether a server has rolled all of that back, as after a deadlock.
    /// Then it is over on every group, as on a single server.
    async fn was_rolled_back(
        &mut self,
        used: &mut [Used],
        begun: &[bool],
        outcome: &Result<Ran, Failure>,
    ) -> bool {
        let code = match outcome {
            Ok(ran) => ran.error,
            Err(Failure::Refused { error, .. }) => error.code,
            Err(_) => 0,
        };
        for used in used.iter_mut().filter(|u| u.end.clean) {
            used.parts.clear();
            used.write_ping();
        }
        let mut over = code == DEADLOCK;
        for (used, begun) in used.iter_mut().zip(begun) {
            if used.end.clean && *begun {
                over |= self.ends_transaction(used).await;
            }
        }
        over
    }

    /// Sends the ping that was written. True: no transaction is open there any more.
    pub(super) async fn ends_transaction(&mut self, used: &mut Used) -> bool {
        let pinged = self.run_firmly(std::slice::from_mut(used)).await;
        pinged.is_ok() && !used.is_in_transaction()
    }

    /// For messages.
    fn place_of(&self, part: &Part) -> String {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(part.group).map_or("?", |g| &g.name);
        format!("shard {} on group '{group}'", part.shard)
    }

    /// Whether new sessions of the part's group have a sql_select_limit.
    fn is_limited(&self, part: &Part) -> bool {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(part.group);
        group.is_some_and(|group| group.greeting.select_limit)
    }

    pub(super) fn may_fan_out(&self, fanout: &Fanout) -> Result<(), Told> {
        let limited = match self.state.variable(b"sql_select_limit") {
            Some(limit) => limit != NO_SELECT_LIMIT.as_bytes(),
            None => fanout.parts.iter().any(|part| self.is_limited(part)),
        };
        if limited && !fanout.writes {
            let what = format!("sql_select_limit cannot hold for a statement on several shards: SET sql_select_limit = {NO_SELECT_LIMIT} and write LIMIT");
            return Err(error::own(&what).into());
        }
        let snapshot = self.shared.snapshot();
        for part in &fanout.parts {
            if let Some(group) = snapshot.groups.get(part.group) {
                let others = fanout.parts.iter().any(|p| p.group != part.group);
                self.may_touch(&group.name, others)?;
            }
        }
        Ok(())
    }

    async fn fan_out_rows(
        &mut self,
        fanout: &Fanout,
        used: &mut [Used],
        binding: Option<&Binding>,
    ) -> Result<Ran, Failure> {
        let Answer::Rows(merge) = &fanout.answer else {
            return Ok(Ran::default());
        };
        for used in used.iter_mut() {
            used.write_parts(fanout, binding)?;
        }
        let snapshot = self.shared.snapshot();
        let proxy = &snapshot.proxy;
        let group = fanout.parts.first().map_or(usize::MAX, |part| part.group);
        let named = |column: &mut Column| rename_column(&snapshot.shards, group, column);
        let client = &self.client;
        let mut out = Output::new(client, proxy.high_water);
        let rows = Rows {
            merge,
            parts: fanout.parts.len(),
            binary: binding.is_some(),
            increment: self.increment(),
            limit: proxy.merge_memory,
            most_rows: self.user.limits.max_result_rows.unwrap_or(u64::MAX),
            most_bytes: self.user.limits.max_result_bytes.unwrap_or(u64::MAX),
            capabilities: self.capabilities,
            status: self.reply_status(),
            named: &named,
        };
        let on = servers_of(used);
        let _spread = self.spread_over(&on);
        let entry = self.entry.clone();
        let mut stop = |cx: &mut Context<'_>| entry.poll_interrupted(cx);
        let branches: Vec<Branch<'_>> = used.iter_mut().map(Used::branch).collect();
        let mut scatter = Scatter::new(branches, Some(client), &mut stop, proxy.merge_memory);
        scatter.set_deadline(self.until());
        scatter.send();
        let outcome = scatter.rows(&rows, &mut out).await;
        let mut error = 0;
        match &outcome {
            Ok(end) => self.tell_rows_end(end.warnings, &mut out),
            Err(failure) if out.begun() => error = self.end_rows_with(failure, fanout, &mut out),
            Err(_) => {}
        }
        out.flush();
        self.shared.stats.bytes_to_clients.add(out.bytes);
        let (begun, bytes) = (out.begun(), out.bytes);
        self.settle_scatter(&mut scatter, &on, outcome.as_ref().err())
            .await;
        let ends = scatter.finish();
        used.iter_mut().zip(ends).for_each(|(u, end)| u.end = end);
        let rows = out.rows;
        self.watch_several(rows, bytes, error);
        match outcome {
            Ok(end) => Ok(Ran {
                warnings: end.warnings,
                error,
            }),
            Err(Failure::Client) => Err(Failure::Client),
            // the client has the error already
            Err(_) if begun => Ok(Ran { warnings: 0, error }),
            Err(failure) => Err(failure),
        }
    }

    /// The error that ends the rows; its code.
    fn end_rows_with(&self, failure: &Failure, fanout: &Fanout, out: &mut Output<'_>) -> u16 {
        let error = match failure {
            Failure::Refused { error, .. } => error.clone(),
            Failure::Merge(cause) => error::own(&cause.to_string()),
            Failure::Stopped => self.stopped_error(),
            Failure::Overdue => error::execution_time_exceeded(self.dialect.mariadb),
            Failure::OverLimit { by_rows } => self.result_is_cut(*by_rows),
            Failure::Lost { part, .. } | Failure::Protocol { part, .. } => {
                let place = fanout.parts.get(*part).map(|part| self.place_of(part));
                lost(place.as_deref())
            }
            Failure::Client => return 0,
        };
        self.shared.stats.turns_failed.add(1);
        out.packet(&error.encode());
        error.code
    }

    /// Statements of their own transaction: they change all shards or none, but for a COMMIT that fails.
    async fn fan_out_changes(
        &mut self,
        used: &mut [Used],
        fanout: &Fanout,
        sniffed: &Sniffed,
        counting: Counting,
        binding: Option<&Binding>,
    ) -> Result<Ran, Failure> {
        let changes = matches!(
            sniffed.verb,
            Verb::Insert | Verb::Replace | Verb::Update | Verb::Delete | Verb::With
        );
        // one statement of one server is atomic by itself
        let changes = changes && fanout.parts.len() > 1;
        let open = self.in_transaction();
        for used in used.iter_mut().filter(|_| changes) {
            used.write_silent(if open { SAVE } else { b"START TRANSACTION" });
        }
        if let Err(failure) = self.run_silent(used).await {
            // where it worked, a transaction has begun
            if changes {
                self.undo(used, open).await;
            }
            return Err(failure);
        }
        for used in used.iter_mut() {
            used.write_parts(fanout, binding)?;
        }
        let mut totals = match self.run_totals(used, counting).await {
            Ok(totals) => totals,
            Err(failure) => {
                if changes {
                    self.undo(used, open).await;
                }
                return Err(failure);
            }
        };
        if changes && !open {
            self.commit_all(used).await?;
        }
        if let Some(first) = fanout.ids.first().filter(|_| totals.affected_rows > 0) {
            totals.last_insert_id = *first;
        }
        if totals.last_insert_id != 0 {
            self.last_insert_id = totals.last_insert_id;
        }
        for used in used.iter() {
            self.take_seat(used.seat.as_deref());
            self.own_id = false;
            if open && used.end.status.is_some_and(|s| s & status::IN_TRANS != 0) {
                self.pins |= Pins::TRANSACTION;
            }
        }
        self.tell_totals(&totals);
        Ok(Ran {
            warnings: totals.warnings,
            error: 0,
        })
    }

    /// Sends what was written in front of the parts and waits until all of it worked.
    pub(super) async fn run_silent(&mut self, used: &mut [Used]) -> Result<(), Failure> {
        if used.iter().all(|u| u.silent == 0) {
            return Ok(());
        }
        let parts: Vec<Vec<usize>> = used
            .iter_mut()
            .map(|u| std::mem::take(&mut u.parts))
            .collect();
        let outcome = self.run_totals(used, Counting::All).await;
        used.iter_mut().zip(parts).for_each(|(u, p)| u.parts = p);
        outcome.map(drop)
    }

    /// Runs what was written on all connections; each reply is an OK.
    pub(super) async fn run_totals(
        &mut self,
        used: &mut [Used],
        counting: Counting,
    ) -> Result<Totals, Failure> {
        self.run_all(used, counting, false).await
    }

    /// The same for COMMIT and what takes a statement back: neither KILL nor the statement's time nor a client that is gone
    /// ends them, since whether they took effect would be in doubt.
    pub(super) async fn run_firmly(&mut self, used: &mut [Used]) -> Result<Totals, Failure> {
        self.run_all(used, Counting::All, true).await
    }

    async fn run_all(
        &mut self,
        used: &mut [Used],
        counting: Counting,
        firm: bool,
    ) -> Result<Totals, Failure> {
        let longest = self.shared.snapshot().proxy.merge_memory;
        let on = servers_of(used);
        let _spread = self.spread_over(&on);
        let entry = self.entry.clone();
        let mut stop = |cx: &mut Context<'_>| match firm {
            true => Poll::Pending,
            false => entry.poll_interrupted(cx),
        };
        let branches: Vec<Branch<'_>> = used.iter_mut().map(Used::branch).collect();
        let client = (!firm).then_some(&self.client);
        let mut scatter = Scatter::new(branches, client, &mut stop, longest);
        scatter.set_deadline(self.until().filter(|_| !firm));
        scatter.send();
        let outcome = scatter.totals(counting).await;
        match &outcome {
            Ok(_) => scatter.set_deadline(None),
            Err(failure) => self.settle_scatter(&mut scatter, &on, Some(failure)).await,
        }
        let ends = scatter.finish();
        for (used, end) in used.iter_mut().zip(ends) {
            let prepared = used.end.prepared || end.prepared;
            let status = end.status.or(used.end.status);
            used.end = BranchEnd {
                prepared,
                status,
                ..end
            };
        }
        outcome
    }

    /// Takes the statement back on every shard; a connection that did not take the session's state is reset anyway. Where a
    /// server has rolled the client's transaction back, there is no savepoint to go back to, and nothing to take back.
    async fn undo(&mut self, used: &mut [Used], open: bool) {
        let clean: Vec<bool> = used.iter().map(|u| u.end.clean && u.end.prepared).collect();
        for (used, _) in used.iter_mut().zip(&clean).filter(|(_, clean)| **clean) {
            used.parts.clear();
            used.write_silent(if open { UNDO } else { b"ROLLBACK" });
        }
        for (used, clean) in used.iter_mut().zip(clean) {
            if !clean {
                continue;
            }
            if let Err(cause) = self.run_firmly(std::slice::from_mut(used)).await {
                if is_no_savepoint(&cause) {
                    continue;
                }
                tracing::warn!(
                    ?cause,
                    "a statement could not be taken back: its connection is closed"
                );
                used.end.clean = false;
            }
        }
    }

    /// COMMIT on each, in order.
    async fn commit_all(&mut self, used: &mut [Used]) -> Result<(), Failure> {
        for used in used.iter_mut() {
            used.parts.clear();
            used.write_silent(b"COMMIT");
        }
        for at in 0..used.len() {
            let one = std::slice::from_mut(&mut used[at]);
            if let Err(failure) = self.run_firmly(one).await {
                let (done, rest) = used.split_at_mut(at);
                let done: Vec<String> = done.iter().map(|u| self.seat_name(&u.seat)).collect();
                let failed = self.seat_name(&rest[0].seat);
                for used in &mut rest[1..] {
                    used.framed.clear();
                    used.silent = 0;
                    used.end.clean = false;
                }
                if !done.is_empty() {
                    self.shared.stats.partial_commits.add(1);
                }
                return Err(partial(failure, &done, &failed));
            }
        }
        Ok(())
    }

    pub(super) fn seat_name(&self, seat: &Option<Rc<str>>) -> String {
        let name = seat.as_deref().unwrap_or(&self.user.config.group);
        format!("'{name}'")
    }

    /// The session's div_precision_increment.
    fn increment(&self) -> u32 {
        let value = self.state.variable(b"div_precision_increment");
        value
            .and_then(|v| std::str::from_utf8(v).ok()?.parse().ok())
            .unwrap_or(self.greeting.div_precision_increment)
    }
}

/// ER_LOCK_DEADLOCK: the server rolled the whole transaction back.
pub(super) const DEADLOCK: u16 = 1213;

/// ER_SP_DOES_NOT_EXIST, of a savepoint: the server has rolled the transaction back.
fn is_no_savepoint(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused { error, .. } if error.code == 1305)
}

/// What became of a statement that has its answer.
#[derive(Debug, Default)]
struct Ran {
    warnings: u16,
    /// Of the error behind rows that the client has already; 0: none.
    error: u16,
}

/// The error for a COMMIT that did not happen everywhere.
fn partial(failure: Failure, done: &[String], failed: &str) -> Failure {
    if done.is_empty() {
        return failure;
    }
    let cause = match &failure {
        Failure::Refused { error, .. } => error.to_string(),
        Failure::Lost { cause, .. } => {
            format!("{cause}: whether it took effect there is not known")
        }
        other => format!("{other:?}"),
    };
    let what = format!(
        "the change was committed on group {} but not on {failed}: {cause}; check and repair the rest",
        done.join(", ")
    );
    Failure::Refused {
        part: 0,
        error: error::own(&what),
    }
}
