//! The connections that a statement uses: leased, made ready, and given back.
use super::prepared::Binding;
use super::reply::Told;
use super::Session;
use crate::backend::{After, Lease, State};
use crate::net::Buf;
use crate::plan::{Answer, Fanout};
use crate::scatter::{Branch, BranchEnd, Failure};
use crate::session::lease::Attempt;
use crate::session::pins::Pins;
use crate::session::sync::NotReady;
use crate::session::End;
use crate::sniff::Sniffed;
use crate::wire::packet::frame;
use crate::wire::{error, status};
use std::rc::Rc;

/// A connection that a statement uses, and what runs on it.
pub(super) struct Used {
    pub seat: Option<Rc<str>>,
    pub lease: Lease,
    pub parts: Vec<usize>,
    /// The seat holds it.
    pub(super) held: bool,
    pub(super) framed: Vec<u8>,
    pub(super) silent: usize,
    /// The server's ids of the parts' statements.
    pub(super) ids: Vec<u32>,
    /// Lost before the statement was sent.
    pub(super) broken: bool,
    /// The state that the connection has once the silent commands have worked.
    pub(super) target: Option<Rc<State>>,
    pub end: BranchEnd,
}

impl Used {
    pub fn new(seat: Option<Rc<str>>, lease: Lease, held: bool) -> Used {
        Used {
            seat,
            lease,
            parts: Vec::new(),
            held,
            framed: Vec::new(),
            silent: 0,
            ids: Vec::new(),
            broken: false,
            target: None,
            end: BranchEnd::default(),
        }
    }

    /// One of the plan's parts.
    pub fn write_query(&mut self, sql: &[u8]) {
        let payload = query_payload(sql, self.lease.capabilities);
        frame(&payload, 0, &mut self.framed);
    }

    /// COM_STMT_PREPARE.
    pub fn write_prepare(&mut self, sql: &[u8]) {
        let payload = [&[crate::wire::command::STMT_PREPARE], sql].concat();
        frame(&payload, 0, &mut self.framed);
    }

    /// The plan's parts that run here, as text or as EXECUTE.
    pub fn write_parts(
        &mut self,
        fanout: &Fanout,
        binding: Option<&Binding>,
    ) -> Result<(), Failure> {
        for (at, part) in self.parts.clone().into_iter().enumerate() {
            let Some(binding) = binding else {
                self.write_query(&fanout.parts[part].sql);
                continue;
            };
            let id = self.ids.get(at).copied().unwrap_or(0);
            let execute = binding.execute(&fanout.parts[part], id, self.lease.capabilities);
            let what = "a plan with a parameter that there is not";
            let execute = execute.ok_or(Failure::Protocol { part, what })?;
            frame(&execute, 0, &mut self.framed);
        }
        Ok(())
    }

    /// A command of the proxy's own, whose OK nobody sees.
    pub fn write_silent(&mut self, sql: &[u8]) {
        self.write_query(sql);
        self.silent += 1;
    }

    /// Asks for the connection's status flags; leaves warnings where they are.
    pub fn write_ping(&mut self) {
        frame(&[crate::wire::command::PING], 0, &mut self.framed);
        self.silent += 1;
    }

    /// Its server has the client's transaction open, by its last word.
    pub fn is_in_transaction(&self) -> bool {
        let last = self.end.status.unwrap_or(self.lease.status);
        last & status::IN_TRANS != 0
    }

    /// Hands over what was written.
    pub fn branch(&mut self) -> Branch<'_> {
        self.lease.after = After::Close;
        Branch {
            socket: &self.lease.socket,
            capabilities: self.lease.capabilities,
            bytes: Buf::from_vec(std::mem::take(&mut self.framed)),
            silent: std::mem::take(&mut self.silent),
            parts: self.parts.clone(),
            keep: self.held,
        }
    }
}

impl Session {
    /// Connections for all parts: one a group in a transaction, for changes, or where the session holds one already; else
    /// one a part.
    pub(super) async fn lease_all(
        &mut self,
        fanout: &Fanout,
        sniffed: &Sniffed,
    ) -> Result<Vec<Used>, Told> {
        let rows = matches!(fanout.answer, Answer::Rows(_));
        let shared = !rows || self.in_transaction();
        let snapshot = self.shared.snapshot();
        let mut used: Vec<Used> = Vec::new();
        for (at, part) in fanout.parts.iter().enumerate() {
            let Some(group) = snapshot.groups.get(part.group) else {
                return Err(error::own("a shard's group is no longer configured").into());
            };
            self.take_seat(Some(&group.name));
            let seat = self.active_seat();
            // a seat has one connection to hold: another one would take its place
            let shared = shared || self.pins.leaves_state();
            let there = used.iter_mut().find(|u| shared && u.seat == seat);
            let on = match there {
                Some(on) => on,
                None => {
                    self.join_transaction().await?;
                    let held = !self.pins.is_empty();
                    let lease = match self.lease(sniffed, &mut Attempt::default()).await {
                        Ok(lease) => lease,
                        Err(error) => {
                            self.put_back(used)?;
                            return Err(error.into());
                        }
                    };
                    used.push(Used::new(seat, lease, held));
                    let last = used.len() - 1;
                    &mut used[last]
                }
            };
            on.parts.push(at);
        }
        Ok(used)
    }

