//! COM_QUERY: sniffed, routed, run; again elsewhere where that is provably without effect.
use super::lease::{Attempt, ASKS_ABOUT_LAST};
use super::pins::Pins;
use super::sharded::Way;
use super::thread_ids::asks_about_server;
use super::turn::{Outgoing, Ran};
use super::{End, Session};
use crate::net::Buf;
use crate::relay::Command;
use crate::sniff::library::library_command;
use crate::sniff::{self, Access, Effects, Sniffed, Verb};
use crate::topology::accounts::Changing;
use crate::topology::DefaultsChanging;
use crate::wire::error;
use crate::wire::packet::{frame, HEADER};
use crate::wire::query::text_offset;

impl Session {
    pub(super) async fn query(&mut self, mut command: Command) -> Result<(), End> {
        let Ok(text_at) = text_offset(command.body(), self.capabilities) else {
            return Err(self.tell_and_end(&error::malformed_packet()));
        };
        if !command.is_whole() && !self.user.policies.is_empty() {
            command = Box::pin(self.read_for_policies(command, text_at)).await?;
        }
        if !command.is_whole() && self.shards() {
            command = Box::pin(self.read_for_rules(command)).await?;
        }
        let sql = command.body().get(text_at..).unwrap_or_default();
        let whole = command.is_whole();
        let (sniffed, text) = self.shared.memo.borrow_mut().know(sql, whole, self.dialect);
        self.watch_text(sniffed.verb, text);
        if let Err(error) = self.check_policies(sql, whole, text) {
            return self.deny(&command, &error);
        }
        if self.shared.has_libraries() {
            if let Some(asked) = library_command(sql, &sniffed, self.dialect) {
                return Box::pin(self.library_command(&command, asked)).await;
            }
            if let Err(error) = self.has_library_for(&sniffed, sql) {
                return self.deny(&command, &error);
            }
        }
        if asks_connection_id(&sniffed) {
            self.put_connection_id(&mut command, text_at);
        }
        if asks_about_server(&sniffed) {
            Box::pin(self.put_thread_ids(&mut command, text_at)).await;
        }
        let sql = command.body().get(text_at..).unwrap_or_default();
        if sniffed.verb == Verb::Kill {
            return match sniff::kill_target(sql, self.dialect) {
                Some(kill) if whole => Box::pin(self.kill_statement(kill)).await,
                _ => {
                    self.tell(&error::own(
                        "KILL must be the only statement of its command: KILL [QUERY] <connection id>",
                    ));
                    Ok(())
                }
            };
        }
        if matches!(sniffed.verb, Verb::Explain | Verb::Describe) {
            if let Some(at) = sniff::explained_route(sql, self.dialect) {
                return Box::pin(self.explain_route(&command, text_at + at)).await;
            }
        }
        if self.obeys_rules() && self.brings_rule(&sniffed, sql) {
            return Box::pin(self.create_with_rule(&command, text_at, &sniffed)).await;
        }
        let mut visit = None;
        if self.shards() {
            match self.way(&command, text_at, &sniffed, text.map(|text| text.id)) {
                Way::Home => {}
                Way::Visit(there, own) => {
                    visit = Some(there);
                    command = own.unwrap_or(command);
                }
                Way::Dispatch(planned) => {
                    return Box::pin(self.dispatch(command, sniffed, text_at, *planned)).await;
                }
            }
        }
        let ran = self.run_query(command, sniffed, text_at).await;
        match visit {
            Some(visit) if !self.leave(&ran) => Box::pin(self.settle_visit(visit)).await,
            _ => ran,
        }
    }

    /// Runs a statement on the group whose seat is taken.
    pub(super) async fn run_query(
        &mut self,
        command: Command,
        sniffed: Sniffed,
        text_at: usize,
    ) -> Result<(), End> {
        let sql = command.body().get(text_at..).unwrap_or_default();
        if !self.leaves_warnings(&sniffed, sql) {
            self.release_diagnostics(sniffed.effects).await?;
        }
        let _changing = self.changing_accounts(&sniffed, sql);
        let _defaults = self.changing_defaults(&sniffed);
        let mut attempt = Attempt {
            writes: sniffed.access == Access::Read && self.is_known_write(sql),
            ..Attempt::default()
        };
        loop {
            let mut lease = match self.lease(&sniffed, &mut attempt).await {
                Ok(lease) => lease,
                Err(error) => {
                    self.tell(&error);
                    return Ok(());
                }
            };
            if self.asks_too_much(&sniffed) {
                self.refuse_counts();
                self.settle(lease);
                return Ok(());
            }
            let out = self.outgoing(&command, &sniffed, lease.guarded);
            match self.exchange(&mut lease, out, &mut attempt).await? {
                Ran::Done(mut end) => {
                    self.follow_up(&mut lease, &mut end, &sniffed, sql).await?;
                    self.note_last_insert_id(&mut end, &sniffed, &[sql]);
                    self.finish(lease, end, &sniffed, sql);
                    return Ok(());
                }
                Ran::NotRun => {
                    self.forget(lease);
                    return Ok(());
                }
                Ran::Lost => self.shared.stats.retries.add(1),
                Ran::Refused => self.heal(sql, &mut attempt),
            }
        }
    }

