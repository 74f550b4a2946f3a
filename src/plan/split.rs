//! `key IN (…)` with each shard's own values only.
use super::ast::{ExprKind, Query, Term};
use super::bind::Bound;
use super::edit::{Edit, Piece};
use super::literal::Literal;

impl Bound<'_> {
    /// The edits that leave a shard the values of its own in lists of keys which every row must be in. A list of which
    /// nothing would be left stays.
    pub fn split_lists(&self, query: &Query, shard: usize) -> Vec<Edit> {
        let [Term::Select(select)] = query.parts.as_slice() else {
            return Vec::new();
        };
        let conditions = select.filter.iter().flat_map(|filter| filter.conjuncts());
        conditions
            .filter_map(|expr| {
                let ExprKind::In {
                    value,
                    list,
                    negated: false,
                } = &expr.kind
                else {
                    return None;
                };
                let owner = self.key_owner(value, select.block)?;
                let (sharding, kind) = (self.sharding(owner)?, self.key_kind(owner)?);
                let mut own = Vec::new();
                for item in list {
                    match self.literals.key(item, kind, false) {
                        Literal::Key(key) if sharding.locate(&key) == Some(shard) => {
                            own.push(item.span)
                        }
                        Literal::Key(_) => {}
                        Literal::Null | Literal::Unknown => return None,
                    }
                }
                if own.is_empty() || own.len() == list.len() {
                    return None;
                }
                let mut with = Vec::new();
                for span in own {
                    if !with.is_empty() {
                        with.push(Piece::Text(", ".into()));
                    }
                    with.push(Piece::Copy(span));
                }
                let span = (list.first()?.span.0, list.last()?.span.1);
                Some(Edit { span, with })
            })
            .collect()
    }
}
