//! Umpire over two groups with four shards, and one plain server with the same rows.
use crate::common::mysql_pair::MysqlPair;
use crate::common::proxy::ProxyConfig;
use crate::common::several::Servers;
use crate::common::{self, cluster, Cluster, Proxy};
use mysql::prelude::Queryable;
use mysql::Conn;

pub const SHARDS: usize = 4;
/// Servers: of the groups "main" and "second", and the plain one.
const SERVERS: usize = 3;
const PLAIN: usize = 2;

/// The sharded table's columns: each kind of type, several collations.
const COLUMNS: &str = "id INT NOT NULL PRIMARY KEY, g INT, d DECIMAL(12,3), f DOUBLE, fl FLOAT, n BIGINT UNSIGNED, \
    s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, sb VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
    l CHAR(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci, dt DATE, ts DATETIME(3), tm TIME, y YEAR, \
    e ENUM('low','mid','high'), st SET('a','b','c'), b BIT(9), bl VARBINARY(20), tx TEXT, sm SMALLINT, INDEX (g)";
/// A table with the same key, joined in the shard.
const BOUND: &str = "id INT NOT NULL, k INT NOT NULL, w INT, name VARCHAR(20), PRIMARY KEY (id, k)";
/// A small table that every group has.
const BROADCAST: &str = "g INT NOT NULL PRIMARY KEY, label VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
/// Sharded by a text, with the other types and collations; its newest collation is the server's own.
const TEXTS: &str = "k VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, i INT NOT NULL, \
    ti TINYINT UNSIGNED, mi MEDIUMINT, bo BOOLEAN, big DECIMAL(38,12), stamp TIMESTAMP(6) NULL, t3 TIME(3), j JSON, \
    bn BINARY(4), bb BLOB, un VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, \
    nw VARCHAR(20) CHARACTER SET utf8mb4 COLLATE NEWEST, cy VARCHAR(20) CHARACTER SET cp1251 COLLATE cp1251_general_ci, \
    lt LONGTEXT, z INT(6) UNSIGNED ZEROFILL, PRIMARY KEY (k, i)";
/// Sharded by ranges of its key.
const RANGED: &str =
    "id INT NOT NULL, part INT NOT NULL, v INT, note VARCHAR(30), PRIMARY KEY (id, part)";

/// Name, columns.
const TABLES: [(&str, &str); 5] = [
    ("t", COLUMNS),
    ("u", BOUND),
    ("v", TEXTS),
    ("r", RANGED),
    ("b", BROADCAST),
];

pub struct World {
    servers: Servers,
    config: ProxyConfig,
    pub proxy: Proxy,
}

impl World {
    pub fn start() -> World {
        World::with("")
    }

    /// With further sections of the configuration.
    pub fn with(more: &str) -> World {
        World::set_up("", more)
    }

    /// With keys of [proxy], and further sections.
    pub fn set_up(proxy: &str, more: &str) -> World {
        let clusters: Vec<Cluster> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..SERVERS)
                .map(|_| scope.spawn(|| Cluster::start(0)))
                .collect();
            let started = starting.into_iter().map(|t| t.join().expect("a server"));
            started.collect()
        });
        World::on(Servers::MariaDb(clusters), proxy, more)
    }

    /// None, said loudly, where MySQL cannot be had.
    pub fn mysql() -> Option<World> {
        World::mysql_with("")
    }

    /// As [`World::mysql`], with further sections of the configuration.
    pub fn mysql_with(more: &str) -> Option<World> {
        World::mysql_set_up("", more)
    }

    /// As [`World::set_up`].
    pub fn mysql_set_up(proxy: &str, more: &str) -> Option<World> {
        let servers = MysqlPair::apart(SERVERS)?;
        Some(World::on(Servers::MySql(servers), proxy, more))
    }

    fn on(servers: Servers, proxy: &str, more: &str) -> World {
        for at in 0..SERVERS {
            servers.create(at);
        }
        let mut config = ProxyConfig::for_ports(vec![(servers.port(0), "primary")]);
        // a server that gets no processor for a while is not dead
        config.monitor_interval_ms = 1000;
        config.proxy = proxy.into();
        let port = servers.port(1);
        let shards = |name: &str| sharded(name, "id", "hash");
        config.more = format!(
            "\n[[group]]\nname = \"second\"\nservers = [{{ address = \"127.0.0.1:{port}\", role = \"primary\" }}]\n\
             monitor = {{ user = \"monitor\", password = \"monitorpw\", interval_ms = 1000 }}\n{}{}{}{RANGES}{more}\n\
             [[table]]\nname = \"app.b\"\nmethod = \"broadcast\"\n\
             shards = [{{ group = \"main\" }}, {{ group = \"second\" }}]\n",
            shards("t"),
            shards("u"),
            sharded("v", "k", "jump"),
        );
        World {
            servers,
            proxy: config.start(),
            config,
        }
    }

    /// The proxy dies without a chance to do anything, and is started anew.
    pub fn kill_and_start(&mut self) {
        self.proxy.signal("KILL");
        common::wait_until("the proxy is dead", || !self.proxy.is_alive());
        self.proxy = self.config.start();
    }

    /// Further sections of the configuration, by a reload.
    pub fn add(&mut self, more: &str) {
        self.config.more.push_str(more);
        self.proxy.write_config(&self.config);
        self.proxy.reload();
    }

    /// The port of the plain server.
    pub fn direct_port(&self) -> u16 {
        self.servers.port(PLAIN)
    }

    /// SIGKILL to the server of a group.
    pub fn kill_server(&self, group: usize) {
        match &self.servers {
            Servers::MariaDb(clusters) => clusters[group].primary().kill(),
            Servers::MySql(servers) => servers.kill(group),
        }
    }

    /// Ends [`World::kill_server`].
    pub fn start_server(&self, group: usize) {
        match &self.servers {
            Servers::MariaDb(clusters) => {
                clusters[group].primary().launch();
                clusters[group].primary().wait_until_up();
            }
            Servers::MySql(servers) => servers.start_again(group),
        }
    }

    /// Asks one group's server, past the proxy.
    pub fn ask_group(&self, group: usize, sql: &str) -> String {
        self.servers.ask(group, sql)
    }

    pub fn umpire(&self) -> Conn {
        self.proxy.client()
    }

    pub fn direct(&self) -> Conn {
        Conn::new(cluster::client_options(self.servers.port(PLAIN))).expect("app can log in")
    }

    /// A text without the servers' own addresses.
    pub fn anonymous(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, name) in ["10.0.0.1:3306", "10.0.0.2:3306"].iter().enumerate() {
            let address = format!("127.0.0.1:{}", self.servers.port(at));
            text = text.replace(&address, name);
        }
        text
    }

    pub fn is_mysql(&self) -> bool {
        matches!(self.servers, Servers::MySql(_))
    }

    /// Runs a statement on one group's server, past the proxy.
    pub fn run_on(&self, group: usize, sql: &str) {
        self.servers.run(group, &["USE app", sql]);
    }

    /// Creates a table: whole on the plain server, in its shards (of two a group) or as copies on the others.
    pub fn create_table(&self, name: &str, columns: &str, is_sharded: bool) {
        let create = |name: &str| format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB");
        for at in 0..SERVERS {
            let names = match (at, is_sharded) {
                (PLAIN, _) | (_, false) => vec![name.to_owned()],
                _ => vec![
                    format!("{name}_{}", 2 * at),
                    format!("{name}_{}", 2 * at + 1),
                ],
            };
            for name in names {
                self.run_on(at, &create(&name));
            }
        }
    }

    /// Asks both groups' servers, past the proxy.
    pub fn ask_groups(&self, sql: &str) -> Vec<String> {
        (0..PLAIN).map(|at| self.servers.ask(at, sql)).collect()
    }

    /// User and text of what runs on each group's server.
    pub fn processes(&self) -> Vec<Vec<(String, String)>> {
        let of = |at| common::processes(&mut self.servers.root(at));
        (0..PLAIN).map(of).collect()
    }

    /// The same statement on both.
    pub fn both(&self, sql: &str) {
        for mut conn in [self.umpire(), self.direct()] {
            conn.query_drop(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
    }
}

impl Servers {
    /// The tables of one server.
    fn create(&self, at: usize) {
        let newest = match self {
            Servers::MariaDb(_) => "uca1400_ai_ci",
            Servers::MySql(_) => "utf8mb4_0900_ai_ci",
        };
        let known = match self {
            Servers::MariaDb(_) => self.ask(
                at,
                "SELECT COUNT(*) FROM information_schema.COLLATIONS WHERE COLLATION_NAME = 'uca1400_ai_ci'",
            ),
            Servers::MySql(_) => "1".into(),
        };
        let newest = if known == "0" {
            "utf8mb4_unicode_520_ci"
        } else {
            newest
        };
        let mut statements = vec!["USE app".to_string()];
        for (name, columns) in TABLES {
            let names: Vec<String> = match (at, name) {
                (PLAIN, _) | (_, "b") => vec![name.into()],
                _ => [2 * at, 2 * at + 1]
                    .iter()
                    .map(|n| format!("{name}_{n}"))
                    .collect(),
            };
            let columns = columns.replace("NEWEST", newest);
            let create = |name: String| format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB");
            statements.extend(names.into_iter().map(create));
        }
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        self.run(at, &statements);
    }
}

/// A rule for four shards, two a group.
pub fn sharded(name: &str, key: &str, method: &str) -> String {
    let shards: Vec<String> = (0..SHARDS)
        .map(|at| {
            let group = if at < 2 { "main" } else { "second" };
            format!("{{ group = \"{group}\", table = \"{name}_{at}\" }}")
        })
        .collect();
    format!(
        "\n[[table]]\nname = \"app.{name}\"\nkey = \"{key}\"\nmethod = \"{method}\"\nshards = [{}]\n",
        shards.join(", ")
    )
}

/// A rule for a table that both groups have.
pub fn broadcast(name: &str) -> String {
    format!(
        "\n[[table]]\nname = \"app.{name}\"\nmethod = \"broadcast\"\n\
         shards = [{{ group = \"main\" }}, {{ group = \"second\" }}]\n"
    )
}

const RANGES: &str = "\n[[table]]\nname = \"app.r\"\nkey = \"id\"\nmethod = \"range\"\nshards = [\
    { group = \"main\", table = \"r_0\", below = 75 }, { group = \"main\", table = \"r_1\", from = 75, below = 150 }, \
    { group = \"second\", table = \"r_2\", from = 150, below = 225 }, { group = \"second\", table = \"r_3\", from = 225 }]\n";
