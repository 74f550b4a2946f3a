//! SHOW SHARDED TABLES [LIKE 'pattern']: every table with a rule, and where the rule comes from.
use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::control::Handle;
use crate::topology::shards::{self, Ids, Kind, Method, Origin, Period, Shard};
use crate::topology::Snapshot;

pub fn run(handle: &Handle, rest: &str) -> Answer {
    let Ok(pattern) = statement::like(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let view = handle.view();
    let snapshot = &view.snapshot;
    let mut table = Table::new(&["table", "method", "key", "shards", "ids", "origin"]);
    for rule in snapshot.shards.tables() {
        let shown = rule.shown();
        if pattern
            .as_ref()
            .is_some_and(|pattern| !statement::matches(pattern, &shown))
        {
            continue;
        }
        let (method, key, shards) = words(snapshot, rule);
        table.push([
            shown,
            method,
            key,
            shards,
            ids(rule.ids).into(),
            origin(rule.origin).into(),
        ]);
    }
    Answer::Rows(table)
}

/// Method, key and shards.
fn words(snapshot: &Snapshot, rule: &shards::Table) -> (String, String, String) {
    match &rule.kind {
        Kind::Placed(group) => ("placed".into(), String::new(), group_name(snapshot, *group)),
        Kind::Broadcast(copies) => ("broadcast".into(), String::new(), places(snapshot, copies)),
        Kind::Sharded(sharding) => (
            method(&sharding.method).into(),
            sharding.key.clone(),
            places(snapshot, &sharding.shards),
        ),
    }
}

fn method(method: &Method) -> &'static str {
    match method {
        Method::Hash => "hash",
        Method::Mod => "mod",
        Method::Jump => "jump",
        Method::Range(_) => "range",
        Method::List { .. } => "list",
        Method::Date { period, .. } => match period {
            Period::Year => "date (year)",
            Period::Month => "date (month)",
            Period::Day => "date (day)",
        },
    }
}

/// `app.orders_0 on main, app.orders_1 on second`
fn places(snapshot: &Snapshot, shards: &[Shard]) -> String {
    let place = |shard: &Shard| {
        let group = group_name(snapshot, shard.group);
        format!("{}.{} on {group}", shard.schema, shard.table)
    };
    shards.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn group_name(snapshot: &Snapshot, at: usize) -> String {
    snapshot
        .groups
        .get(at)
        .map_or_else(|| "?".into(), |group| group.name.clone())
}

fn ids(ids: Ids) -> &'static str {
    match ids {
        Ids::Server => "server",
        Ids::Sequence => "sequence",
        Ids::Snowflake => "snowflake",
    }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Configuration => "configuration",
        Origin::Comment => "comment",
    }
}
