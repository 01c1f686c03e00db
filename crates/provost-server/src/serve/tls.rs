//! TLS: the certificate that the server shows, where no server in front does.
//!
//! Owns reading certificate and key. INVARIANT: what cannot be shown to a client is found before
//! anybody is listened to.

use std::path::Path;
use std::sync::Arc;

use provost_engine::workspace::TlsSettings;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto};
use tokio_rustls::TlsAcceptor;

use super::ServeError;

/// What takes connections with this certificate.
pub(super) fn acceptor(root: &Path, settings: &TlsSettings) -> Result<TlsAcceptor, ServeError> {
    let (cert, key) = (root.join(&settings.cert), root.join(&settings.key));
    let about = |path: &Path, why: String| ServeError::Tls(format!("{}: {why}", path.display()));
    let read = |path: &Path| std::fs::read(path).map_err(|error| about(path, error.to_string()));
    let text = read(&cert)?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| about(&cert, error.to_string()))?;
    if chain.is_empty() {
        return Err(about(&cert, "there is no certificate in it".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(&key)?);
    let secret = secret.map_err(|error| about(&key, error.to_string()))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    let config = builder
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, secret));
    let mut config = config.map_err(|error| about(&key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
