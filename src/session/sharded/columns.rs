//! What the planner asks of a table, and is told.
use super::reply::Told;
use super::used::Used;
use crate::plan::Columns;
use crate::relay::Command;
use crate::scatter::{Failure, Scatter};
use crate::session::commands::NEUTRAL;
use crate::session::lease::Attempt;
use crate::session::Session;
use crate::sniff::{Access, Sniffed};
use crate::topology::ShardMap;
use crate::wire::error;
use crate::wire::row::{walk_text, Span};
use ahash::AHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A column that was added elsewhere is known after this long at the latest.
const KEPT: Duration = Duration::from_secs(30);
/// Bytes of an answer.
const LONGEST: usize = 4 << 20;
/// Tables whose columns are kept.
const MOST: usize = 4096;

/// Columns of tables, by logical schema and name. Per worker.
#[derive(Default)]
pub struct KnownColumns(RefCell<Inner>);

#[derive(Default)]
struct Inner {
    /// Under which rules they were learnt.
    map: Option<Arc<ShardMap>>,
    tables: AHashMap<(String, String), (Instant, Rc<Columns>)>,
    /// When the first of them is to be learnt anew.
    expires: Option<Instant>,
    /// Counts the changes of all that.
    version: u64,
}

impl Inner {
    fn forget(&mut self) {
        self.tables.clear();
        self.expires = None;
        self.version += 1;
    }
}

impl KnownColumns {
    /// Another number whenever [`KnownColumns::get`] has another answer than before about a table that it knew.
    pub fn version(&self, map: &Arc<ShardMap>, now: Instant) -> u64 {
        let mut inner = self.0.borrow_mut();
        let same = inner.map.as_ref().is_some_and(|m| Arc::ptr_eq(m, map));
        let expired = |since: Instant| now >= since + KEPT;
        if !same {
            inner.map = Some(map.clone());
            inner.forget();
        } else if inner.expires.is_some_and(|at| now >= at) {
            inner.tables.retain(|_, (since, _)| !expired(*since));
            let oldest = inner.tables.values().map(|(since, _)| *since).min();
            inner.expires = oldest.map(|oldest| oldest + KEPT);
            inner.version += 1;
        }
        inner.version
    }

    pub fn get(
        &self,
        map: &Arc<ShardMap>,
        schema: &str,
        table: &str,
        now: Instant,
    ) -> Option<Rc<Columns>> {
        let inner = self.0.borrow();
        if !inner.map.as_ref().is_some_and(|m| Arc::ptr_eq(m, map)) {
            return None;
        }
        let (since, columns) = inner.tables.get(&(schema.to_owned(), table.to_owned()))?;
        (now.saturating_duration_since(*since) < KEPT).then(|| columns.clone())
    }

    pub(super) fn put(
        &self,
        map: &Arc<ShardMap>,
        table: (String, String),
        columns: Columns,
        now: Instant,
    ) {
        let mut inner = self.0.borrow_mut();
        let same = inner.map.as_ref().is_some_and(|m| Arc::ptr_eq(m, map));
        if !same || inner.tables.len() >= MOST {
            inner.map = Some(map.clone());
            inner.forget();
        }
        let old = inner.tables.insert(table, (now, Rc::new(columns)));
        inner.version += u64::from(old.is_some());
        inner.expires.get_or_insert(now + KEPT);
    }

    /// After DDL.
    pub fn forget(&self) {
        self.0.borrow_mut().forget();
    }
}

const QUESTION: Sniffed = Sniffed {
    access: Access::Read,
    ..NEUTRAL
};

