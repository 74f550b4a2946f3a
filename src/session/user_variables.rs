//! User variables set to literals are part of the session's state; all others hold its connection.
use super::pins::Pins;
use super::Session;
use crate::backend::{Lease, State, Variable};
use crate::relay::TurnEnd;
use crate::sniff::{literal_assignments, Effects, Literal, Sniffed, Verb};

/// Beyond so many, or so many bytes, a session keeps its connection.
const MOST: usize = 64;
const MOST_BYTES: usize = 8 << 10;

impl Session {
    /// After a SET that worked: the literals become state. False: the connection alone knows what was set. `before`:
    /// the state that the text was read in.
    pub(super) fn learn_user_variables(
        &mut self,
        lease: &mut Lease,
        end: &TurnEnd,
        sniffed: &Sniffed,
        sql: &[u8],
        before: &State,
    ) -> bool {
        const MORE: Effects = Effects::MULTI_STATEMENT
            .union(Effects::UNREAD)
            .union(Effects::UNKNOWN_FUNCTION);
        let one_set = sniffed.verb == Verb::Set && !sniffed.effects.intersects(MORE);
        if !one_set || end.error.is_some() || !lease.tracking {
            return false;
        }
        let Some(found) = literal_assignments(sql, self.dialect) else {
            return false;
        };
        let expressions = found
            .into_iter()
            .map(|(name, value)| Some((name.into(), expression(value, before)?)));
        let Some(set) = expressions.collect::<Option<Vec<Variable>>>() else {
            return false;
        };
        let next = self.state.with_user_variables(set);
        if next.user.len() > MOST || next.user_size() > MOST_BYTES {
            return false;
        }
        self.state = self.shared.states.intern(next);
        lease.state = self.state.clone();
        true
    }

    /// Values that only the connection has.
    pub(super) fn has_own_user_variables(&self) -> bool {
        self.pins.contains(Pins::USER_VARIABLE)
    }
}

/// SQL that gives the same value, type and collation on any connection. None: its bytes mean something else there.
fn expression(value: Literal, state: &State) -> Option<Box<[u8]>> {
    let text = match value {
        Literal::Plain(text) => return Some(text.into()),
        Literal::Text(text) => text,
    };
    let of = |name: &[u8]| state.variable(name).unwrap_or_default();
    let (client, set) = (of(b"character_set_client"), of(b"character_set_connection"));
    if !text.is_ascii() && (client != set || !client.starts_with(b"utf8")) {
        return None;
    }
    // characters of more than one byte each would need a conversion
    if set.is_empty() || [b"ucs2".as_slice(), b"utf16", b"utf16le", b"utf32"].contains(&set) {
        return None;
    }
    let mut out = b"_".to_vec();
    out.extend_from_slice(set);
    out.extend_from_slice(b" x'");
    for byte in text {
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    out.push(b'\'');
    let collation = of(b"collation_connection");
    if !collation.is_empty() {
        out.extend_from_slice(b" COLLATE ");
        out.extend_from_slice(collation);
    }
    Some(out.into())
}
