//! Ids for AUTO_INCREMENT columns of tables on several servers: each worker has a block of a table's ids, which the store
//! keeps as given out before the worker hears of it.
use super::explain::ask_directly;
use super::reply::Told;
use crate::coordination::Ask;
use crate::net;
use crate::session::shared::Shared;
use crate::session::Session;
use crate::topology::shards::{Ids, Kind};
use crate::topology::ShardMap;
use crate::wire::error;
use crate::wire::row::walk_text;
use ahash::AHashMap;
use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Ids of one block, at least.
const BLOCK: u64 = 1000;
/// Snowflake ids follow the time of day this closely.
const FRESH: Duration = Duration::from_secs(1);
/// 2020-01-01 in milliseconds since 1970.
const SNOWFLAKE_EPOCH: u64 = 1_577_836_800_000;
const SNOWFLAKE_SHIFT: u32 = 22;

/// The blocks of one worker, by table.
#[derive(Default)]
pub struct KnownIds(RefCell<AHashMap<Box<str>, Block>>);

struct Block {
    next: u64,
    end: u64,
    since: Instant,
    ids: Ids,
}

impl KnownIds {
    /// `count` ids in a row, all above `above`; the first. None: the store has to be asked.
    pub fn take(&self, table: &str, count: u64, above: u64, now: Instant) -> Option<u64> {
        let mut blocks = self.0.borrow_mut();
        let block = blocks.get_mut(table)?;
        let stale = block.ids == Ids::Snowflake
            && now.saturating_duration_since(block.since) > FRESH
            && count > 0;
        // an id that a row brought is left out, with those before it
        let first = block.next.max(above.checked_add(1)?);
        let next = first.checked_add(count)?;
        if stale || next > block.end || above >= block.end {
            return None;
        }
        block.next = next;
        Some(first)
    }

    fn put(&self, table: &str, first: u64, count: u64, ids: Ids, now: Instant) {
        let block = Block {
            next: first,
            end: first.saturating_add(count),
            since: now,
            ids,
        };
        self.0.borrow_mut().insert(table.into(), block);
    }
}

/// Ids that a plan is short of.
pub(super) struct Wanted<'a> {
    pub schema: &'a str,
    pub table: &'a str,
    pub column: &'a str,
    pub count: u64,
    pub above: u64,
}

impl Session {
    /// Gets a block of ids from the store. The first of a table begins above the ids that its rows have.
    pub(super) async fn fetch_ids(
        &mut self,
        map: &ShardMap,
        wanted: &Wanted<'_>,
    ) -> Result<(), Told> {
        let found = map.find(wanted.schema, wanted.table);
        let Some(table) = found.and_then(|(at, _)| map.table(at)) else {
            return Err(error::own("the table's rule has changed: try again").into());
        };
        let name = table.shown();
        let count = wanted.count.max(BLOCK);
        let floor = match table.ids {
            Ids::Snowflake => Some(time_of_day()),
            Ids::Sequence | Ids::Server => None,
        };
        let mut first = ask(&self.shared, &name, count, floor).await?;
        if first.is_none() {
            let highest = self.highest_id(&table.kind, wanted.column).await?;
            let floor = highest.max(wanted.above).saturating_add(1);
            first = ask(&self.shared, &name, count, Some(floor)).await?;
        }
        if first.is_some_and(|first| first <= wanted.above) {
            let floor = wanted.above.saturating_add(1);
            first = ask(&self.shared, &name, count, Some(floor)).await?;
        }
        let Some(first) = first else {
            return Err(error::own("the store gave no ids").into());
        };
        self.shared
            .ids
            .put(&name, first, count, table.ids, net::now());
        Ok(())
    }

    /// The greatest id that any row of the table has now.
    async fn highest_id(&self, kind: &Kind, column: &str) -> Result<u64, Told> {
        let shards = match kind {
            Kind::Sharded(sharding) => &sharding.shards,
            Kind::Broadcast(copies) => copies,
            Kind::Placed(_) => return Ok(0),
        };
        let snapshot = self.shared.snapshot();
        let mut highest = 0;
        for shard in shards {
            let sql = format!(
                "SELECT MAX(`{column}`) FROM `{}`.`{}` LIMIT 1",
                shard.schema, shard.table
            );
            let asked =
                ask_directly(&self.shared, &snapshot, &self.account, shard.group, &sql).await;
            let answer = asked.map_err(|why| error::own(&why))?;
            let row = answer.rows.first().map(Vec::as_slice).unwrap_or_default();
            let mut spans = Vec::new();
            let read = walk_text(row, 1, &mut spans);
            let text = read.ok().and_then(|()| spans.first()?.of(row));
            let value = text.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            highest = highest.max(value.unwrap_or(0));
        }
        Ok(highest)
    }
}

async fn ask(
    shared: &Shared,
    table: &str,
    count: u64,
    floor: Option<u64>,
) -> Result<Option<u64>, Told> {
    let asked = shared.ask_store(|reply| Ask::Ids {
        table: table.to_owned(),
        count,
        floor,
        reply,
    });
    asked.await.map_err(|why| error::own(&why).into())
}

/// The least snowflake id of this moment.
fn time_of_day() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis() as u64);
    millis.saturating_sub(SNOWFLAKE_EPOCH) << SNOWFLAKE_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_given_out_once_and_above_what_rows_brought() {
        let (ids, now) = (KnownIds::default(), net::now());
        assert_eq!(ids.take("t", 1, 0, now), None);
        ids.put("t", 100, 10, Ids::Sequence, now);
        assert_eq!(ids.take("t", 3, 0, now), Some(100));
        assert_eq!(ids.take("t", 0, 50, now), Some(103), "nothing is taken");
        assert_eq!(ids.take("t", 0, 103, now), Some(104), "103 is left out");
        assert_eq!(ids.take("t", 1, 104, now), Some(105), "104 is left out");
        assert_eq!(ids.take("t", 5, 0, now), None, "too few are left");
        assert_eq!(ids.take("t", 4, 0, now), Some(106));
        assert_eq!(ids.take("t", 1, 0, now), None);
        assert_eq!(
            ids.take("t", 0, 109, now),
            Some(110),
            "nothing is left, and nothing is taken"
        );
        ids.put("s", 1 << 40, 10, Ids::Snowflake, now);
        assert_eq!(ids.take("s", 1, 0, now + FRESH), Some(1 << 40));
        assert_eq!(
            ids.take("s", 1, 0, now + 2 * FRESH),
            None,
            "of another time"
        );
    }
}
