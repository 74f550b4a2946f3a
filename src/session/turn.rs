//! The steps every command shares: make the connection's state fit, send, pass the reply through.
use super::lease::{Attempt, ASKS_ABOUT_LAST};
use super::limits::{is_overdue, may_be_interrupted};
use super::pins::Pins;
use super::tracking::{keeps_schema, ABOUT_TRACKING};
use super::{error_packet, End, Session};
use crate::backend::{After, Lease};
use crate::net::{self, Buf};
use crate::relay::{
    stream_command, stream_file, Broken, Command, Progress, Relay, TrackFilter, TurnEnd, Upload,
};
use crate::sniff::{Sniffed, Telltale};
use crate::wire::{command, error, reply};
use std::rc::Rc;

/// A command on its way to a server, and what may be done if that fails.
pub(super) struct Outgoing {
    pub command: u8,
    /// From the packet header on.
    pub bytes: Buf,
    /// See [`Command`].
    pub rest: usize,
    pub continued: bool,
    /// Proven to read only: state statements may travel in the same write, and the command may be sent
    /// again as long as the client has seen no byte of a reply.
    pub read: bool,
    /// `LAST_INSERT_ID()` is, or may be, asked for: a connection that has another session's value is told this one's.
    pub needs_last_insert_id: bool,
    /// The statement asks for warnings, and this session has none: those of the connection's last user are cleared.
    pub clears_diagnostics: bool,
    /// The statement shows or sets session_track_*, which are Umpire's own on a connection.
    pub about_tracking: bool,
    /// Selects no schema, nor does anything that it runs: see [`TrackFilter::keeps_schema`].
    pub keeps_schema: bool,
    /// What it does to the session's state may show in a report only, and it asks nothing about the statement before.
    pub tells: bool,
    /// See [`crate::sniff::Verb::is_query`].
    pub is_query: bool,
    /// Keep a refusal because of read-only back: the statement goes to the primary instead.
    pub heals: bool,
    /// See [`Sniffed::may_change_data`].
    pub may_change_data: bool,
    /// See `max_execution_time_ms`.
    pub may_be_interrupted: bool,
    /// Client-visible statement id, for the reply to COM_STMT_PREPARE.
    pub statement_id: Option<u32>,
}

impl Outgoing {
    /// The command as it came; it is neither sent twice nor held back.
    pub fn of(command: &Command, sniffed: &Sniffed) -> Outgoing {
        Outgoing {
            command: command.kind(),
            bytes: command.bytes.clone(),
            rest: command.rest,
            continued: command.continued,
            read: false,
            needs_last_insert_id: false,
            clears_diagnostics: false,
            about_tracking: sniffed.effects.intersects(ABOUT_TRACKING),
            keeps_schema: keeps_schema(sniffed),
            tells: matches!(command.kind(), command::QUERY | command::STMT_EXECUTE)
                && !sniffed.effects.intersects(ASKS_ABOUT_LAST),
            is_query: sniffed.verb.is_query(),
            heals: false,
            may_change_data: sniffed.may_change_data(),
            may_be_interrupted: may_be_interrupted(sniffed.verb),
            statement_id: None,
        }
    }

    fn is_whole(&self) -> bool {
        self.rest == 0 && !self.continued
    }
}

/// How an exchange ended.
pub(super) enum Ran {
    /// The reply is with the client. The connection's `after` is Close until the session settles it.
    Done(TurnEnd),
    /// State statements failed; the error is with the client and the command had no effect.
    NotRun,
    /// Nothing happened, and the statement may run elsewhere: the connection was lost.
    Lost,
    /// Nothing happened: the server refuses to write.
    Refused,
}

/// How often a command is sent again, at most, while servers are lost under it.
const TRIES: u8 = 3;

/// ER_OPTION_PREVENTS_STATEMENT (--read-only), ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE.
pub(super) const READ_ONLY_REFUSALS: [u16; 3] = [1290, 1792, 1836];
/// ER_SERVER_SHUTDOWN.
const SHUTTING_DOWN: u16 = 1053;
/// Both.
const HELD_OF_READS: [u16; 4] = [1290, 1792, 1836, SHUTTING_DOWN];

