//! What only a server can answer: the rows that matter are brought to one, which runs the statement over them.
use super::ast::{Comparison, Expr, ExprKind, Query, Span, Statement, Term};
use super::bind::{Bound, Place, Stop};
use super::columns::{Column, Columns};
use super::edit::{quoted, NewName};
use super::locate::{derived, Located};
use super::request::Planned;
use super::types::{Gather, GatheredTable, Part, Plan};
use crate::sniff::lexer::{Kind, Lexer};
use crate::topology::shards::Shard;
use std::collections::HashSet;
use std::rc::Rc;

impl Bound<'_> {
    pub fn gather(&self, query: &Query, located: &Located) -> Result<Plan, Stop> {
        if self.facts().locks {
            return Err(self
                .refuse("a locking read over several shards whose rows only one server can put together", "give the key's value")
                .into());
        }
        self.check_spread()?;
        let group = self.gathering_group(located)?;
        let names = self.names_used();
        let mut tables = Vec::new();
        let mut new_names = vec![None; self.places.len()];
        for (at, new_name) in new_names.iter_mut().enumerate() {
            if self.stays(at, group) {
                continue;
            }
            let table = self.gathered(at, tables.len(), &names, query, located)?;
            *new_name = Some(table.name.clone());
            tables.push(table);
        }
        let names: Vec<NewName<'_>> = new_names
            .iter()
            .enumerate()
            .map(|(at, name)| match name {
                Some(name) => NewName::Temporary(name),
                None => self.copy_on(at, group),
            })
            .collect();
        let Part {
            sql, parameters, ..
        } = self.part((group, 0), &names, Vec::new());
        Ok(Plan::Gather(Gather {
            group,
            tables,
            sql,
            parameters,
        }))
    }

    /// Where the rows go: to the group that has the whole tables, else to one that has a shard.
    fn gathering_group(&self, located: &Located) -> Result<usize, Stop> {
        let whole: Vec<usize> = self
            .places
            .iter()
            .filter_map(|place| match place {
                Place::Group(group) => Some(*group),
                _ => None,
            })
            .collect();
        if let Some(first) = whole.first() {
            return Ok(*first);
        }
        let shards: Vec<&Shard> = self
            .sharded()
            .flat_map(|at| {
                let list = self.copies(at).unwrap_or_default();
                let wanted = located.shards.get(at).cloned().flatten();
                let is_wanted = move |n: usize| wanted.as_ref().is_none_or(|w| w.contains(&n));
                list.iter()
                    .enumerate()
                    .filter(move |(n, _)| is_wanted(*n))
                    .map(|(_, shard)| shard)
            })
            .collect();
        let held = self
            .request
            .held
            .filter(|held| shards.iter().any(|s| s.group == *held));
        let chosen = held.or_else(|| {
            shards
                .get(self.request.seed as usize % shards.len().max(1))
                .map(|s| s.group)
        });
        let any = || (0..self.places.len()).find_map(|at| Some(self.copies(at)?.first()?.group));
        Ok(chosen.or_else(any).unwrap_or(self.request.home))
    }

    /// Whether all rows of the table are on the group already.
    fn stays(&self, at: usize, group: usize) -> bool {
        match self.places[at] {
            Place::Group(of) => of == group,
            Place::Broadcast(_) => self
                .copies(at)
                .is_some_and(|c| c.iter().any(|copy| copy.group == group)),
            Place::Sharded(_) => false,
        }
    }

    fn gathered(
        &self,
        at: usize,
        number: usize,
        names: &HashSet<String>,
        query: &Query,
        located: &Located,
    ) -> Result<GatheredTable, Stop> {
        let Some(table) = self.table(at) else {
            return Err(self.refuse("a table without name", "name it").into());
        };
        let schema = table
            .schema
            .as_deref()
            .or(self.request.schema)
            .unwrap_or_default();
        let columns = self.columns_or_ask(at, schema, &table.name)?;
        let wanted = wanted(&columns, names, self.reads_all());
        let name = format!("{}.`umpire_gathered_{number}`", quoted(schema));
        let filter = self.pushed(at, table.block, query);
        let shards = self.sources(at, schema, &table.name, located);
        let parts = shards
            .iter()
            .map(|(place, shard)| self.copying(*place, shard, &wanted, &filter))
            .collect();
        Ok(GatheredTable {
            create: create(&name, &wanted),
            name,
            parts,
        })
    }

    fn columns_or_ask(&self, at: usize, schema: &str, table: &str) -> Result<Rc<Columns>, Stop> {
        if let Some(known) = self.columns.get(at).cloned().flatten() {
            return Ok(known);
        }
        let group = match self.places[at] {
            Place::Group(group) => group,
            _ => self.request.home,
        };
        (self.request.columns)(schema, table).ok_or_else(|| {
            Stop::Answer(Box::new(Planned::Needs {
                schema: schema.to_owned(),
                table: table.to_owned(),
                group,
                question: Columns::question(schema, table),
            }))
        })
    }

    /// Where the rows come from.
    fn sources(
        &self,
        at: usize,
        schema: &str,
        table: &str,
        located: &Located,
    ) -> Vec<(usize, Shard)> {
        match self.places[at] {
            Place::Group(group) => {
                vec![(
                    0,
                    Shard {
                        group,
                        schema: schema.to_owned(),
                        table: table.to_owned(),
                    },
                )]
            }
            Place::Broadcast(_) => self
                .copies(at)
                .unwrap_or_default()
                .iter()
                .take(1)
                .map(|s| (0, s.clone()))
                .collect(),
            Place::Sharded(_) => {
                let wanted = located.shards.get(at).cloned().flatten();
                let shards = self.copies(at).unwrap_or_default().iter().enumerate();
                shards
                    .filter(|(n, _)| wanted.as_ref().is_none_or(|w| w.contains(n)))
                    .map(|(n, shard)| (n, shard.clone()))
                    .collect()
            }
        }
    }

    fn copying(
        &self,
        place: usize,
        shard: &Shard,
        wanted: &[&Column],
        filter: &[(String, Span)],
    ) -> Part {
        let list: Vec<String> = wanted.iter().map(|c| selected(c)).collect();
        let from = format!(
            "SELECT {} FROM {}.{}",
            list.join(", "),
            quoted(&shard.schema),
            quoted(&shard.table)
        );
        let (mut sql, mut parameters) = (from.into_bytes(), Vec::new());
        for (n, (column, rest)) in filter.iter().enumerate() {
            sql.extend_from_slice(if n == 0 { b" WHERE " } else { b" AND " });
            sql.extend_from_slice(column.as_bytes());
            let (text, of_text) = self.render(*rest, Vec::new(), &[]);
            sql.extend(text);
            parameters.extend(of_text);
        }
        Part {
            group: shard.group,
            shard: place,
            sql,
            parameters,
        }
    }

    /// Conditions of the table's own block that its rows must fulfil alone: `column operator literal`. The statement
    /// tests them again, so leaving rows out early changes nothing. As a quoted column and the text behind it.
    fn pushed(&self, at: usize, block: usize, query: &Query) -> Vec<(String, Span)> {
        let Some(filter) = filter_of(query, block) else {
            return Vec::new();
        };
        let conditions = filter.conjuncts().iter();
        conditions
            .filter_map(|expr| {
                let column = match &expr.kind {
                    ExprKind::Compare(comparison, left, right)
                        if *comparison != Comparison::NullSafe && is_literal(right) =>
                    {
                        left
                    }
                    ExprKind::In { value, list, .. } if list.iter().all(is_literal) => value,
                    ExprKind::Between {
                        value, low, high, ..
                    } if is_literal(low) && is_literal(high) => value,
                    _ => return None,
                };
                let ExprKind::Column(name) = &column.kind else {
                    return None;
                };
                // a parenthesis around the whole would be left open
                let bare = expr.span.0 == column.span.0;
                (bare && self.owner(name, block) == Some(at))
                    .then(|| (quoted(&name.name), (column.span.1, expr.span.1)))
            })
            .collect()
    }

    /// Every name in the statement, in lower case: more columns than needed do no harm.
    pub fn names_used(&self) -> HashSet<String> {
        let mut lexer = Lexer::new(self.request.sql, self.request.dialect);
        let mut names = HashSet::new();
        loop {
            let token = lexer.next();
            match token.kind {
                Kind::End => return names,
                Kind::Word | Kind::Quoted => {
                    let name = String::from_utf8_lossy(lexer.bytes(&token)).to_lowercase();
                    names.insert(name.replace("``", "`"));
                }
                _ => {}
            }
        }
    }

    /// `*` as a list of columns, and NATURAL joins, whose columns nobody names.
    pub fn reads_all(&self) -> bool {
        const BEFORE: [&[u8]; 12] = [
            b"select",
            b"all",
            b"distinct",
            b"distinctrow",
            b"high_priority",
            b"straight_join",
            b"sql_small_result",
            b"sql_big_result",
            b"sql_buffer_result",
            b"sql_no_cache",
            b"sql_cache",
            b"sql_calc_found_rows",
        ];
        let mut lexer = Lexer::new(self.request.sql, self.request.dialect);
        let mut opens = false;
        loop {
            let token = lexer.next();
            let word = lexer.bytes(&token);
            match token.kind {
                Kind::End => return false,
                Kind::Mark(b'*') if opens => return true,
                Kind::Word if word.eq_ignore_ascii_case(b"natural") => return true,
                _ => {}
            }
            // a product stands behind a value, COUNT(*) behind a parenthesis
            opens = match token.kind {
                Kind::Mark(mark) => matches!(mark, b',' | b'.'),
                Kind::Word => BEFORE
                    .iter()
                    .any(|before| word.eq_ignore_ascii_case(before)),
                _ => false,
            };
        }
    }
}

