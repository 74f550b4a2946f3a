//! Connections and what each is doing: one thread, one epoll.

use crate::poll::{Interest, Poll};
use crate::protocol::{self, Account, Answer, End, Login, Walker};
use socket2::{Domain, SockAddr, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const BUFFER: usize = 256 << 10;

pub struct Settings {
    pub port: u16,
    pub account: Account,
    /// `{}` in it becomes a number from 1 to `range`.
    pub query: String,
    pub range: u64,
    pub prepared: bool,
}

pub struct Engine {
    pub settings: Settings,
    pub errors: BTreeMap<String, u64>,
    pub bytes: u64,
    slots: Vec<Option<Connection>>,
    free: Vec<usize>,
    poll: Poll,
    ready: Vec<usize>,
    buffer: Box<[u8]>,
    random: u64,
    epoch: Instant,
}

struct Connection {
    socket: Socket,
    state: State,
    /// When its request was due, and when it was sent: nanoseconds on the engine's clock.
    due: u64,
    sent: u64,
    statement: Option<u32>,
}

enum State {
    Connecting,
    Login(Login),
    Ready,
    Busy { walker: Walker, preparing: bool },
    Leaving,
}

/// What became of a connection.
pub enum Event {
    LoggedIn,
    /// The reply is here, or an error in its place; the connection can take another request.
    Answered {
        due: u64,
        sent: u64,
        failed: bool,
    },
    /// Closed as it should be, after [`Engine::leave`].
    Left,
    /// Gone before its time; counted in `errors`.
    Lost,
}

impl Engine {
    pub fn new(settings: Settings) -> io::Result<Engine> {
        Ok(Engine {
            settings,
            errors: BTreeMap::new(),
            bytes: 0,
            slots: Vec::new(),
            free: Vec::new(),
            poll: Poll::new()?,
            ready: Vec::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            random: 0x9e37_79b9_7f4a_7c15,
            epoch: Instant::now(),
        })
    }

    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub fn connections(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn indices(&self) -> Vec<usize> {
        (0..self.slots.len())
            .filter(|&i| self.slots[i].is_some())
            .collect()
    }

    /// Begins a connection that was due then; None: it failed at once, and is counted.
    pub fn open(&mut self, due: u64) -> Option<usize> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        match self.connect(index) {
            Ok(socket) => {
                self.slots[index] = Some(Connection {
                    socket,
                    state: State::Connecting,
                    due,
                    sent: self.now(),
                    statement: None,
                });
                Some(index)
            }
            Err(error) => {
                self.free.push(index);
                self.count(format!("connect: {}", error.kind()));
                None
            }
        }
    }

    fn connect(&self, index: usize) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.settings.port));
        match socket.connect(&SockAddr::from(address)) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(e),
            _ => {}
        }
        self.poll
            .add(socket.as_raw_fd(), index, Interest::Writable)?;
        Ok(socket)
    }

    /// Sends the query, or first the statement to prepare. False: the connection is lost.
    pub fn request(&mut self, index: usize, due: u64) -> bool {
        let number = self.draw();
        let text = &self.settings.query;
        let Some(connection) = self.slots[index].as_mut() else {
            return false;
        };
        let (bytes, kind, preparing) = match connection.statement {
            Some(statement) => (protocol::execute(statement), protocol::QUERY, false),
            None => {
                let text = text.replace("{}", &number.to_string());
                let preparing = self.settings.prepared;
                let kind = if preparing {
                    protocol::PREPARE
                } else {
                    protocol::QUERY
                };
                (protocol::command(kind, text.as_bytes()), kind, preparing)
            }
        };
        connection.due = due;
        connection.sent = self.epoch.elapsed().as_nanos() as u64;
        connection.state = State::Busy {
            walker: Walker::new(kind),
            preparing,
        };
        self.send(index, &bytes)
    }

    /// Sends the query of a connection that was due at its opening.
    pub fn request_first(&mut self, index: usize) -> bool {
        let due = self.slots[index].as_ref().map_or(0, |c| c.due);
        self.request(index, due)
    }

    /// Says goodbye; [`Event::Left`] follows.
    pub fn leave(&mut self, index: usize) {
        if let Some(connection) = self.slots[index].as_mut() {
            connection.state = State::Leaving;
            self.send(index, &protocol::quit());
        }
    }

    /// Closes what is open without a word, and counts it as unfinished.
    pub fn abandon_all(&mut self) -> u64 {
        let open = self.indices();
        for &index in &open {
            self.close(index);
        }
        open.len() as u64
    }

    /// Waits until something happens, at most until `until`; hands every event to `act`.
    pub fn turn(
        &mut self,
        until: u64,
        mut act: impl FnMut(&mut Engine, usize, Event),
    ) -> io::Result<()> {
        let timeout = Duration::from_nanos(until.saturating_sub(self.now()));
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        self.poll.wait(timeout, &mut ready)?;
        for &index in &ready {
            if let Some(event) = self.proceed(index) {
                act(self, index, event);
            }
        }
        self.ready = ready;
        Ok(())
    }

    fn proceed(&mut self, index: usize) -> Option<Event> {
        let connection = self.slots[index].as_mut()?;
        if let State::Connecting = connection.state {
            return match connection.socket.take_error() {
                Ok(None) => {
                    connection.state = State::Login(Login::default());
                    let fd = connection.socket.as_raw_fd();
                    self.poll.change(fd, index, Interest::Readable).ok()?;
                    None
                }
                Ok(Some(error)) | Err(error) => Some(self.lose(index, error.kind().to_string())),
            };
        }
        let received = match (&connection.socket).read(&mut self.buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
            Err(_) if matches!(connection.state, State::Leaving) => 0,
            Err(e) => return Some(self.lose(index, e.kind().to_string())),
        };
        if received == 0 {
            if let State::Leaving = connection.state {
                self.close(index);
                return Some(Event::Left);
            }
            return Some(self.lose(index, "closed by the peer".into()));
        }
        match &mut connection.state {
            State::Login(login) => {
                match login.feed(&self.buffer[..received], &self.settings.account) {
                    Answer::Wait => None,
                    Answer::Send(bytes) => (!self.send(index, &bytes)).then_some(Event::Lost),
                    Answer::LoggedIn => {
                        connection.state = State::Ready;
                        Some(Event::LoggedIn)
                    }
                    Answer::Failed(why) => Some(self.lose(index, why)),
                }
            }
            State::Busy { walker, preparing } => {
                self.bytes += received as u64;
                let end = walker.feed(&self.buffer[..received])?;
                let prepared = preparing.then_some(walker.statement);
                let (due, sent) = (connection.due, connection.sent);
                connection.state = State::Ready;
                match (end, prepared) {
                    (End::Ok, None) => Some(Event::Answered {
                        due,
                        sent,
                        failed: false,
                    }),
                    (End::Ok, statement) => {
                        connection.statement = statement;
                        (!self.request(index, due)).then_some(Event::Lost)
                    }
                    (End::Failed(why), _) => {
                        self.count(format!("query: {why}"));
                        Some(Event::Answered {
                            due,
                            sent,
                            failed: true,
                        })
                    }
                }
            }
            State::Leaving => None,
            State::Ready | State::Connecting => Some(self.lose(index, "unasked bytes".into())),
        }
    }

    fn send(&mut self, index: usize, bytes: &[u8]) -> bool {
        let Some(connection) = self.slots[index].as_ref() else {
            return false;
        };
        match (&connection.socket).write(bytes) {
            Ok(n) if n == bytes.len() => true,
            // the peer's reset is seen by the next read
            Err(_) if matches!(connection.state, State::Leaving) => true,
            Ok(_) => {
                self.lose(index, "request not taken".into());
                false
            }
            Err(e) => {
                self.lose(index, e.kind().to_string());
                false
            }
        }
    }

    fn lose(&mut self, index: usize, why: String) -> Event {
        let stage = match self.slots[index].as_ref().map(|c| &c.state) {
            Some(State::Connecting) => "connect",
            Some(State::Login(_)) => "login",
            Some(State::Busy { .. }) => "query",
            _ => "idle",
        };
        self.count(format!("{stage}: {why}"));
        self.close(index);
        Event::Lost
    }

    fn close(&mut self, index: usize) {
        if self.slots[index].take().is_some() {
            self.free.push(index);
        }
    }

    pub fn count(&mut self, what: String) {
        *self.errors.entry(what).or_default() += 1;
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        1 + self.random % self.settings.range.max(1)
    }
}
