//! What of a statement's structure the planner needs. Every part knows its place in the text: plans are the client's
//! text with a few spans replaced, never a statement printed anew, so hints, introducers and spelling stay.

/// Bytes `.0` to `.1` of the statement.
pub type Span = (usize, usize);

#[derive(Debug)]
pub struct Parsed {
    pub statement: Statement,
    /// Every mention of a table, in the order of the text.
    pub tables: Vec<TableUse>,
    /// Query blocks: each one's parent.
    pub blocks: Vec<Option<usize>>,
    /// Places of the `?`.
    pub parameters: Vec<Span>,
    /// Every `t` of a `t.column`.
    pub qualifiers: Vec<Qualifier>,
    /// Query blocks with tables whose columns are not known: derived ones, CTEs.
    pub derived_blocks: Vec<usize>,
    /// Columns of USING, by query block: unqualified, they are the left table's.
    pub using: Vec<(usize, String)>,
    pub facts: Facts,
}

/// A table's name or alias before a column or `*`.
#[derive(Debug)]
pub struct Qualifier {
    pub schema: Option<String>,
    pub table: String,
    /// With the schema, without the last dot.
    pub span: Span,
    /// The query block in which it stands.
    pub block: usize,
}

/// What the statement mentions anywhere.
#[derive(Debug, Default, Clone, Copy)]
pub struct Facts {
    pub user_variable: bool,
    /// LAST_INSERT_ID and the like: what belongs to one connection.
    pub session_function: Option<&'static str>,
    /// UUID, RAND, NOW …: another value at every server.
    pub volatile_function: bool,
    /// SQL_CALC_FOUND_ROWS
    pub counts_found_rows: bool,
    /// Part of the text stands in `/*! … */`.
    pub code_comment: bool,
    /// SELECT … INTO
    pub into: bool,
    pub returning: bool,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE
    pub locks: bool,
    /// WITH
    pub has_cte: bool,
    /// A string names a column (`SELECT 1 'x'`): what literals say counts.
    pub literals_matter: bool,
}

