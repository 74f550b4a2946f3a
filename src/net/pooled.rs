//! Futures on the heap whose memory is used again: what runs often and is large, but not kept while
//! nothing runs.
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Blocks of one size that are kept for the next future of that size.
const KEPT: usize = 256;
/// Sizes that are kept: a worker has one or two kinds of such futures.
const SIZES: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<(Layout, Vec<NonNull<u8>>)>> = const { RefCell::new(Vec::new()) };
}

/// Puts a future on the heap, in the memory of one that has ended if there is any: no allocation in the
/// steady state, and no memory held for it while it does not run.
#[inline]
pub fn pooled<F: Future>(future: F) -> Pooled<F> {
    let place = take(Layout::new::<F>()).cast::<F>();
    // SAFETY: the block is ours alone, and of the future's size and alignment.
    unsafe { place.as_ptr().write(future) };
    Pooled { place }
}

/// See [`pooled`]. Owns the future; its address stays the same until the drop.
pub struct Pooled<F> {
    place: NonNull<F>,
}

// The future does not move with the handle.
impl<F> Unpin for Pooled<F> {}

impl<F: Future> Future for Pooled<F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `place` holds an initialised future that nobody else refers to, and that stays where it is
        // until it is dropped: it is pinned.
        unsafe { Pin::new_unchecked(self.place.as_mut()) }.poll(cx)
    }
}

impl<F> Drop for Pooled<F> {
    #[inline]
    fn drop(&mut self) {
        /// Gives the memory back even if the future's own drop panics.
        struct Block(NonNull<u8>, Layout);
        impl Drop for Block {
            #[inline]
            fn drop(&mut self) {
                give_back(self.0, self.1);
            }
        }
        let _block = Block(self.place.cast(), Layout::new::<F>());
        // SAFETY: the future is initialised and dropped here only.
        unsafe { std::ptr::drop_in_place(self.place.as_ptr()) };
    }
}

#[inline]
fn take(layout: Layout) -> NonNull<u8> {
    let spare = SPARE.with_borrow_mut(|sizes| {
        let (_, blocks) = sizes.iter_mut().find(|(size, _)| *size == layout)?;
        blocks.pop()
    });
    spare.unwrap_or_else(|| fresh(layout))
}

#[cold]
fn fresh(layout: Layout) -> NonNull<u8> {
    if layout.size() == 0 {
        return NonNull::dangling();
    }
    // SAFETY: the layout has a size.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

#[inline]
fn give_back(block: NonNull<u8>, layout: Layout) {
    // a thread that ends may have dropped its list already
    let kept = SPARE.try_with(|sizes| keep(&mut sizes.borrow_mut(), block, layout));
    if !kept.unwrap_or(false) && layout.size() > 0 {
        // SAFETY: the block came from `fresh` with this layout, and nobody uses it any more.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

#[inline]
fn keep(sizes: &mut Vec<(Layout, Vec<NonNull<u8>>)>, block: NonNull<u8>, layout: Layout) -> bool {
    if layout.size() == 0 {
        return false;
    }
    let known = sizes.len();
    match sizes.iter_mut().find(|(size, _)| *size == layout) {
        Some((_, blocks)) if blocks.len() >= KEPT => return false,
        Some((_, blocks)) => blocks.push(block),
        None if known >= SIZES => return false,
        None => sizes.push((layout, vec![block])),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::allocations;
    use std::future::ready;
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::Waker;

    fn poll<F: Future>(future: F) -> Poll<F::Output> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_future_gives_its_value_and_its_memory_is_used_again() {
        let large = |n: u64| pooled(ready([n; 20]));
        assert_eq!(poll(large(1)), Poll::Ready([1; 20]));
        let before = allocations();
        for n in 0..1000 {
            assert_eq!(poll(large(n)), Poll::Ready([n; 20]));
        }
        assert_eq!(allocations(), before);
    }

    #[test]
    fn two_at_once_have_memory_of_their_own() {
        let (first, second) = (pooled(ready([1u8; 9])), pooled(ready([2u8; 9])));
        assert_eq!(poll(first), Poll::Ready([1; 9]));
        assert_eq!(poll(second), Poll::Ready([2; 9]));
    }

    #[test]
    fn what_a_future_holds_is_dropped_with_it_though_it_has_not_ended() {
        let held = Rc::new(());
        let clone = held.clone();
        let future = pooled(async move {
            std::future::pending::<()>().await;
            drop(clone);
        });
        assert_eq!(Rc::strong_count(&held), 2);
        drop(future);
        assert_eq!(Rc::strong_count(&held), 1);
    }

    #[test]
    fn a_future_without_a_size_needs_no_memory() {
        let before = allocations();
        assert_eq!(poll(pooled(async { 7 })), Poll::Ready(7));
        struct Nothing;
        impl Future for Nothing {
            type Output = u8;
            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
                Poll::Ready(8)
            }
        }
        let made = allocations();
        assert_eq!(poll(pooled(Nothing)), Poll::Ready(8));
        assert_eq!(allocations(), made);
        assert!(made - before <= 3);
    }

    #[test]
    fn no_more_blocks_are_kept_than_are_allowed() {
        let many: Vec<_> = (0..2 * KEPT).map(|_| pooled(ready([0u32; 50]))).collect();
        drop(many);
        let layout = Layout::new::<std::future::Ready<[u32; 50]>>();
        let kept = SPARE.with_borrow(|sizes| {
            let found = sizes.iter().find(|(size, _)| *size == layout);
            found.map_or(0, |(_, blocks)| blocks.len())
        });
        assert_eq!(kept, KEPT);
    }
}
