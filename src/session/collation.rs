//! SET NAMES … COLLATE: MariaDB's tracking reports the character set of it, and not the collation.
use super::{End, Session};
use crate::backend::Lease;
use crate::relay::TurnEnd;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::command;
use crate::wire::reply::Change;

/// Sets what is set already, so that the server's tracking reports it.
const TELL: &str = "SET @@SESSION.collation_connection=@@SESSION.collation_connection";

impl Session {
    /// Asks for the collation while the connection is still this session's, and adds it to what the reply reported.
    pub(super) async fn learn_collation(
        &mut self,
        lease: &mut Lease,
        end: &mut TurnEnd,
        sniffed: &Sniffed,
        sql: &[u8],
    ) -> Result<(), End> {
        if end.changes.is_empty() || !leaves_collation_open(end, sniffed, sql) {
            return Ok(());
        }
        self.write_query(lease, TELL);
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let told = Box::pin(self.own_reply(lease, command::QUERY))
            .await
            .map_err(|_| End::ClientGone)?;
        end.changes
            .extend(told.changes.into_iter().filter(is_collation));
        Ok(())
    }
}

fn leaves_collation_open(end: &TurnEnd, sniffed: &Sniffed, sql: &[u8]) -> bool {
    let set = |c: &Change| matches!(c, Change::Variable { name, .. } if name == b"character_set_connection");
    if !end.changes.iter().any(set) || end.changes.iter().any(is_collation) {
        return false;
    }
    let one_set = sniffed.verb == Verb::Set
        && !sniffed
            .effects
            .intersects(Effects::MULTI_STATEMENT | Effects::UNREAD);
    // a plain SET NAMES means the character set's default
    !one_set || sql.windows(7).any(|w| w.eq_ignore_ascii_case(b"collate"))
}

fn is_collation(change: &Change) -> bool {
    matches!(change, Change::Variable { name, .. } if name == b"collation_connection")
}
