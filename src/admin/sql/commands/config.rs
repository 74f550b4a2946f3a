//! SHOW CONFIG [LIKE 'pattern']: the configuration in effect, by the names and in the units of the file,
//! without secrets.

use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::config::{
    Group, Policy, ProcessLimits, Proxy, ReadYourWrites, ServerTlsMode, TableName, User, Watching,
    KINDS,
};
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
    of_watching(&config.watching, &mut rows);
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
        row("workers", &format!("{:?}", proxy.workers).to_lowercase()),
        row("admin_user", &proxy.admin_user),
        row("max_connections", &proxy.max_connections),
        row("connect_timeout_ms", &milliseconds(proxy.connect_timeout)),
        row("login_timeout_ms", &milliseconds(proxy.login_timeout)),
        row("failed_logins_free", &proxy.failed_logins_free),
        row(
            "failed_login_delay_ms",
            &milliseconds(proxy.failed_login_delay),
        ),
        row("idle_timeout_s", &proxy.idle_timeout.as_secs()),
        row("write_timeout_ms", &milliseconds(proxy.write_timeout)),
        row("lease_timeout_ms", &milliseconds(proxy.lease_timeout)),
        row("drain_timeout_ms", &milliseconds(proxy.drain_timeout)),
        row("high_water_bytes", &proxy.high_water),
        row("memory_limit_bytes", &optional(&proxy.memory.limit)),
        row(
            "memory_high_water_percent",
            &proxy.memory.high_water_percent,
        ),
        row("connection_memory_bytes", &proxy.memory.connection),
        row("busy_poll_us", &proxy.busy_poll.as_micros()),
        row("max_allowed_packet", &proxy.max_allowed_packet),
        row("server_max_age_s", &proxy.server_max_age.as_secs()),
        row(
            "server_idle_timeout_s",
            &proxy.server_idle_timeout.as_secs(),
        ),
        row("min_idle", &proxy.min_idle),
        row(
            "max_prepared_per_connection",
            &proxy.max_prepared_per_connection,
        ),
    ]
}

fn of_group(group: &Group, rows: &mut Rows) {
    let mode = match group.read_your_writes {
        ReadYourWrites::Timer => "timer",
        ReadYourWrites::Off => "off",
    };
    let mut row = |key: &str, value: &dyn Display| {
        rows.push((format!("group.{}.{key}", group.name), value.to_string()));
    };
    row("read_write_split", &group.read_write_split);
    row("read_your_writes", &mode);
    let window = milliseconds(group.read_your_writes_window);
    row("read_your_writes_window_ms", &window);
    row("max_replica_lag_ms", &milliseconds(group.max_replica_lag));
    if let Some(headers) = &group.proxy_protocol {
        row("proxy_protocol", &format!("v{}", headers.version));
        let of_client = if headers.of_client { "client" } else { "own" };
        row("proxy_protocol_address", &of_client);
    }
    if let Some(monitor) = &group.monitor {
        row("monitor.user", &monitor.user);
        row("monitor.interval_ms", &milliseconds(monitor.interval));
    }
    for server in &group.servers {
        let mut of_server = |key: &str, value: &dyn Display| {
            row(&format!("servers.{}.{key}", server.address), value);
        };
        of_server("role", &format!("{:?}", server.role).to_lowercase());
        of_server("weight", &server.weight);
        of_server("max_connections", &server.max_connections);
        let mode = server.tls.as_ref().map(|tls| tls.mode);
        of_server("tls", &mode.unwrap_or(ServerTlsMode::Disabled).word());
    }
}

fn of_user(user: &User, rows: &mut Rows) {
    let mut row =
        |key: &str, value: String| rows.push((format!("user.{}.{key}", user.name), value));
    row("group", user.group.clone());
    row("allow", list(&user.addresses.allow));
    row("deny", list(&user.addresses.deny));
    row("tls", format!("{:?}", user.tls).to_lowercase());
    let plugin = user.auth_plugin.map(|plugin| plugin.word());
    row("auth_plugin", optional(&plugin));
    let account = user.server_account.as_ref().map(|account| &account.user);
    row("server_user", account.unwrap_or(&user.name).clone());
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
    row(
        "allow_list",
        policy.allow_list.as_ref().map_or("none".into(), |path| {
            format!("{} ({} statements)", path.display(), policy.known.len())
        }),
    );
    row("full_table_select", policy.full_table_select.to_string());
    row("no_where", policy.no_where.to_string());
    row("multi_statement", policy.multi_statement.to_string());
    row("opaque", policy.opaque.to_string());
}

fn of_watching(watching: &Watching, rows: &mut Rows) {
    let path = |path: &Option<std::path::PathBuf>| {
        optional(&path.as_ref().map(|path| path.display().to_string()))
    };
    let (audit, statistics) = (&watching.audit, &watching.statistics);
    let collector = audit.collector.as_ref().map(|collector| {
        let kind = if collector.syslog { "syslog" } else { "tcp" };
        format!("{kind}:{}", collector.address)
    });
    let word = |debug: String| debug.to_lowercase();
    let mut row = |key: &str, value: String| rows.push((key.to_string(), value));
    row("audit.file", path(&audit.file));
    row("audit.collector", optional(&collector));
    row("audit.rotate_bytes", audit.rotate_bytes.to_string());
    row("audit.rotate_keep", audit.rotate_keep.to_string());
    row("audit.when_full", word(format!("{:?}", audit.when_full)));
    row("audit.queue_bytes", audit.queue_bytes.to_string());
    row("audit.text", word(format!("{:?}", audit.text)));
    row("audit.max_text_bytes", audit.max_text_bytes.to_string());
    row("audit.only_errors", audit.only_errors.to_string());
    row("statistics.digests", statistics.digests.to_string());
    row("statistics.slow_log", path(&statistics.slow_log));
    row("statistics.slow_log_ms", statistics.slow_log_ms.to_string());
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
    row("max_memory_bytes", optional(&limits.each.max_memory));
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

fn milliseconds(d: Duration) -> u128 {
    d.as_millis()
}
