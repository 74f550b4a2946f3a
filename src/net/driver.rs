//! The driver: one pass flushes what is queued, enters the kernel once, and deals with what came
//! back. The state of all sockets of a worker is here, in a thread-local.
use super::listen::Listening;
use super::memory::Pressure;
use super::pipe::Pipes;
use super::ring::{Completion, Ring};
use super::slot::{Gather, Slot};
use super::timers::{Nanos, Owner, Timers};
use super::wake::Waking;
use super::{clock, pool, prompt, Census, NetConfig, NetStats, StartError};
use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};
use std::cell::RefCell;
use std::task::Waker;

/// Timers that come up within the same millisecond share one wake-up.
const TICK: Nanos = 1_000_000;

thread_local! {
    static DRIVER: RefCell<Option<Driver>> = const { RefCell::new(None) };
}

/// Runs `f` on this thread's driver.
///
/// # Panics
/// If [`start`](super::start) was not called on this thread: a socket never leaves its worker.
#[inline]
pub(super) fn with<R>(f: impl FnOnce(&mut Driver) -> R) -> R {
    DRIVER.with(|driver| {
        let mut driver = driver.borrow_mut();
        f(driver
            .as_mut()
            .expect("net::start was not called on this thread"))
    })
}

/// For drops, which may come after the driver is gone.
pub(super) fn try_with<R>(f: impl FnOnce(&mut Driver) -> R) -> Option<R> {
    DRIVER
        .try_with(|driver| driver.borrow_mut().as_mut().map(f))
        .ok()
        .flatten()
}

pub(super) fn install(config: NetConfig) -> Result<(), StartError> {
    if try_with(|_| ()).is_some() || pool::exists(pool::SMALL) {
        return Err(StartError::AlreadyStarted);
    }
    let driver = Driver::new(config)?;
    DRIVER.with(|place| *place.borrow_mut() = Some(driver));
    Ok(())
}

pub(super) fn uninstall() {
    let driver = DRIVER.with(|place| place.borrow_mut().take());
    drop(driver);
}

/// What an operation was, in the top byte of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    /// A completion nobody waits for (a cancel that found nothing).
    Ignored = 0,
    Recv,
    Send,
    Connect,
    Poll,
    /// A poll until a splice can go on.
    Ready,
    Accept,
    Timeout,
    Wake,
}

pub(super) const GENERATION_MASK: u32 = 0xff_ffff;

pub(super) fn user_data(op: Op, generation: u32, index: u32) -> u64 {
    (op as u64) << 56 | u64::from(generation & GENERATION_MASK) << 32 | u64::from(index)
}

/// Per worker.
pub(super) struct Driver {
    pub(super) ring: Ring,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    pub(super) listeners: Vec<Option<Listening>>,
    pub(super) timers: Timers,
    pub(super) waking: Option<Waking>,
    /// Sockets with something to send that is not on its way yet.
    pub(super) dirty: Vec<u32>,
    /// Sockets whose prompt send is submitted, or about to be.
    pub(super) prompt: Vec<u32>,
    pub(super) prompt_works: bool,
    /// Sockets that receive into large buffers.
    pub(super) bulk_sockets: u32,
    pub(super) pipes: Pipes,
    /// Spare message storage: boxes, because a message keeps its address while it is in flight.
    #[allow(clippy::vec_box)]
    pub(super) gathers: Vec<Box<Gather>>,
    /// Small outgoing buffers are joined here before they are encrypted; kept for its capacity.
    pub(super) joined: Vec<u8>,
    completions: Vec<Completion>,
    pub(super) config: NetConfig,
    pub(super) write_timeout: Nanos,
    pub(super) busy_poll: Nanos,
    pub(super) now: Nanos,
    /// When the timeout in the ring comes up.
    armed: Option<Nanos>,
    timespec: Box<Timespec>,
    pub(super) stats: NetStats,
    pub(super) pressure: Pressure,
    /// A task was woken since the flag was last cleared.
    pub(super) woken: bool,
    pub(super) stopping: bool,
}

impl Driver {
    fn new(config: NetConfig) -> Result<Driver, StartError> {
        let mut ring = Ring::new(config.ring_entries, config.ring_completions)?;
        let prompt_works = prompt::works(&mut ring);
        // few, so that messages land in warm memory; doubled when they do not suffice
        let window = (config.small_buffers / 32).max(1);
        pool::create(
            ring.uring(),
            pool::SMALL,
            config.small_buffers,
            config.small_size,
            window,
        )
        .map_err(StartError::of_buffers)?;
        Ok(Driver {
            ring,
            slots: Vec::new(),
            free: Vec::new(),
            listeners: Vec::new(),
            timers: Timers::default(),
            waking: None,
            dirty: Vec::new(),
            prompt: Vec::new(),
            prompt_works,
            bulk_sockets: 0,
            pipes: Pipes::default(),
            gathers: Vec::new(),
            joined: Vec::new(),
            completions: Vec::new(),
            write_timeout: clock::nanos(config.write_timeout),
            busy_poll: clock::nanos(config.busy_poll),
            config,
            now: clock::start(),
            armed: None,
            timespec: Box::default(),
            stats: NetStats::default(),
            pressure: Pressure::NONE,
            woken: false,
            stopping: false,
        })
    }

