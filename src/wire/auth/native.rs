//! mysql_native_password: the response is SHA1(password) XOR SHA1(scramble + stage 2), where
//! stage 2, which the server stores, is SHA1(SHA1(password)).
//! https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_native_password_authentication.html

use super::xor;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

/// What a client sends for `password`; empty for an empty password.
pub fn respond(password: &[u8], scramble: &[u8; 20]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    respond_stage1(&sha1(password), scramble)
}

/// Response when only SHA1(password) is known.
pub fn respond_stage1(stage1: &[u8; 20], scramble: &[u8; 20]) -> Vec<u8> {
    xor(*stage1, mask(scramble, &sha1(stage1))).to_vec()
}

/// SHA1(SHA1(password)), which `mysql.user` holds in hexadecimal behind a '*'.
pub fn stage2(password: &[u8]) -> [u8; 20] {
    sha1(&sha1(password))
}

/// Checks a response against SHA1(SHA1(password)); on success returns SHA1(password), which
/// the proxy needs to log in at the server. An empty response is never right: an account without
/// a password is the caller's to know.
pub fn verify(response: &[u8], scramble: &[u8; 20], stage2: &[u8; 20]) -> Option<[u8; 20]> {
    let response: &[u8; 20] = response.try_into().ok()?;
    let stage1 = xor(*response, mask(scramble, stage2));
    let right: bool = sha1(&stage1).ct_eq(stage2).into();
    right.then_some(stage1)
}

fn mask(scramble: &[u8; 20], stage2: &[u8; 20]) -> [u8; 20] {
    Sha1::new()
        .chain_update(scramble)
        .chain_update(stage2)
        .finalize()
        .into()
}

fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}
