//! One admin connection: login, then command after command.

use super::answer::Answer;
use super::commands::{self, client};
use super::login::{self, Client};
use super::pace::Pace;
use super::stream::{Ended, PacketStream};
use crate::control::Handle;
use crate::wire::{command, error, reply, status};
use std::net::IpAddr;
use std::time::Duration;

/// A client that asks nothing for so long is closed; admin connections are few.
const IDLE_DEADLINE: Duration = Duration::from_secs(3600);

/// Runs until the client leaves or breaks the protocol.
pub async fn run(
    mut stream: PacketStream,
    id: u32,
    (host, address): (String, Option<IpAddr>),
    handle: Handle,
    pace: &Pace,
) -> Result<(), Ended> {
    let view = handle.view();
    let client = Client {
        id,
        host: &host,
        address,
    };
    let login = login::login(&mut stream, &client, pace, &view.config.proxy).await?;
    drop(view);
    let capabilities = login.capabilities;
    let mut session = Session {
        id,
        host,
        schema: login.schema,
        handle,
    };
    loop {
        let Some((sequence, payload)) = stream.receive(IDLE_DEADLINE).await? else {
            return Ok(());
        };
        if sequence != 0 {
            stream
                .send(
                    &error::packets_out_of_order().encode(),
                    sequence.wrapping_add(1),
                )
                .await?;
            return Err(Ended::Malformed("sequence number of a command"));
        }
        let Some((&verb, body)) = payload.split_first() else {
            return Err(Ended::Malformed("empty command"));
        };
        match verb {
            command::QUIT => return Ok(()),
            // No reply, also where there is nothing to close.
            command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => {}
            command::STATISTICS => stream.send(b"Umpire admin port", 1).await?,
            command::SET_OPTION => {
                stream.send(&reply::eof(0, status::AUTOCOMMIT), 1).await?;
            }
            // no table has fields
            command::FIELD_LIST => stream.send(&reply::eof(0, status::AUTOCOMMIT), 1).await?,
            _ => {
                session.note_schema(verb, body);
                let answer = session.answer(verb, body).await;
                stream.send_framed(&answer.encode(capabilities)).await?;
            }
        }
    }
}

/// Per admin connection.
pub struct Session {
    pub id: u32,
    /// The client's address, without the port.
    pub host: String,
    /// What the client chose; means nothing here but to itself.
    pub schema: Option<String>,
    pub handle: Handle,
}

impl Session {
    fn note_schema(&mut self, verb: u8, body: &[u8]) {
        let text = || String::from_utf8_lossy(body);
        let chosen = match verb {
            command::INIT_DB => Some(text().into_owned()),
            command::QUERY => client::used(&client::plain(&text())),
            _ => None,
        };
        if chosen.is_some() {
            self.schema = chosen;
        }
    }

    async fn answer(&self, verb: u8, body: &[u8]) -> Answer {
        match verb {
            command::PING | command::INIT_DB | command::RESET_CONNECTION => Answer::ok(),
            command::QUERY => commands::run(self, &String::from_utf8_lossy(body)).await,
            command::STMT_PREPARE | command::STMT_EXECUTE => Answer::Refused(error::own(
                "the admin port has no prepared statements; send plain statements",
            )),
            _ => Answer::Refused(error::unknown_command()),
        }
    }
}
