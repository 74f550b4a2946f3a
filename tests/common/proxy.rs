//! The proxy under test, as its own process with a configuration file of the test's.

use super::cluster::{client_options, run_folder, Cluster};
use super::process::{self, free_port, signal};
use super::raw::tcp;
use super::{direct_mode, holds_within, wait_until, PATIENCE};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

/// What a test wants in its configuration file; the rest has values that suit tests.
#[derive(Debug, Clone)]
pub struct ProxyConfig {
    /// (port, role, further keys) of each server.
    pub servers: Vec<(u16, &'static str, String)>,
    pub split: bool,
    pub read_your_writes: &'static str,
    pub window_ms: u64,
    pub max_replica_lag_ms: u64,
    pub monitor_interval_ms: u64,
    /// TOML lines for [proxy].
    pub proxy: String,
    /// TOML lines for the user app.
    pub app: String,
    /// TOML lines for the group.
    pub group: String,
    /// Whether app and app2 are configured.
    pub users: bool,
    /// TOML lines of the group's table tls.
    pub group_tls: String,
    /// Further TOML, [[user]] tables for instance.
    pub more: String,
}

impl ProxyConfig {
    /// In front of a cluster: splitting on, no read-your-writes window, so that a read's way does
    /// not depend on the time since another test's write.
    pub fn new(cluster: &Cluster) -> ProxyConfig {
        let role = |i: usize| if i == 0 { "primary" } else { "replica" };
        let servers = cluster.servers.iter().enumerate();
        ProxyConfig::for_ports(servers.map(|(i, s)| (s.port, role(i))).collect())
    }

    pub fn for_ports(servers: Vec<(u16, &'static str)>) -> ProxyConfig {
        ProxyConfig {
            servers: servers
                .into_iter()
                .map(|(port, role)| (port, role, String::new()))
                .collect(),
            split: true,
            read_your_writes: "off",
            window_ms: 300,
            max_replica_lag_ms: 5000,
            monitor_interval_ms: 100,
            proxy: String::new(),
            app: String::new(),
            group: String::new(),
            users: true,
            group_tls: String::new(),
            more: String::new(),
        }
    }

    pub fn timer(mut self, window_ms: u64) -> Self {
        self.read_your_writes = "timer";
        self.window_ms = window_ms;
        self
    }

    pub fn proxy(mut self, lines: &str) -> Self {
        self.proxy.push_str(lines);
        self.proxy.push('\n');
        self
    }

    pub fn start(&self) -> Proxy {
        Proxy::start(self)
    }

    fn toml(&self, ports: &Ports) -> String {
        let mut t = String::new();
        let Ports {
            sql, admin, http, ..
        } = ports;
        let unix = ports.unix.display();
        let _ = write!(
            t,
            "[proxy]\nlisten = [\"127.0.0.1:{sql}\", \"unix:{unix}\"]\n\
             admin = \"127.0.0.1:{admin}\"\nhttp = \"127.0.0.1:{http}\"\n\
             admin_user = \"admin\"\nadmin_password = \"adminpw\"\n"
        );
        if !self.proxy.contains("workers") {
            t.push_str("workers = \"auto\"\n");
        }
        t.push_str(&self.proxy);
        t.push_str("\n[[group]]\nname = \"main\"\nservers = [\n");
        for (port, role, keys) in &self.servers {
            let comma = if keys.is_empty() { "" } else { ", " };
            let _ = writeln!(
                t,
                "  {{ address = \"127.0.0.1:{port}\", role = \"{role}\"{comma}{keys} }},"
            );
        }
        let _ = write!(
            t,
            "]\nread_write_split = {}\nread_your_writes = \"{}\"\n\
             read_your_writes_window_ms = {}\nmax_replica_lag_ms = {}\n\
             monitor = {{ user = \"monitor\", password = \"monitorpw\", interval_ms = {} }}\n",
            self.split,
            self.read_your_writes,
            self.window_ms,
            self.max_replica_lag_ms,
            self.monitor_interval_ms
        );
        t.push_str(&self.group);
        t.push('\n');
        let users = if self.users { 2 } else { 0 };
        if !self.group_tls.is_empty() {
            let _ = write!(t, "\n[group.tls]\n{}\n", self.group_tls);
        }
        for (name, password, keys) in [("app", "apppw", self.app.as_str()), ("app2", "app2pw", "")]
            .into_iter()
            .take(users)
        {
            let _ = write!(
                t,
                "\n[[user]]\nname = \"{name}\"\npassword = \"{password}\"\ngroup = \"main\"\n{keys}\n"
            );
        }
        t.push_str(&self.more);
        t
    }
}

struct Ports {
    sql: u16,
    admin: u16,
    http: u16,
    unix: PathBuf,
}

pub struct Proxy {
    pub port: u16,
    pub admin_port: u16,
    pub http_port: u16,
    pub unix: PathBuf,
    config_file: PathBuf,
    ports: Ports,
    stderr_file: PathBuf,
    child: Mutex<Option<Child>>,
    _dir: TempDir,
}

impl Proxy {
    /// In front of the shared cluster, shared by the tests of this binary.
    pub fn shared() -> &'static Proxy {
        static SHARED: OnceLock<Proxy> = OnceLock::new();
        SHARED.get_or_init(|| {
            let proxy = ProxyConfig::new(Cluster::shared()).start();
            proxy.wait_for_readers(&[2, 3]);
            proxy
        })
    }

