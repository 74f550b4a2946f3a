//! System variables, schemas and functions that are about one server or one connection.

use super::types::Effects;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Global,
    Session,
    /// `@@name`
    Unnamed,
}

/// The scope that `@@word.` names.
pub(super) fn scope(word: &[u8]) -> Option<Scope> {
    match word.len() {
        5 if word.eq_ignore_ascii_case(b"local") => Some(Scope::Session),
        6 if word.eq_ignore_ascii_case(b"global") => Some(Scope::Global),
        7 if word.eq_ignore_ascii_case(b"session") => Some(Scope::Session),
        7 if word.eq_ignore_ascii_case(b"persist") => Some(Scope::Global),
        12 if word.eq_ignore_ascii_case(b"persist_only") => Some(Scope::Global),
        _ => None,
    }
}

/// Reading these on any connection but the session's own gives a wrong answer.
const READ: [(&str, Effects); 15] = [
    ("last_insert_id", Effects::LAST_INSERT_ID),
    ("identity", Effects::LAST_INSERT_ID),
    ("warning_count", Effects::DIAGNOSTICS),
    ("error_count", Effects::DIAGNOSTICS),
    ("pseudo_thread_id", Effects::CONNECTION_ID),
    ("insert_id", Effects::SERVER_STATE),
    ("in_transaction", Effects::SERVER_STATE),
    ("transaction_read_only", Effects::SERVER_STATE),
    ("tx_read_only", Effects::SERVER_STATE),
    ("last_gtid", Effects::SERVER_STATE),
    ("statement_id", Effects::SERVER_STATE),
    ("profiling", Effects::SERVER_STATE),
    ("transaction_allow_batching", Effects::SERVER_STATE),
    ("innodb_last_transaction_id", Effects::SERVER_STATE),
    ("last_commit_gtid", Effects::SERVER_STATE),
];

const READ_PREFIXES: [&str; 8] = [
    "gtid_",
    "rand_seed",
    "slave_",
    "replica_",
    "relay_",
    "rpl_",
    "wsrep_",
    "group_replication_",
];

/// Asked for to learn which server answers: any server's answer is right.
const IDENTITY: [&str; 10] = [
    "server_id",
    "server_uuid",
    "hostname",
    "port",
    "socket",
    "read_only",
    "super_read_only",
    "version",
    "version_comment",
    "datadir",
];

/// Empty: may be read on any server, because the session's value is replayed there. A global value
/// may have been changed on the primary alone.
pub(super) fn effects_of_reading(name: &[u8], scope: Option<Scope>) -> Effects {
    if let Some((_, effects)) = READ.iter().find(|(known, _)| is(name, known)) {
        return *effects;
    }
    if starts_with(name, "session_track_") {
        return Effects::SERVER_STATE | Effects::SHOWS_TRACKING;
    }
    let is_global = scope == Some(Scope::Global) && !IDENTITY.iter().any(|known| is(name, known));
    if is_global || READ_PREFIXES.iter().any(|prefix| starts_with(name, prefix)) {
        return Effects::SERVER_STATE;
    }
    Effects::empty()
}

const TRANSACTION: [&str; 4] = [
    "transaction_isolation",
    "tx_isolation",
    "transaction_read_only",
    "tx_read_only",
];

/// What `SET <scope> <name> = …` does. The name may be TRANSACTION, for SET SESSION TRANSACTION.
pub(super) fn effects_of_setting(name: &[u8], scope: Scope) -> Effects {
    let effects = match scope {
        Scope::Global => Effects::SET_GLOBAL,
        // `SET @@transaction_isolation` without a scope is for the next transaction only.
        Scope::Unnamed if TRANSACTION.iter().any(|known| is(name, known)) => {
            Effects::SET_NEXT_TRANSACTION
        }
        _ if starts_with(name, "session_track_") => Effects::SET_SESSION | Effects::SETS_TRACKING,
        _ if is(name, "autocommit") => Effects::SET_SESSION | Effects::SET_AUTOCOMMIT,
        _ => Effects::SET_SESSION,
    };
    match scope {
        Scope::Unnamed if effects.contains(Effects::SET_SESSION) => effects | Effects::UNREPORTED,
        _ => effects,
    }
}

/// Tables of information_schema that show the one server or the one connection.
pub(super) fn is_server_table(name: &[u8]) -> bool {
    const PREFIXES: [&str; 24] = [
        "processlist",
        "session_",
        "global_",
        "system_variables",
        "innodb_",
        "profiling",
        "user_statistics",
        "client_statistics",
        "index_statistics",
        "table_statistics",
        "user_",
        "thread_pool_",
        "tp_",
        "metadata_lock_info",
        "query_cache_info",
        "query_response_time",
        "optimizer_trace",
        "events",
        "files",
        "plugins",
        "all_plugins",
        "key_caches",
        "wsrep_",
        "feedback",
    ];
    PREFIXES.iter().any(|prefix| starts_with(name, prefix))
}

/// Tables that show session_track_* among other variables.
pub(super) fn shows_variables(table: &[u8]) -> bool {
    [
        "session_variables",
        "system_variables",
        "variables_by_thread",
    ]
    .iter()
    .any(|known| is(table, known))
}

/// Loadable functions that act on the server that runs them, where read-only does not hold them.
pub(super) fn is_administrative_function(name: &[u8]) -> bool {
    const PREFIXES: [&str; 12] = [
        "group_replication_",
        "asynchronous_connection_",
        "keyring_",
        "version_tokens_",
        "service_",
        "audit_",
        "firewall_",
        "mysql_",
        "spider_",
        "mroonga_",
        "sys_",
        "internal_",
    ];
    PREFIXES.iter().any(|prefix| starts_with(name, prefix))
}

fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

fn starts_with(name: &[u8], prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| is(start, prefix))
}
