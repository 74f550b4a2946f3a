//! Changing seats.
use super::{Last, Seat, Sharded};
use crate::session::lease::GroupIndex;
use crate::session::pins::Pins;
use crate::session::{End, Session};
use crate::sniff::Effects;
use crate::wire::status;
use std::rc::Rc;

impl Sharded {
    /// The group of the seat that is taken, if it is not the user's own.
    pub fn active(&self) -> Option<&Rc<str>> {
        self.active.as_ref()
    }

    pub(super) fn parked_in_transaction(&self) -> impl Iterator<Item = &Seat> {
        self.parked
            .iter()
            .filter(|s| s.pins.contains(Pins::TRANSACTION))
    }
}

impl Session {
    /// Sits down at this group; None: at the user's own.
    pub(super) fn take_seat(&mut self, group: Option<&str>) {
        let wanted = group.filter(|name| *name != self.user.config.group);
        let active = self.sharded.as_ref().and_then(|s| s.active());
        if active.map(|name| &**name) == wanted {
            return;
        }
        let sharded = self.sharded.get_or_insert_with(Box::default);
        let at = sharded
            .parked
            .iter()
            .position(|seat| seat.group.as_deref() == wanted);
        let next = match at {
            Some(at) => sharded.parked.swap_remove(at),
            None => Seat {
                group: wanted.map(Into::into),
                held: None,
                pins: Pins::empty(),
                kept: None,
                last: None,
                lent_warnings: false,
                index: GroupIndex::default(),
                pools: Box::default(),
            },
        };
        let parked = Seat {
            group: std::mem::replace(&mut sharded.active, next.group),
            held: std::mem::replace(&mut self.held, next.held),
            pins: std::mem::replace(&mut self.pins, next.pins),
            kept: std::mem::replace(&mut self.kept, next.kept),
            last: std::mem::replace(&mut self.last, next.last),
            lent_warnings: std::mem::replace(&mut self.lent_warnings, next.lent_warnings),
            index: std::mem::replace(&mut self.group, next.index),
            pools: std::mem::replace(&mut self.pools, next.pools),
        };
        sharded.parked.push(parked);
        // what this connection was told last may be older than the session's value
        self.own_id = false;
    }

    pub(super) fn active_seat(&self) -> Option<Rc<str>> {
        self.sharded.as_ref()?.active.clone()
    }

    /// Any seat holds something that the client relies on.
    pub(in crate::session) fn holds_elsewhere(&self) -> bool {
        let parked = self.sharded.iter().flat_map(|s| &s.parked);
        parked.into_iter().any(|seat| seat.pins.leaves_state())
    }

    /// A transaction is open on some seat, or the next statement opens one.
    pub(super) fn in_transaction(&self) -> bool {
        self.status & status::AUTOCOMMIT == 0
            || self.pins.contains(Pins::TRANSACTION)
            || self
                .sharded
                .as_ref()
                .is_some_and(|s| s.begin.is_some() || s.parked_in_transaction().next().is_some())
    }

    /// All seats but the user's own are given up, whatever they hold.
    pub(in crate::session) fn leave_seats(&mut self) {
        if self.sharded.is_some() {
            self.take_seat(None);
            self.sharded = None;
        }
    }

    /// Connections that are kept elsewhere only for questions about the last statement go back, unless this
    /// one asks them.
    pub(super) async fn release_seats(&mut self, effects: Effects) -> Result<(), End> {
        const ASKS: Effects = Effects::DIAGNOSTICS
            .union(Effects::FOUND_ROWS)
            .union(Effects::ROW_COUNT);
        if effects.intersects(ASKS) {
            return Ok(());
        }
        loop {
            let sharded = self.sharded.iter().flat_map(|s| &s.parked);
            let kept = sharded
                .into_iter()
                .find(|s| s.pins.intersects(Pins::FOR_QUESTIONS) && !s.pins.leaves_state());
            let Some(group) = kept.map(|seat| seat.group.clone()) else {
                return Ok(());
            };
            self.take_seat(group.as_deref());
            self.release_diagnostics(effects).await?;
            if self.pins == Pins::INSERT_ID {
                self.resolve_last_insert_id().await?;
            }
        }
    }

    /// Back to the user's own seat after a statement.
    pub(super) fn go_home(&mut self) {
        self.take_seat(None);
        if let Some(sharded) = self.sharded.as_mut() {
            sharded.until = None;
        }
        let in_transaction = self.pins.contains(Pins::TRANSACTION)
            || self
                .sharded
                .as_ref()
                .is_some_and(|s| s.parked_in_transaction().next().is_some());
        if in_transaction {
            self.status |= status::IN_TRANS;
        } else {
            self.status &= !status::IN_TRANS;
        }
        let parked = self.sharded.iter().flat_map(|s| &s.parked);
        let pins = parked.into_iter().fold(self.pins, |all, s| all | s.pins);
        self.entry.pins.set(pins);
        self.entry.in_transaction.set(in_transaction);
    }

    pub(super) fn note_last(&mut self, last: Last) {
        if last != Last::Home || self.sharded.is_some() {
            self.sharded.get_or_insert_with(Box::default).last = last;
        }
    }
}
