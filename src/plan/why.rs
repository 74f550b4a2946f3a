//! The reasons behind a plan, in words: which shards each table's conditions leave, what the shards do themselves, and
//! why the rest is done elsewhere.
use super::ast::{Insert, Query, Source, Statement, Term};
use super::bind::{Bound, Place};
use super::locate::{locate, Located};
use super::parse::parse;
use super::request::Request;
use crate::topology::shards::{Method, Sharding};

/// Rows of "what" and "value" that go in front of [`super::explain`]'s. Empty where the statement names no table with a
/// rule, or cannot be planned: the refusal has its own reason.
pub fn reasons(request: &Request<'_>, group: &dyn Fn(usize) -> String) -> Vec<(String, String)> {
    let Ok(parsed) = parse(request.sql, request.dialect) else {
        return Vec::new();
    };
    let Ok(mut bound) = Bound::new(request, &parsed) else {
        return Vec::new();
    };
    if bound.is_whole() || bound.learn().is_err() {
        return Vec::new();
    }
    let located = locate(&bound);
    let mut rows: Vec<(String, String)> = (0..bound.places.len())
        .filter_map(|at| Some(("table".into(), bound.about_table(at, &located, group)?)))
        .collect();
    if let Statement::Select(query) = &parsed.statement {
        if bound.pinned(&located, Vec::new()).is_none() && bound.sharded().next().is_some() {
            bound.why_merged(query, &located, &mut rows);
        }
    }
    rows
}

impl Bound<'_> {
    fn about_table(
        &self,
        at: usize,
        located: &Located,
        group: &dyn Fn(usize) -> String,
    ) -> Option<String> {
        let table = self.table(at).filter(|t| !t.is_target)?;
        Some(match self.places.get(at)? {
            Place::Group(of) => format!("{} is whole, on {}", table.name, group(*of)),
            Place::Broadcast(_) => {
                let copies = self.copies(at)?.len();
                format!(
                    "{} is broadcast: the same rows on {copies} groups",
                    table.name
                )
            }
            Place::Sharded(_) => {
                let sharding = self.sharding(at)?;
                let count = sharding.shards.len();
                let wanted = match (&self.parsed.statement, located.shards.get(at)?) {
                    (Statement::Insert(insert), _) => rows_of(insert),
                    (_, None) => format!("no condition on {} leaves any out", sharding.key),
                    (_, Some(left)) => format!("conditions on {} leave {left:?}", sharding.key),
                };
                format!(
                    "{}: {} of {} over {count} shards; {wanted}",
                    table.label(),
                    method(sharding),
                    sharding.key
                )
            }
        })
    }

    /// What each shard does, what the merge does, or why neither will do.
    fn why_merged(&self, query: &Query, located: &Located, rows: &mut Vec<(String, String)>) {
        let mut add = |what: &str, value: String| rows.push((what.into(), value));
        if let Some(why) = self.why_gathered(query, located) {
            return add("why gathered", why.into());
        }
        let (Some(simple), [Term::Select(select)]) = (self.simple(query), query.parts.as_slice())
        else {
            return;
        };
        let mut pushed = Vec::new();
        let mut push = |is: bool, what: &str| pushed.extend(is.then(|| what.to_owned()));
        push(select.filter.is_some(), "WHERE");
        push(self.places.len() > 1, "joins (equal keys are in one shard)");
        push(select.distinct, "DISTINCT");
        push(
            !select.group.is_empty(),
            "GROUP BY, to one row a group and shard",
        );
        push(
            simple.merge.group.is_some(),
            "aggregates, of a shard's own rows",
        );
        push(
            !query.order.is_empty() || simple.order.is_some(),
            "ORDER BY",
        );
        if let Some(limit) = simple.limit {
            pushed.push(format!("LIMIT {limit}"));
        }
        if pushed.is_empty() {
            pushed.push("the whole statement".into());
        }
        add("pushed down", pushed.join("; "));
        if query.limit.is_some() && simple.limit.is_none() {
            let why = "LIMIT stays with the merge: which groups come first is known only when all shards' are together";
            add("not pushed down", why.into());
        }
    }

    /// Why only one server with all rows can answer; none: the merge can.
    fn why_gathered(&self, query: &Query, located: &Located) -> Option<&'static str> {
        let [Term::Select(select)] = query.parts.as_slice() else {
            return Some("UNION and its kin put rows of several queries together");
        };
        if query.with {
            return Some("WITH: its rows may come from every shard");
        }
        if select.derived {
            return Some("a derived table: its rows may come from every shard");
        }
        if !located.is_local {
            return Some("its sharded tables are not tied by equal keys, so that their rows may be in different shards");
        }
        if self.simple(query).is_none() {
            return Some(self.why_not_merged(query, select));
        }
        let everywhere = self.shards_are_complete(located);
        (!everywhere).then_some("it names a table that is not on every shard's group")
    }

    fn why_not_merged(&self, query: &Query, select: &super::ast::Select) -> &'static str {
        if select.windows {
            return "window functions need all rows in one place";
        }
        if select.having.is_some() {
            return "HAVING looks at whole groups, whose rows are in several shards";
        }
        if select.odd_group {
            return "GROUP BY with a modifier (ROLLUP) or by what is no plain expression";
        }
        if select.distinct && !select.group.is_empty() {
            return "DISTINCT over groups";
        }
        if query.limit.is_some() && select.group.is_empty() && query.order.is_empty() {
            return "a LIMIT that is no literal, or values that only a server can put together";
        }
        "an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an \
         expression over aggregates, a long text, FLOAT)"
    }
}

fn rows_of(insert: &Insert) -> String {
    match &insert.source {
        Source::Rows(rows) => format!("{} rows, each to the shard of its key", rows.len()),
        Source::Set(_) => "one row, to the shard of its key".into(),
        Source::Query(_) => "rows of a query".into(),
    }
}

fn method(sharding: &Sharding) -> &'static str {
    match sharding.method {
        Method::Hash => "hash",
        Method::Mod => "mod",
        Method::Jump => "jump",
        Method::Range(_) => "range",
        Method::List { .. } => "list",
        Method::Date { .. } => "date",
    }
}
