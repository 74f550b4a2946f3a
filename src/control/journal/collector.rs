//! Lines to a collector by TCP. Each is delivered at least once as long as this process lives: a connection that
//! ends may have taken lines that its peer has not read, so that the last ones are sent again to the next.
use super::{line, Trouble};
use crate::config::Collector;
use crate::observe::record::Record;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Bytes that wait for the collector before no more are taken.
const QUEUE: usize = 1 << 20;
/// Bytes that are kept after they were sent: more than both systems' buffers of a connection hold.
const AGAIN: usize = 8 << 20;
/// What was sent on a connection that has stayed open for so long has been read.
const SETTLED: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(500);
/// Syslog: facility 13 (log audit), severity 6 (informational).
const PRIORITY: u8 = 13 * 8 + 6;

pub(super) struct Sender {
    collector: Collector,
    stream: Option<TcpStream>,
    retry_at: Option<Instant>,
    queue: VecDeque<Vec<u8>>,
    queued: usize,
    /// Bytes of the first line that are on their way already.
    started: usize,
    sent: VecDeque<(Instant, Vec<u8>)>,
    sent_bytes: usize,
    dropped: u64,
    trouble: Trouble,
}

impl Sender {
    pub fn new(collector: Collector) -> Sender {
        Sender {
            collector,
            stream: None,
            retry_at: None,
            queue: VecDeque::new(),
            queued: 0,
            started: 0,
            sent: VecDeque::new(),
            sent_bytes: 0,
            dropped: 0,
            trouble: Trouble::default(),
        }
    }

    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    pub fn has_room(&self) -> bool {
        self.queued < QUEUE
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Dropped, and counted in the log, when there is no room.
    pub fn queue(&mut self, json: &str, record: &Record<'_>) {
        if !self.has_room() {
            self.dropped += 1;
            return;
        }
        let bytes = match self.collector.syslog {
            false => json.as_bytes().to_vec(),
            true => syslog(json, record),
        };
        self.queued += bytes.len();
        self.queue.push_back(bytes);
    }

    /// Sends what the connection takes now; connects first where there is none.
    pub fn send(&mut self) {
        self.notice_end();
        if self.queue.is_empty() {
            return;
        }
        if self.stream.is_none() {
            self.connect();
        }
        self.settle();
        while let (Some(stream), Some(first)) = (self.stream.as_mut(), self.queue.front()) {
            match stream.write(first.get(self.started..).unwrap_or_default()) {
                Ok(0) => return self.lost(&ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.started += n;
                    if self.started >= first.len() {
                        self.first_is_sent();
                    }
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return
                }
                Err(e) => return self.lost(&e),
            }
        }
    }

    fn first_is_sent(&mut self) {
        self.started = 0;
        if let Some(line) = self.queue.pop_front() {
            self.queued -= line.len();
            self.sent_bytes += line.len();
            self.sent.push_back((Instant::now(), line));
        }
        while self.sent_bytes > AGAIN {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, line)) = self.sent.pop_front() {
            self.sent_bytes -= line.len();
        }
    }

    fn settle(&mut self) {
        let settled = |at: &Instant| at.elapsed() > SETTLED;
        while self.stream.is_some() && self.sent.front().is_some_and(|(at, _)| settled(at)) {
            self.forget_oldest();
        }
    }

    /// A collector says nothing; what can be read is the end.
    fn notice_end(&mut self) {
        let Some(stream) = self.stream.as_mut() else {
            return;
        };
        let mut bytes = [0; 512];
        match stream.read(&mut bytes) {
            Ok(0) => self.lost(&ErrorKind::ConnectionAborted.into()),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => self.lost(&e),
        }
    }

    /// What was sent last goes first to the next connection.
    fn lost(&mut self, cause: &std::io::Error) {
        self.stream = None;
        self.started = 0;
        self.retry_at = Some(Instant::now() + RETRY);
        let what = format!("the collector {} is lost", self.collector.address);
        self.trouble.met(&what, cause);
        self.sent_bytes = 0;
        while let Some((_, line)) = self.sent.pop_back() {
            self.queued += line.len();
            self.queue.push_front(line);
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a thread that may block")]
    fn connect(&mut self) {
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        let connected = self
            .collector
            .address
            .to_socket_addrs()
            .and_then(|mut all| {
                let address = all.next().ok_or(ErrorKind::NotFound)?;
                let stream = TcpStream::connect_timeout(&address, CONNECT)?;
                stream.set_nonblocking(true)?;
                Ok(stream)
            });
        match connected {
            Ok(stream) => {
                self.stream = Some(stream);
                self.retry_at = None;
                self.trouble.over("the collector is reached");
                let dropped = std::mem::take(&mut self.dropped);
                if dropped > 0 {
                    tracing::warn!(dropped, "audit: records were not sent to the collector");
                }
            }
            Err(cause) => {
                self.retry_at = Some(Instant::now() + RETRY);
                let what = format!("the collector {} cannot be reached", self.collector.address);
                self.trouble.met(&what, &cause);
            }
        }
    }
}

/// An RFC 5424 message behind its length (RFC 6587, 3.4.1).
fn syslog(json: &str, record: &Record<'_>) -> Vec<u8> {
    let message = format!(
        "<{PRIORITY}>1 {} - umpire {} - - {}",
        line::time(record.at),
        std::process::id(),
        json.trim_end()
    );
    format!("{} {message}", message.len()).into_bytes()
}
