//! Shards whose plans give one column several types.
use super::world::{column, decimal, merged, merged_of, text, unsigned, Text};
use crate::merge::{alike, Error, Merger};
use crate::plan::{Aggregate, Column as Place, Compare, Grouping, Merge, SortKey};
use crate::wire::column::{flags, kind, Column, BINARY};

fn years() -> Column {
    of(kind::YEAR, flags::UNSIGNED)
}

fn of(kind: u8, flags: u16) -> Column {
    Column {
        kind,
        flags,
        collation: BINARY,
        length: 4,
        ..Column::default()
    }
}

fn with_collation(kind: u8, collation: u16) -> Column {
    Column {
        collation,
        ..of(kind, 0)
    }
}

fn key() -> SortKey {
    SortKey {
        column: Place::Visible(0),
        compare: Compare::Number,
        descending: false,
    }
}

fn sorted() -> Merge {
    Merge {
        order: vec![key()],
        ..Merge::default()
    }
}

/// The common column of two, whichever comes first.
fn common(a: &Column, b: &Column, binary: bool) -> Result<Column, Error> {
    let merge = Merge::default();
    let of = |one: &Column, other: &Column| {
        let columns = [vec![one.clone()], vec![other.clone()]];
        let merger = Merger::new(&merge, &columns, binary, 4, 1000)?;
        Ok(merger.columns()[0].clone())
    };
    let first = of(a, b);
    assert_eq!(first.clone().ok(), of(b, a).ok(), "{a:?} {b:?}");
    first
}

/// One value of each shard, in the order of a common number.
fn values(columns: &[Column], values: &[&str], binary: bool) -> Result<Vec<Text>, Error> {
    let columns: Vec<Vec<Column>> = columns.iter().map(|c| vec![c.clone()]).collect();
    let rows: Vec<Vec<Vec<Text>>> = values.iter().map(|v| vec![vec![text(v)]]).collect();
    let (rows, _) = merged_of(&sorted(), &columns, &rows, binary)?;
    Ok(rows.into_iter().map(|mut row| row.remove(0)).collect())
}

#[test]
fn integers_are_as_wide_as_the_widest_and_keep_their_sign() {
    let wide = |kind, flags| of(kind, flags);
    let kinds = [
        kind::TINY,
        kind::SHORT,
        kind::INT24,
        kind::LONG,
        kind::LONGLONG,
    ];
    for (at, narrow) in kinds.iter().enumerate() {
        for (than, broad) in kinds.iter().enumerate() {
            let expected = kinds[at.max(than)];
            for sign in [0, flags::UNSIGNED] {
                let both = common(&wide(*narrow, sign), &wide(*broad, sign), true).unwrap();
                assert_eq!((both.kind, both.flags), (expected, sign));
            }
        }
    }
    for binary in [false, true] {
        let columns = [
            of(kind::LONGLONG, 0),
            of(kind::LONG, 0),
            of(kind::TINY, 0),
            of(kind::SHORT, 0),
        ];
        let expected = ["-5000000000", "-2147483648", "-1", "32767"].map(text);
        let given = ["-5000000000", "-2147483648", "-1", "32767"];
        assert_eq!(values(&columns, &given, binary).unwrap(), expected);
        let columns = [
            of(kind::TINY, flags::UNSIGNED),
            of(kind::LONG, flags::UNSIGNED),
            of(kind::LONGLONG, flags::UNSIGNED),
        ];
        let given = ["255", "4294967295", "18446744073709551615"];
        assert_eq!(
            values(&columns, &given, binary).unwrap(),
            given.map(text).to_vec()
        );
        let error = common(&of(kind::LONG, 0), &of(kind::LONG, flags::UNSIGNED), binary);
        assert!(matches!(error, Err(Error::Columns { .. })));
    }
}

#[test]
fn a_year_is_a_number_to_some_plans() {
    for wider in [kind::SHORT, kind::LONG, kind::LONGLONG] {
        let number = of(wider, flags::UNSIGNED);
        let both = common(&years(), &number, true).unwrap();
        assert_eq!((both.kind, both.flags), (wider, flags::UNSIGNED));
        for binary in [false, true] {
            let columns = [number.clone(), years(), number.clone(), years()];
            let given = ["2023", "0", "1999", "2155"];
            let expected = ["0", "1999", "2023", "2155"].map(text);
            assert_eq!(values(&columns, &given, binary).unwrap(), expected);
        }
    }
    // 200 would be no YEAR
    let both = common(&years(), &of(kind::TINY, flags::UNSIGNED), true).unwrap();
    assert_eq!(both.kind, kind::SHORT);
}

