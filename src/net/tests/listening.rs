use super::*;
use std::io::ErrorKind;

#[test]
fn a_stopped_listener_hands_out_what_waits_and_then_ends() {
    testing::run(|| async {
        // an address of its own, so that nobody else gets the port when it is free again
        let socket = TcpListener::bind("127.77.1.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let listener = listen(socket).unwrap();
        let clients: Vec<_> = (0..5)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
        listener.stop();
        for _ in &clients {
            assert!(listener.accept().await.unwrap().is_some());
        }
        assert!(listener.accept().await.unwrap().is_none());
        assert!(listener.accept().await.unwrap().is_none());
        let refused = connect(&Endpoint::Tcp(address), PATIENCE)
            .await
            .err()
            .unwrap();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn stopping_wakes_a_waiting_accept() {
    testing::run(|| async {
        let (listener, _) = tcp_listener();
        let stop = async {
            sleep_until(now() + Duration::from_millis(5)).await;
            listener.stop();
        };
        let (accepted, ()) = both(listener.accept(), stop).await;
        assert!(accepted.unwrap().is_none());
    });
}

#[test]
fn accepting_goes_on_after_a_want_of_descriptors() {
    testing::run(|| async {
        // SAFETY: no memory is involved; the table that is filled up is this thread's own.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        let (listener, Endpoint::Tcp(address)) = tcp_listener() else {
            unreachable!()
        };
        let client =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let mut fill = Vec::new();
        while let Ok(copy) = client.try_clone() {
            fill.push(copy);
        }
        client.connect(&address.into()).unwrap();
        until("an accept has failed", || stats().accept_errors > 0).await;
        let enters = stats().enters;
        until("it was tried again", || stats().accept_errors > 2).await;
        assert!(stats().enters - enters < 2000, "no spinning");
        drop(fill);
        let (_fd, peer) = listener.accept().await.unwrap().unwrap();
        assert_eq!(
            peer,
            Peer::Tcp(client.local_addr().unwrap().as_socket().unwrap())
        );
    });
}

#[test]
fn a_refused_connect_says_so() {
    testing::run(|| async {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        let error = connect(&Endpoint::Tcp(address), PATIENCE)
            .await
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let missing = Endpoint::Unix("/nonexistent/socket".into());
        assert_eq!(
            connect(&missing, PATIENCE).await.err().unwrap().kind(),
            ErrorKind::NotFound
        );
        nothing_is_left().await;
    });
}

#[test]
fn a_connect_that_nobody_answers_ends_at_its_deadline() {
    testing::run(|| async {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket
            .bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .unwrap();
        socket.listen(1).unwrap();
        let endpoint = Endpoint::Tcp(socket.local_addr().unwrap().as_socket().unwrap());
        connects_until_full(&endpoint).await;
    });
}

#[test]
fn a_connect_to_a_full_unix_socket_ends_at_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    testing::run(move || async move {
        let socket =
            socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        socket
            .bind(&socket2::SockAddr::unix(&path).unwrap())
            .unwrap();
        socket.listen(1).unwrap();
        connects_until_full(&Endpoint::Unix(path)).await;
    });
}

async fn connects_until_full(endpoint: &Endpoint) {
    let mut connected = Vec::new();
    let start = Instant::now();
    let error = loop {
        match connect(endpoint, Duration::from_millis(200)).await {
            Ok(socket) => connected.push(socket),
            Err(error) => break error,
        }
        assert!(connected.len() < 20, "the queue never fills up");
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(
        start.elapsed() >= Duration::from_millis(200),
        "not before the deadline"
    );
    drop(connected);
    nothing_is_left().await;
}
