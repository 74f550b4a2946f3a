//! CREATE TABLE with its rule in a comment: the rule is checked, kept by the store and known to every worker before the
//! first shard has the table.
use super::dispatch::refused;
use super::explain::ask_directly;
use super::rename::places;
use super::reply::Told;
use super::Session;
use crate::config::{self, Conflict};
use crate::coordination::Rule;
use crate::plan::{self, Definition, Plan, Planned, Refusal, Request};
use crate::relay::Command;
use crate::session::shared::Topology;
use crate::session::End;
use crate::sniff::{self, Sniffed, Verb};
use crate::topology::shards::Shard;
use crate::topology::ShardMap;
use crate::wire::row::walk_text;
use crate::wire::{error, reply};
use std::borrow::Cow;

/// A rule that a comment brings.
struct Brought {
    table: config::Table,
    /// As it is kept.
    section: String,
}

impl Session {
    /// Whether a statement is a CREATE with a comment that says where a table's rows are, or prepares one.
    #[inline]
    pub(in crate::session) fn brings_rule(&self, sniffed: &Sniffed, sql: &[u8]) -> bool {
        match sniffed.verb {
            Verb::Create => !sniff::rule_comments(sql, self.dialect).is_empty(),
            Verb::Prepare | Verb::Execute => sniff::prepares_rule(sql, self.dialect),
            _ => false,
        }
    }

    /// What is prepared is planned when it is executed, under rules that are there.
    pub(in crate::session) fn refuse_to_prepare_rule(&mut self) {
        let what = "a CREATE TABLE with a rule in a comment cannot be prepared: send it as text";
        self.tell(&error::own(what));
    }

    pub(in crate::session) async fn create_with_rule(
        &mut self,
        command: &Command,
        text_at: usize,
        sniffed: &Sniffed,
    ) -> Result<(), End> {
        if sniffed.verb != Verb::Create {
            self.refuse_to_prepare_rule();
            return Ok(());
        }
        if !command.is_whole() {
            let what = "a CREATE TABLE with a rule in a comment has 256 KiB at most";
            return Err(self.tell_and_end(&error::own(what)));
        }
        let sql = command.body().get(text_at..).unwrap_or_default();
        let outcome = self.created_with_rule(sql, sniffed).await;
        self.go_home();
        self.tell_outcome(outcome)
    }

    pub(super) async fn created_with_rule(
        &mut self,
        sql: &[u8],
        sniffed: &Sniffed,
    ) -> Result<(), Told> {
        if self.shared.store().is_none() {
            let what = "a rule in a comment is kept by the store: this needs a section [coordination] in the configuration";
            return Err(error::own(what).into());
        }
        self.release_seats(sniffed.effects).await?;
        let snapshot = self.shared.snapshot();
        let brought = self.brought(&snapshot, sql)?;
        let wrong = config::conflict(snapshot.shards.rules(), &brought.table);
        let known = match wrong {
            Some(Conflict::Wrong(why)) => return Err(wrong_rule(&why).into()),
            Some(Conflict::Same) => true,
            None => false,
        };
        let map = match known {
            true => Cow::Borrowed(&*snapshot.shards),
            false => {
                let group = |name: &str| snapshot.groups.iter().position(|g| g.name == name);
                Cow::Owned(snapshot.shards.with(&brought.table, &group))
            }
        };
        let definition = self.definition_under(&snapshot, &map, sql)?;
        if known {
            return self.define(&definition, sql, sniffed).await;
        }
        let table = &brought.table;
        let mut places = places(&snapshot, table);
        places.extend(self.whole_table(&snapshot, &table.schema, &table.name));
        self.check_absent(&snapshot, &places).await?;
        let rule = Rule {
            table: format!("{}.{}", brought.table.schema, brought.table.name),
            text: brought.section,
        };
        self.define_with(&definition, sql, sniffed, Some(rule))
            .await
    }

