//! Lines to a collector by TCP. Each is delivered at least once as long as this process lives: a connection that
//! ends may have taken lines that its peer has not read, so that the last ones are sent again to the next.
use super::{line, Trouble};
use crate::config::Collector;
use socket2::SockRef;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Bytes that wait for the collector before no more are taken.
const QUEUE: usize = 1 << 20;
/// Bytes that are kept after they were sent: more than the buffers of both ends of a connection hold, of which ours is
/// `SEND_BUFFER`.
const AGAIN: usize = 16 << 20;
const SEND_BUFFER: usize = 512 << 10;
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
    /// Lines of JSON.
    queue: VecDeque<String>,
    queued: usize,
    /// The first line as it is sent; empty: it has to be made. And how much of it is on its way already.
    first: Vec<u8>,
    started: usize,
    sent: VecDeque<(Instant, String)>,
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
            first: Vec::new(),
            started: 0,
            sent: VecDeque::new(),
            sent_bytes: 0,
            dropped: 0,
            trouble: Trouble::default(),
        }
    }

    /// To another collector, with everything that the one before may not have read.
    pub fn after(old: Option<Sender>, collector: Collector) -> Sender {
        let mut new = Sender::new(collector);
        if let Some(mut old) = old {
            old.requeue();
            (new.queue, new.queued) = (old.queue, old.queued);
        }
        new
    }

    /// Lines that are not known to be read.
    pub fn unsettled(&self) -> usize {
        self.queue.len() + self.sent.len()
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
    pub fn queue(&mut self, json: String) {
        if !self.has_room() {
            self.dropped += 1;
            return;
        }
        self.queued += json.len();
        self.queue.push_back(json);
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
        while let (Some(stream), Some(json)) = (self.stream.as_mut(), self.queue.front()) {
            if self.first.is_empty() {
                match self.collector.syslog {
                    false => self.first.extend_from_slice(json.as_bytes()),
                    true => syslog(json, &mut self.first),
                }
            }
            match stream.write(self.first.get(self.started..).unwrap_or_default()) {
                Ok(0) => return self.lost(&ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.started += n;
                    if self.started >= self.first.len() {
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
        self.first.clear();
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
        self.requeue();
        self.retry_at = Some(Instant::now() + RETRY);
        let what = format!("the collector {} is lost", self.collector.address);
        self.trouble.met(&what, cause);
    }

    fn requeue(&mut self) {
        self.stream = None;
        self.started = 0;
        self.first.clear();
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
                SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER)?;
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
fn syslog(json: &str, out: &mut Vec<u8>) {
    let message = format!(
        "<{PRIORITY}>1 {} - umpire {} - - {}",
        line::time_of(json),
        std::process::id(),
        json.trim_end()
    );
    out.extend_from_slice(format!("{} {message}", message.len()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    fn collector(listener: &TcpListener, syslog: bool) -> Collector {
        let address = listener.local_addr().unwrap().to_string();
        Collector { address, syslog }
    }

    fn line(n: usize) -> String {
        format!("{{\"time\":\"2026-11-30T00:00:00.000000Z\",\"n\":{n}}}\n")
    }

    /// Sends until the listener has a connection, and gives what comes by it.
    fn accepted(sender: &mut Sender, listener: &TcpListener) -> BufReader<TcpStream> {
        sender.send();
        BufReader::new(listener.accept().unwrap().0)
    }

    fn read(reader: &mut impl BufRead) -> String {
        let mut text = String::new();
        reader.read_line(&mut text).unwrap();
        text
    }

    #[test]
    fn what_one_collector_may_not_have_read_goes_to_the_one_after_it() {
        let [first, second] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let mut sender = Sender::new(collector(&first, false));
        for n in 0..3 {
            sender.queue(line(n));
        }
        let mut reader = accepted(&mut sender, &first);
        assert_eq!(read(&mut reader), line(0));
        sender.queue(line(3));
        let mut sender = Sender::after(Some(sender), collector(&second, false));
        assert_eq!((sender.unsettled(), sender.queued), (4, 4 * line(0).len()));
        sender.queue(line(4));
        let mut reader = accepted(&mut sender, &second);
        for n in 0..5 {
            assert_eq!(read(&mut reader), line(n));
        }
        assert!(sender.is_empty());
    }

    #[test]
    fn a_line_that_was_queued_for_a_plain_collector_becomes_a_syslog_message() {
        let plain = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = Sender::new(collector(&plain, false));
        sender.queue(line(7));
        let mut sender = Sender::after(Some(sender), collector(&plain, true));
        let mut reader = accepted(&mut sender, &plain);
        let mut got = [0; 20];
        reader.read_exact(&mut got).unwrap();
        let text = String::from_utf8_lossy(&got).into_owned();
        let (length, message) = text.split_once(' ').unwrap();
        assert!(length.parse::<usize>().unwrap() > line(7).len());
        assert!(message.starts_with("<110>1 2026-11-3"), "{text}");
    }
}
