//! The password's proof: mysql_native_password, and caching_sha2_password by its fast and its full path.
use super::{greeting_plugin, Claim, Dialogue, Refused};
use crate::backend::Password;
use crate::config::Secret;
use crate::net::Peer;
use crate::session::registry::Entry;
use crate::session::shared::Shared;
use crate::topology::Greeting;
use crate::wire::auth::{caching_sha2, native, new_scramble, CACHING_SHA2, NATIVE};
use crate::wire::reply::auth_switch;
use subtle::ConstantTimeEq;

pub(super) struct Proof {
    /// What the server login needs; None: wrong.
    pub password: Option<Password>,
    pub gave_password: bool,
}

/// Checks the client's response with the plugin it used, or asks for the one that the secret needs.
pub(super) async fn prove(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    entry: &Entry,
    claim: &Claim,
    secret: &Secret,
    scramble: &[u8; 20],
    greeting: &Greeting,
) -> Result<Proof, Refused> {
    let used = claim.plugin.as_deref().unwrap_or(NATIVE);
    let wanted = match secret {
        Secret::Native(_) => NATIVE,
        Secret::CachingSha2 { .. } => CACHING_SHA2,
        Secret::Plain(_) if used == NATIVE || used == CACHING_SHA2 => used,
        Secret::Plain(_) if greeting.auth_plugin == CACHING_SHA2 => CACHING_SHA2,
        Secret::Plain(_) => NATIVE,
    };
    let mut auth = claim.auth.clone();
    let mut fresh = *scramble;
    // a client that does not know the plugin of the greeting answers with nothing under the name of its own
    let answered_nothing =
        auth.is_empty() && claim.plugin.is_some() && used != greeting_plugin(greeting);
    if used != wanted || answered_nothing {
        fresh = new_scramble();
        dialogue.send(&auth_switch(wanted, &fresh));
        auth = dialogue.receive().await?;
    }
    // some clients send an empty password as one NUL
    let gave_password = !auth.is_empty() && auth != [0];
    if !gave_password {
        auth.clear();
    }
    let password = match secret {
        Secret::Plain(plain) => check_plain(dialogue, plain, &auth, &fresh, wanted),
        Secret::Native(stage2) => native::verify(&auth, &fresh, stage2).map(Password::Stage1),
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
            check_stored(dialogue, shared, entry, &claim.user, stored, &auth, &fresh).await?
        }
    };
    Ok(Proof {
        password,
        gave_password,
    })
}

fn check_plain(
    dialogue: &mut Dialogue<'_>,
    plain: &str,
    auth: &[u8],
    scramble: &[u8; 20],
    plugin: &str,
) -> Option<Password> {
    let password = || Password::Plain(plain.as_bytes().into());
    if plain.is_empty() || auth.is_empty() {
        return (plain.is_empty() && auth.is_empty()).then(password);
    }
    if plugin == NATIVE {
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

/// Only a salted hash is configured: the fast path works from the second login on, like a server's cache.
async fn check_stored(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    entry: &Entry,
    user: &str,
    stored: Stored<'_>,
    auth: &[u8],
    scramble: &[u8; 20],
) -> Result<Option<Password>, Refused> {
    if let Some(Password::Plain(known)) = shared.known_account(user).map(|a| a.password.clone()) {
        let fits = caching_sha2::verify_fast(auth, scramble, &caching_sha2::fast_digest(&known));
        // the many rounds are for a stolen hash; here the password itself is in memory
        if fits && shared.proves(user, stored.digest, || matches_stored(&known, &stored)) {
            dialogue.send(&FAST_AUTH_OK);
            return Ok(Some(Password::Plain(known)));
        }
    }
    if auth.is_empty() {
        return Ok(matches_stored(b"", &stored).then(|| Password::Plain(Box::default())));
    }
    dialogue.send(&FULL_AUTH);
    let mut answer = dialogue.receive().await?;
    if answer == KEY_REQUEST {
        let mut key = vec![1];
        key.extend_from_slice(shared.keys.public_pem().as_bytes());
        dialogue.send(&key);
        answer = dialogue.receive().await?;
    }
    // a Unix socket is a secure transport: the client sends the password itself
    let plain = match (&entry.peer, answer.split_last()) {
        (Peer::Unix, Some((0, password))) if answer.len() < 256 => Some(password.to_vec()),
        _ => shared.keys.decrypt_password(&answer, scramble),
    };
    Ok(plain
        .filter(|p| matches_stored(p, &stored))
        .map(|p| Password::Plain(p.into())))
}

fn matches_stored(password: &[u8], stored: &Stored<'_>) -> bool {
    caching_sha2::stored_digest(password, stored.salt, stored.rounds)
        .ct_eq(stored.digest)
        .into()
}