    /// The rule in the comment of a CREATE TABLE.
    fn brought(&self, snapshot: &Topology, sql: &[u8]) -> Result<Brought, reply::Err> {
        let comments = sniff::rule_comments(sql, self.dialect);
        let [comment] = comments.as_slice() else {
            return Err(wrong_rule("there are several, and a table has one rule"));
        };
        let comment = std::str::from_utf8(comment);
        let comment = comment.map_err(|_| wrong_rule("it is not UTF-8 text"))?;
        let created = self.ask_planner(snapshot, sql, None, &self.state, plan::created_table);
        let Some((schema, name)) = created.map_err(refused)? else {
            return Err(wrong_rule("it belongs to a CREATE TABLE"));
        };
        let default = self.state.schema.as_deref();
        let default = default.map(|schema| String::from_utf8_lossy(schema).into_owned());
        let schema = schema.or(default).ok_or_else(no_database)?;
        let section = config::section_of_comment(comment, &schema, &name);
        let section = section.map_err(|why| wrong_rule(&why))?;
        let groups: Vec<&str> = snapshot.groups.iter().map(|g| g.name.as_str()).collect();
        let table = config::rule_of_section(&section, &groups);
        let table = table.map_err(|why| wrong_rule(&why))?;
        Ok(Brought { table, section })
    }

    fn definition_under(
        &self,
        snapshot: &Topology,
        map: &ShardMap,
        sql: &[u8],
    ) -> Result<Definition, reply::Err> {
        let planned: Result<Planned, Refusal> =
            self.ask_planner(snapshot, sql, None, &self.state, |request| {
                plan::plan(&Request { map, ..*request })
            });
        match planned.map_err(refused)? {
            Planned::Plan(Plan::Definition(definition)) => Ok(definition),
            _ => Err(wrong_rule(
                "the statement is not understood as a CREATE TABLE",
            )),
        }
    }

    /// None of these tables is there already: rows in it would have no place in the rule.
    pub(super) async fn check_absent(
        &mut self,
        snapshot: &Topology,
        tables: &[Shard],
    ) -> Result<(), Told> {
        let mut places: Vec<&Shard> = tables.iter().collect();
        places.sort_by_key(|shard| shard.group);
        for of_group in places.chunk_by(|a, b| a.group == b.group) {
            let group = of_group.first().map_or(0, |shard| shard.group);
            let sql = question(of_group);
            let asked = ask_directly(&self.shared, snapshot, &self.account, group, &sql).await;
            let answer = asked.map_err(|why| {
                error::own(&format!(
                    "nothing was changed: whether the table is there already is not known: {why}"
                ))
            })?;
            if let Some(name) = answer.rows.first().and_then(|row| first_text(row)) {
                let group = snapshot.groups.get(group).map_or("", |g| g.name.as_str());
                let what = format!("nothing was changed: {name} exists on group '{group}' already");
                return Err(exists(&what).into());
            }
        }
        Ok(())
    }
}

/// Asks for one of these tables. Names of rules are plain, so that they need no escapes.
fn question(shards: &[&Shard]) -> String {
    let pair = |shard: &&Shard| format!("('{}', '{}')", shard.schema, shard.table);
    let pairs: Vec<String> = shards.iter().map(pair).collect();
    format!(
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES WHERE (TABLE_SCHEMA, TABLE_NAME) IN \
         ({}) LIMIT 1",
        pairs.join(", ")
    )
}

fn first_text(row: &[u8]) -> Option<String> {
    let mut spans = Vec::new();
    walk_text(row, 1, &mut spans).ok()?;
    let text = spans.first()?.of(row)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// ER_TABLE_EXISTS_ERROR.
fn exists(what: &str) -> reply::Err {
    reply::Err {
        code: 1050,
        state: *b"42S01",
        ..error::own(what)
    }
}

/// ER_NO_DB_ERROR.
fn no_database() -> reply::Err {
    reply::Err {
        code: 1046,
        state: *b"3D000",
        message: b"No database selected".to_vec(),
    }
}

fn wrong_rule(why: &str) -> reply::Err {
    reply::Err {
        code: 1064,
        state: *b"42000",
        ..error::own(&format!(
            "nothing was created: the rule in the comment: {why}"
        ))
    }
}
