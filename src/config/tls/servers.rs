//! `[group.tls]` and a server's own `tls`: how server connections are encrypted and whom they trust.
use super::pem::Files;
use super::Expiry;
use crate::config::secret::Reader;
use crate::config::walk::{Findings, Found, Section};
use crate::config::{Address, ServerTlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;

/// What the connections of one server are encrypted with. Per process; shared by all handshakes, so that each
/// may resume another's session.
pub struct ServerTls {
    pub mode: ServerTlsMode,
    pub client: Arc<ClientConfig>,
    /// What the server's certificate is checked against, and is asked for.
    pub name: ServerName<'static>,
    /// Umpire's own, where it shows one to the server.
    pub certificate: Option<Expiry>,
    /// Of all that it was made from.
    digest: [u8; 32],
}

impl ServerTls {
    /// Why a handshake failed, and what to do about it.
    pub fn explain(&self, error: &io::Error) -> String {
        let tls = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Error>());
        let hint = match tls {
            Some(Error::InvalidCertificate(certificate)) => self.what_to_do(certificate),
            Some(
                Error::PeerIncompatible(_)
                | Error::AlertReceived(
                    AlertDescription::HandshakeFailure
                    | AlertDescription::ProtocolVersion
                    | AlertDescription::InsufficientSecurity,
                ),
            ) => {
                "the server has to offer TLS 1.2 or 1.3 with ECDHE and AES-GCM or ChaCha20-Poly1305"
                    .into()
            }
            _ => return format!("TLS handshake: {error}"),
        };
        format!("TLS handshake: {error}: {hint}")
    }

    fn what_to_do(&self, certificate: &CertificateError) -> String {
        match certificate {
            CertificateError::UnknownIssuer => {
                "no authority of the group's tls.ca signed the server's certificate".into()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "the server's certificate is not for {}: use the server's name as its address, or mode = \"verify-ca\"",
                    self.name.to_str()
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has to be renewed".into()
            }
            CertificateError::Revoked => {
                "the authority took the server's certificate back: give the server a new one".into()
            }
            CertificateError::UnknownRevocationStatus => {
                "the group's tls.crl needs a list of each authority in the chain of the server's certificate".into()
            }
            CertificateError::ExpiredRevocationList
            | CertificateError::ExpiredRevocationListContext { .. } => {
                "the list in the group's tls.crl is out of date: fetch a new one and reload".into()
            }
            _ => "the server's certificate cannot be trusted".into(),
        }
    }
}

impl PartialEq for ServerTls {
    fn eq(&self, other: &ServerTls) -> bool {
        self.digest == other.digest
    }
}

