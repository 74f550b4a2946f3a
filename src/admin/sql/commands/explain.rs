//! EXPLAIN ROUTE [FOR USER name | FOR GROUP name] statement: what the sniffer and the router decide,
//! and why. Nothing is sent to a server.

use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::control::{Handle, View};
use crate::route::{route, Context, Decision, Reason, Route};
use crate::sniff::{sniff, Dialect, Effects, Hint, Sniffed};
use crate::topology::Group;
use crate::wire::error;
use std::sync::Arc;

pub fn run(handle: &Handle, rest: &str) -> Answer {
    let view = handle.view();
    let (group, sql) = match choose_group(&view, rest) {
        Ok(chosen) => chosen,
        Err(why) => return Answer::Refused(error::own(&why)),
    };
    if sql.is_empty() {
        return Answer::Refused(unknown("EXPLAIN ROUTE"));
    }
    let sniffed = sniff(sql.as_bytes(), true, dialect(&group));
    // A session that holds nothing and has not written of late, at a time far from any write.
    let context = Context {
        now: u64::MAX / 2,
        ..Context::default()
    };
    let decision = route(&sniffed, &context, &group, &|_| 0);
    Answer::Rows(table(&group, &sniffed, &decision))
}

/// The group that the statement would go to, and the statement; Err: no such user or group.
fn choose_group<'a>(view: &View, rest: &'a str) -> Result<(Arc<Group>, &'a str), String> {
    let groups = &view.snapshot.groups;
    let quote = "a quote does not end";
    if let Some(rest) = statement::after(rest, "for user") {
        let (name, sql) = statement::string(rest).ok_or(quote)?;
        let user = view.snapshot.users.get(name.as_str());
        let group = user.and_then(|user| groups.get(user.group));
        let group = group.ok_or_else(|| format!("no user '{name}' is configured"))?;
        return Ok((group.clone(), sql.trim_start()));
    }
    if let Some(rest) = statement::after(rest, "for group") {
        let (name, sql) = statement::string(rest).ok_or(quote)?;
        let group = groups.iter().find(|group| group.name == name);
        let group = group.ok_or_else(|| format!("no group '{name}' is configured"))?;
        return Ok((group.clone(), sql.trim_start()));
    }
    let first = groups.first().ok_or("no group is configured")?;
    Ok((first.clone(), rest))
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

fn table(group: &Group, sniffed: &Sniffed, decision: &Decision) -> Table {
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
    let (target, server) = match decision.route {
        Route::Held => ("held", None),
        Route::Primary(i) => ("primary", group.servers.get(i)),
        Route::Replica(i) => ("replica", group.servers.get(i)),
        Route::NoPrimary => ("none: waits for a primary", None),
    };
    let mut table = Table::new(&["what", "value"]);
    table.push(["group".into(), group.name.clone()]);
    table.push(["verb".into(), format!("{:?}", sniffed.verb).to_uppercase()]);
    table.push([
        "access".into(),
        format!("{:?}", sniffed.access).to_lowercase(),
    ]);
    table.push(["effects".into(), effects.join(", ")]);
    table.push(["hint".into(), hint.into()]);
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
