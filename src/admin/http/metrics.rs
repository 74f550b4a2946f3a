//! `/metrics`: the counters, the servers' health, and the pools.

use crate::admin::{digests, memory, servers, workers};
use crate::config::{certificates, Config};
use crate::control::Handle;
use crate::observe::digests::DigestInfo;
use crate::observe::{escape_label, prometheus, PoolInfo};
use crate::worker::mailbox::Message;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Connections of all workers, by server, user and state (idle, leased, connecting).
const POOL_CONNECTIONS: &str = "umpire_pool_connections";
/// Turns that wait for a connection, by server and user.
const POOL_WAITING: &str = "umpire_pool_waiting";
/// 1: the worker answered this scrape.
const WORKER_ANSWERS: &str = "umpire_worker_answers";
/// Conditions that a person should look at; SHOW STATUS names them.
const ALARMS: &str = "umpire_alarms";
/// 1: a stop is under way.
const DRAINING: &str = "umpire_draining";

/// The digests with the most time, by digest, user and group.
const DIGEST_CALLS: &str = "umpire_digest_calls_total";
const DIGEST_ERRORS: &str = "umpire_digest_errors_total";
const DIGEST_ROWS: &str = "umpire_digest_rows_total";
const DIGEST_SECONDS: &str = "umpire_digest_seconds_total";
/// So many of them: a page must stay readable.
const TOP_DIGESTS: usize = 20;
/// Characters of a digest's text in its label.
const LABEL_TEXT: usize = 120;

/// Seconds since 1970, of each of Umpire's own certificates.
const CERTIFICATE_END: &str = "umpire_certificate_not_after_seconds";

const RESIDENT_BYTES: &str = "umpire_resident_bytes";
const MEMORY_BYTES: &str = "umpire_memory_bytes";
const USER_MEMORY_BYTES: &str = "umpire_user_memory_bytes";

/// The whole page. Takes at most the workers' deadline.
pub async fn text(handle: &Handle) -> String {
    let view = handle.view();
    let mailboxes = handle.mailboxes();
    let (latency, pools, digests, memory) = tokio::join!(
        workers::ask(mailboxes, Message::Latency),
        workers::ask(mailboxes, Message::Pools),
        digests::gather(mailboxes),
        memory::gather(mailboxes),
    );
    let answered: Vec<bool> = pools.iter().map(Option::is_some).collect();
    let latency: Vec<_> = latency
        .into_iter()
        .enumerate()
        .filter_map(|(worker, h)| Some((worker, h?)))
        .collect();
    let mut out = prometheus(handle.stats(), &servers::infos(&view), &latency);
    of_workers(&mut out, &answered);
    of_pools(&mut out, pools.into_iter().flatten().flatten());
    of_digests(&mut out, &digests.rows);
    of_memory(&mut out, &memory);
    of_certificates(&mut out, &view.config);
    single(
        &mut out,
        ALARMS,
        "Conditions that a person should look at",
        view.alarms.len(),
    );
    single(
        &mut out,
        DRAINING,
        "1: a stop is under way",
        usize::from(view.draining),
    );
    out
}

fn of_workers(out: &mut String, answered: &[bool]) {
    head(out, WORKER_ANSWERS, "1: the worker answered this scrape");
    for (worker, answered) in answered.iter().enumerate() {
        let value = u8::from(*answered);
        put(
            out,
            format_args!("{WORKER_ANSWERS}{{worker=\"{worker}\"}} {value}\n"),
        );
    }
}

