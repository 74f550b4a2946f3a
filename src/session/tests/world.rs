//! What the tests of sessions stand on: mock servers as a group, one worker's shared state, and a client
//! at the other end of a socket pair.
use crate::backend::tests::mock::{Answer, Login, Mock, Welcome};
use crate::backend::tests::world::{server_with, settings};
use crate::backend::{Pools, StateTable};
use crate::config::{self, ReadYourWrites, Role, Secret};
use crate::net::{self, Buf, Socket};
use crate::observe::WorkerStats;
use crate::session::shared::Shared;
use crate::topology::{Budget, Greeting, Group, Rules, Server, ServerId, Snapshot, Target, User};
use crate::wire::auth::caching_sha2::KeyPair;
use crate::wire::auth::{native, NATIVE};
use crate::wire::capabilities::*;
use crate::wire::handshake::{self, Response};
use crate::wire::packet::{frame, Assembler};
use crate::wire::{command, reply, status};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A client's flags, and so those of its server connections.
const CAPABILITIES: u64 = PROTOCOL_41
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | TRANSACTIONS
    | SESSION_TRACK
    | DEPRECATE_EOF
    | MULTI_RESULTS;

/// The mock's, and so the client's.
pub const PASSWORD: &str = "apppw";

/// A server that answers each command as `answer` says, OK where it says nothing.
pub fn mock(answer: impl Fn(u8, &str) -> Option<Answer> + Send + Sync + 'static) -> Mock {
    Mock::with(
        Login::default(),
        |_| Welcome::Greeting,
        move |command| {
            let text = String::from_utf8_lossy(&command[1..]);
            match answer(command[0], &text) {
                Some(answer) => answer,
                None if command[0] == command::STMT_PREPARE => prepared(1),
                None if expects_nothing(command[0]) => Answer::Silence,
                None => Answer::Ok,
            }
        },
    )
}

fn expects_nothing(kind: u8) -> bool {
    !command::expects_reply(kind)
}

/// The reply to a PREPARE without parameters and columns.
pub fn prepared(id: u32) -> Answer {
    let mut payload = vec![0];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&[0; 7]);
    packet(&payload)
}

pub fn packet(payload: &[u8]) -> Answer {
    let mut bytes = Vec::new();
    frame(payload, 1, &mut bytes);
    Answer::Bytes(bytes)
}

/// OK with these status flags.
pub fn ok_with(flags: u16) -> Answer {
    let ok = reply::Ok {
        status: flags,
        ..reply::Ok::default()
    };
    packet(&ok.encode(CAPABILITIES))
}

/// OK of a server whose session has begun a transaction.
pub fn in_transaction() -> Answer {
    ok_with(status::AUTOCOMMIT | status::IN_TRANS)
}

/// One worker in front of a primary and, perhaps, a replica.
pub struct World {
    pub shared: Rc<Shared>,
    pub user: Arc<User>,
}

impl World {
    pub fn new(primary: &Mock, replica: Option<&Mock>) -> World {
        World::with(primary, replica, |_| {})
    }

    pub fn with(
        primary: &Mock,
        replica: Option<&Mock>,
        change: impl FnOnce(&mut config::Proxy),
    ) -> World {
        World::watching(primary, replica, config::Watching::default(), change)
    }

    /// With statistics or an audit; nobody reads its ring.
    pub fn watching(
        primary: &Mock,
        replica: Option<&Mock>,
        watching: config::Watching,
        change: impl FnOnce(&mut config::Proxy),
    ) -> World {
        World::judging(primary, replica, (watching, Vec::new()), change)
    }

    /// With policies too.
    pub fn judging(
        primary: &Mock,
        replica: Option<&Mock>,
        (watching, policies): (config::Watching, Vec<config::Policy>),
        change: impl FnOnce(&mut config::Proxy),
    ) -> World {
        let mut servers = vec![server(1, primary, Role::Primary)];
        servers.extend(replica.map(|mock| server(2, mock, Role::Replica)));
        let mut proxy = settings();
        change(&mut proxy);
        let user = user(policies.into_iter().collect());
        let snapshot = Snapshot {
            epoch: 1,
            proxy: Arc::new(proxy),
            groups: vec![Arc::new(group(servers))],
            users: [("app".into(), user.clone())].into_iter().collect(),
            shared: Arc::default(),
            shards: Arc::default(),
            libraries: Arc::default(),
            watch: Arc::new(watching),
            defaults: Arc::default(),
        };
        let (stats, states) = (Arc::new(WorkerStats::default()), Rc::new(StateTable::new()));
        let pools = Pools::new(
            0,
            snapshot.proxy.clone(),
            stats.clone(),
            states.clone(),
            Box::new(|_| {}),
        );
        let shared = Rc::new(Shared::new(
            0,
            1,
            pools,
            states,
            stats,
            keys(),
            Arc::new(snapshot),
            Box::new(|_| {}),
            crate::observe::ring::ring(1 << 20).0,
        ));
        World { shared, user }
    }