impl Session {
    /// Runs one command on a borrowed connection.
    pub(super) async fn exchange(
        &mut self,
        lease: &mut Lease,
        out: Outgoing,
        attempt: &mut Attempt,
    ) -> Result<Ran, End> {
        let may_change_data = out.may_change_data;
        let ran = self.sync_and_run(lease, out, attempt).await;
        if may_change_data && !matches!(ran, Ok(Ran::Done(_))) {
            // it may have taken effect although nobody will hear of it
            self.note_write();
        }
        ran
    }

    async fn sync_and_run(
        &mut self,
        lease: &mut Lease,
        out: Outgoing,
        attempt: &mut Attempt,
    ) -> Result<Ran, End> {
        lease.after = After::Close;
        let (mut pipelined, mut late) = (0, false);
        if out.needs_last_insert_id && !self.own_id && self.pins.contains(Pins::INSERT_ID) {
            Box::pin(self.settle_doubts(lease)).await?;
        }
        let gives_id = out.needs_last_insert_id && !self.own_id;
        // a held connection has the session's state
        let behind = !Rc::ptr_eq(&lease.state, &self.state);
        let open = self.pins.is_empty() || gives_id || out.about_tracking || behind;
        if open || lease.keeps_report {
            let count = match open {
                true => self.write_sync(lease, &out, gives_id),
                false => 0,
            };
            late = self.write_late_report(lease, &out);
            if count > 0 || late {
                let all = count + usize::from(late);
                self.shared.stats.sync_statements.add(all as u64);
                self.send_scratch(lease);
                if count == 0 || out.read && out.is_whole() {
                    pipelined = all;
                } else if let Some(ran) =
                    Box::pin(self.await_sync(lease, (count, late), attempt)).await?
                {
                    return Ok(ran);
                }
            }
        }
        lease.socket.send(out.bytes.clone());
        let unread = match out.is_whole() {
            true => None,
            false => Some(Box::pin(self.upload(lease, &out)).await?),
        };
        if pipelined > 0 {
            let count = pipelined - usize::from(late);
            match Box::pin(self.swallow_sync(lease, count, late)).await {
                Ok(None) => {}
                // no state was set, only a report called for
                Ok(Some(_)) if !(out.read && out.is_whole()) => {}
                // the command ran in a state that was not the client's: a read, so it had no effect; nobody sees it
                Ok(Some(error)) => {
                    return match Box::pin(self.discard_reply(lease, out.command)).await {
                        Ok(()) => self.sync_failed(lease, error),
                        Err(broken) => self.broken(broken, out.read, lease, attempt),
                    }
                }
                Err(broken) => return self.broken(broken, out.read, lease, attempt),
            }
        }
        lease.state = self.state.clone();
        self.own_id |= gives_id;
        let mut ran = self.pass_reply(lease, &out, attempt).await?;
        if let (Ran::Done(end), Some((lock, assignment))) = (&mut ran, unread) {
            (end.mentions_lock, end.mentions_assignment) = (lock, assignment);
        }
        Ok(ran)
    }

