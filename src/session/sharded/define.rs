//! Changes of a sharded table's definition: one shard after the other, each step kept by the store before it is taken, so
//! that after any failure it is known what is done and what is missing.
use super::explain::account_of;
use super::reply::Told;
use super::used::{query_payload, Used};
use super::{Last, Session};
use crate::backend::{initial_state, After, Want};
use crate::coordination::{Ask, Job, Part, PartState, Rule, RuleChange};
use crate::net::{self, Buf};
use crate::plan::Definition;
use crate::scatter::{Branch, Counting, Failure, Scatter, Totals};
use crate::session::lease::Attempt;
use crate::session::pins::Pins;
use crate::session::shared::{Shared, Topology};
use crate::session::store::StoreLink;
use crate::sniff::{Access, Sniffed, Verb};
use crate::wire::{capabilities, error, reply};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For a connection of a resumption.
const CONNECT: Duration = Duration::from_secs(10);

/// The job is this session's until it ends, however it ends.
struct Claimed<'s> {
    store: Option<&'s StoreLink>,
    job: u64,
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
            rules: match adds {
                Some(rule) => vec![RuleChange::Adds(rule)],
                None => rule_changes(definition),
            },
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
        let totals = self.run_job(&mut job, definition, sniffed).await?;
        if job.added().is_none() && !job.rules.is_empty() {
            let spread = shared.ask_store(Ask::Spread).await;
            spread.map_err(|why| {
                Told::from(error::own(&format!("the table is dropped, but {why}")))
            })?;
        }
        self.shared.columns.forget();
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
        let part = |part: &crate::plan::Part| {
            let group = &snapshot.groups.get(part.group)?.name;
            Some(Part {
                place: format!(
                    "shard {} of {}.{} on group '{group}'",
                    part.shard, definition.schema, definition.table
                ),
                group: group.clone(),
                sql: String::from_utf8(part.sql.clone()).ok()?,
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

    async fn run_job(
        &mut self,
        job: &mut Job,
        definition: &Definition,
        sniffed: &Sniffed,
    ) -> Result<Totals, Told> {
        let mut totals = Totals::default();
        for at in 0..job.parts.len() {
            job.parts[at].state = PartState::Started;
            self.note_job(job).await?;
            let part = &definition.parts[at];
            let group = job.parts[at].group.clone();
            match self.run_definition(part, &group, sniffed).await {
                Ok(done) => {
                    totals.add(&done);
                    job.parts[at].state = PartState::Done;
                }
                Err(Told::End(end)) => return Err(Told::End(end)),
                Err(Told::Error(cause)) => return Err(self.job_failed(job, at, cause).await),
            }
        }
        self.note_job(job).await?;
        Ok(totals)
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

/// DROP TABLE takes the rule with it, if that is the store's.
fn rule_changes(definition: &Definition) -> Vec<RuleChange> {
    let table = || format!("{}.{}", definition.schema, definition.table);
    let drops = definition.drops.then(|| RuleChange::Drops(table()));
    drops.into_iter().collect()
}

fn with(mut error: reply::Err, text: &str) -> reply::Err {
    error.message.extend_from_slice(text.as_bytes());
    error
}

fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Runs what a job lacks, for the admin port.
///
/// # Errors
/// In words: there is no such job, or a part failed again.
pub async fn resume_job(shared: &Rc<Shared>, id: u64) -> Result<String, String> {
    let mut job = shared.ask_store(|reply| Ask::Claim(id, reply)).await?;
    let _claimed = Claimed {
        store: shared.store(),
        job: id,
    };
    let mut ran = 0;
    for at in 0..job.parts.len() {
        let part = &mut job.parts[at];
        if part.state == PartState::Done {
            continue;
        }
        let unknown = part.state == PartState::Started;
        part.state = PartState::Started;
        shared
            .ask_store(|reply| Ask::Note(job.clone(), reply))
            .await?;
        ran += 1;
        let snapshot = shared.snapshot();
        let outcome = run_part(shared, &snapshot, &job, at).await;
        let part = &mut job.parts[at];
        match outcome {
            Ok(()) => part.state = PartState::Done,
            Err(PartError::Refused(error)) if unknown && is_done_already(error.code) => {
                part.state = PartState::Done;
            }
            Err(PartError::Refused(error)) => {
                part.state = PartState::Failed;
                part.error = Some(error.to_string());
            }
            Err(PartError::Unknown(why)) => part.error = Some(why),
            Err(PartError::NotSent(why)) => {
                part.state = if unknown {
                    PartState::Started
                } else {
                    PartState::Failed
                };
                part.error = Some(why);
            }
        }
        if part.state == PartState::Done {
            part.error = None;
            continue;
        }
        shared
            .ask_store(|reply| Ask::Note(job.clone(), reply))
            .await?;
        return Err(format!("job {id} has stopped again: {}", job.progress()));
    }
    shared
        .ask_store(|reply| Ask::Note(job.clone(), reply))
        .await?;
    if !job.rules.is_empty() {
        shared.ask_store(Ask::Spread).await?;
    }
    shared.columns.forget();
    Ok(format!(
        "job {id} is done: {ran} of {} shards were missing",
        job.parts.len()
    ))
}

enum PartError {
    Refused(reply::Err),
    /// Whether it took effect is not known.
    Unknown(String),
    NotSent(String),
}

/// What a server says when the change is there already: after a part whose end nobody saw.
fn is_done_already(code: u16) -> bool {
    // table exists, unknown table (twice), duplicate column, key, primary key, foreign key; nothing to drop
    matches!(code, 1050 | 1051 | 1146 | 1060 | 1061 | 1068 | 1826 | 1091)
}

async fn run_part(
    shared: &Rc<Shared>,
    snapshot: &Topology,
    job: &Job,
    at: usize,
) -> Result<(), PartError> {
    let not_sent = PartError::NotSent;
    let part = &job.parts[at];
    let group = snapshot.groups.iter().find(|g| g.name == part.group);
    let group =
        group.ok_or_else(|| not_sent(format!("group '{}' is not configured", part.group)))?;
    let server = group.primary.and_then(|at| group.servers.get(at));
    let server =
        server.ok_or_else(|| not_sent(format!("group '{}' has no primary", group.name)))?;
    let account = account_of(snapshot, &job.user).map_err(not_sent)?;
    let collation = u16::from(group.greeting.collation);
    let state = initial_state(collation, &group.greeting);
    let want = Want {
        server,
        account: &account,
        capabilities: capabilities::PROTOCOL_41,
        collation,
        state: &shared.states.intern(state),
        guarded: false,
        mariadb: group.greeting.is_mariadb(),
    };
    let leased = shared.pools.dedicated(&want, net::now() + CONNECT).await;
    let mut lease = leased
        .map_err(|cause| not_sent(format!("{} cannot be reached: {cause:?}", server.address)))?;
    lease.after = After::Close;
    let mut bytes = Vec::new();
    let mut silent = vec!["SET NAMES utf8mb4".to_string()];
    silent.extend(
        job.sql_mode
            .as_ref()
            .map(|mode| format!("SET sql_mode = '{mode}'")),
    );
    for sql in silent.iter().chain([&part.sql]) {
        let payload = query_payload(sql.as_bytes(), lease.capabilities);
        crate::wire::packet::frame(&payload, 0, &mut bytes);
    }
    let branch = Branch {
        socket: &lease.socket,
        capabilities: lease.capabilities,
        bytes: Buf::from_vec(bytes),
        silent: silent.len(),
        parts: vec![0],
        keep: false,
    };
    let mut never = |_: &mut std::task::Context<'_>| Poll::Pending;
    let mut scatter = Scatter::new(vec![branch], None, &mut never, 1 << 20);
    scatter.send();
    match scatter.totals(Counting::All).await {
        Ok(_) => Ok(()),
        Err(Failure::Refused { error, .. }) => Err(PartError::Refused(error)),
        Err(why) => Err(PartError::Unknown(format!("{why:?}"))),
    }
}
