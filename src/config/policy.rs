//! The sections `[[policy]]`: which statements are refused, or only noted.
use super::walk::{nearest, Findings, Found, Section};
use super::User;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// One rule. It matches a statement that meets all that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub name: String,
    /// Whose statements; empty: everyone's.
    pub users: Vec<String>,
    pub action: Action,
    /// One bit for each of [`KINDS`]; 0: any.
    pub kinds: u64,
    /// Empty: any.
    pub digests: Vec<u64>,
    pub tables: Vec<TableName>,
    pub full_table_select: bool,
    pub no_where: bool,
    pub multi_statement: bool,
    pub opaque: bool,
    /// Met by statements that this list does not have.
    pub allow_list: Option<PathBuf>,
    /// What the list had when it was read.
    pub known: Arc<HashSet<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Deny,
    /// Counted, and marked in the audit.
    Log,
    /// Added to the policy's list.
    Learn,
}

/// A table, in the schema named or in any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    pub schema: Option<String>,
    pub table: String,
}

impl Policy {
    /// One that names nothing yet, and so matches every statement of everyone.
    pub fn of_everything(name: &str, action: Action) -> Policy {
        Policy {
            name: name.into(),
            users: Vec::new(),
            action,
            kinds: 0,
            digests: Vec::new(),
            tables: Vec::new(),
            full_table_select: false,
            no_where: false,
            multi_statement: false,
            opaque: false,
            allow_list: None,
            known: Arc::default(),
        }
    }

    pub fn is_for(&self, user: &str) -> bool {
        self.users.is_empty() || self.users.iter().any(|name| name == user)
    }
}

/// Kinds of statements by their first word, in the order in which the sniffer numbers them.
#[rustfmt::skip]
pub const KINDS: [&str; 58] = [
    "select", "with", "table", "values", "show", "describe", "explain", "help", "insert", "replace", "update", "delete",
    "truncate", "load", "call", "do", "handler", "set", "use", "begin", "start", "commit", "rollback", "savepoint",
    "release", "lock", "unlock", "flush", "reset", "xa", "prepare", "execute", "deallocate", "create", "alter", "drop",
    "rename", "grant", "revoke", "analyze", "check", "checksum", "optimize", "repair", "kill", "get", "signal", "resignal",
    "change", "stop", "purge", "install", "uninstall", "shutdown", "binlog", "cache", "import", "clone",
];

/// Longest name of a policy: it is part of an error message.
const MAX_NAME: usize = 64;
/// Policies of one user that are looked at: one bit each.
const MOST: usize = 64;

pub(super) fn read(
    top: &mut Section<'_, '_>,
    users: &[User],
    findings: &Findings<'_>,
) -> Vec<Policy> {
    let sections = top.tables("policy");
    if sections.len() > MOST {
        findings.error(0, "policy", format!("there may be {MOST} policies at most"));
    }
    let at = sections.first().map_or(0, |section| section.at);
    let mut seen = HashMap::new();
    let policies: Vec<Policy> = sections
        .into_iter()
        .map(|section| policy(section, users, &mut seen, findings))
        .collect();
    let by_text = |p: &Policy| p.action == Action::Deny && !(p.opaque || p.multi_statement);
    if policies.iter().any(by_text) && !policies.iter().any(|p| p.opaque) {
        findings.warning(
            at,
            "policy",
            "statements whose text is not known before they run (CALL, EXECUTE IMMEDIATE of a variable, stored \
             programs) pass; a policy with opaque = true denies or logs them",
        );
    }
    policies
}

fn policy(
    mut section: Section<'_, '_>,
    users: &[User],
    seen: &mut HashMap<String, usize>,
    findings: &Findings<'_>,
) -> Policy {
    let policy = Policy {
        name: name(&mut section, seen, findings),
        users: users_of(&mut section, users, findings),
        action: action(&mut section, findings),
        kinds: kinds(&mut section, findings),
        digests: each(&mut section, "digests", findings, digest),
        tables: each(&mut section, "tables", findings, table),
        full_table_select: section.boolean("full_table_select", false),
        no_where: section.boolean("no_where", false),
        multi_statement: section.boolean("multi_statement", false),
        opaque: section.boolean("opaque", false),
        allow_list: section.string("allow_list").map(|found| found.value.into()),
        known: Arc::default(),
    };
    let flags = [
        policy.full_table_select,
        policy.no_where,
        policy.multi_statement,
        policy.opaque,
    ];
    let listed = ["kinds", "digests", "tables", "allow_list"]
        .iter()
        .any(|key| section.has(key));
    if !listed && !flags.contains(&true) {
        let message =
            "matches every statement: name kinds, tables, digests, allow_list, full_table_select, no_where, \
                       multi_statement or opaque";
        findings.error(section.at, &section.path_of("name"), message);
    }
    if policy.action == Action::Learn && policy.allow_list.is_none() {
        let message = "\"learn\" needs allow_list, the file that statements are added to";
        findings.error(section.at, &section.path_of("action"), message);
    }
    section.finish();
    policy
}

