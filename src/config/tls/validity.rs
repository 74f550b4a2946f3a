//! Until when a certificate is valid: the one field of X.509 that is read here, everything else is the TLS
//! library's.

/// A certificate that ends within this is warned of, seconds.
const SOON: i64 = 30 * DAY;
const DAY: i64 = 24 * 3600;

/// The end of one of Umpire's own certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The certificate's file, as configured.
    pub file: String,
    /// Seconds since 1970; None: it cannot be read.
    pub not_after: Option<i64>,
}

impl Expiry {
    pub(super) fn of(file: &str, leaf: Option<&[u8]>) -> Expiry {
        Expiry {
            file: file.to_owned(),
            not_after: leaf.and_then(not_after),
        }
    }

    /// What an operator should hear now. The same words as long as the same is true.
    pub fn warning(&self) -> Option<String> {
        self.warning_at(now())
    }

    fn warning_at(&self, now: i64) -> Option<String> {
        let end = self.not_after?;
        let (file, date) = (&self.file, date(end));
        if end <= now {
            Some(format!(
                "{file:?} expired on {date}: who checks it refuses to connect; renew it and reload"
            ))
        } else if end - now < SOON {
            Some(format!("{file:?} expires on {date}: renew it and reload"))
        } else {
            None
        }
    }

    /// `2026-11-30`; empty: it cannot be read.
    pub fn date(&self) -> String {
        self.not_after.map(date).unwrap_or_default()
    }

    /// Whole days that are left; negative: it has expired.
    pub fn days_left(&self) -> Option<i64> {
        Some((self.not_after? - now()).div_euclid(DAY))
    }
}

/// The time `notAfter`, seconds since 1970. None: the bytes are not a certificate.
/// https://www.rfc-editor.org/rfc/rfc5280#section-4.1
fn not_after(certificate: &[u8]) -> Option<i64> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    // the version is optional, under a tag of its own
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // serial number, signature algorithm, issuer
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (_, validity, _) = element(fields)?;
    let (_, _, after) = element(validity)?;
    let (tag, text, _) = element(after)?;
    time(tag, text)
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// `2026-11-30`, of seconds since 1970.
fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(24 * 3600) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let in_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The first element of `bytes`: its tag, its content, what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, mut rest) = rest.split_first()?;
    let mut length = usize::from(*first);
    if *first & 0x80 != 0 {
        let digits = usize::from(first & 0x7f);
        if digits == 0 || digits > 4 {
            return None;
        }
        let (number, behind) = rest.split_at_checked(digits)?;
        length = number.iter().fold(0, |sum, b| sum << 8 | usize::from(*b));
        rest = behind;
    }
    let (content, behind) = rest.split_at_checked(length)?;
    Some((*tag, content, behind))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, the only forms that certificates may have.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let short: i64 = text.get(..2)?.parse().ok()?;
            (short + if short < 50 { 2000 } else { 1900 }, text.get(2..)?)
        }
        GENERALIZED_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    if rest.len() != 10 || !rest.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let two = |at: usize| rest.get(at..at + 2).and_then(|s| s.parse::<i64>().ok());
    let days = days_since_1970(year, two(0)?, two(2)?);
    Some(((days * 24 + two(4)?) * 60 + two(6)?) * 60 + two(8)?)
}

/// Of a date of the Gregorian calendar. March is counted as the year's first month, so that the leap day is its
/// last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let month = (month + 9) % 12;
    let in_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_within_thirty_days_is_warned_of_and_so_is_a_past_one() {
        let end = 1_796_007_467;
        let expiry = Expiry {
            file: "cert.pem".into(),
            not_after: Some(end),
        };
        assert_eq!(expiry.warning_at(end - 30 * DAY), None);
        let soon = "\"cert.pem\" expires on 2026-11-30: renew it and reload";
        for before in [30 * DAY - 1, DAY, 1] {
            assert_eq!(expiry.warning_at(end - before).as_deref(), Some(soon));
        }
        for after in [0, 1, 1000 * DAY] {
            let warning = expiry.warning_at(end + after).unwrap();
            assert!(warning.contains("expired on 2026-11-30"), "{warning}");
        }
        let unread = Expiry {
            not_after: None,
            ..expiry
        };
        assert_eq!(
            (unread.warning_at(end), unread.date()),
            (None, String::new())
        );
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        assert_eq!(time(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(time(UTC_TIME, b"261130025747Z"), Some(1_796_007_467));
        assert_eq!(
            time(GENERALIZED_TIME, b"20000229235959Z"),
            Some(951_868_799)
        );
        assert_eq!(
            time(GENERALIZED_TIME, b"20500101000000Z"),
            Some(2_524_608_000)
        );
    }

    #[test]
    fn a_date_is_written_as_it_was_read() {
        for day in (-800_000..800_000).step_by(97) {
            let text = date(day * 86_400 + 5);
            let (rest, date) = text.rsplit_once('-').unwrap();
            let (year, month) = rest.rsplit_once('-').unwrap();
            let [year, month, date] = [year, month, date].map(|n| n.parse().unwrap());
            assert_eq!(days_since_1970(year, month, date), day, "{text}");
        }
        assert_eq!(date(1_609_459_200), "2021-01-01");
    }

    #[test]
    fn what_is_no_time_or_no_certificate_is_none() {
        for text in [
            &b""[..],
            b"Z",
            b"7001010000Z",
            b"70010100000xZ",
            b"700101000000",
            b"\xff\xffZ",
        ] {
            assert_eq!(time(UTC_TIME, text), None, "{text:?}");
        }
        assert_eq!(time(0x04, b"700101000000Z"), None);
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x80",
            b"\x30\x85\x01\x01\x01\x01\x01",
            b"\x30\x03\x30\x01",
            b"hello",
        ] {
            assert_eq!(not_after(bytes), None, "{bytes:?}");
        }
    }
}
