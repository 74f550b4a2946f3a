//! The memory of a proxy under attack: it stays under its ceiling, others are served on, and all of it comes back.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::process::{open_descriptors, resident_bytes};
use common::raw::tcp;
use common::{
    holds_within, needs, pause, wait_until, Cluster, Login, Proxy, ProxyConfig, RawClient,
};
use mysql::prelude::Queryable;
use std::io::Write;
use std::net::TcpStream;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};
use umpire::wire::capabilities as cap;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
/// Of the process, two workers. What is counted may be four fifths of it.
fn ceiling() -> u64 {
    if soak() {
        256 << 20
    } else {
        128 << 20
    }
}

/// `UMPIRE_SOAK=1` asks for the full numbers.
fn soak() -> bool {
    std::env::var_os("UMPIRE_SOAK").is_some_and(|v| v == "1")
}

/// Of an announced packet of the greatest length, which announces another behind it.
const ENDLESS: [u8; 5] = [0xff, 0xff, 0xff, 0, QUERY];

/// One server; and one siege at a time, so that each has the machine for itself.
fn field() -> (&'static Cluster, MutexGuard<'static, ()>) {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let cluster = CLUSTER.get_or_init(|| {
        let cluster = Cluster::start(0);
        cluster.stop_logging();
        cluster
    });
    (cluster, turn)
}

fn proxy_with(cluster: &Cluster, lines: &str, app: &str) -> Proxy {
    let mut config = ProxyConfig::new(cluster).proxy(&format!(
        "memory_limit_bytes = {}\nworkers = [0, 1]\nmax_connections = 20000\nlogin_timeout_ms = 60000\n{lines}",
        ceiling()
    ));
    config.servers[0].2 = "max_connections = 60".into();
    config.app = app.into();
    let proxy = config.start();
    wait_until("the server is in use", || {
        proxy.client().query_drop("DO 1").is_ok()
    });
    proxy
}

/// The bytes of a line of SHOW MEMORY.
fn bytes(rows: &[Vec<String>], scope: &str, name: &str) -> u64 {
    let row = rows.iter().find(|r| r[0] == scope && r[1] == name);
    let row = row.unwrap_or_else(|| panic!("no line {scope} {name} in {rows:?}"));
    row[2].parse().expect("a number")
}

fn evictions(proxy: &Proxy) -> u64 {
    let rows = proxy.ask_admin("SHOW STATUS LIKE 'memory_evictions'");
    rows[0][1].parse().expect("a number")
}

/// Runs an attack while another user works; asserts what must hold during and after it.
fn besieged(proxy: &Proxy, attack: impl FnOnce()) {
    let pid = proxy.pid();
    // what the first clients cost only once
    for _ in 0..3 {
        drop(proxy.client());
    }
    let (before, descriptors) = (resident_bytes(pid), open_descriptors(pid));
    let (over, peak, answers) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                peak.fetch_max(resident_bytes(pid), Relaxed);
                pause(Duration::from_millis(5));
            }
        });
        scope.spawn(|| {
            // a client that stays, and one that comes anew; each answer within the harness's patience
            let mut stays = proxy.client_as("app2", "app2pw");
            while !over.load(Relaxed) {
                let n = answers.fetch_add(1, Relaxed);
                let got: Option<u64> = stays.query_first(format!("SELECT {n}")).expect("served");
                assert_eq!(got, Some(n));
                if n % 20 == 0 {
                    let mut new = proxy.client_as("app2", "app2pw");
                    new.query_drop("DO 1").expect("a new client is served");
                }
                pause(Duration::from_millis(5));
            }
        });
        if let Err(panic) = catch_unwind(AssertUnwindSafe(attack)) {
            over.store(true, Relaxed);
            resume_unwind(panic);
        }
        let seen = answers.load(Relaxed);
        let served = holds_within(common::PATIENCE, || answers.load(Relaxed) > seen + 2);
        over.store(true, Relaxed);
        assert!(served, "nobody else is served any more");
    });
    let peak = peak.load(Relaxed);
    println!("from {} to at most {} KB", before >> 10, peak >> 10);
    assert!(peak < ceiling(), "{} KB were resident", peak >> 10);
    wait_until("the clients are gone", || {
        proxy.ask_admin("SHOW SESSIONS").is_empty()
    });
    wait_until("no descriptor is left but the pools'", || {
        open_descriptors(pid) <= descriptors + 60
    });
    // tables keep the places of connections that are gone, and the allocator what lies between them
    let kept = 20 << 20;
    let back = holds_within(common::PATIENCE, || resident_bytes(pid) < before + kept);
    assert!(
        back,
        "{} KB before, {} KB after: {:?}",
        before >> 10,
        resident_bytes(pid) >> 10,
        proxy.ask_admin("SHOW MEMORY")
    );
    proxy.assert_no_panic();
}

