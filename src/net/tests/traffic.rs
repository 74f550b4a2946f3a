use super::*;

async fn echo_works(listener: Listener, endpoint: Endpoint) -> Peer {
    let (near, far) = pair_on(&listener, &endpoint).await;
    let peer = far.peer();
    spawn(echo(far));
    for round in 0..100 {
        let message = pattern(1 + round * 37, round as u64);
        near.send(Buf::from_vec(message.clone()));
        assert_eq!(receive_exactly(&near, message.len()).await, message);
    }
    near.close().await;
    drop(listener);
    nothing_is_left().await;
    peer
}

#[test]
fn echo_over_ipv4() {
    let peer = testing::run(|| async {
        let (listener, endpoint) = tcp_listener();
        echo_works(listener, endpoint).await
    });
    assert!(matches!(peer, Peer::Tcp(address) if address.is_ipv4()));
}

#[test]
fn echo_over_ipv6() {
    let peer = testing::run(|| async {
        let socket = TcpListener::bind("[::1]:0").unwrap();
        let endpoint = Endpoint::Tcp(socket.local_addr().unwrap());
        echo_works(listen(socket).unwrap(), endpoint).await
    });
    assert!(matches!(peer, Peer::Tcp(address) if address.is_ipv6()));
}

#[test]
fn echo_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let peer = testing::run(move || async move {
        let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        echo_works(listen(socket).unwrap(), Endpoint::Unix(path)).await
    });
    assert_eq!(peer, Peer::Unix);
}

#[test]
fn an_ipv4_client_of_an_ipv6_listener_is_reported_as_ipv4() {
    testing::run(|| async {
        let socket = TcpListener::bind("[::]:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let listener = listen(socket).unwrap();
        let near = connect(&Endpoint::Tcp((Ipv4Addr::LOCALHOST, port).into()), PATIENCE)
            .await
            .unwrap();
        let (_, peer) = listener.accept().await.unwrap().unwrap();
        assert!(
            matches!(peer, Peer::Tcp(address) if address.is_ipv4()),
            "{peer:?} {:?}",
            near.peer()
        );
    });
}

#[test]
fn tcp_connections_get_their_options_on_both_ends() {
    testing::run(|| async {
        let config = NetConfig::default();
        let (near, far) = pair().await;
        for socket in [&near, &far] {
            driver::with(|driver| {
                let fd = driver.slots[socket.index() as usize].fd.as_ref().unwrap();
                let options = socket2::SockRef::from(fd);
                assert!(options.tcp_nodelay().unwrap());
                assert!(options.keepalive().unwrap());
                assert_eq!(options.tcp_keepalive_time().unwrap(), config.keepalive_idle);
                assert_eq!(
                    options.tcp_user_timeout().unwrap(),
                    Some(config.tcp_user_timeout)
                );
                assert!(!options.nonblocking().unwrap());
            });
        }
    });
}

#[test]
fn many_connections_at_once() {
    testing::run(|| many_echoes(300));
}

#[test]
fn more_operations_than_the_ring_has_entries_are_all_done() {
    let config = NetConfig {
        ring_entries: 4,
        ring_completions: 8,
        ..NetConfig::default()
    };
    testing::run_with(config, || many_echoes(100));
}

async fn many_echoes(connections: u64) {
    let (listener, endpoint) = tcp_listener();
    let done = std::rc::Rc::new(std::cell::Cell::new(0));
    for number in 0..connections {
        let (near, far) = pair_on(&listener, &endpoint).await;
        spawn(echo(far));
        let done = done.clone();
        spawn(async move {
            for round in 0..20 {
                let message = pattern(100 + round * 50, number * 100 + round as u64);
                near.send(Buf::from_vec(message.clone()));
                assert_eq!(receive_exactly(&near, message.len()).await, message);
            }
            near.close().await;
            done.set(done.get() + 1);
        });
    }
    until("all are served", || done.get() == connections).await;
    assert!(stats().prompt_sends > 0);
    drop(listener);
    nothing_is_left().await;
}

#[test]
fn large_transfers_both_ways_at_once_arrive_byte_for_byte() {
    testing::run(|| async {
        const LENGTH: usize = 24 << 20;
        let (near, far) = pair().await;
        let (there, back) = (pattern(LENGTH, 1), pattern(LENGTH, 2));
        let sent = both(
            send_all(&near, &there, 100_000),
            send_all(&far, &back, 7_001),
        );
        let received = both(
            receive_exactly(&far, LENGTH),
            receive_exactly(&near, LENGTH),
        );
        let (_, (at_far, at_near)) = both(sent, received).await;
        assert!(at_far == there && at_near == back);
        assert!(pool::exists(pool::BULK), "large buffers came into use");
        drop((near, far));
        nothing_is_left().await;
    });
}

#[test]
fn a_connection_uses_large_buffers_only_while_much_comes_in() {
    testing::run(|| async {
        let (near, far) = pair().await;
        let is_bulk =
            |socket: &Socket| driver::with(|driver| driver.slots[socket.index() as usize].bulk);
        let bytes = pattern(4 << 20, 3);
        both(
            send_all(&near, &bytes, 64 << 10),
            receive_exactly(&far, bytes.len()),
        )
        .await;
        assert!(is_bulk(&far));
        for _ in 0..20 {
            near.send(Buf::from_static(b"short"));
            assert_eq!(receive_exactly(&far, 5).await, b"short");
        }
        assert!(!is_bulk(&far));
        near.send(Buf::from_static(b"still in order"));
        assert_eq!(receive_exactly(&far, 14).await, b"still in order");
    });
}

#[test]
fn more_queued_buffers_than_one_message_gathers_arrive_in_order() {
    testing::run(|| async {
        let (near, far) = pair().await;
        let bytes = pattern(1000 * 13, 4);
        for piece in bytes.chunks(13) {
            near.send(Buf::from_vec(piece.to_vec()));
        }
        assert_eq!(near.queued(), bytes.len());
        assert_eq!(receive_exactly(&far, bytes.len()).await, bytes);
        near.drained(0).await.unwrap();
        assert_eq!(near.queued(), 0);
    });
}

#[test]
fn a_received_buffer_is_sent_on_without_a_copy() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"relayed"));
        let buf = far.recv().await.unwrap().unwrap();
        assert_eq!(census().buffers, 1);
        far.send(buf);
        assert_eq!(receive_exactly(&near, 7).await, b"relayed");
        assert_eq!(stats().spills, 0);
        until("the buffer is back", || census().buffers == 0).await;
    });
}

