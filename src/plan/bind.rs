//! Names → what they stand for: tables to their rules, columns to their tables, keys to their kinds.
use super::ast::{Call, ColumnRef, Expr, ExprKind, Parsed, TableUse};
use super::columns::{Columns, Kind};
use super::literal::{unfit, Literal, Reader};
use super::request::{Planned, Request};
use super::seen::Seen;
use super::types::Refusal;
use crate::topology::shards::{self, Shard, Sharding, Table};
use std::rc::Rc;

/// Where the rows of a mentioned table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Group(usize),
    /// Place in the shard map.
    Broadcast(usize),
    Sharded(usize),
}

/// A parsed statement with its names resolved. Lives for one planning.
pub(super) struct Bound<'a> {
    pub request: &'a Request<'a>,
    pub parsed: &'a Parsed,
    /// For each mention the one that has the rows: another only for DELETE's targets.
    pub named: Vec<usize>,
    /// As `parsed.tables`.
    pub places: Vec<Place>,
    pub columns: Vec<Option<Rc<Columns>>>,
    pub literals: Reader<'a>,
    pub seen: Seen,
}

/// Why planning stops early.
pub(super) enum Stop {
    Refused(Refusal),
    Answer(Box<Planned>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

/// Where the rows of this table are.
pub(super) fn place(
    request: &Request<'_>,
    schema: Option<&str>,
    name: &str,
) -> Result<Place, Refusal> {
    let Some(schema) = schema.or(request.schema) else {
        return Ok(Place::Group(request.home));
    };
    match request.map.find(schema, name) {
        Some((at, exact)) => {
            let Some(table) = request.map.table(at) else {
                return Ok(Place::Group(request.home));
            };
            if !exact {
                return Err(Refusal::new(format!(
                    "the rule for {} differs from {schema}.{name} in the letters' case, which is another table on some \
                     servers; write the name as in the configuration",
                    table.shown()
                )));
            }
            Ok(match &table.kind {
                shards::Kind::Placed(group) => Place::Group(*group),
                shards::Kind::Broadcast(_) => Place::Broadcast(at),
                shards::Kind::Sharded(_) => Place::Sharded(at),
            })
        }
        None => Ok(Place::Group(
            request.map.database(schema).unwrap_or(request.home),
        )),
    }
}

impl<'a> Bound<'a> {
    /// Resolves the tables.
    ///
    /// # Errors
    /// A name that is one table or two, depending on the server.
    pub fn new(request: &'a Request<'a>, parsed: &'a Parsed) -> Result<Bound<'a>, Refusal> {
        let (mut places, mut names) = (Vec::with_capacity(parsed.tables.len()), Vec::new());
        for (at, table) in parsed.tables.iter().enumerate() {
            // DELETE's targets come before the tables they name
            let of_target = parsed.tables.iter().position(|t| {
                table.is_target && !t.is_target && t.label().eq_ignore_ascii_case(&table.name)
            });
            let named = of_target
                .and_then(|at| parsed.tables.get(at))
                .unwrap_or(table);
            places.push(place(request, named.schema.as_deref(), &named.name)?);
            names.push(of_target.unwrap_or(at));
        }
        Ok(Bound {
            request,
            parsed,
            named: names,
            columns: vec![None; places.len()],
            places,
            literals: Reader::of(request),
            seen: Seen::default(),
        })
    }

    /// Whether nothing but whole tables is mentioned.
    pub fn is_whole(&self) -> bool {
        self.places
            .iter()
            .all(|place| matches!(place, Place::Group(_)))
    }

    /// Looks up the columns of tables with a rule.
    ///
    /// # Errors
    /// [`Planned::Needs`] if one is not known yet; a key that does not fit its method.
    pub fn learn(&mut self) -> Result<(), Stop> {
        for at in 0..self.places.len() {
            let (Some(table), Some(shards)) = (self.rule(at), self.copies(at)) else {
                continue;
            };
            let Some(columns) = (self.request.columns)(&table.schema, &table.name) else {
                let Some(shard) = shards.first() else {
                    continue;
                };
                return Err(Stop::Answer(Box::new(Planned::Needs {
                    schema: table.schema.clone(),
                    table: table.name.clone(),
                    group: shard.group,
                    question: Columns::question(&shard.schema, &shard.table),
                })));
            };
            if let Some(sharding) = self.sharding(at) {
                check_key(table, sharding, &columns)?;
            }
            if let Some(place) = self.columns.get_mut(at) {
                *place = Some(columns);
            }
        }
        Ok(())
    }

    pub fn table(&self, at: usize) -> Option<&'a TableUse> {
        self.parsed.tables.get(at)
    }

    /// The rule of a mentioned table, if it is not a whole table.
    pub fn rule(&self, at: usize) -> Option<&'a Table> {
        match self.places.get(at)? {
            Place::Group(_) => None,
            Place::Broadcast(rule) | Place::Sharded(rule) => self.request.map.table(*rule),
        }
    }

    /// Where in the shard map that rule is.
    pub fn rule_place(&self, at: usize) -> Option<usize> {
        match self.places.get(at)? {
            Place::Group(_) => None,
            Place::Broadcast(rule) | Place::Sharded(rule) => Some(*rule),
        }
    }

    pub fn sharding(&self, at: usize) -> Option<&'a Sharding> {
        match &self.rule(at)?.kind {
            shards::Kind::Sharded(sharding) => Some(sharding),
            _ => None,
        }
    }

