//! The catalogue: every error that the proxy itself raises, with MySQL's code, SQLSTATE and text
//! where the kind is MySQL's. https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html

use super::reply::Err;

/// Servers cut a message here, bytes.
const MESSAGE_LIMIT: usize = 511;
/// Servers quote this much of a statement in a syntax error, characters.
const NEAR_LIMIT: usize = 80;

/// 1045
pub fn access_denied(user: &str, host: &str, using_password: bool) -> Err {
    let using = if using_password { "YES" } else { "NO" };
    let text = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
    error(1045, b"28000", text)
}

/// 4151 (MariaDB), 3118 (MySQL)
pub fn account_locked(user: &str, host: &str, mariadb: bool) -> Err {
    if mariadb {
        return error(4151, b"HY000", "Access denied, this account is locked");
    }
    let text = format!("Access denied for user '{user}'@'{host}'. Account is locked.");
    error(3118, b"HY000", text)
}

/// 1862
pub fn password_expired() -> Err {
    let text = "Your password has expired. To log in you must change it using a client that supports expired \
                passwords.";
    error(1862, b"HY000", text)
}

/// 1049
pub fn unknown_database(name: &str) -> Err {
    error(1049, b"42000", format!("Unknown database '{name}'"))
}

/// 1040
pub fn too_many_connections() -> Err {
    error(1040, b"08004", "Too many connections")
}

/// 1041
pub fn out_of_memory(why: &str) -> Err {
    error(1041, b"HY000", format!("Out of memory: {why}"))
}

/// 1203
pub fn too_many_user_connections(user: &str) -> Err {
    let text =
        format!("User {user} already has more than 'max_user_connections' active connections");
    error(1203, b"42000", text)
}

/// 1226; `resource` is the limit's key.
pub fn user_limit_reached(user: &str, resource: &str, limit: u64) -> Err {
    let text =
        format!("User '{user}' has exceeded the '{resource}' resource (current value: {limit})");
    error(1226, b"42000", text)
}

/// 1227, whose SQLSTATE is that of access rules.
pub fn denied_by_policy(policy: &str, reason: &str) -> Err {
    let text = format!("Access denied by policy '{policy}': {reason}");
    error(1227, b"42000", text)
}

/// 3024, on MariaDB 1969
pub fn execution_time_exceeded(mariadb: bool) -> Err {
    if mariadb {
        let text = "Query execution was interrupted (max_statement_time exceeded)";
        return error(1969, b"70100", text);
    }
    let text = "Query execution was interrupted, maximum statement execution time exceeded";
    error(3024, b"HY000", text)
}

/// 4031
pub fn idle_transaction(limit: std::time::Duration) -> Err {
    let text = format!(
        "The client was disconnected by Umpire: its transaction was idle for more than {} ms \
         (idle_transaction_timeout_ms)",
        limit.as_millis()
    );
    error(4031, b"HY000", text)
}

/// 1130
pub fn host_not_allowed(host: &str) -> Err {
    let text = format!("Host '{host}' is not allowed to connect to this MySQL server");
    error(1130, b"HY000", text)
}

/// 1129
pub fn host_is_slowed(host: &str) -> Err {
    let text = format!(
        "Host '{host}' is blocked because of many connection errors: too many of its logins wait after failed ones, \
         try again in a moment"
    );
    error(1129, b"HY000", text)
}

/// 3159
pub fn secure_transport_required() -> Err {
    let text = "Connections using insecure transport are prohibited: this listener requires TLS, \
                connect with ssl-mode=REQUIRED";
    error(3159, b"HY000", text)
}

/// 1043
pub fn bad_handshake() -> Err {
    error(1043, b"08S01", "Bad handshake")
}

/// 1047
pub fn unknown_command() -> Err {
    error(1047, b"08S01", "Unknown command")
}

/// 1156
pub fn packets_out_of_order() -> Err {
    error(1156, b"08S01", "Got packets out of order")
}