/// The columns to bring: those named, all of `*`, at least one.
fn wanted<'c>(columns: &'c Columns, names: &HashSet<String>, all: bool) -> Vec<&'c Column> {
    let is_named = |c: &&Column| names.contains(&c.name.to_lowercase());
    let list: Vec<&Column> = columns
        .list
        .iter()
        .filter(|c| (all && !c.invisible) || is_named(c))
        .collect();
    match (list.is_empty(), columns.list.first()) {
        (true, Some(first)) => vec![first],
        _ => list,
    }
}

pub(super) fn create(name: &str, columns: &[&Column]) -> Vec<u8> {
    let column = |c: &&Column| {
        // a first TIMESTAMP NOT NULL gets defaults of its own that strict modes refuse
        let is_timestamp = c.definition.to_ascii_lowercase().starts_with("timestamp");
        let null = if c.nullable || is_timestamp {
            "NULL"
        } else {
            "NOT NULL"
        };
        format!("{} {} {null}", quoted(&c.name), c.definition)
    };
    let list: Vec<String> = columns.iter().map(column).collect();
    format!("CREATE TEMPORARY TABLE {name} ({})", list.join(", ")).into_bytes()
}

/// A FLOAT's text is rounded to six digits; as a double it comes whole.
fn selected(column: &Column) -> String {
    let name = quoted(&column.name);
    if column.definition.to_ascii_lowercase().starts_with("float") {
        format!("{name} + 0e0")
    } else {
        name
    }
}

fn is_literal(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number | ExprKind::Text | ExprKind::Parameter(_) => true,
        ExprKind::Negative(inner) => matches!(inner.kind, ExprKind::Number),
        _ => false,
    }
}

/// The WHERE of a block that is not in an expression: of the outermost query, a derived table, a CTE.
pub(super) fn filter_of(query: &Query, block: usize) -> Option<&Expr> {
    let of_cte = query.ctes.iter().find_map(|cte| filter_of(cte, block));
    of_cte.or_else(|| {
        query.parts.iter().find_map(|part| match part {
            Term::Select(select) if select.block == block => select.filter.as_ref(),
            Term::Select(select) => {
                let derived = select.from.iter().flat_map(derived);
                derived
                    .into_iter()
                    .find_map(|query| filter_of(query, block))
            }
            Term::Query(inner) => filter_of(inner, block),
        })
    })
}

impl Bound<'_> {
    pub fn query(&self) -> Option<&Query> {
        match &self.parsed.statement {
            Statement::Select(query) => Some(query),
            _ => None,
        }
    }
}
