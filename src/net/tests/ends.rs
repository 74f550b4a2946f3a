use super::*;
use std::io::{ErrorKind, Read, Write};

#[test]
fn the_end_of_the_peer_comes_after_its_last_bytes() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"last words"));
        near.close().await;
        assert_eq!(receive_exactly(&far, 10).await, b"last words");
        assert!(far.recv().await.unwrap().is_none());
        assert!(far.recv().await.unwrap().is_none());
        assert!(far.is_stale());
    });
}

#[test]
fn a_half_closed_peer_still_gets_its_answer() {
    testing::run(|| async {
        let (near, mut far) = pair_with_std().await;
        far.write_all(b"question").unwrap();
        far.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(receive_exactly(&near, 8).await, b"question");
        assert!(near.recv().await.unwrap().is_none());
        near.send(Buf::from_static(b"answer"));
        near.close().await;
        let mut answer = String::new();
        far.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");
    });
}

#[test]
fn the_last_bytes_reach_a_peer_that_is_still_sending() {
    testing::run(|| async {
        let (near, far) = pair().await;
        far.set_high_water(1000);
        near.send(Buf::from_vec(vec![1; 8 << 20]));
        until("the reading is paused", || stats().pauses > 0).await;
        far.send(Buf::from_static(b"too large"));
        far.close().await;
        assert_eq!(receive_exactly(&near, 9).await, b"too large");
        assert!(near.recv().await.unwrap().is_none());
        drop(near);
        nothing_is_left().await;
    });
}

#[test]
fn a_reset_while_sending_fails_the_socket_and_wakes_its_waiters() {
    testing::run(|| async {
        let (near, far) = pair_with_std().await;
        near.send(Buf::from_vec(vec![1; 32 << 20]));
        let reset = async {
            until("the send is stuck", || stats().ring_sends > 0).await;
            socket2::SockRef::from(&far)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
            drop(far);
        };
        let ((drained, received), ()) = both(both(near.drained(0), near.recv()), reset).await;
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(kinds.contains(&drained.unwrap_err().kind()));
        // the kernel reports the reset once: to the send, then the receive just ends
        assert!(matches!(received, Err(_) | Ok(None)));
        assert!(near.recv().await.is_err());
        near.hangup().await;
        assert!(near.is_stale());
        near.send(Buf::from_static(b"nobody gets this"));
        assert!(near.drained(0).await.is_err());
        drop(near);
        nothing_is_left().await;
    });
}

#[test]
fn a_socket_dropped_with_operations_in_flight_leaves_nothing() {
    testing::run(|| async {
        let (near, mut far) = pair_with_std().await;
        near.send(Buf::from_vec(vec![1; 32 << 20]));
        until("the send is stuck", || stats().ring_sends > 0).await;
        drop(near);
        nothing_is_left().await;
        let mut rest = Vec::new();
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        // the end, or a reset: not a wait
        let ended = far.read_to_end(&mut rest);
        assert!(ended.is_ok() || ended.unwrap_err().kind() == ErrorKind::ConnectionReset);
        assert!(rest.len() < 32 << 20);
    });
}

#[test]
fn a_late_completion_does_not_touch_the_next_socket_in_the_same_place() {
    testing::run(|| async {
        let (listener, endpoint) = tcp_listener();
        let mut kept = Vec::new();
        for number in 0..200u64 {
            let (near, far) = pair_on(&listener, &endpoint).await;
            far.send(Buf::from_vec(vec![9; 2 << 20]));
            near.send(Buf::from_vec(pattern(300, number)));
            assert_eq!(receive_exactly(&far, 300).await, pattern(300, number));
            if number % 3 == 0 {
                kept.push((near, far));
            }
        }
        for (near, far) in &kept {
            assert!(receive_exactly(near, 2 << 20)
                .await
                .iter()
                .all(|byte| *byte == 9));
            assert_eq!(far.queued(), 0);
        }
    });
}

#[test]
fn a_hang_up_shows_while_received_bytes_are_unread() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"pipelined"));
        let (_, ()) = both(far.hangup(), near.close()).await;
        assert_eq!(&*far.try_recv().unwrap(), b"pipelined");
    });
}

#[test]
fn a_hang_up_shows_while_the_reading_is_paused() {
    testing::run(|| async {
        let (near, mut far) = pair_with_std().await;
        near.set_high_water(1000);
        far.write_all(&[1; 100_000]).unwrap();
        let leave = async {
            until("the reading is paused", || stats().pauses == 1).await;
            drop(far);
        };
        both(near.hangup(), leave).await;
        assert!(near.is_stale());
        assert_eq!(receive_exactly(&near, 100_000).await, vec![1; 100_000]);
        assert!(near.recv().await.unwrap().is_none());
        drop(near);
        nothing_is_left().await;
    });
}

#[test]
fn thousands_of_connections_come_and_go_without_a_trace() {
    testing::run(|| async {
        // descriptors are counted in a table that other tests do not share
        // SAFETY: no memory is involved; this thread alone gets a copy of the descriptor table.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        let descriptors = || std::fs::read_dir("/proc/thread-self/fd").unwrap().count();
        let before = descriptors();
        let (listener, endpoint) = tcp_listener();
        for number in 0..5000 {
            let (near, far) = pair_on(&listener, &endpoint).await;
            match number % 4 {
                0 => drop((near, far)),
                1 => {
                    near.send(Buf::from_static(b"x"));
                    far.send(Buf::from_static(b"y"));
                    drop((far, near));
                }
                2 => {
                    near.send(Buf::from_static(b"x"));
                    assert_eq!(receive_exactly(&far, 1).await, b"x");
                    near.close().await;
                }
                _ => {
                    far.set_deadline(Some(now() + Duration::from_secs(60)));
                    both(near.close(), far.close()).await;
                }
            }
        }
        drop(listener);
        nothing_is_left().await;
        until("all descriptors are closed", || descriptors() == before).await;
        // the timer of `until` itself has come up by now
        assert_eq!(census().timers, 0);
        assert!(
            driver::with(|driver| driver.slots.len()) < 100,
            "places are reused"
        );
    });
}
