//! What a sharded table looks like: one shard's answer, with the table's own name in it.
use super::reply::Told;
use super::used::Used;
use super::Session;
use crate::plan::Shown;
use crate::scatter::{Failure, Output};
use crate::session::lease::Attempt;
use crate::sniff::Sniffed;
use crate::wire::capabilities::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA,
};
use crate::wire::column::encode_count;
use crate::wire::reply;
use crate::wire::row::{put_text, walk_text};

/// Bytes of an answer.
const LONGEST: usize = 16 << 20;

impl Session {
    pub(super) async fn show(&mut self, shown: &Shown, sniffed: &Sniffed) -> Result<(), Told> {
        let name = self.group_name(shown.part.group)?;
        self.take_seat(Some(&name));
        let lease = self.lease(sniffed, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        used.parts.push(0);
        self.write_state(&mut used)?;
        used.write_query(&shown.part.sql);
        let answer = self.collect(&mut used, LONGEST).await;
        self.give_back(used)?;
        self.note_single(name);
        let mut answer = answer.map_err(|failure| self.explain_failure(failure, &[]))?;
        let columns = answer.columns.pop().unwrap_or_default();
        let capabilities = self.capabilities;
        let mut out = Output::new(&self.client, usize::MAX);
        let flagged = capabilities & (OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA) != 0;
        out.packet(&encode_count(columns.len(), flagged));
        for column in &columns {
            out.packet(&column.encode(capabilities));
        }
        if capabilities & DEPRECATE_EOF == 0 {
            out.packet(&reply::eof(0, self.reply_status()));
        }
        let rows = answer.rows.iter();
        let renamed: Option<Vec<Vec<u8>>> =
            rows.map(|row| renamed(row, columns.len(), shown)).collect();
        let Some(rows) = renamed else {
            let what = "a row with other values than columns";
            return Err(self.explain_failure(Failure::Protocol { part: 0, what }, &[]));
        };
        rows.iter().for_each(|row| out.packet(row));
        self.tell_rows_end(0, &mut out);
        out.flush();
        Ok(())
    }
}

/// A row in which the shard's table has the table's name: as a whole value, and in CREATE TABLE.
fn renamed(row: &[u8], columns: usize, shown: &Shown) -> Option<Vec<u8>> {
    let mut spans = Vec::new();
    walk_text(row, columns, &mut spans).ok()?;
    let (was, is) = (shown.was.as_bytes(), shown.is.as_bytes());
    let create = |name: &[u8]| [b"CREATE TABLE `", name, b"`"].concat();
    let (created, creates) = (create(was), create(is));
    let mut out = Vec::with_capacity(row.len());
    for (at, span) in spans.iter().enumerate() {
        match span.of(row) {
            // the column of the table's name
            Some(value) if at == 0 && value == was => put_text(Some(is), &mut out),
            Some(value) if value.starts_with(&created) => {
                let rest = value.get(created.len()..)?;
                put_text(Some(&[&creates, rest].concat()), &mut out);
            }
            value => put_text(value, &mut out),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Part;

    #[test]
    fn a_shards_name_becomes_the_tables() {
        let shown = Shown {
            part: Part {
                group: 0,
                shard: 0,
                sql: Vec::new(),
                parameters: Vec::new(),
            },
            was: "t_0".into(),
            is: "t".into(),
        };
        let row = |values: &[Option<&str>]| {
            let mut row = Vec::new();
            values
                .iter()
                .for_each(|v| put_text(v.map(str::as_bytes), &mut row));
            row
        };
        let given = row(&[
            Some("t_0"),
            Some("CREATE TABLE `t_0` (`t_0` int)"),
            None,
            Some("t_0"),
        ]);
        let wanted = row(&[
            Some("t"),
            Some("CREATE TABLE `t` (`t_0` int)"),
            None,
            Some("t_0"),
        ]);
        assert_eq!(renamed(&given, 4, &shown), Some(wanted));
        assert_eq!(renamed(&given, 3, &shown), None);
    }
}
