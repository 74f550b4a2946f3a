//! Exact decimals of any length: what the server's DECIMAL is.
use std::cmp::Ordering;

/// Sign, magnitude and scale. The magnitude is in base 10^9, the least digit first, without leading zeros.
#[derive(Debug, Clone, Default)]
pub struct Decimal {
    negative: bool,
    magnitude: Vec<u32>,
    /// Decimal digits behind the point.
    scale: u32,
}

const BASE: u64 = 1_000_000_000;
const BASE_DIGITS: usize = 9;
/// What a server's DECIMAL holds, digits.
const DIGITS: usize = 65;

impl Decimal {
    /// None: not `[-]digits[.digits]`.
    pub fn parse(text: &[u8]) -> Option<Decimal> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let point = digits.iter().position(|&b| b == b'.');
        let (whole, fraction) = match point {
            Some(at) => (&digits[..at], &digits[at + 1..]),
            None => (digits, &[][..]),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let all: Vec<u8> = [whole, fraction].concat();
        if !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let magnitude = all
            .rchunks(BASE_DIGITS)
            .map(|part| part.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0')))
            .collect();
        let scale = u32::try_from(fraction.len()).ok()?;
        Some(
            Decimal {
                negative,
                magnitude,
                scale,
            }
            .trimmed(),
        )
    }

    pub fn from_integer(value: i128) -> Decimal {
        let mut rest = value.unsigned_abs();
        let mut magnitude = Vec::new();
        while rest > 0 {
            magnitude.push((rest % u128::from(BASE)) as u32);
            rest /= u128::from(BASE);
        }
        Decimal {
            negative: value < 0,
            magnitude,
            scale: 0,
        }
    }

    /// More digits than a server's DECIMAL has.
    pub fn is_too_long(&self) -> bool {
        self.digits().len() > DIGITS
    }

    pub fn add(&self, other: &Decimal) -> Decimal {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.raised_to(scale), other.raised_to(scale));
        let (negative, magnitude) = if self.negative == other.negative {
            (self.negative, sum(&a, &b))
        } else {
            match compare(&a, &b) {
                Ordering::Less => (other.negative, difference(&b, &a)),
                _ => (self.negative, difference(&a, &b)),
            }
        };
        Decimal {
            negative,
            magnitude,
            scale,
        }
        .trimmed()
    }

    /// Divided by `divisor` as the server does in AVG: with `increment` further digits, computed in groups of
    /// nine, then rounded half away from zero to `scale` of them. None: division by zero.
    pub fn average(&self, divisor: u64, increment: u32, scale: u32) -> Option<Decimal> {
        if divisor == 0 {
            return None;
        }
        let computed = computed_scale(self.scale, increment).max(scale);
        let mut rest: u128 = 0;
        let mut quotient = self.raised_to(computed);
        for digit in quotient.iter_mut().rev() {
            let value = rest * u128::from(BASE) + u128::from(*digit);
            *digit = (value / u128::from(divisor)) as u32;
            rest = value % u128::from(divisor);
        }
        let exact = Decimal {
            negative: self.negative,
            magnitude: quotient,
            scale: computed,
        };
        Some(exact.trimmed().rounded(scale))
    }

    /// Half away from zero.
    pub fn rounded(&self, scale: u32) -> Decimal {
        if scale >= self.scale {
            return Decimal {
                negative: self.negative,
                magnitude: self.raised_to(scale),
                scale,
            };
        }
        let digits = self.digits();
        let keep = digits.len().saturating_sub((self.scale - scale) as usize);
        let up = digits.len() >= (self.scale - scale) as usize
            && digits.get(keep).is_some_and(|d| *d >= b'5');
        let mut kept =
            Decimal::parse(if keep == 0 { b"0" } else { &digits[..keep] }).unwrap_or_default();
        if up {
            kept = kept.add(&Decimal::from_integer(1));
        }
        Decimal {
            negative: self.negative,
            scale,
            ..kept
        }
        .trimmed()
    }

