//! TLS with clients: what is offered, who gets in, what is refused; with ordinary tools as clients.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::raw::{ssl_request, CACHING_SHA2};
use common::{tls, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient, PATIENCE};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

fn offering(more: &str) -> ProxyConfig {
    let mut config = ProxyConfig::new(Cluster::shared());
    config.more = tls::section(more);
    config
}

/// One proxy that offers TLS, for the tests that change nothing about it. The user `sha2` is known by a
/// caching_sha2_password hash alone; `safe` has to use TLS.
fn shared() -> &'static Proxy {
    static SHARED: OnceLock<Proxy> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut config = offering("");
        config.more.push_str(&format!(
            "\n[[user]]\nname = \"sha2\"\npassword_hash = \"{}\"\ngroup = \"main\"\n\
             \n[[user]]\nname = \"safe\"\npassword = \"safepw\"\ngroup = \"main\"\ntls = \"required\"\n",
            sha2_hash("sha2pw")
        ));
        Cluster::shared().prepare(&[
            "CREATE USER sha2@'%' IDENTIFIED BY 'sha2pw'",
            "GRANT SELECT ON *.* TO sha2@'%'",
            "CREATE USER safe@'%' IDENTIFIED BY 'safepw' REQUIRE NONE",
            "GRANT SELECT ON *.* TO safe@'%'",
        ]);
        let proxy = config.start();
        proxy.wait_for_readers(&[2, 3]);
        proxy
    })
}

/// `$A$005$…` as a server stores it.
fn sha2_hash(password: &str) -> String {
    let salt = [b'a'; 20];
    let digest = umpire::wire::auth::caching_sha2::stored_digest(password.as_bytes(), &salt, 5000);
    let digest = String::from_utf8(digest.to_vec()).expect("printable");
    format!("$A$005${}{digest}", "a".repeat(20))
}

fn value(client: &mut RawClient, sql: &str) -> String {
    let reply = client.query(sql).expect("a reply");
    reply
        .value()
        .unwrap_or_else(|| panic!("{sql}: {:?}", reply.error))
}

#[test]
fn a_client_that_asks_for_tls_gets_it_and_one_that_does_not_is_served_too() {
    common::needs!(the_proxy);
    let proxy = shared();
    let mut client = RawClient::login_tls(proxy.port, &Login::default(), &tls::client()).unwrap();
    assert_eq!(value(&mut client, "SELECT 40 + 2"), "42");
    let megabyte = value(&mut client, "SELECT REPEAT('x', 3000000)");
    assert_eq!(megabyte.len(), 3_000_000);
    let long = format!("SELECT LENGTH('{}')", "y".repeat(2_000_000));
    assert_eq!(value(&mut client, &long), "2000000");
    let id = value(&mut client, "SELECT CONNECTION_ID()");
    let mut plain = RawClient::connect(proxy.port);
    assert_eq!(value(&mut plain, "SELECT 1"), "1");
    let sessions = proxy.ask_admin("SHOW SESSIONS");
    let of = |id: &str| {
        let row = sessions
            .iter()
            .find(|row| row[0] == id)
            .expect("the session");
        row.last().cloned().expect("the column tls")
    };
    assert_eq!(of(&id), "TLSv1.3 TLS_AES_256_GCM_SHA384");
    assert_eq!(of(&plain.hello.connection_id.to_string()), "NULL");
}

#[test]
fn prepared_statements_user_changes_and_errors_work_inside() {
    common::needs!(the_proxy);
    let mut client =
        RawClient::login_tls(shared().port, &Login::default(), &tls::client()).unwrap();
    let statement = client.prepare("SELECT ? + 1");
    assert_eq!(statement.parameters, 1);
    assert_eq!(
        client.query("SELECT nothing FROM nowhere").unwrap().code(),
        1146
    );
    let other = Login::default().user("app2", "app2pw");
    let body = common::raw::change_user_body(&other, &client.hello.scramble.clone());
    client.send_command(0x11, &body).unwrap();
    client.follow_login(&other).unwrap();
    assert_eq!(value(&mut client, "SELECT CURRENT_USER()"), "app2@%");
    let refused = RawClient::login_tls(
        shared().port,
        &Login::default().user("app", "wrong"),
        &tls::client(),
    );
    assert_eq!(refused.err().expect("refused").server().code, 1045);
}

