//! The MySQL and MariaDB client/server protocol: framing, messages, both handshakes, the reply
//! tracker and the error catalogue. Pure: no socket, no clock, no executor. INTERFACE STUB: the
//! signatures below are what other modules build on; split into one file a message.
#![allow(unused_variables, clippy::all)]

pub mod capabilities {
    //! Capability flags, low 32 bits MySQL's; MariaDB's extended ones in the high 32.
    //! https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html
    pub const LONG_PASSWORD: u64 = 1;
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const NO_SCHEMA: u64 = 1 << 4;
    pub const COMPRESS: u64 = 1 << 5;
    pub const ODBC: u64 = 1 << 6;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const IGNORE_SPACE: u64 = 1 << 8;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const INTERACTIVE: u64 = 1 << 10;
    pub const SSL: u64 = 1 << 11;
    pub const IGNORE_SIGPIPE: u64 = 1 << 12;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const RESERVED: u64 = 1 << 14;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u64 = 1 << 21;
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u64 = 1 << 22;
    pub const SESSION_TRACK: u64 = 1 << 23;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    pub const OPTIONAL_RESULTSET_METADATA: u64 = 1 << 25;
    pub const ZSTD_COMPRESSION: u64 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
    pub const MULTI_FACTOR_AUTH: u64 = 1 << 28;
    pub const SSL_VERIFY_SERVER_CERT: u64 = 1 << 30;
    pub const REMEMBER_OPTIONS: u64 = 1 << 31;
    pub const MARIADB_PROGRESS: u64 = 1 << 32;
    pub const MARIADB_COM_MULTI: u64 = 1 << 33;
    pub const MARIADB_STMT_BULK_OPERATIONS: u64 = 1 << 34;
    pub const MARIADB_EXTENDED_METADATA: u64 = 1 << 35;
    pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;
    pub const MARIADB_BULK_UNIT_RESULTS: u64 = 1 << 37;
}

pub mod status {
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
    pub const SESSION_STATE_CHANGED: u16 = 16384;
}

pub mod packet {
    /// Largest payload of one packet; a payload of exactly this length is continued in the next.
    pub const MAX_PAYLOAD: usize = 0xff_ffff;
    pub const HEADER: usize = 4;
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Header { pub length: usize, pub sequence: u8 }
    impl Header {
        /// None: fewer than four bytes.
        pub fn decode(bytes: &[u8]) -> Option<Header> { unimplemented!() }
        pub fn encode(self) -> [u8; 4] { unimplemented!() }
    }
    /// Appends payload as one or more framed packets starting at `sequence`; returns the next sequence.
    pub fn frame(payload: &[u8], sequence: u8, out: &mut Vec<u8>) -> u8 { unimplemented!() }
    /// Incremental reader for handshake-sized messages (not the data path): push bytes, pop whole
    /// payloads (joined over 16 MiB). Announced lengths over `limit` are an error before any byte is kept.
    pub struct Assembler(());
    impl Assembler {
        pub fn new(limit: usize) -> Self { unimplemented!() }
        pub fn push(&mut self, bytes: &[u8]) -> Result<(), super::Malformed> { unimplemented!() }
        pub fn pop(&mut self) -> Option<(u8, Vec<u8>)> { unimplemented!() }
        /// Bytes received behind the last popped packet (to be handed back to the socket).
        pub fn rest(self) -> Vec<u8> { unimplemented!() }
    }
}

/// A peer's bytes do not follow the protocol. `what` names the field for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed { pub what: &'static str }

