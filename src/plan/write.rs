//! INSERT, REPLACE, UPDATE, DELETE → parts.
use super::ast::{Delete, Expr, ExprKind, Insert, Source, Span, Update};
use super::bind::{Bound, Place, Stop};
use super::columns::Kind;
use super::edit::{Edit, NewName, Piece};
use super::ids::{column_list, Given};
use super::literal::Literal;
use super::locate::locate;
use super::types::{Answer, Fanout, Part, Plan, Refusal};
use crate::topology::shards::{Key, Shard, Sharding};
use std::collections::BTreeMap;

impl Bound<'_> {
    pub fn insert(&self, insert: &Insert) -> Result<Plan, Stop> {
        let at = insert.table;
        if let Place::Broadcast(_) = self.places[at] {
            let given = self.given_ids(insert)?;
            if given.is_none() {
                self.check_generated(insert)?;
            }
            return self.broadcast_insert(insert, given);
        }
        let Some(sharding) = self.sharding(at) else {
            return self.insert_whole(insert).ok_or_else(|| {
                let what = "a whole table cannot be written from rows that are on other servers";
                self.refuse(what, "read the rows first, then insert them")
                    .into()
            });
        };
        let others = self.places.len() > 1;
        if others && !matches!(insert.source, Source::Query(_)) {
            return Err(self
                .refuse("a subquery among the values", "read its value first")
                .into());
        }
        if insert.on_duplicate.iter().any(|c| is_key(c, sharding)) {
            return Err(self.key_update(sharding).into());
        }
        if let Source::Query(query) = &insert.source {
            return self.insert_query(insert, query, sharding);
        }
        let given = self.given_ids(insert)?;
        if let Some(given) = given {
            return self.insert_given(insert, sharding, given);
        }
        let position = self.key_position(insert, at, sharding)?;
        match &insert.source {
            Source::Rows(rows) => self.insert_rows(insert, rows, position, sharding),
            Source::Set(values) => {
                let shard = self.shard_of_row(values, position, at, sharding)?;
                Ok(Plan::Single(self.one(at, shard, Vec::new())))
            }
            Source::Query(query) => self.insert_query(insert, query, sharding),
        }
    }

    /// Rows of which some get their ids from Umpire.
    fn insert_given(
        &self,
        insert: &Insert,
        sharding: &Sharding,
        given: Given,
    ) -> Result<Plan, Stop> {
        let at = insert.table;
        let by_id = given.column.eq_ignore_ascii_case(&sharding.key);
        let position = match self.key_position(insert, at, sharding) {
            Err(_) if by_id => usize::MAX,
            position => position?,
        };
        let shard_of = |row: usize, values: &[Expr]| match given.of_row(row).filter(|_| by_id) {
            Some(id) => self.shard_of_key(&Key::Int(i128::from(id)), sharding),
            None => self.shard_of_row(values, position, at, sharding),
        };
        let mut by_shard: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
        let parts = match &insert.source {
            Source::Rows(rows) => {
                for (row, (span, values)) in rows.iter().enumerate() {
                    let pieces = by_shard.entry(shard_of(row, values)?).or_default();
                    if !pieces.is_empty() {
                        pieces.push(Piece::Text(", ".into()));
                    }
                    pieces.extend(given.row_pieces(row, *span, values));
                }
                let all = rows.first().zip(rows.last()).map(|(a, z)| (a.0 .0, z.0 .1));
                let all = all.unwrap_or_default();
                if by_shard.len() > 1 {
                    self.check_spread()?;
                }
                let part = |(shard, with): (usize, Vec<Piece>)| {
                    let mut edits = column_list(&given);
                    edits.push(Edit { span: all, with });
                    self.one(at, shard, edits)
                };
                by_shard.into_iter().map(part).collect()
            }
            Source::Set(values) => {
                let shard = shard_of(0, values)?;
                vec![self.one(at, shard, given.set_edits(insert, values))]
            }
            Source::Query(_) => Vec::new(),
        };
        Ok(Plan::Fanout(Fanout {
            parts,
            writes: true,
            answer: inserted(insert),
            ids: given.all,
        }))
    }

    fn broadcast_insert(&self, insert: &Insert, given: Option<Given>) -> Result<Plan, Stop> {
        let at = insert.table;
        let Some(given) = given else {
            return self.broadcast_write(at, matches!(insert.source, Source::Query(_)), &Vec::new);
        };
        let edits = || match &insert.source {
            Source::Rows(rows) => {
                let mut edits = column_list(&given);
                let row = |(row, (span, values)): (usize, &(Span, Vec<Expr>))| Edit {
                    span: *span,
                    with: given.row_pieces(row, *span, values),
                };
                edits.extend(rows.iter().enumerate().map(row));
                edits
            }
            Source::Set(values) => given.set_edits(insert, values),
            Source::Query(_) => Vec::new(),
        };
        let plan = self.broadcast_write(at, false, &edits)?;
        let (parts, answer) = match plan {
            Plan::Single(only) => (vec![only], Answer::Affected),
            Plan::Fanout(fanout) => (fanout.parts, fanout.answer),
            Plan::Gather(_) | Plan::Definition(_) | Plan::Shown(_) => return Ok(plan),
        };
        Ok(Plan::Fanout(Fanout {
            parts,
            writes: true,
            answer,
            ids: given.all,
        }))
    }

    /// Where in a row the key's value stands.
    pub fn key_position(
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
        insert: &Insert,
        rows: &[(Span, Vec<Expr>)],
        position: usize,
        sharding: &Sharding,
    ) -> Result<Plan, Stop> {
        let at = insert.table;
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
            answer: inserted(insert),
            ids: Vec::new(),
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
        let found = row.get(position).map_or(Literal::Unknown, |e| {
            let found = self.literals.key(e, kind, true);
            self.note(e, at, &found, true);
            found
        });
        let wrong = |what: &str| {
            let message = format!(
                "{}: {what} for {}, which decides the row's shard; give it as a plain literal or parameter that the \
                 column stores as it is (texts in printable ASCII)",
                self.subject(),
                sharding.key
            );
            Err(Refusal::new(message))
        };
        let counts = self.columns_of(at).and_then(|c| c.get(&sharding.key));
        if self.request.zero_generates && counts.is_some_and(|c| c.auto_increment) {
            self.seen.vary();
            if found == Literal::Key(Key::Int(0)) {
                return wrong("0, in place of which the server makes another value,");
            }
        }
        match found {
            Literal::Key(key) => self.shard_of_key(&key, sharding),
            Literal::Null => wrong("NULL"),
            Literal::Unknown if row.get(position).is_none() => wrong("no value"),
            Literal::Unknown => wrong("an unreadable value"),
        }
    }

    fn shard_of_key(&self, key: &Key, sharding: &Sharding) -> Result<usize, Refusal> {
        sharding.locate(key).ok_or_else(|| Refusal {
            code: 1526,
            state: *b"HY000",
            message: format!(
                "{}: no shard takes this value of {}; add one to the rule",
                self.subject(),
                sharding.key
            ),
        })
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
                &Vec::new,
            );
        }
        // which shards it changes is known when it is executed
        if self.prepares() {
            return self.described();
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
            ids: Vec::new(),
        }))
    }

    /// A write to a table that every group has: the same text everywhere must do the same everywhere.
    fn broadcast_write(
        &self,
        at: usize,
        reads_others: bool,
        edits: &dyn Fn() -> Vec<Edit>,
    ) -> Result<Plan, Stop> {
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
            self.part((copy.group, shard), &names, edits())
        };
        let parts: Vec<Part> = copies.iter().enumerate().map(part).collect();
        Ok(match <[Part; 1]>::try_from(parts) {
            Ok([only]) => Plan::Single(only),
            Err(parts) => Plan::Fanout(Fanout {
                parts,
                writes: true,
                answer: Answer::AffectedOnce,
                ids: Vec::new(),
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
            Source::Query(_) => true,
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

fn inserted(insert: &Insert) -> Answer {
    Answer::Inserted {
        ignore: insert.ignore,
    }
}

fn is_key(column: &Expr, sharding: &Sharding) -> bool {
    column
        .column_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(&sharding.key))
}