#[test]
fn groups_meet_over_the_types_and_their_aggregates_too() {
    // YEAR(d), BIT_AND(g), MAX(MONTH(d))
    let year = vec![years(), unsigned("b"), of(kind::LONGLONG, 0)];
    let long = vec![
        of(kind::LONG, flags::UNSIGNED),
        unsigned("b"),
        of(kind::LONG, 0),
    ];
    let row = |values: [&str; 3]| -> Vec<Text> {
        values
            .iter()
            .map(|v| (*v != "NULL").then(|| v.to_string()))
            .collect()
    };
    let rows = [
        vec![row(["NULL", "7", "-2"]), row(["2020", "6", "3"])],
        vec![row(["2020", "3", "12"]), row(["2021", "1", "NULL"])],
        vec![row(["2021", "5", "4"])],
    ];
    let merge = Merge {
        group: Some(Grouping {
            keys: vec![key()],
            aggregates: vec![
                (Place::Visible(1), Aggregate::BitAnd),
                (
                    Place::Visible(2),
                    Aggregate::Max {
                        by: SortKey {
                            column: Place::Visible(2),
                            ..key()
                        },
                    },
                ),
            ],
        }),
        ..Merge::default()
    };
    let expected = vec![
        row(["NULL", "7", "-2"]),
        row(["2020", "2", "12"]),
        row(["2021", "1", "4"]),
    ];
    for columns in [
        [year.clone(), long.clone(), long.clone()],
        [long.clone(), year.clone(), long.clone()],
        [long.clone(), long, year],
    ] {
        for binary in [false, true] {
            let (answer, _) = merged_of(&merge, &columns, &rows, binary).unwrap();
            assert_eq!(answer, expected, "binary: {binary}");
        }
    }
}

#[test]
fn zeros_in_front_are_shown_only_if_all_shards_show_them() {
    let filled = of(kind::LONG, flags::UNSIGNED | flags::ZEROFILL);
    let plain = of(kind::LONGLONG, flags::UNSIGNED);
    let given = ["000000", "7", "000042"];
    let columns = [filled.clone(), plain, filled.clone()];
    let expected = ["0", "7", "42"].map(text);
    assert_eq!(values(&columns, &given, false).unwrap(), expected);
    let columns = [filled.clone(), filled.clone()];
    let expected = ["000007", "000042"].map(text);
    assert_eq!(
        values(&columns, &["000042", "000007"], false).unwrap(),
        expected
    );
    assert_eq!(common(&filled, &filled, false).unwrap().flags, filled.flags);
}

#[test]
fn bits_are_a_number_to_some_plans() {
    let (bits, long) = (
        of(kind::BIT, flags::UNSIGNED),
        of(kind::LONG, flags::UNSIGNED),
    );
    assert_eq!(common(&bits, &long, true).unwrap().kind, kind::LONG);
    for binary in [false, true] {
        let columns = [long.clone(), bits.clone(), bits.clone()];
        // 321, and 9 of two bytes
        let answer = values(&columns, &["65", "\u{1}A", "\0\t"], binary).unwrap();
        assert_eq!(answer, ["9", "65", "321"].map(text));
        // bits alone stay what they are, in the order of their number
        let columns = [bits.clone(), bits.clone()];
        let answer = values(&columns, &["\u{1}A", "\0\t"], binary).unwrap();
        assert_eq!(answer, ["\0\t", "\u{1}A"].map(text));
        assert!(common(&bits, &of(kind::LONG, 0), binary).is_err());
    }
    let tiny = of(kind::TINY, flags::UNSIGNED);
    let lost = values(&[tiny, bits], &["1", "\u{1}A"], true);
    assert_eq!(lost, Err(Error::Range));
}

#[test]
fn texts_of_one_collation_are_of_the_longest_type() {
    let by_length = [
        kind::STRING,
        kind::VAR_STRING,
        kind::TINY_BLOB,
        kind::BLOB,
        kind::MEDIUM_BLOB,
        kind::LONG_BLOB,
    ];
    for (at, shorter) in by_length.iter().enumerate() {
        for longer in &by_length[at..] {
            for binary in [false, true] {
                let (a, b) = (with_collation(*shorter, 45), with_collation(*longer, 45));
                assert_eq!(common(&a, &b, binary).unwrap().kind, *longer);
                let merge = Merge::default();
                let rows = [vec![vec![text("a")]], vec![vec![text("b")]]];
                let columns = [vec![a], vec![b]];
                let (answer, _) = merged_of(&merge, &columns, &rows, binary).unwrap();
                assert_eq!(answer, [[text("a")], [text("b")]]);
            }
        }
    }
    let other = common(
        &with_collation(kind::STRING, 45),
        &with_collation(kind::STRING, 46),
        false,
    );
    assert!(matches!(other, Err(Error::Columns { .. })));
    // the greatest of an ENUM is a text to some plans
    for of_text in [flags::ENUM, flags::SET] {
        for (kind, flags) in [(kind::STRING, 0), (kind::VAR_STRING, 0)] {
            let both = common(&of(kind::STRING, of_text), &of(kind, flags), false).unwrap();
            assert_eq!((both.kind, both.flags), (kind, 0));
        }
    }
    // a sign says nothing of a text
    let both = common(
        &of(kind::VAR_STRING, flags::UNSIGNED),
        &of(kind::VAR_STRING, 0),
        true,
    );
    assert_eq!(both.unwrap().flags, 0);
}

