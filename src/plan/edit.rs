//! The client's text with a few spans replaced.
use super::ast::{ExprKind, Item, Span, Term};
use super::bind::Bound;
use super::types::Part;
use crate::topology::shards::Shard;

/// Characters of a column's name that a server takes.
const LONGEST_LABEL: usize = 255;

/// One piece of new text.
pub(super) enum Piece {
    Text(String),
    /// A copy of the client's own text, with tables named as everywhere in the part.
    Copy(Span),
    /// An id that Umpire gives; its number among those of the statement.
    Id {
        id: u64,
        number: usize,
    },
}

/// A span of the client's text that becomes something else; an empty span is a place to put something in.
pub(super) struct Edit {
    pub span: Span,
    pub with: Vec<Piece>,
}

impl Edit {
    pub fn replace(span: Span, text: impl Into<String>) -> Edit {
        Edit {
            span,
            with: vec![Piece::Text(text.into())],
        }
    }

    pub fn remove(span: Span) -> Edit {
        Edit {
            span,
            with: Vec::new(),
        }
    }
}

/// A text that grows, with the parameters in it.
#[derive(Default)]
struct Draft {
    sql: Vec<u8>,
    parameters: Vec<u16>,
}

/// How one part names a mentioned table.
#[derive(Clone, Copy)]
pub(super) enum NewName<'s> {
    Same,
    Shard(&'s Shard),
    /// A table of this name (quoted, with schema), known under the old label.
    Temporary(&'s str),
}

impl Bound<'_> {
    /// One part of a plan: the whole statement with `edits` applied and each mentioned table named as `names` says.
    pub fn part(&self, shard: (usize, usize), names: &[NewName<'_>], mut edits: Vec<Edit>) -> Part {
        // an alias comes before what is put in at the same place
        let mut all = self.renames(names);
        let labels = self.labels(all.iter().chain(&edits));
        all.extend(labels);
        all.append(&mut edits);
        let (sql, parameters) = self.render((0, self.request.sql.len()), all, names);
        let (group, shard) = shard;
        Part {
            group,
            shard,
            sql,
            parameters,
        }
    }

    /// The names of the result's columns that would be named after a text which changes.
    fn labels<'e>(&self, edits: impl Iterator<Item = &'e Edit>) -> Vec<Edit> {
        let query = self.query().and_then(|query| query.parts.first());
        let Some(Term::Select(select)) = query else {
            return Vec::new();
        };
        let spans: Vec<Span> = edits.map(|edit| edit.span).collect();
        let named = |item: &Item| {
            let expr = item.expr.as_ref().filter(|_| item.alias.is_none())?;
            let inside = |span: &Span| {
                expr.span.0 <= span.0 && span.1 <= expr.span.1 && span.0 < expr.span.1
            };
            if matches!(expr.kind, ExprKind::Column(_)) || !spans.iter().any(inside) {
                return None;
            }
            let text = self.request.sql.get(expr.span.0..expr.span.1)?;
            if text
                .iter()
                .any(|byte| matches!(byte, b'0'..=b'9' | b'\'' | b'"'))
            {
                // the name has the literals in it
                self.seen.vary();
            }
            let name: String = std::str::from_utf8(text)
                .ok()?
                .chars()
                .take(LONGEST_LABEL)
                .collect();
            let alias = format!(" AS {}", quoted(name.trim_end()));
            Some(Edit::replace((expr.span.1, expr.span.1), alias))
        };
        select.items.iter().filter_map(named).collect()
    }

    /// The span's text with the edits in it, which are applied in the order of their places.
    pub fn render(
        &self,
        span: Span,
        mut edits: Vec<Edit>,
        names: &[NewName<'_>],
    ) -> (Vec<u8>, Vec<u16>) {
        edits.sort_by_key(|edit| edit.span);
        let mut draft = Draft {
            sql: Vec::with_capacity(span.1 - span.0 + 64),
            ..Draft::default()
        };
        let mut at = span.0;
        for edit in edits
            .iter()
            .filter(|e| e.span.0 >= span.0 && e.span.1 <= span.1)
        {
            // a name inside a span that goes away
            if edit.span.0 < at {
                continue;
            }
            self.copy((at, edit.span.0), &mut draft);
            for piece in &edit.with {
                match piece {
                    Piece::Text(text) => draft.sql.extend_from_slice(text.as_bytes()),
                    Piece::Id { id, number } => self.put_id(*id, *number, &mut draft),
                    Piece::Copy(span) => {
                        let (sql, parameters) = self.render(*span, self.renames(names), names);
                        draft.sql.extend(sql);
                        draft.parameters.extend(parameters);
                    }
                }
            }
            at = edit.span.1;
        }
        self.copy((at, span.1), &mut draft);
        (draft.sql, draft.parameters)
    }

    /// An EXECUTE binds it behind the client's own values, so that its text is the same every time.
    fn put_id(&self, id: u64, number: usize, draft: &mut Draft) {
        let place = u16::try_from(self.parsed.parameters.len() + number);
        match (self.request.parameters, place) {
            (Some(_), Ok(place)) => {
                draft.sql.push(b'?');
                draft.parameters.push(place);
            }
            _ => draft.sql.extend_from_slice(id.to_string().as_bytes()),
        }
    }

    fn copy(&self, span: Span, draft: &mut Draft) {
        draft
            .sql
            .extend_from_slice(self.request.sql.get(span.0..span.1).unwrap_or_default());
        for (number, place) in self.parsed.parameters.iter().enumerate() {
            if span.0 <= place.0 && place.1 <= span.1 {
                draft.parameters.extend(u16::try_from(number));
            }
        }
    }

    /// Tables' new names, and the names before their columns.
    fn renames(&self, names: &[NewName<'_>]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let Some(table) = self.table(at) else {
                continue;
            };
            let new = match name {
                NewName::Same => continue,
                NewName::Shard(shard) => {
                    let schema = table.schema.as_deref().or(self.request.schema);
                    let same_schema = schema == Some(shard.schema.as_str());
                    if same_schema && shard.table == table.name {
                        continue;
                    }
                    match same_schema && table.schema.is_none() {
                        true => format!("`{}`", shard.table),
                        false => format!("`{}`.`{}`", shard.schema, shard.table),
                    }
                }
                NewName::Temporary(name) => (*name).to_owned(),
            };
            if table.is_target {
                // its table carries the old name as alias
                edits.push(Edit::replace(table.span, quoted(&table.name)));
                continue;
            }
            let takes_alias = table.alias.is_none() && self.takes_alias(at);
            if takes_alias {
                let alias = format!(" AS {}", quoted(&table.name));
                edits.push(Edit::replace((table.alias_at, table.alias_at), alias));
            }
            self.rename_qualifiers(at, takes_alias, &new, &mut edits);
            edits.push(Edit::replace(table.span, new));
        }
        edits
    }

    /// INSERT and DELETE of one table have no alias on every server.
    fn takes_alias(&self, at: usize) -> bool {
        use super::ast::Statement;
        match &self.parsed.statement {
            Statement::Insert(insert) => insert.table != at,
            Statement::Delete(delete) => {
                delete.joined || self.table(at).is_none_or(|t| t.block != delete.block)
            }
            Statement::Select(_) | Statement::Update(_) => true,
        }
    }

    fn rename_qualifiers(&self, at: usize, takes_alias: bool, new: &str, edits: &mut Vec<Edit>) {
        let Some(table) = self.table(at).filter(|t| t.alias.is_none()) else {
            return;
        };
        for qualifier in &self.parsed.qualifiers {
            let is_this = qualifier.table.eq_ignore_ascii_case(&table.name)
                && self.qualified(
                    qualifier.schema.as_deref(),
                    &qualifier.table,
                    qualifier.block,
                ) == Some(at);
            if !is_this {
                continue;
            }
            if !takes_alias {
                edits.push(Edit::replace(qualifier.span, new));
            } else if qualifier.schema.is_some() {
                edits.push(Edit::replace(qualifier.span, quoted(&table.name)));
            }
        }
    }
}

/// In backticks, which every sql_mode takes for a name.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
