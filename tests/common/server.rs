//! One MariaDB server of our own in a temporary folder.

use super::process::{self, free_port, signal};
use super::PATIENCE;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The accounts of the template. `app` and `app2` may do all that read_only still stops.
const ACCOUNTS: &str = "
    CREATE USER app@'%' IDENTIFIED BY 'apppw';
    CREATE USER app2@'%' IDENTIFIED BY 'app2pw';
    CREATE USER nobody@'%' IDENTIFIED BY '';
    GRANT ALL PRIVILEGES ON *.* TO app@'%';
    GRANT ALL PRIVILEGES ON *.* TO app2@'%';
    REVOKE SUPER, READ_ONLY ADMIN, CONNECTION ADMIN ON *.* FROM app@'%';
    REVOKE SUPER, READ_ONLY ADMIN, CONNECTION ADMIN ON *.* FROM app2@'%';
    GRANT SELECT ON app.* TO nobody@'%';
    CREATE USER monitor@'%' IDENTIFIED BY 'monitorpw';
    GRANT USAGE, SLAVE MONITOR, BINLOG MONITOR, REPLICATION MASTER ADMIN ON *.* TO monitor@'%';
    CREATE USER repl@'%' IDENTIFIED BY 'replpw';
    GRANT REPLICATION SLAVE ON *.* TO repl@'%';
    CREATE DATABASE app CHARACTER SET utf8mb4;
    CREATE DATABASE other CHARACTER SET utf8mb4;
    CREATE DATABASE sbtest CHARACTER SET utf8mb4;";

const SMALL: &[&str] = &[
    "--no-defaults",
    "--user=root",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    "--innodb-log-buffer-size=2M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--query-cache-size=0",
    "--query-cache-type=0",
    "--performance-schema=OFF",
    "--sync-binlog=0",
];

/// A running server. Dropped: stopped.
pub struct Server {
    pub port: u16,
    pub id: u32,
    pub socket: PathBuf,
    dir: PathBuf,
    extra: Vec<String>,
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Copies the template into `dir` and starts a server with that id on a free port.
    pub fn start(dir: &Path, id: u32, extra: &[&str]) -> Server {
        let dir = dir.join(id.to_string());
        std::fs::create_dir_all(&dir).expect("a folder for the server");
        copy_tree(template(), &dir.join("data"));
        let server = Server {
            port: free_port(),
            id,
            socket: dir.join("sock"),
            dir,
            extra: extra.iter().map(ToString::to_string).collect(),
            child: Mutex::new(None),
        };
        server.launch();
        server.wait_until_up();
        server
    }

    /// Starts the process; for a server that was killed or stopped. Same port, same data.
    pub fn launch(&self) {
        let (port, id) = (self.port.to_string(), self.id.to_string());
        // a server that starts removes all temporary tables that it finds, another's too
        let temporary = self.dir.join("tmp");
        std::fs::create_dir_all(&temporary).expect("a folder");
        let child = process::spawn(&mariadbd(), |command| {
            command
                .args(SMALL)
                .arg(format!("--datadir={}", self.dir.join("data").display()))
                .arg(format!("--tmpdir={}", temporary.display()))
                .arg(format!("--socket={}", self.socket.display()))
                .arg(format!("--pid-file={}", self.dir.join("pid").display()))
                .arg(format!(
                    "--log-error={}",
                    self.dir.join("error.log").display()
                ))
                .arg(format!(
                    "--general-log-file={}",
                    self.general_log().display()
                ))
                .args(["--general-log=1", "--log-output=FILE"])
                .arg("--bind-address=127.0.0.1")
                .args([format!("--port={port}"), format!("--server-id={id}")])
                .args(["--log-bin=bin", "--relay-log=relay", "--log-slave-updates"])
                .args(["--gtid-strict-mode=ON", "--binlog-format=ROW"])
                .args(["--skip-name-resolve", "--max-connections=400"])
                .args(["--max-allowed-packet=64M", "--local-infile=1"])
                .args(["--secure-file-priv=", "--log-bin-trust-function-creators=1"])
                .args(&self.extra)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
        })
        .expect("mariadbd starts");
        *self.child.lock().expect("not poisoned") = Some(child);
    }

    pub fn wait_until_up(&self) {
        let up = super::holds_within(PATIENCE, || self.try_root().is_ok());
        assert!(
            up,
            "server {} did not start:\n{}",
            self.id,
            self.error_log()
        );
    }

    /// SIGKILL, as a crash.
    pub fn kill(&self) {
        if let Some(mut child) = self.take() {
            child.kill().expect("the server is ours");
            child.wait().expect("the server is ours");
        }
    }

    /// SIGTERM and the server's own shutdown.
    pub fn stop(&self) {
        if let Some(mut child) = self.take() {
            process::end(&mut child);
        }
    }

