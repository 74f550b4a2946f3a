//! The pure stages of a turn as things to repeat: for the benches (`perf/stages.rs`) and for counting
//! instructions (`perf/count.rs`).

use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use umpire::backend::{fit, initial_state, State, StateTable};
use umpire::config::{Action, Policy, TableName};
use umpire::observe::digests::{Digests, Turn};
use umpire::observe::record::{Ran, Record};
use umpire::observe::ring::ring;
use umpire::plan::{self, Columns, Planned, Request};
use umpire::policy::{judge, Context as Judged, Known};
use umpire::route::{route, Context};
use umpire::sniff::{digest, normalised, sniff, Dialect, Memo, Sniffed, TextId};
use umpire::topology::{
    Address, Budget, Greeting, Group, Health, ReadYourWrites, Role, Server, ServerId, ShardMap,
    Target,
};
use umpire::wire::capabilities::{DEPRECATE_EOF, PROTOCOL_41, SESSION_TRACK};
use umpire::wire::tracker::{Step, Tracker};
use umpire::wire::{command, resultset, status};

pub const DIALECT: Dialect = Dialect {
    ansi_quotes: false,
    no_backslash_escapes: false,
    mariadb: true,
    version: 101_119,
    ambiguous_bytes: false,
};

pub const POINT_SELECT: &str = "SELECT c FROM sbtest1 WHERE id=12345";

