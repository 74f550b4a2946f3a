//! caching_sha2_password. Fast path: SHA256(password) XOR SHA256(SHA256(SHA256(password)) +
//! scramble). Full path without TLS: the password under the server's RSA key.
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html

use super::{sha_crypt, xor};
use crate::wire::Malformed;
use rsa::pkcs8::{DecodePublicKey, EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// AuthMoreData of the server: the response was right, OK follows.
pub const FAST_OK: u8 = 3;
/// AuthMoreData of the server: send the password itself (over TLS, or under the RSA key).
pub const FULL: u8 = 4;
/// The client's packet that asks for the RSA key.
pub const REQUEST_KEY: u8 = 2;

const KEY_BITS: usize = 2048;

/// What a client sends for `password`; empty for an empty password.
pub fn respond(password: &[u8], scramble: &[u8; 20]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    xor(sha256(password), mask(&fast_digest(password), scramble)).to_vec()
}

/// SHA256(SHA256(password)): what the fast path checks against.
pub fn fast_digest(password: &[u8]) -> [u8; 32] {
    sha256(&sha256(password))
}

/// Whether the response is that of the password with this digest. An empty response is never
/// right: an account without a password is the caller's to know.
pub fn verify_fast(response: &[u8], scramble: &[u8; 20], fast_digest: &[u8; 32]) -> bool {
    let Ok(response) = <&[u8; 32]>::try_from(response) else {
        return false;
    };
    let once = xor(*response, mask(fast_digest, scramble));
    sha256(&once).ct_eq(fast_digest).into()
}

/// The stored digest ($A$005$…, SHA-crypt) of a password: 43 bytes. `rounds` is the number in the
/// stored text times 1000, `salt` its 20 bytes.
pub fn stored_digest(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    sha_crypt::sha256(password, salt, rounds).to_vec()
}

/// Checks a password against `authentication_string` as `mysql.user` holds it:
/// "$A$" + three hexadecimal digits + "$" + 20 bytes of salt + 43 bytes of digest.
pub fn verify_stored(password: &[u8], stored: &[u8]) -> Result<bool, Malformed> {
    const WHAT: &str = "stored caching_sha2_password digest";
    let wrong = || Malformed { what: WHAT };
    let rest = stored.strip_prefix(b"$A$").ok_or_else(wrong)?;
    let (count, rest) = rest.split_first_chunk::<3>().ok_or_else(wrong)?;
    let rest = rest.strip_prefix(b"$").ok_or_else(wrong)?;
    let (salt, digest) = rest.split_first_chunk::<20>().ok_or_else(wrong)?;
    let count = std::str::from_utf8(count).map_err(|_| wrong())?;
    let count = u32::from_str_radix(count, 16).map_err(|_| wrong())?;
    Ok(stored_digest(password, salt, count * 1000)
        .ct_eq(digest)
        .into())
}

/// The server's RSA key for the full path without TLS. Per process.
pub struct KeyPair {
    private: RsaPrivateKey,
    public_pem: String,
}

impl KeyPair {
    /// 2048 bits; takes up to a second: at start-up only.
    ///
    /// # Panics
    /// If the system's random numbers fail.
    pub fn generate() -> Self {
        let private = RsaPrivateKey::new(&mut rand::thread_rng(), KEY_BITS)
            .expect("2048 bits are a valid RSA key size");
        KeyPair::of(private)
    }

    /// # Panics
    /// Never: a key that was read can be written.
    pub fn of(private: RsaPrivateKey) -> Self {
        let public_pem = RsaPublicKey::from(&private)
            .to_public_key_pem(LineEnding::LF)
            .expect("an RSA key can be written as PEM");
        KeyPair {
            private,
            public_pem,
        }
    }

    /// What a client that asked for the key gets, as AuthMoreData.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// OAEP-SHA1 decrypt, then XOR with the scramble; the password without its NUL.
    pub fn decrypt_password(&self, cipher: &[u8], scramble: &[u8; 20]) -> Option<Vec<u8>> {
        let masked = self
            .private
            .decrypt_blinded(&mut rand::thread_rng(), Oaep::new::<sha1::Sha1>(), cipher)
            .ok()?;
        let mut password = repeat_xor(&masked, scramble);
        // the NUL is the proof that the client meant this scramble
        (password.pop() == Some(0)).then_some(password)
    }
}

/// Client side of the same: encrypts `password\0` XOR scramble for the server's PEM key.
pub fn encrypt_password(
    password: &[u8],
    scramble: &[u8; 20],
    pem: &str,
) -> Result<Vec<u8>, Malformed> {
    let key = RsaPublicKey::from_public_key_pem(pem.trim()).map_err(|_| Malformed {
        what: "the server's RSA key",
    })?;
    let masked = repeat_xor(&[password, &[0]].concat(), scramble);
    key.encrypt(&mut rand::thread_rng(), Oaep::new::<sha1::Sha1>(), &masked)
        .map_err(|_| Malformed {
            what: "a password too long for the server's RSA key",
        })
}

fn repeat_xor(bytes: &[u8], scramble: &[u8; 20]) -> Vec<u8> {
    let masks = scramble.iter().cycle();
    bytes
        .iter()
        .zip(masks)
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}

fn mask(fast_digest: &[u8; 32], scramble: &[u8; 20]) -> [u8; 32] {
    Sha256::new()
        .chain_update(fast_digest)
        .chain_update(scramble)
        .finalize()
        .into()
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
