//! Runs a script against one port and keeps everything that came back.
use crate::common::raw::change_user_body;
use crate::common::reply::{Reply, ServerError};
use crate::common::{Login, RawClient};
use crate::script::{Leave, Random, Script, Step};
use std::io;
use umpire::wire::capabilities as cap;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const RESET: u8 = 0x1a;
const FETCH: u8 = 0x1c;

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Reply(Box<Reply>),
    /// Nothing to ask for, or a command without a reply.
    Nothing,
    Closed,
}

impl Outcome {
    pub fn error(&self) -> Option<&ServerError> {
        match self {
            Outcome::Reply(reply) => reply.error.as_ref(),
            _ => None,
        }
    }
}

/// A statement as its client knows it.
struct Prepared {
    id: u32,
    parameters: usize,
    /// Of the last EXECUTE that sent some.
    types: Option<Vec<u8>>,
    /// Which parameters are NULL each time, where they are of one kind.
    nulls: Option<Vec<bool>>,
}

pub fn run(port: u16, script: &Script) -> Vec<Outcome> {
    let mut client = RawClient::login(port, &script.login).expect("login");
    let mut prepared: Vec<Prepared> = Vec::new();
    let mut outcomes = Vec::new();
    for step in &script.steps {
        let outcome = perform(&mut client, step, &mut prepared, script);
        let closed = outcome.is_err();
        outcomes.push(outcome.unwrap_or(Outcome::Closed));
        if closed {
            break;
        }
    }
    match script.leave {
        Leave::Quit => drop(client.send_command(0x01, b"")),
        Leave::Vanish => {}
        Leave::VanishInStatement => drop(client.send_command(QUERY, b"SELECT SLEEP(0.05)")),
    }
    outcomes
}

fn perform(
    client: &mut RawClient,
    step: &Step,
    prepared: &mut Vec<Prepared>,
    script: &Script,
) -> io::Result<Outcome> {
    let (command, body) = match step {
        Step::Query(sql) => (
            QUERY,
            sql.replace("$c", &client.hello.connection_id.to_string())
                .into_bytes(),
        ),
        Step::Command(byte, body) => (*byte, body.clone()),
        Step::Prepare(sql) => (PREPARE, sql.clone().into_bytes()),
        Step::ChangeUser => return change_user(client, &script.login),
        Step::Execute { back, .. }
        | Step::Fetch { back, .. }
        | Step::LongData { back, .. }
        | Step::CloseStatement { back }
        | Step::ResetStatement { back } => {
            let at = prepared.len().checked_sub(back + 1);
            match at.and_then(|at| prepared.get_mut(at)) {
                Some(statement) => of_statement(step, statement, script.one_kind),
                None => return Ok(Outcome::Nothing),
            }
        }
    };
    if matches!(command, CLOSE | LONG_DATA) {
        client.send_command(command, &body)?;
        return Ok(Outcome::Nothing);
    }
    let mut reply = client.command(command, &body)?;
    if let (PREPARE, Some(ok)) = (command, reply.prepared.as_mut()) {
        prepared.push(Prepared {
            id: std::mem::take(&mut ok.id),
            parameters: ok.parameters.into(),
            types: None,
            nulls: None,
        });
    }
    comparable(&mut reply, client.capabilities);
    Ok(Outcome::Reply(Box::new(reply)))
}

fn change_user(client: &mut RawClient, login: &Login) -> io::Result<Outcome> {
    let scramble = client.hello.scramble.clone();
    client.send_command(0x11, &change_user_body(login, &scramble))?;
    Ok(match client.follow_login(login) {
        Ok(()) => Outcome::Nothing,
        Err(_) => Outcome::Closed,
    })
}

fn of_statement(step: &Step, statement: &mut Prepared, one_kind: bool) -> (u8, Vec<u8>) {
    let mut body = statement.id.to_le_bytes().to_vec();
    let command = match step {
        Step::Execute {
            seed,
            types,
            cursor,
            ..
        } => {
            body.extend([u8::from(*cursor), 1, 0, 0, 0]);
            execute(&mut body, statement, (*seed, *types), one_kind);
            EXECUTE
        }
        Step::Fetch { rows, .. } => {
            body.extend(rows.to_le_bytes());
            FETCH
        }
        Step::LongData { bytes, .. } => {
            body.extend([0, 0]);
            body.extend(bytes);
            LONG_DATA
        }
        Step::CloseStatement { .. } => CLOSE,
        _ => RESET,
    };
    (command, body)
}

