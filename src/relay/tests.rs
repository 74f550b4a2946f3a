mod reports;

use super::*;
use crate::net::testing::run;
use crate::wire::capabilities::{DEPRECATE_EOF, PROTOCOL_41, SESSION_TRACK};
use crate::wire::packet::frame;
use crate::wire::status;
use crate::wire::{command, error};
use std::cell::Cell;
use std::future::Future;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

const CAPS: u64 = PROTOCOL_41 | SESSION_TRACK;

/// Two connected sockets: ours, and the peer's end.
fn pair() -> (Socket, Socket) {
    let (a, b) = UnixStream::pair().expect("a socket pair");
    (
        Socket::from_fd(a.into()).expect("ours"),
        Socket::from_fd(b.into()).expect("theirs"),
    )
}

fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = frame(payload, sequence, &mut out);
    }
    out
}

fn text_result() -> Vec<u8> {
    let eof = reply::eof(2, status::AUTOCOMMIT);
    packets(&[
        &[1],
        b"\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00",
        &eof,
        b"\x011",
        b"\x012",
        &eof,
    ])
}

/// Reads until `n` bytes are here.
async fn read(socket: &Socket, n: usize) -> Vec<u8> {
    let mut got = Vec::new();
    while got.len() < n {
        let buf = socket.recv().await.expect("readable").expect("not ended");
        got.extend_from_slice(&buf);
    }
    got
}

#[test]
fn a_result_arrives_byte_for_byte_however_the_server_cuts_it() {
    let bytes = text_result();
    for cut in 1..bytes.len() {
        let bytes = bytes.clone();
        run(move || async move {
            let (server, server_end) = pair();
            let (client, client_end) = pair();
            let (first, second) = bytes.split_at(cut);
            server_end.send(Buf::from_vec(first.to_vec()));
            server_end.drained(0).await.expect("sent");
            let second = Buf::from_vec(second.to_vec());
            crate::net::spawn(async move {
                server_end.send(second);
                server_end.drained(0).await.expect("sent");
                // stays open until the relay is through
                let _ = server_end.recv().await;
            });
            let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
            assert!(matches!(relay.run().await, Ok(Progress::Done)));
            assert_eq!(
                (relay.end.status, relay.end.warnings),
                (Some(status::AUTOCOMMIT), 2)
            );
            assert_eq!(read(&client_end, bytes.len()).await, bytes);
        });
    }
}

#[test]
fn tracked_changes_are_learnt_and_hidden_from_a_client_that_did_not_ask() {
    run(|| async {
        let ok = reply::Ok {
            status: status::AUTOCOMMIT | status::SESSION_STATE_CHANGED,
            affected_rows: 3,
            info: b"Rows matched: 3".to_vec(),
            changes: vec![
                Change::Schema(b"shop".to_vec()),
                Change::Variable {
                    name: b"sql_mode".to_vec(),
                    value: b"ANSI".to_vec(),
                },
                Change::Variable {
                    name: b"time_zone".to_vec(),
                    value: b"UTC".to_vec(),
                },
            ],
            ..reply::Ok::default()
        };
        for (client_caps, visible) in [(PROTOCOL_41, 0), (CAPS, 2)] {
            let (server, server_end) = pair();
            let (client, client_end) = pair();
            server_end.send(Buf::from_vec(packets(&[&ok.encode(CAPS)])));
            let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
            relay.client_capabilities = client_caps;
            assert!(matches!(relay.run().await, Ok(Progress::Done)));
            assert_eq!(relay.end.changes, ok.changes);
            let got = client_end
                .recv()
                .await
                .expect("readable")
                .expect("not ended");
            let seen = reply::Ok::decode(&got[4..], client_caps).expect("an OK packet");
            assert_eq!(
                (seen.affected_rows, seen.info.as_slice()),
                (3, &b"Rows matched: 3"[..])
            );
            assert_eq!(seen.changes.len(), visible);
            assert_eq!(
                seen.status & status::SESSION_STATE_CHANGED != 0,
                visible > 0
            );
        }
    });
}

