//! Literals, columns, calls, subqueries, CASE.
use super::super::ast::{Call, ColumnRef, Expr, ExprKind, Span};
use super::cursor::Cursor;
use super::Unread;
use crate::sniff::lexer::Kind;

/// What belongs to one connection of the client: several servers cannot answer it.
const OF_THE_SESSION: [&str; 10] = [
    "found_rows",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "lastval",
    "nextval",
    "release_all_locks",
    "release_lock",
    "row_count",
];

/// Another value at each server, or each time.
const VOLATILE: [&str; 24] = [
    "connection_id",
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "localtime",
    "localtimestamp",
    "now",
    "rand",
    "random_bytes",
    "session_user",
    "sleep",
    "sys_guid",
    "sysdate",
    "system_user",
    "unix_timestamp",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
];

/// Those that need no parentheses; without them the others are columns.
const BARE: [&str; 9] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// Words that stand between the arguments of some functions.
const BETWEEN_ARGUMENTS: [&str; 18] = [
    "as",
    "asc",
    "both",
    "by",
    "character",
    "desc",
    "for",
    "from",
    "in",
    "leading",
    "order",
    "returning",
    "separator",
    "set",
    "trailing",
    "unsigned",
    "using",
    "signed",
];

/// Words that start no expression: where one stands, something else was expected.
const NO_COLUMN: [&str; 24] = [
    "and", "as", "asc", "by", "desc", "else", "end", "from", "group", "having", "in", "into", "is",
    "join", "limit", "on", "or", "order", "set", "then", "union", "using", "when", "where",
];

