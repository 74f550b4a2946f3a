//! Rows of several shards brought into temporary tables of one server, which then runs the statement itself.
//!
//! Values keep every bit on the way: rows are read in the binary protocol without conversion of character sets and
//! written as numbers and hexadecimal literals. What was made is dropped again, or the connection is reset.
use super::prepared::Binding;
use super::reply::Told;
use super::used::Used;
use super::{Last, Session};
use crate::backend::{After, Lease};
use crate::merge::{self, literals, Error};
use crate::net::Kept;
use crate::plan::{Answer, Fanout, Gather, GatheredTable, Merge};
use crate::scatter::{Collected, Failure, Scatter};
use crate::session::lease::Attempt;
use crate::session::pins::Pins;
use crate::session::sync::NotReady;
use crate::session::turn::{Outgoing, Ran};
use crate::session::End;
use crate::sniff::{Access, Sniffed};
use crate::wire::column::Column;
use crate::wire::packet::frame;
use crate::wire::{command, error, status};
use std::rc::Rc;
use std::task::Context;

/// Zero dates, zeros for AUTO_INCREMENT and empty ENUM values go in as they came out.
const GATHERING_MODE: &[u8] = b"NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES";
/// One INSERT statement, about; servers take a megabyte at the least.
const BATCH: usize = 256 * 1024;

