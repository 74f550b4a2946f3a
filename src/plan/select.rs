//! SELECT over several shards → what each runs and how the rows become one; none: only a server can answer.
mod names;
mod simple;

pub(super) use simple::Simple;

use super::ast::{Call, Expr, ExprKind, Item, Query, Select, Span, Term};
use super::bind::{is_aggregate, Bound};
use super::edit::Piece;
use super::shape::Shape;
use super::types::{Aggregate, Column, Compare, Grouping, Merge, SortKey};

/// What is known while the merge is worked out.
struct Work<'b, 'a> {
    bound: &'b Bound<'a>,
    select: &'b Select,
    query: &'b Query,
    hidden: Vec<Vec<Piece>>,
}

impl Bound<'_> {
    /// The merge of a query over several shards whose tables meet in each shard.
    pub fn simple(&self, query: &Query) -> Option<Simple> {
        let [Term::Select(select)] = query.parts.as_slice() else {
            return None;
        };
        if query.with
            || select.windows
            || select.derived
            || select.odd_group
            || select.having.is_some()
        {
            return None;
        }
        let limit = match &query.limit {
            None => None,
            Some(limit) => {
                let offset = limit
                    .offset
                    .as_ref()
                    .map_or(Some(0), |e| self.literals.count(e))?;
                Some((self.literals.count(&limit.count)?, offset))
            }
        };
        let mut work = Work {
            bound: self,
            select,
            query,
            hidden: Vec::new(),
        };
        let aggregates = work.has_aggregates();
        if work.has_odd_calls() {
            return None;
        }
        let (mut merge, order, pushes) =
            match (aggregates || !select.group.is_empty(), select.distinct) {
                (false, false) => work.rows()?,
                (false, true) => work.distinct()?,
                (true, false) => work.groups()?,
                (true, true) => return None,
            };
        merge.hidden = work.hidden.len();
        if let Some((count, offset)) = limit {
            (merge.limit, merge.offset) = (Some(count), offset);
        }
        let pushed = limit
            .filter(|_| pushes)
            .and_then(|(count, offset)| count.checked_add(offset));
        Some(Simple {
            hidden: work.hidden,
            merge,
            order,
            limit: pushed,
            behind_items: self.behind_items(select),
            items_end: select.items_end,
            tail: query.tail,
            order_span: query.order_span,
            limit_span: query.limit.as_ref().map(|limit| limit.span),
        })
    }
}

/// The merge, the parts' own ORDER BY if it is not the client's, and whether LIMIT can be pushed down.
type Worked = (Merge, Option<Vec<(Span, bool)>>, bool);

