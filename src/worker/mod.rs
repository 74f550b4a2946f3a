//! worker
pub mod mailbox;
