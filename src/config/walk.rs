//! Typed access to the parsed tables.
//!
//! A [`Section`] remembers the keys that the reading code asked for; whatever else stands in the
//! file is unknown. So there is no second list of keys that could fall out of step.
use super::Problem;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// What was found while reading one file. Per parse.
pub(super) struct Findings<'t> {
    file: &'t str,
    text: &'t str,
    errors: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    /// Where the first password stands in the file itself.
    pub plain_secret: Cell<Option<usize>>,
    /// Every key asked for, without positions: `group.servers.weight`.
    asked: RefCell<BTreeSet<String>>,
}

impl<'t> Findings<'t> {
    pub fn new(file: &'t str, text: &'t str) -> Self {
        Findings {
            file,
            text,
            errors: RefCell::default(),
            warnings: RefCell::default(),
            plain_secret: Cell::new(None),
            asked: RefCell::default(),
        }
    }

    /// `at` is a byte offset in the text.
    pub fn error(&self, at: usize, key: &str, message: impl Into<String>) {
        self.errors
            .borrow_mut()
            .push(self.problem(at, key, message.into()));
    }

    pub fn warning(&self, at: usize, key: &str, message: impl Into<String>) {
        self.warnings
            .borrow_mut()
            .push(self.problem(at, key, message.into()));
    }

    pub fn line(&self, at: usize) -> usize {
        self.before(at).matches('\n').count() + 1
    }

    /// Errors, warnings and the keys asked for, in the order of the lines.
    pub fn into_parts(self) -> (Vec<Problem>, Vec<Problem>, BTreeSet<String>) {
        let (mut errors, mut warnings) = (self.errors.into_inner(), self.warnings.into_inner());
        errors.sort_by_key(|p| (p.line, p.column));
        warnings.sort_by_key(|p| (p.line, p.column));
        (errors, warnings, self.asked.into_inner())
    }

    pub fn problem(&self, at: usize, key: &str, message: String) -> Problem {
        let line_start = self.before(at).rfind('\n').map_or(0, |n| n + 1);
        let column = self
            .before(at)
            .get(line_start..)
            .map_or(0, |s| s.chars().count())
            + 1;
        Problem {
            file: self.file.to_owned(),
            line: self.line(at),
            column,
            key: key.to_owned(),
            message,
        }
    }

    fn before(&self, at: usize) -> &str {
        self.text.get(..at).unwrap_or(self.text)
    }
}

/// A value with its place.
#[derive(Clone)]
pub(super) struct Found<T> {
    pub value: T,
    /// Byte offset in the text.
    pub at: usize,
    /// Path of the key.
    pub key: String,
}

/// The limits of a whole number.
pub(super) struct Number {
    pub key: &'static str,
    /// What is counted, in the plural.
    pub unit: &'static str,
    pub range: Range<u64>,
    pub default: u64,
}

/// One table of the file and the keys asked of it.
pub(super) struct Section<'a, 'f> {
    table: &'a DeTable<'a>,
    findings: &'f Findings<'f>,
    /// Where the table begins.
    pub at: usize,
    /// `group[0].servers[1]`; empty at the top.
    pub path: String,
    /// `group.servers`: the path without positions.
    kind: String,
    asked: Vec<&'static str>,
}

impl<'a, 'f> Section<'a, 'f> {
    pub fn top(table: &'a DeTable<'a>, findings: &'f Findings<'f>) -> Self {
        Section {
            table,
            findings,
            at: 0,
            path: String::new(),
            kind: String::new(),
            asked: Vec::new(),
        }
    }

    /// Whether the key is there, whatever its value; does not count as asked.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether the list is missing or has no member; a value of another type is neither.
    pub fn lacks_members(&self, key: &str) -> bool {
        self.table
            .get(key)
            .is_none_or(|v| v.get_ref().as_array().is_some_and(|list| list.is_empty()))
    }

