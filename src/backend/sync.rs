//! From the state a connection has to the state a session wants: how far, and by which commands.
use super::state::{
    character_set_of, State, CHARACTER_SETS, RESULTS_COLLATION, SCHEMA_AFTER_RESET,
};
use crate::wire::{capabilities, command, packet};
use std::cmp::Ordering;
use std::rc::Rc;

/// How far a connection's state is from the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Nothing to send.
    Exact,
    /// Number of commands (at most; a guarded connection may need fewer).
    Sync(usize),
    /// A schema cannot be unselected, nor MySQL's user variables or an insert's id be forgotten: needs COM_CHANGE_USER or another connection.
    Impossible,
}

/// How far `have` is from `want`. Interned states: equal ones are one pointer. On MySQL a user variable of another session
/// would show: set to NULL it has a type and a collation, and one that nobody set has others.
pub fn fit(have: &Rc<State>, want: &Rc<State>, mariadb: bool) -> Fit {
    if Rc::ptr_eq(have, want) {
        return Fit::Exact;
    }
    if have.schema.is_some() && want.schema.is_none() || lacks_character_sets(have, want) {
        return Fit::Impossible;
    }
    if want.is_auto_is_null() && !have.is_auto_is_null() {
        return Fit::Impossible;
    }
    let is_others = |name: &[u8]| want.user_variable(name).is_none();
    if !mariadb && have.user.iter().any(|(name, _)| is_others(name)) {
        return Fit::Impossible;
    }
    let schema = usize::from(needs_use(have, want));
    let variables = usize::from(have.variables != want.variables || have.user != want.user);
    match schema + variables {
        0 => Fit::Exact,
        commands => Fit::Sync(commands),
    }
}

/// USE also brings back the collation of a schema that a reset has left without it.
fn needs_use(have: &State, want: &State) -> bool {
    have.schema != want.schema || have.is_after_reset() && !want.is_after_reset()
}

/// A character set that `want` does not name has no default to go back to: the handshake decided it.
fn lacks_character_sets(have: &State, want: &State) -> bool {
    have.variables.len() != want.variables.len()
        && CHARACTER_SETS
            .iter()
            .any(|name| have.variable(name).is_some() && want.variable(name).is_none())
}

/// [`sync_commands_with`] for a connection without CLIENT_QUERY_ATTRIBUTES.
pub fn sync_commands(have: &State, want: &State, guarded: bool, out: &mut Vec<u8>) -> usize {
    sync_commands_with(have, want, guarded, 0, out)
}

/// Appends the framed commands (COM_INIT_DB, COM_QUERY "SET …") that turn `have` into `want`; returns how many
/// replies will come. Values are quoted so that neither sql_mode nor character set can change their meaning.
/// `guarded` connections (replicas) keep their own transaction_read_only. `capabilities` are the
/// connection's: they decide the form of COM_QUERY. The states must not be [`Fit::Impossible`].
pub fn sync_commands_with(
    have: &State,
    want: &State,
    guarded: bool,
    caps: u64,
    out: &mut Vec<u8>,
) -> usize {
    debug_assert!(
        have.schema.is_none() || want.schema.is_some(),
        "a schema cannot be unselected"
    );
    let mut commands = 0;
    let mut client_changed = false;
    let selected;
    let mut have = have;
    if let Some(schema) = want.schema.as_deref().filter(|_| needs_use(have, want)) {
        if !schema.is_ascii() && !reads_utf8(have) {
            // The name is read in character_set_client, and we know it in UTF-8.
            query(caps, b"SET @@SESSION.character_set_client=utf8mb4", out);
            client_changed = true;
            commands += 1;
        }
        framed(out, |out| {
            out.push(command::INIT_DB);
            out.extend_from_slice(schema);
        });
        commands += 1;
        if have.is_after_reset() {
            selected = have.with_schema(schema);
            have = &selected;
        }
    }
    if have.variables != want.variables || have.user != want.user || client_changed {
        commands += usize::from(set_variables(
            have,
            want,
            guarded,
            client_changed,
            caps,
            out,
        ));
    }
    commands
}

fn reads_utf8(state: &State) -> bool {
    state
        .variable(b"character_set_client")
        .is_some_and(|set| set.starts_with(b"utf8"))
}

