//! Rules that came with CREATE TABLE and are kept by the store: each is the text of one `[[table]]` section.
use super::super::walk::{Findings, Section};
use super::super::Config;
use super::{read, Origin, Rule, Shard, Table};
use std::collections::HashMap;
use toml::de::DeTable;

/// The rule in a section's keys, see [`super::section_of_comment`]; `groups` are those that there are.
///
/// # Errors
/// Everything that is wrong with it, in words.
pub fn rule_of_section(section: &str, groups: &[&str]) -> Result<Table, String> {
    let text = format!("[[table]]\n{section}");
    let findings = Findings::new("", &text);
    let (document, syntax) = DeTable::parse_recoverable(&text);
    if let Some(error) = syntax.first() {
        return Err(format!("not valid TOML: {}", error.message()));
    }
    let mut top = Section::top(document.get_ref(), &findings);
    let (_, mut tables) = read(&mut top, groups, true, &findings);
    top.finish();
    let (problems, _, _) = findings.into_parts();
    let words = |key: &str, message: &str| {
        let key = key.strip_prefix("table[0].").unwrap_or(key);
        format!("{key}: {}", without_line(message))
    };
    let wrong: Vec<String> = problems.iter().map(|p| words(&p.key, &p.message)).collect();
    match tables.pop().filter(|_| wrong.is_empty()) {
        Some(table) => Ok(Table {
            origin: Origin::Comment,
            ..table
        }),
        None => Err(wrong.join("; ")),
    }
}

/// The keys of a rule with another name, and the tables of its shards (schema and table), in their order. None: it is no
/// rule with so many shards.
pub fn renamed_section(
    section: &str,
    schema: &str,
    name: &str,
    shards: &[[String; 2]],
) -> Option<String> {
    let mut keys: toml::Table = section.parse().ok()?;
    keys.insert("name".into(), format!("{schema}.{name}").into());
    let entries = keys.get_mut("shards")?.as_array_mut()?;
    if entries.len() != shards.len() {
        return None;
    }
    for (entry, [schema, table]) in entries.iter_mut().zip(shards) {
        entry
            .as_table_mut()?
            .insert("table".into(), format!("{schema}.{table}").into());
    }
    let mut lines = String::new();
    for (key, value) in &keys {
        lines += &format!("{key} = {value}\n");
    }
    Some(lines)
}

/// There is no file whose line could be looked at.
fn without_line(message: &str) -> &str {
    let cut = message.rsplit_once(" at line ");
    let cut = cut.filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
    cut.map_or(message, |(words, _)| words.trim_end_matches(','))
}

impl Config {
    /// This configuration with these rules of the store and no others. A rule that the configuration has, too, word for
    /// word the same in meaning, is the configuration's.
    ///
    /// # Errors
    /// One contradicts the configuration or names what is not there; in words.
    pub fn with_stored<'r>(
        mut self,
        sections: impl Iterator<Item = &'r str>,
    ) -> Result<Config, String> {
        self.tables
            .retain(|table| table.origin == Origin::Configuration);
        let groups: Vec<String> = self.groups.iter().map(|g| g.name.clone()).collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        for section in sections {
            let table = rule_of_section(section, &groups);
            let table = table.map_err(|why| {
                let name = section.lines().next().unwrap_or_default();
                format!("the rule that came with CREATE TABLE ({name}): {why}")
            })?;
            match conflict(&self.tables, &table) {
                None => self.tables.push(table),
                Some(Conflict::Same) => {}
                Some(Conflict::Wrong(why)) => return Err(why),
            }
        }
        Ok(self)
    }
}

/// Why a rule cannot stand beside others.
#[derive(Debug, PartialEq, Eq)]
pub enum Conflict {
    /// There is the very same rule.
    Same,
    Wrong(String),
}

/// What a new rule collides with; none: nothing.
pub fn conflict(tables: &[Table], new: &Table) -> Option<Conflict> {
    let folded = |table: &Table| (table.schema.to_lowercase(), table.name.to_lowercase());
    let origin = |table: &Table| match table.origin {
        Origin::Configuration => "in the configuration",
        Origin::Comment => "from a comment of its CREATE TABLE",
    };
    let shown = |table: &Table| format!("{}.{}", table.schema, table.name);
    if let Some(old) = tables.iter().find(|old| folded(old) == folded(new)) {
        if old.rule == new.rule
            && old.ids == new.ids
            && old.name == new.name
            && old.schema == new.schema
        {
            return Some(Conflict::Same);
        }
        let why = format!(
            "there is another rule for {} already, {}",
            shown(old),
            origin(old)
        );
        return Some(Conflict::Wrong(why));
    }
    let mut places: HashMap<(String, String, String), &Table> = HashMap::new();
    for table in tables {
        places.extend(places_of(table).map(|place| (place, table)));
    }
    let found = places_of(new).find_map(|place| Some((places.get(&place)?, place)));
    found.map(|(old, (group, schema, table))| {
        Conflict::Wrong(format!(
            "{schema}.{table} of group {group:?} holds a shard of {} already, by the rule {}",
            shown(old),
            origin(old)
        ))
    })
}

fn places_of(table: &Table) -> impl Iterator<Item = (String, String, String)> + '_ {
    let shards: &[Shard] = match &table.rule {
        Rule::Placed(_) => &[],
        Rule::Broadcast(shards) | Rule::Sharded { shards, .. } => shards,
    };
    shards.iter().map(|s| {
        (
            s.group.clone(),
            s.schema.to_lowercase(),
            s.table.to_lowercase(),
        )
    })
}
