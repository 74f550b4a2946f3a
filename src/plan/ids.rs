//! AUTO_INCREMENT of a table on several servers: the ids come from Umpire, and stand in the parts as values.
use super::ast::{Expr, Insert, Source, Span};
use super::bind::{Bound, Stop};
use super::columns::Kind;
use super::edit::{Edit, Piece};
use super::literal::Literal;
use super::request::Planned;
use super::types::Refusal;
use crate::topology::shards::{Ids, Key};

/// Rows of one INSERT and the ids that Umpire gives them.
pub(super) struct Given {
    /// Place of the column in each row; none: the rows have no value for it.
    position: Option<usize>,
    /// Name of the column.
    pub column: String,
    /// One a row; none: the row brings its own.
    ids: Vec<Option<u64>>,
    /// In order.
    pub all: Vec<u64>,
    /// What is put in to name the column, where the statement's list does not.
    named: Option<(usize, String)>,
}

impl Bound<'_> {
    /// The ids of an INSERT's rows; none: all have their own, or the servers count.
    ///
    /// # Errors
    /// [`Planned::NeedsIds`]; a value of which it is not known whether an id is wanted.
    pub fn given_ids(&self, insert: &Insert) -> Result<Option<Given>, Stop> {
        let at = insert.table;
        let of_servers = self.rule(at).is_none_or(|table| table.ids == Ids::Server);
        let columns = self.columns_of(at).filter(|_| !of_servers);
        let column = columns.and_then(|c| c.list.iter().find(|c| c.auto_increment));
        let (Some(columns), Some(column)) = (columns, column) else {
            return Ok(None);
        };
        if self.prepares() || matches!(insert.source, Source::Query(_)) {
            return Ok(None);
        }
        let position = match &insert.columns {
            Some(names) => names
                .iter()
                .position(|n| n.eq_ignore_ascii_case(&column.name)),
            None => {
                let mut visible = columns.list.iter().filter(|c| !c.invisible);
                visible.position(|c| c.name == column.name)
            }
        };
        let mut wants = Vec::new();
        let mut highest = 0;
        for row in rows(&insert.source) {
            let value = position.and_then(|at| row.get(at));
            if position.is_some() && value.is_none() {
                return Err(self
                    .refuse(
                        "a row without values",
                        "name the columns, and give their values",
                    )
                    .into());
            }
            match value.map_or(Ok(None), |v| self.own_id(v, &column.kind))? {
                None => wants.push(true),
                Some(own) => {
                    wants.push(false);
                    highest = own.max(highest);
                }
            }
        }
        let count = wants.iter().filter(|wants| **wants).count() as u64;
        if count == 0 && highest == 0 {
            return Ok(None);
        }
        let first = self.first_id(at, &column.name, count, highest)?;
        if let Kind::Integer { high, .. } = column.kind {
            if count > 0 && i128::from(first) + i128::from(count) - 1 > high {
                return Err(too_high(&column.name, &column.definition).into());
            }
        }
        let mut next = first..;
        let ids: Vec<Option<u64>> = wants
            .iter()
            .map(|wants| wants.then(|| next.next()).flatten())
            .collect();
        let all: Vec<u64> = ids.iter().flatten().copied().collect();
        if all.is_empty() {
            return Ok(None);
        }
        Ok(Some(Given {
            named: column_named(insert, position, &column.name),
            position,
            column: column.name.clone(),
            ids,
            all,
        }))
    }

    fn first_id(&self, at: usize, column: &str, count: u64, above: u64) -> Result<u64, Stop> {
        let Some(table) = self.rule(at) else {
            return Ok(0);
        };
        let asked = (self.request.ids)(&table.shown(), count, above);
        asked.ok_or_else(|| {
            Stop::Answer(Box::new(Planned::NeedsIds {
                schema: table.schema.clone(),
                table: table.name.clone(),
                column: column.to_owned(),
                count,
                above,
            }))
        })
    }

    /// The id that a value is; none: one is to be made.
    fn own_id(&self, value: &Expr, kind: &Kind) -> Result<Option<u64>, Refusal> {
        self.seen.vary();
        let text = self.literals.text(value.span);
        if text.eq_ignore_ascii_case(b"default") {
            return Ok(None);
        }
        match self.literals.key(value, kind, true) {
            Literal::Null => Ok(None),
            Literal::Key(Key::Int(0)) if self.request.zero_generates => Ok(None),
            // a negative one counts for nothing
            Literal::Key(Key::Int(n)) => Ok(Some(u64::try_from(n.max(0)).unwrap_or(u64::MAX))),
            _ => Err(self.refuse(
                "an AUTO_INCREMENT value that is no plain literal",
                "give it as a number, or leave it to Umpire (NULL, or without the column)",
            )),
        }
    }
}

impl Given {
    /// The id given to this row.
    pub fn of_row(&self, row: usize) -> Option<u64> {
        self.ids.get(row).copied().flatten()
    }

    /// A row's text with its id in it.
    pub fn row_pieces(&self, row: usize, span: Span, values: &[Expr]) -> Vec<Piece> {
        let Some(piece) = self.piece(row) else {
            return vec![Piece::Copy(span)];
        };
        match self.position.and_then(|at| values.get(at)) {
            Some(value) => vec![
                Piece::Copy((span.0, value.span.0)),
                piece,
                Piece::Copy((value.span.1, span.1)),
            ],
            None => {
                let comma = if values.is_empty() { "" } else { ", " };
                vec![
                    Piece::Copy((span.0, span.1 - 1)),
                    Piece::Text(comma.into()),
                    piece,
                    Piece::Text(")".into()),
                ]
            }
        }
    }

