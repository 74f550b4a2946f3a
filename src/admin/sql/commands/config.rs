//! SHOW CONFIG [LIKE 'pattern']: the configuration in effect, without secrets.

use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::config::{Group, Policy, ProcessLimits, Proxy, ReadYourWrites, TableName, User, KINDS};
use crate::control::Handle;
use std::fmt::Display;
use std::time::Duration;

pub fn run(handle: &Handle, rest: &str) -> Answer {
    let Ok(pattern) = statement::like(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let config = handle.view().config.clone();
    let mut rows = of_proxy(&config.proxy);
    config
        .groups
        .iter()
        .for_each(|group| of_group(group, &mut rows));
    of_limits(&config.limits, &mut rows);
    config
        .policies
        .iter()
        .for_each(|policy| of_policy(policy, &mut rows));
    config
        .users
        .iter()
        .for_each(|user| of_user(user, &mut rows));
    let mut table = Table::new(&["key", "value"]);
    rows.retain(|(key, _)| pattern.as_ref().is_none_or(|p| statement::matches(p, key)));
    for (key, value) in rows {
        table.push([key, value]);
    }
    Answer::Rows(table)
}

type Rows = Vec<(String, String)>;

fn of_proxy(proxy: &Proxy) -> Rows {
    let row = |key: &str, value: &dyn Display| (format!("proxy.{key}"), value.to_string());
    vec![
        row("listen", &list(&proxy.listen)),
        row("admin", &optional(&proxy.admin)),
        row("http", &optional(&proxy.http)),
        row("workers", &format!("{:?}", proxy.workers)),
        row("admin_user", &proxy.admin_user),
        row("max_connections", &proxy.max_connections),
        row("connect_timeout", &seconds(proxy.connect_timeout)),
        row("login_timeout", &seconds(proxy.login_timeout)),
        row("idle_timeout", &seconds(proxy.idle_timeout)),
        row("write_timeout", &seconds(proxy.write_timeout)),
        row("lease_timeout", &seconds(proxy.lease_timeout)),
        row("drain_timeout", &seconds(proxy.drain_timeout)),
        row("high_water", &proxy.high_water),
        row("busy_poll", &seconds(proxy.busy_poll)),
        row("max_allowed_packet", &proxy.max_allowed_packet),
        row("server_max_age", &seconds(proxy.server_max_age)),
        row("server_idle_timeout", &seconds(proxy.server_idle_timeout)),
        row("min_idle", &proxy.min_idle),
        row(
            "max_prepared_per_connection",
            &proxy.max_prepared_per_connection,
        ),
    ]
}

fn of_group(group: &Group, rows: &mut Rows) {
    let window = match group.read_your_writes {
        ReadYourWrites::Timer => seconds(group.read_your_writes_window),
        ReadYourWrites::Off => "off".into(),
    };
    let mut row =
        |key: &str, value: String| rows.push((format!("group.{}.{key}", group.name), value));
    row("read_write_split", group.read_write_split.to_string());
    row("read_your_writes", window);
    row("max_replica_lag", seconds(group.max_replica_lag));
    let monitor = group.monitor.as_ref();
    row(
        "monitor",
        monitor.map_or("none".into(), |m| {
            format!("{} every {}", m.user, seconds(m.interval))
        }),
    );
    for server in &group.servers {
        let role = format!("{:?}", server.role).to_lowercase();
        let value = format!(
            "{role}, weight {}, max_connections {}",
            server.weight, server.max_connections
        );
        row(&format!("server.{}", server.address), value);
    }
}

fn of_user(user: &User, rows: &mut Rows) {
    let mut row =
        |key: &str, value: String| rows.push((format!("user.{}.{key}", user.name), value));
    row("group", user.group.clone());
    for (key, limit) in user.limits_by_key() {
        row(key, optional(&limit));
    }
}

fn of_policy(policy: &Policy, rows: &mut Rows) {
    let mut row =
        |key: &str, value: String| rows.push((format!("policy.{}.{key}", policy.name), value));
    row("action", format!("{:?}", policy.action).to_lowercase());
    let all = |names: &[String]| match names {
        [] => "all".to_string(),
        some => list(some),
    };
    row("users", all(&policy.users));
    let kinds = KINDS.iter().enumerate();
    let kinds: Vec<String> = kinds
        .filter(|(at, _)| policy.kinds >> at & 1 == 1)
        .map(|(_, kind)| kind.to_string())
        .collect();
    row("kinds", all(&kinds));
    let digests: Vec<String> = policy.digests.iter().map(|d| format!("{d:016x}")).collect();
    row("digests", all(&digests));
    let table = |t: &TableName| match &t.schema {
        Some(schema) => format!("{schema}.{}", t.table),
        None => t.table.clone(),
    };
    row(
        "tables",
        all(&policy.tables.iter().map(table).collect::<Vec<_>>()),
    );
    row("full_table_select", policy.full_table_select.to_string());
    row("no_where", policy.no_where.to_string());
    row("multi_statement", policy.multi_statement.to_string());
    row("opaque", policy.opaque.to_string());
}

fn of_limits(limits: &ProcessLimits, rows: &mut Rows) {
    let mut row = |key: &str, value: String| rows.push((format!("limits.{key}"), value));
    let ms = |time: Option<Duration>| optional(&time.map(|t| t.as_millis()));
    row("qps", optional(&limits.qps));
    row("max_running", optional(&limits.max_running));
    row("max_execution_time_ms", ms(limits.each.max_execution_time));
    row("max_result_rows", optional(&limits.each.max_result_rows));
    row("max_result_bytes", optional(&limits.each.max_result_bytes));
    row(
        "idle_transaction_timeout_ms",
        ms(limits.each.idle_transaction_timeout),
    );
}

fn list<T: Display>(items: &[T]) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn optional<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map_or("none".into(), T::to_string)
}

fn seconds(d: Duration) -> String {
    format!("{} s", d.as_secs_f64())
}
