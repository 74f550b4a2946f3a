//! Where data lives: databases and tables placed on groups, tables split over shards. Part of the snapshot.
mod key;
#[cfg(test)]
mod tests;

pub use key::{fnv1a_fmix64, jump, Key};

use crate::config::{self, ListValue, Rule, Span};
pub use crate::config::{Ids, Method, Origin, Period};
use std::collections::HashMap;

/// What it tells of tables depends on every rule.
const CATALOGUE: &str = "information_schema";

/// Per process; immutable; groups are indices in [`super::Snapshot::groups`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShardMap {
    tables: Vec<Table>,
    /// What `tables` was made from, in the same order.
    rules: Vec<config::Table>,
    /// Database → group.
    databases: HashMap<String, usize, ahash::RandomState>,
    /// Schema and name, in lower case → place in `tables`.
    by_name: HashMap<(String, String), usize, ahash::RandomState>,
    filter: Filter,
    /// Table of a shard → its group and schema and the place in `tables`, where the names differ.
    renamed: HashMap<String, Vec<(usize, String, usize)>, ahash::RandomState>,
}

/// One table with a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub kind: Kind,
    /// Who counts its AUTO_INCREMENT.
    pub ids: Ids,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// The whole table on one group.
    Placed(usize),
    /// The same rows on each of these; one a group.
    Broadcast(Vec<Shard>),
    Sharded(Sharding),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sharding {
    /// Column whose value decides the shard.
    pub key: String,
    pub method: Method,
    pub shards: Vec<Shard>,
}

/// A table of a group that holds a part of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    pub group: usize,
    pub schema: String,
    pub table: String,
}

impl ShardMap {
    /// The map of a validated configuration, whose groups have the order of the snapshot's.
    pub fn build(config: &config::Config) -> ShardMap {
        let group = |name: &str| config.groups.iter().position(|g| g.name == name);
        let mut map = ShardMap::default();
        for database in &config.databases {
            if let Some(group) = group(&database.group) {
                map.filter.add(&database.name);
                map.filter.add(CATALOGUE);
                map.databases.insert(database.name.clone(), group);
            }
        }
        config
            .tables
            .iter()
            .for_each(|table| map.add(table, &group));
        map
    }

    /// This map with one more rule. `group`: the place of a group's name in the snapshot.
    pub fn with(&self, table: &config::Table, group: &impl Fn(&str) -> Option<usize>) -> ShardMap {
        let mut map = self.clone();
        map.add(table, group);
        map
    }

    fn add(&mut self, table: &config::Table, group: &impl Fn(&str) -> Option<usize>) {
        let Some(kind) = kind(&table.rule, group) else {
            return;
        };
        self.rules.push(table.clone());
        self.filter.add(&table.name);
        self.filter.add(CATALOGUE);
        for copy in kind.copies() {
            if (&copy.schema, &copy.table) != (&table.schema, &table.name) {
                let place = (copy.group, copy.schema.clone(), self.tables.len());
                self.renamed
                    .entry(copy.table.clone())
                    .or_default()
                    .push(place);
            }
        }
        let folded = (table.schema.to_lowercase(), table.name.to_lowercase());
        self.by_name.insert(folded, self.tables.len());
        self.tables.push(Table {
            schema: table.schema.clone(),
            name: table.name.clone(),
            kind,
            ids: table.ids,
            origin: table.origin,
        });
    }

