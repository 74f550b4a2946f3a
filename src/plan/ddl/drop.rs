//! DROP TABLE: each table on each of its shards, one after the other.
use super::{full_name, Tokens};
use crate::plan::bind::{copies_of, Place};
use crate::plan::edit::quoted;
use crate::plan::request::Request;
use crate::plan::types::{Definition, Part, Refusal, RuleEffect, Step};

/// The plan of a DROP TABLE. None: it is something else.
///
/// # Errors
/// A form that is not understood.
pub(super) fn plan(request: &Request<'_>, tokens: &Tokens) -> Result<Option<Definition>, Refusal> {
    let tables = tokens.is(1, "table") || tokens.is(1, "tables");
    if !tokens.is(0, "drop") || !tables {
        return Ok(None);
    }
    let mut names = Vec::new();
    let mut at = tokens.skip(2, &["if", "exists"]);
    while let Some(name) = tokens.name(at) {
        at = name.next;
        names.push(name);
        if !tokens.mark(at, b',') {
            break;
        }
        at += 1;
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else {
        return Ok(None);
    };
    let rest = tokens.skip(at, &["restrict", "cascade"]);
    if !tokens.ends(rest) {
        return Err(Refusal::new(
            "DROP TABLE of a sharded table; not supported in this form: DROP TABLE [IF EXISTS] name [, name] is",
        ));
    }
    let text = |from: usize, to: usize| request.sql.get(from..to).unwrap_or_default();
    let (before, behind) = (text(0, first.start), text(last.end, request.sql.len()));
    let mut definition = Definition {
        table: first.name.clone(),
        rules: Vec::new(),
        parts: Vec::new(),
        drops: true,
    };
    for name in &names {
        let mut add = |group: usize, shard: usize, full: String, shown: String| {
            definition.parts.push(Step {
                table: shown,
                part: Part {
                    group,
                    shard,
                    sql: [before, full.as_bytes(), behind].concat(),
                    parameters: Vec::new(),
                },
            });
        };
        match name.place(request)? {
            Place::Group(group) => {
                let schema = name.schema.as_deref().or(request.schema);
                let schema = schema.map(|schema| format!("{}.", quoted(schema)));
                let full = format!("{}{}", schema.unwrap_or_default(), quoted(&name.name));
                add(group, 0, full, name.name.clone());
            }
            Place::Broadcast(at) | Place::Sharded(at) => {
                let Some(table) = request.map.table(at) else {
                    continue;
                };
                for (shard, copy) in copies_of(table).iter().enumerate() {
                    add(copy.group, shard, full_name(copy), table.shown());
                }
                definition.rules.push(RuleEffect::Drops(table.shown()));
            }
        }
    }
    Ok(Some(definition))
}
