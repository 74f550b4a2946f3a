use super::*;

fn sharding(method: Method, count: usize) -> Sharding {
    let shard = |n| Shard {
        group: n,
        schema: "shop".into(),
        table: format!("t{n}"),
    };
    Sharding {
        key: "id".into(),
        method,
        shards: (0..count).map(shard).collect(),
    }
}

fn span(from: Option<i64>, below: Option<i64>) -> Span {
    Span { from, below }
}

#[test]
fn the_hash_never_changes() {
    // FNV-1a of nothing and of "a" are published; fmix64 after them
    assert_eq!(fnv1a_fmix64(b""), 0xefd0_1f60_ba99_2926);
    assert_eq!(fnv1a_fmix64(b"a"), 0x82a2_a958_a9be_ce5b);
    let spread: Vec<_> = (0..8).map(|n| Key::Int(n).hash() % 4).collect();
    assert_eq!(spread, PLACES);
}

const PLACES: [u64; 8] = [0, 2, 2, 2, 0, 1, 1, 3];

#[test]
fn keys_spread_evenly_and_a_text_of_digits_goes_where_the_number_goes() {
    for method in [Method::Hash, Method::Jump, Method::Mod] {
        let table = sharding(method, 8);
        let mut counts = [0; 8];
        for n in 0..8_000 {
            counts[table.locate(&Key::Int(n)).unwrap()] += 1;
        }
        assert!(
            counts.iter().all(|n| (850..1150).contains(n)),
            "{:?} {counts:?}",
            table.method
        );
    }
    assert_eq!(Key::Int(42).hash(), Key::text(b"42").unwrap().hash());
    assert_eq!(Key::text(b"Bob  "), Key::text(b"bOB"));
    assert_eq!(Key::text("Bär".as_bytes()), None);
}

#[test]
fn one_more_shard_of_a_jump_hash_moves_keys_only_to_it() {
    for n in 0..2_000 {
        let hash = Key::Int(n).hash();
        let (before, after) = (jump(hash, 7), jump(hash, 8));
        assert!(after == before || after == 7, "{n}: {before} → {after}");
    }
}

#[test]
fn a_negative_key_has_a_shard_by_modulo() {
    assert_eq!(sharding(Method::Mod, 4).locate(&Key::Int(-1)), Some(3));
}

#[test]
fn ranges_locate_values_and_intervals() {
    let spans = vec![
        span(None, Some(100)),
        span(Some(100), Some(200)),
        span(Some(300), None),
    ];
    let table = sharding(Method::Range(spans), 3);
    let at = |n| table.locate(&Key::Int(n));
    assert_eq!(
        [at(-5), at(99), at(100), at(250), at(300)],
        [Some(0), Some(0), Some(1), None, Some(2)]
    );
    let between = |low: Option<i128>, high: Option<i128>| {
        table
            .between(low.map(Key::Int).as_ref(), high.map(Key::Int).as_ref())
            .unwrap()
    };
    assert_eq!(between(Some(99), Some(100)), [0, 1]);
    assert_eq!(between(Some(200), Some(299)), [0; 0]);
    assert_eq!(between(Some(150), None), [1, 2]);
    assert_eq!(between(None, Some(50)), [0]);
}

#[test]
fn lists_and_dates_locate_their_values() {
    let values = vec![
        vec![ListValue::Number(1)],
        vec![ListValue::Text("eu".into())],
        vec![],
    ];
    let table = sharding(
        Method::List {
            values,
            default: Some(2),
        },
        3,
    );
    assert_eq!(table.locate(&Key::Int(1)), Some(0));
    assert_eq!(table.locate(&Key::text(b"1").unwrap()), Some(0));
    assert_eq!(table.locate(&Key::text(b"EU").unwrap()), Some(1));
    assert_eq!(table.locate(&Key::Int(9)), Some(2));
    let month = |year, month| Some(Period::Month.number(year, month, 1));
    let spans = vec![
        span(None, month(2024, 1)),
        span(month(2024, 1), month(2024, 7)),
    ];
    let table = sharding(
        Method::Date {
            period: Period::Month,
            spans,
        },
        2,
    );
    let date = |year, month, day| Key::Date { year, month, day };
    assert_eq!(table.locate(&date(2023, 12, 31)), Some(0));
    assert_eq!(table.locate(&date(2024, 6, 30)), Some(1));
    assert_eq!(table.locate(&date(2024, 7, 1)), None);
    let between = table.between(Some(&date(2024, 1, 1)), None);
    assert_eq!(between, Some(vec![1]));
}

#[test]
fn a_short_interval_of_a_hashed_key_is_looked_up_value_by_value() {
    let table = sharding(Method::Mod, 8);
    let between = |low, high| table.between(Some(&Key::Int(low)), Some(&Key::Int(high)));
    assert_eq!(between(3, 5), Some(vec![3, 4, 5]));
    assert_eq!(between(3, 1_000_000), None);
    assert_eq!(table.between(Some(&Key::Int(3)), None), None);
}

#[test]
fn names_are_told_apart_cheaply_and_case_is_noticed() {
    let text = r#"
[proxy]
listen = ["127.0.0.1:6033"]
[[group]]
name = "s0"
servers = [{ address = "a:1", role = "primary" }]
[[user]]
name = "app"
password = "x"
group = "s0"
[[database]]
name = "billing"
group = "s0"
[[table]]
name = "shop.orders"
key = "id"
method = "hash"
shards = [{ group = "s0", table = "orders_0" }, { group = "s0", table = "orders_1" }]
"#;
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let config = config::parse(text, "test.toml", &no_files).unwrap();
    let map = ShardMap::build(&config);
    assert!(
        map.may_concern(b"orders") && map.may_concern(b"ORDERS") && map.may_concern(b"Billing")
    );
    assert!(!map.may_concern(b"orderz") && !map.may_concern(b"shop") && !map.may_concern(b""));
    assert!(!map.may_concern(&[b'o'; 70]));
    assert_eq!(map.find("shop", "orders"), Some((0, true)));
    assert_eq!(map.find("Shop", "orders"), Some((0, false)));
    assert_eq!(map.find("other", "orders"), None);
    assert_eq!(map.database("billing"), Some(0));
}