    /// For as long as the statement runs; None: it cannot change accounts, or nobody wants to know.
    pub(super) fn changing_accounts(&mut self, sniffed: &Sniffed, sql: &[u8]) -> Option<Changing> {
        if sniffed.access == Access::Read {
            return None;
        }
        let snapshot = self.shared.snapshot();
        let accounts = self.group(&snapshot).ok()?.accounts.as_ref()?;
        let in_mysql = self.state.schema.as_deref() == Some(b"mysql");
        sniff::may_change_accounts(sniffed, sql, in_mysql)
            .then(|| Changing::new(accounts.refresh.clone()))
    }

    /// SET GLOBAL, for as long as it runs.
    pub(super) fn changing_defaults(&self, sniffed: &Sniffed) -> Option<DefaultsChanging> {
        let sets = sniffed.effects.contains(Effects::SET_GLOBAL);
        sets.then(|| DefaultsChanging::new(self.shared.snapshot().defaults.clone()))
    }

    /// CONNECTION_ID() is the id that the client was greeted with.
    pub(super) fn put_connection_id(&self, command: &mut Command, text_at: usize) {
        let start = HEADER + 1 + text_at;
        let Some(sql) = command.bytes.get(start..).filter(|_| command.is_whole()) else {
            return;
        };
        if let Some(text) = sniff::with_connection_id(sql, self.entry.id, self.dialect) {
            let mut payload = command.bytes[HEADER..start].to_vec();
            payload.extend_from_slice(&text);
            let mut out = Vec::with_capacity(payload.len() + HEADER);
            frame(&payload, 0, &mut out);
            command.bytes = Buf::from_vec(out);
        }
    }

    fn outgoing(&self, command: &Command, sniffed: &Sniffed, guarded: bool) -> Outgoing {
        let free = self.pins.is_empty();
        Outgoing {
            read: sniffed.access == Access::Read && free,
            clears_diagnostics: free && self.asks_nothing_of_mine(sniffed),
            needs_last_insert_id: self.may_ask_last_insert_id(sniffed),
            heals: guarded && free && !sniffed.effects.contains(Effects::BEGIN),
            ..Outgoing::of(command, sniffed)
        }
    }

    /// A replica refused a statement that looked like a read: it goes to the primary, now and from now on.
    pub(super) fn heal(&mut self, sql: &[u8], attempt: &mut Attempt) {
        self.shared.stats.healed_writes.add(1);
        let digest = sniff::digest(sql, self.dialect);
        self.shared.known_writes.borrow_mut().remember(digest);
        attempt.writes = true;
    }

    /// Asks about a statement before that this session does not have on the connection: its last user's traces
    /// are cleared first.
    pub(super) fn asks_nothing_of_mine(&self, sniffed: &Sniffed) -> bool {
        sniffed.effects.contains(Effects::DIAGNOSTICS)
            || (sniffed.effects.intersects(super::lease::ABOUT_LAST) && self.last.is_none())
    }

    /// MariaDB clears the warnings of a statement only when a later one uses a table: until then SHOW WARNINGS
    /// still shows them, and the connection that has them stays.
    pub(super) fn leaves_warnings(&self, sniffed: &Sniffed, sql: &[u8]) -> bool {
        let table_less = || !sql.windows(4).any(|w| w.eq_ignore_ascii_case(b"from"));
        self.pins.contains(Pins::DIAGNOSTICS)
            && !self.pins.leaves_state()
            && self.dialect.mariadb
            && sniffed.verb == Verb::Select
            && sniffed.access == Access::Read
            && table_less()
    }

    /// A connection that was kept only for the last statement's warnings goes back, unless this statement
    /// asks for them.
    pub(super) async fn release_diagnostics(&mut self, effects: Effects) -> Result<(), End> {
        if !self.pins.contains(Pins::DIAGNOSTICS) || effects.intersects(ASKS_ABOUT_LAST) {
            return Ok(());
        }
        self.pins.remove(Pins::DIAGNOSTICS);
        if self.pins == Pins::INSERT_ID {
            return Box::pin(self.resolve_last_insert_id()).await;
        }
        if self.pins.is_empty() {
            if let Some(lease) = self.held.take() {
                self.settle(lease);
            }
        }
        Ok(())
    }
}

/// Whether CONNECTION_ID() in the statement's text stands for its value. In the definition of a table, view or
/// program it stands for itself: whoever uses that later has another id.
pub(super) fn asks_connection_id(sniffed: &Sniffed) -> bool {
    sniffed.effects.contains(Effects::CONNECTION_ID)
        && !matches!(sniffed.verb, Verb::Create | Verb::Alter)
}
