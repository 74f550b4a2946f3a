//! What a job lacks runs later, for the admin port.
use super::define::{is_missing, Claimed};
use super::explain::account_of;
use super::used::query_payload;
use crate::backend::{initial_state, After, Want};
use crate::coordination::{Ask, Job, PartState};
use crate::net::{self, Buf};
use crate::scatter::{Branch, Counting, Failure, Scatter};
use crate::session::shared::{Shared, Topology};
use crate::wire::{capabilities, reply};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// For a connection of a resumption.
const CONNECT: Duration = Duration::from_secs(10);

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
            Err(PartError::Refused(error))
                if is_missing(error.code) || unknown && is_done_already(error.code) =>
            {
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
