//! SET NAMES … COLLATE: MariaDB's tracking reports the character set of it, and not the collation.
use super::pins::Pins;
use super::tracking::ABOUT_TRACKING;
use super::{End, Session};
use crate::backend::{Lease, RESULTS_COLLATION};
use crate::relay::TurnEnd;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::command;
use crate::wire::reply::Change;

/// Sets what is set already, so that the server's tracking reports it.
pub(super) const TELL: &str = "SET @@SESSION.collation_connection=@@SESSION.collation_connection";

impl Session {
    /// What a statement leaves to be said or asked on its connection, while that is still this session's. One step, so
    /// that what waits for it is stored in a turn once.
    pub(super) async fn follow_up(
        &mut self,
        lease: &mut Lease,
        end: &mut TurnEnd,
        sniffed: &Sniffed,
        sql: &[u8],
    ) -> Result<(), End> {
        if sniffed.effects.intersects(ABOUT_TRACKING) {
            Box::pin(self.resume_tracking(lease, end, sniffed)).await?;
        }
        let unreported = sniffed.effects.contains(Effects::UNREPORTED) && self.dialect.mariadb;
        if unreported && end.error.is_none() {
            Box::pin(self.ask_unreported(lease, end, sniffed, sql)).await?;
        }
        if !end.changes.iter().any(sets_connection) {
            return Ok(());
        }
        if leaves_collation_open(end, sniffed, sql) {
            if end.warnings > 0 {
                // the question would take their place
                self.pins |= Pins::VARIABLE;
                return Ok(());
            }
            Box::pin(self.ask_collation(lease, end)).await?;
        }
        if !(has(sql, b"names") && has(sql, b"collate")) {
            return Ok(());
        }
        if !is_one_set(sniffed) {
            // which of the statements came last is not ours to find out
            self.pins |= Pins::VARIABLE;
            return Ok(());
        }
        // SET NAMES … COLLATE also decides which collation's number the definitions of result columns carry
        let collation = end.changes.iter().find_map(|change| match change {
            Change::Variable { value, .. } if is_collation(change) => Some(value.clone()),
            _ => None,
        });
        let name = RESULTS_COLLATION.to_vec();
        end.changes
            .extend(collation.map(|value| Change::Variable { name, value }));
        Ok(())
    }

    async fn ask_collation(&mut self, lease: &mut Lease, end: &mut TurnEnd) -> Result<(), End> {
        self.write_query(lease, TELL);
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let told = self
            .own_reply(lease, command::QUERY)
            .await
            .map_err(|_| End::ClientGone)?;
        end.changes
            .extend(told.changes.into_iter().filter(is_collation));
        Ok(())
    }
}

fn leaves_collation_open(end: &TurnEnd, sniffed: &Sniffed, sql: &[u8]) -> bool {
    if end.changes.iter().any(is_collation) {
        return false;
    }
    // a plain SET NAMES means the character set's default
    !is_one_set(sniffed) || has(sql, b"collate")
}

fn is_one_set(sniffed: &Sniffed) -> bool {
    let more = Effects::MULTI_STATEMENT | Effects::UNREAD;
    sniffed.verb == Verb::Set && !sniffed.effects.intersects(more)
}

fn has(sql: &[u8], word: &[u8]) -> bool {
    sql.windows(word.len())
        .any(|w| w.eq_ignore_ascii_case(word))
}

fn sets_connection(change: &Change) -> bool {
    matches!(change, Change::Variable { name, .. } if name == b"character_set_connection")
}

fn is_collation(change: &Change) -> bool {
    matches!(change, Change::Variable { name, .. } if name == b"collation_connection")
}
