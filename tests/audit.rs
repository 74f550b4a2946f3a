//! The audit, the slow log and the statistics of statements, on real servers.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{code, marker, needs, pause, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use std::collections::HashSet;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

fn proxy_with(more: &str) -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    config.more = more.into();
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Lines of a file, and of the one before it, with this in them.
fn lines(file: &Path, wanted: &str) -> Vec<String> {
    let old = file.with_extension("log.1");
    let text = [old.as_path(), file].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let text = text.concat();
    let lines = text.lines().filter(|line| line.contains(wanted));
    lines.map(str::to_string).collect()
}

fn line(file: &Path, wanted: &str) -> String {
    wait_until(&format!("a line with {wanted}"), || {
        !lines(file, wanted).is_empty()
    });
    lines(file, wanted).remove(0)
}

fn count(proxy: &Proxy, counter: &str) -> u64 {
    let rows = proxy.ask_admin(&format!("SHOW STATUS LIKE '{counter}'"));
    rows[0][1].parse().expect("a number")
}

#[track_caller]
fn has(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn statements_and_logins_are_written_with_who_where_what_and_how_long() {
    needs!(the_proxy);
    let dir = folder();
    let file = dir.path().join("audit.log");
    let proxy = proxy_with(&format!(
        "[[policy]]\nname = \"no drop\"\naction = \"deny\"\nkinds = [\"drop\"]\n\
         [[policy]]\nname = \"opaque\"\naction = \"log\"\nopaque = true\n\
         [audit]\nfile = {file:?}\n"
    ));
    let word = marker();
    let mut client = proxy.client();
    let id = client.connection_id();
    let _: Vec<String> = client
        .query(format!("SELECT '{word}' FROM seq_1_to_3"))
        .unwrap();
    let read = line(&file, &word);
    has(
        &read,
        &[
            "\"event\":\"statement\"",
            "\"user\":\"app\"",
            "\"client\":\"127.0.0.1:",
            &format!("\"connection\":{id},"),
            "\"database\":\"app\"",
            "\"command\":\"query\"",
            "\"digest\":\"",
            "\"route\":\"replica\"",
            "\"server\":\"127.0.0.1:",
            "\"rows\":3,",
            "\"error\":0}",
        ],
    );
    assert!(read.starts_with("{\"time\":\"20"), "{read}");
    let _ = client.query_drop(format!("INSERT INTO no_{word} VALUES (1)"));
    has(
        &line(&file, &format!("no_{word}")),
        &["\"route\":\"primary\"", "\"error\":1146}"],
    );
    let denied = client.query_drop(format!("DROP TABLE {word}")).unwrap_err();
    assert_eq!(code(&denied), 1227);
    has(
        &line(&file, &format!("DROP TABLE {word}")),
        &[
            "\"route\":\"local\"",
            "\"policy\":\"no drop\",\"denied\":true",
            "\"error\":1227}",
        ],
    );
    let statement = client.prep(format!("SELECT ? /* ps{word} */")).unwrap();
    client.exec_drop(&statement, (5,)).unwrap();
    wait_until("prepared and executed", || {
        lines(&file, &format!("ps{word}")).len() == 2
    });
    let both = lines(&file, &format!("ps{word}"));
    has(&both[0], &["\"command\":\"prepare\""]);
    has(&both[1], &["\"command\":\"execute\"", "\"rows\":1,"]);
    let _ = client.query_drop(format!("CREATE USER u{word} IDENTIFIED BY '{word}hidden'"));
    let _ = client.query_drop(format!("SELECT 'after{word}'"));
    line(&file, &format!("after{word}"));
    assert!(lines(&file, &format!("{word}hidden")).is_empty());
    has(
        &line(&file, "\"event\":\"login\""),
        &["\"user\":\"app\"", "\"error\":0}"],
    );
    let options = proxy.options().pass(Some("wrong"));
    assert!(proxy.try_client(options).is_err());
    has(
        &line(&file, "\"event\":\"login failed\""),
        &["\"user\":\"app\"", "\"error\":1045}"],
    );
    assert_eq!(count(&proxy, "audit_dropped"), 0);
}

#[test]
fn texts_can_be_masked_and_records_chosen() {
    needs!(the_proxy);
    let dir = folder();
    let file = dir.path().join("audit.log");
    let proxy = proxy_with(&format!(
        "[audit]\nfile = {file:?}\ntext = \"masked\"\nusers = [\"app\"]\nkinds = [\"select\"]\nrotate_bytes = 65536\nrotate_keep = 2\n"
    ));
    let word = marker();
    let mut client = proxy.client();
    client
        .query_drop(format!("SELECT 'x{word}' AS a{word}"))
        .unwrap();
    has(
        &line(&file, &format!("a{word}")),
        &[&format!("\"text\":\"SELECT ? AS a{word}\"")],
    );
    client.query_drop(format!("SET @b{word} = 1")).unwrap();
    proxy
        .client_as("app2", "app2pw")
        .query_drop(format!("SELECT 1 AS c{word}"))
        .unwrap();
    client.query_drop(format!("SELECT 1 AS d{word}")).unwrap();
    line(&file, &format!("d{word}"));
    assert!(lines(&file, &format!("x{word}")).is_empty());
    assert!(lines(&file, &format!("b{word}")).is_empty());
    assert!(lines(&file, &format!("c{word}")).is_empty());
    let old = dir.path().join("audit.log.1");
    wait_until("the full file was renamed", || {
        client.query_drop(format!("SELECT 1 AS e{word}")).unwrap();
        old.exists()
    });
    assert!(!dir.path().join("audit.log.3").exists());
}

/// A collector that can be sent away and come back.
struct Collector {
    port: u16,
    got: Arc<Mutex<String>>,
    away: Arc<AtomicBool>,
}

impl Collector {
    fn new() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let collector = Collector {
            port,
            got: Arc::default(),
            away: Arc::default(),
        };
        collector.listen(listener);
        collector
    }

    fn listen(&self, listener: TcpListener) {
        let (got, away) = (self.got.clone(), self.away.clone());
        listener.set_nonblocking(true).expect("can be set");
        std::thread::spawn(move || {
            while !away.load(Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => read(stream, &got, &away),
                    Err(_) => pause(Duration::from_millis(5)),
                }
            }
        });
    }

    fn go_away(&self) {
        self.away.store(true, Relaxed);
    }

    fn come_back(&mut self) {
        self.away = Arc::default();
        let mut listener = None;
        wait_until("the port is free", || {
            listener = TcpListener::bind(("127.0.0.1", self.port)).ok();
            listener.is_some()
        });
        self.listen(listener.expect("bound"));
    }

    /// What stands between the word and the long rest of each text.
    fn tags(&self, word: &str) -> HashSet<String> {
        let got = self.got.lock().expect("not poisoned");
        let tails = got.split(word).skip(1);
        tails
            .filter_map(|tail| Some(format!("{word}{}", tail.split_once('x')?.0)))
            .collect()
    }
}

