//! Statements that a policy learns: appended to its list, once each.
use super::Trouble;
use crate::config::parse_allow_list;
use crate::observe::record::Record;
use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Digests of one list: an application has some hundreds.
const MOST: usize = 1_000_000;

/// Per process.
#[derive(Default)]
pub(super) struct Learnt {
    lists: HashMap<PathBuf, HashSet<u64>>,
    trouble: Trouble,
}

impl Learnt {
    pub fn add(&mut self, path: &Path, record: &Record<'_>) {
        if !self.lists.contains_key(path) {
            self.lists.insert(path.to_path_buf(), read(path));
        }
        let Some(list) = self.lists.get_mut(path) else {
            return;
        };
        if list.len() >= MOST || !list.insert(record.digest) {
            return;
        }
        let text = String::from_utf8_lossy(record.text);
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let line = format!("{:016x} {} {text}\n", record.digest, record.user);
        match append(path, line.as_bytes()) {
            Ok(()) => self.trouble.over("lists of statements are written"),
            Err(cause) => {
                list.remove(&record.digest);
                let what = format!("{} cannot be written", path.display());
                self.trouble.met(&what, &cause);
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread that may block")]
fn read(path: &Path) -> HashSet<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    parse_allow_list(&text).unwrap_or_default()
}

fn append(path: &Path, line: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).mode(0o600).open(path)?;
    file.write_all(line)
}
