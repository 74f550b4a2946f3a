//! From the client to the server: what of a large command is still to come, and the client's file of
//! LOAD DATA LOCAL INFILE. The client is not read while the server's queue is over its high-water mark.
use super::{split_off, Inbox};
use crate::net::{Buf, Kept, Socket};
use crate::wire::packet::{Header, HEADER, MAX_PAYLOAD};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Why an upload did not reach its end.
#[derive(Debug)]
pub enum Upload {
    /// The server failed, or answered and closed before it had everything: its reply, if any, is still to be read.
    ServerStopped,
    Client(io::Error),
    /// More bytes than `max_allowed_packet`.
    TooLarge,
}

/// Streams the rest of a command: `rest` bytes of the current packet and, if `continued`, the packets behind it. `seen`
/// is shown each piece.
pub async fn stream_command(
    inbox: &mut Inbox,
    client: &Socket,
    server: &Socket,
    high_water: usize,
    (rest, continued): (usize, bool),
    seen: &mut dyn FnMut(&[u8]),
) -> Result<(), Upload> {
    // its first part waits for the server now
    client.hold(Kept::Parts, 0);
    let mut walk = PacketWalk::command(rest, continued);
    walk.limit = inbox.max_allowed_packet();
    upload(inbox, client, server, high_water, &mut walk, seen).await
}

/// Streams the client's file: packets until an empty one, which is passed on too.
pub async fn stream_file(
    inbox: &mut Inbox,
    client: &Socket,
    server: &Socket,
    high_water: usize,
) -> Result<(), Upload> {
    inbox.set_streaming(true);
    let mut walk = PacketWalk::file();
    upload(inbox, client, server, high_water, &mut walk, &mut |_| {}).await
}

async fn upload(
    inbox: &mut Inbox,
    client: &Socket,
    server: &Socket,
    high_water: usize,
    walk: &mut PacketWalk,
    seen: &mut dyn FnMut(&[u8]),
) -> Result<(), Upload> {
    while !walk.finished() {
        let mut buf = poll_fn(|cx| poll_client(cx, inbox, client, server, high_water)).await?;
        let taken = walk.feed(&buf);
        if walk.total > walk.limit {
            return Err(Upload::TooLarge);
        }
        seen(buf.get(..taken).unwrap_or_default());
        if taken < buf.len() {
            inbox.push_front(split_off(&mut buf, taken));
        }
        server.send(buf);
    }
    inbox.set_streaming(false);
    Ok(())
}

fn poll_client(
    cx: &mut Context<'_>,
    inbox: &mut Inbox,
    client: &Socket,
    server: &Socket,
    high_water: usize,
) -> Poll<Result<Buf, Upload>> {
    match server.poll_room(cx, high_water) {
        Poll::Pending => return Poll::Pending,
        Poll::Ready(Err(_)) => return Poll::Ready(Err(Upload::ServerStopped)),
        Poll::Ready(Ok(())) => {}
    }
    match inbox.poll_bytes(cx, client) {
        Poll::Ready(Ok(Some(buf))) => return Poll::Ready(Ok(buf)),
        Poll::Ready(Ok(None)) => {
            let gone = io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the client ended in the middle of a command",
            );
            return Poll::Ready(Err(Upload::Client(gone)));
        }
        Poll::Ready(Err(e)) => return Poll::Ready(Err(Upload::Client(e))),
        Poll::Pending => {}
    }
    server.poll_hangup(cx).map(|()| Err(Upload::ServerStopped))
}

/// Where in a sequence of packets the upload is.
///
/// Invariant: `rest > 0` and `have > 0` are never true at once.
struct PacketWalk {
    /// Payload bytes of the current packet still to come.
    rest: usize,
    /// Another packet follows the current one.
    more: bool,
    header: [u8; HEADER],
    /// Bytes of `header` that are here.
    have: usize,
    total: usize,
    /// Most bytes of all packets.
    limit: usize,
    /// A file ends with an empty packet; a command with one that is shorter than the maximum.
    ends_on_empty: bool,
}

impl PacketWalk {
    /// The rest of a command whose first part is already on its way.
    fn command(rest: usize, continued: bool) -> PacketWalk {
        PacketWalk {
            rest,
            more: continued,
            header: [0; HEADER],
            have: 0,
            total: if continued { MAX_PAYLOAD } else { rest },
            limit: usize::MAX,
            ends_on_empty: false,
        }
    }

    fn file() -> PacketWalk {
        PacketWalk {
            rest: 0,
            more: true,
            header: [0; HEADER],
            have: 0,
            total: 0,
            limit: usize::MAX,
            ends_on_empty: true,
        }
    }

    fn finished(&self) -> bool {
        self.rest == 0 && !self.more
    }

    /// How many of the bytes belong to the upload.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() && !self.finished() {
            if self.rest > 0 {
                let n = self.rest.min(bytes.len() - at);
                self.rest -= n;
                at += n;
                continue;
            }
            self.header[self.have] = bytes[at];
            self.have += 1;
            at += 1;
            if let (HEADER, Some(header)) = (self.have, Header::decode(&self.header)) {
                self.have = 0;
                self.rest = header.length;
                self.total = self.total.saturating_add(header.length);
                self.more = if self.ends_on_empty {
                    header.length > 0
                } else {
                    header.length == MAX_PAYLOAD
                };
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_its_short_packet_and_leaves_the_next_one() {
        let mut walk = PacketWalk::command(3, true);
        let bytes = [1, 2, 3, 2, 0, 0, 1, 9, 9, 7, 7];
        assert_eq!(walk.feed(&bytes), 9);
        assert!(walk.finished());
    }

    #[test]
    fn a_command_of_exactly_the_greatest_length_ends_with_an_empty_packet() {
        let mut walk = PacketWalk::command(1, true);
        assert_eq!(walk.feed(&[1, 0, 0]), 3);
        assert!(!walk.finished());
        assert_eq!(walk.feed(&[0, 1, 5]), 2);
        assert!(walk.finished());
    }

    #[test]
    fn a_file_ends_with_an_empty_packet_however_it_is_cut() {
        let bytes = [2, 0, 0, 2, 8, 8, 1, 0, 0, 3, 7, 0, 0, 0, 4, 99];
        for cut in 0..bytes.len() {
            let mut walk = PacketWalk::file();
            let first = walk.feed(&bytes[..cut]);
            let second = if walk.finished() {
                0
            } else {
                walk.feed(&bytes[cut..])
            };
            assert_eq!(first + second, 15, "cut at {cut}");
            assert!(walk.finished());
        }
    }
}
