//! Configuration: TOML text → validated types.
//!
//! [`Config`] holds only values that passed validation; nothing downstream checks again. [`load`]
//! reads a file, [`parse`] a text; both report every error they find, each with its line.
//!
//! | file | job |
//! |---|---|
//! | `load.rs` | file and text → [`Config`], the whole document |
//! | `proxy.rs`, `listener.rs`, `group.rs`, `user.rs`, `limits.rs`, `policy.rs`, `audit.rs` | one section or two each |
//! | `memory.rs` | the memory keys of `[proxy]` |
//! | `allow_list.rs` | the statements that a policy knows |
//! | `sharding.rs`, `sharding/read.rs` | `[[database]]` and `[[table]]` |
//! | `library.rs` | `[[library]]` |
//! | `coordination.rs` | `[coordination]` |
//! | `secret.rs` | passwords: in place, in files, hashed |
//! | `tls.rs`, `tls/` | certificates, keys and what may be done with them |
//! | `value.rs` | addresses, networks, hashes (pure) |
//! | `addresses.rs` | where clients may come from |
//! | `walk.rs` | typed access to the parsed tables; unknown keys |
//! | `error.rs` | what is wrong, where, and how it is shown |
//! | `reload.rs` | what a reload cannot change |
mod addresses;
mod allow_list;
mod audit;
mod coordination;
mod error;
mod group;
mod library;
mod limits;
mod listener;
mod load;
mod memory;
mod policy;
mod proxy;
mod reload;
mod secret;
mod sharding;
#[cfg(test)]
mod tests;
mod tls;
mod user;
mod value;
mod walk;

pub use addresses::{Addresses, Cidr};
pub use allow_list::parse as parse_allow_list;
pub use audit::{Audit, AuditText, Collector, Statistics, Watching, WhenFull};
pub use error::{ConfigError, Problem};
pub use library::Library;
pub use limits::{Limits, ProcessLimits};
pub use load::{examine, load, parse, read, Examined};
pub use memory::Memory;
pub use policy::{Action, Policy, TableName, KINDS};
pub use reload::needs_restart;
pub use secret::{read_secret_file, SecretFile};
pub use sharding::{conflict, renamed_section, rule_of_section, section_of_comment, Conflict};
pub use sharding::{Database, Ids, ListValue, Method, Origin, Period, Rule, Shard, Span, Table};
pub use tls::servers::ServerTls;
pub use tls::{certificates, Expiry, Tls};
pub use value::password_hash;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A whole, validated configuration file. Per process; replaced as a whole by a reload.
#[derive(Debug, Clone)]
pub struct Config {
    pub proxy: Proxy,
    pub groups: Vec<Group>,
    pub users: Vec<User>,
    pub limits: ProcessLimits,
    pub policies: Vec<Policy>,
    /// Empty: every database is where its user's group is.
    pub databases: Vec<Database>,
    pub tables: Vec<Table>,
    /// Empty: nobody has to select a library.
    pub libraries: Vec<Library>,
    /// `[coordination]`: the folder of what must outlive the process.
    pub store: Option<PathBuf>,
    /// `coordination.library_save_file`: a file of MySQLDA's to take over at start.
    pub library_save_file: Option<PathBuf>,
    pub watching: Arc<Watching>,
}

/// `cross_shard_transactions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossShard {
    /// A statement that would make a transaction use a second group is refused.
    Refuse,
    /// COMMIT goes to the groups one after the other; a part that failed is reported.
    BestEffort,
}