/// Clients that are logged in.
fn crowd(proxy: &Proxy, count: usize) -> Vec<RawClient> {
    let logins = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    (0..count / 4)
                        .map(|_| RawClient::connect(proxy.port))
                        .collect()
                })
            })
            .collect();
        let parts = parts
            .into_iter()
            .map(|part| part.join().expect("all log in"));
        parts.collect::<Vec<Vec<RawClient>>>()
    });
    logins.into_iter().flatten().collect()
}

/// Writes what the peer takes now.
fn drip(client: &mut RawClient, bytes: &[u8]) {
    if let common::raw::Socket::Tcp(socket) = &mut client.socket {
        socket.set_nonblocking(true).expect("can be set");
        // full, or closed by the proxy: both may be
        let taken = socket.write(bytes).unwrap_or(0);
        assert!(taken <= bytes.len());
        socket.set_nonblocking(false).expect("can be set");
    }
}

#[test]
fn two_thousand_clients_that_announce_a_gigabyte_and_drip_are_held_off() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "");
    besieged(&proxy, || {
        let mut clients = crowd(&proxy, 2000);
        let idle = resident_bytes(proxy.pid());
        for client in &mut clients {
            drip(client, &ENDLESS);
            drip(client, b"SELECT '");
        }
        wait_until("all have arrived", || {
            let rows = proxy.ask_admin("SHOW MEMORY");
            let sessions = rows.iter().find(|r| r[0] == "user" && r[1] == "app");
            sessions.is_some_and(|r| r[3].starts_with("sessions 2000"))
        });
        let announced = resident_bytes(proxy.pid()).saturating_sub(idle);
        assert!(
            announced < 2000 * 4096 + (4 << 20),
            "{announced} bytes for what was announced only"
        );
        // as much as all of them together may never have: two hundred megabytes
        let piece = vec![b'x'; 10_000];
        for _ in 0..10 {
            for client in &mut clients {
                drip(client, &piece);
            }
        }
        wait_until("the heaviest have to go", || evictions(&proxy) > 0);
        // one of those that were told so
        let told = clients.iter_mut().any(|client| {
            client.set_read_timeout(Duration::from_millis(1));
            let packet = client.read_packet().unwrap_or_default();
            packet.starts_with(&[0xff, 0x11, 0x04])
                && String::from_utf8_lossy(&packet).contains("memory_limit_bytes")
        });
        assert!(told, "no client was told why its connection ended");
    });
}

#[test]
fn results_without_an_end_to_clients_that_do_not_read_wait_at_their_servers() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "");
    besieged(&proxy, || {
        let mut clients = crowd(&proxy, 40);
        let sql = b"SELECT REPEAT('x', 1000000) FROM seq_1_to_100000";
        for client in &mut clients {
            client.send_command(QUERY, sql).expect("sent");
        }
        // queued here, or in pipes of the kernel's: all the same, the statements do not end
        wait_until("all of them are under way", || {
            let servers = cluster.servers.iter();
            let running = servers.flat_map(|s| common::processes(&mut s.root()));
            running.filter(|p| p.1.contains("REPEAT('x'")).count() == 40
        });
        assert_ledger_agrees(&proxy);
        pause(Duration::from_millis(300));
    });
}

