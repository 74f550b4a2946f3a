//! A primary with replicas that follow it, and the answer to "where did this statement go".

use super::general_log::{self, Entry};
use super::process;
use super::server::Server;
use super::wait_until;
use mysql::{Conn, OptsBuilder};
use std::path::PathBuf;
use std::sync::OnceLock;
use tempfile::TempDir;

/// UMPIRE_TESTS_DELAY: replicas apply everything so many seconds late, which shows what a test takes for granted.
pub fn delay() -> u32 {
    let asked = std::env::var("UMPIRE_TESTS_DELAY").ok();
    asked.map_or(0, |seconds| {
        seconds
            .parse()
            .expect("UMPIRE_TESTS_DELAY is a number of seconds")
    })
}

/// `servers[0]` is the primary (server id 1), the others its replicas (ids 2, 3, …).
pub struct Cluster {
    pub servers: Vec<Server>,
    _dir: TempDir,
}

impl Cluster {
    /// The cluster that all tests of this binary share: one primary, two replicas. For tests that
    /// neither stop a server nor change its global state.
    pub fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Cluster::start(2))
    }

    /// A cluster of the test's own.
    pub fn start(replicas: u32) -> Cluster {
        Cluster::start_with(replicas, &[])
    }

    /// With further server options.
    pub fn start_with(replicas: u32, extra: &[&str]) -> Cluster {
        let dir = run_folder();
        let path = dir.path();
        let servers: Vec<Server> = std::thread::scope(|scope| {
            let starting: Vec<_> = (1..=replicas + 1)
                .map(|id| scope.spawn(move || Server::start(path, id, extra)))
                .collect();
            starting
                .into_iter()
                .map(|t| t.join().expect("the server starts"))
                .collect()
        });
        let cluster = Cluster { servers, _dir: dir };
        for replica in cluster.replicas() {
            cluster.follow(replica);
        }
        cluster.sync();
        cluster
    }

    pub fn primary(&self) -> &Server {
        &self.servers[0]
    }

    pub fn replicas(&self) -> &[Server] {
        &self.servers[1..]
    }

    /// Makes `replica` follow the primary from the start, read-only.
    pub fn follow(&self, replica: &Server) {
        let change = format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='repl', \
             MASTER_PASSWORD='replpw', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1, MASTER_DELAY={}",
            self.primary().port,
            delay()
        );
        replica.run(&[&change, "START SLAVE", "SET GLOBAL read_only=1"]);
    }

    /// Waits until every replica has executed all that the primary has.
    pub fn sync(&self) {
        let position = self.primary().ask("SELECT @@gtid_binlog_pos");
        for replica in self.replicas() {
            let ask = format!("SELECT MASTER_GTID_WAIT('{position}', 30)");
            assert_eq!(
                replica.ask(&ask),
                "0",
                "replica {} follows: {:?}",
                replica.id,
                super::rows(&mut replica.root(), "SHOW SLAVE STATUS")
            );
        }
    }

    /// Runs statements on the primary, past the proxy, and waits for the replicas.
    pub fn prepare(&self, statements: &[&str]) {
        let mut root = self.primary().root();
        for statement in std::iter::once(&"USE app").chain(statements) {
            use mysql::prelude::Queryable;
            root.query_drop(statement)
                .unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        self.sync();
    }

    /// A client straight at the primary: what "direct" means.
    pub fn direct(&self) -> Conn {
        self.direct_to(0)
    }

    /// A client straight at one server.
    pub fn direct_to(&self, index: usize) -> Conn {
        Conn::new(client_options(self.servers[index].port)).expect("app can log in")
    }

    /// Switches the servers' general logs off: with commands of 16 MB and more they take the
    /// longest time of a test.
    pub fn stop_logging(&self) {
        for server in &self.servers {
            server.run(&["SET GLOBAL general_log = 0"]);
        }
    }

    /// Server ids that a client's statement with this word in it reached, in order of the servers;
    /// an id appears once for each time.
    pub fn where_did_it_go(&self, word: &str) -> Vec<u32> {
        let logs = self.servers.iter();
        logs.flat_map(|s| self.entries_of(s, word).into_iter().map(|_| s.id))
            .collect()
    }

    /// The log entries of clients with this word in them, for one server.
    pub fn entries_of(&self, server: &Server, word: &str) -> Vec<Entry> {
        assert!(
            server.general_log().exists(),
            "log_statements() comes first"
        );
        general_log::client_entries(&server.general_log())
            .into_iter()
            .filter(|e| e.text.contains(word) && e.is_statement())
            .collect()
    }

    /// Waits until replica `index`'s replication threads run.
    pub fn wait_for_replication(&self, index: usize) {
        wait_until("replication runs", || {
            let mut root = self.servers[index].root();
            let status = super::rows(&mut root, "SHOW SLAVE STATUS");
            status
                .first()
                .is_some_and(|s| s[10] == "Yes" && s[11] == "Yes")
        });
    }
}

/// Options of an ordinary client, account app.
pub fn client_options(port: u16) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some("app"))
        .pass(Some("apppw"))
        .db_name(Some("app"))
        // Without these two the client asks for @@socket and goes past the proxy.
        .prefer_socket(false)
        .max_allowed_packet(Some(64 << 20))
        .read_timeout(Some(super::PATIENCE))
        .write_timeout(Some(super::PATIENCE))
}

/// A short path: a Unix socket's name has room for 107 bytes. Named after this process, so that
/// the next run can remove what a killed one left.
pub fn run_folder() -> TempDir {
    static SWEPT: OnceLock<()> = OnceLock::new();
    SWEPT.get_or_init(sweep);
    tempfile::Builder::new()
        .prefix(&format!("umpire-run-{}-", std::process::id()))
        .tempdir()
        .expect("a temporary folder")
}

fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for path in entries.flatten().map(|e| e.path()) {
        if left_by_the_dead(&path) {
            std::fs::remove_dir_all(&path).ok();
        }
    }
}

fn left_by_the_dead(path: &std::path::Path) -> bool {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let pid = name
        .strip_prefix("umpire-run-")
        .and_then(|rest| rest.split('-').next())
        .and_then(|pid| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists())
}

/// Memory of one server, for tests that must leave room.
pub fn resident_bytes(server: &Server) -> u64 {
    process::resident_bytes(server.pid())
}
