//! BEGIN, COMMIT and SAVEPOINT over several groups.
use super::reply::Told;
use super::used::Used;
use super::Session;
use crate::config::CrossShard;
use crate::scatter::Failure;
use crate::session::commands::NEUTRAL;
use crate::session::lease::Attempt;
use crate::session::pins::Pins;
use crate::session::End;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::error;

impl Session {
    /// A transaction is open on some seat.
    pub(super) fn in_open_transaction(&self) -> bool {
        self.pins.contains(Pins::TRANSACTION)
            || self
                .sharded
                .as_ref()
                .is_some_and(|s| s.parked_in_transaction().next().is_some())
    }

    /// Whether the client's transaction may use this group. `others`: the same statement uses another one too.
    pub(super) fn may_touch(&self, group: &str, others: bool) -> Result<(), Told> {
        if !self.in_transaction()
            || self.shared.snapshot().proxy.cross_shard == CrossShard::BestEffort
        {
            return Ok(());
        }
        let elsewhere = self.used_elsewhere(group);
        let Some(other) = elsewhere.or_else(|| others.then(|| "several groups".to_string())) else {
            return Ok(());
        };
        Err(error::own(&format!(
            "this transaction uses {other} and would now use group '{group}': a COMMIT could take effect on one and fail \
             on the other. Keep a transaction on one shard's group, or set cross_shard_transactions = \"best-effort\""
        ))
        .into())
    }

    /// A group with data of the open transaction, other than this one.
    fn used_elsewhere(&self, group: &str) -> Option<String> {
        let home = &*self.user.config.group;
        let Some(sharded) = self.sharded.as_ref() else {
            // it has never left home, and what is open there was not begun by BEGIN alone
            let used = self.pins.contains(Pins::TRANSACTION) && group != home;
            return used.then(|| format!("group '{home}'"));
        };
        let name = |of: &Option<std::rc::Rc<str>>| of.as_deref().unwrap_or(home).to_string();
        let active = sharded.active().cloned();
        let mut open: Vec<String> = sharded
            .parked_in_transaction()
            .map(|seat| name(&seat.group))
            .collect();
        if self.pins.contains(Pins::TRANSACTION) {
            open.push(name(&active));
        }
        let used = |name: &String| name != group && (name != home || sharded.home_used);
        open.into_iter().find(used).map(|n| format!("group '{n}'"))
    }

    /// Begins the client's transaction on the seat that is taken, if it has not begun there.
    pub(super) async fn join_transaction(&mut self) -> Result<(), Told> {
        let Some(sharded) = self.sharded.as_ref() else {
            return Ok(());
        };
        let Some(begin) = sharded.begin.clone() else {
            return Ok(());
        };
        if self.pins.contains(Pins::TRANSACTION) {
            return Ok(());
        }
        let isolated = sharded
            .parked
            .iter()
            .any(|s| s.pins.contains(Pins::NEXT_TRANSACTION));
        if isolated || contains(&begin, b"snapshot") {
            let what = "a transaction WITH CONSISTENT SNAPSHOT, or after SET TRANSACTION, cannot go on to another group: \
                        begin it without, or SET SESSION TRANSACTION";
            return Err(error::own(what).into());
        }
        let savepoints = sharded.savepoints.clone();
        let lease = self.lease(&NEUTRAL, &mut Attempt::default()).await?;
        let mut used = Used::new(self.active_seat(), lease, false);
        self.write_state(&mut used)?;
        used.write_silent(&begin);
        savepoints.iter().for_each(|s| used.write_silent(s));
        let outcome = self.run_on(&mut used).await;
        let refused = outcome
            .err()
            .map(|failure| self.explain_failure(failure, &[]));
        self.give_back(used)?;
        match refused {
            Some(told) => Err(told),
            None => Ok(()),
        }
    }

    async fn run_on(&mut self, used: &mut Used) -> Result<(), Failure> {
        let one = std::slice::from_mut(used);
        self.run_firmly(one).await.map(drop)
    }

    /// COMMIT or ROLLBACK on all seats but the user's own, where it then runs as it came. An error: the transaction is
    /// over everywhere.
    pub(super) async fn end_elsewhere(&mut self, verb: Verb) -> Result<(), Told> {
        let mut done: Vec<String> = Vec::new();
        while let Some(group) = self.next_open() {
            self.take_seat(group.as_deref());
            let Some(lease) = self.held.take() else {
                self.pins.remove(Pins::TRANSACTION);
                continue;
            };
            let mut used = Used::new(group, lease, true);
            used.write_silent(if verb == Verb::Commit {
                b"COMMIT"
            } else {
                b"ROLLBACK"
            });
            let name = self.seat_name(&used.seat);
            let outcome = self.run_on(&mut used).await;
            self.give_back(used)?;
            let Err(failure) = outcome else {
                done.push(name);
                continue;
            };
            let told = self.explain_failure(failure, &[]);
            self.abandon_transaction().await?;
            if !done.is_empty() && verb == Verb::Commit {
                self.shared.stats.partial_commits.add(1);
            }
            return Err(match told {
                Told::Error(cause) if !done.is_empty() && verb == Verb::Commit => {
                    error::own(&format!(
                        "the transaction was committed on group {} but not on {name}: {cause}; check and repair the rest",
                        done.join(", ")
                    ))
                    .into()
                }
                told => told,
            });
        }
        Ok(())
    }

