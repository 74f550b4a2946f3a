//! A real MySQL pair (primary and GTID replica), where one can be had.

use super::cluster::{delay, run_folder};
use super::process::{self, free_port};
use super::{server, wait_until, PATIENCE};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use tempfile::TempDir;

pub struct MysqlPair {
    /// Primary (server id 1), replica (server id 2).
    pub ports: Vec<u16>,
    sockets: Vec<PathBuf>,
    children: Mutex<Vec<Child>>,
    _dir: TempDir,
}

impl MysqlPair {
    /// The pair of this test binary; None (said loudly) where MySQL cannot be had.
    pub fn shared() -> Option<&'static MysqlPair> {
        static SHARED: OnceLock<Option<MysqlPair>> = OnceLock::new();
        let pair = SHARED
            .get_or_init(|| cache().map(|cache| MysqlPair::start(&cache)))
            .as_ref();
        if pair.is_none() {
            super::skipped("no MySQL server to be had: tests/servers/get-mysql.sh says why");
        }
        pair
    }

    /// So many servers that do not follow each other; None (said loudly) where MySQL cannot be had.
    pub fn apart(count: usize) -> Option<MysqlPair> {
        let cache = cache();
        if cache.is_none() {
            super::skipped("no MySQL server to be had: tests/servers/get-mysql.sh says why");
        }
        Some(MysqlPair::start_apart(&cache?, count))
    }

    fn start_apart(cache: &Path, count: usize) -> MysqlPair {
        let dir = run_folder();
        let servers = MysqlPair {
            ports: (0..count).map(|_| free_port()).collect(),
            sockets: (1..=count)
                .map(|n| dir.path().join(format!("s{n}")))
                .collect(),
            children: Mutex::default(),
            _dir: dir,
        };
        for at in 0..count {
            let data = servers.sockets[at].with_extension("data");
            server::copy_tree(&cache.join("data"), &data);
            let child = servers.launch(cache, at);
            servers.children.lock().expect("not poisoned").push(child);
        }
        for at in 0..count {
            wait_until("mysqld answers", || servers.try_root(at).is_ok());
        }
        servers
    }

    fn start(cache: &Path) -> MysqlPair {
        let pair = MysqlPair::start_apart(cache, 2);
        let source = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={}, \
             SOURCE_USER='repl', SOURCE_PASSWORD='replpw', SOURCE_AUTO_POSITION=1, \
             GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_DELAY={}",
            pair.ports[0],
            delay()
        );
        pair.run(1, &[&source, "START REPLICA", "SET GLOBAL read_only=1"]);
        pair
    }

    fn launch(&self, cache: &Path, at: usize) -> Child {
        let data = self.sockets[at].with_extension("data");
        let options = std::fs::read_to_string(cache.join("options")).expect("the cache is whole");
        let program = cache.join("bin/mysqld");
        process::spawn(&program.to_string_lossy(), |command| {
            command
                .args(options.lines())
                .arg(format!("--datadir={}", data.display()))
                .arg(format!("--socket={}", self.sockets[at].display()))
                .arg(format!("--pid-file={}.pid", data.display()))
                .arg(format!("--log-error={}.err", data.display()))
                .args([
                    format!("--port={}", self.ports[at]),
                    format!("--server-id={}", at + 1),
                ])
                .args(["--bind-address=127.0.0.1", "--gtid-mode=ON"])
                .args(["--enforce-gtid-consistency=ON", "--log-bin=bin"])
                .args(["--relay-log=relay", "--log-replica-updates=ON"])
                .args([
                    "--sync-binlog=0",
                    "--innodb-flush-log-at-trx-commit=0",
                    "--local-infile=1",
                ])
                .args(["--max-allowed-packet=64M", "--max-connections=300"])
                .stdout(Stdio::null())
                .stderr(Stdio::null());
        })
        .expect("mysqld starts")
    }

    /// SIGKILL.
    pub fn kill(&self, at: usize) {
        let mut children = self.children.lock().expect("not poisoned");
        children[at].kill().expect("it runs");
        children[at].wait().expect("it ran");
    }

    /// Ends [`MysqlPair::kill`]: same port, same data.
    pub fn start_again(&self, at: usize) {
        let child = self.launch(&cache().expect("it ran"), at);
        self.children.lock().expect("not poisoned")[at] = child;
        wait_until("mysqld answers", || self.try_root(at).is_ok());
    }

    /// MySQL's own command-line client.
    pub fn client_program(&self) -> PathBuf {
        cache().expect("the pair runs").join("bin/mysql")
    }

    pub fn run(&self, at: usize, statements: &[&str]) {
        let mut root = self.try_root(at).expect("root can log in");
        for statement in statements {
            root.query_drop(statement)
                .unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
    }

    pub fn ask(&self, at: usize, sql: &str) -> String {
        super::scalar(&mut self.try_root(at).expect("root can log in"), sql)
    }

    /// Waits until the replica has executed all that the primary has.
    pub fn sync(&self) {
        let position = self
            .ask(0, "SELECT @@global.gtid_executed")
            .replace('\n', "");
        let ask = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', 30)");
        assert_eq!(self.ask(1, &ask), "0", "the replica follows");
    }

    /// A connection of root over the server's own socket: past the proxy.
    pub fn try_root(&self, at: usize) -> mysql::Result<Conn> {
        let socket = self.sockets[at].to_string_lossy().into_owned();
        Conn::new(
            OptsBuilder::new()
                .socket(Some(socket))
                .user(Some("root"))
                .max_allowed_packet(Some(64 << 20))
                .read_timeout(Some(PATIENCE)),
        )
    }
}

impl Drop for MysqlPair {
    fn drop(&mut self) {
        let children = self.children.get_mut().into_iter().flatten();
        for child in children {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// A program of MySQL's own; None (said loudly) where MySQL cannot be had.
pub fn program(name: &str) -> Option<PathBuf> {
    let program = cache().map(|cache| cache.join("bin").join(name));
    if program.is_none() {
        super::skipped("no MySQL to be had: tests/servers/get-mysql.sh says why");
    }
    program
}

/// The folder that `get-mysql.sh suite` has made; None (said loudly) where nobody ran it: it fetches 410 MB.
pub fn suite() -> Option<PathBuf> {
    let mut suite = cache()?.into_os_string();
    suite.push("-suite");
    let suite = PathBuf::from(suite);
    let ready = suite.join("ready").exists();
    if !ready {
        super::skipped("MySQL's test suite is not here: tests/servers/get-mysql.sh suite");
    }
    ready.then_some(suite)
}

/// The folder of the unpacked server; None where there is none.
fn cache() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/get-mysql.sh");
    let output = Command::new("bash")
        .arg(script)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    let place = String::from_utf8_lossy(&output.stdout).trim().to_string();
    output.status.success().then(|| PathBuf::from(place))
}
