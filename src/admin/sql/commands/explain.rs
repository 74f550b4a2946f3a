//! EXPLAIN ROUTE [FOR USER name | FOR GROUP name] statement: what the sniffer, the planner and the router decide,
//! and why. Nothing is run; a worker may ask a server for the columns of sharded tables.

use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::session::Session;
use crate::admin::sql::statement;
use crate::control::{Handle, View};
use crate::route::{route, Context, Decision, Reason, Route};
use crate::sniff::{sniff, Dialect, Effects, Hint, Sniffed};
use crate::topology::Group;
use crate::wire::error;
use crate::worker::mailbox::{Message, RouteAnswer, RouteQuestion};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// A worker may ask servers for the columns of several tables.
const PLAN_DEADLINE: Duration = Duration::from_secs(10);

pub async fn run(session: &Session, rest: &str) -> Answer {
    let view = session.handle.view();
    let (group, user, sql) = match choose_group(&view, rest) {
        Ok(chosen) => chosen,
        Err(why) => return Answer::Refused(error::own(&why)),
    };
    if sql.is_empty() {
        return Answer::Refused(unknown("EXPLAIN ROUTE"));
    }
    let sniffed = sniff(sql.as_bytes(), true, dialect(&group));
    let group = if view.snapshot.shards.is_empty() {
        group
    } else {
        let question = RouteQuestion {
            user,
            group: group.name.clone(),
            schema: session.schema.clone(),
            sql: sql.to_owned(),
        };
        match plan(&session.handle, question).await {
            Some(RouteAnswer::Whole(name)) => {
                let groups = &view.snapshot.groups;
                groups
                    .iter()
                    .find(|g| g.name == name)
                    .unwrap_or(&group)
                    .clone()
            }
            Some(RouteAnswer::Rows(rows)) => {
                return Answer::Rows(planned_table(&group, &sniffed, rows))
            }
            None => return Answer::Refused(error::own("no worker answered in time; try again")),
        }
    };
    // A session that holds nothing and has not written of late, at a time far from any write.
    let context = Context {
        now: u64::MAX / 2,
        ..Context::default()
    };
    let decision = route(&sniffed, &context, &group, &|_| 0);
    Answer::Rows(table(&group, &sniffed, &decision))
}

/// What the planner of a worker says.
async fn plan(handle: &Handle, question: RouteQuestion) -> Option<RouteAnswer> {
    let (sender, answered) = oneshot::channel();
    // the asker may have gone: then nobody wants the answer
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    let worker = handle.mailboxes().first()?;
    worker.send(Message::Route(question, reply));
    timeout(PLAN_DEADLINE, answered).await.ok()?.ok()
}

/// Group, user if one was named, statement.
type Chosen<'a> = (Arc<Group>, Option<String>, &'a str);

/// The group of the user, and the statement; Err: no such user or group.
fn choose_group<'a>(view: &View, rest: &'a str) -> Result<Chosen<'a>, String> {
    let groups = &view.snapshot.groups;
    let quote = "a quote does not end";
    if let Some(rest) = statement::after(rest, "for user") {
        let (name, sql) = statement::string(rest).ok_or(quote)?;
        let user = view.snapshot.users.get(name.as_str());
        let group = user.and_then(|user| groups.get(user.group));
        let group = group.ok_or_else(|| format!("no user '{name}' is configured"))?;
        return Ok((group.clone(), Some(name), sql.trim_start()));
    }
    if let Some(rest) = statement::after(rest, "for group") {
        let (name, sql) = statement::string(rest).ok_or(quote)?;
        let group = groups.iter().find(|group| group.name == name);
        let group = group.ok_or_else(|| format!("no group '{name}' is configured"))?;
        return Ok((group.clone(), None, sql.trim_start()));
    }
    let first = groups.first().ok_or("no group is configured")?;
    Ok((first.clone(), None, rest))
}

fn dialect(group: &Group) -> Dialect {
    let mariadb = group.greeting.is_mariadb();
    Dialect {
        mariadb,
        version: version(&group.greeting.version),
        ..Dialect::default()
    }
}

/// 10.11.6 → 101106, as version comments write it.
fn version(text: &str) -> u32 {
    let real = text.strip_prefix("5.5.5-").unwrap_or(text);
    let numbers: Vec<u32> = real
        .split(|c: char| !c.is_ascii_digit())
        .take(3)
        .map(|digits| digits.parse().unwrap_or(0))
        .collect();
    numbers
        .iter()
        .fold(0u32, |sum, n| sum.saturating_mul(100).saturating_add(*n))
}

fn planned_table(group: &Group, sniffed: &Sniffed, rows: Vec<(String, String)>) -> Table {
    let mut table = statement_table(group, sniffed);
    for (what, value) in rows {
        table.push([what, value]);
    }
    table
}

/// What is known of the statement alone.
fn statement_table(group: &Group, sniffed: &Sniffed) -> Table {
    let hint = match sniffed.hint {
        None => "none",
        Some(Hint::Primary) => "primary",
        Some(Hint::Replica) => "replica",
    };
    let effects: Vec<String> = sniffed
        .effects
        .iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect();
    let mut table = Table::new(&["what", "value"]);
    table.push(["group".into(), group.name.clone()]);
    table.push(["verb".into(), format!("{:?}", sniffed.verb).to_uppercase()]);
    table.push([
        "access".into(),
        format!("{:?}", sniffed.access).to_lowercase(),
    ]);
    table.push(["effects".into(), effects.join(", ")]);
    table.push(["hint".into(), hint.into()]);
    table
}

fn table(group: &Group, sniffed: &Sniffed, decision: &Decision) -> Table {
    let mut table = statement_table(group, sniffed);
    let (target, server) = match decision.route {
        Route::Held => ("held", None),
        Route::Primary(i) => ("primary", group.servers.get(i)),
        Route::Replica(i) => ("replica", group.servers.get(i)),
        Route::NoPrimary => ("none: waits for a primary", None),
    };
    table.push(["route".into(), target.into()]);
    table.push([
        "server".into(),
        server.map_or(String::new(), |s| s.address.to_string()),
    ]);
    table.push(["reason".into(), reason(sniffed, decision).into()]);
    table
}

fn reason(sniffed: &Sniffed, decision: &Decision) -> &'static str {
    let unknown = sniffed.effects.contains(Effects::UNKNOWN_FUNCTION);
    if unknown && decision.reason == Reason::Read {
        return "the statement reads, but calls a function of unknown effect: if it turns out to write, the replica \
                refuses it before any effect, and it runs on the primary then and from now on";
    }
    decision.reason.words()
}
