//! New clients: accepted here, or handed to the least loaded worker.
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
            Ok(Some((socket, _peer))) => place(&worker, socket, listener),
            Ok(None) => return,
            Err(cause) => {
                tracing::error!(worker = worker.shared.worker, %cause, "a listening socket failed: it accepts no more");
                return;
            }
        }
    }
}

/// Serves the client here unless another worker has clearly fewer, those on their way to it included.
fn place(worker: &Rc<Worker>, socket: OwnedFd, listener: usize) {
    let me = worker.shared.worker;
    let loads = worker.all_stats.iter().zip(&worker.mailboxes);
    let loads = loads.map(|(stats, mailbox)| stats.clients.get() + mailbox.incoming());
    let socket = match chosen(me, loads) {
        Some(other) => match worker.mailboxes[other].hand_over(socket, listener) {
            Ok(()) => return,
            Err(socket) => socket,
        },
        None => socket,
    };
    serve(worker, socket, listener);
}

/// The worker that should get a new client instead of `me`, if any.
fn chosen(me: usize, loads: impl Iterator<Item = u64> + Clone) -> Option<usize> {
    let mine = loads.clone().nth(me)?;
    let (other, least) = loads.enumerate().min_by_key(|(_, load)| *load)?;
    // an eighth more than the least loaded is even enough
    (other != me && mine > least + UNEVEN + mine / 8).then_some(other)
}

/// Starts a session's task for a client of this place of `proxy.listen`.
pub(super) fn serve(worker: &Rc<Worker>, socket: OwnedFd, listener: usize) {
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
    let refused = total >= limit || worker.full.get();
    stats.clients.add(1);
    worker.clients.set(worker.clients.get() + 1);
    let worker = worker.clone();
    net::spawn(async move {
        let session = session::serve(client, worker.shared.clone(), listener, refused);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_client_goes_to_a_worker_with_clearly_fewer() {
        let chosen = |me, loads: &[u64]| chosen(me, loads.iter().copied());
        assert_eq!(chosen(0, &[0, 0]), None);
        assert_eq!(chosen(0, &[4, 0]), None);
        assert_eq!(chosen(0, &[5, 0]), Some(1));
        assert_eq!(chosen(1, &[90, 110, 80]), Some(2));
        assert_eq!(chosen(0, &[90, 110, 80]), None);
        assert_eq!(chosen(0, &[7]), None);
    }

    /// All clients come in on one worker, and those that it hands on are served late.
    #[test]
    fn hand_overs_under_way_do_not_pile_up_on_one_worker() {
        let (mut served, mut incoming) = ([0u64; 4], [0u64; 4]);
        for n in 0..400 {
            let loads = served.iter().zip(&incoming).map(|(s, i)| s + i);
            match chosen(0, loads) {
                Some(other) => incoming[other] += 1,
                None => served[0] += 1,
            }
            if n % 100 == 99 {
                for (s, i) in served.iter_mut().zip(&mut incoming) {
                    *s += std::mem::take(i);
                }
            }
        }
        assert!(served.iter().all(|n| (85..=125).contains(n)), "{served:?}");
    }
}
