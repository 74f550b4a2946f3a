//! CREATE TABLE: which table, and whether its columns suit its rule.
use super::{Change, Tokens};
use crate::plan::columns::Kind;
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
        if self.tokens.is(first, "like") || self.tokens.is(first + 1, "like") {
            return Ok(());
        }
        let Some(at) = self.column(key) else {
            return Err(self.refuse(
                &format!("a CREATE TABLE without {key}, the sharding key"),
                "add the column",
            ));
        };
        let kind = self.tokens.identifier(at + 1);
        let kind = kind.map(|word| kind_of(&word.text)).unwrap_or(Kind::Other);
        match unfit(&kind, &sharding.method) {
            Some(why) => {
                let what = format!("{key} as the sharding key: {why}");
                Err(self.refuse(&what, "give it another type, or the table another method"))
            }
            None => Ok(()),
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
fn kind_of(word: &str) -> Kind {
    match word.to_ascii_lowercase().as_str() {
        "tinyint" | "smallint" | "mediumint" | "middleint" | "int" | "integer" | "bigint"
        | "int1" | "int2" | "int3" | "int4" | "int8" | "bool" | "boolean" | "serial" => {
            Kind::Integer { low: 0, high: 0 }
        }
        "char" | "character" | "varchar" | "varcharacter" | "nchar" | "nvarchar" | "national" => {
            Kind::Text {
                length: 0,
                collation: "utf8mb4_bin".into(),
            }
        }
        "date" => Kind::Date,
        "datetime" => Kind::DateTime,
        _ => Kind::Other,
    }
}
