//! What ORDER BY and GROUP BY name: positions, aliases, expressions.
use super::Work;
use crate::plan::ast::{Expr, ExprKind, Item};

impl<'b> Work<'b, '_> {
    /// What an ORDER BY names: a position, an alias, or the expression itself; with the result's column.
    pub(super) fn ordered(&self, expr: &'b Expr) -> Option<(&'b Expr, Option<usize>)> {
        let items = &self.select.items;
        if let ExprKind::Number = expr.kind {
            let position = usize::try_from(self.bound.literals.count(expr)?)
                .ok()?
                .checked_sub(1)?;
            if items
                .iter()
                .take(position + 1)
                .any(|item| item.expr.is_none())
            {
                return None;
            }
            return Some((items.get(position)?.expr.as_ref()?, Some(position)));
        }
        if matches!(
            expr.kind,
            ExprKind::Parameter(_) | ExprKind::Text | ExprKind::Null
        ) {
            return None;
        }
        if let Some(at) = self.aliased(expr) {
            return Some((items.get(at)?.expr.as_ref()?, Some(at)));
        }
        // an alias inside an expression is not looked through
        if self.mentions_alias(expr) {
            return None;
        }
        let same = items
            .iter()
            .position(|item| item.expr.as_ref().is_some_and(|e| self.same(e, expr)));
        Some((expr, same))
    }

    /// What a GROUP BY names: columns come before aliases here.
    pub(super) fn grouped(&self, expr: &'b Expr) -> Option<&'b Expr> {
        if let ExprKind::Column(column) = &expr.kind {
            let is_column = self.bound.owner(column, self.select.block).is_some();
            return match self.aliased(expr).filter(|_| !is_column) {
                Some(at) => self.select.items.get(at)?.expr.as_ref(),
                None => Some(expr),
            };
        }
        if matches!(expr.kind, ExprKind::Number) {
            return self.ordered(expr).map(|(expr, _)| expr);
        }
        (!matches!(expr.kind, ExprKind::Parameter(_) | ExprKind::Text)
            && !self.mentions_alias(expr))
        .then_some(expr)
    }

    pub(super) fn aliased(&self, expr: &Expr) -> Option<usize> {
        let ExprKind::Column(column) = &expr.kind else {
            return None;
        };
        if column.table.is_some() {
            return None;
        }
        let is = |item: &Item| {
            item.alias
                .as_deref()
                .is_some_and(|a| a.eq_ignore_ascii_case(&column.name))
        };
        self.select.items.iter().position(is)
    }

    fn mentions_alias(&self, expr: &Expr) -> bool {
        let mut found = false;
        if matches!(expr.kind, ExprKind::Column(_)) {
            return false;
        }
        expr.walk(&mut |e| found |= self.aliased(e).is_some(), &mut |_| {});
        found
    }

    /// The same column, or the same text.
    pub(super) fn same(&self, a: &Expr, b: &Expr) -> bool {
        let block = self.select.block;
        if let (ExprKind::Column(a), ExprKind::Column(b)) = (&a.kind, &b.kind) {
            let owners = (self.bound.owner(a, block), self.bound.owner(b, block));
            return a.name.eq_ignore_ascii_case(&b.name)
                && owners.0.is_some()
                && owners.0 == owners.1;
        }
        let has_parameter = |e: &Expr| {
            self.bound
                .parsed
                .parameters
                .iter()
                .any(|p| e.span.0 <= p.0 && p.1 <= e.span.1)
        };
        self.bound.literals.text(a.span) == self.bound.literals.text(b.span) && !has_parameter(a)
    }
}
