//! INSERT, REPLACE, UPDATE, DELETE → parts.
use super::ast::{Delete, Expr, ExprKind, Insert, Source, Span, Update};
use super::bind::{Bound, Place, Stop};
use super::columns::Kind;
use super::edit::{Edit, NewName, Piece};
use super::literal::Literal;
use super::locate::locate;
use super::types::{Answer, Fanout, Part, Plan, Refusal};
use crate::topology::shards::{Shard, Sharding};
use std::collections::BTreeMap;

impl Bound<'_> {
    pub fn insert(&self, insert: &Insert) -> Result<Plan, Stop> {
        let at = insert.table;
        if let Place::Broadcast(_) = self.places[at] {
            self.check_generated(insert)?;
            return self.broadcast_write(at, matches!(insert.source, Source::Query));
        }
        let Some(sharding) = self.sharding(at) else {
            return Err(self
                .refuse(
                    "a whole table cannot be written from a sharded one",
                    "read the rows first, then insert them",
                )
                .into());
        };
        let others = self.places.len() > 1;
        if others && !matches!(insert.source, Source::Query) {
            return Err(self
                .refuse("a subquery among the values", "read its value first")
                .into());
        }
        if insert.on_duplicate.iter().any(|c| is_key(c, sharding)) {
            return Err(self.key_update(sharding).into());
        }
        let position = self.key_position(insert, at, sharding)?;
        match &insert.source {
            Source::Rows(rows) => self.insert_rows(rows, position, at, sharding),
            Source::Set(values) => {
                let shard = self.shard_of_row(values, position, at, sharding)?;
                Ok(Plan::Single(self.one(at, shard, Vec::new())))
            }
            Source::Query => Err(self
                .refuse(
                    "INSERT … SELECT into a sharded table",
                    "read the rows first, then insert them",
                )
                .into()),
        }
    }

    /// Where in a row the key's value stands.
    fn key_position(
        &self,
        insert: &Insert,
        at: usize,
        sharding: &Sharding,
    ) -> Result<usize, Refusal> {
        let found = match &insert.columns {
            Some(names) => names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(&sharding.key)),
            None => self.columns_of(at).and_then(|c| {
                let visible: Vec<_> = c.list.iter().filter(|c| !c.invisible).collect();
                visible
                    .iter()
                    .position(|c| c.name.eq_ignore_ascii_case(&sharding.key))
            }),
        };
        found.ok_or_else(|| Refusal {
            code: 1364,
            state: *b"HY000",
            message: format!(
                "{}: every row needs a value for {}, which decides its shard; name the column and give the value",
                self.subject(),
                sharding.key
            ),
        })
    }

    fn insert_rows(
        &self,
        rows: &[(Span, Vec<Expr>)],
        position: usize,
        at: usize,
        sharding: &Sharding,
    ) -> Result<Plan, Stop> {
        let mut by_shard: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
        for (span, row) in rows {
            let shard = self.shard_of_row(row, position, at, sharding)?;
            by_shard.entry(shard).or_default().push(*span);
        }
        if let (1, Some(shard)) = (by_shard.len(), by_shard.keys().next()) {
            return Ok(Plan::Single(self.one(at, *shard, Vec::new())));
        }
        self.check_spread()?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Err(self.refuse("no row", "give at least one").into());
        };
        let all = (first.0 .0, last.0 .1);
        let part = |(shard, spans): (&usize, &Vec<Span>)| {
            let mut with = Vec::new();
            for span in spans {
                if !with.is_empty() {
                    with.push(Piece::Text(", ".into()));
                }
                with.push(Piece::Copy(*span));
            }
            self.one(at, *shard, vec![Edit { span: all, with }])
        };
        let parts = by_shard.iter().map(part).collect();
        Ok(Plan::Fanout(Fanout {
            parts,
            writes: true,
            answer: Answer::Affected,
        }))
    }

    fn shard_of_row(
        &self,
        row: &[Expr],
        position: usize,
        at: usize,
        sharding: &Sharding,
    ) -> Result<usize, Refusal> {
        // PREPARE: any shard can say what the statement looks like
        if self.prepares() {
            return Ok(0);
        }
        let kind = self.key_kind(at).unwrap_or(&Kind::Other);
        let found = row
            .get(position)
            .map_or(Literal::Unknown, |e| self.literals.key(e, kind, true));
        let wrong = |what: &str| {
            let message = format!(
                "{}: {what} for {}, which decides the row's shard; give it as a plain literal or parameter that the \
                 column stores as it is (texts in printable ASCII)",
                self.subject(),
                sharding.key
            );
            Err(Refusal::new(message))
        };
        match found {
            Literal::Key(key) => match sharding.locate(&key) {
                Some(shard) => Ok(shard),
                None => Err(Refusal {
                    code: 1526,
                    state: *b"HY000",
                    message: format!(
                        "{}: no shard takes this value of {}; add one to the rule",
                        self.subject(),
                        sharding.key
                    ),
                }),
            },
            Literal::Null => wrong("NULL"),
            Literal::Unknown if row.get(position).is_none() => wrong("no value"),
            Literal::Unknown => wrong("an unreadable value"),
        }
    }

    pub fn update(&self, update: &Update) -> Result<Plan, Stop> {
        let located = locate(self);
        for (column, _) in &update.set {
            let Some(owner) = self.set_owner(column, update.block) else {
                return Err(self
                    .refuse(
                        "an assignment to a column that may be of several tables",
                        "name its table",
                    )
                    .into());
            };
            match self.places[owner] {
                Place::Sharded(_) => {
                    if let Some(sharding) = self.sharding(owner).filter(|s| is_key(column, s)) {
                        return Err(self.key_update(sharding).into());
                    }
                }
                Place::Broadcast(_) if self.sharded().next().is_some() => {
                    return Err(self
                        .refuse(
                            "a broadcast table changed by the rows of a sharded one",
                            "change it in a statement of its own",
                        )
                        .into());
                }
                _ => {}
            }
        }
        self.write(located, update.has_limit)
    }

    /// The table whose column is assigned.
    fn set_owner(&self, column: &Expr, block: usize) -> Option<usize> {
        let ExprKind::Column(name) = &column.kind else {
            return None;
        };
        let mut mentions = self.mentions(block);
        match (mentions.next(), mentions.next()) {
            (Some(only), None) => Some(only),
            _ => self.owner(name, block),
        }
    }

    pub fn delete(&self, delete: &Delete) -> Result<Plan, Stop> {
        let targets_broadcast = self
            .parsed
            .tables
            .iter()
            .zip(&self.places)
            .any(|(table, place)| table.is_target && matches!(place, Place::Broadcast(_)));
        if targets_broadcast && self.sharded().next().is_some() {
            return Err(self
                .refuse(
                    "a broadcast table's rows deleted by those of a sharded one",
                    "delete them in a statement of its own",
                )
                .into());
        }
        self.write(locate(self), delete.has_limit)
    }

    fn write(&self, located: super::locate::Located, has_limit: bool) -> Result<Plan, Stop> {
        if let Some(plan) = self.pinned(&located, Vec::new()) {
            return Ok(plan);
        }
        if self.sharded().next().is_none() && has_limit {
            let what = "LIMIT in a write to a broadcast table (each copy may choose other rows)";
            return Err(self.refuse(what, "leave LIMIT out").into());
        }
        if self.sharded().next().is_none() {
            let broadcast =
                (0..self.places.len()).find(|at| matches!(self.places[*at], Place::Broadcast(_)));
            return self.broadcast_write(
                broadcast.unwrap_or(0),
                self.places.iter().any(|p| matches!(p, Place::Group(_))),
            );
        }
        self.check_local(&located)?;
        if self.facts().returning {
            return Err(self
                .refuse(
                    "RETURNING over several shards",
                    "give the key's value, so that one shard is asked",
                )
                .into());
        }
        if has_limit {
            return Err(self
                .refuse(
                    "LIMIT in a write over several shards (which rows it leaves would depend on the shards)",
                    "give the key's value, or leave LIMIT out",
                )
                .into());
        }
        self.check_spread()?;
        let parts = self.parts(&located, &|_| Vec::new());
        Ok(Plan::Fanout(Fanout {
            parts,
            writes: true,
            answer: Answer::Affected,
        }))
    }

    /// A write to a table that every group has: the same text everywhere must do the same everywhere.
    fn broadcast_write(&self, at: usize, reads_others: bool) -> Result<Plan, Stop> {
        let facts = self.facts();
        let mixed = self
            .places
            .iter()
            .any(|place| !matches!(place, Place::Broadcast(_)));
        if reads_others || mixed {
            return Err(self
                .refuse(
                    "a broadcast table written from other tables",
                    "read the rows first, then write them",
                )
                .into());
        }
        if facts.volatile_function {
            return Err(self
                .refuse(
                    "a function that gives another value at each server, in a write to a broadcast table",
                    "give the value itself",
                )
                .into());
        }
        if facts.returning {
            return Err(self
                .refuse(
                    "RETURNING from a broadcast table",
                    "read the rows afterwards",
                )
                .into());
        }
        self.check_spread()?;
        let copies = self.copies(at).unwrap_or_default();
        let part = |(shard, copy): (usize, &Shard)| {
            let names: Vec<NewName<'_>> = (0..self.places.len())
                .map(|use_| self.copy_on(use_, copy.group))
                .collect();
            self.part((copy.group, shard), &names, Vec::new())
        };
        let parts: Vec<Part> = copies.iter().enumerate().map(part).collect();
        Ok(match <[Part; 1]>::try_from(parts) {
            Ok([only]) => Plan::Single(only),
            Err(parts) => Plan::Fanout(Fanout {
                parts,
                writes: true,
                answer: Answer::AffectedOnce,
            }),
        })
    }

    /// Copies of a broadcast table would count their AUTO_INCREMENT each on its own.
    fn check_generated(&self, insert: &Insert) -> Result<(), Refusal> {
        let Some(columns) = self.columns_of(insert.table) else {
            return Ok(());
        };
        let Some(generated) = columns.list.iter().find(|c| c.auto_increment) else {
            return Ok(());
        };
        let names: Vec<&str> = match &insert.columns {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => columns
                .list
                .iter()
                .filter(|c| !c.invisible)
                .map(|c| c.name.as_str())
                .collect(),
        };
        let at = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(&generated.name));
        let given = |row: &[Expr]| {
            let value = at.and_then(|at| row.get(at)).map(|e| &e.kind);
            matches!(
                value,
                Some(ExprKind::Number | ExprKind::Text | ExprKind::Parameter(_))
            )
        };
        let all_given = match &insert.source {
            Source::Rows(rows) => rows.iter().all(|(_, row)| given(row)),
            Source::Set(values) => given(values),
            Source::Query => true,
        };
        if all_given {
            return Ok(());
        }
        let what = format!("an AUTO_INCREMENT value for {} in a broadcast table, which each copy counts on its own", generated.name);
        Err(self.refuse(&what, "give the value"))
    }

    fn key_update(&self, sharding: &Sharding) -> Refusal {
        self.refuse(
            &format!(
                "a change of {}, the sharding key: the row would have to move to another shard",
                sharding.key
            ),
            "insert the row anew and delete the old one, in a transaction",
        )
    }
}

fn is_key(column: &Expr, sharding: &Sharding) -> bool {
    column
        .column_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(&sharding.key))
}
