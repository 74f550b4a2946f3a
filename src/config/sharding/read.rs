//! The sections `[[database]]` and `[[table]]`.
use super::super::group::known_name;
use super::super::walk::{type_name, Findings, Found, Section};
use super::ids::ids;
use super::{Database, ListValue, Method, Origin, Period, Rule, Shard, Span, Table};
use std::collections::{HashMap, HashSet};
use toml::de::DeValue;

/// Longest name of a database, table or column, in characters: the servers' limit.
const MAX_NAME: usize = 64;
/// More shards than this is a mistake.
const MAX_SHARDS: usize = 4096;

/// Reads where databases and tables live; `groups` are the names they may point to. `stored`: there is a
/// `[coordination]` that can keep ids.
pub(in crate::config) fn read(
    top: &mut Section<'_, '_>,
    groups: &[&str],
    stored: bool,
    findings: &Findings<'_>,
) -> (Vec<Database>, Vec<Table>) {
    let mut seen = HashMap::new();
    let databases = top
        .tables("database")
        .into_iter()
        .filter_map(|section| database(section, &mut seen, groups, findings))
        .collect();
    let mut seen = Seen::default();
    let tables = top
        .tables("table")
        .into_iter()
        .filter_map(|section| table(section, &mut seen, groups, stored, findings))
        .collect();
    (databases, tables)
}

/// What earlier tables used, with its line.
#[derive(Default)]
struct Seen {
    /// In lower case: names that differ only in case are one name on many servers.
    names: HashMap<(String, String), usize>,
    /// group, schema, table of every shard
    places: HashMap<(String, String, String), usize>,
}

fn database(
    mut section: Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    groups: &[&str],
    findings: &Findings<'_>,
) -> Option<Database> {
    let name = section.required("name", "the name of a database on the servers");
    let group = section.required("group", "the name of the group that has the database");
    section.finish();
    let (name, group) = (name?, group?);
    known_name(&group, groups, findings);
    check_name(&name, name.value, "database", findings);
    if let Some(line) = seen.insert(name.value.to_lowercase(), findings.line(name.at)) {
        let message = format!("{:?} is placed already, at line {line}", name.value);
        findings.error(name.at, &name.key, message);
    }
    Some(Database {
        name: name.value.to_owned(),
        group: group.value.to_owned(),
    })
}

fn table(
    mut section: Section<'_, '_>,
    seen: &mut Seen,
    groups: &[&str],
    stored: bool,
    findings: &Findings<'_>,
) -> Option<Table> {
    let name = table_name(&mut section, seen, findings);
    let names = name.clone().unwrap_or_default();
    let method = section.string("method");
    let group = section.string("group");
    let key = section.string("key");
    let period = section.string("period");
    let counting = section.string("ids");
    let shards = shards(&mut section, &names, seen, groups, findings);
    let rule = match (&group, &method) {
        (Some(group), None) => placed(group, &section, &key, groups, findings),
        (Some(group), Some(_)) => {
            let message =
                "a table has either a group (all of it there) or a method with shards, not both";
            findings.error(group.at, &group.key, message);
            None
        }
        (None, None) => {
            let message =
                "missing: method with shards (sharded), or group (all of it on one group)";
            findings.error(section.at, &section.path_of("method"), message);
            None
        }
        (None, Some(method)) => {
            let parts = Parts {
                method,
                key,
                period,
                shards,
            };
            parts.rule(&section, findings)
        }
    };
    section.finish();
    let (schema, name) = name?;
    let rule = rule?;
    let ids = ids(counting.as_ref(), &rule, stored, findings);
    Some(Table {
        schema,
        name,
        rule,
        ids,
        origin: Origin::Configuration,
    })
}

fn placed(
    group: &Found<&str>,
    section: &Section<'_, '_>,
    key: &Option<Found<&str>>,
    groups: &[&str],
    findings: &Findings<'_>,
) -> Option<Rule> {
    known_name(group, groups, findings);
    if let Some(key) = key {
        let message = "a table on one group has no key; add a method and shards to shard it";
        findings.error(key.at, &key.key, message);
    }
    if section.has("shards") {
        let message =
            "a table has either a group (all of it there) or a method with shards, not both";
        findings.error(section.at, &section.path_of("shards"), message);
    }
    Some(Rule::Placed(group.value.to_owned()))
}

fn table_name(
    section: &mut Section<'_, '_>,
    seen: &mut Seen,
    findings: &Findings<'_>,
) -> Option<(String, String)> {
    let found = section.required("name", "database and table, such as \"shop.orders\"")?;
    let Some((schema, name)) = found.value.split_once('.') else {
        let message = format!(
            "{:?} names no database; write it as \"database.table\"",
            found.value
        );
        findings.error(found.at, &found.key, message);
        return None;
    };
    check_name(&found, schema, "database", findings);
    check_name(&found, name, "table", findings);
    let folded = (schema.to_lowercase(), name.to_lowercase());
    if let Some(line) = seen.names.insert(folded, findings.line(found.at)) {
        let message = format!(
            "there is a rule for {:?} already, at line {line}",
            found.value
        );
        findings.error(found.at, &found.key, message);
    }
    Some((schema.to_owned(), name.to_owned()))
}

