//! Which types a statement's parameters have after which values.
use crate::session::parameter_types::*;
use crate::wire::column::kind;
use crate::wire::prepare::{Content, Given};

fn of(kind: u8) -> Given<'static> {
    Given {
        kind,
        unsigned: false,
        content: Content::Here(b"\x04\x07\0\0"),
    }
}

fn text(bytes: &str) -> Given<'_> {
    Given {
        kind: kind::STRING,
        unsigned: false,
        content: Content::Here(bytes.as_bytes()),
    }
}

fn null() -> Given<'static> {
    Given {
        content: Content::Null,
        ..of(kind::LONGLONG)
    }
}

fn unsigned() -> Given<'static> {
    Given {
        unsigned: true,
        ..of(kind::LONGLONG)
    }
}

/// The types after all these, each a parameter's values.
fn follow(executes: &[&[Given<'_>]]) -> Known {
    executes.iter().fold(None, |now, given| {
        let next = after(&now, given.iter().copied(), true);
        next.unwrap_or(now)
    })
}

#[test]
fn null_and_most_texts_leave_a_type_as_it_is() {
    assert_eq!(follow(&[&[null()], &[text("abc")], &[text("12")]]), None);
    let number = follow(&[&[of(kind::LONGLONG)]]);
    assert!(number.is_some());
    for given in [null(), text("abc"), text(" 12 "), text(""), text("1x")] {
        assert_eq!(follow(&[&[of(kind::LONG)], &[given]]), number, "{given:?}");
    }
}

#[test]
fn numbers_fit_wider_ones_and_times_and_not_the_other_way() {
    use kind::*;
    for (first, fits) in [
        (NEWDECIMAL, &[TINY, LONGLONG][..]),
        (DOUBLE, &[LONG, NEWDECIMAL, FLOAT]),
        (DATETIME, &[SHORT, DOUBLE, TIME, TIMESTAMP]),
        (TIME, &[LONGLONG, DATETIME]),
        (DATE, &[LONGLONG, DOUBLE]),
    ] {
        let before = follow(&[&[of(first)]]);
        for kind in fits {
            assert_eq!(
                follow(&[&[of(first)], &[of(*kind)]]),
                before,
                "{first} {kind}"
            );
        }
    }
    for (first, then) in [
        (LONGLONG, NEWDECIMAL),
        (NEWDECIMAL, DOUBLE),
        (DOUBLE, DATE),
        (DATE, DATETIME),
        (TIME, DATE),
    ] {
        let after = follow(&[&[of(first)], &[of(then)]]);
        assert_eq!(after, follow(&[&[of(then)]]), "{first} {then}");
    }
    let both = [unsigned(), of(LONGLONG)];
    assert_ne!(follow(&[&both[..1]]), follow(&[&both[1..]]));
    assert_eq!(follow(&[&both[1..], &both[..1]]), follow(&[&both[..1]]));
}

#[test]
fn one_value_that_does_not_fit_resolves_all_anew() {
    let (big, double) = (of(kind::LONGLONG), of(kind::DOUBLE));
    let after = follow(&[&[big, big], &[null(), double]]);
    assert_eq!(after, follow(&[&[null(), double]]));
    // a text that is a number as a whole counts as one
    let after = follow(&[&[big, big], &[text("12"), double]]);
    assert_eq!(after, follow(&[&[big, double]]));
    let after = follow(&[&[big, big], &[text("12a"), double]]);
    assert_eq!(after, follow(&[&[null(), double]]));
}

#[test]
fn a_text_that_is_a_number_but_no_whole_one_makes_a_decimal_of_an_integer() {
    let big = of(kind::LONGLONG);
    let decimal = follow(&[&[of(kind::NEWDECIMAL)]]);
    for fraction in [
        "1.5",
        ".5",
        "1.",
        "-3",
        "1e5",
        " 1.5 ",
        "9223372036854775808",
        "123456789012345678901234",
    ] {
        let after = follow(&[&[big], &[text(fraction)]]);
        assert_eq!(after, decimal, "{fraction}");
        // what the statement's text makes of the parameter is not known here
        assert!(follow(&[&[text(fraction)]]).is_some(), "{fraction}");
    }
    for other in [
        "", ".", "+", "-", "1e", "e5", "-0", "+3", "007", "1.5.5", "--3", "- 3", "0x10",
    ] {
        assert_eq!(
            follow(&[&[big], &[text(other)]]),
            follow(&[&[big]]),
            "{other}"
        );
        assert_eq!(follow(&[&[text(other)]]), None, "{other}");
    }
    let largest = text("18446744073709551615");
    let wide = follow(&[&[unsigned()]]);
    assert_eq!(follow(&[&[unsigned()], &[largest]]), wide);
    assert_eq!(
        follow(&[&[unsigned()], &[text("18446744073709551616")]]),
        decimal
    );
    assert_eq!(follow(&[&[unsigned()], &[text("-0")]]), decimal);
}

#[test]
fn a_statement_without_rows_shows_neither_fractions_nor_what_null_is_taken_for() {
    let fraction = [text("1.5")];
    assert_eq!(after(&None, fraction.iter().copied(), false), None);
    let now = after_first([of(kind::DATE), of(kind::LONG)].into_iter(), false);
    let given = [null(), of(kind::LONG)];
    let first = after_first(given.iter().copied(), false);
    assert_ne!(first, now);
    assert!(differ_in_nulls(&first, &now, given.iter().copied()));
    let other = [of(kind::LONG), of(kind::LONG)];
    assert!(!differ_in_nulls(&first, &now, other.iter().copied()));
}

#[test]
fn what_is_not_in_the_packet_counts_as_text() {
    let elsewhere = Given {
        content: Content::Elsewhere,
        ..text("")
    };
    assert_eq!(follow(&[&[elsewhere]]), None);
    let now = follow(&[&[of(kind::TIME)]]);
    assert_eq!(follow(&[&[of(kind::TIME)], &[elsewhere]]), now);
    assert_eq!(label(&None), 0);
    assert_ne!(label(&now), 0);
}
