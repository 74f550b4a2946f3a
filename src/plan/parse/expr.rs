//! Operators, by MySQL's precedence.
use super::super::ast::{Comparison, Expr, ExprKind};
use super::cursor::Cursor;
use super::Unread;
use crate::sniff::lexer::Kind;

impl Cursor<'_> {
    pub fn expr(&mut self) -> Result<Expr, Unread> {
        self.nested(Self::or)
    }

    /// OR, `||` (which is CONCAT under PIPES_AS_CONCAT: nothing is concluded from it) and `:=`.
    fn or(&mut self) -> Result<Expr, Unread> {
        let (mut list, mut pipes) = (vec![self.xor()?], false);
        loop {
            if self.take_word("or") {
            } else if self.double(b'|') {
                self.skip(2);
                pipes = true;
            } else if self.token().kind == Kind::Assign {
                self.next();
                pipes = true;
            } else {
                break;
            }
            list.push(self.xor()?);
        }
        Ok(joined(
            list,
            if pipes { ExprKind::Other } else { ExprKind::Or },
        ))
    }

    fn xor(&mut self) -> Result<Expr, Unread> {
        let mut list = vec![self.and()?];
        while self.take_word("xor") {
            list.push(self.and()?);
        }
        Ok(joined(list, ExprKind::Other))
    }

    fn and(&mut self) -> Result<Expr, Unread> {
        let mut list = vec![self.not()?];
        loop {
            if self.double(b'&') {
                self.skip(2);
            } else if !self.take_word("and") {
                break;
            }
            list.push(self.not()?);
        }
        Ok(joined(list, ExprKind::And))
    }

    fn not(&mut self) -> Result<Expr, Unread> {
        let start = self.start();
        if !self.take_word("not") {
            return self.comparison();
        }
        let inner = self.nested(Self::not)?;
        Ok(Expr {
            span: (start, inner.span.1),
            kind: ExprKind::Other(vec![inner]),
        })
    }

    fn comparison(&mut self) -> Result<Expr, Unread> {
        let mut left = self.bits(0)?;
        loop {
            let start = left.span.0;
            let kind = if let Some((comparison, length)) = self.comparison_operator() {
                self.skip(length);
                if self.any_word(&["any", "all", "some"]) && self.mark_at(1, b'(') {
                    self.next();
                    let right = self.bits(0)?;
                    ExprKind::Other(vec![left, right])
                } else {
                    let right = self.bits(0)?;
                    ExprKind::Compare(comparison, Box::new(left), Box::new(right))
                }
            } else if let Some(kind) = self.predicate(&mut left)? {
                kind
            } else {
                return Ok(left);
            };
            left = Expr {
                span: (start, self.end()),
                kind,
            };
        }
    }

    /// IS, [NOT] IN, BETWEEN, LIKE, REGEXP, MEMBER OF, SOUNDS LIKE. `left` is taken if one follows.
    fn predicate(&mut self, left: &mut Expr) -> Result<Option<ExprKind>, Unread> {
        let negated = self.word("not")
            && ["in", "between", "like", "regexp", "rlike"]
                .iter()
                .any(|w| self.word_at(1, w));
        let at = usize::from(negated);
        let take = |left: &mut Expr| {
            std::mem::replace(
                left,
                Expr {
                    span: (0, 0),
                    kind: ExprKind::Null,
                },
            )
        };
        // POSITION(a IN b) is no list
        if self.word_at(at, "in") && self.mark_at(at + 1, b'(') {
            self.skip(at + 1);
            return self.in_list(take(left), negated).map(Some);
        }
        if self.word_at(at, "between") {
            self.skip(at + 1);
            let low = Box::new(self.bits(0)?);
            self.expect_word("and", "AND")?;
            // the right side reaches further: `a BETWEEN 1 AND b IN (…)` belongs together
            let high = Box::new(self.comparison()?);
            return Ok(Some(ExprKind::Between {
                value: Box::new(take(left)),
                low,
                high,
                negated,
            }));
        }
        if ["like", "regexp", "rlike"]
            .iter()
            .any(|w| self.word_at(at, w))
        {
            self.skip(at + 1);
            let mut list = vec![take(left), self.bits(0)?];
            if self.take_word("escape") {
                list.push(self.bits(0)?);
            }
            return Ok(Some(ExprKind::Other(list)));
        }
        if self.word("sounds") || (self.word("member") && self.word_at(1, "of")) {
            self.skip(2);
            let right = self.bits(0)?;
            return Ok(Some(ExprKind::Other(vec![take(left), right])));
        }
        if self.take_word("is") {
            self.take_word("not");
            if !self.any_word(&["null", "true", "false", "unknown"]) {
                return Err(self.unread("NULL, TRUE, FALSE or UNKNOWN"));
            }
            self.next();
            return Ok(Some(ExprKind::Other(vec![take(left)])));
        }
        Ok(None)
    }

    fn in_list(&mut self, value: Expr, negated: bool) -> Result<ExprKind, Unread> {
        let value = Box::new(value);
        self.expect_mark(b'(', "(")?;
        if self.word("select") || self.word("with") {
            let query = Box::new(self.query()?);
            self.expect_mark(b')', ")")?;
            return Ok(ExprKind::InQuery { value, query });
        }
        let mut list = vec![self.expr()?];
        while self.take_mark(b',') {
            list.push(self.expr()?);
        }
        self.expect_mark(b')', ")")?;
        Ok(ExprKind::In {
            value,
            list,
            negated,
        })
    }

    /// `|` `&` shifts, `+ -`, `* / DIV % MOD`, `^`: levels 0 to 5, all numeric.
    pub fn bits(&mut self, level: u8) -> Result<Expr, Unread> {
        if level > 5 {
            return self.unary();
        }
        let mut list = vec![self.bits(level + 1)?];
        while let Some(length) = self.operator(level) {
            self.skip(length);
            list.push(self.bits(level + 1)?);
        }
        Ok(joined(list, ExprKind::Arithmetic))
    }

    /// The tokens of an operator of this level that comes next.
    fn operator(&self, level: u8) -> Option<usize> {
        let one = |mark: u8| self.mark(mark).then_some(1);
        match level {
            0 if !self.double(b'|') => one(b'|'),
            1 if !self.double(b'&') => one(b'&'),
            2 => (self.double(b'<') || self.double(b'>')).then_some(2),
            3 => one(b'+').or_else(|| one(b'-')),
            4 => {
                let word = self.any_word(&["div", "mod"]).then_some(1);
                one(b'*')
                    .or_else(|| one(b'/'))
                    .or_else(|| one(b'%'))
                    .or(word)
            }
            5 => one(b'^'),
            _ => None,
        }
    }

    fn unary(&mut self) -> Result<Expr, Unread> {
        let start = self.start();
        let sign = match self.token().kind {
            Kind::Mark(mark @ (b'-' | b'+' | b'~' | b'!')) => mark,
            _ if self.word("binary") && !self.mark_at(1, b'.') => b'b',
            _ => return self.collated(),
        };
        self.next();
        let inner = self.nested(Self::unary)?;
        let span = (start, inner.span.1);
        let kind = match sign {
            b'-' => ExprKind::Negative(Box::new(inner)),
            b'~' => ExprKind::Arithmetic(vec![inner]),
            b'+' => {
                return Ok(Expr {
                    span,
                    kind: inner.kind,
                })
            }
            _ => ExprKind::Other(vec![inner]),
        };
        Ok(Expr { span, kind })
    }

    /// `x COLLATE c`, `x -> path`, `x ->> path`.
    fn collated(&mut self) -> Result<Expr, Unread> {
        let mut expr = self.atom()?;
        loop {
            let start = expr.span.0;
            if self.take_word("collate") {
                if self.token().kind == Kind::Text {
                    self.next();
                } else {
                    self.name("a collation")?;
                }
            } else if self.mark(b'-') && self.mark_at(1, b'>') && self.joined(0) {
                let double = self.mark_at(2, b'>') && self.joined(1);
                self.skip(2 + usize::from(double));
                if self.token().kind != Kind::Text {
                    return Err(self.unread("a JSON path"));
                }
                self.next();
            } else {
                return Ok(expr);
            }
            expr = Expr {
                span: (start, self.end()),
                kind: ExprKind::Other(vec![expr]),
            };
        }
    }

    fn comparison_operator(&self) -> Option<(Comparison, usize)> {
        let Kind::Mark(first) = self.token().kind else {
            return None;
        };
        let second = match self.peek(1).kind {
            Kind::Mark(mark) if self.joined(0) => mark,
            _ => 0,
        };
        let third = second == b'=' && self.joined(1) && self.mark_at(2, b'>');
        Some(match (first, second) {
            (b'<', b'=') if third => (Comparison::NullSafe, 3),
            (b'<', b'=') => (Comparison::LessEqual, 2),
            (b'<', b'>') | (b'!', b'=') => (Comparison::Different, 2),
            (b'>', b'=') => (Comparison::GreaterEqual, 2),
            (b'<', b'<') | (b'>', b'>') => return None,
            (b'<', _) => (Comparison::Less, 1),
            (b'>', _) => (Comparison::Greater, 1),
            (b'=', _) => (Comparison::Equal, 1),
            _ => return None,
        })
    }

    /// Two of the same mark without space between.
    fn double(&self, mark: u8) -> bool {
        self.mark(mark) && self.mark_at(1, mark) && self.joined(0)
    }

    pub fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }
}

/// One expression of several, or the only one itself.
fn joined(mut list: Vec<Expr>, kind: fn(Vec<Expr>) -> ExprKind) -> Expr {
    let ends = (
        list.first().map(|e| e.span.0),
        list.last().map(|e| e.span.1),
    );
    match (list.len(), list.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            list.extend(last);
            Expr {
                span: (ends.0.unwrap_or(0), ends.1.unwrap_or(0)),
                kind: kind(list),
            }
        }
    }
}
