//! A record as one line of JSON.
use crate::observe::record::{Event, Ran, Record};
use std::fmt::Write;

/// With its newline. `number` grows by one a line, for a collector that gets some twice.
pub(super) fn json(record: &Record<'_>, server: Option<&str>, number: u64) -> String {
    let mut out = String::with_capacity(256 + record.text.len());
    // writing into a String does not fail
    let _ = write!(out, "{{\"time\":\"{}\",\"n\":{number}", time(record.at));
    let event = match record.event {
        Event::Statement => "statement",
        Event::Login => "login",
        Event::LoginFailed => "login failed",
        Event::Learnt => "learnt",
    };
    let _ = write!(
        out,
        ",\"event\":\"{event}\",\"connection\":{}",
        record.connection
    );
    text(&mut out, "user", record.user.as_bytes());
    let client = record.client.map_or("unix".into(), |a| a.to_string());
    text(&mut out, "client", client.as_bytes());
    if record.event == Event::Statement {
        text(&mut out, "database", record.schema);
        text(&mut out, "command", command(record.command).as_bytes());
        if record.digest != 0 {
            let _ = write!(out, ",\"digest\":\"{:016x}\"", record.digest);
        }
        text(&mut out, "text", record.text);
        if record.truncated {
            out.push_str(",\"truncated\":true");
        }
        let route = match record.ran {
            Ran::Local => "local",
            Ran::Primary => "primary",
            Ran::Replica => "replica",
            Ran::Shards => "shards",
        };
        let _ = write!(out, ",\"route\":\"{route}\"");
        for (at, shard) in record.shards.split_whitespace().enumerate() {
            out.push_str(if at == 0 { ",\"shards\":[" } else { "," });
            quoted(&mut out, shard.as_bytes());
        }
        if !record.shards.is_empty() {
            out.push(']');
        }
        if let Some(server) = server {
            text(&mut out, "server", server.as_bytes());
        }
        let _ = write!(
            out,
            ",\"rows\":{},\"bytes\":{},\"duration_us\":{}",
            record.rows, record.bytes, record.duration
        );
        if record.slow {
            out.push_str(",\"slow\":true");
        }
        if !record.policy.is_empty() {
            text(&mut out, "policy", record.policy.as_bytes());
            let _ = write!(out, ",\"denied\":{}", record.denied);
        }
    }
    let _ = writeln!(out, ",\"error\":{}}}", record.error);
    out
}

/// `,"key":"value"`, whatever bytes the value has.
fn text(out: &mut String, key: &str, value: &[u8]) {
    let _ = write!(out, ",\"{key}\":");
    quoted(out, value);
}

fn quoted(out: &mut String, value: &[u8]) {
    out.push('"');
    for c in String::from_utf8_lossy(value).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The time in a line that [`json`] made.
pub(super) fn time_of(json: &str) -> &str {
    let time = json.split('"').nth(3);
    time.unwrap_or("-")
}

fn command(kind: u8) -> &'static str {
    use crate::wire::command::*;
    match kind {
        QUERY => "query",
        STMT_PREPARE => "prepare",
        STMT_EXECUTE => "execute",
        STMT_BULK_EXECUTE => "bulk execute",
        STMT_FETCH => "fetch",
        STMT_RESET => "reset statement",
        INIT_DB => "init db",
        PING => "ping",
        CHANGE_USER => "change user",
        RESET_CONNECTION => "reset connection",
        SET_OPTION => "set option",
        FIELD_LIST => "field list",
        PROCESS_KILL => "kill",
        _ => "other",
    }
}

/// RFC 3339, UTC, microseconds. Days → date: the proleptic Gregorian calendar in eras of 400 years.
pub(super) fn time(micros: u64) -> String {
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // counted from 1 March of year 0, so that a leap day is the last of its year
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!(
        "{:04}-{month:02}-{of_month:02}T{:02}:{:02}:{:02}.{micros:06}Z",
        era * 400 + year + carry,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(time(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(time(1_735_689_599_999_999), "2024-12-31T23:59:59.999999Z");
        assert_eq!(time(4_107_542_400_000_000), "2100-03-01T00:00:00.000000Z");
    }

    #[test]
    fn any_bytes_are_one_line_of_json() {
        let mut out = String::new();
        text(&mut out, "k", b"a\"b\\c\n\x00\xff\x7f\xc3\xbc");
        assert_eq!(out, ",\"k\":\"a\\\"b\\\\c\\n\\u0000\u{fffd}\\u007fü\"");
    }
}
