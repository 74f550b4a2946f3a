//! Tasks of a worker and the loop that drives them.
//!
//! The executor cannot say whether tasks are still runnable, so every task's polls are counted: the
//! driver yields until a round ran none, and only then lets the kernel put the worker to sleep.
use super::clock;
use super::driver::{self, Driver};
use super::timers::{Nanos, Owner, TimerId};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// After this many rounds with runnable tasks the sockets get their turn anyway.
const ROUNDS: usize = 32;

thread_local! {
    static POLLS: Cell<u64> = const { Cell::new(0) };
}

/// Spawns a task of this worker, counted so that the driver knows when to block. The task must end
/// by itself: the executor leaks cancelled ones.
pub fn spawn<F: Future<Output = ()> + 'static>(task: F) {
    glommio::spawn_local(Counted(task)).detach();
}

struct Counted<F>(F);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        POLLS.set(POLLS.get().wrapping_add(1));
        // SAFETY: the only field is pinned with the structure: it is never moved out, the structure
        // has no Drop, and it is Unpin only if the field is.
        unsafe { self.map_unchecked_mut(|counted| &mut counted.0) }.poll(cx)
    }
}

/// Drives the sockets of this worker until [`stop`]: everything runnable runs, then one pass. To be
/// awaited by one task of the executor; all others go through [`spawn`].
pub async fn drive() {
    loop {
        let idle = run_ready().await;
        if !driver::with(|driver| driver.pass(idle)) {
            break;
        }
    }
}

/// Closes the ring and all that is open on it. To be called when the executor has ended: until then its other
/// tasks may still be polled, and need their sockets.
pub fn finish() {
    driver::uninstall();
}

/// Ends [`drive`] after what is queued was handed to the kernel once. The worker's connections are closed.
pub fn stop() {
    driver::with(|driver| driver.stopping = true);
}

/// True: nothing is runnable any more.
async fn run_ready() -> bool {
    for _ in 0..ROUNDS {
        let before = POLLS.get();
        glommio::executor().yield_now().await;
        if POLLS.get() == before {
            return true;
        }
    }
    false
}

/// Ends at `deadline` (resolution: a tick of the driver, 1 ms; never early).
pub async fn sleep_until(deadline: Instant) {
    Sleep {
        due: clock::nanos_of(deadline),
        timer: None,
    }
    .await;
}

struct Sleep {
    due: Nanos,
    timer: Option<TimerId>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (due, timer) = (self.due, self.timer);
        match driver::with(|driver| driver.poll_sleep(due, timer, cx.waker())) {
            Some(timer) => {
                self.timer = Some(timer);
                Poll::Pending
            }
            None => {
                self.timer = None;
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            let due = self.due;
            driver::try_with(|driver| {
                // the pass that saw the time over has taken the timer away; its id may be another's by now
                if due > driver.now {
                    driver.timers.remove(timer);
                }
            });
        }
    }
}

impl Driver {
    /// None: the time has come, and the timer is gone.
    fn poll_sleep(&mut self, due: Nanos, timer: Option<TimerId>, waker: &Waker) -> Option<TimerId> {
        match timer {
            // a timer fires, and is gone, in the pass that sees its time over
            _ if due <= self.now => None,
            None => Some(self.timers.add(due, Owner::Task(waker.clone()))),
            Some(timer) => {
                self.timers.set_waker(timer, waker);
                Some(timer)
            }
        }
    }
}
