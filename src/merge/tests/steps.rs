//! Each step by a small example.
use super::world::{column, decimal, merged, text, unsigned, Text};
use crate::merge::{Error, Merger, Step};
use crate::plan::{Aggregate, Column as Place, Compare, Grouping, Merge, SortKey};
use crate::wire::column::{flags, kind, Column};

fn key(column: usize, compare: Compare, descending: bool) -> SortKey {
    SortKey {
        column: Place::Visible(column),
        compare,
        descending,
    }
}

fn up(column: usize) -> SortKey {
    key(column, Compare::Number, false)
}

fn down(column: usize) -> SortKey {
    key(column, Compare::Number, true)
}

fn weight(column: usize) -> SortKey {
    SortKey {
        column: Place::Hidden(column),
        ..key(0, Compare::Bytes, false)
    }
}

fn place(column: usize) -> Place {
    Place::Visible(column)
}

fn rows(of: &[&[&str]]) -> Vec<Vec<Text>> {
    let value = |v: &&str| (*v != "NULL").then(|| v.to_string());
    of.iter().map(|r| r.iter().map(value).collect()).collect()
}

fn both(merge: &Merge, columns: &[Column], shards: &[Vec<Vec<Text>>]) -> (Vec<Vec<Text>>, usize) {
    let by_text = merged(merge, columns, shards, false).unwrap();
    let by_binary = merged(merge, columns, shards, true).unwrap();
    assert_eq!(by_text, by_binary);
    by_text
}

#[test]
fn rows_in_mixed_order_with_nulls_come_as_from_one_server() {
    let columns = [column("a", kind::LONGLONG), unsigned("b")];
    let shards = [
        rows(&[&["NULL", "3"], &["-5", "1"], &["10", "9"], &["10", "2"]]),
        rows(&[]),
        rows(&[
            &["NULL", "18446744073709551615"],
            &["2", "1"],
            &["10", "NULL"],
        ]),
    ];
    let merge = Merge {
        order: vec![up(0), down(1)],
        ..Merge::default()
    };
    let expected = rows(&[
        &["NULL", "18446744073709551615"],
        &["NULL", "3"],
        &["-5", "1"],
        &["2", "1"],
        &["10", "9"],
        &["10", "2"],
        &["10", "NULL"],
    ]);
    assert_eq!(both(&merge, &columns, &shards).0, expected);
}

#[test]
fn a_limit_stops_the_shards_early_and_hidden_keys_are_trimmed() {
    let columns = [
        column("a", kind::LONGLONG),
        column("b", kind::LONGLONG),
        column("w", 0xfd),
    ];
    let shard = |from: usize| -> Vec<Vec<Text>> {
        (0..1000)
            .map(|i| {
                vec![
                    text(&(from + i).to_string()),
                    None,
                    text(&format!("{:05}", 2 * i + from)),
                ]
            })
            .collect()
    };
    let merge = Merge {
        hidden: 1,
        order: vec![weight(0)],
        offset: 3,
        limit: Some(4),
        ..Merge::default()
    };
    let (rows, taken) = both(&merge, &columns, &[shard(0), shard(1)]);
    let keys: Vec<_> = rows
        .iter()
        .map(|r| (r.len(), r[0].clone().unwrap()))
        .collect();
    let expected = [(2, "2"), (2, "2"), (2, "3"), (2, "3")].map(|(n, k)| (n, k.to_string()));
    assert_eq!(keys, expected);
    assert!(taken < 12, "{taken} rows were read");
}

#[test]
fn limit_zero_reads_nothing() {
    let merge = Merge {
        limit: Some(0),
        ..Merge::default()
    };
    let columns = vec![vec![column("a", kind::LONGLONG)]];
    let mut merger = Merger::new(&merge, &columns, false, 4, 1000).unwrap();
    assert_eq!(merger.step(&mut Vec::new()), Ok(Step::Done));
}

#[test]
fn groups_are_added_up_and_averaged_with_the_servers_scale() {
    // g, SUM(d), COUNT(*), AVG(d), MIN(d), MAX(d)
    let columns = [
        column("g", kind::LONGLONG),
        decimal("s", 2),
        column("c", kind::LONGLONG),
        decimal("a", 6),
        decimal("lo", 2),
        decimal("hi", 2),
    ];
    let merge = Merge {
        group: Some(Grouping {
            keys: vec![up(0)],
            aggregates: vec![
                (place(1), Aggregate::Sum),
                (place(2), Aggregate::Sum),
                (
                    place(3),
                    Aggregate::Average {
                        sum: place(1),
                        count: place(2),
                    },
                ),
                (place(4), Aggregate::Min { by: up(4) }),
                (place(5), Aggregate::Max { by: up(5) }),
            ],
        }),
        order: vec![up(0)],
        ..Merge::default()
    };
    let shards = [
        rows(&[
            &["NULL", "NULL", "0", "NULL", "NULL", "NULL"],
            &["1", "10.05", "2", "5.025000", "-1.00", "11.05"],
        ]),
        rows(&[
            &["1", "-0.04", "1", "-0.040000", "-0.04", "-0.04"],
            &["2", "1.00", "1", "1.000000", "1.00", "1.00"],
        ]),
    ];
    let expected = rows(&[
        &["NULL", "NULL", "0", "NULL", "NULL", "NULL"],
        &["1", "10.01", "3", "3.336667", "-1.00", "11.05"],
        &["2", "1.00", "1", "1.000000", "1.00", "1.00"],
    ]);
    assert_eq!(both(&merge, &columns, &shards).0, expected);
}

