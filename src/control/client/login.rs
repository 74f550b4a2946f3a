//! The client's side of the login: mysql_native_password, caching_sha2_password, ed25519; over TLS, the password as it is.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use super::{ClientError, Link};
use crate::config::{ServerTls, ServerTlsMode};
use crate::wire::auth::{self, caching_sha2, native};
use crate::wire::handshake::{Greeting, Response};
use crate::wire::{capabilities as caps, reply};
use std::sync::Arc;

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
/// The same of sha256_password.
const SHA256_REQUEST_KEY: u8 = 1;

/// Answers the connection, encrypted if it is to be, and its capabilities.
pub(super) async fn login(
    mut link: Link,
    tls: Option<&Arc<ServerTls>>,
    greeting: &Greeting,
    user: &str,
    password: &str,
) -> Result<(Link, u64), ClientError> {
    let capabilities = WANTED & greeting.capabilities;
    // A plugin that this client does not have: start with native, the server will switch.
    let plugin = match greeting.auth_plugin.as_str() {
        auth::CACHING_SHA2 => auth::CACHING_SHA2,
        _ => auth::NATIVE,
    };
    let mut response = Response {
        capabilities,
        max_packet: super::PACKET_LIMIT as u32,
        collation: COLLATION,
        user: user.to_string(),
        auth: respond(plugin, password.as_bytes(), &greeting.scramble)?,
        auth_plugin: Some(plugin.to_string()),
        ..Response::default()
    };
    let mut sequence = 1;
    if let Some(tls) = tls {
        if greeting.capabilities & caps::SSL != 0 {
            response.capabilities |= caps::SSL;
            link.send(&response.encode_ssl_request(), sequence).await?;
            link = link.encrypt(tls).await?;
            sequence += 1;
        } else if tls.mode != ServerTlsMode::Preferred {
            let text = "the server does not offer TLS, which its group requires: switch it on at the server \
                        (ssl_cert, ssl_key), or set tls = \"preferred\" for this server";
            return Err(ClientError::Tls(text.into()));
        }
    }
    link.send(&response.encode(), sequence).await?;
    let mut login = Login {
        link: &mut link,
        capabilities,
        password,
        scramble: greeting.scramble,
    };
    login.finish().await?;
    Ok((link, capabilities))
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
        let answer = match plugin {
            auth::ED25519 => {
                let nonce = first(scramble, "the nonce of ed25519")?;
                auth::ed25519::sign(self.password.as_bytes(), &nonce).to_vec()
            }
            auth::CLEAR if self.link.encrypted => [self.password.as_bytes(), &[0]].concat(),
            auth::CLEAR => {
                let text = "the server wants the monitor's password as it is (mysql_clear_password), which is sent \
                            over TLS only: give the group tls = { mode = \"verify-ca\", … }";
                return Err(ClientError::Unsupported(text.into()));
            }
            auth::NATIVE | auth::CACHING_SHA2 | auth::SHA256 => {
                self.scramble = first(scramble, "scramble of the plugin switch")?;
                if plugin == auth::SHA256 {
                    // a Unix socket is not private enough for this one
                    let private = self.link.encrypted;
                    return self
                        .send_or_ask(sequence, SHA256_REQUEST_KEY, private)
                        .await;
                }
                respond(plugin, self.password.as_bytes(), &self.scramble)?
            }
            other => return Err(unsupported(other)),
        };
        self.link.send(&answer, sequence).await
    }

    async fn more(&mut self, data: &[u8], sequence: u8) -> Result<(), ClientError> {
        match data {
            [FAST_AUTH_OK] => Ok(()),
            [FULL_AUTH] => {
                let private = self.link.private;
                self.send_or_ask(sequence, REQUEST_PUBLIC_KEY, private)
                    .await
            }
            key if key.starts_with(b"-----BEGIN") => {
                let pem = String::from_utf8_lossy(key);
                let password = self.password.as_bytes();
                let cipher = caching_sha2::encrypt_password(password, &self.scramble, &pem)?;
                self.link.send(&cipher, sequence).await
            }
            _ => Err(ClientError::Malformed("AuthMoreData")),
        }
    }

    /// The password itself where nobody listens, or the request for the key that hides it.
    async fn send_or_ask(
        &mut self,
        sequence: u8,
        request: u8,
        private: bool,
    ) -> Result<(), ClientError> {
        if private || self.password.is_empty() {
            let clear = [self.password.as_bytes(), &[0]].concat();
            return self.link.send(&clear, sequence).await;
        }
        self.link.send(&[request], sequence).await
    }
}

fn respond(plugin: &str, password: &[u8], scramble: &[u8; 20]) -> Result<Vec<u8>, ClientError> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    match plugin {
        auth::NATIVE => Ok(native::respond(password, scramble)),
        auth::CACHING_SHA2 => Ok(caching_sha2::respond(password, scramble)),
        other => Err(unsupported(other)),
    }
}

fn unsupported(plugin: &str) -> ClientError {
    ClientError::Unsupported(format!(
        "the server wants authentication plugin {plugin}; give the monitor account \
         mysql_native_password, caching_sha2_password or ed25519"
    ))
}

fn first<const N: usize>(data: &[u8], what: &'static str) -> Result<[u8; N], ClientError> {
    let bytes = data.first_chunk().copied();
    bytes.ok_or(ClientError::Malformed(what))
}
