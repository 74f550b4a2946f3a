use super::*;
use std::io::ErrorKind;

/// The way between a server's end and a client's end, as a proxy has it: (server's peer, server, client, client's peer).
async fn way() -> (Socket, Socket, Socket, Socket) {
    let (server_end, server) = pair().await;
    let (client, client_end) = pair().await;
    (server_end, server, client, client_end)
}

/// Passes `length` bytes on: what is received already as it is, the rest moved.
async fn pass(
    splice: &mut Splice,
    server: &Socket,
    client: &Socket,
    length: usize,
) -> Result<usize, Side> {
    let (mut left, mut moved) = (length, 0);
    while left > 0 {
        if splice.is_quiet() {
            let done = poll_fn(|cx| splice.poll_step(cx, left)).await;
            let taken = splice.taken();
            (left, moved) = (left - taken, moved + taken);
            done?;
        } else {
            let mut buf = server.recv().await.map_err(Side::From)?.expect("not ended");
            let rest = buf.len().saturating_sub(left);
            let whole = buf.len() - rest;
            let part = buf.split_to(whole);
            server.unread(buf);
            left -= part.len();
            client.send(part);
        }
    }
    Ok(moved)
}

#[test]
fn a_long_body_is_moved_and_what_is_around_it_keeps_its_place() {
    testing::run(|| async {
        const BODY: usize = 24 << 20;
        let (server_end, server, client, client_end) = way().await;
        let (head, body, tail) = (pattern(100, 1), pattern(BODY, 2), pattern(3000, 3));
        let all = [head.clone(), body, tail.clone()].concat();
        let sender = send_all(&server_end, &all, 300_000);
        let proxy = async {
            let mut first = server.recv().await.unwrap().unwrap();
            client.send(first.split_to(head.len()));
            server.unread(first);
            let mut splice = Splice::begin(&server, &client).expect("between two TCP connections");
            let moved = pass(&mut splice, &server, &client, BODY)
                .await
                .expect("passed");
            assert!(moved > BODY / 2, "only {moved} bytes were moved");
            // beside moved bytes the connection is read directly, and afterwards as ever
            let some = server.recv().await.unwrap().unwrap();
            let read = some.len();
            client.send(some);
            drop(splice);
            let rest = receive_exactly(&server, tail.len() - read).await;
            client.send(Buf::from_vec(rest));
            client.drained(0).await.unwrap();
        };
        let taker = receive_exactly(&client_end, all.len());
        let (_, got) = both(both(sender, proxy), taker).await;
        assert!(got == all);
        assert!(stats().splices > 0);
        // both are as before
        server.send(Buf::from_static(b"question"));
        assert_eq!(receive_exactly(&server_end, 8).await, b"question");
        server_end.send(Buf::from_static(b"answer"));
        assert_eq!(receive_exactly(&server, 6).await, b"answer");
        drop((server_end, server, client, client_end));
        nothing_is_left().await;
    });
}

#[test]
fn the_end_of_either_side_ends_the_way_with_its_reason() {
    testing::run(|| async {
        const BODY: usize = 64 << 20;
        let (server_end, server, client, client_end) = way().await;
        server_end.send(Buf::from_vec(vec![1; 5 << 20]));
        let mut splice = Splice::begin(&server, &client).unwrap();
        let ends = async {
            server_end.close().await;
            receive_exactly(&client_end, 5 << 20).await
        };
        let (outcome, _) = both(pass(&mut splice, &server, &client, BODY), ends).await;
        let Err(Side::From(error)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        drop((splice, server, client, client_end));

        let (server_end, server, client, client_end) = way().await;
        server_end.send(Buf::from_vec(vec![1; 16 << 20]));
        let mut splice = Splice::begin(&server, &client).unwrap();
        let ends = async {
            receive_exactly(&client_end, 1 << 20).await;
            drop(client_end);
        };
        let (outcome, _) = both(pass(&mut splice, &server, &client, BODY), ends).await;
        assert!(matches!(outcome, Err(Side::To(_))), "{outcome:?}");
        drop((splice, server_end, server, client));
        nothing_is_left().await;
    });
}

#[test]
fn a_peer_that_takes_nothing_of_what_is_moved_fails_after_the_write_timeout() {
    let config = NetConfig {
        write_timeout: Duration::from_millis(300),
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (server_end, server, client, client_end) = way().await;
        // more than all buffers on the way hold
        server_end.send(Buf::from_vec(vec![1; 64 << 20]));
        let mut splice = Splice::begin(&server, &client).unwrap();
        let outcome = pass(&mut splice, &server, &client, 64 << 20).await;
        let Err(Side::To(error)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop((splice, server_end, server, client, client_end));
        nothing_is_left().await;
    });
}

#[test]
fn a_deadline_ends_a_wait_for_bytes_to_move() {
    testing::run(|| async {
        let (server_end, server, client, _client_end) = way().await;
        let mut splice = Splice::begin(&server, &client).unwrap();
        server.set_deadline(Some(now() + Duration::from_millis(50)));
        until("the receive is off", || splice.is_quiet()).await;
        let outcome = pass(&mut splice, &server, &client, 1 << 20).await;
        let Err(Side::From(error)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(splice);
        server.set_deadline(None);
        server_end.send(Buf::from_static(b"later"));
        assert_eq!(receive_exactly(&server, 5).await, b"later");
    });
}

#[test]
fn there_is_no_way_to_or_from_a_unix_socket() {
    testing::run(|| async {
        let (near, _far) = pair().await;
        let (a, _b) = std::os::unix::net::UnixStream::pair().unwrap();
        let local = Socket::from_fd(a.into()).unwrap();
        assert!(Splice::begin(&near, &local).is_none());
        assert!(Splice::begin(&local, &near).is_none());
    });
}
