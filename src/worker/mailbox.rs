//! Messages to a worker from the control thread and from other workers.
use crate::net::Wake;
use crate::observe::digests::DigestInfo;
use crate::observe::memory::WorkerMemory;
use crate::observe::{PoolInfo, SessionInfo};
pub use crate::session::shared::{Act, KillOutcome, Whom};
use crate::session::store::Stored;
pub use crate::session::{RouteAnswer, RouteQuestion};
use crate::topology::{ServerId, Snapshot};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::sync::Arc;
use std::time::Duration;

/// Called on the worker with the answer; must not block (send it into a channel).
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

pub enum Message {
    Snapshot(Arc<Snapshot>),
    /// A client connection accepted by a busier worker, at this place of `proxy.listen`.
    Accepted {
        socket: OwnedFd,
        listener: usize,
    },
    /// Another worker waits for a connection to this server: close an idle one if there is any.
    GiveBack(ServerId),
    Sessions(Reply<Vec<SessionInfo>>),
    Pools(Reply<Vec<PoolInfo>>),
    /// Statements by digest.
    Digests(Reply<Vec<DigestInfo>>),
    /// EXPLAIN ROUTE.
    Route(RouteQuestion, Reply<RouteAnswer>),
    /// RESUME JOB: what it came to, in words.
    ResumeJob(u64, Reply<Result<String, String>>),
    /// Sessions that wait for others of their user to end, by user.
    Waiting(Reply<Vec<(String, usize)>>),
    /// What its memory is used for.
    Memory(Reply<WorkerMemory>),
    /// Turn latencies in microseconds since start.
    Latency(Reply<hdrhistogram::Histogram<u64>>),
    /// KILL of a client-visible connection id. `user`: only a session of this user (a client asks); None:
    /// any (the admin port asks).
    Kill {
        whom: Whom,
        act: Act,
        user: Option<String>,
        reply: Reply<KillOutcome>,
    },
    /// The store's answer to a question with this ticket.
    Stored(u64, Stored),
    /// The answer to a KILL that this worker sent to another.
    KillDone {
        ticket: u64,
        outcome: KillOutcome,
    },
    /// Answered when every message before it has been read.
    Heard(Reply<()>),
    /// Stop accepting; idle sessions are closed, others after their turn or transaction; the worker
    /// ends when none is left or the deadline is over.
    Drain(Duration),
}

/// Messages that a worker has not read yet. One that lets so many lie is stuck, and a further one would not help.
const CAPACITY: usize = 256;

/// The sending end; cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Mailbox {
    sender: SyncSender<Message>,
    wake: Wake,
    /// Clients handed to the worker that it has not begun to serve.
    incoming: Arc<AtomicU64>,
}

impl Mailbox {
    /// A mailbox and the end that the worker reads.
    pub fn new(wake: Wake) -> (Mailbox, Receiver<Message>) {
        let (sender, receiver) = std::sync::mpsc::sync_channel(CAPACITY);
        let mailbox = Mailbox {
            sender,
            wake,
            incoming: Arc::default(),
        };
        (mailbox, receiver)
    }

    /// Never blocks. False: the worker has ended, or reads nothing any more; the message is dropped.
    pub fn send(&self, message: Message) -> bool {
        self.offer(message).is_ok()
    }

    fn offer(&self, message: Message) -> Result<(), Message> {
        let sent = self.sender.try_send(message);
        self.wake.wake();
        sent.map_err(|refused| match refused {
            TrySendError::Full(message) | TrySendError::Disconnected(message) => message,
        })
    }

    /// Gives the worker a client to serve, of this place of `proxy.listen`. Err: it takes none, here the client is back.
    pub fn hand_over(&self, socket: OwnedFd, listener: usize) -> Result<(), OwnedFd> {
        self.incoming.fetch_add(1, Relaxed);
        match self.offer(Message::Accepted { socket, listener }) {
            Ok(()) => Ok(()),
            Err(Message::Accepted { socket, .. }) => {
                self.arrived();
                Err(socket)
            }
            // only what was offered comes back
            Err(_) => Ok(()),
        }
    }

    /// Clients on their way to the worker.
    pub fn incoming(&self) -> u64 {
        self.incoming.load(Relaxed)
    }

    /// The worker has begun to serve a client that was handed to it.
    pub(super) fn arrived(&self) {
        self.incoming.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_descriptor() -> OwnedFd {
        std::net::TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .into()
    }

    #[test]
    fn a_worker_that_reads_nothing_is_sent_no_more_than_fits() {
        let (mailbox, inbox) = Mailbox::new(Wake::new().expect("an eventfd"));
        for _ in 0..CAPACITY {
            assert!(mailbox.send(Message::Drain(Duration::ZERO)));
        }
        assert!(!mailbox.send(Message::Drain(Duration::ZERO)));
        assert!(mailbox.hand_over(a_descriptor(), 0).is_err());
        assert_eq!(mailbox.incoming(), 0);
        assert_eq!(inbox.try_iter().count(), CAPACITY);
        assert!(mailbox.send(Message::Drain(Duration::ZERO)));
    }

    #[test]
    fn clients_on_their_way_count_until_they_are_served() {
        let (mailbox, inbox) = Mailbox::new(Wake::new().expect("an eventfd"));
        assert!(mailbox.hand_over(a_descriptor(), 0).is_ok());
        assert_eq!(mailbox.incoming(), 1);
        assert!(matches!(inbox.try_recv(), Ok(Message::Accepted { .. })));
        mailbox.arrived();
        assert_eq!(mailbox.incoming(), 0);
    }

    #[test]
    fn a_client_comes_back_from_a_worker_that_has_ended() {
        let (mailbox, inbox) = Mailbox::new(Wake::new().expect("an eventfd"));
        drop(inbox);
        assert!(mailbox.hand_over(a_descriptor(), 0).is_err());
        assert!(!mailbox.send(Message::Drain(Duration::ZERO)));
    }
}