/// `[proxy]`.
#[derive(Clone, PartialEq)]
pub struct Proxy {
    pub listen: Vec<Listener>,
    /// `[tls]`; absent: clients are not offered TLS.
    pub tls: Option<Arc<Tls>>,
    /// Admin SQL (MySQL protocol); absent: not served.
    pub admin: Option<SocketAddr>,
    /// `/metrics`, `/healthz`; absent: not served.
    pub http: Option<SocketAddr>,
    pub workers: Workers,
    /// What clients hide a password under that is asked for outside of TLS, for those who were given its public half;
    /// absent: one is made at each start.
    pub rsa_private_key: Option<Arc<rsa::RsaPrivateKey>>,
    /// Account for the admin port.
    pub admin_user: String,
    pub admin_password: String,
    /// Client connections over all workers; one more gets 1040. Default 10000.
    pub max_connections: u32,
    /// TCP connect to a server. Default 3 s.
    pub connect_timeout: Duration,
    /// A client's whole login, a server's whole login. Default 10 s.
    pub login_timeout: Duration,
    /// Failed logins of one address before its further ones are slowed down. Default 10.
    pub failed_logins_free: u32,
    /// Longest time between two such logins; zero: they are not slowed down. Default 2 s.
    pub failed_login_delay: Duration,
    /// A client that sends no command. Default 28800 s (the server's wait_timeout default).
    pub idle_timeout: Duration,
    /// A peer that takes no byte although some are queued for it. Default 60 s.
    pub write_timeout: Duration,
    /// A turn waiting for a server connection (budget spent, primary unknown). Default 10 s.
    pub lease_timeout: Duration,
    /// SIGTERM: running turns and transactions may end within this. Default 30 s.
    pub drain_timeout: Duration,
    /// Bytes queued for one receiver above which its peer is no longer read. Default 256 KiB.
    pub high_water: usize,
    /// A worker without work looks for some this long before it sleeps. Default 0.
    pub busy_poll: Duration,
    /// Bytes of rows that one statement on several shards may keep. Default 64 MiB.
    pub merge_memory: usize,
    /// What the process may use of the machine's memory.
    pub memory: Memory,
    /// Transactions that use several groups. Default "refuse".
    pub cross_shard: CrossShard,
    /// Largest command of a client (MySQL's max_allowed_packet). Default 1 GiB; 1153 above it.
    pub max_allowed_packet: usize,
    /// A pooled server connection is closed after this age. Default 3600 s.
    pub server_max_age: Duration,
    /// A pooled server connection unused for this long is closed (above `min_idle`). Default 300 s.
    pub server_idle_timeout: Duration,
    /// Idle connections each worker keeps ready per server for accounts that are in use. Default 1.
    pub min_idle: u32,
    /// Prepared statements kept per server connection before the least recently used is closed. Default 256.
    pub max_prepared_per_connection: u32,
}

impl std::fmt::Debug for Proxy {
    /// Without the admin password: configurations are logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy")
            .field("listen", &self.listen)
            .field("admin", &self.admin)
            .field("http", &self.http)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

/// One address for clients, and what holds for those who come that way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub address: Listen,
    pub tls: ListenerTls,
    /// Clients from elsewhere are refused before they are greeted.
    pub addresses: Addresses,
    /// `proxy_protocol`: who comes from here begins with a PROXY header; nobody else may.
    pub balancers: Vec<Cidr>,
    /// Clients may ask for the compressed protocol.
    pub compression: bool,
}

impl Listener {
    /// Whether connections from this address begin with a PROXY header.
    pub fn is_balancer(&self, peer: IpAddr) -> bool {
        self.balancers.iter().any(|network| network.contains(peer))
    }
}

/// Whether clients of a listener are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerTls {
    /// Not offered.
    Off,
    /// The client decides.
    Optional,
    /// 3159 without it. A Unix socket is as safe, as for servers (`require_secure_transport`).
    Required,
}

/// How connections to a server are encrypted; as the modes of MySQL's own clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerTlsMode {
    Disabled,
    /// Where the server offers it.
    Preferred,
    /// Always; whoever the server is.
    Required,
    /// And an authority must have signed the server's certificate.
    VerifyCa,
    /// And it must be the certificate of the address.
    VerifyIdentity,
}

impl ServerTlsMode {
    fn verifies(self) -> bool {
        matches!(
            self,
            ServerTlsMode::VerifyCa | ServerTlsMode::VerifyIdentity
        )
    }
}

/// What a user's connections have to be; 1045 otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserTls {
    Optional,
    /// As MySQL's REQUIRE SSL.
    Required,
    /// Encrypted, with a certificate of the client that was verified: REQUIRE X509.
    Certificate,
}

/// Where clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::fmt::Display for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)?;
        f.write_str(match self.tls {
            ListenerTls::Off => "",
            ListenerTls::Optional => " (TLS optional)",
            ListenerTls::Required => " (TLS required)",
        })?;
        let lists = [
            ("allow", &self.addresses.allow),
            ("deny", &self.addresses.deny),
            ("proxy_protocol", &self.balancers),
        ];
        for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            let networks: Vec<_> = list.iter().map(Cidr::to_string).collect();
            write!(f, " ({key} {})", networks.join(" "))?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Listen::Tcp(a) => write!(f, "{a}"),
            Listen::Unix(p) => write!(f, "unix:{}", p.display()),
        }
    }
}

/// Where the worker threads run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workers {
    /// One per CPU of the process's affinity mask.
    Auto,
    Cpus(Vec<usize>),
}

