//! Several servers that know nothing of each other, of either kind.
use super::mysql_pair::MysqlPair;
use super::Cluster;
use mysql::Conn;

pub enum Servers {
    MariaDb(Vec<Cluster>),
    MySql(MysqlPair),
}

impl Servers {
    pub fn port(&self, at: usize) -> u16 {
        match self {
            Servers::MariaDb(clusters) => clusters[at].primary().port,
            Servers::MySql(servers) => servers.ports[at],
        }
    }

    /// Runs statements on one of them, past the proxy.
    pub fn run(&self, at: usize, statements: &[&str]) {
        match self {
            Servers::MariaDb(clusters) => clusters[at].primary().run(statements),
            Servers::MySql(servers) => servers.run(at, statements),
        }
    }

    pub fn root(&self, at: usize) -> Conn {
        match self {
            Servers::MariaDb(clusters) => clusters[at].primary().root(),
            Servers::MySql(servers) => servers.try_root(at).expect("root"),
        }
    }

    pub fn ask(&self, at: usize, sql: &str) -> String {
        super::scalar(&mut self.root(at), sql)
    }
}
