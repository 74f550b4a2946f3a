//! What becomes of the rules that came with CREATE TABLE when their tables are dropped or renamed.
use super::dispatch::refused;
use super::reply::Told;
use super::Session;
use crate::config::{self, Conflict};
use crate::coordination::{Ask, Rule, RuleChange};
use crate::plan::{Definition, Refusal, RuleEffect};
use crate::session::shared::Topology;
use crate::topology::shards::Shard;
use crate::wire::error;

impl Session {
    pub(super) async fn rule_changes(
        &mut self,
        definition: &Definition,
    ) -> Result<Vec<RuleChange>, Told> {
        let mut changes = Vec::new();
        for effect in &definition.rules {
            changes.push(match effect {
                RuleEffect::Drops(table) => RuleChange::Drops(table.clone()),
                RuleEffect::Renames {
                    from,
                    schema,
                    table,
                    shards,
                } => self.renamed(from, [schema, table], shards).await?,
            });
        }
        Ok(changes)
    }

    async fn renamed(
        &mut self,
        from: &str,
        [schema, table]: [&str; 2],
        shards: &[[String; 2]],
    ) -> Result<RuleChange, Told> {
        let kept = self.shared.ask_store(Ask::Rules).await;
        let kept = kept.map_err(|why| error::own(&why))?;
        let changed = || error::own("the table's rule has changed: try again");
        let old = kept
            .iter()
            .find(|rule| rule.is_of(from))
            .ok_or_else(changed)?;
        let text = config::renamed_section(&old.text, schema, table, shards).ok_or_else(changed)?;
        let snapshot = self.shared.snapshot();
        let groups: Vec<&str> = snapshot.groups.iter().map(|g| g.name.as_str()).collect();
        let new = config::rule_of_section(&text, &groups);
        let refuse = |why: &str| {
            refused(Refusal::new(format!(
                "RENAME of {from} to {schema}.{table}; nothing was changed: {why}"
            )))
        };
        let new = new.map_err(|why| refuse(&why))?;
        let shown = |table: &config::Table| format!("{}.{}", table.schema, table.name);
        let rules = snapshot.shards.rules().iter();
        let (own, others): (Vec<_>, Vec<_>) =
            rules.cloned().partition(|table| shown(table) == from);
        if let Some(Conflict::Wrong(why)) = config::conflict(&others, &new) {
            return Err(refuse(&why).into());
        }
        let before: Vec<Shard> = own
            .iter()
            .flat_map(|table| places(&snapshot, table))
            .collect();
        let mut after = places(&snapshot, &new);
        after.retain(|shard| !before.contains(shard));
        after.extend(self.whole_table(&snapshot, schema, table));
        self.check_absent(&snapshot, &after).await?;
        let table = format!("{schema}.{table}");
        Ok(RuleChange::Renames {
            from: from.to_owned(),
            to: Rule { table, text },
        })
    }

    /// Where a table would be if it had no rule.
    pub(super) fn whole_table(
        &self,
        snapshot: &Topology,
        schema: &str,
        table: &str,
    ) -> Option<Shard> {
        let own = snapshot
            .groups
            .iter()
            .position(|g| g.name == self.user.config.group);
        let group = snapshot.shards.database(schema).or(own)?;
        Some(Shard {
            group,
            schema: schema.to_owned(),
            table: table.to_owned(),
        })
    }
}

/// The tables of a rule's shards.
pub(super) fn places(snapshot: &Topology, table: &config::Table) -> Vec<Shard> {
    let shards = match &table.rule {
        config::Rule::Placed(_) => &[][..],
        config::Rule::Broadcast(shards) | config::Rule::Sharded { shards, .. } => shards,
    };
    let place = |shard: &config::Shard| {
        let group = snapshot.groups.iter().position(|g| g.name == shard.group)?;
        Some(Shard {
            group,
            schema: shard.schema.clone(),
            table: shard.table.clone(),
        })
    };
    shards.iter().filter_map(place).collect()
}
