//! COM_CHANGE_USER: a second login on the same connection.

use super::response::non_empty;
use crate::wire::bytes::{put_lenenc_bytes, put_nul, text, Reader};
use crate::wire::capabilities::{CONNECT_ATTRS, PLUGIN_AUTH, SECURE_CONNECTION};
use crate::wire::{command, Malformed};

/// COM_CHANGE_USER body (after the command byte); `capabilities` are those of the login.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_change_user.html
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeUser {
    pub user: String,
    pub auth: Vec<u8>,
    /// None also when the name is empty.
    pub schema: Option<String>,
    /// 0 when the client sent none: the server takes its default.
    pub collation: u16,
    pub auth_plugin: Option<String>,
    /// As in [`super::Response`].
    pub attributes: Vec<u8>,
}

impl ChangeUser {
    /// Everything behind the schema may be missing.
    pub fn decode(body: &[u8], capabilities: u64) -> Result<ChangeUser, Malformed> {
        let mut reader = Reader::new(body);
        let mut change = ChangeUser {
            user: text(reader.nul("user")?),
            auth: read_short_auth(&mut reader, capabilities)?.to_vec(),
            schema: non_empty(reader.nul_or_rest()),
            ..ChangeUser::default()
        };
        if reader.is_empty() {
            return Ok(change);
        }
        change.collation = reader.u16("collation")?;
        if capabilities & PLUGIN_AUTH != 0 {
            change.auth_plugin = non_empty(reader.nul_or_rest());
        }
        if capabilities & CONNECT_ATTRS != 0 && !reader.is_empty() {
            change.attributes = reader.lenenc_bytes("connection attributes")?.to_vec();
        }
        Ok(change)
    }

    /// Includes the command byte 0x11.
    pub fn encode(&self, capabilities: u64) -> Vec<u8> {
        let mut out = vec![command::CHANGE_USER];
        put_nul(&mut out, self.user.as_bytes());
        put_short_auth(&mut out, &self.auth, capabilities);
        put_nul(&mut out, self.schema.as_deref().unwrap_or("").as_bytes());
        out.extend_from_slice(&self.collation.to_le_bytes());
        if capabilities & PLUGIN_AUTH != 0 {
            let plugin = self.auth_plugin.as_deref().unwrap_or("");
            put_nul(&mut out, plugin.as_bytes());
        }
        if capabilities & CONNECT_ATTRS != 0 {
            put_lenenc_bytes(&mut out, &self.attributes);
        }
        out
    }
}

fn read_short_auth<'a>(reader: &mut Reader<'a>, capabilities: u64) -> Result<&'a [u8], Malformed> {
    if capabilities & SECURE_CONNECTION == 0 {
        return reader.nul("authentication response");
    }
    let length = reader.u8("authentication response")?;
    reader.take(usize::from(length), "authentication response")
}

/// With one byte of length; no plugin here answers with more than 255 bytes at once, and what
/// would not fit is left out rather than cut into something else.
pub(super) fn put_short_auth(out: &mut Vec<u8>, auth: &[u8], capabilities: u64) {
    if capabilities & SECURE_CONNECTION == 0 {
        return put_nul(out, auth);
    }
    let (length, auth) = match u8::try_from(auth.len()) {
        Ok(length) => (length, auth),
        Err(_) => (0, &[][..]),
    };
    out.push(length);
    out.extend_from_slice(auth);
}
