//! Which shards can hold the rows that a statement wants, and which tables meet in the same shard.
mod prune;

use super::ast::{
    Comparison, Expr, ExprKind, Insert, JoinKind, Query, Ref, Select, Source, Statement, Term,
};
use super::bind::{Bound, Place};
use super::insert_query::RowsOf;

/// Places in a table's list of shards, in order; none: any.
pub(super) type Shards = Option<Vec<usize>>;

/// What the conditions say.
pub(super) struct Located {
    /// For each mentioned table: its shards.
    pub shards: Vec<Shards>,
    /// All sharded tables meet in the same shard, wherever rows of theirs are put together.
    pub is_local: bool,
    /// The shards that can have rows of the whole; means something only if all is local.
    pub driving: Shards,
    /// Sharded tables of the outermost block whose rows no join fills with NULLs.
    pub leading: Vec<usize>,
}

/// An equality of two keys. Rows of `follower` count only where its key equals `leader`'s.
struct Edge {
    leader: usize,
    follower: usize,
    /// The other way round as well.
    both: bool,
}

/// Reads all conditions of a statement.
pub(super) fn locate(bound: &Bound<'_>) -> Located {
    let mut walk = Walk {
        bound,
        shards: vec![None; bound.places.len()],
        edges: Vec::new(),
        is_local: true,
        driving: Vec::new(),
    };
    match &bound.parsed.statement {
        Statement::Select(query) => walk.top(query),
        Statement::Update(update) => {
            let sets: Vec<&Expr> = update.set.iter().map(|(_, value)| value).collect();
            walk.block(
                update.block,
                Some(&update.from),
                update.filter.as_ref(),
                &sets,
                true,
            );
        }
        Statement::Delete(delete) => {
            walk.block(
                delete.block,
                Some(&delete.from),
                delete.filter.as_ref(),
                &[],
                true,
            );
        }
        Statement::Insert(insert) => {
            if let Source::Query(query) = &insert.source {
                walk.top(query);
                walk.target(insert, query);
            }
        }
    }
    walk.spread();
    let mut driving = None;
    for found in walk
        .driving
        .iter()
        .filter_map(|at| walk.shards[*at].as_deref())
    {
        narrow(&mut driving, found);
    }
    Located {
        shards: walk.shards,
        is_local: walk.is_local,
        driving,
        leading: walk.driving,
    }
}

struct Walk<'b, 'a> {
    bound: &'b Bound<'a>,
    shards: Vec<Shards>,
    edges: Vec<Edge>,
    is_local: bool,
    /// Sharded tables of the outermost block whose rows no join fills with NULLs.
    driving: Vec<usize>,
}

use prune::narrow;

impl Walk<'_, '_> {
    /// The whole query: several blocks side by side do not meet in a shard.
    fn top(&mut self, query: &Query) {
        let single = matches!(query.parts.as_slice(), [Term::Select(_)]) && !query.with;
        if !single {
            self.is_local = false;
        }
        self.query(query, true);
    }

    /// INSERT … SELECT: the table that is written.
    fn target(&mut self, insert: &Insert, query: &Query) {
        match self.bound.rows_of(insert, query) {
            Some(RowsOf::Mention(leader)) => self.edges.push(Edge {
                leader,
                follower: insert.table,
                both: false,
            }),
            Some(RowsOf::Shard(shard)) => narrow(&mut self.shards[insert.table], &[shard]),
            None => {}
        }
    }

    fn query(&mut self, query: &Query, is_top: bool) {
        for cte in &query.ctes {
            self.query(cte, false);
        }
        for part in &query.parts {
            match part {
                Term::Select(select) => self.select(select, query, is_top),
                Term::Query(inner) => self.query(inner, is_top),
            }
        }
    }

    fn select(&mut self, select: &Select, query: &Query, is_top: bool) {
        let mut others: Vec<&Expr> = select
            .items
            .iter()
            .filter_map(|item| item.expr.as_ref())
            .collect();
        others.extend(select.group.iter());
        others.extend(select.having.iter());
        others.extend(query.order.iter().map(|item| &item.expr));
        if select.derived {
            self.is_local = false;
        }
        self.block(
            select.block,
            select.from.as_ref(),
            select.filter.as_ref(),
            &others,
            is_top,
        );
    }

