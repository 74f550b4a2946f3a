//! A command's whole reply, read packet by packet, kept both as bytes and as values.

use super::raw::RawClient;
use std::io;
use umpire::wire::capabilities as cap;

const MORE_RESULTS: u16 = 8;
const CURSOR_EXISTS: u16 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    pub code: u16,
    pub state: String,
    pub message: String,
}

impl ServerError {
    pub fn parse(packet: &[u8]) -> ServerError {
        let code = u16::from_le_bytes([packet[1], packet[2]]);
        let (state, message) = match packet.get(3) {
            Some(b'#') => (&packet[4..9], &packet[9..]),
            _ => (&packet[..0], &packet[3..]),
        };
        ServerError {
            code,
            state: String::from_utf8_lossy(state).into_owned(),
            message: String::from_utf8_lossy(message).into_owned(),
        }
    }
}

/// One of the results of a reply: an OK packet, or columns with rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    /// Column definitions, as sent.
    pub columns: Vec<Vec<u8>>,
    /// Rows, as sent.
    pub rows: Vec<Vec<u8>>,
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
    pub status: u16,
    /// OK's text.
    pub info: String,
    /// What OK reports of the session's state, as sent.
    pub state: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    pub id: u32,
    pub columns: u16,
    pub parameters: u16,
    pub warnings: u16,
}

/// Everything that came until the reply's end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    pub sets: Vec<Set>,
    pub error: Option<ServerError>,
    pub prepared: Option<Prepared>,
    /// The server asked for this file of the client's; the reply goes on after it was sent.
    pub wants_file: Option<String>,
    /// A reply that is just a text (COM_STATISTICS).
    pub text: Option<String>,
    /// Payload lengths and sequence numbers of all packets, in order.
    pub packets: usize,
}

impl Reply {
    /// Values of the text protocol; None is NULL.
    pub fn values(&self) -> Vec<Vec<Option<String>>> {
        let rows = self.sets.iter().flat_map(|s| &s.rows);
        rows.map(|row| text_values(row)).collect()
    }

    /// The first value of the first row of the first result with rows.
    pub fn value(&self) -> Option<String> {
        self.values().into_iter().next()?.into_iter().next()?
    }

    pub fn ok(&self) -> &Set {
        assert_eq!(self.error, None);
        self.sets.last().expect("a result")
    }

    pub fn code(&self) -> u16 {
        self.error.as_ref().map_or(0, |e| e.code)
    }
}

/// Reads until the end of the reply of `command`.
pub fn read(client: &mut RawClient, command: u8) -> io::Result<Reply> {
    let mut reply = Reply::default();
    match command {
        0x16 => prepare_reply(client, &mut reply)?,
        0x09 => {
            let packet = client.read_packet()?;
            reply.text = Some(String::from_utf8_lossy(&packet).into_owned());
        }
        0x04 => field_list(client, &mut reply)?,
        0x1c => {
            let mut set = Set::default();
            rows(client, &mut reply, &mut set)?;
            reply.sets.push(set);
        }
        _ => results(client, &mut reply)?,
    }
    Ok(reply)
}

fn results(client: &mut RawClient, reply: &mut Reply) -> io::Result<()> {
    loop {
        let packet = next(client, reply)?;
        match packet.first() {
            Some(0x00) => reply.sets.push(ok(&packet, client.capabilities)),
            // COM_SET_OPTION's answer.
            Some(0xfe) if packet.len() <= 5 => reply.sets.push(eof(&packet)),
            Some(0xfe) if packet.len() < 9 => reply.sets.push(ok(&packet, client.capabilities)),
            Some(0xff) => {
                reply.error = Some(ServerError::parse(&packet));
                return Ok(());
            }
            Some(0xfb) => {
                reply.wants_file = Some(String::from_utf8_lossy(&packet[1..]).into_owned());
                return Ok(());
            }
            _ => {
                let (count, _) = length(&packet);
                result_set(client, reply, count as usize)?;
            }
        }
        let more = |set: &Set| set.status & MORE_RESULTS != 0;
        if reply.error.is_some() || !reply.sets.last().is_some_and(more) {
            return Ok(());
        }
    }
}

fn result_set(client: &mut RawClient, reply: &mut Reply, columns: usize) -> io::Result<()> {
    let mut set = Set::default();
    for _ in 0..columns {
        set.columns.push(next(client, reply)?);
    }
    if !deprecate_eof(client) {
        let end = eof(&next(client, reply)?);
        set.status = end.status;
        set.warnings = end.warnings;
        if set.status & CURSOR_EXISTS != 0 {
            reply.sets.push(set);
            return Ok(());
        }
    }
    rows(client, reply, &mut set)?;
    reply.sets.push(set);
    Ok(())
}