/// Summed over the workers, so that the number of series does not grow with the cores.
fn of_pools(out: &mut String, pools: impl Iterator<Item = PoolInfo>) {
    let mut sums: BTreeMap<(String, String), [usize; 4]> = BTreeMap::new();
    for pool in pools {
        let sum = sums.entry((pool.server, pool.user)).or_default();
        let counts = [pool.idle, pool.leased, pool.connecting, pool.waiting];
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    head(
        out,
        POOL_CONNECTIONS,
        "Server connections of all workers by state",
    );
    for (key, [idle, leased, connecting, _]) in &sums {
        let labels = labels(key);
        for (state, count) in [
            ("idle", idle),
            ("leased", leased),
            ("connecting", connecting),
        ] {
            let line = format_args!("{POOL_CONNECTIONS}{{{labels},state=\"{state}\"}} {count}\n");
            put(out, line);
        }
    }
    head(out, POOL_WAITING, "Turns that wait for a server connection");
    for (key, [.., waiting]) in &sums {
        put(
            out,
            format_args!("{POOL_WAITING}{{{}}} {waiting}\n", labels(key)),
        );
    }
}

/// By what it is used for, and by user.
fn of_memory(out: &mut String, memory: &memory::Gathered) {
    head(out, RESIDENT_BYTES, "Resident memory of the process");
    put(
        out,
        format_args!("{RESIDENT_BYTES} {}\n", memory.resident.all),
    );
    head(
        out,
        MEMORY_BYTES,
        "Memory of the process by use; the lines add up",
    );
    for (kind, bytes) in memory.process() {
        put(
            out,
            format_args!("{MEMORY_BYTES}{{kind=\"{kind}\"}} {bytes}\n"),
        );
    }
    head(out, USER_MEMORY_BYTES, "What a user's sessions hold");
    for user in memory.users() {
        let name = escape_label(&user.user);
        let bytes = user.held.sum();
        put(
            out,
            format_args!("{USER_MEMORY_BYTES}{{user=\"{name}\"}} {bytes}\n"),
        );
    }
}

type DigestFigure = fn(&DigestInfo) -> f64;

fn of_digests(out: &mut String, rows: &[DigestInfo]) {
    let figures: [(&str, &str, DigestFigure); 4] = [
        (
            DIGEST_CALLS,
            "Calls of the digests with the most time",
            |row| row.calls as f64,
        ),
        (DIGEST_ERRORS, "Calls of them that failed", |row| {
            row.errors as f64
        }),
        (DIGEST_ROWS, "Rows that they returned", |row| {
            row.rows as f64
        }),
        (DIGEST_SECONDS, "Time that they took", |row| {
            row.micros as f64 / 1e6
        }),
    ];
    for (name, help, figure) in figures {
        if rows.is_empty() {
            return;
        }
        put(
            out,
            format_args!("# HELP {name} {help}\n# TYPE {name} counter\n"),
        );
        for row in rows.iter().take(TOP_DIGESTS) {
            let text: String = row.text.chars().take(LABEL_TEXT).collect();
            let labels = format!(
                "digest=\"{:016x}\",user=\"{}\",group=\"{}\",text=\"{}\"",
                row.digest,
                escape_label(&row.user),
                escape_label(&row.group),
                escape_label(&text)
            );
            put(out, format_args!("{name}{{{labels}}} {}\n", figure(row)));
        }
    }
}

fn of_certificates(out: &mut String, config: &Config) {
    head(out, CERTIFICATE_END, "End of Umpire's own certificates");
    for (_, own) in certificates(config) {
        let Some(end) = own.not_after else { continue };
        let file = escape_label(&own.file);
        put(
            out,
            format_args!("{CERTIFICATE_END}{{file=\"{file}\"}} {end}\n"),
        );
    }
}

fn labels((server, user): &(String, String)) -> String {
    format!(
        "server=\"{}\",user=\"{}\"",
        escape_label(server),
        escape_label(user)
    )
}

fn single(out: &mut String, name: &str, help: &str, value: usize) {
    head(out, name, help);
    put(out, format_args!("{name} {value}\n"));
}

fn head(out: &mut String, name: &str, help: &str) {
    put(
        out,
        format_args!("# HELP {name} {help}\n# TYPE {name} gauge\n"),
    );
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a String does not fail.
    let _ = out.write_fmt(text);
}
