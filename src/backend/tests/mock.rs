//! A server on a real socket, on threads of its own, that does what a test tells it.
use crate::wire::auth::{caching_sha2, native, new_scramble, CACHING_SHA2, NATIVE};
use crate::wire::handshake::{Greeting, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::reply::{auth_more, auth_switch, Err as ServerError, Ok as OkPacket};
use crate::wire::{capabilities, command, status};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// What a new connection is met with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Welcome {
    Greeting,
    Error(u16),
    Garbage,
    Silence,
    Close,
}

/// What a command is answered with.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Error(u16),
    Bytes(Vec<u8>),
    Silence,
    Close,
    /// OK, and then bytes that nobody asked for.
    Chatter,
    /// OK, and then the end.
    Farewell,
}

/// How the mock logs clients in.
#[derive(Clone)]
pub struct Login {
    /// Named in the greeting.
    pub plugin: &'static str,
    /// Asked for afterwards, if another one.
    pub switch: &'static str,
    pub password: &'static str,
    /// caching_sha2_password: the full path, with this key.
    pub key: Option<Arc<caching_sha2::KeyPair>>,
}

impl Default for Login {
    fn default() -> Login {
        Login {
            plugin: NATIVE,
            switch: NATIVE,
            password: "apppw",
            key: None,
        }
    }
}

type Meet = Box<dyn Fn(u32) -> Welcome + Send + Sync>;
type Reply = Box<dyn Fn(&[u8]) -> Answer + Send + Sync>;

/// Lives as long as its accept thread, which ends with the process.
pub struct Mock {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    login: Login,
    meet: Meet,
    reply: Reply,
    accepted: AtomicU32,
    open: AtomicU32,
    most: AtomicU32,
    commands: Mutex<Vec<String>>,
}

impl Mock {
    pub fn new() -> Mock {
        Mock::with(Login::default(), |_| Welcome::Greeting, |_| Answer::Ok)
    }

    pub fn with(
        login: Login,
        meet: impl Fn(u32) -> Welcome + Send + Sync + 'static,
        reply: impl Fn(&[u8]) -> Answer + Send + Sync + 'static,
    ) -> Mock {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            login,
            meet: Box::new(meet),
            reply: Box::new(reply),
            accepted: AtomicU32::new(0),
            open: AtomicU32::new(0),
            most: AtomicU32::new(0),
            commands: Mutex::default(),
        });
        let all = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = all.clone();
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Mock { address, shared }
    }

    pub fn accepted(&self) -> u32 {
        self.shared.accepted.load(SeqCst)
    }

    pub fn open(&self) -> u32 {
        self.shared.open.load(SeqCst)
    }

    pub fn most_at_once(&self) -> u32 {
        self.shared.most.load(SeqCst)
    }

    /// Commands so far: the command byte and the text.
    pub fn commands(&self) -> Vec<String> {
        self.shared.commands.lock().expect("no panic").clone()
    }

    pub fn saw(&self, command: &str) -> usize {
        self.commands()
            .iter()
            .filter(|seen| seen.starts_with(command))
            .count()
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let number = self.accepted.fetch_add(1, SeqCst);
        let open = self.open.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(open, SeqCst);
        let mut peer = Peer {
            stream,
            incoming: Assembler::new(1 << 24),
            sequence: 0,
        };
        // An error is the other side's goodbye.
        let _ = self.converse(&mut peer, number);
        self.open.fetch_sub(1, SeqCst);
    }

    fn converse(&self, peer: &mut Peer, number: u32) -> Option<()> {
        match (self.meet)(number) {
            Welcome::Greeting => {}
            Welcome::Error(code) => return peer.send(&error(code)),
            Welcome::Garbage => {
                return peer.raw(b"HTTP/1.1 400 Bad Request\r\n\r\nNot a MySQL server at all")
            }
            Welcome::Silence => return peer.receive().map(drop),
            Welcome::Close => return None,
        }
        let scramble = new_scramble();
        peer.send(&greeting(self.login.plugin, scramble, number).encode())?;
        let response = Response::decode(&peer.receive()?).ok()?;
        let mut proof = response.auth;
        let mut scramble = scramble;
        if response.auth_plugin.as_deref() != Some(self.login.switch) {
            scramble = new_scramble();
            peer.send(&auth_switch(self.login.switch, &scramble))?;
            proof = peer.receive()?;
        }
        if !self.prove(peer, &proof, &scramble)? {
            return peer.send(&error(1045));
        }
        peer.send(&ok())?;
        loop {
            peer.sequence = 255;
            let command = peer.receive()?;
            self.note(&command);
            if command.first() == Some(&command::QUIT) {
                return Some(());
            }
            match (self.reply)(&command) {
                Answer::Ok => peer.send(&ok())?,
                Answer::Error(code) => peer.send(&error(code))?,
                Answer::Bytes(bytes) => peer.raw(&bytes)?,
                Answer::Silence => {}
                Answer::Close => return None,
                Answer::Chatter => {
                    peer.send(&ok())?;
                    peer.send(&error(1927))?;
                }
                Answer::Farewell => return peer.send(&ok()),
            }
        }
    }

    fn prove(&self, peer: &mut Peer, proof: &[u8], scramble: &[u8; 20]) -> Option<bool> {
        let password = self.login.password.as_bytes();
        if self.login.switch == NATIVE {
            return Some(native::verify(proof, scramble, &native::stage2(password)).is_some());
        }
        assert_eq!(self.login.switch, CACHING_SHA2);
        let Some(key) = &self.login.key else {
            let good =
                caching_sha2::verify_fast(proof, scramble, &caching_sha2::fast_digest(password));
            peer.send(&auth_more(&[3]))?;
            return Some(good);
        };
        peer.send(&auth_more(&[4]))?;
        assert_eq!(peer.receive()?, [2], "the request for the key");
        peer.send(&auth_more(key.public_pem().as_bytes()))?;
        let cipher = peer.receive()?;
        Some(key.decrypt_password(&cipher, scramble).as_deref() == Some(password))
    }

    fn note(&self, command: &[u8]) {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        let byte = command.first().copied().unwrap_or_default();
        self.commands
            .lock()
            .expect("no panic")
            .push(format!("{byte} {text}"));
    }
}

