//! What makes a logged-in connection one of the pool: character sets, session tracking, the guard of
//! replicas; and how a used one gets back there.
use super::login::{change_user, Channel, Trouble};
use super::state::{State, StateTable};
use super::sync::{assign_character_sets, framed, query};
use super::variables::MYSQL_TRACKED;
use super::{Account, Identity, ServerConnection};
use crate::wire::reply::{Err as ServerError, Ok as OkPacket};
use crate::wire::{capabilities, command, error};
use std::time::Instant;

/// What the set-up needs to know of a connection.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub capabilities: u64,
    pub mariadb: bool,
    pub guarded: bool,
}

/// What the set-up found out.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    /// The server reports changes of the session.
    pub tracking: bool,
    /// Status flags of the last reply.
    pub status: u16,
}

/// Commands of one write, and what each is for.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Reset,
    Schema,
    CharacterSets,
    Tracking,
    Guard,
    Identity,
}

const UNKNOWN_VARIABLE: u16 = 1193;
const WRONG_VALUE_FOR_VARIABLE: u16 = 1231;
const ANOTHER_ACCOUNT: &str =
    "the server takes this user for another account than the primary does: it is behind \
     with its accounts, or has others";

/// Sets character sets as in `state`, session tracking and guard, after a login as `account`. The variables that
/// these statements report are the pool's own, not the session's: the replies are not applied to any state.
pub(super) async fn set_up(
    channel: &mut Channel<'_>,
    kind: Kind,
    account: &Account,
    state: &State,
) -> Result<Ready, Trouble> {
    let mut batch = Batch::default();
    // a replica may be behind with the accounts, too, and let somebody else in by this name
    if let Some(identity) = account.identity.as_ref().filter(|_| kind.guarded) {
        batch.identity(kind, identity);
    }
    batch.set_up(kind, state, kind.mariadb);
    let replies = batch.run(channel, kind.capabilities).await?;
    conclude(channel, kind, replies).await
}

/// Undoes everything a session left on the connection and leaves it as after [`set_up`]: by
/// COM_RESET_CONNECTION, or by COM_CHANGE_USER where that is not certain to do it, or when no schema is to be
/// selected (`unselect`).
pub(super) async fn reset(
    conn: &mut ServerConnection,
    states: &StateTable,
    unselect: bool,
    deadline: Instant,
) -> Result<(), Trouble> {
    conn.socket.set_deadline(Some(deadline));
    conn.prepared.clear();
    let base = conn.state.base(conn.state.schema.clone());
    let state = if !unselect && conn.tracking && reset_connection(conn, &base).await? {
        base
    } else {
        relogin(conn).await?
    };
    conn.state = states.intern(state);
    conn.socket.set_deadline(None);
    Ok(())
}

/// False: the server does not know the command or the schema; nothing can be said of the session.
/// COM_RESET_CONNECTION keeps the schema, so that only one which is selected explicitly is certain.
async fn reset_connection(conn: &mut ServerConnection, base: &State) -> Result<bool, Trouble> {
    // A name in another script would be read in a character set that the reset has just changed.
    let Some(schema) = base.schema.as_deref().filter(|schema| schema.is_ascii()) else {
        return Ok(false);
    };
    let kind = conn.kind();
    let mut batch = Batch::default();
    batch.reset(schema);
    batch.set_up(kind, base, kind.mariadb);
    let mut channel = Channel::new(&conn.socket, "resetting a connection");
    let replies = batch.run(&mut channel, kind.capabilities).await?;
    let done = |(step, reply): &(Step, Reply)| {
        reply.is_ok() || !matches!(step, Step::Reset | Step::Schema)
    };
    if !replies.iter().all(done) {
        channel.finish()?;
        return Ok(false);
    }
    let ready = conclude(&mut channel, kind, replies).await?;
    channel.finish()?;
    conn.adopt(ready);
    Ok(true)
}

/// COM_CHANGE_USER and a new set-up; the state after it.
async fn relogin(conn: &mut ServerConnection) -> Result<State, Trouble> {
    let recipe = conn.recipe.clone();
    let kind = conn.kind();
    let state = conn.state.base(None);
    let mut channel = Channel::new(&conn.socket, "renewing a session");
    let scramble = change_user(&mut channel, &recipe.want(), kind, conn.scramble).await?;
    let ready = set_up(&mut channel, kind, &recipe.account, &state).await?;
    channel.finish()?;
    conn.scramble = scramble;
    conn.adopt(ready);
    Ok(state)
}

