//! The servers that scripts run on: MariaDB of this test's own, or MySQL where it can be had.
use crate::common::mysql_pair::MysqlPair;
use crate::common::proxy::ProxyConfig;
use crate::common::{cluster, rows, wait_until, Cluster, Proxy};
use crate::script::{Words, LANES};
use mysql::prelude::Queryable;
use mysql::Conn;

/// Server connections that the sessions and all their neighbours share, at each server.
const CONNECTIONS: &str = "max_connections = 12";

pub enum Servers {
    MariaDb(Box<Cluster>),
    MySql(&'static MysqlPair),
}

impl Servers {
    pub fn mariadb() -> Servers {
        let cluster = Cluster::start(2);
        cluster.stop_logging();
        let servers = Servers::MariaDb(Box::new(cluster));
        servers.set_up();
        servers
    }

    /// None, said loudly, where there is none.
    pub fn mysql() -> Option<Servers> {
        let pair = MysqlPair::shared()?;
        let servers = Servers::MySql(pair);
        servers.set_up();
        // a raw client has the fast path of caching_sha2_password only
        for user in [("app", "apppw"), ("app2", "app2pw")] {
            let options = cluster::client_options(pair.ports[0])
                .user(Some(user.0))
                .pass(Some(user.1));
            Conn::new(options).expect("the account can log in");
        }
        Some(servers)
    }

    pub fn words(&self) -> Words {
        match self {
            Servers::MariaDb(_) => Words {
                isolation: "tx_isolation",
                in_transaction: "@@in_transaction",
                one_kind: false,
            },
            Servers::MySql(_) => Words {
                isolation: "transaction_isolation",
                in_transaction: "1",
                one_kind: true,
            },
        }
    }

    /// Of the primary.
    pub fn port(&self) -> u16 {
        match self {
            Servers::MariaDb(cluster) => cluster.primary().port,
            Servers::MySql(pair) => pair.ports[0],
        }
    }

    fn root(&self) -> Conn {
        match self {
            Servers::MariaDb(cluster) => cluster.primary().root(),
            Servers::MySql(pair) => pair.try_root(0).expect("root can log in"),
        }
    }

    fn sync(&self) {
        match self {
            Servers::MariaDb(cluster) => cluster.sync(),
            Servers::MySql(pair) => pair.sync(),
        }
    }

    /// A proxy with few connections. Users that write read from the primary.
    pub fn proxy(&self) -> Proxy {
        let (config, readers): (ProxyConfig, &[u32]) = match self {
            Servers::MariaDb(cluster) => (ProxyConfig::new(cluster), &[2, 3]),
            Servers::MySql(pair) => {
                let ports = vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")];
                (ProxyConfig::for_ports(ports), &[2])
            }
        };
        let mut config = config.timer(600_000);
        for server in &mut config.servers {
            server.2 = CONNECTIONS.into();
        }
        let proxy = config
            .proxy("min_idle = 0\nlease_timeout_ms = 60000")
            .start();
        proxy.wait_for_readers(readers);
        proxy
    }

    fn set_up(&self) {
        let mut root = self.root();
        let mut run = |sql: &str| {
            root.query_drop(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
        };
        run("CREATE TABLE app.noise (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
        for lane in 0..LANES {
            for schema in [format!("d{lane}"), format!("e{lane}")] {
                run(&format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"));
                run(&format!("USE {schema}"));
                SCHEMA.iter().for_each(|sql| run(sql));
            }
        }
        self.sync();
    }

    /// The lane's tables as at the start. What its last session left must be gone for that: a server may notice late
    /// that a client has vanished.
    pub fn clean_lane(&self, lane: u64) {
        let mut root = self.root();
        wait_until("no XA transaction is left, prepared or active", || {
            root.query_drop(format!("XA ROLLBACK 'x{lane}'")).ok();
            root.query_drop(format!("XA START 'x{lane}'")).is_ok()
        });
        for sql in ["XA END", "XA ROLLBACK"] {
            root.query_drop(format!("{sql} 'x{lane}'"))
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        wait_until("the lane's user lock is free", || {
            rows(&mut root, &format!("SELECT IS_FREE_LOCK('l{lane}')"))[0][0] == "1"
        });
        root.query_drop("SET lock_wait_timeout = 60").expect("SET");
        for schema in [format!("d{lane}"), format!("e{lane}")] {
            for table in ["s", "triggered", "log"] {
                root.query_drop(format!("TRUNCATE TABLE {schema}.{table}"))
                    .unwrap_or_else(|e| panic!("the last session of lane {lane} left a lock: {e}"));
            }
            root.query_drop(format!(
                "INSERT INTO {schema}.s VALUES (1, 1, 'one'), (2, 2, 'two')"
            ))
            .expect("INSERT");
        }
    }
}

const SCHEMA: [&str; 14] = [
    "CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v INT, t VARCHAR(40))",
    "CREATE TABLE fixed (id INT PRIMARY KEY)",
    "INSERT INTO fixed VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12),(13),(14),(15),(16),(17)",
    "CREATE TABLE kinds (id INT PRIMARY KEY, b BIT(9), ti TINYINT UNSIGNED, bi BIGINT, d DECIMAL(10,3), f FLOAT, \
     db DOUBLE, dt DATETIME(3), ts TIMESTAMP NULL, da DATE, tm TIME(2), y YEAR, c CHAR(5), vb VARBINARY(9), \
     tx TEXT CHARACTER SET latin1, bl BLOB, e ENUM('a','b'), st SET('x','y'), j JSON)",
    "INSERT INTO kinds VALUES (1, 5, 255, -1, 1.5, 0.1, 1e100, '2024-02-29 12:00:00.125', '2024-02-29 12:00:00', \
     '1000-01-01', '-838:59:59.00', 1999, 'ä', x'00ff', 'é', x'00', 'a', 'x,y', '{\"k\": [1, null]}')",
    "INSERT INTO kinds (id) VALUES (2), (3)",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what INT)",
    "CREATE TABLE triggered (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "CREATE TRIGGER logs AFTER INSERT ON triggered FOR EACH ROW INSERT INTO log (what) VALUES (NEW.v)",
    "CREATE PROCEDURE sets() BEGIN SET @a = 'p'; SET time_zone = '-05:00'; END",
    "CREATE PROCEDURE begins() BEGIN START TRANSACTION; INSERT INTO s (v) VALUES (9); END",
    "CREATE PROCEDURE fails() BEGIN INSERT INTO s (v) VALUES (8); SIGNAL SQLSTATE '45000'; END",
    "CREATE PROCEDURE asks() BEGIN SELECT LAST_INSERT_ID(), @a IS NULL, @@time_zone; SELECT 2; END",
    "CREATE FUNCTION writes(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
     BEGIN INSERT INTO s (v) VALUES (x); RETURN x; END",
];
