//! SHOW REPLICA STATUS, SHOW SLAVE STATUS and SHOW ALL SLAVES STATUS → [`Replication`]. Pure.

use super::client::Rows;
use super::health::{IoThread, Replication};
use std::time::Duration;

/// Sums up all channels: stopped if one is stopped, as far behind as the slowest.
pub fn summarise(rows: &Rows) -> Replication {
    let channels: Vec<Channel> = (0..rows.count()).map(|row| channel(rows, row)).collect();
    channels
        .into_iter()
        .reduce(worse)
        .map_or(Replication::NotConfigured, |c| Replication::Configured {
            io: c.io,
            sql_running: c.sql_running,
            lag: c.lag,
            error: c.error,
        })
}

struct Channel {
    io: IoThread,
    sql_running: bool,
    lag: Option<Duration>,
    error: String,
}

fn channel(rows: &Rows, row: usize) -> Channel {
    // The two families of names: before and after MySQL 8.0.22.
    let get = |new: &str, old: &str| rows.get(row, new).or_else(|| rows.get(row, old));
    let io = match get("Replica_IO_Running", "Slave_IO_Running").unwrap_or("No") {
        yes if yes.eq_ignore_ascii_case("yes") => IoThread::Running,
        // "Connecting" (MySQL, MariaDB), "Preparing" (MariaDB)
        other if other.eq_ignore_ascii_case("no") => IoThread::Stopped,
        _ => IoThread::Connecting,
    };
    let sql = get("Replica_SQL_Running", "Slave_SQL_Running").unwrap_or("No");
    let sql_running = sql.eq_ignore_ascii_case("yes");
    // Of the thread that the verdict will be about.
    let error = if sql_running {
        "Last_IO_Error"
    } else {
        "Last_SQL_Error"
    };
    let lag = get("Seconds_Behind_Source", "Seconds_Behind_Master");
    Channel {
        io,
        sql_running,
        lag: lag.and_then(|s| s.parse().ok()).map(Duration::from_secs),
        error: rows.get(row, error).unwrap_or("").to_string(),
    }
}

fn worse(a: Channel, b: Channel) -> Channel {
    let rank = |io: IoThread| match io {
        IoThread::Running => 0,
        IoThread::Connecting => 1,
        IoThread::Stopped => 2,
    };
    Channel {
        io: if rank(b.io) > rank(a.io) { b.io } else { a.io },
        sql_running: a.sql_running && b.sql_running,
        // Unknown is worse than any number.
        lag: a.lag.zip(b.lag).map(|(a, b)| a.max(b)),
        error: if a.error.is_empty() { b.error } else { a.error },
    }
}
