//! SHOW and DESCRIBE: a sharded table is shown once, under its own name. What a table looks like is asked of one shard; lists of
//! tables are asked of the group that has them, with the shards left out and the tables with a rule put in.
use super::bind::{copies_of, Place};
use super::ddl::{full_name, Name, Tokens};
use super::edit::quoted;
use super::request::Request;
use super::types::{Part, Plan, Refusal, Shown};
use crate::sniff::lexer::Kind;
use crate::topology::shards::{self, Table};

/// The plan of a SHOW or DESCRIBE of a table with a rule; none: it is about something else.
///
/// # Errors
/// A name that is written in two ways.
pub(super) fn plan(request: &Request<'_>) -> Result<Option<Plan>, Refusal> {
    let tokens = Tokens::read(request);
    if let Some(list) = tables(request, &tokens) {
        return Ok(Some(list));
    }
    let Some((name, renames)) = described(&tokens) else {
        return Ok(None);
    };
    // SHOW COLUMNS FROM t FROM db
    let from = tokens.is(name.next, "from") || tokens.is(name.next, "in");
    let database = from.then(|| tokens.identifier(name.next + 1)).flatten();
    let schema = database.map(|token| token.text.clone());
    let wanted = Name {
        schema: schema.or_else(|| name.schema.clone()),
        ..name.clone()
    };
    let (Place::Sharded(at) | Place::Broadcast(at)) = wanted.place(request)? else {
        return Ok(None);
    };
    let Some(table) = request.map.table(at) else {
        return Ok(None);
    };
    let copies = copies_of(table);
    let near = |group: usize| copies.iter().position(|copy| copy.group == group);
    let shard = request.held.and_then(near).or_else(|| near(request.home));
    let shard = shard.unwrap_or(0);
    let Some(copy) = copies.get(shard) else {
        return Ok(None);
    };
    let end = database.map_or(name.end, |token| token.end);
    let mut sql = request.sql.get(..name.start).unwrap_or_default().to_vec();
    sql.extend_from_slice(full_name(copy).as_bytes());
    sql.extend_from_slice(request.sql.get(end..).unwrap_or_default());
    let part = Part {
        group: copy.group,
        shard,
        sql,
        parameters: Vec::new(),
    };
    let others = renamed_on(request, copy.group);
    if !renames || others.is_empty() {
        return Ok(Some(Plan::Single(part)));
    }
    Ok(Some(Plan::Shown(Shown {
        part,
        was: copy.table.clone(),
        is: table.name.clone(),
        others,
    })))
}

/// The group's shards that are called otherwise than their tables.
fn renamed_on(request: &Request<'_>, group: usize) -> Vec<(String, String)> {
    let tables = request.map.tables().iter();
    let copies = tables.flat_map(|table| copies_of(table).iter().map(move |copy| (copy, table)));
    copies
        .filter(|(copy, table)| copy.group == group && copy.table != table.name)
        .map(|(copy, table)| (copy.table.clone(), table.name.clone()))
        .collect()
}

/// The table of a DESCRIBE, SHOW COLUMNS, SHOW INDEX or SHOW CREATE TABLE, and whether its name is in the answer.
fn described(tokens: &Tokens) -> Option<(Name, bool)> {
    if ["describe", "desc", "explain"]
        .iter()
        .any(|w| tokens.is(0, w))
    {
        let name = tokens.name(1)?;
        // EXPLAIN SELECT … and the like are no names
        const STATEMENTS: [&str; 13] = [
            "select",
            "insert",
            "update",
            "delete",
            "replace",
            "with",
            "format",
            "extended",
            "partitions",
            "analyze",
            "for",
            "table",
            "into",
        ];
        let statement = STATEMENTS.iter().any(|word| tokens.is(1, word));
        return (!statement).then_some((name, false));
    }
    if !tokens.is(0, "show") {
        return None;
    }
    if tokens.is(1, "create") && tokens.is(2, "table") {
        return Some((tokens.name(3)?, true));
    }
    let at = tokens.skip(1, &["full", "extended"]);
    let columns = ["columns", "fields"].iter().any(|w| tokens.is(at, w));
    let index = ["index", "indexes", "keys"]
        .iter()
        .any(|w| tokens.is(at, w));
    let from = tokens.is(at + 1, "from") || tokens.is(at + 1, "in");
    if !(columns || index) || !from {
        return None;
    }
    Some((tokens.name(at + 2)?, index))
}