    /// SIGSTOP: accepts connections (by its kernel backlog), answers nothing.
    pub fn freeze(&self) {
        signal(self.pid(), "STOP");
        // on a loaded machine its threads go on for a moment, and one of them could still answer
        super::wait_until("the server stands still", || {
            process::stands_still(self.pid())
        });
    }

    /// Ends `freeze`.
    pub fn thaw(&self) {
        signal(self.pid(), "CONT");
    }

    pub fn pid(&self) -> u32 {
        let child = self.child.lock().expect("not poisoned");
        child.as_ref().expect("the server runs").id()
    }

    /// A connection of root over the server's own socket: past the proxy.
    pub fn root(&self) -> Conn {
        self.try_root().expect("root can log in")
    }

    fn try_root(&self) -> mysql::Result<Conn> {
        let socket = self.socket.to_string_lossy().into_owned();
        Conn::new(
            OptsBuilder::new()
                .socket(Some(socket))
                .user(Some("root"))
                .max_allowed_packet(Some(64 << 20))
                .read_timeout(Some(PATIENCE)),
        )
    }

    /// Runs statements as root; each must succeed.
    pub fn run(&self, statements: &[&str]) {
        let mut root = self.root();
        for statement in statements {
            root.query_drop(statement)
                .unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
    }

    /// First value of a query as root.
    pub fn ask(&self, sql: &str) -> String {
        super::scalar(&mut self.root(), sql)
    }

    pub fn general_log(&self) -> PathBuf {
        self.dir.join("general.log")
    }

    fn error_log(&self) -> String {
        std::fs::read_to_string(self.dir.join("error.log")).unwrap_or_default()
    }

    fn take(&self) -> Option<Child> {
        self.child.lock().ok()?.take()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The folder is thrown away: nothing to flush. A frozen server dies of SIGKILL too.
        if let Some(mut child) = self.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// The data folder that every server starts from, made once per build folder.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("mariadb-template-{}", template_key()));
        if !place.exists() {
            make_template(&place);
        }
        place
    })
}

/// Changes with the server's version and with what the template holds.
fn template_key() -> String {
    use sha1::{Digest, Sha1};
    let version = Command::new(mariadbd())
        .args(["--no-defaults", "--version"])
        .output();
    let mut hash = Sha1::new();
    hash.update(version.expect("mariadbd runs").stdout);
    hash.update(ACCOUNTS);
    hash.finalize()[..4]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Builds beside the final place and renames: of two runs at the same time one wins, and neither
/// sees half a template.
fn make_template(place: &Path) {
    let parent = place.parent().expect("has a parent");
    let draft = tempfile::tempdir_in(parent).expect("a draft folder");
    let data = draft.path().join("data");
    let output = Command::new(find_program("mariadb-install-db"))
        .args([
            "--no-defaults",
            "--user=root",
            "--skip-test-db",
            "--skip-name-resolve",
        ])
        .args([
            "--auth-root-authentication-method=normal",
            "--innodb-log-file-size=8M",
        ])
        .args(["--innodb-buffer-pool-size=16M"])
        .arg(format!("--datadir={}", data.display()))
        .stdin(Stdio::null())
        .output()
        .expect("mariadb-install-db runs");
    assert!(
        output.status.success(),
        "mariadb-install-db: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    add_accounts(&data);
    if std::fs::rename(&data, place).is_err() {
        assert!(place.exists(), "no template at {}", place.display());
    }
}

fn add_accounts(data: &Path) {
    let short = tempfile::Builder::new()
        .prefix("ump")
        .tempdir()
        .expect("a short path");
    let socket = short.path().join("s");
    let mut child = process::spawn(&mariadbd(), |command| {
        command
            .args(SMALL)
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .arg("--skip-networking")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    })
    .expect("mariadbd starts");
    let options = OptsBuilder::new()
        .socket(Some(socket.to_string_lossy().into_owned()))
        .user(Some("root"));
    super::wait_until("the template server answers", || {
        Conn::new(options.clone()).is_ok()
    });
    let mut root = Conn::new(options).expect("root can log in");
    for statement in ACCOUNTS.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        root.query_drop(statement)
            .unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    signal(child.id(), "TERM");
    let status = process::wait_for_exit(&mut child, Duration::from_secs(30));
    assert!(
        status.is_some_and(|s| s.success()),
        "the template server did not stop cleanly"
    );
}

pub(super) fn copy_tree(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .args([from, to])
        .status()
        .expect("cp runs");
    assert!(status.success(), "cp {from:?} {to:?}");
}

fn mariadbd() -> String {
    find_program("mariadbd")
}

/// Full path of a server program; sbin is not on every user's PATH.
pub fn find_program(name: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path
        .split(':')
        .chain(["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"])
        .map(|dir| Path::new(dir).join(name))
        .find(|p| p.is_file());
    match found {
        Some(program) => program.to_string_lossy().into_owned(),
        None => panic!("{name} is not installed: run tests/servers/get-servers.sh (as root)"),
    }
}