fn read(mut stream: TcpStream, got: &Mutex<String>, away: &AtomicBool) {
    stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("can be set");
    let mut buffer = [0; 4096];
    while !away.load(Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => got
                .lock()
                .expect("not poisoned")
                .push_str(&String::from_utf8_lossy(&buffer[..n])),
            Err(_) => {}
        }
    }
}

#[test]
fn a_collector_that_goes_and_returns_misses_nothing_when_statements_wait() {
    needs!(the_proxy);
    let mut collector = Collector::new();
    let proxy = proxy_with(&format!(
        "[audit]\ncollector = \"tcp:127.0.0.1:{}\"\nwhen_full = \"wait\"\nqueue_bytes = 65536\n",
        collector.port
    ));
    let word = marker();
    let sent = Arc::new(Mutex::new(Vec::new()));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (proxy, sent, stop, word) = (&proxy, sent.clone(), &stop, &word);
            scope.spawn(move || {
                let mut client = proxy.client();
                let mut i = 0;
                while !stop.load(Relaxed) {
                    i += 1;
                    let tag = format!("{word}-{n}-{i}-");
                    // long, so that the queue is full soon
                    let text = format!("SELECT '{tag}{}'", "x".repeat(3000));
                    if client.query_drop(text).is_ok() {
                        sent.lock().expect("not poisoned").push(tag);
                    }
                }
            });
        }
        let sent_now = || sent.lock().expect("not poisoned").len();
        wait_until("it flows", || sent_now() > 50);
        collector.go_away();
        wait_until("statements wait", || count(&proxy, "audit_waits") > 0);
        collector.come_back();
        let before = sent_now();
        wait_until("it flows again", || sent_now() > before + 50);
        stop.store(true, Relaxed);
    });
    let sent = std::mem::take(&mut *sent.lock().expect("not poisoned"));
    wait_until("all is delivered", || {
        let got = collector.tags(&word);
        sent.iter().all(|tag| got.contains(tag))
    });
    assert_eq!(count(&proxy, "audit_dropped"), 0);
}

