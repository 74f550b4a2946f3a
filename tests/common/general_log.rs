//! Reading a server's general log: the server's own word on what reached it, by whom.

use std::collections::HashMap;
use std::path::Path;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The server's connection id.
    pub thread: u64,
    /// `Query`, `Prepare`, `Execute`, `Connect`, `Quit`, `Init DB` …
    pub command: String,
    /// The statement, newlines kept.
    pub text: String,
}

impl Entry {
    pub fn is_statement(&self) -> bool {
        matches!(self.command.as_str(), "Query" | "Execute")
    }
}

/// Accounts whose statements are not a client's.
const OWN: &[&str] = &["root@", "monitor@", "repl@", "[root]@"];

/// All entries of connections that a client made: not root's, the monitor's or replication's.
pub fn client_entries(log: &Path) -> Vec<Entry> {
    let mut users: HashMap<u64, bool> = HashMap::new();
    let mut kept = Vec::new();
    for entry in entries(log) {
        if entry.command == "Connect" || entry.command == "Change user" {
            let own = OWN.iter().any(|user| entry.text.starts_with(user));
            users.insert(entry.thread, !own);
        }
        // Threads without a Connect entry are the server's own, the replication threads.
        if users.get(&entry.thread).copied().unwrap_or(false) {
            kept.push(entry);
        }
    }
    kept
}

/// Every entry of the log file.
pub fn entries(log: &Path) -> Vec<Entry> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut found: Vec<Entry> = Vec::new();
    for line in text.split('\n') {
        match parse(line) {
            Some(entry) => found.push(entry),
            None => continue_last(&mut found, line),
        }
    }
    found
}

fn continue_last(found: &mut [Entry], line: &str) {
    if let Some(last) = found.last_mut() {
        last.text.push('\n');
        last.text.push_str(line);
    }
}

/// `time TAB id command TAB text`, or two tabs for the time when it is the last entry's; MySQL
/// writes `time TAB id command TAB text` with an ISO time.
fn parse(line: &str) -> Option<Entry> {
    let (_, rest) = line.split_once('\t')?;
    let rest = rest.strip_prefix('\t').unwrap_or(rest).trim_start();
    let (id, rest) = rest.split_once(' ')?;
    let (command, text) = rest.split_once('\t')?;
    Some(Entry {
        thread: id.parse().ok()?,
        command: command.to_string(),
        text: text.to_string(),
    })
}
