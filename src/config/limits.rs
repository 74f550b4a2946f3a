//! What one user, or the whole process, may use: `[limits]`, the same keys in `[[user]]`, and the one table of
//! their names and ranges, which the admin port's SET USER uses too.
use super::walk::{Number, Section};
use super::{Config, User};
use std::time::Duration;

/// Limits of one user. `[limits]` gives those of every user that has none of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Statements that run at once, over all workers; further ones wait.
    pub max_running: Option<u32>,
    /// A statement that runs longer is interrupted on its server (KILL QUERY).
    pub max_execution_time: Option<Duration>,
    /// Rows of one command's reply; the result is cut there with an error.
    pub max_result_rows: Option<u64>,
    /// Bytes of the rows of one command's reply, packet headers included.
    pub max_result_bytes: Option<u64>,
    /// A transaction in which no command comes for this long ends with its connection.
    pub idle_transaction_timeout: Option<Duration>,
    /// Largest command, bytes; instead of the process's.
    pub max_allowed_packet: Option<u32>,
    /// Bytes that Umpire holds for all of the user's sessions together, over all workers.
    pub max_memory: Option<u64>,
}

/// `[limits]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Statements a second of all users together, held by added latency.
    pub qps: Option<u32>,
    /// Statements of all users that run at once.
    pub max_running: Option<u32>,
    /// What a user has that sets none of its own.
    pub each: Limits,
}

impl Limits {
    /// These, and where there is none, those.
    pub fn or(self, other: Limits) -> Limits {
        Limits {
            max_running: self.max_running.or(other.max_running),
            max_execution_time: self.max_execution_time.or(other.max_execution_time),
            max_result_rows: self.max_result_rows.or(other.max_result_rows),
            max_result_bytes: self.max_result_bytes.or(other.max_result_bytes),
            idle_transaction_timeout: self
                .idle_transaction_timeout
                .or(other.idle_transaction_timeout),
            max_allowed_packet: self.max_allowed_packet.or(other.max_allowed_packet),
            max_memory: self.max_memory.or(other.max_memory),
        }
    }
}

const QPS: Number = number("qps", "statements a second", 1..10_000_001);
const MAX_CONNECTIONS: Number = number("max_connections", "connections", 1..1_000_001);
const MAX_RUNNING: Number = number("max_running", "statements", 1..1_000_001);
const MAX_EXECUTION_TIME: Number = number("max_execution_time_ms", "milliseconds", 1..86_400_001);
const MAX_RESULT_ROWS: Number = number("max_result_rows", "rows", 1..1_000_000_000_001);
const MAX_RESULT_BYTES: Number = number("max_result_bytes", "bytes", 1024..(1 << 50) + 1);
const IDLE_TRANSACTION: Number =
    number("idle_transaction_timeout_ms", "milliseconds", 1..86_400_001);
const MAX_ALLOWED_PACKET: Number = number("max_allowed_packet", "bytes", 1024..(1 << 30) + 1);
const MAX_MEMORY: Number = number("max_memory_bytes", "bytes", (1 << 20)..(1 << 50) + 1);

const fn number(key: &'static str, unit: &'static str, range: std::ops::Range<u64>) -> Number {
    Number {
        key,
        unit,
        range,
        default: 0,
    }
}

/// A limit of a user that can be changed while running: its key in the configuration and where it is kept.
struct Knob {
    spec: &'static Number,
    get: fn(&User) -> Option<u64>,
    set: fn(&mut User, Option<u64>),
}

fn narrow(value: Option<u64>) -> Option<u32> {
    value.and_then(|n| n.try_into().ok())
}

fn millis(value: Option<Duration>) -> Option<u64> {
    value.and_then(|d| d.as_millis().try_into().ok())
}

