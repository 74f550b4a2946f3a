//! INSERT, REPLACE, UPDATE, DELETE.
use super::super::ast::{Delete, Expr, Insert, Ref, Source, Update};
use super::cursor::Cursor;
use super::Unread;
use crate::sniff::lexer::Kind;

const PRIORITIES: [&str; 5] = [
    "low_priority",
    "high_priority",
    "delayed",
    "quick",
    "ignore",
];

impl Cursor<'_> {
    pub fn insert(&mut self) -> Result<Insert, Unread> {
        self.next();
        let mut ignore = false;
        while self.any_word(&PRIORITIES) {
            ignore |= self.word("ignore");
            self.next();
        }
        self.take_word("into");
        let block = self.open_block();
        let mut table = self.bare_table()?;
        table.block = block;
        self.partition(&mut table)?;
        self.tables.push(table);
        let table = self.tables.len() - 1;
        let has_columns = self.mark(b'(') && !self.starts_query(1);
        let columns = if has_columns {
            Some(self.name_list()?)
        } else {
            None
        };
        let columns_end = has_columns.then(|| self.end() - 1);
        let mut insert = Insert {
            table,
            columns,
            columns_end,
            end: 0,
            source: Source::Set(Vec::new()),
            on_duplicate: Vec::new(),
            has_on_duplicate: false,
            on_duplicate_reads: false,
            ignore,
        };
        insert.source = self.source(&mut insert.columns)?;
        insert.end = self.end();
        if self.take_word("as") {
            self.name("a row's alias")?;
            if self.mark(b'(') {
                self.name_list()?;
            }
        }
        if self.take_word("on") {
            for word in ["duplicate", "key", "update"] {
                self.expect_word(word, "DUPLICATE KEY UPDATE")?;
            }
            insert.has_on_duplicate = true;
            let before = self.tables.len();
            insert.on_duplicate = self
                .assignments()?
                .into_iter()
                .map(|(column, _)| column)
                .collect();
            insert.on_duplicate_reads = self.tables.len() > before;
        }
        self.returning()?;
        Ok(insert)
    }

    fn source(&mut self, columns: &mut Option<Vec<String>>) -> Result<Source, Unread> {
        if self.any_word(&["values", "value"]) {
            self.next();
            return self.rows();
        }
        if self.take_word("set") {
            let set = self.assignments()?;
            let name = |e: &Expr| e.column_name().unwrap_or_default().to_owned();
            *columns = Some(set.iter().map(|(column, _)| name(column)).collect());
            return Ok(Source::Set(
                set.into_iter().map(|(_, value)| value).collect(),
            ));
        }
        if self.word("select") || self.word("with") || self.mark(b'(') {
            // the query does not see the columns of the table that is written
            let outer = self.block.take();
            let query = self.query();
            self.block = outer;
            return Ok(Source::Query(Box::new(query?)));
        }
        Err(self.unread("VALUES, SET or SELECT"))
    }

    fn rows(&mut self) -> Result<Source, Unread> {
        let mut rows = Vec::new();
        loop {
            let start = self.start();
            self.take_word("row");
            self.expect_mark(b'(', "(")?;
            let mut row = Vec::new();
            while !self.take_mark(b')') {
                row.push(self.expr()?);
                if !self.mark(b')') {
                    self.expect_mark(b',', ",")?;
                }
            }
            rows.push(((start, self.end()), row));
            if !self.take_mark(b',') {
                return Ok(Source::Rows(rows));
            }
        }
    }

    /// `a = 1, t.b = DEFAULT`
    fn assignments(&mut self) -> Result<Vec<(Expr, Expr)>, Unread> {
        let mut set = Vec::new();
        loop {
            let column = self.atom()?;
            if column.column_name().is_none() {
                return Err(self.unread("a column's name before ="));
            }
            if self.token().kind == Kind::Assign {
                self.next();
            } else {
                self.expect_mark(b'=', "=")?;
            }
            set.push((column, self.expr()?));
            if !self.take_mark(b',') {
                return Ok(set);
            }
        }
    }

    pub fn update(&mut self) -> Result<Update, Unread> {
        self.next();
        self.skip_words(&PRIORITIES);
        let block = self.open_block();
        let mut derived = false;
        let from = self.table_list(&mut derived)?;
        if derived {
            return Err(self.unread("no derived table in UPDATE"));
        }
        self.expect_word("set", "SET")?;
        let set = self.assignments()?;
        let (filter, has_limit) = self.write_tail()?;
        Ok(Update {
            from,
            block,
            set,
            filter,
            has_limit,
        })
    }

    pub fn delete(&mut self) -> Result<Delete, Unread> {
        self.next();
        self.skip_words(&PRIORITIES);
        let block = self.open_block();
        let mut targets = 0;
        let mut joined = false;
        if !self.word("from") {
            targets += self.targets()?;
            joined = true;
        }
        self.expect_word("from", "FROM")?;
        if !joined && self.names_then_using() {
            targets += self.targets()?;
            joined = self.take_word("using");
        }
        let mut derived = false;
        let from = if joined {
            self.table_list(&mut derived)?
        } else {
            self.delete_from(&mut joined, &mut derived)?
        };
        if derived || (joined && targets == 0) {
            return Err(self.unread("DELETE t FROM …"));
        }
        let (filter, has_limit) = self.write_tail()?;
        self.returning()?;
        Ok(Delete {
            from,
            block,
            joined,
            filter,
            has_limit,
        })
    }

    /// `FROM t, db.u.* USING …`: the targets come first.
    fn names_then_using(&self) -> bool {
        let mut at = 0;
        loop {
            at += 1;
            while self.mark_at(at, b'.') {
                at += 2;
            }
            if !self.mark_at(at, b',') {
                return self.word_at(at, "using");
            }
            at += 1;
        }
    }

    /// `FROM t …`
    fn delete_from(&mut self, joined: &mut bool, derived: &mut bool) -> Result<Ref, Unread> {
        let from = self.table_list(derived)?;
        if matches!(from, Ref::Join(_)) {
            *joined = true;
        }
        Ok(from)
    }

    /// `t, db.u.*` before FROM.
    fn targets(&mut self) -> Result<usize, Unread> {
        let mut count = 0;
        loop {
            let mut target = self.bare_table()?;
            if self.take_mark(b'.') {
                self.expect_mark(b'*', "*")?;
            }
            target.is_target = true;
            self.tables.push(target);
            count += 1;
            if !self.take_mark(b',') {
                return Ok(count);
            }
        }
    }

    fn write_tail(&mut self) -> Result<(Option<Expr>, bool), Unread> {
        let filter = if self.take_word("where") {
            Some(self.expr()?)
        } else {
            None
        };
        if self.word("order") {
            self.order_by()?;
        }
        let has_limit = self.word("limit");
        if has_limit {
            self.limit()?;
        }
        Ok((filter, has_limit))
    }

    fn returning(&mut self) -> Result<(), Unread> {
        if self.take_word("returning") {
            self.facts.returning = true;
            while !matches!(self.token().kind, Kind::End | Kind::Semicolon) {
                self.next();
            }
        }
        Ok(())
    }

    fn open_block(&mut self) -> usize {
        self.blocks.push(None);
        let block = self.blocks.len() - 1;
        self.block = Some(block);
        block
    }

    fn starts_query(&self, mut distance: usize) -> bool {
        while self.mark_at(distance, b'(') {
            distance += 1;
        }
        self.word_at(distance, "select") || self.word_at(distance, "with")
    }
}

impl Expr {
    /// The column's name, of a plain column.
    pub fn column_name(&self) -> Option<&str> {
        match &self.kind {
            super::super::ast::ExprKind::Column(column) => Some(&column.name),
            _ => None,
        }
    }
}
