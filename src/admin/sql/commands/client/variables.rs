//! The server variables that clients read.

use crate::admin::sql::answer::Table;
use crate::admin::sql::login::VERSION;
use crate::admin::sql::statement;

/// Name and value as SHOW VARIABLES tells them; a SELECT of a switch tells 1 and 0.
const VARIABLES: [(&str, &str); 71] = [
    ("auto_increment_increment", "1"),
    ("auto_increment_offset", "1"),
    ("autocommit", "ON"),
    ("basedir", ""),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_filesystem", "binary"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("character_set_system", "utf8mb3"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("datadir", ""),
    ("default_storage_engine", ""),
    ("error_count", "0"),
    ("event_scheduler", "OFF"),
    ("foreign_key_checks", "ON"),
    ("general_log", "OFF"),
    ("group_concat_max_len", "1024"),
    ("have_openssl", "DISABLED"),
    ("have_profiling", "NO"),
    ("have_query_cache", "NO"),
    ("have_ssl", "DISABLED"),
    ("hostname", ""),
    ("identity", "0"),
    ("init_connect", ""),
    ("insert_id", "0"),
    ("interactive_timeout", "3600"),
    ("last_insert_id", "0"),
    ("lc_messages", "en_US"),
    ("lc_time_names", "en_US"),
    ("license", "Apache-2.0"),
    ("local_infile", "OFF"),
    ("log_bin", "OFF"),
    ("lower_case_file_system", "OFF"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "1048576"),
    ("max_connections", "64"),
    ("net_buffer_length", "16384"),
    ("net_read_timeout", "30"),
    ("net_write_timeout", "30"),
    ("performance_schema", "OFF"),
    ("port", "0"),
    ("profiling", "OFF"),
    ("protocol_version", "10"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("read_only", "OFF"),
    ("server_id", "0"),
    ("session_track_schema", "OFF"),
    ("skip_name_resolve", "ON"),
    ("socket", ""),
    ("sql_auto_is_null", "OFF"),
    ("sql_mode", ""),
    ("sql_safe_updates", "OFF"),
    ("sql_select_limit", "18446744073709551615"),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("transaction_read_only", "OFF"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("tx_read_only", "OFF"),
    ("unique_checks", "ON"),
    ("version", VERSION),
    ("version_comment", COMMENT),
    ("version_compile_machine", std::env::consts::ARCH),
    ("version_compile_os", "Linux"),
    ("wait_timeout", "3600"),
    ("warning_count", "0"),
];

const COMMENT: &str = "Umpire admin port";

/// What `@@name` is in a SELECT; None: no such variable here.
pub fn selected(name: &str) -> Option<&'static str> {
    let (name, value) = VARIABLES.iter().find(|(known, _)| *known == name)?;
    Some(match *value {
        // a word where the server's variable is one, too
        word if name.starts_with("have_") || *name == "event_scheduler" => word,
        "ON" => "1",
        "OFF" if *name != "query_cache_type" => "0",
        value => value,
    })
}

/// SHOW VARIABLES, with what follows: nothing, LIKE 'pattern' or WHERE; None: something else.
pub fn show(rest: &str) -> Option<Table> {
    let mut table = Table::new(&["Variable_name", "Value"]);
    let wanted = Wanted::read(rest)?;
    for (name, value) in VARIABLES {
        if wanted.holds(name) {
            table.push([name.into(), value.into()]);
        }
    }
    Some(table)
}

/// Which names a SHOW … asks for.
pub enum Wanted {
    All,
    /// Names that match one of these patterns.
    Like(Vec<String>),
}

impl Wanted {
    /// `LIKE 'pattern'`, or WHERE with the names that it compares the first column with: every quoted
    /// word in it is one.
    pub fn read(rest: &str) -> Option<Wanted> {
        if rest.is_empty() {
            return Some(Wanted::All);
        }
        if statement::after(rest, "like").is_some() {
            let pattern = statement::like(rest).ok()??;
            return Some(Wanted::Like(vec![pattern]));
        }
        let mut condition = statement::after(rest, "where")?;
        let mut names = Vec::new();
        while let Some(at) = condition.find(['\'', '"']) {
            let (name, rest) = statement::string(condition.get(at..)?)?;
            names.push(name);
            condition = rest;
        }
        Some(Wanted::Like(names))
    }

    pub fn holds(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Like(patterns) => patterns.iter().any(|p| statement::matches(p, name)),
        }
    }
}
