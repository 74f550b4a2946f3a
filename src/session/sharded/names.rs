//! Columns of a result tell their table's own name, not the shard's: drivers write to the table that a column tells.
use super::Session;
use crate::net::Buf;
use crate::relay::{Head, Heading};
use crate::session::shared::Shared;
use crate::topology::shards::{ShardMap, Table};
use crate::wire::column::Column;
use crate::wire::renamed::{rename_tables, Names, Renamed};
use std::cell::Cell;
use std::rc::Rc;

/// What is needed to rename the tables of one group's reply. Per session, made when it is needed first.
pub struct OwnNames {
    of: Rc<Running>,
    /// The same, for the relay.
    heading: Rc<Box<dyn Heading>>,
}

struct Running {
    shared: Rc<Shared>,
    /// Of the running statement: the snapshot's epoch, the group's place in it, the server connection's capabilities.
    epoch: Cell<u64>,
    group: Cell<usize>,
    capabilities: Cell<u64>,
}

impl Session {
    /// Of the running statement, if it names tables as the shard of the group's seat has them.
    #[inline]
    pub(in crate::session) fn own_names(
        &mut self,
        capabilities: u64,
    ) -> Option<Rc<Box<dyn Heading>>> {
        if !self.names_shards {
            return None;
        }
        let snapshot = self.shared.snapshot();
        let group = self.group(&snapshot).ok()?.index;
        let names = self
            .entry
            .own_names
            .get_or_init(|| OwnNames::new(&self.shared));
        names.of.epoch.set(snapshot.epoch);
        names.of.group.set(group);
        names.of.capabilities.set(capabilities);
        Some(names.heading.clone())
    }
}

impl OwnNames {
    fn new(shared: &Rc<Shared>) -> Box<OwnNames> {
        let of = Rc::new(Running {
            shared: shared.clone(),
            epoch: Cell::default(),
            group: Cell::default(),
            capabilities: Cell::default(),
        });
        let heading: Box<dyn Heading> = Box::new(of.clone());
        Box::new(OwnNames {
            of,
            heading: Rc::new(heading),
        })
    }
}

impl Heading for Rc<Running> {
    fn head(&self, reply: &[u8]) -> Head {
        let snapshot = self.shared.snapshot();
        if snapshot.epoch != self.epoch.get() {
            return Head::AsIs;
        }
        let (map, group) = (&snapshot.shards, self.group.get());
        let named = |schema: &[u8], table: &[u8]| Some(names(map.renamed(group, schema, table)?));
        let mut out = self.shared.command.borrow_mut();
        out.clear();
        match rename_tables(reply, self.capabilities.get(), &named, &mut out) {
            Renamed::NeedMore => Head::NeedMore,
            Renamed::Same => Head::AsIs,
            Renamed::Written => Head::Instead(Buf::copy_from_slice(&out)),
        }
    }
}

fn names(table: &Table) -> Names<'_> {
    [&table.schema, &table.name]
}

/// The same of one column that a group has described.
pub(super) fn rename_column(map: &ShardMap, group: usize, column: &mut Column) {
    if let Some(table) = map.renamed(group, &column.schema, &column.org_table) {
        let [schema, name] = names(table);
        column.schema = schema.into();
        column.org_table = name.into();
    }
}
