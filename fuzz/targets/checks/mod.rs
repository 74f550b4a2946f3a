//! What each fuzz target does with its bytes: shared by the targets and by tests/fuzz.rs, which needs no fuzzer.
#![allow(dead_code, reason = "a target uses one of them")]
mod messages;
mod statements;
mod tracker;

pub use messages::{client_login, frame, proxy_header, reply, rows, server_login};
pub use statements::{plan, policy, sniff};
pub use tracker::tracker;

pub type Check = fn(&[u8]);

/// Every check by the name of its target, for who runs them all.
pub const ALL: [(&str, Check); 10] = [
    ("client_login", client_login),
    ("frame", frame),
    ("plan", plan),
    ("policy", policy),
    ("proxy_header", proxy_header),
    ("reply", reply),
    ("rows", rows),
    ("server_login", server_login),
    ("sniff", sniff),
    ("tracker", tracker),
];

/// The first eight bytes as capabilities, and the rest.
fn with_capabilities(data: &[u8]) -> Option<(u64, &[u8])> {
    let (capabilities, data) = data.split_first_chunk()?;
    Some((u64::from_le_bytes(*capabilities), data))
}
