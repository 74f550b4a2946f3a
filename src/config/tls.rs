//! The section `[tls]`: what clients are offered. The files are read and checked here, so that a wrong one is an
//! error of the configuration and never of a client's login.
mod pem;
pub(super) mod servers;
mod validity;

use super::secret::Reader;
use super::walk::{Findings, Found, Section};
use super::{Config, ListenerTls, UserTls};
use pem::Files;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::{ServerConfig, SupportedProtocolVersion};
use sha2::Digest;
use std::sync::Arc;
pub use validity::Expiry;

/// `[tls]`: how clients are served by TLS. Per process; shared by all handshakes.
pub struct Tls {
    pub server: Arc<ServerConfig>,
    /// What listeners do that say nothing of their own.
    pub mode: ListenerTls,
    pub certificate: Expiry,
    /// Of all that it was made from.
    digest: [u8; 32],
}

impl PartialEq for Tls {
    /// Made from the same files and keys.
    fn eq(&self, other: &Tls) -> bool {
        self.digest == other.digest
    }
}

impl std::fmt::Debug for Tls {
    /// Without the key: configurations are logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("certificate", &self.certificate.file)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// Umpire's own certificates by what they are for: the one that clients see, and those that groups show to servers.
pub fn certificates(config: &Config) -> Vec<(String, &Expiry)> {
    let clients = config.proxy.tls.iter();
    let mut all: Vec<(String, &Expiry)> = clients
        .map(|tls| ("tls.certificate".to_string(), &tls.certificate))
        .collect();
    for group in &config.groups {
        let mut servers = group.servers.iter().filter_map(|s| s.tls.as_ref());
        // all servers of a group are shown the same
        if let Some(own) = servers.find_map(|tls| tls.certificate.as_ref()) {
            all.push((format!("tls.certificate of group {:?}", group.name), own));
        }
    }
    all
}

/// Whether a client has to present a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientCertificate {
    Off,
    Optional,
    Required,
}

/// Reads `[tls]`; absent: clients are not offered TLS.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    reader: Reader<'_>,
) -> Option<Arc<Tls>> {
    let mut section = top.table("tls")?;
    let mode = listener_mode(&mut section, "mode", findings).unwrap_or(ListenerTls::Optional);
    let mut files = Files::new(findings, reader);
    let chain = section
        .required(
            "certificate",
            "the file of the certificate and those that lead from it to the authority's",
        )
        .and_then(|found| Some((files.certificates(&found)?, found)));
    let key = section
        .required("key", "the file of the certificate's private key")
        .and_then(|found| Some((files.key(&found)?, found)));
    let versions = versions(&mut section, findings);
    let verifier = verifier(&mut section, &mut files, findings);
    section.finish();
    let ((chain, certificate), (key, key_at)) = (chain?, key?);
    let expiry = Expiry::of(certificate.value, chain.first().map(|leaf| leaf.as_ref()));
    let server = server(versions.protocols, verifier?, chain, key)
        .map_err(|message| findings.error(key_at.at, &key_at.key, message))
        .ok()?;
    let mut digest = files.digest;
    digest.update(format!("{mode:?} {:?}", versions.least));
    let tls = Tls {
        server: Arc::new(server),
        mode,
        certificate: expiry,
        digest: digest.finalize().into(),
    };
    if let Some(message) = tls.certificate.warning() {
        findings.warning(certificate.at, &certificate.key, message);
    }
    Some(Arc::new(tls))
}

fn server(
    versions: &[&'static SupportedProtocolVersion],
    verifier: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|e| e.to_string())?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|e| match e {
            rustls::Error::InconsistentKeys(_) => {
                "is not the key of the certificate: its first certificate must be the one of this key"
                    .to_string()
            }
            other => format!("cannot be used with the certificate: {other}"),
        })?;
    // tickets are the same for all workers, and nothing is kept for them
    server.ticketer = ring::Ticketer::new().map_err(|e| e.to_string())?;
    Ok(server)
}

struct Versions {
    least: &'static str,
    protocols: &'static [&'static SupportedProtocolVersion],
}

const FROM_1_2: Versions = Versions {
    least: "1.2",
    protocols: rustls::ALL_VERSIONS,
};
const FROM_1_3: Versions = Versions {
    least: "1.3",
    protocols: &[&rustls::version::TLS13],
};

