//! Changes of a sharded or broadcast table's definition → the statement for each shard: the client's text with the tables'
//! names replaced, found token by token.
mod alter;
mod create;
mod drop;
mod rename;

pub use create::created_table;

use super::bind::{copies_of, place, shown, Place, Stop};
use super::edit::quoted;
use super::request::{Planned, Request};
use super::types::{Definition, Part, Plan, Refusal, Step};
use crate::sniff::lexer::{Kind, Lexer};
use crate::topology::shards::{self, Shard, Table};

/// The plan of a CREATE, ALTER, DROP, RENAME or TRUNCATE; none: no statement that is understood here.
///
/// # Errors
/// It would take the key away, give a name that a rule cannot follow, or read what is not on every shard's group.
pub(super) fn plan(request: &Request<'_>) -> Result<Option<Planned>, Refusal> {
    let tokens = Tokens::read(request);
    if let Some(definition) = drop::plan(request, &tokens)? {
        return Ok(Some(Planned::Plan(Plan::Definition(definition))));
    }
    if let Some(definition) = rename::plan(request, &tokens)? {
        return Ok(Some(Planned::Plan(Plan::Definition(definition))));
    }
    match changed(request, &tokens) {
        Ok(definition) => Ok(definition.map(|d| Planned::Plan(Plan::Definition(d)))),
        Err(Stop::Answer(planned)) => Ok(Some(*planned)),
        Err(Stop::Refused(refusal)) => Err(refusal),
    }
}

/// A change of one table.
fn changed(request: &Request<'_>, tokens: &Tokens) -> Result<Option<Definition>, Stop> {
    let Some((target, what)) = tokens.target() else {
        return Ok(None);
    };
    let (Place::Sharded(at) | Place::Broadcast(at)) = target.place(request)? else {
        return Ok(None);
    };
    let Some(table) = request.map.table(at) else {
        return Ok(None);
    };
    let change = Change {
        request,
        tokens,
        table,
        target,
        what,
    };
    change.check()?;
    let others = change.others()?;
    let step = |(shard, copy)| {
        let part = change.part(shard, copy, &others);
        part.map(|part| Step {
            table: table.shown(),
            part,
        })
    };
    let parts = copies_of(table).iter().enumerate().map(step);
    Ok(Some(Definition {
        table: table.shown(),
        rules: Vec::new(),
        drops: false,
        parts: parts.collect::<Result<_, Refusal>>()?,
    }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Create,
    Alter,
    Truncate,
    Index,
}

/// A table's name in the text.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub schema: Option<String>,
    pub name: String,
    pub start: usize,
    pub end: usize,
    /// Number of the token behind it.
    pub next: usize,
}

impl Name {
    pub fn place(&self, request: &Request<'_>) -> Result<Place, Refusal> {
        place(request, self.schema.as_deref(), &self.name)
    }
}

/// All tokens of a statement.
pub(super) struct Tokens {
    pub list: Vec<Token>,
}

pub(super) struct Token {
    pub kind: Kind,
    /// A quoted name without its quotes.
    pub text: String,
    pub start: usize,
    pub end: usize,
}

impl Tokens {
    pub fn read(request: &Request<'_>) -> Tokens {
        let mut lexer = Lexer::new(request.sql, request.dialect);
        let mut list = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == Kind::End {
                return Tokens { list };
            }
            list.push(Token {
                kind: token.kind,
                text: String::from_utf8_lossy(lexer.bytes(&token)).into_owned(),
                start: token.start,
                end: token.end,
            });
        }
    }

    pub fn is(&self, at: usize, word: &str) -> bool {
        let token = self.list.get(at);
        token.is_some_and(|t| t.kind == Kind::Word && t.text.eq_ignore_ascii_case(word))
    }

    pub fn mark(&self, at: usize, mark: u8) -> bool {
        self.list
            .get(at)
            .is_some_and(|t| t.kind == Kind::Mark(mark))
    }

    /// Behind as many of these words as are there.
    pub fn skip(&self, mut at: usize, words: &[&str]) -> usize {
        while words.iter().any(|word| self.is(at, word)) {
            at += 1;
        }
        at
    }

    pub fn identifier(&self, at: usize) -> Option<&Token> {
        let token = self.list.get(at)?;
        matches!(token.kind, Kind::Word | Kind::Quoted).then_some(token)
    }

    pub fn name(&self, at: usize) -> Option<Name> {
        let first = self.identifier(at)?;
        let second = self.mark(at + 1, b'.').then(|| self.identifier(at + 2));
        let (schema, name, next) = match second {
            Some(second) => (Some(first.text.clone()), second?, at + 3),
            None => (None, first, at + 1),
        };
        Some(Name {
            schema,
            name: name.text.clone(),
            start: first.start,
            end: name.end,
            next,
        })
    }

    /// Nothing but the statement's end is there.
    fn ends(&self, at: usize) -> bool {
        let token = self.list.get(at);
        token.is_none_or(|t| t.kind == Kind::Semicolon && at + 1 == self.list.len())
    }

    /// The table that the statement changes.
    fn target(&self) -> Option<(Name, What)> {
        const IF: [&str; 3] = ["if", "not", "exists"];
        if self.is(0, "truncate") {
            return Some((self.name(self.skip(1, &["table"]))?, What::Truncate));
        }
        let (create, drop) = (self.is(0, "create"), self.is(0, "drop"));
        let at = self.skip(1, &["or", "replace", "online", "offline", "ignore"]);
        if self.is(at, "table") && (create || self.is(0, "alter")) {
            let what = if create { What::Create } else { What::Alter };
            return Some((self.name(self.skip(at + 1, &IF))?, what));
        }
        let at = self.skip(at, &["unique", "fulltext", "spatial"]);
        if self.is(at, "index") && (create || drop) {
            // the index's own name may be any word, ON among them where it is quoted
            let on = (at + 1..self.list.len()).find(|at| self.is(*at, "on"))?;
            return Some((self.name(on + 1)?, What::Index));
        }
        None
    }
}

