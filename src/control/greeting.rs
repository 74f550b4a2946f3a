//! Reading a greeting. Pure.

use crate::topology::{compare_versions, Greeting};
use crate::wire::handshake;

/// Whether the version is at least `lowest`, MariaDB's disguise (5.5.5-) seen through.
pub(super) fn at_least(version: &str, lowest: &str) -> bool {
    compare_versions(version, lowest).is_ge()
}

/// Whether a greeting says what is already known.
pub(super) fn same(known: &Greeting, new: &handshake::Greeting) -> bool {
    known.version == new.version
        && known.capabilities == new.capabilities
        && known.collation == new.collation
        && known.auth_plugin == new.auth_plugin
}