#[test]
fn the_password_itself_goes_over_tls_where_only_its_hash_is_known() {
    common::needs!(the_proxy);
    let login = |password| Login {
        plugin: CACHING_SHA2,
        ..Login::default().user("sha2", password)
    };
    for password in ["wrong", "sha2pw", "wrong", "sha2pw"] {
        let result = RawClient::login_tls(shared().port, &login(password), &tls::client());
        match (password, result) {
            ("wrong", Err(refused)) => assert_eq!(refused.server().code, 1045),
            ("sha2pw", Ok(mut client)) => assert_eq!(value(&mut client, "SELECT 7"), "7"),
            (_, Err(refused)) => panic!("{password}: {refused:?}"),
            (_, Ok(_)) => panic!("{password} was let in"),
        }
    }
}

#[test]
fn a_user_that_has_to_use_tls_is_refused_without_it_like_a_wrong_password() {
    common::needs!(the_proxy);
    let login = Login::default().user("safe", "safepw");
    let refused = RawClient::login(shared().port, &login)
        .err()
        .expect("refused")
        .server();
    assert_eq!((refused.code, refused.state.as_str()), (1045, "28000"));
    let mut client = RawClient::login_tls(shared().port, &login, &tls::client()).unwrap();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    // a running session cannot become that user either
    let mut plain = RawClient::connect(shared().port);
    let body = common::raw::change_user_body(&login, &plain.hello.scramble.clone());
    plain.send_command(0x11, &body).unwrap();
    let refused = plain.follow_login(&login).expect_err("refused").server();
    assert_eq!(refused.code, 1045);
}

#[test]
fn a_listener_that_requires_tls_says_so_with_the_servers_own_error() {
    common::needs!(the_proxy);
    let proxy = offering("mode = \"required\"").start();
    let refused = RawClient::login(proxy.port, &Login::default())
        .err()
        .expect("refused")
        .server();
    assert_eq!((refused.code, refused.state.as_str()), (3159, "HY000"));
    RawClient::login_tls(proxy.port, &Login::default(), &tls::client()).unwrap();
    // a Unix socket is as safe
    RawClient::login_unix(&proxy.unix, &Login::default()).unwrap();
}

#[test]
fn without_the_section_tls_is_not_offered_and_asking_for_it_is_an_error_that_says_so() {
    common::needs!(the_proxy);
    let proxy = Proxy::shared();
    let mut client = RawClient::open(proxy.port).unwrap();
    assert_eq!(
        u64::from(client.hello.capabilities) & umpire::wire::capabilities::SSL,
        0
    );
    client.send_packet(1, &ssl_request()).unwrap();
    let packet = client.read_packet().unwrap();
    assert!(String::from_utf8_lossy(&packet).contains("this listener does not offer it"));
    assert!(client.closed_within(PATIENCE));
}

