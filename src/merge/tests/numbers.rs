//! Numbers as the server computes and prints them (values compared with MariaDB 10.11 and MySQL 9).
use super::random::wide;
use crate::merge::compare::{compare, Order};
use crate::merge::decimal::{compare_text, Decimal};
use crate::merge::double;
use std::cmp::Ordering;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text.as_bytes()).unwrap()
}

fn printed(decimal: &Decimal) -> String {
    String::from_utf8(decimal.text()).unwrap()
}

#[test]
fn decimals_add_up_over_signs_scales_and_nine_digit_groups() {
    let cases = [
        ("1", "2", "3"),
        ("0.10", "0.2", "0.30"),
        ("-1.5", "1.50", "0.00"),
        ("999999999", "1", "1000000000"),
        (
            "-999999999.999999999",
            "0.000000001",
            "-999999999.999999998",
        ),
        (
            "12345678901234567890123456789012345.678",
            "-0.0001",
            "12345678901234567890123456789012345.6779",
        ),
        ("-5", "3", "-2"),
        ("0", "-0.00", "0.00"),
    ];
    for (a, b, sum) in cases {
        assert_eq!(printed(&decimal(a).add(&decimal(b))), sum);
        assert_eq!(printed(&decimal(b).add(&decimal(a))), sum);
    }
}

#[test]
fn random_decimals_add_as_wide_integers_do() {
    let mut random = super::splitmix::Random(0x5eed);
    for _ in 0..2000 {
        let shift = random.below(100) as u32;
        let a = (wide(&mut random) >> shift) / 4;
        let b = (wide(&mut random) >> random.below(100) as u32) / 4;
        let sum = Decimal::from_integer(a).add(&Decimal::from_integer(b));
        assert_eq!(printed(&sum), (a + b).to_string());
        let order = compare_text(a.to_string().as_bytes(), b.to_string().as_bytes());
        assert_eq!(order, a.cmp(&b));
    }
}

#[test]
fn averages_have_the_servers_scale_and_rounding() {
    // sum, count, scale of the result, printed
    let cases = [
        ("7", 3, 4, "2.3333"),
        ("8", 3, 4, "2.6667"),
        ("-8", 3, 4, "-2.6667"),
        ("1", 8, 4, "0.1250"),
        ("0.00001", 2, 9, "0.000005000"),
        // nine digits are all the server computes here: it cuts, and does not round
        ("0.00002", 3, 9, "0.000006666"),
        ("10.01", 3, 6, "3.336667"),
        ("0", 5, 4, "0.0000"),
    ];
    for (sum, count, scale, expected) in cases {
        let average = decimal(sum).average(count, 4, scale).unwrap();
        assert_eq!(printed(&average), expected);
    }
    assert!(decimal("1").average(0, 4, 4).is_none());
}

#[test]
fn decimals_compare_by_value_whatever_their_zeros() {
    let cases = [
        ("1.0", "1", Ordering::Equal),
        ("-0.00", "0", Ordering::Equal),
        ("0010", "9", Ordering::Greater),
        ("-10", "-9", Ordering::Less),
        ("0.09", "0.1", Ordering::Less),
        (".5", "0.49", Ordering::Greater),
    ];
    for (a, b, order) in cases {
        assert_eq!(compare_text(a.as_bytes(), b.as_bytes()), order, "{a} {b}");
    }
}

#[test]
fn doubles_print_as_the_servers_do() {
    let cases = [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1.5e20, "1.5e20"),
        (123456789012345.6, "123456789012345.6"),
        (1e-5, "0.00001"),
        (1e-14, "0.00000000000001"),
        (0.1, "0.1"),
        (1e300, "1e300"),
        (-1.7976931348623157e308, "-1.7976931348623157e308"),
    ];
    for (number, expected) in cases {
        assert_eq!(
            String::from_utf8(double::text(number, 31)).unwrap(),
            expected
        );
    }
    assert_eq!(double::text(2.345, 2), b"2.35");
    assert_eq!(double::text(-0.5, 0), b"-0");
}

#[test]
fn times_compare_with_their_sign_and_hours_beyond_a_day() {
    let less = |a: &str, b: &str| {
        compare(Order::Time, false, a.as_bytes(), b.as_bytes()).unwrap() == Ordering::Less
    };
    assert!(less("-00:00:01", "00:00:00"));
    assert!(less("-838:59:59", "-01:00:00"));
    assert!(less("99:00:00", "100:00:00"));
    assert!(less("10:00:00.5", "10:00:00.51"));
    let negative = [1, 0, 0, 0, 0, 1, 0, 0];
    let order = compare(Order::Time, true, &negative, &[]).unwrap();
    assert_eq!(order, Ordering::Less);
}
