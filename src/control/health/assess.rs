//! A group's machines, put together → what is published of each server. Pure.
//!
//! What one server may do depends on its peers: a replica that has lost its source serves reads as
//! long as no primary is there that could be ahead of it.

use super::{IoThread, Liveness, Replication, ServerHealth};
use crate::config::Role;
use crate::topology::Health;
use std::time::{Duration, Instant};

/// One server of the group, as seen by [`assess`].
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub role: Role,
    /// A monitor account is configured; without one the configured roles are trusted.
    pub monitored: bool,
    pub state: &'a ServerHealth,
}

/// Who may take writes, before it is known which of them is the primary.
pub fn writable(member: &Member<'_>) -> bool {
    let state = member.state;
    state.is_alive()
        && match (member.monitored, state.facts()) {
            (false, _) => member.role == Role::Primary,
            (true, Some(facts)) => !facts.read_only,
            (true, None) => false,
        }
}

/// The health to publish for each member, in order. `primary` is the group's primary, if one is
/// known and alive; `limit` the largest lag of a replica that may be read.
pub fn assess(
    members: &[Member<'_>],
    primary: Option<usize>,
    limit: Duration,
    now: Instant,
) -> Vec<Health> {
    let undecided = primary.is_none() && members.iter().any(is_open);
    let context = Context {
        primary: primary.and_then(|i| Some(members.get(i)?.state)),
        primary_known: primary.is_some(),
        undecided,
        limit,
        now,
    };
    members
        .iter()
        .enumerate()
        .map(|(i, member)| health(member, primary == Some(i), &context))
        .collect()
}

/// The configured primary has neither answered yet nor failed often enough to be given up.
fn is_open(member: &Member<'_>) -> bool {
    member.role == Role::Primary && member.state.liveness() == Liveness::Unknown
}

struct Context<'a> {
    primary: Option<&'a ServerHealth>,
    primary_known: bool,
    /// After a start: no other server takes writes before it is known that the configured primary
    /// does not.
    undecided: bool,
    limit: Duration,
    now: Instant,
}

fn health(member: &Member<'_>, is_primary: bool, context: &Context<'_>) -> Health {
    let state = member.state;
    let dead = Health {
        alive: false,
        writable: false,
        readable: false,
        lag: None,
        reason: state.trouble().to_string(),
    };
    if !state.is_alive() {
        return dead;
    }
    let unsure = |primary: &ServerHealth| primary.was_looked_at_before(state);
    let held_back = (context.undecided && member.role != Role::Primary)
        || (!is_primary && context.primary.is_some_and(unsure));
    let live = Health {
        alive: true,
        writable: writable(member) && !held_back,
        ..dead
    };
    if is_primary || !member.monitored {
        return Health {
            readable: true,
            ..live
        };
    }
    match state.facts() {
        None => live,
        Some(facts) => replica(live, &facts.replication, state, context),
    }
}

fn replica(
    live: Health,
    replication: &Replication,
    state: &ServerHealth,
    context: &Context<'_>,
) -> Health {
    let verdict = match replication {
        Replication::NotConfigured => Verdict::no("replicates from no server"),
        Replication::Unknown(why) => Verdict::no(why),
        Replication::Configured {
            sql_running: false,
            error,
            ..
        } => Verdict::no(&with_error("the replication SQL thread is stopped", error)),
        Replication::Configured {
            io: IoThread::Running,
            lag,
            ..
        } => by_lag(*lag, context),
        Replication::Configured { io, error, .. } => {
            without_source(*io, error, state.source_lost, context)
        }
    };
    // A trouble of the last check (a refused new connection) is worth showing next to the verdict.
    let reason = match (verdict.reason.is_empty(), live.reason.is_empty()) {
        (true, _) => live.reason.clone(),
        (false, true) => verdict.reason,
        (false, false) => format!("{}; {}", verdict.reason, live.reason),
    };
    Health {
        readable: verdict.readable,
        lag: verdict.lag,
        reason,
        ..live
    }
}

struct Verdict {
    readable: bool,
    lag: Option<Duration>,
    reason: String,
}

impl Verdict {
    fn no(reason: &str) -> Verdict {
        Verdict {
            readable: false,
            lag: None,
            reason: reason.to_string(),
        }
    }
}

fn by_lag(lag: Option<Duration>, context: &Context<'_>) -> Verdict {
    match lag {
        None => Verdict::no("the server does not know how far it is behind"),
        Some(lag) if lag > context.limit => Verdict {
            readable: false,
            lag: Some(lag),
            reason: format!(
                "is {} behind, limit {}",
                seconds(lag),
                seconds(context.limit)
            ),
        },
        Some(lag) => Verdict {
            readable: true,
            lag: Some(lag),
            reason: String::new(),
        },
    }
}

/// The SQL thread has applied all that was fetched, but nothing more is being fetched.
fn without_source(
    io: IoThread,
    error: &str,
    since: Option<Instant>,
    context: &Context<'_>,
) -> Verdict {
    let lag = since.map(|since| context.now.saturating_duration_since(since));
    if !context.primary_known {
        let reason = "its source is gone; reads go on".to_string();
        return Verdict {
            readable: true,
            lag,
            reason,
        };
    }
    match io {
        IoThread::Connecting => {
            let readable = lag.is_some_and(|lag| lag <= context.limit);
            let reason = with_error("cannot reach its replication source", error);
            Verdict {
                readable,
                lag,
                reason,
            }
        }
        _ => {
            let reason = with_error("the replication IO thread is stopped", error);
            Verdict {
                readable: false,
                lag,
                reason,
            }
        }
    }
}

fn with_error(what: &str, error: &str) -> String {
    match error.is_empty() {
        true => what.to_string(),
        false => format!("{what}: {error}"),
    }
}

fn seconds(d: Duration) -> String {
    format!("{:.1} s", d.as_secs_f64())
}
