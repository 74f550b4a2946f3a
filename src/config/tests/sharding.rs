//! `[[database]]` and `[[table]]`.
use super::{assert_only_error, errors, good, BASE};
use crate::config::{ListValue, Method, Period, Rule, Span};

/// The base with a second group and one table of these lines.
fn table(lines: &str) -> String {
    let group = "[[group]]\nname = \"s1\"\nservers = [{ address = \"127.0.0.1:3308\", role = \"primary\" }]";
    format!("{BASE}{group}\n[[table]]\nname = \"shop.t\"\n{lines}\n")
}

fn rule(lines: &str) -> Rule {
    good(&table(lines)).tables.remove(0).rule
}

/// The one error's text behind its place.
fn wrong(lines: &str) -> String {
    let found = errors(&table(lines));
    assert_eq!(found.len(), 1, "{found:?}");
    let place = found[0].match_indices(": ").nth(1).unwrap().0;
    found[0][place + 2..].to_owned()
}

#[test]
fn a_database_and_a_table_are_placed_on_a_group() {
    let text = format!("{BASE}[[database]]\nname = \"billing\"\ngroup = \"main\"\n");
    let config = good(&text);
    assert_eq!(
        (
            config.databases[0].name.as_str(),
            config.databases[0].group.as_str()
        ),
        ("billing", "main")
    );
    assert_only_error(
        &text
            .replace("\"main\"\n", "\"mian\"\n")
            .replacen("\"mian\"", "\"main\"", 2),
        "test.toml:18:9: database[0].group: there is no group \"mian\"; did you mean \"main\"?",
    );
    assert_eq!(rule("group = \"s1\""), Rule::Placed("s1".into()));
}

#[test]
fn every_method_is_read() {
    let two = |method: &str, first: &str, second: &str| {
        let lines = format!(
            "key = \"k\"\nmethod = {method}\nshards = [{{ group = \"main\", {first} }}, {{ group = \"s1\", {second} }}]"
        );
        match rule(&lines) {
            Rule::Sharded {
                key,
                method,
                shards,
            } => {
                assert_eq!((key.as_str(), shards.len()), ("k", 2));
                method
            }
            other => panic!("{other:?}"),
        }
    };
    for (name, method) in [
        ("hash", Method::Hash),
        ("mod", Method::Mod),
        ("jump", Method::Jump),
    ] {
        assert_eq!(
            two(&format!("{name:?}"), "table = \"a\"", "table = \"x.b\""),
            method
        );
    }
    let range = |from, below| Span { from, below };
    assert_eq!(
        two("\"range\"", "below = 10", "from = 10"),
        Method::Range(vec![range(None, Some(10)), range(Some(10), None)])
    );
    let (number, text) = (ListValue::Number, |t: &str| ListValue::Text(t.into()));
    assert_eq!(
        two("\"list\"", "values = [1, \"EU \", \"7\"]", "default = true"),
        Method::List {
            values: vec![vec![number(1), text("eu"), number(7)], vec![]],
            default: Some(1)
        }
    );
    let month = |year, month| Some(Period::Month.number(year, month, 1));
    assert_eq!(
        two(
            "\"date\"\nperiod = \"month\"",
            "below = \"2024-03\"",
            "from = \"2024-03\""
        ),
        Method::Date {
            period: Period::Month,
            spans: vec![range(None, month(2024, 3)), range(month(2024, 3), None)]
        }
    );
    let lines = "method = \"broadcast\"\nshards = [{ group = \"main\" }, { group = \"s1\" }]";
    match rule(lines) {
        Rule::Broadcast(shards) => assert_eq!((shards.len(), shards[1].table.as_str()), (2, "t")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wrong_rule_says_what_is_wrong() {
    let two = |head: &str, a: &str, b: &str| {
        format!("{head}\nshards = [{{ group = \"main\"{a} }}, {{ group = \"s1\"{b} }}]")
    };
    let range = "key = \"k\"\nmethod = \"range\"";
    for (lines, expected) in [
        ("key = \"k\"".into(), "missing: method with shards (sharded), or group (all of it on one group)"),
        ("method = \"hash\"\nshards = [{ group = \"s1\" }]".into(), "missing: the column whose value decides the shard"),
        ("method = \"hash\"\nkey = \"k\"".into(), "a table with a method needs 1 to 4096 shards"),
        (two("method = \"hsah\"\nkey = \"k\"", "", ""),
         "\"hsah\" is not one of \"hash\", \"mod\", \"jump\", \"range\", \"list\", \"date\", \"broadcast\""),
        (two(range, ", below = 11", ", from = 10"), "the range overlaps the one of shards[0] at line 23"),
        (two(range, ", from = 5, below = 5", ", from = 10"),
         "from must be smaller than below (below itself is not part of the range)"),
        (two(range, ", below = \"ten\"", ", from = 10"), "expected a whole number, found \"ten\""),
        (two("key = \"k\"\nmethod = \"list\"", ", values = [1]", ", values = [2, \"1\"]"),
         "the value has a shard already, at line 23"),
        (two("key = \"k\"\nmethod = \"list\"", ", values = [1]", ""),
         "a shard of a list needs values, or default = true for all others"),
        (two("key = \"k\"\nmethod = \"date\"", "", ", from = \"2024\""),
         "missing: \"year\", \"month\" or \"day\", the unit of the shards' bounds"),
        (two("key = \"k\"\nmethod = \"date\"\nperiod = \"month\"", ", below = \"2024\"", ", from = \"2024-05\""),
         "expected a month such as \"2024-05\", found \"2024\""),
        (two("key = \"k\"\nmethod = \"mod\"", ", from = 1", ""),
         "a bound belongs to the methods \"range\" and \"date\", not to method \"mod\""),
        ("key = \"k\"\nmethod = \"mod\"\nshards = [{ group = \"s1\" }, { group = \"s1\" }]".into(),
         "shop.t of group \"s1\" holds a shard already, at line 23"),
        (two("key = \"k\"\nmethod = \"broadcast\"", "", ""), "a broadcast table has all rows everywhere: it has no key"),
        ("group = \"s1\"\nkey = \"k\"".into(), "a table on one group has no key; add a method and shards to shard it"),
    ] {
        assert!(wrong(&lines).starts_with(expected), "{lines}\n{}", wrong(&lines));
    }
}

#[test]
fn names_are_plain_whole_and_used_once() {
    let lines = "group = \"s1\"\n[[table]]\nname = \"Shop.T\"\ngroup = \"main\"";
    assert_eq!(
        wrong(lines),
        "there is a rule for \"Shop.T\" already, at line 20"
    );
    let short = table("group = \"s1\"").replace("shop.t", "t");
    assert!(errors(&short)[0].ends_with("\"t\" names no database; write it as \"database.table\""));
    let odd = table("group = \"s1\"").replace("shop.t", "shop.bücher");
    assert!(errors(&odd)[0].contains("cannot be the name of a table here"));
}