impl Session {
    pub(super) async fn gather(
        &mut self,
        gather: &Gather,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
    ) -> Result<(), Told> {
        self.start_time();
        self.shared.stats.turns_gathered.add(1);
        let group = self.group_name(gather.group)?;
        self.may_use_variables(sniffed.effects, &group)?;
        let mut left = self.shared.snapshot().proxy.merge_memory;
        let mut rows = Vec::with_capacity(gather.tables.len());
        for table in &gather.tables {
            let collected = self.fetch_table(table, sniffed, binding, left).await?;
            left = left.saturating_sub(collected.bytes);
            rows.push(collected);
            let kept: usize = rows.iter().map(|table| table.bytes).sum();
            self.client.hold(Kept::Rows, kept);
        }
        self.sit_for_single(&group).await?;
        let primary = Sniffed {
            access: sniffed.access.max(Access::Unsure),
            ..*sniffed
        };
        let lease = self.lease(&primary, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        let filled = self.fill(&mut used, gather, rows).await;
        self.client.hold(Kept::Rows, 0);
        if let Err(failure) = filled {
            return Err(self.undo_gather(used, gather, failure).await?);
        }
        self.note_last(Last::Several { noted: true });
        let outcome = self.run_gathered(used, gather, &primary, binding).await;
        self.watch_gathered();
        outcome
    }

    /// The columns of the statement's result: over temporary tables without rows.
    pub(super) async fn describe_gather(
        &mut self,
        gather: &Gather,
        sniffed: &Sniffed,
    ) -> Result<Vec<Column>, Told> {
        let group = self.group_name(gather.group)?;
        self.sit_for_single(&group).await?;
        let primary = Sniffed {
            access: sniffed.access.max(Access::Unsure),
            ..*sniffed
        };
        let lease = self.lease(&primary, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        if let Err(failure) = self.fill(&mut used, gather, Vec::new()).await {
            return Err(self.undo_gather(used, gather, failure).await?);
        }
        let state = self.state.clone();
        self.write_state_to(&mut used, &state);
        used.write_prepare(&gather.sql);
        let longest = self.shared.snapshot().proxy.merge_memory;
        let described = self.describe_on(&mut used, longest).await;
        if !used.end.clean || !used.end.prepared {
            self.give_back(used)?;
            return Err(error::server_lost().into());
        }
        used.lease.state = state;
        self.drop_gathered(used.lease, gather, held).await?;
        described.map_err(|failure| self.explain_failure(failure, &[]))
    }

    /// A table's rows from all its shards.
    async fn fetch_table(
        &mut self,
        table: &GatheredTable,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
        limit: usize,
    ) -> Result<Collected, Told> {
        let fanout = Fanout {
            parts: table.parts.clone(),
            writes: false,
            answer: Answer::Rows(Merge::default()),
            ids: Vec::new(),
        };
        self.may_fan_out(&fanout)?;
        self.watch_shards(&fanout.parts);
        let none = Binding {
            values: Vec::new(),
            state: self.state.clone(),
            typed: false,
        };
        let binding = binding.unwrap_or(&none);
        let mut used = self.lease_all(&fanout, sniffed).await?;
        if let Err(told) = self.prepare_parts(&mut used, &fanout, binding).await {
            self.put_back(used)?;
            return Err(told);
        }
        let unconverted = self.state.with_tracked(b"character_set_results", b"");
        let unconverted = self.shared.states.intern(unconverted);
        let mut wrong = None;
        for used in &mut used {
            self.write_state_to(used, &unconverted);
            wrong = wrong.or(used.write_parts(&fanout, Some(binding)).err());
        }
        let outcome = match wrong {
            Some(failure) => Err(failure),
            None => self.collect_all(&mut used, limit).await,
        };
        let mut ended = Ok(());
        for used in used {
            ended = ended.and(self.give_back(used));
        }
        let told = outcome.map_err(|failure| self.explain_failure(failure, &[]));
        ended?;
        told
    }

    async fn collect_all(&mut self, used: &mut [Used], limit: usize) -> Result<Collected, Failure> {
        let on = super::interrupt::servers_of(used);
        let _spread = self.spread_over(&on);
        let entry = self.entry.clone();
        let mut stop = |cx: &mut Context<'_>| entry.poll_interrupted(cx);
        let branches = used.iter_mut().map(Used::branch).collect();
        let longest = self.shared.snapshot().proxy.merge_memory;
        let mut scatter = Scatter::new(branches, Some(&self.client), &mut stop, longest);
        scatter.set_deadline(self.until());
        scatter.send();
        let outcome = scatter.collect(limit).await;
        self.settle_scatter(&mut scatter, &on, outcome.as_ref().err())
            .await;
        let ends = scatter.finish();
        used.iter_mut().zip(ends).for_each(|(u, end)| u.end = end);
        outcome
    }

    /// Creates the temporary tables and writes the rows.
    async fn fill(
        &mut self,
        used: &mut Used,
        gather: &Gather,
        rows: Vec<Collected>,
    ) -> Result<(), Failure> {
        // a DATE would be a DATETIME under ORACLE, and what the shards have is not to be judged anew
        let mode = self.state.with_variable(b"sql_mode", GATHERING_MODE);
        let mode = self.shared.states.intern(mode);
        self.write_state_to(used, &mode);
        for table in &gather.tables {
            used.write_silent(format!("DROP TEMPORARY TABLE IF EXISTS {}", table.name).as_bytes());
            used.write_silent(&table.create);
        }
        self.run_one(used).await?;
        used.lease.state = mode;
        for (table, collected) in gather.tables.iter().zip(rows) {
            let Some(columns) = collected.columns.first() else {
                continue;
            };
            merge::alike(&collected.columns)?;
            let mut batches = literals::Batches::new(&table.name, columns, BATCH);
            for row in &collected.rows {
                if let Some(sql) = batches.push(row)? {
                    used.write_silent(&sql);
                    self.run_one(used).await?;
                }
            }
            if let Some(sql) = batches.finish() {
                used.write_silent(&sql);
            }
        }
        self.run_one(used).await?;
        Ok(())
    }

    async fn run_one(&mut self, used: &mut Used) -> Result<(), Failure> {
        self.run_silent(std::slice::from_mut(used)).await
    }

    /// Runs the statement over the temporary tables; its reply passes through.
    async fn run_gathered(
        &mut self,
        used: Used,
        gather: &Gather,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
    ) -> Result<(), Told> {
        let held = !self.pins.is_empty();
        let mut lease = used.lease;
        let payload = match self.gathered_command(&mut lease, gather, binding).await {
            Ok(payload) => payload,
            Err(told) => {
                self.drop_gathered(lease, gather, held).await?;
                return Err(told);
            }
        };
        let mut bytes = Vec::new();
        frame(&payload, 0, &mut bytes);
        let out = Outgoing {
            command: payload.first().copied().unwrap_or(command::QUERY),
            bytes: crate::net::Buf::from_vec(bytes),
            rest: 0,
            continued: false,
            read: false,
            needs_last_insert_id: self.may_ask_last_insert_id(sniffed),
            clears_diagnostics: false,
            heals: false,
            may_change_data: false,
            may_be_interrupted: true,
            about_tracking: false,
            keeps_schema: false,
            tells: false,
            is_query: false,
            statement_id: None,
        };
        match self
            .exchange(&mut lease, out, &mut Attempt::default())
            .await?
        {
            Ran::Done(end) => {
                if let Some(flags) = end.status {
                    lease.status = flags;
                    self.pins
                        .set(Pins::TRANSACTION, flags & status::IN_TRANS != 0);
                }
                Ok(self.drop_gathered(lease, gather, held).await?)
            }
            Ran::NotRun | Ran::Lost | Ran::Refused => {
                self.forget(lease);
                Ok(())
            }
        }
    }

    async fn gathered_command(
        &mut self,
        lease: &mut Lease,
        gather: &Gather,
        binding: Option<&Binding>,
    ) -> Result<Vec<u8>, Told> {
        let Some(binding) = binding else {
            return Ok(super::used::query_payload(&gather.sql, lease.capabilities));
        };
        let text: Rc<[u8]> = gather.sql.as_slice().into();
        let key = binding.key(&text, &gather.parameters, self.resolves_once());
        let id = match self
            .prepare_on(lease, key, text, binding.state.clone(), binding.typed)
            .await
        {
            Ok(id) => id,
            Err(NotReady::Refused(error)) => return Err(error.into()),
            Err(NotReady::Broken(_)) => return Err(error::server_lost().into()),
        };
        if let Some(prepared) = lease.prepared.get(key) {
            prepared.types_of = 0;
        }
        binding
            .execute_with(&gather.parameters, id, lease.capabilities)
            .ok_or_else(|| error::own("a plan with a parameter that there is not").into())
    }

    /// The connection as it was before; what cannot be dropped goes with a reset.
    async fn drop_gathered(
        &mut self,
        lease: Lease,
        gather: &Gather,
        held: bool,
    ) -> Result<(), End> {
        let mut used = Used::new(self.active_seat(), lease, held);
        let state = used.lease.state.clone();
        self.write_state_to(&mut used, &state);
        for table in &gather.tables {
            used.write_silent(format!("DROP TEMPORARY TABLE IF EXISTS {}", table.name).as_bytes());
        }
        let dropped = self.run_one(&mut used).await.is_ok();
        if !dropped && used.end.clean {
            used.end.prepared = false;
        }
        self.give_back(used)
    }

    async fn undo_gather(
        &mut self,
        used: Used,
        gather: &Gather,
        failure: Failure,
    ) -> Result<Told, End> {
        let told = match failure {
            Failure::Merge(Error::Memory(limit)) => Told::Error(error::own(&format!(
                "the statement needs more than {limit} bytes of rows in one place: narrow it, or raise merge_memory_bytes"
            ))),
            failure => self.explain_failure(failure, &[]),
        };
        let held = !self.pins.is_empty();
        if used.end.sent && !used.end.clean {
            self.give_back(used)?;
            return Ok(told);
        }
        let mut lease = used.lease;
        if !held {
            lease.after = After::Reset;
            self.forget(lease);
            return Ok(told);
        }
        lease.state = self.state.clone();
        self.drop_gathered(lease, gather, held).await?;
        Ok(told)
    }
}