const KNOBS: [Knob; 9] = [
    Knob {
        spec: &MAX_CONNECTIONS,
        get: |u| u.max_connections.map(Into::into),
        set: |u, v| u.max_connections = narrow(v),
    },
    Knob {
        spec: &QPS,
        get: |u| u.qps.map(Into::into),
        set: |u, v| u.qps = narrow(v),
    },
    Knob {
        spec: &MAX_RUNNING,
        get: |u| u.limits.max_running.map(Into::into),
        set: |u, v| u.limits.max_running = narrow(v),
    },
    Knob {
        spec: &MAX_EXECUTION_TIME,
        get: |u| millis(u.limits.max_execution_time),
        set: |u, v| u.limits.max_execution_time = v.map(Duration::from_millis),
    },
    Knob {
        spec: &MAX_RESULT_ROWS,
        get: |u| u.limits.max_result_rows,
        set: |u, v| u.limits.max_result_rows = v,
    },
    Knob {
        spec: &MAX_RESULT_BYTES,
        get: |u| u.limits.max_result_bytes,
        set: |u, v| u.limits.max_result_bytes = v,
    },
    Knob {
        spec: &IDLE_TRANSACTION,
        get: |u| millis(u.limits.idle_transaction_timeout),
        set: |u, v| u.limits.idle_transaction_timeout = v.map(Duration::from_millis),
    },
    Knob {
        spec: &MAX_ALLOWED_PACKET,
        get: |u| u.limits.max_allowed_packet.map(Into::into),
        set: |u, v| u.limits.max_allowed_packet = narrow(v),
    },
    Knob {
        spec: &MAX_MEMORY,
        get: |u| u.limits.max_memory,
        set: |u, v| u.limits.max_memory = v,
    },
];

impl User {
    /// Every limit by its key in the configuration; None: it has none of its own.
    pub fn limits_by_key(&self) -> Vec<(&'static str, Option<u64>)> {
        KNOBS.iter().map(|k| (k.spec.key, (k.get)(self))).collect()
    }

    /// Changes one limit; `None` takes it away.
    ///
    /// # Errors
    /// A key that is no limit, a value out of its range: in words.
    pub fn set_limit(&mut self, key: &str, value: Option<u64>) -> Result<(), String> {
        let knob = KNOBS.iter().find(|k| k.spec.key.eq_ignore_ascii_case(key));
        let Some(knob) = knob else {
            let known: Vec<&str> = KNOBS.iter().map(|k| k.spec.key).collect();
            return Err(format!(
                "'{key}' is no limit of a user; there are: {}",
                known.join(", ")
            ));
        };
        if let Some(n) = value.filter(|n| !knob.spec.range.contains(n)) {
            let (low, high) = (knob.spec.range.start, knob.spec.range.end - 1);
            return Err(format!(
                "{key} = {n} is out of range: from {low} to {high} {}, or NONE",
                knob.spec.unit
            ));
        }
        (knob.set)(self, value);
        Ok(())
    }
}

impl Config {
    /// What holds for the user: its own limits, and those of `[limits]` where it has none.
    pub fn limits_of(&self, user: &User) -> Limits {
        user.limits.or(self.limits.each)
    }
}

/// The limits among a user's keys.
pub(super) fn of_user(section: &mut Section<'_, '_>, user: &mut User) {
    for knob in &KNOBS {
        (knob.set)(user, section.number_if_given(knob.spec));
    }
}

/// `[limits]`.
pub(super) fn read(top: &mut Section<'_, '_>) -> ProcessLimits {
    let Some(mut section) = top.table("limits") else {
        return ProcessLimits::default();
    };
    let time = |n: Option<u64>| n.map(Duration::from_millis);
    let limits = ProcessLimits {
        qps: narrow(section.number_if_given(&QPS)),
        max_running: narrow(section.number_if_given(&MAX_RUNNING)),
        each: Limits {
            max_running: None,
            max_execution_time: time(section.number_if_given(&MAX_EXECUTION_TIME)),
            max_result_rows: section.number_if_given(&MAX_RESULT_ROWS),
            max_result_bytes: section.number_if_given(&MAX_RESULT_BYTES),
            idle_transaction_timeout: time(section.number_if_given(&IDLE_TRANSACTION)),
            max_allowed_packet: None,
            max_memory: section.number_if_given(&MAX_MEMORY),
        },
    };
    section.finish();
    limits
}
