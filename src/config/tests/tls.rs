//! `[tls]` with real certificates: what is read, what is refused, and how it is said.
use super::{errors, BASE};
use crate::config::{examine, parse, Config, Listener, ListenerTls, SecretFile, Tls, UserTls};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The files of tests/tls by their names.
pub(super) fn certificates(name: &Path) -> io::Result<SecretFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    Ok(SecretFile {
        bytes: std::fs::read(folder.join(name))?,
        world_readable: false,
    })
}

fn with_tls(lines: &str) -> String {
    format!("{BASE}\n[tls]\n{lines}\n")
}

const PAIR: &str = "certificate = \"server.pem\"\nkey = \"server.key\"";

#[track_caller]
fn good(text: &str) -> Config {
    parse(text, "test.toml", &certificates).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

#[track_caller]
fn tls(lines: &str) -> Arc<Tls> {
    good(&with_tls(lines)).proxy.tls.expect("a section [tls]")
}

#[track_caller]
fn only_error(text: &str) -> String {
    match parse(text, "test.toml", &certificates) {
        Ok(_) => panic!("no error in\n{text}"),
        Err(errors) => {
            assert_eq!(errors.problems.len(), 1, "{errors}");
            errors.problems[0].to_string()
        }
    }
}

fn modes(config: &Config) -> Vec<ListenerTls> {
    config.proxy.listen.iter().map(|at| at.tls).collect()
}

#[test]
fn without_the_section_nothing_is_offered() {
    let config = good(BASE);
    assert!(config.proxy.tls.is_none());
    assert_eq!(modes(&config), [ListenerTls::Off]);
    assert_eq!(config.users[0].tls, UserTls::Optional);
}

#[test]
fn with_it_every_listener_offers_tls_unless_it_says_otherwise() {
    assert_eq!(modes(&good(&with_tls(PAIR))), [ListenerTls::Optional]);
    let required = with_tls(&format!("{PAIR}\nmode = \"required\""));
    assert_eq!(modes(&good(&required)), [ListenerTls::Required]);
    let listen = "[\"127.0.0.1:6033\", { address = \"127.0.0.1:6034\", tls = \"off\" }, \
                  { address = \"unix:/s\", tls = \"optional\" }]";
    let three = required.replace("[\"127.0.0.1:6033\"]", listen);
    let config = good(&three);
    let expected = [
        ListenerTls::Required,
        ListenerTls::Off,
        ListenerTls::Optional,
    ];
    assert_eq!(modes(&config), expected);
    let shown: Vec<String> = config
        .proxy
        .listen
        .iter()
        .map(Listener::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "127.0.0.1:6033 (TLS required)",
            "127.0.0.1:6034",
            "unix:/s (TLS optional)"
        ]
    );
}

#[test]
fn a_users_demand_is_read_and_needs_the_section() {
    for (word, mode) in [
        ("optional", UserTls::Optional),
        ("required", UserTls::Required),
        ("certificate", UserTls::Certificate),
    ] {
        let user =
            |text: &str| text.replace("password =", &format!("tls = \"{word}\"\npassword ="));
        assert_eq!(good(&user(&with_tls(PAIR))).users[0].tls, mode);
        let alone = errors(&user(BASE));
        assert_eq!(alone.is_empty(), mode == UserTls::Optional, "{alone:?}");
        assert!(alone
            .iter()
            .all(|e| e.contains("user[0].tls: needs the section [tls]")));
    }
    let off = with_tls(PAIR).replace("password =", "tls = \"off\"\npassword =");
    assert!(only_error(&off).contains("a client asks for TLS before it names its user"));
}

#[test]
fn a_listener_that_wants_tls_needs_the_section() {
    let listen = "[{ address = \"127.0.0.1:6033\", tls = \"required\" }]";
    let text = BASE.replace("[\"127.0.0.1:6033\"]", listen);
    let error = only_error(&text);
    assert!(
        error.starts_with("test.toml:3:")
            && error.contains("proxy.listen[0].tls: needs the section [tls]"),
        "{error}"
    );
    let wrong = BASE.replace("[\"127.0.0.1:6033\"]", "[7]");
    assert!(only_error(&wrong)
        .contains("proxy.listen[0]: expected an address or a table, found a whole number"));
    let unknown = text.replace("tls = \"required\"", "tlss = \"off\"");
    assert!(only_error(&unknown).contains("did you mean `tls`?"));
}

