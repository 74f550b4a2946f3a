//! As much of the protocol as a load generator needs: the login, and the end of every reply.

use sha1::{Digest, Sha1};

const NATIVE: &[u8] = b"mysql_native_password\0";
/// LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH. Without
/// DEPRECATE_EOF: the end of a result is then told by its header alone.
const CAPABILITIES: u32 = 1 | 4 | 8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const MAX_PAYLOAD: usize = 0xff_ffff;

pub const QUERY: u8 = 0x03;
pub const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

pub struct Account {
    pub user: String,
    pub password: String,
    pub schema: String,
}

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    let mut bytes = vec![a, b, c, sequence];
    bytes.extend_from_slice(payload);
    bytes
}

/// A command with its text, as one packet.
pub fn command(kind: u8, text: &[u8]) -> Vec<u8> {
    packet(0, &[&[kind], text].concat())
}

pub fn quit() -> Vec<u8> {
    packet(0, &[1])
}

/// COM_STMT_EXECUTE without parameters.
pub fn execute(statement: u32) -> Vec<u8> {
    let mut payload = vec![EXECUTE];
    payload.extend_from_slice(&statement.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    packet(0, &payload)
}

/// A login on its way; fed with what the server sends.
#[derive(Default)]
pub struct Login {
    received: Vec<u8>,
    greeted: bool,
}

pub enum Answer {
    Wait,
    Send(Vec<u8>),
    LoggedIn,
    Failed(String),
}

impl Login {
    pub fn feed(&mut self, bytes: &[u8], account: &Account) -> Answer {
        self.received.extend_from_slice(bytes);
        let Some(header) = self.received.first_chunk::<4>() else {
            return Answer::Wait;
        };
        let end = 4 + length(header);
        if self.received.len() < end {
            return Answer::Wait;
        }
        let sequence = header[3].wrapping_add(1);
        let payload: Vec<u8> = self.received.drain(..end).skip(4).collect();
        match payload.first() {
            Some(0xff) => Answer::Failed(refusal(&payload)),
            Some(10) if !self.greeted => {
                self.greeted = true;
                match scramble(&payload) {
                    Some(scramble) => Answer::Send(packet(sequence, &response(account, &scramble))),
                    None => Answer::Failed("unknown greeting".into()),
                }
            }
            Some(0) => Answer::LoggedIn,
            Some(0xfe) => match payload[1..].strip_prefix(NATIVE) {
                Some(rest) => {
                    let scramble = rest.strip_suffix(&[0]).unwrap_or(rest);
                    Answer::Send(packet(sequence, &proof(&account.password, scramble)))
                }
                None => Answer::Failed("asks for another plugin than mysql_native_password".into()),
            },
            _ => Answer::Failed("unknown login packet".into()),
        }
    }
}

fn length(header: &[u8; 4]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// The twenty bytes of the greeting that the password is mixed with.
fn scramble(greeting: &[u8]) -> Option<Vec<u8>> {
    let version_end = greeting.iter().position(|&byte| byte == 0)?;
    let rest = greeting.get(version_end + 5..)?;
    Some([rest.get(..8)?, rest.get(27..39)?].concat())
}

fn response(account: &Account, scramble: &[u8]) -> Vec<u8> {
    let proof = proof(&account.password, scramble);
    let mut payload = CAPABILITIES.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 30).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(account.user.as_bytes());
    payload.extend_from_slice(&[0, proof.len() as u8]);
    payload.extend_from_slice(&proof);
    payload.extend_from_slice(account.schema.as_bytes());
    payload.push(0);
    payload.extend_from_slice(NATIVE);
    payload
}

fn proof(password: &str, scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password.as_bytes());
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(scramble).chain_update(twice);
    once.iter()
        .zip(mask.finalize())
        .map(|(a, b)| a ^ b)
        .collect()
}

/// An ERR packet as a key for counting.
fn refusal(payload: &[u8]) -> String {
    let code = payload
        .get(1..3)
        .map_or(0, |c| u16::from_le_bytes([c[0], c[1]]));
    format!("error {code}")
}

/// Finds the end of one reply; looks at headers and first bytes only.
///
/// Invariant: `have` < 4 header bytes are here, or `rest` payload bytes of a packet are still to come.
pub struct Walker {
    stage: Stage,
    header: [u8; 4],
    have: usize,
    length: usize,
    rest: usize,
    /// The payload's first bytes.
    head: [u8; 12],
    /// The packet goes on with the one before it.
    continued: bool,
    pub statement: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    First,
    Prepared,
    /// So many more EOF packets end the reply.
    Until(u8),
}

pub enum End {
    Ok,
    Failed(String),
}

impl Walker {
    pub fn new(command: u8) -> Walker {
        Walker {
            stage: if command == PREPARE {
                Stage::Prepared
            } else {
                Stage::First
            },
            header: [0; 4],
            have: 0,
            length: 0,
            rest: 0,
            head: [0; 12],
            continued: false,
            statement: 0,
        }
    }

    /// Takes received bytes; the reply's end, when it is among them.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Option<End> {
        while !bytes.is_empty() {
            if self.rest > 0 {
                let taken = self.rest.min(bytes.len());
                let seen = self.length - self.rest;
                if seen < self.head.len() {
                    let n = taken.min(self.head.len() - seen);
                    self.head[seen..seen + n].copy_from_slice(&bytes[..n]);
                }
                self.rest -= taken;
                bytes = &bytes[taken..];
            } else {
                self.header[self.have] = bytes[0];
                self.have += 1;
                bytes = &bytes[1..];
                if self.have < 4 {
                    continue;
                }
                self.have = 0;
                self.length = length(&self.header);
                self.rest = self.length;
                self.head = [0; 12];
            }
            if self.rest == 0 && self.have == 0 {
                let whole = !self.continued;
                self.continued = self.length == MAX_PAYLOAD;
                if let Some(end) = whole.then(|| self.packet()).flatten() {
                    return Some(end);
                }
            }
        }
        None
    }

    fn packet(&mut self) -> Option<End> {
        let first = self.head[0];
        if first == 0xff {
            return Some(End::Failed(refusal(&self.head)));
        }
        match self.stage {
            Stage::First if first == 0 => Some(End::Ok),
            Stage::First if first == 0xfb => Some(End::Failed("asks for a file".into())),
            Stage::First => {
                self.stage = Stage::Until(2);
                None
            }
            Stage::Prepared => {
                let [_, a, b, c, d, columns, columns_high, parameters, parameters_high, ..] =
                    self.head;
                self.statement = u32::from_le_bytes([a, b, c, d]);
                let lists = u8::from(columns | columns_high > 0)
                    + u8::from(parameters | parameters_high > 0);
                self.stage = Stage::Until(lists);
                (lists == 0).then_some(End::Ok)
            }
            Stage::Until(n) if first == 0xfe && self.length < 9 => {
                self.stage = Stage::Until(n - 1);
                (n == 1).then_some(End::Ok)
            }
            Stage::Until(_) => None,
        }
    }
}