/// One statement and the table that it changes.
struct Change<'a> {
    request: &'a Request<'a>,
    tokens: &'a Tokens,
    table: &'a Table,
    target: Name,
    what: What,
}

/// Another table that the statement names.
struct Other<'a> {
    name: Name,
    table: &'a Table,
}

impl<'a> Change<'a> {
    fn check(&self) -> Result<(), Stop> {
        let tokens = self.tokens;
        let mut depth = 0_usize;
        for at in self.target.next..tokens.list.len() {
            depth += usize::from(tokens.mark(at, b'('));
            depth = depth.saturating_sub(tokens.mark(at, b')').into());
            let semicolon = tokens
                .list
                .get(at)
                .is_some_and(|t| t.kind == Kind::Semicolon);
            if semicolon && at + 1 < tokens.list.len() {
                let what = "several statements in one";
                return Err(self.refuse(what, "send them one by one").into());
            }
            match self.what {
                What::Alter => self.check_alter(at)?,
                What::Create => self.check_source(at, depth)?,
                What::Truncate | What::Index => {}
            }
            self.check_constraint(at)?;
        }
        if self.what == What::Create {
            self.check_columns()?;
        }
        Ok(())
    }

    /// Rows that come with CREATE TABLE would come on every shard.
    fn check_source(&self, at: usize, depth: usize) -> Result<(), Refusal> {
        let of_table = ["values", "table", "union"];
        let rows = depth == 0 && of_table.iter().any(|word| self.tokens.is(at, word));
        if rows || self.tokens.is(at, "select") {
            let what = "CREATE TABLE … SELECT";
            return Err(self.refuse(what, "create the table, then insert the rows"));
        }
        Ok(())
    }

