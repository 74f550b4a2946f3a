//! The admin commands, one file each, and the table that lists them.

pub mod client;
mod config;
mod digests;
mod explain;
mod help;
mod jobs;
mod kill;
mod latency;
mod libraries;
mod limits;
mod memory;
mod pools;
mod reload;
mod servers;
mod sessions;
mod sharded_tables;
mod shutdown;
mod status;
mod tls;
mod workers;

use super::answer::Answer;
use super::session::Session;
use super::statement;
use crate::wire::{error, reply};

/// Runs one statement.
pub async fn run(session: &Session, sql: &str) -> Answer {
    let handle = &session.handle;
    // with its comments: the statement's hints are in them
    if let Some(rest) = statement::after(statement::trim(sql), "explain route") {
        return explain::run(session, rest).await;
    }
    let sql = &client::plain(sql);
    if let Some(rest) = statement::after(sql, "kill") {
        return kill::run(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "show sessions") {
        return sessions::run(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "show digests") {
        return digests::run(handle, rest).await;
    }
    let status = ["show status", "show global status", "show session status"];
    if let Some(rest) = status.iter().find_map(|w| statement::after(sql, w)) {
        return status::run(handle, rest);
    }
    if is_processlist(sql) {
        return sessions::processlist(handle).await;
    }
    let sharded = ["show sharded tables", "show mapping"];
    if let Some(rest) = sharded.iter().find_map(|w| statement::after(sql, w)) {
        return sharded_tables::run(handle, rest);
    }
    if let Some(rest) = statement::after(sql, "show config") {
        return config::run(handle, rest);
    }
    if let Some(rest) = statement::after(sql, "set user") {
        return limits::set(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "resume job") {
        return jobs::resume(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "show library objects") {
        return libraries::objects(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "raise library") {
        return libraries::raise(handle, rest).await;
    }
    if let Some(rest) = statement::after(sql, "cancel job") {
        return jobs::cancel(handle, rest).await;
    }
    let is = |words| statement::is(sql, words);
    if is("show servers") {
        servers::run(handle)
    } else if is("show pools") {
        pools::run(handle).await
    } else if is("show jobs") {
        jobs::show(handle).await
    } else if is("show tls") {
        tls::run(handle)
    } else if is("show libraries") {
        libraries::show(handle).await
    } else if is("show limits") {
        limits::show(handle).await
    } else if is("show workers") {
        workers::run(handle).await
    } else if is("show memory") {
        memory::run(handle).await
    } else if is("show latency") {
        latency::run(handle).await
    } else if is("reload") {
        reload::run(handle).await
    } else if is("shutdown") {
        shutdown::run(handle).await
    } else if is("help") || is("show help") || is("?") {
        help::run()
    } else {
        client::run(session, sql).unwrap_or_else(|| Answer::Refused(unknown(sql)))
    }
}

/// As tools ask for SHOW SESSIONS.
fn is_processlist(sql: &str) -> bool {
    let shows = ["show processlist", "show full processlist"];
    shows.iter().any(|words| statement::is(sql, words))
}

/// 1064, with a way on.
fn unknown(sql: &str) -> reply::Err {
    let near: String = sql.chars().take(80).collect();
    let message = format!("unknown admin command near '{near}'; SHOW HELP lists the commands");
    reply::Err {
        message: message.into_bytes(),
        ..error::syntax("")
    }
}

/// Stands where a worker's figures would.
const NO_ANSWER: &str = "no answer";