#[test]
fn documents_are_of_any_collation() {
    let both = common(
        &with_collation(kind::JSON, 255),
        &with_collation(kind::JSON, 63),
        true,
    );
    assert_eq!(both.unwrap().collation, 255);
}

#[test]
fn a_column_of_nothing_but_null_is_of_the_others_type() {
    for other in [
        decimal("a", 3),
        unsigned("a"),
        with_collation(kind::VAR_STRING, 45),
    ] {
        let other = Column {
            name: Vec::new(),
            length: 20,
            flags: other.flags | flags::NOT_NULL,
            ..other
        };
        let null = of(kind::NULL, 0);
        let both = common(&null, &other, true).unwrap();
        let expected = Column {
            flags: other.flags & !flags::NOT_NULL,
            ..other.clone()
        };
        assert_eq!(both, expected);
        for binary in [false, true] {
            let columns = [vec![null.clone()], vec![other.clone()], vec![null.clone()]];
            let rows = [vec![vec![None]], vec![vec![text("7")]], vec![vec![None]]];
            let (answer, _) = merged_of(&Merge::default(), &columns, &rows, binary).unwrap();
            assert_eq!(answer, [[None], [text("7")], [None]]);
        }
    }
    let (rows, _) = merged(
        &sorted(),
        &[column("a", kind::NULL)],
        &[vec![vec![None]], vec![vec![None]]],
        true,
    )
    .unwrap();
    assert_eq!(rows.len(), 2);
}

#[test]
fn a_float_is_a_double_where_it_has_all_its_digits() {
    let (float, double) = (of(kind::FLOAT, 0), of(kind::DOUBLE, 0));
    let answer = values(&[float.clone(), double.clone()], &["0.1", "0.1"], true).unwrap();
    assert_eq!(answer, ["0.1", "0.10000000149011612"].map(text));
    let error = common(&float, &double, false).unwrap_err();
    assert!(error.to_string().contains("prepare"), "{error}");
}

#[test]
fn moments_and_numbers_are_not_mixed() {
    let kinds = [
        kind::LONG,
        kind::DOUBLE,
        kind::NEWDECIMAL,
        kind::DATE,
        kind::DATETIME,
        kind::TIME,
        kind::VAR_STRING,
        kind::JSON,
    ];
    for (at, a) in kinds.iter().enumerate() {
        for b in &kinds[at + 1..] {
            for binary in [false, true] {
                let error = common(&of(*a, 0), &of(*b, 0), binary).unwrap_err();
                assert!(matches!(error, Error::Columns { .. }), "{a} {b}");
            }
        }
    }
}

#[test]
fn rows_on_their_way_to_one_server_are_of_the_same_types() {
    let columns = |kinds: [u8; 2]| kinds.map(|k| of(k, 0)).to_vec();
    let ints = columns([kind::LONG, kind::VAR_STRING]);
    assert_eq!(alike(&[]), Ok(()));
    assert_eq!(
        alike(&[ints.clone(), columns([kind::LONG, kind::BLOB])]),
        Ok(())
    );
    for other in [
        columns([kind::LONGLONG, kind::VAR_STRING]),
        columns([kind::VAR_STRING, kind::LONG]),
        vec![of(kind::LONG, 0)],
        vec![of(kind::LONG, flags::UNSIGNED), of(kind::VAR_STRING, 0)],
    ] {
        assert!(alike(&[ints.clone(), ints.clone(), other]).is_err());
    }
}

#[test]
fn values_of_the_wrong_length_are_malformed() {
    let columns = [vec![of(kind::LONGLONG, 0)], vec![of(kind::LONG, 0)]];
    for payload in [
        &b""[..],
        b"\0",
        b"\0\0\x01\x02",
        b"\0\0\x01\x02\x03\x04\x05",
        b"\x01\0",
    ] {
        let mut merger = Merger::new(&sorted(), &columns, true, 4, 1000).unwrap();
        assert!(merger.push(1, payload).is_err(), "{payload:?}");
    }
    let bits = [
        vec![of(kind::LONGLONG, flags::UNSIGNED)],
        vec![of(kind::BIT, 0)],
    ];
    let mut merger = Merger::new(&sorted(), &bits, false, 4, 1000).unwrap();
    assert!(merger.push(1, b"\x09123456789").is_err());
}
