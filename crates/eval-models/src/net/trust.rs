//! Whom a client believes that has certificates of its own: the system's authorities, those of its
//! file, and servers whose very certificate is in that file, as `openssl req -x509` makes it.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::error::CA_AS_SERVER;

/// TLS of a client that believes this file of certificates in PEM besides the system's authorities.
///
/// # Errors
/// A sentence, when the file can't be read or holds none.
pub(super) fn tls_with(file: &Path) -> Result<ClientConfig, String> {
    let own = certificates(file)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let bad = |error: Error| {
        format!(
            "the certificates in {} cannot be used: {error}",
            file.display()
        )
    };
    let inner =
        Verifier::new_with_extra_roots(own.iter().cloned(), Arc::clone(&provider)).map_err(bad)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(bad)?;
    let verifier = Arc::new(FileVerifier { inner, own });
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// The certificates of a file in PEM.
///
/// # Errors
/// A sentence, when the file can't be read or holds none.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bad = |why: &str| {
        format!(
            "the certificates in {} cannot be read: {why}",
            file.display()
        )
    };
    let bytes = eval_base::files::read_bytes(file).map_err(|error| bad(&error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Err(_) => Err(bad("it is not PEM")),
        Ok(found) if found.is_empty() => Err(bad("it contains no `BEGIN CERTIFICATE`")),
        Ok(found) => Ok(found),
    }
}

#[derive(Debug)]
struct FileVerifier {
    inner: Verifier,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for FileVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // Said of a certificate that is valid now and may sign others. When it is the very one
            // in the file, only its name is left to look at.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if why.to_string() == CA_AS_SERVER
                    && self.own.iter().any(|own| own == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