    /// One pass. With `wait` it sleeps until something happens. False: the driver was stopped.
    pub(super) fn pass(&mut self, wait: bool) -> bool {
        self.woken = false;
        self.flush();
        pool::provide();
        self.watch_memory();
        // a failed send may have made a task ready
        let wait = wait && !self.woken && !self.stopping;
        if wait {
            self.arm_timeout();
        }
        if !(wait && self.busy_poll > 0 && self.spin()) {
            self.ring.enter(wait);
            self.stats.enters += 1;
        }
        let submitted = self.ring.is_submitted();
        self.now = clock::tick();
        let all = self.process();
        if submitted && all && !self.prompt.is_empty() {
            self.finish_prompt();
        }
        self.fire_timers();
        !self.stopping
    }

    /// Looks for completions for a while instead of sleeping. False: there are none.
    fn spin(&mut self) -> bool {
        let until = clock::monotonic_nanos().saturating_add(self.busy_poll);
        loop {
            self.ring.enter(false);
            self.stats.enters += 1;
            if self.ring.has_completions() {
                return true;
            }
            if clock::monotonic_nanos() >= until {
                return false;
            }
        }
    }

    /// True: there were no more completions than were dealt with.
    fn process(&mut self) -> bool {
        let mut batch = std::mem::take(&mut self.completions);
        self.ring.reap(&mut batch, self.config.batch);
        self.stats.events += batch.len() as u64;
        let all = batch.len() < self.config.batch;
        for completion in batch.drain(..) {
            self.dispatch(completion);
        }
        self.completions = batch;
        all
    }

    fn dispatch(&mut self, completion: Completion) {
        let Completion {
            user_data,
            result,
            flags,
        } = completion;
        let index = user_data as u32;
        let op = (user_data >> 56) as u8;
        if op == Op::Timeout as u8 {
            self.armed = None;
        } else if op == Op::Wake as u8 {
            self.on_wake(result);
        } else if op == Op::Accept as u8 {
            self.on_accept(index, result, flags);
        } else if op != Op::Ignored as u8 {
            self.dispatch_to_slot(op, (user_data >> 32) as u32 & GENERATION_MASK, completion);
        }
    }

    fn dispatch_to_slot(&mut self, op: u8, generation: u32, completion: Completion) {
        let Completion {
            user_data,
            result,
            flags,
        } = completion;
        let index = user_data as u32;
        let known = self
            .slots
            .get(index as usize)
            .is_some_and(|slot| slot.generation == generation);
        debug_assert!(known, "a completion came for a slot that was already free");
        if !known {
            return;
        }
        if op == Op::Recv as u8 {
            self.on_recv(index, result, flags);
        } else if op == Op::Send as u8 {
            self.on_send(index, result);
        } else if op == Op::Connect as u8 {
            self.on_connect(index, result);
        } else if op == Op::Ready as u8 {
            self.on_ready(index);
        } else {
            self.on_poll(index, result);
        }
        self.settle(index);
    }

    /// One timeout in the ring, moved only when something comes up earlier than it.
    fn arm_timeout(&mut self) {
        let Some(next) = self.timers.next() else {
            return;
        };
        let due = next.saturating_add(TICK - 1) / TICK * TICK;
        if self.armed.is_some_and(|armed| armed <= due) {
            return;
        }
        *self.timespec = Timespec::new()
            .sec(due / 1_000_000_000)
            .nsec((due % 1_000_000_000) as u32);
        let id = user_data(Op::Timeout, 0, 0);
        let entry = match self.armed {
            None => opcode::Timeout::new(&*self.timespec)
                .flags(TimeoutFlags::ABS)
                .build()
                .user_data(id),
            Some(_) => opcode::TimeoutUpdate::new(id, &*self.timespec)
                .flags(TimeoutFlags::ABS)
                .build()
                .flags(squeue::Flags::SKIP_SUCCESS)
                .user_data(user_data(Op::Ignored, 0, 0)),
        };
        self.armed = Some(due);
        self.ring.push(entry);
    }

    fn fire_timers(&mut self) {
        while let Some((id, owner)) = self.timers.pop(self.now) {
            match owner {
                Owner::Socket(index) => self.on_timer(index, id),
                Owner::Listener(index) => self.arm_accept(index),
                Owner::Task(waker) => {
                    self.woken = true;
                    waker.wake();
                }
            }
        }
    }

    pub(super) fn census(&self) -> Census {
        Census {
            sockets: self.slots.len() - self.free.len(),
            listeners: self.listeners.iter().flatten().count(),
            buffers: pool::out(),
            timers: self.timers.len(),
        }
    }
}

#[inline]
pub(super) fn wake(waker: &mut Option<Waker>, woken: &mut bool) {
    if let Some(waker) = waker.take() {
        *woken = true;
        waker.wake();
    }
}

/// Keeps a clone of the waker, unless it is there already.
#[inline]
pub(super) fn note_waker(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(old) if old.will_wake(waker) => {}
        _ => *place = Some(waker.clone()),
    }
}
