//! Session state as a value: what a connection's session looks like, compared and interned.
use crate::topology::Greeting;
use crate::wire::reply::Change;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use super::variables::{replay_policy, Replay};

/// The four character set variables that every [`State`] carries, sorted by name.
pub const CHARACTER_SETS: [&[u8]; 4] = [
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"collation_connection",
];

/// Not a variable of any server: the collation that came with character_set_results, by the handshake or by SET NAMES
/// … COLLATE, whose number column definitions carry. Absent: the character set's default.
pub const RESULTS_COLLATION: &[u8] = b"collation_results";

/// Not a variable of any server: COM_RESET_CONNECTION kept the schema, but not its collation. Until the next USE
/// @@collation_database, which LOAD DATA and SET CHARACTER SET go by, is the global one.
pub(super) const SCHEMA_AFTER_RESET: &[u8] = b"schema_after_reset";

/// Session state that can be replayed on a connection by statements: schema and session variables that
/// differ from what a new connection has. Interned per worker: equal states are one `Rc`, so that
/// "this connection already fits" is one pointer comparison.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// In UTF-8, as the server's session tracker reports it.
    pub schema: Option<Box<[u8]>>,
    /// Sorted by name (lower case). The four character set variables (character_set_client,
    /// character_set_results, character_set_connection, collation_connection) are always present; others only
    /// when SET. Values as the session tracker writes them: an empty character set is NULL; an empty
    /// collation_connection is the default collation of character_set_connection. [`RESULTS_COLLATION`] beside them.
    pub variables: Vec<Variable>,
    /// User variables that were set to literals: lower-case name and the expression that sets it again, sorted by
    /// name. Others bind a session to its connection.
    pub user: Vec<Variable>,
}

/// Name and value.
pub type Variable = (Box<[u8]>, Box<[u8]>);

impl State {
    /// The same with another schema; an empty name: none is selected (the tracker's report after DROP DATABASE).
    pub fn with_schema(&self, schema: &[u8]) -> State {
        let mut next = self.clone();
        next.schema = (!schema.is_empty()).then(|| schema.into());
        next.variables
            .retain(|(name, _)| name.as_ref() != SCHEMA_AFTER_RESET);
        next
    }

    /// The same with the schema that a client kept over its COM_RESET_CONNECTION to a MariaDB.
    pub fn with_schema_after_reset(&self, schema: Option<Box<[u8]>>) -> State {
        let mut next = self.clone();
        if schema.is_some() {
            next.put(SCHEMA_AFTER_RESET, b"");
        }
        next.schema = schema;
        next
    }

    /// Whether COM_RESET_CONNECTION has left the schema without its collation.
    pub(super) fn is_after_reset(&self) -> bool {
        self.variable(SCHEMA_AFTER_RESET).is_some()
    }

    /// The same with user variables that were set to literals: name and expression.
    pub fn with_user_variables(&self, set: Vec<Variable>) -> State {
        let mut next = self.clone();
        for (name, expression) in set {
            match next.user.binary_search_by(|(n, _)| n.cmp(&name)) {
                Ok(at) => next.user[at].1 = expression,
                Err(at) => next.user.insert(at, (name, expression)),
            }
        }
        next
    }

    /// Bytes of all user variables together.
    pub fn user_size(&self) -> usize {
        let size = |(name, value): &Variable| name.len() + value.len();
        self.user.iter().map(size).sum()
    }

    /// The same with one variable set. Variables that are no state ([`Replay::Never`]) change nothing.
    pub fn with_variable(&self, name: &[u8], value: &[u8]) -> State {
        let mut next = self.clone();
        next.put(name, value);
        next
    }

    /// The same after the session tracker reported one variable. Unlike [`State::with_variable`] it draws the
    /// conclusions that servers leave to the reader: SET NAMES reports no collation, and
    /// SET collation_connection no character set.
    pub fn with_tracked(&self, name: &[u8], value: &[u8]) -> State {
        let mut next = self.with_variable(name, value);
        if name.eq_ignore_ascii_case(b"character_set_connection") {
            // The default of the character set, unless the statement's text has a COLLATE.
            next.put(b"collation_connection", b"");
        } else if name.eq_ignore_ascii_case(b"collation_connection") {
            next.put(b"character_set_connection", character_set_of(value));
        } else if name.eq_ignore_ascii_case(b"character_set_results") {
            next.variables
                .retain(|(name, _)| name.as_ref() != RESULTS_COLLATION);
        }
        next
    }

