//! Lists of known statements: a line each with digest, user and text, of which only the digest counts.
use super::{Action, Policy};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Reads the lists that policies name; paths that are not absolute start at `folder`. Errors, one a policy.
#[allow(
    clippy::disallowed_methods,
    reason = "at start-up and on the control thread"
)]
pub(super) fn load(policies: &mut [Policy], folder: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    for policy in policies {
        let Some(path) = policy.allow_list.as_mut() else {
            continue;
        };
        *path = folder.join(&path);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // it is being learnt
            Err(e) if e.kind() == ErrorKind::NotFound && policy.action == Action::Learn => {
                String::new()
            }
            Err(e) => {
                let hint = match policy.action {
                    Action::Learn => "",
                    _ => "; record one with action = \"learn\"",
                };
                errors.push(format!(
                    "policy {:?}: allow_list {}: {e}{hint}",
                    policy.name,
                    path.display()
                ));
                continue;
            }
        };
        match parse(&text) {
            Ok(known) => policy.known = Arc::new(known),
            Err(line) => errors.push(format!(
                "policy {:?}: {}:{line}: does not begin with a digest of 16 hexadecimal digits",
                policy.name,
                path.display()
            )),
        }
    }
    errors
}

/// The digests of a list's text; the number of the first line that has none. Empty lines and those behind `#`
/// say nothing.
pub fn parse(text: &str) -> Result<HashSet<u64>, usize> {
    let mut known = HashSet::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let digest = line.split_whitespace().next().unwrap_or_default();
        match u64::from_str_radix(digest, 16) {
            Ok(digest_value) if digest.len() == 16 => known.insert(digest_value),
            _ => return Err(at + 1),
        };
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_the_digests_count_and_a_line_without_one_is_named() {
        let known = parse("# learnt\n\n00000000000000ff app SELECT ?\n0000000000000001\n").unwrap();
        assert!(known.len() == 2 && known.contains(&255) && known.contains(&1));
        assert_eq!(parse("0000000000000001 a\nSELECT 1"), Err(2));
        assert_eq!(parse("ff app SELECT ?"), Err(1));
    }
}
