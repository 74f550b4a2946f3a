//! The workers' tables of digests as one.

use super::workers::{ask, silent};
use crate::observe::digests::DigestInfo;
use crate::worker::mailbox::{Mailbox, Message};
use std::collections::HashMap;

pub struct Gathered {
    /// The one with the most time first.
    pub rows: Vec<DigestInfo>,
    /// Workers that gave no answer.
    pub silent: Vec<usize>,
}

/// Takes at most the workers' deadline.
pub async fn gather(mailboxes: &[Mailbox]) -> Gathered {
    let answers = ask(mailboxes, Message::Digests).await;
    let silent = silent(&answers);
    let mut sums: HashMap<(u64, String, String), DigestInfo> = HashMap::new();
    for row in answers.into_iter().flatten().flatten() {
        let key = (row.digest, row.user.clone(), row.group.clone());
        match sums.get_mut(&key) {
            Some(sum) => sum.add(&row),
            None => drop(sums.insert(key, row)),
        }
    }
    let mut rows: Vec<DigestInfo> = sums.into_values().collect();
    rows.sort_by(|a, b| b.micros.cmp(&a.micros).then(a.digest.cmp(&b.digest)));
    Gathered { rows, silent }
}
