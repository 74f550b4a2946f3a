//! A plan in words, for EXPLAIN ROUTE and the golden cases.
use super::request::Planned;
use super::types::{
    Aggregate, Answer, Column, Compare, Fanout, Gather, Merge, Part, Plan, SortKey,
};
use std::fmt::Write;

/// Rows of "what" and "value". `group` names a group by its place in the snapshot.
pub fn explain(planned: &Planned, group: &dyn Fn(usize) -> String) -> Vec<(String, String)> {
    let mut rows = Rows {
        rows: Vec::new(),
        group,
    };
    match planned {
        Planned::Whole { group: at } => {
            rows.add(
                "plan",
                "whole: no sharded table is named, the statement passes through unparsed",
            );
            rows.add("group", group(*at));
        }
        Planned::Needs {
            schema,
            table,
            group: at,
            ..
        } => {
            rows.add(
                "plan",
                format!("not yet: the columns of {schema}.{table} are asked for first"),
            );
            rows.add("group", group(*at));
        }
        Planned::NeedsIds {
            schema,
            table,
            column,
            count,
            ..
        } => {
            rows.add(
                "plan",
                format!("not yet: {count} ids for {schema}.{table}.{column} are taken first"),
            );
        }
        Planned::Plan(Plan::Single(part)) => {
            rows.add("plan", "single: one shard's answer is the client's");
            rows.part(part);
        }
        Planned::Plan(Plan::Fanout(fanout)) => rows.fanout(fanout),
        Planned::Plan(Plan::Gather(gather)) => rows.gather(gather),
        Planned::Plan(Plan::Shown(shown)) => {
            rows.add("plan", "shown: one shard's answer, under the table's name");
            rows.part(&shown.part);
        }
        Planned::Plan(Plan::Definition(definition)) => {
            let what = "definition: one shard after the other, kept as a job that can be resumed";
            rows.add("plan", what);
            definition
                .parts
                .iter()
                .for_each(|step| rows.part(&step.part));
        }
    }
    rows.rows
}

struct Rows<'g> {
    rows: Vec<(String, String)>,
    group: &'g dyn Fn(usize) -> String,
}

impl Rows<'_> {
    fn add(&mut self, what: impl Into<String>, value: impl Into<String>) {
        self.rows.push((what.into(), value.into()));
    }

    fn part(&mut self, part: &Part) {
        let what = format!("shard {} on {}", part.shard, (self.group)(part.group));
        let mut sql = String::from_utf8_lossy(&part.sql).into_owned();
        if !part.parameters.is_empty() {
            // infallible: a String takes everything
            let _ = write!(sql, "  -- parameters {:?}", part.parameters);
        }
        self.add(what, sql);
    }

    fn fanout(&mut self, fanout: &Fanout) {
        let what = if fanout.writes {
            "fan-out, on primaries"
        } else {
            "fan-out"
        };
        self.add(
            "plan",
            format!("{what}: {} shards run at once", fanout.parts.len()),
        );
        for part in &fanout.parts {
            self.part(part);
        }
        match &fanout.answer {
            Answer::Affected | Answer::Inserted { .. } => {
                self.add("merge", "affected rows are added up")
            }
            Answer::AffectedOnce => {
                self.add("merge", "affected rows of one: the others are copies")
            }
            Answer::Rows(merge) => self.merge(merge),
        }
        if let (Some(first), Some(last)) = (fanout.ids.first(), fanout.ids.last()) {
            self.add(
                "ids",
                format!("{first} to {last}, of Umpire's own counting"),
            );
        }
    }

    fn merge(&mut self, merge: &Merge) {
        if let Some(group) = &merge.group {
            let by = if group.keys.is_empty() {
                "all rows".into()
            } else {
                keys(&group.keys)
            };
            self.add("merge: group", by);
            for (column, aggregate) in &group.aggregates {
                self.add(
                    "merge: aggregate",
                    format!("{} {}", column_name(*column), aggregate_name(aggregate)),
                );
            }
        }
        if merge.distinct {
            self.add("merge: distinct", "rows equal in all keys are one");
        }
        if !merge.order.is_empty() {
            self.add("merge: order", keys(&merge.order));
        } else if merge.group.is_none() {
            self.add("merge", "rows as they come");
        }
        if let Some(limit) = merge.limit {
            self.add(
                "merge: limit",
                format!("{limit} rows from {}", merge.offset),
            );
        }
        if merge.hidden > 0 {
            self.add(
                "merge: hidden",
                format!("the last {} columns are left out", merge.hidden),
            );
        }
    }

    fn gather(&mut self, gather: &Gather) {
        let group = (self.group)(gather.group);
        self.add(
            "plan",
            format!("gather: rows are copied to {group}, which runs the statement over them"),
        );
        for table in &gather.tables {
            self.add(
                format!("copied to {}", table.name),
                String::from_utf8_lossy(&table.create),
            );
            for part in &table.parts {
                self.part(part);
            }
        }
        let sql = String::from_utf8_lossy(&gather.sql).into_owned();
        self.add(format!("then on {group}"), sql);
    }
}

fn keys(keys: &[SortKey]) -> String {
    let key = |key: &SortKey| {
        let how = match key.compare {
            Compare::Number => "number",
            Compare::Time => "time",
            Compare::Bytes => "bytes",
            Compare::Padded(_) => "bytes, padded",
        };
        let order = if key.descending { " desc" } else { "" };
        format!("{} ({how}){order}", column_name(key.column))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn column_name(column: Column) -> String {
    match column {
        Column::Visible(at) => format!("column {}", at + 1),
        Column::Hidden(at) => format!("hidden {}", at + 1),
    }
}

fn aggregate_name(aggregate: &Aggregate) -> String {
    match aggregate {
        Aggregate::Sum => "summed up".into(),
        Aggregate::Min { by } => format!("least by {}", keys(&[*by])),
        Aggregate::Max { by } => format!("greatest by {}", keys(&[*by])),
        Aggregate::Average { sum, count } => {
            format!("{} / {}", column_name(*sum), column_name(*count))
        }
        Aggregate::BitAnd => "AND of the bits".into(),
        Aggregate::BitOr => "OR of the bits".into(),
        Aggregate::BitXor => "XOR of the bits".into(),
    }
}