#[test]
fn without_a_collector_statements_run_on_where_records_may_be_dropped() {
    needs!(the_proxy);
    let nobody = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let proxy = proxy_with(&format!(
        "[audit]\ncollector = \"syslog:{nobody}\"\nqueue_bytes = 65536\n"
    ));
    let mut client = proxy.client();
    let text = format!("SELECT '{}'", "x".repeat(3000));
    for _ in 0..200 {
        client.query_drop(&text).expect("runs");
    }
    assert_eq!(count(&proxy, "audit_waits"), 0);
}

#[test]
fn digests_count_calls_of_all_workers_and_slow_ones_are_logged() {
    needs!(the_proxy);
    let dir = folder();
    let slow = dir.path().join("slow.log");
    let proxy = proxy_with(&format!(
        "[statistics]\ndigests = 100\nslow_log = {slow:?}\nslow_log_ms = 300\n"
    ));
    let mut clients: Vec<_> = (0..4).map(|_| proxy.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let _: Vec<u8> = client
            .query(format!("select  {n} as digested from seq_1_to_2"))
            .unwrap();
        let statement = client.prep("SELECT ? AS digested FROM seq_1_to_2").unwrap();
        let _: Vec<u8> = client.exec(&statement, (n,)).unwrap();
        client
            .query_drop("SELECT no_such_column AS digested")
            .unwrap_err();
    }
    let digests = proxy.ask_admin("SHOW DIGESTS LIKE '%digested FROM%'");
    assert_eq!(digests.len(), 1, "{digests:?}");
    let row = &digests[0];
    assert_eq!(
        (&*row[1], &*row[2], &*row[4]),
        ("app", "main", "0"),
        "{row:?}"
    );
    // text, PREPARE and EXECUTE by four clients, two rows each but for PREPARE
    assert_eq!((&*row[3], &*row[5]), ("12", "16"), "{row:?}");
    assert_eq!(row[12], "SELECT ? AS digested FROM seq_1_to_2");
    let failed = proxy.ask_admin("SHOW DIGESTS LIKE '%no_such_column%'");
    assert_eq!((&*failed[0][3], &*failed[0][4]), ("4", "4"), "{failed:?}");
    let (_, page) = proxy.http("/metrics");
    let series = format!(
        "umpire_digest_calls_total{{digest=\"{}\",user=\"app\"",
        row[0]
    );
    assert!(page.contains(&series), "{page}");
    let word = marker();
    let _: Vec<(String, String)> = clients[0]
        .query(format!("SELECT SLEEP(0.4), '{word}'"))
        .unwrap();
    has(&line(&slow, &word), &["\"slow\":true", "\"user\":\"app\""]);
}

#[test]
fn a_statement_on_several_shards_is_one_line_that_names_them() {
    needs!(the_proxy);
    Cluster::shared().prepare(&[
        "CREATE OR REPLACE TABLE audited_0 (id INT PRIMARY KEY, v INT)",
        "CREATE OR REPLACE TABLE audited_1 (id INT PRIMARY KEY, v INT)",
    ]);
    let dir = folder();
    let file = dir.path().join("audit.log");
    let proxy = proxy_with(&format!(
        "[audit]\nfile = {file:?}\n[statistics]\ndigests = 100\n\
         [[table]]\nname = \"app.audited\"\nkey = \"id\"\nmethod = \"hash\"\n\
         shards = [{{ group = \"main\", table = \"audited_0\" }}, {{ group = \"main\", table = \"audited_1\" }}]\n"
    ));
    let word = marker();
    let mut client = proxy.client();
    let rows: Vec<String> = (0..20).map(|n| format!("({n}, {n})")).collect();
    client
        .query_drop(format!(
            "INSERT INTO audited VALUES {} /* i{word} */",
            rows.join(", ")
        ))
        .expect("runs on both shards");
    const BOTH: &str = "\"route\":\"shards\",\"shards\":[\"main/0\",\"main/1\"]";
    has(&line(&file, &format!("i{word}")), &[BOTH, "\"error\":0}"]);
    // what is read next may come from a replica
    Cluster::shared().sync();
    let sorted: Vec<u32> = client
        .query(format!("SELECT id FROM audited ORDER BY id /* s{word} */"))
        .expect("runs on both shards");
    assert_eq!(sorted, (0..20).collect::<Vec<u32>>());
    let read = line(&file, &format!("s{word}"));
    has(
        &read,
        &[
            BOTH,
            "\"rows\":20,",
            "\"command\":\"query\"",
            "\"error\":0}",
        ],
    );
    assert!(!read.contains("\"bytes\":0,"), "{read}");
    let statement = client
        .prep(format!(
            "SELECT COUNT(*) FROM audited WHERE v >= ? /* p{word} */"
        ))
        .expect("prepared");
    let counted: Option<u32> = client.exec_first(&statement, (5,)).expect("executed");
    assert_eq!(counted, Some(15));
    wait_until("prepared and executed", || {
        lines(&file, &format!("p{word}")).len() == 2
    });
    has(
        &lines(&file, &format!("p{word}"))[1],
        &["\"command\":\"execute\"", BOTH, "\"rows\":1,"],
    );
    let single: Option<u32> = client
        .query_first(format!("SELECT v FROM audited WHERE id = 7 /* o{word} */"))
        .expect("runs on one shard");
    assert_eq!(single, Some(7));
    let one = line(&file, &format!("o{word}"));
    has(
        &one,
        &[
            "\"shards\":[\"main/",
            "\"server\":\"127.0.0.1:",
            "\"rows\":1,",
        ],
    );
    let failed = client
        .query_drop(format!(
            "INSERT INTO audited VALUES (1, 1), (2, 2) /* e{word} */"
        ))
        .unwrap_err();
    assert_eq!(code(&failed), 1062);
    has(
        &line(&file, &format!("e{word}")),
        &["\"shards\":[", "\"error\":1062}"],
    );
    // each was one statement, whatever ran for it
    for (tag, calls) in [("i", 1), ("s", 1), ("p", 2), ("o", 1), ("e", 1)] {
        assert_eq!(lines(&file, &format!("{tag}{word}")).len(), calls, "{tag}");
    }
    let digests = proxy.ask_admin("SHOW DIGESTS LIKE 'SELECT id FROM audited ORDER BY id'");
    assert_eq!(digests.len(), 1, "{digests:?}");
    assert_eq!(
        (&*digests[0][3], &*digests[0][5]),
        ("1", "20"),
        "{digests:?}"
    );
}

