//! Why a statement on several connections ended early.
use crate::merge;
use crate::wire::reply;
use std::io;

/// The first thing that went wrong. `part`: of the plan.
#[derive(Debug)]
pub enum Failure {
    /// A server's error, for the client as it is.
    Refused {
        part: usize,
        error: reply::Err,
    },
    /// A server's connection ended or failed.
    Lost {
        part: usize,
        cause: io::Error,
    },
    /// A server's bytes do not follow the protocol, or are of a kind that has no place here.
    Protocol {
        part: usize,
        what: &'static str,
    },
    Merge(merge::Error),
    /// The client is gone.
    Client,
    /// KILL.
    Stopped,
    /// The statement's time is over; what runs can still be read.
    Overdue,
    /// The next row is over the most rows or bytes that a result may have.
    OverLimit {
        by_rows: bool,
    },
}

impl From<merge::Error> for Failure {
    fn from(error: merge::Error) -> Failure {
        Failure::Merge(error)
    }
}