#[test]
fn what_cannot_be_used_is_said_with_file_line_and_key() {
    for (lines, expected) in [
        ("key = \"server.key\"", "tls.certificate: missing"),
        ("certificate = \"server.pem\"", "tls.key: missing"),
        (
            "certificate = \"none.pem\"\nkey = \"server.key\"",
            "test.toml:18:15: tls.certificate: \"none.pem\" cannot be read",
        ),
        (
            "certificate = \"server.key\"\nkey = \"server.key\"",
            "\"server.key\" holds no certificate in PEM form",
        ),
        (
            "certificate = \"server.pem\"\nkey = \"ca.pem\"",
            "tls.key: \"ca.pem\" holds no private key in PEM form",
        ),
        (
            "certificate = \"server.pem\"\nkey = \"locked.key\"",
            "tls.key: \"locked.key\" is protected by a passphrase",
        ),
        (
            "certificate = \"server.pem\"\nkey = \"client.key\"",
            "tls.key: is not the key of the certificate",
        ),
    ] {
        let error = only_error(&with_tls(lines));
        assert!(error.contains(expected), "{error}");
    }
    for (line, expected) in [
        ("mode = \"always\"", "tls.mode: \"always\" is not one of"),
        (
            "min_version = \"1.1\"",
            "tls.min_version: \"1.1\" is not one of \"1.2\", \"1.3\"",
        ),
        (
            "client_certificate = \"maybe\"\nclient_ca = \"ca.pem\"",
            "tls.client_certificate: \"maybe\" is not one of",
        ),
        (
            "client_certificate = \"required\"",
            "tls.client_certificate: needs client_ca",
        ),
        (
            "client_ca = \"ca.pem\"",
            "tls.client_ca: has no effect without client_certificate",
        ),
        (
            "client_certificate = \"optional\"\nclient_ca = \"client.key\"",
            "tls.client_ca: \"client.key\" holds no certificate",
        ),
        (
            "client_certificate = \"optional\"\nclient_ca = \"ca.pem\"\nclient_crl = \"ca.pem\"",
            "tls.client_crl: \"ca.pem\" holds no X509 CRL",
        ),
        (
            "cert = \"x\"",
            "tls.cert: unknown key; did you mean `certificate`?",
        ),
    ] {
        let error = only_error(&with_tls(&format!("{PAIR}\n{line}")));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_same_files_make_the_same_offer_and_any_other_does_not() {
    let first = tls(PAIR);
    assert!(first == tls(PAIR));
    let others = [
        PAIR.replace("server", "renewed"),
        format!("{PAIR}\nmode = \"required\""),
        format!("{PAIR}\nmin_version = \"1.3\""),
        format!("{PAIR}\nclient_certificate = \"optional\"\nclient_ca = \"ca.pem\""),
        format!("{PAIR}\nclient_certificate = \"required\"\nclient_ca = \"ca.pem\""),
        format!("{PAIR}\nclient_certificate = \"required\"\nclient_ca = \"ca.pem\"\nclient_crl = \"crl.pem\""),
    ];
    for (i, other) in others.iter().enumerate() {
        assert!(first != tls(other), "{other}");
        for another in &others[..i] {
            assert!(tls(another) != tls(other), "{another} {other}");
        }
    }
    assert!(!format!("{first:?}").contains("PRIVATE"));
}

#[test]
fn the_end_of_a_certificate_is_known_and_a_past_one_is_a_warning() {
    assert_eq!(tls(PAIR).certificate.not_after, Some(4_733_510_400));
    let old = with_tls(&PAIR.replace("server", "expired"));
    let examined = examine(&old, "test.toml", &certificates);
    assert_eq!(
        examined
            .result
            .unwrap()
            .proxy
            .tls
            .unwrap()
            .certificate
            .not_after,
        Some(1_609_459_200)
    );
    // and so is the one that servers are shown
    let pair = "certificate = \"expired.pem\", key = \"expired.key\"";
    let shown = examine(&with_group_tls(pair, ""), "test.toml", &certificates);
    assert!(
        shown.warnings.len() == 1
            && shown.warnings[0]
                .to_string()
                .contains("group[0].tls.certificate: \"expired.pem\" expired on 2021-01-01"),
        "{:?}",
        shown.warnings
    );
    let own = examined_certificates(&shown.result.unwrap());
    assert_eq!(
        own,
        ["tls.certificate of group \"main\": expired.pem 2021-01-01"]
    );
    let warnings: Vec<String> = examined.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 1
            && warnings[0].contains("tls.certificate: \"expired.pem\" expired on 2021-01-01"),
        "{warnings:?}"
    );
}

fn examined_certificates(config: &Config) -> Vec<String> {
    let all = crate::config::certificates(config).into_iter();
    all.map(|(what, own)| format!("{what}: {} {}", own.file, own.date()))
        .collect()
}

fn with_group_tls(lines: &str, server: &str) -> String {
    let group = format!("name = \"main\"\ntls = {{ {lines} }}");
    BASE.replacen("name = \"main\"", &group, 1).replacen(
        "role = \"primary\"",
        &format!("role = \"primary\"{server}"),
        1,
    )
}

#[test]
fn servers_are_encrypted_as_their_group_or_they_themselves_say() {
    use crate::config::ServerTlsMode::{Preferred, Required, VerifyCa, VerifyIdentity};
    let modes = |lines: &str, server: &str| {
        let config = good(&with_group_tls(lines, server));
        let servers = config.groups[0].servers.iter();
        servers
            .map(|s| s.tls.as_ref().map(|tls| tls.mode))
            .collect::<Vec<_>>()
    };
    assert!(good(BASE).groups[0].servers[0].tls.is_none());
    assert_eq!(modes("", ""), [Some(Preferred), Some(Preferred)]);
    let off = ", tls = \"disabled\"";
    assert_eq!(modes("mode = \"required\"", off), [None, Some(Required)]);
    let verify = "mode = \"verify-identity\", ca = \"ca.pem\"";
    let less = ", tls = \"verify-ca\"";
    assert_eq!(modes(verify, less), [Some(VerifyCa), Some(VerifyIdentity)]);
    let revoked = "mode = \"verify-ca\", ca = \"ca.pem\", crl = \"crl.pem\"";
    assert_eq!(modes(revoked, ""), [Some(VerifyCa), Some(VerifyCa)]);
    // pooled connections are renewed when a list is
    let made = |lines: &str| {
        good(&with_group_tls(lines, "")).groups[0].servers[0]
            .tls
            .clone()
    };
    assert!(made(revoked) == made(revoked));
    assert!(made(revoked) != made("mode = \"verify-ca\", ca = \"ca.pem\""));
    let pair = "mode = \"required\", certificate = \"client.pem\", key = \"client.key\"";
    assert_eq!(modes(pair, ""), [Some(Required), Some(Required)]);
}

#[test]
fn wrong_settings_of_servers_are_said_with_their_keys() {
    for (lines, server, expected) in [
        (
            "mode = \"on\"",
            "",
            "group[0].tls.mode: \"on\" is not one of \"disabled\", \"preferred\"",
        ),
        ("mode = \"verify-ca\"", "", "group[0].tls: needs ca"),
        (
            "mode = \"required\"",
            ", tls = \"verify-ca\"",
            "group[0].servers[0].tls: needs ca",
        ),
        (
            "certificate = \"client.pem\"",
            "",
            "group[0].tls: certificate and key belong together",
        ),
        (
            "ca = \"none.pem\"",
            "",
            "group[0].tls.ca: \"none.pem\" cannot be read",
        ),
        (
            "crl = \"crl.pem\"",
            "",
            "group[0].tls.crl: needs ca, the file of the authorities whose lists these are",
        ),
        (
            "mode = \"verify-ca\", ca = \"ca.pem\", crl = \"server.pem\"",
            "",
            "group[0].tls.crl: \"server.pem\" holds no X509 CRL",
        ),
    ] {
        let error = only_error(&with_group_tls(lines, server));
        assert!(error.contains(expected), "{error}");
    }
    let alone = BASE.replacen(
        "role = \"primary\"",
        "role = \"primary\", tls = \"required\"",
        1,
    );
    assert!(
        only_error(&alone).contains("group[0].servers[0].tls: needs the table tls of the group")
    );
}
