//! The text of the table that takes a view's place.
use super::super::columns::{Column, Columns};
use super::super::edit::quoted;
use super::super::types::Part;
use super::names::{Here, Names};
use super::views::{Figure, View, CONSTRAINT, MADE};
use super::SCHEMA;

pub(super) struct Derived<'a> {
    pub view: &'a View,
    pub columns: &'a Columns,
    pub names: &'a Names<'a>,
}

impl Derived<'_> {
    /// `brought`: the table with what other groups have.
    pub fn text(&self, brought: Option<&str>, summed: bool) -> String {
        let mut rows = self.own_rows();
        if let Some(brought) = brought {
            let list: Vec<String> = self.columns.list.iter().map(|c| quoted(&c.name)).collect();
            rows += &format!(" UNION ALL SELECT {} FROM {brought}", list.join(", "));
        }
        match summed && self.names.adds {
            true => format!("({})", self.summed(&rows)),
            false => format!("({rows})"),
        }
    }

    /// What each other group is asked for.
    pub fn parts(&self) -> Vec<Part> {
        let part = |(group, there): (&usize, &super::names::Elsewhere<'_>)| {
            let staying = there.tables.iter().filter(|table| table.stays);
            let mut wanted: Vec<String> = staying.filter_map(|table| self.is(table)).collect();
            if !there.schemas.is_empty() {
                let shards = there.tables.iter().filter_map(|table| self.is(table));
                let of_schemas = self.is_in(&there.schemas);
                wanted.push(without(of_schemas, shards.collect()));
            }
            let condition = match wanted.is_empty() {
                true => "0 = 1".into(),
                false => wanted.join(" OR "),
            };
            Part {
                group: *group,
                shard: 0,
                sql: self
                    .select(&there.tables, &there.tables, &condition)
                    .into_bytes(),
                parameters: Vec::new(),
            }
        };
        self.names.elsewhere.iter().map(part).collect()
    }

    fn own_rows(&self) -> String {
        let names = self.names;
        let gone = names.here.iter().filter(|here| !here.stays);
        let mut hidden: Vec<String> = gone.filter_map(|here| self.is(here)).collect();
        let left_over = names.left_over.iter();
        hidden.extend(left_over.filter_map(|[schema, table]| self.is_named(schema, table)));
        if !names.schemas.is_empty() {
            hidden.push(self.is_in(&names.schemas));
        }
        self.select(
            &names.here,
            &names.all_here,
            &without(String::new(), hidden),
        )
    }

    fn select(&self, own: &[Here<'_>], referred: &[Here<'_>], condition: &str) -> String {
        let column = |c: &Column| match self.renamed(&c.name, own, referred) {
            Some(value) => format!("{value} AS {}", quoted(&c.name)),
            None => quoted(&c.name),
        };
        let list: Vec<String> = self.columns.list.iter().map(column).collect();
        let filter = match condition {
            "" => String::new(),
            condition => format!(" WHERE {condition}"),
        };
        format!(
            "SELECT {} FROM {SCHEMA}.{}{filter}",
            list.join(", "),
            self.view.name
        )
    }

    /// One row for the shards' rows.
    fn summed(&self, rows: &str) -> String {
        let list: Vec<String> = self
            .columns
            .list
            .iter()
            .map(|c| self.together(&c.name))
            .collect();
        let [schema, table] = self.view.pairs[0];
        // two names may be equal in the collation of the view
        let mut keys = vec![
            format!("CAST({schema} AS BINARY)"),
            format!("CAST({table} AS BINARY)"),
        ];
        keys.extend(self.view.keys.iter().map(|key| (*key).to_owned()));
        format!(
            "SELECT {} FROM ({rows}) AS umpire_rows GROUP BY {}",
            list.join(", "),
            keys.join(", ")
        )
    }

    fn together(&self, column: &str) -> String {
        let name = quoted(column);
        let value = match self.view.figure(column) {
            None | Some(Figure::Greatest) => format!("MAX({name})"),
            Some(Figure::Least) => format!("MIN({name})"),
            Some(Figure::Sum) => format!("CAST(SUM({name}) AS UNSIGNED)"),
            Some(Figure::SignedSum) => format!("CAST(SUM({name}) AS SIGNED)"),
            Some(Figure::OfOne) => format!("CASE WHEN COUNT(*) = 1 THEN MAX({name}) END"),
            Some(Figure::Average) => format!(
                "CASE WHEN COUNT(*) > 1 AND SUM(TABLE_ROWS) > 0 THEN CAST(SUM(DATA_LENGTH) DIV SUM(TABLE_ROWS) AS UNSIGNED) \
                 ELSE MAX({name}) END"
            ),
        };
        format!("{value} AS {name}")
    }

    fn has(&self, column: &str) -> bool {
        self.columns.position(column).is_some()
    }

    /// The view's own columns of schema and table, where it has them.
    fn pair(&self) -> Option<[&'static str; 2]> {
        let pair = self.view.pairs[0];
        (self.has(pair[0]) && self.has(pair[1])).then_some(pair)
    }

    fn is(&self, here: &Here<'_>) -> Option<String> {
        self.is_named(here.schema, here.table)
    }

    /// A row about this table.
    fn is_named(&self, schema: &str, table: &str) -> Option<String> {
        if let Some([of_schema, of_table]) = self.pair() {
            let (schema, table) = (literal(schema), literal(table));
            return Some(format!("({of_schema} = {schema} AND {of_table} = {table})"));
        }
        let [of_schema, _] = self.view.pairs[0];
        if !self.has(of_schema) || !self.has(CONSTRAINT) {
            return None;
        }
        let made: Vec<String> = MADE
            .iter()
            .map(|made| begins(CONSTRAINT, &format!("{table}{made}")))
            .collect();
        Some(format!(
            "({of_schema} = {} AND ({}))",
            literal(schema),
            made.join(" OR ")
        ))
    }

    fn is_in(&self, schemas: &[&str]) -> String {
        let list: Vec<String> = schemas.iter().map(|schema| literal(schema)).collect();
        format!("{} IN ({})", self.view.pairs[0][0], list.join(", "))
    }

    /// What stands in the column in place of a shard's names; none: what the server has.
    fn renamed(&self, column: &str, own: &[Here<'_>], referred: &[Here<'_>]) -> Option<String> {
        let is = |name: &str| name.eq_ignore_ascii_case(column);
        if is(CONSTRAINT) {
            return self.renamed_constraint(column, own);
        }
        let mut pairs = self.view.pairs.iter().enumerate();
        let (number, [of_schema, of_table]) = pairs.find(|(_, pair)| pair.iter().any(|c| is(c)))?;
        if !self.has(of_schema) || !self.has(of_table) {
            return None;
        }
        let tables = if number == 0 { own } else { referred };
        let shown = tables.iter().filter(|here| number > 0 || here.stays);
        let cases: Vec<String> = shown
            .filter_map(|here| {
                let (was, is) = match is(of_table) {
                    true => (here.table, &here.of.name),
                    false => (here.schema, &here.of.schema),
                };
                let [schema, table] = [literal(here.schema), literal(here.table)];
                (was != is).then(|| {
                    format!(
                        " WHEN {of_schema} = {schema} AND {of_table} = {table} THEN {}",
                        literal(is)
                    )
                })
            })
            .collect();
        (!cases.is_empty()).then(|| format!("CASE{} ELSE {} END", cases.concat(), quoted(column)))
    }

    /// `orders_0_ibfk_1` → `orders_ibfk_1`
    fn renamed_constraint(&self, column: &str, tables: &[Here<'_>]) -> Option<String> {
        let renamed = |here: &&Here<'_>| here.stays && here.table != here.of.name;
        let renamed = tables.iter().filter(renamed);
        let cases: Vec<String> = renamed
            .flat_map(|here| {
                MADE.iter().map(|made| {
                    let was = format!("{}{made}", here.table);
                    format!(
                        " WHEN {} THEN CONCAT({}, SUBSTRING({column}, {}))",
                        begins(column, &was),
                        literal(&format!("{}{made}", here.of.name)),
                        was.chars().count() + 1
                    )
                })
            })
            .collect();
        (!cases.is_empty()).then(|| format!("CASE{} ELSE {} END", cases.concat(), quoted(column)))
    }
}

/// The condition, if any, and none of these.
fn without(condition: String, hidden: Vec<String>) -> String {
    match (condition.is_empty(), hidden.is_empty()) {
        (_, true) => condition,
        (true, false) => format!("NOT ({})", hidden.join(" OR ")),
        (false, false) => format!("({condition} AND NOT ({}))", hidden.join(" OR ")),
    }
}

fn begins(column: &str, with: &str) -> String {
    format!(
        "LEFT({column}, {}) = {}",
        with.chars().count(),
        literal(with)
    )
}

/// A name as a string that every sql_mode and character set reads the same.
pub(super) fn literal(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.bytes().all(plain) {
        return format!("'{name}'");
    }
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("_utf8mb4 x'{digits}'")
}