impl Cursor<'_> {
    pub fn atom(&mut self) -> Result<Expr, Unread> {
        let start = self.start();
        let token = self.token();
        let kind = match token.kind {
            Kind::Number => {
                self.next();
                self.number(&token)
            }
            Kind::Text => {
                while self.token().kind == Kind::Text {
                    self.next();
                }
                ExprKind::Text
            }
            Kind::Mark(b'?') => {
                self.next();
                let number = u16::try_from(self.parameters.len())
                    .map_err(|_| self.unread("fewer parameters"))?;
                self.parameters.push((token.start, token.end));
                ExprKind::Parameter(number)
            }
            Kind::Mark(b'(') => return self.nested(Self::parenthesis),
            Kind::UserVariable | Kind::SystemVariable => {
                self.next();
                // @@global.name
                while self.take_mark(b'.') {
                    self.name("a variable's name")?;
                }
                ExprKind::Other(Vec::new())
            }
            Kind::Word => self.word_atom()?,
            Kind::Quoted => self.column_or_call()?,
            _ => return Err(self.unread("an expression")),
        };
        Ok(Expr {
            span: (start, self.end()),
            kind,
        })
    }

    /// Plain decimal digits are a number to reckon with; 0x… and 0b… are binary strings as often.
    fn number(&self, token: &crate::sniff::lexer::Token) -> ExprKind {
        let bytes = self.sql.get(token.start..token.end).unwrap_or_default();
        match bytes {
            [b'0', b'x' | b'b' | b'X' | b'B', ..] => ExprKind::Other(Vec::new()),
            _ => ExprKind::Number,
        }
    }

    /// `(expr)`, `(a, b)`, `(SELECT …)`.
    fn parenthesis(&mut self) -> Result<Expr, Unread> {
        let start = self.start();
        self.next();
        if self.word("select") || self.word("with") {
            let query = self.query()?;
            self.expect_mark(b')', ")")?;
            return Ok(Expr {
                span: (start, self.end()),
                kind: ExprKind::Subquery(Box::new(query)),
            });
        }
        let first = self.expr()?;
        let mut list = vec![first];
        while self.take_mark(b',') {
            list.push(self.expr()?);
        }
        self.expect_mark(b')', ")")?;
        let span = (start, self.end());
        match (list.len(), list.pop()) {
            (1, Some(only)) => Ok(Expr {
                span,
                kind: only.kind,
            }),
            (_, last) => {
                list.extend(last);
                Ok(Expr {
                    span,
                    kind: ExprKind::Other(list),
                })
            }
        }
    }

    fn word_atom(&mut self) -> Result<ExprKind, Unread> {
        let next = self.peek(1);
        let text = self.name_of(&self.token());
        // _utf8mb4'…', N'…', X'…', DATE '…'
        let introducer = text.starts_with('_') && next.kind == Kind::Text;
        let typed = ["n", "x", "b", "date", "time", "timestamp"]
            .iter()
            .any(|w| self.word(w))
            && next.kind == Kind::Text;
        if introducer || typed {
            self.next();
            while self.token().kind == Kind::Text {
                self.next();
            }
            return Ok(ExprKind::Other(Vec::new()));
        }
        if text.starts_with('_') && next.kind == Kind::Number {
            self.skip(2);
            return Ok(ExprKind::Other(Vec::new()));
        }
        if self.mark_at(1, b'.') {
            return self.column_or_call();
        }
        if self.take_word("null") {
            return Ok(ExprKind::Null);
        }
        if self.any_word(&["true", "false"]) {
            self.next();
            return Ok(ExprKind::Other(Vec::new()));
        }
        if self.word("case") {
            return self.nested(Self::case);
        }
        if self.word("exists") && self.mark_at(1, b'(') {
            self.skip(2);
            let query = self.query()?;
            self.expect_mark(b')', ")")?;
            return Ok(ExprKind::Subquery(Box::new(query)));
        }
        if self.word("interval") {
            return self.interval();
        }
        if self.word("match") && self.mark_at(1, b'(') {
            return self.match_against();
        }
        if self.any_word(&NO_COLUMN) {
            return Err(self.unread("an expression"));
        }
        self.column_or_call()
    }

    fn case(&mut self) -> Result<ExprKind, Unread> {
        self.next();
        let mut list = Vec::new();
        while !self.take_word("end") {
            self.skip_words(&["when", "then", "else"]);
            list.push(self.expr()?);
        }
        Ok(ExprKind::Other(list))
    }

    /// `INTERVAL expr unit`; also the function INTERVAL(a, b, …).
    fn interval(&mut self) -> Result<ExprKind, Unread> {
        self.next();
        let list = vec![self.expr()?];
        if self.token().kind == Kind::Word
            && super::from::is_alias_word(&self.name_of(&self.token()))
        {
            self.next();
        }
        Ok(ExprKind::Other(list))
    }

    /// `MATCH (a, b) AGAINST ('…' IN BOOLEAN MODE)`: the scores of several servers do not compare.
    fn match_against(&mut self) -> Result<ExprKind, Unread> {
        self.next();
        let mut list = self.arguments()?.args;
        if !self.take_word("against") {
            return Err(self.unread("AGAINST"));
        }
        self.expect_mark(b'(', "(")?;
        list.push(self.bits(0)?);
        while self.token().kind == Kind::Word {
            self.next();
        }
        self.expect_mark(b')', ")")?;
        Ok(ExprKind::Other(list))
    }

    fn column_or_call(&mut self) -> Result<ExprKind, Unread> {
        let mut parts = vec![self.name("a name")?];
        while parts.len() < 3 && self.mark(b'.') && self.is_name(1) {
            self.next();
            parts.push(self.name("a name")?);
        }
        if self.mark(b'(') {
            return self.call(&parts);
        }
        if let [(only, _)] = parts.as_slice() {
            // CURRENT_TIMESTAMP and its kin are called without parentheses
            self.facts.volatile_function |= BARE
                .binary_search(&only.to_ascii_lowercase().as_str())
                .is_ok();
        }
        let name = parts.pop().map(|n| n.0).unwrap_or_default();
        let table = parts.pop();
        let schema = parts.pop();
        if let Some((table, (start, end))) = &table {
            let start = schema.as_ref().map_or(*start, |(_, span)| span.0);
            self.qualify(
                schema.as_ref().map(|s| s.0.clone()),
                table.clone(),
                (start, *end),
            );
        }
        Ok(ExprKind::Column(ColumnRef {
            schema: schema.map(|s| s.0),
            table: table.map(|t| t.0),
            name,
        }))
    }

    fn call(&mut self, parts: &[(String, Span)]) -> Result<ExprKind, Unread> {
        let name = parts
            .last()
            .map(|n| n.0.to_ascii_lowercase())
            .unwrap_or_default();
        self.note(&name);
        let mut call = self.nested(Self::arguments)?;
        call.qualified = parts.len() > 1;
        call.name = name;
        // FILTER does not exist; NULLS and FROM FIRST stand before OVER
        if self.any_word(&["respect", "ignore"]) && self.word_at(1, "nulls") {
            self.skip(2);
        }
        if self.take_word("over") {
            call.over = true;
            if self.mark(b'(') {
                call.args.push(self.window()?);
            } else {
                self.name("a window's name")?;
            }
        }
        Ok(ExprKind::Call(call))
    }

    /// OVER (…) and what WINDOW names: their columns count, their order does not.
    pub fn window(&mut self) -> Result<Expr, Unread> {
        let start = self.start();
        self.expect_mark(b'(', "(")?;
        let mut depth = 1;
        while depth > 0 {
            if self.any_word(&["select", "with"]) {
                return Err(self.unread("a window without subquery"));
            }
            let token = self.next();
            match token.kind {
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') => depth -= 1,
                Kind::Mark(b'?') => self.parameters.push((token.start, token.end)),
                Kind::End => return Err(self.unread(")")),
                _ => {}
            }
        }
        Ok(Expr {
            span: (start, self.end()),
            kind: ExprKind::Other(Vec::new()),
        })
    }

    /// `(…)` of a call. Words between arguments are skipped, and `odd` says so.
    fn arguments(&mut self) -> Result<Call, Unread> {
        self.expect_mark(b'(', "(")?;
        let mut call = Call {
            name: String::new(),
            args: Vec::new(),
            distinct: false,
            star: false,
            over: false,
            odd: false,
            qualified: false,
        };
        if self.mark(b'*') && self.mark_at(1, b')') {
            self.next();
            call.star = true;
        }
        if self.take_word("distinct") {
            call.distinct = true;
        } else {
            self.take_word("all");
        }
        if self.word("select") || self.word("with") {
            let start = self.start();
            let query = self.query()?;
            let kind = ExprKind::Subquery(Box::new(query));
            call.args.push(Expr {
                span: (start, self.end()),
                kind,
            });
        }
        let mut comma = true;
        while !self.take_mark(b')') {
            if self.take_mark(b',') {
                comma = true;
                continue;
            }
            if !comma || (self.any_word(&BETWEEN_ARGUMENTS) && !self.mark_at(1, b'(')) {
                call.odd = true;
            }
            if self.any_word(&BETWEEN_ARGUMENTS) && !self.mark_at(1, b'(') {
                self.next();
                comma = true;
                continue;
            }
            call.args.push(self.expr()?);
            comma = false;
        }
        Ok(call)
    }

    /// What a call of this function means.
    fn note(&mut self, name: &str) {
        let name = name.to_ascii_lowercase();
        if let Ok(at) = OF_THE_SESSION.binary_search(&name.as_str()) {
            self.facts.session_function = OF_THE_SESSION.get(at).copied();
        }
        self.facts.volatile_function |= VOLATILE.binary_search(&name.as_str()).is_ok();
    }
}

#[cfg(test)]
#[test]
fn the_lists_of_functions_are_in_order() {
    assert!(OF_THE_SESSION.is_sorted() && VOLATILE.is_sorted() && BARE.is_sorted());
}
