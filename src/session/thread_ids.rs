//! Ids that clients were told, in statements about the servers' own connections.
//!
//! `information_schema.processlist` and its like have the ids of server connections. Beside them an id of a session means
//! the server connection that it uses, or used last if nobody has had that since; a session without one is not in those tables.
use super::registry::FIRST_ID;
use super::shared::{KillOutcome, Whom};
use super::Session;
use crate::net::Buf;
use crate::relay::Command;
use crate::sniff::{self, Effects, Mentioned, Sniffed, Verb};
use crate::wire::packet::{frame, HEADER};

/// Ids that are looked up for one statement.
const MOST: usize = 16;

/// Whether the statement may be about the server's connections.
pub(super) fn asks_about_server(sniffed: &Sniffed) -> bool {
    sniffed.effects.contains(Effects::SERVER_STATE)
        && !matches!(
            sniffed.verb,
            Verb::Create | Verb::Alter | Verb::Show | Verb::Set
        )
}

impl Session {
    pub(super) async fn put_thread_ids(&mut self, command: &mut Command, text_at: usize) {
        let start = HEADER + 1 + text_at;
        let Some(sql) = command.bytes.get(start..).filter(|_| command.is_whole()) else {
            return;
        };
        let (mut out, mut copied) = (Vec::new(), 0);
        let mentions = sniff::beside_connections(sql, self.dialect);
        let ids = mentions
            .into_iter()
            .filter_map(|mention| Some((self.client_id(&mention.what)?, mention.at)));
        let ids: Vec<_> = ids.take(MOST).collect();
        for (id, at) in ids {
            let thread = match id == self.entry.id {
                // whichever server connection it runs on
                true => "CONNECTION_ID()".to_string(),
                false => match self.thread_of(id).await {
                    Some(thread) => thread.to_string(),
                    None => continue,
                },
            };
            out.extend_from_slice(&sql[copied..at.start]);
            out.extend_from_slice(thread.as_bytes());
            copied = at.end;
        }
        if out.is_empty() {
            return;
        }
        out.extend_from_slice(&sql[copied..]);
        let payload = [&command.bytes[HEADER..start], &out].concat();
        let mut framed = Vec::with_capacity(payload.len() + HEADER);
        frame(&payload, 0, &mut framed);
        command.bytes = Buf::from_vec(framed);
    }

    /// The id of a session, if this can be one.
    fn client_id(&self, what: &Mentioned) -> Option<u32> {
        let number = match what {
            Mentioned::Number(number) => *number,
            Mentioned::Variable(name) => {
                let value = self.state.user_variable(name)?;
                std::str::from_utf8(value).ok()?.parse().ok()?
            }
        };
        u32::try_from(number).ok().filter(|id| *id > FIRST_ID)
    }

    async fn thread_of(&self, id: u32) -> Option<u32> {
        match self.look_for(&Whom::Id(id)).await {
            KillOutcome::Uses(thread) => Some(thread),
            _ => None,
        }
    }
}
