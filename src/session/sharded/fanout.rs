//! One statement on several shards at once.
use super::prepared::Binding;
use super::reply::Told;
use super::used::Used;
use super::{Last, Session};
use crate::net;
use crate::plan::{Answer, Fanout, Part};
use crate::scatter::{Branch, BranchEnd, Counting, Failure, Output, Rows, Scatter, Totals};
use crate::session::pins::Pins;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::{error, status};
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

/// How long the other shards' replies are read after one has failed, or after the last row that is needed.
const QUIET: Duration = Duration::from_secs(2);
/// A held connection would take its transaction with it: it gets more time.
const QUIET_HELD: Duration = Duration::from_secs(10);
/// What is read of a reply that nobody wants any more, before its connection is closed instead, bytes.
const LEFT_OVER: usize = 256 * 1024;
/// Undoes one statement of a transaction where another shard refused it.
const SAVE: &[u8] = b"SAVEPOINT umpire_statement";
const UNDO: &[u8] = b"ROLLBACK TO SAVEPOINT umpire_statement";
/// MySQL's own default.
const DIV_PRECISION_INCREMENT: u32 = 4;

impl Session {
    /// Runs the parts and answers the client.
    pub(super) async fn fanout(
        &mut self,
        fanout: &Fanout,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
    ) -> Result<(), Told> {
        self.may_fan_out(fanout)?;
        let places: Vec<String> = fanout.parts.iter().map(|p| self.place_of(p)).collect();
        let mut used = self.lease_all(fanout, sniffed).await?;
        if let Some(binding) = binding {
            if let Err(told) = self.prepare_parts(&mut used, fanout, binding).await {
                self.put_back(used)?;
                return Err(told);
            }
        }
        self.make_ready(&mut used, sniffed)?;
        let outcome = match &fanout.answer {
            Answer::Rows(_) => self.fan_out_rows(fanout, &mut used, binding).await,
            Answer::Affected => {
                self.fan_out_changes(&mut used, fanout, sniffed, Counting::All, binding)
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
        let noted = !matches!(outcome, Ok(0));
        let mut ended = Ok(());
        for used in used {
            ended = ended.and(self.give_back(used));
        }
        self.note_last(Last::Several { noted });
        match outcome {
            Ok(_) => ended.map_err(Told::End),
            Err(failure) => {
                let told = self.explain_failure(failure, &places);
                ended?;
                Err(told)
            }
        }
    }

    /// For messages.
    fn place_of(&self, part: &Part) -> String {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(part.group).map_or("?", |g| &g.name);
        format!("shard {} on group '{group}'", part.shard)
    }

    pub(super) fn may_fan_out(&self, fanout: &Fanout) -> Result<(), Told> {
        if self.state.variable(b"sql_select_limit").is_some() && !fanout.writes {
            let what = "sql_select_limit cannot hold for a statement on several shards: SET sql_select_limit = DEFAULT and write LIMIT";
            return Err(error::own(what).into());
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
    ) -> Result<u16, Failure> {
        let Answer::Rows(merge) = &fanout.answer else {
            return Ok(0);
        };
        for used in used.iter_mut() {
            used.write_parts(fanout, binding)?;
        }
        let proxy = self.shared.snapshot().proxy.clone();
        let client = &self.client;
        let mut out = Output::new(client, proxy.high_water);
        let rows = Rows {
            merge,
            parts: fanout.parts.len(),
            binary: binding.is_some(),
            increment: self.increment(),
            limit: proxy.merge_memory,
            capabilities: self.capabilities,
            status: self.reply_status(),
        };
        let entry = self.entry.clone();
        let mut stop = |cx: &mut Context<'_>| entry.poll_interrupted(cx);
        let branches: Vec<Branch<'_>> = used.iter_mut().map(Used::branch).collect();
        let mut scatter = Scatter::new(branches, Some(client), &mut stop, proxy.merge_memory);
        scatter.send();
        let outcome = scatter.rows(&rows, &mut out).await;
        match &outcome {
            Ok(end) => self.tell_rows_end(end.warnings, &mut out),
            Err(failure) if out.begun() => self.end_rows_with(failure, &mut out),
            Err(_) => {}
        }
        out.flush();
        self.shared.stats.bytes_to_clients.add(out.bytes);
        let begun = out.begun();
        quiesce(&mut scatter).await;
        let ends = scatter.finish();
        used.iter_mut().zip(ends).for_each(|(u, end)| u.end = end);
        match outcome {
            Ok(end) => Ok(end.warnings),
            Err(Failure::Client) => Err(Failure::Client),
            // the client has the error already
            Err(_) if begun => Ok(1),
            Err(failure) => Err(failure),
        }
    }

    fn end_rows_with(&self, failure: &Failure, out: &mut Output<'_>) {
        let error = match failure {
            Failure::Refused { error, .. } => error.clone(),
            Failure::Merge(cause) => error::own(&cause.to_string()),
            Failure::Stopped => error::query_interrupted(),
            Failure::Lost { .. } | Failure::Protocol { .. } => error::server_lost(),
            Failure::Client => return,
        };
        self.shared.stats.turns_failed.add(1);
        out.packet(&error.encode());
    }

    /// Statements of their own transaction: they change all shards or none, but for a COMMIT that fails.
    async fn fan_out_changes(
        &mut self,
        used: &mut [Used],
        fanout: &Fanout,
        sniffed: &Sniffed,
        counting: Counting,
        binding: Option<&Binding>,
    ) -> Result<u16, Failure> {
        let changes = matches!(
            sniffed.verb,
            Verb::Insert | Verb::Replace | Verb::Update | Verb::Delete | Verb::With
        );
        let open = self.in_transaction();
        for used in used.iter_mut().filter(|_| changes) {
            used.write_silent(if open { SAVE } else { b"START TRANSACTION" });
        }
        self.run_silent(used).await?;
        for used in used.iter_mut() {
            used.write_parts(fanout, binding)?;
        }
        let totals = match self.run_totals(used, counting).await {
            Ok(totals) => totals,
            Err(failure) => {
                if changes {
                    self.undo(used, open, &failure).await;
                }
                return Err(failure);
            }
        };
        if changes && !open {
            self.commit_all(used).await?;
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
        Ok(totals.warnings)
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
        let longest = self.shared.snapshot().proxy.merge_memory;
        let entry = self.entry.clone();
        let mut stop = |cx: &mut Context<'_>| entry.poll_interrupted(cx);
        let branches: Vec<Branch<'_>> = used.iter_mut().map(Used::branch).collect();
        let mut scatter = Scatter::new(branches, Some(&self.client), &mut stop, longest);
        scatter.send();
        let outcome = scatter.totals(counting).await;
        if outcome.is_err() {
            quiesce(&mut scatter).await;
        }
        let ends = scatter.finish();
        for (used, end) in used.iter_mut().zip(ends) {
            let prepared = used.end.prepared || end.prepared;
            used.end = BranchEnd { prepared, ..end };
        }
        outcome
    }

    /// Takes the statement back on every shard.
    async fn undo(&mut self, used: &mut [Used], open: bool, failure: &Failure) {
        let rolled_back =
            matches!(failure, Failure::Refused { error, .. } if error.code == DEADLOCK);
        for used in used.iter_mut().filter(|u| u.end.clean) {
            used.parts.clear();
            used.write_silent(if open && !rolled_back {
                UNDO
            } else {
                b"ROLLBACK"
            });
        }
        let clean: Vec<bool> = used.iter().map(|u| u.end.clean).collect();
        for (used, clean) in used.iter_mut().zip(clean) {
            if !clean {
                continue;
            }
            if let Err(cause) = self
                .run_totals(std::slice::from_mut(used), Counting::All)
                .await
            {
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
            if let Err(failure) = self.run_totals(one, Counting::All).await {
                let (done, rest) = used.split_at_mut(at);
                let done: Vec<String> = done.iter().map(|u| self.seat_name(&u.seat)).collect();
                let failed = self.seat_name(&rest[0].seat);
                for used in &mut rest[1..] {
                    used.framed.clear();
                    used.silent = 0;
                    used.end.clean = false;
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
            .unwrap_or(DIV_PRECISION_INCREMENT)
    }

    pub(super) fn asks_about_last(sniffed: &Sniffed) -> bool {
        const ASKS: Effects = Effects::DIAGNOSTICS
            .union(Effects::FOUND_ROWS)
            .union(Effects::ROW_COUNT);
        sniffed.effects.intersects(ASKS)
    }
}

/// ER_LOCK_DEADLOCK: the server rolled the whole transaction back.
const DEADLOCK: u16 = 1213;

pub(super) async fn quiesce(scatter: &mut Scatter<'_>) {
    let time = if scatter.keeps() { QUIET_HELD } else { QUIET };
    scatter.quiesce(LEFT_OVER, net::now() + time).await;
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
