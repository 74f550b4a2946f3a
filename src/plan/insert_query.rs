//! INSERT … SELECT and REPLACE … SELECT: where every row stays in the shard that it is read from.
use super::ast::{ExprKind, Insert, Item, Query, Select, Source, Term};
use super::bind::{is_aggregate, Bound, Stop};
use super::columns::{Column, Kind};
use super::literal::Literal;
use super::locate::locate;
use super::select::any_call;
use super::types::{Answer, Fanout, Plan};
use crate::topology::shards::Sharding;

/// Where the rows of the query belong.
pub(super) enum RowsOf {
    /// To the shard of this mention's rows: their key is its key.
    Mention(usize),
    /// All to this one: their key is a literal.
    Shard(usize),
}

impl Bound<'_> {
    pub fn insert_query(
        &self,
        insert: &Insert,
        query: &Query,
        sharding: &Sharding,
    ) -> Result<Plan, Stop> {
        if insert.on_duplicate_reads {
            return Err(self
                .refuse("a subquery among the values", "read its value first")
                .into());
        }
        if self.counts_ids(insert) {
            let what = "AUTO_INCREMENT in INSERT … SELECT, where a value decides the shard or is Umpire's to give";
            let remedy = "read the rows first, then insert them";
            return Err(self.refuse(what, remedy).into());
        }
        if self.prepares() {
            return self.described();
        }
        let located = locate(self);
        let rows_of = self.rows_of(insert, query);
        let leads = match rows_of {
            Some(RowsOf::Mention(owner)) => located.leading.contains(&owner),
            Some(RowsOf::Shard(_)) => true,
            None => false,
        };
        if !leads {
            let what = format!(
                "INSERT … SELECT whose rows may belong to other shards than they are read from (the value for {} must be \
                 the key of a table with the same rule, or a literal)",
                sharding.key
            );
            let remedy = "read the rows first, then insert them";
            return Err(self.refuse(&what, remedy).into());
        }
        if let Some(plan) = self.pinned(&located, Vec::new()) {
            return Ok(plan);
        }
        self.check_local(&located)?;
        let same = matches!(rows_of, Some(RowsOf::Mention(owner)) if self.is_the_same_by_shard(query, owner));
        if !same {
            let what = "INSERT … SELECT of what only all rows together tell (LIMIT, a group or an aggregate over several \
                        shards, a window)";
            let remedy = "give the key's value, or read the rows first and then insert them";
            return Err(self.refuse(what, remedy).into());
        }
        if self.facts().returning {
            let remedy = "give the key's value, so that one shard is asked";
            return Err(self.refuse("RETURNING over several shards", remedy).into());
        }
        self.check_spread()?;
        Ok(Plan::Fanout(Fanout {
            parts: self.parts(&located, &|_| Vec::new()),
            writes: true,
            answer: Answer::Affected,
            ids: Vec::new(),
        }))
    }

    /// A whole table written from rows that are all on its group.
    pub fn insert_whole(&self, insert: &Insert) -> Option<Plan> {
        let reads = matches!(insert.source, Source::Query(_)) && !insert.on_duplicate_reads;
        if !reads {
            return None;
        }
        if self.prepares() {
            return self.described().ok();
        }
        let located = locate(self);
        self.pinned(&located, Vec::new())
            .or_else(|| self.anywhere())
    }

    /// Where the rows belong; none: it is not certain.
    pub fn rows_of(&self, insert: &Insert, query: &Query) -> Option<RowsOf> {
        let [Term::Select(select)] = query.parts.as_slice() else {
            return None;
        };
        let target = insert.table;
        let sharding = self.sharding(target)?;
        let position = self.key_position(insert, target, sharding).ok()?;
        let (owner, literal) = self.selected(select, position)?;
        if let Some(shard) = literal.then(|| self.literal_shard(select, position, target)) {
            return shard.map(RowsOf::Shard);
        }
        let owner = owner?;
        let both = (self.sharding(owner)?, sharding);
        let fits = both.0.is_bound_to(both.1) && self.keeps_keys(owner, target);
        fits.then_some(RowsOf::Mention(owner))
    }

    /// The mention whose key stands at this place of the select list, or whether it is a literal.
    fn selected(&self, select: &Select, position: usize) -> Option<(Option<usize>, bool)> {
        let wild = |item: &Item| item.expr.is_none();
        if let [item] = select.items.as_slice() {
            if wild(item) && !select.derived {
                let mut mentions = self.mentions(select.block);
                let (only, None) = (mentions.next()?, mentions.next()) else {
                    return None;
                };
                let columns = self.columns_of(only)?;
                let mut visible = columns.list.iter().filter(|c| !c.invisible);
                let name = &visible.nth(position)?.name;
                let is_key = self.sharding(only)?.key.eq_ignore_ascii_case(name);
                return is_key.then_some((Some(only), false));
            }
        }
        if select.items.iter().take(position + 1).any(wild) {
            return None;
        }
        let expr = select.items.get(position)?.expr.as_ref()?;
        if let ExprKind::Column(_) = expr.kind {
            return Some((self.key_owner(expr, select.block), false));
        }
        Some((None, true))
    }

    fn literal_shard(&self, select: &Select, position: usize, target: usize) -> Option<usize> {
        let expr = select.items.get(position)?.expr.as_ref()?;
        let found = self.literals.key(expr, self.key_kind(target)?, true);
        self.note(expr, target, &found, true);
        match found {
            Literal::Key(key) => self.sharding(target)?.locate(&key),
            Literal::Null | Literal::Unknown => None,
        }
    }

    /// Whether every key of `from` is the same key in `to`, in every sql_mode: nothing is cut, rounded or made NULL.
    fn keeps_keys(&self, from: usize, to: usize) -> bool {
        let column = |at: usize| self.columns_of(at)?.get(&self.sharding(at)?.key);
        let (Some(from), Some(to)) = (column(from), column(to)) else {
            return false;
        };
        let same = match (&from.kind, &to.kind) {
            (
                Kind::Integer { low, high },
                Kind::Integer {
                    low: least,
                    high: most,
                },
            ) => least <= low && high <= most,
            (Kind::Text { length, .. }, Kind::Text { length: most, .. }) => length <= most,
            (Kind::Date, Kind::Date) => true,
            (Kind::DateTime, Kind::DateTime) => from.definition == to.definition,
            _ => false,
        };
        same && (to.nullable || !from.nullable)
    }

    /// Whether the shards' rows of the query, put together, are the rows of the whole.
    fn is_the_same_by_shard(&self, query: &Query, owner: usize) -> bool {
        let [Term::Select(select)] = query.parts.as_slice() else {
            return false;
        };
        let plain = query.limit.is_none()
            && !query.with
            && !select.derived
            && !select.windows
            && !select.odd_group;
        let items = select.items.iter().filter_map(|item| item.expr.as_ref());
        let exprs = || items.clone().chain(&select.having);
        let over = exprs().any(|e| any_call(e, &|call| call.over));
        let groups = select.having.is_some()
            || !select.group.is_empty()
            || exprs().any(|e| any_call(e, &is_aggregate));
        // each group is in one shard if the key is one of the things it is grouped by
        let by_key = |e| self.key_owner(e, select.block) == Some(owner);
        plain && !over && (!groups || select.group.iter().any(by_key))
    }

    /// Whether Umpire counts the target's AUTO_INCREMENT, or the server may put another number in place of the key.
    fn counts_ids(&self, insert: &Insert) -> bool {
        use crate::topology::shards::Ids;
        let (rule, key) = (self.rule(insert.table), self.sharding(insert.table));
        let of_servers = rule.is_none_or(|t| t.ids == Ids::Server);
        let is_key = |name: &str| key.is_some_and(|s| s.key.eq_ignore_ascii_case(name));
        let counted = |c: &Column| c.auto_increment && (!of_servers || is_key(&c.name));
        let columns = self.columns_of(insert.table);
        columns.is_some_and(|c| c.list.iter().any(counted))
    }
}
