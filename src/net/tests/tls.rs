//! TLS between two sockets of the ring, and against a peer that cuts, stalls, and breaks the rules.
use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, SupportedProtocolVersion,
};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const CHAIN: &[u8] = include_bytes!("../../../tests/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../../tests/tls/server.key");
const AUTHORITY: &[u8] = include_bytes!("../../../tests/tls/ca.pem");

const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn server_config() -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(CHAIN).map(Result::unwrap);
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&BOTH)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    Arc::new(config)
}

fn client_config(version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(AUTHORITY) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Two ends of one encrypted connection.
async fn encrypted(version: &'static SupportedProtocolVersion) -> (Socket, Socket) {
    let (near, far) = pair().await;
    let (a, b) = both(
        near.connect_tls(client_config(version), localhost()),
        far.accept_tls(server_config(), Buf::default()),
    )
    .await;
    a.unwrap();
    b.unwrap();
    (near, far)
}

#[test]
fn both_versions_carry_bytes_both_ways() {
    for version in BOTH {
        testing::run(move || async move {
            let (near, far) = encrypted(version).await;
            let info = near.tls().unwrap();
            assert_eq!(far.tls().map(|tls| tls.cipher), Some(info.cipher));
            assert!(near.is_encrypted() && !info.resumed && info.certificate);
            spawn(echo(far));
            for length in [1, 16_384, 16_385, 100_000, 3_000_000] {
                let bytes = pattern(length, length as u64);
                let (_, back) = both(
                    send_all(&near, &bytes, 50_000),
                    receive_exactly(&near, length),
                )
                .await;
                assert!(back == bytes, "{length} bytes came back changed");
            }
            near.close().await;
            nothing_is_left().await;
        });
    }
}

#[test]
fn small_buffers_of_one_pass_arrive_in_order() {
    testing::run(|| async {
        let (near, far) = encrypted(&rustls::version::TLS13).await;
        let mut expected = Vec::new();
        for i in 0..2000_usize {
            let piece = pattern(1 + i * 37 % 5000, i as u64);
            expected.extend_from_slice(&piece);
            near.send(Buf::from_vec(piece));
        }
        assert!(near.queued() >= expected.len());
        let far = receive_exactly(&far, expected.len()).await;
        assert!(far == expected);
        near.drained(0).await.unwrap();
        assert_eq!(near.queued(), 0);
    });
}

/// An ordinary client on a thread of its own whose bytes go out in pieces.
fn in_pieces(
    mut far: TcpStream,
    length: usize,
    bytes: Vec<u8>,
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        far.set_nodelay(true).unwrap();
        let config = client_config(&rustls::version::TLS13);
        let mut tls = ClientConnection::new(config, localhost()).unwrap();
        tls.writer().write_all(&bytes).unwrap();
        let mut back = Vec::new();
        while back.len() < bytes.len() {
            let mut out = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut out).unwrap();
            }
            for piece in out.chunks(length) {
                far.write_all(piece).unwrap();
            }
            tls.read_tls(&mut far).unwrap();
            tls.process_new_packets().unwrap();
            let mut some = vec![0; bytes.len()];
            match tls.reader().read(&mut some) {
                Ok(n) => back.extend_from_slice(&some[..n]),
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
        back
    })
}

#[test]
fn records_may_come_in_any_pieces() {
    for (pieces, length) in [(1, 300), (3, 5_000), (7, 5_000), (997, 60_000)] {
        let bytes = pattern(length, 5);
        let sent = bytes.clone();
        testing::run(move || async move {
            let (near, far) = pair_with_std().await;
            let peer = in_pieces(far, pieces, sent);
            near.accept_tls(server_config(), Buf::default())
                .await
                .unwrap();
            let got = receive_exactly(&near, length).await;
            near.send(Buf::from_vec(got));
            near.close().await;
            until("the peer is done", || peer.is_finished()).await;
            assert!(peer.join().unwrap() == bytes);
        });
    }
}

#[test]
fn a_peer_that_has_ended_its_direction_still_gets_answers() {
    testing::run(|| async {
        let (near, far) = encrypted(&rustls::version::TLS13).await;
        near.send(Buf::from_static(b"last words"));
        driver::with(|driver| driver.seal_end(near.index()));
        assert_eq!(&far.recv().await.unwrap().unwrap()[..], b"last words");
        assert!(far.recv().await.unwrap().is_none());
        far.hangup().await;
        assert!(far.is_stale());
        far.send(Buf::from_static(b"still here"));
        assert_eq!(&near.recv().await.unwrap().unwrap()[..], b"still here");
        far.close().await;
        assert!(near.recv().await.unwrap().is_none());
    });
}

