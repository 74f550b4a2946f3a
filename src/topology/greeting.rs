//! What a group's clients are greeted with: what every server of the group can keep.
use super::Greeting;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// utf8mb4_general_ci: every server since 5.5 has it, MySQL's and MariaDB's.
const COMMON_COLLATION: u8 = 45;
/// Before replication parsed two-digit majors, MariaDB put this before its real version.
const MARIADB_PREFIX: &str = "5.5.5-";

impl Greeting {
    /// The lowest version with the capabilities that all have; none for an empty list.
    ///
    /// Collations are those that mean the same on every server, so that no client is promised one
    /// that a replica lacks.
    pub fn merge<'g>(list: impl IntoIterator<Item = &'g Greeting>) -> Option<Greeting> {
        let list: Vec<&Greeting> = list.into_iter().collect();
        let lowest = list
            .iter()
            .min_by(|a, b| compare_versions(&a.version, &b.version))?;
        let mut merged = (*lowest).clone();
        for other in &list {
            merged.capabilities &= other.capabilities;
            merged.collations = common(&merged.collations, &other.collations);
            merged.autocommit &= other.autocommit;
            merged.select_limit |= other.select_limit;
            if other.sql_mode != lowest.sql_mode {
                // text that any of them reads in a way of its own
                merged.sql_mode = format!("{},{}", merged.sql_mode, other.sql_mode);
            }
        }
        let known = merged.collations.contains_key(&u16::from(merged.collation));
        if !known && !merged.collations.is_empty() {
            merged.collation = COMMON_COLLATION;
        }
        Some(merged)
    }

    /// `10.11.19-MariaDB-…` → 101119, as version comments in SQL write it; 0: unknown.
    pub fn version_number(&self) -> u32 {
        let number = self.version.strip_prefix("5.5.5-").unwrap_or(&self.version);
        let mut parts = number
            .split(|c: char| !c.is_ascii_digit())
            .map(|p| p.parse::<u32>().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        let (major, minor, patch) = (next(), next(), next());
        major
            .saturating_mul(10_000)
            .saturating_add(minor.saturating_mul(100))
            .saturating_add(patch)
    }

    /// For a group of which no server was ever reached: clients wait until one is.
    pub fn unknown() -> Greeting {
        Greeting {
            version: "8.0.0-Umpire".into(),
            capabilities: 0,
            collation: COMMON_COLLATION,
            auth_plugin: "mysql_native_password".into(),
            collations: Arc::default(),
            sql_mode: String::new(),
            autocommit: true,
            select_limit: false,
            div_precision_increment: Greeting::DIV_PRECISION_INCREMENT,
        }
    }

    /// See [`Greeting::unknown`]: every server has some capabilities.
    pub fn is_unknown(&self) -> bool {
        self.capabilities == 0
    }
}

/// Orders version strings by their numbers: 10.6 before 10.11.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    numbers(a).cmp(&numbers(b))
}

fn numbers(version: &str) -> [u32; 3] {
    let real = match version.strip_prefix(MARIADB_PREFIX) {
        Some(rest) if version.contains("MariaDB") => rest,
        _ => version,
    };
    let mut numbers = [0; 3];
    for (slot, part) in numbers.iter_mut().zip(real.split(['.', '-', '+', '~'])) {
        match part.parse() {
            Ok(number) => *slot = number,
            Err(_) => break,
        }
    }
    numbers
}

type Collations = Arc<HashMap<u16, (String, String)>>;

/// Entries that are the same in both. An empty map was not learnt and takes nothing away.
fn common(a: &Collations, b: &Collations) -> Collations {
    if a == b || b.is_empty() {
        return a.clone();
    }
    if a.is_empty() {
        return b.clone();
    }
    let same = a.iter().filter(|(id, entry)| b.get(id) == Some(entry));
    Arc::new(same.map(|(id, entry)| (*id, entry.clone())).collect())
}