#[test]
fn prepared_statements_without_end_meet_the_connections_ceiling() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "connection_memory_bytes = 4194304", "");
    besieged(&proxy, || {
        let mut clients = crowd(&proxy, 4);
        for client in &mut clients {
            let mut first = 0;
            let refused = (0..200).find_map(|n| {
                let sql = format!("SELECT {n} /* {} */", "y".repeat(50_000));
                match client.try_prepare(&sql).expect("connected") {
                    Ok(statement) => {
                        first = statement.id;
                        None
                    }
                    Err(error) => Some((n, error)),
                }
            });
            let (made, error) = refused.expect("not as many as one likes");
            assert!((50..90).contains(&made), "{made}");
            assert_eq!(error.code, 1041);
            assert!(
                error.message.contains("connection_memory_bytes"),
                "{error:?}"
            );
            // one less, and there is room for one
            client
                .send_command(CLOSE, &first.to_le_bytes())
                .expect("sent");
            client.prepare(&format!("SELECT 1 /* {} */", "z".repeat(50_000)));
        }
        let rows = proxy.ask_admin("SHOW MEMORY");
        assert!(bytes(&rows, "heap", "prepared statements") > 4 * 3_000_000);
        assert!(bytes(&rows, "user", "app") > 4 * 3_000_000);
    });
}

#[test]
fn a_user_over_its_ceiling_loses_its_heaviest_connection_and_no_other_user_does() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "max_memory_bytes = 4194304");
    besieged(&proxy, || {
        let mut light = crowd(&proxy, 4);
        let mut heavy = RawClient::connect(proxy.port);
        let mut innocent = RawClient::login(proxy.port, &Login::default().user("app2", "app2pw"))
            .expect("logs in");
        let large = format!("SELECT 1 /* {} */", "y".repeat(100_000));
        for _ in 0..60 {
            innocent.prepare(&large);
        }
        for client in &mut light {
            client.prepare(&large);
        }
        while heavy.command(PREPARE, large.as_bytes()).is_ok() {}
        for client in light.iter_mut().chain([&mut innocent]) {
            assert_eq!(
                client
                    .query("SELECT 7")
                    .expect("still there")
                    .value()
                    .as_deref(),
                Some("7")
            );
        }
        assert!(evictions(&proxy) > 0);
    });
}

#[test]
fn a_user_cannot_run_far_over_its_ceiling_however_fast_it_is() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "max_memory_bytes = 4194304");
    let kept = AtomicU64::new(0);
    let large = format!("SELECT 1 /* {} */", "y".repeat(60_000));
    // each keeps what it may until it is ended: much more together than one ceiling, in less than a second
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = RawClient::connect(proxy.port);
                for _ in 0..400 {
                    if !matches!(client.try_prepare(&large), Ok(Ok(_))) {
                        return;
                    }
                    kept.fetch_add(large.len() as u64, Relaxed);
                }
            });
        }
    });
    let kept = kept.into_inner();
    println!("{} KB were kept", kept >> 10);
    assert!(evictions(&proxy) > 0);
    // those that were ended are counted, too, and there were four
    assert!(kept < 5 * 4_194_304, "{} KB were kept", kept >> 10);
    proxy.assert_no_panic();
}

#[test]
fn commands_without_end_of_every_kind_stream_through() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    cluster.prepare(&["CREATE OR REPLACE TABLE long_ones (a LONGTEXT)"]);
    let proxy = proxy_with(cluster, "", "");
    besieged(&proxy, || {
        // long data, part after part
        let mut long = RawClient::connect(proxy.port);
        let statement = long.prepare("INSERT INTO long_ones VALUES (?)");
        let mut part = statement.id.to_le_bytes().to_vec();
        part.extend([0, 0]);
        part.extend(vec![b'l'; 1 << 20]);
        for _ in 0..40 {
            long.send_command(LONG_DATA, &part).expect("taken");
        }
        // variables that grow
        let mut variables = RawClient::connect(proxy.port);
        for n in 0..300 {
            let sql = format!("SET @v{n} = '{}'", "v".repeat(4000));
            variables.query(&sql).expect("an answer").ok();
        }
        // one command of very many statements
        let login = Login::default().with(cap::MULTI_STATEMENTS);
        let mut many = RawClient::login(proxy.port, &login).expect("logs in");
        many.send_command(QUERY, "DO 0;".repeat(200_000).as_bytes())
            .expect("taken");
        // a statement of forty megabytes
        let mut large = RawClient::connect(proxy.port);
        let sql = format!("SELECT LENGTH('{}')", "s".repeat(40 << 20));
        let reply = large.query(&sql).expect("an answer");
        assert_eq!(reply.value(), Some((40 << 20).to_string()));
    });
}