/// SHOW [FULL] TABLES: as a SELECT over the group's own list.
fn tables(request: &Request<'_>, tokens: &Tokens) -> Option<Plan> {
    let at = tokens.skip(1, &["full"]);
    if !tokens.is(0, "show") || !tokens.is(at, "tables") {
        return None;
    }
    let named = tokens.is(at + 1, "from") || tokens.is(at + 1, "in");
    let (schema, next) = match named {
        true => (tokens.identifier(at + 2)?.text.as_str(), at + 3),
        false => (request.schema?, at + 1),
    };
    let group = request.map.database(schema).unwrap_or(request.home);
    let of_schema = |table: &&Table| {
        let here = matches!(table.kind, shards::Kind::Placed(of) if of == group);
        table.schema == schema && !here
    };
    let ruled: Vec<&Table> = request.map.tables().iter().filter(of_schema).collect();
    let here = |copy: &&shards::Shard| copy.group == group && copy.schema == schema;
    let all = request.map.tables().iter().flat_map(copies_of).filter(here);
    let mut hidden: Vec<&str> = all.map(|copy| copy.table.as_str()).collect();
    hidden.extend(ruled.iter().map(|table| table.name.as_str()));
    if ruled.is_empty() && hidden.is_empty() {
        return None;
    }
    let (pattern, rest) = filter(request, tokens, next)?;
    let shown = match &pattern {
        Some(pattern) => format!("Tables_in_{schema} ({pattern})"),
        None => format!("Tables_in_{schema}"),
    };
    let column = quoted(&shown);
    let full = at == 2;
    let (kind, kinds) = if full {
        (", Table_type", ", 'BASE TABLE'")
    } else {
        ("", "")
    };
    let typed = if full {
        ", TABLE_TYPE AS Table_type"
    } else {
        ""
    };
    let list = |names: &mut dyn Iterator<Item = &str>| {
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        names.join(", ")
    };
    let mut hide = String::new();
    if !hidden.is_empty() {
        let names = list(&mut hidden.iter().copied());
        hide = format!(" AND TABLE_NAME NOT IN ({names})");
    }
    let mut sql = format!(
        "SELECT {column}{kind} FROM (SELECT TABLE_NAME AS {column}{typed} FROM information_schema.TABLES WHERE \
         TABLE_SCHEMA = '{schema}'{hide}"
    );
    for table in ruled {
        sql += &format!(" UNION SELECT '{}'{kinds}", table.name);
    }
    sql += ") AS umpire_tables";
    let mut sql = sql.into_bytes();
    if let Some((start, end, like)) = rest {
        let how = if like {
            format!(" WHERE {column} ")
        } else {
            " ".into()
        };
        sql.extend_from_slice(how.as_bytes());
        sql.extend_from_slice(request.sql.get(start..end)?);
    }
    sql.extend_from_slice(b" ORDER BY 1");
    Some(Plan::Single(Part {
        group,
        shard: 0,
        sql,
        parameters: Vec::new(),
    }))
}

/// Where LIKE or WHERE stands in the text, and which of both.
pub(super) type Filter = (usize, usize, bool);

/// The pattern of LIKE and the place of the filter. None: something else is there.
pub(super) fn filter(
    request: &Request<'_>,
    tokens: &Tokens,
    at: usize,
) -> Option<(Option<String>, Option<Filter>)> {
    let Some(first) = tokens.list.get(at).filter(|t| t.kind != Kind::Semicolon) else {
        return Some((None, None));
    };
    let last = tokens
        .list
        .iter()
        .rev()
        .find(|t| t.kind != Kind::Semicolon)?;
    let like = tokens.is(at, "like");
    if !like && !tokens.is(at, "where") {
        return None;
    }
    let place = Some((first.start, last.end, like));
    if !like {
        return Some((None, place));
    }
    let text = tokens.list.get(at + 1).filter(|t| t.kind == Kind::Text)?;
    let inner = request.sql.get(text.start + 1..text.end - 1)?;
    Some((Some(String::from_utf8_lossy(inner).into_owned()), place))
}
