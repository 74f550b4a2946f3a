use super::client::Rows;
use super::health::{IoThread, Replication};
use super::stall::{StallClock, GAP};
use super::testing::{Behaviour, FakeServer};
use super::*;
use crate::config;
use std::io::Write;
use std::sync::mpsc::Receiver;

const REPLICA: [Option<&str>; 3] = [Some("Yes"), Some("Yes"), Some("0")];

fn replica() -> Behaviour {
    Behaviour {
        read_only: true,
        replica: Some(REPLICA),
        ..Behaviour::default()
    }
}

/// A control thread over these servers (the first is the configured primary), its configuration
/// file, and its handle. Ends with the test.
struct Running {
    handle: Handle,
    file: tempfile::NamedTempFile,
    first: Arc<Snapshot>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread
                .join()
                .expect("the control thread does not panic")
                .expect("nor fails");
        }
    }
}

fn text(servers: &[&FakeServer], monitor: &str, weight: u32) -> String {
    let roles = std::iter::once("primary").chain(std::iter::repeat("replica"));
    let list: Vec<String> = servers
        .iter()
        .zip(roles)
        .map(|(s, role)| {
            format!(
                "{{ address = \"{}\", role = \"{role}\", weight = {weight} }}",
                s.address
            )
        })
        .collect();
    format!(
        "[proxy]\nlisten = [\"127.0.0.1:6033\"]\n\
         [[group]]\nname = \"main\"\nservers = [ {} ]\n{monitor}\n\
         [[user]]\nname = \"app\"\npassword = \"secret\"\ngroup = \"main\"\n",
        list.join(", ")
    )
}

const MONITOR: &str = "monitor = { user = \"monitor\", password = \"mon\", interval_ms = 100 }";

