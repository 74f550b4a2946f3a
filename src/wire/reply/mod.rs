//! What a server answers with outside result sets: OK, EOF, ERR, and its packets during a login.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html

mod change;
mod err;
mod login;
mod ok;
#[cfg(test)]
mod tests;

pub use change::Change;
pub use err::{is_progress_report, Err, PROGRESS_REPORT};
pub use login::{auth_more, auth_switch, auth_switch_with, Login};
pub use ok::{eof, Ok};

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an EOF packet, and of the OK packet that ends a result set under DEPRECATE_EOF.
pub const EOF: u8 = 0xfe;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xff;
