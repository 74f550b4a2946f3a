//! The password's proof: mysql_native_password, caching_sha2_password by its fast and its full path, MariaDB's
//! ed25519, and over TLS the password itself.
use super::{greeting_plugin, Claim, Dialogue, Refused};
use crate::backend::Password;
use crate::config::{AuthPlugin, Secret};
use crate::session::arrival;
use crate::session::shared::Shared;
use crate::topology::Greeting;
use crate::wire::auth::{
    caching_sha2, ed25519, native, new_scramble, CACHING_SHA2, CLEAR, ED25519, NATIVE,
};
use crate::wire::error;
use crate::wire::reply::{auth_switch, auth_switch_with};
use std::sync::OnceLock;
use subtle::ConstantTimeEq;

/// A password as it is has fewer bytes; hashing a longer one would only cost time.
const CLEAR_LIMIT: usize = 256;

/// What a client has shown of its password.
pub(super) struct Evidence {
    pub plugin: &'static str,
    challenge: Challenge,
    /// The answer to the challenge; empty: no password.
    auth: Vec<u8>,
    /// The password itself, once the client had to send it.
    clear: Option<Vec<u8>>,
}

/// What the client was asked to prove itself with.
#[derive(Clone, Copy)]
struct Challenge {
    scramble: [u8; 20],
    /// ed25519 alone.
    nonce: [u8; ed25519::NONCE],
}

impl Evidence {
    pub fn gave_password(&self) -> bool {
        !self.auth.is_empty()
    }
}

/// What there is to prove, and what is known beside it.
#[derive(Clone, Copy)]
pub(super) struct Proof<'p> {
    pub secret: &'p Secret,
    /// The user's clients prove it by this plugin.
    pub demanded: Option<AuthPlugin>,
    /// The password that is known to match the stored hash.
    pub proven: &'p OnceLock<Box<[u8]>>,
    /// The user has an account of another password on the servers: its own is for Umpire alone.
    pub mapped: bool,
}

/// The plugin by which a client that began with `used` is to prove the secret.
///
/// # Errors
/// It would send the password itself, and others could listen.
pub(super) fn plugin_for(
    proof: &Proof<'_>,
    used: Option<&str>,
    greeting: &Greeting,
    dialogue: &Dialogue<'_>,
) -> Result<&'static str, Refused> {
    let used = used.unwrap_or(NATIVE);
    let encrypted = dialogue.is_encrypted();
    let plugin = match (proof.demanded, proof.secret) {
        (Some(AuthPlugin::Native), _) => NATIVE,
        (Some(AuthPlugin::CachingSha2), _) => CACHING_SHA2,
        (Some(AuthPlugin::Clear), _) => CLEAR,
        // of ed25519 a stored key alone leaves nothing to log in at a server with
        (_, Secret::Ed25519(_)) if !proof.mapped && proof.proven.get().is_none() => CLEAR,
        (Some(AuthPlugin::Ed25519), _) | (_, Secret::Ed25519(_)) => ED25519,
        _ if used == CLEAR && encrypted => CLEAR,
        (_, Secret::Native(_)) => NATIVE,
        (_, Secret::CachingSha2 { .. }) => CACHING_SHA2,
        _ => match used {
            NATIVE => NATIVE,
            CACHING_SHA2 => CACHING_SHA2,
            ED25519 => ED25519,
            _ => greeting_plugin(greeting),
        },
    };
    if plugin == CLEAR && !encrypted {
        return Err(dialogue.refuse(error::own(
            "this user's password has to be sent as it is (mysql_clear_password), which is done over TLS only: \
             connect with ssl-mode=REQUIRED",
        )));
    }
    Ok(plugin)
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
    // the greeting has no nonce for ed25519
    if used != plugin || answered_nothing || plugin == ED25519 {
        return asked(dialogue, plugin).await;
    }
    Ok(Evidence {
        plugin,
        challenge: Challenge {
            scramble: *scramble,
            nonce: [0; ed25519::NONCE],
        },
        auth: without_nul(claim.auth.clone()),
        clear: None,
    })
}

