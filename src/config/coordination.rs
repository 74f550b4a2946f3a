//! The section `[coordination]`: where Umpire keeps what must outlive it.
use super::walk::{Findings, Found, Section};
use std::path::PathBuf;

/// The folder of the store, none if there is no such section; a file of libraries' objects to take over.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    findings: &Findings<'_>,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let Some(mut section) = top.table("coordination") else {
        return (None, None);
    };
    let store = section.required(
        "store",
        "where jobs, ids and rules are kept: \"file:/path\"",
    );
    let saved = section.string("library_save_file");
    let saved = saved.map(|found| PathBuf::from(found.value));
    section.finish();
    (store.and_then(|store| folder(&store, findings)), saved)
}

fn folder(store: &Found<&str>, findings: &Findings<'_>) -> Option<PathBuf> {
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
