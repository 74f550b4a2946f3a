//! The password's proof: mysql_native_password, and caching_sha2_password by its fast and its full path.
use super::{greeting_plugin, Claim, Dialogue, Refused};
use crate::backend::Password;
use crate::config::Secret;
use crate::session::arrival;
use crate::session::shared::Shared;
use crate::topology::Greeting;
use crate::wire::auth::{caching_sha2, native, new_scramble, CACHING_SHA2, NATIVE};
use crate::wire::reply::auth_switch;
use std::sync::OnceLock;
use subtle::ConstantTimeEq;

/// What a client has shown of its password.
pub(super) struct Evidence {
    pub plugin: &'static str,
    scramble: [u8; 20],
    /// The answer to the scramble; empty: no password.
    auth: Vec<u8>,
    /// The password itself, once the client had to send it.
    clear: Option<Vec<u8>>,
}

impl Evidence {
    pub fn gave_password(&self) -> bool {
        !self.auth.is_empty()
    }
}

/// The plugin by which a client that began with `used` is to prove this secret.
pub(super) fn plugin_for(secret: &Secret, used: Option<&str>, greeting: &Greeting) -> &'static str {
    match (secret, used.unwrap_or(NATIVE)) {
        (Secret::Native(_), _) => NATIVE,
        (Secret::CachingSha2 { .. }, _) => CACHING_SHA2,
        (_, NATIVE) => NATIVE,
        (_, CACHING_SHA2) => CACHING_SHA2,
        _ => greeting_plugin(greeting),
    }
}

/// Takes the client's first answer if it is `plugin`'s, or asks for another.
pub(super) async fn evidence(
    dialogue: &mut Dialogue<'_>,
    claim: &Claim,
    plugin: &'static str,
    scramble: &[u8; 20],
    greeting: &Greeting,
) -> Result<Evidence, Refused> {
    let used = claim.plugin.as_deref().unwrap_or(NATIVE);
    // a client that does not know the plugin of the greeting answers with nothing under the name of its own
    let answered_nothing =
        claim.auth.is_empty() && claim.plugin.is_some() && used != greeting_plugin(greeting);
    if used != plugin || answered_nothing {
        return asked(dialogue, plugin).await;
    }
    Ok(Evidence {
        plugin,
        scramble: *scramble,
        auth: without_nul(claim.auth.clone()),
        clear: None,
    })
}

/// Asks the client for an answer by this plugin.
pub(super) async fn asked(
    dialogue: &mut Dialogue<'_>,
    plugin: &'static str,
) -> Result<Evidence, Refused> {
    let scramble = new_scramble();
    dialogue.send(&auth_switch(plugin, &scramble));
    Ok(Evidence {
        plugin,
        scramble,
        auth: without_nul(dialogue.receive().await?),
        clear: None,
    })
}

/// Some clients send an empty password as one NUL.
fn without_nul(auth: Vec<u8>) -> Vec<u8> {
    if auth == [0] {
        return Vec::new();
    }
    auth
}

/// Checks the evidence. None: wrong. `proven`: the password that is known to match the stored hash.
pub(super) async fn check(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    evidence: &mut Evidence,
    secret: &Secret,
    proven: &OnceLock<Box<[u8]>>,
) -> Result<Option<Password>, Refused> {
    match secret {
        Secret::Plain(plain) => Ok(check_plain(dialogue, plain, evidence)),
        Secret::Native(stage2) => {
            let stage1 = native::verify(&evidence.auth, &evidence.scramble, stage2);
            Ok(stage1.map(Password::Stage1))
        }
        Secret::CachingSha2 {
            rounds,
            salt,
            digest,
        } => {
            let stored = Stored {
                rounds: *rounds,
                salt,
                digest,
            };
            check_stored(dialogue, shared, evidence, stored, proven).await
        }
        // stands for an account of the servers, which has a secret of its own
        Secret::Server => Ok(None),
    }
}

fn check_plain(dialogue: &mut Dialogue<'_>, plain: &str, evidence: &Evidence) -> Option<Password> {
    let Evidence { auth, scramble, .. } = evidence;
    let password = || Password::Plain(plain.as_bytes().into());
    if plain.is_empty() || auth.is_empty() {
        return (plain.is_empty() && auth.is_empty()).then(password);
    }
    if evidence.plugin == NATIVE {
        return native::verify(auth, scramble, &native::stage2(plain.as_bytes()))
            .map(|_| password());
    }
    let right =
        caching_sha2::verify_fast(auth, scramble, &caching_sha2::fast_digest(plain.as_bytes()));
    if right {
        dialogue.send(&FAST_AUTH_OK);
    }
    right.then(password)
}

/// AuthMoreData of caching_sha2_password.
const FAST_AUTH_OK: [u8; 2] = [1, 3];
const FULL_AUTH: [u8; 2] = [1, 4];
/// The client asks for the RSA key.
const KEY_REQUEST: [u8; 1] = [2];

struct Stored<'a> {
    rounds: u32,
    salt: &'a [u8],
    digest: &'a [u8],
}

/// Only a salted hash is known: the fast path works from the second login on, like a server's cache.
async fn check_stored(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    evidence: &mut Evidence,
    stored: Stored<'_>,
    proven: &OnceLock<Box<[u8]>>,
) -> Result<Option<Password>, Refused> {
    let Evidence { auth, scramble, .. } = &*evidence;
    if let Some(known) = proven.get() {
        // the many rounds are for a stolen hash; here the password itself is in memory
        if caching_sha2::verify_fast(auth, scramble, &caching_sha2::fast_digest(known)) {
            dialogue.send(&FAST_AUTH_OK);
            return Ok(Some(Password::Plain(known.clone())));
        }
    }
    if auth.is_empty() {
        return Ok(matches_stored(b"", &stored).then(|| Password::Plain(Box::default())));
    }
    if evidence.clear.is_none() {
        evidence.clear = clear(dialogue, shared, scramble).await?;
        // others of this address may have failed meanwhile
        arrival::take_turn(dialogue, shared).await?;
    }
    let clear = evidence.clear.as_deref();
    Ok(clear.filter(|p| matches_stored(p, &stored)).map(|p| {
        // another login may have been first: with the same password, since the hash is the same
        let _ = proven.set(p.into());
        Password::Plain(p.into())
    }))
}

/// The full path: the password itself, under the RSA key where others could listen.
async fn clear(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    scramble: &[u8; 20],
) -> Result<Option<Vec<u8>>, Refused> {
    dialogue.send(&FULL_AUTH);
    let mut answer = dialogue.receive().await?;
    if answer == KEY_REQUEST {
        let mut key = vec![1];
        key.extend_from_slice(shared.keys.public_pem().as_bytes());
        dialogue.send(&key);
        answer = dialogue.receive().await?;
    }
    // over a private connection the client sends the password itself
    Ok(match answer.split_last() {
        Some((0, password)) if dialogue.is_private() && answer.len() < 256 => {
            Some(password.to_vec())
        }
        _ => shared.keys.decrypt_password(&answer, scramble),
    })
}

fn matches_stored(password: &[u8], stored: &Stored<'_>) -> bool {
    caching_sha2::stored_digest(password, stored.salt, stored.rounds)
        .ct_eq(stored.digest)
        .into()
}