    async fn pass_reply(
        &mut self,
        lease: &mut Lease,
        out: &Outgoing,
        attempt: &mut Attempt,
    ) -> Result<Ran, End> {
        let high_water = self.shared.snapshot().proxy.high_water;
        let head = self.own_names(lease.capabilities);
        let mut relay = Relay::new(
            &lease.socket,
            Some(&self.client),
            out.command,
            lease.capabilities,
        );
        relay.client_capabilities = self.capabilities;
        relay.high_water = high_water;
        relay.statement_id = out.statement_id;
        relay.filter = TrackFilter {
            all: !lease.tracking || out.about_tracking,
            keeps_schema: out.keeps_schema && lease.keeps_report,
            bare_flag: !self.dialect.mariadb,
        };
        relay.owed_schema = self.owed_schema();
        relay.head = head;
        let read_only_transaction = lease.guarded && self.pins.contains(Pins::TRANSACTION);
        let heals = out.heals || read_only_transaction;
        relay.hold_errors = match (heals, out.read && out.is_whole()) {
            (true, true) => &HELD_OF_READS,
            (true, false) => &READ_ONLY_REFUSALS,
            (false, true) => &[SHUTTING_DOWN],
            (false, false) => &[],
        };
        self.limit(&mut relay, lease, out);
        loop {
            let before = relay.end.bytes;
            let progress = relay.run().await;
            let passed = relay.end.bytes - before;
            self.shared.stats.bytes_to_clients.add(passed);
            match progress {
                Ok(Progress::Done) => {
                    if self.user.limits.max_execution_time.is_some() {
                        lease.socket.set_deadline(None);
                    }
                    let (end, owed) = (relay.end, relay.owed_schema.is_some());
                    self.note_report(lease, &end, owed);
                    self.watch_reply(&end, lease);
                    return Ok(Ran::Done(end));
                }
                Ok(Progress::OverLimit { sequence }) => {
                    let ended = Box::pin(self.cut(&mut relay, lease, sequence)).await;
                    let end = relay.end;
                    self.watch_reply(&end, lease);
                    if ended {
                        return Ok(Ran::Done(end));
                    }
                    return match self.pins.leaves_state() {
                        true => Err(End::Told),
                        false => Ok(Ran::NotRun),
                    };
                }
                Ok(Progress::HeldError(_)) if read_only_transaction => {
                    // what a primary says in the client's READ ONLY transaction; a replica may name its own
                    // read_only instead
                    let error = error::read_only_transaction();
                    let end = TurnEnd {
                        error: Some(error.clone()),
                        ..relay.end
                    };
                    self.tell(&error);
                    return Ok(Ran::Done(end));
                }
                Ok(Progress::HeldError(error)) if error.code == SHUTTING_DOWN => {
                    drop(relay);
                    return Ok(self.shut_down(error, lease, attempt));
                }
                Ok(Progress::HeldError(_)) => {
                    // the error was the whole reply: the connection is as it was
                    lease.after = After::Return;
                    return Ok(Ran::Refused);
                }
                Ok(Progress::LocalInfile) => {
                    self.client
                        .set_deadline(Some(net::now() + self.idle_timeout));
                    let upload =
                        stream_file(&mut self.inbox, &self.client, &lease.socket, high_water);
                    match Box::pin(upload).await {
                        Ok(()) | Err(Upload::ServerStopped) => relay.infile_sent(),
                        Err(Upload::Client(_) | Upload::TooLarge) => return Err(End::ClientGone),
                    }
                }
                Err(broken)
                    if self.user.limits.max_execution_time.is_some() && is_overdue(&broken) =>
                {
                    if !Box::pin(self.interrupt(&mut relay, lease)).await {
                        let touched = !relay.untouched();
                        drop(relay);
                        return self.gave_up(touched);
                    }
                }
                Err(broken) => {
                    drop(relay);
                    return self.broken(broken, out.read && out.is_whole(), lease, attempt);
                }
            }
        }
    }

    /// A server that is being stopped cut a read short: another one may have it.
    fn shut_down(&mut self, error: reply::Err, lease: &Lease, attempt: &mut Attempt) -> Ran {
        if attempt.tries < TRIES && !self.entry.stopped() {
            attempt.tries += 1;
            attempt.avoid = Some(lease.server.id);
            return Ran::Lost;
        }
        self.tell(&error);
        Ran::NotRun
    }

