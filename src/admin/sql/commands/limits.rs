//! SET USER name key = value, and SHOW LIMITS: what users may use and what they use now.

use super::{unknown, NO_ANSWER};
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::admin::workers::ask;
use crate::config::Limits;
use crate::control::Handle;
use crate::topology::User;
use crate::wire::error;
use crate::worker::mailbox::Message;
use std::fmt::Display;

/// `rest`: what follows SET USER. The change holds until the configuration is read again.
pub async fn set(handle: &Handle, rest: &str) -> Answer {
    let Some((user, key, value)) = assignment(rest) else {
        return Answer::Refused(unknown(rest));
    };
    match handle.set_limit(user, key, value).await {
        Ok(done) => Answer::Done(done),
        Err(why) => Answer::Refused(error::own(&format!("nothing was changed: {why}"))),
    }
}

/// `name key = number`, or `= NONE`.
fn assignment(rest: &str) -> Option<(String, String, Option<u64>)> {
    let (user, rest) = statement::string(rest)?;
    let (key, value) = rest.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let plain = !key.is_empty() && !key.contains(char::is_whitespace);
    if user.is_empty() || !plain {
        return None;
    }
    let value = match value {
        none if none.eq_ignore_ascii_case("none") => None,
        number => Some(number.parse().ok()?),
    };
    Some((user, key.to_string(), value))
}

/// One row a user; `(all)` are the process's own.
pub async fn show(handle: &Handle) -> Answer {
    let answers = ask(handle.mailboxes(), Message::Waiting).await;
    let silent = answers.iter().any(Option::is_none);
    let waiting: Vec<(String, usize)> = answers.into_iter().flatten().flatten().collect();
    let view = handle.view();
    let mut table = Table::new(&[
        "user",
        "connections",
        "max_connections",
        "running",
        "max_running",
        "waiting",
        "qps",
        "max_execution_time_ms",
        "max_result_rows",
        "max_result_bytes",
        "idle_transaction_timeout_ms",
        "max_allowed_packet",
    ]);
    let (snapshot, all) = (&view.snapshot, &view.config.limits);
    let waits = |user: Option<&str>| {
        let mine = waiting
            .iter()
            .filter(|(name, _)| user.is_none_or(|user| user == name));
        match silent {
            true => NO_ANSWER.to_string(),
            false => mine.map(|(_, n)| n).sum::<usize>().to_string(),
        }
    };
    let connections: u64 = handle.stats().iter().map(|s| s.clients.get()).sum();
    let everyone = Row {
        user: "(all)".into(),
        connections,
        max_connections: view.config.proxy.max_connections.to_string(),
        running: counted(all.max_running.map(|_| snapshot.shared.running.used())),
        waiting: waits(None),
        qps: shown(all.qps),
        limits: Limits {
            max_running: all.max_running,
            max_allowed_packet: u32::try_from(view.config.proxy.max_allowed_packet).ok(),
            ..all.each
        },
    };
    table.push(everyone.cells());
    let mut users: Vec<&User> = snapshot.users.values().map(AsRef::as_ref).collect();
    users.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    for user in users {
        let row = Row {
            user: user.config.name.clone(),
            connections: user.sessions.used().into(),
            max_connections: shown(user.config.max_connections),
            running: counted(user.limits.max_running.map(|_| user.running.used())),
            waiting: waits(Some(&user.config.name)),
            qps: shown(user.config.qps),
            limits: user.limits,
        };
        table.push(row.cells());
    }
    Answer::Rows(table)
}

struct Row {
    user: String,
    connections: u64,
    max_connections: String,
    running: String,
    waiting: String,
    qps: String,
    limits: Limits,
}

impl Row {
    fn cells(self) -> [String; 12] {
        let l = self.limits;
        let ms = |time: Option<std::time::Duration>| shown(time.map(|t| t.as_millis()));
        [
            self.user,
            self.connections.to_string(),
            self.max_connections,
            self.running,
            shown(l.max_running),
            self.waiting,
            self.qps,
            ms(l.max_execution_time),
            shown(l.max_result_rows),
            shown(l.max_result_bytes),
            ms(l.idle_transaction_timeout),
            shown(l.max_allowed_packet),
        ]
    }
}

fn shown<T: Display>(limit: Option<T>) -> String {
    limit.map_or("none".into(), |n| n.to_string())
}

/// Running statements are counted only where their number is limited.
fn counted(running: Option<u32>) -> String {
    running.map_or("not counted".into(), |n| n.to_string())
}

#[cfg(test)]
mod tests {
    use super::assignment;

    #[test]
    fn an_assignment_names_user_key_and_number() {
        let set = |rest: &str| assignment(rest);
        let some = |user: &str, key: &str, value| Some((user.into(), key.into(), value));
        assert_eq!(set("app qps = 100"), some("app", "qps", Some(100)));
        assert_eq!(set("'a b' qps=5"), some("a b", "qps", Some(5)));
        assert_eq!(
            set("app max_running = NONE"),
            some("app", "max_running", None)
        );
        for wrong in [
            "",
            "app",
            "app qps",
            "app qps 5",
            "app = 5",
            "app qps = x",
            "app qps = -1",
        ] {
            assert_eq!(set(wrong), None, "{wrong}");
        }
    }
}
