//! CREATE TABLE: which table, and whether its columns suit its rule.
use super::{Change, Tokens};
use crate::plan::bind::Place;
use crate::plan::columns::{self, Kind};
use crate::plan::literal::unfit;
use crate::plan::request::Request;
use crate::plan::types::Refusal;
use crate::topology::shards;

/// The table that a CREATE TABLE makes: schema, where it is written, and name. None: the statement is something else.
///
/// # Errors
/// One that cannot bring a rule with it.
pub fn created_table(request: &Request<'_>) -> Result<Option<(Option<String>, String)>, Refusal> {
    let tokens = Tokens::read(request);
    if !tokens.is(0, "create") {
        return Ok(None);
    }
    let at = tokens.skip(1, &["or", "replace", "temporary"]);
    if !tokens.is(at, "table") {
        return Ok(None);
    }
    if tokens.is(1, "or") {
        return Err(Refusal::new(
            "CREATE OR REPLACE TABLE with a rule in a comment; not supported: what is replaced may be elsewhere; DROP \
             TABLE first",
        ));
    }
    if tokens.is(1, "temporary") {
        return Err(Refusal::new(
            "CREATE TEMPORARY TABLE with a rule in a comment; not supported: a temporary table is of one connection",
        ));
    }
    let name = tokens.name(tokens.skip(at + 1, &["if", "not", "exists"]));
    Ok(name.map(|name| (name.schema, name.name)))
}

impl Change<'_> {
    /// A sharded table has its key, of a type that the method can place.
    pub(super) fn check_columns(&self) -> Result<(), Refusal> {
        let shards::Kind::Sharded(sharding) = &self.table.kind else {
            return Ok(());
        };
        let key = sharding.key.as_str();
        let first = self.target.next;
        if let Some(like) = [first, first + 1]
            .into_iter()
            .find(|at| self.tokens.is(*at, "like"))
        {
            return self.check_like(like, key);
        }
        let Some(at) = self.column(key) else {
            return Err(self.refuse(
                &format!("a CREATE TABLE without {key}, the sharding key"),
                "add the column",
            ));
        };
        let kind = self.tokens.identifier(at + 1);
        let kind = kind.map_or(Kind::Other, |word| kind_of(&word.text, false, None));
        match unfit(&kind, &sharding.method) {
            Some(why) => {
                let what = format!("{key} as the sharding key: {why}");
                Err(self.refuse(&what, "give it another type, or the table another method"))
            }
            None => Ok(()),
        }
    }

    /// The table whose columns are taken has the same key, so that it is a column of the new one, too.
    fn check_like(&self, like: usize, key: &str) -> Result<(), Refusal> {
        let place = self
            .tokens
            .name(like + 1)
            .map(|name| name.place(self.request))
            .transpose()?;
        let Some(Place::Sharded(at)) = place else {
            let what = "CREATE TABLE … LIKE a table that is not sharded";
            return Err(self.refuse(what, "write the columns"));
        };
        let other = self.request.map.table(at).map(|table| &table.kind);
        match other {
            Some(shards::Kind::Sharded(other)) if other.key.eq_ignore_ascii_case(key) => Ok(()),
            _ => {
                let what = "CREATE TABLE … LIKE a table with another sharding key";
                Err(self.refuse(what, "write the columns"))
            }
        }
    }

    /// The token that names this column in the list of columns.
    fn column(&self, name: &str) -> Option<usize> {
        if !self.tokens.mark(self.target.next, b'(') {
            return None;
        }
        let mut depth = 0usize;
        for at in self.target.next..self.tokens.list.len() {
            let begins = self.tokens.mark(at, b'(') || self.tokens.mark(at, b',');
            depth += usize::from(self.tokens.mark(at, b'('));
            if self.tokens.mark(at, b')') {
                depth = depth.saturating_sub(1);
            }
            let column = self.tokens.identifier(at + 1);
            if begins && depth == 1 && column.is_some_and(|c| c.text.eq_ignore_ascii_case(name)) {
                return Some(at + 1);
            }
        }
        None
    }
}

/// The kind of a column by the first word of its type; of texts, whose collation may stand elsewhere, one that suits.
pub(super) fn kind_of(word: &str, unsigned: bool, length: Option<u32>) -> Kind {
    let word = word.to_ascii_lowercase();
    let known = match word.as_str() {
        "bool" | "boolean" | "int1" => "tinyint",
        "int2" => "smallint",
        "int3" | "middleint" => "mediumint",
        "int4" | "integer" => "int",
        "int8" | "serial" => "bigint",
        "character" => "char",
        "varcharacter" | "nvarchar" => "varchar",
        "nchar" | "national" => "char",
        other => other,
    };
    let sign = if unsigned { "unsigned" } else { "" };
    columns::kind(known, sign, length.unwrap_or(1), Some("utf8mb4_bin"))
}
