//! Changing seats.
use super::reply::Told;
use super::{Last, Seat, Sharded};
use crate::session::lease::{GroupIndex, ASKS_ABOUT_LAST};
use crate::session::pins::Pins;
use crate::session::{End, Session};
use crate::sniff::Effects;
use crate::wire::{error, status};
use std::mem::swap;
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
        let of_group = |seat: &Seat| seat.group.as_deref() == wanted;
        let at = sharded.parked.iter().position(of_group);
        let at = at.unwrap_or_else(|| {
            sharded.parked.push(Seat {
                group: wanted.map(Into::into),
                held: None,
                pins: Pins::empty(),
                kept: None,
                last: None,
                lent_warnings: false,
                index: GroupIndex::default(),
                pools: Box::default(),
            });
            sharded.parked.len() - 1
        });
        if let Some(seat) = sharded.parked.get_mut(at) {
            swap(&mut sharded.active, &mut seat.group);
            swap(&mut self.held, &mut seat.held);
            swap(&mut self.pins, &mut seat.pins);
            swap(&mut self.kept, &mut seat.kept);
            swap(&mut self.last, &mut seat.last);
            swap(&mut self.lent_warnings, &mut seat.lent_warnings);
            swap(&mut self.group, &mut seat.index);
            swap(&mut self.pools, &mut seat.pools);
        }
        // what this connection was told last may be older than the session's value
        self.own_id = false;
    }

    /// Why this group's seat, taken or not, holds its connection.
    pub(super) fn pins_at(&self, group: &str) -> Pins {
        let home = &*self.user.config.group;
        let is = |of: &Option<Rc<str>>| of.as_deref().unwrap_or(home) == group;
        match &self.sharded {
            Some(sharded) if !is(&sharded.active) => {
                let seat = sharded.parked.iter().find(|seat| is(&seat.group));
                seat.map_or(Pins::empty(), |seat| seat.pins)
            }
            _ => self.pins,
        }
    }

    /// Whether what the statement says of user variables is known to this group's connection. Those that were not SET to
    /// literals are known to one connection alone.
    pub(super) fn may_use_variables(&self, effects: Effects, group: &str) -> Result<(), Told> {
        if !effects.contains(Effects::USES_USER_VARIABLE) {
            return Ok(());
        }
        let home = &*self.user.config.group;
        let sharded = self.sharded.as_ref();
        let active = sharded.and_then(|s| s.active().cloned());
        let parked = sharded.into_iter().flat_map(|s| &s.parked);
        let mut seats = parked
            .map(|seat| (seat.group.clone(), seat.pins))
            .chain([(active, self.pins)])
            .filter(|(_, pins)| pins.contains(Pins::USER_VARIABLE))
            .map(|(of, _)| of.as_deref().unwrap_or(home).to_owned());
        let Some(other) = seats.find(|of| of != group) else {
            return Ok(());
        };
        Err(error::own(&format!(
            "user variables were given values by a statement on group '{other}', which only the connection there knows: this \
             statement, on group '{group}', would not see them. Use literals or parameters in their place, or a new session"
        ))
        .into())
    }

    pub(super) fn is_at_home(&self) -> bool {
        self.sharded.as_ref().is_none_or(|s| s.active.is_none())
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
        if effects.intersects(ASKS_ABOUT_LAST) {
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
        self.names_shards = false;
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
