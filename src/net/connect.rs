//! Outgoing connections.
use super::driver::{note_waker, user_data, wake, Driver, Op};
use super::{clock, driver, options, Endpoint, Peer, Socket};
use io_uring::{opcode, types};
use socket2::{Domain, SockAddr, Type};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Connects within `timeout`.
///
/// # Errors
/// TimedOut when it is over; otherwise what the kernel says (ConnectionRefused, …).
pub async fn connect(to: &Endpoint, timeout: Duration) -> io::Result<Socket> {
    let (domain, address, peer) = match to {
        Endpoint::Tcp(address) => (
            Domain::for_address(*address),
            SockAddr::from(*address),
            Peer::Tcp(*address),
        ),
        Endpoint::Unix(path) => (Domain::UNIX, SockAddr::unix(path)?, Peer::Unix),
    };
    let fd = OwnedFd::from(socket2::Socket::new(domain, Type::STREAM, None)?);
    let socket = driver::with(|driver| {
        options::prepare(&fd, &peer, &driver.config)?;
        let index = driver.insert(fd, peer);
        driver.start_connect(index, address, timeout);
        io::Result::Ok(Socket::of_slot(index))
    })?;
    poll_fn(|cx| driver::with(|driver| driver.poll_connected(socket.index(), cx.waker()))).await?;
    Ok(socket)
}

impl Driver {
    fn start_connect(&mut self, index: u32, address: SockAddr, timeout: Duration) {
        let due = self
            .now
            .max(clock::monotonic_nanos())
            .saturating_add(clock::nanos(timeout));
        let slot = &mut self.slots[index as usize];
        let Some(fd) = slot.raw_fd() else { return };
        // boxed: its place must not move while the operation is in flight
        let address = &**slot.address.insert(Box::new(address));
        let entry =
            opcode::Connect::new(types::Fd(fd), address.as_ptr().cast(), address.len()).build();
        slot.connecting = true;
        slot.deadline = due;
        self.ring
            .push(entry.user_data(user_data(Op::Connect, slot.generation, index)));
        self.schedule(index, due);
    }

    pub(super) fn on_connect(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        slot.connecting = false;
        slot.address = None;
        slot.deadline = super::timers::NEVER;
        if result < 0 && slot.error == 0 {
            slot.error = -result;
        }
        wake(&mut slot.recv_waker, &mut self.woken);
        self.arm_recv(index);
    }

    fn poll_connected(&mut self, index: u32, waker: &Waker) -> Poll<io::Result<()>> {
        let slot = &mut self.slots[index as usize];
        if slot.error != 0 {
            return Poll::Ready(Err(io::Error::from_raw_os_error(slot.error)));
        }
        if !slot.connecting {
            return Poll::Ready(Ok(()));
        }
        note_waker(&mut slot.recv_waker, waker);
        Poll::Pending
    }
}
