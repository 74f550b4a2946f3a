//! The MySQL and MariaDB client/server protocol: framing, messages, both handshakes, the reply
//! tracker and the error catalogue. Pure: no socket, no clock, no executor.
//!
//! Whatever a peer sends, a decoder here answers with a value or with [`Malformed`]: it never
//! panics and never reserves memory because a length was announced. One file a message, its
//! `decode` and `encode` together. What MySQL 9.7 and MariaDB 10.11 really send is kept in
//! `testdata/` and checked by the tests.

pub mod auth;
mod bytes;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod compressed;
pub mod error;
pub mod handshake;
pub mod packet;
pub mod prepare;
pub mod proxy_protocol;
pub mod query;
pub mod renamed;
pub mod reply;
pub mod resultset;
pub mod row;
pub mod status;
#[cfg(test)]
mod testdata;
#[cfg(test)]
mod tests;
pub mod tracker;

pub use command::{expects_reply, name as command_name};

/// A peer's bytes do not follow the protocol. `what` names the field for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub what: &'static str,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "malformed packet: {}", self.what)
    }
}

impl std::error::Error for Malformed {}
