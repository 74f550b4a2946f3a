//! The messages of a login.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html

mod change_user;
mod greeting;
mod response;
#[cfg(test)]
mod tests;

pub use change_user::ChangeUser;
pub use greeting::Greeting;
pub use response::{is_ssl_request, Response};

/// Where MySQL keeps filler, MariaDB keeps its extended capabilities; a peer whose LONG_PASSWORD
/// bit is unset speaks MariaDB's dialect.
fn with_extended(capabilities: u64, extended: u32) -> u64 {
    if capabilities & super::capabilities::LONG_PASSWORD == 0 {
        capabilities | u64::from(extended) << 32
    } else {
        capabilities
    }
}

/// The four bytes at the filler's end.
fn extended_bytes(capabilities: u64) -> [u8; 4] {
    if capabilities & super::capabilities::LONG_PASSWORD == 0 {
        ((capabilities >> 32) as u32).to_le_bytes()
    } else {
        [0; 4]
    }
}

/// The low 32 bits, as both sides write them.
fn low_bytes(capabilities: u64) -> [u8; 4] {
    (capabilities as u32).to_le_bytes()
}
