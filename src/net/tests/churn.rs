use super::*;

/// One end of a connection in the churn below, and what its stream has carried so far.
struct End {
    socket: Socket,
    sent: usize,
    received: usize,
    seed: u64,
}

impl End {
    fn send(&mut self, stream: &[u8], length: usize) {
        let end = (self.sent + length).min(stream.len());
        self.socket
            .send(Buf::copy_from_slice(&stream[self.sent..end]));
        self.sent = end;
    }

    /// Whatever comes is the next part of the other end's stream.
    fn take(&mut self, stream: &[u8]) {
        while let Some(buf) = self.socket.try_recv() {
            assert!(
                stream[self.received..].starts_with(&buf),
                "other bytes than were sent, after {} of stream {}",
                self.received,
                self.seed
            );
            self.received += buf.len();
        }
    }
}

/// Connections that open, send, are read, pause, close and are dropped in a random order.
#[test]
fn no_byte_is_lost_or_mixed_up_whatever_happens_around_it() {
    let config = NetConfig {
        small_buffers: 32,
        bulk_buffers: 4,
        high_water: 20_000,
        batch: 7,
        ..NetConfig::default()
    };
    testing::run_with(config, || async {
        let (listener, endpoint) = tcp_listener();
        let streams: Vec<_> = (0..8).map(|seed| pattern(2 << 20, seed)).collect();
        let mut pairs: Vec<[End; 2]> = Vec::new();
        let random = pattern(4 * 6000, 99);
        for (step, random) in random.chunks(4).enumerate() {
            if pairs.is_empty() || (pairs.len() < 24 && random[0] % 8 == 0) {
                let (near, far) = pair_on(&listener, &endpoint).await;
                let seed = step as u64 % 8;
                let end = |socket| End {
                    socket,
                    sent: 0,
                    received: 0,
                    seed,
                };
                pairs.push([end(near), end(far)]);
            }
            let chosen = usize::from(random[1]) % pairs.len();
            let [one, other] = &mut pairs[chosen];
            let (one, other) = if random[2] % 2 == 0 {
                (one, other)
            } else {
                (other, one)
            };
            let stream = &streams[one.seed as usize];
            match random[0] % 16 {
                0..=5 => one.send(stream, 1 + usize::from(random[3]) * 20),
                6 => one.send(stream, usize::from(random[3]) * 700),
                7..=12 => one.take(stream),
                13 => one
                    .socket
                    .set_deadline(Some(now() + Duration::from_millis(random[3].into()))),
                14 if random[3] < 60 => {
                    let [near, far] = pairs.swap_remove(chosen);
                    spawn(near.socket.close());
                    drop(far);
                }
                14 => other.take(stream),
                _ if random[3] < 60 => drop(pairs.swap_remove(chosen)),
                _ => sleep_until(now()).await,
            }
            if random[3] % 4 == 0 {
                yield_now().await;
            }
        }
        for [near, far] in &mut pairs {
            let stream = &streams[near.seed as usize];
            until("everything has arrived", || {
                near.take(stream);
                far.take(stream);
                near.received == far.sent && far.received == near.sent
            })
            .await;
        }
        assert!(stats().pauses > 0 && stats().spills > 0, "{:?}", stats());
        drop((pairs, listener));
        nothing_is_left().await;
    });
}
