//! Which prepared statements are planned at each EXECUTE.
use super::Session;
use crate::plan::Planned;
use crate::relay::Command;
use crate::session::prepare::statement_id;
use crate::sniff::Verb;

impl Session {
    /// Statements that COM_STMT_EXECUTE cannot pass on as if there were no other group.
    pub(in crate::session) fn executes_sharded(&mut self, command: &Command) -> bool {
        if !self.shards() {
            return false;
        }
        let id = statement_id(command).map_or(0, |id| self.statements.resolve(id));
        let epoch = self.group.epoch();
        match self.statements.look(id) {
            Some(statement) if !statement.sharded && statement.ruled != epoch => {
                self.ask_rules_again(id);
            }
            Some(_) => {}
            None => return false,
        }
        let seats = self.sharded.is_some();
        let statement = self.statements.look(id);
        statement.is_some_and(|s| s.sharded || seats || s.sniffed.verb == Verb::Begin)
    }

    /// Rules may have come since the statement was prepared.
    fn ask_rules_again(&mut self, id: u32) {
        let epoch = self.group.epoch();
        if let Some(statement) = self.statements.get(id) {
            statement.ruled = epoch;
        }
        let Some(statement) = self.statements.look(id) else {
            return;
        };
        let (text, state) = (&statement.text, &statement.state);
        let schema = state.schema.as_deref();
        let schema = schema.and_then(|s| std::str::from_utf8(s).ok());
        if !self.shared.concerns(text, schema, self.dialect) {
            return;
        }
        let snapshot = self.shared.snapshot();
        let planned = self.plan_with(&snapshot, text, None, state);
        let home =
            matches!(planned, Ok(Planned::Whole { group }) if self.is_home(group, &snapshot));
        if let Some(statement) = self.statements.get(id) {
            statement.sharded = !home;
        }
    }
}
