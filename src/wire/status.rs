//! Server status flags of OK and EOF packets.
pub const IN_TRANS: u16 = 1;
pub const AUTOCOMMIT: u16 = 2;
pub const MORE_RESULTS: u16 = 8;
pub const NO_GOOD_INDEX_USED: u16 = 16;
pub const NO_INDEX_USED: u16 = 32;
pub const CURSOR_EXISTS: u16 = 64;
pub const LAST_ROW_SENT: u16 = 128;
pub const DB_DROPPED: u16 = 256;
pub const NO_BACKSLASH_ESCAPES: u16 = 512;
pub const METADATA_CHANGED: u16 = 1024;
pub const QUERY_WAS_SLOW: u16 = 2048;
pub const PS_OUT_PARAMS: u16 = 4096;
pub const IN_TRANS_READONLY: u16 = 8192;
/// MariaDB only.
pub const ANSI_QUOTES: u16 = 32768;
pub const SESSION_STATE_CHANGED: u16 = 16384;