/// 1153
pub fn packet_too_large() -> Err {
    let text = "Got a packet bigger than 'max_allowed_packet' bytes";
    error(1153, b"08S01", text)
}

/// 1210: EXECUTE of a statement whose parameter types were never sent
pub fn types_never_sent() -> Err {
    wrong_arguments("mysqld_stmt_execute")
}

/// 1210
pub fn wrong_arguments(function: &str) -> Err {
    error(1210, b"HY000", format!("Incorrect arguments to {function}"))
}

/// 1835
pub fn malformed_packet() -> Err {
    error(1835, b"HY000", "Malformed communication packet.")
}

/// 1243; `function` as the server names it, e.g. "mysqld_stmt_execute".
pub fn unknown_statement_handler(id: u32, function: &str) -> Err {
    let text = format!("Unknown prepared statement handler ({id}) given to {function}");
    error(1243, b"HY000", text)
}

/// 1461; `limit`: statements of one session
pub fn too_many_prepared(limit: usize) -> Err {
    let text = format!(
        "Can't create more than max_prepared_stmt_count statements (current value: {limit})"
    );
    error(1461, b"42000", text)
}

/// 1421; MariaDB's text has no full stop
pub fn no_open_cursor(id: u32, mariadb: bool) -> Err {
    let end = if mariadb { "" } else { "." };
    error(
        1421,
        b"HY000",
        format!("The statement ({id}) has no open cursor{end}"),
    )
}

/// 1792
pub fn read_only_transaction() -> Err {
    error(
        1792,
        b"25006",
        "Cannot execute statement in a READ ONLY transaction",
    )
}

/// 1317
pub fn query_interrupted() -> Err {
    error(1317, b"70100", "Query execution was interrupted")
}

/// 1053
pub fn server_shutdown() -> Err {
    error(1053, b"08S01", "Server shutdown in progress")
}

/// 1053, by which clients know that another connection is needed: nobody there to write to, for whatever reason.
pub fn no_server(why: &str) -> Err {
    error(1053, b"08S01", format!("Umpire: {why}"))
}

/// 1053, by which clients know that the server went away under them and that another connection may be needed. Not 2013, which
/// libraries raise themselves and take for a malformed packet when a server sends it.
pub fn server_lost() -> Err {
    let text = "Lost connection to the server during query: whether it took effect is not known, \
                check before you repeat it";
    error(1053, b"08S01", text)
}

/// 1094
pub fn no_such_thread(id: u64) -> Err {
    error(1094, b"HY000", format!("Unknown thread id: {id}"))
}

/// 1095
pub fn not_owner_of_thread(id: u64) -> Err {
    error(1095, b"HY000", format!("You are not owner of thread {id}"))
}

/// 1927, which MariaDB tells a session that killed itself.
pub fn connection_killed() -> Err {
    error(1927, b"70100", "Connection was killed")
}

/// 1064
pub fn syntax(near: &str) -> Err {
    let near: String = near.chars().take(NEAR_LIMIT).collect();
    let text = format!(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
         server version for the right syntax to use near '{near}' at line 1"
    );
    error(1064, b"42000", text)
}

/// 1231: a login with a character set in which servers cannot read statements.
pub fn wrong_client_character_set(set: &str) -> Err {
    let text = format!("Variable 'character_set_client' can't be set to the value of '{set}'");
    error(1231, b"42000", text)
}

/// The proxy's own (1105): "Umpire: " + what happened + what to do.
pub fn own(what: &str) -> Err {
    error(1105, b"HY000", format!("Umpire: {what}"))
}

fn error(code: u16, state: &[u8; 5], text: impl Into<String>) -> Err {
    let mut text = text.into();
    let end = (0..=MESSAGE_LIMIT)
        .rev()
        .find(|&at| text.is_char_boundary(at));
    if text.len() > MESSAGE_LIMIT {
        text.truncate(end.unwrap_or(0));
    }
    let (state, message) = (*state, text.into_bytes());
    Err {
        code,
        state,
        message,
    }
}