#[test]
fn groups_in_another_order_are_sorted_before_the_limit() {
    let columns = [column("v", kind::LONGLONG), column("n", kind::LONGLONG)];
    let merge = Merge {
        group: Some(Grouping {
            keys: vec![up(0)],
            aggregates: vec![(place(1), Aggregate::Sum)],
        }),
        order: vec![down(1), up(0)],
        limit: Some(2),
        ..Merge::default()
    };
    let shards = [
        rows(&[&["1", "5"], &["2", "4"], &["3", "6"]]),
        rows(&[&["1", "2"], &["2", "4"], &["4", "8"]]),
    ];
    assert_eq!(
        both(&merge, &columns, &shards).0,
        rows(&[&["2", "8"], &["4", "8"]])
    );
}

#[test]
fn what_would_have_to_be_kept_beyond_the_limit_is_an_error() {
    let columns = vec![vec![
        column("v", kind::LONGLONG),
        column("n", kind::LONGLONG),
    ]];
    let merge = Merge {
        group: Some(Grouping {
            keys: vec![up(0)],
            aggregates: vec![(place(1), Aggregate::Sum)],
        }),
        order: vec![down(1)],
        ..Merge::default()
    };
    let mut merger = Merger::new(&merge, &columns, false, 4, 1000).unwrap();
    let mut number = 0;
    let error = loop {
        match merger.step(&mut Vec::new()) {
            Ok(Step::Needs(_)) => {
                number += 1;
                let row = [text(&number.to_string()), text("1")];
                merger
                    .push(0, &super::world::encode(&row, &columns[0], false))
                    .unwrap();
            }
            Ok(step) => panic!("{step:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Error::Memory(1000));
    assert!(number < 100);
}

#[test]
fn distinct_rows_are_told_once_over_all_shards() {
    let columns = [column("a", kind::LONGLONG), column("b", 0xfd)];
    let merge = Merge {
        distinct: true,
        order: vec![key(1, Compare::Bytes, true), up(0)],
        offset: 1,
        ..Merge::default()
    };
    let shards = [
        rows(&[&["1", "b"], &["2", "b"], &["1", "NULL"]]),
        rows(&[&["1", "b"], &["1", "a"], &["1", "NULL"]]),
    ];
    assert_eq!(
        both(&merge, &columns, &shards).0,
        rows(&[&["2", "b"], &["1", "a"], &["1", "NULL"]])
    );
}

#[test]
fn the_smallest_text_is_found_by_its_weight() {
    let columns = [column("m", 0xfd), column("w", 0xfd)];
    let merge = Merge {
        hidden: 1,
        group: Some(Grouping {
            keys: vec![],
            aggregates: vec![(place(0), Aggregate::Min { by: weight(0) })],
        }),
        ..Merge::default()
    };
    let shards = [
        rows(&[&["Z", "26"]]),
        rows(&[&["NULL", "NULL"]]),
        rows(&[&["a", "01"]]),
    ];
    assert_eq!(both(&merge, &columns, &shards).0, rows(&[&["a"]]));
}

#[test]
fn keys_that_need_a_collation_or_have_lost_digits_are_refused() {
    let with_collation = Column {
        collation: 45,
        ..column("t", 0xfd)
    };
    let of_enum = Column {
        flags: flags::ENUM,
        ..column("e", 0xfe)
    };
    for key in [
        with_collation,
        of_enum,
        column("f", kind::FLOAT),
        column("j", kind::JSON),
    ] {
        let merge = Merge {
            order: vec![up(0)],
            ..Merge::default()
        };
        let refused = Merger::new(&merge, &[vec![key]], false, 4, 1000);
        assert!(matches!(refused, Err(Error::Plan(_))));
    }
}

#[test]
fn shards_whose_columns_differ_are_refused_by_name() {
    let merge = Merge { ..Merge::default() };
    let columns = [vec![column("a", kind::LONGLONG)], vec![unsigned("a")]];
    let error = Merger::new(&merge, &columns, false, 4, 1000).unwrap_err();
    assert!(error.to_string().contains("column a"), "{error}");
}

#[test]
fn lengths_are_the_longest_and_not_null_holds_only_for_all() {
    let of = |length, flags| Column {
        length,
        flags,
        ..column("a", kind::LONGLONG)
    };
    let merge = Merge { ..Merge::default() };
    let columns = [vec![of(5, flags::NOT_NULL)], vec![of(9, 0)]];
    let merger = Merger::new(&merge, &columns, false, 4, 1000).unwrap();
    assert_eq!(
        (merger.columns()[0].length, merger.columns()[0].flags),
        (9, 0)
    );
}

#[test]
fn rows_of_the_wrong_shape_are_malformed_and_never_panic() {
    let columns = [vec![column("a", kind::LONGLONG), column("b", kind::TIME)]];
    let merge = Merge {
        order: vec![up(0), key(1, Compare::Time, false)],
        ..Merge::default()
    };
    let payloads: [&[u8]; 8] = [
        b"",
        b"\x01",
        b"\x05ab",
        b"\xfe",
        b"\x01a\x01b",
        b"\0\0",
        b"\xff\xff",
        b"\x0112345",
    ];
    for binary in [false, true] {
        for payload in payloads {
            let mut merger = Merger::new(
                &merge,
                &[columns[0].clone(), columns[0].clone()],
                binary,
                4,
                1000,
            )
            .unwrap();
            if merger.push(0, payload).is_err() {
                continue;
            }
            merger.push(1, payload).unwrap();
            assert!(merger.step(&mut Vec::new()).is_err());
        }
    }
}
