//! One condition → the shards where it can hold.
use super::{Shards, Walk};
use crate::plan::ast::{Comparison, Expr, ExprKind};
use crate::plan::literal::Literal;
use crate::topology::shards::{Key, Sharding};

impl Walk<'_, '_> {
    /// The shards of `table` where this condition can hold; none: any.
    pub(super) fn shards_of(
        &self,
        expr: &Expr,
        block: usize,
        table: usize,
        sharding: &Sharding,
    ) -> Shards {
        let is_key = |e: &Expr| self.bound.key_owner(e, block) == Some(table);
        let kind = self.bound.key_kind(table)?;
        let key = |e: &Expr| self.bound.literals.key(e, kind, false);
        match &expr.kind {
            ExprKind::And(list) => {
                let mut all = None;
                for found in list
                    .iter()
                    .filter_map(|e| self.shards_of(e, block, table, sharding))
                {
                    narrow(&mut all, &found);
                }
                all
            }
            ExprKind::Or(list) => {
                let mut any = Vec::new();
                for e in list {
                    any.extend(self.shards_of(e, block, table, sharding)?);
                }
                Some(in_order(any))
            }
            ExprKind::Compare(comparison, a, b) => {
                let (comparison, other) = if is_key(a) {
                    (*comparison, b)
                } else if is_key(b) {
                    (turned(*comparison), a)
                } else {
                    return None;
                };
                let value = key(other);
                match comparison {
                    Comparison::Equal | Comparison::NullSafe => self.note(other, table, &value),
                    _ => self.bound.seen.vary(),
                }
                compared(sharding, comparison, &value)
            }
            ExprKind::In {
                value,
                list,
                negated: false,
            } if is_key(value) => {
                let mut any = Vec::new();
                for e in list {
                    let found = key(e);
                    self.note(e, table, &found);
                    match found {
                        Literal::Key(key) => any.extend(sharding.locate(&key)),
                        Literal::Null => {}
                        Literal::Unknown => return None,
                    }
                }
                Some(in_order(any))
            }
            ExprKind::Between {
                value,
                low,
                high,
                negated: false,
            } if is_key(value) => {
                self.bound.seen.vary();
                match (key(low), key(high)) {
                    (Literal::Key(low), Literal::Key(high)) => {
                        sharding.between(Some(&low), Some(&high))
                    }
                    (Literal::Key(low), Literal::Unknown) => sharding.between(Some(&low), None),
                    (Literal::Unknown, Literal::Key(high)) => sharding.between(None, Some(&high)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn note(&self, expr: &Expr, table: usize, found: &Literal) {
        self.bound.note(expr, table, found, false);
    }
}

fn compared(sharding: &Sharding, comparison: Comparison, value: &Literal) -> Shards {
    let key: &Key = match value {
        Literal::Key(key) => key,
        // nothing equals NULL
        Literal::Null if comparison != Comparison::NullSafe => return Some(Vec::new()),
        Literal::Null | Literal::Unknown => return None,
    };
    match comparison {
        Comparison::Equal | Comparison::NullSafe => {
            Some(sharding.locate(key).into_iter().collect())
        }
        Comparison::Less | Comparison::LessEqual => sharding.between(None, Some(key)),
        Comparison::Greater | Comparison::GreaterEqual => sharding.between(Some(key), None),
        Comparison::Different => None,
    }
}

/// `5 < key` is `key > 5`.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        same => same,
    }
}

pub(super) fn narrow(shards: &mut Shards, to: &[usize]) {
    *shards = Some(match shards.take() {
        Some(old) => old.into_iter().filter(|at| to.contains(at)).collect(),
        None => to.to_vec(),
    });
}

fn in_order(mut shards: Vec<usize>) -> Vec<usize> {
    shards.sort_unstable();
    shards.dedup();
    shards
}
