//! information_schema: a table with a rule is in it once, under its own name, wherever its rows are. The views that name
//! tables are replaced, in the statement's text, by derived tables in which shards have their table's name, are summed up or
//! left out; what one server does not have is brought to it first. Whatever the statement does with them is that server's
//! own affair.
mod derived;
mod listed;
mod names;
mod views;
mod wanted;

pub(super) use listed::plan as listed;

use super::ast::Statement;
use super::bind::{Bound, Place, Stop};
use super::columns::Columns;
use super::ddl::Tokens;
use super::edit::{quoted, Edit, NewName};
use super::gather::create;
use super::request::{Planned, Request};
use super::types::{Gather, GatheredTable, Part, Plan, Refusal};
use derived::Derived;
use names::Names;
use std::rc::Rc;
use views::View;
use wanted::Wanted;

pub(super) const SCHEMA: &str = "information_schema";

/// Schemas in which nobody makes a temporary table.
const SYSTEM: [&str; 4] = [SCHEMA, "performance_schema", "mysql", "sys"];

/// A view's mention, and which tables the statement wants of it.
struct Mention {
    at: usize,
    view: &'static View,
    wanted: Wanted,
}

/// A statement that is not read as a whole, but names one of the views.
///
/// # Errors
/// Its answer would have the shards in it.
pub(super) fn check_unread(request: &Request<'_>, verb: &str) -> Result<(), Refusal> {
    let Some(view) = named(request) else {
        return Ok(());
    };
    let everything = Wanted::everything();
    if Names::of(request, request.home, view, &everything, true).is_empty() {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "{SCHEMA}.{} in such a {verb} is not supported, it would show shards for tables: SELECT from it alone, and use what it \
         says",
        view.name
    )))
}

