//! Replication clients (replicas, mysqlbinlog, change data capture): COM_REGISTER_SLAVE, COM_BINLOG_DUMP,
//! COM_BINLOG_DUMP_GTID.
//!
//! From the dump on, the session is its server connection: bytes pass both ways as they come (events there, the
//! acknowledgements of semi-synchronous replication back) until one side ends, each side at the other's speed. The
//! connection is the primary's, and is closed afterwards: a server knows a replica by it.
use super::commands::SESSION_ONLY;
use super::lease::Attempt;
use super::pins::Pins;
use super::sync::NotReady;
use super::turn::{Outgoing, Ran};
use super::{End, Session};
use crate::backend::{After, Lease};
use crate::net::Socket;
use crate::relay::Command;
use crate::wire::error;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Buffers passed in one poll; then other sessions have their turn.
const SHARE: usize = 64;

impl Session {
    /// The server lists the replica for as long as this connection lasts.
    pub(super) async fn register_replica(&mut self, command: Command) -> Result<(), End> {
        if !command.is_whole() {
            return Err(self.tell_and_end(&error::packet_too_large()));
        }
        let mut attempt = Attempt::default();
        let mut lease = match self.lease(&SESSION_ONLY, &mut attempt).await {
            Ok(lease) => lease,
            Err(error) => {
                self.tell(&error);
                return Ok(());
            }
        };
        let out = Outgoing::of(&command, &SESSION_ONLY);
        match self.exchange(&mut lease, out, &mut attempt).await? {
            Ran::Done(end) => {
                if end.error.is_none() {
                    self.pins |= Pins::REPLICATION;
                }
                self.finish(lease, end, &SESSION_ONLY, &[]);
            }
            _ => self.forget(lease),
        }
        Ok(())
    }

    /// Returns when the dump is over, and with it the session.
    pub(super) async fn dump(&mut self, command: Command) -> Result<(), End> {
        if let Err(error) = self.check_command(command.kind(), command.body()) {
            return self.deny(&command, &error);
        }
        let mut lease = match self.lease(&SESSION_ONLY, &mut Attempt::default()).await {
            Ok(lease) => lease,
            Err(error) => return self.deny(&command, &error),
        };
        lease.after = After::Close;
        let state = self.state.clone();
        match self.change_state(&mut lease, &state).await {
            Ok(()) => {}
            Err(NotReady::Refused(error)) => return Err(self.tell_and_end(&error)),
            Err(NotReady::Broken(_)) => return Err(self.tell_and_end(&error::server_lost())),
        }
        self.pins |= Pins::REPLICATION;
        self.entry.pins.set(self.pins);
        // it lasts for as long as the replica does
        self.running = None;
        self.client.set_deadline(None);
        lease.socket.set_deadline(None);
        lease.socket.send(command.bytes);
        Err(self.tunnel(&lease).await)
    }

    /// Until one side ends, or the session is told to.
    async fn tunnel(&mut self, lease: &Lease) -> End {
        let high_water = self.shared.snapshot().proxy.high_water;
        poll_fn(|cx| {
            if self.entry.poll_stopped(cx).is_ready() || self.shared.draining.get() {
                return Poll::Ready(End::Told);
            }
            for _ in 0..SHARE {
                let down = self.pass_events(cx, &lease.socket, high_water);
                let up = self.pass_answers(cx, &lease.socket, high_water);
                match (down, up) {
                    (Poll::Ready(Err(end)), _) | (_, Poll::Ready(Err(end))) => {
                        return Poll::Ready(end)
                    }
                    (Poll::Pending, Poll::Pending) => return Poll::Pending,
                    _ => {}
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// One buffer of the server's to the client.
    fn pass_events(
        &self,
        cx: &mut Context<'_>,
        server: &Socket,
        high_water: usize,
    ) -> Poll<Result<(), End>> {
        match room(cx, &self.client, high_water) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Err(End::ClientGone)),
            Poll::Pending => return Poll::Pending,
        }
        server.poll_recv(cx).map(|received| match received {
            Ok(Some(buf)) => {
                self.send(buf);
                Ok(())
            }
            // what it said last is on its way to the client
            Ok(None) | Err(_) => Err(End::Told),
        })
    }

    /// One buffer of the client's to the server.
    fn pass_answers(
        &mut self,
        cx: &mut Context<'_>,
        server: &Socket,
        high_water: usize,
    ) -> Poll<Result<(), End>> {
        match room(cx, server, high_water) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Err(End::Told)),
            Poll::Pending => return Poll::Pending,
        }
        let received = self.inbox.poll_bytes(cx, &self.client);
        received.map(|received| match received {
            Ok(Some(buf)) => {
                server.send(buf);
                Ok(())
            }
            Ok(None) | Err(_) => Err(End::ClientGone),
        })
    }
}

/// Whether more may be queued for this side.
fn room(cx: &mut Context<'_>, to: &Socket, high_water: usize) -> Poll<io::Result<()>> {
    match to.queued() > high_water {
        true => to.poll_drained(cx, high_water / 2),
        false => Poll::Ready(Ok(())),
    }
}
