//! RENAME TABLE and ALTER TABLE … RENAME: the rule gets the new name, and with it the shards' tables that have the old one
//! in theirs.
use super::{Name, Tokens};
use crate::plan::bind::{copies_of, place, Place};
use crate::plan::edit::quoted;
use crate::plan::request::Request;
use crate::plan::types::{Definition, Part, Refusal, RuleEffect, Step};
use crate::topology::shards::{Origin, Shard, Table};

/// One table and its new name.
struct Pair {
    from: Name,
    to: Name,
}

/// The plan of a statement that does nothing but rename, if one of the tables has a rule.
///
/// # Errors
/// A rule that cannot follow, or names that are given back and forth.
pub(super) fn plan(request: &Request<'_>, tokens: &Tokens) -> Result<Option<Definition>, Refusal> {
    let Some(pairs) = pairs(tokens)? else {
        return Ok(None);
    };
    let mut names = Vec::new();
    for pair in &pairs {
        for name in [&pair.from, &pair.to] {
            let full = (
                schema_of(request, name)?.to_lowercase(),
                name.name.to_lowercase(),
            );
            if names.contains(&full) {
                return Err(Refusal::new(format!(
                    "RENAME of a sharded table; not supported: {} comes twice, and between two steps statements would see \
                     half of either table; use names in between, in statements of their own",
                    name.name
                )));
            }
            names.push(full);
        }
    }
    let mut definition = Definition {
        table: pairs
            .first()
            .map(|p| p.from.name.clone())
            .unwrap_or_default(),
        rules: Vec::new(),
        parts: Vec::new(),
        drops: false,
    };
    for pair in &pairs {
        one(request, pair, &mut definition)?;
    }
    Ok(Some(definition))
}

fn one(request: &Request<'_>, pair: &Pair, definition: &mut Definition) -> Result<(), Refusal> {
    let (schema, to) = (schema_of(request, &pair.to)?, pair.to.name.as_str());
    if let Some((at, _)) = request.map.find(&schema, to) {
        let shown = request.map.table(at).map(Table::shown).unwrap_or_default();
        return Err(Refusal::new(format!(
            "RENAME to {schema}.{to}; not supported: there is a rule for {shown}, which would then mean another table"
        )));
    }
    let from = pair.from.place(request)?;
    let (Place::Sharded(at) | Place::Broadcast(at)) = from else {
        let group = match place(request, Some(&schema), to)? {
            Place::Group(group) if from == Place::Group(group) => group,
            _ => {
                return Err(Refusal::new(format!(
                "RENAME of {} to {schema}.{to}; not supported: the new name is on another group",
                pair.from.name
            )))
            }
        };
        let (was, is) = (
            [schema_of(request, &pair.from)?, pair.from.name.clone()],
            [schema, to.to_owned()],
        );
        definition.parts.push(step(group, 0, pair, &was, &is));
        return Ok(());
    };
    let Some(table) = request.map.table(at) else {
        return Ok(());
    };
    if table.origin == Origin::Configuration {
        return Err(Refusal::new(format!(
            "RENAME of {}; not supported: its rule is in the configuration, which Umpire does not write; give the rule \
             another name there, with the shards' tables as they are, and reload",
            table.shown()
        )));
    }
    let mut shards = Vec::new();
    for (number, copy) in copies_of(table).iter().enumerate() {
        let is = followed(table, copy, &schema, to);
        let was = [copy.schema.clone(), copy.table.clone()];
        if was != is {
            definition
                .parts
                .push(step(copy.group, number, pair, &was, &is));
        }
        shards.push(is);
    }
    definition.rules.push(RuleEffect::Renames {
        from: table.shown(),
        schema,
        table: to.to_owned(),
        shards,
    });
    Ok(())
}

/// Schema and table of a shard after its table has another name: `orders_0` follows `orders`, others stay as they are.
fn followed(table: &Table, copy: &Shard, schema: &str, to: &str) -> [String; 2] {
    let rest = copy.table.strip_prefix(&table.name);
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('_'));
    let name = rest.map_or_else(|| copy.table.clone(), |rest| format!("{to}{rest}"));
    let of = if copy.schema == table.schema {
        schema
    } else {
        &copy.schema
    };
    [of.to_owned(), name]
}

fn step(group: usize, shard: usize, pair: &Pair, was: &[String; 2], is: &[String; 2]) -> Step {
    let name = |name: &[String; 2]| format!("{}.{}", quoted(&name[0]), quoted(&name[1]));
    Step {
        table: pair.from.name.clone(),
        part: Part {
            group,
            shard,
            sql: format!("RENAME TABLE {} TO {}", name(was), name(is)).into_bytes(),
            parameters: Vec::new(),
        },
    }
}

fn schema_of(request: &Request<'_>, name: &Name) -> Result<String, Refusal> {
    let schema = name.schema.as_deref().or(request.schema);
    schema.map(str::to_owned).ok_or_else(|| Refusal {
        code: 1046,
        state: *b"3D000",
        message: "No database selected".into(),
    })
}

/// The names of a statement that renames tables and does nothing else.
fn pairs(tokens: &Tokens) -> Result<Option<Vec<Pair>>, Refusal> {
    if tokens.is(0, "alter") {
        return Ok(of_alter(tokens).map(|pair| vec![pair]));
    }
    if !tokens.is(0, "rename") || !(tokens.is(1, "table") || tokens.is(1, "tables")) {
        return Ok(None);
    }
    let mut pairs = Vec::new();
    let mut at = 2;
    loop {
        let from = tokens.name(at).filter(|name| tokens.is(name.next, "to"));
        let pair = from.and_then(|from| {
            let to = tokens.name(from.next + 1)?;
            Some(Pair { from, to })
        });
        let Some(pair) = pair else {
            return Err(Refusal::new(
                "RENAME of a sharded table; not supported in this form: RENAME TABLE name TO name [, name TO name] is",
            ));
        };
        at = pair.to.next;
        pairs.push(pair);
        if tokens.mark(at, b',') {
            at += 1;
            continue;
        }
        return match tokens.ends(at) {
            true => Ok(Some(pairs)),
            false => Err(Refusal::new(
                "RENAME of a sharded table; not supported in this form: RENAME TABLE name TO name [, name TO name] is",
            )),
        };
    }
}

/// ALTER TABLE name RENAME [TO | AS | =] name
fn of_alter(tokens: &Tokens) -> Option<Pair> {
    let at = tokens.skip(1, &["online", "offline", "ignore"]);
    let from = tokens.is(at, "table").then(|| tokens.name(at + 1))??;
    if !tokens.is(from.next, "rename") {
        return None;
    }
    let mut at = tokens.skip(from.next + 1, &["to", "as"]);
    at += usize::from(tokens.mark(at, b'='));
    if ["column", "index", "key"]
        .iter()
        .any(|word| tokens.is(at, word))
    {
        return None;
    }
    let to = tokens.name(at)?;
    tokens.ends(to.next).then_some(Pair { from, to })
}