#[test]
fn a_file_for_a_server_that_does_not_read_waits_at_its_client() {
    needs!(the_proxy);
    let (_, _turn) = field();
    let cluster = Cluster::start(0);
    cluster.stop_logging();
    cluster.prepare(&["CREATE TABLE files (a LONGTEXT)"]);
    let proxy = {
        let mut config = ProxyConfig::new(&cluster).proxy(&format!(
            "memory_limit_bytes = {}\nworkers = [0, 1]",
            ceiling()
        ));
        config.servers[0].2 = "max_connections = 60".into();
        // the server must not be taken for dead while it stands still
        config.monitor_interval_ms = 3_600_000;
        config.start()
    };
    wait_until("the server is in use", || {
        proxy.client().query_drop("DO 1").is_ok()
    });
    let mut clients = crowd(&proxy, 8);
    for client in &mut clients {
        client
            .send_command(QUERY, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE files")
            .expect("sent");
        let asks = client.read_packet().expect("an answer");
        assert_eq!(asks.first(), Some(&0xfb), "{asks:?}");
    }
    let before = resident_bytes(proxy.pid());
    cluster.primary().freeze();
    let mut packet = 1_000_000u32.to_le_bytes()[..3].to_vec();
    packet.push(2);
    packet.extend(vec![b'f'; 1_000_000]);
    let mut sent = 0;
    for _ in 0..30 {
        for client in &mut clients {
            if let common::raw::Socket::Tcp(socket) = &mut client.socket {
                socket.set_nonblocking(true).expect("can be set");
                sent += socket.write(&packet).unwrap_or(0);
            }
        }
        pause(Duration::from_millis(5));
    }
    let grown = resident_bytes(proxy.pid()).saturating_sub(before);
    println!("{sent} bytes sent, {grown} kept");
    // a high-water mark each way, for each
    assert!(grown < 8 * (1 << 20) + (4 << 20), "{grown} bytes are kept");
    cluster.primary().thaw();
    drop(clients);
    wait_until("all is well again", || {
        proxy.client().query_drop("DO 1").is_ok() && proxy.ask_admin("SHOW SESSIONS").is_empty()
    });
    proxy.assert_no_panic();
}

#[test]
fn slow_logins_and_garbage_cost_little_and_nobody_else_notices() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "");
    besieged(&proxy, || {
        let mut silent: Vec<TcpStream> = Vec::new();
        let mut slow: Vec<RawClient> = Vec::new();
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        for n in 0..600 {
            match n % 3 {
                0 => silent.push(tcp(proxy.port).expect("connects")),
                1 => slow.push(RawClient::open(proxy.port).expect("greeted")),
                _ => {
                    let mut garbage = tcp(proxy.port).expect("connects");
                    let mut noise = Vec::new();
                    for _ in 0..500 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        noise.extend(random.to_le_bytes());
                    }
                    // closed in the middle of it, perhaps
                    garbage.write_all(&noise).ok();
                    silent.push(garbage);
                }
            }
        }
        // as long a login as is allowed, which never ends
        for client in &mut slow {
            let mut packet = 130_000u32.to_le_bytes()[..3].to_vec();
            packet.push(1);
            packet.extend(vec![0; 100_000]);
            drip(client, &packet);
        }
        let grown = wait_for_parts(&proxy);
        assert!(grown < ceiling(), "{grown}");
    });
}

