//! Where data lives: `[[database]]` and `[[table]]` as validated values.
mod comment;
mod ids;
mod read;
mod stored;

pub use comment::section_of_comment;
pub(super) use read::read;
pub use stored::{conflict, renamed_section, rule_of_section, Conflict};

/// `[[database]]`: a whole database on one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    pub name: String,
    /// Name of a group of this configuration.
    pub group: String,
}

/// `[[table]]`: one table (or view) that is placed, sharded or on every group.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub rule: Rule,
    pub ids: Ids,
    pub origin: Origin,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Configuration,
    /// A comment of the table's CREATE TABLE; the store keeps it.
    Comment,
}

/// Who counts a table's AUTO_INCREMENT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// Each server for itself.
    Server,
    /// Umpire: blocks of one sequence, kept by `[coordination]`.
    Sequence,
    /// Umpire: as a sequence, and never below the time of day (milliseconds since 2020, times 2^22).
    Snowflake,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// The whole table on this group.
    Placed(String),
    /// The same rows on every one of these; written everywhere, read anywhere.
    Broadcast(Vec<Shard>),
    Sharded {
        /// Column whose value decides the shard.
        key: String,
        method: Method,
        shards: Vec<Shard>,
    },
}

/// A table of a server that holds a part of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    pub group: String,
    pub schema: String,
    pub table: String,
}

/// How a key's value becomes the shard's place in the table's list.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// `fnv1a_fmix64(key) mod n`.
    Hash,
    /// `key mod n`, never negative.
    Mod,
    /// Jump consistent hash of `fnv1a_fmix64(key)`.
    Jump,
    /// One span of whole numbers a shard; they do not overlap.
    Range(Vec<Span>),
    List {
        /// Each shard's values.
        values: Vec<Vec<ListValue>>,
        /// The shard of every other value.
        default: Option<usize>,
    },
    /// One span of years, months or days a shard; they do not overlap.
    Date { period: Period, spans: Vec<Span> },
}

/// `from` belongs to it, `below` does not; none: no bound on that side. Dates are counted in periods, see
/// [`Period::number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Option<i64>,
    pub below: Option<i64>,
}

impl Span {
    pub fn contains(&self, number: i128) -> bool {
        self.from.is_none_or(|from| i128::from(from) <= number)
            && self.below.is_none_or(|below| number < i128::from(below))
    }

    fn overlaps(&self, other: &Span) -> bool {
        let before = |below: Option<i64>, from: Option<i64>| match (below, from) {
            (Some(below), Some(from)) => below <= from,
            _ => false,
        };
        !before(self.below, other.from) && !before(other.below, self.from)
    }
}

/// A value of `method = "list"`. Texts are kept as keys are compared: see `topology::shards::Key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListValue {
    Number(i64),
    Text(String),
}

impl ListValue {
    /// A text of digits is the number: a text column and a whole number's literal may say the same.
    pub fn of_text(text: &str) -> ListValue {
        let number = text.parse::<i64>().ok().filter(|n| n.to_string() == text);
        number.map_or_else(|| ListValue::Text(text.to_owned()), ListValue::Number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    Year,
    Month,
    Day,
}

impl Period {
    /// The number of the period that holds this day: years, months or days in order, without gaps that matter
    /// (a day's number is year × 372 + month × 31 + day).
    pub fn number(self, year: u16, month: u8, day: u8) -> i64 {
        let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
        match self {
            Period::Year => year,
            Period::Month => year * 12 + month - 1,
            Period::Day => year * 372 + (month - 1) * 31 + day - 1,
        }
    }

    /// "2024", "2024-05", "2024-05-31", as long as the period wants it.
    fn parse(self, text: &str) -> Option<i64> {
        let parts: Vec<&str> = text.split('-').collect();
        let number = |at: usize, digits: usize| -> Option<u16> {
            let part = parts.get(at)?;
            let plain = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse().ok())?
        };
        let wanted = match self {
            Period::Year => 1,
            Period::Month => 2,
            Period::Day => 3,
        };
        if parts.len() != wanted {
            return None;
        }
        let year = number(0, 4)?;
        let month = if wanted > 1 { number(1, 2)? } else { 1 };
        let day = if wanted > 2 { number(2, 2)? } else { 1 };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        Some(self.number(year, month as u8, day as u8))
    }

    fn example(self) -> &'static str {
        match self {
            Period::Year => "\"2024\"",
            Period::Month => "\"2024-05\"",
            Period::Day => "\"2024-05-31\"",
        }
    }
}
