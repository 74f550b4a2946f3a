//! Ranges of keys, and days.

/// `from` belongs to it, `below` does not; none: no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub from: Option<i64>,
    pub below: Option<i64>,
}

impl Span {
    fn start(&self) -> i128 {
        self.from.map_or(i128::MIN, i128::from)
    }

    fn end(&self) -> i128 {
        self.below.map_or(i128::MAX, i128::from)
    }

    fn of(start: i128, end: i128) -> Span {
        let bound = |n: i128| i64::try_from(n).ok();
        Span {
            from: bound(start),
            below: bound(end),
        }
    }
}

/// Where the first of several ranges that hold a value has it: each range without what earlier ones hold. `rest`: who has
/// everything else. By owner, in order; an owner whose values are not one range is an error.
pub(super) fn first_wins(
    ranges: &[(usize, Span)],
    rest: Option<usize>,
) -> Result<Vec<(usize, Span)>, usize> {
    let mut taken: Vec<(usize, Span)> = Vec::new();
    let everything = Span {
        from: None,
        below: None,
    };
    let all = ranges
        .iter()
        .copied()
        .chain(rest.map(|owner| (owner, everything)));
    for (owner, range) in all {
        let mut pieces = vec![range];
        for (_, earlier) in &taken {
            pieces = pieces
                .into_iter()
                .flat_map(|p| without(p, *earlier))
                .collect();
        }
        taken.extend(pieces.into_iter().map(|piece| (owner, piece)));
    }
    taken.sort_by_key(|(_, span)| span.start());
    let mut joined: Vec<(usize, Span)> = Vec::new();
    for (owner, span) in taken {
        match joined.last_mut() {
            Some((last, before)) if *last == owner && before.end() == span.start() => {
                before.below = span.below;
            }
            _ => joined.push((owner, span)),
        }
    }
    for (at, (owner, _)) in joined.iter().enumerate() {
        if joined.iter().skip(at + 1).any(|(other, _)| other == owner) {
            return Err(*owner);
        }
    }
    Ok(joined)
}

fn without(span: Span, hole: Span) -> Vec<Span> {
    let before = Span::of(span.start(), span.end().min(hole.start()));
    let behind = Span::of(span.start().max(hole.end()), span.end());
    let has_some = |s: &Span| s.start() < s.end();
    // a bound beyond 64 bits reads as none: it may be so on one side only
    let before = Some(before).filter(|s| has_some(s) && hole.from.is_some());
    let behind = Some(behind).filter(|s| has_some(s) && hole.below.is_some());
    if span.end() <= hole.start() || span.start() >= hole.end() {
        return vec![span];
    }
    before.into_iter().chain(behind).collect()
}

/// Days since 1970-01-01 (Hinnant's days_from_civil).
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day of that number.
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z - era * 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + i64::from(month <= 2), month, day)
}
