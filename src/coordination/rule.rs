//! Rules that came with CREATE TABLE: what the store knows of them.
use super::clerk::Reply;
use serde::{Deserialize, Serialize};

/// Where a table's rows are. The store does not read the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// `shop.orders`
    pub table: String,
    /// The keys of a `[[table]]` section.
    pub text: String,
}

impl Rule {
    /// Names that differ in case only are one name on many servers.
    pub fn is_of(&self, table: &str) -> bool {
        self.table.to_lowercase() == table.to_lowercase()
    }
}

/// What becomes of the rules with a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleChange {
    /// Kept before the job's first part runs; gone again if no part has taken effect.
    Adds(Rule),
    /// The rule of this table goes when the job is done.
    Drops(String),
    /// When the job is done, this rule takes the place of the one of the table `from`, and its ids go on.
    Renames { from: String, to: Rule },
}

/// Called on the store's thread with all rules whenever they have changed, and with somebody who wants to know when
/// everyone has them. May wait for a moment.
pub type Follower = Box<dyn Fn(Vec<Rule>, Option<Reply<()>>) + Send>;
