//! Certificates of tests/tls, and clients that use them.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of tests/tls.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

/// `key = "…"` lines of TOML that name files of tests/tls.
pub fn keys(pairs: &[(&str, &str)]) -> String {
    let line = |(key, name): &(&str, &str)| format!("{key} = \"{}\"\n", file(name).display());
    pairs.iter().map(line).collect()
}

/// `[tls]` with the usual certificate.
pub fn section(more: &str) -> String {
    let pair = keys(&[("certificate", "server.pem"), ("key", "server.key")]);
    format!("\n[tls]\n{pair}{more}\n")
}

/// A client that trusts the tests' authority.
pub fn client() -> Arc<ClientConfig> {
    client_of(None, &[&rustls::version::TLS13, &rustls::version::TLS12])
}

/// One with a certificate, by the name of its files.
pub fn client_with(name: &str) -> Arc<ClientConfig> {
    client_of(
        Some(name),
        &[&rustls::version::TLS13, &rustls::version::TLS12],
    )
}

pub fn client_of(
    name: Option<&str>,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca.pem") {
        roots.add(certificate).expect("an authority");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots);
    let Some(name) = name else {
        return Arc::new(builder.with_no_client_auth());
    };
    let key = PrivateKeyDer::from_pem_file(file(&format!("{name}.key"))).expect("a key");
    let chain = certificates(&format!("{name}.pem"));
    Arc::new(builder.with_client_auth_cert(chain, key).expect("a pair"))
}

pub fn certificates(name: &str) -> Vec<CertificateDer<'static>> {
    let all = CertificateDer::pem_file_iter(file(name)).expect("a file of certificates");
    all.map(|c| c.expect("a certificate")).collect()
}
