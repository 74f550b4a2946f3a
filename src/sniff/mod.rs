//! Statement bytes → verb, read or write, hints, effects on session state. INTERFACE STUB
use bitflags::bitflags;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Proven to read only: may go to a replica.
    Read,
    /// Changes data or state: primary.
    Write,
    /// Not proven: primary.
    Unsure,
}

/// First keyword outside comments and parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Select, With, Table, Values, Show, Describe, Explain, Help, Insert, Replace, Update, Delete, Truncate, Load, Call, Do,
    Handler, Set, Use, Begin, Start, Commit, Rollback, Savepoint, Release, Lock, Unlock, Flush, Reset, Xa, Prepare, Execute,
    Deallocate, Create, Alter, Drop, Rename, Grant, Revoke, Analyze, Check, Checksum, Optimize, Repair, Kill, Get, Signal,
    Resignal, Change, Stop, Purge, Install, Uninstall, Shutdown, Binlog, Cache, Import, Clone, Other, Empty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint { Primary, Replica }

bitflags! {
    /// What the statement does to, or needs of, session state. A hint only: the server's status
    /// flags and session tracking are the truth.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Effects: u64 {
        /// START TRANSACTION or BEGIN
        const BEGIN = 1;
        /// START TRANSACTION … READ ONLY (together with BEGIN)
        const BEGIN_READ_ONLY = 1 << 1;
        /// COMMIT or ROLLBACK (not ROLLBACK TO)
        const END_TRANSACTION = 1 << 2;
        /// SET of session variables, SET NAMES, SET CHARACTER SET
        const SET_SESSION = 1 << 3;
        /// SET GLOBAL / PERSIST …
        const SET_GLOBAL = 1 << 4;
        /// SET TRANSACTION … without SESSION/GLOBAL: for the next transaction only
        const SET_NEXT_TRANSACTION = 1 << 5;
        /// SET [SESSION|@@session.] autocommit = … anything
        const SET_AUTOCOMMIT = 1 << 6;
        /// assigns a user variable (SET @v, SELECT … INTO @v, @v := …)
        const ASSIGNS_USER_VARIABLE = 1 << 7;
        /// mentions a user variable
        const USES_USER_VARIABLE = 1 << 8;
        const CREATES_TEMPORARY_TABLE = 1 << 9;
        const LOCKS_TABLES = 1 << 10;
        const UNLOCKS_TABLES = 1 << 11;
        /// FLUSH TABLES … WITH READ LOCK / FOR EXPORT, LOCK INSTANCE FOR BACKUP, BACKUP STAGE
        const FLUSHES_WITH_LOCK = 1 << 12;
        /// GET_LOCK(
        const GET_LOCK = 1 << 13;
        /// RELEASE_LOCK / RELEASE_ALL_LOCKS
        const RELEASES_LOCK = 1 << 14;
        /// SQL-level PREPARE
        const PREPARES = 1 << 15;
        /// HANDLER … OPEN
        const HANDLER_OPEN = 1 << 16;
        const XA_START = 1 << 17;
        /// XA COMMIT / ROLLBACK / PREPARE
        const XA_END = 1 << 18;
        const CALL = 1 << 19;
        /// LAST_INSERT_ID( , @@last_insert_id, @@identity
        const LAST_INSERT_ID = 1 << 20;
        const FOUND_ROWS = 1 << 21;
        const ROW_COUNT = 1 << 22;
        /// SQL_CALC_FOUND_ROWS
        const CALC_FOUND_ROWS = 1 << 23;
        /// SHOW WARNINGS / ERRORS / COUNT(*) …, GET DIAGNOSTICS, @@warning_count, @@error_count
        const DIAGNOSTICS = 1 << 24;
        /// CONNECTION_ID( , @@pseudo_thread_id
        const CONNECTION_ID = 1 << 25;
        /// USE
        const USE = 1 << 26;
        /// LOAD DATA … LOCAL
        const LOCAL_INFILE = 1 << 27;
        /// Locking read: FOR UPDATE / FOR SHARE / LOCK IN SHARE MODE
        const LOCKING_READ = 1 << 28;
        /// Several statements (a `;` followed by something that is not space or comment)
        const MULTI_STATEMENT = 1 << 29;
        /// Session or server state that differs from server to server or that the proxy sets for
        /// itself (SHOW VARIABLES, SHOW STATUS, SHOW PROCESSLIST, transaction_read_only, session_track_* …)
        const SERVER_STATE = 1 << 30;
        /// calls a function that is not known to be built in and pure: may write
        const UNKNOWN_FUNCTION = 1 << 31;
        /// SET PASSWORD, SET ROLE, SET DEFAULT ROLE: not replayable as a variable
        const SET_OTHER = 1 << 32;
    }
}

/// Values that do not allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sniffed {
    pub verb: Verb,
    pub access: Access,
    pub effects: Effects,
    pub hint: Option<Hint>,
}

/// How the session reads text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dialect {
    /// sql_mode has ANSI_QUOTES: "x" is an identifier
    pub ansi_quotes: bool,
    /// sql_mode has NO_BACKSLASH_ESCAPES
    pub no_backslash_escapes: bool,
    /// for `/*M!…*/` and version comments
    pub mariadb: bool,
    /// e.g. 101119 (10.11.19) or 90700; 0: unknown (version comments count as code)
    pub version: u32,
}

/// Reads a statement once; no allocation. `complete` false: `sql` is only the first part of a longer
/// statement, and what the rest could change is assumed (a SELECT becomes Unsure).
pub fn sniff(_sql: &[u8], _complete: bool, _dialect: Dialect) -> Sniffed { unimplemented!() }

/// Hash of the normalised text: literals, comments, space and case of keywords folded.
pub fn digest(_sql: &[u8], _dialect: Dialect) -> u64 { unimplemented!() }
