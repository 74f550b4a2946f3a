//! Command bytes (COM_*).
pub const SLEEP: u8 = 0x00;
pub const QUIT: u8 = 0x01;
pub const INIT_DB: u8 = 0x02;
pub const QUERY: u8 = 0x03;
pub const FIELD_LIST: u8 = 0x04;
pub const CREATE_DB: u8 = 0x05;
pub const DROP_DB: u8 = 0x06;
pub const REFRESH: u8 = 0x07;
pub const SHUTDOWN: u8 = 0x08;
pub const STATISTICS: u8 = 0x09;
pub const PROCESS_INFO: u8 = 0x0a;
pub const CONNECT: u8 = 0x0b;
pub const PROCESS_KILL: u8 = 0x0c;
pub const DEBUG: u8 = 0x0d;
pub const PING: u8 = 0x0e;
pub const TIME: u8 = 0x0f;
pub const DELAYED_INSERT: u8 = 0x10;
pub const CHANGE_USER: u8 = 0x11;
pub const BINLOG_DUMP: u8 = 0x12;
pub const TABLE_DUMP: u8 = 0x13;
pub const CONNECT_OUT: u8 = 0x14;
pub const REGISTER_SLAVE: u8 = 0x15;
pub const STMT_PREPARE: u8 = 0x16;
pub const STMT_EXECUTE: u8 = 0x17;
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
pub const STMT_CLOSE: u8 = 0x19;
pub const STMT_RESET: u8 = 0x1a;
pub const SET_OPTION: u8 = 0x1b;
pub const STMT_FETCH: u8 = 0x1c;
pub const DAEMON: u8 = 0x1d;
pub const BINLOG_DUMP_GTID: u8 = 0x1e;
pub const RESET_CONNECTION: u8 = 0x1f;
/// MariaDB
pub const STMT_BULK_EXECUTE: u8 = 0xfa;

/// Whether a server answers the command at all.
pub fn expects_reply(command: u8) -> bool {
    !matches!(command, QUIT | STMT_CLOSE | STMT_SEND_LONG_DATA)
}

/// The command's name as the protocol documentation spells it, for logs and metrics.
pub fn name(command: u8) -> &'static str {
    const NAMES: [&str; 32] = [
        "COM_SLEEP",
        "COM_QUIT",
        "COM_INIT_DB",
        "COM_QUERY",
        "COM_FIELD_LIST",
        "COM_CREATE_DB",
        "COM_DROP_DB",
        "COM_REFRESH",
        "COM_SHUTDOWN",
        "COM_STATISTICS",
        "COM_PROCESS_INFO",
        "COM_CONNECT",
        "COM_PROCESS_KILL",
        "COM_DEBUG",
        "COM_PING",
        "COM_TIME",
        "COM_DELAYED_INSERT",
        "COM_CHANGE_USER",
        "COM_BINLOG_DUMP",
        "COM_TABLE_DUMP",
        "COM_CONNECT_OUT",
        "COM_REGISTER_SLAVE",
        "COM_STMT_PREPARE",
        "COM_STMT_EXECUTE",
        "COM_STMT_SEND_LONG_DATA",
        "COM_STMT_CLOSE",
        "COM_STMT_RESET",
        "COM_SET_OPTION",
        "COM_STMT_FETCH",
        "COM_DAEMON",
        "COM_BINLOG_DUMP_GTID",
        "COM_RESET_CONNECTION",
    ];
    match command {
        STMT_BULK_EXECUTE => "COM_STMT_BULK_EXECUTE",
        _ => NAMES
            .get(usize::from(command))
            .copied()
            .unwrap_or("unknown command"),
    }
}