/// One SET for all variables. False (and nothing appended) if there is nothing to set after all.
fn set_variables(
    have: &State,
    want: &State,
    guarded: bool,
    client: bool,
    caps: u64,
    out: &mut Vec<u8>,
) -> bool {
    let start = out.len();
    let mut any = false;
    framed(out, |out| {
        query_head(caps, out);
        let mut next = |out: &mut Vec<u8>| {
            out.extend_from_slice(if any { b"," } else { b"SET " });
            any = true;
        };
        let names = names_needed(have, want);
        if let Some(collation) = names {
            next(out);
            names_collate(collation, out);
            for name in after_names(want, collation, client) {
                next(out);
                assignment(name, want.variable(name), want, out);
            }
        } else if client {
            next(out);
            let name = b"character_set_client";
            assignment(name, want.variable(name), want, out);
        }
        let done = |name: &[u8]| {
            names.is_some() && CHARACTER_SETS.contains(&name)
                || client && name == b"character_set_client"
        };
        differences(have, want, |name, value| {
            if name == SCHEMA_AFTER_RESET {
                // a USE has taken it away already
                if value.is_some() {
                    next(out);
                    out.extend_from_slice(GLOBAL_COLLATION);
                }
            } else if !skips(name, guarded) && !done(name) {
                next(out);
                assignment(name, value, want, out);
            }
        });
        set_user_variables(have, want, next, out);
    });
    if !any {
        out.truncate(start);
    }
    any
}

const GLOBAL_COLLATION: &[u8] = b"@@SESSION.collation_database=@@GLOBAL.collation_database";

/// The collation that only SET NAMES … COLLATE can bring to character_set_results.
fn names_needed<'a>(have: &State, want: &'a State) -> Option<&'a [u8]> {
    let wanted = want.variable(RESULTS_COLLATION);
    wanted.filter(|_| have.variable(RESULTS_COLLATION) != wanted)
}

fn names_collate(collation: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"NAMES ");
    literal(RESULTS_COLLATION, character_set_of(collation), out);
    out.extend_from_slice(b" COLLATE ");
    literal(RESULTS_COLLATION, collation, out);
}

/// What SET NAMES … COLLATE left different from what is wanted. `client`: of unknown value either way.
fn after_names<'a>(want: &'a State, collation: &'a [u8], client: bool) -> Vec<&'static [u8]> {
    let set = character_set_of(collation);
    let mut left: Vec<&'static [u8]> = Vec::new();
    if client || want.variable(b"character_set_client") != Some(set) {
        left.push(b"character_set_client");
    }
    if want.variable(b"collation_connection") != Some(collation) {
        left.push(b"collation_connection");
    }
    left
}

/// A variable that nobody set has no type; setting it to NULL again leaves it that of a binary string.
fn set_user_variables(
    have: &State,
    want: &State,
    mut next: impl FnMut(&mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let of = |state: &State, name: &[u8]| {
        let at = state.user.binary_search_by(|(n, _)| n.as_ref().cmp(name));
        at.ok().and_then(|at| state.user.get(at).cloned())
    };
    for (name, _) in have.user.iter().filter(|(n, _)| of(want, n).is_none()) {
        next(out);
        user_variable(name, b"/*M! _binary*/''", out);
        next(out);
        user_variable(name, b"NULL", out);
    }
    for (name, value) in &want.user {
        if of(have, name).is_none_or(|(_, before)| before != *value) {
            next(out);
            user_variable(name, value, out);
        }
    }
}

fn user_variable(name: &[u8], expression: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"@`");
    for byte in name {
        out.push(*byte);
        if *byte == b'`' {
            out.push(b'`');
        }
    }
    out.extend_from_slice(b"`=");
    out.extend_from_slice(expression);
}

/// collation_connection implies character_set_connection; a guard is not the client's to change.
fn skips(name: &[u8], guarded: bool) -> bool {
    name == b"character_set_connection" || name == RESULTS_COLLATION || guarded && is_guard(name)
}

/// The variables behind SET SESSION TRANSACTION READ ONLY, by the names that servers report.
pub(super) fn is_guard(name: &[u8]) -> bool {
    matches!(name, b"transaction_read_only" | b"tx_read_only")
}

