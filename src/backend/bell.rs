//! Waiting for a sign from elsewhere in the worker, or for a time.
use crate::net;
use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Instant;

/// One listener; rings before it listens are kept (as one).
#[derive(Default)]
pub(super) struct Bell {
    rung: Cell<bool>,
    listener: RefCell<Option<Waker>>,
}

impl Bell {
    pub fn ring(&self) {
        self.rung.set(true);
        let listener = self.listener.borrow_mut().take();
        if let Some(listener) = listener {
            listener.wake();
        }
    }

    /// Until the bell rings, at the latest until `until`.
    pub async fn wait(&self, until: Instant) {
        let listen = |waker: &Waker| {
            if self.rung.take() {
                return Some(());
            }
            *self.listener.borrow_mut() = Some(waker.clone());
            None
        };
        or_at(until, listen).await;
    }
}

/// Polls `ready` until it gives something; `None` when `until` comes first.
pub(super) async fn or_at<T>(
    until: Instant,
    mut ready: impl FnMut(&Waker) -> Option<T>,
) -> Option<T> {
    let mut time = pin!(net::sleep_until(until));
    poll_fn(|cx| {
        // The time first: also when both have come, its timer is to be let go.
        let over = time.as_mut().poll(cx).is_ready();
        match ready(cx.waker()) {
            Some(value) => Poll::Ready(Some(value)),
            None if over => Poll::Ready(None),
            None => Poll::Pending,
        }
    })
    .await
}
