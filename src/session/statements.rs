//! The client's prepared statements: its ids, and what is needed to run each on any connection.
use super::parameter_types::{label, Known, Types};
use super::pins::Pins;
use crate::backend::{State, StatementKey};
use crate::policy::Passed;
use crate::sniff::{About, Dialect, Sniffed};
use crate::wire::prepare::LongData;
use crate::wire::reply;
use ahash::AHashMap;
use sha2::{Digest, Sha256};
use std::rc::Rc;

/// A server allows 16,382 prepared statements in all by default (max_prepared_stmt_count); a session here
/// may have as many as that, and Umpire prepares lazily on far fewer connections.
pub const LIMIT: usize = 16_382;

/// One COM_STMT_PREPARE of the client. Per session.
pub struct Statement {
    pub text: Rc<[u8]>,
    pub sniffed: Sniffed,
    pub parameters: u16,
    /// Schema and variables it was prepared under: names in it mean what they meant then.
    pub state: Rc<State>,
    pub key: StatementKey,
    /// Unique in the worker: whose parameter types a server remembers.
    pub token: u64,
    /// The types of the last EXECUTE that carried some.
    pub types: Option<Box<[u8]>>,
    /// What a MySQL server has made of its parameters by now.
    pub parameter_types: Known,
    /// And will have made after the EXECUTE that runs, if they change.
    pub becoming: Option<Known>,
    /// Where the connection has the server's statement, while an EXECUTE that runs gives it its types. Rare.
    pub proving: Option<Box<StatementKey>>,
    /// It gives rows.
    pub rows: bool,
    /// COM_STMT_SEND_LONG_DATA came since the last EXECUTE.
    pub long_data: bool,
    /// A cursor is open on the held connection.
    pub cursor: bool,
    /// Long data could not be delivered: EXECUTE answers with this.
    pub failed: Option<reply::Err>,
    /// How `text` was read.
    pub dialect: Dialect,
    /// What policies said of it last.
    pub passed: Passed,
    /// Known once it was executed where anything is noted of statements.
    pub about: Option<About>,
    /// Long data since the last EXECUTE, of a statement that is planned.
    pub long: Option<Box<LongData>>,
    /// Rules were last asked in this epoch of the topology.
    pub ruled: u64,
    /// Planned at each EXECUTE.
    pub sharded: bool,
}

/// Of a parameter's long data, besides its bytes.
const PLACE: usize = 64;

impl Statement {
    /// Bytes of its long data.
    fn long_bytes(&self) -> usize {
        let long = self.long.as_deref();
        long.map_or(0, |long| long.values().map(|data| PLACE + data.len()).sum())
    }

    /// Where a connection has it, as the session has executed it.
    pub fn place(&self) -> StatementKey {
        self.key.with_types(label(&self.parameter_types))
    }

    /// Nobody else has a statement like this from now on.
    pub fn keep_to_itself(&mut self) {
        self.key = StatementKey(self.key.0.wrapping_add(u128::from(self.token)));
    }

    /// What of it is on the session's connection.
    pub fn pins(&self) -> Pins {
        let mut pins = Pins::empty();
        pins.set(Pins::CURSOR, self.cursor);
        pins.set(Pins::LONG_DATA, self.long_data);
        pins
    }
}

/// Per session.
#[derive(Default)]
pub struct Statements {
    by_id: AHashMap<u32, Statement>,
    /// Also what COM_STMT_EXECUTE with id 0xffffffff means (MariaDB: the last one prepared).
    last_id: u32,
    /// Bytes of all of them; a connection's ceiling is below 4 GiB.
    bytes: u32,
}

/// MariaDB's "the statement that was prepared last".
const LATEST: u32 = u32::MAX;

impl Statements {
    pub fn is_full(&self) -> bool {
        self.by_id.len() >= LIMIT
    }