/// A login in plain text right behind the request for TLS, in the same segment or a later one, is never one.
#[test]
fn plain_bytes_behind_the_request_for_tls_are_never_taken_for_commands() {
    common::needs!(the_proxy);
    let proxy = shared();
    let marker = common::marker();
    let statement = format!("\x03SELECT '{marker}'");
    for together in [true, false] {
        let mut client = RawClient::open(proxy.port).unwrap();
        let scramble = client.hello.scramble.clone();
        let mut bytes = packet(1, &ssl_request());
        let login = packet(2, &plain_response(&scramble));
        let query = packet(0, statement.as_bytes());
        if together {
            bytes.extend(login);
            bytes.extend(query);
            client.send_raw(&bytes).unwrap();
        } else {
            client.send_raw(&bytes).unwrap();
            client.send_raw(&login).unwrap();
            // the connection may be closed already
            let _ = client.send_raw(&query);
        }
        let mut answer = Vec::new();
        client.set_read_timeout(PATIENCE);
        // the answer may be cut short by a reset
        let _ = std::io::Read::read_to_end(&mut client.socket, &mut answer);
        const ALERT: u8 = 0x15;
        assert!(
            answer.first().is_none_or(|first| *first == ALERT),
            "{answer:?}"
        );
    }
    let mut client = RawClient::connect(proxy.port);
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    let ran = Cluster::shared().where_did_it_go(&marker);
    assert!(ran.is_empty(), "a plain command was run by {ran:?}");
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

fn plain_response(scramble: &[u8]) -> Vec<u8> {
    let mut body = ssl_request();
    body.extend(b"app\0");
    let answer = common::raw::respond(common::raw::NATIVE, "apppw", scramble);
    body.push(answer.len() as u8);
    body.extend(answer);
    body.extend(b"mysql_native_password\0");
    body
}

#[test]
fn sessions_are_resumed_on_any_worker() {
    common::needs!(the_proxy);
    let client = tls::client();
    let old = tls::client_of(None, &[&rustls::version::TLS12]);
    for config in [client, old] {
        for round in 0..8 {
            let mut client =
                RawClient::login_tls(shared().port, &Login::default(), &config).unwrap();
            assert_eq!(value(&mut client, "SELECT 1"), "1");
            let resumed = client.tls().handshake_kind() == Some(rustls::HandshakeKind::Resumed);
            assert_eq!(resumed, round > 0, "connection {round}");
        }
    }
}

/// stdout and stderr of a program that is given `input`.
fn run(program: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    // it may have ended without reading
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        common::skipped(&format!("{program} is not installed"));
    }
    found
}

fn s_client(port: u16, more: &[&str]) -> String {
    let at = format!("127.0.0.1:{port}");
    let authority = tls::file("ca.pem").display().to_string();
    let mut arguments = vec!["s_client", "-starttls", "mysql", "-connect", &at];
    arguments.extend([
        "-CAfile",
        &authority,
        "-verify_hostname",
        "localhost",
        "-verify_return_error",
    ]);
    arguments.extend(more);
    run("openssl", &arguments, "")
}

