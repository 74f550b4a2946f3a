//! Umpire over two groups with four shards, and one plain server with the same rows.
use crate::common::{Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use mysql::Conn;

pub const SHARDS: usize = 4;

/// The sharded table's columns: each kind of type, several collations.
const COLUMNS: &str = "id INT NOT NULL PRIMARY KEY, g INT, d DECIMAL(12,3), f DOUBLE, fl FLOAT, n BIGINT UNSIGNED, \
    s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, sb VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
    l CHAR(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci, dt DATE, ts DATETIME(3), tm TIME, y YEAR, \
    e ENUM('low','mid','high'), st SET('a','b','c'), b BIT(9), bl VARBINARY(20), tx TEXT, sm SMALLINT, INDEX (g)";
/// A table with the same key, joined in the shard.
const BOUND: &str = "id INT NOT NULL, k INT NOT NULL, w INT, name VARCHAR(20), PRIMARY KEY (id, k)";
/// A small table that every group has.
const BROADCAST: &str = "g INT NOT NULL PRIMARY KEY, label VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";

pub struct World {
    pub plain: Cluster,
    pub groups: Vec<Cluster>,
    pub proxy: Proxy,
}

impl World {
    pub fn start(proxy: &str) -> World {
        let mut clusters: Vec<Cluster> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..3).map(|_| scope.spawn(|| Cluster::start(0))).collect();
            let started = starting.into_iter().map(|t| t.join().expect("a server"));
            started.collect()
        });
        let plain = clusters.pop().expect("three clusters");
        create(&plain, &["t", "u", "b"], &["t", "u", "b"]);
        for (at, cluster) in clusters.iter().enumerate() {
            let (one, two) = (2 * at, 2 * at + 1);
            let names = [
                format!("t_{one}"),
                format!("t_{two}"),
                format!("u_{one}"),
                format!("u_{two}"),
            ];
            let names: Vec<&str> = names.iter().map(String::as_str).chain(["b"]).collect();
            create(cluster, &["t", "t", "u", "u", "b"], &names);
        }
        let mut config = ProxyConfig::new(&clusters[0]).proxy(proxy);
        let port = clusters[1].primary().port;
        config.more = format!(
            "\n[[group]]\nname = \"second\"\nservers = [{{ address = \"127.0.0.1:{port}\", role = \"primary\" }}]\n\
             monitor = {{ user = \"monitor\", password = \"monitorpw\", interval_ms = 100 }}\n{}{}\n\
             [[table]]\nname = \"app.b\"\nmethod = \"broadcast\"\n\
             shards = [{{ group = \"main\" }}, {{ group = \"second\" }}]\n",
            sharded("t"),
            sharded("u"),
        );
        let proxy = config.start();
        World {
            plain,
            groups: clusters,
            proxy,
        }
    }

    pub fn umpire(&self) -> Conn {
        self.proxy.client()
    }

    pub fn direct(&self) -> Conn {
        self.plain.direct()
    }

    /// The same statement on both.
    pub fn both(&self, sql: &str) {
        for mut conn in [self.umpire(), self.direct()] {
            conn.query_drop(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
    }
}

fn create(cluster: &Cluster, of: &[&str], names: &[&str]) {
    let statements: Vec<String> = of
        .iter()
        .zip(names)
        .map(|(of, name)| {
            let columns = match *of {
                "t" => COLUMNS,
                "u" => BOUND,
                _ => BROADCAST,
            };
            format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB")
        })
        .collect();
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    cluster.prepare(&statements);
}

fn sharded(name: &str) -> String {
    let shards: Vec<String> = (0..SHARDS)
        .map(|at| {
            let group = if at < 2 { "main" } else { "second" };
            format!("{{ group = \"{group}\", table = \"{name}_{at}\" }}")
        })
        .collect();
    format!(
        "\n[[table]]\nname = \"app.{name}\"\nkey = \"id\"\nmethod = \"hash\"\nshards = [{}]\n",
        shards.join(", ")
    )
}