/// BIGINT, DOUBLE, VAR_STRING, DATETIME, TINY unsigned, BLOB, NEWDECIMAL.
const TYPES: [[u8; 2]; 7] = [
    [8, 0],
    [5, 0],
    [253, 0],
    [12, 0],
    [1, 0x80],
    [252, 0],
    [246, 0],
];

/// Types with an EXECUTE that the script wants them with; without, the values are of the types that were sent
/// before, or bigints.
fn execute(
    body: &mut Vec<u8>,
    statement: &mut Prepared,
    (seed, types): (u64, bool),
    one_kind: bool,
) {
    let mut random = Random(seed);
    let count = statement.parameters;
    if count == 0 {
        return;
    }
    let now: Vec<u8> = (0..count)
        .flat_map(|_| TYPES[random.below(TYPES.len() as u64) as usize])
        .collect();
    if types && !(one_kind && statement.types.is_some()) {
        statement.types = Some(now);
    }
    let bigints = [8, 0].repeat(count);
    let these = statement.types.as_ref().unwrap_or(&bigints);
    let mut nulls: Vec<bool> = (0..count).map(|_| random.below(6) == 0).collect();
    if one_kind {
        nulls.clone_from(statement.nulls.get_or_insert(nulls.clone()));
    }
    let mut bitmap = vec![0u8; count.div_ceil(8)];
    for (at, _) in nulls.iter().enumerate().filter(|(_, null)| **null) {
        bitmap[at / 8] |= 1 << (at % 8);
    }
    body.extend(bitmap);
    body.push(u8::from(types));
    if types {
        body.extend(these);
    }
    for (kind, _) in these.chunks(2).zip(nulls).filter(|(_, null)| !null) {
        value(body, kind[0], &mut random);
    }
}

fn value(body: &mut Vec<u8>, kind: u8, random: &mut Random) {
    let small = random.below(9);
    match kind {
        8 => body.extend(small.to_le_bytes()),
        5 => body.extend((small as f64 / 4.0).to_le_bytes()),
        1 => body.push(small as u8 + 200),
        12 => body.extend([7, 0xe8, 7, 1 + small as u8, 3, 4, 5, 6]),
        _ => {
            let text = ["", "7", "1.5", "it's", "ü", "\\", "x", "-3", "0"][small as usize];
            body.push(text.len() as u8);
            body.extend(text.as_bytes());
        }
    }
}

/// The length of a user variable that nobody set: MariaDB's is one less when another session of the connection did.
fn unknown_variable(column: &mut [u8]) {
    const NEVER_SET: &[u8] = &[0, 0, 0, 1, 251];
    const SET_TO_NULL: [u8; 5] = [255, 255, 255, 0, 251];
    let found = column
        .windows(NEVER_SET.len())
        .position(|bytes| bytes == NEVER_SET);
    if let Some(at) = found {
        column[at..at + NEVER_SET.len()].copy_from_slice(&SET_TO_NULL);
    }
}

/// What may differ: statement ids, in errors too, the flag that says session tracking follows where none can (the client
/// did not ask for it, or it is an EOF), and the order of what tracking reports (MariaDB's is that of a hash table).
fn comparable(reply: &mut Reply, capabilities: u32) {
    for set in &mut reply.sets {
        let by_eof = capabilities & cap::DEPRECATE_EOF as u32 == 0 && !set.columns.is_empty();
        if by_eof || capabilities & cap::SESSION_TRACK as u32 == 0 {
            set.status &= !0x4000;
        }
        set.state = in_order(&set.state);
        set.columns.iter_mut().for_each(|c| unknown_variable(c));
    }
    if let Some(error) = &mut reply.error {
        if error.code == 1243 || error.code == 1210 || error.code == 1421 {
            error.message.retain(|c| !c.is_ascii_digit());
        }
    }
}

/// A length, then entries of a kind, a length and data; variables are sorted.
fn in_order(state: &[u8]) -> Vec<u8> {
    let Some((_, mut rest)) = state.split_first() else {
        return Vec::new();
    };
    let mut entries: Vec<&[u8]> = Vec::new();
    while let [_, length, ..] = rest {
        let (entry, behind) = rest.split_at((usize::from(*length) + 2).min(rest.len()));
        entries.push(entry);
        rest = behind;
    }
    entries.sort_unstable();
    entries.concat()
}
