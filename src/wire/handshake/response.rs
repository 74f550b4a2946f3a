//! Protocol::HandshakeResponse41, the client's answer to the greeting.

use super::{extended_bytes, low_bytes, with_extended};
use crate::wire::bytes::{put_lenenc_bytes, put_nul, text, Reader};
use crate::wire::capabilities::{
    CONNECT_ATTRS, CONNECT_WITH_DB, PLUGIN_AUTH, PLUGIN_AUTH_LENENC_CLIENT_DATA, PROTOCOL_41,
    SECURE_CONNECTION, SSL, ZSTD_COMPRESSION,
};
use crate::wire::Malformed;

/// Length of the fixed head, which is all of an SSLRequest.
const HEAD: usize = 32;
/// utf8mb4_general_ci: what stands in for a collation over 255, which one byte cannot carry.
const UTF8MB4: u8 = 45;

/// Protocol::HandshakeResponse41.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Response {
    pub capabilities: u64,
    /// Largest packet the client takes, bytes.
    pub max_packet: u32,
    /// One byte on the wire: over 255 it is sent as utf8mb4_general_ci, and the caller has to set
    /// the collation by statement.
    pub collation: u16,
    pub user: String,
    pub auth: Vec<u8>,
    /// None also when the client sent an empty name.
    pub schema: Option<String>,
    pub auth_plugin: Option<String>,
    /// Connection attributes: length-encoded names and values, without the total length.
    pub attributes: Vec<u8>,
    pub zstd_level: u8,
}

/// The client asks for TLS before it says who it is.
pub fn is_ssl_request(payload: &[u8]) -> bool {
    let capabilities = Reader::new(payload).u32("capabilities").unwrap_or(0);
    payload.len() == HEAD && u64::from(capabilities) & SSL != 0
}

impl Response {
    /// Clients older than 4.1 are `Malformed { what: "protocol 4.1" }`.
    pub fn decode(payload: &[u8]) -> Result<Response, Malformed> {
        let mut reader = Reader::new(payload);
        let old_capabilities = reader.u16("capabilities")?;
        if u64::from(old_capabilities) & PROTOCOL_41 == 0 {
            let what = "protocol 4.1";
            return Err(Malformed { what });
        }
        let high = reader.u16("capabilities")?;
        let low = u64::from(old_capabilities) | u64::from(high) << 16;
        let max_packet = reader.u32("max packet size")?;
        let collation = u16::from(reader.u8("collation")?);
        reader.take(19, "filler")?;
        let capabilities = with_extended(low, reader.u32("extended capabilities")?);
        let has = |flag: u64| capabilities & flag != 0;
        let mut response = Response {
            capabilities,
            max_packet,
            collation,
            user: text(reader.nul("user")?),
            auth: read_auth(&mut reader, capabilities)?.to_vec(),
            ..Response::default()
        };
        if has(CONNECT_WITH_DB) {
            response.schema = non_empty(reader.nul_or_rest());
        }
        if has(PLUGIN_AUTH) {
            response.auth_plugin = non_empty(reader.nul_or_rest());
        }
        if has(CONNECT_ATTRS) && !reader.is_empty() {
            response.attributes = reader.lenenc_bytes("connection attributes")?.to_vec();
        }
        if has(ZSTD_COMPRESSION) && !reader.is_empty() {
            response.zstd_level = reader.u8("zstd level")?;
        }
        Ok(response)
    }

    /// Protocol::SSLRequest: what is sent in front of a handshake, with SSL among the capabilities.
    pub fn encode_ssl_request(&self) -> Vec<u8> {
        let mut out = self.encode();
        out.truncate(HEAD);
        out
    }

    /// The fields that `capabilities` announce; a schema without CONNECT_WITH_DB is left out.
    pub fn encode(&self) -> Vec<u8> {
        let has = |flag: u64| self.capabilities & flag != 0;
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&low_bytes(self.capabilities));
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(u8::try_from(self.collation).unwrap_or(UTF8MB4));
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&extended_bytes(self.capabilities));
        put_nul(&mut out, self.user.as_bytes());
        put_auth(&mut out, &self.auth, self.capabilities);
        if has(CONNECT_WITH_DB) {
            put_nul(&mut out, self.schema.as_deref().unwrap_or("").as_bytes());
        }
        if has(PLUGIN_AUTH) {
            let plugin = self.auth_plugin.as_deref().unwrap_or("");
            put_nul(&mut out, plugin.as_bytes());
        }
        if has(CONNECT_ATTRS) {
            put_lenenc_bytes(&mut out, &self.attributes);
        }
        if has(ZSTD_COMPRESSION) {
            out.push(self.zstd_level);
        }
        out
    }
}

pub(super) fn non_empty(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| text(bytes))
}

fn read_auth<'a>(reader: &mut Reader<'a>, capabilities: u64) -> Result<&'a [u8], Malformed> {
    const WHAT: &str = "authentication response";
    if capabilities & PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        reader.lenenc_bytes(WHAT)
    } else if capabilities & SECURE_CONNECTION != 0 {
        let length = reader.u8(WHAT)?;
        reader.take(usize::from(length), WHAT)
    } else {
        Ok(reader.nul_or_rest())
    }
}

fn put_auth(out: &mut Vec<u8>, auth: &[u8], capabilities: u64) {
    if capabilities & PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        put_lenenc_bytes(out, auth);
    } else {
        super::change_user::put_short_auth(out, auth, capabilities);
    }
}