impl<'b> Work<'b, '_> {
    fn has_aggregates(&self) -> bool {
        let items = self
            .select
            .items
            .iter()
            .filter_map(|item| item.expr.as_ref());
        let order = self.query.order.iter().map(|item| &item.expr);
        items.chain(order).any(|e| any_call(e, &is_aggregate))
    }

    /// Window functions, and what counts rows outside of the result.
    fn has_odd_calls(&self) -> bool {
        let items = self
            .select
            .items
            .iter()
            .filter_map(|item| item.expr.as_ref());
        let order = self.query.order.iter().map(|item| &item.expr);
        items.chain(order).any(|e| any_call(e, &|call| call.over))
    }

    /// Plain rows, ordered or not.
    fn rows(&mut self) -> Option<Worked> {
        let mut merge = Merge::default();
        for item in &self.query.order {
            let (expr, visible) = self.ordered(&item.expr)?;
            merge.order.push(self.key(expr, visible, item.descending)?);
        }
        Some((merge, None, true))
    }

    /// Rows equal in all columns are one: ordered by all of them, the client's order first.
    fn distinct(&mut self) -> Option<Worked> {
        let select = self.select;
        let mut sequence: Vec<(usize, bool)> = Vec::new();
        for item in &self.query.order {
            let (_, visible) = self.ordered(&item.expr)?;
            let at = visible?;
            if sequence.iter().all(|(known, _)| *known != at) {
                sequence.push((at, item.descending));
            }
        }
        for at in 0..select.items.len() {
            if sequence.iter().all(|(known, _)| *known != at) {
                sequence.push((at, false));
            }
        }
        let mut merge = Merge {
            distinct: true,
            ..Merge::default()
        };
        let mut order = Vec::new();
        for (at, descending) in sequence {
            let expr = select.items.get(at)?.expr.as_ref()?;
            merge.order.push(self.key(expr, Some(at), descending)?);
            order.push((position_or_text(expr)?, descending));
        }
        Some((merge, Some(order), true))
    }

    /// GROUP BY and aggregates.
    fn groups(&mut self) -> Option<Worked> {
        let (select, query) = (self.select, self.query);
        if select.items.iter().any(|item| item.expr.is_none()) {
            return None;
        }
        let keys: Vec<&Expr> = select
            .group
            .iter()
            .map(|e| self.grouped(e))
            .collect::<Option<_>>()?;
        if keys.is_empty() && !query.order.is_empty() {
            return None;
        }
        let ordered: Vec<(&Expr, bool)> = query
            .order
            .iter()
            .map(|item| Some((self.ordered(&item.expr)?.0, item.descending)))
            .collect::<Option<_>>()?;
        let by_keys = ordered
            .iter()
            .all(|(e, _)| keys.iter().any(|key| self.same(e, key)));
        let mut sequence: Vec<(&Expr, bool)> = Vec::new();
        let wanted = ordered
            .iter()
            .filter(|_| by_keys)
            .copied()
            .chain(keys.iter().map(|key| (*key, false)));
        for (expr, descending) in wanted {
            if sequence.iter().all(|(known, _)| !self.same(known, expr)) {
                sequence.push((expr, descending));
            }
        }
        let mut grouping = Grouping::default();
        for (expr, descending) in &sequence {
            let visible = select
                .items
                .iter()
                .position(|i| i.expr.as_ref().is_some_and(|e| self.same(e, expr)));
            grouping.keys.push(self.key(expr, visible, *descending)?);
        }
        for (at, item) in select.items.iter().enumerate() {
            self.grouped_item(at, item, keys.is_empty(), &mut grouping)?;
        }
        let order = if by_keys {
            grouping
                .keys
                .iter()
                .take(ordered.len().min(grouping.keys.len()))
                .copied()
                .collect()
        } else {
            self.order_of_groups(&grouping)?
        };
        let order_by = (!sequence.is_empty())
            .then(|| {
                sequence
                    .iter()
                    .map(|(e, descending)| Some((position_or_text(e)?, *descending)))
                    .collect()
            })
            .map_or(Some(None), |keys: Option<Vec<_>>| keys.map(Some))?;
        let pushes = by_keys && !keys.is_empty();
        Some((
            Merge {
                group: Some(grouping),
                order,
                ..Merge::default()
            },
            order_by.or(Some(Vec::new())),
            pushes,
        ))
    }

    /// An order by aggregates: each must be a column of the result.
    fn order_of_groups(&mut self, grouping: &Grouping) -> Option<Vec<SortKey>> {
        let (select, query) = (self.select, self.query);
        let mut order = Vec::new();
        for item in &query.order {
            let (expr, visible) = self.ordered(&item.expr)?;
            let at = visible.or_else(|| {
                select
                    .items
                    .iter()
                    .position(|i| i.expr.as_ref().is_some_and(|e| self.same(e, expr)))
            })?;
            let is_number = matches!(&expr.kind, ExprKind::Call(call)
                if matches!(call.name.as_str(), "count" | "sum" | "avg" | "bit_and" | "bit_or" | "bit_xor"));
            if is_number {
                order.push(SortKey {
                    column: Column::Visible(at),
                    compare: Compare::Number,
                    descending: item.descending,
                });
                continue;
            }
            // a key of the grouping, or MIN and MAX by the same weights
            let by = grouping
                .aggregates
                .iter()
                .find_map(|(column, aggregate)| match aggregate {
                    Aggregate::Min { by } | Aggregate::Max { by }
                        if *column == Column::Visible(at) =>
                    {
                        Some(*by)
                    }
                    _ => None,
                });
            let mut key = match by {
                Some(by) => by,
                None => {
                    let is_key = select
                        .group
                        .iter()
                        .filter_map(|e| self.grouped(e))
                        .any(|key| self.same(key, expr));
                    if !is_key {
                        return None;
                    }
                    self.key(expr, Some(at), false)?
                }
            };
            key.descending = item.descending;
            order.push(key);
        }
        Some(order)
    }

    /// One column of a grouped result.
    fn grouped_item(
        &mut self,
        at: usize,
        item: &Item,
        one_group: bool,
        grouping: &mut Grouping,
    ) -> Option<()> {
        let expr = item.expr.as_ref()?;
        let column = Column::Visible(at);
        let ExprKind::Call(call) = &expr.kind else {
            return self.plain_item(expr, one_group);
        };
        if !is_aggregate(call) {
            return self.plain_item(expr, one_group);
        }
        if call.distinct
            || call.odd
            || call.qualified
            || call.args.iter().any(|e| any_call(e, &is_aggregate))
        {
            return None;
        }
        let aggregate = match call.name.as_str() {
            "count" | "sum" => Aggregate::Sum,
            "bit_and" => Aggregate::BitAnd,
            "bit_or" => Aggregate::BitOr,
            "bit_xor" => Aggregate::BitXor,
            "min" => Aggregate::Min {
                by: self.extreme(expr, call, column)?,
            },
            "max" => Aggregate::Max {
                by: self.extreme(expr, call, column)?,
            },
            "avg" => {
                let [arg] = call.args.as_slice() else {
                    return None;
                };
                let (sum, count) = (
                    self.hide("SUM(", arg.span, ")"),
                    self.hide("COUNT(", arg.span, ")"),
                );
                grouping.aggregates.push((sum, Aggregate::Sum));
                grouping.aggregates.push((count, Aggregate::Sum));
                Aggregate::Average { sum, count }
            }
            _ => return None,
        };
        grouping.aggregates.push((column, aggregate));
        Some(())
    }

    /// A column without aggregate: the same in all rows of a group, or any of its values.
    fn plain_item(&self, expr: &Expr, one_group: bool) -> Option<()> {
        let has_aggregate = any_call(expr, &is_aggregate);
        let literal = matches!(
            expr.kind,
            ExprKind::Number | ExprKind::Text | ExprKind::Null
        );
        // a shard without rows answers with NULL where another has a value
        (!has_aggregate && (!one_group || literal)).then_some(())
    }

    /// What decides which value is least.
    fn extreme(&mut self, expr: &Expr, call: &Call, column: Column) -> Option<SortKey> {
        let [arg] = call.args.as_slice() else {
            return None;
        };
        match self.bound.shape(arg, self.select.block)? {
            Shape::Value(compare) => Some(SortKey {
                column,
                compare,
                descending: false,
            }),
            Shape::Weight {
                before,
                behind,
                compare,
            } => {
                let column = self.hide(before, expr.span, &behind);
                Some(SortKey {
                    column,
                    compare,
                    descending: false,
                })
            }
            // as text, not by number
            Shape::Number => None,
        }
    }

    /// The key of an expression; `visible`: the column of the result that is the same.
    fn key(&mut self, expr: &Expr, visible: Option<usize>, descending: bool) -> Option<SortKey> {
        let is_first = |at: usize| {
            self.select
                .items
                .iter()
                .take(at + 1)
                .all(|item| item.expr.is_some())
        };
        let visible = visible.filter(|at| is_first(*at)).map(Column::Visible);
        let (column, compare) = match self.bound.shape(expr, self.select.block)? {
            Shape::Value(compare) => (
                visible.unwrap_or_else(|| self.hide("", expr.span, "")),
                compare,
            ),
            Shape::Weight {
                before,
                behind,
                compare,
            } => (self.hide(before, expr.span, &behind), compare),
            Shape::Number => (self.hide("", expr.span, " + 0"), Compare::Number),
        };
        Some(SortKey {
            column,
            compare,
            descending,
        })
    }

    fn hide(&mut self, before: &str, span: Span, behind: &str) -> Column {
        let pieces = vec![
            Piece::Text(before.into()),
            Piece::Copy(span),
            Piece::Text(behind.into()),
        ];
        self.hidden.push(pieces);
        Column::Hidden(self.hidden.len() - 1)
    }
}

/// The text of a key in the parts' own ORDER BY. A number alone would be a position there.
fn position_or_text(expr: &Expr) -> Option<Span> {
    (!matches!(
        expr.kind,
        ExprKind::Number | ExprKind::Text | ExprKind::Parameter(_)
    ))
    .then_some(expr.span)
}

/// Whether a call in the expression (not in its subqueries) is of this sort.
pub(super) fn any_call(expr: &Expr, sort: &dyn Fn(&Call) -> bool) -> bool {
    let mut found = false;
    expr.walk(
        &mut |e| found |= matches!(&e.kind, ExprKind::Call(call) if sort(call)),
        &mut |_| {},
    );
    found
}
