//! The sections `[[user]]`.
use super::group::known_group;
use super::secret::{self, Reader};
use super::walk::{Findings, Section};
use super::{addresses, limits, tls};
use super::{Accounts, Addresses, Group, Limits, Secret, User, UserTls};
use std::collections::HashMap;

/// Longest user name in characters: MariaDB's limit (MySQL's is 32).
const MAX_NAME: usize = 128;

/// Reads all users; `groups` are the names they may point to.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    groups: &[Group],
    tls_offered: bool,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Vec<User> {
    let sections = top.tables("user");
    let by_server = |group: &Group| group.accounts == Accounts::Server;
    if sections.is_empty() && !top.has("user") && !groups.iter().any(by_server) {
        findings.error(
            0,
            "user",
            "missing: at least one [[user]], or nobody can log in (or accounts = \"server\" in a \
             [[group]], and the servers' own accounts work)",
        );
    }
    let mut seen = HashMap::new();
    sections
        .into_iter()
        .map(|section| user(section, &mut seen, groups, tls_offered, findings, secrets))
        .collect()
}

fn user(
    mut section: Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    groups: &[Group],
    tls_offered: bool,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> User {
    let name = name(&mut section, seen, findings);
    let group = group(&mut section, groups, findings);
    let by_server = groups
        .iter()
        .any(|g| g.name == group && g.accounts == Accounts::Server);
    let mut user = User {
        name,
        // an error is reported; the value is never used
        secret: secret::user(&mut section, by_server, findings, secrets)
            .unwrap_or(Secret::Plain(String::new())),
        group,
        addresses: addresses::read(&mut section, findings),
        max_connections: None,
        qps: None,
        limits: Limits::default(),
        tls: tls::user_mode(&mut section, tls_offered, findings),
    };
    limits::of_user(&mut section, &mut user);
    section.finish();
    user
}

impl User {
    /// A user whom only the servers know, without limits of Umpire's own.
    pub fn of_server(name: &str, group: &str) -> User {
        User {
            name: name.to_owned(),
            secret: Secret::Server,
            group: group.to_owned(),
            addresses: Addresses::default(),
            max_connections: None,
            qps: None,
            limits: Limits::default(),
            tls: UserTls::Optional,
        }
    }
}

fn name(
    section: &mut Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    findings: &Findings<'_>,
) -> String {
    let Some(found) = section.required("name", "every user needs a name") else {
        return String::new();
    };
    let name = found.value;
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains('\0') {
        findings.error(
            found.at,
            &found.key,
            format!("a user's name has 1 to {MAX_NAME} characters and no NUL"),
        );
    } else if let Some(line) = seen.insert(name.to_owned(), findings.line(found.at)) {
        findings.error(
            found.at,
            &found.key,
            format!("there is a user {name:?} already, at line {line}"),
        );
    }
    name.to_owned()
}

fn group(section: &mut Section<'_, '_>, groups: &[Group], findings: &Findings<'_>) -> String {
    let Some(found) = section.required("group", "the name of the user's group") else {
        return String::new();
    };
    known_group(&found, groups, findings);
    found.value.to_owned()
}
