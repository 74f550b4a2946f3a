//! Passwords: in place, in files of their own, in the environment, hashed. No message here ever shows one.
use super::value;
use super::walk::{Findings, Found, Section};
use super::Secret;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::traits::PublicKeyParts;
use rsa::RsaPrivateKey;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// Bundles of authorities are some hundred KiB; a wrong path must not fill the memory.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Larger files are not passwords.
const MAX_PASSWORD_FILE: usize = 64 * 1024;
/// Bytes of its modulus.
const SMALLEST_RSA: usize = 256;
/// Permission bit: others may read.
const OTHERS_READ: u32 = 0o004;

/// What a reader of secret files returns.
pub struct SecretFile {
    pub bytes: Vec<u8>,
    /// Everyone on the machine may read the file.
    pub world_readable: bool,
}

/// Opens the files that `password_file` and `[tls]` name, with the path as it is written.
pub(super) type Reader<'r> = &'r dyn Fn(&Path) -> io::Result<SecretFile>;

/// Reads a file of at most 4 MiB with its permissions.
#[allow(
    clippy::disallowed_methods,
    reason = "secrets are read at start-up and on the control thread"
)]
pub fn read_secret_file(path: &Path) -> io::Result<SecretFile> {
    let file = std::fs::File::open(path)?;
    let world_readable = is_world_readable(&file)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "larger than 4 MiB",
        ));
    }
    Ok(SecretFile {
        bytes,
        world_readable,
    })
}

pub(super) fn is_world_readable(file: &std::fs::File) -> io::Result<bool> {
    Ok(file.metadata()?.permissions().mode() & OTHERS_READ != 0)
}

