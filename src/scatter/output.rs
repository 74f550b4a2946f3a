//! Packets for the client, numbered and gathered.
use crate::net::{Buf, Socket};
use crate::wire::packet::frame;
use std::future::poll_fn;

/// Bytes that are gathered before they are queued.
const CHUNK: usize = 16 * 1024;

/// The client's side of one reply. Per turn.
pub struct Output<'a> {
    client: &'a Socket,
    /// Of the next packet.
    sequence: u8,
    gathered: Vec<u8>,
    /// Bytes queued for the client above which no server is read.
    high_water: usize,
    /// Bytes handed to the socket.
    pub bytes: u64,
    /// Rows among the packets.
    pub rows: u64,
}

impl<'a> Output<'a> {
    pub fn new(client: &'a Socket, high_water: usize) -> Output<'a> {
        Output {
            client,
            sequence: 1,
            gathered: Vec::new(),
            high_water,
            bytes: 0,
            rows: 0,
        }
    }

    pub fn packet(&mut self, payload: &[u8]) {
        self.sequence = frame(payload, self.sequence, &mut self.gathered);
        if self.gathered.len() >= CHUNK {
            self.flush();
        }
    }

    /// Queues what was gathered.
    pub fn flush(&mut self) {
        if !self.gathered.is_empty() {
            let chunk = std::mem::take(&mut self.gathered);
            self.bytes += chunk.len() as u64;
            self.client.send(Buf::from_vec(chunk));
        }
    }

    /// A packet of the reply was made already.
    pub fn begun(&self) -> bool {
        self.sequence != 1
    }

    pub fn is_full(&self) -> bool {
        self.client.is_full(self.high_water)
    }

    /// Waits until the client has taken half of what is allowed.
    pub async fn drained(&self) -> std::io::Result<()> {
        poll_fn(|cx| self.client.poll_room(cx, self.high_water)).await
    }
}