/// Statements come in many character sets; plain names read the same in all of them.
fn check_name(found: &Found<&str>, name: &str, what: &str, findings: &Findings<'_>) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        let message = format!(
            "{name:?} cannot be the name of a {what} here: 1 to {MAX_NAME} of the characters a-z, A-Z, 0-9, _, $ and -"
        );
        findings.error(found.at, &found.key, message);
    }
}

/// One entry of `shards`, with what belongs to its method.
struct Entry<'a> {
    shard: Shard,
    at: usize,
    path: String,
    from: Option<Found<&'a DeValue<'a>>>,
    below: Option<Found<&'a DeValue<'a>>>,
    values: Option<Vec<Found<&'a DeValue<'a>>>>,
    default: bool,
}

fn shards<'a>(
    section: &mut Section<'a, '_>,
    (schema, name): &(String, String),
    seen: &mut Seen,
    groups: &[&str],
    findings: &Findings<'_>,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for mut shard in section.tables("shards") {
        let group = shard.required("group", "the name of the shard's group");
        let table = shard.string("table");
        let entry = Entry {
            shard: Shard {
                group: group.as_ref().map_or("", |g| g.value).to_owned(),
                schema: schema.clone(),
                table: name.clone(),
            },
            at: shard.at,
            path: shard.path.clone(),
            from: shard.get("from"),
            below: shard.get("below"),
            values: shard.list("values", "a list of numbers or strings"),
            default: shard.boolean("default", false),
        };
        shard.finish();
        if let Some(group) = &group {
            known_name(group, groups, findings);
        }
        let mut entry = entry;
        if let Some(table) = &table {
            let (database, name) = match table.value.split_once('.') {
                Some((database, name)) => (database, name),
                None => (schema.as_str(), table.value),
            };
            check_name(table, database, "database", findings);
            check_name(table, name, "table", findings);
            (entry.shard.schema, entry.shard.table) = (database.to_owned(), name.to_owned());
        }
        let s = &entry.shard;
        let place = (
            s.group.clone(),
            s.schema.to_lowercase(),
            s.table.to_lowercase(),
        );
        if let Some(line) = seen.places.insert(place, findings.line(entry.at)) {
            let message = format!(
                "{}.{} of group {:?} holds a shard already, at line {line}",
                s.schema, s.table, s.group
            );
            findings.error(entry.at, &entry.path, message);
        }
        entries.push(entry);
    }
    entries
}

/// What a rule is made of.
struct Parts<'a> {
    method: &'a Found<&'a str>,
    key: Option<Found<&'a str>>,
    period: Option<Found<&'a str>>,
    shards: Vec<Entry<'a>>,
}

const METHODS: &str = "\"hash\", \"mod\", \"jump\", \"range\", \"list\", \"date\", \"broadcast\"";