pub mod command {
    //! Command bytes (COM_*).
    pub const SLEEP: u8 = 0x00; pub const QUIT: u8 = 0x01; pub const INIT_DB: u8 = 0x02; pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04; pub const CREATE_DB: u8 = 0x05; pub const DROP_DB: u8 = 0x06; pub const REFRESH: u8 = 0x07;
    pub const SHUTDOWN: u8 = 0x08; pub const STATISTICS: u8 = 0x09; pub const PROCESS_INFO: u8 = 0x0a; pub const CONNECT: u8 = 0x0b;
    pub const PROCESS_KILL: u8 = 0x0c; pub const DEBUG: u8 = 0x0d; pub const PING: u8 = 0x0e; pub const TIME: u8 = 0x0f;
    pub const DELAYED_INSERT: u8 = 0x10; pub const CHANGE_USER: u8 = 0x11; pub const BINLOG_DUMP: u8 = 0x12; pub const TABLE_DUMP: u8 = 0x13;
    pub const CONNECT_OUT: u8 = 0x14; pub const REGISTER_SLAVE: u8 = 0x15; pub const STMT_PREPARE: u8 = 0x16; pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18; pub const STMT_CLOSE: u8 = 0x19; pub const STMT_RESET: u8 = 0x1a; pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c; pub const DAEMON: u8 = 0x1d; pub const BINLOG_DUMP_GTID: u8 = 0x1e; pub const RESET_CONNECTION: u8 = 0x1f;
    /// MariaDB
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

pub mod handshake {
    use super::Malformed;
    /// Protocol::HandshakeV10, with MariaDB's extended capabilities in the reserved bytes.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Greeting { pub version: String, pub connection_id: u32, pub scramble: [u8; 20], pub capabilities: u64, pub collation: u8, pub status: u16, pub auth_plugin: String }
    impl Greeting {
        /// Payload → greeting. A server's ERR packet instead (1040, 1129, 1130) is `Reply::Err` for the caller to check first (first byte 0xff).
        pub fn decode(payload: &[u8]) -> Result<Greeting, Malformed> { unimplemented!() }
        pub fn encode(&self) -> Vec<u8> { unimplemented!() }
    }
    /// Protocol::HandshakeResponse41.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Response { pub capabilities: u64, pub max_packet: u32, pub collation: u16, pub user: String, pub auth: Vec<u8>, pub schema: Option<String>, pub auth_plugin: Option<String>, pub attributes: Vec<u8>, pub zstd_level: u8 }
    impl Response {
        pub fn decode(payload: &[u8]) -> Result<Response, Malformed> { unimplemented!() }
        pub fn encode(&self) -> Vec<u8> { unimplemented!() }
    }
    /// COM_CHANGE_USER body (after the command byte); `capabilities` are those of the login.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct ChangeUser { pub user: String, pub auth: Vec<u8>, pub schema: Option<String>, pub collation: u16, pub auth_plugin: Option<String>, pub attributes: Vec<u8> }
    impl ChangeUser {
        pub fn decode(body: &[u8], capabilities: u64) -> Result<ChangeUser, Malformed> { unimplemented!() }
        /// Includes the command byte 0x11.
        pub fn encode(&self, capabilities: u64) -> Vec<u8> { unimplemented!() }
    }
}

pub mod auth {
    //! mysql_native_password and caching_sha2_password, both sides; comparisons in constant time.
    pub const NATIVE: &str = "mysql_native_password";
    pub const CACHING_SHA2: &str = "caching_sha2_password";
    /// Random bytes 1..=127 without NUL and '$', as servers send.
    pub fn new_scramble() -> [u8; 20] { unimplemented!() }
    pub mod native {
        /// What a client sends for `password`; empty for an empty password.
        pub fn respond(password: &[u8], scramble: &[u8; 20]) -> Vec<u8> { unimplemented!() }
        /// Response when only SHA1(password) is known.
        pub fn respond_stage1(stage1: &[u8; 20], scramble: &[u8; 20]) -> Vec<u8> { unimplemented!() }
        pub fn stage2(password: &[u8]) -> [u8; 20] { unimplemented!() }
        /// Checks a response against SHA1(SHA1(password)); on success returns SHA1(password), which
        /// the proxy needs to log in at the server.
        pub fn verify(response: &[u8], scramble: &[u8; 20], stage2: &[u8; 20]) -> Option<[u8; 20]> { unimplemented!() }
    }
    pub mod caching_sha2 {
        pub fn respond(password: &[u8], scramble: &[u8; 20]) -> Vec<u8> { unimplemented!() }
        /// SHA256(SHA256(password)): what the fast path checks against.
        pub fn fast_digest(password: &[u8]) -> [u8; 32] { unimplemented!() }
        pub fn verify_fast(response: &[u8], scramble: &[u8; 20], fast_digest: &[u8; 32]) -> bool { unimplemented!() }
        /// The stored digest ($A$005$…, SHA-crypt) of a password: 43 bytes.
        pub fn stored_digest(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> { unimplemented!() }
        /// The server's RSA key for the full path without TLS. Per process.
        pub struct KeyPair(());
        impl KeyPair {
            /// 2048 bits; takes up to a second: at start-up only.
            pub fn generate() -> Self { unimplemented!() }
            pub fn public_pem(&self) -> &str { unimplemented!() }
            /// OAEP-SHA1 decrypt, then XOR with the scramble; the password without its NUL.
            pub fn decrypt_password(&self, cipher: &[u8], scramble: &[u8; 20]) -> Option<Vec<u8>> { unimplemented!() }
        }
        /// Client side of the same: encrypts `password\0` XOR scramble for the server's PEM key.
        pub fn encrypt_password(password: &[u8], scramble: &[u8; 20], pem: &str) -> Result<Vec<u8>, super::super::Malformed> { unimplemented!() }
    }
}

pub mod reply {
    use super::Malformed;
    /// OK packet (also the 0xfe one that ends a result set under DEPRECATE_EOF).
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct Ok { pub header: u8, pub affected_rows: u64, pub last_insert_id: u64, pub status: u16, pub warnings: u16, pub info: Vec<u8>, pub changes: Vec<Change> }
    /// One entry of the session tracker's block.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Change {
        Variable { name: Vec<u8>, value: Vec<u8> },
        Schema(Vec<u8>),
        /// "1": some state changed (user variable, temporary table, prepared statement …)
        State(Vec<u8>),
        Gtids(Vec<u8>),
        /// SQL that would start a transaction with the same characteristics; empty: none pending.
        TransactionCharacteristics(Vec<u8>),
        /// Eight letters, e.g. "T_____I_".
        TransactionState(Vec<u8>),
        Other { kind: u8, data: Vec<u8> },
    }
    impl Ok {
        /// `capabilities` decide whether there is a session track block.
        pub fn decode(payload: &[u8], capabilities: u64) -> Result<Ok, Malformed> { unimplemented!() }
        pub fn encode(&self, capabilities: u64) -> Vec<u8> { unimplemented!() }
    }
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Err { pub code: u16, pub state: [u8; 5], pub message: Vec<u8> }
    impl Err {
        pub fn decode(payload: &[u8]) -> Result<Err, Malformed> { unimplemented!() }
        pub fn encode(&self) -> Vec<u8> { unimplemented!() }
    }
    /// EOF packet: warnings and status.
    pub fn eof(warnings: u16, status: u16) -> Vec<u8> { unimplemented!() }
    /// AuthSwitchRequest / AuthMoreData payloads.
    pub fn auth_switch(plugin: &str, scramble: &[u8; 20]) -> Vec<u8> { unimplemented!() }
    /// What a server may send during login, after the client's response.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Login { Ok(Ok), Err(Err), Switch { plugin: String, scramble: Vec<u8> }, More(Vec<u8>) }
    impl Login { pub fn decode(payload: &[u8], capabilities: u64) -> Result<Login, Malformed> { unimplemented!() } }
}

pub mod error {
    //! The catalogue: every error that the proxy itself raises, with MySQL's code, SQLSTATE and text.
    use super::reply::Err;
    /// One constructor a kind, texts as MySQL's where the kind is MySQL's.
    pub fn access_denied(user: &str, host: &str, using_password: bool) -> Err { unimplemented!() } // 1045 28000
    pub fn unknown_database(name: &str) -> Err { unimplemented!() } // 1049 42000
    pub fn too_many_connections() -> Err { unimplemented!() } // 1040 08004
    pub fn too_many_user_connections(user: &str) -> Err { unimplemented!() } // 1203 42000
    pub fn host_not_allowed(host: &str) -> Err { unimplemented!() } // 1130 HY000
    pub fn bad_handshake() -> Err { unimplemented!() } // 1043 08S01
    pub fn unknown_command() -> Err { unimplemented!() } // 1047 08S01
    pub fn packets_out_of_order() -> Err { unimplemented!() } // 1156 08S01
    pub fn packet_too_large() -> Err { unimplemented!() } // 1153 08S01
    pub fn malformed_packet() -> Err { unimplemented!() } // 1835 HY000
    pub fn unknown_statement_handler(id: u32, function: &str) -> Err { unimplemented!() } // 1243 HY000
    pub fn query_interrupted() -> Err { unimplemented!() } // 1317 70100
    pub fn server_shutdown() -> Err { unimplemented!() } // 1053 08S01
    pub fn server_lost() -> Err { unimplemented!() } // 2013 HY000 "Lost connection to MySQL server during query"
    pub fn no_such_thread(id: u64) -> Err { unimplemented!() } // 1094
    pub fn not_owner_of_thread(id: u64) -> Err { unimplemented!() } // 1095
    pub fn syntax(near: &str) -> Err { unimplemented!() } // 1064 42000
    /// The proxy's own (1105 HY000): "Umpire: " + what happened + what to do.
    pub fn own(what: &str) -> Err { unimplemented!() }
}

pub mod prepare {
    use super::Malformed;
    /// COM_STMT_PREPARE_OK (first packet of the reply).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct PrepareOk { pub statement_id: u32, pub columns: u16, pub parameters: u16, pub warnings: u16 }
    impl PrepareOk { pub fn decode(payload: &[u8]) -> Result<PrepareOk, Malformed> { unimplemented!() } }
    /// Fixed head of COM_STMT_EXECUTE and where its parameter types are.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Execute { pub statement_id: u32, pub flags: u8, pub iterations: u32,
        /// Offset in the body of new_params_bound_flag; None without parameters.
        pub bound_flag_at: Option<usize>,
        /// The types block (2 bytes a parameter, with names under QUERY_ATTRIBUTES) when the flag is 1.
        pub types: Option<std::ops::Range<usize>> }
    impl Execute {
        /// `payload` from the command byte on; may be only the first part of a long command as long as the types are in it.
        pub fn decode(payload: &[u8], parameters: u16, capabilities: u64) -> Result<Execute, Malformed> { unimplemented!() }
    }
    /// The same EXECUTE with the types block put in (flag set to 1).
    pub fn with_types(payload: &[u8], bound_flag_at: usize, types: &[u8]) -> Vec<u8> { unimplemented!() }
}

