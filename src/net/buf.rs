//! [`Buf`]: a counted slice of a receive buffer, of heap bytes or of static bytes.
//!
//! A `Buf` belongs to one worker (it is not `Send`), so its counts are plain integers. Reading it
//! is a pointer and a length; only cloning and dropping look at where the bytes live.
use super::pool;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;

/// A slice of received or owned bytes; cheap to clone and split (reference-counted). 24 bytes.
///
/// Dropping the last slice of a receive buffer gives it back to the ring. Bytes kept beyond a turn
/// should be [detached](Buf::detach), so that no receive buffer is held for them.
pub struct Buf {
    start: NonNull<u8>,
    length: usize,
    owner: Owner,
}

impl Buf {
    pub const fn from_static(bytes: &'static [u8]) -> Buf {
        Buf {
            start: start_of(bytes),
            length: bytes.len(),
            owner: Owner::STATIC,
        }
    }

    pub fn from_vec(mut bytes: Vec<u8>) -> Buf {
        let length = bytes.len();
        let start = NonNull::new(bytes.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Buf {
            start,
            length,
            owner: Owner::heap(Rc::new(bytes)),
        }
    }

    /// A copy, without a heap allocation where a receive buffer can be spared: for short messages
    /// that are sent at once (the bytes must not be kept for long; see [`Buf::detach`]).
    pub fn copy_from_slice(bytes: &[u8]) -> Buf {
        match pool::borrow_small(bytes.len()) {
            Some((start, bid)) => {
                // SAFETY: the pool has lent a buffer of at least `bytes.len()` bytes to us alone;
                // it cannot overlap `bytes`, which are initialised and borrowed.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len())
                };
                Buf {
                    start,
                    length: bytes.len(),
                    owner: Owner::ring(bid),
                }
            }
            None => Buf::from_vec(bytes.to_vec()),
        }
    }

    /// A buffer of its own for `length` bytes that are to be written: what is in it now means nothing.
    /// Without a heap allocation where a receive buffer can be spared.
    pub(super) fn blank(length: usize) -> Buf {
        match pool::borrow_small(length) {
            Some((start, bid)) => Buf {
                start,
                length,
                owner: Owner::ring(bid),
            },
            None => Buf::from_vec(vec![0; length]),
        }
    }

    /// The bytes that the kernel wrote into a receive buffer, whose one reference this takes over.
    pub(super) fn received(start: NonNull<u8>, length: usize, bid: u16) -> Buf {
        Buf {
            start,
            length,
            owner: Owner::ring(bid),
        }
    }

    /// Splits off and returns the first `n` bytes (all of them if there are fewer).
    pub fn split_to(&mut self, n: usize) -> Buf {
        let mut head = self.clone();
        head.truncate(n);
        self.advance(n);
        head
    }

    /// Forgets the first `n` bytes (all of them if there are fewer).
    pub fn advance(&mut self, n: usize) {
        let n = n.min(self.length);
        // SAFETY: `n` is at most the length, so the result is inside the same allocation or one
        // past its end.
        self.start = unsafe { self.start.add(n) };
        self.length -= n;
    }

    /// Keeps the first `n` bytes.
    pub fn truncate(&mut self, n: usize) {
        self.length = self.length.min(n);
    }

    /// The bytes for patching in place: copies to the heap first if the storage is shared.
    pub fn make_mut(&mut self) -> &mut [u8] {
        if !self.owner.is_unique() {
            *self = Buf::from_vec(self.to_vec());
        }
        // SAFETY: the storage is ours alone (a receive buffer or a vector with one reference),
        // it is writable, and `&mut self` keeps it so for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Moves to the heap, so that no receive buffer is held (for bytes kept beyond a turn).
    pub fn detach(&mut self) {
        if let Kind::Ring(_) = self.owner.kind() {
            *self = Buf::from_vec(self.to_vec());
        }
    }
}

impl Clone for Buf {
    fn clone(&self) -> Buf {
        Buf {
            start: self.start,
            length: self.length,
            owner: self.owner.clone(),
        }
    }
}

impl Default for Buf {
    fn default() -> Buf {
        Buf::from_static(&[])
    }
}

impl From<Vec<u8>> for Buf {
    fn from(bytes: Vec<u8>) -> Buf {
        Buf::from_vec(bytes)
    }
}

impl Deref for Buf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `length` describe initialised bytes of the storage that `owner`
        // keeps alive, and nothing writes to storage with more than one reference.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buf({} bytes, {:?})", self.length, self.owner.kind())
    }
}

const fn start_of(bytes: &'static [u8]) -> NonNull<u8> {
    match NonNull::new(bytes.as_ptr().cast_mut()) {
        Some(start) => start,
        None => NonNull::dangling(),
    }
}

/// Who keeps the bytes alive, in one word: null is nobody (static bytes), an odd address is the
/// number of a receive buffer, any other a counted vector.
struct Owner(*const Vec<u8>);

#[derive(Debug)]
enum Kind {
    Static,
    Ring(u16),
    Heap(*const Vec<u8>),
}

impl Owner {
    const STATIC: Owner = Owner(std::ptr::null());

    fn ring(bid: u16) -> Owner {
        Owner(std::ptr::without_provenance(usize::from(bid) << 1 | 1))
    }

    fn heap(bytes: Rc<Vec<u8>>) -> Owner {
        Owner(Rc::into_raw(bytes))
    }

    #[inline]
    fn kind(&self) -> Kind {
        match self.0.addr() {
            0 => Kind::Static,
            odd if odd & 1 == 1 => Kind::Ring((odd >> 1) as u16),
            _ => Kind::Heap(self.0),
        }
    }

    fn is_unique(&self) -> bool {
        match self.kind() {
            Kind::Static => false,
            Kind::Ring(bid) => pool::references(bid) == 1,
            Kind::Heap(bytes) => {
                // SAFETY: the pointer came from `Rc::into_raw` and our reference is still counted;
                // ManuallyDrop leaves that count as it is.
                let bytes = std::mem::ManuallyDrop::new(unsafe { Rc::from_raw(bytes) });
                Rc::strong_count(&bytes) == 1
            }
        }
    }
}

impl Clone for Owner {
    #[inline]
    fn clone(&self) -> Owner {
        match self.kind() {
            Kind::Static => {}
            Kind::Ring(bid) => pool::retain(bid),
            // SAFETY: the pointer came from `Rc::into_raw` and our own reference keeps it alive.
            Kind::Heap(bytes) => unsafe { Rc::increment_strong_count(bytes) },
        }
        Owner(self.0)
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        match self.kind() {
            Kind::Static => {}
            Kind::Ring(bid) => pool::release(bid),
            // SAFETY: the pointer came from `Rc::into_raw`, and this is the one reference it stood for.
            Kind::Heap(bytes) => drop(unsafe { Rc::from_raw(bytes) }),
        }
    }
}