#[test]
fn openssl_sees_the_whole_chain_and_both_versions_with_their_modern_ciphers_only() {
    common::needs!(the_proxy);
    if !is_installed("openssl") {
        return;
    }
    let port = shared().port;
    let whole = s_client(port, &["-showcerts"]);
    assert!(whole.contains("Verify return code: 0 (ok)"), "{whole}");
    assert!(whole.contains("CN = Umpire test intermediate"), "{whole}");
    for (option, ciphers, names) in [
        (
            "-tls1_3",
            "-ciphersuites",
            &[
                "TLS_AES_256_GCM_SHA384",
                "TLS_AES_128_GCM_SHA256",
                "TLS_CHACHA20_POLY1305_SHA256",
            ][..],
        ),
        (
            "-tls1_2",
            "-cipher",
            &[
                "ECDHE-ECDSA-AES256-GCM-SHA384",
                "ECDHE-ECDSA-AES128-GCM-SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ][..],
        ),
    ] {
        for name in names {
            let shown = s_client(port, &[option, ciphers, name]);
            assert!(shown.contains(&format!("Cipher is {name}")), "{shown}");
        }
    }
    for refused in [
        &["-tls1_1"][..],
        &["-tls1"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA"],
    ] {
        let shown = s_client(port, refused);
        assert!(
            !shown.contains("Verify return code: 0 (ok)") || shown.contains("Cipher is (NONE)"),
            "{refused:?} {shown}"
        );
    }
    // a client that asks to renegotiate is told no, and harms nobody
    let renegotiated = run_s_client_with(port, "R\n");
    assert!(!renegotiated.contains("panicked"), "{renegotiated}");
    RawClient::login_tls(port, &Login::default(), &tls::client()).unwrap();
}

fn run_s_client_with(port: u16, input: &str) -> String {
    let at = format!("127.0.0.1:{port}");
    run(
        "openssl",
        &["s_client", "-starttls", "mysql", "-connect", &at, "-tls1_2"],
        input,
    )
}

#[test]
fn the_mariadb_client_verifies_the_certificate_and_runs_a_query() {
    common::needs!(the_proxy);
    if !is_installed("mariadb") {
        return;
    }
    let port = format!("--port={}", shared().port);
    let with = |authority: &str, versions: &str| {
        let authority = format!("--ssl-ca={}", tls::file(authority).display());
        let versions = format!("--tls-version={versions}");
        run(
            "mariadb",
            &[
                "--no-defaults",
                "--host=localhost",
                "--protocol=tcp",
                &port,
                "-uapp",
                "-papppw",
                &authority,
                &versions,
                "--ssl-verify-server-cert",
                "-e",
                "SELECT 40 + 2; \\s",
            ],
            "",
        )
    };
    for version in ["TLSv1.3", "TLSv1.2"] {
        let shown = with("ca.pem", version);
        assert!(
            shown.contains("42") && shown.contains("Cipher in use is"),
            "{shown}"
        );
    }
    let shown = with("other-ca.pem", "TLSv1.3");
    assert!(
        !shown.contains("42") && shown.to_lowercase().contains("certificate"),
        "{shown}"
    );
}

/// A driver: what it is started with, and what says that it is there.
struct Driver {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    script: &'static str,
    /// Arguments with which the program succeeds where the driver is installed.
    probe: &'static [&'static str],
}

const DRIVERS: [Driver; 6] = [
    Driver {
        name: "PyMySQL",
        program: "python3",
        arguments: &[],
        script: "connect.py",
        probe: &["-c", "import pymysql"],
    },
    Driver {
        name: "node mysql2",
        program: "node",
        arguments: &[],
        script: "connect.js",
        probe: &["-e", "require('mysql2')"],
    },
    Driver {
        name: "PHP mysqli (mysqlnd)",
        program: "php",
        arguments: &[],
        script: "connect.php",
        probe: &["-r", "exit(extension_loaded('mysqli') ? 0 : 1);"],
    },
    Driver {
        name: "Perl DBD::MariaDB",
        program: "perl",
        arguments: &[],
        script: "connect.pl",
        probe: &["-MDBD::MariaDB", "-e", "1"],
    },
    Driver {
        name: "MariaDB Connector/J",
        program: "java",
        arguments: &["-XX:TieredStopAtLevel=1", "-cp", CONNECTOR_J],
        script: "Connect.java",
        probe: &[
            "-XX:TieredStopAtLevel=1",
            "-cp",
            CONNECTOR_J,
            "--list-modules",
        ],
    },
    Driver {
        name: "Go go-sql-driver",
        program: "go",
        arguments: &["run"],
        script: "connect.go",
        probe: &["list", "github.com/go-sql-driver/mysql"],
    },
];

const CONNECTOR_J: &str = "/usr/share/java/mariadb-java-client.jar";
/// Where Debian puts packages of Go.
const GO_PACKAGES: &str = "/usr/share/gocode";

/// Where tests/drivers keeps what it has installed.
fn drivers_folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers")
}

fn node_modules() -> std::path::PathBuf {
    drivers_folder().join("node/node_modules")
}

impl Driver {
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .env("NODE_PATH", node_modules())
            .env("GOPATH", GO_PACKAGES)
            .env("GO111MODULE", "off")
            .env("GOCACHE", drivers_folder().join("go-cache"))
            .stdin(Stdio::null());
        command
    }

    fn is_installed(&self) -> bool {
        let found = self.command().args(self.probe).output();
        let library = self.program != "java" || std::path::Path::new(CONNECTOR_J).exists();
        library && found.is_ok_and(|output| output.status.success())
    }

    /// What it says, verified by this authority.
    fn connect(&self, port: u16, authority: &str) -> String {
        let script = tls::file("clients").join(self.script);
        let output = self
            .command()
            .args(self.arguments)
            .arg(script)
            .arg(port.to_string())
            .arg(tls::file(authority))
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }
}