    fn block(
        &mut self,
        block: usize,
        from: Option<&Ref>,
        filter: Option<&Expr>,
        others: &[&Expr],
        is_top: bool,
    ) {
        let (mut nullable, mut ons) = (Vec::new(), Vec::new());
        if let Some(from) = from {
            self.joins(from, block, false, &mut nullable, &mut ons);
        }
        for conjunct in filter.into_iter().flat_map(|filter| filter.conjuncts()) {
            self.conjunct(conjunct, block);
        }
        self.meets(block, is_top, &nullable);
        // only now: an equality with an inner block's table ties nothing in this one
        let mut inner = Vec::new();
        ons.into_iter()
            .chain(filter)
            .chain(others.iter().copied())
            .for_each(|expr| {
                expr.walk(&mut |e| self.in_query(e, block), &mut |query| {
                    inner.push(query)
                });
            });
        inner.extend(from.into_iter().flat_map(derived));
        for query in inner {
            self.query(query, false);
        }
    }

    /// `key IN (SELECT key …)`: only rows of the same key matter. The equality is noted before the inner query is read.
    fn in_query(&mut self, expr: &Expr, block: usize) {
        let ExprKind::InQuery { value, query, .. } = &expr.kind else {
            return;
        };
        let [Term::Select(select)] = query.parts.as_slice() else {
            return;
        };
        let plain = select.group.is_empty()
            && select.having.is_none()
            && query.limit.is_none()
            && !query.with;
        let [item] = select.items.as_slice() else {
            return;
        };
        let Some(inner) = item.expr.as_ref().filter(|_| plain) else {
            return;
        };
        let owners = (
            self.bound.key_owner(value, block),
            self.bound.key_owner(inner, select.block),
        );
        let (Some(leader), Some(follower)) = owners else {
            return;
        };
        if self
            .bound
            .table(follower)
            .is_some_and(|t| t.block == select.block)
            && self.are_bound(leader, follower)
        {
            self.edges.push(Edge {
                leader,
                follower,
                both: false,
            });
        }
    }

