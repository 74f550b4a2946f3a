use super::*;

#[test]
fn a_buffer_is_three_words_and_an_idle_connection_little() {
    assert_eq!(size_of::<Buf>(), 24);
    assert_eq!(size_of::<Option<Buf>>(), 24);
    assert!(
        size_of::<slot::Slot>() <= 400,
        "{} bytes",
        size_of::<slot::Slot>()
    );
}

#[test]
fn splitting_and_advancing_share_the_bytes() {
    let mut buf = Buf::from_vec(b"0123456789".to_vec());
    let head = buf.split_to(4);
    assert_eq!((&*head, &*buf), (&b"0123"[..], &b"456789"[..]));
    buf.advance(2);
    buf.truncate(3);
    assert_eq!(&*buf, b"678");
    let copy = buf.clone();
    drop((head, buf));
    assert_eq!(&*copy, b"678");
}

#[test]
fn splitting_off_more_than_there_is_gives_everything() {
    let mut buf = Buf::from_static(b"short");
    assert_eq!(&*buf.split_to(100), b"short");
    assert!(buf.is_empty());
    buf.advance(100);
    buf.truncate(100);
    assert!(buf.is_empty());
}

#[test]
fn patching_changes_unshared_bytes_in_place_and_copies_shared_ones() {
    let mut buf = Buf::from_vec(b"abc".to_vec());
    let place = buf.as_ptr();
    buf.make_mut()[0] = b'A';
    assert_eq!((buf.as_ptr(), &*buf), (place, &b"Abc"[..]));
    let shared = buf.clone();
    buf.make_mut()[1] = b'B';
    assert_eq!((&*buf, &*shared), (&b"ABc"[..], &b"Abc"[..]));
    let mut fixed = Buf::from_static(b"xyz");
    fixed.make_mut()[2] = b'Z';
    assert_eq!(&*fixed, b"xyZ");
}

#[test]
fn a_receive_buffer_goes_back_with_its_last_slice() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"0123456789"));
        let mut rest = far.recv().await.unwrap().unwrap();
        let head = rest.split_to(5);
        let copy = rest.clone();
        drop(rest);
        drop(head);
        assert_eq!((census().buffers, &*copy), (1, &b"56789"[..]));
        drop(copy);
        assert_eq!(census().buffers, 0);
    });
}

#[test]
fn a_receive_buffer_is_patched_in_place_only_while_unshared() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"0123456789"));
        let mut buf = far.recv().await.unwrap().unwrap();
        buf.make_mut()[3] = 1;
        assert_eq!((census().buffers, &*buf), (1, &b"012\x01456789"[..]));
        let shared = buf.split_to(2);
        buf.make_mut()[0] = b'x';
        drop(shared);
        assert_eq!((census().buffers, &*buf), (0, &b"x\x01456789"[..]));
    });
}

#[test]
fn detached_bytes_hold_no_receive_buffer() {
    testing::run(|| async {
        let (near, far) = pair().await;
        near.send(Buf::from_static(b"kept"));
        let mut buf = far.recv().await.unwrap().unwrap();
        buf.detach();
        assert_eq!((census().buffers, &*buf), (0, &b"kept"[..]));
    });
}

#[test]
fn short_outgoing_bytes_borrow_a_receive_buffer_while_plenty_are_left() {
    let config = NetConfig {
        small_buffers: 8,
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let bufs: Vec<_> = (0..20u8)
            .map(|number| Buf::copy_from_slice(&[number; 10]))
            .collect();
        assert!((1..=7).contains(&census().buffers), "{:?}", census());
        for (number, buf) in bufs.iter().enumerate() {
            assert_eq!(**buf, [number as u8; 10]);
        }
        drop(bufs);
        assert_eq!(census().buffers, 0);
        assert_eq!(&*Buf::copy_from_slice(&[1; 10_000]), &[1; 10_000]);
    });
}

#[test]
fn a_queue_keeps_order_through_both_ends() {
    let mut queue = queue::Queue::default();
    let number = |n: u8| Buf::from_vec(vec![n; 2]);
    for n in 2..100 {
        queue.push_back(number(n));
    }
    queue.push_front(number(1));
    assert_eq!(queue.iter().count(), 99);
    queue.consume(5);
    assert_eq!(queue.first().unwrap().as_ref(), [3]);
    assert_eq!(queue.pop_front().unwrap().as_ref(), [3]);
    for n in 4..100 {
        assert_eq!(queue.pop_front().unwrap().as_ref(), [n, n]);
    }
    assert!(queue.is_empty() && queue.pop_front().is_none());
}