    /// INSERT … SET: the assignment's value, or one more assignment.
    pub fn set_edits(&self, insert: &Insert, values: &[Expr]) -> Vec<Edit> {
        let Some(piece) = self.piece(0) else {
            return Vec::new();
        };
        let (span, with) = match self.position.and_then(|at| values.get(at)) {
            Some(value) => (value.span, vec![piece]),
            None => (
                (insert.end, insert.end),
                vec![
                    Piece::Text(format!(", {} = ", super::edit::quoted(&self.column))),
                    piece,
                ],
            ),
        };
        vec![Edit { span, with }]
    }

    fn piece(&self, row: usize) -> Option<Piece> {
        let id = self.of_row(row)?;
        let number = self.all.iter().position(|given| *given == id)?;
        Some(Piece::Id { id, number })
    }
}

fn rows(source: &Source) -> Vec<&[Expr]> {
    match source {
        Source::Rows(rows) => rows.iter().map(|(_, row)| row.as_slice()).collect(),
        Source::Set(values) => vec![values],
        Source::Query(_) => Vec::new(),
    }
}

/// The edits that name the column.
pub(super) fn column_list(given: &Given) -> Vec<Edit> {
    let edit = |(at, text): &(usize, String)| Edit::replace((*at, *at), text.clone());
    given.named.iter().map(edit).collect()
}

/// A list of columns that lacks it gets it at its end.
fn column_named(insert: &Insert, position: Option<usize>, column: &str) -> Option<(usize, String)> {
    let (None, Some(end), Some(names)) = (position, insert.columns_end, &insert.columns) else {
        return None;
    };
    let comma = if names.is_empty() { "" } else { ", " };
    Some((end, format!("{comma}{}", super::edit::quoted(column))))
}

/// ER_AUTOINC_READ_FAILED
fn too_high(column: &str, definition: &str) -> Refusal {
    Refusal {
        code: 1467,
        state: *b"HY000",
        message: format!(
            "the next id is too large for column {column} ({definition}): make it BIGINT"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::World;
    use super::super::{Plan, Planned, Value};

    fn parts(world: &World, sql: &str, values: Option<&[Value]>) -> Vec<(String, Vec<u16>)> {
        match world.plan_with(sql, values) {
            Ok(Planned::Plan(Plan::Fanout(fanout))) => {
                let part = |p: &super::super::Part| {
                    (
                        String::from_utf8_lossy(&p.sql).into_owned(),
                        p.parameters.clone(),
                    )
                };
                fanout.parts.iter().map(part).collect()
            }
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn rows_without_an_id_get_one_in_every_spelling() {
        let world = World::new();
        // the world's first id is 7001; tickets are sharded by id, mod 2
        for (sql, expected) in [
            (
                "INSERT INTO tickets (what) VALUES ('a'), ('b')",
                [
                    "INSERT INTO `tickets_0` (what, `id`) VALUES ('b', 7002)",
                    "INSERT INTO `tickets_1` (what, `id`) VALUES ('a', 7001)",
                ],
            ),
            (
                "INSERT INTO tickets VALUES (NULL, 'a'), (0, 'b'), (DEFAULT, 'c')",
                [
                    "INSERT INTO `tickets_0` VALUES (7002, 'b')",
                    "INSERT INTO `tickets_1` VALUES (7001, 'a'), (7003, 'c')",
                ],
            ),
            (
                "INSERT INTO tickets (id, what) VALUES (4, 'own'), (NULL, 'x')",
                [
                    "INSERT INTO `tickets_0` (id, what) VALUES (4, 'own')",
                    "INSERT INTO `tickets_1` (id, what) VALUES (7001, 'x')",
                ],
            ),
        ] {
            let found: Vec<String> = parts(&world, sql, None).into_iter().map(|p| p.0).collect();
            assert_eq!(found, expected, "{sql}");
        }
        let one = |sql: &str| parts(&world, sql, None).remove(0).0;
        assert_eq!(
            one("INSERT INTO tickets SET what = 'a'"),
            "INSERT INTO `tickets_1` SET what = 'a', `id` = 7001"
        );
        assert_eq!(
            one("INSERT INTO tickets () VALUES ()"),
            "INSERT INTO `tickets_1` (`id`) VALUES (7001)"
        );
    }

    #[test]
    fn an_execute_binds_its_ids_behind_its_own_values() {
        let world = World::new();
        let values = [
            Value::Null,
            Value::Bytes(b"x".to_vec()),
            Value::Bytes(b"y".to_vec()),
        ];
        let sql = "INSERT INTO tickets (id, what) VALUES (?, ?), (NULL, ?)";
        let found = parts(&world, sql, Some(&values));
        let (even, odd) = (&found[0], &found[1]);
        assert_eq!(odd.0, "INSERT INTO `tickets_1` (id, what) VALUES (?, ?)");
        assert_eq!(odd.1, [3, 1]);
        assert_eq!(even.1, [4, 2]);
    }

    #[test]
    fn what_may_or_may_not_be_an_id_is_refused() {
        let world = World::new();
        for sql in [
            "INSERT INTO tickets (id, what) VALUES (1 + 1, 'a')",
            "INSERT INTO tickets (id, what) VALUES (f(), 'a')",
            "INSERT INTO tickets VALUES ()",
        ] {
            assert!(world.plan(sql).is_err(), "{sql}");
        }
    }
}