    /// The same after everything that one OK packet reported. A collation in the same report is the one that
    /// holds, wherever in it the server put it.
    pub fn with_changes(&self, changes: &[Change]) -> State {
        let implies = |change: &&Change| matches!(change, Change::Variable { name, .. } if name == b"character_set_connection");
        let (first, rest): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(implies);
        let mut next = self.clone();
        for change in first.into_iter().chain(rest) {
            next = match change {
                Change::Variable { name, value } => next.with_tracked(name, value),
                Change::Schema(name) => next.with_schema(name),
                _ => next,
            };
        }
        next
    }

    /// What a user variable was set to, as an expression; its name in lower case.
    pub fn user_variable(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.user.binary_search_by(|(n, _)| n.as_ref().cmp(name));
        self.user.get(at.ok()?).map(|(_, value)| value.as_ref())
    }

    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self
            .variables
            .binary_search_by(|(n, _)| n.as_ref().cmp(name))
            .ok()?;
        self.variables.get(at).map(|(_, value)| value.as_ref())
    }

    /// With `sql_auto_is_null`, `WHERE id IS NULL` finds what the connection inserted last, whoever that was.
    pub fn is_auto_is_null(&self) -> bool {
        let value = self.variable(b"sql_auto_is_null");
        value.is_some_and(|value| matches!(value, b"ON" | b"1"))
    }

    /// Schema and everything SET forgotten; the character sets stay: what a connection has after set-up.
    pub(super) fn base(&self, schema: Option<Box<[u8]>>) -> State {
        let keep = |(name, _): &&Variable| {
            CHARACTER_SETS.contains(&name.as_ref()) || name.as_ref() == RESULTS_COLLATION
        };
        State {
            schema,
            variables: self.variables.iter().filter(keep).cloned().collect(),
            user: Vec::new(),
        }
    }

    fn put(&mut self, name: &[u8], value: &[u8]) {
        let name = name.to_ascii_lowercase();
        if replay_policy(&name) == Replay::Never {
            return;
        }
        let value = normal(&name, value);
        match self
            .variables
            .binary_search_by(|(n, _)| n.as_ref().cmp(&name))
        {
            Ok(at) => self.variables[at].1 = value,
            Err(at) => self.variables.insert(at, (name.into(), value)),
        }
    }
}

/// One spelling for values that statements and trackers write differently, so that equal states are equal.
fn normal(name: &[u8], value: &[u8]) -> Box<[u8]> {
    let on = value == b"1" || value.eq_ignore_ascii_case(b"ON");
    let off = value == b"0" || value.eq_ignore_ascii_case(b"OFF");
    match name {
        b"autocommit" | b"transaction_read_only" | b"tx_read_only" if on => (*b"ON").into(),
        b"autocommit" | b"transaction_read_only" | b"tx_read_only" if off => (*b"OFF").into(),
        _ if CHARACTER_SETS.contains(&name) => value.to_ascii_lowercase().into(),
        _ => value.into(),
    }
}

/// Every collation's name begins with its character set's.
pub(super) fn character_set_of(collation: &[u8]) -> &[u8] {
    collation.split(|&b| b == b'_').next().unwrap_or(collation)
}

/// The state a new connection has after login with this collation (the four character set variables).
/// A collation that nobody knows means the group's default, as servers do it.
pub fn initial_state(collation: u16, greeting: &Greeting) -> State {
    let (collation, set) = named(collation, greeting)
        .or_else(|| named(u16::from(greeting.collation), greeting))
        .unwrap_or(("utf8mb4_general_ci", "utf8mb4"));
    let mut state = State::default();
    for (name, value) in CHARACTER_SETS.iter().zip([set, set, set, collation]) {
        state.put(name, value.as_bytes());
    }
    state.put(RESULTS_COLLATION, collation.as_bytes());
    state
}