#[test]
fn drivers_of_six_languages_connect_with_a_verified_certificate_and_to_no_other() {
    common::needs!(the_proxy);
    let port = shared().port;
    for driver in &DRIVERS {
        if !driver.is_installed() {
            common::skipped(&format!("{} is not installed", driver.name));
            continue;
        }
        let shown = driver.connect(port, "ca.pem");
        let both = "TLSv1.2 100000\nTLSv1.3 100000\n";
        assert!(
            shown == both || shown == "TLS 100000\n",
            "{}: {shown}",
            driver.name
        );
        let refused = driver.connect(port, "other-ca.pem");
        assert!(!refused.contains("100000"), "{}: {refused}", driver.name);
    }
}

/// MySQL's own command line client, where there is a MySQL.
#[test]
fn the_mysql_client_verifies_the_certificate_and_runs_a_query() {
    common::needs!(the_proxy);
    let Some(program) = common::mysql_pair::program("mysql") else {
        return;
    };
    let port = format!("--port={}", shared().port);
    let with = |authority: &str, version: &str| {
        let authority = format!("--ssl-ca={}", tls::file(authority).display());
        let version = format!("--tls-version={version}");
        run(
            &program.display().to_string(),
            &[
                "--no-defaults",
                "--host=127.0.0.1",
                "--protocol=tcp",
                &port,
                "-uapp",
                "-papppw",
                &authority,
                &version,
                "--ssl-mode=VERIFY_CA",
                "--commands",
                "-e",
                "SELECT 40 + 2; \\s",
            ],
            "",
        )
    };
    for version in ["TLSv1.3", "TLSv1.2"] {
        let shown = with("ca.pem", version);
        assert!(
            shown.contains("42") && shown.contains("Cipher in use is"),
            "{shown}"
        );
    }
    let shown = with("other-ca.pem", "TLSv1.3");
    assert!(
        !shown.contains("42") && shown.contains("certificate"),
        "{shown}"
    );
}

/// All that a listener agrees to: what it chose is left out the next time, until it refuses.
fn offered(port: u16, version: &str, option: &str, all: &str, separator: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let left_out: String = found.iter().map(|name| format!(":!{name}")).collect();
        let list = match separator {
            "!" => format!("{all}{left_out}"),
            // suites of TLS 1.3 are a plain list
            _ => {
                let rest = all
                    .split(':')
                    .filter(|name| !found.iter().any(|f| f == name));
                rest.collect::<Vec<_>>().join(":")
            }
        };
        if list.is_empty() {
            return found;
        }
        let at = format!("127.0.0.1:{port}");
        let asked = ["s_client", "-starttls", "mysql", "-connect", &at];
        let shown = run(
            "openssl",
            &[&asked[..], &[version, option, &list]].concat(),
            "",
        );
        let chosen = shown
            .split("Cipher is ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        match chosen.map(str::trim) {
            Some(name) if name != "(NONE)" => {
                assert!(
                    !found.iter().any(|f| f == name),
                    "{name} was left out: {shown}"
                );
                found.push(name.to_string());
            }
            _ => return found,
        }
    }
}

/// As testssl.sh lists them, for both kinds of certificates.
#[test]
fn every_cipher_that_openssl_has_is_tried_and_only_authenticated_ones_with_forward_secrecy_are_taken(
) {
    common::needs!(the_proxy);
    if !is_installed("openssl") {
        return;
    }
    let mut rsa = ProxyConfig::new(Cluster::shared());
    let pair = tls::keys(&[("certificate", "rsa.pem"), ("key", "rsa.key")]);
    rsa.more = format!("\n[tls]\n{pair}\n");
    let rsa = rsa.start();
    for (port, kind) in [(shared().port, "ECDSA"), (rsa.port, "RSA")] {
        const ALL: &str = "ALL:COMPLEMENTOFALL:@SECLEVEL=0";
        let mut old = offered(port, "-tls1_2", "-cipher", ALL, "!");
        old.sort_unstable();
        let suite = |end: &str| format!("ECDHE-{kind}-{end}");
        let expected = [
            "AES128-GCM-SHA256",
            "AES256-GCM-SHA384",
            "CHACHA20-POLY1305",
        ]
        .map(suite);
        assert_eq!(old, expected, "TLS 1.2");
        const NEW: &str =
            "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:\
                           TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256";
        let new = offered(port, "-tls1_3", "-ciphersuites", NEW, ":");
        let mut new: Vec<&str> = new.iter().map(String::as_str).collect();
        new.sort_unstable();
        let expected = [
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
        ];
        assert_eq!(new, expected, "TLS 1.3");
        for version in ["-tls1", "-tls1_1"] {
            let none = offered(port, version, "-cipher", ALL, "!");
            assert!(none.is_empty(), "{version} {none:?}");
        }
    }
}