fn write(file: &tempfile::NamedTempFile, text: &str) {
    let mut file = std::fs::File::create(file.path()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn run_over(servers: &[&FakeServer], monitor: &str) -> Running {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(&file, &text(servers, monitor, 1));
    let (handles, handle): (_, Receiver<Handle>) = std::sync::mpsc::channel();
    let (started, first) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let input = ControlInput {
        journals: Vec::new(),
        config: config::load(file.path()).unwrap(),
        config_path: file.path().into(),
        mailboxes: Vec::new(),
        worker_stats: Vec::new(),
        started,
        clerk: None,
        serve: Box::new(move |handle| {
            handles.send(handle).unwrap();
            Box::pin(std::future::pending())
        }),
        stop: stopped,
    };
    let thread = Some(std::thread::spawn(move || run(input)));
    let limit = Duration::from_secs(30);
    let first = first.recv_timeout(limit).unwrap();
    let handle = handle.recv_timeout(limit).unwrap();
    Running {
        handle,
        file,
        first,
        stop: Some(stop),
        thread,
    }
}

impl Running {
    fn wait_for(&self, what: &str, holds: impl Fn(&View) -> bool) -> Arc<View> {
        for _ in 0..3000 {
            let view = self.handle.view();
            if holds(&view) {
                return view;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: {:?}", self.handle.view());
    }

    fn reload(&self) -> Result<String, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(self.handle.reload())
    }
}

#[test]
fn the_first_snapshot_knows_the_primary_and_the_greeting() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    let group = &running.first.groups[0];
    assert_eq!(group.primary, Some(0));
    assert!(group
        .servers
        .iter()
        .all(|s| s.health.alive && s.health.readable));
    assert_eq!(
        group.servers[0].target,
        Some(crate::topology::Target::Tcp(a.address))
    );
    assert_eq!(group.greeting.version, "10.11.6-MariaDB");
    let collation = ("utf8mb4_general_ci".to_string(), "utf8mb4".to_string());
    assert_eq!(group.greeting.collations.get(&45), Some(&collation));
}

#[test]
fn the_primary_is_whoever_is_writable_whatever_is_configured() {
    let (a, b) = (
        FakeServer::start(replica()),
        FakeServer::start(Behaviour::default()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    assert_eq!(running.first.groups[0].primary, Some(1));
    b.behave().read_only = true;
    running.wait_for("no primary", |v| v.snapshot.groups[0].primary.is_none());
    a.behave().read_only = false;
    running.wait_for("the other one", |v| v.snapshot.groups[0].primary == Some(0));
}

#[test]
fn two_writable_servers_are_an_alarm_and_change_nothing() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    b.behave().read_only = false;
    let view = running.wait_for("an alarm", |v| !v.alarms.is_empty());
    assert_eq!(view.snapshot.groups[0].primary, Some(0));
    assert!(view.alarms[0].contains("are writable"), "{:?}", view.alarms);
    b.behave().read_only = true;
    running.wait_for("no alarm", |v| v.alarms.is_empty());
}

#[test]
fn checks_keep_their_connection_and_a_full_server_is_not_dead() {
    let a = FakeServer::start(Behaviour::default());
    let running = run_over(&[&a], MONITOR);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(a.logins(), 1, "one connection for all checks");
    a.behave().refuse = Some((1040, "Too many connections"));
    a.behave().hang_up = true;
    let view = running.wait_for("an alarm", |v| !v.alarms.is_empty());
    assert!(view.alarms[0].contains("1040"), "{:?}", view.alarms);
    std::thread::sleep(Duration::from_secs(1));
    let view = running.handle.view();
    assert_eq!(view.snapshot.groups[0].primary, Some(0));
    assert!(view.healths[0][0].alive && view.healths[0][0].writable);
    let Behaviour { refuse: normal, .. } = Behaviour::default();
    a.behave().refuse = normal;
    a.behave().hang_up = false;
    running.wait_for("no alarm", |v| v.alarms.is_empty());
}

#[test]
fn a_lagging_replica_is_not_readable_and_the_lag_alone_publishes_nothing() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    let epoch = running.handle.view().snapshot.epoch;
    b.behave().replica = Some([Some("Yes"), Some("Yes"), Some("3")]);
    let lag = |v: &View| v.healths[0][1].lag;
    let view = running.wait_for("3 s", |v| lag(v) == Some(Duration::from_secs(3)));
    assert_eq!(view.snapshot.epoch, epoch);
    b.behave().replica = Some([Some("Yes"), Some("Yes"), Some("4000")]);
    let view = running.wait_for("not readable", |v| {
        !v.snapshot.groups[0].servers[1].health.readable
    });
    assert!(view.snapshot.epoch > epoch);
}

#[test]
fn a_monitor_without_the_privilege_is_told_what_to_grant() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    b.behave().status_error = Some((1227, "Access denied; you need SLAVE MONITOR"));
    let running = run_over(&[&a, &b], MONITOR);
    let health = &running.first.groups[0].servers[1].health;
    assert!(health.alive && !health.readable);
    assert!(
        health.reason.contains("GRANT SLAVE MONITOR"),
        "{}",
        health.reason
    );
}

#[test]
fn without_a_monitor_the_configured_roles_hold() {
    let (a, b) = (
        FakeServer::start(replica()),
        FakeServer::start(Behaviour::default()),
    );
    let running = run_over(&[&a, &b], "");
    let group = &running.first.groups[0];
    assert_eq!(group.primary, Some(0));
    assert!(group
        .servers
        .iter()
        .all(|s| s.health.alive && s.health.readable));
    assert_eq!(group.greeting.version, "10.11.6-MariaDB");
}

#[test]
fn a_group_of_which_nobody_answers_does_not_stop_the_start() {
    let a = FakeServer::start(Behaviour::default());
    a.behave().refuse = Some((1040, "Too many connections"));
    let running = run_over(&[&a], MONITOR);
    assert!(!running.first.groups[0].servers[0].health.writable);
    assert!(!running.first.groups[0].greeting.version.is_empty());
    a.behave().refuse = None;
    running.wait_for("a primary", |v| {
        let group = &v.snapshot.groups[0];
        group.primary == Some(0) && group.servers[0].health.writable
    });
}

#[test]
fn a_reload_applies_a_good_file_and_a_bad_one_changes_nothing() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    let budget = running.first.groups[0].servers[0].budget.clone();
    write(&running.file, "[proxy]\nlisten = 5\n");
    let why = running.reload().unwrap_err();
    assert!(
        why.contains(&format!("{}:2", running.file.path().display())),
        "{why}"
    );
    assert_eq!(running.handle.view().snapshot.epoch, running.first.epoch);

    let new = text(&[&a, &b], MONITOR, 7).replace("127.0.0.1:6033", "127.0.0.1:6034");
    write(&running.file, &new);
    let words = running.reload().unwrap();
    assert!(words.contains("restart"), "{words}");
    let view = running.wait_for("weight 7", |v| v.snapshot.groups[0].servers[1].weight == 7);
    let server = &view.snapshot.groups[0].servers[0];
    assert!(
        Arc::ptr_eq(&server.budget, &budget),
        "connections stay counted"
    );
    assert!(server.health.alive, "known health is kept");
    assert_eq!(view.snapshot.groups[0].primary, Some(0));
    assert_eq!(
        view.config.proxy.listen, running.first.proxy.listen,
        "until a restart"
    );
}

