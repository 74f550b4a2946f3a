use super::{errors, good, no_files, with, BASE};
use crate::config::{examine, load, needs_restart, parse, read, Secret, SecretFile};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn from_file() -> String {
    BASE.replace("password = \"secret\"", "password_file = \"app.pw\"")
}

fn secret_of(bytes: &[u8]) -> Result<Secret, String> {
    let files = |_: &Path| {
        Ok(SecretFile {
            bytes: bytes.to_vec(),
            world_readable: false,
        })
    };
    let config = parse(&from_file(), "test.toml", &files).map_err(|e| e.to_string())?;
    Ok(config.users[0].secret.clone())
}

#[test]
fn a_password_file_gives_its_one_line() {
    for bytes in [&b"pass word"[..], b"pass word\n", b"pass word\r\n"] {
        assert!(secret_of(bytes) == Ok(Secret::Plain("pass word".into())));
    }
}

#[test]
fn a_password_file_that_holds_no_password_is_refused() {
    for bytes in [&b""[..], b"\n", b"a\nb\n", b"\xff", b"a\0b"] {
        let message = secret_of(bytes)
            .err()
            .unwrap_or_else(|| panic!("{bytes:?} was taken"));
        assert!(
            message.starts_with("test.toml:14:17: user[0].password_file: "),
            "{message}"
        );
    }
}

#[test]
fn a_password_file_that_cannot_be_read_is_named() {
    let found = errors(&from_file());
    assert!(
        found[0].contains("user[0].password_file: \"app.pw\" cannot be read: "),
        "{found:?}"
    );
}

#[test]
fn exactly_one_form_of_a_password_is_given() {
    let none = BASE.replace("password = \"secret\"\n", "");
    assert_eq!(
        errors(&none),
        ["test.toml:12:1: user[0]: needs one of password, password_file, password_env, password_hash"]
    );
    let two = with(
        "name = \"app\"",
        "password_hash = \"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7\"",
    );
    assert!(
        errors(&two)[0].contains("user[0]: has password and password_hash; only one of"),
        "{:?}",
        errors(&two)
    );
    let monitor = with("name = \"main\"", "monitor = { user = \"m\" }");
    assert!(errors(&monitor)[0].contains("group[0].monitor: needs one of password, password_file"));
    let admin = with(
        "listen = [\"127.0.0.1:6033\"]",
        "admin_password = \"a\"\nadmin_password_file = \"b\"",
    );
    assert!(errors(&admin)[0].contains("has admin_password and admin_password_file"));
}

#[test]
fn an_empty_password_is_a_password() {
    let config = good(&BASE.replace("\"secret\"", "\"\""));
    assert!(config.users[0].secret == Secret::Plain(String::new()));
}

#[test]
fn a_secret_file_that_all_can_read_is_a_warning() {
    let files = |_: &Path| {
        Ok(SecretFile {
            bytes: b"x\n".to_vec(),
            world_readable: true,
        })
    };
    let examined = examine(&from_file(), "test.toml", &files);
    assert!(examined.result.is_ok() && examined.warnings.len() == 1);
    let shown = examined.warnings[0].to_string();
    assert!(
        shown.contains("user[0].password_file: \"app.pw\" can be read by every user"),
        "{shown}"
    );
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn password_files_are_looked_for_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.pw"), "from a file\n", 0o600);
    let file = folder.path().join("umpire.toml");
    write(&file, &from_file(), 0o644);
    let examined = read(&file);
    assert!(examined.warnings.is_empty(), "{:?}", examined.warnings);
    assert!(examined.result.unwrap().users[0].secret == Secret::Plain("from a file".into()));
    write(&folder.path().join("app.pw"), &"x".repeat(70_000), 0o600);
    assert!(load(&file)
        .unwrap_err()
        .to_string()
        .contains("larger than 64 KiB"));
}

#[test]
fn a_password_in_a_configuration_that_all_can_read_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("umpire.toml");
    write(&file, BASE, 0o644);
    let shown: Vec<String> = read(&file)
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        shown.len() == 1 && shown[0].contains("umpire.toml:14:12: "),
        "{shown:?}"
    );
    write(&file, BASE, 0o640);
    assert!(read(&file).warnings.is_empty());
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.toml");
    let message = load(&absent).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{}: cannot be read: ", absent.display())),
        "{message}"
    );
    let folder_itself = load(folder.path()).unwrap_err().to_string();
    assert!(folder_itself.contains("cannot be read"), "{folder_itself}");
    std::fs::write(&absent, b"a = 1\nb = \"\xff\"\n").unwrap();
    assert!(load(&absent)
        .unwrap_err()
        .to_string()
        .ends_with("line 2 is not UTF-8 text"));
}

#[test]
fn an_unreadable_secret_does_not_hide_other_errors() {
    let text = from_file().replace("group = \"main\"", "group = \"nope\"");
    let found = parse(&text, "test.toml", &no_files).unwrap_err().problems;
    assert_eq!(found.len(), 2, "{found:?}");
    let refused = |_: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
    assert!(parse(&from_file(), "t", &refused)
        .unwrap_err()
        .to_string()
        .contains("ermission denied"));
}

#[test]
fn the_rsa_key_is_read_in_both_forms_and_others_are_named() {
    use rsa::pkcs1::EncodeRsaPrivateKey;
    use rsa::pkcs8::{EncodePrivateKey, LineEnding};
    use rsa::RsaPrivateKey;
    let text = BASE.replacen("[proxy]", "[proxy]\nrsa_private_key = \"key.pem\"", 1);
    let examined = |pem: &str| {
        let files = |_: &Path| {
            Ok(SecretFile {
                bytes: pem.as_bytes().to_vec(),
                world_readable: false,
            })
        };
        examine(&text, "test.toml", &files)
            .result
            .map_err(|error| error.to_string())
    };
    let key = |bits| RsaPrivateKey::new(&mut rand::thread_rng(), bits).expect("a key");
    let (whole, small) = (key(2048), key(1024));
    let pkcs8 = whole.to_pkcs8_pem(LineEnding::LF).expect("PEM");
    let pkcs1 = whole.to_pkcs1_pem(LineEnding::LF).expect("PEM");
    for pem in [&pkcs8, &pkcs1] {
        let config = examined(pem).expect("a good key");
        assert!(config.proxy.rsa_private_key.as_deref() == Some(&whole));
        let named = needs_restart(&good(BASE), &config);
        let starts =
            "proxy.rsa_private_key changed from none to the key whose modulus begins with ";
        assert!(
            named.len() == 1 && named[0].starts_with(starts),
            "{named:?}"
        );
    }
    let small = small.to_pkcs8_pem(LineEnding::LF).expect("PEM");
    for (pem, why) in [
        (small.as_str(), "fewer than 2048 bits"),
        ("-----BEGIN PUBLIC KEY-----", "not an RSA private key"),
        ("", "not an RSA private key"),
    ] {
        let error = examined(pem).expect_err("refused");
        assert!(
            error.contains("proxy.rsa_private_key") && error.contains(why),
            "{error}"
        );
    }
}
