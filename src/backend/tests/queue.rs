use crate::backend::queue::{Key, Offer, Queue};
use std::time::{Duration, Instant};

fn key(pool: usize) -> Key {
    Key {
        pool,
        capabilities: 1,
        guarded: false,
    }
}

#[test]
fn first_come_first_served() {
    let (mut queue, now) = (Queue::new(10), Instant::now());
    let a = queue.join(key(1), now, false).expect("room");
    let b = queue.join(key(1), now, false).expect("room");
    assert_eq!(queue.offer(key(1), now, "first"), Offer::Taken);
    assert_eq!(queue.grant_first("second"), Ok(()));
    assert_eq!((a.take(), b.take()), (Some("first"), Some("second")));
    assert_eq!(queue.grant_first("third"), Err("third"));
}

#[test]
fn one_who_was_sent_back_is_first_again_even_when_it_is_full() {
    let (mut queue, now) = (Queue::new(1), Instant::now());
    let _a = queue.join(key(1), now, false).expect("room");
    assert!(queue.join(key(1), now, false).is_none(), "full");
    let back = queue.join(key(1), now, true).expect("room for him");
    assert_eq!(queue.grant_first("x"), Ok(()));
    assert_eq!(back.take(), Some("x"));
}

#[test]
fn a_connection_goes_to_the_first_who_can_use_it() {
    let (mut queue, now) = (Queue::new(10), Instant::now());
    let other = queue.join(key(2), now, false).expect("room");
    let fitting = queue.join(key(1), now, false).expect("room");
    assert_eq!(queue.offer(key(1), now, "x"), Offer::Taken);
    assert_eq!((other.take(), fitting.take()), (None, Some("x")));
    assert_eq!(queue.offer(key(1), now, "y"), Offer::Unwanted("y"));
}

#[test]
fn one_who_has_waited_long_is_not_passed_over() {
    let (mut queue, now) = (Queue::new(10), Instant::now());
    let _other = queue.join(key(2), now, false);
    let fitting = queue.join(key(1), now, false).expect("room");
    let later = now + Duration::from_millis(101);
    assert_eq!(queue.offer(key(1), later, "x"), Offer::MakeRoom("x"));
    assert_eq!(fitting.take(), None);
    assert_eq!(queue.offer(key(2), later, "y"), Offer::Taken);
}

#[test]
fn places_given_up_do_not_count() {
    let (mut queue, now) = (Queue::new(2), Instant::now());
    let a = queue.join(key(1), now, false).expect("room");
    let b = queue.join(key(1), now, false).expect("room");
    drop(a);
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.offer(key(1), now, "x"), Offer::Taken);
    assert_eq!(b.take(), Some("x"));
    assert!(queue.is_empty());
}

#[test]
fn a_grant_that_is_not_taken_is_dropped() {
    let (mut queue, now) = (Queue::new(2), Instant::now());
    let ticket = queue.join(key(1), now, false);
    let grant = std::rc::Rc::new(());
    assert_eq!(queue.grant_first(grant.clone()), Ok(()));
    assert_eq!(std::rc::Rc::strong_count(&grant), 2);
    drop(ticket);
    assert_eq!(std::rc::Rc::strong_count(&grant), 1);
    assert!(queue.is_empty());
}

/// Memory stays bounded when everybody gives up behind one who waits.
#[test]
fn many_who_give_up_leave_nothing_behind() {
    let (mut queue, now) = (Queue::<&str>::new(100), Instant::now());
    let first = queue.join(key(1), now, false).expect("room");
    for _ in 0..10_000 {
        drop(queue.join(key(1), now, false));
        assert_eq!(queue.len(), 1);
    }
    assert_eq!(queue.grant_first("x"), Ok(()));
    assert_eq!(first.take(), Some("x"));
    assert!(queue.places() <= 4, "{} places", queue.places());
}
