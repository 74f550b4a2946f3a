//! Tasks of a worker and the loop that drives them.
//!
//! The executor runs one task, [`drive`]; the others are polled by it, in the order in which they were
//! woken. A task of the executor's own costs about 300 instructions more a poll and its atomic reference
//! counts, and the executor cannot say whether tasks are still runnable, which has to be known before the
//! worker sleeps. A waker here is a number, so that cloning and dropping one is free.
use super::clock;
use super::driver::{self, Driver};
use super::timers::{Nanos, Owner, TimerId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

/// After this many rounds with runnable tasks the sockets get their turn anyway.
const ROUNDS: usize = 32;
/// Passes after which the executor runs what else it has.
const YIELD_EVERY: u32 = 1024;

thread_local! {
    /// Never dropped with the thread: a task that has not ended by then may need what is gone already.
    static TASKS: ManuallyDrop<RefCell<Tasks>> = const { ManuallyDrop::new(RefCell::new(Tasks::NONE)) };
}

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// Per worker. A task is in `ready` exactly if it is `woken`.
struct Tasks {
    places: Vec<Place>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

struct Place {
    /// Of the task that is here, so that a waker of an earlier one does nothing.
    generation: u32,
    woken: bool,
    /// None: free, or being polled.
    task: Option<Boxed>,
}

impl Tasks {
    const NONE: Tasks = Tasks {
        places: Vec::new(),
        free: Vec::new(),
        ready: VecDeque::new(),
    };

    fn add(&mut self, task: Boxed) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                woken: false,
                task: None,
            });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.task = Some(task);
        place.woken = true;
        self.ready.push_back(index);
    }

    #[inline]
    fn wake(&mut self, id: Id) {
        match self.places.get_mut(id.index as usize) {
            Some(place) if place.generation == id.generation && !place.woken => {
                place.woken = true;
                self.ready.push_back(id.index);
            }
            _ => {}
        }
    }

    /// The task that was woken first, to be polled; None: none is runnable.
    #[inline]
    fn take(&mut self) -> Option<(Id, Boxed)> {
        loop {
            let index = self.ready.pop_front()?;
            let place = self.places.get_mut(index as usize)?;
            place.woken = false;
            let generation = place.generation;
            match place.task.take() {
                Some(task) => return Some((Id { index, generation }, task)),
                // it ended after it was woken
                None => self.free.push(index),
            }
        }
    }

    #[inline]
    fn put_back(&mut self, id: Id, task: Boxed) {
        self.places[id.index as usize].task = Some(task);
    }

    fn end(&mut self, id: Id) {
        let place = &mut self.places[id.index as usize];
        place.generation = place.generation.wrapping_add(1);
        // woken while it ended: the place is given away when that has been taken out of the queue
        if !std::mem::take(&mut place.woken) {
            self.free.push(id.index);
        }
    }
}

/// Which task a waker wakes.
#[derive(Clone, Copy)]
struct Id {
    index: u32,
    generation: u32,
}

impl Id {
    /// The waker holds nothing but the number: it may be kept, cloned and dropped anywhere. Used on a thread
    /// other than the task's worker it wakes nobody, or somebody who finds nothing to do.
    fn waker(self) -> Waker {
        let data = u64::from(self.generation) << 32 | u64::from(self.index);
        let data = std::ptr::without_provenance(data as usize);
        // SAFETY: the functions of the table use the pointer as a number only, and are thread-safe.
        unsafe { Waker::from_raw(RawWaker::new(data, &WAKER)) }
    }

    fn of(data: *const ()) -> Id {
        let data = data.addr() as u64;
        Id {
            index: data as u32,
            generation: (data >> 32) as u32,
        }
    }
}

const _: () = assert!(usize::BITS == 64, "a waker is a number of 64 bits");

static WAKER: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &WAKER), wake, wake, |_| {});

#[inline]
fn wake(data: *const ()) {
    with(|tasks| tasks.wake(Id::of(data)));
}

/// Nothing of a task runs within `f`.
#[inline]
fn with<R>(f: impl FnOnce(&mut Tasks) -> R) -> R {
    TASKS.with(|tasks| f(&mut tasks.borrow_mut()))
}

/// Spawns a task of this worker. It must end by itself.
pub fn spawn<F: Future<Output = ()> + 'static>(task: F) {
    let task = Box::pin(task);
    with(|tasks| tasks.add(task));
}

/// Drives the sockets of this worker until [`stop`]: everything runnable runs, then one pass. To be
/// awaited by one task of the executor; all others go through [`spawn`].
pub async fn drive() {
    let mut passes = 0u32;
    loop {
        let idle = run_ready();
        if !driver::with(|driver| driver.pass(idle)) {
            break;
        }
        passes = passes.wrapping_add(1);
        if passes % YIELD_EVERY == 0 {
            glommio::executor().yield_now().await;
        }
    }
}

/// Closes the ring and all that is open on it. To be called when the executor has ended: until then tasks may
/// still be polled, and need their sockets.
pub fn finish() {
    driver::uninstall();
}

/// Ends [`drive`] after what is queued was handed to the kernel once. The worker's connections are closed.
pub fn stop() {
    driver::with(|driver| driver.stopping = true);
}

/// True: nothing is runnable any more.
fn run_ready() -> bool {
    for _ in 0..ROUNDS {
        let count = with(|tasks| tasks.ready.len());
        if count == 0 {
            return true;
        }
        // those that are woken meanwhile come in the next round
        for _ in 0..count {
            let Some((id, task)) = with(Tasks::take) else {
                break;
            };
            run(id, task);
        }
    }
    false
}

#[inline]
fn run(id: Id, mut task: Boxed) {
    let waker = id.waker();
    match task.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Pending => with(|tasks| tasks.put_back(id, task)),
        Poll::Ready(()) => {
            drop(task);
            with(|tasks| tasks.end(id));
        }
    }
}

/// Lets the other runnable tasks run first.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
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
