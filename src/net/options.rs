//! Socket options and addresses.
use super::{NetConfig, Peer};
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// Prepares a connection's descriptor for the ring. TCP: no delay, keepalive, and an end to waiting
/// for a peer that acknowledges nothing.
pub(super) fn prepare(fd: &OwnedFd, peer: &Peer, config: &NetConfig) -> io::Result<()> {
    set_nonblocking(fd, false)?;
    if let Peer::Tcp(_) = peer {
        let socket = SockRef::from(fd);
        let keepalive = TcpKeepalive::new()
            .with_time(config.keepalive_idle)
            .with_interval(config.keepalive_interval)
            .with_retries(config.keepalive_count);
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_keepalive(&keepalive)?;
        socket.set_tcp_user_timeout(Some(config.tcp_user_timeout))?;
    }
    Ok(())
}

/// The ring waits by itself; with O_NONBLOCK its operations may give up at once instead.
pub(super) fn set_nonblocking(fd: &OwnedFd, on: bool) -> io::Result<()> {
    let socket = SockRef::from(fd);
    if socket.nonblocking()? != on {
        socket.set_nonblocking(on)?;
    }
    Ok(())
}

/// Who is at the other end. An IPv4 address that came in over an IPv6 socket is given as IPv4.
pub(super) fn peer_of(fd: &OwnedFd) -> io::Result<Peer> {
    let address = SockRef::from(fd).peer_addr()?;
    Ok(match address.as_socket() {
        Some(address) => Peer::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port())),
        None => Peer::Unix,
    })
}