/// `[tls]` with files that the test may change: copies of those of tests/tls, under other names.
struct Files(tempfile::TempDir);

impl Files {
    fn new(pairs: &[(&str, &str)]) -> Files {
        let files = Files(common::cluster::run_folder());
        for (name, source) in pairs {
            files.put(name, source);
        }
        files
    }

    fn put(&self, name: &str, source: &str) {
        std::fs::copy(tls::file(source), self.0.path().join(name)).expect("a copy");
    }

    fn section(&self, keys: &[&str], more: &str) -> String {
        let lines: String = keys
            .iter()
            .map(|key| format!("{key} = \"{}\"\n", self.0.path().join(key).display()))
            .collect();
        format!("\n[tls]\n{lines}{more}\n")
    }
}

/// The subject of the certificate that a new client is shown.
fn shown(proxy: &Proxy) -> Vec<u8> {
    let client = RawClient::login_tls(proxy.port, &Login::default(), &tls::client()).unwrap();
    let chain = client.tls().peer_certificates().expect("a certificate");
    chain[0].to_vec()
}

#[test]
fn a_reload_renews_the_certificate_and_drops_nobody_and_a_bad_one_changes_nothing() {
    common::needs!(the_proxy);
    let files = Files::new(&[("certificate", "server.pem"), ("key", "server.key")]);
    let mut config = ProxyConfig::new(Cluster::shared());
    config.more = files.section(&["certificate", "key"], "");
    let proxy = config.start();
    let first = tls::certificates("server.pem")[0].to_vec();
    let second = tls::certificates("renewed.pem")[0].to_vec();
    let kept_tickets = tls::client();
    let login = |tls| RawClient::login_tls(proxy.port, &Login::default(), tls).unwrap();
    let mut old = login(&kept_tickets);
    assert_eq!(value(&mut old, "SELECT @a := 1"), "1");
    assert!(shown(&proxy) == first);
    // a certificate without its key
    files.put("certificate", "renewed.pem");
    proxy.reload();
    proxy.wait_for_log("is not the key of the certificate");
    assert!(shown(&proxy) == first);
    assert!(login(&kept_tickets).tls().handshake_kind() == Some(rustls::HandshakeKind::Resumed));
    files.put("key", "renewed.key");
    proxy.reload();
    wait_until("new clients see the new certificate", || {
        shown(&proxy) == second
    });
    assert!(login(&kept_tickets).tls().handshake_kind() == Some(rustls::HandshakeKind::Full));
    assert_eq!(
        value(&mut old, "SELECT @a + 1"),
        "2",
        "the session has stayed"
    );
    // unchanged files: nothing changes, and sessions can be resumed
    let _ = login(&kept_tickets);
    let rows = proxy.ask_admin("RELOAD");
    assert!(!rows.is_empty() || proxy.is_alive());
    assert!(login(&kept_tickets).tls().handshake_kind() == Some(rustls::HandshakeKind::Resumed));
    // one that has expired works for those who do not look, and is warned of
    files.put("certificate", "expired.pem");
    files.put("key", "expired.key");
    proxy.reload();
    proxy.wait_for_log("expired on 2021-01-01");
    let alarms = || proxy.ask_admin("SHOW STATUS LIKE 'alarm.%'");
    wait_until("it is an alarm", || {
        let warned = |row: &Vec<String>| row[1].contains("expired on 2021-01-01");
        alarms().iter().any(warned)
    });
    let rows = proxy.ask_admin("SHOW TLS");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        (&*rows[0][0], &*rows[0][2]),
        ("tls.certificate", "2021-01-01")
    );
    assert!(
        rows[0][3].starts_with('-') && rows[0][4].contains("renew it"),
        "{rows:?}"
    );
    let (_, page) = proxy.http("/metrics");
    let end = page
        .lines()
        .find(|l| l.starts_with("umpire_certificate_not_after_seconds{"));
    assert!(end.is_some_and(|l| l.ends_with(" 1609459200")), "{page}");
    // TLS can be switched off and on by a reload
    let without = ProxyConfig::new(Cluster::shared());
    proxy.write_config(&without);
    proxy.reload();
    wait_until("the alarm is gone with the certificate", || {
        alarms().is_empty()
    });
    wait_until("TLS is no longer offered", || {
        let hello = RawClient::open(proxy.port).unwrap().hello;
        u64::from(hello.capabilities) & umpire::wire::capabilities::SSL == 0
    });
    assert_eq!(
        value(&mut old, "SELECT @a + 2"),
        "3",
        "the session has stayed"
    );
}

