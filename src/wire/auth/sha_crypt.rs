//! SHA-256 crypt, by which `mysql.user` stores caching_sha2_password digests.
//! https://www.akkadia.org/drepper/SHA-crypt.txt (the step numbers below are that text's)

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Which of the digest's bytes stand together.
const ORDER: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// The 43 characters behind the salt. MySQL's salts have 20 bytes, and unlike crypt(3) it takes
/// all of them.
pub fn sha256(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let mut digest = first_digest(password, salt);
    // 13-16: a digest of the password, as often as it has bytes
    let mut hasher = Sha256::new();
    for _ in 0..password.len() {
        hasher.update(password);
    }
    let p = stretched(&hasher.finalize().into(), password.len());
    // 17-20: a digest of the salt, as often as the first digest's first byte says
    let mut hasher = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        hasher.update(salt);
    }
    let s = stretched(&hasher.finalize().into(), salt.len());
    for round in 0..rounds {
        digest = next_digest(round, &digest, &p, &s);
    }
    encode(&digest)
}

/// 1-12
fn first_digest(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let b: [u8; 32] = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize()
        .into();
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    a.update(stretched(&b, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            a.update(b);
        } else {
            a.update(password);
        }
        bits >>= 1;
    }
    a.finalize().into()
}

/// 21
fn next_digest(round: u32, digest: &[u8; 32], p: &[u8], s: &[u8]) -> [u8; 32] {
    let odd = round % 2 == 1;
    let mut hasher = Sha256::new();
    hasher.update(if odd { p } else { digest });
    if round % 3 != 0 {
        hasher.update(s);
    }
    if round % 7 != 0 {
        hasher.update(p);
    }
    hasher.update(if odd { digest } else { p });
    hasher.finalize().into()
}

/// The digest repeated to a length.
fn stretched(digest: &[u8; 32], length: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(length).collect()
}

/// 22: three bytes make four characters, lowest bits first.
fn encode(digest: &[u8; 32]) -> [u8; 43] {
    let mut out = [0; 43];
    let (quads, last) = out.split_at_mut(40);
    for (quad, [a, b, c]) in quads.chunks_exact_mut(4).zip(ORDER) {
        let word = u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]);
        put(quad, word);
    }
    put(last, u32::from(digest[31]) << 8 | u32::from(digest[30]));
    out
}

fn put(out: &mut [u8], word: u32) {
    for (i, character) in out.iter_mut().enumerate() {
        *character = ALPHABET[(word >> (6 * i) & 0x3f) as usize];
    }
}
