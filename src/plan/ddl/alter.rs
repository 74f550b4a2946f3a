//! ALTER TABLE: what it must not do to the sharding key, whose values say where rows are.
use super::{create, Change};
use crate::plan::bind::{copies_of, Stop};
use crate::plan::columns::{Columns, Kind};
use crate::plan::request::Planned;
use crate::plan::types::Refusal;

impl Change<'_> {
    /// Takes the key away, changes its values, or moves or renames the table.
    pub(super) fn check_alter(&self, at: usize) -> Result<(), Stop> {
        let tokens = self.tokens;
        if tokens.is(at, "exchange") && tokens.is(at + 1, "partition") {
            return Err(self
                .refuse("EXCHANGE PARTITION", "do it on each server")
                .into());
        }
        if tokens.is(at, "modify") {
            return self.check_key_type(at, false);
        }
        let takes = ["drop", "change", "rename"];
        if !takes.iter().any(|word| tokens.is(at, word)) {
            return Ok(());
        }
        let other = [
            "index",
            "key",
            "primary",
            "foreign",
            "constraint",
            "check",
            "partition",
        ];
        if other.iter().any(|word| tokens.is(at + 1, word)) {
            return Ok(());
        }
        if tokens.is(at, "change") {
            return self.check_key_type(at, true);
        }
        let named = tokens.skip(at + 1, &["column", "if", "exists"]);
        let is_column = named > at + 1 && tokens.is(at + 1, "column");
        if tokens.is(at, "rename") && !is_column {
            let what = "a new name for the table together with other changes";
            return Err(self
                .refuse(what, "rename it by a statement of its own")
                .into());
        }
        match self.is_key(named) {
            true => Err(self.takes_key_away().into()),
            false => Ok(()),
        }
    }

    fn is_key(&self, at: usize) -> bool {
        let (key, column) = (self.key(), self.tokens.identifier(at));
        key.zip(column)
            .is_some_and(|(key, column)| column.text.eq_ignore_ascii_case(key))
    }

    fn takes_key_away(&self) -> Refusal {
        let key = self.key().unwrap_or_default();
        self.refuse(
            &format!("an ALTER TABLE that takes {key}, the sharding key, away"),
            "its name and place are the rule's",
        )
    }

    /// MODIFY and CHANGE of the key: to a type that holds all its values as they are.
    fn check_key_type(&self, at: usize, change: bool) -> Result<(), Stop> {
        let named = self.tokens.skip(at + 1, &["column", "if", "exists"]);
        if !self.is_key(named) {
            return Ok(());
        }
        let of_type = if change { named + 2 } else { named + 1 };
        if change && !self.is_key(named + 1) {
            return Err(self.takes_key_away().into());
        }
        let columns = self.columns()?;
        let key = self.key().unwrap_or_default();
        let old = columns.get(key);
        let new = self
            .tokens
            .identifier(of_type)
            .map(|word| self.new_kind(&word.text, of_type + 1));
        let keeps = old.zip(new).is_some_and(|(old, (new, fraction))| {
            holds(&new, &old.kind) && fraction >= fraction_of(&old.definition)
        });
        if keeps {
            return Ok(());
        }
        let was = old.map_or("", |column| column.definition.as_str());
        let what =
            format!("an ALTER TABLE that may change values of {key} ({was}), the sharding key");
        let remedy = "a type of the same kind that holds all its values; rows would be on the wrong shards otherwise";
        Err(self.refuse(&what, remedy).into())
    }

    fn columns(&self) -> Result<std::rc::Rc<Columns>, Stop> {
        let (schema, table) = (&self.table.schema, &self.table.name);
        if let Some(columns) = (self.request.columns)(schema, table) {
            return Ok(columns);
        }
        let first = copies_of(self.table).first();
        let first =
            first.ok_or_else(|| self.refuse("a table without shards", "correct its rule"))?;
        Err(Stop::Answer(Box::new(Planned::Needs {
            schema: schema.clone(),
            table: table.clone(),
            group: first.group,
            question: Columns::question(&first.schema, &first.table),
        })))
    }

    /// The kind of the type that begins in front of this token, and its digits of seconds.
    fn new_kind(&self, word: &str, at: usize) -> (Kind, u32) {
        let argument = self
            .tokens
            .mark(at, b'(')
            .then(|| self.tokens.list.get(at + 1));
        let argument = argument.flatten().and_then(|token| token.text.parse().ok());
        let mut rest = self.tokens.list.iter().enumerate().skip(at);
        let unsigned = rest
            .find(|(at, _)| {
                let word = |word: &str| self.tokens.is(*at, word);
                self.tokens.mark(*at, b',') || word("unsigned") || word("zerofill")
            })
            .is_some_and(|(at, _)| !self.tokens.mark(at, b','));
        let kind = create::kind_of(
            word,
            unsigned || word.eq_ignore_ascii_case("serial"),
            argument,
        );
        (
            kind,
            argument
                .filter(|_| word.eq_ignore_ascii_case("datetime"))
                .unwrap_or(0),
        )
    }
}

/// Whether a column of the new kind holds every value of the old one, and as the same key.
fn holds(new: &Kind, old: &Kind) -> bool {
    match (new, old) {
        (
            Kind::Integer { low, high },
            Kind::Integer {
                low: least,
                high: most,
            },
        ) => low <= least && high >= most,
        (
            Kind::Text { length, .. },
            Kind::Text {
                length: longest, ..
            },
        ) => length >= longest,
        (Kind::Date | Kind::DateTime, Kind::Date) | (Kind::DateTime, Kind::DateTime) => true,
        _ => false,
    }
}

/// Digits of seconds in `datetime(3)`: fewer round, also into another day.
fn fraction_of(definition: &str) -> u32 {
    let digits = definition.to_ascii_lowercase();
    let digits = digits
        .strip_prefix("datetime(")
        .and_then(|rest| rest.split(')').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