pub mod resultset {
    //! Building small text results that the proxy answers itself (admin, local answers).
    /// Appends a whole framed text result set: string columns, values NULL or text; sequence starts at `sequence`; returns the next one.
    pub fn encode(columns: &[&str], rows: &[Vec<Option<String>>], status: u16, capabilities: u64, sequence: u8, out: &mut Vec<u8>) -> u8 { unimplemented!() }
}

pub mod tracker {
    //! Finds the end of every command's reply by walking packet headers.
    use super::Malformed;
    /// What follows in the server's bytes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Step {
        /// The next `n` bytes (n > 0) carry nothing the proxy has to look at: pass them on. May end in
        /// the middle of a packet.
        Pass(usize),
        /// The next `n` bytes are one whole control packet, header included: OK, EOF or ERR, first
        /// prepare reply, LOCAL INFILE request. `kind` says which and whether the reply ends with it.
        Control { n: usize, kind: Control },
        /// A control packet begins but is not whole: keep the bytes, come back with more behind them.
        NeedMore,
    }
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Control {
        /// OK packet; `end` false: more results follow.
        Ok { end: bool, status: u16 },
        /// Ends a result set (EOF, or OK with header 0xfe under DEPRECATE_EOF).
        ResultEnd { end: bool, status: u16 },
        /// EOF between column definitions and rows; with a cursor open it ends the reply.
        ColumnsEnd { end: bool, status: u16 },
        Err,
        /// COM_STMT_PREPARE_OK; `end`: neither parameters nor columns follow.
        Prepared { end: bool },
        /// The server wants the client's file (0xfb): the client's packets follow until an empty one.
        LocalInfile,
        /// COM_STATISTICS text and the like: one packet, no status.
        Text,
        /// AuthSwitchRequest or AuthMoreData within COM_CHANGE_USER.
        Auth,
    }
    /// One command's reply. Per turn; Copy-sized, no allocation.
    #[derive(Debug, Clone)]
    pub struct Tracker(());
    impl Tracker {
        /// `capabilities`: of the connection the reply comes on. Commands without a reply (COM_STMT_CLOSE,
        /// COM_STMT_SEND_LONG_DATA, COM_QUIT) must not get a tracker; `expects_reply` tells.
        pub fn new(command: u8, capabilities: u64) -> Tracker { unimplemented!() }
        /// Looks at the bytes not yet passed. Called with a non-empty slice that starts where the last step ended.
        pub fn step(&mut self, bytes: &[u8]) -> Result<Step, Malformed> { unimplemented!() }
        /// True once a Control with end (or Err) was returned.
        pub fn done(&self) -> bool { unimplemented!() }
        /// No byte of the reply has been passed yet (a retry is still invisible).
        pub fn untouched(&self) -> bool { unimplemented!() }
        /// The client's file has ended: the final OK or ERR follows.
        pub fn infile_sent(&mut self) { unimplemented!() }
    }
    pub fn expects_reply(command: u8) -> bool { unimplemented!() }
}
