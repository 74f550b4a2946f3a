//! How a login proves its password to a server, by whatever plugin the server asks for.
use super::login::{Channel, Trouble};
use super::{Account, Password, Want};
use crate::net::{Peer, Socket};
use crate::wire::auth::{
    caching_sha2, ed25519, native, CACHING_SHA2, CLEAR, ED25519, NATIVE, SHA256,
};
use crate::wire::handshake::Greeting;
use crate::wire::reply::Login;
use crate::wire::{error, Malformed};

/// One authentication exchange.
pub(super) struct Authentication<'a> {
    user: &'a str,
    password: &'a Password,
    pub plugin: String,
    /// Of the greeting, or of the last request to switch to a plugin that has one.
    pub scramble: [u8; 20],
    /// What ed25519 signs.
    nonce: [u8; ed25519::NONCE],
    encrypted: bool,
    /// The way to the server cannot be listened to: TLS, or a Unix socket.
    private: bool,
}

/// More messages than any plugin has.
const ROUNDS: usize = 8;
/// caching_sha2_password: what the server says in AuthMoreData, and the client's request for the key.
/// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
const FAST_OK: &[u8] = &[3];
const FULL: &[u8] = &[4];
const REQUEST_KEY: &[u8] = &[2];
/// sha256_password's request for the key.
const SHA256_REQUEST_KEY: &[u8] = &[1];

impl<'a> Authentication<'a> {
    /// At a server's greeting. With the wrong plugin first, the server asks for the right one.
    pub fn begin(want: &Want<'a>, socket: &Socket, greeting: &Greeting) -> Authentication<'a> {
        let sha2 = greeting.auth_plugin == CACHING_SHA2;
        Authentication::new(want.account, socket, sha2, greeting.scramble)
    }

    /// On a connection that is logged in already.
    pub fn again(
        want: &Want<'a>,
        socket: &Socket,
        mariadb: bool,
        scramble: [u8; 20],
    ) -> Authentication<'a> {
        Authentication::new(want.account, socket, !mariadb, scramble)
    }