#[test]
fn a_small_send_is_done_with_the_enter_that_waits_for_the_answer() {
    testing::run(|| async {
        let (near, far) = pair().await;
        spawn(echo(far));
        let exchange = || async {
            near.send(Buf::from_static(b"there and back"));
            receive_exactly(&near, 14).await;
        };
        exchange().await;
        let before = stats();
        for _ in 0..100 {
            exchange().await;
        }
        let after = stats();
        assert_eq!(after.prompt_sends - before.prompt_sends, 200);
        assert_eq!(after.ring_sends, before.ring_sends);
        // each message is one event, its receipt; a pass more now and then is the machine's
        assert!(after.events - before.events <= 220, "{before:?} {after:?}");
        assert!(after.enters - before.enters <= 220, "{before:?} {after:?}");
    });
}

#[test]
fn small_sends_that_find_no_room_go_on_by_themselves_and_in_order() {
    testing::run(|| async {
        let (near, far) = pair().await;
        far.set_high_water(1);
        let bytes = pattern(300 * 60_000, 11);
        for piece in bytes.chunks(60_000) {
            near.send(Buf::from_vec(piece.to_vec()));
            // a pass between them: each is tried by itself while there is room
            sleep_until(now() + Duration::from_micros(1)).await;
        }
        until("the reading is paused", || stats().pauses > 0).await;
        assert!(near.queued() > 0);
        assert!(stats().prompt_sends > 0 && stats().ring_sends > 0);
        assert!(receive_exactly(&far, bytes.len()).await == bytes);
        near.drained(0).await.unwrap();
    });
}

#[test]
fn who_waits_for_a_small_send_to_be_taken_is_not_left_waiting() {
    testing::run(|| async {
        let (near, far) = pair().await;
        for _ in 0..50 {
            near.send(Buf::from_static(b"taken at once"));
            near.drained(0).await.unwrap();
        }
        receive_exactly(&far, 50 * 13).await;
    });
}

#[test]
fn memory_of_large_buffers_goes_back_when_nobody_needs_them() {
    testing::run(|| async {
        let (near, far) = pair().await;
        let bytes = pattern(4 << 20, 8);
        both(
            send_all(&near, &bytes, 64 << 10),
            receive_exactly(&far, bytes.len()),
        )
        .await;
        assert!(pool::resident(pool::BULK) > 0);
        tidy();
        tidy();
        assert_eq!(pool::resident(pool::BULK), 0);
        let again = pattern(1 << 20, 9);
        let (_, received) = both(
            send_all(&near, &again, 64 << 10),
            receive_exactly(&far, again.len()),
        )
        .await;
        assert!(received == again);
    });
}
