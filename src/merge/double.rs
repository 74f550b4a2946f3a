//! Doubles as the servers print them.
use crate::wire::column::NOT_FIXED;

/// Beyond so many digits in front of the point, or zeros behind it, the exponent is written.
const PLAIN: i32 = 15;

/// `decimals`: the column's; [`NOT_FIXED`] for the shortest text that reads back as the same number.
pub fn text(value: f64, decimals: u8) -> Vec<u8> {
    if decimals < NOT_FIXED {
        return format!("{value:.*}", usize::from(decimals)).into_bytes();
    }
    if value == 0.0 {
        return b"0".to_vec();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // digits in front of the point in plain notation
    let before = exponent + 1;
    if (-PLAIN + 1..=PLAIN).contains(&before) {
        return format!("{value}").into_bytes();
    }
    format!("{mantissa}e{exponent}").into_bytes()
}