/// Asks the client for an answer by this plugin.
pub(super) async fn asked(
    dialogue: &mut Dialogue<'_>,
    plugin: &'static str,
) -> Result<Evidence, Refused> {
    let challenge = Challenge {
        scramble: new_scramble(),
        nonce: ed25519::new_nonce(),
    };
    dialogue.send(&match plugin {
        ED25519 => auth_switch_with(plugin, &challenge.nonce),
        _ => auth_switch(plugin, &challenge.scramble),
    });
    Ok(Evidence {
        plugin,
        challenge,
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

/// Checks the evidence. None: wrong.
pub(super) async fn check(
    dialogue: &mut Dialogue<'_>,
    shared: &Shared,
    evidence: &mut Evidence,
    proof: &Proof<'_>,
) -> Result<Option<Password>, Refused> {
    let proven = proof.proven;
    if evidence.plugin == CLEAR {
        return Ok(check_clear(evidence, proof));
    }
    match proof.secret {
        Secret::Plain(plain) => Ok(check_plain(dialogue, plain, evidence)),
        Secret::Native(stage2) => {
            let stage1 = native::verify(&evidence.auth, &evidence.challenge.scramble, stage2);
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
        Secret::Ed25519(key) => {
            let right = ed25519::verify(&evidence.auth, &evidence.challenge.nonce, key);
            // of a mapped user nobody asks for it
            let password = || Password::Plain(proven.get().cloned().unwrap_or_default());
            Ok(right.then(password))
        }
        // stands for an account of the servers, which has a secret of its own
        Secret::Server => Ok(None),
    }
}

/// The password itself, with a NUL behind it.
fn check_clear(evidence: &Evidence, proof: &Proof<'_>) -> Option<Password> {
    let clear = evidence.auth.strip_suffix(&[0]).unwrap_or(&evidence.auth);
    if clear.len() >= CLEAR_LIMIT {
        return None;
    }
    let right = match proof.secret {
        Secret::Plain(plain) => plain.as_bytes().ct_eq(clear).into(),
        Secret::Native(stage2) => native::stage2(clear).ct_eq(stage2).into(),
        Secret::CachingSha2 {
            rounds,
            salt,
            digest,
        } => matches_stored(
            clear,
            &Stored {
                rounds: *rounds,
                salt,
                digest,
            },
        ),
        Secret::Ed25519(key) => ed25519::public_key(clear).ct_eq(key).into(),
        Secret::Server => false,
    };
    if !right {
        return None;
    }
    if !matches!(proof.secret, Secret::Plain(_)) {
        // another login may have been first: with the same password, since the hash is the same
        let _ = proof.proven.set(clear.into());
    }
    Some(Password::Plain(clear.into()))
}

fn check_plain(dialogue: &mut Dialogue<'_>, plain: &str, evidence: &Evidence) -> Option<Password> {
    let Evidence {
        auth, challenge, ..
    } = evidence;
    let password = || Password::Plain(plain.as_bytes().into());
    if evidence.plugin == ED25519 {
        let key = ed25519::public_key(plain.as_bytes());
        return ed25519::verify(auth, &challenge.nonce, &key).then(password);
    }
    if plain.is_empty() || auth.is_empty() {
        return (plain.is_empty() && auth.is_empty()).then(password);
    }
    if evidence.plugin == NATIVE {
        return native::verify(auth, &challenge.scramble, &native::stage2(plain.as_bytes()))
            .map(|_| password());
    }
    let digest = caching_sha2::fast_digest(plain.as_bytes());
    let right = caching_sha2::verify_fast(auth, &challenge.scramble, &digest);
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
    let Evidence {
        auth, challenge, ..
    } = &*evidence;
    let scramble = &challenge.scramble;
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
        Some((0, password)) if dialogue.is_private() && answer.len() <= CLEAR_LIMIT => {
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