impl Session {
    /// Asks a group for the columns of a table.
    pub(super) async fn learn_columns(
        &mut self,
        map: &Arc<ShardMap>,
        table: (String, String),
        group: &str,
        question: &str,
    ) -> Result<(), Told> {
        self.take_seat(Some(group));
        let lease = self.lease(&QUESTION, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        used.parts.push(0);
        self.write_state(&mut used)?;
        used.write_query(question.as_bytes());
        let answer = self.collect(&mut used, LONGEST).await;
        let end = self.give_back(used);
        let rows = match answer {
            Ok(collected) => collected.rows,
            Err(failure) => {
                end?;
                return Err(self.explain_failure(failure, &[]));
            }
        };
        end?;
        let mut spans = Vec::new();
        let columns = Columns::read(rows.iter().map(|row| texts(row, &mut spans)));
        let Some(columns) = columns else {
            let what = format!(
                "table {}.{} does not exist on group '{group}': create it there",
                table.0, table.1
            );
            return Err(Told::Error(error::own(&what)));
        };
        let now = crate::net::now();
        self.shared.columns.put(map, table, columns, now);
        Ok(())
    }

    /// Runs what is in `used` and reads all its rows.
    pub(super) async fn collect(
        &mut self,
        used: &mut Used,
        limit: usize,
    ) -> Result<crate::scatter::Collected, Failure> {
        let entry = self.entry.clone();
        let mut stop = |cx: &mut std::task::Context<'_>| entry.poll_stopped(cx);
        let branch = used.branch();
        let mut scatter = Scatter::new(vec![branch], Some(&self.client), &mut stop, limit);
        scatter.send();
        let outcome = scatter.collect(limit).await;
        if outcome.is_err() {
            scatter.quiesce(0, crate::net::now()).await;
        }
        let end = scatter.finish().pop().unwrap_or_default();
        used.end = end;
        outcome
    }
}

/// The eight values of a row; all NULL for one that is none.
pub(super) fn texts<'r>(row: &'r [u8], spans: &mut Vec<Span>) -> Vec<Option<&'r [u8]>> {
    const VALUES: usize = 8;
    match walk_text(row, VALUES, spans) {
        Ok(()) => spans.iter().map(|span| span.of(row)).collect(),
        Err(_) => vec![None; VALUES],
    }
}

/// COM_QUERY with another text, as the client's connection would have sent it.
pub(super) fn command_of(text: &[u8], attributes: bool) -> Command {
    use crate::wire::packet::{frame, HEADER, MAX_PAYLOAD};
    use crate::wire::query::NO_ATTRIBUTES;
    let head: &[u8] = if attributes { &NO_ATTRIBUTES } else { &[] };
    let length = 1 + head.len() + text.len();
    let mut out = Vec::with_capacity(length + HEADER);
    if length < MAX_PAYLOAD {
        out.extend_from_slice(&length.to_le_bytes()[..3]);
        out.extend_from_slice(&[0, crate::wire::command::QUERY]);
        out.extend_from_slice(head);
        out.extend_from_slice(text);
    } else {
        let payload = [&[crate::wire::command::QUERY], head, text].concat();
        frame(&payload, 0, &mut out);
    }
    Command {
        bytes: crate::net::Buf::from_vec(out),
        rest: 0,
        continued: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_changes_with_all_that_is_known() {
        let known = KnownColumns::default();
        let (map, other) = (Arc::new(ShardMap::default()), Arc::new(ShardMap::default()));
        let now = crate::net::now();
        let table = |name: &str| ("shop".to_owned(), name.to_owned());
        let columns = Columns { list: Vec::new() };
        let mut versions = vec![known.version(&map, now)];
        let mut note = |map: &Arc<ShardMap>, now: Instant| {
            let version = known.version(map, now);
            assert_eq!(known.version(map, now), version, "and not without");
            versions.push(version);
        };
        // learnt for the first time: nothing that was known is another now
        known.put(&map, table("a"), columns.clone(), now);
        known.put(&map, table("b"), columns.clone(), now + KEPT / 2);
        note(&map, now);
        known.put(&map, table("a"), columns.clone(), now);
        note(&map, now);
        note(&map, now + KEPT);
        assert!(known.get(&map, "shop", "a", now + KEPT).is_none());
        assert!(known.get(&map, "shop", "b", now + KEPT).is_some());
        note(&map, now + KEPT + KEPT / 2);
        known.forget();
        note(&map, now);
        note(&other, now);
        note(&map, now);
        versions.remove(0);
        let changed = versions.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(changed, "{versions:?}");
    }
}
