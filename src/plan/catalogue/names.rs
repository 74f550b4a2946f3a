//! What tables with a rule are called on one group's servers, and what of them is elsewhere.
use super::super::request::Request;
use super::views::View;
use super::wanted::Wanted;
use crate::topology::shards::{Kind, Table};
use std::collections::BTreeMap;

/// A shard, a copy, or the whole of a table that is placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here<'m> {
    pub schema: &'m str,
    pub table: &'m str,
    pub of: &'m Table,
    /// Its row stays, as its table's or as a part of the sum.
    pub stays: bool,
}

impl Here<'_> {
    pub fn is_renamed(&self) -> bool {
        self.schema != self.of.schema || self.table != self.of.name
    }
}

/// What another group has.
#[derive(Debug, Default)]
pub(super) struct Elsewhere<'m> {
    /// All shards there, those that stay among them.
    pub tables: Vec<Here<'m>>,
    /// Databases that are placed there.
    pub schemas: Vec<&'m str>,
}

/// The tables with a rule, seen from one group.
pub(super) struct Names<'m> {
    pub here: Vec<Here<'m>>,
    /// Further tables of the group's servers, which other groups' tables stand for: schema, name.
    pub left_over: Vec<[&'m str; 2]>,
    /// Databases that are elsewhere.
    pub schemas: Vec<&'m str>,
    pub elsewhere: BTreeMap<usize, Elsewhere<'m>>,
    /// All shards of the group, by which references are renamed.
    pub all_here: Vec<Here<'m>>,
    /// Rows of one table have to be added up.
    pub adds: bool,
    /// The view names tables that another table refers to.
    refers: bool,
}

impl<'m> Names<'m> {
    /// `summed`: figures are asked for, so that every shard counts.
    pub fn of(
        request: &Request<'m>,
        base: usize,
        view: &View,
        wanted: &Wanted,
        summed: bool,
    ) -> Names<'m> {
        let mut names = Names {
            here: Vec::new(),
            left_over: Vec::new(),
            schemas: Vec::new(),
            elsewhere: BTreeMap::new(),
            all_here: Vec::new(),
            adds: false,
            refers: view.pairs.len() > 1,
        };
        for table in request.map.tables() {
            names.add(table, base, wanted, summed);
        }
        for (schema, group) in request.map.databases() {
            if group != base && wanted.has_schema(schema) {
                names.schemas.push(schema);
                names
                    .elsewhere
                    .entry(group)
                    .or_default()
                    .schemas
                    .push(schema);
            }
        }
        names.elsewhere.retain(|_, group| {
            !group.schemas.is_empty() || group.tables.iter().any(|table| table.stays)
        });
        names
    }

    fn add(&mut self, table: &'m Table, base: usize, wanted: &Wanted, summed: bool) {
        let is = |schema: &str, name: &str| wanted.has_schema(schema) && wanted.has_table(name);
        let is_wanted = is(&table.schema, &table.name);
        let copies = copies_of(table);
        let sums = summed && matches!(table.kind, Kind::Sharded(_));
        let stands = copies.iter().position(|(group, ..)| *group == base);
        let stands = stands.unwrap_or(0);
        for (number, (group, schema, name)) in copies.iter().enumerate() {
            let here = Here {
                schema,
                table: name,
                of: table,
                stays: is_wanted && (sums || number == stands),
            };
            if *group != base {
                self.elsewhere.entry(*group).or_default().tables.push(here);
                continue;
            }
            self.all_here.push(here);
            // asked for by its own name, it is not there
            if is_wanted || is(schema, name) {
                self.here.push(here);
            }
        }
        let own = |(group, schema, name): &(usize, &str, &str)| {
            *group == base && *schema == table.schema && *name == table.name
        };
        if is_wanted {
            self.adds |= sums && copies.len() > 1;
            if !copies.iter().any(own) {
                self.left_over.push([&table.schema, &table.name]);
            }
        }
    }

    /// The group's own view is already right.
    pub fn is_empty(&self) -> bool {
        let as_it_is = |here: &Here<'_>| here.stays && !here.is_renamed();
        let refers = self.refers && self.all_here.iter().any(Here::is_renamed);
        self.here.iter().all(as_it_is)
            && self.left_over.is_empty()
            && self.schemas.is_empty()
            && self.elsewhere.is_empty()
            && !self.adds
            && !refers
    }
}

/// Group, schema and table.
fn copies_of(table: &Table) -> Vec<(usize, &str, &str)> {
    match &table.kind {
        Kind::Placed(group) => vec![(*group, table.schema.as_str(), table.name.as_str())],
        Kind::Broadcast(_) | Kind::Sharded(_) => super::super::bind::copies_of(table)
            .iter()
            .map(|copy| (copy.group, copy.schema.as_str(), copy.table.as_str()))
            .collect(),
    }
}
