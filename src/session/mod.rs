//! One client, from its greeting to its end.
//!
//! [`serve`] is the whole life of a connection: login, then a turn for each command. A turn reads one
//! command, decides where it runs ([`crate::route`]), borrows a server connection whose state fits or is
//! made to fit, passes the reply through ([`crate::relay`]), and learns from its end what the session's
//! state is now. `turn.rs` holds the steps that all commands share; each family of commands is a file.
mod admission;
mod answer;
mod arrival;
mod change_user;
mod collation;
mod commands;
mod cursor;
mod execute;
mod finish;
mod kept;
pub mod kill;
mod kill_sent;
mod known_writes;
mod last_insert_id;
mod learn;
mod lease;
mod library;
mod limits;
mod login;
mod long_data;
mod parameter_types;
pub mod pins;
mod policy;
mod prepare;
pub mod promise;
mod query;
mod questions;
mod ready;
pub mod registry;
mod replication;
mod sharded;
pub mod shared;
mod statements;
pub mod store;
mod sync;
#[cfg(test)]
mod tests;
mod thread_ids;
mod tracking;
mod turn;
mod user_variables;
mod watch;

use answer::{eof_packet, error_packet, ok_packet, OF_THE_SESSION};
pub use sharded::{explain_for, resume_job, RouteAnswer, RouteQuestion};

use crate::backend::{initial_state, Account, Lease, PoolRef, State};
use crate::config::Proxy;
use crate::net::{self, Buf, Socket};
use crate::relay::{Closed, Command, Fault, Inbox};
use crate::sniff::Dialect;
use crate::topology::{Greeting, ServerId, Snapshot, User};
use crate::wire::compressed::{self, Algorithm};
use crate::wire::{error, reply};
use login::{Dialogue, LoggedIn, Refused, SessionToken};
use pins::Pins;
use registry::{Activity, Entry};
use shared::Shared;
use statements::Statements;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Why a session ends.
#[derive(Debug)]
pub(crate) enum End {
    /// COM_QUIT, or the client closed.
    Quit,
    /// Nothing can be told to the client any more.
    ClientGone,
    /// The client was told an error after which a server closes the connection.
    Told,
}

/// One client session. Lives in its task.
pub struct Session {
    client: Socket,
    inbox: Inbox,
    shared: Rc<Shared>,
    entry: Rc<Entry>,
    user: Arc<User>,
    account: Rc<Account>,
    greeting: Arc<Greeting>,
    scramble: [u8; 20],
    /// What client and server side agreed on.
    capabilities: u64,
    collation: u16,
    /// What the client's session state is, wherever the next statement runs.
    state: Rc<State>,
    dialect: Dialect,
    /// The server connection that the session keeps, and why.
    held: Option<Lease>,
    pins: Pins,
    /// What there is to know of some pins.
    kept: Option<Box<kept::Kept>>,
    /// Status flags of the last reply.
    status: u16,
    last_insert_id: u64,
    /// LAST_INSERT_ID() on the connection of the last turn is this session's: it was told, or the server says so.
    own_id: bool,
    /// The connection of the last turn, for statements about the statement before.
    last: Option<lease::LastConnection>,
    /// The user asks for ROW_COUNT() or FOUND_ROWS(): each statement's connection is kept for one more.
    counts: bool,
    /// Changes of user that were refused.
    refused_changes: u8,
    /// The connection with the last statement's warnings was lent to others while the client was idle.
    lent_warnings: bool,
    /// A server whose tracking is the client's own would still keep a report of the schema.
    owes_schema: bool,
    statements: Statements,
    /// The user's group in the snapshot of this epoch.
    group: lease::GroupIndex,
    /// Of the group's servers, in the same epoch.
    pools: Box<[(ServerId, PoolRef)]>,
    /// A client that sends no command for this long is closed (its own wait_timeout once it was SET).
    idle_timeout: Duration,
    /// Of [`Session::state`]: see [`crate::plan::Request`].
    zero_generates: bool,
    /// Of [`Session::state`]: the session keeps a connection of the primary that nobody had before.
    auto_is_null: bool,
    /// The running statement has one shard's text.
    names_shards: bool,
    /// Seats at other groups than the user's own.
    sharded: Option<Box<sharded::Sharded>>,
    /// The library that the client has selected.
    library: Option<Box<library::Selected>>,
    /// Sync statements are written here before they are sent; kept for its capacity.
    scratch: Vec<u8>,
    /// The running command's place, where their number is limited.
    running: Option<Box<admission::Place>>,
    /// What is noted of commands, where anything is.
    watch: Option<Box<watch::Watch>>,
    _token: SessionToken,
}

/// Serves one accepted connection until it ends. `listener`: its place in `proxy.listen`; `refused`: the proxy
/// has no place for it (1040).
pub async fn serve(client: Socket, shared: Rc<Shared>, listener: usize, refused: bool) {
    let entry = shared
        .registry
        .add(client.peer(), client.aborter(), net::now());
    let _listed = Listed {
        shared: shared.clone(),
        id: entry.id,
    };
    if refused {
        shared.stats.clients_refused.add(1);
        client.send(error_packet(&error::too_many_connections(), 0));
        client.close().await;
    } else {
        greet_and_serve(client, shared, listener, entry).await;
    }
}

