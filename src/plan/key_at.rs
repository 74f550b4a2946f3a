//! Where a kept statement has its keys, and which shard they lead to.
use super::columns::Kind;
use super::literal::{Literal, Reader};
use super::template::Hole;
use crate::topology::ShardMap;

/// A literal or parameter that decides the shard.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeyAt {
    pub value: At,
    pub negative: bool,
    pub stored: bool,
    /// Place in the shard map.
    pub rule: usize,
    /// Of the key's column.
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum At {
    Hole(usize),
    Parameter(u16),
}

impl KeyAt {
    pub fn shard(&self, map: &ShardMap, reader: &Reader<'_>, holes: &[Hole]) -> Option<usize> {
        let found = match self.value {
            At::Parameter(at) => reader.parameter(at, &self.kind, self.stored),
            At::Hole(at) => {
                let hole = holes.get(at)?;
                match hole.is_string {
                    true => reader.string(hole.span, &self.kind),
                    false => reader.number(hole.span, self.negative, &self.kind, self.stored),
                }
            }
        };
        self.shard_of(map, &found)
    }

    pub fn shard_of(&self, map: &ShardMap, found: &Literal) -> Option<usize> {
        match found {
            Literal::Key(key) => map.sharding(self.rule)?.locate(key),
            Literal::Null | Literal::Unknown => None,
        }
    }
}

/// The one shard that all keys lead to.
pub(super) fn one_shard(
    keys: &[KeyAt],
    mut shard: impl FnMut(&KeyAt) -> Option<usize>,
) -> Option<usize> {
    let mut one = None;
    for key in keys {
        let at = shard(key)?;
        if *one.get_or_insert(at) != at {
            return None;
        }
    }
    one
}
