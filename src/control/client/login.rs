//! The client's side of the login: mysql_native_password and caching_sha2_password.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use super::{ClientError, Link};
use crate::wire::auth::{self, caching_sha2, native};
use crate::wire::handshake::{Greeting, Response};
use crate::wire::{capabilities as caps, reply};

/// What this client asks for, as far as the server has it.
const WANTED: u64 = caps::LONG_PASSWORD
    | caps::PROTOCOL_41
    | caps::TRANSACTIONS
    | caps::SECURE_CONNECTION
    | caps::PLUGIN_AUTH;
/// utf8mb4_general_ci: known to every server since 5.5.
const COLLATION: u16 = 45;
/// Login packets after which a server is taken for one that does not want to end.
const ROUNDS: usize = 10;

/// caching_sha2_password, AuthMoreData: the server knew the password's digest; OK follows.
const FAST_AUTH_OK: u8 = 3;
/// The same: it did not, and wants the password itself.
const FULL_AUTH: u8 = 4;
/// Asks for the server's public key.
const REQUEST_PUBLIC_KEY: u8 = 2;

/// Answers the capabilities of the connection.
pub(super) async fn login(
    link: &mut Link,
    greeting: &Greeting,
    user: &str,
    password: &str,
) -> Result<u64, ClientError> {
    let capabilities = WANTED & greeting.capabilities;
    // A plugin that this client does not have: start with native, the server will switch.
    let plugin = match greeting.auth_plugin.as_str() {
        auth::CACHING_SHA2 => auth::CACHING_SHA2,
        _ => auth::NATIVE,
    };
    let response = Response {
        capabilities,
        max_packet: super::PACKET_LIMIT as u32,
        collation: COLLATION,
        user: user.to_string(),
        auth: respond(plugin, password.as_bytes(), &greeting.scramble)?,
        auth_plugin: Some(plugin.to_string()),
        ..Response::default()
    };
    link.send(&response.encode(), 1).await?;
    let mut login = Login {
        link,
        capabilities,
        password,
        scramble: greeting.scramble,
    };
    login.finish().await?;
    Ok(capabilities)
}

struct Login<'a> {
    link: &'a mut Link,
    capabilities: u64,
    password: &'a str,
    scramble: [u8; 20],
}

impl Login<'_> {
    async fn finish(&mut self) -> Result<(), ClientError> {
        for _ in 0..ROUNDS {
            let (sequence, payload) = self.link.receive().await?;
            let next = sequence.wrapping_add(1);
            match reply::Login::decode(&payload, self.capabilities)? {
                reply::Login::Ok(_) => return Ok(()),
                reply::Login::Err(e) => return Err(ClientError::Server(e)),
                reply::Login::Switch { plugin, scramble } => {
                    self.switch(&plugin, &scramble, next).await?;
                }
                reply::Login::More(data) => self.more(&data, next).await?,
            }
        }
        Err(ClientError::Malformed("login without an end"))
    }

    async fn switch(
        &mut self,
        plugin: &str,
        scramble: &[u8],
        sequence: u8,
    ) -> Result<(), ClientError> {
        let bytes = scramble.get(..20).and_then(|s| s.try_into().ok());
        self.scramble = bytes.ok_or(ClientError::Malformed("scramble of the plugin switch"))?;
        let answer = respond(plugin, self.password.as_bytes(), &self.scramble)?;
        self.link.send(&answer, sequence).await
    }

    async fn more(&mut self, data: &[u8], sequence: u8) -> Result<(), ClientError> {
        match data {
            [FAST_AUTH_OK] => Ok(()),
            [FULL_AUTH] => self.link.send(&[REQUEST_PUBLIC_KEY], sequence).await,
            key if key.starts_with(b"-----BEGIN") => {
                let pem = String::from_utf8_lossy(key);
                let password = self.password.as_bytes();
                let cipher = caching_sha2::encrypt_password(password, &self.scramble, &pem)?;
                self.link.send(&cipher, sequence).await
            }
            _ => Err(ClientError::Malformed("AuthMoreData")),
        }
    }
}

fn respond(plugin: &str, password: &[u8], scramble: &[u8; 20]) -> Result<Vec<u8>, ClientError> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    match plugin {
        auth::NATIVE => Ok(native::respond(password, scramble)),
        auth::CACHING_SHA2 => Ok(caching_sha2::respond(password, scramble)),
        other => Err(ClientError::Unsupported(format!(
            "the server wants authentication plugin {other}; give the monitor account \
             mysql_native_password or caching_sha2_password"
        ))),
    }
}
