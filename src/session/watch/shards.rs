//! Statements on sharded tables: which shards they ran on.
use super::{Ended, Watch, SHARDS};
use crate::plan::Part;
use crate::session::Session;
use crate::topology::Snapshot;
use std::fmt::Write;

impl Watch {
    fn note_shard(&mut self, snapshot: &Snapshot, group: usize, shard: usize) {
        let group = snapshot.groups.get(group).map_or("?", |g| &g.name);
        let start = self.shards.len();
        if start > 0 {
            self.shards.push(' ');
        }
        let name = self.shards.len();
        // a name with a space would be read as two
        let letter = |c: char| if c.is_whitespace() { '_' } else { c };
        self.shards.extend(group.chars().map(letter));
        // a String takes all that is written into it
        let _ = write!(self.shards, "/{shard}");
        let (known, new) = self.shards.split_at(name);
        if self.shards.len() > SHARDS || known.split(' ').any(|known| known == new) {
            self.shards.truncate(start);
        }
    }
}

impl Session {
    /// The statement runs on these shards, too.
    pub(in crate::session) fn watch_shards(&mut self, parts: &[Part]) {
        let Some(watch) = self.watch.as_mut() else {
            return;
        };
        let snapshot = self.shared.snapshot();
        for part in parts {
            watch.note_shard(&snapshot, part.group, part.shard);
        }
    }

    /// The same of one.
    #[inline]
    pub(in crate::session) fn watch_shard(&mut self, group: usize, shard: usize) {
        if let Some(watch) = self.watch.as_mut() {
            watch.note_shard(&self.shared.snapshot(), group, shard);
        }
    }

    /// Several shards have answered.
    pub(in crate::session) fn watch_several(&mut self, rows: u64, bytes: u64, error: u16) {
        if let Some(watch) = self.watch.as_mut() {
            watch.end = Ended {
                rows,
                bytes,
                error,
                server: None,
                several: true,
            };
        }
    }

    /// The server that answered has put the rows of several shards together.
    pub(in crate::session) fn watch_gathered(&mut self) {
        if let Some(watch) = self.watch.as_mut() {
            (watch.end.server, watch.end.several) = (None, true);
        }
    }
}