    /// The id that the next statement will get; ids are never used twice in a session's life, until
    /// four thousand million of them are.
    pub fn next_id(&self) -> u32 {
        let mut id = self.last_id;
        loop {
            id = id.wrapping_add(1);
            if id != 0 && id != LATEST && !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    pub fn insert(&mut self, id: u32, statement: Statement) {
        self.last_id = id;
        let cost = cost(statement.text.len(), statement.parameters);
        self.bytes = self.bytes.saturating_add(cost as u32);
        if let Some(old) = self.by_id.insert(id, statement) {
            self.forget(&old);
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    fn forget(&mut self, statement: &Statement) {
        let cost = cost(statement.text.len(), statement.parameters) + statement.long_bytes();
        self.bytes = self.bytes.saturating_sub(cost as u32);
    }

    /// More of a parameter's value, for a statement that is planned.
    pub fn add_long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        if let Some(statement) = self.by_id.get_mut(&id) {
            let long = statement.long.get_or_insert_default();
            let known = long.len();
            long.entry(parameter).or_default().extend_from_slice(data);
            let grown = data.len() + PLACE * (long.len() - known);
            self.bytes = self.bytes.saturating_add(grown as u32);
        }
    }

    /// An EXECUTE uses them, or nobody will.
    pub fn take_long_data(&mut self, id: u32) -> LongData {
        let Some(statement) = self.by_id.get_mut(&id) else {
            return LongData::new();
        };
        self.bytes = self.bytes.saturating_sub(statement.long_bytes() as u32);
        statement
            .long
            .take()
            .map_or_else(LongData::new, |long| *long)
    }

    pub fn resolve(&self, id: u32) -> u32 {
        if id == LATEST {
            self.last_id
        } else {
            id
        }
    }

    pub fn look(&self, id: u32) -> Option<&Statement> {
        self.by_id.get(&id)
    }

    pub fn get(&mut self, id: u32) -> Option<&mut Statement> {
        self.by_id.get_mut(&id)
    }

    /// Another statement of the same text has a cursor or long data on the connection: this one becomes a
    /// statement of its own there.
    pub fn keep_apart(&mut self, id: u32) {
        let Some(key) = self.by_id.get(&id).map(|s| s.key) else {
            return;
        };
        let busy = |s: &Statement| s.cursor || s.long_data;
        let shared = self
            .by_id
            .iter()
            .any(|(other, s)| *other != id && s.key == key && busy(s));
        if let (true, Some(statement)) = (shared, self.by_id.get_mut(&id)) {
            statement.keep_to_itself();
        }
    }

    /// The connection with cursors and long data is gone.
    pub fn lose_connection(&mut self) {
        for statement in self.by_id.values_mut() {
            (statement.cursor, statement.long_data) = (false, false);
        }
    }

    /// Statements of which something is on the held connection.
    pub fn busy(&self) -> Vec<StatementKey> {
        let busy = self.by_id.values().filter(|s| s.cursor || s.long_data);
        busy.map(Statement::place).collect()
    }

    pub fn remove(&mut self, id: u32) -> Option<Statement> {
        let statement = self.by_id.remove(&id)?;
        self.forget(&statement);
        Some(statement)
    }

    pub fn clear(&mut self) {
        self.by_id = AHashMap::default();
        self.bytes = 0;
    }

    pub fn pins(&self) -> Pins {
        let each = self.by_id.values().map(Statement::pins);
        each.fold(Pins::empty(), Pins::union)
    }
}

/// Bytes that a statement of so long a text takes at most: itself, its place in the table, the types of its parameters.
pub fn cost(text: usize, parameters: u16) -> usize {
    const PLACE: usize = 16;
    let types = Types::cost(parameters) + 2 * usize::from(parameters);
    size_of::<Statement>() + PLACE + text + types
}

/// Text and the state it was prepared under, as one identity that all sessions of an account share. `typed`: it names
/// user variables, whose types are taken when it is prepared.
pub fn key_of(text: &[u8], state: &State, typed: bool) -> StatementKey {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(text);
    part(state.schema.as_deref().unwrap_or_default());
    let user = state.user.iter().filter(|_| typed);
    for (name, value) in state.variables.iter().chain(user) {
        part(name);
        part(value);
    }
    let digest = hash.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    StatementKey(u128::from_le_bytes(first))
}