/// What a client gets for these bytes instead of a handshake; and that it costs nothing afterwards.
fn answer_to(bytes: Vec<u8>) -> (ErrorKind, Vec<u8>) {
    testing::run(move || async move {
        let (near, mut far) = pair_with_std().await;
        far.write_all(&bytes).unwrap();
        let error = near
            .accept_tls(server_config(), Buf::default())
            .await
            .unwrap_err();
        assert!(near.is_stale());
        near.close().await;
        let answer = std::thread::spawn(move || {
            let mut answer = Vec::new();
            // the connection may be reset behind the alert
            let _ = far.read_to_end(&mut answer);
            answer
        });
        until("the peer has read", || answer.is_finished()).await;
        nothing_is_left().await;
        (error.kind(), answer.join().unwrap())
    })
}

#[test]
fn garbage_and_records_over_the_limit_are_answered_by_an_alert() {
    const ALERT: u8 = 0x15;
    let oversize = [&[0x16, 3, 1, 0xff, 0xff][..], &[0; 70_000]].concat();
    let plain_command = b"\x0a\0\0\0\x03SELECT 1".to_vec();
    let http = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    for bytes in [oversize, plain_command, http, pattern(100_000, 3)] {
        let (kind, answer) = answer_to(bytes);
        assert_eq!(kind, ErrorKind::InvalidData);
        assert!(answer.is_empty() || answer[0] == ALERT, "{answer:?}");
    }
}

#[test]
fn a_handshake_that_stalls_ends_with_the_deadline_and_one_that_ends_at_once() {
    testing::run(|| async {
        let (near, mut far) = pair_with_std().await;
        far.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
        near.set_deadline(Some(now() + Duration::from_millis(50)));
        let stalled = near.accept_tls(server_config(), Buf::default()).await;
        assert_eq!(stalled.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(near);
        let (near, far) = pair_with_std().await;
        drop(far);
        let ended = near.accept_tls(server_config(), Buf::default()).await;
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        drop(near);
        nothing_is_left().await;
    });
}

#[test]
fn a_changed_byte_ends_the_connection_and_nothing_behind_it_is_taken() {
    testing::run(|| async {
        let (near, far) = encrypted(&rustls::version::TLS13).await;
        near.send(Buf::from_static(b"good"));
        assert_eq!(&far.recv().await.unwrap().unwrap()[..], b"good");
        // a record of the right form that was never encrypted with the connection's key
        let forged = [&[0x17, 3, 3, 0, 40][..], &[7; 40]].concat();
        driver::with(|driver| {
            driver.slots[near.index() as usize].queued += forged.len();
            let queue = &mut driver.slots[near.index() as usize].queue;
            queue.push_back(Buf::from_vec(forged));
            driver.mark_dirty(near.index());
        });
        near.send(Buf::from_static(b"behind it"));
        let error = far.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        far.close().await;
        assert!(near.recv().await.is_err(), "the alert came");
    });
}

#[test]
fn a_receiver_that_does_not_take_stops_its_peer() {
    testing::run(|| async {
        let (near, far) = encrypted(&rustls::version::TLS13).await;
        far.set_high_water(64 << 10);
        let piece = pattern(64 << 10, 1);
        let mut sent = 0;
        let before = stats().pauses;
        while stats().pauses == before || near.queued() < 1 << 20 {
            near.send(Buf::from_vec(piece.clone()));
            sent += piece.len();
            sleep_until(now() + Duration::from_millis(1)).await;
            assert!(sent < 1 << 30, "the peer was never stopped");
        }
        let slot =
            |socket: &Socket| driver::with(|d| d.slots[socket.index() as usize].received_bytes);
        assert!(slot(&far) < 1 << 20, "{} bytes are kept", slot(&far));
        let got = receive_exactly(&far, sent).await;
        assert!(got.chunks(piece.len()).all(|chunk| chunk == piece));
    });
}

#[test]
fn a_second_connection_resumes_the_first_ones_session() {
    testing::run(|| async {
        let mut server = Arc::unwrap_or_clone(server_config());
        server.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        let server = Arc::new(server);
        for version in BOTH {
            let client = client_config(version);
            for resumed in [false, true] {
                let (near, far) = pair().await;
                let (a, b) = both(
                    near.connect_tls(client.clone(), localhost()),
                    far.accept_tls(server.clone(), Buf::default()),
                )
                .await;
                a.unwrap();
                b.unwrap();
                // tickets of TLS 1.3 come behind the handshake
                far.send(Buf::from_static(b"x"));
                receive_exactly(&near, 1).await;
                assert!(!near.is_stale());
                assert_eq!(near.tls().unwrap().resumed, resumed, "{version:?}");
                assert_eq!(far.tls().unwrap().resumed, resumed, "{version:?}");
            }
        }
    });
}
