//! Statements for the lists that policies learn.
use super::watch::now_micros;
use super::Session;
use crate::observe::record::{Event, Record};
use crate::sniff::{self, Dialect, Facts, Judge};

/// Digests that a worker remembers to have handed on.
const LEARNT: usize = 100_000;

/// The statements that a command prepares from literals.
#[derive(Default)]
struct Prepared {
    text: Vec<u8>,
    statements: Vec<(u64, Vec<u8>)>,
}

impl Judge for Prepared {
    fn wants_digests(&self) -> bool {
        true
    }
    fn prepared(&mut self, text: &[u8]) {
        self.text = text.to_vec();
    }
    fn name(&mut self, _: Option<&[u8]>, _: &[u8]) {}
    fn statement(&mut self, facts: Facts) {
        if facts.prepared {
            self.statements
                .push((facts.digest, std::mem::take(&mut self.text)));
        }
    }
}

impl Session {
    /// Hands a command to the lists of these policies, unless it was handed to them before; what it prepares from
    /// literals, too.
    pub(super) fn learn(&self, policies: u64, sql: &[u8], dialect: Dialect) {
        self.learn_digest(policies, sniff::digest(sql, dialect), sql, dialect);
        let mut inner = Prepared::default();
        sniff::facts(sql, true, dialect, &mut inner);
        for (digest, text) in &inner.statements {
            self.learn_digest(policies, *digest, text, dialect);
        }
    }

    fn learn_digest(&self, policies: u64, digest: u64, sql: &[u8], dialect: Dialect) {
        for at in 0..64 {
            let rule = self.user.policies.get(at);
            let Some(rule) = rule.filter(|_| policies >> at & 1 == 1) else {
                continue;
            };
            let mut learnt = self.shared.learnt.borrow_mut();
            if learnt.get(&digest).is_some_and(|name| **name == *rule.name) {
                continue;
            }
            let mut text = [0; 1000];
            let length = sniff::normalised(sql, dialect, &mut text);
            let record = Record {
                text: text.get(..length).unwrap_or_default(),
                policy: &rule.name,
                ..self.learnt_record(digest)
            };
            let mut bytes = self.shared.journal_bytes.borrow_mut();
            record.encode(&mut bytes);
            // room that is kept for others is left alone; the next time it comes again
            let taken = self.shared.journal_reserved.get();
            if self.shared.journal.has_room(taken + bytes.len() + 16)
                && self.shared.journal.put(&bytes)
            {
                if learnt.len() >= LEARNT {
                    learnt.clear();
                }
                learnt.insert(digest, rule.name.as_str().into());
            }
        }
    }

    fn learnt_record(&self, digest: u64) -> Record<'_> {
        Record {
            event: Event::Learnt,
            connection: self.entry.id,
            at: now_micros(),
            digest,
            user: &self.user.config.name,
            ..Record::EMPTY
        }
    }
}
