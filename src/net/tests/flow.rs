use super::*;

fn buffered(socket: &Socket) -> usize {
    driver::with(|driver| driver.slots[socket.index() as usize].received_bytes)
}

#[test]
fn a_consumer_that_does_not_take_stops_its_own_peer_and_nobody_else() {
    testing::run(|| async {
        const LENGTH: usize = 32 << 20;
        let (fast, slow) = pair().await;
        let (near, far) = pair().await;
        spawn(echo(far));
        let bytes = pattern(LENGTH, 5);
        let sender = {
            let bytes = bytes.clone();
            async move {
                send_all(&fast, &bytes, 64 << 10).await;
                fast
            }
        };
        let taker = async {
            until("the reading is paused", || stats().pauses > 0).await;
            for round in 0..200 {
                let message = pattern(500, round);
                near.send(Buf::from_vec(message.clone()));
                assert_eq!(receive_exactly(&near, 500).await, message);
            }
            let held = buffered(&slow);
            assert!(held > 256 << 10 && held < 4 << 20, "{held} bytes are held");
            assert!(receive_exactly(&slow, LENGTH).await == bytes);
        };
        both(sender, taker).await;
    });
}

#[test]
fn the_high_water_mark_can_be_set_per_socket() {
    testing::run(|| async {
        let (near, far) = pair().await;
        far.set_high_water(1000);
        let bytes = pattern(100_000, 6);
        near.send(Buf::from_vec(bytes.clone()));
        until("the reading is paused", || stats().pauses == 1).await;
        assert_eq!(receive_exactly(&far, bytes.len()).await, bytes);
    });
}

#[test]
fn bytes_nobody_takes_leave_the_receive_buffers_when_these_run_low() {
    let config = NetConfig {
        small_buffers: 16,
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (listener, endpoint) = tcp_listener();
        let mut pairs = Vec::new();
        for number in 0..64 {
            let (near, far) = pair_on(&listener, &endpoint).await;
            near.send(Buf::from_vec(pattern(900, number)));
            pairs.push((near, far));
        }
        until("all bytes are here", || {
            pairs.iter().all(|(_, far)| buffered(far) == 900)
        })
        .await;
        assert!(census().buffers <= 12, "{:?}", census());
        assert!(stats().spills >= 52, "{:?}", stats());
        let (near, far) = pair_on(&listener, &endpoint).await;
        spawn(echo(far));
        near.send(Buf::from_static(b"still served"));
        assert_eq!(receive_exactly(&near, 12).await, b"still served");
        for (number, (_, far)) in pairs.iter().enumerate() {
            assert_eq!(receive_exactly(far, 900).await, pattern(900, number as u64));
        }
    });
}

#[test]
fn more_at_once_than_there_are_receive_buffers_arrives_all_the_same() {
    let config = NetConfig {
        small_buffers: 4,
        bulk_buffers: 2,
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (near, far) = pair().await;
        let bytes = pattern(8 << 20, 7);
        let (_, received) = both(
            send_all(&near, &bytes, 30_000),
            receive_exactly(&far, bytes.len()),
        )
        .await;
        assert!(received == bytes);
        assert!(stats().starved > 0, "{:?}", stats());
    });
}

#[test]
fn memory_stays_bounded_whatever_is_sent_to_a_consumer_that_does_not_take() {
    testing::run(|| async {
        let (listener, endpoint) = tcp_listener();
        let mut pairs = Vec::new();
        for _ in 0..20 {
            let (near, far) = pair_on(&listener, &endpoint).await;
            near.send(Buf::from_vec(vec![7; 16 << 20]));
            pairs.push((near, far));
        }
        until("all are paused", || stats().pauses == 20).await;
        for _ in 0..50 {
            sleep_until(now() + Duration::from_millis(1)).await;
        }
        let held: usize = pairs.iter().map(|(_, far)| buffered(far)).sum();
        assert!(held < 20 * (2 << 20), "{held} bytes are held");
        drop(pairs);
        drop(listener);
        nothing_is_left().await;
    });
}

#[test]
fn unread_bytes_come_first_again() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"headbody"));
        until("bytes are here", || buffered(&far) == 8).await;
        let mut all = far.try_recv().unwrap();
        let head = all.split_to(4);
        far.unread(all);
        far.unread(head);
        assert!(far.is_stale());
        assert_eq!(&*far.recv().await.unwrap().unwrap(), b"head");
        assert_eq!(&*far.try_recv().unwrap(), b"body");
        assert!(far.try_recv().is_none() && !far.is_stale());
        far.unread(Buf::default());
        assert!(far.try_recv().is_none());
    });
}
