//! The section `[coordination]`: where Umpire keeps what must outlive it.
use super::walk::{Findings, Section};
use std::path::PathBuf;

/// The folder of the store; none: there is no such section.
pub(super) fn read(top: &mut Section<'_, '_>, findings: &Findings<'_>) -> Option<PathBuf> {
    let mut section = top.table("coordination")?;
    let store = section.required(
        "store",
        "where jobs, ids and rules are kept: \"file:/path\"",
    );
    section.finish();
    let store = store?;
    let folder = store.value.strip_prefix("file:").filter(|f| !f.is_empty());
    if folder.is_none() {
        let message = match store.value.starts_with("zookeeper:") {
            true => "this version keeps its store in files only: \"file:/var/lib/umpire\"",
            false => "expected \"file:\" and a folder, such as \"file:/var/lib/umpire\"",
        };
        findings.error(store.at, &store.key, message);
    }
    folder.map(PathBuf::from)
}
