//! KILL and COM_PROCESS_KILL: client-visible ids → the server's thread.
//!
//! Ids that Umpire gave out tell the worker that owns the session; the victim's worker sends
//! `KILL QUERY thread` to the server over a connection of its own, so that it works while every pooled
//! connection is busy.
use super::answer::affected_packet;
use super::kill_sent::{kill_on_server, send_kill, KILL_DEADLINE};
use super::lease::Attempt;
use super::login::host_name;
use super::promise::Promise;
use super::registry::{Entry, OnServer, FIRST_ID};
use super::sharded::{ask_directly, query_payload};
use super::shared::{Act, KillElsewhere, KillOutcome, Shared, Whom};
use super::sync::NotReady;
use super::{End, Session};
use crate::backend::After;
use crate::net::{self, Buf};
use crate::relay::Command;
use crate::scatter;
use crate::sniff::{self, Kill, KillWhom};
use crate::wire::packet::frame;
use crate::wire::row::walk_text;
use crate::wire::{error, reply};
use std::rc::Rc;

/// A value's question and answer, or that of an account's rights.
const ANSWER_LIMIT: usize = 64 * 1024;
/// What lets an account end other accounts' sessions, in SHOW GRANTS.
const RIGHTS: [&str; 4] = [
    "SUPER",
    "ALL PRIVILEGES",
    "CONNECTION ADMIN",
    "CONNECTION_ADMIN",
];

impl Session {
    /// A KILL statement that is alone in its command.
    pub(super) async fn kill_statement(&mut self, kill: Kill<'_>) -> Result<(), End> {
        let whom = match kill.whom {
            KillWhom::Session(id) => Whom::of_id(id),
            KillWhom::Expression(text) => match self.number_of(text).await? {
                Ok(id) => Whom::of_id(id),
                Err(error) => {
                    self.tell(&error);
                    return Ok(());
                }
            },
            KillWhom::User(name, host) => Whom::User {
                name: String::from_utf8_lossy(&name).into_owned(),
                host: host.map(|host| String::from_utf8_lossy(&host).into_owned()),
            },
            KillWhom::CurrentUser => Whom::User {
                name: self.entry.user.borrow().to_string(),
                host: None,
            },
            KillWhom::Statement(text) => {
                match self.number_of(text).await? {
                    // numbers of statements are the server's own
                    Ok(number) => {
                        self.kill_by_server(&format!("KILL QUERY ID {number}"))
                            .await
                    }
                    Err(error) => self.tell(&error),
                }
                return Ok(());
            }
        };
        self.kill(whom, kill.query).await
    }

    async fn kill(&mut self, whom: Whom, query: bool) -> Result<(), End> {
        let outcome = self.kill_allowed(&whom, query).await;
        let id = match whom {
            Whom::Id(id) if outcome == KillOutcome::NoSuchThread && id < FIRST_ID => {
                return self.kill_thread(id, query).await;
            }
            Whom::Id(id) | Whom::Thread(_, id) => u64::from(id),
            Whom::Nobody(id) => id,
            Whom::User { .. } => return self.tell_killed_of_user(outcome),
        };
        self.tell_killed(outcome, id, query)
    }

    /// Own sessions; those of others if the account on the servers may, of which is asked only where it matters.
    async fn kill_allowed(&self, whom: &Whom, query: bool) -> KillOutcome {
        let act = if query { Act::KillQuery } else { Act::Kill };
        match self.kill_somewhere(whom, act, true).await {
            KillOutcome::NotOwner if self.may_kill_others().await => {
                self.kill_somewhere(whom, act, false).await
            }
            outcome => outcome,
        }
    }

    fn tell_killed(&mut self, outcome: KillOutcome, id: u64, query: bool) -> Result<(), End> {
        match outcome {
            KillOutcome::NoSuchThread => self.tell(&error::no_such_thread(id)),
            KillOutcome::NotOwner => self.tell(&error::not_owner_of_thread(id)),
            KillOutcome::Killed(_) if self.entry.stopped() => {
                let error = match self.dialect.mariadb {
                    true => error::connection_killed(),
                    false => error::query_interrupted(),
                };
                return Err(self.tell_and_end(&error));
            }
            KillOutcome::Killed(_) if query && id == u64::from(self.entry.id) => {
                self.tell(&error::query_interrupted());
            }
            KillOutcome::Killed(_) | KillOutcome::Uses(_) => self.tell_ok(),
        }
        Ok(())
    }

