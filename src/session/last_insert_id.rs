//! LAST_INSERT_ID(): a session's value on connections that others use too.
//!
//! The session's value is what replies report. Two things they do not tell: `LAST_INSERT_ID(expression)` outside of a
//! change, and whether an INSERT's id was generated or given, since a given one is reported too and changes
//! nothing. Where the statement leaves room for either, the connection is asked behind it.
use super::lease::ABOUT_LAST;
use super::pins::Pins;
use super::{End, Session};
use crate::backend::{After, Lease};
use crate::relay::TurnEnd;
use crate::sniff::{Effects, Sniffed};
use crate::wire::command;
use crate::wire::reply::Change;

/// Ids of one hold of a connection that may be given ones; only the last generated one of them counts.
const MOST_DOUBTS: usize = 64;

/// Sets what is set already, so that the server's tracking reports it.
const TELL: &str = "SET last_insert_id=LAST_INSERT_ID()";

impl Session {
    /// Procedures, stored functions and text that was not read to its end may ask for it too. For a user that asks
    /// for row counts every connection is given it: later there is no way to without losing the count.
    pub(super) fn may_ask_last_insert_id(&self, sniffed: &Sniffed) -> bool {
        const MAY: Effects = Effects::LAST_INSERT_ID
            .union(Effects::UNREAD)
            .union(Effects::CALL)
            .union(Effects::MULTI_STATEMENT)
            .union(Effects::UNKNOWN_FUNCTION)
            // later the connection cannot be asked any more
            .union(Effects::SETS_TRACKING);
        let asks_counts = sniffed.effects.intersects(ABOUT_LAST);
        sniffed.effects.intersects(MAY) || self.counts && !asks_counts
    }

    /// A count of the last statement and LAST_INSERT_ID() at once, where the connection's is another session's:
    /// giving it this session's would lose the count.
    pub(super) fn asks_too_much(&self, sniffed: &Sniffed) -> bool {
        sniffed.effects.intersects(ABOUT_LAST)
            && self.may_ask_last_insert_id(sniffed)
            && !self.own_id
            && !(self.pins.is_empty() && self.last.is_none())
    }

    /// What a statement's end tells of it. `said`: text and parameters.
    pub(super) fn note_last_insert_id(
        &mut self,
        end: &mut TurnEnd,
        sniffed: &Sniffed,
        said: &[&[u8]],
    ) {
        match end.last_insert_id {
            Some(id) if may_be_given(sniffed, said, id) => {
                end.last_insert_id = None;
                self.doubt(id);
                self.pins |= Pins::INSERT_ID;
            }
            Some(_) => {
                self.no_doubt();
                self.own_id = true;
            }
            None if sniffed.effects.contains(Effects::LAST_INSERT_ID)
                && said.iter().any(|text| gives_argument(text)) =>
            {
                self.pins |= Pins::INSERT_ID;
            }
            None => {}
        }
    }

    /// A connection that is held for nothing else is asked, and goes back to its pool.
    pub(super) async fn resolve_last_insert_id(&mut self) -> Result<(), End> {
        if self.pins != Pins::INSERT_ID {
            return Ok(());
        }
        let Some(mut lease) = self.held.take() else {
            return Ok(());
        };
        lease.after = After::Close;
        self.settle_doubts(&mut lease).await?;
        self.settle(lease);
        self.counts_went();
        Ok(())
    }

    /// Asks the connection whether it, or the session before, has the last generated id.
    pub(super) async fn settle_doubts(&mut self, lease: &mut Lease) -> Result<(), End> {
        let told = self.ask_last_insert_id(lease).await?;
        // else it is what another session left there
        if let Some(id) = told.filter(|id| self.own_id || self.doubts().contains(id)) {
            self.last_insert_id = id;
            self.own_id = true;
        }
        self.no_doubt();
        Ok(())
    }

    fn doubt(&mut self, id: u64) {
        let doubts = &mut self.kept.get_or_insert_default().doubts;
        if doubts.len() == MOST_DOUBTS {
            doubts.remove(0);
        }
        doubts.push(id);
    }

    fn doubts(&self) -> &[u64] {
        self.kept.as_ref().map_or(&[], |kept| &kept.doubts)
    }

    fn no_doubt(&mut self) {
        if let Some(kept) = self.kept.as_mut() {
            kept.doubts = Vec::new();
        }
        self.pins.remove(Pins::INSERT_ID);
    }