fn versions(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> Versions {
    let Some(found) = section.string("min_version") else {
        return FROM_1_2;
    };
    match found.value {
        "1.2" => {}
        "1.3" => {
            return FROM_1_3;
        }
        other => findings.error(
            found.at,
            &found.key,
            format!("{other:?} is not one of \"1.2\", \"1.3\""),
        ),
    }
    FROM_1_2
}

/// Who checks clients' certificates. None: something is wrong, and reported.
fn verifier(
    section: &mut Section<'_, '_>,
    files: &mut Files<'_>,
    findings: &Findings<'_>,
) -> Option<Arc<dyn ClientCertVerifier>> {
    let wanted = client_certificate(section, findings);
    let authorities = section.string("client_ca");
    let revoked = section.string("client_crl");
    if wanted == ClientCertificate::Off {
        for found in [authorities, revoked].into_iter().flatten() {
            let message = "has no effect without client_certificate = \"optional\" or \"required\"";
            findings.error(found.at, &found.key, message);
        }
        return Some(Arc::new(NoClientAuth));
    }
    let Some(authorities) = authorities else {
        let message =
            "needs client_ca, the file of the authorities that sign clients' certificates";
        findings.error(section.at, &section.path_of("client_certificate"), message);
        return None;
    };
    let roots = Arc::new(files.authorities(&authorities)?);
    let mut builder =
        WebPkiClientVerifier::builder_with_provider(roots, Arc::new(ring::default_provider()));
    if let Some(found) = &revoked {
        // as with servers: a list that is out of date lets nobody in
        builder = builder
            .with_crls(files.revocations(found)?)
            .enforce_revocation_expiration();
    }
    if wanted == ClientCertificate::Optional {
        builder = builder.allow_unauthenticated();
    }
    files.digest.update(format!("{wanted:?}"));
    let at = revoked.unwrap_or(authorities);
    builder
        .build()
        .map_err(|e| findings.error(at.at, &at.key, format!("cannot be used: {e}")))
        .ok()
}

fn client_certificate(section: &mut Section<'_, '_>, findings: &Findings<'_>) -> ClientCertificate {
    let Some(found) = section.string("client_certificate") else {
        return ClientCertificate::Off;
    };
    match found.value {
        "off" => ClientCertificate::Off,
        "optional" => ClientCertificate::Optional,
        "required" => ClientCertificate::Required,
        other => {
            let message = format!("{other:?} is not one of \"off\", \"optional\", \"required\"");
            findings.error(found.at, &found.key, message);
            ClientCertificate::Required
        }
    }
}

/// `mode` of `[tls]`, `tls` of a listener.
pub(super) fn listener_mode(
    section: &mut Section<'_, '_>,
    key: &'static str,
    findings: &Findings<'_>,
) -> Option<ListenerTls> {
    let found = section.string(key)?;
    match found.value {
        "off" => Some(ListenerTls::Off),
        "optional" => Some(ListenerTls::Optional),
        "required" => Some(ListenerTls::Required),
        other => {
            let message = format!("{other:?} is not one of \"off\", \"optional\", \"required\"");
            findings.error(found.at, &found.key, message);
            None
        }
    }
}

/// `tls` of a user. `offered`: there is a section `[tls]`.
pub(super) fn user_mode(
    section: &mut Section<'_, '_>,
    offered: bool,
    findings: &Findings<'_>,
) -> UserTls {
    let Some(found) = section.string("tls") else {
        return UserTls::Optional;
    };
    let mode = match found.value {
        "optional" => UserTls::Optional,
        "required" => UserTls::Required,
        "certificate" => UserTls::Certificate,
        "off" => {
            let message =
                "a client asks for TLS before it names its user: \"off\" is for a listener; \
                           \"optional\" lets the user in without TLS";
            findings.error(found.at, &found.key, message);
            UserTls::Optional
        }
        other => {
            let message =
                format!("{other:?} is not one of \"optional\", \"required\", \"certificate\"");
            findings.error(found.at, &found.key, message);
            UserTls::Optional
        }
    };
    if mode != UserTls::Optional && !offered {
        needs_section(&found, findings);
    }
    mode
}

pub(super) fn needs_section(found: &Found<&str>, findings: &Findings<'_>) {
    let message = "needs the section [tls] with certificate and key";
    findings.error(found.at, &found.key, message);
}