#[test]
fn records_of_mysql_say_the_same() {
    needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let dir = folder();
    let file = dir.path().join("audit.log");
    let mut config =
        ProxyConfig::for_ports(vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")]);
    config.more = format!(
        "[[policy]]\nname = \"no drop\"\naction = \"deny\"\nkinds = [\"drop\"]\n\
         [audit]\nfile = {file:?}\ntext = \"masked\"\n[statistics]\ndigests = 100\n"
    );
    let proxy = config.start();
    proxy.wait_for_readers(&[2]);
    let word = marker();
    let mut client = proxy.client();
    let rows: Vec<u32> = client
        .query(format!("SELECT 101 AS a{word} UNION ALL SELECT 102"))
        .expect("runs");
    assert_eq!(rows, [101, 102]);
    let read = line(&file, &format!("a{word}"));
    has(
        &read,
        &[
            "\"event\":\"statement\"",
            "\"user\":\"app\"",
            "\"client\":\"127.0.0.1:",
            "\"database\":\"app\"",
            "\"text\":\"SELECT ? AS a",
            "\"route\":\"replica\"",
            &format!("\"server\":\"127.0.0.1:{}\"", pair.ports[1]),
            "\"rows\":2,",
            "\"duration_us\":",
            "\"error\":0}",
        ],
    );
    let statement = client
        .prep(format!("SELECT ? AS p{word}"))
        .expect("prepared");
    let got: Option<u32> = client.exec_first(&statement, (5,)).expect("executed");
    assert_eq!(got, Some(5));
    wait_until("prepared and executed", || {
        lines(&file, &format!("p{word}")).len() == 2
    });
    let refused = client
        .query_drop(format!("INSERT INTO no_{word} VALUES (1)"))
        .unwrap_err();
    assert_eq!(code(&refused), 1146);
    has(
        &line(&file, &format!("no_{word}")),
        &["\"route\":\"primary\"", "\"error\":1146}"],
    );
    let denied = client
        .query_drop(format!("DROP TABLE d{word}"))
        .unwrap_err();
    assert_eq!(code(&denied), 1227);
    has(
        &line(&file, &format!("d{word}")),
        &["\"policy\":\"no drop\",\"denied\":true"],
    );
    let wrong = proxy.options().pass(Some("wrong"));
    assert!(proxy.try_client(wrong).is_err());
    line(&file, "\"event\":\"login failed\"");
    let digests = proxy.ask_admin(&format!("SHOW DIGESTS LIKE '%p{word}%'"));
    assert_eq!(
        (&*digests[0][3], &*digests[0][5]),
        ("2", "1"),
        "{digests:?}"
    );
    assert_eq!(count(&proxy, "audit_dropped"), 0);
}