    /// No rule at all: nothing below the sniffer is ever asked.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.databases.is_empty()
    }

    /// Whether a name in a statement may be that of a database or table with a rule. Cheap: most names are told
    /// apart by their length and first letter.
    pub fn may_concern(&self, name: &[u8]) -> bool {
        self.filter.may_hold(name)
    }

    /// The group on which a whole database is placed.
    pub fn database(&self, name: &str) -> Option<usize> {
        self.databases.get(name).copied()
    }

    /// The placed databases with their groups.
    pub fn databases(&self) -> impl Iterator<Item = (&str, usize)> {
        self.databases
            .iter()
            .map(|(name, group)| (name.as_str(), *group))
    }

    /// The rule of a table, and whether the name is written as configured; names that differ only in case are one
    /// table on some servers and two on others.
    pub fn find(&self, schema: &str, name: &str) -> Option<(usize, bool)> {
        let folded = (schema.to_lowercase(), name.to_lowercase());
        let at = *self.by_name.get(&folded)?;
        let table = self.tables.get(at)?;
        Some((at, table.schema == schema && table.name == name))
    }

    pub fn table(&self, at: usize) -> Option<&Table> {
        self.tables.get(at)
    }

    /// The table of which a group has a shard or copy under this name, if its own is another one.
    pub fn renamed(&self, group: usize, schema: &[u8], table: &[u8]) -> Option<&Table> {
        let places = self.renamed.get(std::str::from_utf8(table).ok()?)?;
        let here =
            |place: &&(usize, String, usize)| place.0 == group && place.1.as_bytes() == schema;
        self.tables.get(places.iter().find(here)?.2)
    }

    /// As configured or kept, in the order of [`ShardMap::tables`].
    pub fn rules(&self) -> &[config::Table] {
        &self.rules
    }

    /// How a sharded table is split; none: there is no such table, or it is not.
    pub fn sharding(&self, at: usize) -> Option<&Sharding> {
        match &self.tables.get(at)?.kind {
            Kind::Sharded(sharding) => Some(sharding),
            Kind::Placed(_) | Kind::Broadcast(_) => None,
        }
    }

    /// In the order of the configuration.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }
}

impl Kind {
    /// Its shards or copies.
    pub fn copies(&self) -> &[Shard] {
        match self {
            Kind::Placed(_) => &[],
            Kind::Broadcast(copies) => copies,
            Kind::Sharded(sharding) => &sharding.shards,
        }
    }
}

