//! Statement text: sniffed, judged by policies, planned.
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;
use umpire::config::{self, Action, Policy, TableName};
use umpire::plan::{concerns, explain, Columns, Request};
use umpire::policy::{judge, Context, Known};
use umpire::sniff::{digest, normalised, sniff as sniffed, About, Dialect, Facts, Judge, Memo};
use umpire::topology::ShardMap;

fn dialects() -> [Dialect; 3] {
    [
        (false, 90_700, false),
        (true, 101_100, false),
        (false, 80_036, true),
    ]
    .map(|(mariadb, version, ambiguous_bytes)| Dialect {
        ansi_quotes: mariadb,
        no_backslash_escapes: false,
        mariadb,
        version,
        ambiguous_bytes,
    })
}

/// Statement text, whole and cut. A digest is that of its own normalised text, which holds no literal.
pub fn sniff(data: &[u8]) {
    for dialect in dialects() {
        sniffed(data, true, dialect);
        sniffed(data, false, dialect);
        digest(data, dialect);
        let mut text = [0; 2000];
        let length = normalised(data, dialect, &mut text);
        assert!(length <= text.len());
    }
}

fn rule(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::of_everything("p", Action::Deny);
    change(&mut policy);
    policy
}

/// Names the statements that a text has; not those of texts that it prepares.
#[derive(Default)]
struct Statements(Vec<u64>);

impl Judge for Statements {
    fn wants_digests(&self) -> bool {
        true
    }
    fn name(&mut self, _: Option<&[u8]>, _: &[u8]) {}
    fn statement(&mut self, facts: Facts) {
        if !facts.prepared {
            self.0.push(facts.digest);
        }
    }
}

/// Policies on statement text, whole and cut: a rule that denies every kind denies whatever has a statement in it, and
/// what is denied alone is denied behind another statement, in a comment that is code, and as a text to prepare.
pub fn policy(data: &[u8]) {
    let table = TableName {
        schema: Some("shop".into()),
        table: "t".into(),
    };
    let shapes = [
        rule(|p| p.kinds = 1 << 35),
        rule(|p| p.tables = vec![table]),
        rule(|p| p.full_table_select = true),
        rule(|p| p.no_where = true),
    ];
    let all = [
        rule(|p| p.kinds = u64::MAX),
        rule(|p| p.digests = vec![1]),
        rule(|p| (p.opaque, p.multi_statement) = (true, true)),
    ];
    for dialect in dialects() {
        let context = Context {
            schema: Some(b"shop"),
            dialect,
            several: true,
        };
        for complete in [true, false] {
            assert_eq!(judge(&all, data, complete, context).denied, Some(0));
        }
        recalled(&shapes, data, context);
        let denied = |text: &[u8]| judge(&shapes, text, true, context).denied;
        let mut statements = Statements::default();
        umpire::sniff::facts(data, true, dialect, &mut statements);
        // beyond its end it must be nothing that swallows what is put behind it
        let plain = judge(&[rule(|p| p.opaque = true)], data, true, context);
        if let (Some(at), None, 1) = (denied(data), plain.denied, statements.0.len()) {
            let behind = [b"SELECT 1; ", data].concat();
            assert_eq!(denied(&behind), Some(at), "behind another statement");
            let alone = judge(&shapes[at..=at], data, true, context);
            assert_eq!(alone.denied, Some(0));
        }
    }
}

/// What is kept of a text holds for every text that the sniffer takes for the same: with other digits in it.
fn recalled(rules: &[Policy], data: &[u8], context: Context<'_>) {
    thread_local! {
        static KEPT: RefCell<(Memo, Known)> = RefCell::default();
    }
    let next = |byte: &u8| match byte {
        b'9' => b'0',
        b'0'..=b'8' => byte + 1,
        _ => *byte,
    };
    let other: Vec<u8> = data.iter().map(next).collect();
    KEPT.with_borrow_mut(|(memo, known)| {
        // twice, so that it is kept
        for sql in [data, data, data, &other] {
            let (said, text) = memo.know(sql, true, context.dialect);
            assert_eq!(said, sniffed(sql, true, context.dialect));
            let Some(text) = text else { continue };
            assert_eq!(text.about, About::of(sql, context.dialect));
            let kept = known.judge(text.id, 1, rules, sql, context);
            assert_eq!(kept, judge(rules, sql, true, context));
        }
    });
}

const RULES: &str = include_str!("../../../src/plan/testdata/rules.toml");

fn map() -> &'static ShardMap {
    static MAP: OnceLock<ShardMap> = OnceLock::new();
    MAP.get_or_init(|| {
        let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let config = config::parse(RULES, "rules.toml", &no_files);
        ShardMap::build(&config.expect("the planner's own test rules"))
    })
}

/// The same columns for every table.
fn columns(_: &str, _: &str) -> Option<Rc<Columns>> {
    const LIST: [[Option<&str>; 8]; 4] = [
        [
            Some("id"),
            Some("bigint"),
            Some("bigint"),
            None,
            None,
            None,
            Some("NO"),
            Some(""),
        ],
        [
            Some("customer_id"),
            Some("int"),
            Some("int"),
            None,
            None,
            None,
            Some("YES"),
            Some(""),
        ],
        [
            Some("name"),
            Some("varchar"),
            Some("varchar(20)"),
            Some("20"),
            Some("utf8mb4"),
            Some("utf8mb4_general_ci"),
            Some("YES"),
            Some(""),
        ],
        [
            Some("day"),
            Some("date"),
            Some("date"),
            None,
            None,
            None,
            Some("YES"),
            Some(""),
        ],
    ];
    let row = |row: &[Option<&'static str>; 8]| row.map(|v| v.map(str::as_bytes)).to_vec();
    Columns::read(LIST.iter().map(row)).map(Rc::new)
}

/// The planner on statement text: an answer or a refusal, which can be explained, and the same when it is kept.
pub fn plan(data: &[u8]) {
    for dialect in dialects() {
        concerns(data, Some("shop"), map(), dialect);
        let request = Request {
            sql: data,
            schema: Some("shop"),
            map: map(),
            columns: &columns,
            parameters: None,
            dialect,
            home: 0,
            held: None,
            ids: &|_, count, above| Some(above.saturating_add(1).min(u64::MAX - count)),
            zero_generates: true,
            version: Some(1),
            seed: 1,
        };
        let planned = umpire::plan::plan(&request);
        let mut cache = umpire::plan::Cache::default();
        for _ in 0..2 {
            assert_eq!(cache.plan(&request), planned);
        }
        if let Ok(planned) = planned {
            explain(&planned, &|group| group.to_string());
        }
    }
}