    /// An id that only a server can have given out, as SHOW PROCESSLIST tells it: the session that uses this thread of the
    /// primary now is meant, or else whoever it is to the server.
    async fn kill_thread(&mut self, id: u32, query: bool) -> Result<(), End> {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(self.user.group);
        let Some(server) = group.and_then(|g| g.servers.get(g.primary?)) else {
            self.tell(&error::no_such_thread(u64::from(id)));
            return Ok(());
        };
        let whom = Whom::Thread(server.id, id);
        let outcome = self.kill_allowed(&whom, query).await;
        if outcome != KillOutcome::NoSuchThread {
            return self.tell_killed(outcome, u64::from(id), query);
        }
        let what = if query { "KILL QUERY" } else { "KILL" };
        self.kill_by_server(&format!("{what} {id}")).await;
        Ok(())
    }

    /// The primary decides, by the client's own account.
    async fn kill_by_server(&mut self, sql: &str) {
        let snapshot = self.shared.snapshot();
        let group = snapshot.groups.get(self.user.group);
        let primary = group.and_then(|g| Some((g, g.servers.get(g.primary?)?)));
        let Some((group, server)) = primary else {
            let why = "the group has no primary now, which a KILL of one of its own ids is for";
            return self.tell(&error::no_server(why));
        };
        let sent = send_kill(&self.shared, group, server, &self.account, sql, &|| true).await;
        match sent {
            Ok(None) => self.tell_ok(),
            Ok(Some(error)) => self.tell(&error),
            Err(cause) => {
                tracing::warn!(sql, cause, "could not be sent to the server");
                self.tell(&error::server_lost());
            }
        }
    }

    /// KILL USER ends as many as it may, and says how many.
    fn tell_killed_of_user(&self, outcome: KillOutcome) -> Result<(), End> {
        let count = match outcome {
            KillOutcome::Killed(count) => count,
            _ => 0,
        };
        self.send(affected_packet(self.status, self.capabilities, count));
        match self.entry.stopped() {
            true => Err(End::Told),
            false => Ok(()),
        }
    }

    pub(super) async fn process_kill(&mut self, command: Command) -> Result<(), End> {
        if let Err(error) = self.check_command(command.kind(), command.body()) {
            return self.deny(&command, &error);
        }
        let Some(id) = super::prepare::statement_id(&command) else {
            self.tell(&error::malformed_packet());
            return Ok(());
        };
        self.kill(Whom::Id(id), false).await
    }

    /// Which server connection a session uses.
    pub(super) async fn look_for(&self, whom: &Whom) -> KillOutcome {
        self.kill_somewhere(whom, Act::Look, false).await
    }

    /// `own`: only what is this session's user's.
    async fn kill_somewhere(&self, whom: &Whom, act: Act, own: bool) -> KillOutcome {
        let user = own.then(|| self.entry.user.borrow().to_string());
        let workers = match whom {
            Whom::Id(id) => {
                let worker = self.shared.registry.worker_of(*id);
                worker..worker + 1
            }
            Whom::Nobody(_) => 0..0,
            Whom::User { .. } | Whom::Thread(..) => 0..self.shared.registry.workers(),
        };
        let mut outcome = match whom {
            Whom::User { .. } => KillOutcome::Killed(0),
            _ => KillOutcome::NoSuchThread,
        };
        for worker in workers {
            let next = self.kill_on(worker, whom, act, user.clone()).await;
            outcome = outcome.and(next);
        }
        outcome
    }

    async fn kill_on(
        &self,
        worker: usize,
        whom: &Whom,
        act: Act,
        user: Option<String>,
    ) -> KillOutcome {
        if worker == self.shared.worker {
            return kill_here(&self.shared, whom, act, user.as_deref()).await;
        }
        let done = Promise::default();
        (self.shared.kill_elsewhere)(KillElsewhere {
            worker,
            whom: whom.clone(),
            act,
            user,
            done: done.clone(),
        });
        done.wait_until(net::now() + 2 * KILL_DEADLINE)
            .await
            .unwrap_or(KillOutcome::NoSuchThread)
    }

    /// What an expression is on the session's server, with its variables, as a server makes an id of it.
    async fn number_of(&mut self, expression: &[u8]) -> Result<Result<u64, reply::Err>, End> {
        let sql = [b"SELECT CAST((", expression, b") AS SIGNED) LIMIT 1"].concat();
        let sql = sniff::with_connection_id(&sql, self.entry.id, self.dialect).unwrap_or(sql);
        let sniffed = sniff::sniff(&sql, true, self.dialect);
        let mut lease = match self.lease(&sniffed, &mut Attempt::default()).await {
            Ok(lease) => lease,
            Err(error) => return Ok(Err(error)),
        };
        let wanted = self.state.clone();
        match self.change_state(&mut lease, &wanted).await {
            Ok(()) => {}
            Err(NotReady::Refused(error)) => {
                self.forget_unless_held(lease);
                return Ok(Err(error));
            }
            Err(NotReady::Broken(_)) => {
                lease.after = After::Close;
                self.forget(lease);
                return Ok(Err(error::server_lost()));
            }
        }
        let payload = query_payload(&sql, lease.capabilities);
        let mut bytes = Vec::new();
        frame(&payload, 0, &mut bytes);
        lease.socket.set_deadline(Some(net::now() + KILL_DEADLINE));
        let bytes = Buf::from_vec(bytes);
        let answer = scatter::ask(&lease.socket, lease.capabilities, bytes, ANSWER_LIMIT).await;
        lease.socket.set_deadline(None);
        let number = match answer {
            Ok(answer) => Ok(number_in(&answer)),
            Err(scatter::Failure::Refused { error, .. }) => Err(error),
            Err(_) => {
                lease.after = After::Close;
                self.forget(lease);
                return Ok(Err(error::server_lost()));
            }
        };
        self.settle(lease);
        Ok(number)
    }