#[test]
fn a_held_error_is_not_shown_and_a_late_one_is() {
    run(|| async {
        let (server, server_end) = pair();
        let (client, client_end) = pair();
        let refused = reply::Err {
            code: 1290,
            state: *b"HY000",
            message: b"read only".to_vec(),
        };
        server_end.send(Buf::from_vec(packets(&[&refused.encode()])));
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        relay.hold_errors = &[1290];
        match relay.run().await {
            Ok(Progress::HeldError(error)) => assert_eq!(error, refused),
            other => panic!("{other:?}"),
        }
        assert_eq!(client.queued(), 0);
        assert!(client_end.try_recv().is_none());
        // the same error behind rows is the client's
        let eof = reply::eof(0, 0);
        let bytes = packets(&[
            &[1],
            b"\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00",
            &eof,
            b"\x011",
            &refused.encode(),
        ]);
        server_end.send(Buf::from_vec(bytes.clone()));
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        relay.hold_errors = &[1290];
        assert!(matches!(relay.run().await, Ok(Progress::Done)));
        assert_eq!(relay.end.error, Some(refused));
        assert_eq!(read(&client_end, bytes.len()).await, bytes);
    });
}

#[test]
fn a_lost_server_says_whether_the_client_has_seen_anything() {
    run(|| async {
        for seen in [false, true] {
            let (server, server_end) = pair();
            let (client, _client_end) = pair();
            if seen {
                server_end.send(Buf::from_vec(packets(&[&[1]])));
                server_end.drained(0).await.expect("sent");
            }
            drop(server_end);
            let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
            match relay.run().await {
                Err(Broken::Server { untouched, .. }) => assert_eq!(untouched, !seen),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_client_that_leaves_ends_the_wait_for_a_server() {
    run(|| async {
        let (server, _server_end) = pair();
        let (client, client_end) = pair();
        drop(client_end);
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        assert!(matches!(relay.run().await, Err(Broken::Client(_))));
    });
}

#[test]
fn what_follows_a_reply_stays_on_the_connection() {
    run(|| async {
        let (server, server_end) = pair();
        let (client, client_end) = pair();
        let ok = reply::Ok::default().encode(CAPS | DEPRECATE_EOF);
        let mut bytes = packets(&[&ok]);
        let one = bytes.len();
        bytes.extend_from_slice(&packets(&[&error::server_shutdown().encode()]));
        server_end.send(Buf::from_vec(bytes.clone()));
        let mut relay = Relay::new(&server, Some(&client), command::PING, CAPS | DEPRECATE_EOF);
        assert!(matches!(relay.run().await, Ok(Progress::Done)));
        assert_eq!(read(&client_end, one).await, bytes[..one]);
        assert!(
            server.is_stale(),
            "unasked-for bytes make a connection unfit for its pool"
        );
    });
}

fn command_bytes(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut payload = vec![kind];
    payload.extend_from_slice(body);
    let mut out = Vec::new();
    frame(&payload, 0, &mut out);
    out
}

async fn next(inbox: &mut Inbox, socket: &Socket) -> Result<Command, Closed> {
    poll_fn(|cx| inbox.poll_command(cx, socket)).await
}

#[test]
fn commands_are_cut_out_of_any_pieces() {
    run(|| async {
        let (socket, peer) = pair();
        let mut inbox = Inbox::new(1 << 30);
        let mut bytes = command_bytes(command::QUERY, b"SELECT 1");
        bytes.extend_from_slice(&command_bytes(command::PING, b""));
        bytes.extend_from_slice(&command_bytes(command::QUERY, &[b'x'; 10_000]));
        crate::net::spawn(async move {
            for piece in bytes.chunks(3) {
                peer.send(Buf::from_vec(piece.to_vec()));
                peer.drained(0).await.expect("sent");
            }
            let _ = peer.recv().await;
        });
        let first = next(&mut inbox, &socket).await.expect("a command");
        assert_eq!(
            (first.kind(), first.body()),
            (command::QUERY, &b"SELECT 1"[..])
        );
        assert_eq!(
            next(&mut inbox, &socket).await.expect("a command").kind(),
            command::PING
        );
        let third = next(&mut inbox, &socket).await.expect("a command");
        assert!(third.is_whole());
        assert_eq!(third.body().len(), 10_000);
        assert!(!inbox.has_bytes());
    });
}

#[test]
fn a_large_command_is_handed_over_by_its_first_part() {
    run(|| async {
        let (socket, peer) = pair();
        let mut inbox = Inbox::new(1 << 30);
        let bytes = command_bytes(command::QUERY, &vec![b'x'; 3 * WHOLE_LIMIT]);
        let total = bytes.len();
        peer.send(Buf::from_vec(bytes));
        let first = next(&mut inbox, &socket).await.expect("a command");
        assert!(!first.is_whole() && !first.continued);
        assert!(inbox.is_streaming());
        assert!(first.bytes.len() >= WHOLE_LIMIT);
        assert_eq!(first.bytes.len() + first.rest, total);
        let (server, server_end) = pair();
        let rest = first.rest;
        crate::net::spawn(async move {
            let got = read(&server_end, rest).await;
            assert!(got.iter().all(|b| *b == b'x'));
        });
        let sent = stream_command(
            &mut inbox,
            &socket,
            &server,
            64 << 10,
            (first.rest, first.continued),
            &mut |_| {},
        )
        .await;
        assert!(sent.is_ok());
        assert!(!inbox.has_bytes() && !inbox.is_streaming());
    });
}

#[test]
fn packets_that_break_the_rules_are_named() {
    run(|| async {
        for (bytes, fault) in [
            (vec![1, 0, 0, 5, 3], Fault::OutOfOrder),
            (vec![0, 0, 0, 0], Fault::Empty),
            (vec![0xff, 0xff, 0x7f, 0, 3], Fault::TooLarge),
        ] {
            let (socket, peer) = pair();
            let mut inbox = Inbox::new(1 << 20);
            peer.send(Buf::from_vec(bytes));
            match next(&mut inbox, &socket).await {
                Err(Closed::Protocol(found)) => assert_eq!(found, fault),
                other => panic!("{:?}", other.map(|c| c.bytes.len())),
            }
        }
    });
}

#[test]
fn a_server_that_stops_in_the_middle_of_an_upload_leaves_the_rest_marked() {
    run(|| async {
        let (client, peer) = pair();
        let (server, server_end) = pair();
        let mut inbox = Inbox::new(1 << 30);
        peer.send(Buf::from_vec(packets(&[b"a part of a file"])));
        drop(server_end);
        let sent = stream_file(&mut inbox, &client, &server, 64 << 10).await;
        assert!(matches!(sent, Err(Upload::ServerStopped)), "{sent:?}");
        assert!(inbox.is_streaming());
    });
}

/// Two ends of one TCP connection: ours, and the peer's.
fn tcp_pair() -> (Socket, Socket) {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let ours = std::net::TcpStream::connect(address).expect("connected");
    let (theirs, _) = listener.accept().expect("accepted");
    (
        Socket::from_fd(ours.into()).expect("ours"),
        Socket::from_fd(theirs.into()).expect("theirs"),
    )
}

/// Rows whose lengths are around what is moved inside the kernel, one of them of more than one packet.
fn long_rows() -> Vec<u8> {
    let eof = reply::eof(0, status::AUTOCOMMIT);
    let lengths = [
        LONG - 1,
        LONG,
        LONG + 1,
        10,
        1_000_000,
        999_999,
        3,
        0xff_ffff + 200_000,
        1,
        2_000_000,
        0xff_ffff,
        7,
    ];
    let mut row = 0u8;
    let rows: Vec<Vec<u8>> = lengths
        .iter()
        .map(|&length| {
            row += 1;
            vec![row; length]
        })
        .collect();
    let mut payloads: Vec<&[u8]> = vec![
        &[1],
        b"\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\x01\x00\x00\x00\xfc\x81\x00\x00\x00\x00",
        &eof,
    ];
    payloads.extend(rows.iter().map(Vec::as_slice));
    payloads.push(&eof);
    packets(&payloads)
}

#[test]
fn long_packets_arrive_byte_for_byte_beside_short_ones() {
    run(|| async {
        let bytes = long_rows();
        let (server, server_end) = tcp_pair();
        let (client, client_end) = tcp_pair();
        let expected = bytes.clone();
        let arrived = Rc::new(Cell::new(None));
        let same = arrived.clone();
        crate::net::spawn(async move {
            same.set(Some(read(&client_end, expected.len()).await == expected));
        });
        server_end.send(Buf::from_vec(bytes.clone()));
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        assert!(matches!(relay.run().await, Ok(Progress::Done)));
        assert_eq!((relay.end.rows, relay.end.bytes), (12, bytes.len() as u64));
        assert_eq!(relay.end.status, Some(status::AUTOCOMMIT));
        while arrived.get().is_none() {
            crate::net::sleep_until(crate::net::now() + Duration::from_millis(1)).await;
        }
        assert_eq!(arrived.get(), Some(true));
        assert!(crate::net::stats().splices > 0);
    });
}

#[test]
fn a_long_packet_leaves_the_worker_to_others_after_each_step() {
    run(|| async {
        let (server, server_end) = tcp_pair();
        let (client, client_end) = tcp_pair();
        crate::net::spawn(async move { while let Ok(Some(_)) = client_end.recv().await {} });
        server_end.send(Buf::from_vec(long_rows()));
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        let (mut done, mut most) = (false, 0);
        {
            let mut passing = std::pin::pin!(relay.run());
            poll_fn(|cx| {
                let before = crate::net::stats().splices;
                let progress = passing.as_mut().poll(cx);
                most = most.max(crate::net::stats().splices - before);
                progress.map(|progress| done = matches!(progress, Ok(Progress::Done)))
            })
            .await;
        }
        assert!(done);
        // into the pipe and out of it
        assert_eq!(most, 2);
    });
}

#[test]
fn a_limit_ends_a_result_behind_a_long_packet() {
    run(|| async {
        let bytes = long_rows();
        let (server, server_end) = tcp_pair();
        let (client, client_end) = tcp_pair();
        crate::net::spawn(async move { while let Ok(Some(_)) = client_end.recv().await {} });
        server_end.send(Buf::from_vec(bytes));
        let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
        relay.limit(6, u64::MAX);
        assert!(matches!(relay.run().await, Ok(Progress::OverLimit { .. })));
        assert_eq!(relay.end.rows, 6);
        assert!(relay.drain(64 << 20).await.expect("drained"));
        assert!(!server.is_stale());
    });
}

#[test]
fn memory_grows_with_what_has_come_and_not_with_what_is_announced() {
    run(|| async {
        let (client, client_end) = pair();
        let mut inbox = Inbox::new(1 << 30);
        let kept = || client.aborter().held().expect("open").parts;
        for piece in [&[0xff, 0xff, 0xff, 0, 3][..], b"SELECT '", b"x", b"y"] {
            client_end.send(Buf::from_vec(piece.to_vec()));
            let mut come = 0;
            while come < piece.len() as u64 {
                crate::net::sleep_until(crate::net::now() + Duration::from_millis(1)).await;
                let nothing =
                    poll_fn(|cx| Poll::Ready(inbox.poll_command(cx, &client).is_pending()));
                assert!(nothing.await);
                come += inbox.take_count();
            }
            assert!(kept() < 1024, "{} bytes", kept());
        }
        assert!(kept() >= 15);
        // a whole command's bytes count until the next one is waited for
        client_end.send(Buf::from_vec(vec![b'x'; WHOLE_LIMIT]));
        let command = poll_fn(|cx| inbox.poll_command(cx, &client)).await;
        let command = command.expect("the first part of a command");
        assert!(command.continued && kept() >= WHOLE_LIMIT);
    });
}
