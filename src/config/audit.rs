//! The sections `[audit]` and `[statistics]`: what is written down about statements, and where.
use super::policy::kinds;
use super::walk::{Findings, Number, Section};
use std::path::PathBuf;

/// `[audit]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// JSON lines are appended here; `None`: no file.
    pub file: Option<PathBuf>,
    /// The file is renamed and begun anew at this size; this many old ones are kept.
    pub rotate_bytes: u64,
    pub rotate_keep: u32,
    pub collector: Option<Collector>,
    /// When records come faster than they can be written.
    pub when_full: WhenFull,
    /// Of one worker.
    pub queue_bytes: u32,
    pub text: AuditText,
    /// Bytes of a statement's text.
    pub max_text_bytes: u32,
    /// Whose statements and logins; empty: everyone's.
    pub users: Vec<String>,
    /// One bit for each of [`super::KINDS`]; 0: all.
    pub kinds: u64,
    /// Only what ended with an error.
    pub only_errors: bool,
}

/// Where records are sent by TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// host:port
    pub address: String,
    /// RFC 5424 messages with their lengths (RFC 6587) instead of plain JSON lines.
    pub syslog: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Records are dropped, and counted.
    Drop,
    /// Statements wait; one that waited too long is refused.
    Wait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditText {
    Full,
    /// Literals replaced by `?`.
    Masked,
    None,
}

impl Audit {
    pub fn is_on(&self) -> bool {
        self.file.is_some() || self.collector.is_some()
    }
}

impl Default for Audit {
    fn default() -> Audit {
        Audit {
            file: None,
            rotate_bytes: ROTATE.default,
            rotate_keep: KEEP.default as u32,
            collector: None,
            when_full: WhenFull::Drop,
            queue_bytes: QUEUE.default as u32,
            text: AuditText::Full,
            max_text_bytes: TEXT.default as u32,
            users: Vec::new(),
            kinds: 0,
            only_errors: false,
        }
    }
}

/// All that is written down or counted about statements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watching {
    pub audit: Audit,
    pub statistics: Statistics,
}

impl Watching {
    /// Paths that are not absolute start at this folder.
    pub(super) fn start_paths_at(&mut self, folder: &std::path::Path) {
        let files = [&mut self.audit.file, &mut self.statistics.slow_log];
        for path in files.into_iter().flatten() {
            *path = folder.join(&path);
        }
    }

    pub fn is_on(&self) -> bool {
        self.audit.is_on() || self.statistics.digests > 0 || self.statistics.slow_log.is_some()
    }
}

/// `[statistics]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Places for digests in each worker; 0: off.
    pub digests: u32,
    pub slow_log: Option<PathBuf>,
    pub slow_log_ms: u64,
}

const ROTATE: Number = number("rotate_bytes", "bytes", 4096..(1 << 40) + 1, 100 << 20);
const KEEP: Number = number("rotate_keep", "files", 0..10_001, 10);
const QUEUE: Number = number("queue_bytes", "bytes", 65_536..(1 << 30) + 1, 4 << 20);
const TEXT: Number = number("max_text_bytes", "bytes", 0..32_769, 4096);
const DIGESTS: Number = number("digests", "digests", 0..1_000_001, 0);
const SLOW: Number = number("slow_log_ms", "milliseconds", 1..3_600_001, 1000);

const fn number(
    key: &'static str,
    unit: &'static str,
    range: std::ops::Range<u64>,
    default: u64,
) -> Number {
    Number {
        key,
        unit,
        range,
        default,
    }
}

pub(super) fn audit(top: &mut Section<'_, '_>, findings: &Findings<'_>) -> Audit {
    let Some(mut section) = top.table("audit") else {
        return Audit::default();
    };
    let file = section.string("file").map(|found| found.value.into());
    let audit = Audit {
        file,
        rotate_bytes: section.number(&ROTATE),
        rotate_keep: section.number(&KEEP) as u32,
        collector: collector(&mut section, findings),
        when_full: one_of(
            &mut section,
            "when_full",
            findings,
            [("drop", WhenFull::Drop), ("wait", WhenFull::Wait)],
        ),
        queue_bytes: section.number(&QUEUE) as u32,
        text: one_of(
            &mut section,
            "text",
            findings,
            [
                ("full", AuditText::Full),
                ("masked", AuditText::Masked),
                ("none", AuditText::None),
            ],
        ),
        max_text_bytes: section.number(&TEXT) as u32,
        users: section
            .strings("users")
            .unwrap_or_default()
            .into_iter()
            .map(|found| found.value.to_owned())
            .collect(),
        kinds: kinds(&mut section, findings),
        only_errors: section.boolean("only_errors", false),
    };
    if !section.has("file") && !section.has("collector") {
        let message = "needs a file, a collector, or both";
        findings.error(section.at, &section.path_of("file"), message);
    }
    section.finish();
    audit
}

/// `tcp:host:port` or `syslog:host:port`.
fn collector(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Option<Collector> {
    let found = section.string("collector")?;
    let (syslog, address) = match found.value.split_once(':') {
        Some(("tcp", address)) => (false, address),
        Some(("syslog", address)) => (true, address),
        _ => (false, ""),
    };
    let port = address.rsplit_once(':');
    let good = port.is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if !good {
        let message = format!(
            "{:?} is not \"tcp:host:port\" (JSON lines) or \"syslog:host:port\" (RFC 5424 by TCP)",
            found.value
        );
        findings.error(found.at, &found.key, message);
        return None;
    }
    Some(Collector {
        address: address.to_owned(),
        syslog,
    })
}

/// The value of one of these words, the first without one.
fn one_of<T: Copy, const N: usize>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    findings: &Findings<'_>,
    words: [(&str, T); N],
) -> T {
    let first = words[0].1;
    let Some(found) = section.string(key) else {
        return first;
    };
    match words.iter().find(|(word, _)| *word == found.value) {
        Some((_, value)) => *value,
        None => {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            let message = format!("{:?} is not one of {}", found.value, known.join(", "));
            findings.error(found.at, &found.key, message);
            first
        }
    }
}

pub(super) fn statistics(top: &mut Section<'_, '_>) -> Statistics {
    let Some(mut section) = top.table("statistics") else {
        return Statistics::default();
    };
    let slow_log = section.string("slow_log").map(|found| found.value.into());
    let statistics = Statistics {
        digests: section.number(&DIGESTS) as u32,
        slow_log,
        slow_log_ms: section.number(&SLOW),
    };
    section.finish();
    statistics
}
