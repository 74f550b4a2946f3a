//! Changes of a sharded table's definition: one shard after the other, each step kept by the store before it is taken, so
//! that after any failure it is known what is done and what is missing.
use super::reply::Told;
use super::used::Used;
use super::{Last, Session};
use crate::coordination::{Ask, Job, Part, PartState, Rule, RuleChange};
use crate::plan::{Definition, Step};
use crate::scatter::{Counting, Failure, Totals};
use crate::session::lease::Attempt;
use crate::session::pins::Pins;
use crate::session::store::StoreLink;
use crate::sniff::{Access, Sniffed, Verb};
use crate::wire::{error, reply};
use std::time::{SystemTime, UNIX_EPOCH};

/// The job is this session's until it ends, however it ends.
pub(super) struct Claimed<'s> {
    pub store: Option<&'s StoreLink>,
    pub job: u64,
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if let Some(store) = self.store {
            store.tell(Ask::Release(self.job));
        }
    }
}

impl Session {
    pub(super) async fn define(
        &mut self,
        definition: &Definition,
        statement: &[u8],
        sniffed: &Sniffed,
    ) -> Result<(), Told> {
        self.define_with(definition, statement, sniffed, None).await
    }

    /// With the rule that comes with the statement.
    pub(super) async fn define_with(
        &mut self,
        definition: &Definition,
        statement: &[u8],
        sniffed: &Sniffed,
        adds: Option<Rule>,
    ) -> Result<(), Told> {
        let (Ok(statement), Some(parts)) = (
            std::str::from_utf8(statement),
            self.parts_of_job(definition),
        ) else {
            let what = "a change of a sharded table's definition is kept as a job, whose text is UTF-8: SET NAMES utf8mb4";
            return Err(error::own(what).into());
        };
        let rules = match adds {
            Some(rule) => vec![RuleChange::Adds(rule)],
            None => self.rule_changes(definition).await?,
        };
        self.commit_before().await?;
        self.start_time();
        let schema = self.state.schema.as_deref();
        let mode = self.state.variable(b"sql_mode");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut job = Job {
            id: 0,
            user: self.user.config.name.clone(),
            schema: schema.map(text),
            statement: statement.to_owned(),
            sql_mode: mode.map(text),
            begun: seconds(),
            rules,
            parts,
        };
        let shared = self.shared.clone();
        let asked = shared.ask_store(|reply| Ask::Begin(job.clone(), reply));
        job.id = asked.await.map_err(|why| Told::from(error::own(&why)))?;
        let _claimed = Claimed {
            store: shared.store(),
            job: job.id,
        };
        if job.added().is_some() {
            self.spread_new_rule(&job).await?;
        }
        let (totals, nowhere) = self.run_job(&mut job, definition, sniffed).await?;
        if job.added().is_none() && !job.rules.is_empty() {
            let spread = shared.ask_store(Ask::Spread).await;
            spread.map_err(|why| {
                Told::from(error::own(&format!("the tables are changed, but {why}")))
            })?;
        }
        self.shared.columns.forget();
        if let Some(cause) = nowhere {
            return Err(cause.into());
        }
        self.note_last(Last::Several {
            noted: totals.warnings > 0,
        });
        self.tell_totals(&totals);
        Ok(())
    }

    /// Every worker has the rule before the first shard has the table.
    async fn spread_new_rule(&self, job: &Job) -> Result<(), Told> {
        let Err(why) = self.shared.ask_store(Ask::Spread).await else {
            return Ok(());
        };
        let forgotten = self
            .shared
            .ask_store(|reply| Ask::Forget(job.id, reply))
            .await;
        let left = match forgotten {
            Ok(_) => String::new(),
            Err(cause) => format!("; its rule could not be taken back: {cause}"),
        };
        Err(error::own(&format!("nothing was created: {why}{left}")).into())
    }

    fn parts_of_job(&self, definition: &Definition) -> Option<Vec<Part>> {
        let snapshot = self.shared.snapshot();
        let part = |step: &Step| {
            let group = &snapshot.groups.get(step.part.group)?.name;
            Some(Part {
                place: format!(
                    "shard {} of {} on group '{group}'",
                    step.part.shard, step.table
                ),
                group: group.clone(),
                sql: String::from_utf8(step.part.sql.clone()).ok()?,
                state: PartState::Waiting,
                error: None,
            })
        };
        definition.parts.iter().map(part).collect()
    }

    /// A change of a definition commits what is open, everywhere.
    async fn commit_before(&mut self) -> Result<(), Told> {
        self.take_seat(None);
        if !self.in_open_transaction() {
            return Ok(());
        }
        self.end_elsewhere(Verb::Commit).await?;
        self.take_seat(None);
        if self.pins.contains(Pins::TRANSACTION) {
            if let Some(lease) = self.held.take() {
                let mut used = Used::new(None, lease, true);
                used.write_silent(b"COMMIT");
                let outcome = self.run_firmly(std::slice::from_mut(&mut used)).await;
                self.give_back(used)?;
                outcome.map_err(|failure| self.explain_failure(failure, &[]))?;
            }
        }
        self.transaction_over();
        Ok(())
    }

