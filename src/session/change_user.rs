//! The end of login (schema), and COM_CHANGE_USER: a login on a running session.
use super::lease::Attempt;
use super::login::{self, Dialogue, Refused};
use super::sync::NotReady;
use super::{error_packet, ok_packet, End, Session};
use crate::backend::{initial_state, After, State};
use crate::net::{self, Buf};
use crate::relay::Command;
use crate::sniff::{Access, Sniffed, Verb};
use crate::wire::handshake::ChangeUser;
use crate::wire::{error, reply};

/// Checking a schema reads only.
const CHECK: Sniffed = Sniffed {
    verb: Verb::Use,
    access: Access::Read,
    ..super::commands::NEUTRAL
};

impl Session {
    /// Selects the schema that the client asked for, and tells it that it is in.
    pub(super) async fn enter(&mut self, schema: Option<String>, sequence: u8) -> Result<(), End> {
        if let Some(schema) = schema {
            let wish = self.state.with_schema(schema.as_bytes());
            if let Err(error) = self.adopt(wish).await {
                self.send(error_packet(&error, sequence));
                return Err(End::Told);
            }
        }
        self.send(ok_packet(self.status, self.capabilities, sequence));
        self.entry.set(super::registry::Activity::Idle, net::now());
        self.client
            .set_deadline(Some(net::now() + self.idle_timeout));
        Ok(())
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
        // whatever the outcome, the old session's state is gone, as on a server
        self.clear_session();
        let (schema, collation) = (
            request.schema.clone().filter(|s| !s.is_empty()),
            request.collation,
        );
        self.client.set_deadline(Some(
            net::now() + self.shared.snapshot().proxy.login_timeout,
        ));
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
        match admitted {
            Ok((user, account, token)) => {
                self.user = user;
                self.account = account;
                self._token = token;
                self.entry.group.set(self.user.group);
                self.group = Default::default();
                let snapshot = self.shared.snapshot();
                self.user_changed(&snapshot);
            }
            Err(Refused::Error { error, sequence }) => {
                // a server closes the connection of a client whose change of user it refused
                self.watch_error(error.code);
                self.send(error_packet(&error, sequence));
                return Err(End::Told);
            }
            Err(Refused::Gone | Refused::Handshake | Refused::ProxyHeader) => {
                return Err(End::ClientGone)
            }
        }
        if collation != 0 {
            self.collation = collation;
        }
        self.state = self
            .shared
            .states
            .intern(initial_state(self.collation, &self.greeting));
        self.state_changed();
        self.enter(schema, sequence).await
    }
}