    /// A group for each of these, "main" and then "g1", "g2", …
    pub fn of_groups(mocks: &[&Mock], change: impl FnOnce(&mut config::Proxy)) -> World {
        World::of_watched_groups(mocks, config::Watching::default(), change)
    }

    /// See [`World::watching`].
    pub fn of_watched_groups(
        mocks: &[&Mock],
        watching: config::Watching,
        change: impl FnOnce(&mut config::Proxy),
    ) -> World {
        let world = World::watching(mocks[0], None, watching, change);
        let mut groups = world.shared.snapshot().groups.clone();
        for (at, mock) in mocks.iter().enumerate().skip(1) {
            groups.push(Arc::new(Group {
                name: format!("g{at}"),
                index: at,
                ..group(vec![server(10 + at as u32, mock, Role::Primary)])
            }));
        }
        let snapshot = Snapshot {
            epoch: 2,
            proxy: world.shared.snapshot().proxy.clone(),
            groups,
            users: world.shared.snapshot().users.clone(),
            shards: Arc::default(),
            libraries: Arc::default(),
            shared: world.shared.snapshot().shared.clone(),
            watch: world.shared.snapshot().watch.clone(),
            defaults: world.shared.snapshot().defaults.clone(),
        };
        world.shared.set_snapshot(Arc::new(snapshot));
        world
    }

    /// With these [[table]] sections, for the groups of [`World::of_groups`].
    pub fn rules(&self, tables: &str) {
        let snapshot = self.shared.snapshot();
        let mut text = "[proxy]\nlisten = [\"127.0.0.1:1\"]\n".to_owned();
        for group in &snapshot.groups {
            let name = &group.name;
            text += &format!(
                "[[group]]\nname = \"{name}\"\nservers = [{{ address = \"{name}:1\", role = \"primary\" }}]\n"
            );
        }
        text += "[[user]]\nname = \"app\"\npassword = \"x\"\ngroup = \"main\"\n";
        text += tables;
        let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let config =
            config::parse(&text, "rules.toml", &no_files).unwrap_or_else(|e| panic!("{e}"));
        self.shared.set_snapshot(Arc::new(Snapshot {
            epoch: snapshot.epoch + 1,
            proxy: snapshot.proxy.clone(),
            groups: snapshot.groups.clone(),
            users: snapshot.users.clone(),
            shards: Arc::new(crate::topology::ShardMap::build(&config)),
            libraries: snapshot.libraries.clone(),
            shared: snapshot.shared.clone(),
            watch: snapshot.watch.clone(),
            defaults: snapshot.defaults.clone(),
        }));
    }

    pub async fn client(&self) -> Client {
        self.client_in("").await
    }

    /// Logged in, with this schema.
    pub async fn client_in(&self, schema: &str) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let session = Socket::from_fd(theirs.into()).expect("the session's end");
        net::spawn(crate::session::serve(
            session,
            self.shared.clone(),
            0,
            false,
        ));
        let mut client = Client {
            socket: Socket::from_fd(ours.into()).expect("the client's end"),
            scramble: [0; 20],
            incoming: Assembler::new(1 << 24),
        };
        let greeting = client.receive().await.expect("a greeting");
        let greeting = handshake::Greeting::decode(&greeting).expect("a greeting");
        client.scramble = greeting.scramble;
        let login = Response {
            capabilities: CAPABILITIES | CONNECT_WITH_DB,
            max_packet: 1 << 24,
            collation: 45,
            user: "app".into(),
            auth: native::respond(PASSWORD.as_bytes(), &greeting.scramble),
            schema: Some(schema.into()),
            auth_plugin: Some(NATIVE.into()),
            attributes: Vec::new(),
            zstd_level: 0,
        };
        client.send_packet(1, &login.encode());
        let answer = client.receive().await.expect("an answer");
        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
        client
    }
}

