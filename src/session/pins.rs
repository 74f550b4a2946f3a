//! Why a session keeps its server connection between turns.
use bitflags::bitflags;

bitflags! {
    /// Each reason holds the connection until it ends; `words` is what SHOW SESSIONS prints.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Pins: u32 {
        const TRANSACTION = 1;
        const TEMPORARY_TABLE = 1 << 1;
        const LOCK_TABLES = 1 << 2;
        const FLUSH_LOCK = 1 << 3;
        const GET_LOCK = 1 << 4;
        const USER_VARIABLE = 1 << 5;
        const SQL_PREPARE = 1 << 6;
        const HANDLER = 1 << 7;
        const XA = 1 << 8;
        const CURSOR = 1 << 9;
        const NEXT_TRANSACTION = 1 << 10;
        const CALL = 1 << 11;
        const LONG_DATA = 1 << 12;
        const UNKNOWN_STATE = 1 << 13;
        const VARIABLE = 1 << 14;
        const ROLE = 1 << 15;
        /// Warnings, an error, FOUND_ROWS: kept for one more command.
        const DIAGNOSTICS = 1 << 16;
        /// An INSERT reported an id that it may have brought itself: the connection is asked before it goes.
        const INSERT_ID = 1 << 17;
        const TRACKING = 1 << 18;
        /// COM_REGISTER_SLAVE, COM_BINLOG_DUMP: the server knows the client by this connection.
        const REPLICATION = 1 << 19;
        /// The client has switched reports off, and may have selected another schema: the connection is asked before
        /// it matters.
        const SCHEMA = 1 << 20;
        /// MySQL tells the end of a transaction, and that it went to another schema and back, with the next OK.
        const REPORT = 1 << 21;
    }
}

impl Pins {
    /// Reasons that leave nothing behind: the session may only want to ask something yet.
    pub const FOR_QUESTIONS: Pins = Pins::DIAGNOSTICS.union(Pins::INSERT_ID);

    /// State that a statement cannot undo: the connection is reset before another session gets it.
    pub fn leaves_state(self) -> bool {
        !self.difference(Pins::FOR_QUESTIONS).is_empty()
    }

    /// All reasons in words, comma separated.
    pub fn words(self) -> String {
        const WORDS: [(Pins, &str); 22] = [
            (Pins::TRANSACTION, "open transaction"),
            (Pins::TEMPORARY_TABLE, "temporary table"),
            (Pins::LOCK_TABLES, "LOCK TABLES"),
            (Pins::FLUSH_LOCK, "FLUSH … WITH READ LOCK"),
            (Pins::GET_LOCK, "GET_LOCK"),
            (Pins::USER_VARIABLE, "user variable"),
            (Pins::SQL_PREPARE, "SQL-level PREPARE"),
            (Pins::HANDLER, "HANDLER"),
            (Pins::XA, "XA transaction"),
            (Pins::CURSOR, "open cursor"),
            (
                Pins::NEXT_TRANSACTION,
                "SET TRANSACTION for the next transaction",
            ),
            (Pins::CALL, "CALL"),
            (Pins::LONG_DATA, "long data of a prepared statement"),
            (
                Pins::UNKNOWN_STATE,
                "session state that the server reported and the statement does not explain",
            ),
            (Pins::VARIABLE, "session variable that cannot be replayed"),
            (Pins::ROLE, "SET ROLE or SET PASSWORD"),
            (
                Pins::DIAGNOSTICS,
                "warnings or row counts of the last statement",
            ),
            (Pins::INSERT_ID, "LAST_INSERT_ID() to be asked for"),
            (Pins::TRACKING, "SET session_track_…"),
            (Pins::REPLICATION, "replication"),
            (Pins::SCHEMA, "schema that the server did not report"),
            (Pins::REPORT, "report that comes with the next OK"),
        ];
        let reasons: Vec<&str> = WORDS
            .iter()
            .filter(|(p, _)| self.contains(*p))
            .map(|(_, w)| *w)
            .collect();
        reasons.join(", ")
    }
}
