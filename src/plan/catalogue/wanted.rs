//! Which tables a statement asks a view for, as far as its conditions say so: what they leave out need not be brought.
use super::super::ast::{Comparison, Expr, ExprKind, Query, Source, Statement};
use super::super::bind::Bound;
use super::super::gather::filter_of;
use super::super::request::Value;

/// Names that rows may have; None: any.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub schemas: Option<Vec<String>>,
    tables: Option<Vec<String>>,
}

const SCHEMAS: [&str; 7] = [
    "table_schema",
    "constraint_schema",
    "index_schema",
    "trigger_schema",
    "event_object_schema",
    "schema_name",
    "f_table_schema",
];
const TABLES: [&str; 3] = ["table_name", "event_object_table", "f_table_name"];

impl Wanted {
    pub fn everything() -> Wanted {
        Wanted::default()
    }

    pub fn has_schema(&self, name: &str) -> bool {
        holds(&self.schemas, name)
    }

    pub fn has_table(&self, name: &str) -> bool {
        holds(&self.tables, name)
    }
}

fn holds(names: &Option<Vec<String>>, name: &str) -> bool {
    names
        .as_ref()
        .is_none_or(|list| list.iter().any(|of| of.eq_ignore_ascii_case(name)))
}

impl Bound<'_> {
    /// By the WHERE of the view's own block: `column = 'name'`, `column IN ('name', …)`.
    pub(super) fn wanted_of(&self, at: usize) -> Wanted {
        let mut wanted = Wanted::everything();
        let block = self.table(at).map(|table| table.block);
        let query = self.outermost();
        let filter = block
            .zip(query)
            .and_then(|(block, query)| filter_of(query, block));
        for condition in filter.map(Expr::conjuncts).unwrap_or_default() {
            let (column, values) = match &condition.kind {
                ExprKind::Compare(Comparison::Equal, left, right) => {
                    match self.name_column(left, at) {
                        Some(column) => (Some(column), std::slice::from_ref(&**right)),
                        None => (self.name_column(right, at), std::slice::from_ref(&**left)),
                    }
                }
                ExprKind::In {
                    value,
                    list,
                    negated: false,
                } => (self.name_column(value, at), list.as_slice()),
                _ => continue,
            };
            let names: Option<Vec<String>> = values.iter().map(|e| self.plain_name(e)).collect();
            let (Some(of_schema), Some(names)) = (column, names) else {
                continue;
            };
            let place = if of_schema {
                &mut wanted.schemas
            } else {
                &mut wanted.tables
            };
            place.get_or_insert(names);
        }
        wanted
    }

    fn outermost(&self) -> Option<&Query> {
        match &self.parsed.statement {
            Statement::Select(query) => Some(query),
            Statement::Insert(insert) => match &insert.source {
                Source::Query(query) => Some(query),
                Source::Rows(_) | Source::Set(_) => None,
            },
            Statement::Update(_) | Statement::Delete(_) => None,
        }
    }

    /// Whether the expression is this view's column of schemas, or of tables; none: neither.
    fn name_column(&self, expr: &Expr, at: usize) -> Option<bool> {
        let ExprKind::Column(column) = &expr.kind else {
            return None;
        };
        let table = self.table(at)?;
        let is_this = match &column.table {
            Some(label) => table.label().eq_ignore_ascii_case(label),
            None => {
                let derived = self.parsed.derived_blocks.contains(&table.block);
                !derived && self.mentions(table.block).count() == 1
            }
        };
        let is = |names: &[&str]| names.iter().any(|n| column.name.eq_ignore_ascii_case(n));
        match is_this {
            true if is(&SCHEMAS) => Some(true),
            true if is(&TABLES) => Some(false),
            _ => None,
        }
    }

    /// A name that compares alike in every collation but for its letters' case.
    fn plain_name(&self, expr: &Expr) -> Option<String> {
        let text = match &expr.kind {
            ExprKind::Text => self.literals.unescape(expr.span)?,
            ExprKind::Parameter(at) => match self.request.parameters?.get(usize::from(*at))? {
                Value::Bytes(text) => text.clone(),
                _ => return None,
            },
            ExprKind::Call(call)
                if call.args.is_empty()
                    && !call.qualified
                    && matches!(call.name.as_str(), "database" | "schema") =>
            {
                self.request.schema?.as_bytes().to_vec()
            }
            _ => return None,
        };
        let text = String::from_utf8(text)
            .ok()
            .filter(|text| text.is_ascii())?;
        Some(text.trim_end().to_owned())
    }
}
