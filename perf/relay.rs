//! A plain TCP relay on the network layer alone: what a query costs below the proxy.
//!
//! `relay LISTEN_PORT BACKEND_PORT [CPU]`, both on 127.0.0.1; one worker, pinned when a CPU is given.
//! Prints every ten seconds what the ring did.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
use glommio::{LocalExecutorBuilder, Placement};
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::task::{Context, Poll};
use std::time::Duration;
use umpire::net::{self, Endpoint, NetConfig, Socket};

const QUEUED: usize = 256 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || {
        arguments
            .next()
            .map(|argument| argument.parse::<u16>().expect("a number"))
    };
    let listen = number().expect("the port to listen on");
    let backend = number().expect("the port to relay to");
    let placement = number().map_or(Placement::Unbound, |cpu| Placement::Fixed(cpu.into()));
    let executor = LocalExecutorBuilder::new(placement)
        .io_memory(0)
        .ring_depth(16)
        .preempt_timer(Duration::from_secs(1))
        .make()
        .expect("an executor");
    executor.run(async move {
        if let Err(error) = net::start(NetConfig::default()) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        net::spawn(accept(local(listen), local(backend)));
        net::spawn(report());
        net::drive().await;
    });
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

async fn accept(address: SocketAddr, backend: SocketAddr) {
    let listener =
        net::listen(TcpListener::bind(address).expect("a free port")).expect("a listener");
    while let Ok(Some((fd, _))) = listener.accept().await {
        net::spawn(async move {
            let Ok(client) = Socket::from_fd(fd) else {
                return;
            };
            let Ok(server) = net::connect(&Endpoint::Tcp(backend), Duration::from_secs(5)).await
            else {
                return;
            };
            poll_fn(|cx| relay(&client, &server, cx)).await;
        });
    }
}

/// Both directions in one task; ready when either end is gone.
fn relay(client: &Socket, server: &Socket, cx: &mut Context<'_>) -> Poll<()> {
    match (forward(client, server, cx), forward(server, client, cx)) {
        (Poll::Pending, Poll::Pending) => Poll::Pending,
        _ => Poll::Ready(()),
    }
}

fn forward(from: &Socket, to: &Socket, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        if to.queued() > QUEUED {
            match to.poll_drained(cx, QUEUED / 2) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(()),
            }
        }
        match from.poll_recv(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(Some(buf))) => to.send(buf),
            Poll::Ready(_) => return Poll::Ready(()),
        }
    }
}

async fn report() {
    loop {
        net::sleep_until(net::now() + Duration::from_secs(10)).await;
        println!("{:?} {:?}", net::stats(), net::census());
    }
}
