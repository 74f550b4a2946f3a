//! Runs an async test on an executor with a driver, on a thread of its own.
use super::{drive, spawn, start, stop, Heap, NetConfig};
use glommio::{LocalExecutorBuilder, Placement};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Runs the future that `make` gives to its end; a panic in it fails the test.
pub(crate) fn run<T, F>(make: impl FnOnce() -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    run_with(NetConfig::default(), make)
}

pub(crate) fn run_with<T, F>(config: NetConfig, make: impl FnOnce() -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    let thread = std::thread::spawn(move || {
        let executor = LocalExecutorBuilder::new(Placement::Unbound)
            .io_memory(0)
            .ring_depth(16)
            .preempt_timer(Duration::from_secs(1))
            .make()
            .expect("an executor");
        executor.run(async move {
            start(config).expect("a ring");
            let outcome = Rc::new(RefCell::new(None));
            let place = outcome.clone();
            spawn(async move {
                let mut test = pin!(make());
                let result =
                    poll_fn(
                        |cx| match catch_unwind(AssertUnwindSafe(|| test.as_mut().poll(cx))) {
                            Ok(Poll::Pending) => Poll::Pending,
                            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                            Err(panic) => Poll::Ready(Err(panic)),
                        },
                    )
                    .await;
                *place.borrow_mut() = Some(result);
                stop();
            });
            drive().await;
            let result = outcome.borrow_mut().take();
            result.expect("the test's future has ended")
        })
    });
    match thread.join() {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
    }
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Heap allocations of this thread so far.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count() {
    // a thread that ends may allocate after its counter is gone
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: everything is the product's allocator's; counting touches a thread-local integer only, which needs neither
// an allocation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { Heap.realloc(at, layout, size) }
    }
}
