//! A small MySQL server on loopback for the tests of this module: it answers what the checks ask.

use crate::wire::packet::{frame, Assembler};
use crate::wire::{auth, capabilities as caps, command, handshake, reply, resultset, status};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How the server behaves from now on.
#[derive(Debug, Clone)]
pub struct Behaviour {
    pub version: &'static str,
    /// The plugin of the greeting; the other one is never asked for.
    pub plugin: &'static str,
    pub password: &'static str,
    pub read_only: bool,
    /// Slave_IO_Running, Slave_SQL_Running, Seconds_Behind_Master; None: it is no replica.
    pub replica: Option<[Option<&'static str>; 3]>,
    /// In place of the greeting of a new connection.
    pub refuse: Option<(u16, &'static str)>,
    /// In place of the answer to SHOW … STATUS.
    pub status_error: Option<(u16, &'static str)>,
    /// Close every connection at the next command.
    pub hang_up: bool,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            version: "5.5.5-10.11.6-MariaDB",
            plugin: auth::NATIVE,
            password: "mon",
            read_only: false,
            replica: None,
            refuse: None,
            status_error: None,
            hang_up: false,
        }
    }
}

pub struct FakeServer {
    pub address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    /// Logins so far.
    logins: Arc<Mutex<u32>>,
}

impl FakeServer {
    /// Serves on a thread of its own until the test process ends.
    pub fn start(behaviour: Behaviour) -> FakeServer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let behaviour = Arc::new(Mutex::new(behaviour));
        let logins = Arc::new(Mutex::new(0));
        let shared = (behaviour.clone(), logins.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .unwrap()
                .block_on(accept(listener, shared.0, shared.1));
        });
        FakeServer {
            address,
            behaviour,
            logins,
        }
    }

    pub fn behave(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.lock().unwrap()
    }

    pub fn logins(&self) -> u32 {
        *self.logins.lock().unwrap()
    }
}

async fn accept(
    listener: std::net::TcpListener,
    behaviour: Arc<Mutex<Behaviour>>,
    logins: Arc<Mutex<u32>>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(talk(stream, behaviour.clone(), logins.clone()));
    }
}

/// None: the connection is over.
async fn talk(
    stream: TcpStream,
    behaviour: Arc<Mutex<Behaviour>>,
    logins: Arc<Mutex<u32>>,
) -> Option<()> {
    let mut peer = Peer {
        stream,
        assembler: Assembler::new(1 << 20),
    };
    let now = || behaviour.lock().unwrap().clone();
    if let Some(refusal) = now().refuse {
        return peer.send(&error(refusal), 0).await;
    }
    login(&mut peer, &now()).await?;
    *logins.lock().unwrap() += 1;
    loop {
        let (_, payload) = peer.receive().await?;
        if now().hang_up || payload.first() != Some(&command::QUERY) {
            return None;
        }
        let sql = String::from_utf8_lossy(&payload[1..]).into_owned();
        peer.stream.write_all(&answer(&sql, &now())).await.ok()?;
    }
}

async fn login(peer: &mut Peer, behaviour: &Behaviour) -> Option<()> {
    let scramble = auth::new_scramble();
    let greeting = handshake::Greeting {
        version: behaviour.version.into(),
        connection_id: 7,
        scramble,
        capabilities: caps::PROTOCOL_41
            | caps::SECURE_CONNECTION
            | caps::PLUGIN_AUTH
            | caps::TRANSACTIONS
            | caps::SESSION_TRACK,
        collation: 45,
        status: status::AUTOCOMMIT,
        auth_plugin: behaviour.plugin.into(),
    };
    peer.send(&greeting.encode(), 0).await?;
    let (sequence, payload) = peer.receive().await?;
    let response = handshake::Response::decode(&payload).ok()?;
    let password = behaviour.password.as_bytes();
    let proven = match behaviour.plugin {
        auth::CACHING_SHA2 => {
            let digest = auth::caching_sha2::fast_digest(password);
            auth::caching_sha2::verify_fast(&response.auth, &scramble, &digest)
        }
        _ => {
            let stage2 = auth::native::stage2(password);
            auth::native::verify(&response.auth, &scramble, &stage2).is_some()
        }
    };
    let mut next = sequence + 1;
    if !proven {
        let denied = crate::wire::error::access_denied(&response.user, "here", true);
        peer.send(&denied.encode(), next).await?;
        return None;
    }
    if behaviour.plugin == auth::CACHING_SHA2 {
        peer.send(&[1, 3], next).await?;
        next += 1;
    }
    peer.send(&reply::Ok::default().encode(response.capabilities), next)
        .await
}

fn answer(sql: &str, behaviour: &Behaviour) -> Vec<u8> {
    let text = |s: &str| Some(s.to_string());
    if sql.starts_with("SET SESSION autocommit") {
        let mut bytes = Vec::new();
        frame(
            &reply::Ok::default().encode(caps::PROTOCOL_41),
            1,
            &mut bytes,
        );
        return bytes;
    }
    if sql.starts_with("SET ") {
        let mut bytes = Vec::new();
        frame(&error((1227, "Access denied")), 1, &mut bytes);
        return bytes;
    }
    if sql.contains("read_only") {
        let flag = if behaviour.read_only { "1" } else { "0" };
        return rows(&["a", "b"], &[vec![text(flag), text("OFF")]]);
    }
    if sql.contains("sql_mode") {
        return rows(&["a"], &[vec![text("ANSI")]]);
    }
    if sql.starts_with("SHOW") {
        if let Some(refusal) = behaviour.status_error {
            let mut bytes = Vec::new();
            frame(&error(refusal), 1, &mut bytes);
            return bytes;
        }
        let columns = [
            "Slave_IO_Running",
            "Slave_SQL_Running",
            "Seconds_Behind_Master",
        ];
        let row = behaviour
            .replica
            .map(|values| values.map(|v| v.map(String::from)).to_vec());
        return rows(&columns, &Vec::from_iter(row));
    }
    let utf8mb4 = vec![text("45"), text("utf8mb4_general_ci"), text("utf8mb4")];
    rows(
        &["ID", "FULL_COLLATION_NAME", "CHARACTER_SET_NAME"],
        &[utf8mb4],
    )
}

fn rows(columns: &[&str], rows: &[Vec<Option<String>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    resultset::encode(
        columns,
        rows,
        status::AUTOCOMMIT,
        caps::PROTOCOL_41,
        1,
        &mut bytes,
    );
    bytes
}

fn error((code, text): (u16, &str)) -> Vec<u8> {
    reply::Err {
        code,
        state: *b"HY000",
        message: text.as_bytes().to_vec(),
    }
    .encode()
}

struct Peer {
    stream: TcpStream,
    assembler: Assembler,
}

impl Peer {
    async fn send(&mut self, payload: &[u8], sequence: u8) -> Option<()> {
        let mut bytes = Vec::new();
        frame(payload, sequence, &mut bytes);
        self.stream.write_all(&bytes).await.ok()
    }

    async fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(packet) = self.assembler.pop() {
                return Some(packet);
            }
            match self.stream.read(&mut chunk).await.ok()? {
                0 => return None,
                n => self.assembler.push(&chunk[..n]).ok()?,
            }
        }
    }
}
