//! One server's health as a pure state machine: check outcomes and times in, liveness out.
//!
//! ```text
//!            answered                 answered × 2
//! Unknown ───────────────► Alive ◄───────────────── Dead
//!    │                       │                        ▲
//!    └───────────────────────┴── failed × 3 ──────────┘
//!                                (refused × 2)
//! ```
//!
//! A server that declines a new connection (too many connections, a wrong monitor password) has
//! answered: it stays as it was. [`assess`] turns the machines of a group into what is published.

pub mod assess;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

/// Failed checks in a row before a server counts as dead.
pub const FAILURES_TO_DEAD: u32 = 3;
/// The same when nothing listens at the address: the kernel's answer leaves no doubt.
pub const REFUSALS_TO_DEAD: u32 = 2;
/// Answered checks in a row before a dead server is used again.
pub const SUCCESSES_TO_ALIVE: u32 = 2;

/// What one round of checks brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The whole round was answered over a logged-in connection.
    Answered(Facts),
    /// No monitor account is configured: the server sent its greeting, more is not known.
    Greeted,
    /// The server is there and declined the login or a new connection; not death.
    Declined(String),
    /// No answer; the text says what happened.
    Failed { refused: bool, text: String },
}

/// What the server says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub read_only: bool,
    pub replication: Replication,
}

/// Replication as a replica sees it; several channels are summed up as the worst of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Replication {
    /// It replicates from no server.
    NotConfigured,
    Configured {
        io: IoThread,
        sql_running: bool,
        /// Seconds behind the source, as the server counts them; None: the server does not know.
        lag: Option<Duration>,
        /// The last error of either thread; empty: none.
        error: String,
    },
    /// The monitor account may not ask; the text says what is missing.
    Unknown(String),
}

/// The thread that fetches changes from the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoThread {
    Running,
    /// Started, and trying to reach its source.
    Connecting,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Never answered, and not yet failed often enough.
    Unknown,
    Alive,
    Dead,
}

/// A change of [`Liveness`], for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    pub from: Liveness,
    pub to: Liveness,
}

/// The machine. One per configured server, owned by the control thread; survives a reload.
#[derive(Debug, Clone)]
pub struct ServerHealth {
    liveness: Liveness,
    failures: u32,
    refusals: u32,
    successes: u32,
    facts: Option<Facts>,
    /// Since when the replica's fetching thread has been without its source.
    source_lost: Option<Instant>,
    /// What stands in the way: the last failure or refusal; empty after an answer.
    trouble: String,
    /// The last check was declined.
    declined: bool,
    /// When the last check that was answered began.
    looked: Option<Instant>,
    /// When the first of the checks in a row ended that found it to take writes.
    writable_since: Option<Instant>,
}

impl Default for ServerHealth {
    fn default() -> ServerHealth {
        ServerHealth {
            liveness: Liveness::Unknown,
            failures: 0,
            refusals: 0,
            successes: 0,
            facts: None,
            source_lost: None,
            trouble: "not checked yet".into(),
            declined: false,
            looked: None,
            writable_since: None,
        }
    }
}

impl ServerHealth {
    /// Takes one outcome in; answers what changed.
    pub fn observe(&mut self, outcome: Outcome, now: Instant) -> Option<Transition> {
        let from = self.liveness;
        self.declined = matches!(outcome, Outcome::Declined(_));
        match outcome {
            Outcome::Answered(facts) => {
                self.note_source(&facts, now);
                self.facts = Some(facts);
                self.answered();
            }
            Outcome::Greeted => {
                self.facts = None;
                self.answered();
            }
            Outcome::Declined(text) => self.declined(text),
            Outcome::Failed { refused, text } => self.failed(refused, text),
        }
        (from != self.liveness).then_some(Transition {
            from,
            to: self.liveness,
        })
    }

    /// Notes when the check that [`ServerHealth::observe`] was told of just now ran.
    pub fn note_look(&mut self, began: Instant, ended: Instant) {
        let Some(facts) = &self.facts else { return };
        self.looked = Some(began);
        self.writable_since = match facts.read_only {
            true => None,
            false => self.writable_since.or(Some(ended)),
        };
    }

    /// Whether the last look at this server began before the other one was first found to take writes: the two may have
    /// changed places since, and the next look tells.
    pub fn was_looked_at_before(&self, other: &ServerHealth) -> bool {
        match (self.looked, other.writable_since) {
            (Some(looked), Some(since)) => looked < since,
            _ => false,
        }
    }

    pub fn liveness(&self) -> Liveness {
        self.liveness
    }

    pub fn is_alive(&self) -> bool {
        self.liveness == Liveness::Alive
    }

    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    pub fn trouble(&self) -> &str {
        &self.trouble
    }

    /// The server is there but turned the last check away: a person should look at it.
    pub fn declined_with(&self) -> Option<&str> {
        self.declined.then_some(self.trouble.as_str())
    }

    fn answered(&mut self) {
        self.failures = 0;
        self.refusals = 0;
        self.successes += 1;
        self.trouble.clear();
        match self.liveness {
            Liveness::Unknown => self.liveness = Liveness::Alive,
            Liveness::Dead if self.successes >= SUCCESSES_TO_ALIVE => {
                self.liveness = Liveness::Alive;
            }
            Liveness::Dead => {
                let (have, need) = (self.successes, SUCCESSES_TO_ALIVE);
                self.trouble = format!("answers again ({have} of {need} checks)");
            }
            Liveness::Alive => {}
        }
    }

    fn declined(&mut self, text: String) {
        self.failures = 0;
        self.refusals = 0;
        self.trouble = text;
        if self.liveness == Liveness::Unknown {
            self.liveness = Liveness::Alive;
        }
    }

    fn failed(&mut self, refused: bool, text: String) {
        self.successes = 0;
        self.failures += 1;
        self.refusals = if refused { self.refusals + 1 } else { 0 };
        self.trouble = text;
        let dead = self.failures >= FAILURES_TO_DEAD || self.refusals >= REFUSALS_TO_DEAD;
        if dead && self.liveness != Liveness::Dead {
            self.liveness = Liveness::Dead;
            // What it said before it died is no longer true when it comes back.
            self.facts = None;
            self.source_lost = None;
        }
    }

    fn note_source(&mut self, facts: &Facts, now: Instant) {
        let lost = matches!(
            &facts.replication,
            Replication::Configured { io, .. } if *io != IoThread::Running
        );
        self.source_lost = match lost {
            true => self.source_lost.or(Some(now)),
            false => None,
        };
    }
}
