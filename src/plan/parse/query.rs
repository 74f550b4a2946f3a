//! SELECT, UNION, WITH and their clauses.
use super::super::ast::{Expr, Item, Limit, OrderItem, Query, Select, Term};
use super::cursor::Cursor;
use super::from::is_alias_word;
use super::Unread;
use crate::sniff::lexer::Kind;

const MODIFIERS: [&str; 8] = [
    "all",
    "high_priority",
    "straight_join",
    "sql_small_result",
    "sql_big_result",
    "sql_buffer_result",
    "sql_no_cache",
    "sql_cache",
];

impl Cursor<'_> {
    /// A whole query with ORDER BY, LIMIT and locks.
    pub fn query(&mut self) -> Result<Query, Unread> {
        self.nested(|c| {
            let known = c.ctes.len();
            let query = c.query_in_scope();
            c.ctes.truncate(known);
            query
        })
    }

    fn query_in_scope(&mut self) -> Result<Query, Unread> {
        let start = self.start();
        let with = self.word("with");
        let ctes = if with { self.ctes()? } else { Vec::new() };
        let mut parts = vec![self.term()?];
        while self.any_word(&["union", "except", "intersect", "minus"]) {
            self.next();
            self.skip_words(&["all", "distinct"]);
            parts.push(self.term()?);
        }
        let tail = self.end();
        let mut query = Query {
            with,
            ctes,
            span: (start, tail),
            parts,
            order: Vec::new(),
            order_span: None,
            limit: None,
            tail,
        };
        let outer = self.block;
        // ORDER BY sees the names of the one block
        if let [Term::Select(select)] = query.parts.as_slice() {
            self.block = Some(select.block);
        }
        let clauses = self.tail_clauses(&mut query);
        self.block = outer;
        clauses?;
        query.span.1 = self.end();
        Ok(query)
    }

    fn tail_clauses(&mut self, query: &mut Query) -> Result<(), Unread> {
        if self.word("order") {
            let start = self.start();
            query.order = self.order_by()?;
            query.order_span = Some((start, self.end()));
        }
        if self.word("limit") {
            query.limit = Some(self.limit()?);
        }
        self.into()?;
        self.locks()?;
        self.into()
    }

    fn ctes(&mut self) -> Result<Vec<Query>, Unread> {
        self.next();
        let mut queries = Vec::new();
        self.facts.has_cte = true;
        let recursive = self.take_word("recursive");
        loop {
            let (name, _) = self.name("a name")?;
            let name = name.to_lowercase();
            if recursive {
                self.ctes.push(name.clone());
            }
            if self.mark(b'(') {
                self.skip_parentheses()?;
            }
            self.expect_word("as", "AS")?;
            self.expect_mark(b'(', "(")?;
            queries.push(self.query()?);
            self.expect_mark(b')', ")")?;
            if !recursive {
                self.ctes.push(name);
            }
            if !self.take_mark(b',') {
                return Ok(queries);
            }
        }
    }

    fn term(&mut self) -> Result<Term, Unread> {
        if self.take_mark(b'(') {
            let query = self.query()?;
            self.expect_mark(b')', ")")?;
            return Ok(Term::Query(Box::new(query)));
        }
        Ok(Term::Select(Box::new(self.select()?)))
    }

    fn select(&mut self) -> Result<Select, Unread> {
        self.expect_word("select", "SELECT")?;
        let outer = self.block;
        let block = self.blocks.len();
        self.blocks.push(outer);
        self.block = Some(block);
        let select = self.select_clauses(block);
        self.block = outer;
        select
    }

    fn select_clauses(&mut self, block: usize) -> Result<Select, Unread> {
        let mut select = Select {
            block,
            distinct: false,
            items: Vec::new(),
            items_end: 0,
            from: None,
            filter: None,
            group: Vec::new(),
            odd_group: false,
            having: None,
            windows: false,
            derived: false,
        };
        loop {
            self.skip_words(&MODIFIERS);
            if self.take_word("sql_calc_found_rows") {
                self.facts.counts_found_rows = true;
            } else if self.take_word("distinct") || self.take_word("distinctrow") {
                select.distinct = true;
            } else {
                break;
            }
        }
        select.items.push(self.item()?);
        while self.take_mark(b',') {
            select.items.push(self.item()?);
        }
        select.items_end = self.end();
        self.into()?;
        if self.take_word("from") {
            select.from = Some(self.table_list(&mut select.derived)?);
        }
        if self.take_word("where") {
            select.filter = Some(self.expr()?);
        }
        if self.take_word("group") {
            self.group_by(&mut select)?;
        }
        if self.take_word("having") {
            select.having = Some(self.expr()?);
        }
        if self.take_word("window") {
            select.windows = true;
            self.skip_windows()?;
        }
        Ok(select)
    }

    fn group_by(&mut self, select: &mut Select) -> Result<(), Unread> {
        self.expect_word("by", "BY")?;
        loop {
            select.group.push(self.expr()?);
            if self.any_word(&["asc", "desc"]) {
                self.next();
                select.odd_group = true;
            }
            if !self.take_mark(b',') {
                break;
            }
        }
        if self.word("with") && self.word_at(1, "rollup") {
            self.next();
            self.next();
            select.odd_group = true;
        }
        Ok(())
    }

    /// name AS (…), …
    fn skip_windows(&mut self) -> Result<(), Unread> {
        loop {
            self.name("a window's name")?;
            self.expect_word("as", "AS")?;
            self.window()?;
            if !self.take_mark(b',') {
                return Ok(());
            }
        }
    }

    fn item(&mut self) -> Result<Item, Unread> {
        if self.take_mark(b'*') {
            return Ok(Item {
                expr: None,
                alias: None,
            });
        }
        if self.table_wildcard() {
            return Ok(Item {
                expr: None,
                alias: None,
            });
        }
        let expr = self.expr()?;
        let explicit = self.take_word("as");
        let token = self.token();
        let is_alias = match token.kind {
            Kind::Quoted | Kind::Text => true,
            Kind::Word => explicit || is_alias_word(&self.name_of(&token)),
            _ => false,
        };
        if explicit && !is_alias {
            return Err(self.unread("an alias"));
        }
        let alias = is_alias.then(|| {
            self.next();
            let name = self.name_of(&token);
            if token.kind == Kind::Text {
                self.facts.literals_matter = true;
                name.trim_matches(['\'', '"']).to_owned()
            } else {
                name
            }
        });
        Ok(Item {
            expr: Some(expr),
            alias,
        })
    }

    /// `t.*` and `db.t.*`; takes nothing if it is none.
    fn table_wildcard(&mut self) -> bool {
        let dots = if self.is_name(0) && self.mark_at(1, b'.') && self.mark_at(2, b'*') {
            0
        } else if self.is_name(0)
            && self.mark_at(1, b'.')
            && self.is_name(2)
            && self.mark_at(3, b'.')
            && self.mark_at(4, b'*')
        {
            2
        } else {
            return false;
        };
        let table = self.name_of(&self.peek(dots));
        let schema = (dots > 0).then(|| self.name_of(&self.peek(0)));
        let span = (self.start(), self.peek(dots).end);
        self.qualify(schema, table, span);
        for _ in 0..dots + 3 {
            self.next();
        }
        true
    }

    pub fn order_by(&mut self) -> Result<Vec<OrderItem>, Unread> {
        self.expect_word("order", "ORDER")?;
        self.expect_word("by", "BY")?;
        let mut items = Vec::new();
        loop {
            let expr = self.expr()?;
            let descending = self.take_word("desc");
            if !descending {
                self.take_word("asc");
            }
            items.push(OrderItem { expr, descending });
            if !self.take_mark(b',') {
                return Ok(items);
            }
        }
    }

    pub fn limit(&mut self) -> Result<Limit, Unread> {
        let start = self.start();
        self.expect_word("limit", "LIMIT")?;
        let first = self.limit_value()?;
        let (count, offset) = if self.take_mark(b',') {
            (self.limit_value()?, Some(first))
        } else if self.take_word("offset") {
            (first, Some(self.limit_value()?))
        } else {
            (first, None)
        };
        Ok(Limit {
            span: (start, self.end()),
            count,
            offset,
        })
    }

    fn limit_value(&mut self) -> Result<Expr, Unread> {
        match self.token().kind {
            Kind::Number | Kind::Mark(b'?') => self.atom(),
            _ => Err(self.unread("a number")),
        }
    }

    /// INTO OUTFILE, DUMPFILE, @variables: noted, its words skipped.
    fn into(&mut self) -> Result<(), Unread> {
        if !self.take_word("into") {
            return Ok(());
        }
        self.facts.into = true;
        let ends = ["from", "for", "lock", "where", "order", "limit"];
        while !self.any_word(&ends)
            && !matches!(
                self.token().kind,
                Kind::End | Kind::Semicolon | Kind::Mark(b')')
            )
        {
            self.next();
        }
        Ok(())
    }

    /// FOR UPDATE | FOR SHARE [OF …] [NOWAIT | SKIP LOCKED | WAIT n], LOCK IN SHARE MODE
    fn locks(&mut self) -> Result<(), Unread> {
        loop {
            if self.take_word("for") {
                if !self.take_word("update") {
                    self.expect_word("share", "UPDATE or SHARE")?;
                }
                if self.take_word("of") {
                    // parts know their tables by the names of the statement
                    self.name("a table's name")?;
                    while self.take_mark(b',') {
                        self.name("a table's name")?;
                    }
                }
            } else if self.take_word("lock") {
                for word in ["in", "share", "mode"] {
                    self.expect_word(word, "LOCK IN SHARE MODE")?;
                }
            } else {
                return Ok(());
            }
            if self.take_word("skip") {
                self.expect_word("locked", "LOCKED")?;
            } else if self.take_word("wait") {
                self.next();
            } else {
                self.take_word("nowait");
            }
            self.facts.locks = true;
        }
    }
}
