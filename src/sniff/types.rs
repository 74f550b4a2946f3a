//! What the sniffer says of a statement. Plain values, nothing allocated.

use bitflags::bitflags;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Proven to read only: may go to a replica.
    Read,
    /// Not proven to read only, or not free of effects on the session, or to be answered by the one
    /// server that has the state: primary.
    Unsure,
    /// Changes data: primary.
    Write,
}

/// First keyword outside comments and parentheses. MariaDB's `SET STATEMENT … FOR <statement>` has
/// the verb of the inner statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Verb {
    Select, With, Table, Values, Show, Describe, Explain, Help, Insert, Replace, Update, Delete,
    Truncate, Load, Call, Do, Handler, Set, Use, Begin, Start, Commit, Rollback, Savepoint, Release,
    Lock, Unlock, Flush, Reset, Xa, Prepare, Execute, Deallocate, Create, Alter, Drop, Rename, Grant,
    Revoke, Analyze, Check, Checksum, Optimize, Repair, Kill, Get, Signal, Resignal, Change, Stop,
    Purge, Install, Uninstall, Shutdown, Binlog, Cache, Import, Clone,
    /// A first word that starts no statement known here, or no word at all.
    Other,
    /// Only space and comments.
    Empty,
}

/// Asked for by the client: `/* umpire:primary */` or `/* umpire:replica */` before the first
/// keyword or right after it. When both are there, primary wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    Primary,
    Replica,
}

bitflags! {
    /// What the statement does to, or needs of, session state. A hint only: the server's status
    /// flags and session tracking are the truth.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Effects: u64 {
        /// START TRANSACTION or BEGIN, or COMMIT/ROLLBACK AND CHAIN
        const BEGIN = 1;
        /// START TRANSACTION … READ ONLY (together with BEGIN)
        const BEGIN_READ_ONLY = 1 << 1;
        /// COMMIT or ROLLBACK (not ROLLBACK TO)
        const END_TRANSACTION = 1 << 2;
        /// SET of session variables, SET NAMES, SET CHARACTER SET
        const SET_SESSION = 1 << 3;
        /// SET GLOBAL / PERSIST …
        const SET_GLOBAL = 1 << 4;
        /// SET TRANSACTION … without SESSION/GLOBAL, SET @@transaction_…: for the next transaction only
        const SET_NEXT_TRANSACTION = 1 << 5;
        /// SET [SESSION|@@session.] autocommit = … anything
        const SET_AUTOCOMMIT = 1 << 6;
        /// assigns a user variable (SET @v, SELECT … INTO @v, @v := …)
        const ASSIGNS_USER_VARIABLE = 1 << 7;
        /// mentions a user variable
        const USES_USER_VARIABLE = 1 << 8;
        const CREATES_TEMPORARY_TABLE = 1 << 9;
        const LOCKS_TABLES = 1 << 10;
        /// UNLOCK TABLES (not UNLOCK INSTANCE or BACKUP UNLOCK, which leave tables locked)
        const UNLOCKS_TABLES = 1 << 11;
        /// FLUSH TABLES … WITH READ LOCK / FOR EXPORT; with CALL: LOCK INSTANCE FOR BACKUP, BACKUP STAGE,
        /// BACKUP LOCK, which UNLOCK TABLES does not release
        const FLUSHES_WITH_LOCK = 1 << 12;
        /// GET_LOCK(
        const GET_LOCK = 1 << 13;
        /// RELEASE_LOCK / RELEASE_ALL_LOCKS
        const RELEASES_LOCK = 1 << 14;
        /// SQL-level PREPARE, EXECUTE IMMEDIATE
        const PREPARES = 1 << 15;
        /// HANDLER … OPEN
        const HANDLER_OPEN = 1 << 16;
        const XA_START = 1 << 17;
        /// XA COMMIT / ROLLBACK
        const XA_END = 1 << 18;
        /// CALL, EXECUTE, compound statements, locks for a backup: what is left in the session can
        /// only be undone by a reset
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
        /// SET PASSWORD, SET ROLE, SET DEFAULT ROLE, SET RESOURCE GROUP: not replayable as a variable
        const SET_OTHER = 1 << 32;
        /// The text could not be read to its end with certainty: cut off, malformed, or in an
        /// encoding where that is ambiguous. The other effects may be incomplete.
        const UNREAD = 1 << 33;
        /// Shows session_track_*, which the proxy sets for itself (SHOW VARIABLES, @@session_track_schema …)
        const SHOWS_TRACKING = 1 << 34;
        /// SET session_track_* = …
        const SETS_TRACKING = 1 << 35;
        /// SET @@name = … without a scope: MariaDB's session tracking does not report it
        const UNREPORTED = 1 << 36;
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

impl Sniffed {
    /// Whether data that other sessions can read may be different afterwards. False for reads,
    /// locking reads, SET, USE, BEGIN and what only looks at the server: they need not start the
    /// read-your-writes window. COMMIT and an unknown function may make writes visible: true.
    pub fn may_change_data(&self) -> bool {
        let anything = Effects::MULTI_STATEMENT
            | Effects::CALL
            | Effects::UNREAD
            | Effects::UNKNOWN_FUNCTION
            | Effects::END_TRANSACTION
            | Effects::XA_END
            | Effects::SET_AUTOCOMMIT;
        if self.effects.intersects(anything) {
            return true;
        }
        match self.access {
            Access::Read => false,
            Access::Write => true,
            Access::Unsure => !(self.verb.is_query() || self.verb.is_about_session()),
        }
    }

    /// One SET statement that touches nothing but the session (no GLOBAL, no PASSWORD, no function
    /// of unknown effect in a value).
    pub fn sets_only_session(&self) -> bool {
        let more = Effects::SET_GLOBAL
            | Effects::SET_OTHER
            | Effects::MULTI_STATEMENT
            | Effects::UNKNOWN_FUNCTION
            | Effects::GET_LOCK
            | Effects::RELEASES_LOCK
            | Effects::UNREAD;
        self.verb == Verb::Set && self.access != Access::Write && !self.effects.intersects(more)
    }
}

impl Verb {
    /// Statements that return rows and, unless something in them says otherwise, change nothing.
    pub fn is_query(self) -> bool {
        use Verb::*;
        matches!(
            self,
            Select | With | Table | Values | Show | Describe | Explain | Help
        )
    }

    /// Statements about the session itself.
    fn is_about_session(self) -> bool {
        use Verb::*;
        #[rustfmt::skip]
        let session = matches!(self, Set | Use | Begin | Start | Savepoint | Release | Lock | Unlock
            | Handler | Prepare | Deallocate | Kill | Get | Signal | Resignal | Checksum | Empty);
        session
    }
}

/// How the session reads text. The default is MySQL of unknown version with an empty `sql_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dialect {
    /// sql_mode has ANSI_QUOTES: "x" is an identifier
    pub ansi_quotes: bool,
    /// sql_mode has NO_BACKSLASH_ESCAPES
    pub no_backslash_escapes: bool,
    /// for `/*M!…*/` and version comments
    pub mariadb: bool,
    /// e.g. 101119 (10.11.19) or 90700; 0: unknown (version comments count as code)
    pub version: u32,
    /// character_set_client is big5, cp932, gb18030, gbk or sjis, where the second byte of a
    /// character may look like a quote or a backslash: statements that are not pure ASCII are then
    /// never proven to read.
    pub ambiguous_bytes: bool,
}
