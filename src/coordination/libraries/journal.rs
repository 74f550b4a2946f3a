//! The lines of `libraries.log`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the store has threads of its own, which may block"
)]
use super::super::store::StoreError;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest name of an object or class, bytes.
pub const MAX_OBJECT: usize = 255;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact {
    Object {
        object: Box<[u8]>,
        library: String,
    },
    Related {
        class: Box<[u8]>,
        object: Box<[u8]>,
        core: Box<[u8]>,
    },
    Raised {
        library: String,
        by: u64,
    },
}

/// The file. Whatever is in it up to `length` is on the disk.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// None: no line was ever written.
    file: Option<File>,
    length: u64,
    /// Lines that wait for a flush, and what they say.
    text: String,
    waiting: Vec<Fact>,
    /// What is on the disk is not known.
    broken: Option<String>,
}

impl Journal {
    /// The file and what it says, with the numbers of the lines.
    pub fn open(path: &Path) -> Result<(Journal, Vec<(usize, Fact)>), StoreError> {
        let mut journal = Journal {
            path: path.to_owned(),
            file: None,
            length: 0,
            text: String::new(),
            waiting: Vec::new(),
            broken: None,
        };
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok((journal, Vec::new()))
            }
            Err(cause) => return Err(journal.failed(cause)),
        };
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|cause| journal.failed(cause))?;
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if whole < bytes.len() {
            tracing::warn!(file = %path.display(), "the last line was not written to its end: nobody was told of it, it is removed");
            let cut = file.set_len(whole as u64).and_then(|()| file.sync_all());
            cut.map_err(|cause| journal.failed(cause))?;
            bytes.truncate(whole);
        }
        let mut facts = Vec::new();
        for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let fact = Fact::decode(line).ok_or_else(|| {
                journal.wrong_line(at + 1, "it is none of object, correl and weight")
            })?;
            facts.push((at + 1, fact));
        }
        journal.length = whole as u64;
        journal.file = Some(file);
        Ok((journal, facts))
    }

    pub fn wrong_line(&self, line: usize, why: &str) -> StoreError {
        StoreError::Content {
            file: format!("{}:{line}", self.path.display()),
            why: why.to_owned(),
        }
    }

    /// Whether lines can be added.
    pub fn is_usable(&self) -> Result<(), String> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(format!(
                "{why}; nothing more is kept until Umpire is started again"
            )),
        }
    }

    /// A line for the next flush.
    pub fn add(&mut self, fact: Fact) {
        fact.encode(&now(), &mut self.text);
        self.waiting.push(fact);
    }

    /// Err: with what is not on the disk.
    pub fn flush(&mut self) -> Result<(), (StoreError, Vec<Fact>)> {
        let text = std::mem::take(&mut self.text);
        let waiting = std::mem::take(&mut self.waiting);
        if text.is_empty() {
            return Ok(());
        }
        match self.append(text.as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => Err((error, waiting)),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if self.file.is_none() {
            self.file = Some(create(&self.path).map_err(|cause| self.failed(cause))?);
        }
        let (Some(file), at) = (&self.file, self.length) else {
            return Ok(());
        };
        if let Err(cause) = file.write_all_at(bytes, at) {
            // a part of it may be there
            if let Err(cause) = file.set_len(at) {
                self.broken = Some(self.failed(cause).to_string());
            }
            return Err(self.failed(cause));
        }
        if let Err(cause) = file.sync_data() {
            // whether it will be there after a crash, nobody can say; nor would a second flush
            let error = self.failed(cause);
            self.broken = Some(error.to_string());
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, cause: io::Error) -> StoreError {
        StoreError::File {
            file: self.path.display().to_string(),
            cause,
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

impl Fact {
    fn encode(&self, now: &str, out: &mut String) {
        match self {
            Fact::Object { object, library } => {
                let _ = write!(out, "object {now} ");
                escape(object, out);
                let _ = writeln!(out, " {library}");
            }
            Fact::Related {
                class,
                object,
                core,
            } => {
                let _ = write!(out, "correl {now} ");
                escape(class, out);
                out.push(' ');
                escape(object, out);
                out.push(' ');
                escape(core, out);
                out.push('\n');
            }
            Fact::Raised { library, by } => {
                let _ = writeln!(out, "weight {now} {library} {by}");
            }
        }
    }

    fn decode(line: &[u8]) -> Option<Fact> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["object", _, _, object, library] if !library.is_empty() => Some(Fact::Object {
                object: unescape(object)?,
                library: library.to_owned(),
            }),
            ["correl", _, _, class, object, core] => Some(Fact::Related {
                class: unescape(class)?,
                object: unescape(object)?,
                core: unescape(core)?,
            }),
            ["weight", _, _, library, by] => Some(Fact::Raised {
                library: library.to_owned(),
                by: by.parse().ok()?,
            }),
            _ => None,
        }
    }
}

fn escape(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b'%' | 0..=0x20 | 0x7f.. => {
                let _ = write!(out, "%{byte:02X}");
            }
            _ => out.push(char::from(*byte)),
        }
    }
}

fn unescape(text: &str) -> Option<Box<[u8]>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [left.next()?, left.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    (!bytes.is_empty()).then(|| bytes.into())
}

/// `2026-11-30 09:35:30`, UTC (days → date: Hinnant's civil_from_days).
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}
