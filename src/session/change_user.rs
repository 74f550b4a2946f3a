//! The end of login (schema), and COM_CHANGE_USER: a login on a running session.
use super::lease::{unless_killed, Attempt};
use super::login::{self, Dialogue, Refused, SessionToken};
use super::sync::NotReady;
use super::{error_packet, ok_packet, End, Session};
use crate::backend::{initial_state, Account, After, State};
use crate::net::{self, Buf};
use crate::relay::Command;
use crate::sniff::{Access, Sniffed, Verb};
use crate::topology::User;
use crate::wire::handshake::ChangeUser;
use crate::wire::{error, reply};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A user, its account on the servers, its place.
type Who = (Arc<User>, Rc<Account>, SessionToken);

/// How many changes of user MariaDB refuses to one connection before it takes no more.
const REFUSED_CHANGES: u8 = 3;
/// How long it lets the client wait each time.
const REFUSAL_DELAY: Duration = Duration::from_secs(1);

/// Checking a schema reads only.
const CHECK: Sniffed = Sniffed {
    verb: Verb::Use,
    access: Access::Read,
    ..super::commands::NEUTRAL
};

impl Session {
    /// Selects the schema that the client asked for, and tells it that it is in.
    pub(super) async fn enter(&mut self, schema: Option<String>, sequence: u8) -> Result<(), End> {
        if let Err(error) = self.select_schema(schema).await {
            self.send(error_packet(&error, sequence));
            return Err(End::Told);
        }
        self.welcome(sequence);
        Ok(())
    }

    async fn select_schema(&mut self, schema: Option<String>) -> Result<(), reply::Err> {
        match schema {
            Some(schema) => self.adopt(self.state.with_schema(schema.as_bytes())).await,
            None => Ok(()),
        }
    }

    fn welcome(&mut self, sequence: u8) {
        self.send(ok_packet(self.status, self.capabilities, sequence));
        self.entry.set(super::registry::Activity::Idle, net::now());
        self.client
            .set_deadline(Some(net::now() + self.idle_timeout));
    }

    /// Makes `wish` the session's state once a server has accepted it.
    async fn adopt(&mut self, wish: State) -> Result<(), reply::Err> {
        let before = std::mem::replace(&mut self.state, self.shared.states.intern(wish));
        let outcome = self.verify_state().await;
        if outcome.is_err() {
            self.state = before;
        } else {
            self.state_changed();
        }
        outcome
    }

    /// A connection that already has this very state proves it; else one is brought into it.
    async fn verify_state(&mut self) -> Result<(), reply::Err> {
        let mut attempt = Attempt::default();
        for _ in 0..3 {
            let mut lease = self.lease(&CHECK, &mut attempt).await?;
            let state = self.state.clone();
            lease.after = After::Close;
            match self.change_state(&mut lease, &state).await {
                Ok(()) => {
                    self.settle(lease);
                    return Ok(());
                }
                Err(NotReady::Broken(_)) => attempt.avoid = Some(lease.server.id),
                Err(NotReady::Refused(error)) => {
                    lease.after = After::Reset;
                    self.forget(lease);
                    return Err(error);
                }
            }
        }
        Err(error::server_lost())
    }

    pub(super) async fn change_user(&mut self, command: Command) -> Result<(), End> {
        if !command.is_whole() {
            return Err(self.tell_and_end(&error::packet_too_large()));
        }
        let request = match ChangeUser::decode(command.body(), self.capabilities) {
            Ok(request) => request,
            Err(_) => return Err(self.tell_and_end(&error::malformed_packet())),
        };
        let name = self.entry.user.borrow().clone();
        // whatever the outcome, the old session's state is gone, as on a server
        self.clear_session();
        if self.refused_changes >= REFUSED_CHANGES {
            return self.refuse_change(&error::unknown_command(), 1).await;
        }
        let (schema, collation) = (
            request.schema.clone().filter(|s| !s.is_empty()),
            request.collation,
        );
        let (who, sequence) = match self.admit_change(request).await {
            Ok(admitted) => admitted,
            Err(Refused::Error { error, sequence }) => {
                return self.refuse_change(&error, sequence).await;
            }
            Err(Refused::Gone | Refused::Handshake | Refused::ProxyHeader) => {
                return Err(End::ClientGone)
            }
        };
        let old = self.become_user(who);
        let collation = match collation {
            0 => self.collation,
            asked => asked,
        };
        let old_collation = std::mem::replace(&mut self.collation, collation);
        let cleared = self.state.clone();
        self.state = self
            .shared
            .states
            .intern(initial_state(self.collation, &self.greeting));
        self.state_changed();
        if let Err(error) = self.select_schema(schema).await {
            *self.entry.user.borrow_mut() = name;
            *self.entry.account.borrow_mut() = Some(old.1.clone());
            self.become_user(old);
            self.collation = old_collation;
            self.state = cleared;
            return self.refuse_change(&error, sequence).await;
        }
        self.welcome(sequence);
        Ok(())
    }

    /// The dialogue of the login: who the client is now, and the sequence number of the OK, which is the caller's to send.
    async fn admit_change(&mut self, request: ChangeUser) -> Result<(Who, u8), Refused> {
        let snapshot = self.shared.snapshot();
        self.client
            .set_deadline(Some(net::now() + snapshot.proxy.login_timeout));
        let (shared, entry, scramble, greeting) = (
            self.shared.clone(),
            self.entry.clone(),
            self.scramble,
            self.greeting.clone(),
        );
        let mut dialogue = Dialogue::new(&self.client, 1);
        let admitted = match dialogue.begin_with(&self.inbox.take_bytes()) {
            Ok(()) => {
                let (entry, scramble) = (&entry, &scramble);
                login::change_user(&mut dialogue, &shared, entry, request, scramble, &greeting)
                    .await
            }
            Err(refused) => Err(refused),
        };
        let sequence = dialogue.sequence;
        self.inbox.push_front(Buf::from_vec(dialogue.into_rest()));
        Ok((admitted?, sequence))
    }

    /// Who the session was before.
    fn become_user(&mut self, (user, account, token): Who) -> Who {
        let old = (
            std::mem::replace(&mut self.user, user),
            std::mem::replace(&mut self.account, account),
            std::mem::replace(&mut self._token, token),
        );
        self.entry.group.set(self.user.group);
        self.group = Default::default();
        self.user_changed(&self.shared.snapshot());
        old
    }

    /// MySQL closes the connection of a client whose change of user it refused. MariaDB keeps it, as the user of before with its
    /// schema, in the server's character set, with nothing else, but lets it try three times only, and waits for a second each time.
    async fn refuse_change(&mut self, refusal: &reply::Err, sequence: u8) -> Result<(), End> {
        self.watch_error(refusal.code);
        if !self.dialect.mariadb {
            self.send(error_packet(refusal, sequence));
            return Err(End::Told);
        }
        self.refused_changes = self.refused_changes.saturating_add(1);
        let mut state = initial_state(self.greeting.collation.into(), &self.greeting);
        state.schema.clone_from(&self.state.schema);
        self.state = self.shared.states.intern(state);
        self.state_changed();
        let delay = net::sleep_until(net::now() + REFUSAL_DELAY);
        if unless_killed(&self.entry, delay).await.is_none() {
            return Err(End::Told);
        }
        self.client
            .set_deadline(Some(net::now() + self.idle_timeout));
        self.send(error_packet(refusal, sequence));
        Ok(())
    }
}
