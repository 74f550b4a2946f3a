//! Which literals a plan was made from. Everything else of a plan follows from the statement's words alone, so that a
//! statement which differs in other literals only has the same plan ([`super::cache`]).
use super::ast::{Expr, ExprKind, Span};
use super::literal::Literal;
use std::cell::{Cell, RefCell};

/// A plan that looked at more literals than this is not kept.
const MOST: usize = 16;

/// A literal or parameter that was read as a key, and where it led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noted {
    /// Of the literal, without its sign.
    pub span: Span,
    pub parameter: Option<u16>,
    pub negative: bool,
    /// The mention whose key it is.
    pub table: usize,
    /// It becomes a row's value.
    pub stored: bool,
    pub shard: usize,
}

/// What one planning has looked at.
#[derive(Debug, Default)]
pub(super) struct Seen {
    keys: RefCell<Vec<Noted>>,
    /// The plan may be another for other literals.
    varies: Cell<bool>,
}

impl Seen {
    /// A literal decided in some other way than by the one shard of its key.
    pub fn vary(&self) {
        self.varies.set(true);
    }

    /// `expr` was compared for equality with the key of mention `table`, or becomes its value. `shard`: of the key.
    pub fn note(
        &self,
        expr: &Expr,
        table: usize,
        found: &Literal,
        stored: bool,
        shard: Option<usize>,
    ) {
        let (inner, negative) = match &expr.kind {
            ExprKind::Negative(inner) => (&**inner, true),
            _ => (expr, false),
        };
        let parameter = match &inner.kind {
            ExprKind::Parameter(at) => Some(*at),
            ExprKind::Number | ExprKind::Text => None,
            // columns, calls and NULL are words of the statement
            _ => return,
        };
        let mut keys = self.keys.borrow_mut();
        match (found, shard) {
            (Literal::Key(_), Some(shard)) if keys.len() < MOST => keys.push(Noted {
                span: inner.span,
                parameter,
                negative,
                table,
                stored,
                shard,
            }),
            _ => self.vary(),
        }
    }

    /// The keys, if other values for them that lead to the same shard have the same plan.
    pub fn keys(&self) -> Option<Vec<Noted>> {
        if self.varies.get() {
            return None;
        }
        let mut keys = self.keys.borrow().clone();
        keys.sort_by_key(|noted| (noted.span, noted.table));
        keys.dedup();
        Some(keys)
    }
}