impl Parts<'_> {
    fn rule(self, section: &Section<'_, '_>, findings: &Findings<'_>) -> Option<Rule> {
        if self.shards.is_empty() || self.shards.len() > MAX_SHARDS {
            let message = format!("a table with a method needs 1 to {MAX_SHARDS} shards");
            findings.error(section.at, &section.path_of("shards"), message);
            return None;
        }
        self.foreign_keys(findings);
        let shards = || self.shards.iter().map(|e| e.shard.clone()).collect();
        if self.method.value == "broadcast" {
            return self.broadcast(shards(), findings);
        }
        let method = match self.method.value {
            "hash" => Method::Hash,
            "mod" => Method::Mod,
            "jump" => Method::Jump,
            "range" => Method::Range(self.spans(findings, "a whole number", |value| {
                value
                    .as_integer()
                    .and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok())
            })),
            "list" => self.list(findings),
            "date" => self.date(section, findings)?,
            other => {
                let message = format!("{other:?} is not one of {METHODS}");
                findings.error(self.method.at, &self.method.key, message);
                return None;
            }
        };
        let Some(key) = &self.key else {
            let message = "missing: the column whose value decides the shard";
            findings.error(section.at, &section.path_of("key"), message);
            return None;
        };
        check_name(key, key.value, "column", findings);
        Some(Rule::Sharded {
            key: key.value.to_owned(),
            method,
            shards: shards(),
        })
    }

    fn broadcast(&self, shards: Vec<Shard>, findings: &Findings<'_>) -> Option<Rule> {
        if let Some(key) = &self.key {
            let message = "a broadcast table has all rows everywhere: it has no key";
            findings.error(key.at, &key.key, message);
        }
        let mut groups = HashSet::new();
        for entry in &self.shards {
            if !groups.insert(&entry.shard.group) {
                let message = format!("group {:?} has the table already", entry.shard.group);
                findings.error(entry.at, &entry.path, message);
            }
        }
        Some(Rule::Broadcast(shards))
    }

    /// Keys that belong to another method would be ignored: they are refused.
    fn foreign_keys(&self, findings: &Findings<'_>) {
        let method = self.method.value;
        let spans = matches!(method, "range" | "date");
        let refuse = |at: usize, key: &str, name: &str, of: &str| {
            findings.error(
                at,
                key,
                format!("{name} belongs to {of}, not to method {method:?}"),
            );
        };
        if let Some(period) = self.period.as_ref().filter(|_| method != "date") {
            refuse(period.at, &period.key, "period", "method \"date\"");
        }
        for entry in &self.shards {
            for found in [&entry.from, &entry.below]
                .into_iter()
                .flatten()
                .filter(|_| !spans)
            {
                refuse(
                    found.at,
                    &found.key,
                    "a bound",
                    "the methods \"range\" and \"date\"",
                );
            }
            if (entry.values.is_some() || entry.default) && method != "list" {
                refuse(entry.at, &entry.path, "a list of values", "method \"list\"");
            }
        }
    }

    fn spans(
        &self,
        findings: &Findings<'_>,
        expected: &str,
        number: impl Fn(&DeValue<'_>) -> Option<i64>,
    ) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for entry in &self.shards {
            let bound = |found: &Option<Found<&DeValue<'_>>>| {
                let found = found.as_ref()?;
                let value = number(found.value);
                if value.is_none() {
                    let message = format!("expected {expected}, found {}", shown(found.value));
                    findings.error(found.at, &found.key, message);
                }
                value
            };
            let span = Span {
                from: bound(&entry.from),
                below: bound(&entry.below),
            };
            if let (Some(from), Some(below)) = (span.from, span.below) {
                if from >= below {
                    let message =
                        "from must be smaller than below (below itself is not part of the range)";
                    findings.error(entry.at, &entry.path, message);
                }
            }
            // a bound that could not be read is no bound to compare
            let unread = entry.from.is_some() != span.from.is_some()
                || entry.below.is_some() != span.below.is_some();
            if unread {
                continue;
            }
            if let Some(other) = spans.iter().position(|other| other.overlaps(&span)) {
                let line = self.shards.get(other).map_or(0, |e| findings.line(e.at));
                let message =
                    format!("the range overlaps the one of shards[{other}] at line {line}");
                findings.error(entry.at, &entry.path, message);
            }
            spans.push(span);
        }
        spans
    }

    fn date(&self, section: &Section<'_, '_>, findings: &Findings<'_>) -> Option<Method> {
        let Some(found) = &self.period else {
            let message = "missing: \"year\", \"month\" or \"day\", the unit of the shards' bounds";
            findings.error(section.at, &section.path_of("period"), message);
            return None;
        };
        let period = match found.value {
            "year" => Period::Year,
            "month" => Period::Month,
            "day" => Period::Day,
            other => {
                let message = format!("{other:?} is not one of \"year\", \"month\", \"day\"");
                findings.error(found.at, &found.key, message);
                return None;
            }
        };
        let expected = format!("a {} such as {}", found.value, period.example());
        let number = |value: &DeValue<'_>| value.as_str().and_then(|text| period.parse(text));
        let spans = self.spans(findings, &expected, number);
        Some(Method::Date { period, spans })
    }

    fn list(&self, findings: &Findings<'_>) -> Method {
        let mut seen = HashMap::new();
        let (mut values, mut default) = (Vec::new(), None);
        for (at, entry) in self.shards.iter().enumerate() {
            let found = entry.values.as_deref().unwrap_or_default();
            if found.is_empty() && !entry.default {
                let message = "a shard of a list needs values, or default = true for all others";
                findings.error(entry.at, &entry.path, message);
            }
            if entry.default && default.replace(at).is_some() {
                findings.error(
                    entry.at,
                    &entry.path,
                    "a second default; there is one at most",
                );
            }
            let mut of_shard = Vec::new();
            for member in found {
                match list_value(member.value) {
                    Ok(value) => {
                        if let Some(line) = seen.insert(value.clone(), findings.line(member.at)) {
                            let message = format!("the value has a shard already, at line {line}");
                            findings.error(member.at, &member.key, message);
                        }
                        of_shard.push(value);
                    }
                    Err(message) => findings.error(member.at, &member.key, message),
                }
            }
            values.push(of_shard);
        }
        Method::List { values, default }
    }
}

fn list_value(value: &DeValue<'_>) -> Result<ListValue, String> {
    if let Some(number) = value.as_integer() {
        let number = i64::from_str_radix(number.as_str(), number.radix());
        return number
            .map(ListValue::Number)
            .map_err(|_| "the number is too large".into());
    }
    let Some(text) = value.as_str() else {
        return Err(format!(
            "expected a number or a string, found {}",
            type_name(value)
        ));
    };
    if !text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Err(
            "a key's text is printable ASCII: other letters are equal in some collations".into(),
        );
    }
    Ok(ListValue::of_text(
        &text.trim_end_matches(' ').to_ascii_lowercase(),
    ))
}

fn shown(value: &DeValue<'_>) -> String {
    value
        .as_str()
        .map_or_else(|| type_name(value).to_owned(), |text| format!("{text:?}"))
}