impl Table {
    /// For messages: `shop.orders`.
    pub fn shown(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

impl Sharding {
    /// The shard of a key's value; none: no shard takes it.
    pub fn locate(&self, key: &Key) -> Option<usize> {
        let count = self.shards.len();
        match &self.method {
            Method::Hash => usize::try_from(key.hash() % count as u64).ok(),
            Method::Jump => Some(jump(key.hash(), count)),
            Method::Mod => {
                let number = key.number()?;
                // divisions of 128 bits are slow, and hardly any key needs them
                match (i64::try_from(number), i64::try_from(count)) {
                    (Ok(number), Ok(count)) => usize::try_from(number.rem_euclid(count)).ok(),
                    _ => usize::try_from(number.rem_euclid(count as i128)).ok(),
                }
            }
            Method::Range(spans) => {
                let number = key.number()?;
                spans.iter().position(|span| span.contains(number))
            }
            Method::List { values, default } => {
                let listed = key.listed();
                let found = values
                    .iter()
                    .position(|of| listed.as_ref().is_some_and(|v| of.contains(v)));
                found.or(*default)
            }
            Method::Date { period, spans } => {
                let number = key.period(*period)?;
                spans
                    .iter()
                    .position(|span| span.contains(i128::from(number)))
            }
        }
    }

    /// The shards that can hold a key between two values, both included; none: any.
    pub fn between(&self, low: Option<&Key>, high: Option<&Key>) -> Option<Vec<usize>> {
        match &self.method {
            Method::Range(spans) => overlapping(spans, low, high, Key::number),
            Method::Date { period, spans } => {
                let number = |key: &Key| key.period(*period).map(i128::from);
                overlapping(spans, low, high, number)
            }
            Method::Hash | Method::Jump | Method::Mod | Method::List { .. } => {
                let (low, high) = (low?.number()?, high?.number()?);
                // more values than this reach most shards anyway
                if high.checked_sub(low)? > 64 {
                    return None;
                }
                let mut shards: Vec<usize> = (low..=high)
                    .filter_map(|n| self.locate(&Key::Int(n)))
                    .collect();
                shards.sort_unstable();
                shards.dedup();
                Some(shards)
            }
        }
    }

    /// Whether equal keys of both tables are always in the same group, at the same place of both lists.
    pub fn is_bound_to(&self, other: &Sharding) -> bool {
        self.method == other.method
            && self.shards.len() == other.shards.len()
            && self
                .shards
                .iter()
                .zip(&other.shards)
                .all(|(a, b)| a.group == b.group)
    }
}

fn overlapping(
    spans: &[Span],
    low: Option<&Key>,
    high: Option<&Key>,
    number: impl Fn(&Key) -> Option<i128>,
) -> Option<Vec<usize>> {
    let bound = |key: Option<&Key>| match key {
        Some(key) => number(key).map(Some),
        None => Some(None),
    };
    let (low, high) = (bound(low)?, bound(high)?);
    let reaches = |span: &Span| {
        let above = low.is_none_or(|low| span.below.is_none_or(|below| low < i128::from(below)));
        let under = high.is_none_or(|high| span.from.is_none_or(|from| i128::from(from) <= high));
        above && under
    };
    let shards = spans.iter().enumerate();
    Some(
        shards
            .filter(|(_, span)| reaches(span))
            .map(|(at, _)| at)
            .collect(),
    )
}

fn kind(rule: &Rule, group: &impl Fn(&str) -> Option<usize>) -> Option<Kind> {
    let shards = |of: &[config::Shard]| -> Option<Vec<Shard>> {
        let shard = |s: &config::Shard| {
            let (schema, table) = (s.schema.clone(), s.table.clone());
            Some(Shard {
                group: group(&s.group)?,
                schema,
                table,
            })
        };
        of.iter().map(shard).collect()
    };
    Some(match rule {
        Rule::Placed(name) => Kind::Placed(group(name)?),
        Rule::Broadcast(of) => Kind::Broadcast(shards(of)?),
        Rule::Sharded {
            key,
            method,
            shards: of,
        } => Kind::Sharded(Sharding {
            key: key.clone(),
            method: method.clone(),
            shards: shards(of)?,
        }),
    })
}

/// Tells most names apart by length and first letter, without hashing.
#[derive(Debug, Clone, Default, PartialEq)]
struct Filter {
    /// A bit for each length, for each first letter (lower case).
    lengths: u64,
    letters: u64,
    names: std::collections::HashSet<Box<[u8]>, ahash::RandomState>,
}

impl Filter {
    fn add(&mut self, name: &str) {
        let name = name.to_ascii_lowercase();
        self.lengths |= bit(name.len());
        self.letters |= bit(name.as_bytes().first().copied().unwrap_or(0).into());
        self.names.insert(name.into_bytes().into());
    }

    fn may_hold(&self, name: &[u8]) -> bool {
        let Some(first) = name.first() else {
            return false;
        };
        if self.lengths & bit(name.len()) == 0
            || self.letters & bit(first.to_ascii_lowercase().into()) == 0
        {
            return false;
        }
        let mut folded = [0; 64];
        let Some(folded) = folded.get_mut(..name.len()) else {
            return false;
        };
        folded.copy_from_slice(name);
        folded.make_ascii_lowercase();
        self.names.contains(&*folded)
    }
}

fn bit(number: usize) -> u64 {
    1 << (number % 64)
}

impl Key {
    fn period(&self, period: Period) -> Option<i64> {
        match self {
            Key::Date { year, month, day } => Some(period.number(*year, *month, *day)),
            Key::Int(_) | Key::Text(_) => None,
        }
    }

    fn listed(&self) -> Option<ListValue> {
        match self {
            Key::Int(n) => i64::try_from(*n).ok().map(ListValue::Number),
            Key::Text(text) => Some(ListValue::of_text(text)),
            Key::Date { .. } => None,
        }
    }
}