    /// ON conditions, which also go to `ons`; which tables an outer join may fill with NULLs goes to `nullable`.
    fn joins<'r>(
        &mut self,
        from: &'r Ref,
        block: usize,
        is_nullable: bool,
        nullable: &mut Vec<usize>,
        ons: &mut Vec<&'r Expr>,
    ) {
        match from {
            Ref::Table(at) if is_nullable => nullable.push(*at),
            Ref::Table(_) | Ref::Derived(_) => {}
            Ref::Join(join) => {
                let (left, right) = match join.kind {
                    JoinKind::Inner => (is_nullable, is_nullable),
                    JoinKind::Left => (is_nullable, true),
                    JoinKind::Right => (true, is_nullable),
                };
                self.joins(&join.left, block, left, nullable, ons);
                self.joins(&join.right, block, right, nullable, ons);
                let inner = join.kind == JoinKind::Inner && !is_nullable;
                // the side whose rows all stay
                let kept = match join.kind {
                    JoinKind::Right => tables(&join.right),
                    JoinKind::Left | JoinKind::Inner => tables(&join.left),
                };
                for conjunct in join.on.iter().flat_map(|on| on.conjuncts()) {
                    if inner {
                        self.conjunct(conjunct, block);
                    } else {
                        self.outer_equality(conjunct, block, &kept);
                    }
                }
                ons.extend(&join.on);
                for name in &join.using {
                    self.using(
                        name,
                        &tables(&join.left),
                        &tables(&join.right),
                        inner,
                        join.kind,
                    );
                }
            }
        }
    }

    fn using(&mut self, name: &str, left: &[usize], right: &[usize], inner: bool, kind: JoinKind) {
        let key_of = |tables: &[usize]| {
            let mut found = tables.iter().copied().filter(|at| {
                self.bound
                    .sharding(*at)
                    .is_some_and(|s| s.key.eq_ignore_ascii_case(name))
            });
            let first = found.next();
            first.filter(|_| found.next().is_none())
        };
        if let (Some(left), Some(right)) = (key_of(left), key_of(right)) {
            let (leader, follower) = if kind == JoinKind::Right {
                (right, left)
            } else {
                (left, right)
            };
            if self.are_bound(leader, follower) {
                self.edges.push(Edge {
                    leader,
                    follower,
                    both: inner,
                });
            }
        }
    }

    /// In an outer join's ON: the filled side's rows count only where the keys are equal.
    fn outer_equality(&mut self, expr: &Expr, block: usize, kept: &[usize]) {
        let Some((a, b)) = self.key_equality(expr, block) else {
            for at in self
                .bound
                .mentions(block)
                .filter(|at| !kept.contains(at))
                .collect::<Vec<_>>()
            {
                self.narrow_by(expr, block, at);
            }
            return;
        };
        match (kept.contains(&a), kept.contains(&b)) {
            (true, false) => self.edges.push(Edge {
                leader: a,
                follower: b,
                both: false,
            }),
            (false, true) => self.edges.push(Edge {
                leader: b,
                follower: a,
                both: false,
            }),
            _ => {}
        }
    }

    /// A condition that every row of the block's result fulfils.
    fn conjunct(&mut self, expr: &Expr, block: usize) {
        if let Some((a, b)) = self.key_equality(expr, block) {
            let here = |at: usize| self.bound.table(at).is_some_and(|t| t.block == block);
            match (here(a), here(b)) {
                (true, true) => self.edges.push(Edge {
                    leader: a,
                    follower: b,
                    both: true,
                }),
                (true, false) => self.edges.push(Edge {
                    leader: b,
                    follower: a,
                    both: false,
                }),
                (false, true) => self.edges.push(Edge {
                    leader: a,
                    follower: b,
                    both: false,
                }),
                (false, false) => {}
            }
        }
        for at in self.bound.mentions(block).collect::<Vec<_>>() {
            self.narrow_by(expr, block, at);
        }
    }

    fn narrow_by(&mut self, expr: &Expr, block: usize, at: usize) {
        if let Some(found) = self
            .bound
            .sharding(at)
            .and_then(|s| self.shards_of(expr, block, at, s))
        {
            narrow(&mut self.shards[at], &found);
        }
    }

    fn key_equality(&self, expr: &Expr, block: usize) -> Option<(usize, usize)> {
        let ExprKind::Compare(Comparison::Equal, a, b) = &expr.kind else {
            return None;
        };
        let (a, b) = (
            self.bound.key_owner(a, block)?,
            self.bound.key_owner(b, block)?,
        );
        (a != b && self.are_bound(a, b)).then_some((a, b))
    }

    /// Whether equal keys of both tables are in the same shard.
    fn are_bound(&self, a: usize, b: usize) -> bool {
        let (Some(first), Some(second)) = (self.bound.sharding(a), self.bound.sharding(b)) else {
            return false;
        };
        // two keys of different kinds are equal in more ways than one: '05' = 5
        let same_kind = match (self.bound.key_kind(a), self.bound.key_kind(b)) {
            (Some(a), Some(b)) => std::mem::discriminant(a) == std::mem::discriminant(b),
            _ => false,
        };
        first.is_bound_to(second) && same_kind
    }

    /// Whether the block's sharded tables meet: each is tied by equal keys to the others and to the blocks around.
    fn meets(&mut self, block: usize, is_top: bool, nullable: &[usize]) {
        let here: Vec<usize> = self
            .bound
            .mentions(block)
            .filter(|at| matches!(self.bound.places[*at], Place::Sharded(_)))
            .collect();
        if here.is_empty() {
            return;
        }
        if is_top {
            self.driving
                .extend(here.iter().filter(|at| !nullable.contains(at)));
        }
        let broadcast_leads = self.bound.mentions(block).any(|at| {
            !matches!(self.bound.places[at], Place::Sharded(_)) && !nullable.contains(&at)
        });
        // rows of a broadcast table that find no partner would come from every shard
        if broadcast_leads && here.iter().any(|at| nullable.contains(at)) {
            self.is_local = false;
        }
        // the outside is one component, and in it from the start
        let outside = usize::MAX;
        let mut reached: Vec<usize> = if is_top {
            here.iter().copied().take(1).collect()
        } else {
            vec![outside]
        };
        let inside = |at: usize| if here.contains(&at) { at } else { outside };
        loop {
            let before = reached.len();
            for edge in &self.edges {
                let (a, b) = (inside(edge.leader), inside(edge.follower));
                if is_top && (a == outside || b == outside) {
                    continue;
                }
                match (reached.contains(&a), reached.contains(&b)) {
                    (true, false) => reached.push(b),
                    (false, true) => reached.push(a),
                    _ => {}
                }
            }
            if reached.len() == before {
                break;
            }
        }
        if !here.iter().all(|at| reached.contains(at)) {
            self.is_local = false;
        }
    }

    /// Carries what is known of one table's shards along the equalities.
    fn spread(&mut self) {
        for _ in 0..self.edges.len() + 1 {
            for edge in &self.edges {
                if let Some(known) = self.shards[edge.leader].clone() {
                    narrow(&mut self.shards[edge.follower], &known);
                }
                if let Some(known) = self.shards[edge.follower].clone().filter(|_| edge.both) {
                    narrow(&mut self.shards[edge.leader], &known);
                }
            }
        }
    }
}

/// The derived tables among these.
pub(super) fn derived(from: &Ref) -> Vec<&Query> {
    match from {
        Ref::Table(_) => Vec::new(),
        Ref::Derived(query) => query.iter().map(|query| &**query).collect(),
        Ref::Join(join) => [derived(&join.left), derived(&join.right)].concat(),
    }
}

fn tables(from: &Ref) -> Vec<usize> {
    match from {
        Ref::Table(at) => vec![*at],
        Ref::Derived(_) => Vec::new(),
        Ref::Join(join) => [tables(&join.left), tables(&join.right)].concat(),
    }
}