/// `[[group]]`: one primary and its replicas.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub servers: Vec<Server>,
    pub read_write_split: bool,
    pub read_your_writes: ReadYourWrites,
    pub read_your_writes_window: Duration,
    pub max_replica_lag: Duration,
    pub monitor: Option<Monitor>,
    /// How the primary is found. None, [`Primary::Writable`]: not said.
    pub primary: Option<Primary>,
    /// Where the group's users come from besides the `[[user]]` tables.
    pub accounts: Accounts,
    /// How often the servers' accounts are read.
    pub accounts_interval: Duration,
    /// PROXY headers in front of connections to the servers; None: no headers.
    pub proxy_protocol: Option<ProxyHeaders>,
    /// Of connections to the servers.
    pub compression: Compression,
}

/// Which of a group's servers is its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primary {
    /// The one writable server; several are an alarm.
    Writable,
    /// The first of the list that is alive and writable.
    First,
}

/// How bytes to and from a group's servers are compressed, where a server can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Off,
    Zlib,
    /// MySQL 8.0.18 and later.
    Zstd,
}

/// Where a group's users come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounts {
    /// `[[user]]` alone.
    Configuration,
    /// Every account of the servers works; `[[user]]` adds limits, or replaces one.
    Server,
}

/// What the servers of a group are told about their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyHeaders {
    /// Of the PROXY protocol: 1 or 2.
    pub version: u8,
    /// The client's address is told, and connections serve clients of one address only. Otherwise the header says
    /// that the connection is Umpire's own.
    pub of_client: bool,
}

/// How a user's reads are kept from missing that user's own writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadYourWrites {
    /// For `read_your_writes_window` after a write all reads go to the primary.
    Timer,
    Off,
}

/// One server of a group.
#[derive(Debug, Clone)]
pub struct Server {
    pub address: Address,
    pub role: Role,
    /// Share of reads; 0: none. Replicas default to 1, the primary to 0.
    pub weight: u32,
    /// Connections of the whole process to this server. Default 200.
    pub max_connections: u32,
    /// None: not encrypted.
    pub tls: Option<Arc<ServerTls>>,
}

/// The role that the operator gave a server; who really is the primary is learnt from the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Primary,
    Replica,
}

/// Where a server listens. Names are resolved by the control thread, never on a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// host name or IP, port
    Tcp(String, u16),
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Tcp(h, p) if h.contains(':') => write!(f, "[{h}]:{p}"),
            Address::Tcp(h, p) => write!(f, "{h}:{p}"),
            Address::Unix(p) => write!(f, "unix:{}", p.display()),
        }
    }
}

/// The account with which the control thread checks servers.
#[derive(Clone)]
pub struct Monitor {
    pub user: String,
    pub password: String,
    pub interval: Duration,
}

impl std::fmt::Debug for Monitor {
    /// Without the password: configurations are logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("user", &self.user)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

/// `[[user]]`.
#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub secret: Secret,
    /// Default group.
    pub group: String,
    pub addresses: Addresses,
    /// Client connections of this user over all workers; one more gets 1203 (42000).
    pub max_connections: Option<u32>,
    /// Statements per second, held by added latency.
    pub qps: Option<u32>,
    /// Its own; see [`Config::limits_of`].
    pub limits: Limits,
    pub tls: UserTls,
    /// The plugin by which its clients prove the password; None: the one they begin with, if it can be.
    pub auth_plugin: Option<AuthPlugin>,
    /// The account that its sessions have on the servers; None: the one of the same name and password.
    pub server_account: Option<ServerAccount>,
}

/// An account on the servers that stands for a user here (`server_user`, `server_password`).
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAccount {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for ServerAccount {
    /// Without the password: configurations are logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerAccount")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// How clients prove a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthPlugin {
    Native,
    CachingSha2,
    /// MariaDB's.
    Ed25519,
    /// The password itself, over TLS only.
    Clear,
}

/// What is known of a user's password.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// The password itself (`password`, `password_file`, `password_env`).
    Plain(String),
    /// `password_hash = "*…40 hex…"`: SHA1(SHA1(password)), mysql_native_password.
    Native([u8; 20]),
    /// `password_hash = "$A$005$…"`: salt (20 bytes) and digest (43 bytes) of caching_sha2_password.
    CachingSha2 {
        rounds: u32,
        salt: Vec<u8>,
        digest: Vec<u8>,
    },
    /// `password_hash = "…43 characters of base64…"`: the public key of MariaDB's ed25519.
    Ed25519([u8; 32]),
    /// Whatever the servers of the group have for this name (`accounts = "server"`).
    Server,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