    /// A string; absent or of another type (reported): none.
    pub fn string(&mut self, key: &'static str) -> Option<Found<&'a str>> {
        let found = self.get(key)?;
        let text = self.typed(&found, "a string", DeValue::as_str)?;
        Some(Found {
            value: text,
            at: found.at,
            key: found.key,
        })
    }

    /// A string that must be there.
    pub fn required(&mut self, key: &'static str, what: &str) -> Option<Found<&'a str>> {
        if !self.has(key) {
            let message = format!("missing: {what}");
            self.findings.error(self.at, &self.path_of(key), message);
        }
        self.string(key)
    }

    pub fn boolean(&mut self, key: &'static str, default: bool) -> bool {
        let found = self.get(key);
        found
            .and_then(|v| self.typed(&v, "true or false", DeValue::as_bool))
            .unwrap_or(default)
    }

    /// A whole number within its limits, or its default.
    pub fn number(&mut self, spec: &Number) -> u64 {
        self.number_if_given(spec).unwrap_or(spec.default)
    }

    pub fn number_if_given(&mut self, spec: &Number) -> Option<u64> {
        let found = self.get(spec.key)?;
        let expected = format!("a whole number of {}", spec.unit);
        let integer = self.typed(&found, &expected, DeValue::as_integer)?;
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let in_range = value
            .and_then(|v| u64::try_from(v).ok())
            .filter(|v| spec.range.contains(v));
        if in_range.is_none() {
            let (low, high) = (spec.range.start, spec.range.end - 1);
            self.findings.error(
                found.at,
                &found.key,
                format!(
                    "{integer} is out of range: from {low} to {high} {}",
                    spec.unit
                ),
            );
        }
        in_range
    }

    /// A list of strings; a member of another type is reported and left out.
    pub fn strings(&mut self, key: &'static str) -> Option<Vec<Found<&'a str>>> {
        let list = self.list(key, "a list of strings")?;
        let texts = list.into_iter().filter_map(|member| {
            let value = self.typed(&member, "a string", DeValue::as_str)?;
            Some(Found {
                value,
                at: member.at,
                key: member.key,
            })
        });
        Some(texts.collect())
    }

    /// A list of anything.
    pub fn list(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Option<Vec<Found<&'a DeValue<'a>>>> {
        let found = self.get(key)?;
        let list = self.typed(&found, expected, DeValue::as_array)?;
        let member = |(i, v): (usize, &'a toml::Spanned<DeValue<'a>>)| Found {
            value: v.get_ref(),
            at: v.span().start,
            key: format!("{}[{i}]", found.key),
        };
        Some(list.iter().enumerate().map(member).collect())
    }

    /// A table, as `[key]` or in place.
    pub fn table(&mut self, key: &'static str) -> Option<Section<'a, 'f>> {
        let found = self.get(key)?;
        self.open(key, found)
    }

    /// A list of tables, as `[[key]]` or in place; empty when absent.
    pub fn tables(&mut self, key: &'static str) -> Vec<Section<'a, 'f>> {
        let expected = format!("[[{key}]] or a list of tables");
        let list = self.list(key, &expected).unwrap_or_default();
        list.into_iter()
            .filter_map(|member| self.open(key, member))
            .collect()
    }

    /// A member of the list `key` as a table; `expected` is what it may be.
    pub fn open_member(
        &self,
        key: &str,
        expected: &str,
        member: Found<&'a DeValue<'a>>,
    ) -> Option<Section<'a, 'f>> {
        if member.value.as_table().is_none() {
            let message = format!("expected {expected}, found {}", type_name(member.value));
            self.findings.error(member.at, &member.key, message);
            return None;
        }
        self.open(key, member)
    }

    pub fn get(&mut self, key: &'static str) -> Option<Found<&'a DeValue<'a>>> {
        self.asked.push(key);
        self.findings
            .asked
            .borrow_mut()
            .insert(join(&self.kind, key));
        let value = self.table.get(key)?;
        Some(Found {
            value: value.get_ref(),
            at: value.span().start,
            key: self.path_of(key),
        })
    }

    /// Reports the keys nobody asked for.
    pub fn finish(self) {
        for name in self.table.keys() {
            let known = self.asked.iter().any(|asked| name.get_ref() == asked);
            if !known {
                let message = self.unknown(name.get_ref());
                self.findings
                    .error(name.span().start, &self.path_of(name.get_ref()), message);
            }
        }
    }

    pub fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The value as the type that `pick` wants, or an error that says what is there.
    fn typed<T>(
        &self,
        found: &Found<&'a DeValue<'a>>,
        expected: &str,
        pick: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<T> {
        let picked = pick(found.value);
        if picked.is_none() {
            let message = format!("expected {expected}, found {}", type_name(found.value));
            self.findings.error(found.at, &found.key, message);
        }
        picked
    }

    fn open(&self, key: &str, found: Found<&'a DeValue<'a>>) -> Option<Section<'a, 'f>> {
        let table = self.typed(&found, "a table", DeValue::as_table)?;
        Some(Section {
            table,
            findings: self.findings,
            at: found.at,
            path: found.key,
            kind: join(&self.kind, key),
            asked: Vec::new(),
        })
    }

    fn unknown(&self, name: &str) -> String {
        let what = if self.path.is_empty() {
            "section"
        } else {
            "key"
        };
        match nearest(name, self.asked.iter().copied()) {
            Some(right) => format!(
                "unknown {what}; did you mean `{right}`?{}",
                unit_note(name, right)
            ),
            None => format!("unknown {what}; known here: {}", self.asked.join(", ")),
        }
    }
}

/// The name most like `wrong`, if any is like it at all.
pub(super) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A name corrected from `_ms` to `_s` alone would be wrong a thousandfold.
fn unit_note(wrong: &str, right: &str) -> &'static str {
    let (ms, s) = (|n: &str| n.ends_with("_ms"), |n: &str| n.ends_with("_s"));
    if s(right) && !s(wrong) {
        " (in seconds)"
    } else if ms(right) && !ms(wrong) {
        " (in milliseconds)"
    } else {
        ""
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
