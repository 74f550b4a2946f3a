//! mysql_native_password, caching_sha2_password and ed25519, both sides; comparisons in constant time.

pub mod caching_sha2;
pub mod ed25519;
pub mod native;
pub mod sha_crypt;
#[cfg(test)]
mod tests;

use rand::Rng;

pub const NATIVE: &str = "mysql_native_password";
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// MariaDB's plugin `ed25519`, as clients and the protocol name it.
pub const ED25519: &str = "client_ed25519";
/// MySQL's older one: what it stores is made as caching_sha2_password's, so that clients prove it to Umpire by that; servers are
/// given the password itself.
/// <https://dev.mysql.com/doc/refman/8.4/en/sha256-pluggable-authentication.html>
pub const SHA256: &str = "sha256_password";
/// The password itself and a NUL, for servers that have others check it (PAM, LDAP).
pub const CLEAR: &str = "mysql_clear_password";

/// Random bytes 1..=127 without NUL and '$', as servers send: a NUL would end the scramble early,
/// and '$' separates the parts of a stored digest.
pub fn new_scramble() -> [u8; 20] {
    let mut random = rand::thread_rng();
    std::array::from_fn(|_| loop {
        let byte = random.gen_range(1..=127);
        if byte != b'$' {
            return byte;
        }
    })
}

fn xor<const N: usize>(a: [u8; N], b: [u8; N]) -> [u8; N] {
    std::array::from_fn(|i| a[i] ^ b[i])
}