    /// The servers' account may end other accounts' sessions.
    async fn may_kill_others(&self) -> bool {
        let snapshot = self.shared.snapshot();
        let group = self.user.group;
        let asked = ask_directly(&self.shared, &snapshot, &self.account, group, "SHOW GRANTS");
        let answer = match asked.await {
            Ok(answer) => answer,
            Err(cause) => {
                tracing::warn!(
                    cause,
                    "a KILL is refused: the account's rights cannot be read"
                );
                return false;
            }
        };
        let mut lines = answer.rows.iter().filter_map(|row| only_text(row));
        lines.any(|grant| grants_kill(&String::from_utf8_lossy(grant)))
    }
}

/// One line of SHOW GRANTS, of the account itself: roles have no host.
fn grants_kill(line: &str) -> bool {
    let Some((rights, to)) = line.split_once(" ON *.* TO ") else {
        return false;
    };
    let rights = rights.strip_prefix("GRANT ").unwrap_or(rights);
    let own = to.contains('@');
    own && rights
        .split(',')
        .any(|right| RIGHTS.contains(&right.trim()))
}

/// The value of a row of one column; None: NULL.
fn only_text(row: &[u8]) -> Option<&[u8]> {
    let mut spans = Vec::new();
    walk_text(row, 1, &mut spans).ok()?;
    spans.first()?.of(row)
}

/// As servers do: NULL and what is no number are 0, a negative number a very large one.
fn number_in(answer: &scatter::Collected) -> u64 {
    let value = answer.rows.first().and_then(|row| only_text(row));
    value
        .and_then(|value| std::str::from_utf8(value).ok()?.parse::<i64>().ok())
        .map_or(0, |number| number as u64)
}

/// Kills sessions of this worker, or looks for the server connection that one uses or used last. `user`: only if they
/// are this user's; None: somebody asks who may.
pub async fn kill_here(
    shared: &Rc<Shared>,
    whom: &Whom,
    act: Act,
    user: Option<&str>,
) -> KillOutcome {
    let victims: Vec<Rc<Entry>> = match whom {
        Whom::Id(id) => shared.registry.get(*id).into_iter().collect(),
        Whom::Nobody(_) => Vec::new(),
        Whom::Thread(server, thread) => {
            let mut all = shared.registry.all();
            let on = |on: &OnServer| on.server == *server && on.thread_id == *thread;
            all.retain(|entry| entry.uses().iter().any(on));
            all
        }
        Whom::User { name, host } => {
            let mut all = shared.registry.all();
            all.retain(|entry| is_of(shared, entry, name, host.as_deref()));
            all
        }
    };
    let mut outcome = match whom {
        Whom::User { .. } => KillOutcome::Killed(0),
        _ => KillOutcome::NoSuchThread,
    };
    for entry in victims {
        outcome = outcome.and(kill_entry(shared, &entry, act, user).await);
    }
    outcome
}

fn is_of(shared: &Shared, entry: &Entry, name: &str, host: Option<&str>) -> bool {
    let from = |host: &str| {
        let peer = entry.peer.borrow();
        host == "%" || host == host_name(shared, &peer)
    };
    entry.activity() != super::registry::Activity::Login
        && &**entry.user.borrow() == name
        && host.is_none_or(from)
}

async fn kill_entry(
    shared: &Rc<Shared>,
    entry: &Entry,
    act: Act,
    user: Option<&str>,
) -> KillOutcome {
    if act == Act::Look {
        let used = entry.uses().first().map(|on| on.thread_id);
        let idle = || {
            let (server, id, uses) = entry.last_used.get()?;
            shared.pools.idle_thread(server, id, uses)
        };
        return used
            .or_else(idle)
            .map_or(KillOutcome::NoSuchThread, KillOutcome::Uses);
    }
    if user.is_some_and(|u| u != &**entry.user.borrow()) {
        return KillOutcome::NotOwner;
    }
    let query_only = act == Act::KillQuery;
    if query_only {
        entry.interrupt();
    } else {
        entry.stop();
    }
    // a statement on several servers is interrupted by its own session, which is awake now
    if !entry.is_spread() {
        kill_on_server(shared, entry, query_only).await;
    }
    KillOutcome::Killed(1)
}