    pub fn start(config: &ProxyConfig) -> Proxy {
        let proxy = Proxy::launch(config);
        if !direct_mode() {
            proxy.wait_for_greeting();
        }
        proxy
    }

    /// Does not wait until it greets.
    pub fn launch(config: &ProxyConfig) -> Proxy {
        let dir = run_folder();
        let ports = Ports {
            sql: free_port(),
            admin: free_port(),
            http: free_port(),
            unix: dir.path().join("umpire.sock"),
        };
        let mut proxy = Proxy {
            port: ports.sql,
            admin_port: ports.admin,
            http_port: ports.http,
            unix: ports.unix.clone(),
            config_file: dir.path().join("umpire.toml"),
            stderr_file: dir.path().join("stderr"),
            ports,
            child: Mutex::new(None),
            _dir: dir,
        };
        if direct_mode() {
            proxy.port = config.servers[0].0;
            return proxy;
        }
        proxy.write_config(config);
        let stderr = std::fs::File::create(&proxy.stderr_file).expect("a file for stderr");
        let child = process::spawn(env!("CARGO_BIN_EXE_umpire"), |command| {
            command
                .arg("--config")
                .arg(&proxy.config_file)
                .env("RUST_BACKTRACE", "1")
                .env("UMPIRE_TESTS_PASSWORD", "from the environment")
                .stdout(Stdio::null())
                .stderr(stderr);
        })
        .expect("umpire starts");
        proxy.child = Mutex::new(Some(child));
        proxy
    }

    /// Replaces the configuration file; the proxy reads it at the next `reload`.
    pub fn write_config(&self, config: &ProxyConfig) {
        self.write_config_text(&config.toml(&self.ports));
    }