    /// As the server prints it: all digits of the scale, at least one in front of the point.
    pub fn text(&self) -> Vec<u8> {
        let mut digits = self.digits();
        let scale = self.scale as usize;
        while digits.len() <= scale {
            digits.insert(0, b'0');
        }
        let mut out = Vec::with_capacity(digits.len() + 2);
        if self.negative {
            out.push(b'-');
        }
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        out
    }

    /// Of the magnitude; none for zero.
    fn digits(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.magnitude.len() * BASE_DIGITS);
        for (i, part) in self.magnitude.iter().rev().enumerate() {
            let text = if i == 0 {
                part.to_string()
            } else {
                format!("{part:09}")
            };
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    /// The magnitude at a scale that is not less than its own.
    fn raised_to(&self, scale: u32) -> Vec<u32> {
        let more = (scale - self.scale.min(scale)) as usize;
        let mut out = vec![0; more / BASE_DIGITS];
        out.extend_from_slice(&self.magnitude);
        let factor = 10u64.pow((more % BASE_DIGITS) as u32);
        let mut carry = 0;
        for digit in &mut out {
            let value = u64::from(*digit) * factor + carry;
            *digit = (value % BASE) as u32;
            carry = value / BASE;
        }
        if carry > 0 {
            out.push(carry as u32);
        }
        out
    }

    fn trimmed(mut self) -> Decimal {
        while self.magnitude.last() == Some(&0) {
            self.magnitude.pop();
        }
        self.negative &= !self.magnitude.is_empty();
        self
    }
}

/// Digits behind the point that the server computes in a division by an integer.
fn computed_scale(scale: u32, increment: u32) -> u32 {
    let group = BASE_DIGITS as u32;
    let filled = scale.div_ceil(group) * group;
    let more = increment.saturating_sub(filled - scale);
    (filled + more).div_ceil(group) * group
}

fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for i in 0..a.len().max(b.len()) {
        let digit = |n: &[u32]| u64::from(n.get(i).copied().unwrap_or(0));
        let value = digit(a) + digit(b) + carry;
        out.push((value % BASE) as u32);
        carry = value / BASE;
    }
    out.push(carry as u32);
    out
}

/// `a` is not less than `b`.
fn difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for (i, digit) in a.iter().enumerate() {
        let less = u64::from(b.get(i).copied().unwrap_or(0)) + borrow;
        let value = u64::from(*digit) + BASE - less;
        out.push((value % BASE) as u32);
        borrow = u64::from(value < BASE);
    }
    out
}

fn compare(a: &[u32], b: &[u32]) -> Ordering {
    let length = |n: &[u32]| n.iter().rposition(|d| *d != 0).map_or(0, |at| at + 1);
    let (a, b) = (&a[..length(a)], &b[..length(b)]);
    a.len()
        .cmp(&b.len())
        .then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

/// Two decimals as text, by value, without allocating.
pub fn compare_text(a: &[u8], b: &[u8]) -> Ordering {
    let (a_negative, a) = parts(a);
    let (b_negative, b) = parts(b);
    let magnitude = |x: &Parts<'_>, y: &Parts<'_>| {
        let whole = x.whole.len().cmp(&y.whole.len()).then(x.whole.cmp(y.whole));
        whole.then_with(|| x.fraction.cmp(y.fraction))
    };
    match (a_negative, b_negative) {
        (false, false) => magnitude(&a, &b),
        (true, true) => magnitude(&b, &a),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

struct Parts<'a> {
    /// Without leading zeros.
    whole: &'a [u8],
    /// Without trailing zeros.
    fraction: &'a [u8],
}

fn parts(text: &[u8]) -> (bool, Parts<'_>) {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let point = digits
        .iter()
        .position(|&b| b == b'.')
        .unwrap_or(digits.len());
    let whole = &digits[..point];
    let fraction = digits.get(point + 1..).unwrap_or_default();
    let first = whole.iter().position(|&b| b != b'0').unwrap_or(whole.len());
    let last = fraction
        .iter()
        .rposition(|&b| b != b'0')
        .map_or(0, |at| at + 1);
    let parts = Parts {
        whole: &whole[first..],
        fraction: &fraction[..last],
    };
    let zero = parts.whole.is_empty() && parts.fraction.is_empty();
    (sign && !zero, parts)
}