fn name(
    section: &mut Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    findings: &Findings<'_>,
) -> String {
    let Some(found) = section.required("name", "the policy's name, for its errors") else {
        return String::new();
    };
    let name = found.value;
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        let message = format!("a policy's name has 1 to {MAX_NAME} printable characters");
        findings.error(found.at, &found.key, message);
    } else if let Some(line) = seen.insert(name.to_owned(), findings.line(found.at)) {
        let message = format!("there is a policy {name:?} already, at line {line}");
        findings.error(found.at, &found.key, message);
    }
    name.to_owned()
}

fn users_of(section: &mut Section<'_, '_>, users: &[User], findings: &Findings<'_>) -> Vec<String> {
    let texts = section.strings("users").unwrap_or_default();
    if section.has("users") && texts.is_empty() {
        let message = "is empty; leave it out for every user";
        findings.error(section.at, &section.path_of("users"), message);
    }
    for text in &texts {
        if !users.iter().any(|user| user.name == text.value) {
            let message = format!("there is no user {:?}", text.value);
            findings.error(text.at, &text.key, message);
        }
    }
    texts
        .into_iter()
        .map(|text| text.value.to_owned())
        .collect()
}

fn action(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Action {
    match section.required("action", "\"deny\", \"log\" or \"learn\"") {
        Some(found) if found.value == "log" => Action::Log,
        Some(found) if found.value == "learn" => Action::Learn,
        Some(found) if found.value != "deny" => {
            let message = format!(
                "{:?} is not one of \"deny\", \"log\", \"learn\"",
                found.value
            );
            findings.error(found.at, &found.key, message);
            Action::Deny
        }
        _ => Action::Deny,
    }
}

pub(super) fn kinds(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> u64 {
    let kind = |text: &str| {
        let at = KINDS
            .iter()
            .position(|kind| kind.eq_ignore_ascii_case(text));
        at.map(|at| 1u64 << at).ok_or_else(|| {
            let hint = nearest(&text.to_lowercase(), KINDS.into_iter());
            let hint = hint.map_or(String::new(), |kind| format!("; did you mean {kind:?}?"));
            format!("{text:?} starts no kind of statement{hint}")
        })
    };
    each(section, "kinds", findings, kind)
        .into_iter()
        .fold(0, |all, one| all | one)
}

/// The members of a list, each read by `parse`; what is wrong is reported and left out.
fn each<T>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    findings: &Findings<'_>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let texts = section.strings(key).unwrap_or_default();
    if section.has(key) && texts.is_empty() {
        let message = "is empty; leave it out to match any";
        findings.error(section.at, &section.path_of(key), message);
    }
    let parsed = |text: Found<&str>| {
        parse(text.value)
            .map_err(|message| findings.error(text.at, &text.key, message))
            .ok()
    };
    texts.into_iter().filter_map(parsed).collect()
}

fn digest(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").unwrap_or(text);
    match u64::from_str_radix(hex, 16) {
        Ok(digest) if hex.len() == 16 => Ok(digest),
        _ => Err(format!(
            "{text:?} is no digest: 16 hexadecimal digits, as SHOW DIGESTS prints them"
        )),
    }
}

/// Only letters, digits, `_`, `$` and `-`: a name in other characters is written differently in each character set,
/// and a rule that a client's character set gets around would be none.
fn table(text: &str) -> Result<TableName, String> {
    let plain = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
        !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
    };
    let (schema, table) = match text.split_once('.') {
        Some((schema, table)) => (Some(schema), table),
        None => (None, text),
    };
    if !plain(table) || schema.is_some_and(|schema| !plain(schema)) {
        return Err(format!(
            "{text:?} is no table's name that a policy can match: ASCII letters, digits, _, $ and -, with the \
             schema and a dot in front or without"
        ));
    }
    Ok(TableName {
        schema: schema.map(str::to_owned),
        table: table.to_owned(),
    })
}
