//! The server's packets between the client's handshake response and the first OK.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html

use super::{Err, Ok, EOF, ERR, OK};
use crate::wire::bytes::{put_nul, text, Reader};
use crate::wire::Malformed;

const MORE: u8 = 0x01;
/// What an AuthSwitchRequest of one byte means.
const OLD_PASSWORD: &str = "mysql_old_password";

/// What a server may send during login, after the client's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    Ok(Ok),
    Err(Err),
    /// `scramble` without the NUL that ends it.
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
    let mut out = vec![EOF];
    put_nul(&mut out, plugin.as_bytes());
    out.extend_from_slice(scramble);
    out.push(0);
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
    let scramble = data.strip_suffix(&[0]).unwrap_or(data).to_vec();
    Login::Switch { plugin, scramble }
}