    /// Nothing of the statement was sent on these.
    pub(super) fn put_back(&mut self, used: Vec<Used>) -> Result<(), End> {
        let mut ended = Ok(());
        for mut used in used {
            used.end.sent |= used.broken;
            used.end.clean &= !used.broken;
            ended = ended.and(self.give_back(used));
        }
        ended
    }

    /// Every part's statement on the connection that will run it.
    pub(super) async fn prepare_parts(
        &mut self,
        used: &mut [Used],
        fanout: &Fanout,
        binding: &Binding,
    ) -> Result<(), Told> {
        for used in used {
            self.take_seat(used.seat.as_deref());
            self.uses_server(&used.lease);
            for part in used.parts.clone() {
                let part = &fanout.parts[part];
                let text: Rc<[u8]> = part.sql.as_slice().into();
                let key = binding.key(&text, &part.parameters, self.resolves_once());
                let known = used.lease.prepared.get(key).map(|p| p.server_id);
                let ready = match known {
                    Some(id) => Ok(id),
                    None => {
                        self.prepare_on(
                            &mut used.lease,
                            key,
                            text,
                            binding.state.clone(),
                            binding.typed,
                        )
                        .await
                    }
                };
                match ready {
                    Ok(id) => used.ids.push(id),
                    Err(NotReady::Refused(error)) => return Err(error.into()),
                    Err(NotReady::Broken(_)) => {
                        used.broken = true;
                        return Err(error::server_lost().into());
                    }
                }
                if let Some(prepared) = used.lease.prepared.get(key) {
                    prepared.types_of = 0;
                }
            }
        }
        Ok(())
    }

    /// The session's state goes in front on each.
    pub(super) fn make_ready(&mut self, used: &mut [Used], sniffed: &Sniffed) -> Result<(), Told> {
        for used in used {
            self.write_state(used)?;
            if self.may_ask_last_insert_id(sniffed) {
                let set = format!("SET last_insert_id={}", self.last_insert_id);
                used.write_silent(set.as_bytes());
            }
        }
        Ok(())
    }

    /// What turns the connection's state into the session's goes in front.
    pub(super) fn write_state(&mut self, used: &mut Used) -> Result<(), Told> {
        let state = self.state.clone();
        self.write_state_to(used, &state);
        Ok(())
    }

    pub(super) fn write_state_to(&mut self, used: &mut Used, state: &Rc<State>) {
        if !Rc::ptr_eq(&used.lease.state, state) {
            used.silent += used.lease.sync_to(state, &mut used.framed);
        }
        used.target = Some(state.clone());
    }

    /// What a statement leaves on a connection, which goes where it belongs.
    pub(super) fn give_back(&mut self, mut used: Used) -> Result<(), End> {
        self.take_seat(used.seat.as_deref());
        if !used.end.sent {
            self.settle(used.lease);
            return Ok(());
        }
        // reset, it would lose what the client relies on
        let loses_state = !used.end.prepared && used.held && self.pins.leaves_state();
        if !used.end.clean || loses_state {
            let had_state = used.held && self.pins.leaves_state();
            used.lease.after = After::Close;
            self.forget(used.lease);
            if had_state {
                // a later statement must not run as if the transaction were still open
                self.tell(&error::server_lost());
                return Err(End::Told);
            }
            return Ok(());
        }
        if !used.end.prepared {
            used.lease.after = After::Reset;
            self.forget(used.lease);
            return Ok(());
        }
        if let Some(target) = used.target.take() {
            used.lease.state = target;
        }
        if used
            .lease
            .note_changes(&used.end.changes, &self.shared.states)
        {
            self.pins |= Pins::VARIABLE;
        }
        if let Some(flags) = used.end.status {
            used.lease.status = flags;
            let in_transaction = flags & status::IN_TRANS != 0;
            self.pins.set(Pins::TRANSACTION, in_transaction);
        }
        self.settle(used.lease);
        Ok(())
    }
}

/// COM_QUERY for a connection with these capabilities.
pub(in crate::session) fn query_payload(sql: &[u8], capabilities: u64) -> Vec<u8> {
    use crate::wire::capabilities::QUERY_ATTRIBUTES;
    let mut payload = Vec::with_capacity(sql.len() + 3);
    payload.push(crate::wire::command::QUERY);
    if capabilities & QUERY_ATTRIBUTES != 0 {
        payload.extend_from_slice(&crate::wire::query::NO_ATTRIBUTES);
    }
    payload.extend_from_slice(sql);
    payload
}