#[derive(Debug)]
pub enum Statement {
    Select(Query),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

/// One mention of a table.
#[derive(Debug, Clone)]
pub struct TableUse {
    pub schema: Option<String>,
    pub name: String,
    /// Of the name with its schema.
    pub span: Span,
    pub alias: Option<String>,
    /// The query block in whose FROM it stands.
    pub block: usize,
    /// Where an alias would be put in: behind the name and PARTITION (…).
    pub alias_at: usize,
    /// Only named, without rows of its own: DELETE's targets.
    pub is_target: bool,
}

impl TableUse {
    /// The name by which columns are qualified.
    pub fn label(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Debug)]
pub struct Query {
    pub with: bool,
    /// Those of WITH.
    pub ctes: Vec<Query>,
    pub span: Span,
    pub parts: Vec<Term>,
    pub order: Vec<OrderItem>,
    /// From ORDER to the end of its list.
    pub order_span: Option<Span>,
    pub limit: Option<Limit>,
    /// Where clauses end and ORDER BY or LIMIT would begin.
    pub tail: usize,
}

/// Selects joined by UNION and its kin.
#[derive(Debug)]
pub enum Term {
    Select(Box<Select>),
    Query(Box<Query>),
}

#[derive(Debug)]
pub struct Select {
    pub block: usize,
    pub distinct: bool,
    pub items: Vec<Item>,
    /// End of the select list.
    pub items_end: usize,
    pub from: Option<Ref>,
    pub filter: Option<Expr>,
    pub group: Vec<Expr>,
    /// WITH ROLLUP, or ASC and DESC in GROUP BY.
    pub odd_group: bool,
    pub having: Option<Expr>,
    pub windows: bool,
    /// Derived tables, JSON_TABLE or LATERAL in FROM.
    pub derived: bool,
}

#[derive(Debug)]
pub struct Item {
    /// None: `*` or `t.*`.
    pub expr: Option<Expr>,
    pub alias: Option<String>,
}

#[derive(Debug)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Debug)]
pub struct Limit {
    pub span: Span,
    pub count: Expr,
    pub offset: Option<Expr>,
}

#[derive(Debug)]
pub enum Ref {
    /// Place in [`Parsed::tables`].
    Table(usize),
    /// A derived table, a CTE's name, JSON_TABLE; with the query, where it stands here.
    Derived(Option<Box<Query>>),
    Join(Box<Join>),
}

#[derive(Debug)]
pub struct Join {
    pub kind: JoinKind,
    pub left: Ref,
    pub right: Ref,
    pub on: Option<Expr>,
    pub using: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
}

#[derive(Debug)]
pub struct Update {
    pub from: Ref,
    pub block: usize,
    pub set: Vec<(Expr, Expr)>,
    pub filter: Option<Expr>,
    pub has_limit: bool,
}

#[derive(Debug)]
pub struct Delete {
    pub from: Ref,
    pub block: usize,
    /// Several tables, or `DELETE t FROM …`.
    pub joined: bool,
    pub filter: Option<Expr>,
    pub has_limit: bool,
}

#[derive(Debug)]
pub struct Insert {
    /// Place in [`Parsed::tables`].
    pub table: usize,
    /// None: all columns in their order.
    pub columns: Option<Vec<String>>,
    /// Before the list's closing parenthesis.
    pub columns_end: Option<usize>,
    /// Behind the rows, or the assignments of INSERT … SET.
    pub end: usize,
    pub source: Source,
    /// Columns that ON DUPLICATE KEY UPDATE sets.
    pub on_duplicate: Vec<Expr>,
    pub has_on_duplicate: bool,
    /// What it sets is read from tables.
    pub on_duplicate_reads: bool,
    /// Rows that are there already are left out.
    pub ignore: bool,
}

#[derive(Debug)]
pub enum Source {
    /// Rows with their place, parentheses included.
    Rows(Vec<(Span, Vec<Expr>)>),
    /// INSERT … SET
    Set(Vec<Expr>),
    Query(Box<Query>),
}

#[derive(Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug)]
pub enum ExprKind {
    Number,
    /// A plain string, without introducer; neighbours are one.
    Text,
    Null,
    Parameter(u16),
    Negative(Box<Expr>),
    Column(ColumnRef),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    In {
        value: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        value: Box<Expr>,
        query: Box<Query>,
    },
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    /// A numeric operator.
    Arithmetic(Vec<Expr>),
    Call(Call),
    Subquery(Box<Query>),
    /// Anything else, with the expressions in it.
    Other(Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NullSafe,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `<>`, `!=`
    Different,
}

#[derive(Debug)]
pub struct ColumnRef {
    pub schema: Option<String>,
    pub table: Option<String>,
    pub name: String,
}

#[derive(Debug)]
pub struct Call {
    /// In lower case; without schema.
    pub name: String,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// `(*)`
    pub star: bool,
    /// OVER follows.
    pub over: bool,
    /// Something between the arguments that is no comma (CAST … AS, ORDER BY, SEPARATOR …).
    pub odd: bool,
    /// `schema.name(…)`
    pub qualified: bool,
}

impl Expr {
    /// Calls `visit` for this expression and all in it, not for those of subqueries; these go to `query`.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr), query: &mut dyn FnMut(&'e Query)) {
        visit(self);
        let mut all = |list: &'e [Expr]| list.iter().for_each(|e| e.walk(visit, query));
        match &self.kind {
            ExprKind::Number
            | ExprKind::Text
            | ExprKind::Null
            | ExprKind::Parameter(_)
            | ExprKind::Column(_) => {}
            ExprKind::Negative(e) => e.walk(visit, query),
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Arithmetic(list)
            | ExprKind::Other(list) => all(list),
            ExprKind::Call(call) => all(&call.args),
            ExprKind::Compare(_, a, b) => {
                a.walk(visit, query);
                b.walk(visit, query);
            }
            ExprKind::In { value, list, .. } => {
                all(list);
                value.walk(visit, query);
            }
            ExprKind::InQuery {
                value,
                query: inner,
                ..
            } => {
                value.walk(visit, query);
                query(inner);
            }
            ExprKind::Between {
                value, low, high, ..
            } => {
                for e in [value, low, high] {
                    e.walk(visit, query);
                }
            }
            ExprKind::Subquery(inner) => query(inner),
        }
    }

    /// The members of a conjunction, or the expression itself.
    pub fn conjuncts(&self) -> &[Expr] {
        match &self.kind {
            ExprKind::And(list) => list,
            _ => std::slice::from_ref(self),
        }
    }
}
