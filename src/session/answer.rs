//! What a session answers itself, in a server's place.
use super::Session;
use crate::net::Buf;
use crate::wire::packet::frame;
use crate::wire::{reply, status};

impl Session {
    /// Sends an error as the whole reply to the running command. A command that was not read to its end ends
    /// the session with it.
    pub(super) fn tell(&mut self, error: &reply::Err) {
        self.watch_error(error.code);
        self.shared.stats.turns_failed.add(1);
        self.send(error_packet(error, 1));
    }

    /// Sends an OK as the whole reply to the running command.
    pub(super) fn tell_ok(&mut self) {
        self.send(ok_packet(self.status, self.capabilities, 1));
    }

    /// Queues a packet of the proxy's own for the client.
    pub(super) fn send(&self, packet: Buf) {
        self.shared.stats.bytes_to_clients.add(packet.len() as u64);
        self.client.send(packet);
    }
}

/// Status flags that are not about the last statement only.
pub(super) const OF_THE_SESSION: u16 = status::IN_TRANS
    | status::AUTOCOMMIT
    | status::NO_BACKSLASH_ESCAPES
    | status::IN_TRANS_READONLY
    | status::ANSI_QUOTES;

/// A framed ERR packet.
pub(super) fn error_packet(error: &reply::Err, sequence: u8) -> Buf {
    let mut out = Vec::new();
    frame(&error.encode(), sequence, &mut out);
    Buf::from_vec(out)
}

/// A framed OK packet without rows, ids or warnings.
pub(super) fn ok_packet(status: u16, capabilities: u64, sequence: u8) -> Buf {
    let ok = reply::Ok {
        status: status & OF_THE_SESSION,
        ..reply::Ok::default()
    };
    let mut out = Vec::new();
    frame(&ok.encode(capabilities), sequence, &mut out);
    Buf::from_vec(out)
}

/// As [`ok_packet`], for a statement that had an effect on so many.
pub(super) fn affected_packet(status: u16, capabilities: u64, affected: u64) -> Buf {
    let ok = reply::Ok {
        affected_rows: affected,
        status: status & OF_THE_SESSION,
        ..reply::Ok::default()
    };
    let mut out = Vec::new();
    frame(&ok.encode(capabilities), 1, &mut out);
    Buf::from_vec(out)
}

/// A framed EOF packet.
pub(super) fn eof_packet(status: u16, sequence: u8) -> Buf {
    let mut out = Vec::new();
    frame(&reply::eof(0, status & OF_THE_SESSION), sequence, &mut out);
    Buf::from_vec(out)
}