/// A stage's name and one pass through it.
pub type Op = (&'static str, Box<dyn FnMut()>);

pub fn all() -> Vec<Op> {
    let classic = PROTOCOL_41 | SESSION_TRACK;
    vec![
        (
            "sniff",
            Box::new(|| {
                black_box(sniffed(POINT_SELECT));
            }),
        ),
        ("sniff-again", remembered()),
        (
            "digest",
            Box::new(|| {
                black_box(digest(black_box(POINT_SELECT.as_bytes()), DIALECT));
            }),
        ),
        ("policy", judged(false)),
        ("policy-again", judged(true)),
        ("watch", watched(false)),
        ("watch-again", watched(true)),
        ("tracker", tracked(1, classic)),
        ("tracker-deprecate-eof", tracked(1, classic | DEPRECATE_EOF)),
        ("tracker-100-rows", tracked(100, classic)),
        ("route-read", routed(POINT_SELECT, 0)),
        (
            "route-write",
            routed("UPDATE sbtest1 SET k=k+1 WHERE id=12345", 0),
        ),
        ("route-after-write", routed(POINT_SELECT, 1)),
        ("plan-concerns", concerned()),
        ("plan-new", planned(false)),
        ("plan-known", planned(true)),
        ("state-same", matched(false)),
        ("state-other", matched(true)),
        ("state-intern", interned()),
    ]
}

fn sniffed(sql: &str) -> Sniffed {
    sniff(black_box(sql.as_bytes()), true, DIALECT)
}

/// A point select that differs from ones before in its number.
fn remembered() -> Box<dyn FnMut()> {
    let mut memo = Memo::default();
    for other in ["SELECT c FROM sbtest1 WHERE id=99999"; 3] {
        memo.know(other.as_bytes(), true, DIALECT);
    }
    Box::new(move || {
        black_box(memo.know(black_box(POINT_SELECT.as_bytes()), true, DIALECT));
    })
}

/// A point select under six rules of which it meets none; `again`: it is known to pass.
fn judged(again: bool) -> Box<dyn FnMut()> {
    let rule = |change: fn(&mut Policy)| {
        let mut rule = Policy::of_everything("p", Action::Deny);
        change(&mut rule);
        rule
    };
    let salaries = |rule: &mut Policy| {
        rule.tables = vec![TableName {
            schema: None,
            table: "salaries".into(),
        }];
    };
    let rules = vec![
        rule(|r| r.no_where = true),
        rule(|r| r.full_table_select = true),
        rule(|r| r.opaque = true),
        rule(|r| r.multi_statement = true),
        rule(salaries),
        rule(|r| r.kinds = 1 << 35),
    ];
    let context = Judged {
        schema: Some(b"sbtest"),
        dialect: DIALECT,
        several: false,
    };
    let mut known = Known::default();
    Box::new(move || {
        let sql = black_box(POINT_SELECT.as_bytes());
        let verdict = match again {
            true => known.judge(TextId(1), 1, &rules, sql, context),
            false => judge(&rules, sql, true, context),
        };
        assert!(black_box(verdict).denied.is_none());
    })
}

/// What statistics and audit add to a turn: digest, its place in the table, the record and its way out. `again`: the text
/// is one that the sniffer knows.
fn watched(again: bool) -> Box<dyn FnMut()> {
    let mut table = Digests::new(1000);
    let (writer, reader) = ring(1 << 20);
    let (user, group): (Rc<str>, Rc<str>) = ("app".into(), "main".into());
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    Box::new(move || {
        let text = black_box(POINT_SELECT.as_bytes());
        let turn = Turn {
            digest: if again { 7 } else { digest(text, DIALECT) },
            user_hash: 7,
            micros: 120,
            rows: 1,
            bytes: 190,
            failed: false,
        };
        table.note(&turn, &user, &group, |to| normalised(text, DIALECT, to));
        let record = Record {
            audited: true,
            ran: Ran::Replica,
            command: command::QUERY,
            connection: 1,
            server: 2,
            at: 1,
            duration: 120,
            rows: 1,
            bytes: 190,
            digest: turn.digest,
            user: &user,
            schema: b"sbtest",
            text,
            ..Record::EMPTY
        };
        record.encode(&mut bytes);
        assert!(writer.put(&bytes) && reader.take(&mut out));
    })
}

/// A whole text result as sysbench's point select gives it, walked to its end.
fn tracked(rows: usize, capabilities: u64) -> Box<dyn FnMut()> {
    let row = vec![Some("x".repeat(119))];
    let mut reply = Vec::new();
    let flags = status::AUTOCOMMIT;
    resultset::encode(&["c"], &vec![row; rows], flags, capabilities, 1, &mut reply);
    Box::new(move || {
        let mut tracker = Tracker::new(command::QUERY, capabilities);
        let mut rest = black_box(reply.as_slice());
        while !tracker.done() {
            let n = match tracker.step(rest) {
                Ok(Step::Pass(n) | Step::Control { n, .. }) => n,
                other => panic!("a whole reply does not end with {other:?}"),
            };
            rest = &rest[n..];
        }
        assert!(black_box(rest).is_empty());
    })
}

fn routed(sql: &'static str, last_write: u64) -> Box<dyn FnMut()> {
    let group = group();
    let statement = sniffed(sql);
    let mut context = Context {
        now: if last_write > 0 { 2 } else { 1_000_000_000_000 },
        last_write,
        ..Context::default()
    };
    Box::new(move || {
        context.seed = context.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let load = |server: ServerId| server.0;
        black_box(route(
            black_box(&statement),
            black_box(&context),
            &group,
            &load,
        ));
    })
}

/// Rules for a table of sysbench's form on two groups, and one that the point select does not name.
const RULES: &str = r#"
[proxy]
listen = ["127.0.0.1:6033"]
[[group]]
name = "main"
servers = [{ address = "127.0.0.1:3306", role = "primary" }]
[[group]]
name = "second"
servers = [{ address = "127.0.0.1:3307", role = "primary" }]
[[user]]
name = "app"
password = "x"
group = "main"
[[table]]
name = "sbtest.sbtest7"
key = "id"
method = "hash"
shards = [{ group = "main", table = "a" }, { group = "main", table = "b" }, { group = "second", table = "c" }]
"#;

fn rules() -> ShardMap {
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let config = umpire::config::parse(RULES, "rules.toml", &no_files).expect("a configuration");
    ShardMap::build(&config)
}

/// What a statement that names no table with a rule costs where there are rules.
fn concerned() -> Box<dyn FnMut()> {
    let map = rules();
    Box::new(move || {
        let sql = black_box(POINT_SELECT.as_bytes());
        assert!(!plan::concerns(sql, Some("sbtest"), &map, DIALECT));
    })
}

/// The plan of a point select on a sharded table, made anew or known from one with another number.
fn planned(known: bool) -> Box<dyn FnMut()> {
    let map = rules();
    let text = |value: &'static str| Some(value.as_bytes());
    let column = vec![
        text("id"),
        text("int"),
        text("int(11)"),
        None,
        None,
        None,
        text("NO"),
        text(""),
    ];
    let columns = Rc::new(Columns::read([column].into_iter()).expect("a column"));
    let mut cache = plan::Cache::default();
    Box::new(move || {
        let known_columns = |_: &str, _: &str| Some(columns.clone());
        let planned = cache.plan(&Request {
            sql: black_box(b"SELECT c FROM sbtest7 WHERE id=12345"),
            schema: Some("sbtest"),
            map: &map,
            columns: &known_columns,
            parameters: None,
            dialect: DIALECT,
            home: 0,
            held: None,
            ids: &|_, _, _| None,
            zero_generates: true,
            version: known.then_some(1),
            seed: 1,
        });
        assert!(matches!(black_box(planned), Ok(Planned::Plan(_))));
    })
}

/// A connection's state against the one that a session wants: the same, or another schema and a SET.
fn matched(differs: bool) -> Box<dyn FnMut()> {
    let table = StateTable::new();
    let have = table.intern(session_state());
    let want = if differs {
        let other = have.with_schema(b"other");
        table.intern(other.with_variable(b"sql_mode", b"ANSI"))
    } else {
        Rc::clone(&have)
    };
    Box::new(move || {
        black_box(fit(black_box(&have), black_box(&want), true));
    })
}

/// What a turn that changed the session's state costs more: the state looked up in the worker's table.
fn interned() -> Box<dyn FnMut()> {
    let table = StateTable::new();
    let state = session_state();
    let kept = table.intern(state.clone());
    Box::new(move || {
        let found = table.intern(black_box(state.clone()));
        assert!(Rc::ptr_eq(&found, &kept));
    })
}

fn session_state() -> State {
    initial_state(45, &greeting())
        .with_schema(b"sbtest")
        .with_variable(b"time_zone", b"+00:00")
}

fn greeting() -> Greeting {
    Greeting {
        version: "10.11.19-MariaDB".into(),
        capabilities: PROTOCOL_41 | SESSION_TRACK,
        collation: 45,
        auth_plugin: "mysql_native_password".into(),
        collations: Arc::new(HashMap::new()),
        sql_mode: String::new(),
        autocommit: true,
        select_limit: false,
        div_precision_increment: Greeting::DIV_PRECISION_INCREMENT,
    }
}

/// A primary and two replicas, all well.
fn group() -> Group {
    let server = |index: u32| {
        let role = if index == 0 {
            Role::Primary
        } else {
            Role::Replica
        };
        let port = 3306 + index as u16;
        Arc::new(Server {
            id: ServerId(index),
            address: Address::Tcp("127.0.0.1".into(), port),
            target: Some(Target::Tcp(([127, 0, 0, 1], port).into())),
            role,
            weight: u32::from(index > 0),
            compression: umpire::config::Compression::Off,
            health: Health {
                alive: true,
                writable: index == 0,
                readable: true,
                lag: None,
                reason: String::new(),
            },
            tls: None,
            budget: Arc::new(Budget::new(200)),
            proxy_protocol: None,
        })
    };
    Group {
        name: "main".into(),
        index: 0,
        read_write_split: true,
        election: umpire::config::Primary::Writable,
        read_your_writes: ReadYourWrites::Timer,
        read_your_writes_window: Duration::from_millis(300),
        servers: (0..3).map(server).collect(),
        primary: Some(0),
        greeting: Arc::new(greeting()),
        accounts: None,
    }
}