    /// The shards of a sharded table, the copies of a broadcast one.
    pub fn copies(&self, at: usize) -> Option<&'a [Shard]> {
        match &self.rule(at)?.kind {
            shards::Kind::Sharded(sharding) => Some(&sharding.shards),
            shards::Kind::Broadcast(copies) => Some(copies),
            shards::Kind::Placed(_) => None,
        }
    }

    /// The mentions of sharded tables that have rows (no targets of DELETE).
    pub fn sharded(&self) -> impl Iterator<Item = usize> + '_ {
        let mentions = self.places.iter().enumerate();
        mentions
            .filter(|(at, place)| {
                matches!(place, Place::Sharded(_)) && self.table(*at).is_some_and(|t| !t.is_target)
            })
            .map(|(at, _)| at)
    }

    /// The mention whose column this is; none: not certain.
    pub fn owner(&self, column: &ColumnRef, block: usize) -> Option<usize> {
        let mut block = Some(block);
        while let Some(at) = block {
            let mut mentions = self.mentions(at).peekable();
            let has_any = mentions.peek().is_some();
            let found = match &column.table {
                Some(label) => self.labelled(at, column.schema.as_deref(), label),
                None => {
                    let certain = self.mentions(at).all(|m| self.columns_of(m).is_some());
                    if has_any && !certain {
                        return None;
                    }
                    let mut owners = self.mentions(at).filter(|m| {
                        self.columns_of(*m)
                            .is_some_and(|c| c.position(&column.name).is_some())
                    });
                    let first = owners.next();
                    let is_using = |(of, name): &(usize, String)| {
                        *of == at && name.eq_ignore_ascii_case(&column.name)
                    };
                    if owners.next().is_some() && !self.parsed.using.iter().any(is_using) {
                        return None;
                    }
                    first
                }
            };
            // it may be a derived table's
            let hidden = column.table.is_none() && self.parsed.derived_blocks.contains(&at);
            if found.is_some() || hidden {
                return found;
            }
            block = self.parsed.blocks.get(at).copied().flatten();
        }
        None
    }

    /// The tables in a block's FROM.
    pub fn mentions(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let tables = self.parsed.tables.iter().enumerate();
        tables
            .filter(move |(_, t)| t.block == block && !t.is_target)
            .map(|(at, _)| at)
    }

    /// The mention that a qualifier means, seen from a block.
    pub fn qualified(&self, schema: Option<&str>, label: &str, block: usize) -> Option<usize> {
        let mut block = Some(block);
        while let Some(at) = block {
            if let Some(found) = self.labelled(at, schema, label) {
                return Some(found);
            }
            block = self.parsed.blocks.get(at).copied().flatten();
        }
        None
    }

    fn labelled(&self, block: usize, schema: Option<&str>, label: &str) -> Option<usize> {
        self.mentions(block).find(|at| {
            self.table(*at).is_some_and(|t| {
                let same_schema = schema.is_none_or(|schema| {
                    t.alias.is_none() && t.schema.as_deref().or(self.request.schema) == Some(schema)
                });
                same_schema && t.label().eq_ignore_ascii_case(label)
            })
        })
    }

    pub fn columns_of(&self, at: usize) -> Option<&Columns> {
        self.columns.get(at)?.as_deref()
    }

    /// The mention whose key this expression is.
    pub fn key_owner(&self, expr: &Expr, block: usize) -> Option<usize> {
        let ExprKind::Column(column) = &expr.kind else {
            return None;
        };
        let owner = self.owner(column, block)?;
        let sharding = self.sharding(owner)?;
        sharding
            .key
            .eq_ignore_ascii_case(&column.name)
            .then_some(owner)
    }

    /// Remembers that `expr` was read as a key of mention `table`.
    pub fn note(&self, expr: &Expr, table: usize, found: &Literal, stored: bool) {
        let shard = match found {
            Literal::Key(key) => self.sharding(table).and_then(|s| s.locate(key)),
            _ => None,
        };
        self.seen.note(expr, table, found, stored, shard);
    }

    /// The kind of a mention's key column.
    pub fn key_kind(&self, at: usize) -> Option<&Kind> {
        let key = &self.sharding(at)?.key;
        Some(&self.columns_of(at)?.get(key)?.kind)
    }

    /// For messages: the first table with a rule.
    pub fn subject(&self) -> String {
        let rule = (0..self.places.len()).find_map(|at| self.rule(at));
        rule.map_or_else(|| "these tables are on several groups".into(), shown)
    }
}