type Reply = Result<OkPacket, ServerError>;

/// Judges the replies of a set-up; a server may need a second try for the tracking.
async fn conclude(
    channel: &mut Channel<'_>,
    kind: Kind,
    replies: Vec<(Step, Reply)>,
) -> Result<Ready, Trouble> {
    let mut ready = Ready {
        tracking: false,
        status: 0,
    };
    for (step, reply) in replies {
        match reply {
            Ok(ok) => {
                ready.status = ok.status;
                ready.tracking |= step == Step::Tracking;
            }
            Err(e) if step == Step::Tracking && e.code == UNKNOWN_VARIABLE => {
                ready.tracking = track_everything(channel, kind).await?;
            }
            Err(e) if step == Step::Identity && e.code == WRONG_VALUE_FOR_VARIABLE => {
                return Err(Trouble::Refused(error::own(ANOTHER_ACCOUNT)));
            }
            Err(e) => return Err(Trouble::Refused(e)),
        }
    }
    Ok(ready)
}

/// A server that refuses the list of names (a MariaDB that calls itself MySQL) may know `*`; one that
/// knows neither does not track.
async fn track_everything(channel: &mut Channel<'_>, kind: Kind) -> Result<bool, Trouble> {
    let mut batch = Batch::default();
    batch.tracking(kind, true);
    let replies = batch.run(channel, kind.capabilities).await?;
    Ok(replies.iter().all(|(_, reply)| reply.is_ok()))
}

/// Not session_track_transaction_info: the status flags tell what the proxy has to know.
pub(super) fn tracking_statement(names: &str) -> String {
    format!(
        "SET @@SESSION.session_track_schema=ON,@@SESSION.session_track_state_change=ON,\
         @@SESSION.session_track_system_variables='{names}'"
    )
}

impl Batch {
    fn reset(&mut self, schema: &[u8]) {
        framed(&mut self.bytes, |out| out.push(command::RESET_CONNECTION));
        framed(&mut self.bytes, |out| {
            out.push(command::INIT_DB);
            out.extend_from_slice(schema);
        });
        self.steps.extend([Step::Reset, Step::Schema]);
    }

    fn set_up(&mut self, kind: Kind, state: &State, everything: bool) {
        let mut sql = b"SET ".to_vec();
        assign_character_sets(state, &mut sql);
        self.query(kind, Step::CharacterSets, &sql);
        if kind.capabilities & capabilities::SESSION_TRACK != 0 {
            self.tracking(kind, everything);
        }
        if kind.guarded {
            // The same statement in every version, where the variable's name is not.
            self.query(kind, Step::Guard, b"SET SESSION TRANSACTION READ ONLY");
        }
    }

    /// A statement that the server refuses with [`WRONG_VALUE_FOR_VARIABLE`] if it took the login for another account.
    fn identity(&mut self, kind: Kind, identity: &Identity) {
        let mut sql = "SET @@SESSION.sql_mode=IF(CAST(CURRENT_USER() AS BINARY)=X'".to_owned();
        for byte in identity.current_user.bytes() {
            sql.push_str(&format!("{byte:02X}"));
        }
        sql.push_str("',@@SESSION.sql_mode,'?')");
        self.query(kind, Step::Identity, sql.as_bytes());
    }

    fn tracking(&mut self, kind: Kind, everything: bool) {
        let names = if everything { "*" } else { MYSQL_TRACKED };
        let sql = tracking_statement(names);
        self.query(kind, Step::Tracking, sql.as_bytes());
    }

    fn query(&mut self, kind: Kind, step: Step, sql: &[u8]) {
        query(kind.capabilities, sql, &mut self.bytes);
        self.steps.push(step);
    }

    /// One write, then one reply each.
    async fn run(
        self,
        channel: &mut Channel<'_>,
        caps: u64,
    ) -> Result<Vec<(Step, Reply)>, Trouble> {
        channel.send_framed(self.bytes);
        let mut replies = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            replies.push((step, channel.reply(caps).await?));
        }
        Ok(replies)
    }
}
