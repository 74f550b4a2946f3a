//! Tables, joins, aliases.
use super::super::ast::{Join, JoinKind, Qualifier, Query, Ref, Span, TableUse};
use super::cursor::Cursor;
use super::Unread;
use crate::sniff::lexer::Kind;

/// Words that end a table, an expression or a clause and so are no alias without AS.
const NO_ALIAS: [&str; 62] = [
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "collate",
    "cross",
    "desc",
    "div",
    "else",
    "end",
    "escape",
    "except",
    "exists",
    "fetch",
    "for",
    "force",
    "from",
    "group",
    "having",
    "ignore",
    "in",
    "inner",
    "intersect",
    "interval",
    "into",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "lock",
    "minus",
    "mod",
    "natural",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "partition",
    "procedure",
    "regexp",
    "returning",
    "right",
    "rlike",
    "select",
    "set",
    "sounds",
    "straight_join",
    "tablesample",
    "then",
    "union",
    "use",
    "using",
    "values",
    "when",
    "where",
    "window",
    "xor",
];

pub(super) fn is_alias_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    NO_ALIAS.binary_search(&word.as_str()).is_err()
}

impl Cursor<'_> {
    /// `a, b JOIN c …`
    pub fn table_list(&mut self, derived: &mut bool) -> Result<Ref, Unread> {
        let mut left = self.joined_tables(derived)?;
        while self.take_mark(b',') {
            let right = self.joined_tables(derived)?;
            left = join(JoinKind::Inner, left, right);
        }
        Ok(left)
    }

    fn joined_tables(&mut self, derived: &mut bool) -> Result<Ref, Unread> {
        let mut left = self.table_factor(derived)?;
        while let Some((kind, natural)) = self.join_words()? {
            let right = self.table_factor(derived)?;
            let mut new = Join {
                kind,
                left,
                right,
                on: None,
                using: Vec::new(),
            };
            if self.take_word("on") {
                new.on = Some(self.expr()?);
            } else if self.take_word("using") {
                new.using = self.name_list()?;
                if kind != JoinKind::Right {
                    let block = self.block.unwrap_or(0);
                    self.using
                        .extend(new.using.iter().map(|name| (block, name.clone())));
                }
            } else if kind != JoinKind::Inner && !natural {
                return Err(self.unread("ON or USING right behind the joined table"));
            }
            left = Ref::Join(Box::new(new));
        }
        Ok(left)
    }

    /// The words of a join: its kind, and whether it is NATURAL.
    fn join_words(&mut self) -> Result<Option<(JoinKind, bool)>, Unread> {
        if self.take_word("straight_join") {
            return Ok(Some((JoinKind::Inner, false)));
        }
        let natural = self.take_word("natural");
        let kind = if self.any_word(&["left", "right"]) {
            let kind = if self.word("left") {
                JoinKind::Left
            } else {
                JoinKind::Right
            };
            self.next();
            self.take_word("outer");
            kind
        } else if self.any_word(&["inner", "cross"]) {
            self.next();
            JoinKind::Inner
        } else if self.word("join") {
            JoinKind::Inner
        } else if natural {
            return Err(self.unread("JOIN"));
        } else {
            return Ok(None);
        };
        self.expect_word("join", "JOIN")?;
        Ok(Some((kind, natural)))
    }

    fn table_factor(&mut self, derived: &mut bool) -> Result<Ref, Unread> {
        if self.mark(b'(') {
            return self.nested(|c| c.parenthesised(derived));
        }
        if self.word("lateral") || (self.word("json_table") && self.mark_at(1, b'(')) {
            *derived = true;
            let is_lateral = self.take_word("lateral");
            let mut query = None;
            if is_lateral {
                self.expect_mark(b'(', "(")?;
                query = Some(Box::new(self.query()?));
                self.expect_mark(b')', ")")?;
            } else {
                self.next();
                self.skip_parentheses()?;
            }
            self.alias()?;
            return Ok(self.derived(query));
        }
        self.table_name(derived)
    }

    /// `(a JOIN b …)`, `(SELECT …) alias`.
    fn parenthesised(&mut self, derived: &mut bool) -> Result<Ref, Unread> {
        let mut inner = 0;
        while self.mark_at(inner, b'(') {
            inner += 1;
        }
        let is_query = self.word_at(inner, "select") || self.word_at(inner, "with");
        self.next();
        if !is_query {
            let list = self.table_list(derived)?;
            self.expect_mark(b')', ")")?;
            return Ok(list);
        }
        *derived = true;
        let query = Box::new(self.query()?);
        self.expect_mark(b')', ")")?;
        self.alias()?;
        if self.mark(b'(') {
            self.skip_parentheses()?;
        }
        Ok(self.derived(Some(query)))
    }

    /// A table of the current block whose columns are not known.
    fn derived(&mut self, query: Option<Box<Query>>) -> Ref {
        self.derived_blocks.extend(self.block);
        Ref::Derived(query)
    }

    fn table_name(&mut self, derived: &mut bool) -> Result<Ref, Unread> {
        let use_ = self.table_use()?;
        let is_cte = use_.schema.is_none() && self.ctes.contains(&use_.name.to_lowercase());
        if is_cte || (use_.schema.is_none() && use_.name.eq_ignore_ascii_case("dual")) {
            *derived |= is_cte;
            return Ok(match is_cte {
                true => self.derived(None),
                false => Ref::Derived(None),
            });
        }
        self.tables.push(use_);
        Ok(Ref::Table(self.tables.len() - 1))
    }

    /// `[db.]name [PARTITION (…)] [[AS] alias] [index hints]`
    pub fn table_use(&mut self) -> Result<TableUse, Unread> {
        let mut table = self.bare_table()?;
        self.partition(&mut table)?;
        table.alias = self.alias()?;
        while self.any_word(&["use", "force", "ignore"]) && self.index_hint() {
            self.next();
            self.next();
            if self.take_word("for") && !self.take_word("join") {
                self.next();
                self.expect_word("by", "BY")?;
            }
            self.skip_parentheses()?;
        }
        Ok(table)
    }

    fn index_hint(&self) -> bool {
        self.word_at(1, "index") || self.word_at(1, "key")
    }

    /// `[db.]name`
    pub fn bare_table(&mut self) -> Result<TableUse, Unread> {
        let (first, mut span) = self.name("a table's name")?;
        let (mut schema, mut name) = (None, first);
        if self.take_mark(b'.') {
            let (second, end) = self.name("a table's name")?;
            (schema, name) = (Some(name), second);
            span.1 = end.1;
        }
        Ok(TableUse {
            schema,
            name,
            span,
            alias: None,
            block: self.block.unwrap_or(0),
            alias_at: span.1,
            is_target: false,
        })
    }

    /// `PARTITION (p0, p1)`
    pub fn partition(&mut self, table: &mut TableUse) -> Result<(), Unread> {
        if self.take_word("partition") {
            self.skip_parentheses()?;
            table.alias_at = self.end();
        }
        Ok(())
    }

    /// Notes a table's name before a column.
    pub fn qualify(&mut self, schema: Option<String>, table: String, span: Span) {
        let block = self.block.unwrap_or(0);
        self.qualifiers.push(Qualifier {
            schema,
            table,
            span,
            block,
        });
    }

    /// `[AS] alias`
    pub fn alias(&mut self) -> Result<Option<String>, Unread> {
        let explicit = self.take_word("as");
        let token = self.token();
        let is_alias = match token.kind {
            Kind::Quoted => true,
            Kind::Word => explicit || is_alias_word(&self.name_of(&token)),
            _ => false,
        };
        if !is_alias {
            return if explicit {
                Err(self.unread("an alias"))
            } else {
                Ok(None)
            };
        }
        self.next();
        Ok(Some(self.name_of(&token)))
    }

    /// `(a, b)`
    pub fn name_list(&mut self) -> Result<Vec<String>, Unread> {
        self.expect_mark(b'(', "(")?;
        let mut names = Vec::new();
        while !self.take_mark(b')') {
            names.push(self.name("a name")?.0);
            // a column of INSERT may be qualified
            while self.take_mark(b'.') {
                if let Some(last) = names.last_mut() {
                    *last = self.name("a name")?.0;
                }
            }
            if !self.mark(b')') {
                self.expect_mark(b',', ",")?;
            }
        }
        Ok(names)
    }
}

fn join(kind: JoinKind, left: Ref, right: Ref) -> Ref {
    Ref::Join(Box::new(Join {
        kind,
        left,
        right,
        on: None,
        using: Vec::new(),
    }))
}

#[cfg(test)]
#[test]
fn the_words_that_are_no_alias_are_in_order() {
    assert!(NO_ALIAS.is_sorted());
    assert!(!is_alias_word("WHERE") && is_alias_word("w"));
}