/// Rows until the packet that ends them.
fn rows(client: &mut RawClient, reply: &mut Reply, set: &mut Set) -> io::Result<()> {
    loop {
        let packet = next(client, reply)?;
        match packet.first() {
            Some(0xff) => {
                reply.error = Some(ServerError::parse(&packet));
                return Ok(());
            }
            Some(0xfe) if deprecate_eof(client) && packet.len() < 0xff_ffff => {
                let end = ok(&packet, client.capabilities);
                set.status = end.status;
                set.warnings = end.warnings;
                set.state = end.state;
                return Ok(());
            }
            Some(0xfe) if packet.len() < 9 => {
                let end = eof(&packet);
                set.warnings = end.warnings;
                set.status = end.status;
                return Ok(());
            }
            _ => set.rows.push(packet),
        }
    }
}

fn field_list(client: &mut RawClient, reply: &mut Reply) -> io::Result<()> {
    let mut set = Set::default();
    rows(client, reply, &mut set)?;
    set.columns = std::mem::take(&mut set.rows);
    reply.sets.push(set);
    Ok(())
}

fn prepare_reply(client: &mut RawClient, reply: &mut Reply) -> io::Result<()> {
    let packet = next(client, reply)?;
    if packet.first() == Some(&0xff) {
        reply.error = Some(ServerError::parse(&packet));
        return Ok(());
    }
    let prepared = Prepared {
        id: u32::from_le_bytes([packet[1], packet[2], packet[3], packet[4]]),
        columns: u16::from_le_bytes([packet[5], packet[6]]),
        parameters: u16::from_le_bytes([packet[7], packet[8]]),
        warnings: u16::from_le_bytes([packet[10], packet[11]]),
    };
    for count in [prepared.parameters, prepared.columns] {
        let end = u32::from(count > 0 && !deprecate_eof(client));
        for _ in 0..u32::from(count) + end {
            next(client, reply)?;
        }
    }
    reply.prepared = Some(prepared);
    Ok(())
}

fn next(client: &mut RawClient, reply: &mut Reply) -> io::Result<Vec<u8>> {
    reply.packets += 1;
    client.read_packet()
}

fn deprecate_eof(client: &RawClient) -> bool {
    client.capabilities & cap::DEPRECATE_EOF as u32 != 0
}

fn eof(packet: &[u8]) -> Set {
    Set {
        warnings: u16::from_le_bytes([packet[1], packet[2]]),
        status: u16::from_le_bytes([packet[3], packet[4]]),
        ..Set::default()
    }
}

fn ok(packet: &[u8], capabilities: u32) -> Set {
    let (affected_rows, a) = length(&packet[1..]);
    let (last_insert_id, b) = length(&packet[1 + a..]);
    let at = 1 + a + b;
    let status = u16::from_le_bytes([packet[at], packet[at + 1]]);
    let warnings = u16::from_le_bytes([packet[at + 2], packet[at + 3]]);
    let mut info = packet.get(at + 4..).unwrap_or(&[]);
    let mut state = Vec::new();
    if capabilities & cap::SESSION_TRACK as u32 != 0 && !info.is_empty() {
        let (size, used) = length(info);
        let (text, behind) = info[used..].split_at(size as usize);
        info = text;
        state = behind.to_vec();
    }
    Set {
        affected_rows,
        last_insert_id,
        status,
        warnings,
        info: String::from_utf8_lossy(info).into_owned(),
        state,
        ..Set::default()
    }
}

fn text_values(row: &[u8]) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut rest = row;
    while let Some(first) = rest.first() {
        if *first == 0xfb {
            values.push(None);
            rest = &rest[1..];
            continue;
        }
        let (size, used) = length(rest);
        let (value, behind) = rest[used..].split_at(size as usize);
        values.push(Some(String::from_utf8_lossy(value).into_owned()));
        rest = behind;
    }
    values
}

/// A length-encoded integer and its size.
pub fn length(bytes: &[u8]) -> (u64, usize) {
    let read = |n: usize| {
        let mut wide = [0u8; 8];
        wide[..n].copy_from_slice(&bytes[1..=n]);
        u64::from_le_bytes(wide)
    };
    match bytes.first() {
        Some(0xfc) => (read(2), 3),
        Some(0xfd) => (read(3), 4),
        Some(0xfe) => (read(8), 9),
        Some(n) => (u64::from(*n), 1),
        None => (0, 1),
    }
}

/// A length-encoded string for a request.
pub fn text(value: &[u8]) -> Vec<u8> {
    let mut out = match value.len() {
        n @ 0..=250 => vec![n as u8],
        n @ 251..=0xffff => {
            let mut head = vec![0xfc];
            head.extend((n as u16).to_le_bytes());
            head
        }
        n @ 0x1_0000..=0xff_ffff => {
            let mut head = vec![0xfd];
            head.extend(&(n as u32).to_le_bytes()[..3]);
            head
        }
        n => {
            let mut head = vec![0xfe];
            head.extend((n as u64).to_le_bytes());
            head
        }
    };
    out.extend_from_slice(value);
    out
}
