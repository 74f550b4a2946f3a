//! What connections hold, and what a worker does when it is too much.
use super::*;
use crate::net::memory;
use crate::net::testing::run;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn what_waits_and_what_is_kept_is_known_by_connection_and_in_all() {
    run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_vec(vec![1; 3000]));
        assert_eq!(near.aborter().held().expect("open").queued, 3000);
        let received = || far.aborter().held().expect("open");
        until("all has come", || received().received == 3000).await;
        assert_eq!(received().sum(), 3000);
        near.hold(Kept::Statements, 500);
        near.hold(Kept::Rows, 70);
        far.hold(Kept::Parts, 9);
        far.hold(Kept::Parts, 7);
        let all = memory::held_by(0..10).expect("two sockets");
        let wanted = Held {
            received: 3000,
            queued: 0,
            parts: 7,
            statements: 500,
            rows: 70,
        };
        assert_eq!(all, wanted);
        let gone = near.aborter();
        drop(near);
        assert_eq!(gone.held(), None);
        drop(far);
        assert_eq!(memory::held_by(0..10), Some(Held::default()));
    });
}

#[test]
fn a_pressed_worker_reads_little_ahead_and_goes_on_when_it_is_relieved() {
    run(|| async {
        let (near, far) = pair().await;
        far.hold(Kept::Parts, 100_000);
        near.send(Buf::from_vec(vec![7; 10_000]));
        let received = || far.aborter().held().expect("open").received;
        until("all has come", || received() == 10_000).await;
        memory::set_high_water(0);
        memory::pressed().await;
        assert!(memory::is_pressed());
        // its owner keeps much already
        let nothing = poll_fn(|cx| Poll::Ready(far.poll_recv(cx).is_pending())).await;
        assert!(nothing, "more was given to who keeps much");
        // who sends much is stopped at less than the usual mark
        assert!(!far.is_full(1 << 20));
        far.send(Buf::from_vec(vec![1; 20_000]));
        assert!(far.is_full(1 << 20));
        memory::set_high_water(usize::MAX);
        let got = far.recv().await.expect("open").expect("bytes");
        assert!(!got.is_empty() && !memory::is_pressed());
        assert!(!far.is_full(1 << 20));
        drop(near);
    });
}

#[test]
fn under_pressure_a_peer_is_not_read_far_ahead() {
    run(|| async {
        memory::set_high_water(0);
        memory::pressed().await;
        let (near, far) = pair().await;
        near.send(Buf::from_vec(vec![7; 1 << 20]));
        until("it was stopped", || stats().pauses > 0).await;
        let ahead = far.aborter().held().expect("open").received;
        assert!((1..192 << 10).contains(&ahead), "{ahead} bytes ahead");
        let mut got = 0;
        while got < 1 << 20 {
            got += far.recv().await.expect("open").expect("bytes").len();
        }
        assert_eq!(got, 1 << 20);
    });
}

#[test]
fn growth_of_the_heap_is_told_when_it_is_enough() {
    run(|| async {
        let told = Rc::new(Cell::new(false));
        let tell = told.clone();
        spawn(async move {
            memory::grown(1 << 20).await;
            tell.set(true);
        });
        yield_now().await;
        let half = vec![1u8; 600 << 10];
        sleep_until(now() + Duration::from_millis(20)).await;
        assert!(!told.get());
        let more = vec![1u8; 600 << 10];
        until("it is told", || told.get()).await;
        drop((half, more));
        // and not again, nor is anybody pressed
        sleep_until(now() + Duration::from_millis(20)).await;
        assert!(!memory::is_pressed());
    });
}
