//! Messages to a worker from the control thread and from other workers.
use crate::net::Wake;
use crate::observe::{PoolInfo, SessionInfo};
pub use crate::session::shared::KillOutcome;
use crate::topology::{ServerId, Snapshot};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

/// Called on the worker with the answer; must not block (send it into a channel).
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

pub enum Message {
    Snapshot(Arc<Snapshot>),
    /// A client connection accepted by a busier worker.
    Accepted(OwnedFd),
    /// Another worker waits for a connection to this server: close an idle one if there is any.
    GiveBack(ServerId),
    Sessions(Reply<Vec<SessionInfo>>),
    Pools(Reply<Vec<PoolInfo>>),
    /// Turn latencies in microseconds since start.
    Latency(Reply<hdrhistogram::Histogram<u64>>),
    /// KILL of a client-visible connection id. `user`: only a session of this user (a client asks); None:
    /// any (the admin port asks).
    Kill {
        id: u32,
        query_only: bool,
        user: Option<String>,
        reply: Reply<KillOutcome>,
    },
    /// The answer to a KILL that this worker sent to another.
    KillDone {
        ticket: u64,
        outcome: KillOutcome,
    },
    /// Stop accepting; idle sessions are closed, others after their turn or transaction; the worker
    /// ends when none is left or the deadline is over.
    Drain(Duration),
}

/// The sending end; cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Mailbox {
    sender: Sender<Message>,
    wake: Wake,
}

impl Mailbox {
    /// A mailbox and the end that the worker reads.
    pub fn new(wake: Wake) -> (Mailbox, Receiver<Message>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        (Mailbox { sender, wake }, receiver)
    }
    /// Never blocks. False: the worker has ended.
    pub fn send(&self, message: Message) -> bool {
        let sent = self.sender.send(message).is_ok();
        self.wake.wake();
        sent
    }
}
