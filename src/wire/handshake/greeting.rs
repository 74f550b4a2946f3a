//! Protocol::HandshakeV10, the server's first packet.

use super::{extended_bytes, low_bytes, with_extended};
use crate::wire::bytes::{put_nul, text, Reader};
use crate::wire::capabilities::PLUGIN_AUTH;
use crate::wire::Malformed;

/// MariaDB 10 hides its two-digit major from old replicas behind this; 11 does no longer.
const PREFIX: &[u8] = b"5.5.5-";
const PROTOCOL_VERSION: u8 = 10;
/// The scramble's first part, the rest, and the NUL behind it.
const SCRAMBLE_HEAD: usize = 8;
const SCRAMBLE_TAIL: usize = 12;
const SCRAMBLE_LENGTH: u8 = 21;

/// Protocol::HandshakeV10, with MariaDB's extended capabilities in the reserved bytes.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html
#[derive(Debug, Clone, PartialEq)]
pub struct Greeting {
    /// As `SELECT VERSION()` says it: without the "5.5.5-" that MariaDB 10 puts before it on the
    /// wire, which `encode` puts back.
    pub version: String,
    pub connection_id: u32,
    pub scramble: [u8; 20],
    pub capabilities: u64,
    pub collation: u8,
    pub status: u16,
    pub auth_plugin: String,
}

impl Greeting {
    /// Payload → greeting. A server's ERR packet instead (1040, 1129, 1130) is `reply::Err` for
    /// the caller to check first (first byte 0xff).
    pub fn decode(payload: &[u8]) -> Result<Greeting, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("protocol version")? != PROTOCOL_VERSION {
            let what = "protocol version 10";
            return Err(Malformed { what });
        }
        let version = reader.nul("server version")?;
        let connection_id = reader.u32("connection id")?;
        let head = reader.take(SCRAMBLE_HEAD, "scramble")?;
        reader.take(1, "filler")?;
        let low = reader.u16("capabilities")?;
        let collation = reader.u8("collation")?;
        let status = reader.u16("status")?;
        let high = reader.u16("capabilities")?;
        let announced = usize::from(reader.u8("scramble length")?);
        reader.take(6, "reserved")?;
        let extended = reader.u32("extended capabilities")?;
        let tail = reader.take(SCRAMBLE_TAIL, "scramble")?;
        let behind = announced.saturating_sub(SCRAMBLE_HEAD).max(13) - SCRAMBLE_TAIL;
        reader.take(behind.min(reader.left()), "scramble")?;
        let mut scramble = [0; 20];
        scramble[..SCRAMBLE_HEAD].copy_from_slice(head);
        scramble[SCRAMBLE_HEAD..].copy_from_slice(tail);
        Ok(Greeting {
            version: text(version.strip_prefix(PREFIX).unwrap_or(version)),
            connection_id,
            scramble,
            capabilities: with_extended(u64::from(low) | u64::from(high) << 16, extended),
            collation,
            status,
            auth_plugin: text(reader.nul_or_rest()),
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let [low_0, low_1, high_0, high_1] = low_bytes(self.capabilities);
        let (head, tail) = self.scramble.split_at(SCRAMBLE_HEAD);
        let with_plugin = self.capabilities & PLUGIN_AUTH != 0;
        let mut out = vec![PROTOCOL_VERSION];
        if self.is_mariadb_10() {
            out.extend_from_slice(PREFIX);
        }
        put_nul(&mut out, self.version.as_bytes());
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(head);
        out.extend_from_slice(&[0, low_0, low_1, self.collation]);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&[high_0, high_1]);
        out.push(if with_plugin { SCRAMBLE_LENGTH } else { 0 });
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&extended_bytes(self.capabilities));
        out.extend_from_slice(tail);
        out.push(0);
        if with_plugin {
            put_nul(&mut out, self.auth_plugin.as_bytes());
        }
        out
    }

    fn is_mariadb_10(&self) -> bool {
        self.version.starts_with("10.") && self.version.contains("MariaDB")
    }
}