/// The first view in the text that names tables.
fn named(request: &Request<'_>) -> Option<&'static View> {
    let tokens = Tokens::read(request);
    let default = request.schema.is_some_and(is_schema);
    (0..tokens.list.len()).find_map(|at| {
        let first = tokens.identifier(at)?;
        let qualified = is_schema(&first.text) && tokens.mark(at + 1, b'.');
        let before = at.checked_sub(1);
        let from = before.is_some_and(|at| tokens.is(at, "from") || tokens.is(at, "join"));
        match qualified {
            true => View::find(&tokens.identifier(at + 2)?.text),
            false if default && from => View::find(&first.text),
            false => None,
        }
    })
}

fn is_schema(name: &str) -> bool {
    name.eq_ignore_ascii_case(SCHEMA)
}

impl Bound<'_> {
    /// The plan of a statement over views in which tables with a rule are not what they are; none: there are no such.
    pub fn catalogue(&self) -> Result<Option<Box<Planned>>, Stop> {
        let mentions: Vec<Mention> = (0..self.places.len())
            .filter_map(|at| self.view_at(at))
            .collect();
        if mentions.is_empty() {
            return Ok(None);
        }
        let figures = |mention: &Mention| self.wants_figures(mention.view);
        let Some(base) = self.base(&mentions) else {
            let changed = |m: &Mention| {
                let names = Names::of(
                    self.request,
                    self.request.home,
                    m.view,
                    &m.wanted,
                    figures(m),
                );
                !names.is_empty()
            };
            if !mentions.iter().any(changed) {
                return Ok(None);
            }
            let what =
                "information_schema together with sharded tables, or with tables of several groups";
            return Err(self.refuse(what, "ask it on its own").into());
        };
        let mut rewritten = Rewritten::default();
        for mention in &mentions {
            let summed = figures(mention);
            let names = Names::of(self.request, base, mention.view, &mention.wanted, summed);
            if !names.is_empty() {
                self.rewrite(mention, &names, base, summed, &mut rewritten)?;
            }
        }
        self.rewritten(base, rewritten)
            .map(|planned| Some(Box::new(planned)))
    }

    fn view_at(&self, at: usize) -> Option<Mention> {
        let table = self.table(at).filter(|t| !t.is_target)?;
        if !is_schema(table.schema.as_deref().or(self.request.schema)?) {
            return None;
        }
        let view = View::find(&table.name)?;
        Some(Mention {
            at,
            view,
            wanted: self.wanted_of(at),
        })
    }

    /// The group whose server answers; none: tables stand beside the views that it cannot have all.
    fn base(&self, mentions: &[Mention]) -> Option<usize> {
        let is_view = |at: &usize| mentions.iter().any(|m| m.at == *at);
        let mut others =
            (0..self.places.len()).filter(|at| !is_view(at) && !self.is_plain_view(*at));
        if let Some(first) = others.next() {
            let Place::Group(group) = self.places[first] else {
                return None;
            };
            let same = |at: usize| self.places[at] == Place::Group(group);
            return others.all(same).then_some(group);
        }
        // all that is asked for may be in databases of one group
        let placed = |schema: &String| self.request.map.database(schema);
        let mut groups = mentions.iter().flat_map(|m| match &m.wanted.schemas {
            Some(schemas) if !schemas.is_empty() => schemas.iter().map(placed).collect(),
            _ => vec![None],
        });
        let first = groups.next().flatten();
        let of_databases = first.filter(|_| groups.all(|group| group == first));
        Some(of_databases.unwrap_or(self.request.home))
    }

    /// A view that names no tables: every server has it.
    fn is_plain_view(&self, at: usize) -> bool {
        let table = self.table(at);
        let schema = table.and_then(|t| t.schema.as_deref().or(self.request.schema));
        schema.is_some_and(is_schema)
    }

    /// Whether sums over shards are asked for.
    fn wants_figures(&self, view: &View) -> bool {
        if view.figures.is_empty() {
            return false;
        }
        let names = self.names_used();
        let named = |(column, _): &(&str, views::Figure)| names.contains(&column.to_lowercase());
        self.reads_all() || view.figures.iter().any(named)
    }

    fn rewrite(
        &self,
        mention: &Mention,
        names: &Names<'_>,
        base: usize,
        summed: bool,
        rewritten: &mut Rewritten,
    ) -> Result<(), Stop> {
        let Some(table) = self.table(mention.at) else {
            return Ok(());
        };
        let columns = self.columns_of_view(mention.view, base)?;
        let derived = Derived {
            view: mention.view,
            columns: &columns,
            names,
        };
        let mut brought = None;
        if !names.elsewhere.is_empty() && !self.prepares() {
            let number = rewritten.tables.len();
            let name = format!(
                "{}.`umpire_gathered_{number}`",
                quoted(self.temporary_schema())
            );
            let all: Vec<_> = columns.list.iter().collect();
            rewritten.tables.push(GatheredTable {
                create: create(&name, &all),
                parts: derived.parts(),
                name: name.clone(),
            });
            brought = Some(name);
        }
        let text = derived.text(brought.as_deref(), summed);
        rewritten.edits.push(Edit::replace(table.span, text));
        if table.alias.is_some() {
            return Ok(());
        }
        let label = quoted(&table.name);
        let alias = format!(" AS {label}");
        rewritten
            .edits
            .push(Edit::replace((table.alias_at, table.alias_at), alias));
        // views are found in any case, aliases may not be
        for qualifier in &self.parsed.qualifiers {
            let schema = qualifier.schema.as_deref();
            let is_this = qualifier.table.eq_ignore_ascii_case(&table.name)
                && schema.is_none_or(is_schema)
                && self.qualified(None, &qualifier.table, qualifier.block) == Some(mention.at);
            if is_this {
                rewritten
                    .edits
                    .push(Edit::replace(qualifier.span, label.clone()));
            }
        }
        Ok(())
    }

    fn columns_of_view(&self, view: &View, base: usize) -> Result<Rc<Columns>, Stop> {
        (self.request.columns)(SCHEMA, view.name).ok_or_else(|| {
            Stop::Answer(Box::new(Planned::Needs {
                schema: SCHEMA.into(),
                table: view.name.into(),
                group: base,
                question: Columns::question(SCHEMA, view.name),
            }))
        })
    }

    /// Where the session may make temporary tables: every group has all databases.
    fn temporary_schema(&self) -> &str {
        let is_system = |name: &str| SYSTEM.iter().any(|of| name.eq_ignore_ascii_case(of));
        let default = self.request.schema.filter(|schema| !is_system(schema));
        let of_rule = || self.request.map.tables().first().map(|t| t.schema.as_str());
        let of_database = || self.request.map.databases().map(|(name, _)| name).next();
        default
            .or_else(of_rule)
            .or_else(of_database)
            .unwrap_or_default()
    }

    fn rewritten(&self, base: usize, rewritten: Rewritten) -> Result<Planned, Stop> {
        if rewritten.edits.is_empty() {
            return Ok(Planned::Whole { group: base });
        }
        let same = vec![NewName::Same; self.places.len()];
        let part = self.part((base, 0), &same, rewritten.edits);
        if rewritten.tables.is_empty() {
            return Ok(Planned::Plan(Plan::Single(part)));
        }
        let facts = self.facts();
        let is_select = matches!(self.parsed.statement, Statement::Select(_));
        if !is_select || facts.into || facts.locks || facts.counts_found_rows {
            let what = "information_schema of several groups in a statement that is more than a plain SELECT";
            return Err(self
                .refuse(what, "SELECT from it alone, and use what it says")
                .into());
        }
        let Part {
            sql, parameters, ..
        } = part;
        Ok(Planned::Plan(Plan::Gather(Gather {
            group: base,
            tables: rewritten.tables,
            sql,
            parameters,
        })))
    }
}

/// What becomes of the statement.
#[derive(Default)]
struct Rewritten {
    edits: Vec<Edit>,
    tables: Vec<GatheredTable>,
}
