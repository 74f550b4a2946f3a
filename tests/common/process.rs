//! Child processes that cannot outlive the test run, and ports that nobody else takes.

use std::io;
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::OnceLock;
use std::time::Duration;

type Request = (Command, Sender<io::Result<Child>>);

/// Starts `program` so that the kernel kills it when this process ends, however it ends.
///
/// The parent-death signal fires when the *thread* that started the child ends, and every test
/// has a thread of its own: one thread that never ends starts them all.
pub fn spawn(program: &str, configure: impl FnOnce(&mut Command)) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (requests, inbox) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, answer) in inbox {
                answer.send(command.spawn()).ok();
            }
        });
        requests
    });
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--", program])
        .stdin(Stdio::null());
    configure(&mut command);
    let (answer, result) = mpsc::channel();
    spawner
        .clone()
        .send((command, answer))
        .expect("the spawner lives as long as the process");
    result.recv().expect("the spawner answers")
}

/// Sends a signal by name. The shell's own `kill`: the program may not be installed.
pub fn signal(pid: u32, name: &str) {
    Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .stderr(Stdio::null())
        .status()
        .expect("sh runs");
}

/// Every thread is stopped by a signal.
pub fn stands_still(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    tasks.flatten().all(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('T'))
    })
}

/// Waits for the end of a child; None when it still runs after `limit`.
pub fn wait_for_exit(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let mut status = None;
    super::holds_within(limit, || {
        status = child.try_wait().expect("the child is ours");
        status.is_some()
    });
    status
}

/// SIGTERM, and SIGKILL when that does not help. For what needs no clean end.
pub fn end(child: &mut Child) {
    signal(child.id(), "TERM");
    if wait_for_exit(child, Duration::from_secs(10)).is_none() {
        child.kill().ok();
        child.wait().ok();
    }
}

/// A loopback port below the ephemeral range, so that no outgoing connection takes it, and never
/// the same one twice in a process: a proxy binds with SO_REUSEPORT and would share it silently.
pub fn free_port() -> u16 {
    const LOWEST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id().wrapping_mul(97) % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = LOWEST + (start.wrapping_add(step)) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!(
        "no free port between {LOWEST} and {}",
        u32::from(LOWEST) + u32::from(COUNT)
    );
}

/// Resident memory of a process in bytes.
pub fn resident_bytes(pid: u32) -> u64 {
    status_field(pid, "VmRSS:") * 1024
}

/// Number of open file descriptors of a process.
pub fn open_descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .map(|entries| entries.count())
        .unwrap_or(0)
}

/// Number of threads of a process.
pub fn threads(pid: u32) -> u64 {
    status_field(pid, "Threads:")
}

fn status_field(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
