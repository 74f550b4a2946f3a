//! The server's packets between the client's handshake response and the first OK.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html

use super::{Err, Ok, EOF, ERR, OK};
use crate::wire::bytes::{put_nul, text, Reader};
use crate::wire::Malformed;

const MORE: u8 = 0x01;
/// What an AuthSwitchRequest of one byte means.
const OLD_PASSWORD: &str = "mysql_old_password";
/// Bytes of the scramble of both of MySQL's plugins.
const SCRAMBLE: usize = 20;

/// What a server may send during login, after the client's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    Ok(Ok),
    Err(Err),
    /// `scramble` without the NUL that ends one of 20 bytes; ed25519's 32 random bytes have none behind them.
    Switch {
        plugin: String,
        scramble: Vec<u8>,
    },
    /// AuthMoreData, for the plugin to understand.
    More(Vec<u8>),
}

impl Login {
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Login, Malformed> {
        let mut reader = Reader::new(payload);
        match reader.u8("login packet")? {
            OK => Result::Ok(Login::Ok(Ok::decode(payload, capabilities)?)),
            ERR => Result::Ok(Login::Err(Err::decode(payload)?)),
            EOF => Result::Ok(decode_switch(reader)),
            MORE => Result::Ok(Login::More(reader.rest().to_vec())),
            _ => Result::Err(Malformed {
                what: "login packet",
            }),
        }
    }
}

/// AuthSwitchRequest payload.
pub fn auth_switch(plugin: &str, scramble: &[u8; 20]) -> Vec<u8> {
    let mut out = auth_switch_with(plugin, scramble);
    out.push(0);
    out
}

/// The same with a plugin's own data, which no NUL follows.
pub fn auth_switch_with(plugin: &str, data: &[u8]) -> Vec<u8> {
    let mut out = vec![EOF];
    put_nul(&mut out, plugin.as_bytes());
    out.extend_from_slice(data);
    out
}

/// AuthMoreData payload.
pub fn auth_more(data: &[u8]) -> Vec<u8> {
    [&[MORE], data].concat()
}

fn decode_switch(mut reader: Reader) -> Login {
    if reader.is_empty() {
        let (plugin, scramble) = (OLD_PASSWORD.to_owned(), Vec::new());
        return Login::Switch { plugin, scramble };
    }
    let plugin = text(reader.nul_or_rest());
    let data = reader.rest();
    let scramble = match data {
        [scramble @ .., 0] if scramble.len() == SCRAMBLE => scramble.to_vec(),
        data => data.to_vec(),
    };
    Login::Switch { plugin, scramble }
}
