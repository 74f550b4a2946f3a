//! Policies: whether a command may run.
use super::{End, Session};
use crate::policy::{self, Context, Passed, Verdict};
use crate::relay::Command;
use crate::sniff::{Dialect, KnownText, Verb};
use crate::wire::capabilities::MULTI_STATEMENTS;
use crate::wire::{command, error, reply};

impl Session {
    /// The error for a text that a policy of the user denies. `text`: what the sniffer knows of it.
    #[inline]
    pub(super) fn check_policies(
        &mut self,
        sql: &[u8],
        complete: bool,
        text: Option<KnownText>,
    ) -> Result<Passed, reply::Err> {
        if self.user.policies.is_empty() {
            return Ok(Passed::default());
        }
        let (rules, context) = (&self.user.policies, self.context());
        let verdict = match text {
            Some(text) if complete => {
                let mut known = self.shared.verdicts.borrow_mut();
                known.judge(text.id, rules.id(), rules, sql, context)
            }
            _ => policy::judge(rules, sql, complete, context),
        };
        self.follow(verdict, sql, self.dialect)
    }

    /// Before each EXECUTE: policies may have changed since the statement was prepared. It is judged as the text that it
    /// was then, in the schema and the `sql_mode` of that time.
    pub(super) fn check_statement(&mut self, id: u32) -> Result<(), reply::Err> {
        let rules = &self.user.policies;
        let Some(statement) = self.statements.look(id).filter(|_| !rules.is_empty()) else {
            return Ok(());
        };
        if statement.passed.rules == rules.id() {
            return self.apply(statement.passed.verdict());
        }
        let (text, state) = (statement.text.clone(), statement.state.clone());
        let dialect = statement.dialect;
        let context = Context {
            schema: state.schema.as_deref(),
            dialect,
            ..self.context()
        };
        let verdict = policy::judge(rules, &text, true, context);
        let passed = self.follow(verdict, &text, dialect)?;
        if let Some(statement) = self.statements.get(id) {
            statement.passed = passed;
        }
        Ok(())
    }

    /// Whether the statement needs no look at its policies before this EXECUTE.
    #[inline]
    pub(super) fn has_passed(&self, passed: &Passed) -> bool {
        let rules = &self.user.policies;
        rules.is_empty() || passed.rules == rules.id() && passed.noted == 0
    }

    #[inline]
    fn follow(
        &mut self,
        verdict: Verdict,
        sql: &[u8],
        dialect: Dialect,
    ) -> Result<Passed, reply::Err> {
        if verdict.learns != 0 {
            self.learn(verdict.learns, sql, dialect);
        }
        self.apply(verdict)?;
        // what is learnt comes to the list for certain only if it is judged again
        Ok(Passed::of(&verdict, self.user.policies.id()).unwrap_or_default())
    }

    /// Reads a command to its end where its beginning does not show whether a policy denies it: up to one packet, 16 MiB.
    pub(super) async fn read_for_policies(
        &mut self,
        mut command: Command,
        text_at: usize,
    ) -> Result<Command, End> {
        let sql = command.body().get(text_at..).unwrap_or_default();
        let verdict = policy::judge(&self.user.policies, sql, false, self.context());
        if !verdict.unseen || command.continued {
            return Ok(command);
        }
        match self.inbox.read_rest(&self.client, &mut command).await {
            Ok(true) => Ok(command),
            Ok(false) | Err(_) => Err(End::ClientGone),
        }
    }

    /// The same for a command without a text.
    pub(super) fn check_command(&mut self, kind: u8, body: &[u8]) -> Result<(), reply::Err> {
        if self.user.policies.is_empty() {
            return Ok(());
        }
        let verb = match kind {
            command::CREATE_DB => Verb::Create,
            command::DROP_DB => Verb::Drop,
            command::REFRESH => Verb::Flush,
            command::INIT_DB => Verb::Use,
            command::PROCESS_KILL => Verb::Kill,
            command::SHUTDOWN => Verb::Shutdown,
            command::BINLOG_DUMP | command::BINLOG_DUMP_GTID => Verb::Binlog,
            command::FIELD_LIST | command::PROCESS_INFO | command::STATISTICS => Verb::Show,
            _ => return Ok(()),
        };
        let table = match kind {
            command::FIELD_LIST => body.split(|&b| b == 0).next(),
            _ => None,
        };
        let verdict = policy::judge_command(&self.user.policies, verb, table, self.context());
        self.apply(verdict)
    }

    fn context(&self) -> Context<'_> {
        Context {
            schema: self.state.schema.as_deref(),
            dialect: self.dialect,
            several: self.capabilities & MULTI_STATEMENTS != 0,
        }
    }

    #[inline]
    fn apply(&mut self, verdict: Verdict) -> Result<(), reply::Err> {
        if verdict.denied.is_none() && verdict.noted == 0 {
            return Ok(());
        }
        self.apply_met(verdict)
    }

    #[cold]
    fn apply_met(&mut self, verdict: Verdict) -> Result<(), reply::Err> {
        let stats = &self.shared.stats;
        stats
            .policies_noted
            .add(u64::from(verdict.noted.count_ones()));
        if let Some(at) = verdict.denied {
            self.watch_policy(at, true);
        } else {
            self.watch_policy(verdict.noted.trailing_zeros() as usize, false);
        }
        let stats = &self.shared.stats;
        let denied = verdict.denied.and_then(|at| self.user.policies.get(at));
        let Some(rule) = denied else { return Ok(()) };
        stats.policies_denied.add(1);
        Err(error::denied_by_policy(
            &rule.name,
            policy::reason(rule, verdict.unseen),
        ))
    }
}