/// The session's place in the registry, however it ends.
struct Listed {
    shared: Rc<Shared>,
    id: u32,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shared.registry.remove(self.id);
    }
}

async fn greet_and_serve(client: Socket, shared: Rc<Shared>, listener: usize, entry: Rc<Entry>) {
    // what login and goodbye need is on the heap while they last: an idle client keeps none of it
    if let Some(mut session) = Box::pin(greet(client, shared, listener, entry)).await {
        session.run().await;
        Box::pin(session.end()).await;
    }
}

/// The login, up to its OK. None: the client was told why not, or is gone.
async fn greet(
    client: Socket,
    shared: Rc<Shared>,
    listener: usize,
    entry: Rc<Entry>,
) -> Option<Box<Session>> {
    let proxy = shared.snapshot().proxy.clone();
    client.set_high_water(proxy.high_water);
    client.set_deadline(Some(net::now() + proxy.login_timeout));
    let Some(_room) = watch::Room::for_login(&shared).await else {
        client.send(error_packet(&watch::not_written(), 0));
        client.close().await;
        return None;
    };
    let at = proxy.listen.get(listener);
    match arrival::arrive(&client, &shared, &entry, at).await {
        Ok(()) => {}
        Err(arrival::Turned::Away(error)) => {
            watch::login(&shared, &entry, "", error.code);
            client.send(error_packet(&error, 0));
            client.close().await;
            return None;
        }
        Err(arrival::Turned::Off) => {
            client.close().await;
            return None;
        }
        Err(arrival::Turned::Gone) => return None,
    }
    let mut dialogue = Dialogue::new(&client, 0);
    match login::login(&mut dialogue, &shared, listener, &entry).await {
        Ok(mut who) => {
            watch::login(&shared, &entry, &who.user.config.name, 0);
            let (schema, sequence) = (who.schema.take(), who.sequence);
            let compression = who.compression;
            let rest = dialogue.into_rest();
            let mut session = Box::new(Session::new(client, shared, entry, who, &proxy, rest));
            match session.enter(schema, sequence).await {
                Ok(()) => {
                    if let Some(algorithm) = compression {
                        session.compress(algorithm);
                    }
                    Some(session)
                }
                Err(_) => {
                    session.end().await;
                    None
                }
            }
        }
        Err(Refused::Error { error, sequence }) => {
            watch::login(&shared, &entry, &entry.user.borrow(), error.code);
            client.send(error_packet(&error, sequence));
            client.close().await;
            None
        }
        Err(Refused::Handshake) => {
            client.close().await;
            None
        }
        Err(Refused::ProxyHeader) => {
            let error = arrival::untrusted_header(&shared, &client);
            watch::login(&shared, &entry, "", error.code);
            client.send(error_packet(&error, 1));
            client.close().await;
            None
        }
        Err(Refused::Gone) => None,
    }
}

/// What brings an idle session back.
enum Next {
    Command(Command),
    Closed(Closed),
    /// KILL, or the process ends.
    Stopped,
}

impl Session {
    fn new(
        client: Socket,
        shared: Rc<Shared>,
        entry: Rc<Entry>,
        who: LoggedIn,
        proxy: &Proxy,
        rest: Vec<u8>,
    ) -> Session {
        let mut inbox = Inbox::new(proxy.max_allowed_packet);
        inbox.push_front(Buf::from_vec(rest));
        let state = shared
            .states
            .intern(initial_state(who.collation, &who.greeting));
        entry.group.set(who.user.group);
        let mut session = Session {
            client,
            inbox,
            dialect: Dialect {
                mariadb: who.greeting.is_mariadb(),
                version: who.greeting.version_number(),
                ..Dialect::default()
            },
            shared,
            entry,
            user: who.user,
            account: who.account,
            status: login::first_status(&who.greeting),
            greeting: who.greeting,
            scramble: who.scramble,
            capabilities: who.capabilities,
            collation: who.collation,
            state,
            held: None,
            pins: Pins::empty(),
            kept: None,
            last_insert_id: 0,
            own_id: false,
            last: None,
            counts: false,
            refused_changes: 0,
            lent_warnings: false,
            owes_schema: false,
            statements: Statements::default(),
            group: lease::GroupIndex::default(),
            pools: Box::default(),
            idle_timeout: proxy.idle_timeout,
            zero_generates: true,
            auto_is_null: false,
            names_shards: false,
            sharded: None,
            library: None,
            scratch: Vec::new(),
            running: None,
            watch: None,
            _token: who.token,
        };
        session.counts = session.user.asks_counts.load(Relaxed);
        session.reads_as_new();
        session.state_changed();
        session.user_changed(&session.shared.snapshot());
        session
    }

    /// Behind the OK of the login.
    fn compress(&mut self, algorithm: Algorithm) {
        // received behind the login: frames already
        let begun = self.inbox.take_bytes();
        self.client.unread(Buf::from_vec(begun));
        self.client.compress(algorithm, compressed::End::Server);
    }