    pub fn write_config_text(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&self.config_file, text).expect("the file can be written");
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&self.config_file, owner_only).expect("the file is ours");
    }

    pub fn config_text(&self) -> String {
        std::fs::read_to_string(&self.config_file).expect("the file can be read")
    }

    /// SIGHUP.
    pub fn reload(&self) {
        self.signal("HUP");
    }

    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub fn pid(&self) -> u32 {
        let child = self.child.lock().expect("not poisoned");
        child.as_ref().expect("the proxy runs").id()
    }

    /// An ordinary client, account app, schema app.
    pub fn client(&self) -> Conn {
        self.try_client(client_options(self.port))
            .expect("app can log in")
    }

    pub fn client_as(&self, user: &str, password: &str) -> Conn {
        let options = client_options(self.port)
            .user(Some(user))
            .pass(Some(password));
        self.try_client(options).expect("the user can log in")
    }

    pub fn options(&self) -> OptsBuilder {
        client_options(self.port)
    }

    pub fn try_client(&self, options: OptsBuilder) -> mysql::Result<Conn> {
        Conn::new(options)
    }

    /// A client of the admin port.
    pub fn admin(&self) -> Conn {
        let options = client_options(self.admin_port)
            .user(Some("admin"))
            .pass(Some("adminpw"))
            .db_name(None::<String>);
        Conn::new(options).expect("the admin account can log in")
    }

    /// Rows of an admin statement.
    pub fn ask_admin(&self, sql: &str) -> Vec<Vec<String>> {
        super::rows(&mut self.admin(), sql)
    }

    /// Status line and body of a page.
    pub fn http(&self, path: &str) -> (u16, String) {
        let mut socket = tcp(self.http_port).expect("the HTTP port listens");
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        .expect("the request goes out");
        let mut answer = String::new();
        socket
            .read_to_string(&mut answer)
            .expect("an answer in text");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_string())
    }

    /// Waits until reads have been answered by each of these servers: health checks have run and
    /// replicas are in use.
    pub fn wait_for_readers(&self, ids: &[u32]) {
        if direct_mode() {
            return;
        }
        let mut client = self.client();
        let mut missing = ids.to_vec();
        let came = holds_within(PATIENCE, || {
            let id: Option<u32> = client.query_first("SELECT @@server_id").ok().flatten();
            missing.retain(|wanted| Some(*wanted) != id);
            missing.is_empty()
        });
        assert!(
            came,
            "no read reached servers {missing:?}; stderr:\n{}",
            self.stderr()
        );
    }

    /// The server ids of `count` reads on one connection.
    pub fn readers(&self, client: &mut Conn, count: usize) -> Vec<u32> {
        (0..count)
            .map(|_| {
                super::scalar(client, "SELECT @@server_id")
                    .parse()
                    .expect("an id")
            })
            .collect()
    }

    /// What the proxy has logged so far.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr_file).unwrap_or_default()
    }

    pub fn wait_for_log(&self, word: &str) {
        wait_until(&format!("the log says {word:?}"), || {
            self.stderr().contains(word)
        });
    }

    /// SIGTERM; asserts that it exits with code 0, without a panic, within `limit`.
    pub fn stop_cleanly(&self, limit: Duration) {
        if direct_mode() {
            return;
        }
        self.signal("TERM");
        let code = self.wait_for_exit(limit);
        assert_eq!(code, Some(0), "exit code; stderr:\n{}", self.stderr());
        self.assert_no_panic();
    }

    /// The exit code; None when it still runs after `limit` or died of a signal.
    pub fn wait_for_exit(&self, limit: Duration) -> Option<i32> {
        let mut child = self.child.lock().expect("not poisoned");
        let status = process::wait_for_exit(child.as_mut().expect("was started"), limit)?;
        *child = None;
        status.code()
    }

    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().expect("not poisoned");
        let status = child.as_mut().map(|c| c.try_wait().expect("ours"));
        direct_mode() || matches!(status, Some(None))
    }

    pub fn assert_no_panic(&self) {
        let log = self.stderr();
        assert!(!log.contains("panicked at"), "{log}");
    }

    fn wait_for_greeting(&self) {
        let greets = holds_within(PATIENCE, || {
            let mut byte = [0u8; 5];
            tcp(self.port).is_ok_and(|mut s| s.read_exact(&mut byte).is_ok()) || !self.is_alive()
        });
        assert!(
            greets && self.is_alive(),
            "umpire does not greet on port {}; stderr:\n{}",
            self.port,
            self.stderr()
        );
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let Some(mut child) = self.child.lock().ok().and_then(|mut c| c.take()) else {
            return;
        };
        // A test that wants to see the drain calls `stop_cleanly`.
        child.kill().ok();
        child.wait().ok();
        if !std::thread::panicking() {
            self.assert_no_panic();
        } else {
            eprintln!("the proxy's log:\n{}", self.stderr());
        }
    }
}
