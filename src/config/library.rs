//! The sections `[[library]]`: groups that each have all tables, and all rows of some objects.
use super::group::known_group;
use super::walk::{Findings, Number, Section};
use super::Group;
use std::collections::HashMap;

const WEIGHT: Number = Number {
    key: "weight",
    unit: "shares",
    range: 1..1_000_000_001,
    default: 1,
};
/// Longest name, in characters.
const MAX_NAME: usize = 64;

/// `[[library]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    pub name: String,
    /// Name of a group of this configuration, which is no other library's.
    pub group: String,
    /// Its share of the objects that have no library yet, at first. Default 1.
    pub weight: u64,
}

/// `stored`: there is a `[coordination]` that can keep which object belongs where. The groups' primary is the first server
/// that can be used, unless they say otherwise.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    groups: &mut [Group],
    stored: bool,
    findings: &Findings<'_>,
) -> Vec<Library> {
    let (mut names, mut used) = (HashMap::new(), HashMap::new());
    let mut libraries = Vec::new();
    for mut section in top.tables("library") {
        let name = section.required("name", "a library's name");
        let group = section.string("group");
        let weight = section.number(&WEIGHT);
        if !stored {
            let message =
                "needs a section [coordination], which keeps what belongs to each library";
            findings.error(section.at, &section.path, message);
        }
        section.finish();
        let Some(name) = name else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.value.is_empty() || name.value.len() > MAX_NAME || !name.value.chars().all(plain) {
            let message = format!(
                "a library's name is 1 to {MAX_NAME} of the characters a-z, A-Z, 0-9, _, - and ."
            );
            findings.error(name.at, &name.key, message);
        } else if let Some(line) = names.insert(name.value, findings.line(name.at)) {
            let message = format!(
                "there is a library {:?} already, at line {line}",
                name.value
            );
            findings.error(name.at, &name.key, message);
        }
        let group = group.unwrap_or_else(|| name.clone());
        known_group(&group, groups, findings);
        if let Some(line) = used.insert(group.value, findings.line(group.at)) {
            let message = format!("the group is another library's already, at line {line}");
            findings.error(group.at, &group.key, message);
        }
        for of_library in groups.iter_mut().filter(|g| g.name == group.value) {
            of_library.primary = of_library.primary.or(Some(super::Primary::First));
        }
        libraries.push(Library {
            name: name.value.to_owned(),
            group: group.value.to_owned(),
            weight,
        });
    }
    libraries
}