/// The shards of a table with a rule, or its copies; none of a whole table.
pub(super) fn copies_of(table: &Table) -> &[Shard] {
    match &table.kind {
        shards::Kind::Sharded(sharding) => &sharding.shards,
        shards::Kind::Broadcast(copies) => copies,
        shards::Kind::Placed(_) => &[],
    }
}

/// For messages: what a table with a rule is.
pub(super) fn shown(table: &Table) -> String {
    let what = match &table.kind {
        shards::Kind::Placed(_) => "is on a group of its own",
        shards::Kind::Broadcast(_) => "is a broadcast table",
        shards::Kind::Sharded(_) => "is sharded",
    };
    format!("{} {what}", table.shown())
}

fn check_key(table: &Table, sharding: &Sharding, columns: &Columns) -> Result<(), Refusal> {
    let shown = table.shown();
    let Some(column) = columns.get(&sharding.key) else {
        return Err(Refusal::new(format!(
            "{shown} has no column {:?}, which its rule names as key; correct the rule",
            sharding.key
        )));
    };
    match unfit(&column.kind, &sharding.method) {
        Some(why) => Err(Refusal::new(format!(
            "{shown} cannot be sharded by {} ({}): {why}",
            sharding.key, column.definition
        ))),
        None => Ok(()),
    }
}

/// COUNT, SUM and their kin without OVER.
pub(super) fn is_aggregate(call: &Call) -> bool {
    const NAMES: [&str; 20] = [
        "any_value",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "count",
        "group_concat",
        "grouping",
        "json_arrayagg",
        "json_objectagg",
        "max",
        "min",
        "st_collect",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "sum",
        "var_pop",
        "var_samp",
    ];
    !call.over && (NAMES.binary_search(&call.name.as_str()).is_ok() || call.name == "variance")
}
