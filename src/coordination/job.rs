//! A change of a table on all its shards (DDL), and how far it came.
use super::rule::{Rule, RuleChange};
use serde::{Deserialize, Serialize};

/// One statement of a client that runs on several shards, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Given by the store; 0 before.
    pub id: u64,
    /// Whose statement it is, and as whom a resumption runs.
    pub user: String,
    pub schema: Option<String>,
    /// As the client wrote it.
    pub statement: String,
    /// The session's sql_mode, where it is not the server's own.
    pub sql_mode: Option<String>,
    /// Seconds since 1970.
    pub begun: u64,
    /// What becomes of the rules with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleChange>,
    pub parts: Vec<Part>,
}

/// The statement on one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// For people: which shard of which table.
    pub place: String,
    /// Name of the group.
    pub group: String,
    pub sql: String,
    pub state: PartState,
    /// The server's error, where it failed.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    Waiting,
    /// Sent; whether it took effect is not known before it is done or failed.
    Started,
    Done,
    Failed,
}

impl PartState {
    pub fn words(self) -> &'static str {
        match self {
            PartState::Waiting => "waiting",
            PartState::Started => "started",
            PartState::Done => "done",
            PartState::Failed => "failed",
        }
    }
}

impl Job {
    pub fn is_done(&self) -> bool {
        self.parts.iter().all(|p| p.state == PartState::Done)
    }

    /// Nothing has happened anywhere, as far as is known.
    pub fn is_untouched(&self) -> bool {
        let untouched = |part: &Part| matches!(part.state, PartState::Waiting | PartState::Failed);
        self.parts.iter().all(untouched)
    }

    /// The rule that came with it.
    pub fn added(&self) -> Option<&Rule> {
        self.rules.iter().find_map(|change| match change {
            RuleChange::Adds(rule) => Some(rule),
            RuleChange::Drops(_) | RuleChange::Renames { .. } => None,
        })
    }

    /// `2 of 4 done, failed: shard 2 of shop.orders on group 's1' (1060 …)`.
    pub fn progress(&self) -> String {
        let done = self.parts.iter().filter(|p| p.state == PartState::Done);
        let mut text = format!("{} of {} done", done.count(), self.parts.len());
        for part in &self.parts {
            if matches!(part.state, PartState::Failed | PartState::Started) {
                text += &format!("; {}: {}", part.state.words(), part.place);
                if let Some(error) = &part.error {
                    text += &format!(" ({error})");
                }
            }
        }
        text
    }
}