    /// The error that comes with success: DROP TABLE of a table that no shard had, beside others.
    async fn run_job(
        &mut self,
        job: &mut Job,
        definition: &Definition,
        sniffed: &Sniffed,
    ) -> Result<(Totals, Option<reply::Err>), Told> {
        let mut totals = Totals::default();
        let mut dropped = DropsSeen::default();
        for at in 0..job.parts.len() {
            job.parts[at].state = PartState::Started;
            self.note_job(job).await?;
            let Some(Step { table, part }) = definition.parts.get(at) else {
                continue;
            };
            let group = job.parts[at].group.clone();
            match self.run_definition(part, &group, sniffed).await {
                Ok(done) => {
                    totals.add(&done);
                    dropped.found(table);
                    job.parts[at].state = PartState::Done;
                }
                Err(Told::Error(cause)) if definition.drops && at > 0 && is_missing(cause.code) => {
                    dropped.missing(table, cause);
                    job.parts[at].state = PartState::Done;
                }
                Err(Told::End(end)) => return Err(Told::End(end)),
                Err(Told::Error(cause)) => return Err(self.job_failed(job, at, cause).await),
            }
        }
        self.note_job(job).await?;
        Ok((totals, dropped.nowhere()))
    }

    async fn note_job(&self, job: &Job) -> Result<(), Told> {
        let noted = self
            .shared
            .ask_store(|reply| Ask::Note(job.clone(), reply))
            .await;
        noted.map_err(|why| error::own(&format!("{why}; job {} is as before", job.id)).into())
    }

    async fn run_definition(
        &mut self,
        part: &crate::plan::Part,
        group: &str,
        sniffed: &Sniffed,
    ) -> Result<Totals, Told> {
        self.take_seat(Some(group));
        let primary = Sniffed {
            access: sniffed.access.max(Access::Write),
            ..*sniffed
        };
        let lease = self.lease(&primary, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        self.write_state(&mut used)?;
        used.parts.push(0);
        used.write_query(&part.sql);
        let one = std::slice::from_mut(&mut used);
        let outcome = self.run_totals(one, Counting::All).await;
        let ended = self.give_back(used);
        let outcome = outcome.map_err(|failure| match failure {
            Failure::Lost { .. } => {
                let mut error = error::server_lost();
                error
                    .message
                    .extend_from_slice(b", whether it took effect there is not known");
                Told::Error(error)
            }
            failure => self.explain_failure(failure, &[]),
        });
        ended?;
        outcome
    }

    /// The client's error. Where no shard has changed, there is nothing to resume.
    async fn job_failed(&mut self, job: &mut Job, at: usize, cause: reply::Err) -> Told {
        let unknown = cause.code == error::server_lost().code;
        job.parts[at].error = Some(cause.to_string());
        if !unknown {
            job.parts[at].state = PartState::Failed;
        }
        if at == 0 && !unknown {
            let id = job.id;
            // the store has to know that nothing has happened
            self.note_job(job)
                .await
                .unwrap_or_else(|_| tracing::error!(job = id, "a job's failure could not be kept"));
            let forgotten = self.shared.ask_store(|reply| Ask::Forget(id, reply)).await;
            if forgotten.is_ok() {
                return Told::Error(with(
                    cause,
                    &format!(" ({}; no shard has changed)", job.parts[0].place),
                ));
            }
        }
        self.shared.columns.forget();
        let (place, total, id) = (&job.parts[at].place, job.parts.len(), job.id);
        let message = format!(
            " ({place}; {at} of {total} shards are done, the others unchanged: repair the cause, then RESUME JOB {id} on \
             the admin port)"
        );
        if let Err(Told::Error(error)) = self.note_job(job).await {
            tracing::error!(job = id, %error, "a job's failure could not be kept");
        }
        tracing::warn!(job = id, progress = %job.progress(), "a change of a sharded table's definition has stopped");
        Told::Error(with(cause, &message))
    }
}

/// Which of several tables DROP TABLE has found. One that a later shard lacks is gone there, as it should be; one that
/// no shard had is the client's error, after the others are dropped.
#[derive(Default)]
struct DropsSeen {
    found: Vec<String>,
    missing: Vec<(String, reply::Err)>,
}

impl DropsSeen {
    fn found(&mut self, table: &str) {
        self.found.push(table.to_owned());
    }

    fn missing(&mut self, table: &str, cause: reply::Err) {
        self.missing.push((table.to_owned(), cause));
    }

    fn nowhere(self) -> Option<reply::Err> {
        let found = self.found;
        let nowhere = self
            .missing
            .into_iter()
            .find(|(table, _)| !found.contains(table));
        nowhere.map(|(_, cause)| cause)
    }
}

/// ER_BAD_TABLE_ERROR: DROP TABLE of one that is not there.
pub(super) fn is_missing(code: u16) -> bool {
    code == 1051
}

fn with(mut error: reply::Err, text: &str) -> reply::Err {
    error.message.extend_from_slice(text.as_bytes());
    error
}

fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