#[test]
fn client_certificates_are_verified_and_revoked_ones_refused() {
    common::needs!(the_proxy);
    let authorities = tls::keys(&[("client_ca", "ca.pem"), ("client_crl", "crl.pem")]);
    let with = |mode: &str| {
        let mut config = offering(&format!("client_certificate = \"{mode}\"\n{authorities}"));
        config.app = "tls = \"certificate\"".into();
        config.start()
    };
    let proxy = with("optional");
    let login = |name: Option<&str>, user: &str, password: &str| {
        let tls = name.map_or_else(tls::client, tls::client_with);
        RawClient::login_tls(proxy.port, &Login::default().user(user, password), &tls)
    };
    login(Some("client"), "app", "apppw").expect("a good certificate");
    let refused = login(None, "app", "apppw").err().expect("refused").server();
    assert_eq!(refused.code, 1045, "the user needs a certificate");
    login(None, "app2", "app2pw").expect("this user needs none");
    for name in ["revoked", "stranger"] {
        assert!(login(Some(name), "app2", "app2pw").is_err(), "{name}");
    }
    let proxy = with("required");
    let login = |name: Option<&str>| {
        let tls = name.map_or_else(tls::client, tls::client_with);
        RawClient::login_tls(proxy.port, &Login::default().user("app2", "app2pw"), &tls)
    };
    login(Some("client")).expect("a good certificate");
    assert!(login(None).is_err(), "a certificate is required");
}

#[test]
fn handshakes_that_end_stall_or_are_no_tls_leave_nothing_behind() {
    common::needs!(the_proxy);
    use common::process::{open_descriptors, resident_bytes};
    let mut config = offering("");
    config.proxy = "login_timeout_ms = 1500\n".into();
    let proxy = config.start();
    RawClient::login_tls(proxy.port, &Login::default(), &tls::client()).unwrap();
    let storm = |count: usize| {
        let mut stalled = Vec::new();
        for i in 0..count {
            let mut client = RawClient::open(proxy.port).unwrap();
            client.send_packet(1, &ssl_request()).unwrap();
            // a peer that is refused may find the connection reset
            let _ = match i % 4 {
                0 => client.send_raw(b""),
                1 => client.send_raw(&[0x16, 3, 1, 2, 0, 1, 0, 1]),
                2 => client.send_raw(&[0xaa; 3000]),
                _ => client.send_raw(&[0x16, 3, 1, 0xff, 0xff, 1, 0]),
            };
            if i % 20 == 1 {
                stalled.push(client);
            }
        }
        for mut client in stalled {
            assert!(
                client.closed_within(PATIENCE),
                "a stalled handshake is ended"
            );
        }
    };
    storm(400);
    let quiet = || proxy.ask_admin("SHOW SESSIONS").is_empty();
    wait_until("all are gone", quiet);
    let (descriptors, memory) = (open_descriptors(proxy.pid()), resident_bytes(proxy.pid()));
    storm(2000);
    wait_until("all are gone", quiet);
    wait_until("all descriptors are closed", || {
        open_descriptors(proxy.pid()) <= descriptors + 4
    });
    let grown = resident_bytes(proxy.pid()).saturating_sub(memory);
    assert!(grown < 8 << 20, "{grown} bytes were kept");
    RawClient::login_tls(proxy.port, &Login::default(), &tls::client()).unwrap();
}