struct Peer {
    stream: TcpStream,
    incoming: Assembler,
    /// Of the last packet, either way.
    sequence: u8,
}

impl Peer {
    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some((sequence, payload)) = self.incoming.pop() {
                self.sequence = sequence;
                return Some(payload);
            }
            let mut bytes = [0; 4096];
            let n = self.stream.read(&mut bytes).ok().filter(|n| *n > 0)?;
            self.incoming.push(&bytes[..n]).ok()?;
        }
    }

    fn send(&mut self, payload: &[u8]) -> Option<()> {
        // The greeting is number 0, all else one more than the last.
        let first = payload.first() == Some(&10) && self.sequence == 0;
        self.sequence = if first {
            0
        } else {
            self.sequence.wrapping_add(1)
        };
        let mut bytes = Vec::new();
        frame(payload, self.sequence, &mut bytes);
        self.raw(&bytes)
    }

    fn raw(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()
    }
}

fn greeting(plugin: &str, scramble: [u8; 20], number: u32) -> Greeting {
    Greeting {
        version: "8.0.36-mock".into(),
        connection_id: number + 1,
        scramble,
        capabilities: capabilities::LONG_PASSWORD
            | capabilities::PROTOCOL_41
            | capabilities::SECURE_CONNECTION
            | capabilities::PLUGIN_AUTH
            | capabilities::TRANSACTIONS
            | capabilities::SESSION_TRACK
            | capabilities::DEPRECATE_EOF
            | capabilities::MULTI_RESULTS,
        collation: 45,
        status: status::AUTOCOMMIT,
        auth_plugin: plugin.into(),
    }
}

fn ok() -> Vec<u8> {
    let ok = OkPacket {
        status: status::AUTOCOMMIT,
        ..OkPacket::default()
    };
    ok.encode(capabilities::PROTOCOL_41 | capabilities::SESSION_TRACK)
}

fn error(code: u16) -> Vec<u8> {
    ServerError {
        code,
        state: *b"HY000",
        message: b"mock".to_vec(),
    }
    .encode()
}