    /// A seat other than the user's own with an open transaction.
    fn next_open(&self) -> Option<Option<std::rc::Rc<str>>> {
        let sharded = self.sharded.as_ref()?;
        if sharded.active().is_some() && self.pins.contains(Pins::TRANSACTION) {
            return Some(sharded.active().cloned());
        }
        let mut open = sharded
            .parked_in_transaction()
            .filter(|s| s.group.is_some());
        open.next().map(|seat| seat.group.clone())
    }

    /// ROLLBACK wherever something is open, the user's own seat included.
    pub(super) async fn abandon_transaction(&mut self) -> Result<(), End> {
        loop {
            let group = match self.next_open() {
                Some(group) => group,
                None => {
                    self.take_seat(None);
                    if !self.pins.contains(Pins::TRANSACTION) {
                        break;
                    }
                    None
                }
            };
            self.take_seat(group.as_deref());
            let Some(lease) = self.held.take() else {
                self.pins.remove(Pins::TRANSACTION);
                continue;
            };
            let mut used = Used::new(group, lease, true);
            used.write_silent(b"ROLLBACK");
            if self.run_on(&mut used).await.is_err() {
                used.end.clean = false;
            }
            self.give_back(used)?;
        }
        self.transaction_over();
        Ok(())
    }

    /// After a statement on the seat that is taken: where it failed in a transaction over several groups, and its server has
    /// rolled that back (a deadlock), it is over on the others too, as on a single server. `begun`: it was open there.
    pub(super) async fn check_transaction(&mut self, begun: bool) -> Result<(), Told> {
        let failed = self.sharded.as_ref().map_or(0, |s| s.error);
        let elsewhere = || {
            let parked = self.sharded.iter().flat_map(|s| s.parked_in_transaction());
            parked.count() > 0
        };
        if failed == 0 || !elsewhere() {
            return Ok(());
        }
        let mut over = failed == super::fanout::DEADLOCK;
        if begun && !over {
            let Some(lease) = self.held.take() else {
                return Ok(());
            };
            let mut used = Used::new(self.active_seat(), lease, true);
            used.write_ping();
            over = self.ends_transaction(&mut used).await;
            self.give_back(used)?;
        }
        if over {
            self.abandon_transaction().await?;
        }
        Ok(())
    }

    /// Whether the server of the seat that is taken has a transaction open, by its last word.
    pub(super) fn begun_here(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|lease| lease.status & crate::wire::status::IN_TRANS != 0)
    }

    pub(super) fn transaction_over(&mut self) {
        if let Some(sharded) = self.sharded.as_mut() {
            sharded.begin = None;
            sharded.savepoints.clear();
            sharded.home_used = false;
        }
    }

    /// SAVEPOINT, ROLLBACK TO, RELEASE SAVEPOINT on all other seats in the transaction.
    pub(super) async fn savepoint_elsewhere(&mut self, sql: &[u8]) -> Result<(), Told> {
        let groups: Vec<_> = self
            .sharded
            .iter()
            .flat_map(|s| s.parked_in_transaction())
            .filter_map(|seat| seat.group.clone())
            .collect();
        for group in groups {
            self.take_seat(Some(&group));
            let Some(lease) = self.held.take() else {
                continue;
            };
            let mut used = Used::new(Some(group), lease, true);
            used.write_silent(sql);
            let outcome = self.run_on(&mut used).await;
            self.give_back(used)?;
            if let Err(failure) = outcome {
                return Err(self.explain_failure(failure, &[]));
            }
        }
        self.take_seat(None);
        Ok(())
    }

    /// After a statement on the user's own seat: whether it began or ended the client's transaction.
    pub(super) fn note_transaction(&mut self, sniffed: &Sniffed, sql: &[u8]) {
        if !self.pins.contains(Pins::TRANSACTION) {
            return self.transaction_over();
        }
        let begun = sniffed.effects.contains(Effects::BEGIN);
        let sharded = self.sharded.get_or_insert_with(Box::default);
        if begun {
            sharded.savepoints.clear();
            sharded.home_used = false;
            if sniffed.verb != Verb::Commit && sniffed.verb != Verb::Rollback {
                sharded.begin = Some(sql.into());
            }
            return;
        }
        match sniffed.verb {
            Verb::Savepoint | Verb::Release | Verb::Rollback => sharded.savepoints.push(sql.into()),
            Verb::Set | Verb::Use | Verb::Begin | Verb::Start | Verb::Show => {}
            Verb::Select if !contains(sql, b"from") => {}
            _ => sharded.home_used = true,
        }
    }

    /// Statements that would commit the open transaction on the user's own seat only.
    pub(super) fn commits_unseen(&self, sniffed: &Sniffed) -> bool {
        let open_elsewhere = self
            .sharded
            .as_ref()
            .is_some_and(|s| s.parked_in_transaction().any(|seat| seat.group.is_some()));
        #[rustfmt::skip]
        let commits = matches!(sniffed.verb, Verb::Create | Verb::Alter | Verb::Drop | Verb::Truncate | Verb::Rename
            | Verb::Lock | Verb::Grant | Verb::Revoke | Verb::Analyze | Verb::Check | Verb::Optimize | Verb::Repair
            | Verb::Flush | Verb::Reset | Verb::Load | Verb::Install | Verb::Uninstall | Verb::Change | Verb::Begin
            | Verb::Start | Verb::Xa | Verb::Call)
            || sniffed.effects.contains(Effects::SET_AUTOCOMMIT);
        open_elsewhere && commits
    }
}

pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|w| w.eq_ignore_ascii_case(word))
}
