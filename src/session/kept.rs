//! What holds a session's connection, counted by name: temporary tables, user locks, PREPARE, HANDLER. When the last one of
//! a kind is gone its pin ends, and the connection goes back to the pool as any other.
//!
//! Whatever cannot be counted (a name that is made up when the statement runs, several statements in one) makes its
//! kind uncountable: that pin then ends with the session, COM_RESET_CONNECTION or COM_CHANGE_USER only.
use super::pins::Pins;
use super::Session;
use crate::relay::TurnEnd;
use crate::sniff::{self, named, Effects, Named, Sniffed, TableName, Verb};
use smallvec::SmallVec;
use std::borrow::Cow;

/// More of one kind are not counted.
const MOST: usize = 64;

/// Pins whose reasons are counted.
const COUNTED: Pins = Pins::TEMPORARY_TABLE
    .union(Pins::GET_LOCK)
    .union(Pins::SQL_PREPARE)
    .union(Pins::HANDLER);

/// Effects that begin one.
const BEGINS: Effects = Effects::CREATES_TEMPORARY_TABLE
    .union(Effects::GET_LOCK)
    .union(Effects::PREPARES)
    .union(Effects::HANDLER_OPEN);

/// Of one connection, while it is held. Per seat of a session, made when it is needed.
#[derive(Debug, Default)]
pub(super) struct Kept {
    tables: Names,
    locks: Names,
    handlers: Names,
    prepared: Names,
    /// What the prepared statements do, where their text was a literal.
    effects: Vec<(Name, Effects)>,
    /// Reported ids that may have been given ones ([`Pins::INSERT_ID`]).
    pub doubts: Vec<u64>,
}

type Name = Box<[u8]>;

/// Names of one kind; a lock that is taken twice is here twice.
#[derive(Debug, Default)]
struct Names {
    known: Vec<Name>,
    /// There may be others.
    others: bool,
}

impl Names {
    fn add(&mut self, name: Option<Name>) {
        match name {
            Some(name) if self.known.len() < MOST => self.known.push(name),
            _ => self.others = true,
        }
    }

    /// The same name once more is the same thing.
    fn add_once(&mut self, name: Option<Name>) {
        if !name.as_ref().is_some_and(|name| self.known.contains(name)) {
            self.add(name);
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(at) = self.known.iter().position(|known| **known == *name) {
            self.known.swap_remove(at);
        }
    }

    fn is_none_left(&self) -> bool {
        self.known.is_empty() && !self.others
    }
}

impl Session {
    /// EXECUTE of a text that is known does what that text does.
    pub(super) fn executed_text(&self, sniffed: &Sniffed, sql: &[u8]) -> Option<Sniffed> {
        let kept = self
            .kept
            .as_ref()
            .filter(|_| sniffed.verb == Verb::Execute)?;
        if sniffed
            .effects
            .intersects(Effects::MULTI_STATEMENT | Effects::UNREAD)
        {
            return None;
        }
        let Named::Executes(name) = named(sql, self.dialect)? else {
            return None;
        };
        let name = name.to_ascii_lowercase();
        let (_, inner) = kept.effects.iter().find(|(known, _)| **known == *name)?;
        Some(Sniffed {
            effects: sniffed.effects.difference(Effects::CALL) | *inner,
            ..*sniffed
        })
    }

    /// Counts what a statement has begun or ended. Pins of what it began are set already.
    pub(super) fn count_kept(&mut self, end: &TurnEnd, sniffed: &Sniffed, sql: &[u8]) {
        let ends = matches!(sniffed.verb, Verb::Drop | Verb::Deallocate | Verb::Handler)
            || sniffed.effects.contains(Effects::RELEASES_LOCK);
        let renames = matches!(sniffed.verb, Verb::Alter | Verb::Rename);
        if !self.pins.intersects(COUNTED)
            || !(ends || renames || sniffed.effects.intersects(BEGINS))
        {
            return;
        }
        let unclear = Effects::MULTI_STATEMENT | Effects::UNREAD;
        let plain = !sniffed.effects.intersects(unclear);
        let named = plain.then(|| named(sql, self.dialect)).flatten();
        let mut kept = self.kept.take().unwrap_or_default();
        kept.begun(self, end, sniffed.effects, plain, named.as_ref());
        if renames && mentions(sql, b"rename") {
            // a temporary table may have another name now
            kept.tables.others |= !kept.tables.known.is_empty();
        }
        if let (None, Some(named)) = (&end.error, &named) {
            let over = kept.ended(self, named);
            self.pins.remove(over);
        }
        let needed = self.pins.intersects(COUNTED) || !kept.doubts.is_empty();
        self.kept = needed.then_some(kept);
    }

