use super::*;
use crate::net::timers::{Owner, Timers};
use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use std::rc::Rc;
use std::task::Waker;

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines_and_never_early() {
    testing::run(|| async {
        let woken = Rc::new(RefCell::new(Vec::new()));
        let start = Instant::now();
        for delay in [30u64, 10, 50, 20, 40, 0] {
            let woken = woken.clone();
            spawn(async move {
                let deadline = start + Duration::from_millis(delay);
                sleep_until(deadline).await;
                assert!(Instant::now() >= deadline);
                woken.borrow_mut().push(delay);
            });
        }
        until("all are awake", || woken.borrow().len() == 6).await;
        assert_eq!(*woken.borrow(), [0, 10, 20, 30, 40, 50]);
    });
}

#[test]
fn a_sleep_that_is_dropped_takes_its_timer_along() {
    testing::run(|| async {
        let mut sleep = Box::pin(sleep_until(now() + Duration::from_secs(3600)));
        poll_fn(|cx| {
            assert!(sleep.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(census().timers, 1);
        drop(sleep);
        assert_eq!(census().timers, 0);
    });
}

#[test]
fn a_read_deadline_ends_the_wait_and_leaves_the_socket_usable() {
    testing::run(|| async {
        let (near, far) = pair().await;
        far.set_deadline(Some(Instant::now() + Duration::from_millis(30)));
        assert_eq!(far.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(far.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        near.send(Buf::from_static(b"late"));
        until("bytes are here", || far.is_stale()).await;
        assert_eq!(&*far.recv().await.unwrap().unwrap(), b"late");
        far.set_deadline(None);
        near.send(Buf::from_static(b"later"));
        assert_eq!(receive_exactly(&far, 5).await, b"later");
    });
}

#[test]
fn a_deadline_set_on_every_turn_keeps_one_timer_and_the_latest_one_holds() {
    testing::run(|| async {
        let (near, far) = pair().await;
        let (start, before) = (Instant::now(), census().timers);
        for turn in 0..1000 {
            far.set_deadline(Some(start + Duration::from_millis(20 + turn / 10)));
        }
        assert_eq!(census().timers, before + 1);
        assert_eq!(far.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(119));
        far.set_deadline(Some(Instant::now() + Duration::from_secs(100)));
        far.set_deadline(Some(Instant::now() + Duration::from_millis(10)));
        assert_eq!(far.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        drop((near, far));
        assert_eq!(census().timers, 0);
    });
}

#[test]
fn a_peer_that_takes_nothing_fails_the_socket_after_the_write_timeout() {
    let config = NetConfig {
        write_timeout: Duration::from_millis(200),
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (near, _far) = pair_with_std().await;
        let start = Instant::now();
        near.send(Buf::from_vec(vec![1; 64 << 20]));
        let error = near.drained(0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert_eq!(near.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(near);
        nothing_is_left().await;
    });
}

#[test]
fn a_slow_peer_that_still_takes_bytes_is_waited_for() {
    let config = NetConfig {
        write_timeout: Duration::from_millis(400),
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        const LENGTH: usize = 16 << 20;
        let (near, mut far) = pair_with_std().await;
        socket2::SockRef::from(&far)
            .set_recv_buffer_size(64 << 10)
            .unwrap();
        near.send(Buf::from_vec(vec![1; LENGTH]));
        let slow = async {
            let start = Instant::now();
            let mut piece = vec![0; 16 << 10];
            let mut received = 0;
            // slowly for three times the timeout, then the rest at once
            while start.elapsed() < Duration::from_millis(1200) {
                sleep_until(now() + Duration::from_millis(20)).await;
                received += far.read(&mut piece).unwrap();
            }
            assert!(near.queued() > 0, "the sender is still waiting");
            std::thread::spawn(move || {
                while received < LENGTH {
                    received += far.read(&mut piece).unwrap();
                }
            })
        };
        let (drained, reader) = both(near.drained(0), slow).await;
        drained.unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn an_idle_worker_with_connections_and_distant_deadlines_sleeps() {
    testing::run(|| async {
        let wake = Wake::new().unwrap();
        attach_wake(wake.clone());
        let (listener, endpoint) = tcp_listener();
        let mut pairs = Vec::new();
        for number in 0..100 {
            let (near, far) = pair_on(&listener, &endpoint).await;
            far.set_deadline(Some(now() + Duration::from_secs(1000 + number)));
            near.send(Buf::from_static(b"hello"));
            receive_exactly(&far, 5).await;
            pairs.push((near, far));
        }
        // one wake-up to come to rest, another one after a while
        wake.wake();
        woken().await;
        let enters = stats().enters;
        let waker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            wake.wake();
        });
        woken().await;
        assert!(
            stats().enters - enters <= 3,
            "{} enters while idle",
            stats().enters - enters
        );
        waker.join().unwrap();
    });
}

#[test]
fn a_worker_that_polls_busily_for_a_while_sleeps_afterwards() {
    let config = NetConfig {
        busy_poll: Duration::from_micros(200),
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (near, far) = pair().await;
        spawn(echo(far));
        for _ in 0..20 {
            near.send(Buf::from_static(b"ping"));
            assert_eq!(receive_exactly(&near, 4).await, b"ping");
        }
        let (enters, used) = (stats().enters, cpu_of_this_thread());
        sleep_until(now() + Duration::from_millis(300)).await;
        assert!(stats().enters > enters);
        let used = cpu_of_this_thread() - used;
        assert!(
            used < Duration::from_millis(100),
            "{used:?} of CPU while idle"
        );
        tune(Duration::from_secs(60), Duration::ZERO);
        near.send(Buf::from_static(b"ping"));
        assert_eq!(receive_exactly(&near, 4).await, b"ping");
    });
}

fn cpu_of_this_thread() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the kernel to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn other_threads_wake_the_worker() {
    testing::run(|| async {
        let wake = Wake::new().unwrap();
        attach_wake(wake.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (sender, wake) = (sender.clone(), wake.clone());
                std::thread::spawn(move || {
                    for number in 0..500u32 {
                        sender.send(number).unwrap();
                        wake.wake();
                    }
                })
            })
            .collect();
        let mut count = 0;
        while count < 2000 {
            woken().await;
            count += receiver.try_iter().count();
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_task_that_is_always_runnable_does_not_keep_the_sockets_from_their_turn() {
    testing::run(|| async {
        let (near, far) = pair().await;
        spawn(echo(far));
        let done = Rc::new(std::cell::Cell::new(false));
        let seen = done.clone();
        spawn(async move {
            while !seen.get() {
                yield_now().await;
            }
        });
        for _ in 0..10 {
            near.send(Buf::from_static(b"ping"));
            assert_eq!(receive_exactly(&near, 4).await, b"ping");
        }
        done.set(true);
    });
}

#[test]
fn the_clock_moves_with_the_passes() {
    testing::run(|| async {
        let (instant, nanos) = (now(), monotonic_nanos());
        sleep_until(instant + Duration::from_millis(5)).await;
        assert!(now() >= instant + Duration::from_millis(5));
        assert!(monotonic_nanos() >= nanos + 4_000_000);
        assert!(now() <= Instant::now());
    });
}

/// Against a plain list, through a long random sequence of additions, moves and removals.
#[test]
fn timers_come_up_like_a_sorted_list() {
    let mut timers = Timers::default();
    let mut model = Vec::new();
    let random = pattern(60_000, 8);
    for step in random.chunks(3) {
        let due = u64::from(step[1]) << 8 | u64::from(step[2]);
        match step[0] % 5 {
            0 | 1 => {
                let owner = if step[0] % 2 == 0 {
                    Owner::Socket(1)
                } else {
                    Owner::Task(Waker::noop().clone())
                };
                model.push((due, timers.add(due, owner)));
            }
            2 if !model.is_empty() => {
                let entry = usize::from(step[1]) % model.len();
                timers.bring_forward(model[entry].1, due);
                model[entry].0 = model[entry].0.min(due);
            }
            3 if !model.is_empty() => {
                timers.remove(model.swap_remove(usize::from(step[1]) % model.len()).1)
            }
            _ => {
                let earliest = model.iter().map(|timer| timer.0).min();
                assert_eq!(timers.next(), earliest);
                if let Some(now) = earliest {
                    let (id, _) = timers.pop(now).unwrap();
                    let place = model.iter().position(|timer| timer.1 == id).unwrap();
                    assert_eq!(model.swap_remove(place).0, now);
                }
            }
        }
        assert_eq!(timers.len(), model.len());
    }
    assert!(model.len() > 10);
}