fn server(id: u32, mock: &Mock, role: Role) -> Arc<Server> {
    let budget = Arc::new(Budget::new(10));
    let server = server_with(Target::Tcp(mock.address), role, true, budget);
    let server = Arc::into_inner(server).expect("just made");
    Arc::new(Server {
        id: ServerId(id),
        weight: u32::from(role == Role::Replica),
        ..server
    })
}

fn group(servers: Vec<Arc<Server>>) -> Group {
    Group {
        name: "main".into(),
        index: 0,
        read_write_split: true,
        election: crate::config::Primary::Writable,
        read_your_writes: ReadYourWrites::Timer,
        read_your_writes_window: Duration::from_millis(300),
        servers,
        primary: Some(0),
        greeting: Arc::new(Greeting {
            version: "8.0.36-mock".into(),
            capabilities: CAPABILITIES,
            collation: 45,
            auth_plugin: NATIVE.into(),
            collations: Arc::default(),
            sql_mode: String::new(),
            autocommit: true,
            select_limit: false,
            div_precision_increment: 4,
        }),
        accounts: None,
    }
}

fn user(policies: Rules) -> Arc<User> {
    Arc::new(User {
        memory: Arc::default(),
        config: config::User {
            name: "app".into(),
            secret: Secret::Plain(PASSWORD.into()),
            group: "main".into(),
            addresses: Default::default(),
            max_connections: None,
            qps: None,
            limits: config::Limits::default(),
            tls: config::UserTls::Optional,
            auth_plugin: None,
            server_account: None,
        },
        limits: config::Limits::default(),
        process: config::ProcessLimits::default(),
        policies,
        group: 0,
        last_write: Arc::default(),
        asks_counts: Arc::default(),
        paid_until: Arc::default(),
        sessions: Arc::new(Budget::new(1000)),
        running: Arc::new(Budget::new(u32::MAX)),
        proven: Arc::default(),
    })
}

/// Making one takes long.
fn keys() -> Arc<KeyPair> {
    static KEYS: OnceLock<Arc<KeyPair>> = OnceLock::new();
    KEYS.get_or_init(|| Arc::new(KeyPair::generate())).clone()
}

/// A client that sends any bytes.
pub struct Client {
    pub socket: Socket,
    pub scramble: [u8; 20],
    incoming: Assembler,
}

impl Client {
    pub fn send(&self, kind: u8, body: &[u8]) {
        let mut payload = vec![kind];
        payload.extend_from_slice(body);
        self.send_packet(0, &payload);
    }

    pub fn send_packet(&self, sequence: u8, payload: &[u8]) {
        let mut bytes = Vec::new();
        frame(payload, sequence, &mut bytes);
        self.send_raw(bytes);
    }

    pub fn send_raw(&self, bytes: Vec<u8>) {
        self.socket.send(Buf::from_vec(bytes));
    }

    /// The next packet; None: the session has ended.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        self.socket
            .set_deadline(Some(Instant::now() + Duration::from_secs(10)));
        loop {
            if let Some((_, payload)) = self.incoming.pop() {
                return Some(payload);
            }
            let buf = match self.socket.recv().await {
                // it left while something from here was on its way
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
                received => received.expect("an answer in time")?,
            };
            self.incoming.push(&buf).expect("packets");
        }
    }

    /// A command whose reply is one packet: 0 for OK, or the error's code.
    pub async fn run(&mut self, kind: u8, body: &[u8]) -> u16 {
        self.send(kind, body);
        self.outcome().await
    }

    pub async fn query(&mut self, sql: &str) -> u16 {
        self.run(command::QUERY, sql.as_bytes()).await
    }

    pub async fn outcome(&mut self) -> u16 {
        let packet = self.receive().await.expect("a reply");
        match packet[0] {
            0xff => reply::Err::decode(&packet).expect("an error").code,
            0 => 0,
            other => panic!("neither OK nor error: {other}"),
        }
    }

    pub async fn prepare(&mut self, sql: &str) -> [u8; 4] {
        self.send(command::STMT_PREPARE, sql.as_bytes());
        let packet = self.receive().await.expect("a reply");
        assert_eq!(packet[0], 0, "prepared");
        packet[1..5].try_into().expect("an id")
    }
}