/// Where a password may stand: in place, in a file, in a variable of the environment.
type Keys = [&'static str; 3];
const KEYS: Keys = ["password", "password_file", "password_env"];
const ADMIN_KEYS: Keys = [
    "admin_password",
    "admin_password_file",
    "admin_password_env",
];
const SERVER_KEYS: Keys = [
    "server_password",
    "server_password_file",
    "server_password_env",
];
/// Where a user's password may stand.
const USER_KEYS: [&str; 4] = ["password", "password_file", "password_env", "password_hash"];

/// A user's secret: exactly one of four keys; or none of them where the servers know the user
/// (`by_server`). None: missing or wrong, and reported.
pub(super) fn user(
    section: &mut Section<'_, '_>,
    by_server: bool,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<Secret> {
    if by_server && !USER_KEYS.iter().any(|key| section.has(key)) {
        return Some(Secret::Server);
    }
    let alone = exactly_one(section, findings, &USER_KEYS);
    let hash = section.string("password_hash").and_then(|found| {
        let parsed = value::password_hash(found.value);
        parsed
            .map_err(|message| findings.error(found.at, &found.key, message))
            .ok()
    });
    let plain = plain(section, &KEYS, findings, read).map(Secret::Plain);
    hash.or(plain).filter(|_| alone)
}

/// The monitor's password: exactly one of three keys.
pub(super) fn monitor(
    section: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<String> {
    let alone = exactly_one(section, findings, &KEYS);
    plain(section, &KEYS, findings, read).filter(|_| alone)
}

/// The admin account's password: at most one of three keys; absent: none.
pub(super) fn admin(
    section: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<String> {
    at_most_one(section, findings, &ADMIN_KEYS);
    plain(section, &ADMIN_KEYS, findings, read)
}

/// The password of a user's account on the servers: one of three keys where it has one (`needed`: it has).
pub(super) fn server(
    section: &mut Section<'_, '_>,
    needed: bool,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<String> {
    let alone = match needed {
        true => exactly_one(section, findings, &SERVER_KEYS),
        false => at_most_one(section, findings, &SERVER_KEYS),
    };
    plain(section, &SERVER_KEYS, findings, read).filter(|_| alone)
}

fn exactly_one(section: &Section<'_, '_>, findings: &Findings<'_>, keys: &[&str]) -> bool {
    if !keys.iter().any(|key| section.has(key)) {
        findings.error(
            section.at,
            &section.path,
            format!("needs one of {}", keys.join(", ")),
        );
        return false;
    }
    at_most_one(section, findings, keys)
}

fn at_most_one(section: &Section<'_, '_>, findings: &Findings<'_>, keys: &[&str]) -> bool {
    let given: Vec<&str> = keys
        .iter()
        .copied()
        .filter(|key| section.has(key))
        .collect();
    if given.len() > 1 {
        let message = format!(
            "has {}; only one of {} may be given",
            given.join(" and "),
            keys.join(", ")
        );
        findings.error(section.at, &section.path, message);
    }
    given.len() <= 1
}

fn plain(
    section: &mut Section<'_, '_>,
    [in_place, in_file, in_environment]: &Keys,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<String> {
    let file = section
        .string(in_file)
        .and_then(|found| from_file(&found, findings, read));
    let variable = section
        .string(in_environment)
        .and_then(|found| from_environment(&found, findings));
    let text = section.string(in_place).and_then(|found| {
        let first = findings
            .plain_secret
            .get()
            .map_or(found.at, |at| at.min(found.at));
        findings.plain_secret.set(Some(first));
        without_nul(found.value, &found, findings)
    });
    text.or(file).or(variable)
}

/// The value of a variable of Umpire's own environment, as it was when Umpire was started.
fn from_environment(found: &Found<&str>, findings: &Findings<'_>) -> Option<String> {
    let wrong = |what: &str| {
        let message = format!("the environment variable {:?} {what}", found.value);
        findings.error(found.at, &found.key, message);
        None
    };
    if found.value.is_empty() || found.value.contains(['=', '\0']) {
        return wrong("cannot exist: give a name without \"=\"");
    }
    match std::env::var(found.value) {
        Ok(password) if password.is_empty() => wrong("is empty"),
        Ok(password) => Some(password),
        Err(std::env::VarError::NotPresent) => wrong("is not set"),
        Err(std::env::VarError::NotUnicode(_)) => wrong("does not hold UTF-8 text"),
    }
}

/// A private key in either of the two PEM forms: that of OpenSSL 3, and the older one.
pub(super) fn rsa_private_key(
    section: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    read: Reader<'_>,
) -> Option<Arc<RsaPrivateKey>> {
    let found = section.string("rsa_private_key")?;
    let bytes = file(&found, findings, read, true)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    let key = RsaPrivateKey::from_pkcs8_pem(text)
        .map_err(|e| e.to_string())
        .or_else(|_| RsaPrivateKey::from_pkcs1_pem(text).map_err(|e| e.to_string()));
    match key {
        Ok(key) if key.size() >= SMALLEST_RSA => return Some(Arc::new(key)),
        Ok(_) => findings.error(
            found.at,
            &found.key,
            format!("{:?} is a key of fewer than 2048 bits", found.value),
        ),
        Err(why) => findings.error(
            found.at,
            &found.key,
            format!(
                "{:?} is not an RSA private key in PEM form without a passphrase ({why}): openssl genrsa -out FILE 2048",
                found.value
            ),
        ),
    }
    None
}

/// What is in a file that a key names. None: reported. `secret`: nobody else should be able to read it.
pub(super) fn file(
    found: &Found<&str>,
    findings: &Findings<'_>,
    read: Reader<'_>,
    secret: bool,
) -> Option<Vec<u8>> {
    match read(Path::new(found.value)) {
        Ok(file) => {
            if secret && file.world_readable {
                let message = format!(
                    "{:?} can be read by every user of this machine; chmod 600 it",
                    found.value
                );
                findings.warning(found.at, &found.key, message);
            }
            Some(file.bytes)
        }
        Err(e) => {
            let message = format!("{:?} cannot be read: {e}", found.value);
            findings.error(found.at, &found.key, message);
            None
        }
    }
}

/// The file's text without the line end that editors put behind it.
fn from_file(found: &Found<&str>, findings: &Findings<'_>, read: Reader<'_>) -> Option<String> {
    let wrong = |message: String| findings.error(found.at, &found.key, message);
    let bytes = file(found, findings, read, true)?;
    if bytes.len() > MAX_PASSWORD_FILE {
        wrong(format!(
            "{:?} is larger than 64 KiB, not a password",
            found.value
        ));
        return None;
    }
    let Ok(text) = String::from_utf8(bytes) else {
        wrong(format!("{:?} is not UTF-8 text", found.value));
        return None;
    };
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let password = line.strip_suffix('\r').unwrap_or(line);
    if password.is_empty() || password.contains('\n') {
        wrong(format!(
            "{:?} does not hold one line with the password",
            found.value
        ));
        return None;
    }
    without_nul(password, found, findings)
}

/// The protocol ends a password at its first NUL.
fn without_nul(password: &str, found: &Found<&str>, findings: &Findings<'_>) -> Option<String> {
    if password.contains('\0') {
        findings.error(found.at, &found.key, "a password cannot hold a NUL");
        return None;
    }
    Some(password.to_owned())
}