/// The character set of this collation if servers cannot read statements in it, and refuse a login or a change of user with it.
pub fn not_for_clients(collation: u16, greeting: &Greeting) -> Option<&str> {
    let (_, set) = named(collation, greeting)?;
    ["ucs2", "utf16", "utf16le", "utf32"]
        .contains(&set)
        .then_some(set)
}

fn named(id: u16, greeting: &Greeting) -> Option<(&str, &str)> {
    if let Some((collation, set)) = greeting.collations.get(&id) {
        return Some((collation, set));
    }
    // servers that were asked and do not know it: then it is their default that counts
    if !greeting.collations.is_empty() {
        return None;
    }
    COMMON_COLLATIONS
        .iter()
        .find(|known| known.0 == id)
        .map(|known| (known.1, known.2))
}

/// Until the servers were asked. The same ids in every MySQL and MariaDB.
const COMMON_COLLATIONS: [(u16, &str, &str); 14] = [
    (8, "latin1_swedish_ci", "latin1"),
    (11, "ascii_general_ci", "ascii"),
    (28, "gbk_chinese_ci", "gbk"),
    (33, "utf8_general_ci", "utf8"),
    (45, "utf8mb4_general_ci", "utf8mb4"),
    (46, "utf8mb4_bin", "utf8mb4"),
    (47, "latin1_bin", "latin1"),
    (48, "latin1_general_ci", "latin1"),
    (63, "binary", "binary"),
    (83, "utf8_bin", "utf8"),
    (192, "utf8_unicode_ci", "utf8"),
    (224, "utf8mb4_unicode_ci", "utf8mb4"),
    (246, "utf8mb4_unicode_520_ci", "utf8mb4"),
    (255, "utf8mb4_0900_ai_ci", "utf8mb4"),
];

/// Per worker. Bounded: states nobody uses are dropped.
pub struct StateTable {
    inner: RefCell<Table>,
}

struct Table {
    hasher: ahash::RandomState,
    /// By hash; entries of equal hash share a bucket.
    buckets: HashMap<u64, Vec<Weak<State>>, ahash::RandomState>,
    entries: usize,
    /// Unused states are looked for when there are this many entries.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 256;

impl Default for StateTable {
    fn default() -> Self {
        StateTable::new()
    }
}

impl StateTable {
    pub fn new() -> Self {
        let hasher = ahash::RandomState::new();
        let buckets = HashMap::with_hasher(hasher.clone());
        StateTable {
            inner: RefCell::new(Table {
                hasher,
                buckets,
                entries: 0,
                sweep_at: FIRST_SWEEP,
            }),
        }
    }

    /// The one `Rc` of this state in the worker.
    pub fn intern(&self, state: State) -> Rc<State> {
        let mut table = self.inner.borrow_mut();
        let hash = table.hasher.hash_one(&state);
        if let Some(known) = table.find(hash, &state) {
            return known;
        }
        if table.entries >= table.sweep_at {
            table.sweep();
        }
        let new = Rc::new(state);
        table
            .buckets
            .entry(hash)
            .or_default()
            .push(Rc::downgrade(&new));
        table.entries += 1;
        new
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.inner.borrow().entries
    }
}

impl Table {
    fn find(&self, hash: u64, state: &State) -> Option<Rc<State>> {
        let bucket = self.buckets.get(&hash)?;
        bucket
            .iter()
            .filter_map(Weak::upgrade)
            .find(|known| known.as_ref() == state)
    }

    /// Drops what nobody uses; the next sweep comes when the rest has doubled, so that it costs little a state.
    fn sweep(&mut self) {
        self.buckets.retain(|_, bucket| {
            bucket.retain(|state| state.strong_count() > 0);
            !bucket.is_empty()
        });
        self.entries = self.buckets.values().map(Vec::len).sum();
        self.sweep_at = (self.entries * 2).max(FIRST_SWEEP);
    }
}
