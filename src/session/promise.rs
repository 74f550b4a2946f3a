//! A value that another task of this worker, or a message to it, will bring.
use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Instant;

/// Both ends of it; single-threaded.
pub struct Promise<T>(Rc<RefCell<Inner<T>>>);

struct Inner<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Clone for Promise<T> {
    fn clone(&self) -> Self {
        Promise(self.0.clone())
    }
}

impl<T> Default for Promise<T> {
    fn default() -> Self {
        Promise(Rc::new(RefCell::new(Inner {
            value: None,
            waker: None,
        })))
    }
}

impl<T> Promise<T> {
    pub fn fulfil(&self, value: T) {
        let waker = {
            let mut inner = self.0.borrow_mut();
            inner.value = Some(value);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Two ends of one promise.
    pub fn is_same(&self, other: &Promise<T>) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Nobody holds the other end any more.
    pub fn is_abandoned(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Waits for the value; None: the deadline came first.
    pub async fn wait_until(&self, deadline: Instant) -> Option<T> {
        let mut timer = std::pin::pin!(crate::net::sleep_until(deadline));
        poll_fn(|cx| {
            {
                let mut inner = self.0.borrow_mut();
                if let Some(value) = inner.value.take() {
                    return Poll::Ready(Some(value));
                }
                inner.waker = Some(cx.waker().clone());
            }
            timer.as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}
