//! A key's value in the one form in which equal values are equal, and the functions that spread it.

/// Equal keys are equal here, whatever text or type they came in. Texts are printable ASCII, in lower case and
/// without spaces at the end: what collations take for equal must not end on two shards.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Int(i128),
    Text(String),
    Date { year: u16, month: u8, day: u8 },
}

impl Key {
    /// A text key's one form; none: some collation may take another text for the same.
    pub fn text(text: &[u8]) -> Option<Key> {
        let plain = text.iter().all(|b| (0x20..0x7f).contains(b));
        let text = std::str::from_utf8(text).ok().filter(|_| plain)?;
        Some(Key::Text(text.trim_end_matches(' ').to_ascii_lowercase()))
    }

    /// The value as a whole number.
    pub fn number(&self) -> Option<i128> {
        match self {
            Key::Int(n) => Some(*n),
            Key::Text(_) | Key::Date { .. } => None,
        }
    }

    /// [`fnv1a_fmix64`] of the decimal digits, the text, or year-month-day.
    pub fn hash(&self) -> u64 {
        match self {
            Key::Int(n) => fnv1a_fmix64(digits(*n, &mut [0; 40])),
            Key::Text(text) => fnv1a_fmix64(text.as_bytes()),
            Key::Date { year, month, day } => {
                fnv1a_fmix64(format!("{year:04}-{month:02}-{day:02}").as_bytes())
            }
        }
    }
}

/// A number in decimal digits, at the end of `room`.
fn digits(n: i128, room: &mut [u8; 40]) -> &[u8] {
    let mut at = room.len();
    let mut put = |byte| {
        at -= 1;
        room[at] = byte;
    };
    // divisions of 128 bits are slow, and hardly any key needs them
    let mut rest = n.unsigned_abs();
    while rest > u128::from(u64::MAX) {
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    let mut rest = rest as u64;
    loop {
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        put(b'-');
    }
    &room[at..]
}

#[cfg(test)]
#[test]
fn a_number_has_the_digits_that_it_is_written_with() {
    let numbers = [
        0,
        1,
        -1,
        10,
        -4711,
        i128::from(u64::MAX),
        i128::from(u64::MAX) + 1,
        i128::MAX,
        i128::MIN,
    ];
    for n in numbers {
        assert_eq!(digits(n, &mut [0; 40]), n.to_string().as_bytes());
    }
}

/// FNV-1a over 64 bits, then the finaliser of MurmurHash3, so that all bits of the result are even. This function
/// decides where rows are: it never changes.
pub fn fnv1a_fmix64(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Jump consistent hash (Lamping and Veach, 2014): one shard more moves 1 / n of the keys.
pub fn jump(mut hash: u64, count: usize) -> usize {
    let (mut at, mut next) = (0_u64, 0_u64);
    while next < count as u64 {
        at = next;
        hash = hash.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((at + 1) as f64 * ((1_u64 << 31) as f64 / ((hash >> 33) + 1) as f64)) as u64;
    }
    at as usize
}