    /// None: a server without session tracking.
    async fn ask_last_insert_id(&mut self, lease: &mut Lease) -> Result<Option<u64>, End> {
        self.write_query(lease, TELL);
        self.send_scratch(lease);
        // the client has its reply: there is nobody to tell
        let end = self
            .own_reply(lease, command::QUERY)
            .await
            .map_err(|_| End::ClientGone)?;
        let told = end.changes.iter().find_map(|change| match change {
            Change::Variable { name, value } if name == b"last_insert_id" => {
                std::str::from_utf8(value).ok()?.parse().ok()
            }
            _ => None,
        });
        Ok(told)
    }
}

/// `LAST_INSERT_ID(` with something in it.
fn gives_argument(sql: &[u8]) -> bool {
    const NAME: &[u8] = b"last_insert_id";
    let called_with = |at: usize| {
        let rest = sql[at + NAME.len()..].trim_ascii_start();
        let inner = rest.strip_prefix(b"(").map(<[u8]>::trim_ascii_start);
        inner.is_some_and(|inner| inner.first() != Some(&b')'))
    };
    let mut names = sql.windows(NAME.len()).enumerate();
    names.any(|(at, word)| word.eq_ignore_ascii_case(NAME) && called_with(at))
}

/// Whether the statement may have brought this id itself: it is in its text or parameters, or comes from a part
/// that is not seen.
fn may_be_given(sniffed: &Sniffed, said: &[&[u8]], id: u64) -> bool {
    const UNSEEN: Effects = Effects::UNREAD
        .union(Effects::CALL)
        .union(Effects::MULTI_STATEMENT)
        .union(Effects::LAST_INSERT_ID)
        .union(Effects::UNKNOWN_FUNCTION)
        .union(Effects::USES_USER_VARIABLE);
    if sniffed.effects.intersects(UNSEEN) {
        return true;
    }
    let digits = id.to_string();
    let wide = id.to_le_bytes();
    let binary = &wide[..(8 - id.leading_zeros() as usize / 8).max(1)];
    let holds = |text: &[u8], what: &[u8]| memchr::memmem::find(text, what).is_some();
    let selects = |text: &[u8]| text.windows(6).any(|w| w.eq_ignore_ascii_case(b"select"));
    said.iter()
        .any(|text| holds(text, digits.as_bytes()) || selects(text))
        || said.first().is_some_and(|sql| calls(sql))
        || said
            .iter()
            .skip(1)
            .any(|parameters| holds(parameters, binary))
}

/// Behind VALUES, something that looks like the call of a function.
fn calls(sql: &[u8]) -> bool {
    const VALUES: &[u8] = b"values";
    let at = sql
        .windows(VALUES.len())
        .position(|w| w.eq_ignore_ascii_case(VALUES));
    let values = sql.get(at.map_or(0, |at| at + VALUES.len())..);
    let name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'`') || b >= 0x80;
    values
        .unwrap_or_default()
        .windows(2)
        .any(|w| name(w[0]) && w[1] == b'(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_seen_in_any_spelling() {
        for sql in [
            "SELECT last_insert_id(5)",
            "do LAST_INSERT_ID ( x )",
            "SELECT LAST_INSERT_ID(), last_insert_id(1)",
        ] {
            assert!(gives_argument(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "SELECT LAST_INSERT_ID()",
            "SELECT @@last_insert_id",
            "SELECT LAST_INSERT_ID ( ), (1)",
            "last_insert_id",
        ] {
            assert!(!gives_argument(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn an_id_that_the_statement_does_not_hold_was_generated() {
        let plain = |sql: &str| crate::sniff::sniff(sql.as_bytes(), true, Default::default());
        let given = |sql: &str, parameters: &[u8], id| {
            may_be_given(&plain(sql), &[sql.as_bytes(), parameters], id)
        };
        assert!(!given("INSERT INTO t (v) VALUES (1)", b"", 77));
        assert!(given("INSERT INTO t VALUES (77)", b"", 77));
        assert!(given("INSERT INTO t VALUES (f(2))", b"", 77));
        assert!(given("INSERT INTO t SELECT 1", b"", 77));
        assert!(given(
            "INSERT INTO t VALUES (?)",
            &70_000u64.to_le_bytes(),
            70_000
        ));
        assert!(given("INSERT INTO t VALUES (?)", b"70000", 70_000));
        assert!(!given(
            "INSERT INTO t VALUES (?)",
            &70_001u64.to_le_bytes(),
            70_000
        ));
    }
}
