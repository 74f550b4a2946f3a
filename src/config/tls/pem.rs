//! PEM files: certificates, keys, revocation lists.
use crate::config::secret::{self, Reader};
use crate::config::walk::{Findings, Found};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::RootCertStore;
use sha2::{Digest, Sha256};

/// Reads the files of one section and remembers what was in them.
pub(in crate::config) struct Files<'f> {
    findings: &'f Findings<'f>,
    reader: Reader<'f>,
    /// Of all files so far, each with its length.
    pub digest: Sha256,
}

impl<'f> Files<'f> {
    pub fn new(findings: &'f Findings<'f>, reader: Reader<'f>) -> Files<'f> {
        Files {
            findings,
            reader,
            digest: Sha256::new(),
        }
    }

    /// At least one certificate. None: reported, as with all that follow.
    pub fn certificates(&mut self, found: &Found<&str>) -> Option<Vec<CertificateDer<'static>>> {
        let bytes = self.bytes(found, false)?;
        self.all(found, "certificate", CertificateDer::pem_slice_iter(&bytes))
    }

    pub fn revocations(
        &mut self,
        found: &Found<&str>,
    ) -> Option<Vec<CertificateRevocationListDer<'static>>> {
        let bytes = self.bytes(found, false)?;
        let list = CertificateRevocationListDer::pem_slice_iter(&bytes);
        self.all(found, "X509 CRL", list)
    }

    pub fn authorities(&mut self, found: &Found<&str>) -> Option<RootCertStore> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates(found)? {
            if let Err(error) = roots.add(certificate) {
                let message = format!(
                    "{:?} holds a certificate that cannot be used: {error}",
                    found.value
                );
                self.findings.error(found.at, &found.key, message);
                return None;
            }
        }
        Some(roots)
    }

    pub fn key(&mut self, found: &Found<&str>) -> Option<PrivateKeyDer<'static>> {
        let bytes = self.bytes(found, true)?;
        let message = match PrivateKeyDer::from_pem_slice(&bytes) {
            Ok(key) => return Some(key),
            Err(_) if String::from_utf8_lossy(&bytes).contains("ENCRYPTED") => {
                format!("{:?} is protected by a passphrase; write it without one: openssl pkey -in FILE -out NEWFILE", found.value)
            }
            Err(PemError::NoItemsFound) => {
                format!("{:?} holds no private key in PEM form", found.value)
            }
            Err(error) => format!(
                "{:?} is not a private key in PEM form: {error}",
                found.value
            ),
        };
        self.findings.error(found.at, &found.key, message);
        None
    }

    fn all<T>(
        &self,
        found: &Found<&str>,
        what: &str,
        items: impl Iterator<Item = Result<T, PemError>>,
    ) -> Option<Vec<T>> {
        let message = match items.collect::<Result<Vec<T>, _>>() {
            Ok(items) if !items.is_empty() => return Some(items),
            Ok(_) => format!("{:?} holds no {what} in PEM form", found.value),
            Err(error) => format!("{:?} is not valid PEM: {error}", found.value),
        };
        self.findings.error(found.at, &found.key, message);
        None
    }

    fn bytes(&mut self, found: &Found<&str>, secret: bool) -> Option<Vec<u8>> {
        let bytes = secret::file(found, self.findings, self.reader, secret)?;
        self.digest.update(found.key.as_bytes());
        self.digest.update(bytes.len().to_be_bytes());
        self.digest.update(&bytes);
        Some(bytes)
    }
}