/// Walks two sorted lists; `None`: back to the default. The collation is visited when only the character
/// set changed too, since it is what carries the change.
fn differences<'a>(
    have: &'a State,
    want: &'a State,
    mut each: impl FnMut(&'a [u8], Option<&'a [u8]>),
) {
    let (mut h, mut w) = (
        have.variables.iter().peekable(),
        want.variables.iter().peekable(),
    );
    let connection_moved =
        have.variable(b"character_set_connection") != want.variable(b"character_set_connection");
    let results_moved = have.variable(RESULTS_COLLATION) != want.variable(RESULTS_COLLATION);
    loop {
        let order = match (h.peek(), w.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let old = if order.is_le() { h.next() } else { None };
        let new = if order.is_ge() { w.next() } else { None };
        match (old, new) {
            (Some((name, _)), None) => each(name, None),
            (None, Some((name, value))) => each(name, Some(value)),
            (Some((_, before)), Some((name, value))) => {
                let moved = match name.as_ref() {
                    b"collation_connection" => connection_moved,
                    b"character_set_results" => results_moved,
                    _ => false,
                };
                if before != value || moved {
                    each(name, Some(value));
                }
            }
            (None, None) => return,
        }
    }
}

/// Appends the assignments of all character sets of `state` (for a connection whose own are not known).
pub(super) fn assign_character_sets(state: &State, out: &mut Vec<u8>) {
    let mut separator: &[u8] = b"";
    if let Some(collation) = state.variable(RESULTS_COLLATION) {
        names_collate(collation, out);
        for name in after_names(state, collation, false) {
            out.push(b',');
            assignment(name, state.variable(name), state, out);
        }
        return;
    }
    for name in CHARACTER_SETS.iter().filter(|name| !skips(name, false)) {
        out.extend_from_slice(separator);
        assignment(name, state.variable(name), state, out);
        separator = b",";
    }
}

/// `@@SESSION.name=value`. The scope is written for each: without it some variables mean "next transaction".
fn assignment(name: &[u8], value: Option<&[u8]>, state: &State, out: &mut Vec<u8>) {
    if name == b"collation_connection" && value.is_some_and(<[u8]>::is_empty) {
        out.extend_from_slice(b"@@SESSION.character_set_connection=");
        literal(
            b"character_set_connection",
            state
                .variable(b"character_set_connection")
                .unwrap_or_default(),
            out,
        );
        return;
    }
    out.extend_from_slice(b"@@SESSION.");
    out.extend_from_slice(name);
    out.push(b'=');
    match value {
        None if OPPOSITE_DEFAULT.contains(&name) => {
            out.extend_from_slice(b"@@GLOBAL.");
            out.extend_from_slice(name);
        }
        None => out.extend_from_slice(b"DEFAULT"),
        Some(value) => literal(name, value, out),
    }
}

/// MySQL keeps the opposite of their values, and `= DEFAULT` sets the opposite of the global one (seen in 9.7).
const OPPOSITE_DEFAULT: [&[u8]; 2] = [b"foreign_key_checks", b"unique_checks"];

/// A value as SQL that means the same under every sql_mode and character set: hexadecimal as soon as a
/// quote, a backslash or anything but printable ASCII occurs.
fn literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if value.is_empty() && name.starts_with(b"character_set_") {
        out.extend_from_slice(b"NULL");
    } else if is_number(value) {
        out.extend_from_slice(value);
    } else if value
        .iter()
        .all(|&b| (b' '..=b'~').contains(&b) && b != b'\'' && b != b'\\')
    {
        out.push(b'\'');
        out.extend_from_slice(value);
        out.push(b'\'');
    } else {
        out.extend_from_slice(b"_utf8mb4 x'");
        for byte in value {
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
        out.push(b'\'');
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// `-12`, `1234.000000`, `1e-05`: numeric variables refuse a quoted number (1232).
fn is_number(value: &[u8]) -> bool {
    let unsigned = value.strip_prefix(b"-").unwrap_or(value);
    let (mantissa, exponent) = match unsigned.iter().position(|b| b.eq_ignore_ascii_case(&b'e')) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |s: &[u8]| !s.is_empty() && s.iter().all(u8::is_ascii_digit);
    let whole = match mantissa.iter().position(|&b| b == b'.') {
        Some(at) => digits(&mantissa[..at]) && digits(&mantissa[at + 1..]),
        None => digits(mantissa),
    };
    let signed = |s: &[u8]| digits(s.strip_prefix(b"-").or(s.strip_prefix(b"+")).unwrap_or(s));
    whole && exponent.is_none_or(signed)
}

/// Appends a framed COM_QUERY.
pub(super) fn query(caps: u64, sql: &[u8], out: &mut Vec<u8>) {
    framed(out, |out| {
        query_head(caps, out);
        out.extend_from_slice(sql);
    });
}

/// Command byte and, where negotiated, "no query attributes, one set of them".
fn query_head(caps: u64, out: &mut Vec<u8>) {
    out.push(command::QUERY);
    if caps & capabilities::QUERY_ATTRIBUTES != 0 {
        out.extend_from_slice(&[0, 1]);
    }
}

/// Frames what `write` appends as one command (sequence 0).
pub(super) fn framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; packet::HEADER]);
    write(out);
    let length = out.len() - start - packet::HEADER;
    if length < packet::MAX_PAYLOAD {
        let bytes = (length as u32).to_le_bytes();
        out[start..start + 3].copy_from_slice(&bytes[..3]);
    } else {
        let payload = out.split_off(start + packet::HEADER);
        out.truncate(start);
        packet::frame(&payload, 0, out);
    }
}
