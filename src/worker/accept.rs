//! New clients: accepted here, or handed to the least loaded worker.
use super::mailbox::Message;
use super::Worker;
use crate::net::{self, Socket};
use crate::session;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A worker hands a new client on only if another has this many fewer: a hand-over wakes that worker.
const UNEVEN: u64 = 4;

pub(super) async fn accept_loop(worker: Rc<Worker>, listener: usize) {
    loop {
        match worker.listeners[listener].accept().await {
            Ok(Some((socket, _peer))) => place(&worker, socket),
            Ok(None) => return,
            Err(cause) => {
                tracing::error!(worker = worker.shared.worker, %cause, "a listening socket failed: it accepts no more");
                return;
            }
        }
    }
}

/// Serves the client here unless another worker has clearly fewer.
fn place(worker: &Rc<Worker>, socket: OwnedFd) {
    let mine = worker.shared.stats.clients.get();
    let least = worker
        .all_stats
        .iter()
        .enumerate()
        .min_by_key(|(_, stats)| stats.clients.get());
    if let Some((index, stats)) = least {
        // an eighth more than the least loaded is even enough
        if index != worker.shared.worker && mine > stats.clients.get() + UNEVEN + mine / 8 {
            worker.mailboxes[index].send(Message::Accepted(socket));
            return;
        }
    }
    serve(worker, socket);
}

/// Starts a session's task.
pub(super) fn serve(worker: &Rc<Worker>, socket: OwnedFd) {
    let client = match Socket::from_fd(socket) {
        Ok(client) => client,
        Err(cause) => {
            tracing::debug!(%cause, "a client was gone before it was served");
            return;
        }
    };
    let stats = &worker.shared.stats;
    let limit = u64::from(worker.shared.snapshot().proxy.max_connections);
    let total: u64 = worker.all_stats.iter().map(|s| s.clients.get()).sum();
    stats.clients.add(1);
    worker.clients.set(worker.clients.get() + 1);
    let worker = worker.clone();
    net::spawn(async move {
        let session = session::serve(client, worker.shared.clone(), total >= limit);
        if Contained(Box::pin(session)).await.is_err() {
            tracing::error!(
                worker = worker.shared.worker,
                "a session panicked and was ended: this is a bug, please report the lines above"
            );
        }
        worker.shared.stats.clients.sub(1);
        worker.clients.set(worker.clients.get() - 1);
        worker.end_if_drained();
    });
}

/// A panic ends its own session only. Unwinding drops the session: a connection in the middle of a reply is
/// closed, one with state is reset, the client's socket is closed.
struct Contained<F>(Pin<Box<F>>);

impl<F: Future<Output = ()>> Future for Contained<F> {
    type Output = Result<(), ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}
