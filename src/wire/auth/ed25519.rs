//! MariaDB's ed25519: the client signs 32 random bytes of the server with a key that is made of the password.
//!
//! Where RFC 8032 hashes a random seed, this plugin hashes the password itself (SHA-512); the rest is Ed25519. The
//! server stores the public key: it proves a signature, and leaves nothing to sign with.
//! <https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-ed25519>
use ed25519_dalek::hazmat::{raw_sign, ExpandedSecretKey};
use ed25519_dalek::{Signature, VerifyingKey};
use rand::RngCore;
use sha2::{Digest, Sha512};

/// Bytes that a client signs.
pub const NONCE: usize = 32;

/// What a server asks a client to sign.
pub fn new_nonce() -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    rand::thread_rng().fill_bytes(&mut nonce);
    nonce
}

/// A client's answer.
pub fn sign(password: &[u8], nonce: &[u8; NONCE]) -> [u8; 64] {
    let key = secret_key(password);
    raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key)).to_bytes()
}

/// What a server stores.
pub fn public_key(password: &[u8]) -> [u8; 32] {
    VerifyingKey::from(&secret_key(password)).to_bytes()
}

/// Whether `answer` is a signature of the nonce by the password behind this public key.
pub fn verify(answer: &[u8], nonce: &[u8; NONCE], public: &[u8; 32]) -> bool {
    let (Ok(signature), Ok(key)) = (
        Signature::from_slice(answer),
        VerifyingKey::from_bytes(public),
    ) else {
        return false;
    };
    key.verify_strict(nonce, &signature).is_ok()
}

fn secret_key(password: &[u8]) -> ExpandedSecretKey {
    ExpandedSecretKey::from_bytes(&Sha512::digest(password).into())
}
