//! Both plugins against what real servers accepted and stored, and against published vectors.

use super::*;
use crate::wire::handshake::{Greeting, Response};
use crate::wire::testdata::logins;

fn captured(name: &str) -> (Greeting, Response, Vec<Vec<u8>>) {
    let login = logins()
        .into_iter()
        .find(|login| login.name == name)
        .unwrap();
    let greeting = Greeting::decode(&login.greeting).unwrap();
    let response = Response::decode(&login.response).unwrap();
    (greeting, response, login.server)
}

#[test]
fn a_native_response_is_what_mariadb_accepted() {
    let (greeting, response, _) = captured("eof-cache");
    assert_eq!(native::respond(b"apppw", &greeting.scramble), response.auth);
    let stage2 = native::stage2(b"apppw");
    let stage1 = native::verify(&response.auth, &greeting.scramble, &stage2).unwrap();
    assert_eq!(
        native::respond_stage1(&stage1, &greeting.scramble),
        response.auth
    );
}

#[test]
fn stage_2_is_what_password_gives() {
    // SELECT PASSWORD('secret')
    let hex: String = native::stage2(b"secret")
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    assert_eq!(hex, "14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
}

#[test]
fn a_wrong_or_empty_native_response_is_refused() {
    let (scramble, stage2) = (new_scramble(), native::stage2(b"right"));
    let wrong = native::respond(b"wrong", &scramble);
    assert_eq!(native::verify(&wrong, &scramble, &stage2), None);
    assert_eq!(native::verify(&[], &scramble, &stage2), None);
    let right = native::respond(b"right", &scramble);
    assert_eq!(native::verify(&right, &new_scramble(), &stage2), None);
    assert_eq!(native::verify(&right[..19], &scramble, &stage2), None);
    assert!(native::respond(b"", &scramble).is_empty());
}

#[test]
fn a_sha2_response_is_what_mysql_accepted() {
    let (greeting, response, server) = captured("fast path");
    assert_eq!(server[0], [1, caching_sha2::FAST_OK]);
    assert_eq!(
        caching_sha2::respond(b"secret", &greeting.scramble),
        response.auth
    );
    let digest = caching_sha2::fast_digest(b"secret");
    assert!(caching_sha2::verify_fast(
        &response.auth,
        &greeting.scramble,
        &digest
    ));
    assert!(!caching_sha2::verify_fast(
        &response.auth,
        &[1; 20],
        &digest
    ));
    assert!(!caching_sha2::verify_fast(&[], &greeting.scramble, &digest));
    let wrong = caching_sha2::respond(b"Secret", &greeting.scramble);
    assert!(!caching_sha2::verify_fast(
        &wrong,
        &greeting.scramble,
        &digest
    ));
}

#[test]
fn sha_crypt_gives_the_published_digests() {
    // https://www.akkadia.org/drepper/SHA-crypt.txt
    let vectors = [
        (
            "Hello world!",
            "saltstring",
            5000,
            "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
        ),
        (
            "Hello world!",
            "saltstringsaltst",
            10000,
            "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
        ),
        (
            "This is just a test",
            "toolongsaltstrin",
            5000,
            "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5",
        ),
        (
            "a very much longer text to encrypt.  This one even stretches over morethan one line.",
            "anotherlongsalts",
            1400,
            "Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1",
        ),
        (
            "a short string",
            "asaltof16chars..",
            123456,
            "gP3VQ/6X7UUEW3HkBn2w1/Ptq2jxPyzV/cZKmF/wJvD",
        ),
        (
            "the minimum number is still observed",
            "roundstoolow",
            1000,
            "yfvwcWrQ8l/K0DAWyuPMDNHpIVlTQebY9l/gL972bIC",
        ),
    ];
    for (password, salt, rounds, digest) in vectors {
        let ours = caching_sha2::stored_digest(password.as_bytes(), salt.as_bytes(), rounds);
        assert_eq!(String::from_utf8(ours).unwrap(), digest);
    }
}

#[test]
fn a_digest_that_mysql_stored_is_verified() {
    // mysql.user.authentication_string of two accounts, MySQL 9.7: 0x00a thousand rounds
    let apppw =
        b"$A$00A$j\x0e(eYb\x16{\x0cR<b\x11t-\x19AQ2pQZI40UMvQLYwhxT6G01.2.aIm84j7nAd6YbUjZZq01B";
    let secret =
        b"$A$00A$,\x18\x1aw.FM1O+WmiO8\x1a3~v\x07IK37r2DYPc5nPzx67ZEPglCoCxBdWjk95hqBVhXFIED";
    assert_eq!(caching_sha2::verify_stored(b"apppw", apppw), Ok(true));
    assert_eq!(caching_sha2::verify_stored(b"apppW", apppw), Ok(false));
    assert_eq!(caching_sha2::verify_stored(b"secret", secret), Ok(true));
    assert!(caching_sha2::verify_stored(b"secret", &secret[..20]).is_err());
    assert!(caching_sha2::verify_stored(b"secret", b"$A$zzz$").is_err());
}

#[test]
fn a_password_travels_under_the_rsa_key() {
    let (keys, scramble) = (caching_sha2::KeyPair::generate(), new_scramble());
    for password in [&b"secret"[..], b"", &[b'x'; 200]] {
        let cipher =
            caching_sha2::encrypt_password(password, &scramble, keys.public_pem()).unwrap();
        assert_eq!(cipher.len(), 256);
        assert_eq!(
            keys.decrypt_password(&cipher, &scramble).as_deref(),
            Some(password)
        );
    }
    assert_eq!(keys.decrypt_password(&[0; 256], &scramble), None);
    assert_eq!(keys.decrypt_password(b"", &scramble), None);
    assert!(caching_sha2::encrypt_password(&[b'x'; 300], &scramble, keys.public_pem()).is_err());
    assert!(caching_sha2::encrypt_password(b"x", &scramble, "no key").is_err());
}

#[test]
fn mysql_s_key_is_read() {
    let (greeting, _, server) = captured("full path");
    assert_eq!(server[0], [1, caching_sha2::FULL]);
    let pem = std::str::from_utf8(&server[1][1..]).unwrap();
    let cipher = caching_sha2::encrypt_password(b"secret", &greeting.scramble, pem).unwrap();
    assert_eq!(cipher.len(), 256);
}

#[test]
fn a_scramble_has_no_byte_that_would_end_it() {
    let scrambles: Vec<_> = (0..500).map(|_| new_scramble()).collect();
    let mut bytes = scrambles.iter().flatten();
    assert!(bytes.all(|byte| (1..=127).contains(byte) && *byte != b'$'));
    assert_ne!(scrambles[0], scrambles[1]);
}

#[test]
fn an_ed25519_key_is_what_mariadb_stores() {
    use base64::Engine;
    // CREATE USER … IDENTIFIED VIA ed25519 USING PASSWORD('secret'): mysql.global_priv
    let stored = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    let key = engine.decode(stored).unwrap();
    assert_eq!(ed25519::public_key(b"secret")[..], key);
    assert_ne!(ed25519::public_key(b"Secret")[..], key);
}

#[test]
fn an_ed25519_answer_proves_one_password_and_one_nonce() {
    let nonce = ed25519::new_nonce();
    let key = ed25519::public_key(b"secret");
    let answer = ed25519::sign(b"secret", &nonce);
    assert!(ed25519::verify(&answer, &nonce, &key));
    assert!(!ed25519::verify(&answer, &ed25519::new_nonce(), &key));
    assert!(!ed25519::verify(
        &ed25519::sign(b"wrong", &nonce),
        &nonce,
        &key
    ));
    assert!(!ed25519::verify(&answer[..63], &nonce, &key));
    assert!(!ed25519::verify(&[], &nonce, &key));
    assert!(!ed25519::verify(&answer, &nonce, &[0xff; 32]));
    let empty = ed25519::public_key(b"");
    assert!(ed25519::verify(&ed25519::sign(b"", &nonce), &nonce, &empty));
}