    /// Names of foreign keys and checks are one a database: two shards in one would collide.
    fn check_constraint(&self, at: usize) -> Result<(), Refusal> {
        let tokens = self.tokens;
        if !tokens.is(at, "constraint") || tokens.is(at.wrapping_sub(1), "drop") {
            return Ok(());
        }
        let named = tokens.identifier(at + 1).is_some();
        let kind = at + 2;
        let shared = tokens.is(kind, "foreign") || tokens.is(kind, "check");
        let copies = copies_of(self.table);
        let together = copies.iter().enumerate().any(|(n, a)| {
            let mut before = copies.iter().take(n);
            before.any(|b| a.group == b.group && a.schema == b.schema)
        });
        if named && shared && together {
            let what = "a constraint's name, which two shards in one database cannot both have";
            return Err(self.refuse(what, "leave the name out"));
        }
        Ok(())
    }

    fn key(&self) -> Option<&'a str> {
        match &self.table.kind {
            shards::Kind::Sharded(sharding) => Some(&sharding.key),
            _ => None,
        }
    }

    /// Tables behind LIKE and REFERENCES.
    fn others(&self) -> Result<Vec<Other<'a>>, Refusal> {
        let tokens = self.tokens;
        let mut others = Vec::new();
        for at in self.target.next..tokens.list.len() {
            let like = self.what == What::Create
                && tokens.is(at, "like")
                && (at == self.target.next || at == self.target.next + 1);
            if !like && !tokens.is(at, "references") {
                continue;
            }
            let Some(name) = tokens.name(at + 1) else {
                continue;
            };
            match name.place(self.request)? {
                Place::Sharded(rule) | Place::Broadcast(rule) => {
                    let table = self.request.map.table(rule);
                    others.extend(table.map(|table| Other { name, table }));
                }
                Place::Group(_) => {
                    let what = format!("{}, which is not on every shard's group", name.name);
                    return Err(self.refuse(&what, "make it a broadcast table, or leave it out"));
                }
            }
        }
        Ok(others)
    }

    fn part(&self, shard: usize, copy: &Shard, others: &[Other<'_>]) -> Result<Part, Refusal> {
        let mut edits = vec![(self.target.start, self.target.end, full_name(copy))];
        for other in others {
            let there = self.there(shard, copy, other.table)?;
            edits.push((other.name.start, other.name.end, full_name(there)));
        }
        let (mut sql, mut at) = (Vec::new(), 0);
        for (start, end, name) in edits {
            sql.extend_from_slice(self.request.sql.get(at..start).unwrap_or_default());
            sql.extend_from_slice(name.as_bytes());
            at = end;
        }
        sql.extend_from_slice(self.request.sql.get(at..).unwrap_or_default());
        Ok(Part {
            group: copy.group,
            shard,
            sql,
            parameters: Vec::new(),
        })
    }

    /// Another table's part in the shard.
    fn there<'t>(
        &self,
        shard: usize,
        copy: &Shard,
        other: &'t Table,
    ) -> Result<&'t Shard, Refusal> {
        let found = match (&self.table.kind, &other.kind) {
            (shards::Kind::Sharded(mine), shards::Kind::Sharded(theirs))
                if mine.is_bound_to(theirs) =>
            {
                theirs.shards.get(shard)
            }
            (_, shards::Kind::Broadcast(copies)) => copies.iter().find(|c| c.group == copy.group),
            _ => None,
        };
        found.ok_or_else(|| {
            let what = format!(
                "{}, whose rows do not meet this table's in each shard",
                other.shown()
            );
            self.refuse(&what, "leave it out")
        })
    }

    fn refuse(&self, what: &str, remedy: &str) -> Refusal {
        Refusal::new(format!(
            "{}; not supported: {what}; {remedy}",
            shown(self.table)
        ))
    }
}

pub(super) fn full_name(shard: &Shard) -> String {
    format!("{}.{}", quoted(&shard.schema), quoted(&shard.table))
}
