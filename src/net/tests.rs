//! Real sockets on loopback; conditions are awaited, not slept for.
mod aborting;
mod buffers;
mod churn;
mod ends;
mod flow;
mod listening;
mod memory;
mod splice;
mod start;
mod time;
mod tls;
mod traffic;

use super::*;
use std::future::{poll_fn, Future};
use std::net::{Ipv4Addr, TcpListener};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

/// A listener on a free loopback port, and where it is.
fn tcp_listener() -> (Listener, Endpoint) {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    (listen(socket).unwrap(), Endpoint::Tcp(address))
}

async fn accept(listener: &Listener) -> Socket {
    let (fd, _) = listener.accept().await.unwrap().expect("a connection");
    Socket::from_fd(fd).unwrap()
}

async fn pair_on(listener: &Listener, endpoint: &Endpoint) -> (Socket, Socket) {
    let near = connect(endpoint, PATIENCE).await.unwrap();
    (near, accept(listener).await)
}

/// Two ends of one TCP connection.
async fn pair() -> (Socket, Socket) {
    let (listener, endpoint) = tcp_listener();
    pair_on(&listener, &endpoint).await
}

/// A connection whose other end is an ordinary socket.
async fn pair_with_std() -> (Socket, std::net::TcpStream) {
    let (listener, Endpoint::Tcp(address)) = tcp_listener() else {
        unreachable!()
    };
    let far = std::net::TcpStream::connect(address).unwrap();
    (accept(&listener).await, far)
}

/// Both futures at once.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|cx| {
        if of_a.is_none() {
            if let Poll::Ready(value) = a.as_mut().poll(cx) {
                of_a = Some(value);
            }
        }
        if of_b.is_none() {
            if let Poll::Ready(value) = b.as_mut().poll(cx) {
                of_b = Some(value);
            }
        }
        if of_a.is_some() && of_b.is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    (of_a.unwrap(), of_b.unwrap())
}

/// Waits for a condition, and fails if it does not come true in good time.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        sleep_until(now() + Duration::from_millis(1)).await;
    }
}

/// Bytes that differ from place to place, so that a lost or moved one shows.
fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

async fn receive_exactly(socket: &Socket, length: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(length);
    while all.len() < length {
        let chunk = socket
            .recv()
            .await
            .unwrap()
            .expect("the peer is still there");
        all.extend_from_slice(&chunk);
    }
    all
}

/// Sends everything in pieces without queueing more than some.
async fn send_all(socket: &Socket, bytes: &[u8], piece: usize) {
    for piece in bytes.chunks(piece) {
        socket.send(Buf::from_vec(piece.to_vec()));
        socket.drained(256 << 10).await.unwrap();
    }
    socket.drained(0).await.unwrap();
}

/// Sends back what comes until the peer ends.
async fn echo(socket: Socket) {
    while let Ok(Some(buf)) = socket.recv().await {
        socket.send(buf);
        if socket.drained(256 << 10).await.is_err() {
            return;
        }
    }
    socket.close().await;
}

async fn nothing_is_left() {
    until("nothing is left", || {
        let census = census();
        census.sockets == 0 && census.buffers == 0 && census.listeners == 0
    })
    .await;
}
