use super::*;
use std::io::ErrorKind;

#[test]
fn an_aborted_connection_fails_its_waits_and_leaves_the_next_one_alone() {
    testing::run(|| async {
        let (socket, _peer) = pair().await;
        let aborter = socket.aborter();
        let abort = async {
            sleep_until(now() + Duration::from_millis(5)).await;
            aborter.abort();
        };
        let (received, ()) = both(socket.recv(), abort).await;
        assert_eq!(received.err().unwrap().kind(), ErrorKind::ConnectionAborted);
        drop(socket);
        // the place may be another connection's by now
        let (other, other_peer) = pair().await;
        aborter.abort();
        other_peer.send(Buf::from_static(b"still here"));
        assert!(other.recv().await.unwrap().is_some());
    });
}