    fn new(
        account: &'a Account,
        socket: &Socket,
        sha2: bool,
        scramble: [u8; 20],
    ) -> Authentication<'a> {
        let plugin = match account.password {
            Password::Plain(_) if sha2 => CACHING_SHA2,
            _ => NATIVE,
        };
        let encrypted = socket.is_encrypted();
        Authentication {
            user: &account.user,
            password: &account.password,
            plugin: plugin.into(),
            scramble,
            nonce: [0; ed25519::NONCE],
            encrypted,
            private: encrypted || socket.peer() == Peer::Unix,
        }
    }

    /// Follows the server until it has let this account in.
    pub async fn run(&mut self, channel: &mut Channel<'_>, caps: u64) -> Result<(), Trouble> {
        for _ in 0..ROUNDS {
            let (sequence, payload) = channel.packet().await?;
            match Login::decode(&payload, caps)? {
                Login::Ok(_) => return Ok(()),
                Login::Err(e) => return Err(Trouble::Refused(e)),
                Login::Switch { plugin, scramble } => {
                    self.switch(plugin, &scramble)?;
                    channel.send(&self.answer()?, sequence.wrapping_add(1));
                }
                Login::More(data) => self.more(channel, sequence, &data, caps).await?,
            }
        }
        Err(Trouble::Broken(
            "the server's authentication does not end".into(),
        ))
    }

    fn switch(&mut self, plugin: String, data: &[u8]) -> Result<(), Malformed> {
        match plugin.as_str() {
            ED25519 => self.nonce = first(data, "the nonce of ed25519")?,
            NATIVE | CACHING_SHA2 | SHA256 => {
                self.scramble = first(data, "scramble of AuthSwitchRequest")?
            }
            _ => {}
        }
        self.plugin = plugin;
        Ok(())
    }

    /// What proves the password to the current plugin.
    pub fn answer(&self) -> Result<Vec<u8>, Trouble> {
        match (self.plugin.as_str(), self.password) {
            (NATIVE, Password::Plain(password)) => Ok(native::respond(password, &self.scramble)),
            (NATIVE, Password::Stage1(stage1)) => {
                Ok(native::respond_stage1(stage1, &self.scramble))
            }
            (CACHING_SHA2, Password::Plain(password)) => {
                Ok(caching_sha2::respond(password, &self.scramble))
            }
            (ED25519, Password::Plain(password)) => {
                Ok(ed25519::sign(password, &self.nonce).to_vec())
            }
            (CLEAR, _) if !self.encrypted => Err(Trouble::Refused(error::own(&format!(
                "the server wants the password of user '{}' as it is ({CLEAR}), and the connection to the \
                 server is not encrypted: give its group tls = {{ mode = \"verify-ca\", … }}",
                self.user
            )))),
            (CLEAR, Password::Plain(password)) => Ok(with_nul(password)),
            // none is a NUL alone; a Unix socket is not private enough for this one
            (SHA256, Password::Plain(password)) if self.encrypted || password.is_empty() => {
                Ok(with_nul(password))
            }
            (SHA256, Password::Plain(_)) => Ok(SHA256_REQUEST_KEY.to_vec()),
            (CACHING_SHA2 | SHA256 | ED25519 | CLEAR, Password::Stage1(_)) => Err(self.password_needed()),
            _ => Err(Trouble::Refused(error::own(&format!(
                "the server wants authentication plugin '{}' for user '{}', which is not supported: \
                 use {NATIVE}, {CACHING_SHA2} or ed25519 for this account",
                self.plugin, self.user
            )))),
        }
    }

    fn password_needed(&self) -> Trouble {
        Trouble::Refused(error::own(&format!(
            "the server wants {} for user '{}', and only a {NATIVE} hash is known: \
             put the password itself into the configuration",
            self.plugin, self.user
        )))
    }

    async fn more(
        &self,
        channel: &mut Channel<'_>,
        sequence: u8,
        data: &[u8],
        caps: u64,
    ) -> Result<(), Trouble> {
        if self.plugin == SHA256 {
            return self.send_encrypted(channel, sequence, data);
        }
        if self.plugin != CACHING_SHA2 {
            return Err(Trouble::Broken(format!(
                "unexpected authentication data for {}",
                self.plugin
            )));
        }
        match data {
            FAST_OK => Ok(()),
            FULL => self.full(channel, sequence, caps).await,
            _ => Err(Trouble::Broken(
                "unknown authentication data of the server".into(),
            )),
        }
    }

    /// The server does not have the password in its cache: it wants to see it.
    async fn full(
        &self,
        channel: &mut Channel<'_>,
        sequence: u8,
        caps: u64,
    ) -> Result<(), Trouble> {
        if let (Password::Plain(password), true) = (self.password, self.private) {
            channel.send(&with_nul(password), sequence.wrapping_add(1));
            return Ok(());
        }
        channel.send(REQUEST_KEY, sequence.wrapping_add(1));
        let (sequence, payload) = channel.packet().await?;
        let pem = match Login::decode(&payload, caps)? {
            Login::More(pem) => pem,
            Login::Err(e) => return Err(Trouble::Refused(e)),
            _ => {
                return Err(Trouble::Broken(
                    "the server did not send its public key".into(),
                ))
            }
        };
        self.send_encrypted(channel, sequence, &pem)
    }

    /// The password under the server's key.
    fn send_encrypted(
        &self,
        channel: &mut Channel<'_>,
        sequence: u8,
        pem: &[u8],
    ) -> Result<(), Trouble> {
        let Password::Plain(password) = self.password else {
            return Err(self.password_needed());
        };
        let pem = String::from_utf8_lossy(pem);
        let cipher = caching_sha2::encrypt_password(password, &self.scramble, &pem)?;
        channel.send(&cipher, sequence.wrapping_add(1));
        Ok(())
    }
}

fn with_nul(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

fn first<const N: usize>(data: &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    data.first_chunk().copied().ok_or(Malformed { what })
}
