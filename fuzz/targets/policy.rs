//! Policies on statement text, whole and cut, in both dialects: no panic, and a rule that denies every kind denies
//! whatever has a statement in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umpire::config::{Action, Policy, TableName};
use umpire::policy::{judge, Context};
use umpire::sniff::Dialect;

fn rule(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy {
        name: "p".into(),
        users: Vec::new(),
        action: Action::Deny,
        kinds: 0,
        digests: Vec::new(),
        tables: Vec::new(),
        full_table_select: false,
        no_where: false,
        multi_statement: false,
        opaque: false,
        allow_list: None,
        known: Default::default(),
    };
    change(&mut policy);
    policy
}

fuzz_target!(|data: &[u8]| {
    let table = TableName {
        schema: Some("shop".into()),
        table: "t".into(),
    };
    let rules = [
        rule(|p| p.kinds = u64::MAX),
        rule(|p| p.tables = vec![table]),
        rule(|p| p.digests = vec![1]),
        rule(|p| p.full_table_select = true),
        rule(|p| p.no_where = true),
        rule(|p| (p.opaque, p.multi_statement) = (true, true)),
    ];
    for (mariadb, version) in [(false, 90_700), (true, 101_100)] {
        let dialect = Dialect {
            ansi_quotes: mariadb,
            no_backslash_escapes: !mariadb,
            mariadb,
            version,
            ..Dialect::default()
        };
        let context = Context {
            schema: Some(b"shop"),
            dialect,
        };
        for complete in [true, false] {
            let verdict = judge(&rules, data, complete, context);
            assert_eq!(verdict.denied, Some(0));
        }
    }
});