    /// Streams what of a large command is still to come. Whether it speaks of a user lock, and of an assignment.
    pub(super) async fn upload(
        &mut self,
        lease: &Lease,
        out: &Outgoing,
    ) -> Result<(bool, bool), End> {
        // a word may lie across the cut
        let end = out.bytes.len().saturating_sub(Telltale::LONGEST);
        let mut words = Telltale::of(&out.bytes[end..]);
        let high_water = self.shared.snapshot().proxy.high_water;
        self.client
            .set_deadline(Some(net::now() + self.idle_timeout));
        let sent = stream_command(
            &mut self.inbox,
            &self.client,
            &lease.socket,
            high_water,
            (out.rest, out.continued),
            &mut |piece| words.feed(piece),
        )
        .await;
        match sent {
            // a server that answers early (1153) and closes: its reply is what the client gets
            Ok(()) | Err(Upload::ServerStopped) => {
                Ok((words.speaks_of_a_lock(), words.may_assign(out.is_query)))
            }
            Err(Upload::Client(_)) => Err(End::ClientGone),
            Err(Upload::TooLarge) => {
                self.tell(&error::packet_too_large());
                Err(End::Told)
            }
        }
    }

    /// For commands that may have an effect: they are sent only when the state is known to be right.
    async fn await_sync(
        &mut self,
        lease: &mut Lease,
        (count, late): (usize, bool),
        attempt: &mut Attempt,
    ) -> Result<Option<Ran>, End> {
        match self.swallow_sync(lease, count, late).await {
            Ok(None) => Ok(None),
            Ok(Some(error)) => self.sync_failed(lease, error).map(Some),
            // nothing of the command itself was sent
            Err(broken) => self.broken(broken, true, lease, attempt).map(Some),
        }
    }

    fn sync_failed(&mut self, lease: &mut Lease, error: reply::Err) -> Result<Ran, End> {
        lease.after = After::Reset;
        self.tell(&error);
        if self.pins.leaves_state() {
            return Err(End::Told);
        }
        Ok(Ran::NotRun)
    }

    /// What a reply that did not come to its end means for the client.
    pub(super) fn broken(
        &mut self,
        broken: Broken,
        read: bool,
        lease: &Lease,
        attempt: &mut Attempt,
    ) -> Result<Ran, End> {
        match broken {
            Broken::Client(_) => Err(End::ClientGone),
            Broken::Server {
                untouched: false,
                cause,
            } => {
                tracing::warn!(server = %lease.server.address, %cause, "a server was lost in the middle of a reply");
                Err(End::ClientGone)
            }
            Broken::Protocol {
                untouched: false,
                what,
            } => {
                tracing::error!(server = %lease.server.address, what, "a server's reply does not follow the protocol");
                Err(End::ClientGone)
            }
            Broken::Server { cause, .. } => self.lost(cause.to_string(), read, lease, attempt),
            Broken::Protocol { what, .. } => {
                tracing::error!(server = %lease.server.address, what, "a server's reply does not follow the protocol");
                self.lost(what.to_string(), false, lease, attempt)
            }
        }
    }

    /// The server is gone and the client has seen nothing. `harmless`: nothing can have happened, so that another
    /// connection will do, unless the session held this one for something.
    fn lost(
        &mut self,
        cause: String,
        harmless: bool,
        lease: &Lease,
        attempt: &mut Attempt,
    ) -> Result<Ran, End> {
        self.shared.stats.server_connections_lost.add(1);
        tracing::warn!(server = %lease.server.address, cause, "a server connection was lost");
        if harmless && self.pins.is_empty() && attempt.tries < TRIES && !self.entry.stopped() {
            attempt.tries += 1;
            attempt.avoid = Some(lease.server.id);
            return Ok(Ran::Lost);
        }
        if self.entry.stopped() {
            // a KILL ended both connections: no server says more than that
            return Err(End::Told);
        }
        // an open transaction or other state went with the connection: a later statement must not run as if it were still
        // there. The client's connection ends as the server's did, which drivers know how to go on from
        if self.pins.leaves_state() {
            return Err(End::Told);
        }
        self.tell(&error::server_lost());
        Ok(Ran::NotRun)
    }

    /// An error for the client after which the connection is useless to it.
    pub(super) fn tell_and_end(&mut self, error: &reply::Err) -> End {
        self.watch_error(error.code);
        self.send(error_packet(error, 1));
        End::Told
    }
}