    /// The table's name with its schema.
    fn full_name(&self, table: TableName<'_>) -> Option<Name> {
        let schema = table.schema.or(self.state.schema.as_deref())?;
        Some([schema, b".", table.name].concat().into())
    }
}

impl Kept {
    /// There may be a user lock.
    pub fn lock_unnamed(&mut self) {
        self.locks.others = true;
    }

    fn begun(
        &mut self,
        session: &Session,
        end: &TurnEnd,
        effects: Effects,
        plain: bool,
        named: Option<&Named<'_>>,
    ) {
        let done = end.error.is_none();
        // of several statements some may have worked
        let may_have = done || !plain;
        if effects.contains(Effects::CREATES_TEMPORARY_TABLE) && may_have {
            self.tables.add_once(match named {
                Some(Named::MakesTable(table)) => session.full_name(*table),
                _ => None,
            });
        }
        // also what ends in an error may have taken it
        if effects.contains(Effects::GET_LOCK) {
            self.locks.add(match named {
                Some(Named::TakesLock(name)) => Some((*name).into()),
                _ => None,
            });
        }
        if effects.contains(Effects::HANDLER_OPEN) && may_have {
            self.handlers.add_once(match named {
                Some(Named::OpensHandler(name)) => Some((*name).into()),
                _ => None,
            });
        }
        if effects.contains(Effects::PREPARES) && may_have {
            self.prepares(session, named);
        }
    }

    fn prepares(&mut self, session: &Session, named: Option<&Named<'_>>) {
        let Some(Named::Prepares(name, text)) = named else {
            self.effects.clear();
            return self.prepared.add(None);
        };
        let name: Name = name.to_ascii_lowercase().into();
        self.effects.retain(|(known, _)| *known != name);
        let sniffed = |text: &Cow<'_, [u8]>| sniff::sniff(text, true, session.dialect);
        if let (Some(text), true) = (text, self.effects.len() < MOST) {
            self.effects.push((name.clone(), sniffed(text).effects));
        }
        self.prepared.add_once(Some(name));
    }

    /// The pins that are over.
    fn ended(&mut self, session: &Session, named: &Named<'_>) -> Pins {
        let (names, pin) = match named {
            Named::DropsTables(tables) => {
                let names: SmallVec<[_; 4]> = tables
                    .iter()
                    .filter_map(|t| session.full_name(*t))
                    .collect();
                names.iter().for_each(|name| self.tables.remove(name));
                (&self.tables, Pins::TEMPORARY_TABLE)
            }
            Named::ReleasesLock(name) => {
                self.locks.remove(name);
                (&self.locks, Pins::GET_LOCK)
            }
            Named::ReleasesAllLocks => {
                self.locks = Names::default();
                (&self.locks, Pins::GET_LOCK)
            }
            Named::Deallocates(name) => {
                let name = name.to_ascii_lowercase();
                self.prepared.remove(&name);
                self.effects.retain(|(known, _)| **known != *name);
                (&self.prepared, Pins::SQL_PREPARE)
            }
            Named::ClosesHandler(name) => {
                self.handlers.remove(name);
                (&self.handlers, Pins::HANDLER)
            }
            _ => return Pins::empty(),
        };
        match names.is_none_left() {
            true => pin,
            false => Pins::empty(),
        }
    }
}

/// In any case of letters.
fn mentions(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|w| w.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_not_counted_is_never_the_last() {
        let mut names = Names::default();
        names.add(Some((*b"a").into()));
        names.add(Some((*b"a").into()));
        names.remove(b"b");
        names.remove(b"a");
        assert!(!names.is_none_left());
        names.remove(b"a");
        assert!(names.is_none_left());
        names.add(None);
        assert!(!names.is_none_left());
    }

    #[test]
    fn more_names_than_are_counted_are_never_all_gone() {
        let mut names = Names::default();
        let name = |n: usize| n.to_string().into_bytes();
        for n in 0..=MOST {
            names.add_once(Some(name(n).into()));
        }
        for n in 0..=MOST {
            names.remove(&name(n));
        }
        assert!(!names.is_none_left());
    }
}