#[test]
fn a_reload_drops_a_server_that_is_no_longer_configured() {
    let (a, b) = (
        FakeServer::start(Behaviour::default()),
        FakeServer::start(replica()),
    );
    let running = run_over(&[&a, &b], MONITOR);
    write(&running.file, &text(&[&a], MONITOR, 1));
    running.reload().unwrap();
    let view = running.wait_for("one server", |v| v.snapshot.groups[0].servers.len() == 1);
    assert_eq!(
        (view.healths[0].len(), view.snapshot.groups[0].primary),
        (1, Some(0))
    );
}

#[test]
fn a_stall_is_seen_by_a_check_even_before_the_tick() {
    let start = Instant::now();
    let clock = StallClock::new(start);
    let at = |ms| start + Duration::from_millis(ms);
    assert_eq!(clock.tick(at(100)), None);
    assert!(!clock.stalled(at(50), at(150)));
    assert!(clock.stalled(at(50), at(150) + GAP), "no tick for too long");
    assert_eq!(clock.tick(at(60_100)), Some(Duration::from_secs(60)));
    assert!(
        clock.stalled(at(50), at(60_150)),
        "the stall lies within the check"
    );
    assert!(
        !clock.stalled(at(60_120), at(60_150)),
        "the stall was before the check"
    );
}

fn status(rows: &[[Option<&str>; 3]]) -> Replication {
    let columns = [
        "Replica_IO_Running",
        "Replica_SQL_Running",
        "Seconds_Behind_Source",
    ];
    let values = rows
        .iter()
        .map(|row| row.map(|v| v.map(String::from)).to_vec())
        .collect();
    replication::summarise(&Rows::new(&columns, values))
}

#[test]
fn several_channels_are_as_bad_as_the_worst_of_them() {
    assert_eq!(status(&[]), Replication::NotConfigured);
    let both = status(&[
        [Some("Yes"), Some("Yes"), Some("3")],
        [Some("Yes"), Some("Yes"), Some("9")],
    ]);
    let (running, lag) = (IoThread::Running, Some(Duration::from_secs(9)));
    let expected = |io, sql_running, lag| Replication::Configured {
        io,
        sql_running,
        lag,
        error: String::new(),
    };
    assert_eq!(both, expected(running, true, lag));
    let one_stopped = status(&[REPLICA, [Some("Connecting"), Some("No"), None]]);
    assert_eq!(one_stopped, expected(IoThread::Connecting, false, None));
    assert_eq!(
        status(&[[None, None, None]]),
        expected(IoThread::Stopped, false, None)
    );
}