impl std::fmt::Debug for ServerTls {
    /// Without the key: configurations are logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls")
            .field("mode", &self.mode)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a group says for all its servers. Per parse.
pub(in crate::config) struct GroupTls {
    mode: ServerTlsMode,
    /// By the authorities of `ca`, less what `crl` takes back.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    pair: Option<Pair>,
    digest: Sha256,
}

/// Umpire's own certificate and its key.
struct Pair {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    expiry: Expiry,
}

/// Reads `tls` of a group; absent: its servers' connections are not encrypted.
pub(in crate::config) fn group(
    section: &mut Section<'_, '_>,
    findings: &Findings<'_>,
    reader: Reader<'_>,
) -> Option<GroupTls> {
    let mut table = section.table("tls")?;
    let mode = table
        .string("mode")
        .and_then(|found| mode(&found, findings));
    let mut files = Files::new(findings, reader);
    let verifier = verifier(&mut table, &mut files, findings);
    let certificate = table.string("certificate");
    let key = table.string("key");
    if certificate.is_some() != key.is_some() {
        let message = "certificate and key belong together: give both, or neither";
        findings.error(table.at, &table.path, message);
    }
    let pair = certificate.zip(key).and_then(|(certificate, key)| {
        let chain = files.certificates(&certificate)?;
        let leaf = chain.first().map(|leaf| leaf.as_ref());
        let expiry = Expiry::of(certificate.value, leaf);
        if let Some(message) = expiry.warning() {
            findings.warning(certificate.at, &certificate.key, message);
        }
        let key = files.key(&key)?;
        Some(Pair { chain, key, expiry })
    });
    let group = GroupTls {
        mode: mode.unwrap_or(ServerTlsMode::Preferred),
        verifier,
        pair,
        digest: files.digest,
    };
    if group.mode.verifies() && !table.has("ca") {
        needs_ca(table.at, &table.path, findings);
    }
    table.finish();
    Some(group)
}

/// Who checks the servers' certificates. None: nobody is to, or something is wrong, and reported.
fn verifier(
    table: &mut Section<'_, '_>,
    files: &mut Files<'_>,
    findings: &Findings<'_>,
) -> Option<Arc<WebPkiServerVerifier>> {
    let authorities = table.string("ca");
    let revoked = table.string("crl");
    let Some(authorities) = authorities else {
        if let Some(found) = revoked {
            let message = "needs ca, the file of the authorities whose lists these are";
            findings.error(found.at, &found.key, message);
        }
        return None;
    };
    let roots = Arc::new(files.authorities(&authorities)?);
    let provider = Arc::new(ring::default_provider());
    let mut builder = WebPkiServerVerifier::builder_with_provider(roots, provider);
    if let Some(found) = &revoked {
        // as with clients' certificates: a list that is out of date lets nobody in
        builder = builder
            .with_crls(files.revocations(found)?)
            .enforce_revocation_expiration();
    }
    let at = revoked.unwrap_or(authorities);
    builder
        .build()
        .map_err(|e| findings.error(at.at, &at.key, format!("cannot be used: {e}")))
        .ok()
}

/// Reads `tls` of a server: a mode that takes the place of the group's.
pub(in crate::config) fn server(
    table: &mut Section<'_, '_>,
    address: Option<&Address>,
    group: Option<&GroupTls>,
    findings: &Findings<'_>,
) -> Option<Arc<ServerTls>> {
    let own = table.string("tls");
    let own_mode = own.as_ref().and_then(|found| mode(found, findings));
    let Some(group) = group else {
        if let (Some(found), Some(mode)) = (own, own_mode) {
            if mode != ServerTlsMode::Disabled {
                let message =
                    "needs the table tls of the group, such as tls = { mode = \"preferred\" }";
                findings.error(found.at, &found.key, message);
            }
        }
        return None;
    };
    let mode = own_mode.unwrap_or(group.mode);
    if mode.verifies() && group.verifier.is_none() {
        // the group's own mode was judged with the group
        if let Some(found) = own {
            needs_ca(found.at, &found.key, findings);
        }
        return None;
    }
    let Address::Tcp(host, _) = address? else {
        // nobody can listen to a Unix socket
        return None;
    };
    if mode == ServerTlsMode::Disabled {
        return None;
    }
    let made = ServerName::try_from(host.clone())
        .map_err(|e| e.to_string())
        .and_then(|name| group.make(mode, name));
    made.map_err(|message| findings.error(table.at, &table.path, format!("tls: {message}")))
        .ok()
        .map(Arc::new)
}

fn needs_ca(at: usize, key: &str, findings: &Findings<'_>) {
    let message = "needs ca in the group's tls, the file of the authorities that sign the servers' certificates";
    findings.error(at, key, message);
}

fn mode(found: &Found<&str>, findings: &Findings<'_>) -> Option<ServerTlsMode> {
    let known = MODES.iter().find(|mode| mode.word() == found.value);
    if known.is_none() {
        let words = MODES.map(|mode| format!("{:?}", mode.word()));
        let message = format!("{:?} is not one of {}", found.value, words.join(", "));
        findings.error(found.at, &found.key, message);
    }
    known.copied()
}

const MODES: [ServerTlsMode; 5] = [
    ServerTlsMode::Disabled,
    ServerTlsMode::Preferred,
    ServerTlsMode::Required,
    ServerTlsMode::VerifyCa,
    ServerTlsMode::VerifyIdentity,
];

impl ServerTlsMode {
    /// As in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            ServerTlsMode::Disabled => "disabled",
            ServerTlsMode::Preferred => "preferred",
            ServerTlsMode::Required => "required",
            ServerTlsMode::VerifyCa => "verify-ca",
            ServerTlsMode::VerifyIdentity => "verify-identity",
        }
    }
}

impl GroupTls {
    fn make(&self, mode: ServerTlsMode, name: ServerName<'static>) -> Result<ServerTls, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match (&self.verifier, mode) {
            (Some(inner), ServerTlsMode::VerifyCa) => Arc::new(AnyName(inner.clone())),
            (Some(inner), ServerTlsMode::VerifyIdentity) => inner.clone(),
            _ => Arc::new(Anyone(provider.clone())),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let client = match &self.pair {
            Some(pair) => builder
                .with_client_auth_cert(pair.chain.clone(), pair.key.clone_key())
                .map_err(|e| format!("the certificate and its key cannot be used: {e}"))?,
            None => builder.with_no_client_auth(),
        };
        let mut digest = self.digest.clone();
        digest.update(format!("{mode:?} {name:?}"));
        Ok(ServerTls {
            mode,
            client: Arc::new(client),
            name,
            certificate: self.pair.as_ref().map(|pair| pair.expiry.clone()),
            digest: digest.finalize().into(),
        })
    }
}

/// Takes any certificate: the connection is encrypted, and nothing is known of who is at its other end.
#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    // A signature by a key that nobody vouches for proves nothing. Not looking at it also lets servers in whose
    // certificates are of a form that the library does not read (those of old servers that made their own).
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes any certificate that the authorities signed, whatever name is in it.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // the name is looked at last, when everything else was found right
        match self
            .0
            .verify_server_cert(certificate, chain, name, ocsp, now)
        {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