    /// Until a reply tells: as the servers' new sessions read text.
    fn reads_as_new(&mut self) {
        let mode = self.greeting.sql_mode.as_bytes();
        self.dialect.no_backslash_escapes = finish::has_mode(mode, b"NO_BACKSLASH_ESCAPES");
    }

    /// What hangs on the user's limits.
    fn user_changed(&mut self, snapshot: &Snapshot) {
        let own = self.user.limits.max_allowed_packet.map(|n| n as usize);
        self.inbox
            .set_max_allowed_packet(own.unwrap_or(snapshot.proxy.max_allowed_packet));
        // the running command's notes stay
        if self.watch.is_some() != snapshot.watch.is_on() || !self.watch_is_of_user() {
            self.watch_anew(snapshot);
        }
    }

    async fn run(&mut self) {
        loop {
            let command = match poll_fn(|cx| self.poll_next(cx)).await {
                Next::Command(command) => command,
                Next::Closed(Closed::Idle) if self.keeps_for_questions() => {
                    if Box::pin(self.lend_while_idle()).await.is_err() {
                        return;
                    }
                    continue;
                }
                Next::Closed(closed) => return self.explain(closed),
                Next::Stopped => return self.explain_eviction(),
            };
            let started = net::now();
            self.entry.set(Activity::Running, started);
            // a session between turns keeps nothing of them
            let turn = net::pooled(self.turn(command)).await;
            self.running = None;
            let mut now = net::now();
            self.watch_ends(started, now, matches!(turn, Err(End::ClientGone)));
            if turn.is_err() || self.inbox.is_streaming() {
                // answered before its end was read: what follows would be taken for commands
                return;
            }
            if self.pins == Pins::INSERT_ID {
                if Box::pin(self.resolve_last_insert_id()).await.is_err() {
                    return;
                }
                now = net::now();
            }
            self.turn_ended(started, now);
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        if self.entry.poll_stopped(cx).is_ready() {
            return Poll::Ready(Next::Stopped);
        }
        match self.inbox.poll_command(cx, &self.client) {
            Poll::Ready(Ok(command)) => return Poll::Ready(Next::Command(command)),
            Poll::Ready(Err(closed)) => return Poll::Ready(Next::Closed(closed)),
            Poll::Pending => {}
        }
        if self.shared.draining.get() && !self.pins.leaves_state() && !self.holds_elsewhere() {
            return Poll::Ready(Next::Stopped);
        }
        Poll::Pending
    }

    /// Bookkeeping after each command.
    fn turn_ended(&mut self, started: Instant, now: Instant) {
        let micros = now.saturating_duration_since(started).as_micros() as u64;
        // the histogram clamps to its bounds: recording cannot fail
        self.shared
            .latency
            .borrow_mut()
            .saturating_record(micros.max(1));
        let stats = &self.shared.stats;
        stats.turns.add(1);
        stats.bytes_from_clients.add(self.inbox.take_count());
        self.entry.turns.set(self.entry.turns.get() + 1);
        self.entry.set(Activity::Idle, now);
        if self.entry.evicted().is_some() {
            self.entry.end_eviction();
        }
        let look = match self.keeps_for_questions() {
            true => self.idle_timeout.min(questions::LOOK_EVERY),
            false => self.patience(),
        };
        self.client.set_deadline(Some(now + look));
    }

    /// How long the client may send nothing.
    #[inline]
    fn patience(&self) -> Duration {
        match self.user.limits.idle_transaction_timeout {
            Some(limit) if self.pins.contains(Pins::TRANSACTION) => limit.min(self.idle_timeout),
            _ => self.idle_timeout,
        }
    }

    /// Tells a client that broke the rules why its connection ends.
    fn explain(&self, closed: Closed) {
        let error = match closed {
            Closed::Protocol(Fault::OutOfOrder) => error::packets_out_of_order(),
            Closed::Protocol(Fault::TooLarge) => error::packet_too_large(),
            Closed::Protocol(Fault::Empty) => error::malformed_packet(),
            Closed::Idle if self.patience() < self.idle_timeout => {
                error::idle_transaction(self.patience())
            }
            Closed::End | Closed::Idle => return,
            Closed::Failed(cause) => {
                tracing::debug!(id = self.entry.id, %cause, "a client connection failed");
                return;
            }
        };
        self.send(error_packet(&error, 1));
    }

    /// Tells a client whose connection ends because it holds too much.
    fn explain_eviction(&self) {
        if self.entry.evicted().is_some() {
            self.send(error_packet(&self.stopped_error(), 1));
        }
    }

    /// For a statement that was told to end.
    fn stopped_error(&self) -> reply::Err {
        match self.entry.evicted() {
            None => error::query_interrupted(),
            Some(why) => error::out_of_memory(&format!(
                "{} is used up, and this connection holds the most: send less at once, or raise it",
                why.words()
            )),
        }
    }

    /// The held connection goes back (reset where it has state), what is queued for the client goes out.
    async fn end(mut self: Box<Self>) {
        self.entry.set(Activity::Closing, net::now());
        drop(self.held.take());
        self.sharded = None;
        self.client.close().await;
    }
}