#[test]
fn announcements_slow_logins_and_results_without_an_end_at_once_are_held_off() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "");
    let (announcing, slow, endless) = match soak() {
        true => (10_000, 3_000, 40),
        false => (400, 120, 8),
    };
    besieged(&proxy, || {
        let mut readers = crowd(&proxy, endless);
        let sql = b"SELECT REPEAT('x', 1000000) FROM seq_1_to_100000";
        for client in &mut readers {
            client.send_command(QUERY, sql).expect("sent");
        }
        let mut clients = crowd(&proxy, announcing);
        println!(
            "{} KB with all of them idle",
            resident_bytes(proxy.pid()) >> 10
        );
        for client in &mut clients {
            drip(client, &ENDLESS);
            drip(client, b"SELECT '");
        }
        let mut logins: Vec<RawClient> = (0..slow)
            .map(|_| RawClient::open(proxy.port).expect("greeted"))
            .collect();
        let piece = vec![b'x'; 10_000];
        for round in 0..if soak() { 10 } else { 4 } {
            for client in &mut clients {
                drip(client, &piece);
            }
            // a login that is allowed to be so long, part after part
            let mut part = 130_000u32.to_le_bytes()[..3].to_vec();
            part.push(1);
            part.extend(vec![0; 10_000]);
            for client in &mut logins {
                drip(client, if round == 0 { &part } else { &piece });
            }
        }
        assert!(proxy.is_alive());
        drop(readers);
    });
}

/// What parts of commands and logins take, once there are some.
fn wait_for_parts(proxy: &Proxy) -> u64 {
    let mut parts = 0;
    wait_until("parts are kept", || {
        parts = bytes(&proxy.ask_admin("SHOW MEMORY"), "heap", "parts of commands");
        parts > 0
    });
    parts
}

/// The lines add up to what the system says, within a twentieth.
fn assert_ledger_agrees(proxy: &Proxy) {
    let pid = proxy.pid();
    let mut last = String::new();
    let agrees = holds_within(Duration::from_secs(20), || {
        let before = resident_bytes(pid);
        let rows = proxy.ask_admin("SHOW MEMORY");
        let after = resident_bytes(pid);
        let total = bytes(&rows, "process", "total");
        let lines = rows.iter().filter(|r| r[0] == "process" && r[1] != "total");
        let sum: u64 = lines.map(|r| r[2].parse::<u64>().expect("a number")).sum();
        assert_eq!(sum, total, "{rows:?}");
        let heap = rows.iter().filter(|r| r[0] == "heap");
        let of_heap: u64 = heap.map(|r| r[2].parse::<u64>().expect("a number")).sum();
        assert_eq!(of_heap, bytes(&rows, "process", "heap"), "{rows:?}");
        last = format!("{total} in lines, {before} to {after} resident: {rows:?}");
        let (low, high) = (before.min(after), before.max(after));
        total * 100 >= low * 95 && total * 100 <= high * 105
    });
    assert!(agrees, "{last}");
    println!("{}", last.split(':').next().unwrap_or_default());
}

#[test]
fn the_ledger_agrees_with_the_system_idle_loaded_and_afterwards() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "", "");
    assert_ledger_agrees(&proxy);
    let clients = crowd(&proxy, 2000);
    assert_ledger_agrees(&proxy);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = proxy.client();
                while !over.load(Relaxed) {
                    let sql = "SELECT REPEAT('x', 1000000) FROM seq_1_to_20";
                    client.query_drop(sql).expect("answered");
                }
            });
        }
        pause(Duration::from_millis(500));
        let agrees = catch_unwind(AssertUnwindSafe(|| assert_ledger_agrees(&proxy)));
        over.store(true, Relaxed);
        agrees.unwrap_or_else(|panic| resume_unwind(panic));
    });
    let (_, page) = proxy.http("/metrics");
    for series in [
        "umpire_resident_bytes ",
        "umpire_memory_bytes{kind=\"heap\"} ",
        "umpire_user_memory_bytes{user=\"app\"} ",
    ] {
        assert!(page.contains(series), "{series} is not in {page}");
    }
    drop(clients);
    wait_until("the clients are gone", || {
        proxy.ask_admin("SHOW SESSIONS").is_empty()
    });
    assert_ledger_agrees(&proxy);
}

#[test]
fn a_packet_over_its_limit_is_refused_whatever_is_announced() {
    needs!(the_proxy);
    let (cluster, _turn) = field();
    let proxy = proxy_with(cluster, "max_allowed_packet = 1048576", "");
    let mut client = RawClient::connect(proxy.port);
    let begun = Instant::now();
    client.send_raw(&ENDLESS).expect("sent");
    let answer = client.read_packet().expect("an answer");
    assert!(answer.starts_with(&[0xff, 0x81, 0x04]), "{answer:?}");
    assert!(begun.elapsed() < common::PATIENCE);
    assert!(client.closed_within(common::PATIENCE));
}
